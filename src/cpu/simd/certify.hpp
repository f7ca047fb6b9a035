// SPDX-License-Identifier: Apache-2.0
/// \file certify.hpp
/// Sums with a bound of what they lost (detail/exact/certified.hpp): the cheap pass before any exact arithmetic.
///
/// Elements come a tile at a time, in `streams` vectors beside each other, `adds` additions to each lane of each.
///
/// Plain, where terms are doubles of few bits (f32 and its products): one addition a term. A partial sum of j terms below 2^B
/// is at most j·2^B, and half a unit in its last place is lost at most: with u = 2^-53 u·2^B·adds·(adds + 1)/2 a lane and stream, and
/// u·2^B·streams²·adds a lane where streams are added up. Nothing, if all terms are multiples of a unit 2^U and no sum of a lane,
/// below 2^B·adds·streams, has more than 53 bits above it.
///
/// Anchored, for terms of any bits: t begins at 1.5·2^k, k = B + log2(adds) + 2, as in extract.hpp, so that it stays in
/// [2^k, 2^(k+1)) and only holds multiples of 2^(k-52). What t does not take of a term v is exact, at most ρ = 2^(k-53), and
/// is added to r. For a product a·b, t takes fma(a, b, t) - t, and the rest is fma(a, b, -that), rounded once: by u·ρ at most, or
/// by half the least subnormal. So r loses what a plain sum of terms below ρ loses: about 2^-40 of the plain sums' loss. Four operations
/// a term, whatever the exponents; two-sums would take seven, and ten for products.
///
/// Enclosed, for sums where an instruction names its own rounding (AVX-512). For f32 there are two sums in place of the plain one, rounded down and
/// up: the true one lies between. For f64 sums are anchored, with two such sums of what t does not take. Terms may have any size: as long as t stays
/// in [2^k, 2^(k+1)) it is a multiple of 2^(k-52), the difference of two such t's is a double, and so is the remainder of v: a multiple of v's last
/// place (or v itself) of at most 2^(k-53). Whether t stayed, its bits of sign and exponent show, or-ed together. Four streams' t less the anchor are
/// at most 2^(k-1) each, so their sum has 53 bits of 2^(k-52). What a tile lost is at most the difference of the two.
///
/// Sums of tiles go to pairs by two-sums, and what the second halves lose is itself added up.
#pragma once

#include "error_terms.hpp"
#include "extract.hpp"
#include "magnitudes.hpp"
#include "specials.hpp"

namespace wf::cpu::WF_TARGET {

WF_INLINE double lowest_power_of_two(int e) {  // subnormal ones, too
  return e >= -1022 ? power_of_two(e) : __builtin_bit_cast(double, std::uint64_t{1} << (e + 1074));
}

/// How elements are added up.
enum class adding { plain, anchored, scaled };  // scaled: anchored, and elements times 2^±certified_scale first

template <class T, term Term, bool Absolute, adding How>
class certifier {
  static constexpr bool Anchored = How != adding::plain, is_scaled = How == adding::scaled;
  static constexpr bool of_values = Term == term::value || Term == term::moments;
  static constexpr bool of_products = Term != term::value;
  static constexpr bool pairs = Term == term::product;
  static constexpr bool wide = sizeof(T) == 8;
  static constexpr bool split = wide && of_products && !has_fma;  // products by their two halves
#if defined(__AVX512F__)
  static constexpr bool enclosing = Term == term::value && Anchored == wide;
#else
  static constexpr bool enclosing = false;
#endif
  static constexpr int streams = 4, group = streams * step;
  static constexpr std::int64_t size = sizeof(T), tile_elements = 16384 / size;
  static constexpr int most_adds = static_cast<int>(tile_elements / group), log2_adds = log2_of(most_adds);
  static_assert(1 << log2_adds == most_adds);
  /// The numbers that are dealt with: no bound of theirs under- or overflows.
  static constexpr int least_top = wide ? -400 : -1000, most_exponent = 1000;
  static constexpr std::int64_t first_look = 4 * group;  // elements that the first bounds come from
  static constexpr int least_kept = -480;  // for scaled elements: so products of two have their last place above 2^-1074, too
  static constexpr double u = 0x1p-53;
  using bytes = const unsigned char*;
  using seen = magnitudes<T>;

  struct sums {
    f64s t[streams], r[Anchored ? streams : 1];
    f64s one;
    double anchor;
    int exponent;  // the anchor's

    WF_INLINE void begin(int bound) {
      one = unknown_one();
      exponent = bound + log2_adds + 2;
      anchor = Anchored ? 1.5 * power_of_two(exponent) : 0;
      for (f64s& v : t) v = all_lanes<f64s>(anchor);
      for (f64s& v : r) v = f64s{};
    }
    WF_INLINE void add_value(int k, f64s v) {
      const f64s before = t[k];
      t[k] = add_by_fma(v, before, one);
      if constexpr (Anchored) r[k] = add_by_fma(v - (t[k] - before), r[k], one);
    }
    /// v·factor, which is a double.
    WF_INLINE void add_multiple(int k, f64s v, f64s factor) {
      const f64s before = t[k];
      t[k] = multiply_add(v, factor, before);
      r[k] += multiply_subtract(v, factor, t[k] - before);
    }
    WF_INLINE void add_product(int k, f64s a, f64s b) {
      if constexpr (split) {
        f64s low;
        add_value(k, two_product(a, b, low));
        r[k] += low;
      } else {
        const f64s before = t[k];
        t[k] = multiply_add(a, b, before);
        if constexpr (Anchored) r[k] += multiply_subtract(a, b, t[k] - before);
      }
    }
    /// Adds the tile to `to`; false if there was a NaN.
    WF_INLINE bool give(lane_pairs<width>& to) const {
      const f64s all = ((t[0] - anchor) + (t[1] - anchor)) + ((t[2] - anchor) + (t[3] - anchor));
      if (any_lane((i64s)(all - all != 0.0))) return false;
      to.add(all);
      if constexpr (Anchored) to.add_rest((r[0] + r[1]) + (r[2] + r[3]));
      return true;
    }
    /// What the tile lost at most, of `adds` additions to each lane of terms below 2^top, multiples of 2^unit. Underflow loses
    /// less than 2^underflow a term; 0 says that there is none.
    WF_INLINE double lost(int adds, int top, int unit, int underflow) const {
      if (top <= seen::no_top) return 0;
      const int bits_of_adds = log2_of(adds - 1) + 1 + log2_of(streams) + (split ? 1 : 0);  // log2, rounded up
      const int part = Anchored ? exponent - 53 : top;  // each addition brings less than 2^part
      if (part + bits_of_adds - unit <= 53 && underflow == 0) return 0;
      const double additions = split ? 2.0 * adds : adds, terms = additions * (streams * step);
      return terms * (additions / 2 + streams + 2) * 1.01 * u * power_of_two(part) + (underflow != 0 ? terms * lowest_power_of_two(underflow) : 0.0);
    }
  };

#if defined(__AVX512F__)
  struct enclosed_sums {
    f64s t[Anchored ? streams : 1];
    enclosed rest[streams];
    i64s left;  // bits of t that changed: those of sign and exponent tell that it left
    f64s one, anchor;

    WF_INLINE void begin(int bound) {
      one = unknown_one();
      anchor = all_lanes<f64s>(Anchored ? 1.5 * power_of_two(bound + log2_adds + 2) : 0.0);
      left = i64s{};
      for (f64s& v : t) v = anchor;
      for (enclosed& r : rest) r = {f64s{}, f64s{}};
    }
    WF_INLINE void add_value(int k, f64s v) {
      if constexpr (Anchored) {
        const f64s before = t[k];
        t[k] = add_by_fma(v, before, one);
        rest[k].add(v - (t[k] - before), one);
        left |= (i64s)t[k] ^ (i64s)anchor;
      } else {
        rest[k].add(v, one);
      }
    }
    WF_INLINE bool has_left() const { return any_lane((i64s)(~(i64s)((u64s)left < 0x0010000000000000u))); }
    /// Are all sums zero? Not if this is false.
    WF_INLINE bool nothing() const {
      i64s all = ~i64s{};
      for (const f64s& v : t) all &= (i64s)(v == anchor);
      for (const enclosed& r : rest) all &= (i64s)(r.low == 0.0) & (i64s)(r.high == 0.0);
      return !any_lane(~all);
    }
    /// Adds the tile to `to`; false if a rest is infinite or no number.
    WF_INLINE bool give(lane_pairs<width>& to) const {
      enclosed all = rest[0];
      for (int k = 1; k < streams; ++k) all.add(rest[k]);
      const f64s lost = all.high - all.low;
      if (any_lane((i64s)(lost - lost != 0.0))) return false;
      if constexpr (Anchored) {
        to.add(((t[0] - anchor) + (t[1] - anchor)) + ((t[2] - anchor) + (t[3] - anchor)));
        to.add_rest(all.high);
      } else {
        to.add(all.high);
      }
      to.lost += lost;
      return true;
    }
  };
  using value_sums = std::conditional_t<enclosing, enclosed_sums, sums>;
#else
  using value_sums = sums;
#endif

  seen x_, y_;
  value_sums value_;
  sums product_;
  int bound_x_ = seen::no_top, bound_y_ = seen::no_top, scale_ = 0;
  double factor_ = 1, least_taken_ = 0;  // 2^scale_; what is below is left out, or is subnormal

  static constexpr std::int64_t scaled_one = (certified_scale + 1) * binade;  // its last place is the least number's, scaled
  /// v·2^scale_, and zero in place of what would be below 2^least_kept (where sums are enclosed, of what is below 2 before). No operand or result is
  /// subnormal, which costs some processors 150 cycles, nor are products of two: subnormals times 2^certified_scale are made of their bits.
  template <int Sign>
  WF_INLINE f64s scaled(f64s v) const {  // Sign: that of scale_
    [[maybe_unused]] constexpr std::int64_t one = scaled_one;
#if defined(__AVX512F__)
    const i64s bits = (i64s)v;
    // Where sums are enclosed, those of 2 and more, which have bit 62, and those that are not subnormal; else, as NaNs too, what is not below the least.
    const __mmask8 which = enclosing ? _mm512_test_epi64_mask((__m512i)v, _mm512_set1_epi64(Sign < 0 ? std::int64_t{1} << 62 : 2047 * binade))
                                     : _mm512_cmp_pd_mask(abs(v), all_lanes<f64s>(least_taken_), _CMP_NLT_UQ);
    const f64s taken = _mm512_maskz_mul_pd(which, v, all_lanes<f64s>(factor_));
    if (Sign < 0 || which == 0xff) return taken;
    return _mm512_mask_sub_pd(taken, static_cast<__mmask8>(~which), (__m512d)(bits | one), (__m512d)((bits & sign_bit) | one));
#else
    const i64s which = left_out(v);
    const f64s taken = (f64s)((i64s)v & ~which) * factor_;
    if (Sign < 0 || !any_lane(which)) return taken;
    return taken + scaled_by_bits(v, which);
#endif
  }
  WF_INLINE i64s left_out(f64s v) const { return (i64s)(abs(v) < least_taken_); }
  /// Subnormals, and zeros: v·2^certified_scale in the lanes of `which`; no number there is subnormal.
  static WF_INLINE f64s scaled_by_bits(f64s v, i64s which) {
    constexpr std::int64_t one = scaled_one;
    const i64s bits = (i64s)v;
    return (f64s)((bits | one) & which) - (f64s)((bits & sign_bit) | (one & which));
  }

  static constexpr std::int64_t ahead_in_runs = 512;
  std::int64_t apart_ = step * size;  // where sums are enclosed: from a stream's elements to those of the next

  template <bool Least = true>
  static WF_INLINE void look(seen& at, vec<T> v) {
    if constexpr (Least) at.look_at(v);
    else at.look_at_greatest(v);
  }
  template <bool Least = true>
  WF_INLINE void look_at_group(bytes x, bytes y) {
    WF_UNROLL
    for (int j = 0; j < group * size; j += width) {
      look<Least>(x_, load<vec<T>>(enclosing ? x + j / width * apart_ : x + j));
      if constexpr (pairs) look<Least>(y_, load<vec<T>>(y + j));
    }
  }
  /// Scaled elements are sums' terms by FMAs that scale them, too. Subnormals need no bits then to be right, but to be fast; until a tile has one,
  /// no element is asked.
  static constexpr bool scales_as_it_adds = is_scaled && Term == term::value && !enclosing && has_fma;
  static constexpr int normal = 2;  // a sign: up, of numbers that are no subnormals
  bool any_subnormal_ = false;  // so far, or nearly
  template <int Sign>
  WF_INLINE void add_multiples(bytes x) {
    const auto element = [&](int k) __attribute__((always_inline)) {
      const f64s a = load_f64<T>(x, k * step);
      if constexpr (Absolute) return abs(a);
      else return a;
    };
    if constexpr (Sign == normal) {
      WF_UNROLL
      for (int k = 0; k < streams; ++k) {
        const f64s a = element(k);
        look(x_, a);
        value_.add_multiple(k, a, all_lanes<f64s>(factor_));
      }
      return;
    }
    i64s any{};
    WF_UNROLL
    for (int k = 0; k < streams; ++k) {
      const f64s a = element(k);
      const i64s which = left_out(a);
      look<false>(x_, a);
      if constexpr (Sign > 0) any |= which;
      value_.add_multiple(k, (f64s)((i64s)a & ~which), all_lanes<f64s>(factor_));
    }
    if (Sign < 0 || !any_lane(any)) return;
    asm("" : "+r"(x));  // else g++ keeps all elements, and has no registers for the sums then
    WF_UNROLL
    for (int k = 0; k < streams; ++k) value_.add_value(k, scaled_by_bits(element(k), left_out(element(k))));
  }
  /// Whether only the greatest magnitude of a whole tile is looked at. A sum of scaled elements has some that are not zero, so zeros need not be
  /// distinguished from small numbers.
  template <int Sign>
  static constexpr bool looks_at_greatest = !enclosing && is_scaled && Sign != normal && (Sign < 0 || scales_as_it_adds);
  /// Sign: that of scale_, or `normal`.
  template <int Sign>
  WF_INLINE void add_group(bytes x, bytes y) {
    if constexpr (scales_as_it_adds) return add_multiples<Sign>(x);
    constexpr bool least = !looks_at_greatest<Sign>;
    if constexpr (!enclosing && width == 64) look_at_group<least>(x, y);
    WF_UNROLL
    for (int k = 0; k < streams; ++k) {
      if constexpr (!enclosing && width != 64) {
        constexpr int streams_of_one = lanes<T> / step;  // f32: of one vector
        if (k % streams_of_one == 0) {
          look<least>(x_, load<vec<T>>(x + k * step * size));
          if constexpr (pairs) look<least>(y_, load<vec<T>>(y + k * step * size));
        }
      }
      f64s a = enclosing ? load_f64<T>(x + k * apart_, 0) : load_f64<T>(x, k * step);
      if constexpr (Absolute) a = abs(a);
      if constexpr (is_scaled) a = scaled<Sign>(a);
      if constexpr (of_values) value_.add_value(k, a);
      if constexpr (of_products) {
        f64s b = a;
        if constexpr (pairs) b = load_f64<T>(y, k * step);
        if constexpr (pairs && is_scaled) b = scaled<Sign>(b);
        product_.add_product(k, a, b);
      }
    }
  }

  /// f(x, y) for groups of n elements, the last one filled up with zeros; how many there are.
  template <class F>
  WF_INLINE int for_groups(bytes x, bytes y, std::int64_t n, F f) {
    std::int64_t i = 0;
    int count = 0;
    if (enclosing && apart_ != step * size) {
      for (; i < n; i += group, ++count, x += step * size) {
        WF_UNROLL
        for (int k = 0; k < streams; ++k) prefetch(x + k * apart_, ahead_in_runs);
        f(x, x);
      }
      return count;
    }
    for (; i + group <= n; i += group, ++count) {
      prefetch_lines<group * size>(x + i * size);
      if constexpr (pairs) prefetch_lines<group * size>(y + i * size);
      f(x + i * size, y + i * size);
    }
    if (i < n) {
      alignas(64) T a[group] = {}, b[pairs ? group : 1] = {};
      __builtin_memcpy(a, x + i * size, static_cast<std::size_t>((n - i) * size));
      if constexpr (pairs) __builtin_memcpy(b, y + i * size, static_cast<std::size_t>((n - i) * size));
      f(reinterpret_cast<bytes>(a), reinterpret_cast<bytes>(pairs ? b : a));
      ++count;
    }
    return count;
  }

  bool all_subnormal_ = true;  // so far
  /// Adds a tile of subnormal numbers, which are integers times 2^-1074: it adds the integers, and scales the sum as others are. False where there is
  /// another number.
  WF_INLINE bool add_subnormal(bytes x, bytes y, std::int64_t n, lane_pairs<width>& to, bool& zeros) {
    i64s seen_bits{}, totals[streams] = {}, negative[streams] = {};
    for_groups(x, y, n, [&](bytes a, bytes) __attribute__((always_inline)) {
      WF_UNROLL
      for (int k = 0; k < streams; ++k) {
        const i64s v = load<i64s>(a + k * apart_), magnitude = v & INT64_MAX;
        seen_bits |= magnitude;
        totals[k] += magnitude;
        if constexpr (!Absolute) {
#if defined(__AVX512F__)
          negative[k] = (i64s)_mm512_mask_add_epi64((__m512i)negative[k], _mm512_movepi64_mask((__m512i)v), (__m512i)negative[k], (__m512i)magnitude);
#else
          negative[k] += magnitude & (i64s)(v < 0);
#endif
        }
      }
    });
    all_subnormal_ = !any_lane(seen_bits & -binade);
    if (!all_subnormal_) return false;
    static_assert(most_adds * streams <= 1 << 10);  // each is less than 2^52
    const i64s sum = ((totals[0] + totals[1]) + (totals[2] + totals[3])) - 2 * ((negative[0] + negative[1]) + (negative[2] + negative[3]));
    constexpr double unit = power_of_two(certified_scale - 1074);
    to.add(__builtin_convertvector(sum >> 32, f64s) * (0x1p32 * unit));
    to.add(__builtin_convertvector(sum & 0xffffffff, f64s) * unit);
    if (any_lane(seen_bits)) zeros = false;
    return true;
  }

  struct ranges {
    int top_x, unit_x, top_y, unit_y;
    bool left_out;  // elements that are too small
  };
  WF_INLINE ranges range() const {
    ranges r{};
    x_.range(r.top_x, r.unit_x);
    if constexpr (pairs) {
      y_.range(r.top_y, r.unit_y);
    } else {
      r.top_y = r.top_x;
      r.unit_y = r.unit_x;
    }
    if constexpr (is_scaled) {
      for (int* e : {&r.top_x, &r.unit_x, &r.top_y, &r.unit_y}) *e += *e == seen::no_top || *e == seen::no_unit ? 0 : scale_;
      constexpr int least_unit = least_kept - 52;
      r.left_out = r.unit_x < least_unit || r.unit_y < least_unit;
      r.unit_x = larger(r.unit_x, least_unit);
      r.unit_y = larger(r.unit_y, least_unit);
    }
    return r;
  }
  static WF_INLINE int larger(int a, int b) { return a > b ? a : b; }

  /// The bounds of what was seen, twice that since a tile with something larger is added up again; zeros and small numbers have the least.
  WF_INLINE evidence::what raise_bounds(const ranges& r) {
    bound_x_ = larger(bound_x_, larger(r.top_x, least_top) + 1);
    bound_y_ = larger(bound_y_, larger(r.top_y, least_top) + 1);
    return taken(r);
  }
  WF_INLINE evidence::what taken(const ranges& r) const {
    if (r.top_x >= seen::infinite_top + scale_ || r.top_y >= seen::infinite_top + scale_) return evidence::hopeless;
    const int most = of_products ? larger(bound_x_ + bound_y_, bound_x_) : bound_x_;
    return Anchored && most + log2_adds + 2 > most_exponent ? evidence::too_large : evidence::sums;
  }
  static WF_INLINE bool is_small(const ranges& r) {
    return (r.top_x < least_top && r.top_x != seen::no_top) || (r.top_y < least_top && r.top_y != seen::no_top);
  }

 public:
  WF_INLINE void run(bytes x, bytes y, std::int64_t n, evidence& out) {
    lane_pairs<width> values, products;
    const bool first = out.first;
    scale_ = is_scaled ? out.scale : 0;
    factor_ = power_of_two(scale_);
    least_taken_ = scale_ < 0 ? power_of_two(least_kept - scale_) : 0x1p-1022;
    out = {};
    out.scale = scale_;
    out.negative = n > 0 && (x[size - 1] & 0x80) != 0;
    // Four runs beside each other (kernels.hpp), a stream of each; what is left of them; and at last what lies before the first whole line.
    constexpr std::int64_t of_run = tile_elements / streams, line = 64;
    const auto before_line = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(x) % line);
    const std::int64_t head = enclosing && n * size >= line * line && before_line % (2 * size) == 0 ? before_line / size : 0, body = n - head;  // even: places stay so
    const std::int64_t in_runs = enclosing && body * size >= least_for_runs ? body / streams / of_run * of_run * streams : 0;
    for (std::int64_t i = 0, m = 0; i < n; i += m) {
      m = i >= body ? head : body - i < tile_elements ? body - i : tile_elements;
      bytes px = i >= body ? x : x + (head + (i < in_runs ? i / streams : i)) * size, py = pairs ? y + i * size : px;
      if constexpr (enclosing) apart_ = i < in_runs ? in_runs / streams * size : step * size;
      const auto refuse = [&](evidence::what why) __attribute__((always_inline)) {
        out.verdict = why;
        special_counts found = specials<T, pairs>(px, py, i < in_runs ? of_run : m);
        if constexpr (enclosing) {
          for (int k = 1; i < in_runs && k < streams; ++k) {
            const special_counts more = specials<T, pairs>(px + k * apart_, px, of_run);
            found = {found.nan + more.nan, found.pos_inf + more.pos_inf, found.neg_inf + more.neg_inf};
          }
        }
        if (found.all() != 0) out.verdict = found.nan != 0 || (found.pos_inf != 0 && found.neg_inf != 0 && !Absolute && Term != term::square)
                          ? evidence::is_nan : evidence::hopeless;
      };
      if constexpr (Anchored) {
        if (i == 0) {
          const auto look_at = [&](std::int64_t some) __attribute__((always_inline)) {
            x_ = y_ = {};
            for_groups(px, py, some, [&](bytes a, bytes b) __attribute__((always_inline)) { look_at_group(a, b); });
            return range();
          };
          ranges seen_first = look_at(m < first_look ? m : first_look);
          if (first && !is_scaled && is_small(seen_first)) {
            seen_first = look_at(m);
            if (is_small(seen_first)) return refuse(evidence::too_small);
          }
          if (const auto why = raise_bounds(seen_first); why != evidence::sums) return refuse(why);
        }
      }
      if constexpr (is_scaled && Term == term::value) {
        if (scale_ > 0 && all_subnormal_ && add_subnormal(px, py, m, values, out.zeros)) continue;
      }
      const auto look_at_all = [&]() __attribute__((always_inline)) {
        x_ = y_ = {};
        for_groups(px, py, m, [&](bytes a, bytes b) __attribute__((always_inline)) { look_at_group(a, b); });
      };
      const bool all_normal = scales_as_it_adds && scale_ > 0 && !any_subnormal_;
      const auto add_all = [&]() __attribute__((always_inline)) {
        if constexpr (scales_as_it_adds) {
          if (all_normal) return for_groups(px, py, m, [&](bytes a, bytes b) __attribute__((always_inline)) { add_group<normal>(a, b); });
        }
        if constexpr (is_scaled) {
          if (scale_ < 0) return for_groups(px, py, m, [&](bytes a, bytes b) __attribute__((always_inline)) { add_group<-1>(a, b); });
        }
        return for_groups(px, py, m, [&](bytes a, bytes b) __attribute__((always_inline)) { add_group<1>(a, b); });
      };
      if constexpr (enclosing) {
        const auto look = [&]() __attribute__((always_inline)) {
          look_at_all();
          return range();
        };
        for (;;) {
          value_.begin(bound_x_);
          add_all();
          if (!Anchored || !value_.has_left()) break;
          const ranges r = look();
          if (r.top_x <= bound_x_) return refuse(evidence::hopeless);  // a NaN
          if (const auto why = raise_bounds(r); why != evidence::sums) return refuse(why);
        }
        if (!value_.give(values)) return refuse(evidence::hopeless);
        // What a lane leaves out: of a whole tile it may be anything, of few elements, whose sum is a tie more often, they are looked at.
        if (is_scaled && scale_ < 0 && (m == tile_elements || look().left_out)) values.lost += power_of_two(1 - certified_scale + log2_of(most_adds * streams));
        if (out.zeros && (!value_.nothing() || look().top_x != seen::no_top)) out.zeros = false;
        continue;
      }
      ranges r;
      int adds;
      for (;;) {
        x_ = y_ = {};
        if constexpr (of_values) value_.begin(bound_x_);
        if constexpr (of_products) product_.begin(bound_x_ + bound_y_);
        adds = add_all();
        if constexpr (is_scaled) {
          const bool greatest_alone = scale_ < 0 ? looks_at_greatest<-1> : looks_at_greatest<1> && !all_normal;
          if (greatest_alone && m < tile_elements) {  // a sum of few elements is a tie more often
            look_at_all();
          } else if (greatest_alone) {
            x_.forget_least();
            y_.forget_least();
          }
        }
        r = range();
        if (all_normal) any_subnormal_ = r.unit_x == scale_ - 1074;
        if (Anchored && (r.top_x > bound_x_ || r.top_y > bound_y_)) {
          if (const auto why = raise_bounds(r); why != evidence::sums) return refuse(why);
          continue;
        }
        if (const auto why = taken(r); why != evidence::sums) return refuse(why);
        break;
      }
      bool finite = true;
      if constexpr (of_values && !enclosing) {
        finite = value_.give(values);
        out.lost_values += value_.lost(adds, r.top_x, r.unit_x, r.left_out ? least_kept : 0);
      }
      if constexpr (of_products) {
        finite = product_.give(products) && finite;
        const bool none = r.top_x == seen::no_top || r.top_y == seen::no_top;
        // A factor that is left out is lost times the other, which is left out itself or not.
        const int underflow = r.left_out ? larger(0, larger(bound_x_, bound_y_)) + least_kept + 1 : wide && r.unit_x + r.unit_y < -1074 ? -1074 : 0;
        out.lost_products += product_.lost(adds, none ? seen::no_top : r.top_x + r.top_y, r.unit_x + r.unit_y, underflow);
        if (split && !none && r.unit_x + r.unit_y < -1074) return refuse(evidence::hopeless);  // the lower halves underflow
      }
      if (!finite) return refuse(evidence::hopeless);
      if (r.top_x != seen::no_top && r.top_y != seen::no_top) out.zeros = false;
    }
    if constexpr (of_values) values.give(out.values, out.values_rest, out.lost_values);
    if constexpr (of_products) products.give(out.products, out.products_rest, out.lost_products);
  }
};

template <class T, term Term, bool Absolute, adding How>
void certify(const void* x, const void* y, std::int64_t n, evidence& out) {
  certifier<T, Term, Absolute, How> c;
  c.run(static_cast<const unsigned char*>(x), static_cast<const unsigned char*>(y), n, out);
}

}  // namespace wf::cpu::WF_TARGET
