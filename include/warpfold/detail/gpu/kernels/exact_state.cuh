// SPDX-License-Identifier: Apache-2.0
/// \file exact_state.cuh
/// States of exact sums of long arrays of floats, by the kernels that give answers. Where special values spoil their digits, which the last block
/// sees, bins write the state, and special values are counted: two kernels behind, which leave at once otherwise.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/kernels/binned_reduce.cuh>
#include <warpfold/detail/gpu/kernels/exact_sum.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Whether exact_sum_state takes n elements of T: many enough, and f64 only where a device has the shared memory to sum any of them at the speed of reading,
/// and code for it the kernels, which are empty without bulk copies.
template <class T>
bool has_sum_state(std::uint64_t n, const workspace& scratch) {
  return n * sizeof(T) > 16 * most_small_parts && (sizeof(T) < 8 || (scratch.block_shared_bytes() >= 227 * 1024 && scratch.bulk_copies()));
}

/// Enqueues what writes the state of x[0 … n) to `words`; has_sum_state() says that it does. T is as sums know it, Number the library's. Workspaces are
/// prepared before.
template <class T, class Number>
cudaError_t exact_sum_state(op what, const T* x, std::uint64_t n, std::int64_t* words, workspace& scratch, cudaStream_t stream) {
  if (reinterpret_cast<std::uintptr_t>(x) % sizeof(T) != 0) return cudaErrorInvalidValue;
  std::uint32_t* const plain = scratch.verdict();
  const sum_to<T> to{nullptr, words, plain, n};
  cudaError_t e;
  if constexpr (std::is_same_v<T, double>) e = exact_sum_of_doubles(x, n, to, scratch, stream);
  else e = exact_sum_of_blocks(x, n, to, scratch, stream);
  if (e != cudaSuccess) return e;
  arrays<1> a;
  const void* const from[1] = {x};
  const std::int64_t stride[1] = {1};
  if (!make_arrays<Number>(a, from, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  exact_question q{what, wf::rounding::nearest, 0};
  q.states = true;
  // Not *plain is written, which blocks that come late still read, but spare memory. What counts special values looks at *plain next: it stays 0, since there are some.
  e = launch(binned_kernel<terms::sum, Number, Number>,
             {2 * scratch.multiprocessors(), binned_threads, sizeof(binned_rows<Number, terms::sum, bin_copies<Number, terms::sum>>), stream, scratch.overlaps()},
             a, q, reinterpret_cast<Number*>(words), binned_board::of(scratch, true), reinterpret_cast<std::uint32_t*>(scratch.spare_answers()),
             static_cast<const std::uint32_t*>(plain));
  if (e != cudaSuccess) return e;
  return launch(count_specials_kernel<terms::sum, Number>,
                {at_most(divide_up(n + 1, 4 * 256), 8 * scratch.multiprocessors()), 256, 0, stream, scratch.overlaps()}, a, false, words,
                static_cast<const std::uint32_t*>(plain));
}

}  // namespace wf::device::inline WF_BUILD
