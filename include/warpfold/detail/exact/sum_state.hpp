// SPDX-License-Identifier: Apache-2.0
/// \file sum_state.hpp
/// The state of an exact sum of T: its digits and five counters, all of them int64.
///
/// Layout: `words` int64 without padding: digit 0 (the least) … digit N-1, count, nan, pos_inf,
/// neg_inf, neg_zero. Element-wise int64 addition of normalised states merges them, in any order
/// and up to 2^31 at a time, so any all-reduce with an int64 sum will do. All zeros is the
/// empty state.
#pragma once

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/digits.hpp>
#include <warpfold/detail/exact/format.hpp>
#include <warpfold/detail/exact/round.hpp>
#include <warpfold/error.hpp>

namespace wf::exact {

[[noreturn]] __attribute__((noinline, cold)) inline void refuse_capacity() {
  throw error(errc::capacity, "exact state: more than 2^63 - 1 elements");
}

/// How many inputs there were, and how many of the kinds that digits cannot hold.
struct counters {
  std::int64_t count;
  std::int64_t nan;
  std::int64_t pos_inf;
  std::int64_t neg_inf;
  std::int64_t neg_zero;

  static constexpr std::int64_t most = INT64_MAX;

  WF_HD bool has_room(std::uint64_t more) const {
    return more <= static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(count);
  }
  /// 2^63 - 1 NaNs: a state on a device becomes this when it gets more elements than it can count.
  static WF_HD counters overfull() { return {most, most, 0, 0, 0}; }

  WF_HD void merge(const counters& o) {
    count += o.count;
    nan += o.nan;
    pos_inf += o.pos_inf;
    neg_inf += o.neg_inf;
    neg_zero += o.neg_zero;
  }
  /// Counts an element that is an infinity or a NaN.
  WF_HD void add_special(bool is_nan, bool negative) {
    nan += static_cast<std::int64_t>(is_nan);
    pos_inf += static_cast<std::int64_t>(!is_nan && !negative);
    neg_inf += static_cast<std::int64_t>(!is_nan && negative);
  }
  WF_HD bool finite() const { return (nan | pos_inf | neg_inf) == 0; }
  /// -0 matters only where every input is -0: neg_zero is then `count`, and 0 in canonical form
  /// otherwise. (Sums of canonical counters keep that meaning.)
  WF_HD bool all_neg_zero() const { return count > 0 && neg_zero == count; }
  WF_HD void normalise() { neg_zero = all_neg_zero() ? count : 0; }
};

/// The sum of special values, as bits of T: any NaN or both infinities give NaN, infinities of one sign that infinity,
/// -0 alone gives -0. False if the digits decide.
template <class T>
WF_HD bool special_bits(const counters& c, typename format<T>::bits& result) {
  using f = format<T>;
  using bits = typename f::bits;
  if (c.nan != 0 || (c.pos_inf != 0 && c.neg_inf != 0)) {
    result = f::quiet_nan;
  } else if (c.pos_inf != 0) {
    result = f::infinity;
  } else if (c.neg_inf != 0) {
    result = static_cast<bits>(f::infinity | f::sign_mask);
  } else if (c.all_neg_zero()) {
    result = f::sign_mask;
  } else {
    return false;
  }
  return true;
}

/// Digits and counters, for sums of elements and of products alike. Between public calls every
/// digit is within ±2^62; callers of `merge` need not count additions.
///
/// More than 2^63 - 1 elements, which only merging can reach: on a host wf::error (errc::capacity), and
/// nothing has changed; on a device, which cannot throw, the state becomes that of 2^63 - 1 NaNs.
template <int Count, int MinExponent>
struct state {
  using digits_type = digits<Count, MinExponent>;
  static constexpr int words = Count + 5;
  /// Elements after which `add` normalises; each moves a digit by less than 2^33.
  static constexpr std::int64_t adds_between_carries = std::int64_t{1} << 28;

  digits_type sum;
  counters seen;

  static WF_HD state identity() { return {digits_type::zero(), {0, 0, 0, 0, 0}}; }

  WF_HD void normalise() {
    sum.normalise();
    seen.normalise();
  }

  /// Adds a finite ±mantissa·2^(shift + MinExponent) as one element.
  WF_HD void add_finite(u128 mantissa, int shift, bool negative) {
    if (!count_one()) return;
    if (mantissa == 0) {
      seen.neg_zero += static_cast<std::int64_t>(negative);
    } else {
      sum.add_wide(mantissa, shift, negative);
    }
  }
  WF_HD void add_special(bool is_nan, bool negative) {
    if (count_one()) seen.add_special(is_nan, negative);
  }

  WF_HD void merge(const state& o) {
    if (!has_room(static_cast<std::uint64_t>(o.seen.count))) return;
    sum.add(o.sum);
    seen.merge(o.seen);
    std::int64_t high = 0;
    for (int k = 0; k < Count; ++k) high |= sum.d[k] ^ (sum.d[k] >> 63);
    if (high >> 60 != 0) sum.normalise();
  }

  /// False, only on a device, if there is no room for so many more elements: see above.
  WF_HD bool has_room(std::uint64_t more) {
    if (seen.has_room(more)) [[likely]] return true;
#if defined(__CUDA_ARCH__)
    *this = {digits_type::zero(), counters::overfull()};
    return false;
#else
    refuse_capacity();
#endif
  }
  /// Counts an element that is about to be added; false as `has_room`, which is looked at with the carries.
  WF_HD bool count_one() {
    constexpr std::int64_t last = adds_between_carries - 1;
    if ((seen.count & last) == last) [[unlikely]] {
      if (!has_room(1)) return false;
      sum.normalise();
    }
    ++seen.count;
    return true;
  }

  /// The state as its int64 words.
  WF_HD std::int64_t* data() { return reinterpret_cast<std::int64_t*>(this); }
  WF_HD const std::int64_t* data() const { return reinterpret_cast<const std::int64_t*>(this); }

  /// The true sum rounded once to U; n need not be normalised.
  template <class U>
  WF_HD U round(rounding mode = rounding::nearest) const {
    using f = format<U>;
    typename f::bits b;
    if (!special_bits<U>(seen, b)) {
      digits_type canonical = sum;
      canonical.normalise();
      b = round_to_bits<U>(canonical, mode);
    }
    return f::from_opaque_bits(b);
  }
  template <class U>
  WF_HD pair_of<U> round_pair(rounding mode = rounding::nearest) const {
    using f = format<U>;
    typename f::bits b;
    if (special_bits<U>(seen, b))  // -0 is -0 + -0
      return {f::from_opaque_bits(b), f::from_opaque_bits(b == f::sign_mask ? b : typename f::bits{0})};
    digits_type canonical = sum;
    canonical.normalise();
    return round_to_pair<U>(canonical, mode);
  }
};

/// Adds an element of T to any state whose digits reach as low as T's.
template <class T, int Count, int MinExponent>
WF_HD void add_element(state<Count, MinExponent>& to, T x) {
  using f = format<T>;
  static_assert(MinExponent <= f::min_exponent);
  const auto b = f::to_bits(x);
  if (f::is_finite(b)) {
    to.add_finite(f::mantissa(b), f::shift(b) + (f::min_exponent - MinExponent), f::negative(b));
  } else {
    to.add_special(f::is_nan(b), f::negative(b));
  }
}

/// The exact sum of elements of T.
template <class T>
struct sum_state : state<format<T>::digits, format<T>::min_exponent> {
  using base = state<format<T>::digits, format<T>::min_exponent>;
  using element = T;

  static WF_HD sum_state identity() { return {base::identity()}; }

  WF_HD void add(T x) { add_element(*this, x); }

  static WF_HD sum_state combine(sum_state a, const sum_state& b) {
    a.merge(b);
    return a;
  }

  /// The true sum, rounded once to any float type in any mode.
  template <class U = T>
  WF_HD U value(rounding mode = rounding::nearest) const {
    return this->template round<U>(mode);
  }
};

/// Whether two states, of one form, are the same words.
template <class State>
bool same_words(const State& a, const State& b) {
  std::int64_t differ = 0;
  for (int k = 0; k < State::words; ++k) differ |= a.data()[k] ^ b.data()[k];
  return differ == 0;
}

static_assert(sizeof(sum_state<double>) == 73 * sizeof(std::int64_t));
static_assert(std::is_trivial_v<sum_state<double>>);
static_assert(std::is_standard_layout_v<sum_state<double>>);

}  // namespace wf::exact
