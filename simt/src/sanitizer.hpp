// SPDX-License-Identifier: Apache-2.0
// What the address sanitizer must be told about stacks that take turns; nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(SIMT_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt::detail {

inline void start_switch([[maybe_unused]] void** save, [[maybe_unused]] const void* bottom,
                         [[maybe_unused]] std::size_t bytes) {
#if defined(SIMT_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(save, bottom, bytes);
#endif
}

inline void finish_switch([[maybe_unused]] void* saved) {
#if defined(SIMT_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(saved, nullptr, nullptr);
#endif
}

inline void unpoison([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(SIMT_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace simt::detail
