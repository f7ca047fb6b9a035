// SPDX-License-Identifier: Apache-2.0
/// \file running.hpp
/// A reduction of elements that come a piece at a time, each piece over all cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/export.h>

namespace wf::cpu {

/// Exact answers are those of all elements at once. Others are too, bit for bit, if every piece but
/// the last has the same number of elements, a power of two of at least 2^17, and there are fewer than
/// 2^29 in all; else they may be rounded in another order.
class WF_API running {
 public:
  /// The arguments must outlive this object.
  running(const erased& r, const void* self, const context& c) : r_(r), self_(self), context_(c) {}

  /// Adds elements in order, without gaps, of any alignment: x[k] points to n elements of input k.
  void add(const void* const* x, std::int64_t n);
  /// Writes the answer of all elements; called once, at the end.
  void finish(void* out);

  std::int64_t count() const { return count_; }

 private:
  struct free_aligned {
    std::align_val_t align;
    void operator()(std::byte* p) const { ::operator delete(p, align); }
  };
  using state = std::unique_ptr<std::byte[], free_aligned>;
  state new_state() const;

  const erased& r_;
  const void* self_;
  const context& context_;
  std::vector<state> waiting_;  // each has 2^k pieces, k falling: a binary counter
  std::int64_t pieces_ = 0, count_ = 0;
};

}  // namespace wf::cpu
