// SPDX-License-Identifier: Apache-2.0
// The CPU engine beside its contenders, on the same data in one run: at DRAM size with all cores, in
// L2 on one, and for the few elements where the call itself is the cost. Every contender's answer is
// checked before its time counts. `read` is the floor: the same bytes loaded by as many threads and
// nothing else done with them. ratios.py makes the table.
//
//     bench_cpu --benchmark_repetitions=7 --benchmark_out=run.json && ratios.py run.json
#include <benchmark/benchmark.h>

#include <Eigen/Core>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string>

#include <warpfold/exact/products.hpp>
#include <warpfold/warpfold.hpp>

namespace {

using wf::exact::format;

// Beyond any cache that a machine has: 1 GiB of f64 (WARPFOLD_BENCH_MIB for another size).
std::size_t dram_bytes() {
  const char* text = std::getenv("WARPFOLD_BENCH_MIB");
  return (text != nullptr ? std::strtoull(text, nullptr, 10) : 1024) << 20;
}

enum class family { normal, random_bits };

// Filled by threads; a million numbers are made and repeated in turn, so making them is cheap.
template <class T>
const std::vector<T>& data(family k, std::size_t n) {
  static std::vector<T> x[2];
  auto& v = x[static_cast<int>(k)];
  if (v.size() >= n) return v;
  std::mt19937_64 random(1);
  std::normal_distribution<double> gauss;
  std::vector<T> some((1 << 20) + 7);
  for (T& s : some) {
    if constexpr (wf::integer<T>) {
      s = static_cast<T>(random());
    } else if (k == family::normal) {
      s = static_cast<T>(gauss(random));
    } else {
      do s = format<T>::from_bits(static_cast<typename format<T>::bits>(random()));
      while (!format<T>::is_finite(format<T>::to_bits(s)));
    }
  }
  v.resize(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = some[i % some.size()];
  return v;
}

// Threads that only load: 512 bits at a time, folded so that the loads cannot be left out.
std::uint64_t read_part(const void* p, std::size_t bytes) {
  constexpr std::size_t line = 512 / sizeof(std::uint64_t);
  const auto* w = static_cast<const std::uint64_t*>(p);
  const std::size_t words = bytes / sizeof(std::uint64_t);
  std::uint64_t lanes[line] = {};
  std::size_t i = 0;
  for (; i + line <= words; i += line)
    for (std::size_t j = 0; j < line; ++j) lanes[j] |= w[i + j];
  std::uint64_t all = 0;
  for (const std::uint64_t l : lanes) all |= l;
  for (; i < words; ++i) all |= w[i];
  return all;
}

std::uint64_t read_all(const void* p, std::size_t bytes) {
  struct job {
    const char* p;
    std::size_t bytes;
    std::atomic<std::uint64_t> all{0};
  } j{static_cast<const char*>(p), bytes, {}};
  static constexpr std::size_t part = std::size_t{1} << 20;
  auto& pool = wf::cpu::default_executor();
  pool.run(static_cast<std::int64_t>((bytes + part - 1) / part), pool.concurrency(), [](void* a, std::int64_t k) {
    job& mine = *static_cast<job*>(a);
    const auto begin = static_cast<std::size_t>(k) * part;
    mine.all |= read_part(mine.p + begin, std::min(part, mine.bytes - begin));
  }, &j);
  return j.all;
}

template <class T>
T kahan(std::span<const T> x) {
  T sum = 0, lost = 0;
  for (const T v : x) {
    const T y = v - lost, t = sum + y;
    lost = (t - sum) - y;
    sum = t;
  }
  return sum;
}

template <class T>
T loop(std::span<const T> x) {
  T sum = 0;
  for (const T v : x) sum += v;
  return sum;
}

// One benchmark: `bytes` are read by f, `right` is asked once, before.
template <class F>
void add(const std::string& name, std::size_t bytes, std::size_t elements, std::function<bool()> right, F f) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    if (!right()) {
      state.SkipWithError("wrong answer");
      return;
    }
    for (auto _ : state) {
      auto answer = f();
      benchmark::DoNotOptimize(answer);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
    state.counters["elements"] = static_cast<double>(elements);
  })->UseRealTime()->Unit(elements > 100'000 ? benchmark::kMillisecond : benchmark::kNanosecond);
}

// Every reduction under both accuracies; the exact core, one element at a time, is the judge.
template <class T>
struct judged {
  wf::exact::sum_state<T> sum = wf::exact::sum_state<T>::identity();
  wf::exact::dot_state<T> dot = wf::exact::dot_state<T>::identity();
  wf::exact::moments_state<T> moments = wf::exact::moments_state<T>::identity();
  double absolute = 0, squares = 0;
  std::size_t count = 0;
};
template <class T>
const judged<T>& judge(family k, std::size_t n) {
  static judged<T> told[2];
  judged<T>& j = told[static_cast<int>(k)];
  if (j.count == n) return j;
  j = {};
  const auto& x = data<T>(k, n);
  for (std::size_t i = 0; i < n; ++i) {
    j.sum.add(x[i]);
    j.dot.add(x[i], x[n - 1 - i]);
    j.moments.add(x[i]);
    j.absolute += std::fabs(static_cast<double>(x[i]));
    j.squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  j.count = n;
  return j;
}

template <class T>
bool near(double got, double want, double scale) {
  return std::fabs(got - want) <= scale * (sizeof(T) == 8 ? 1e-12 : 1e-5);
}

template <class T>
void floats(const std::string& where, const std::string& type, std::size_t n, const wf::context& c) {
  const std::size_t bytes = n * sizeof(T);
  const auto values = [n](family k) { return std::span<const T>(data<T>(k, n).data(), n); };
  const auto name = [&](const char* what) { return where + "/" + type + "/" + what; };
  wf::context fast = c;
  fast.accuracy = wf::accuracy::fast;
  constexpr family normal = family::normal;

  add(name("read"), bytes, n, [=] { return !values(normal).empty(); }, [=] {
    const void* p = values(normal).data();
    return c.threads == 1 ? read_part(p, bytes) : read_all(p, bytes);
  });
  const auto sums = [=](auto f) {  // an inexact contender
    return [=] { return near<T>(f(values(normal)), judge<T>(normal, n).sum.value(), judge<T>(normal, n).absolute); };
  };
  const auto std_reduce = [](std::span<const T> x) { return std::reduce(x.begin(), x.end()); };
  const auto eigen = [](std::span<const T> x) {
    return Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>(x.data(), static_cast<Eigen::Index>(x.size())).sum();
  };
  add(name("sum std::reduce"), bytes, n, sums(std_reduce), [=] { return std_reduce(values(normal)); });
  add(name("sum Kahan"), bytes, n, sums(kahan<T>), [=] { return kahan<T>(values(normal)); });
  add(name("sum Eigen"), bytes, n, sums(eigen), [=] { return eigen(values(normal)); });
  const auto fast_sum = [=](std::span<const T> x) { return wf::sum(x, fast); };
  add(name("sum fast"), bytes, n, sums(fast_sum), [=] { return fast_sum(values(normal)); });
  for (const family k : {normal, family::random_bits}) {
    const char* label = k == normal ? "sum exact" : "sum exact, random bits";
    add(name(label), bytes, n, [=] { return wf::sum(values(k), c) == judge<T>(k, n).sum.value(); },
        [=] { return wf::sum(values(k), c); });
  }
  const auto pair = [&](const char* what, auto run, auto exact_answer) {
    add(name((std::string(what) + " fast").c_str()), bytes, n,
        [=] { return near<T>(run(fast), exact_answer(), std::fabs(exact_answer()) + judge<T>(normal, n).squares); },
        [=] { return run(fast); });
    add(name((std::string(what) + " exact").c_str()), bytes, n, [=] { return run(c) == exact_answer(); },
        [=] { return run(c); });
  };
  pair("mean", [=](const wf::context& x) { return wf::mean(values(normal), x); },
       [=] { return wf::exact::mean<T>(judge<T>(normal, n).sum); });
  pair("var", [=](const wf::context& x) { return wf::var(values(normal), x); },
       [=] { return judge<T>(normal, n).moments.var(); });
  pair("norm", [=](const wf::context& x) { return wf::norm(values(normal), x); }, [=] {
    auto s = wf::exact::squares_state<T>::identity();
    static_cast<wf::exact::product_state<T>&>(s).sum = judge<T>(normal, n).moments.second;
    s.seen.count = static_cast<std::int64_t>(n);
    return s.norm();
  });
  // x with itself read backwards: two streams of the same memory.
  const auto backwards = [=] {
    static std::vector<T> y;
    if (y.size() != n) y.assign(values(normal).rbegin(), values(normal).rend());
    return std::span<const T>(y);
  };
  pair("dot", [=](const wf::context& x) { return wf::dot(values(normal), backwards(), x); },
       [=] { return judge<T>(normal, n).dot.value(); });
  add(name("min"), bytes, n, [=] { return wf::min(values(normal), c) == std::ranges::min(values(normal)); },
      [=] { return wf::min(values(normal), c); });
  add(name("argmin"), bytes, n, [=] {
    const auto x = values(normal);
    return wf::argmin(x, c) == std::ranges::min_element(x) - x.begin();
  }, [=] { return wf::argmin(values(normal), c); });
}

template <class T>
void integers(const std::string& where, const std::string& type, std::size_t n, const wf::context& c) {
  const auto values = [n] { return std::span<const T>(data<T>(family::normal, n).data(), n); };
  const std::string name = where + "/" + type + "/";
  add(name + "read", n * sizeof(T), n, [=] { return !values().empty(); }, [=] { return read_all(values().data(), n * sizeof(T)); });
  add(name + "sum", n * sizeof(T), n, [=] {
    std::uint64_t s = 0;
    for (const T v : values()) s += static_cast<std::uint64_t>(v);
    return static_cast<std::uint64_t>(wf::sum(values(), c)) == s;
  }, [=] { return wf::sum(values(), c); });
}

template <class T>
void small(const std::string& type) {
  for (const std::size_t n : {1, 10, 100, 1000}) {
    const auto x = [n] { return std::span<const T>(data<T>(family::normal, 1000).data(), n); };
    const std::string name = "n=" + std::to_string(n) + "/" + type + "/";
    add(name + "sum loop", n * sizeof(T), n, [=] { return near<T>(loop<T>(x()), wf::sum(x()), 1000); },
        [=] { return loop<T>(x()); });
    add(name + "sum exact", n * sizeof(T), n, [=] {
      auto s = wf::exact::sum_state<T>::identity();
      for (const T v : x()) s.add(v);
      return wf::sum(x()) == s.value();
    }, [=] { return wf::sum(x()); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  wf::context all, one;
  one.threads = 1;
  const std::size_t bytes = dram_bytes();
  small<double>("f64");
  small<float>("f32");
  floats<double>("L2", "f64", std::size_t{1} << 15, one);
  floats<float>("L2", "f32", std::size_t{1} << 16, one);
  floats<double>("DRAM", "f64", bytes / 8, all);
  floats<float>("DRAM", "f32", bytes / 4, all);
  integers<std::int8_t>("DRAM", "i8", bytes, all);
  integers<std::int16_t>("DRAM", "i16", bytes / 2, all);
  integers<std::int32_t>("DRAM", "i32", bytes / 4, all);
  integers<std::int64_t>("DRAM", "i64", bytes / 8, all);
  benchmark::AddCustomContext("cpu_target", std::string(wf::cpu::name(wf::cpu::active_target())));
  benchmark::AddCustomContext("threads", std::to_string(wf::cpu::default_executor().concurrency()));
  benchmark::AddCustomContext("dram_bytes", std::to_string(bytes));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
