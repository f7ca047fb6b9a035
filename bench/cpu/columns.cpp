// SPDX-License-Identifier: Apache-2.0
// Exact sums over axis 0 of matrices in C order, beside a loop that adds each row to a row of sums. Times are those that pass (the
// library has all cores, the loop one); answers are checked first.
#include <benchmark/benchmark.h>

#include <warpfold/warpfold.hpp>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

template <class T>
struct matrix {
  std::int64_t rows, columns;
  std::vector<T> values;

  explicit matrix(const benchmark::State& state) : rows(state.range(0)), columns(state.range(1)), values(static_cast<std::size_t>(rows * columns)) {
    std::mt19937 random(1);
    std::normal_distribution<T> gauss;
    for (T& v : values) v = gauss(random);
  }
  wf::view<const T> view() const { return {values.data(), {rows, columns}}; }
};

template <class T>
void exact(benchmark::State& state) {
  const matrix<T> x(state);
  const auto answers = wf::sum(x.view(), wf::axis{0});
  for (std::int64_t k = 0; k < x.columns; k += 1 + x.columns / 100) {
    std::vector<T> column;
    for (std::int64_t i = 0; i < x.rows; ++i) column.push_back(x.values[static_cast<std::size_t>(i * x.columns + k)]);
    if (answers[static_cast<std::size_t>(k)] != wf::sum(column)) {
      std::fprintf(stderr, "column %lld of %lld is wrong\n", static_cast<long long>(k), static_cast<long long>(x.columns));
      std::exit(1);
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(wf::sum(x.view(), wf::axis{0}));
  state.SetBytesProcessed(state.iterations() * x.rows * x.columns * static_cast<std::int64_t>(sizeof(T)));
}

template <class T>
void loop(benchmark::State& state) {
  const matrix<T> x(state);
  for (auto _ : state) {
    std::vector<T> sums(static_cast<std::size_t>(x.columns));
    for (std::int64_t i = 0; i < x.rows; ++i) {
      const T* const row = x.values.data() + i * x.columns;
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += row[k];
    }
    benchmark::DoNotOptimize(sums.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.rows * x.columns * static_cast<std::int64_t>(sizeof(T)));
}

void shapes(benchmark::internal::Benchmark* b) {
  for (const auto& [rows, columns] : {std::pair{10, 1000000}, {100, 100000}, {3000, 4000}, {1000000, 16}}) b->Args({rows, columns});
  b->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(exact<float>)->Apply(shapes);
BENCHMARK(loop<float>)->Apply(shapes);
BENCHMARK(exact<double>)->Apply(shapes);
BENCHMARK(loop<double>)->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
