// SPDX-License-Identifier: Apache-2.0
/// \file extrema.hpp
/// Least and greatest, where they are, norm inf. Floats are compared by integer keys in the order of
/// the numbers, -0 below +0, so that no order of combining can change the bits of the answer.
#pragma once

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/format.hpp>
#include <warpfold/detail/reductions/sum.hpp>
#include <warpfold/reduction.hpp>
#include <warpfold/results.hpp>

namespace wf::reductions {

template <real T>
struct keys {
  WF_HD static constexpr std::int64_t of(T x) {
    if constexpr (floating<T>) {
      using f = exact::format<T>;
      const auto b = static_cast<std::int64_t>(f::to_bits(x));
      const std::int64_t magnitude = b & ~static_cast<std::int64_t>(f::sign_mask);
      return f::negative(f::to_bits(x)) ? ~magnitude : magnitude;  // -0 is -1
    } else if constexpr (sizeof(T) == 8 && !std::is_signed_v<T>) {
      return static_cast<std::int64_t>(x ^ (std::uint64_t{1} << 63));
    } else {
      return static_cast<std::int64_t>(x);
    }
  }
  WF_HD static constexpr T value(std::int64_t key) {
    if constexpr (floating<T>) {
      using f = exact::format<T>;
      using bits = typename f::bits;
      return f::from_bits(key < 0 ? static_cast<bits>(static_cast<bits>(~key) | f::sign_mask)
                                  : static_cast<bits>(key));
    } else if constexpr (sizeof(T) == 8 && !std::is_signed_v<T>) {
      return static_cast<T>(key) ^ (std::uint64_t{1} << 63);
    } else {
      return static_cast<T>(key);
    }
  }
  WF_HD static constexpr bool is_nan(T x) {
    if constexpr (floating<T>) return exact::format<T>::is_nan(exact::format<T>::to_bits(x));
    else return false;
  }
  WF_HD static T nan() {
    if constexpr (floating<T>) return exact::format<T>::from_bits(exact::format<T>::quiet_nan);
    else return T{};
  }
  /// Keys of the answers for no elements.
  WF_HD static std::int64_t highest() {
    if constexpr (floating<T>) {
      return of(exact::format<T>::from_bits(exact::format<T>::infinity));
    } else {
      constexpr T most = std::numeric_limits<T>::max();
      return of(most);
    }
  }
  WF_HD static std::int64_t lowest() {
    if constexpr (floating<T>) {
      return of(exact::format<T>::from_bits(static_cast<typename exact::format<T>::bits>(
          exact::format<T>::infinity | exact::format<T>::sign_mask)));
    } else {
      constexpr T least = std::numeric_limits<T>::lowest();
      return of(least);
    }
  }
};

template <real T>
struct extreme_fold {
  static constexpr bool commutes = true;
  struct state {
    std::int64_t least, greatest;
    std::int64_t nan;

    /// Where there was a NaN, the others do not matter.
    WF_HD void normalise() {
      nan = nan != 0 ? 1 : 0;
      if (nan != 0) {
        least = keys<T>::highest();
        greatest = keys<T>::lowest();
      }
    }
  };
  WF_HD state identity() const { return {keys<T>::highest(), keys<T>::lowest(), 0}; }
  WF_HD state lift(T x, std::int64_t) const {
    if (keys<T>::is_nan(x)) return {keys<T>::highest(), keys<T>::lowest(), 1};
    return {keys<T>::of(x), keys<T>::of(x), 0};
  }
  WF_HD state combine(const state& a, const state& b) const {
    return {a.least < b.least ? a.least : b.least,
            a.greatest > b.greatest ? a.greatest : b.greatest, a.nan | b.nan};
  }
};

template <real T>
struct min : extreme_fold<T>, options {
  static constexpr declaration declares{declaration::nothing::greatest, nan_wins<T>, declaration::rounds::never};
  WF_HD T finish(const typename extreme_fold<T>::state& s, std::int64_t) const {
    return s.nan ? keys<T>::nan() : keys<T>::value(s.least);
  }
};
template <real T>
struct max : extreme_fold<T>, options {
  static constexpr declaration declares{declaration::nothing::least, nan_wins<T>, declaration::rounds::never};
  WF_HD T finish(const typename extreme_fold<T>::state& s, std::int64_t) const {
    return s.nan ? keys<T>::nan() : keys<T>::value(s.greatest);
  }
};
template <real T>
struct minmax : extreme_fold<T>, options {
  static constexpr declaration declares{declaration::nothing::greatest_and_least, nan_wins<T>, declaration::rounds::never};
  WF_HD minmax_result<T> finish(const typename extreme_fold<T>::state& s, std::int64_t) const {
    if (s.nan) return {keys<T>::nan(), keys<T>::nan()};
    return {keys<T>::value(s.least), keys<T>::value(s.greatest)};
  }
};
template <real T>
struct norm_inf;
template <integer T>
struct norm_inf<T> : extreme_fold<T>, options {
  static constexpr declaration declares{declaration::nothing::zero, nan_wins<T>, declaration::rounds::never};
  WF_HD std::uint64_t finish(const typename extreme_fold<T>::state& s, std::int64_t n) const {
    if (n == 0) return 0;
    const std::uint64_t a = magnitude(keys<T>::value(s.least)), b = magnitude(keys<T>::value(s.greatest));
    return a > b ? a : b;
  }
};
template <floating T>
struct norm_inf<T> : extreme_fold<T>, options {
  static constexpr declaration declares{declaration::nothing::zero, nan_wins<T>, declaration::rounds::never};
  WF_HD T finish(const typename extreme_fold<T>::state& s, std::int64_t n) const {
    if (s.nan) return keys<T>::nan();
    if (n == 0) return keys<T>::value(0);
    const std::int64_t a = s.least < 0 ? ~s.least : s.least;
    const std::int64_t b = s.greatest < 0 ? ~s.greatest : s.greatest;
    return keys<T>::value(a > b ? a : b);
  }
};

/// The first of equals; zeros of either sign are equal. A NaN beats every number, the first NaN wins.
template <real T, bool Least>
struct arg_fold : options {
  static constexpr bool commutes = false;  // the indexes are those of element order
  static constexpr auto nan = integer<T> ? declaration::nans::none : declaration::nans::are_found;
  static constexpr declaration declares{declaration::nothing::minus_one, nan, declaration::rounds::never};
  struct state {
    std::int64_t key, index;
    std::int64_t nan;
  };
  WF_HD state identity() const { return {0, -1, 0}; }
  WF_HD state lift(T x, std::int64_t i) const {
    return {keys<T>::is_nan(x) ? 0 : equal_key(keys<T>::of(x)), i, keys<T>::is_nan(x)};
  }
  WF_HD state combine(const state& a, const state& b) const {
    if (a.index < 0 || b.index < 0) return b.index < 0 ? a : b;
    if (a.nan || b.nan) return a.nan ? a : b;
    return (Least ? b.key < a.key : b.key > a.key) ? b : a;
  }
  WF_HD std::int64_t finish(const state& s, std::int64_t) const { return s.index; }

  WF_HD static constexpr std::int64_t equal_key(std::int64_t key) { return floating<T> && key == -1 ? 0 : key; }
};
template <real T>
struct argmin : arg_fold<T, true> {};
template <real T>
struct argmax : arg_fold<T, false> {};

}  // namespace wf::reductions
