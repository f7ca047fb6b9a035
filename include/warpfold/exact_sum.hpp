// SPDX-License-Identifier: Apache-2.0
/// \file exact_sum.hpp
/// wf::exact_sum: a running exact sum that can be split, stored, sent and merged.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include <warpfold/detail/exact/accumulate.hpp>
#include <warpfold/detail/exact/products.hpp>
#include <warpfold/detail/exact/serial.hpp>
#include <warpfold/error.hpp>

namespace wf {

/// The elements that an exact sum takes: f16, bf16, float, double, and the integers up to 64 bits, without bool.
template <class T>
concept exact_element =
    requires { exact::format<T>::min_exponent; } ||
    (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8);

namespace detail {

/// Throws errc::capacity if `more` elements beside `count` are more than a state counts.
inline void reserve_elements(std::int64_t count, std::uint64_t more, const char* who) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (more > most - static_cast<std::uint64_t>(count))
    throw error(errc::capacity, std::string(who) + ": more than 2^63 - 1 elements");
}

inline std::size_t hash_of_words(const std::int64_t* words, int n) {
  std::uint64_t h = 0;
  for (int k = 0; k < n; ++k) {
    h = (h ^ static_cast<std::uint64_t>(words[k])) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return static_cast<std::size_t>(h);
}

}  // namespace detail

/// The true sum of everything added, in any order and from any number of pieces: the same state,
/// the same bytes, the same value.
///
/// One type for all elements, with the digits of double (592 bytes): they hold every other element
/// type, so sums of different types merge, and equal sums have equal bytes whatever they were added
/// as. Holds 2^63 - 1 elements; more throw wf::error with errc::capacity and change nothing.
///
///     wf::exact_sum here, there;
///     here.add(chunk);                                    // any contiguous range, or one element
///     there.add(1e300f);
///     here.merge(there);
///     double total = here.value();                        // rounded once
///     auto again = wf::exact_sum::from_bytes(here.to_bytes());
class exact_sum {
  using digits_format = exact::format<double>;

 public:
  /// Digits and counters.
  using state_type = exact::state<digits_format::digits, digits_format::min_exponent>;
  /// The number of bytes of to_bytes().
  static constexpr std::size_t byte_size =
      exact::serial_size<digits_format::digits, digits_format::min_exponent>;

  /// The sum of no elements.
  exact_sum() noexcept : state_(state_type::identity()) {}

  /// Adds one element. This and the next two throw wf::error (capacity) as said above.
  template <exact_element T>
  void add(T x) {
    reserve(1);
    if constexpr (std::integral<T>) {
      const bool negative = x < 0;
      const auto u = static_cast<std::uint64_t>(x);
      state_.add_finite(negative ? ~u + 1 : u, -digits_format::min_exponent, negative);
    } else {
      exact::add_element(state_, x);
    }
  }

  /// Adds the elements of a vector, array, span or other contiguous range.
  template <std::ranges::contiguous_range R>
    requires exact_element<std::ranges::range_value_t<R>> && std::ranges::sized_range<R>
  void add(const R& values) {
    add(std::ranges::data(values), static_cast<std::size_t>(std::ranges::size(values)));
  }

  /// Adds the n elements x[0 … n).
  template <exact_element T>
  void add(const T* x, std::size_t n) {
    reserve(n);
    if constexpr (std::integral<T>) {
      add_integers(x, n);
    } else {
      exact::accumulate(state_, x, n);
    }
  }

  /// Adds the elements of another sum, as if they had been added here.
  void merge(const exact_sum& other) {
    reserve(static_cast<std::uint64_t>(other.count()));
    state_.merge(other.state_);
  }
  /// The same for a bare state.
  void merge(const exact::sum_state<double>& other) {
    exact_sum o;
    static_cast<state_type&>(o.state_) = other;
    merge(o);
  }

  /// Takes the elements of another sum out, as if they had never been added: what is left is exact, after any number of additions and removals.
  /// A sum that cannot be a part of this one, since it has more elements, NaNs or infinities, throws wf::error (bad_argument), and nothing
  /// changes. After a state was stored, or merged, nobody knows whether only -0 is left: its sum is +0 then.
  ///
  ///     window.unmerge(oldest);
  void unmerge(const exact_sum& other) {
    state_type rest = state();
    const state_type part = other.state();
    if (part.seen.count > rest.seen.count || part.seen.nan > rest.seen.nan || part.seen.pos_inf > rest.seen.pos_inf ||
        part.seen.neg_inf > rest.seen.neg_inf)
      throw error(errc::bad_argument, "exact_sum: the elements to take out are no part of this sum of " + std::to_string(count()) + " elements");
    for (int k = 0; k < digits_format::digits; ++k) rest.sum.d[k] -= part.sum.d[k];
    rest.sum.normalise();
    rest.seen.count -= part.seen.count;
    rest.seen.nan -= part.seen.nan;
    rest.seen.pos_inf -= part.seen.pos_inf;
    rest.seen.neg_inf -= part.seen.neg_inf;
    rest.seen.neg_zero = std::max<std::int64_t>(state_.seen.neg_zero - other.state_.seen.neg_zero, 0);
    state_ = rest;
  }
  /// Takes one element out, which was added before. Throws as unmerge().
  template <exact_element T>
  void remove(T x) {
    exact_sum one;
    one.add(x);
    unmerge(one);
  }
  /// Takes the elements of a vector, array, span or other contiguous range out. Throws as unmerge().
  template <std::ranges::contiguous_range R>
    requires exact_element<std::ranges::range_value_t<R>> && std::ranges::sized_range<R>
  void remove(const R& values) {
    exact_sum some;
    some.add(values);
    unmerge(some);
  }
  /// The true sum, rounded once; +0 if there are no elements.
  template <class U = double>
  U value(rounding mode = rounding::nearest) const noexcept {
    return state_.round<U>(mode);
  }
  /// The sum as hi + lo: hi is value() to nearest, lo the rounded remainder. lo = 0 where hi is not finite.
  template <class U = double>
  exact::pair_of<U> value_pair(rounding mode = rounding::nearest) const noexcept {
    return state_.round_pair<U>(mode);
  }
  /// The true sum divided by the count, rounded once; NaN if there are no elements.
  template <class U = double>
  U mean(rounding mode = rounding::nearest) const noexcept {
    return exact::mean<U>(state_, mode);
  }

  std::int64_t count() const noexcept { return state_.seen.count; }  ///< elements
  bool empty() const noexcept { return count() == 0; }               ///< whether there are none

  /// 328 canonical bytes (serial.hpp), the same on every machine.
  std::array<std::byte, byte_size> to_bytes() const noexcept { return exact::to_bytes(state_); }
  /// The sum of these bytes. Throws wf::error (bad_input) on what is not of that form.
  static exact_sum from_bytes(std::span<const std::byte> bytes) {
    exact_sum s;
    s.state_ = exact::from_bytes<digits_format::digits, digits_format::min_exponent>(bytes);
    return s;
  }

  /// Equal true sums (finite part, and numbers of NaNs and infinities) of equally many elements.
  friend bool operator==(const exact_sum& a, const exact_sum& b) {
    const state_type x = a.state(), y = b.state();
    return exact::same_words(x, y);
  }
  /// Equal for equal sums: 64 bits.
  std::size_t hash() const noexcept {
    const state_type s = state();
    return detail::hash_of_words(s.data(), state_type::words);
  }

  /// Canonical digits and counters.
  state_type state() const noexcept {
    state_type s = state_;
    s.normalise();
    return s;
  }

 private:
  void reserve(std::uint64_t more) const {
    detail::reserve_elements(count(), more, "exact_sum");
  }

  template <class T>
  void add_integers(const T* x, std::size_t n) {
    __extension__ using i128 = __int128;
    i128 total = 0;  // 2^63 elements below 2^64
    for (std::size_t i = 0; i < n; ++i) total += x[i];
    const auto u = static_cast<exact::u128>(total);
    state_.sum.add_wide(total < 0 ? ~u + 1 : u, -digits_format::min_exponent, total < 0);
    state_.sum.normalise();
    state_.seen.count += static_cast<std::int64_t>(n);
  }

  state_type state_;
};

}  // namespace wf

/// \cond
template <>
struct std::hash<wf::exact_sum> {
  std::size_t operator()(const wf::exact_sum& s) const { return s.hash(); }
};
/// \endcond
