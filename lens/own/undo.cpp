// SPDX-License-Identifier: Apache-2.0
#include "undo.hpp"

#include <algorithm>
#include <cstring>

namespace lens::own {

void undo_log::access(std::uint64_t, std::uint32_t, const simt::memory_access& a) {
  if (a.kind == simt::access_kind::read || a.kind == simt::access_kind::atomic_load) return;
  for (std::uintptr_t at = a.address & ~std::uintptr_t{7}; at < a.address + a.size; at += 8) {
    if (words_.contains(at)) continue;
    const simt::region r = simt::find_region(std::max(at, a.address));
    if (r.where != simt::space::global) return;
    word w{};
    w.from = static_cast<std::uint8_t>(r.begin > at ? r.begin - at : 0);
    w.to = static_cast<std::uint8_t>(r.end < at + 8 ? r.end - at : 8);
    std::memcpy(w.bytes + w.from, reinterpret_cast<const void*>(at + w.from), w.to - w.from);
    words_.emplace(at, w);
  }
}

void undo_log::restore() {
  for (const auto& [at, w] : words_) std::memcpy(reinterpret_cast<void*>(at + w.from), w.bytes + w.from, w.to - w.from);
}

}  // namespace lens::own
