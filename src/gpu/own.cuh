// SPDX-License-Identifier: Apache-2.0
/// \file own.cuh
/// How an operation of state_kind::own is enqueued, of whole arrays and of rows: own.cu does it for each row of the table, tests for
/// operations whose answers and states other kernels make too.
#pragma once

#include <warpfold/detail/gpu/accumulate/own_operation.cuh>
#include <warpfold/detail/gpu/kernels/reduce.cuh>
#include <warpfold/detail/gpu/kernels/rows_own.cuh>

#include "rows.cuh"
#include "table.cuh"

namespace wf::device::inline WF_BUILD {

/// R over whole arrays of elements of T….
template <class R, class... T>
cudaError_t enqueue_operation(const device_request& r, workspace& w, cudaStream_t stream) {
  const operation_fold<R, T...> fold{{placed_reduction<R, T...>::of(r.options, r.first)}};
  return reduce_with<operation_fold<R, T...>, kernel_element<T>...>(fold, r.x.data(), r.stride.data(), static_cast<std::uint64_t>(r.n), r.out,
                                                                    w, stream, {0, 0}, {r.states, r.first});
}

/// R over rows and segments.
template <class R, class... T>
cudaError_t enqueue_operation_rows(const rows_request& r, workspace& w, cudaStream_t stream) {
  rows_request bytes = r;
  constexpr std::int64_t sizes[] = {sizeof(T)...};
  std::uint64_t all = 1;
  for (int d = 0; d < r.kept + r.reduced; ++d) {
    const auto at = static_cast<std::size_t>(d);
    all *= static_cast<std::uint64_t>(r.length[at]);
    for (std::size_t k = 0; k < sizeof...(T); ++k) bytes.stride[k][at] *= sizes[k];
  }
  using part = operation_part<R, T...>;
  const bool states = r.state_bytes != 0;
  const part to{{placed_reduction<R, T...>::of(r.options, r.first), {static_cast<unsigned char*>(r.out), states ? r.state_bytes : sizeof(result_of<R>)}},
                states};
  return enqueue_own_rows(own_rows<part, no_function, kernel_element<T>...>{to, {}, nullptr}, bytes, all, nullptr, w, stream);
}

/// Merges and answers states of R, a thread a state (detail/gpu/states.hpp).
template <class R>
__global__ void __launch_bounds__(128)
    operation_states_kernel(R r, std::int64_t* states, const std::int64_t* from, std::int64_t sets, std::int64_t count, int words, bool into,
                            result_of<R>* out) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= count) return;
  const auto load = [](const std::int64_t* at) {
    state_of<R> s;
    __builtin_memcpy(&s, at + 1, sizeof s);
    return s;
  };
  std::int64_t* const to = states + k * words;
  const bool kept = sets <= 0 || into;
  std::int64_t n = kept ? to[0] : 0;
  state_of<R> s = kept ? load(to) : r.identity();
  for (std::int64_t set = 0; set < sets; ++set) {
    const std::int64_t* const at = from + (set * count + k) * words;
    n += at[0];
    s = r.combine(s, load(at));
  }
  if (sets >= 0) put_own_state(s, static_cast<std::uint64_t>(n), reinterpret_cast<std::uint64_t*>(to));
  if (out != nullptr) out[k] = r.finish(s, n);
}
template <class R, class... T>
cudaError_t enqueue_operation_states(const states_request& r, cudaStream_t stream) {
  using reduction = placed_reduction<R, T...>;
  if (r.count == 0) return cudaSuccess;
  return launch(operation_states_kernel<reduction>, {static_cast<unsigned>((r.count + 127) / 128), 128, 0, stream}, reduction::of(r.options, 0), r.states,
                r.from, r.sets, r.count, static_cast<int>(r.words), r.into, static_cast<result_of<R>*>(r.out));
}

/// The functions of R, or null where its states are too large for rows.
template <class R, class... T>
struct operation_functions {
  static constexpr enqueue_function whole = enqueue_operation<R, T...>;
  static constexpr states_function states = enqueue_operation_states<R, T...>;
  static constexpr rows_function rows() {
    if constexpr (sizeof(state_of<R>) <= most_own_row_state) return or_by_label<enqueue_operation_rows<R, T...>>;
    else return nullptr;
  }
};

}  // namespace wf::device::inline WF_BUILD
