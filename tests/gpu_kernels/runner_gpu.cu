// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <thread>
#include <vector>

#include "kernel_runner.cuh"

sum_answer run_on_gpu(const sum_request& r) { return runner::run(r); }

std::string why_no_gpu() { return devices::why_not(); }

namespace {

/// 1, then -1 at every multiple of 2^16, the last element 2: sums that a lost element changes.
template <class T>
__global__ void fill_large(T* x, std::uint64_t n) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n; i += step) {
    x[i] = T(i + 1 == n ? 2.0f : i % 65536 == 0 ? -1.0f : 1.0f);
  }
}

template <class T>
sum_answer run_large(bool exact, std::uint64_t n, std::size_t skipped) {
  sum_answer answer;
  runner::device_bytes in((n + skipped) * sizeof(T)), out(8);
  cudaError_t e = in.error != cudaSuccess ? in.error : out.error;
  if (e == cudaSuccess) {
    T* x = static_cast<T*>(in.p) + skipped;
    wf::device::workspace ws;
    e = wf::device::launch(fill_large<T>, {1024, 256, 0, nullptr}, x, n);
    if (e == cudaSuccess && exact) {
      e = wf::device::exact_sum(x, n, static_cast<wf::device::exact_t<T>*>(out.p), ws, nullptr);
    } else if (e == cudaSuccess) {
      e = wf::device::fast_sum(x, n, static_cast<wf::device::fast_t<T>*>(out.p), ws, nullptr);
    }
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    const std::size_t bytes = exact ? sizeof(wf::device::exact_t<T>) : sizeof(wf::device::fast_t<T>);
    if (e == cudaSuccess) e = cudaMemcpy(&answer.bits, out.p, bytes, cudaMemcpyDeviceToHost);
  }
  if (e != cudaSuccess) answer.error = cudaGetErrorString(e);
  if (e == cudaErrorMemoryAllocation) cudaGetLastError();
  return answer;
}

}  // namespace

sum_answer run_large_on_gpu(element type, bool exact, std::uint64_t n, std::size_t skipped) {
  switch (type) {
    case element::f16: return run_large<__half>(exact, n, skipped);
    case element::bf16: return run_large<__nv_bfloat16>(exact, n, skipped);
    case element::f32: return run_large<float>(exact, n, skipped);
    case element::f64: return run_large<double>(exact, n, skipped);
    case element::i32: return run_large<int>(exact, n, skipped);
  }
  return {};
}

std::string run_streams_on_gpu(const sum_request& r, std::uint64_t expected, int threads, int streams,
                               int rounds) {
  const std::size_t bytes = r.n * size_of(r.type);
  runner::device_bytes in(bytes + 1);
  if (in.error != cudaSuccess) return cudaGetErrorString(in.error);
  cudaMemcpy(in.p, r.data, bytes, cudaMemcpyHostToDevice);
  std::mutex guard;
  std::string failure;
  const auto work = [&] {
    std::vector<cudaStream_t> stream(static_cast<std::size_t>(streams));
    std::vector<wf::device::workspace> ws(stream.size());
    const std::size_t answers = stream.size() * static_cast<std::size_t>(rounds);
    runner::device_bytes out(8 * answers);
    std::vector<std::uint64_t> got(answers);
    cudaError_t e = out.error;
    for (auto& s : stream) {
      if (e == cudaSuccess) e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    }
    if (e == cudaSuccess) e = cudaMemset(out.p, 0, 8 * answers);
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    for (std::size_t i = 0; i < answers && e == cudaSuccess; ++i) {
      const std::size_t s = i % stream.size();
      e = runner::enqueue_typed(r, in.p, static_cast<std::uint64_t*>(out.p) + i, ws[s], stream[s]);
    }
    for (auto s : stream) {
      if (e == cudaSuccess) e = cudaStreamSynchronize(s);
    }
    if (e == cudaSuccess) e = cudaMemcpy(got.data(), out.p, 8 * answers, cudaMemcpyDeviceToHost);
    for (auto& w : ws) w = wf::device::workspace();
    for (auto s : stream) {
      if (s != nullptr) cudaStreamDestroy(s);
    }
    const std::lock_guard lock(guard);
    if (e != cudaSuccess) failure = cudaGetErrorString(e);
    for (std::size_t i = 0; i < answers && failure.empty(); ++i) {
      if (got[i] != expected) {
        failure = "sum " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
                  std::to_string(expected);
      }
    }
  };
  std::vector<std::thread> hosts;
  for (int i = 0; i < threads; ++i) hosts.emplace_back(work);
  for (auto& h : hosts) h.join();
  return failure;
}
