// SPDX-License-Identifier: Apache-2.0
// One thread's exact sum, without SIMD, beside a plain loop: nanoseconds an element, hot in L2 or
// from DRAM, on data of several kinds. Sums and dots are first checked against adds one by one.
#include <benchmark/benchmark.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <warpfold/detail/exact/accumulate.hpp>

namespace {

using wf::exact::format;
using wf::exact::sum_state;

enum kind { normal, random_bits, ones, sparse };
constexpr const char* kind_names[] = {"normal", "random_bits", "ones", "sparse"};

template <class T>
const std::vector<T>& data(kind k, std::size_t n) {
  static std::map<std::pair<int, std::size_t>, std::vector<T>> made;
  auto& x = made[{k, n}];
  if (!x.empty()) return x;
  x.resize(n);
  std::mt19937_64 random(1);
  std::normal_distribution<double> gauss;
  for (auto& v : x) {
    if (k == random_bits) {
      v = format<T>::from_bits(static_cast<typename format<T>::bits>(random()));
    } else if (k == ones) {
      v = T(1.0);
    } else if (k == sparse) {
      v = T(random() % 2 != 0 ? gauss(random) : 0.0);
    } else {
      v = T(gauss(random));
    }
  }
  return x;
}

void finish(benchmark::State& state, std::size_t n, std::size_t size) {
  const auto elements = static_cast<double>(n) * static_cast<double>(state.iterations());
  state.counters["ns/element"] =
      benchmark::Counter(elements * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetBytesProcessed(static_cast<std::int64_t>(elements * static_cast<double>(size)));
}

template <class T>
void exact(benchmark::State& state) {
  const auto k = static_cast<kind>(state.range(0));
  const auto& x = data<T>(k, static_cast<std::size_t>(state.range(1)));
  state.SetLabel(kind_names[k]);
  auto want = sum_state<T>::identity();
  for (const T v : x) want.add(v);
  want.normalise();
  auto got = sum_state<T>::identity();
  wf::exact::accumulate(got, x.data(), x.size());
  got.normalise();
  if (std::memcmp(&got, &want, sizeof got) != 0) {
    state.SkipWithError("wrong sum");
    return;
  }
  for (auto _ : state) {
    auto sum = sum_state<T>::identity();
    wf::exact::accumulate(sum, x.data(), x.size());
    T value = sum.value();
    benchmark::DoNotOptimize(value);
  }
  finish(state, x.size(), sizeof(T));
}

template <class T>
void plain(benchmark::State& state) {
  const auto k = static_cast<kind>(state.range(0));
  const auto& x = data<T>(k, static_cast<std::size_t>(state.range(1)));
  state.SetLabel(kind_names[k]);
  for (auto _ : state) {
    T sum = 0;
    for (const T v : x) sum += v;
    benchmark::DoNotOptimize(sum);
  }
  finish(state, x.size(), sizeof(T));
}

template <class T>
void dot(benchmark::State& state) {
  const auto& x =
      data<T>(static_cast<kind>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  state.SetLabel(kind_names[state.range(0)]);
  auto want = wf::exact::dot_state<T>::identity(), got = want;
  for (const T v : x) want.add(v, v);
  wf::exact::accumulate(got, x.data(), x.data(), x.size());
  want.normalise();
  got.normalise();
  if (std::memcmp(&got, &want, sizeof got) != 0) {
    state.SkipWithError("wrong dot");
    return;
  }
  for (auto _ : state) {
    auto sum = wf::exact::dot_state<T>::identity();
    wf::exact::accumulate(sum, x.data(), x.data(), x.size());
    T value = sum.value();
    benchmark::DoNotOptimize(value);
  }
  finish(state, x.size(), 2 * sizeof(T));
}

template <class T>
void std_of(benchmark::State& state) {
  const auto& x =
      data<T>(static_cast<kind>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  state.SetLabel(kind_names[state.range(0)]);
  for (auto _ : state) {
    auto sum = wf::exact::moments_state<T>::identity();
    wf::exact::accumulate(sum, x.data(), x.size());
    T value = sum.std(1);
    benchmark::DoNotOptimize(value);
  }
  finish(state, x.size(), sizeof(T));
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int k : {normal, random_bits, ones, sparse}) b->Args({k, 1 << 16});
  for (const int k : {normal, random_bits}) b->Args({k, 1 << 24});
  for (const int n : {1, 10, 100, 1000, 10000}) b->Args({normal, n});
}

BENCHMARK(exact<double>)->Apply(sizes);
BENCHMARK(plain<double>)->Args({normal, 1 << 16})->Args({normal, 1 << 24});
BENCHMARK(exact<float>)->Apply(sizes);
BENCHMARK(plain<float>)->Args({normal, 1 << 16})->Args({normal, 1 << 24});
BENCHMARK(dot<double>)->Args({normal, 1 << 16})->Args({random_bits, 1 << 16})->Args({normal, 100});
BENCHMARK(dot<float>)->Args({normal, 1 << 16})->Args({random_bits, 1 << 16})->Args({normal, 100});
BENCHMARK(std_of<double>)->Args({normal, 1 << 16})->Args({normal, 100});
BENCHMARK(std_of<float>)->Args({normal, 1 << 16})->Args({normal, 100});
BENCHMARK(exact<wf::f16>)->Args({normal, 1 << 16})->Args({random_bits, 1 << 16});
BENCHMARK(exact<wf::bf16>)->Args({normal, 1 << 16})->Args({random_bits, 1 << 16});

}  // namespace

BENCHMARK_MAIN();
