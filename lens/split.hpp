// SPDX-License-Identifier: Apache-2.0
/// \file split.hpp
/// Puts together what a compiler took apart. A GPU moves an object of 8 or 16 bytes by one instruction; a
/// host compiler may read its members one by one. Accesses that follow each other in one basic block, come
/// from one place of the source (line and column), and touch adjacent memory are one again, if the whole
/// is aligned to its size.
#pragma once

#include <simt/recorder.hpp>

#include <array>
#include <functional>

#include "request.hpp"

namespace lens {

class split_accesses {
 public:
  using same_place = std::function<bool(std::uint32_t, std::uint32_t)>;
  explicit split_accesses(same_place same) : same_(std::move(same)) {}

  /// False if it does not go on where what is held ends; then flush() and come again.
  bool take(const simt::event& e, const request& r) {
    if (count_ != 0 && !follows(e, r)) return false;
    parts_[count_] = r;
    events_[count_++] = e;
    return true;
  }

  /// sink(event, request) for each whole.
  template <class Sink>
  void flush(const Sink& sink) {
    for (unsigned k = 0; k < count_;) {
      const unsigned parts = whole_from(k);
      request& r = parts_[k];
      if (parts > 1) r.size = static_cast<std::uint32_t>(bytes(k, parts));
      sink(events_[k], r);
      k += parts;
    }
    count_ = 0;
  }

 private:
  static constexpr std::uint64_t widest = 16;

  bool follows(const simt::event& e, const request& r) const {
    const request& last = parts_[count_ - 1];
    const simt::event& before = events_[count_ - 1];
    if (e.what() > simt::event_kind::write || e.kind != before.kind || e.is_volatile || before.is_volatile ||
        count_ == parts_.size() || r.mask != last.mask || last.size >= widest || e.where != before.where)
      return false;
    for (std::uint32_t m = r.mask; m != 0; m &= m - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(m));
      if (r.address[lane] != last.address[lane] + last.size) return false;
    }
    return e.site != before.site && same_(e.site, before.site);
  }

  std::uint64_t bytes(unsigned first, unsigned parts) const {
    std::uint64_t sum = 0;
    for (unsigned k = first; k < first + parts; ++k) sum += parts_[k].size;
    return sum;
  }

  /// How many parts from this one on make a whole: the widest that is aligned in every lane.
  unsigned whole_from(unsigned first) const {
    for (unsigned parts = count_ - first; parts > 1; --parts) {
      const std::uint64_t size = bytes(first, parts);
      if (size > widest || !std::has_single_bit(size)) continue;
      bool aligned = true;
      for (std::uint32_t m = parts_[first].mask; m != 0; m &= m - 1)
        aligned &= parts_[first].address[static_cast<unsigned>(std::countr_zero(m))] % size == 0;
      if (aligned) return parts;
    }
    return 1;
  }

  same_place same_;
  std::array<request, 16> parts_;
  std::array<simt::event, 16> events_;
  unsigned count_ = 0;
};

}  // namespace lens
