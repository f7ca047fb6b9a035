// SPDX-License-Identifier: Apache-2.0
// Exact sums of the rows of a matrix, by all threads, beside reading it: 1 GiB (WARPFOLD_BENCH_MIB for another size), rows of 64 elements and more. Some answers are
// checked first, each against the sum of a row alone.
//
//     bench_rows --benchmark_repetitions=7 --benchmark_enable_random_interleaving=true --benchmark_out=rows.json
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <warpfold/backend.hpp>

#include "contenders.hpp"
#include "data.hpp"

namespace {

using namespace bench;

template <class F>
void add(const std::string& name, std::size_t bytes, F f) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) mutable {
    f();
    for (auto _ : state) {
      auto answer = f();
      benchmark::DoNotOptimize(answer);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  })->UseRealTime()->Unit(benchmark::kMillisecond);
}

template <class T>
void rows_of(const std::string& type) {
  const std::size_t n = dram_bytes() / sizeof(T);
  for (const std::int64_t length : {64, 100, 1000, 4096, 1 << 14, 1 << 20}) {
    const std::int64_t rows = static_cast<std::int64_t>(n) / length;
    add("rows/" + type + "/" + std::to_string(length), static_cast<std::size_t>(rows * length) * sizeof(T), [=, checked = false]() mutable {
      using answer = decltype(wf::sum(std::span<const T>()));
      const std::span<const T> x = data<T>(family::normal, n);
      static std::vector<answer> answers;  // whose memory is there when time is taken
      answers.resize(std::max(answers.size(), static_cast<std::size_t>(rows)));
      wf::request r;
      r.what = wf::op::sum;
      r.element = wf::dtype_of<T>;
      r.inputs.data[0] = x.data();
      r.inputs.shape = {rows, length};
      r.inputs.strides[0] = {length * static_cast<std::int64_t>(sizeof(T)), sizeof(T)};
      r.out = answers.data();
      const int last[] = {-1};
      wf::partition by;
      by.kind = wf::partition::kinds::axes;
      by.axes = last;
      r.by = by;
      wf::cpu_backend().run(r);
      if (!checked)
        for (std::int64_t k = 0; k < rows; k += 1 + rows / 1000) {
          const auto one = wf::sum(x.subspan(static_cast<std::size_t>(k * length), static_cast<std::size_t>(length)));
          if (std::memcmp(&one, &answers[static_cast<std::size_t>(k)], sizeof one) != 0) {
            std::fprintf(stderr, "row %lld of %s is wrong\n", static_cast<long long>(k), type.c_str());
            std::exit(1);
          }
        }
      checked = true;
      return answers[0];
    });
  }
}

template <std::size_t Way>
void read(const char* name) {
  const std::size_t n = dram_bytes() / sizeof(double);
  add(name, n * sizeof(double), [=] {
    return in_parts(data<double>(family::normal, n), true, [](std::span<const double> x) {
      return Way == 2 ? read_quarters(x.data(), x.size_bytes()) : read_part<Way * 2048>(x.data(), x.size_bytes());
    });
  });
}

}  // namespace

int main(int argc, char** argv) {
  read<0>("read");
  read<1>("read ahead");
  read<2>("read in quarters");
  rows_of<double>("f64");
  rows_of<float>("f32");
  rows_of<wf::f16>("f16");
  rows_of<wf::bf16>("bf16");
  rows_of<std::int32_t>("i32");
  rows_of<std::int8_t>("i8");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
