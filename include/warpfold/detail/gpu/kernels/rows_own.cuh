// SPDX-License-Identifier: Apache-2.0
/// \file rows_own.cuh
/// The host's part of rows whose reductions the caller's compiler knows: which parts an accumulator has, and its launch.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_own.cuh>
#include <warpfold/detail/gpu/kernels/fused_reduce.cuh>
#include <warpfold/detail/gpu/kernels/rows_ragged.cuh>
#include <warpfold/detail/gpu/kernels/rows_thread.cuh>

namespace wf::device::inline WF_BUILD {

/// Where a part's answers go, on the host.
struct answers_to {
  void* out;
  std::size_t bytes;  ///< one has so many
};

/// The parts for reductions F… of elements of U: those reductions of the library that are exact sums of floats share one part.
template <class U, class... F>
struct row_fusion {
  static constexpr bool exact = floating<U> || complex_number<U>;
  static constexpr bool sums(op o) { return exact && o != op::norm1 && row_plan_of(o).any; }
  static constexpr bool norm1(op o) { return exact && o == op::norm1; }
  static constexpr int asked_sums = (0 + ... + (sums(operation_of_part<F>) ? 1 : 0)), asked_norms = (0 + ... + (norm1(operation_of_part<F>) ? 1 : 0));
  static constexpr bool squares = ((sums(operation_of_part<F>) && operation_of_part<F> != op::sum && operation_of_part<F> != op::mean) || ...);
  using element = kernel_element<U>;

  const std::tuple<F...>& reductions;
  const std::array<answers_to, sizeof...(F)>& to;
  const options& told;

  auto parts() const {
    return std::apply([](const auto&... each) { return parts_of(each...); },
                      std::tuple_cat(proved<squares ? terms::moments : terms::sum, asked_sums>([](op o) { return sums(o); }),
                                     proved<terms::sum, asked_norms>([](op o) { return norm1(o); }), others(std::index_sequence_for<F...>())));
  }

 private:
  static constexpr row_plan row_plan_of(op o) { return plan_rows<std::conditional_t<exact, U, float>>({o}); }
  row_answers answers(std::size_t k) const { return {static_cast<unsigned char*>(to[k].out), to[k].bytes}; }

  /// One part for all operations that are chosen.
  template <terms Terms, int Count, class Chosen>
  auto proved(Chosen chosen) const {
    if constexpr (Count == 0) {
      return std::tuple<>();
    } else {
      sums_part<element, Terms, Count> part{};
      constexpr op all[] = {operation_of_part<F>...};
      int at = 0;
      for (std::size_t k = 0; k < sizeof...(F); ++k) {
        if (!chosen(all[k])) continue;  // op::count stands for the caller's own, which none is
        part.what[at] = all[k];
        part.to[at++] = answers(k);
      }
      part.first = {{part.what[0], told.rounding, told.correction}};
      return std::tuple(part);
    }
  }
  template <std::size_t... I>
  auto others(std::index_sequence<I...>) const { return std::tuple_cat(other<I>()...); }
  template <std::size_t I>
  auto other() const {
    using part = std::tuple_element_t<I, std::tuple<F...>>;
    if constexpr (!wf::detail::names_operation<part>) {
      return std::tuple(reduction_part<part>{std::get<I>(reductions), answers(I)});
    } else {
      constexpr op what = operation_of_part<part>;
      static_assert(takes<what, U>, "this reduction does not take this element type: see docs/reductions.md");
      constexpr bool moments = what == op::mean || what == op::var || what == op::std_dev || what == op::mean_var || what == op::norm2;
      if constexpr (sums(what) || norm1(what)) {
        return std::tuple<>();
      } else if constexpr (what == op::logsumexp || (integer<U> && moments)) {
        return std::tuple(any_part<what, U>{told.rounding, told.correction, answers(I)});
      } else {
        const auto fold = fold_of_operation<what, U>();
        return std::tuple(fold_part<std::remove_cv_t<decltype(fold)>, U>{fold, answers(I)});
      }
    }
  }
};

/// Rows or columns of no more elements: where there are many, a thread reduces each, in order.
inline constexpr std::uint64_t own_lone_elements = 64;
template <class Acc>
__global__ void __launch_bounds__(lone_threads)
    own_lone_kernel(const __grid_constant__ row_view<Acc::inputs> v, const __grid_constant__ Acc acc) {
  await_stream();
  __shared__ typename room_of<Acc>::type rooms[lone_threads / warp_lanes];
  for (std::uint64_t base = blockIdx.x * std::uint64_t{lone_threads}; base < v.rows; base += std::uint64_t{gridDim.x} * lone_threads) {
    const std::uint64_t row = base + threadIdx.x;
    bool sure = true;
    if (row < v.rows) sure = acc.answer_row(acc.walk(v, row, 0, v.n, 1), v.n, 0, row);
    __syncwarp();
    settle(acc, {}, rooms[warp_index()], v, sure ? 0u : 1u, row, 1, {}, 0, nullptr);
  }
}

/// Rows by an accumulator of own_rows. Strides of the request are bytes; `all` elements in all rows. Labels are sorted by `sort` first.
template <class Parts, class F, class... T>
cudaError_t enqueue_own_rows(own_rows<Parts, F, T...> acc, rows_request r, std::uint64_t all, order_labels_kernel sort, workspace& scratch,
                             cudaStream_t stream) {
  using state = typename Parts::state;
  constexpr int inputs = sizeof...(T);
  constexpr std::size_t shared = 48 * 1024, room = sizeof(typename Parts::room);
  static_assert(sizeof(state) * (ragged_warps * (warp_lanes + 2) + 2) + ragged_warps * room + 256 <= shared,
                "warpfold: on a GPU, rows, segments and labels are reduced by states of 300 bytes at most, beside exact sums of less");
  if (r.labels != nullptr) {
    label_order sorted;
    auto e = static_cast<cudaError_t>(sort(r.labels, r.length[0], r.segments, &sorted, &scratch, stream));
    if (e != cudaSuccess) return e;
    r.labels = nullptr;
    r.offsets = sorted.offsets;
    r.offset_bytes = 4;
    acc.order = sorted.elements;
    e = enqueue_own_rows(acc, r, all, nullptr, scratch, stream);
    const cudaError_t freed = cudaFreeAsync(sorted.memory, stream);
    return e != cudaSuccess ? e : freed;
  }
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  row_view<inputs> v;
  std::uint64_t even = 1;  // all elements, if all rows are as long
  for (int d = 0; d < r.kept + r.reduced; ++d) even *= static_cast<std::uint64_t>(r.length[static_cast<std::size_t>(d)]);
  make_row_view(v, r, 1, 1, !Parts::ordered && !Parts::indexed && even == all);  // a shorter one must not be turned around
  v.all = all;
  if (v.rows == 0) return cudaSuccess;
  constexpr std::size_t aligns[] = {alignof(T)...};
  for (int k = 0; k < inputs; ++k) {
    if (all != 0 && reinterpret_cast<std::uintptr_t>(v.x[k]) % aligns[k] != 0) return cudaErrorMisalignedAddress;
  }
  if (v.offsets == nullptr && even == all && v.n <= own_lone_elements && v.rows >= std::uint64_t{512} * scratch.multiprocessors()) {
    const std::uint32_t blocks = at_most(divide_up(v.rows, lone_threads), 64 * scratch.multiprocessors());
    return launch(own_lone_kernel<own_rows<Parts, F, T...>>, {blocks, lone_threads, 0, stream, scratch.overlaps()}, v, acc);
  }
  // Columns: neighbouring rows lie closer than a row's elements.
  const auto apart = [](std::int64_t bytes) { return bytes < 0 ? -bytes : bytes; };
  constexpr std::size_t states = sizeof(state) * (columns_warps * warp_lanes) + room + 256;
  if constexpr (states <= shared) {
    if (v.offsets == nullptr && all != 0 && v.kept > 0 && v.dims > v.kept && v.dim[v.kept - 1].length > 4 &&
        apart(v.dim[v.kept - 1].stride[0]) < apart(v.dim[v.dims - 1].stride[0])) {
      return enqueue_columns(acc, v, r, scratch, stream);
    }
  }
  return enqueue_ragged(acc, v, r, scratch, stream);
}

}  // namespace wf::device::inline WF_BUILD
