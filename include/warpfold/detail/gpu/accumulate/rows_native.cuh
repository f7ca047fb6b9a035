// SPDX-License-Identifier: Apache-2.0
/// \file rows_native.cuh
/// Accumulators of rows (rows_kernel.cuh) of floats that are not exact: log Σ exp(x), by what a thread does with a pack of a whole array (logsumexp.cuh), and products in f64.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/logsumexp.cuh>
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>

namespace wf::device::inline WF_BUILD {

/// For f32 the exp is that of f64: then what is lost on the way is far below the rounding of the answer. f64 has CUDA's own exp, since rows have no table in shared memory.
template <class T>
struct logsumexp_rows : word_rows<static_cast<int>(sizeof(T))> {
  using base = word_rows<static_cast<int>(sizeof(T))>;
  using fold = float_logsumexp_fold<T, std::conditional_t<sizeof(T) >= 4, double, float>>;
  using state = typename fold::state;
  using running = typename fold::running;

  std::size_t result_size() const { return sizeof(T); }
  __device__ __forceinline__ state identity() const { return fold{}.identity(); }
  __device__ __forceinline__ running start() const { return fold{}.start(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const { return fold{}.combine(a, b); }
  __device__ __forceinline__ state total(const running& r) const { return {static_cast<double>(r.largest), r.sum}; }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t first) const { fold{}.add(r, p, first); }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t i) const { fold{}.add_item(r, i, item_of<T>(p[0], 0)); }
  /// Not inlined: it is long, and kernels of segments ask twice.
  __device__ __attribute__((noinline)) bool answer(const state& s, std::uint64_t n, const typename base::facts_type&, void* out) const {
    fold{}.write(s, n, out);
    return true;
  }
};

template <class T>
struct float_product_rows : word_rows<static_cast<int>(sizeof(T))> {
  using base = word_rows<static_cast<int>(sizeof(T))>;
  using state = double;
  using running = double;

  std::size_t result_size() const { return sizeof(T); }
  __device__ __forceinline__ state identity() const { return 1; }
  __device__ __forceinline__ running start() const { return 1; }
  __device__ __forceinline__ state combine(state a, state b) const { return a * b; }
  __device__ __forceinline__ state total(running r) const { return r; }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t) const {
#pragma unroll
    for (int i = 0; i < base::items; ++i) r *= to_double(item_of<T>(p[0], i));
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const { r *= to_double(item_of<T>(p[0], 0)); }
  __device__ __forceinline__ bool answer(state s, std::uint64_t, const typename base::facts_type&, void* out) const {
    write_as<T>(out, from_double<T>(s));
    return true;
  }
};

}  // namespace wf::device::inline WF_BUILD
