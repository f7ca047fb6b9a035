// SPDX-License-Identifier: Apache-2.0
/// \file double_columns.cuh
/// A row set (row_set_concept.cuh) of sums of f64: a column of exact digits per thread, which takes any element.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_column.cuh>
#include <warpfold/detail/gpu/accumulate/row_set_concept.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/device/shared_memory.cuh>

namespace wf::device::inline WF_BUILD {

template <int Threads>
struct double_columns {
  using column_type = double_column<Threads>;
  static constexpr int inputs = 1, rows = 1, watches = 1, loads = 4, item_size = 8;
  static constexpr int digits0 = exact::format<double>::digits, digits1 = 0;
  static constexpr int unit0 = exact::format<double>::min_exponent, unit1 = 0;
  static constexpr std::size_t shared_bytes = column_type::shared_bytes;
  using room = piece_room<column_type::slots>;

  column_type column;
  special_watch<double> watch;
  int adds;

  __device__ __forceinline__ void start(op) {
    column.start(wf_dynamic_shared);
    watch.start();
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const double x = item_of<double>(p[0], i);
      column.add(x);
      watch.add(x);
    }
    adds += 2;
  }
  __device__ __forceinline__ void after_batch() {
    if (adds > column_type::adds_between_carries - 2 * loads) {
      column.carry();
      adds = 0;
    }
  }
  /// v·2^place more, in units of the row; v within ±2^62.
  __device__ __forceinline__ void add_scaled(int, std::int64_t v, int place) {
    column.add_scaled(v, place);
    ++adds;
    after_batch();
  }
  __device__ __forceinline__ std::uint32_t kinds(int) const { return watch.kinds(); }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    sum_columns<Threads, column_type::slots, Threads>(reinterpret_cast<const std::int64_t*>(wf_dynamic_shared), r, true);
    for (int k = static_cast<int>(threadIdx.x); k < digits0; k += Threads) to[k] = digit_of_pieces<51, column_type::slots, digits0>(r, k);
  }
};

}  // namespace wf::device::inline WF_BUILD
