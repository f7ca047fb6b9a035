// SPDX-License-Identifier: Apache-2.0
/// \file rows_joined.cuh
/// States of the parts of one segment that are put together (rows_prefix.cuh). A bound by the range of all elements is too wide for a long segment of f64, whose sum may be a tie. So beside
/// its state each part of f64 has its sum in two doubles, and whether an addition to these lost anything, which the additions themselves tell.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_certified.cuh>

namespace wf::device::inline WF_BUILD {

/// The accumulator of parts of segments: the segments' own, where its states decide nearly all answers.
template <class Acc>
struct joined_rows : Acc {
  using state = typename Acc::state;
  /// A state of elements that add up to `sum`, all of it.
  template <class Sum>
  static __device__ __forceinline__ state known(const state& s, const Sum&) { return s; }
  /// A state of elements whose sum is known to be near alone.
  static __device__ __forceinline__ const state& near(const state& s) { return s; }
  /// No states are asked for this way.
  template <class Room>
  __device__ __forceinline__ void exactly(Room& shared, const row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    Acc::template exactly<wanted::answers>(shared, v, row, by_block, out);
  }
};

template <>
struct joined_rows<certified_rows<double, terms::sum>> : certified_rows<double, terms::sum> {
  using base = certified_rows<double, terms::sum>;
  struct state : base::state {
    certified::pair sum;  ///< the sum of all elements, if nothing was lost
    std::uint32_t lost;   ///< whether anything was
  };

  template <class Sum>
  static __device__ __forceinline__ state known(const base::state& s, const Sum& sum) { return {s, {sum.s, sum.c}, 0}; }
  static __device__ __forceinline__ state near(const base::state& s) { return {s, certified::pair::nothing(), 1}; }
  /// No states are asked for this way.
  template <class Room>
  __device__ __forceinline__ void exactly(Room& shared, const row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    base::template exactly<wanted::answers>(shared, v, row, by_block, out);
  }
  __device__ __forceinline__ state identity() const { return {base::identity(), certified::pair::nothing(), 0}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    exact_look<double> look{a.sum.s, a.sum.c};
    look.merge(b.sum.s, b.sum.c);
    return {base::combine(a, b), {look.s, look.c}, a.lost | b.lost | (look.lost ? 1u : 0u)};
  }
  __device__ __attribute__((noinline)) bool answer_here(const state& s, std::uint64_t n, std::uint64_t length, std::uint64_t merges, void* to) const {
    if (base::answer_here(s, n, length, merges, to)) return true;
    if (s.lost != 0 || base::states) return false;
    const certified::known sum[1] = {certified::known_of(s.sum, 0)};
    return certified::answer<1, true, false>(base::q, sum, certified::uncertain(), n, static_cast<double*>(to));
  }
};

}  // namespace wf::device::inline WF_BUILD
