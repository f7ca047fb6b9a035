// SPDX-License-Identifier: Apache-2.0
/// \file certified.hpp
/// Exact answers without exact arithmetic: sums in doubles, a bound on what they lost, and a proof that every value
/// within that bound rounds alike. Where the proof fails, the answer is *uncertain*, and exact digits must decide.
///
/// A sum is kept as `pair`, s + c: c gathers what additions to s lost (D. Knuth, TAOCP 2, 4.2.2, theorem B; T. Ogita,
/// S. M. Rump and S. Oishi, "Accurate sum and dot product", 2005). Two proofs, derived in docs/exact.md:
///   nothing was lost    all terms are multiples of one unit, and no partial sum has more bits than a double
///   rounding is certain both ends of the interval round to the same number
///
/// The arithmetic is IEEE 754 to nearest with subnormals, and neither contracted nor reassociated. So this header belongs to
/// code that is compiled with known flags: the library and its kernels. On the CPU the caller has set the environment, and
/// -ffp-contract=off is necessary wherever the processor has FMA. Without it g++ makes an FMA of s + x·y, in C++20 too; the error
/// of a two-sum is then wrong, and no macro tells that it was done.
#pragma once

#if defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0)
#error "warpfold: -fassociative-math and its like break certificates; compile without them"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "warpfold: certificates need doubles that are evaluated as doubles (-mfpmath=sse)"
#endif

#include <cstdint>

#include <warpfold/operations.hpp>
#include <warpfold/config.hpp>
#include <warpfold/detail/exact/format.hpp>

namespace wf::exact::certified {

// WF_CERTIFIED_BOUNDS scales every bound on what was lost, in a test alone: it sees with 0x1p-10 and 0 that wrong bounds are found.
#if defined(WF_CERTIFIED_BOUNDS)
#define WF_BOUND(x) const double x * WF_CERTIFIED_BOUNDS
#else
#define WF_BOUND(x) constexpr double x
#endif
/// Half a unit in the last place of 1, the greatest relative error of an operation on doubles; its square.
inline WF_BOUND(u = 0x1p-53);
inline WF_BOUND(uu = 0x1p-106);
/// The least subnormal: twice what a product loses by underflow.
inline WF_BOUND(underflow = 0x1p-1074);
#undef WF_BOUND
/// Merges of pairs that an element goes through, at most: the levels of a tree, the length of a chain. A caller that merges deeper
/// adds the rest to `length`.
inline constexpr double merges = 64;

WF_HD double add(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
WF_HD double subtract(double a, double b) { return add(a, -b); }
WF_HD double multiply(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
/// a·b + c, rounded once.
WF_HD double multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}
WF_HD double magnitude(double x) {
  return __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, x) & ~(std::uint64_t{1} << 63));
}
/// 2^e, or more where a double has no such normal number.
WF_HD double power(int e) {
  if (e > 1023) return __builtin_bit_cast(double, std::uint64_t{0x7ff} << 52);
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(e < -1022 ? 1 : e + 1023) << 52);
}
/// x·2^e, where x·2^(e/2) neither overflows nor underflows; or more, as above.
WF_HD double times_power(double x, int e) { return multiply(multiply(x, power(e / 2)), power(e - e / 2)); }
/// The least k with 2^k >= n; n > 0.
WF_HD int log2_of(std::uint64_t n) { return n <= 1 ? 0 : 64 - leading_zeros(n - 1); }

/// a + b = sum + error, exactly, where nothing overflows.
struct exact_sum_of {
  double sum, error;
};
WF_HD exact_sum_of two_sum(double a, double b) {
  const double t = add(a, b), z = subtract(t, a);
  return {t, add(subtract(a, subtract(t, z)), subtract(b, z))};
}

/// An unevaluated sum.
struct pair {
  double s, c;

  /// The neutral element: it changes no sum, and -0 alone stays -0.
  static WF_HD pair nothing() { return {-0.0, 0}; }
  WF_HD void add_term(double x) {
    const exact_sum_of t = two_sum(s, x);
    s = t.sum;
    c = add(c, t.error);
  }
  /// Adds x·y, of any doubles: 10 operations.
  WF_HD void add_product(double x, double y) {
    const double p = multiply(x, y), low = multiply_add(x, y, -p);
    const exact_sum_of t = two_sum(s, p);
    s = t.sum;
    c = add(c, add(t.error, low));
  }
  WF_HD void merge(const pair& o) {
    const exact_sum_of t = two_sum(s, o.s);
    s = t.sum;
    c = add(add(c, t.error), o.c);  // o.c comes last, where lanes give it
  }
};

/// The greatest and the least exponent of elements, of twice their bits, left-aligned in 32: zeros are out of the way.
struct extent {
  std::uint32_t greatest, least;

  static WF_HD extent nothing() { return {0, ~0u}; }
  WF_HD void add_bits(std::uint32_t twice) {
    greatest = twice > greatest ? twice : greatest;
    least = twice - 1 < least ? twice - 1 : least;
  }
  WF_HD void merge(const extent& o) {
    greatest = o.greatest > greatest ? o.greatest : greatest;
    least = o.least < least ? o.least : least;
  }
};

/// Twice the magnitude's bits of an element, left-aligned in 32. Of an f64 the upper ones, and whether any lies below.
template <class T>
WF_HD std::uint32_t extent_bits(T x) {
  const auto b = format<T>::to_bits(x);
  if constexpr (sizeof(T) == 8) {
    const auto low = static_cast<std::uint32_t>(b);
    return static_cast<std::uint32_t>(b >> 32) * 2 + (low < 1 ? low : 1);
  }
  else return static_cast<std::uint32_t>(b) << (33 - 8 * sizeof(T));
}

/// Where the elements of an extent lie: magnitudes below 2^top, all multiples of 2^unit. Of zeros alone top is unit.
struct range {
  int top, unit;
  bool finite;
};
template <class Layout>
WF_HD range range_of(const extent& e) {
  constexpr int drop = 32 - Layout::exponent_bits;
  constexpr int bias = (1 << (Layout::exponent_bits - 1)) - 1;
  const int high = static_cast<int>(e.greatest >> drop), low = static_cast<int>((e.least + 1) >> drop);
  const int unit = (low > 1 ? low : 1) - bias - Layout::mantissa_bits;  // zeros alone have the least of all
  return {e.greatest == 0 ? unit : (high > 1 ? high : 1) - bias + 1, unit, high != Layout::exponent_field_max};
}

/// The range of products x·y: `greatest` is the most that half of x's and half of y's bits come to, `least` is of all x and y. The
/// exponent fields in that sum are as large as the product's, or one larger.
template <class Layout>
WF_HD range range_of_products(const extent& e) {
  constexpr int bias = (1 << (Layout::exponent_bits - 1)) - 1;
  const int top = static_cast<int>(e.greatest >> (31 - Layout::exponent_bits)) - 2 * bias + 2;
  return {top < 2 * Layout::min_exponent ? 2 * Layout::min_exponent : top, 2 * range_of<Layout>({~0u, e.least}).unit, true};
}

/// What chains of at most `length` additions to one double lost at most, `count` elements in all. Partial sum j is at most
/// j·2^top: nothing, where length·2^top and the unit are 53 bits apart; else u·j·2^top for addition j.
WF_HD double loss_of_chain(const range& r, std::uint64_t length, std::uint64_t count) {
  if (!r.finite) return power(1024);
  if (r.top + log2_of(length) - r.unit <= 53) return 0;
  const double half = u / 2 * (1 + 0x1p-20);  // the mean of 1 … length is half of length + 1
  return multiply(multiply(static_cast<double>(count), add(static_cast<double>(length), 1)), multiply(half, power(r.top)));
}

/// What the second halves of pairs lost at most of n terms below 2^top, in chains of `length` additions with merges behind
/// them. With D = length + merges operations between a term and the result: second halves are at most u·D·n·2^top, and
/// nothing is lost where that and the unit are 53 bits apart; else at most u²·D(D + 1)·n·2^top is.
WF_HD double loss_of_pairs(const range& r, std::uint64_t length, std::uint64_t n) {
  if (!r.finite) return power(1024);
  const int depth_bits = log2_of(length + static_cast<std::uint64_t>(merges));
  if (r.top + log2_of(n) + depth_bits - 53 - r.unit <= 53) return 0;
  if (r.top < -900) return power(1024);  // the bound would underflow
  const double depth = add(static_cast<double>(length), merges + 1);
  const double most = multiply(multiply(uu * (1 + 0x1p-10), multiply(depth, depth)), static_cast<double>(n));
  return times_power(most, r.top);
}
/// The same of n products, each of which brings a low part too: u²·(D + 2)²·n·2^top, and where one underflows, half the
/// least subnormal.
WF_HD double loss_of_products(int top, std::uint64_t length, std::uint64_t n) {
  const double depth = add(static_cast<double>(length), merges + 2), count = static_cast<double>(n);
  const double most = multiply(multiply(uu * (1 + 0x1p-10), multiply(depth, depth)), count);
  return add(times_power(most, top), multiply(count, underflow));
}
/// The same of squares that add up to `sum`: partial sums are below that.
WF_HD double loss_of_squares(double sum, std::uint64_t length, std::uint64_t n) {
  const double depth = add(static_cast<double>(length), merges + 2);
  return add(multiply(multiply(uu * (1 + 0x1p-10), multiply(depth, depth)), magnitude(sum)),
             multiply(static_cast<double>(n), underflow));
}
/// Squares (of f32 and narrower: they are doubles) added to one double in chains of `length`, which are merged as pairs.
WF_HD double loss_of_narrow_squares(double sum, std::uint64_t length) {
  return multiply(multiply(add(static_cast<double>(length), 8), u), magnitude(sum));
}
/// The same with the range of the elements: nothing, where sums and the squares' unit are 53 bits apart.
WF_HD double loss_of_narrow_squares(const range& r, double sum, std::uint64_t length) {
  if (!r.finite) return power(1024);
  return magnitude(sum) <= power(2 * r.unit + 53) ? 0.0 : loss_of_narrow_squares(sum, length);
}

/// Anchored moments of f64: a segment's elements are below 2^k, which is taken `spare` binades above those that it begins with, within bounds where
/// neither squares nor
/// what they lose leave the range of doubles.
inline constexpr int anchor_spare = 2, least_anchor = -440, greatest_anchor = 490;
/// k for a segment that begins with elements whose greatest exponent is this.
WF_HD int anchor_of(int exponent) {
  const int k = exponent + 1 + anchor_spare;
  return k < least_anchor ? least_anchor : k > greatest_anchor ? greatest_anchor : k;
}
/// What threads lose by segments of 2^bits elements, of all elements below 2^top: 2^(2·bits + spare + 2)·u² of 2^top a slot (an element, or where one
/// could have been) of Σx, and
/// 2^(2·bits + 2·spare + 1)·u² of 2^(2·top) of Σx². The factors, for terms below 1.
WF_HD double loss_of_anchored_sums(std::uint64_t slots, int bits) {
  return multiply(multiply(uu * (1 + 0x1p-10), power(2 * bits + anchor_spare + 2)), static_cast<double>(slots));
}
WF_HD double loss_of_anchored_squares(std::uint64_t slots, int bits) {
  return multiply(multiply(uu * (1 + 0x1p-10), power(2 * bits + 2 * anchor_spare + 1)), static_cast<double>(slots));
}

/// What a thread adds to in a segment: s = 1.5·2^f + Σx and q = 2^e + Σx² stay where doubles have one unit; what they lost is beside them.
struct anchored_moments {
  double s, q, of_s, of_q;
  int f, e, bits;

  static WF_HD double power_of(int x) { return __builtin_bit_cast(double, static_cast<std::uint64_t>(x + 1023) << 52); }
  /// For at most 2^of_segment elements below 2^k.
  WF_HD void start(int k, int of_segment) {
    bits = of_segment;
    f = k + bits + 1;
    e = 2 * k + bits;
    s = power_of(f) * 1.5;
    q = power_of(e);
    of_s = of_q = 0;
  }
  WF_HD void add(double x) {
    const double t = certified::add(s, x), r = multiply_add(x, x, q);
    of_s = certified::add(of_s, subtract(x, subtract(t, s)));
    of_q = certified::add(of_q, multiply_add(x, x, -subtract(r, q)));
    s = t;
    q = r;
  }
  /// What was lost is kept in units of 2^(bits - 52) of those of s and q.
  WF_HD int step() const { return bits - 52; }
  /// Whole numbers below 2^52: Σx and what it lost, each and 2^51, and Σx² and what it lost, the last one and 2^51.
  static WF_HD bool has_half(int word) { return word != 2; }
  WF_HD void to_words(std::uint64_t (&word)[4]) const {
    const double of_four[4] = {s, certified::add(of_s, power_of(f + step()) * 1.5), q, certified::add(of_q, power_of(e + step()) * 1.5)};
    for (int i = 0; i < 4; ++i) word[i] = __builtin_bit_cast(std::uint64_t, of_four[i]) & ((std::uint64_t{1} << 52) - 1);
  }
  /// The sum of such words of up to 32 threads, each as a multiple of 2^low_bits and the rest.
  static constexpr int low_bits = 27;
  WF_HD pair pair_of(bool square, double high, double low, double lost_high, double lost_low) const {
    const int unit = (square ? e : f) - 52;
    const exact_sum_of sum = two_sum(multiply(high, power_of(unit + low_bits)), multiply(low, power_of(unit)));
    const double lost = multiply_add(lost_high, power_of(unit + step() + low_bits), multiply(lost_low, power_of(unit + step())));
    const exact_sum_of t = two_sum(sum.sum, certified::add(sum.error, lost));
    return {t.sum, t.error};
  }
};

/// Terms times this cannot overflow on the way: sums of f64 that may have any exponent are sums of such.
inline constexpr int shrinks = 64;
inline constexpr double shrink = 0x1p-64;

/// A number within `error` of h + l, where h is h + l rounded. With error = 0 it is that number. All times 2^scale, which
/// is 0 or more.
struct known {
  double h, l, error;
  int scale = 0;

  WF_HD bool usable() const { return magnitude(h) < power(1024) && error < power(1024); }
};
WF_HD known known_of(const exact_sum_of& t, double error, int scale = 0) { return {t.sum, t.error, error, scale}; }
/// The pair's number, where its terms were multiplied by 2^-scale.
WF_HD known known_of(const pair& p, double error, int scale = 0) {
  if (p.c == 0) return {p.s, 0, error, scale};  // and so -0 stays
  return known_of(two_sum(p.s, p.c), error, scale);
}
WF_HD known uncertain() { return {0, 0, power(1024)}; }
/// The same with scale 0, where that does not overflow.
WF_HD known unscaled(const known& a) {
  if (a.scale == 0) return a;
  const double by = power(a.scale);
  if (!(magnitude(a.h) < power(1023 - a.scale))) return uncertain();
  return {multiply(a.h, by), multiply(a.l, by), multiply(a.error, by)};
}
inline constexpr double least_normal_work = 0x1p-900;  ///< below, low parts may underflow: uncertain

/// The quotient by a whole number below 2^53. Error 0 stays where h and l hold the quotient, as they do at each tie.
WF_HD known divided(const known& given, std::uint64_t n) {
  if (n == 0 || n >> 53 != 0) return uncertain();
  const known a = given.scale != 0 && magnitude(given.h) < 1 ? unscaled(given) : given;
  const double d = static_cast<double>(n);
  if (a.h == 0) return {a.h, 0, a.error == 0 ? 0 : power(1024)};
  if (!(magnitude(a.h) >= least_normal_work)) return uncertain();
  const double q = a.h / d;
  const exact_sum_of rest = two_sum(multiply_add(-q, d, a.h), a.l);
  const double l = rest.sum / d;
  if (a.error == 0 && rest.error == 0 && multiply_add(-l, d, rest.sum) == 0) return known_of(two_sum(q, l), 0, a.scale);
  return known_of(two_sum(q, l), add(multiply(1 + 0x1p-40, a.error / d), multiply(16 * uu, magnitude(q))), a.scale);
}

WF_HD double square_root(double x) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(x);
#else
  return __builtin_sqrt(x);
#endif
}
/// The root. Error 0 stays where h holds it.
WF_HD known root(const known& a) {
  if (a.h == 0 && a.error == 0) return {0, 0, 0};
  if (!(a.h >= least_normal_work) || !(a.error <= multiply(0.25, a.h))) return uncertain();
  const double r = square_root(a.h), rest = add(multiply_add(-r, r, a.h), a.l);
  if (a.error == 0 && rest == 0) return {r, 0, 0};
  return known_of(two_sum(r, rest / (2 * r)), add(multiply(0.75, a.error / r), multiply(16 * uu, r)));
}

/// The product with a whole number below 2^53.
WF_HD known times(const known& a, std::uint64_t n) {
  if (n >> 53 != 0) return uncertain();
  if (a.h == 0) return {a.h, 0, a.error == 0 ? 0 : power(1024)};
  if (!(magnitude(a.h) >= least_normal_work)) return uncertain();
  const double d = static_cast<double>(n), p = multiply(a.h, d), q = multiply(a.l, d);
  const exact_sum_of low = two_sum(multiply_add(a.h, d, -p), q);
  const bool exact = a.error == 0 && low.error == 0 && multiply_add(a.l, d, -q) == 0;
  const double error = add(multiply(1 + 0x1p-40, multiply(a.error, d)), multiply(16 * uu, magnitude(p)));
  return known_of(two_sum(p, low.sum), exact ? 0.0 : error);
}
WF_HD known squared(const known& a) {
  const double m = magnitude(a.h);
  if (m == 0 && a.error == 0) return {0, 0, 0};
  if (!(m <= 0x1p500) || !(m >= 0x1p-400)) return uncertain();
  const double p = multiply(a.h, a.h), low = add(multiply_add(a.h, a.h, -p), multiply(2 * a.h, a.l));
  const double error = add(multiply(multiply(2.01, add(m, a.error)), a.error), multiply(16 * uu, p));
  return known_of(two_sum(p, low), a.error == 0 && a.l == 0 ? 0.0 : error);
}
WF_HD known difference(const known& a, const known& b) {
  const exact_sum_of t = two_sum(a.h, -b.h), low = two_sum(a.l, -b.l), more = two_sum(t.error, low.sum);
  const bool exact = a.error == 0 && b.error == 0 && low.error == 0 && more.error == 0;
  const double error = add(multiply(1 + 0x1p-40, add(a.error, b.error)), multiply(16 * uu, add(magnitude(a.h), magnitude(b.h))));
  return known_of(two_sum(t.sum, more.sum), exact ? 0.0 : error);
}

/// n·Σ|x|² - Σ(Σx)² of `Parts` parts: a number that is not negative.
template <int Parts>
WF_HD known spread(const known (&sum)[Parts], const known& squares, std::uint64_t n) {
  known d = times(squares, n);
  for (int i = 0; i < Parts; ++i) d = difference(d, squared(unscaled(sum[i])));
  if (d.h == 0 && d.error == 0) return {0, 0, 0};
  return d.h >= least_normal_work && d.error <= multiply(0.25, d.h) ? d : uncertain();
}

/// h + l to odd: the double next to it towards zero, with the last bit set unless it is h + l itself. Rounded to a format
/// of 50 bits or fewer, that gives what h + l gives.
WF_HD double to_odd(double h, double l) {
  if (l == 0) return h;  // -0 too
  const exact_sum_of t = two_sum(h, l);
  auto b = __builtin_bit_cast(std::uint64_t, t.sum);
  if (t.error == 0 || (b & 1) != 0) return t.sum;
  const bool outwards = (t.error < 0) == (t.sum < 0);
  b = outwards ? b + 1 : b - 1;  // an even number is no power of two's neighbour from above; of zero there is no error
  return __builtin_bit_cast(double, b);
}

template <class Out>
WF_HD typename format<Out>::bits rounded_bits(double x, rounding mode) {
  using layout = typename format<Out>::layout;
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Out) == 4) {  // a subnormal may be flushed, where a user compiles
    if (mode == rounding::nearest && magnitude(x) > 0x1p-125) return __builtin_bit_cast(std::uint32_t, __double2float_rn(x));
  }
#endif
  return convert<layout, ieee_f64>(__builtin_bit_cast(std::uint64_t, x), mode);
}

/// Writes the number that everything within the bound rounds to, where scale is 0: false if that is not one number.
template <class Out>
WF_HD bool certain_unscaled(const known& a, rounding mode, Out& out) {
  using f = format<Out>;
  if (!a.usable()) return false;
  // The sums below are rounded: the bound grows by more than that.
  const double e = a.error == 0 ? 0.0 : add(multiply(1 + 0x1p-20, a.error), multiply(0x1p-50, magnitude(a.l)));
  if constexpr (sizeof(Out) < 8) {
    typename f::bits low{};
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // rounding is long
#endif
    for (int end = 0; end < (e != 0 ? 2 : 1); ++end) {
      const auto bits = rounded_bits<Out>(to_odd(a.h, end == 0 ? subtract(a.l, e) : add(a.l, e)), mode);
      if (end != 0 && bits != low) return false;
      low = bits;
    }
    out = f::from_bits(low);
    return true;
  } else {
    const double low = subtract(a.l, e), high = add(a.l, e);
    if (mode == rounding::nearest) {
      out = a.h;
      return e == 0 || (add(a.h, low) == a.h && add(a.h, high) == a.h && a.h != 0);
    }
    if (low == 0 && high == 0) {
      out = a.h;
      return true;
    }
    if (!(low > 0 || high < 0) || a.h == 0) return false;  // the true number may be h
    if (add(a.h, low) != a.h || add(a.h, high) != a.h) return false;
    const bool above = low > 0, negative = a.h < 0;
    const bool outward = mode == rounding::away || (mode == rounding::up && !negative) || (mode == rounding::down && negative);
    auto b = __builtin_bit_cast(std::uint64_t, a.h);
    if (above != negative) b += outward ? 1 : 0;  // the number is beyond h, seen from zero
    else b -= outward ? 0 : 1;
    out = __builtin_bit_cast(double, b);
    return (b & 0x7fffffffffffffffu) < 0x7ff0000000000000u;
  }
}

template <class Out>
WF_HD bool certain(const known& a, rounding mode, Out& out) {
  using f = format<Out>;
  if (a.scale == 0 || magnitude(a.h) < power(1023 - a.scale)) return certain_unscaled(unscaled(a), mode, out);
  if constexpr (sizeof(Out) < 8) {
    return false;
  } else {  // rounded as if there were larger exponents, and then brought into the range
    if (!certain_unscaled({a.h, a.l, a.error}, mode, out)) return false;
    const std::uint64_t b = f::to_bits(out), up = static_cast<std::uint64_t>(a.scale) << f::mantissa_bits;
    const bool negative = f::negative(b);
    const bool inward = mode == rounding::zero || (mode == rounding::up && negative) || (mode == rounding::down && !negative);
    if ((b & ~f::sign_mask) < f::infinity - up) out = f::from_bits(b + up);
    else out = f::from_bits((inward ? f::greatest : f::infinity) | (b & f::sign_mask));
    return true;
  }
}

/// A second look at a sum that a pair could not decide: short rows of very different exponents, whose largest elements add
/// up to a tie. What second halves lose is kept in e, so far that its sign is known: |parts of e| add up to `size`.
struct triple {
  double s, c, e, size;

  static WF_HD triple nothing() { return {-0.0, 0, 0, 0}; }
  WF_HD void add_lost(double x) {
    e = add(e, x);
    size = add(size, magnitude(x));
  }
  WF_HD void add_term(double x) {
    const exact_sum_of t = two_sum(s, x), low = two_sum(c, t.error);
    s = t.sum;
    c = low.sum;
    add_lost(low.error);
  }
  WF_HD void merge(const triple& o) {
    const exact_sum_of t = two_sum(s, o.s), low = two_sum(c, o.c), more = two_sum(low.sum, t.error);
    s = t.sum;
    c = more.sum;
    e = add(e, o.e);
    size = add(size, o.size);
    add_lost(low.error);
    add_lost(more.error);
  }
};

/// What a sum of doubles (or of doubles times 2^-scale, which are off by `underflowed` in all) rounds to; `length` as above.
template <class Out>
WF_HD bool certain(const triple& a, std::uint64_t length, rounding mode, Out& out, int scale = 0, double underflowed = 0) {
  if (a.size == 0 && underflowed == 0) return certain(known_of(pair{a.s, a.c}, 0, scale), mode, out);
  const double steps = add(static_cast<double>(length), 3 * merges + 1);
  const double lost = add(multiply(multiply(u * (1 + 0x1p-10), steps), a.size), underflowed);
  // s + c + e = h + l + rest, from the largest on.
  const exact_sum_of low = two_sum(a.c, a.e), high = two_sum(a.s, low.sum), middle = two_sum(high.error, low.error);
  const exact_sum_of first = two_sum(high.sum, middle.sum), second = two_sum(first.error, middle.error);
  const double l = second.sum, rest = second.error;
  if (!(magnitude(rest) > lost)) return certain(known_of(two_sum(first.sum, l), add(lost, magnitude(rest)) * (1 + 0x1p-40), scale), mode, out);
  // l to odd: a number between l and its neighbour, which no tie and no number of Out is.
  auto b = __builtin_bit_cast(std::uint64_t, l);
  if ((b & 1) == 0) b = (rest < 0) == (l < 0) ? b + 1 : b - 1;  // l is not 0, for then rest were
  return certain(known_of(two_sum(first.sum, __builtin_bit_cast(double, b)), 0, scale), mode, out);
}

/// A question about sums.
struct question {
  op what;
  wf::rounding rounding;
  std::int64_t correction;
};

/// The answers to a question: of `Parts` sums, or of the sum of squares `squares`, or of both (var, std and mean_var).
/// False if any of them is uncertain; then `out` does not change. Sums, Squares: whether a question may need them; otherwise their code is left out.
template <int Parts, bool Sums = true, bool Squares = true, class Out>
WF_HD bool answer(const question& q, const known (&sum)[Parts], const known& squares, std::uint64_t n, Out* out) {
  if (n == 0 || n >> 52 != 0) return false;
  /// A number, divided by as many as `divisors` says, and perhaps its root.
  struct asked_for {
    known number;
    std::uint64_t by[2];
    int divisors;
    bool root;
  };
  Out to[Parts + 1];
  asked_for asked[Parts + 1] = {};
  int count = 0;
  const bool mean = q.what == op::mean || q.what == op::mean_var;
  const bool spreads = Sums && Squares && (q.what == op::var || q.what == op::std_dev || q.what == op::mean_var);
  if (Squares && (!Sums || q.what == op::norm2 || q.what == op::sum_of_squares)) {
    asked[count++] = {squares, {}, 0, q.what == op::norm2};
  } else if (!spreads || mean) {
    for (int i = 0; i < Parts; ++i) asked[count++] = {sum[i], {n, 1}, mean ? 1 : 0, false};
  }
  const bool undefined = spreads && static_cast<std::int64_t>(n) <= q.correction;
  if (spreads && !undefined) {
    const std::uint64_t less = n - static_cast<std::uint64_t>(q.correction);
    known d = n == 1 ? known{0, 0, 0} : spread<Parts>(sum, squares, n);
    for (int i = 0; i < Parts; ++i) {
      if (n == 1 && !sum[i].usable()) d = uncertain();
    }
    const bool at_once = (n | less) >> 26 == 0;
    asked[count++] = {d, {at_once ? n * less : n, less}, at_once ? 1 : 2, q.what == op::std_dev};
  }
  // Each step is there once, which is less code than for each number.
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int i = 0; i < count; ++i) {
    known k = asked[i].number;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int step = 0; step < asked[i].divisors; ++step) k = divided(k, asked[i].by[step]);
    if (asked[i].root) k = root(k);
    if (!certain(k, q.rounding, to[i])) return false;
  }
  if (undefined) to[count++] = format<Out>::from_bits(format<Out>::quiet_nan);
  for (int i = 0; i < Parts + 1; ++i) {
    if (i < count) out[i] = to[i];
  }
  return true;
}

}  // namespace wf::exact::certified
