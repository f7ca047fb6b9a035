// SPDX-License-Identifier: Apache-2.0
// Stacks for the CUDA threads of a warp, mapped together, each with a page below it that nobody may touch.
#pragma once

#include "sanitizer.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace simt::detail {

#if defined(SIMT_ADDRESS_SANITIZER)
inline constexpr std::size_t stack_bytes = 256 * 1024;
#else
inline constexpr std::size_t stack_bytes = 64 * 1024;
#endif
inline constexpr std::size_t guard_bytes = 4096, stack_step = stack_bytes + guard_bytes;

inline std::atomic<int> mapped_stack_sets{0};

inline std::byte* stack_of(std::byte* set, std::size_t lane) { return set + lane * stack_step + guard_bytes; }

inline std::byte* map_stacks() {
  void* set = mmap(nullptr, 32 * stack_step, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (set == MAP_FAILED) throw std::bad_alloc();
  auto* first = static_cast<std::byte*>(set);
  for (std::size_t i = 0; i < 32; ++i) mprotect(first + i * stack_step, guard_bytes, PROT_NONE);
  ++mapped_stack_sets;
  return first;
}

inline void unmap_stacks(std::byte* set) {
  munmap(set, 32 * stack_step);
  --mapped_stack_sets;
}

}  // namespace simt::detail
