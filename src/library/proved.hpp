// SPDX-License-Identifier: Apache-2.0
/// \file proved.hpp
/// Which reductions are proved (cpu/prove.hpp), and how.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>

#include <warpfold/detail/reductions/complex.hpp>

#include "../cpu/exact_sinks.hpp"
#include "../cpu/prove.hpp"

namespace wf::library {

/// What a reduction asks of sums; `kind` is a row of kernel_table::certify.
struct asked {
  op what;
  int kind;
  bool is = true;
};
template <class R>
inline constexpr asked asks_of{op::sum, 0, false};
inline constexpr int of_values = static_cast<int>(cpu::term::value), of_squares = static_cast<int>(cpu::term::square),
                     of_products = static_cast<int>(cpu::term::product), of_moments = static_cast<int>(cpu::term::moments),
                     of_magnitudes = cpu::term_count;
template <class T> inline constexpr asked asks_of<reductions::sum<T, true>>{op::sum, of_values, !integer<T>};
template <class T> inline constexpr asked asks_of<reductions::mean<T, true>>{op::mean, of_values, !integer<T>};
template <class T> inline constexpr asked asks_of<reductions::norm1<T, true>>{op::norm1, of_magnitudes, !integer<T>};
template <class T> inline constexpr asked asks_of<reductions::sum_of_squares<T, true>>{op::sum_of_squares, of_squares, !integer<T>};
template <class T> inline constexpr asked asks_of<reductions::norm2<T, true>>{op::norm2, of_squares, !integer<T>};
template <class T> inline constexpr asked asks_of<reductions::dot<T, true>>{op::dot, of_products, floating<T>};
template <class T> inline constexpr asked asks_of<reductions::var<T, true>>{op::var, of_moments, !integer<T>};
template <class T> inline constexpr asked asks_of<reductions::std_dev<T, true>>{op::std_dev, of_moments, !integer<T>};
template <class T> inline constexpr asked asks_of<reductions::mean_var<T, true>>{op::mean_var, of_moments, !integer<T>};

/// The real numbers that an element is made of.
template <class T>
struct parts_of {
  using type = T;
  static constexpr int count = 1;
};
template <complex_number T>
struct parts_of<T> {
  using type = typename T::value_type;
  static constexpr int count = 2;
};

using namespace exact::certified;

inline bool is_finite(double x) { return x - x == 0; }

/// Is s + c the sum? Not where something was lost, nor of a zero whose elements may all be -0.
inline bool is_exact(double s, double c, double lost) {
  return lost == 0 && is_finite(s) && is_finite(c) && !(s == 0 && c == 0 && std::signbit(s));
}
/// Adds doubles that are multiples of the least digit.
template <class Digits>
void add_exact(Digits& to, std::initializer_list<double> all) {
  for (const double x : all) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const auto field = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    to.add_at(field == 0 ? fraction : fraction | std::uint64_t{1} << 52, std::max(field, 1) - 1075, std::signbit(x));
  }
}

template <class R, class T>
struct proved {
  static constexpr asked ask = asks_of<R>;
  using part = typename parts_of<T>::type;
  static constexpr int parts = parts_of<T>::count;

  static void gather(const void* const* x, std::int64_t n, bool again, cpu::evidence& out) {
    const cpu::certify_function run = cpu::kernels().certify[sizeof(part) == 8][again][ask.kind];
    if constexpr (sizeof(part) >= 4) {
      run(x[0], ask.kind == of_products ? x[1] : nullptr, parts * n, out);
    } else {
      out = {};
      cpu::for_carriers<part>(x, n, ask.kind == of_products, [&](const void* p, const void* q, std::int64_t m) {
        if (out.verdict != cpu::evidence::sums) return;
        cpu::evidence piece;
        run(p, q, m, piece);
        cpu::join(out, piece);
      });
    }
  }

  /// Even and odd places together.
  static known both(const double (&s)[2], const double (&c)[2], double lost) {
    const exact_sum_of sum = two_sum(s[0], s[1]), rest = two_sum(c[0], c[1]), all = two_sum(rest.sum, sum.error);
    return bounded({sum.sum, all.sum}, lost + magnitude(rest.error) + magnitude(all.error));
  }
  /// What was lost is itself a rounded sum.
  static known bounded(const pair& p, double lost) { return known_of(p, multiply(1 + 0x1p-20, lost)); }

  /// Rounds a·2^exponent.
  static bool rounded(const known& a, int exponent, rounding mode, part& out) {
    part scaled;
    if (!certain(a, mode, scaled)) return false;
    if constexpr (sizeof(part) == 8) {
      // The exponent of a normal number changes nothing else.
      for (int left = exponent; left != 0 && scaled != 0;) {
        const int by = left < -cpu::certified_scale ? -cpu::certified_scale : left > cpu::certified_scale ? cpu::certified_scale : left;
        left -= by;
        scaled *= power(by);
        if (!(magnitude(scaled) >= 0x1p-1022)) return false;
        if (magnitude(scaled) > std::numeric_limits<double>::max()) {
          out = scaled;
          return mode == rounding::nearest || mode == rounding::away;
        }
      }
    }
    out = scaled;
    return true;
  }

  static bool conclude(const void* self, cpu::evidence& all, std::int64_t n, void* out, bool& again) {
    constexpr bool is_root = ask.what == op::norm2 || ask.what == op::std_dev, is_mean_var = ask.what == op::mean_var;
    constexpr bool of_both = ask.kind == of_moments, is_mean = ask.what == op::mean || is_mean_var;
    constexpr int sums_told = of_both && !is_mean_var ? 0 : ask.kind == of_squares ? 0 : parts;
    constexpr int answers = sums_told + (of_both || ask.kind == of_squares ? 1 : 0);
    using f = exact::format<part>;
    part to[answers] = {};
    const bool retried = again;
    again = false;
    if (all.verdict == cpu::evidence::is_nan && parts == 1) {
      for (part& p : to) p = f::from_bits(f::quiet_nan);
      std::memcpy(out, to, sizeof to);
      return true;
    }
    if (all.verdict != cpu::evidence::sums) {
      again = !retried && sizeof(part) == 8 && all.verdict >= cpu::evidence::too_large;
      all.scale = all.verdict == cpu::evidence::too_large ? -cpu::certified_scale : cpu::certified_scale;
      return false;
    }
    known sums[parts];
    if constexpr (ask.kind == of_products) sums[0] = both(all.products, all.products_rest, all.lost_products);
    else if constexpr (parts == 1) sums[0] = both(all.values, all.values_rest, all.lost_values);
    else for (int i = 0; i < parts; ++i) sums[i] = bounded({all.values[i], all.values_rest[i]}, all.lost_values);
    if constexpr (sums_told != 0 && ask.kind != of_magnitudes) {
      // A zero's sign is that of all elements, which are seen together.
      for (const known& k : sums)
        if (k.h == 0 && (ask.kind == of_products || parts == 2 || (all.zeros && all.negative))) return false;
    }
    const auto& o = *static_cast<const options*>(self);
    const auto count = static_cast<std::uint64_t>(n);
    bool sure = true;
    for (int i = 0; i < sums_told; ++i)
      sure = rounded(is_mean ? divided(sums[i], count) : sums[i], (ask.kind == of_products ? -2 : -1) * all.scale, o.rounding, to[i]) && sure;
    if constexpr (answers > sums_told) {
      if (of_both && n <= o.correction) return false;
      known a = both(all.products, all.products_rest, all.lost_products);
      if constexpr (of_both) {
        const std::uint64_t less = count - static_cast<std::uint64_t>(o.correction);
        const known d = spread<parts>(sums, a, count);
        a = (count | less) >> 26 == 0 ? divided(d, count * less) : divided(divided(d, count), less);
      }
      if constexpr (is_root) a = root(a);
      sure = rounded(a, (is_root ? -1 : -2) * all.scale, o.rounding, to[sums_told]) && sure;
    }
    if (sure) std::memcpy(out, to, sizeof to);
    else again = !retried && sizeof(part) < 8 && (answers > sums_told || !(magnitude(sums[0].h) <= sums[0].error));  // not if all cancels
    return sure;
  }

  /// Sums of f32 are exact more often than not, and found sooner than by digits.
  static constexpr bool adds = std::is_same_v<T, float> && (ask.kind == of_values || ask.kind == of_magnitudes);
  static bool add(const cpu::evidence& e, std::int64_t n, void* state) {
    if (e.verdict != cpu::evidence::sums || (e.zeros && e.negative)) return false;
    for (int j = 0; j < 2; ++j)
      if (e.lost_values != 0 || !is_finite(e.values[j]) || !is_finite(e.values_rest[j])) return false;
    if constexpr (adds) {
      auto& to = *static_cast<exact::sum_state<T>*>(state);
      add_exact(to.sum, {e.values[0], e.values[1], e.values_rest[0], e.values_rest[1]});
      to.seen.count += n;
      cpu::carry(to.sum, to.seen.count - n, to.seen.count);
    }
    return true;
  }

  static constexpr cpu::proof functions{gather, conclude, adds ? add : nullptr};
};

template <class R, class... T>
constexpr const cpu::proof* proof_of() {
  if constexpr (asks_of<R>.is) return &proved<R, std::tuple_element_t<0, std::tuple<T...>>>::functions;
  else return nullptr;
}

}  // namespace wf::library
