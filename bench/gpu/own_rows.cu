// SPDX-License-Identifier: Apache-2.0
/// \file own_rows.cu
/// Rows by reductions that the caller's compiler knows (a sum of the caller's own, in order and not, fused ones, a transform) beside the
/// library's sum of the same rows; sums by label; runs of equal keys beside CUB's.
///
///   bench_gpu_own_rows [--only rows,labels,runs] [--log2 N] [--json FILE]
///
/// Data are small integers, as floats, so that every order gives the same sums: sums are verified against the CPU's, runs against what was
/// filled in. Times are device times of CUDA-graph replays, the median of 7.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <warpfold/gpu.cuh>

#include "json_file.hpp"
#include "measure.hpp"

namespace {

template <bool Commutes>
struct own_sum {
  struct state { float sum; };
  static constexpr bool commutes = Commutes;
  WF_HD state identity() const { return {0}; }
  WF_HD state lift(float x, std::int64_t) const { return {x}; }
  WF_HD state combine(state a, state b) const { return {a.sum + b.sum}; }
  WF_HD float finish(state s, std::int64_t) const { return s.sum; }
};
struct doubled {
  WF_HD float operator()(float x) const { return 2 * x; }
};

__device__ std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
__global__ void fill_values(float* p, std::uint64_t n) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n; i += std::uint64_t{gridDim.x} * blockDim.x) {
    p[i] = static_cast<float>(static_cast<int>(mixed(i) & 15) - 8);
  }
}
__global__ void fill_labels(std::int64_t* p, std::uint64_t n, std::uint64_t many) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n; i += std::uint64_t{gridDim.x} * blockDim.x) {
    p[i] = static_cast<std::int64_t>(mixed(i) % many);
  }
}
__global__ void fill_keys(int* p, std::uint64_t n, std::uint64_t run) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n; i += std::uint64_t{gridDim.x} * blockDim.x) {
    p[i] = static_cast<int>(i / run * 7);
  }
}

class own_bench {
 public:
  own_bench(int log2, const std::string& json) : n_(std::int64_t{1} << log2), place_(meter_.stream()), file_("bench_gpu_own_rows", json) {
    const auto n = static_cast<std::size_t>(n_);
    WF_CHECK(cudaMalloc(&values_, n * 4));
    WF_CHECK(cudaMalloc(&labels_, n * 8));
    WF_CHECK(cudaMalloc(&offsets_, (n + 2) * 8));
    WF_CHECK(cudaMalloc(&keys_, n * 4));
    WF_CHECK(cudaMalloc(&out_, n * 4 + 64));
    WF_CHECK(cudaMalloc(&more_, n * 4 + 64));
    fill_values<<<1024, 512, 0, meter_.stream()>>>(values_, static_cast<std::uint64_t>(n_));
    host_.resize(n);
    WF_CHECK(cudaMemcpyAsync(host_.data(), values_, n * 4, cudaMemcpyDeviceToHost, meter_.stream()));
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    cudaDeviceProp p{};
    WF_CHECK(cudaGetDeviceProperties(&p, 0));
    file_.figures = {{"device", p.name}, {"cub", CUB_VERSION}, {"own", nlohmann::ordered_json::array()}};
  }
  int failures() const { return failures_; }

  void rows(const char* name, std::int64_t m, std::int64_t k, int over) {
    if (m * k > n_) return;
    const wf::view<float> x(values_, {m, k});
    const wf::axis a{over};
    const auto answers = static_cast<std::size_t>(over == 0 ? k : m);
    const double bytes = 4.0 * (static_cast<double>(m) * static_cast<double>(k) + static_cast<double>(answers));
    const auto want = wf::sum(wf::view<float>(host_.data(), {m, k}), a);
    const auto right = [&](float factor) {
      std::vector<float> got(answers);
      WF_CHECK(cudaStreamSynchronize(meter_.stream()));
      WF_CHECK(cudaMemcpy(got.data(), out_, answers * 4, cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < answers; ++i) {
        if (got[i] != factor * want[static_cast<std::int64_t>(i)]) return false;
      }
      return true;
    };
    const double library = timed([&] { wf::sum(place_, x, out_, a); });
    tell("rows", name, "wf::sum", bytes, library, 0, right(1));
    const auto one = [&](const char* what, float factor, auto call) {
      WF_CHECK(cudaMemset(out_, 0xa5, answers * 4));
      const double us = timed(call);
      tell("rows", name, what, bytes, us, library, right(factor));
    };
    one("own, any order", 1, [&] { wf::reduce(place_, x, out_, own_sum<true>{}, a); });
    one("own, in order", 1, [&] { wf::reduce(place_, x, out_, own_sum<false>{}, a); });
    one("transform", 2, [&] { wf::reduce(place_, x, out_, wf::transform(doubled{}), wf::sum, a); });
    const auto half = static_cast<std::size_t>(n_) / 2;
    if (2 * answers <= half) one("fused sum, std, max", 1, [&] { wf::fuse(wf::sum, wf::std_dev, wf::max)(place_, x, out_, more_, more_ + half, a); });
  }

  void labels(std::int64_t many) {
    fill_labels<<<1024, 512, 0, meter_.stream()>>>(labels_, static_cast<std::uint64_t>(n_), static_cast<std::uint64_t>(many));
    const auto n = static_cast<std::size_t>(n_);
    std::vector<std::int64_t> on_host(n);
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    WF_CHECK(cudaMemcpy(on_host.data(), labels_, n * 8, cudaMemcpyDeviceToHost));
    std::vector<double> sums(static_cast<std::size_t>(many));
    for (std::size_t i = 0; i < n; ++i) sums[static_cast<std::size_t>(on_host[i])] += host_[i];
    const std::span<const float> x(values_, n);
    const wf::by_label by{std::span<const std::int64_t>(labels_, n), many};
    const double bytes = 12.0 * static_cast<double>(n) + 4.0 * static_cast<double>(many);
    const auto right = [&] {
      std::vector<float> got(sums.size());
      WF_CHECK(cudaStreamSynchronize(meter_.stream()));
      WF_CHECK(cudaMemcpy(got.data(), out_, got.size() * 4, cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] != static_cast<float>(sums[i])) return false;
      }
      return true;
    };
    const std::string name = std::to_string(many) + " labels";
    const double library = timed([&] { wf::sum(place_, x, out_, by); });
    tell("labels", name, "wf::sum", bytes, library, 0, right());
    if (many <= 10) return;  // a few partial sums beyond 2^24 are not exact in floats
    WF_CHECK(cudaMemset(out_, 0xa5, sums.size() * 4));
    const double own = timed([&] { wf::reduce(place_, x, out_, own_sum<true>{}, by); });
    tell("labels", name, "own, any order", bytes, own, library, right());
  }

  void runs(std::int64_t each) {
    fill_keys<<<1024, 512, 0, meter_.stream()>>>(keys_, static_cast<std::uint64_t>(n_), static_cast<std::uint64_t>(each));
    const auto n = static_cast<std::size_t>(n_);
    const std::span<const int> keys(keys_, n);
    const std::int64_t many = (n_ + each - 1) / each;
    auto* const unique = reinterpret_cast<int*>(more_);
    std::int64_t* const found = labels_;
    const std::string name = "runs of " + std::to_string(each);
    const double bytes = 4.0 * static_cast<double>(n) + 12.0 * static_cast<double>(many);
    // CUB's.
    std::size_t room = 0, room_sums = 0;
    void* scratch = nullptr;
    auto* const counts = reinterpret_cast<int*>(offsets_);
    const auto encode = [&](void* s, std::size_t& b) {
      return cub::DeviceRunLengthEncode::Encode(s, b, keys_, unique, counts, found, n_, meter_.stream());
    };
    const auto by_key = [&](void* s, std::size_t& b) {
      return cub::DeviceReduce::ReduceByKey(s, b, keys_, unique, values_, out_, found, cuda::std::plus<float>{}, n_, meter_.stream());
    };
    WF_CHECK(encode(nullptr, room));
    WF_CHECK(by_key(nullptr, room_sums));
    if (room_sums > room) room = room_sums;
    WF_CHECK(cudaMalloc(&scratch, room));
    const double encoded = timed([&] { WF_CHECK(encode(scratch, room)); }), keyed = timed([&] { WF_CHECK(by_key(scratch, room)); });
    WF_CHECK(cudaFree(scratch));
    const double us = timed([&] { wf::find_runs(place_, keys, unique, offsets_, many, found); });
    std::int64_t got = 0;
    std::vector<std::int64_t> at(static_cast<std::size_t>(many) + 1);
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    WF_CHECK(cudaMemcpy(&got, found, 8, cudaMemcpyDeviceToHost));
    WF_CHECK(cudaMemcpy(at.data(), offsets_, at.size() * 8, cudaMemcpyDeviceToHost));
    bool right = got == many;
    for (std::int64_t k = 0; k <= many; ++k) right = right && at[static_cast<std::size_t>(k)] == std::min(n_, k * each);
    tell("runs", name, "find_runs / CUB's Encode", bytes, us, encoded, right);
    const wf::segments by{std::span<const std::int64_t>(offsets_, static_cast<std::size_t>(many) + 1)};
    const std::span<const float> x(values_, n);
    const double sums = timed([&] {
      wf::find_runs(place_, keys, unique, offsets_, many, found);
      wf::sum(place_, x, out_, by);
    });
    const auto want = wf::sum(std::span<const float>(host_), wf::segments_of{each});
    std::vector<float> answers(static_cast<std::size_t>(many));
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    WF_CHECK(cudaMemcpy(answers.data(), out_, answers.size() * 4, cudaMemcpyDeviceToHost));
    tell("runs", name, "with sums / CUB's ReduceByKey", bytes + 4.0 * static_cast<double>(n + answers.size()), sums, keyed, answers == want.values);
  }

 private:
  template <class F>
  double timed(F call) {
    call();
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    return meter_.time([&](int) { call(); }, 2, false).median;
  }
  void tell(const char* family, const std::string& name, const char* what, double bytes, double us, double peer, bool right) {
    failures_ += right ? 0 : 1;
    std::printf("%-7s %-22s %-32s %10.2f us %7.0f GB/s", family, name.c_str(), what, us, bytes / us / 1e3);
    if (peer > 0) std::printf("  %6.3f of its peer's time", us / peer);
    std::printf("%s\n", right ? "" : "   WRONG");
    std::fflush(stdout);
    file_.figures["own"].push_back({{"family", family}, {"name", name}, {"what", what}, {"bytes", std::llround(bytes)}, {"us", rounded(us, 3)},
                                    {"peer_us", rounded(peer, 3)}, {"right", right}});
  }

  std::int64_t n_;
  ::bench::meter meter_;
  wf::gpu place_;
  float *values_ = nullptr, *out_ = nullptr, *more_ = nullptr;
  std::int64_t *labels_ = nullptr, *offsets_ = nullptr;
  int* keys_ = nullptr;
  std::vector<float> host_;
  json_file file_;
  int failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::string only = "rows,labels,runs", json;
  int log2 = 28;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string name = argv[k], value = argv[k + 1];
    if (name == "--only") only = value;
    else if (name == "--json") json = value;
    else if (name == "--log2") log2 = std::atoi(value.c_str());
    else {
      std::fprintf(stderr, "bench_gpu_own_rows: no such option: %s; --only, --log2 and --json are\n", name.c_str());
      return 2;
    }
  }
  if (argc % 2 == 0 || log2 < 16 || log2 > 30) {
    std::fprintf(stderr, "bench_gpu_own_rows: each option takes a value; --log2 one of 16 to 30\n");
    return 2;
  }
  own_bench b(log2, json);
  const auto has = [&](const char* family) { return ("," + only + ",").find("," + std::string(family) + ",") != std::string::npos; };
  if (has("rows")) {
    b.rows("2^20x256 axis 1", 1 << 20, 256, 1);
    b.rows("2^20x256 axis 0", 1 << 20, 256, 0);
    b.rows("16384x16384 axis 1", 16384, 16384, 1);
    b.rows("16384x16384 axis 0", 16384, 16384, 0);
    b.rows("2^24x16 axis 1", 1 << 24, 16, 1);
    b.rows("16x2^24 axis 1", 16, 1 << 24, 1);
    b.rows("16x2^24 axis 0", 16, 1 << 24, 0);
  }
  if (has("labels")) {
    for (const std::int64_t many : {10, 1000, 1000000}) b.labels(many);
  }
  if (has("runs")) {
    for (const std::int64_t each : {1, 16, 1 << 20}) b.runs(each);
  }
  if (b.failures() != 0) std::printf("%d cases are wrong\n", b.failures());
  return b.failures() == 0 ? 0 : 1;
}
