// SPDX-License-Identifier: Apache-2.0
// The CPU engine beside its contenders, on the same data in one run: at DRAM size with all cores, in
// L2 on one, and for the few elements where the call itself is the cost. Every contender's answer is
// checked before its time counts. `read` is the floor: the same bytes loaded by as many threads and
// nothing else done with them. ratios.py holds the bars; scripts/cpu builds, runs and prints all of it.
//
//     bench_cpu --benchmark_repetitions=7 --benchmark_out=run.json && ratios.py run.json
//     bench_cpu --export FOLDER        writes the data and the exact sums, for python_contenders.py
#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

#include "contenders.hpp"
#include "data.hpp"

namespace {

using namespace bench;

// One benchmark: `bytes` are read by f, `right` is asked once, before.
template <class F>
void add(const std::string& name, std::size_t bytes, std::size_t elements, std::function<bool()> right, F f) {
  benchmark::RegisterBenchmark(name.c_str(), [=, checked = false, good = false](benchmark::State& state) mutable {
    if (!checked) good = right();
    checked = true;
    if (!good) {
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

// The floor, by three ways to read. It is run as often as what it is the floor of, and in turns with it.
template <class T>
void add_read(const std::string& name, family k, std::size_t n, bool all_threads) {
  const auto way = [&](const char* suffix, auto read) {
    add(name + "read" + suffix, n * sizeof(T), n, [=] { return !data<T>(k, n).empty(); }, [=] {
      return in_parts(data<T>(k, n), all_threads,
                      [read](std::span<const T> x) { return read(x.data(), x.size_bytes()); });
    });
  };
  way("", read_part<0>);
  way(" ahead", read_part<2048>);
  way(" in quarters", read_quarters);
}

template <class T>
bool same(T got, T want) {
  const auto a = static_cast<double>(got), b = static_cast<double>(want);
  return a == b || (a != a && b != b);
}

struct named_family {
  family which;
  const char* name;
};
constexpr named_family of_bits[] = {{family::random_bits, "random bits"}, {family::finite_bits, "finite bits"}};
constexpr named_family tiny[] = {{family::tiny, "tiny"}}, subnormal[] = {{family::subnormal, "subnormal"}};

/// Exact sums that are measured beside that of normal data.
template <class T>
void sums_of(std::span<const named_family> families, const std::string& prefix, std::size_t n, const wf::context& c) {
  for (const named_family& k : families)
    add(prefix + "sum exact, " + k.name, n * sizeof(T), n,
        [=] { return same(wf::sum(data<T>(k.which, n), c), judge_sum<T>(k.which, n).value()); },
        [=] { return wf::sum(data<T>(k.which, n), c); });
}

template <class T>
void floats(const std::string& where, const std::string& type, std::size_t n, const wf::context& c) {
  constexpr family normal = family::normal, finite_bits = family::finite_bits;
  const std::size_t bytes = n * sizeof(T);
  const bool all_threads = c.threads != 1;
  const std::string prefix = where + "/" + type + "/";
  wf::context fast = c;
  fast.accuracy = wf::accuracy::fast;
  const auto x = [n] { return data<T>(normal, n); };

  add_read<T>(prefix, normal, n, all_threads);
  const auto contender = [&](const char* name, auto f) {
    const auto run = [=] { return in_parts(x(), all_threads, f); };
    add(prefix + "sum " + name, bytes, n,
        [=] { return near<T>(run(), judge_sum<T>(normal, n).value(), magnitude<T>(normal, n)); }, run);
  };
  contender("std::reduce", by_std_reduce<T>);
  contender("Kahan", by_kahan<T>);
  contender("Eigen", by_eigen<T>);

  add(prefix + "sum fast", bytes, n, [=] {
    return near<T>(wf::sum(x(), fast), judge_sum<T>(normal, n).value(), magnitude<T>(normal, n));
  }, [=] { return wf::sum(x(), fast); });
  add(prefix + "sum exact", bytes, n, [=] { return wf::sum(x(), c) == judge_sum<T>(normal, n).value(); },
      [=] { return wf::sum(x(), c); });
  sums_of<T>(of_bits, prefix, n, c);
  sums_of<T>(tiny, prefix, n, c);
  if (!all_threads) sums_of<T>(subnormal, prefix, n, c);

  // run(context, first family, second family); want(first, second) is the exact answer. `scale`: what
  // the fast one's error is measured by.
  const auto reduction = [&](const char* what, double scale, auto run, auto want) {
    const std::string name = prefix + what;
    add(name + " fast", bytes, n,
        [=] { return near<T>(run(fast, normal, family::other), want(normal, family::other), scale); },
        [=] { return run(fast, normal, family::other); });
    add(name + " exact", bytes, n,
        [=] { return run(c, normal, family::other) == want(normal, family::other); },
        [=] { return run(c, normal, family::other); });
    add(name + " exact, finite bits", bytes, n, [=] {
      return same(run(c, finite_bits, family::other_finite_bits), want(finite_bits, family::other_finite_bits));
    }, [=] { return run(c, finite_bits, family::other_finite_bits); });
  };
  reduction("mean", 1, [=](const wf::context& with, family k, family) { return wf::mean(data<T>(k, n), with); },
            [=](family k, family) { return wf::exact::mean<T>(judge_sum<T>(k, n)); });
  reduction("var", 1, [=](const wf::context& with, family k, family) { return wf::var(data<T>(k, n), with); },
            [=](family k, family) { return judge_moments<T>(k, n).var(); });
  reduction("norm", std::sqrt(static_cast<double>(n)), [=](const wf::context& with, family k, family) { return wf::norm(data<T>(k, n), with); },
            [=](family k, family) { return judge_squares<T>(k, n).norm(); });
  reduction("dot", static_cast<double>(n),
            [=](const wf::context& with, family k, family l) { return wf::dot(data<T>(k, n), data<T>(l, n), with); },
            [=](family k, family l) { return judge_dot<T>(k, l, n).value(); });

  add(prefix + "min", bytes, n, [=] { return wf::min(x(), c) == std::ranges::min(x()); }, [=] { return wf::min(x(), c); });
  add(prefix + "max", bytes, n, [=] { return wf::max(x(), c) == std::ranges::max(x()); }, [=] { return wf::max(x(), c); });
  add(prefix + "argmin", bytes, n,
      [=] { return wf::argmin(x(), c) == std::ranges::min_element(x()) - x().begin(); },
      [=] { return wf::argmin(x(), c); });
}

/// Exact sums of 16-bit floats.
template <class T>
void halves(const std::string& where, const std::string& type, std::size_t n, const wf::context& c) {
  const std::string prefix = where + "/" + type + "/";
  const auto x = [n] { return data<T>(family::normal, n); };
  add(prefix + "sum exact", n * sizeof(T), n,
      [=] { return same(wf::sum(x(), c), judge_sum<T>(family::normal, n).value()); }, [=] { return wf::sum(x(), c); });
  sums_of<T>(of_bits, prefix, n, c);
  sums_of<T>(subnormal, prefix, n, c);
}

template <class T>
void integers(const std::string& where, const std::string& type, std::size_t n, const wf::context& c) {
  const std::string prefix = where + "/" + type + "/";
  const auto x = [n] { return data<T>(family::normal, n); };
  add_read<T>(prefix, family::normal, n, c.threads != 1);
  add(prefix + "sum", n * sizeof(T), n, [=] {
    std::uint64_t s = 0;
    for (const T v : x()) s += static_cast<std::uint64_t>(v);
    return static_cast<std::uint64_t>(wf::sum(x(), c)) == s;
  }, [=] { return wf::sum(x(), c); });
}

template <class T>
void small(const std::string& type) {
  for (const std::size_t n : {1, 10, 100, 1000}) {
    const std::span<const T> x(numbers<T>(family::normal).data(), n), y(numbers<T>(family::tiny).data(), n);
    const std::string prefix = "n=" + std::to_string(n) + "/" + type + "/";
    add(prefix + "sum loop", n * sizeof(T), n, [=] { return near<T>(by_loop(x), wf::sum(x), 1000); },
        [=] { return by_loop(x); });
    add(prefix + "sum exact", n * sizeof(T), n,
        [=] { return wf::sum(x) == judge_sum<T>(family::normal, n).value(); }, [=] { return wf::sum(x); });
    add(prefix + "sum exact, tiny", n * sizeof(T), n,
        [=] { return wf::sum(y) == judge_sum<T>(family::tiny, n).value(); }, [=] { return wf::sum(y); });
  }
}

constexpr std::size_t l2_bytes = std::size_t{1} << 18;

// The normal data of a type, once, and its exact sums at the sizes that are timed.
template <class T>
void export_data(const std::string& folder, const std::string& type, nlohmann::ordered_json& answers) {
  const auto& x = numbers<T>(family::normal);
  std::ofstream(folder + "/" + type + ".bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(x.size() * sizeof(T)));
  for (const auto& [place, size] : {std::pair{"L2", l2_bytes}, std::pair{"DRAM", dram_bytes()}}) {
    char sum[40];
    std::snprintf(sum, sizeof sum, "%a", static_cast<double>(judge_sum<T>(family::normal, size / sizeof(T)).value()));
    answers[std::string(place) + "/" + type] = {{"elements", size / sizeof(T)}, {"sum", sum}};
  }
}

int export_all(const std::string& folder) {
  nlohmann::ordered_json answers;
  export_data<double>(folder, "f64", answers);
  export_data<float>(folder, "f32", answers);
  std::ofstream to(folder + "/answers.json");
  to << answers.dump(2) << '\n';
  to.close();
  if (!to) std::fprintf(stderr, "bench_cpu: cannot write to %s; it must be a folder\n", folder.c_str());
  return to ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--export") return export_all(argv[2]);
  wf::context all, one;
  one.threads = 1;
  const std::size_t bytes = dram_bytes();
  small<double>("f64");
  small<float>("f32");
  floats<double>("L2", "f64", l2_bytes / 8, one);
  floats<float>("L2", "f32", l2_bytes / 4, one);
  halves<wf::f16>("L2", "f16", l2_bytes / 2, one);
  halves<wf::bf16>("L2", "bf16", l2_bytes / 2, one);
  floats<double>("DRAM", "f64", bytes / 8, all);
  floats<float>("DRAM", "f32", bytes / 4, all);
  integers<std::int8_t>("DRAM", "i8", bytes, all);
  integers<std::int16_t>("DRAM", "i16", bytes / 2, all);
  integers<std::int32_t>("DRAM", "i32", bytes / 4, all);
  integers<std::int64_t>("DRAM", "i64", bytes / 8, all);
  benchmark::AddCustomContext("cpu_target", std::string(wf::cpu::name(wf::cpu::active_target())));
  benchmark::AddCustomContext("threads", std::to_string(wf::cpu::default_executor().concurrency()));
  benchmark::AddCustomContext("dram_bytes", std::to_string(bytes));
  benchmark::AddCustomContext("contenders_built_for", WARPFOLD_BENCH_ARCH);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
