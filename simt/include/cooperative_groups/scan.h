// SPDX-License-Identifier: Apache-2.0
/// \file scan.h
/// simt's own: scans over the ranks of a tile or of the coalesced threads, by shuffles.
#pragma once

#include <cooperative_groups/reduce.h>

namespace cooperative_groups {
inline namespace SIMT_BUILD {

/// What ranks 0 to one's own come to, in their order.
template <class Group, class T, class Combine>
inline lanes::value_t<T> inclusive_scan(const Group& group, T given, Combine combine) {
  lanes::value_t<T> value = given;
  const unsigned size = static_cast<unsigned>(group.num_threads()), rank = static_cast<unsigned>(group.thread_rank());
  for (unsigned step = 1; step < size; step *= 2) {
    const auto before = group.shfl_up(value, step);
    if (rank >= step) value = combine(before, value);
  }
  return value;
}
template <class Group, class T>
inline lanes::value_t<T> inclusive_scan(const Group& group, T given) {
  return inclusive_scan(group, given, plus<lanes::value_t<T>>());
}

/// What the ranks below one's own come to; T() for rank 0, where CUDA says nothing of operations but sums.
template <class Group, class T, class Combine>
inline lanes::value_t<T> exclusive_scan(const Group& group, T given, Combine combine) {
  const auto before = group.shfl_up(inclusive_scan(group, given, combine), 1);
  return group.thread_rank() == 0 ? lanes::value_t<T>() : before;
}
template <class Group, class T>
inline lanes::value_t<T> exclusive_scan(const Group& group, T given) {
  return exclusive_scan(group, given, plus<lanes::value_t<T>>());
}

}  // inline namespace SIMT_BUILD
}  // namespace cooperative_groups
