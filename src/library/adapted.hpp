// SPDX-License-Identifier: Apache-2.0
/// \file adapted.hpp
/// The functions of a reduction, changed as a request asks: bytes of the other order, indexes that do not
/// start at 0, states instead of answers, progress.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/io/dtype.hpp>

namespace wf::library {

/// No state of the library's own reductions is larger, and no other state leaves the library.
inline constexpr std::size_t most_state_bytes = 4096;

class WF_API adapted {
 public:
  struct changes {
    dtype element{};
    std::array<bool, cpu::max_inputs> swapped{};
    std::int64_t first = 0;
    bool states = false;
    std::atomic<std::uint64_t>* progress = nullptr;
  };

  /// `r` and `self` outlive this.
  adapted(const cpu::erased& r, const void* self, const changes& c);
  adapted(const adapted&) = delete;
  adapted& operator=(const adapted&) = delete;

  /// The functions of `r` themselves where nothing is changed.
  const cpu::erased& functions() const { return changed_ ? functions_ : r_; }
  const void* self() const { return changed_ ? this : self_; }

 private:
  static const adapted& as(const void* p) { return *static_cast<const adapted*>(p); }
  void accumulate(void* s, const void* const* x, std::int64_t n, std::int64_t first) const;
  void add_proved(void* s, const void* x, std::int64_t n, std::int64_t first) const;

  const cpu::erased& r_;
  const void* self_;
  changes with_;
  bool swaps_ = false, changed_ = false;
  cpu::erased functions_{};
};

/// Does `r` add rows to columns (cpu/columns.hpp) that are certain only without NaNs, as those of states are?
WF_API bool has_columns_of_numbers(const cpu::erased& r);

/// Bytes of a state as told outside: the number of elements, then the reduction's own words.
inline std::size_t told_bytes(const cpu::erased& r) { return 8 + (r.state_size + 7) / 8 * 8; }

/// Elements that are swapped together: those of a chunk of the engine, so that fast sums of either byte order have the
/// same bits.
inline constexpr std::int64_t swapped_together = std::int64_t{1} << 17;

}  // namespace wf::library
