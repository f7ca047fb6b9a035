// SPDX-License-Identifier: Apache-2.0
/// \file fusion.hpp
/// Several reductions of the same elements in one pass: a reduction whose state is all their states.
/// Long runs are folded a tile at a time, so memory is read once.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/export.h>

namespace wf::cpu {

class WF_API fusion {
 public:
  struct part {
    const erased* functions;
    const void* self;
  };
  /// All parts take the same inputs; they outlive the fusion. More than `few` of them take memory of the heap.
  explicit fusion(std::span<const part> parts);
  fusion(const fusion&) = delete;
  fusion& operator=(const fusion&) = delete;

  /// `self` of these functions is the fusion.
  const erased& functions() const { return functions_; }
  /// Bytes from the start of an answer to that of part k.
  std::size_t result_offset(std::size_t k) const { return placed_[k].result; }

 private:
  struct placed {
    part what;
    std::size_t state, result;
  };
  static constexpr std::size_t few = 8;
  static std::span<const placed> parts_of(const void* self) { return static_cast<const fusion*>(self)->placed_; }

  std::array<placed, few> few_{};
  std::vector<placed> many_;
  std::span<placed> placed_;  ///< in one of these
  erased functions_{};
};

}  // namespace wf::cpu
