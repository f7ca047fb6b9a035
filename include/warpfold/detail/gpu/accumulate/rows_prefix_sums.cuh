// SPDX-License-Identifier: Apache-2.0
/// \file rows_prefix_sums.cuh
/// The numbers of which prefix sums are made (kernels/rows_prefix.cuh), how an accumulator's elements become them, and what is known of a difference of two.
///
/// Integers are exact modulo 2^64. Sums of floats in doubles are exact where the sum of magnitudes and the exponent of the least one prove it
/// (rows_quick.cuh), and then their differences are exact too; f64 in pairs of doubles.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_quick.cuh>
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>

namespace wf::device::inline WF_BUILD {

/// A sum of doubles and what its additions lost.
struct prefix_pair {
  double s, c;

  friend __device__ __forceinline__ prefix_pair operator+(const prefix_pair& a, const prefix_pair& b) {
    certified::pair p{a.s, a.c};
    p.merge({b.s, b.c});
    return {p.s, p.c};
  }
  friend __device__ __forceinline__ prefix_pair operator-(const prefix_pair& a, const prefix_pair& b) { return a + prefix_pair{-b.s, -b.c}; }
  __device__ __forceinline__ prefix_pair& operator+=(const prefix_pair& b) { return *this = *this + b; }
  /// The nearest double, and the rest.
  __device__ __forceinline__ certified::exact_sum_of rounded() const { return c == 0 ? certified::exact_sum_of{s, 0} : certified::two_sum(s, c); }  // and so -0 stays
};
template <class Number>
__device__ __forceinline__ Number number_of_lane(const Number& x, int lane) {
  return __shfl_sync(all_lanes, x, lane);
}
template <>
__device__ __forceinline__ prefix_pair number_of_lane(const prefix_pair& x, int lane) {
  return {__shfl_sync(all_lanes, x.s, lane), __shfl_sync(all_lanes, x.c, lane)};
}
template <class Number>
__device__ __forceinline__ Number number_from_below(const Number& x, unsigned lanes) {
  return __shfl_up_sync(all_lanes, x, lanes);
}
template <>
__device__ __forceinline__ prefix_pair number_from_below(const prefix_pair& x, unsigned lanes) {
  return {__shfl_up_sync(all_lanes, x.s, lanes), __shfl_up_sync(all_lanes, x.c, lanes)};
}
__device__ __forceinline__ bool is_zero(double x) { return x == 0; }
__device__ __forceinline__ bool is_zero(const prefix_pair& x) { return certified::add(x.s, x.c) == 0; }
__device__ __forceinline__ void make_minus_zero(double& x) { x = -0.0; }
__device__ __forceinline__ void make_minus_zero(prefix_pair& x) { x = {-0.0, 0}; }

/// s / n to odd (certified.hpp), of a sum that is not so small that the rest underflows.
__device__ __forceinline__ double quotient_to_odd(double s, double n) {
  const double q = s / n, rest = certified::multiply_add(-q, n, s);
  auto b = __double_as_longlong(q);
  if (rest == 0 || (b & 1) != 0) return q;
  return __longlong_as_double((rest < 0) == (q < 0) ? b + 1 : b - 1);
}
/// A sum over n, rounded; false if that is uncertain.
__device__ __forceinline__ bool quotient(const certified::exact_sum_of& x, double n, double& to) {
  if (x.sum == 0) {
    to = x.sum;
    return true;
  }
  const double m = certified::magnitude(x.sum);
  if (!(m > 0x1p-900 && m < 0x1p1000)) return false;
  const double by = 1 / n, q = certified::multiply(x.sum, by);
  const certified::exact_sum_of rest = certified::two_sum(certified::multiply_add(-q, n, x.sum), x.error);
  const double d = certified::multiply(rest.sum, by), e = certified::multiply(0x1p-50, certified::magnitude(d));
  const certified::exact_sum_of t = certified::two_sum(q, d);
  to = t.sum;
  return certified::add(t.sum, certified::subtract(t.error, e)) == t.sum && certified::add(t.sum, certified::add(t.error, e)) == t.sum;
}

/// How prefix sums add an accumulator's elements, if they do. `each`: how many elements a lane has.
template <class Acc>
struct prefix_of {
  static constexpr bool there = false;
};

/// Sums of integers modulo 2^64; those of a tile of small integers fit 32 bits.
template <int Size>
struct prefix_of<whole_sum_rows<Size>> {
  static constexpr bool there = true;
  using acc = whole_sum_rows<Size>;
  using number = std::conditional_t<Size <= 2, std::uint32_t, std::uint64_t>;
  using sum = std::uint64_t;
  using item = word_of<Size>;
  struct part {};
  struct facts {};
  static constexpr unsigned each = Size <= 2 ? 64 : 32;
  acc a;

  static constexpr std::size_t answer_bytes = 8;
  static bool fits(const acc&) { return true; }
  static WF_HD prefix_of of(const acc& x) { return {x}; }
  /// Adds the first `many` items of a pack, or all of them, with the facts about them.
  __device__ __forceinline__ number sum_of(const pack& p, unsigned many) const {
    number s = 0;
    if constexpr (Size == 1) {
      const auto flip = static_cast<std::uint32_t>(a.lift * 0x01010101u);
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        const std::uint32_t kept = many >= 4 * j + 4 ? ~0u : many <= 4 * j ? 0u : (1u << (8 * (many - 4 * j))) - 1;
        s = __dp4a((p.word[j] ^ flip) & kept, 0x01010101u, s);
      }
    } else {
#pragma unroll
      for (unsigned i = 0; i < acc::items; ++i) {
        if (i < many) s += static_cast<number>(item_of<item>(p, static_cast<int>(i)) ^ static_cast<item>(a.lift));
      }
    }
    return s;
  }
  __device__ __forceinline__ number sum_of_all(part&, const pack& p) const { return sum_of(p, acc::items); }
  __device__ __forceinline__ facts warp_facts(const part&, number) const { return {}; }
  static __device__ __forceinline__ facts joined(const facts&, const facts&) { return {}; }
  static __device__ __forceinline__ bool is_exact(const facts&) { return true; }
  static constexpr bool near_answers = false;
  __device__ __forceinline__ typename acc::state state_of(sum s, const facts&) const { return s; }
  __device__ __forceinline__ bool answer(sum s, std::uint64_t n, const facts&, void* to) const { return a.answer(s, n, {}, to); }
  __device__ __forceinline__ void answer(sum s, void* to) const { a.answer(s, 0, {}, to); }
  /// Whether an answer asks how many elements there are, and whether zeros have signs.
  WF_HD bool asks_count() const { return a.lift != 0; }
  __device__ __forceinline__ bool has_signs() const { return false; }
};

/// Sums of f32, f16 and bf16 in doubles.
template <class T>
  requires(quick_of<certified_rows<T, terms::sum>>::there && sizeof(T) <= 4)
struct prefix_of<certified_rows<T, terms::sum>> : quick_rows<T, false> {
  static constexpr bool there = true;
  using acc = certified_rows<T, terms::sum>;
  using base = quick_rows<T, false>;
  using base::half, base::what;
  using number = double;
  using sum = double;
  using item = T;
  static constexpr bool packed = std::is_same_v<T, bf16>;  ///< what is known of elements is found of two at a time
  struct float_part {
    float magnitudes = 0;
    std::uint32_t least = ~0u;
  };
  struct packed_part {  ///< as in packed_quick_sum
    std::uint32_t greatest = 0x80008000u, least = 0x7fff7fffu;
  };
  using part = std::conditional_t<packed, packed_part, float_part>;
  struct facts {
    float magnitudes;     ///< their sum, or more; f16: how many elements, NaN if a sum is not finite
    std::uint32_t least;  ///< bits of the least but zero, doubled, less 1
  };

  static constexpr unsigned each = sizeof(T) <= 2 ? 64 : 32;
  static constexpr std::size_t answer_bytes = sizeof(T);
  static bool fits(const acc& x) { return quick_of<acc>::fits(x); }
  static WF_HD prefix_of of(const acc& x) { return {{x.q.what}}; }
  /// An element without its sign for norm1; 0 in place of infinities and NaNs if `finite`.
  __device__ __forceinline__ std::uint32_t bits_of(const pack& p, int i, bool finite) const {
    const std::uint32_t bits = p.word[i] & base::kept();
    return finite && (bits & 0x7f800000u) == 0x7f800000u ? 0 : bits;
  }
  /// The same of two elements of f16 or bf16.
  __device__ __forceinline__ std::uint32_t finite_two(std::uint32_t two, bool finite) const {
    constexpr std::uint32_t infinities = std::is_same_v<T, f16> ? 0x7c007c00u : 0x7f807f80u;
    return finite ? two & ~__vcmpeq2(two & infinities, infinities) : two;
  }
  __device__ __forceinline__ void put_two(double (&s)[base::items], int word, std::uint32_t two) const {
    const two_doubles v = widened_two<T>(two & base::kept_two());
    s[2 * word] = v.low;
    s[2 * word + 1] = v.high;
  }
  /// Adds items of a pack as a tree, so that few wait for each other.
  static __device__ __forceinline__ double sum_of_items(double (&s)[base::items]) {
#pragma unroll
    for (int n = base::items / 2; n > 0; n /= 2) {
#pragma unroll
      for (int i = 0; i < n; ++i) s[i] = certified::add(s[i], s[i + n]);
    }
    return s[0];
  }
  /// Adds the first `many` items of a pack, at least one.
  __device__ __forceinline__ double sum_of(pack p, unsigned many, bool finite = false) const {
    if constexpr (sizeof(T) == 2) {
#pragma unroll
      for (int j = 0; j < 4; ++j) p.word[j] &= __funnelshift_lc(~0u, 0, static_cast<unsigned>(max(static_cast<int>(16 * many) - 32 * j, 0)));
    } else {
#pragma unroll
      for (int j = 1; j < 4; ++j) p.word[j] = static_cast<unsigned>(j) < many ? p.word[j] : 0;
    }
    double s[base::items];
    if constexpr (sizeof(T) == 2) {
#pragma unroll
      for (int j = 0; j < 4; ++j) put_two(s, j, finite_two(p.word[j], finite));
    } else {
#pragma unroll
      for (int i = 0; i < base::items; ++i) s[i] = static_cast<double>(__uint_as_float(bits_of(p, i, finite)));
    }
    return sum_of_items(s);
  }
  /// Adds all items of a pack, with the facts about them.
  __device__ __forceinline__ double sum_of_all(part& q, const pack& p, bool finite = false) const {
    double s[base::items];
    if constexpr (sizeof(T) == 2) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const std::uint32_t two = finite_two(p.word[j], finite);
        if constexpr (packed) {
          const std::uint32_t signs = two | 0x80008000u;
          q.greatest = __vmaxu2(q.greatest, signs);
          q.least = __viaddmin_s16x2(signs, ~0u, q.least);  // zeros are out of the way
        }
        put_two(s, j, two);
      }
    } else {
      float m[base::items];
#pragma unroll
      for (int i = 0; i < base::items; ++i) {
        const std::uint32_t bits = bits_of(p, i, finite);
        s[i] = static_cast<double>(__uint_as_float(bits));
        m[i] = fabsf(__uint_as_float(bits));
        q.least = min(q.least, 2 * bits - 1);
      }
#pragma unroll
      for (int n = base::items / 2; n > 0; n /= 2) {
#pragma unroll
        for (int i = 0; i < n; ++i) m[i] = __fadd_rn(m[i], m[i + n]);
      }
      q.magnitudes = __fadd_rn(q.magnitudes, m[0]);
    }
    return sum_of_items(s);
  }
  /// All lanes call it; `all`: the sum of the tile.
  __device__ __forceinline__ facts warp_facts(const part& p, double all) const {
    if constexpr (half) return {base::is_finite(all) ? static_cast<float>(each * warp_lanes) : __uint_as_float(0x7fc00000u), 0};
    else if constexpr (packed) return {tile_of_magnitude(warp_max(base::top_of(p.greatest))), warp_min(base::least_of(p.least)) << 17 | 0x1ffffu};
    else return {warp_lanes * __uint_as_float(warp_max(__float_as_uint(p.magnitudes))), warp_min(p.least)};
  }
  /// A tile of elements below 2^(top + 1 - 127), where infinities and NaNs have the biased exponent 255.
  static __device__ __forceinline__ float tile_of_magnitude(std::uint32_t top) {
    constexpr std::uint32_t tile_bits = 11;
    static_assert(!packed || each * warp_lanes == 1u << tile_bits);
    return __uint_as_float(min(top + 1 + tile_bits, 255u) << 23);
  }
  static __device__ __forceinline__ facts joined(const facts& a, const facts& b) { return {__fadd_rn(a.magnitudes, b.magnitudes), min(a.least, b.least)}; }
  /// Whether no sum of any of the elements loses anything. Magnitudes are a float's sum of fewer than 2^14 additions per term; `units` leaves twice the room. The last
  /// digit of a bf16 is worth 2^16 of those that a float has.
  static __device__ __forceinline__ bool is_exact(const facts& f) {
    if constexpr (half) return f.magnitudes <= 0x1p13f;  // so many multiples of 2^-24 below 2^16
    else if constexpr (packed) return static_cast<double>(f.magnitudes) < certified::multiply(base::units(f.least), 0x1p16);
    else return static_cast<double>(f.magnitudes) < base::units(f.least);
  }
  /// Whether sums of a tile of finite elements may lose something: a tile of f16 has fewer than 2^13.
  static constexpr bool may_be_inexact = !half;
  static_assert(each * warp_lanes <= 1u << 13);
  /// Whether a tile may hold infinities or NaNs.
  static __device__ __forceinline__ bool is_infinite(const facts& f) { return (__float_as_uint(f.magnitudes) & 0x7f800000u) == 0x7f800000u; }
  /// Whether a tile's sums that are not exact are still near. An element goes to a prefix sum through 18 additions at most, which lose 2^-53 of the tile's magnitudes each: 3 in its pack, 7 in its
  /// lane, 5 of the scan, 1 that takes the lane's own sum out again (and with it what that had lost), 2 that put the parts together. So a difference of two is wrong by 37 times that, and `near_additions`
  /// leave room for two more additions, and for what floats lost of the magnitudes, which is less than 2^-19 of them.
  static constexpr std::uint64_t near_additions = 64;
  static __device__ __forceinline__ bool is_near(const facts& f) {
    if constexpr (half) return false;  // it has infinities or NaNs
    else return __float_as_uint(f.magnitudes) < 0x7f800000u;
  }
  /// Whether two roundings tell an answer by sums that are near.
  static constexpr bool near_answers = !half;
  /// Writes the answer of a sum that is near; false if that does not decide it. A part of the sum may be exact, and another may be of the tile before: f.magnitudes are those of both then, and
  /// what two more additions lose, to put the parts together and to widen the sum by its bound, is in the bound.
  __device__ __forceinline__ bool answer_near(double s, const facts& f, void* to) const {
    const double error = certified::multiply(static_cast<double>(f.magnitudes), near_additions * 0x1p-53);
    const T low = base::rounded(certified::subtract(s, error)), high = base::rounded(certified::add(s, error));
    *static_cast<T*>(to) = low;
    return exact::format<T>::to_bits(low) == exact::format<T>::to_bits(high);
  }
  /// Elements whose sum this is, exactly or nearly.
  __device__ __forceinline__ typename acc::state state_of(double s, const facts& f, bool near = false) const {
    typename acc::state t{};
    t.pair[0] = {s, 0};
    if constexpr (half) t.extent = {0x7bffu << 17, (1u << 17) - 1};  // any that are finite
    else t.extent = {2 * __float_as_uint(f.magnitudes), f.least};
    if constexpr (!half) {
      if (near) t.loss = certified::multiply(static_cast<double>(f.magnitudes), near_additions * 0x1p-53);
    }
    return t;
  }
  __device__ __forceinline__ void answer(double s, void* to) const { *static_cast<T*>(to) = base::rounded(s); }
  __device__ __attribute__((noinline)) bool answer(double s, std::uint64_t n, const facts& f, void* to) const {
    if (n != 0 && what == op::mean && is_exact(f)) {
      *static_cast<T*>(to) = base::rounded(quotient_to_odd(s, static_cast<double>(n)));
      return true;
    }
    if constexpr (half) return base::answer({s}, n, base::facts(n, 1, 0), to);
    else return base::answer({s, f.magnitudes, f.least}, n, base::facts(n, near_additions, 0), to);
  }
  WF_HD bool asks_count() const { return what == op::mean; }
  __device__ __forceinline__ bool has_signs() const { return what != op::norm1; }
};

/// Sums of f64 in pairs of doubles.
template <>
struct prefix_of<certified_rows<double, terms::sum>> : quick_rows<double, false> {
  static constexpr bool there = true;
  using acc = certified_rows<double, terms::sum>;
  using base = quick_rows<double, false>;
  using base::what;
  using number = prefix_pair;
  using sum = prefix_pair;
  using item = double;
  struct part {
    certified::extent extent = certified::extent::nothing();
  };
  struct facts {
    certified::extent extent;
    std::uint32_t tiles;  ///< that the sums are of, one after the other
  };

  static constexpr unsigned each = 32;
  static constexpr int tile_bits = 10;  ///< 2^10 elements per tile
  static_assert(each * warp_lanes == 1u << tile_bits);
  static constexpr std::size_t answer_bytes = sizeof(double);
  static bool fits(const acc& x) { return quick_of<acc>::fits(x); }
  static WF_HD prefix_of of(const acc& x) { return {{x.q.what}}; }
  /// An element without its sign for norm1; 0 in place of infinities and NaNs if `finite`.
  __device__ __forceinline__ double item_at(const pack& p, int i, bool finite) const {
    const double x = item_of<double>(p, i);
    const std::uint32_t high = static_cast<std::uint32_t>(__double2hiint(x)) & base::kept();
    return finite && (high & 0x7ff00000u) == 0x7ff00000u ? 0 : __hiloint2double(static_cast<int>(high), __double2loint(x));
  }
  /// Adds the first `many` items of a pack, or both, with the facts about them.
  __device__ __forceinline__ number sum_of(const pack& p, unsigned many, bool finite = false) const {
    const double x = item_at(p, 0, finite);
    if (many == 1) return {x, 0};
    const certified::exact_sum_of t = certified::two_sum(x, item_at(p, 1, finite));
    return {t.sum, t.error};
  }
  __device__ __forceinline__ number sum_of_all(part& q, const pack& p, bool finite = false) const {
    q.extent.add_bits(certified::extent_bits(item_at(p, 0, finite)));
    q.extent.add_bits(certified::extent_bits(item_at(p, 1, finite)));
    return sum_of(p, 2, finite);
  }
  __device__ __forceinline__ facts warp_facts(const part& p, const number&) const { return {{warp_max(p.extent.greatest), warp_min(p.extent.least)}, 1}; }
  static __device__ __forceinline__ facts joined(const facts& a, const facts& b) {
    facts f{a.extent, a.tiles + b.tiles};
    f.extent.merge(b.extent);
    return f;
  }
  /// Biased exponents of the greatest and of the least.
  static __device__ __forceinline__ int high_of(const facts& f) { return static_cast<int>(f.extent.greatest >> 21); }
  static __device__ __forceinline__ int low_of(const facts& f) { return max(static_cast<int>((f.extent.least + 1) >> 21), 1); }
  /// Whether nothing is lost (docs/exact.md). Magnitudes of a tile add up to M < 2^(10 + high - 1022), and all are multiples of 2^(low - 1075). A term goes through 24 additions at most, so
  /// that a difference of two prefix sums has a second half below 50 · 2^-53 · M, and the sum of t of them, one after the other, one below 51 · t² · 2^-53 · M. Nothing is lost where
  /// 2^7 · t² · 2^-53 · M is no more than 2^53 units.
  static __device__ __forceinline__ bool is_exact(const facts& f) {
    const int grown = tile_bits + 2 * (32 - __clz(static_cast<int>(f.tiles - 1))), high = high_of(f);
    return high + grown < 2040 && high - low_of(f) <= 46 - grown;
  }
  static constexpr bool may_be_inexact = true;
  static __device__ __forceinline__ bool is_infinite(const facts& f) { return high_of(f) == 0x7ff; }
  /// Each of those 49 operations loses less than 2 · 50 · 2^-106 · M, 2^13 · 2^-106 · M in all. Bounds must not underflow, nor what state_of() tells overflow.
  static constexpr int near_bits = 13;
  static constexpr bool near_answers = false;
  static __device__ __forceinline__ bool is_near(const facts& f) { return high_of(f) > 200 && high_of(f) < 2000; }
  static __device__ __forceinline__ double near_error(const facts& f) { return __hiloint2double((high_of(f) + 1 + near_bits - 106 + tile_bits) << 20, 0); }
  /// The state of elements whose sum this is, exactly or nearly. The second half is then below 2^-53 of the first, as if it were one term. Where it is near, the extent is made so great that certified::loss_of_pairs
  /// allows for what it lost: of n elements that are n pieces at most, n · 2^14 · 2^-106 times a power of 2 that is 2^(10 + 1) times that above the greatest.
  __device__ __forceinline__ typename acc::state state_of(const number& x, const facts& f, bool near = false) const {
    const certified::exact_sum_of t = x.rounded();
    typename acc::state s{};
    s.pair[0] = {certified::multiply(t.sum, certified::shrink), certified::multiply(t.error, certified::shrink)};
    s.extent = f.extent;
    if (near) s.extent = {f.extent.greatest + (static_cast<std::uint32_t>(tile_bits + 1) << 21), 0};
    return s;
  }
  __device__ __forceinline__ void answer(const number& x, void* to) const { *static_cast<double*>(to) = x.c == 0 ? x.s : certified::add(x.s, x.c); }
  __device__ __attribute__((noinline)) bool answer(const number& x, std::uint64_t n, const facts& f, void* to) const {
    if (n == 0) {
      *static_cast<double*>(to) = what == op::mean ? exact::format<double>::from_bits(exact::format<double>::quiet_nan) : 0;
      return true;
    }
    const bool exact = is_exact(f);
    if (what == op::mean && exact && quotient(x.rounded(), static_cast<double>(n), *static_cast<double*>(to))) return true;
    return base::round(certified::known_of(x.rounded(), exact ? 0 : near_error(f)), exact, n, base::facts(n, 1, 0), to);
  }
  WF_HD bool asks_count() const { return what == op::mean; }
  __device__ __forceinline__ bool has_signs() const { return what != op::norm1; }
};

}  // namespace wf::device::inline WF_BUILD
