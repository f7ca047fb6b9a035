// SPDX-License-Identifier: Apache-2.0
/// \file state_check.hpp
/// Checks whether bytes that came from elsewhere can be states (backend.hpp): that there are as many as expected, that they are in
/// canonical form, that counters agree with the number of elements and with each other, and that digits are no larger than the elements allow.
///
///     wf::check_states(form, bytes, 1, "the file");   // throws wf::error (bad_input) that says what is wrong
///
/// States that pass can be merged up to 2^63 - 1 elements without overflow of a word. They need not be states of real elements: the word of
/// a sum of integers may hold anything, and no word says which operation wrote it (docs/states.md).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/detail/exact/format.hpp>
#include <warpfold/detail/exact/rows_of_digits.hpp>
#include <warpfold/error.hpp>

namespace wf {

namespace detail {

/// How many digits a sum of elements has, and a sum of their products; integers have those of f64.
struct digit_lengths {
  int sum, product;
};
struct lengths_of_digits {
  template <class T>
  constexpr digit_lengths operator()() const {
    if constexpr (complex_number<T>) {
      return (*this).template operator()<typename T::value_type>();
    } else {
      using format = exact::format<std::conditional_t<floating<T>, T, double>>;
      return {format::digits, format::product_digits};
    }
  }
};

inline rows_of_digits rows_of(const state_form& f) {
  if (!f.adds || !f.canonical) return {};
  const bool whole_numbers = is_integer(f.element);
  const digit_lengths n = with_type(f.element, lengths_of_digits());
  const int parts = is_complex(f.element) ? 2 : 1;
  // A sum of integers mod 2^64 is one word.
  const bool is_word = whole_numbers && operation_of(f.what).wraps;
  switch (operation_of(f.what).state) {
    case state_kind::sums:
      if (is_word) return {};
      return whole_numbers ? rows_of_digits{1, digits_of_integers} : rows_of_digits{parts, n.sum};
    case state_kind::dots:
      if (is_word) return {};
      if (whole_numbers) return {1, digits_of_integers};
      return {inputs_of(f.what) == 2 ? parts : 1, n.product, 0, parts};
    case state_kind::moments: return {parts, n.sum, n.product};
    case state_kind::product: case state_kind::extremes: case state_kind::places: case state_kind::nonzeros: case state_kind::count:
    case state_kind::logsumexp: case state_kind::own: break;
  }
  return {};
}

/// Digits in canonical form of a number that `finite` elements can make; null, or what is wrong.
inline const char* fault_of_digits(std::span<const std::int64_t> d, std::uint64_t finite, bool squares) {
  const std::size_t last = d.size() - 1;
  const bool negative = d[last] < 0;
  if (d[last] < INT32_MIN || d[last] > INT32_MAX || (squares && negative)) return "a leading digit that no sum has";
  int bits = 0;
  for (std::size_t k = 0; k <= last; ++k) {
    if (k < last && (d[k] < 0 || d[k] > 0xffffffff)) return "digits that are not in canonical form";
    const auto magnitude = static_cast<std::uint32_t>(negative ? ~d[k] : d[k]);
    if (magnitude != 0) bits = static_cast<int>(32 * k) + static_cast<int>(std::bit_width(magnitude));
  }
  if (bits == 0 && !negative) return nullptr;
  if (finite == 0) return "digits of a sum, but no finite elements";
  // A sum of n elements has at most bit_width(n) bits more than the greatest. Two bits to spare, as for stored sums; squares of
  // 64-bit integers have none.
  const int spare = d.size() == digits_of_integers ? 0 : 2;
  if (bits > 32 * static_cast<int>(d.size()) - spare - std::countl_zero(finite)) return "a sum too large for so few elements";
  return nullptr;
}

inline const char* fault_of_rows(const rows_of_digits& rows, std::span<const std::int64_t> words) {
  if (words[0] > INT64_MAX / rows.terms) return "more elements than it can count";
  const std::int64_t n = words[0] * rows.terms;
  std::size_t at = 1;
  for (int row = 0; row < rows.sums; ++row) {
    const auto digits = words.subspan(at, static_cast<std::size_t>(rows.digits));
    at += digits.size();
    const auto counters = words.subspan(at, 5);  // elements, NaNs, +inf, -inf, -0
    at += counters.size();
    if (counters[0] != n) return "a number of elements that contradicts itself";
    std::uint64_t others = 0;
    for (std::size_t k = 1; k < 5; ++k) {
      if (counters[k] < 0 || counters[k] > n) return "counters beyond the number of elements";
      others += static_cast<std::uint64_t>(counters[k]);
      if (others > static_cast<std::uint64_t>(n)) return "counters beyond the number of elements";
    }
    if (counters[4] != 0 && counters[4] != n) return "counters that are not in canonical form";
    const std::uint64_t finite = static_cast<std::uint64_t>(n) - others;
    if (const char* fault = fault_of_digits(digits, finite, false)) return fault;
    if (rows.squares == 0) continue;
    const auto squares = words.subspan(at, static_cast<std::size_t>(rows.squares));
    at += squares.size();
    if (const char* fault = fault_of_digits(squares, finite, true)) return fault;
  }
  return nullptr;
}

/// What is wrong with one state; `nothing` is the state of no elements.
inline const char* fault_of_state(const state_form& f, const rows_of_digits& rows, std::span<const std::int64_t> words,
                                  std::span<const std::int64_t> nothing) {
  const std::int64_t n = words[0];
  if (n < 0) return "a negative number of elements";
  if (n == 0) return std::ranges::equal(words, nothing) ? nullptr : "no elements, but something beside them";
  if (rows.sums != 0) return fault_of_rows(rows, words);
  switch (operation_of(f.what).state) {
    case state_kind::extremes:  // the least key, the greatest, a NaN; the state of nothing has the greatest possible and the least
      if (words[3] == 1 && std::ranges::equal(words.subspan(1, 2), nothing.subspan(1, 2))) return nullptr;
      if (words[3] != 0 || words[1] > words[2] || words[1] < nothing[2] || words[2] > nothing[1]) return "extremes that no elements have";
      return nullptr;
    case state_kind::places:
      if ((words[3] != 0 && words[3] != 1) || words[2] < 0) return "a place that no element has";
      return nullptr;
    case state_kind::nonzeros: case state_kind::count: return words[1] < 0 || words[1] > n ? "a count beyond the number of elements" : nullptr;
    case state_kind::sums: case state_kind::dots: case state_kind::moments: case state_kind::product: case state_kind::logsumexp:
    case state_kind::own: break;
  }
  return nullptr;
}

}  // namespace detail

/// The form of states of an operation, element type and accuracy. Throws wf::error (unsupported) where there is none, also for values out of range.
inline state_form known_form(op what, dtype element, accuracy a) {
  if (static_cast<int>(what) >= op_count || static_cast<std::size_t>(element) >= dtypes.size() || (a != accuracy::exact && a != accuracy::fast))
    throw error(errc::unsupported, "operation " + std::to_string(static_cast<int>(what)) + " of element type " +
                                       std::to_string(static_cast<int>(element)) + ": there is no such reduction");
  return form_of_states(what, element, a);
}

/// Throws wf::error (bad_input), beginning with `who`, where `bytes` are not `many` states of that form.
inline void check_states(const state_form& told, std::span<const std::byte> bytes, std::int64_t many, const char* who) {
  const state_form form = known_form(told.what, told.element, told.accuracy);
  const auto refuse = [&](const std::string& why) {
    throw error(errc::bad_input, std::string(who) + ": " + op_names[static_cast<int>(form.what)] + " of " +
                                     std::string(info(form.element).name) + ": " + why);
  };
  if (many < 0 || bytes.size() / form.bytes != static_cast<std::size_t>(many) || bytes.size() % form.bytes != 0)
    refuse(std::to_string(bytes.size()) + " bytes, but " + std::to_string(many) + " states of " + std::to_string(form.bytes) +
           " are wanted");
  const detail::rows_of_digits rows = detail::rows_of(form);
  std::vector<std::int64_t> words(form.bytes / 8), nothing;
  for (std::int64_t k = 0; k < many; ++k) {
    std::memcpy(words.data(), bytes.data() + static_cast<std::size_t>(k) * form.bytes, form.bytes);
    if (nothing.empty() && (rows.sums == 0 || words[0] == 0)) {  // sums of some elements are looked at without it
      nothing.resize(words.size());
      clear_states(form, nothing.data(), 1);
    }
    if (const char* fault = detail::fault_of_state(form, rows, words, nothing))
      refuse("state " + std::to_string(k) + " has " + fault + "; it is damaged, or of another form or version");
  }
}

}  // namespace wf
