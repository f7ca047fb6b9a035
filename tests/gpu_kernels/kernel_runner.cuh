// SPDX-License-Identifier: Apache-2.0
// The body of kernel_runner.hpp for the machine that this is compiled for.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/detail/gpu/kernels/exact_sum.cuh>
#include <warpfold/detail/gpu/kernels/fast_sum.cuh>

#include "../support/device.cuh"
#include "kernel_runner.hpp"

namespace runner::inline WF_BUILD {

using wf::device::workspace;

using devices::device_bytes;

template <class T>
cudaError_t run_exact(const T* x, std::uint64_t n, wf::device::exact_t<T>* out, workspace& ws,
                      cudaStream_t stream, shape launch) {
  using namespace wf::device;
#if defined(SIMT_LENS)
  // Each shared variable of each instrumented kernel takes 32 KiB of every thread: one shape of each.
  if constexpr (std::is_same_v<T, float> || sizeof(T) == 2) {
    if (launch == shape::library) return exact_sum_small<T, 64, 4>(x, n, out, ws, stream);
  }
#else
  if (launch == shape::library) return exact_sum(x, n, out, ws, stream);
#endif
  const unsigned blocks = launch == shape::one_block ? 1 : launch == shape::three_blocks ? 3 : 8;
  const bool collector = launch == shape::nine_blocks;
  cudaError_t e = ws.prepare(stream);
  if (e != cudaSuccess) return e;
  [[maybe_unused]] const bool bulk = launch == shape::three_blocks && ws.bulk_copies();
  if constexpr (std::is_same_v<T, int>) {
    return fast_sum_shaped<int, 64, walk<4>, 32>(x, n, out, ws, stream, blocks, collector);
  } else if constexpr (std::is_same_v<T, double>) {
    if (launch == shape::one_block) return exact_doubles_shaped<doubles_in_buckets<64>, 64, 4>(x, n, out, ws, stream, 1);
    if (bulk) return exact_doubles_bulk<32, 2>(x, n, out, ws, stream, 3, 0.5f);
    const std::uint32_t few = divide_up(n, bin_rows<64>::most_items / 2) + blocks;
    return exact_doubles_shaped<bin_rows<64>, 64, 4>(x, n, out, ws, stream, few);
  } else if constexpr (std::is_same_v<T, __half>) {
    return exact_sum_shaped<T, half_registers<64>, 64, walk<4>, 1>(x, n, out, ws, stream, blocks, collector);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return exact_sum_shaped<T, bf16_buckets<64>, 64, walk<2, true>, 1>(x, n, out, ws, stream, blocks, collector);
  } else {
    if (bulk) return exact_sum_bulk<T, float_buckets<32>, 32, 2, 2, 1>(x, n, out, ws, stream, 3, 0.5f);
    if (launch == shape::side_by_side) return exact_sum_near<64, 4, 1>(x, n, out, ws, stream, 3);
    return exact_sum_shaped<T, float_buckets<64>, 64, walk<2, true>, 1>(x, n, out, ws, stream, blocks, collector);
  }
}

template <class T>
cudaError_t run_fast(const T* x, std::uint64_t n, wf::device::fast_t<T>* out, workspace& ws,
                     cudaStream_t stream, shape launch) {
  using namespace wf::device;
#if defined(SIMT_LENS)
  if (launch == shape::library) return fast_sum_small<T, 64, 4>(x, n, out, ws, stream);
#else
  if (launch == shape::library) return fast_sum(x, n, out, ws, stream);
#endif
  const cudaError_t e = ws.prepare(stream);
  if (e != cudaSuccess) return e;
  if (launch == shape::one_block) return fast_sum_shaped<T, 64, walk<4>, 32>(x, n, out, ws, stream, 1);
  if (launch == shape::three_blocks && ws.bulk_copies()) return fast_sum_bulk<T, 32, 2>(x, n, out, ws, stream, 3, 0.5f);
  return fast_sum_shaped<T, 64, walk<2, true>, 64>(x, n, out, ws, stream, 8, true);
}

template <class T>
cudaError_t enqueue(const sum_request& r, const void* x, void* out, workspace& ws,
                    cudaStream_t stream) {
  const auto* elements = static_cast<const T*>(x);
  if (r.exact) {
    return run_exact(elements, r.n, static_cast<wf::device::exact_t<T>*>(out), ws, stream, r.launch);
  }
  return run_fast(elements, r.n, static_cast<wf::device::fast_t<T>*>(out), ws, stream, r.launch);
}

inline cudaError_t enqueue_typed(const sum_request& r, const void* x, void* out, workspace& ws,
                                 cudaStream_t stream) {
  switch (r.type) {
    case element::f16: return enqueue<__half>(r, x, out, ws, stream);
    case element::bf16: return enqueue<__nv_bfloat16>(r, x, out, ws, stream);
    case element::f32: return enqueue<float>(r, x, out, ws, stream);
    case element::f64: return enqueue<double>(r, x, out, ws, stream);
    case element::i32: return enqueue<int>(r, x, out, ws, stream);
  }
  return cudaErrorInvalidValue;
}

inline cudaError_t replay(const sum_request& r, const void* x, void* out, workspace& ws,
                          cudaStream_t stream) {
  const cudaError_t e = ws.prepare(stream);
  return e != cudaSuccess ? e : devices::replay_graph(stream, r.runs, [&] { return enqueue_typed(r, x, out, ws, stream); });
}

inline sum_answer run(const sum_request& r) {
  const std::size_t item = size_of(r.type);
  const std::size_t bytes = r.n * item;
  device_bytes in(r.skipped * item + r.odd_bytes + bytes + 1), out(8);
  cudaStream_t stream = nullptr;
  cudaError_t e = in.error != cudaSuccess ? in.error : out.error;
  if (e == cudaSuccess) e = cudaStreamCreate(&stream);
  sum_answer answer;
  {
    workspace ws;
    char* x = static_cast<char*>(in.p) + r.skipped * item + r.odd_bytes;
    if (e == cudaSuccess && bytes != 0) e = cudaMemcpy(x, r.data, bytes, cudaMemcpyHostToDevice);
    if (e == cudaSuccess) e = cudaMemset(out.p, 0xa5, 8);
    if (r.graph) {
      if (e == cudaSuccess) e = replay(r, x, out.p, ws, stream);
    } else {
      for (int i = 0; e == cudaSuccess && i < r.runs; ++i) e = enqueue_typed(r, x, out.p, ws, stream);
    }
    if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
    const std::size_t answer_bytes = r.type == element::i32 ? 8 : r.exact ? item : item < 4 ? 4 : item;
    if (e == cudaSuccess) e = cudaMemcpy(&answer.bits, out.p, answer_bytes, cudaMemcpyDeviceToHost);
  }
  if (stream != nullptr) cudaStreamDestroy(stream);
  if (e != cudaSuccess) answer.error = cudaGetErrorString(e);
  return answer;
}

}  // namespace runner::inline WF_BUILD
