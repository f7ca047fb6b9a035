// SPDX-License-Identifier: Apache-2.0
/// \file exact_moments.hpp
/// wf::exact_moments and wf::exact_dot: running exact sums of squares and of products that can be
/// split, stored, sent and merged, as wf::exact_sum can.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <span>
#include <type_traits>

#include <warpfold/exact_sum.hpp>

namespace wf {

namespace detail {

/// Any element as a double, exactly, whatever FTZ and DAZ are; not for integers.
template <exact_element T>
double exact_double(T x) {
  if constexpr (std::same_as<T, double>) return x;
  else return exact::widen(x);
}

/// f(pointer to doubles…, how many) over x…, which are converted a block at a time.
template <exact_element T, class F, class... P>
void for_doubles(std::size_t n, F f, const P*... x) {
  if constexpr (std::same_as<T, double>) {
    f(x..., n);
  } else {
    constexpr std::size_t most = 4096;
    std::array<std::array<double, most>, sizeof...(P)> blocks;
    for (std::size_t at = 0; at < n; at += most) {
      const std::size_t m = n - at < most ? n - at : most;
      std::size_t k = 0;
      const auto convert = [&](const T* p) {
        for (std::size_t i = 0; i < m; ++i) blocks[k][i] = exact::widen(p[at + i]);
        return blocks[k++].data();
      };
      const std::array<const double*, sizeof...(P)> p{convert(x)...};
      if constexpr (sizeof...(P) == 1) f(p[0], m);
      else f(p[0], p[1], m);
    }
  }
}

struct signed_magnitude {
  std::uint64_t magnitude;
  bool negative;
  template <std::integral T>
  explicit signed_magnitude(T x)
      : magnitude(x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x)), negative(x < 0) {}
};

}  // namespace detail

/// Σx and Σx² of everything added, in any order and from any number of pieces: the same state, the
/// same bytes, the same mean, variance and norm. One type for all elements, with digits for those of
/// double (1656 bytes). Holds 2^63 - 1 elements; more throw wf::error with errc::capacity.
///
///     wf::exact_moments m;
///     m.add(chunk);
///     double mean = m.mean(), deviation = m.std_dev(1);
class exact_moments {
 public:
  /// Digits of both sums, and counters.
  using state_type = exact::moments_state<double>;
  /// Digits of the sum of squares, and counters.
  using squares_type = exact::product_state<double>;
  /// The bytes of the sum, then those of the sum of squares, each in the form of serial.hpp.
  static constexpr std::size_t byte_size =
      exact_sum::byte_size + exact::serial_size<squares_type::digits_type::count, squares_type::digits_type::min_exponent>;

  /// The state of no elements.
  exact_moments() noexcept : state_(state_type::identity()) {}

  /// Adds one element.
  template <exact_element T>
  void add(T x) {
    detail::reserve_elements(count(), 1, "exact_moments");
    add_one(x);
  }
  /// Adds the elements of a vector, array, span or other contiguous range.
  template <std::ranges::contiguous_range R>
    requires exact_element<std::ranges::range_value_t<R>> && std::ranges::sized_range<R>
  void add(const R& values) {
    add(std::ranges::data(values), static_cast<std::size_t>(std::ranges::size(values)));
  }
  /// Adds n elements.
  template <exact_element T>
  void add(const T* x, std::size_t n) {
    detail::reserve_elements(count(), n, "exact_moments");
    if constexpr (std::integral<T>) {
      for (std::size_t i = 0; i < n; ++i) add_one(x[i]);
    } else {
      detail::for_doubles<T>(n, [&](const double* p, std::size_t m) { exact::accumulate(state_, p, m); }, x);
    }
  }

  /// Adds the elements of other moments, as if they had been added here.
  void merge(const exact_moments& other) {
    detail::reserve_elements(count(), static_cast<std::uint64_t>(other.count()), "exact_moments");
    state_.merge(other.state_);
  }

  /// The true Σx, rounded once to U; +0 if there are no elements.
  template <class U = double>
  U sum(rounding mode = rounding::nearest) const noexcept { return state_.template sum<U>(mode); }
  /// The true mean, rounded once to U; NaN if there are no elements.
  template <class U = double>
  U mean(rounding mode = rounding::nearest) const noexcept { return state_.template mean<U>(mode); }
  /// The true Σx², rounded once to U; +0 if there are no elements.
  template <class U = double>
  U sum_of_squares(rounding mode = rounding::nearest) const noexcept { return squares().template value<U>(mode); }
  /// The true √Σx², rounded once to U; +0 if there are no elements.
  template <class U = double>
  U norm(rounding mode = rounding::nearest) const noexcept { return squares().template norm<U>(mode); }
  /// The true variance, divided by count - correction and rounded once to U; NaN where that is not positive or an element was not finite.
  template <class U = double>
  U var(std::int64_t correction = 0, rounding mode = rounding::nearest) const noexcept {
    return state_.template var<U>(correction, mode);
  }
  /// The square root of the true variance, rounded once to U; NaN where var() is.
  template <class U = double>
  U std_dev(std::int64_t correction = 0, rounding mode = rounding::nearest) const noexcept {
    return state_.template std<U>(correction, mode);
  }

  std::int64_t count() const noexcept { return state_.first.seen.count; }  ///< elements
  bool empty() const noexcept { return count() == 0; }                     ///< whether there are none

  /// Canonical bytes, the same on every machine.
  std::array<std::byte, byte_size> to_bytes() const noexcept {
    std::array<std::byte, byte_size> bytes;
    const auto first = exact::to_bytes<68, -1074>(state_.first);
    const auto second = exact::to_bytes<134, -2148>(squares());
    static_assert(first.size() == exact_sum::byte_size && first.size() + second.size() == byte_size);
    std::memcpy(bytes.data(), first.data(), first.size());
    std::memcpy(bytes.data() + first.size(), second.data(), second.size());
    return bytes;
  }
  /// The state of these bytes. Throws wf::error (bad_input) for bytes that are not of that form, or break (Σx)² <= n·Σx².
  static exact_moments from_bytes(std::span<const std::byte> bytes) {
    if (bytes.size() != byte_size)
      exact::detail::refuse(errc::bad_input, std::to_string(bytes.size()) + " bytes, expected " +
                                                 std::to_string(byte_size) + " of moments");
    exact_moments m;
    static_cast<exact_sum::state_type&>(m.state_.first) =
        exact::from_bytes<68, -1074>(bytes.first(exact_sum::byte_size));
    const squares_type q = exact::from_bytes<134, -2148>(bytes.subspan(exact_sum::byte_size));
    m.state_.second = q.sum;
    if (!exact::detail::same_counters(m.squares().seen, q.seen) || !m.possible())
      exact::detail::refuse(errc::bad_input, "a sum and a sum of squares contradict each other");
    return m;
  }

  /// Whether both have equal Σx and Σx², and equally many elements.
  friend bool operator==(const exact_moments& a, const exact_moments& b) {
    const state_type x = a.state(), y = b.state();
    return exact::same_words(x, y);
  }
  /// Equal where the sums are: 64 bits.
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
  template <exact_element T>
  void add_one(T x) {
    if constexpr (std::integral<T>) {
      const detail::signed_magnitude v(x);
      state_.first.add_finite(v.magnitude, 1074, v.negative);
      state_.second.add_wide(exact::u128{v.magnitude} * v.magnitude, 2148, false);
      if ((count() & (state_type::adds_between_carries - 1)) == 0) state_.second.normalise();
    } else {
      state_.add(detail::exact_double(x));
    }
  }

  exact::squares_state<double> squares() const {
    auto q = exact::squares_state<double>::identity();
    q.sum = state_.second;
    const exact::counters& c = state_.first.seen;
    q.seen = {c.count, c.nan, c.pos_inf + c.neg_inf, 0, 0};
    q.normalise();
    return q;
  }

  /// (Σx)² <= n·Σx² of n finite elements: Cauchy and Schwarz.
  bool possible() const {
    const exact::counters& c = state_.first.seen;
    const std::int64_t n = c.count - c.nan - c.pos_inf - c.neg_inf;
    if (state_.second.is_negative()) return false;
    const auto limit = exact::natural<134>::magnitude(state_.second).times(static_cast<std::uint64_t>(n));
    const auto square = exact::natural<68>::magnitude(state_.first.sum).squared();
    for (int k = 135; k >= 0; --k)
      if (limit.limb[k] != square.limb[k]) return limit.limb[k] > square.limb[k];
    return true;
  }

  state_type state_;
};

/// Σ x·y of all pairs added, as exact_sum is the sum of elements: it has the same state, bytes and value whatever the
/// order and the pieces. Pairs are of one element type, f64 or any that fits it, or integers. Holds 2^63 - 1
/// pairs; more throw wf::error with errc::capacity and change nothing.
///
///     wf::exact_dot d;
///     d.add(x, y);
///     double product = d.value();
class exact_dot {
 public:
  /// Digits and counters.
  using state_type = exact::product_state<double>;
  /// The number of bytes of to_bytes().
  static constexpr std::size_t byte_size =
      exact::serial_size<state_type::digits_type::count, state_type::digits_type::min_exponent>;

  /// The state of no elements.
  exact_dot() noexcept : state_(state_type::identity()) {}

  /// Adds one pair.
  template <exact_element T>
  void add(T x, T y) {
    detail::reserve_elements(count(), 1, "exact_dot");
    add_one(x, y);
  }
  /// Adds the pairs of two ranges. Throws wf::error (bad_argument) unless they have one length.
  template <std::ranges::contiguous_range R, std::ranges::contiguous_range S>
    requires exact_element<std::ranges::range_value_t<R>> && std::ranges::sized_range<R> &&
             std::ranges::sized_range<S> && std::same_as<std::ranges::range_value_t<R>, std::ranges::range_value_t<S>>
  void add(const R& x, const S& y) {
    const auto n = static_cast<std::size_t>(std::ranges::size(x)), m = static_cast<std::size_t>(std::ranges::size(y));
    if (n != m)
      throw error(errc::bad_argument, "exact_dot: inputs of " + std::to_string(n) + " and " + std::to_string(m) +
                                          " elements; they must be as long");
    add(std::ranges::data(x), std::ranges::data(y), n);
  }
  /// Adds n pairs.
  template <exact_element T>
  void add(const T* x, const T* y, std::size_t n) {
    detail::reserve_elements(count(), n, "exact_dot");
    if constexpr (std::integral<T>) {
      for (std::size_t i = 0; i < n; ++i) add_one(x[i], y[i]);
    } else {
      detail::for_doubles<T>(n, [&](const double* p, const double* q, std::size_t m) {
        exact::accumulate_products<double>(state_, p, q, m);
      }, x, y);
    }
  }

  /// Adds the pairs of another exact_dot, as if they had been added here.
  void merge(const exact_dot& other) {
    detail::reserve_elements(count(), static_cast<std::uint64_t>(other.count()), "exact_dot");
    state_.merge(other.state_);
  }

  /// The true sum of products, rounded once; +0 if there are no pairs.
  template <class U = double>
  U value(rounding mode = rounding::nearest) const noexcept { return state_.template round<U>(mode); }
  /// hi + lo, as exact_sum::value_pair().
  template <class U = double>
  exact::pair_of<U> value_pair(rounding mode = rounding::nearest) const noexcept { return state_.template round_pair<U>(mode); }

  std::int64_t count() const noexcept { return state_.seen.count; }  ///< pairs
  bool empty() const noexcept { return count() == 0; }               ///< whether there are none

  /// 592 canonical bytes (serial.hpp), the same on every machine.
  std::array<std::byte, byte_size> to_bytes() const noexcept { return exact::to_bytes<134, -2148>(state_); }
  /// The state of these bytes. Throws wf::error (bad_input) for bytes that are not of that form. The sum of squares of an exact_moments has the same form.
  static exact_dot from_bytes(std::span<const std::byte> bytes) {
    exact_dot d;
    d.state_ = exact::from_bytes<134, -2148>(bytes);
    return d;
  }

  /// Whether both have equal true sums, and equally many pairs.
  friend bool operator==(const exact_dot& a, const exact_dot& b) {
    const state_type x = a.state(), y = b.state();
    return exact::same_words(x, y);
  }
  /// Equal where the sums are: 64 bits.
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
  template <exact_element T>
  void add_one(T x, T y) {
    if constexpr (std::integral<T>) {
      const detail::signed_magnitude a(x), b(y);
      const exact::u128 m = exact::u128{a.magnitude} * b.magnitude;
      state_.add_finite(m, 2148, m != 0 && a.negative != b.negative);
    } else {
      exact::add_product<double>(state_, detail::exact_double(x), detail::exact_double(y));
    }
  }

  state_type state_;
};

}  // namespace wf

/// \cond
template <>
struct std::hash<wf::exact_moments> {
  std::size_t operator()(const wf::exact_moments& m) const { return m.hash(); }
};
template <>
struct std::hash<wf::exact_dot> {
  std::size_t operator()(const wf::exact_dot& d) const { return d.hash(); }
};
/// \endcond
