// SPDX-License-Identifier: Apache-2.0
/// \file double_buckets.cuh
/// A row set (row_set_concept.cuh) of sums of f64: exact digits of a thread by exponent, which takes any element.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_buckets.cuh>
#include <warpfold/detail/gpu/accumulate/row_set_concept.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/device/shared_memory.cuh>

namespace wf::device::inline WF_BUILD {

template <int Threads>
struct doubles_in_buckets {
  using buckets_type = double_buckets<Threads>;
  static constexpr int inputs = 1, rows = 1, watches = 1, loads = 4, item_size = 8;
  static constexpr int digits0 = exact::format<double>::digits, digits1 = 0;
  static constexpr int unit0 = exact::format<double>::min_exponent, unit1 = 0;
  static constexpr std::size_t shared_bytes = buckets_type::shared_bytes;
  using room = piece_room<buckets_type::slots>;

  buckets_type bucket;
  special_watch<double> watch;
  int adds;

  __device__ __forceinline__ void start(op) {
    bucket.start(wf_dynamic_shared);
    watch.start();
    adds = 0;
  }
  __device__ __forceinline__ void add(const pack (&p)[1]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const double x = item_of<double>(p[0], i);
      bucket.add(x);
      watch.add(x);
    }
    adds += 2;
  }
  __device__ __forceinline__ void after_batch() {
    if (adds > buckets_type::adds_between_carries - 2 * loads) {
      bucket.carry();
      adds = 0;
    }
  }
  /// Adds v·2^place, in units of the row; v within ±2^62.
  __device__ __forceinline__ void add_scaled(int, std::int64_t v, int place) {
    bucket.add_scaled(v, place);
    ++adds;
    after_batch();
  }
  __device__ __forceinline__ std::uint32_t kinds(int) const { return watch.kinds(); }
  __device__ __forceinline__ void sum_over_block(room& r, std::int64_t* to) {
    sum_buckets<Threads, buckets_type::slots, Threads>(reinterpret_cast<const std::int64_t*>(wf_dynamic_shared), r, true);
    for (int k = static_cast<int>(threadIdx.x); k < digits0; k += Threads) to[k] = digit_of_pieces<51, buckets_type::slots, digits0>(r, k);
  }
};

}  // namespace wf::device::inline WF_BUILD
