// SPDX-License-Identifier: Apache-2.0
/// \file undo.hpp
/// What a launch writes to global memory, taken back: a launch within a program can then be repeated.
#pragma once

#include <simt/machine.hpp>

#include <cstdint>
#include <unordered_map>

namespace lens::own {

/// Sees accesses before they happen, and keeps what each word held before the first write to it.
class undo_log final : public simt::observer {
 public:
  void access(std::uint64_t block, std::uint32_t thread, const simt::memory_access&) override;
  /// As it was before the first write that was seen.
  void restore();

 private:
  struct word {
    unsigned char bytes[8];
    std::uint8_t from, to;  ///< those of them that are the region's
  };
  std::unordered_map<std::uintptr_t, word> words_;
};

}  // namespace lens::own
