// SPDX-License-Identifier: Apache-2.0
// Stacks for the CUDA threads of a warp, mapped together, each with a page below it that nobody may touch;
// of the many that a large cooperative grid wants only the lowest of a warp has one.
#pragma once

#include "sanitizer.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace simt::detail {

#if defined(SIMT_ADDRESS_SANITIZER)
inline constexpr std::size_t stack_bytes = 1024 * 1024;
#else
inline constexpr std::size_t stack_bytes = 64 * 1024;
#endif
inline constexpr std::size_t guard_bytes = 4096, stack_step = stack_bytes + guard_bytes;

struct stack_set {
  std::byte* first;
  bool all_guarded;
};

// Linux gives a process 65530 mappings. A set with all its guards takes 64 of them, one with the lowest
// alone takes 2: so the 8448 warps that fit on 132 multiprocessors have their stacks, and OS threads theirs.
inline constexpr int most_guarded_sets = 512;
inline std::atomic<int> guarded_sets{0};

inline std::byte* stack_of(const stack_set& set, std::size_t lane) {
  return set.first + lane * stack_step + guard_bytes;
}

inline void unmap_stacks(const stack_set& set) {
  unpoison(set.first, 32 * stack_step);  // frames that were left, not returned from: the memory may be anything next
  munmap(set.first, 32 * stack_step);
  if (set.all_guarded) --guarded_sets;
}

/// Throws std::bad_alloc.
inline stack_set map_stacks() {
  void* memory = mmap(nullptr, 32 * stack_step, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  const bool all_guarded = guarded_sets.fetch_add(1) < most_guarded_sets;
  if (!all_guarded) --guarded_sets;
  const stack_set set{static_cast<std::byte*>(memory), all_guarded};
  for (std::size_t i = 0; i < (all_guarded ? 32 : 1); ++i) {
    if (mprotect(set.first + i * stack_step, guard_bytes, PROT_NONE) == 0) continue;
    unmap_stacks(set);
    throw std::bad_alloc();
  }
  return set;
}

}  // namespace simt::detail
