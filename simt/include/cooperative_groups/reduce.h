// SPDX-License-Identifier: Apache-2.0
/// \file reduce.h
/// simt's own: cooperative_groups::reduce over a tile or the coalesced threads, by shuffles.
#pragma once

#include <cooperative_groups.h>

namespace cooperative_groups {
inline namespace SIMT_BUILD {

template <class T = void>
struct plus {
  SIMT_INLINE constexpr T operator()(const T& a, const T& b) const { return a + b; }
};
template <class T = void>
struct less {
  SIMT_INLINE constexpr T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <class T = void>
struct greater {
  SIMT_INLINE constexpr T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T = void>
struct bit_and {
  SIMT_INLINE constexpr T operator()(const T& a, const T& b) const { return a & b; }
};
template <class T = void>
struct bit_or {
  SIMT_INLINE constexpr T operator()(const T& a, const T& b) const { return a | b; }
};
template <class T = void>
struct bit_xor {
  SIMT_INLINE constexpr T operator()(const T& a, const T& b) const { return a ^ b; }
};

/// Every thread of the group gets the result. Pairs are combined lower rank first, in a tree.
template <class Group, class T, class Combine>
inline lanes::value_t<T> reduce(const Group& group, T given, Combine combine) {
  lanes::value_t<T> value = given;
  const unsigned size = static_cast<unsigned>(group.num_threads()), rank = static_cast<unsigned>(group.thread_rank());
  for (unsigned step = 1; step < size; step *= 2) {
    const auto other = group.shfl(value, static_cast<int>(rank + step < size ? rank + step : rank));
    if (rank % (2 * step) == 0 && rank + step < size) value = combine(value, other);
  }
  return group.shfl(value, 0);
}

}  // inline namespace SIMT_BUILD
}  // namespace cooperative_groups
