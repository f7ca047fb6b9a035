// SPDX-License-Identifier: Apache-2.0
/// \file memcpy_async.h
/// simt's own: a group's copy to shared memory, which is done when it returns; the wait is the group's barrier, as on a GPU.
#pragma once

#include <cooperative_groups.h>

#include <cstddef>

namespace cooperative_groups {
inline namespace SIMT_BUILD {

/// `bytes` of them, a multiple of an element's; lanes take neighbouring elements.
template <class Group, class T>
inline void memcpy_async(const Group& group, T* to, const T* from, std::size_t bytes) {
  for (std::size_t i = group.thread_rank(); i < bytes / sizeof(T); i += group.size()) to[i] = from[i];
}
template <class Group>
SIMT_INLINE void wait(const Group& group) {
  group.sync();
}
/// All copies but the last `Stages`: here they are done, too.
template <unsigned Stages, class Group>
SIMT_INLINE void wait_prior(const Group& group) {
  group.sync();
}

}  // inline namespace SIMT_BUILD
}  // namespace cooperative_groups
