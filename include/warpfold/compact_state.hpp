// SPDX-License-Identifier: Apache-2.0
/// \file compact_state.hpp
/// States in as few bytes as their numbers need, for storing, sending, and operations of one's own:
///
///     std::vector<std::byte> few = wf::compact_states(form, states);   // a sum of f32: 8 to 13 bytes of normal numbers, 144 in a state
///     std::vector<std::byte> again = wf::expand_states(form, few);     // the same bytes as `states`
///
/// Digits of an exact sum are a number in two's complement; most of its bytes are zeros below the last bit and copies of the
/// sign above the first. One state after the other, each
///
///     the number of elements          varint; of no elements there is nothing more
///     for each row of digits          1 where there are NaNs, infinities or nothing but -0, and then their four counters, as
///                                     varints; else 0. The number: how many of its lowest bytes are left out, how many
///                                     follow, these. Its squares, the same
///     without rows of digits          the other words, 8 bytes each
///
/// A varint has 7 bits a byte, the lowest first; all but the last have bit 7 set. Equal states have equal bytes and different ones
/// different. Compact states are not merged by addition: where another library adds, whole states travel.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <warpfold/state_check.hpp>

namespace wf {

namespace detail {

/// Writes into room that may be too small; `needed` counts the bytes that would be enough.
class compact_writer {
 public:
  explicit compact_writer(std::span<std::byte> room) : room_(room) {}
  std::size_t needed() const { return at_; }
  bool fits() const { return at_ <= room_.size(); }

  void byte(std::uint64_t b) {
    if (at_ < room_.size()) room_[at_] = static_cast<std::byte>(b);
    ++at_;
  }
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) byte((v & 0x7f) | 0x80);
    byte(v);
  }
  void word(std::uint64_t v) {
    for (int k = 0; k < 8; ++k) byte(v >> (8 * k) & 0xff);
  }
  /// Digits are canonical.
  void number(std::span<const std::int64_t> digits) {
    const auto byte_at = [&](std::size_t k) { return static_cast<std::uint64_t>(digits[k / 4]) >> (8 * (k % 4)) & 0xff; };
    std::size_t from = 0, to = 4 * digits.size();
    const std::uint64_t sign = digits.back() < 0 ? 0xff : 0;
    while (from < to && byte_at(from) == 0) ++from;
    if (from == to) from = to = 0;  // zero
    while (to > from + 1 && byte_at(to - 1) == sign && (byte_at(to - 2) & 0x80) == (sign & 0x80)) --to;
    varint(from);
    varint(to - from);
    for (; from < to; ++from) byte(byte_at(from));
  }

 private:
  std::span<std::byte> room_;
  std::size_t at_ = 0;
};

/// Reads what a compact_writer wrote. On other bytes `failed` becomes true, and all that is read from then on is 0.
class compact_reader {
 public:
  explicit compact_reader(std::span<const std::byte> from) : from_(from) {}
  bool failed = false;
  std::size_t at() const { return at_; }

  std::uint64_t byte() {
    if (at_ == from_.size()) failed = true;
    return failed ? 0 : static_cast<std::uint64_t>(from_[at_++]);
  }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint64_t b = byte();
      if (failed || shift > 63 || (shift == 63 && b > 1) || (shift > 0 && b == 0)) {  // too long, or longer than it need be
        failed = true;
        return 0;
      }
      v |= (b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
  }
  std::int64_t word() {
    std::uint64_t v = 0;
    for (int k = 0; k < 8; ++k) v |= byte() << (8 * k);
    return static_cast<std::int64_t>(v);
  }
  void number(std::span<std::int64_t> digits) {
    const std::uint64_t from = varint(), count = varint(), most = 4 * digits.size();
    std::ranges::fill(digits, 0);
    if (from > most || count > most - from || (count == 0 && from != 0)) failed = true;
    if (failed || count == 0) return;
    std::uint64_t b = 0, before = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      before = b;
      b = byte();
      if (k == 0 && b == 0) failed = true;
      const std::uint64_t place = from + k;
      digits[place / 4] |= static_cast<std::int64_t>(b << (8 * (place % 4)));
    }
    if (count > 1 && ((b == 0 && (before & 0x80) == 0) || (b == 0xff && (before & 0x80) != 0))) failed = true;  // one more than it need be
    if ((b & 0x80) != 0)
      for (std::uint64_t place = from + count; place < most; ++place) digits[place / 4] |= static_cast<std::int64_t>(std::uint64_t{0xff} << (8 * (place % 4)));
    digits.back() = static_cast<std::int32_t>(static_cast<std::uint32_t>(digits.back()));
  }

 private:
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
};

/// A canonical state.
inline void write_compact(const rows_of_digits& rows, std::span<const std::int64_t> words, compact_writer& to) {
  to.varint(static_cast<std::uint64_t>(words[0]));
  if (words[0] == 0) return;
  if (rows.sums == 0) {
    for (const std::int64_t w : words.subspan(1)) to.word(static_cast<std::uint64_t>(w));
    return;
  }
  std::size_t at = 1;
  for (int row = 0; row < rows.sums; ++row) {
    const auto digits = words.subspan(at, static_cast<std::size_t>(rows.digits));
    const auto counters = words.subspan(at + digits.size() + 1, 4);  // the first is that of the elements
    at += digits.size() + 5;
    const bool special = std::ranges::any_of(counters, [](std::int64_t c) { return c != 0; });
    to.byte(special ? 1 : 0);
    if (special)
      for (const std::int64_t c : counters) to.varint(static_cast<std::uint64_t>(c));
    to.number(digits);
    if (rows.squares == 0) continue;
    to.number(words.subspan(at, static_cast<std::size_t>(rows.squares)));
    at += static_cast<std::size_t>(rows.squares);
  }
}

/// `words` are those of no elements before.
inline void read_compact(const rows_of_digits& rows, compact_reader& from, std::span<std::int64_t> words) {
  const std::uint64_t n = from.varint();
  if (n > static_cast<std::uint64_t>(INT64_MAX / rows.terms)) from.failed = true;
  if (from.failed || n == 0) return;
  words[0] = static_cast<std::int64_t>(n);
  if (rows.sums == 0) {
    for (std::int64_t& w : words.subspan(1)) w = from.word();
    return;
  }
  std::size_t at = 1;
  for (int row = 0; row < rows.sums && !from.failed; ++row) {
    const auto digits = words.subspan(at, static_cast<std::size_t>(rows.digits));
    const auto counters = words.subspan(at + digits.size(), 5);
    at += digits.size() + 5;
    counters[0] = words[0] * rows.terms;
    const std::uint64_t special = from.byte();
    if (special > 1) from.failed = true;
    std::uint64_t any = 0;
    for (std::int64_t& c : counters.subspan(1)) {
      c = special == 0 ? 0 : static_cast<std::int64_t>(from.varint());
      any |= static_cast<std::uint64_t>(c);
    }
    if (special == 1 && any == 0) from.failed = true;
    from.number(digits);
    if (rows.squares == 0) continue;
    from.number(words.subspan(at, static_cast<std::size_t>(rows.squares)));
    at += static_cast<std::size_t>(rows.squares);
  }
}

/// A compact state of one length, for an operation of an all-reduce: whether it fits, and its bytes. A merge that no longer fits says so,
/// and the bytes then mean nothing.
namespace slot {
inline constexpr std::byte too_wide{1};

inline void write(const state_form& form, const void* state, std::span<std::byte> to) {
  std::vector<std::int64_t> words(form.bytes / 8);
  std::memcpy(words.data(), state, form.bytes);
  std::ranges::fill(to, std::byte{0});
  compact_writer w(to.subspan(1));
  write_compact(rows_of(form), words, w);
  if (w.fits()) return;
  std::ranges::fill(to, std::byte{0});
  to[0] = too_wide;
}
/// False where it is too wide, or damaged.
inline bool read(const state_form& form, std::span<const std::byte> from, void* state) {
  std::vector<std::int64_t> words(form.bytes / 8);
  clear_states(form, words.data(), 1);
  compact_reader r(from.subspan(1));
  if (from[0] == std::byte{0}) read_compact(rows_of(form), r, words);
  if (from[0] != std::byte{0} || r.failed) return false;
  std::memcpy(state, words.data(), form.bytes);
  return true;
}
/// inout = in ∘ inout; throws nothing.
inline void merge(const state_form& form, std::span<const std::byte> in, std::span<std::byte> inout) noexcept {
  try {
    std::vector<std::byte> earlier(form.bytes), later(form.bytes);
    if (read(form, in, earlier.data()) && read(form, inout, later.data())) {
      merge_states(form, earlier.data(), later.data(), 1);
      write(form, earlier.data(), inout);
      return;
    }
  } catch (...) {  // more elements than a state counts: whole states find it too, and say so
  }
  std::ranges::fill(inout, std::byte{0});
  inout[0] = too_wide;
}
}  // namespace slot

}  // namespace detail

/// The bytes of states in canonical form, one after the other. Throws wf::error (bad_input) as check_states does, for bytes that are no states.
inline std::vector<std::byte> compact_states(const state_form& told, std::span<const std::byte> states) {
  const state_form form = known_form(told.what, told.element, told.accuracy);
  check_states(form, states, static_cast<std::int64_t>(states.size() / form.bytes), "compact_states");
  const detail::rows_of_digits rows = detail::rows_of(form);
  std::vector<std::int64_t> words(form.bytes / 8);
  std::vector<std::byte> out;
  for (std::size_t at = 0; at < states.size(); at += form.bytes) {
    std::memcpy(words.data(), states.data() + at, form.bytes);
    detail::compact_writer measure{std::span<std::byte>()};
    detail::write_compact(rows, words, measure);
    const std::size_t before = out.size();
    out.resize(before + measure.needed());
    detail::compact_writer w{std::span<std::byte>(out).subspan(before)};
    detail::write_compact(rows, words, w);
  }
  return out;
}

/// The states that compact_states() of the same form wrote, as many as there are. Throws wf::error (bad_input) for other bytes.
inline std::vector<std::byte> expand_states(const state_form& told, std::span<const std::byte> compact) {
  const state_form form = known_form(told.what, told.element, told.accuracy);
  const detail::rows_of_digits rows = detail::rows_of(form);
  std::vector<std::int64_t> nothing(form.bytes / 8), words;
  clear_states(form, nothing.data(), 1);
  std::vector<std::byte> out;
  for (std::size_t at = 0; at < compact.size();) {
    detail::compact_reader r(compact.subspan(at));
    words = nothing;
    detail::read_compact(rows, r, words);
    if (r.failed)
      throw error(errc::bad_input, std::string("expand_states: ") + op_names[static_cast<int>(form.what)] + " of " + std::string(info(form.element).name) +
                                       ": byte " + std::to_string(at) + " of " + std::to_string(compact.size()) +
                                       " begins no compact state; it is damaged, truncated, or of another form or version");
    at += r.at();
    const auto raw = std::as_bytes(std::span(words));
    out.insert(out.end(), raw.begin(), raw.end());
  }
  check_states(form, out, static_cast<std::int64_t>(out.size() / form.bytes), "expand_states");
  return out;
}

}  // namespace wf
