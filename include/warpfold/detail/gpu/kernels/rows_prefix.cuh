// SPDX-License-Identifier: Apache-2.0
/// \file rows_prefix.cuh
/// Sums of segments of any lengths as differences of prefix sums. Shares are those of rows_ragged.cuh. A warp brings a tile of 1024 or 2048 elements
/// to shared memory, and before it the places where segments end. Each lane adds 64 to 256 bytes that lie side by side, and keeps the sum before each
/// 16 bytes. A scan gives each lane the sum before its first element. A segment's sum is then the difference of two such sums: a warp has 32 segments at once, whatever their lengths.
///
/// Integers are exact modulo 2^64. Sums of floats in doubles are exact where the sum of magnitudes and the exponent of the least one prove it
/// (rows_quick.cuh), and then their differences are exact too; f64 in pairs of doubles. In other tiles they are near; where that does not decide an answer, a lane adds a short segment from shared
/// memory, and others are added as in rows_ragged.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_joined.cuh>
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>
#include <warpfold/detail/gpu/domain/bulk.cuh>
#include <warpfold/detail/gpu/kernels/rows_ragged.cuh>
#include <warpfold/device/shared_memory.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int prefix_stages = 2;       ///< tiles of a warp that are there or on their way
inline constexpr unsigned prefix_ends = 256;  ///< segments whose ends are there or on their way
inline constexpr unsigned prefix_ahead = prefix_ends - warp_lanes;  ///< of these, ones that are not ended

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

/// How an accumulator's elements are added in prefix sums, if they are. `each`: elements of a lane.
template <class Acc>
struct prefix_of {
  static constexpr bool there = false;
};

/// Sums of integers modulo 2^64; of a tile of small ones 32 bits hold them.
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
  /// The first `many` items of a pack, or all, with what is known of those.
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
  struct part {
    float magnitudes = 0;
    std::uint32_t least = ~0u;
  };
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
    const std::uint32_t bits = __float_as_uint(to_float(item_of<T>(p, i))) & base::kept();
    return finite && (bits & 0x7f800000u) == 0x7f800000u ? 0 : bits;
  }
  /// The first `many` items of a pack, or all, with what is known of those.
  __device__ __forceinline__ double sum_of(const pack& p, unsigned many, bool finite = false) const {
    double s = 0;
#pragma unroll
    for (int i = 0; i < base::items; ++i) {
      if (static_cast<unsigned>(i) < many) s = certified::add(s, static_cast<double>(__uint_as_float(bits_of(p, i, finite))));
    }
    return s;
  }
  __device__ __forceinline__ double sum_of_all(part& q, const pack& p, bool finite = false) const {
    double s[base::items];
    float m[base::items];
#pragma unroll
    for (int i = 0; i < base::items; ++i) {
      const std::uint32_t bits = bits_of(p, i, finite);
      s[i] = static_cast<double>(__uint_as_float(bits));
      if constexpr (!half) {
        m[i] = fabsf(__uint_as_float(bits));
        q.least = min(q.least, 2 * bits - 1);
      }
    }
#pragma unroll
    for (int n = base::items / 2; n > 0; n /= 2) {
#pragma unroll
      for (int i = 0; i < n; ++i) {
        s[i] = certified::add(s[i], s[i + n]);
        if constexpr (!half) m[i] = __fadd_rn(m[i], m[i + n]);
      }
    }
    if constexpr (!half) q.magnitudes = __fadd_rn(q.magnitudes, m[0]);
    return s[0];
  }
  /// All lanes call it; `all`: the sum of the tile.
  __device__ __forceinline__ facts warp_facts(const part& p, double all) const {
    if constexpr (half) return {base::is_finite(all) ? static_cast<float>(each * warp_lanes) : __uint_as_float(0x7fc00000u), 0};
    else return {warp_lanes * __uint_as_float(warp_max(__float_as_uint(p.magnitudes))), warp_min(p.least)};
  }
  static __device__ __forceinline__ facts joined(const facts& a, const facts& b) { return {__fadd_rn(a.magnitudes, b.magnitudes), min(a.least, b.least)}; }
  /// Whether no sum of any of the elements loses anything. Magnitudes are a float's sum of fewer than 2^14 additions a term; `units` leaves twice the room.
  static __device__ __forceinline__ bool is_exact(const facts& f) {
    if constexpr (half) return f.magnitudes <= 0x1p13f;  // so many multiples of 2^-24 below 2^16
    else return static_cast<double>(f.magnitudes) < base::units(f.least);
  }
  /// Whether a tile may have infinities or NaNs.
  static __device__ __forceinline__ bool is_infinite(const facts& f) { return (__float_as_uint(f.magnitudes) & 0x7f800000u) == 0x7f800000u; }
  /// Whether a tile's sums that are not exact are still near. Each prefix sum goes through fewer than 30 additions, so that a difference of two is wrong by less than `near_additions` times
  /// 2^-53 of the tile's magnitudes, and the rest of that is more than what a float's sum of these lost.
  static constexpr std::uint64_t near_additions = 64;
  static __device__ __forceinline__ bool is_near(const facts& f) {
    if constexpr (half) return false;  // it has infinities or NaNs
    else return __float_as_uint(f.magnitudes) < 0x7f800000u;
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
  static constexpr int tile_bits = 10;  ///< 2^10 elements a tile
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
  /// The first `many` items of a pack, or both, with what is known of those.
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
  static __device__ __forceinline__ bool is_infinite(const facts& f) { return high_of(f) == 0x7ff; }
  /// Each of those 49 operations loses less than 2 · 50 · 2^-106 · M, 2^13 · 2^-106 · M in all. Bounds must not underflow, nor what state_of() tells overflow.
  static constexpr int near_bits = 13;
  static __device__ __forceinline__ bool is_near(const facts& f) { return high_of(f) > 200 && high_of(f) < 2000; }
  static __device__ __forceinline__ double near_error(const facts& f) { return __hiloint2double((high_of(f) + 1 + near_bits - 106 + tile_bits) << 20, 0); }
  /// Elements whose sum this is, exactly or nearly. The second half is then below 2^-53 of the first, as if it were one term. Where it is near, the extent is made so great that certified::loss_of_pairs
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

/// 16 bytes to shared memory, which are there behind copies_are_there().
__device__ __forceinline__ void copy_pack(unsigned char* to, const unsigned char* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
#else
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
#endif
}
/// The lower 4 bytes of an offset.
__device__ __forceinline__ void copy_word(std::uint32_t* to, const unsigned char* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
#else
  *to = *reinterpret_cast<const std::uint32_t*>(from);
#endif
}
__device__ __forceinline__ void end_of_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Until all copies of this thread are there but those behind the last `Left` end_of_copies().
template <int Left>
__device__ __forceinline__ void await_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
#endif
}

/// A warp's shared memory, from a multiple of 128 bytes on.
template <class Acc>
struct prefix_room {
  using sums = prefix_of<Acc>;
  using number = typename sums::number;
  static constexpr int size = Acc::fixed_size, items = 16 / size;
  static constexpr unsigned tile = sums::each * warp_lanes, lane_packs = sums::each * size / 16, packs = lane_packs * warp_lanes;
  static constexpr unsigned stage_bytes = packs * 16;
  static constexpr unsigned special_bytes = Acc::proves ? 2 * warp_lanes * sizeof(std::uint64_t) : 0;
  static constexpr unsigned bytes = prefix_stages * stage_bytes + (packs + warp_lanes) * sizeof(number) + prefix_ends * sizeof(std::uint32_t) + special_bytes;

  unsigned char* room;

  __device__ __forceinline__ unsigned char* stage(unsigned k) const { return room + k * stage_bytes; }
  __device__ __forceinline__ number* within() const { return reinterpret_cast<number*>(room + prefix_stages * stage_bytes); }  ///< what lies before a pack in its lane; a column a lane
  __device__ __forceinline__ number* before() const { return within() + packs; }                                               ///< what lies before each lane
  __device__ __forceinline__ std::uint32_t* ends() const { return reinterpret_cast<std::uint32_t*>(before() + warp_lanes); }  ///< where segments end, by their number
  /// Bits of each lane's elements: which are +inf or NaN; behind 32 words, which are -inf or NaN.
  __device__ __forceinline__ std::uint64_t* specials() const { return reinterpret_cast<std::uint64_t*>(ends() + prefix_ends); }
  /// Where pack c of a tile lies: turned, so that 8 lanes that read their packs meet no bank twice.
  static __device__ __forceinline__ unsigned place(unsigned c) {
    const unsigned key = lane_packs >= 8 ? c / lane_packs % 8 : c / 8 % lane_packs;
    return (c ^ key) * 16;
  }
  /// place(32 j + lane), and place(lane_packs · lane + j), j known to the compiler.
  static __device__ __forceinline__ unsigned place_of_load(unsigned j, unsigned lane) {
    const unsigned turn = lane_packs >= 8 ? warp_lanes * j / lane_packs % 8 : 0;
    return j * warp_lanes * 16 + (place(lane) ^ turn * 16);
  }
  static __device__ __forceinline__ unsigned place_of_lane(unsigned j, unsigned lane) { return place(lane_packs * lane) ^ j * 16; }
  /// Prefix sums, where sum(pack) is that of a pack's items. The sum of all.
  template <class Sum>
  __device__ __forceinline__ number scan(unsigned k, Sum sum) const {
    const auto lane = static_cast<unsigned>(lane_index());
    number* const in = within() + lane;
    const unsigned char* const from = stage(k);
    number s{}, up;
#pragma unroll
    for (unsigned j = 0; j < lane_packs; ++j) {
      in[j * warp_lanes] = s;
      s += sum(load_bytes(from + place_of_lane(j, lane), 16));
    }
    up = s;
#pragma unroll
    for (unsigned m = 1; m < warp_lanes; m *= 2) {
      const number below = number_from_below(up, m);
      if (lane >= m) up += below;
    }
    if constexpr (std::is_same_v<number, prefix_pair>) {  // a difference would have lost what both have
      const number below = number_from_below(up, 1);
      before()[lane] = lane == 0 ? number{} : below;
    } else {
      before()[lane] = up - s;
    }
    return number_of_lane(up, warp_lanes - 1);
  }
  /// The sum of the tile's first `many` elements, where sum(pack, n) is that of a pack's first n items.
  template <class Sum>
  __device__ __forceinline__ number sum_of(unsigned k, unsigned many, Sum sum) const {
    if (many == 0) return {};
    const unsigned c = (many - 1) / items;
    const number here = sum(load_bytes(stage(k) + place(c), 16), (many - 1) % items + 1);
    return before()[c / lane_packs] + within()[c % lane_packs * warp_lanes + c / lane_packs] + here;
  }
  /// Notes which elements of the tile are infinities and NaNs. All lanes call it.
  __device__ __forceinline__ void find_specials(unsigned k, bool magnitudes) const {
    using format = exact::format<typename sums::item>;
    const auto lane = static_cast<unsigned>(lane_index());
    std::uint64_t above = 0, below = 0;
#pragma unroll 1
    for (unsigned i = 0; i < sums::each; ++i) {
      const auto bits = format::to_bits(item_of<typename sums::item>(item_pack(k, lane * sums::each + i), 0));
      if (format::layout::is_finite(bits)) continue;
      const bool nan = format::layout::is_nan(bits), minus = !magnitudes && format::layout::negative(bits);
      above |= std::uint64_t{nan || !minus} << i;
      below |= std::uint64_t{nan || minus} << i;
    }
    specials()[lane] = above;
    specials()[warp_lanes + lane] = below;
  }
  /// Which there are from element `from` to `end`: 1 for +inf, 2 for -inf, both for what adds up to a NaN.
  __device__ __forceinline__ unsigned specials_of(unsigned from, unsigned end) const {
    bool above = false, below = false;
    while (from < end) {
      const unsigned l = from / sums::each, first = from % sums::each, many = min(end, (l + 1) * sums::each) - from;
      const std::uint64_t bits = ~std::uint64_t{0} >> (64 - many) << first;
      above = above || (specials()[l] & bits) != 0;
      below = below || (specials()[warp_lanes + l] & bits) != 0;
      from += many;
    }
    return (above ? 1u : 0u) | (below ? 2u : 0u);
  }
  /// Element i of the tile, as the first item of a pack.
  __device__ __forceinline__ pack item_pack(unsigned k, unsigned i) const { return load_bytes(stage(k) + place(i / items) + i % items * size, size); }
  /// Whether it is -0.
  __device__ __forceinline__ bool is_minus_zero(unsigned k, unsigned i) const {
    if constexpr (Acc::proves) {
      using format = exact::format<typename sums::item>;
      return format::to_bits(item_of<typename sums::item>(item_pack(k, i), 0)) == format::sign_mask;
    } else {
      return false;
    }
  }
};

/// What a warp keeps in shared memory, beside its registers. Its first lane writes it.
template <class Acc>
struct prefix_share {
  using state = typename joined_rows<Acc>::state;
  state head, tail;                ///< of its first segment, and of the one that it does not end
  state open;                      ///< of the one that is not ended yet, beside a sum that is exact
  std::uint64_t first;             ///< the first segment
  std::uint64_t origin;            ///< the element where its tiles begin; may be below 0
  std::uint64_t low, high;         ///< elements of the array that may be read
  std::uint64_t each, merges;      ///< units of a warp; states that meet one after another, at most
  unsigned many, stop;             ///< segments that end in it, and where its elements end
  // Where the warp is, while it does what most tiles do not ask for.
  state ended;                                ///< of a segment that ended, of which there was more than an exact sum
  std::uint64_t ended_segment;                ///< that segment; or none, all bits
  unsigned asked, there;                      ///< of segment_ends
  unsigned k, tile, stage, at;                ///< the first segment that is not ended; the tile; which stage has it; where in it what is not added yet begins
  bool opens, carried;  ///< something of segment k is in `open`; in `carry`
  typename prefix_of<Acc>::sum carry;
  typename prefix_of<Acc>::facts facts;       ///< of the carry; of a tile that is not exact, its own
};

/// Ends of segments come to shared memory ahead, 4 bytes of each: those that a share has lie less than 2^32 elements behind where its tiles begin.
template <class Acc>
struct segment_ends {
  const row_view<1>& v;
  const prefix_room<Acc>& room;
  std::uint64_t first;         ///< the share's first segment
  std::uint32_t origin;        ///< where its tiles begin
  unsigned many;               ///< segments that end in it
  unsigned asked = 0, there = 0;  ///< ends that are there or on their way, and that are there

  /// All lanes call it, behind a __syncwarp().
  __device__ __forceinline__ void ask(unsigned k) {
    const unsigned upto = min(many, k + prefix_ahead);
    const unsigned char* const from = static_cast<const unsigned char*>(v.offsets);
    for (unsigned e = asked + static_cast<unsigned>(lane_index()); e < upto; e += warp_lanes) {
      copy_word(room.ends() + e % prefix_ends, from + (first + e + 1) * static_cast<unsigned>(v.offset_bytes));
    }
    asked = max(asked, upto);
  }
  /// Where segment k + lane ends; none if it does not end in the share.
  __device__ __forceinline__ unsigned next(unsigned k) {
    if (there < min(many, k + warp_lanes)) {  // more of them in a tile than were asked for
      __syncwarp();
      ask(k);
      end_of_copies();
      await_copies<0>();
      __syncwarp();
      there = asked;
    }
    const unsigned mine = k + static_cast<unsigned>(lane_index());
    return mine < many ? room.ends()[mine % prefix_ends] - origin : ~0u;
  }
};

/// Segments batch + lane of `mine`, which lie in one tile, the way of rows_ragged.cuh. Not inlined: most tiles have none.
template <class Acc>
__device__ __attribute__((noinline)) void answer_apart(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_share<Acc>& share,
                                                       typename room_of<Acc>::type& room, std::uint64_t batch, bool mine, std::uint64_t from, unsigned length, unsigned char* out) {
  std::uint64_t elements = mine ? length : 0;
  bool sure = true, done = false;
  add_whole_segments(acc, v, w, share.low, share.high, batch, mine, from, elements, elements, sure, done, out);
  for (unsigned todo = __ballot_sync(all_lanes, !sure); todo != 0; todo &= todo - 1) {
    const std::uint64_t uncertain = batch + static_cast<unsigned>(__ffs(static_cast<int>(todo)) - 1);
    acc.exactly(room, v, uncertain, false, out + uncertain * w.answer_bytes);
  }
  __syncwarp();
}

/// One lane's segment, which lies in a tile from `from` to `end`, added from shared memory: false if that does not decide its answer. Not inlined: most tiles have none.
template <class Acc>
__device__ __attribute__((noinline)) bool answer_from_tile(const Acc& acc, const prefix_room<Acc>& room, unsigned stage, unsigned from, unsigned end, unsigned char* to) {
  using lone = typename lone_of<Acc>::type;
  const lone a = lone_of<Acc>::of(acc);
  typename lone::running r = a.start();
#pragma unroll 1
  for (unsigned i = from; i < end; ++i) a.add_item(r, {room.item_pack(stage, i)}, i - from);
  const std::uint64_t n = end - from;
  const auto facts = a.facts(n, n, 0);
  return a.answer(total_of(a, r, facts), n, facts, to);
}

/// Whether all elements of a tile from `from` to `end` are -0: of a warp.
template <class Acc>
__device__ __forceinline__ bool are_minus_zeros(const prefix_room<Acc>& room, unsigned stage, unsigned from, unsigned end) {
#pragma unroll 1
  for (; from < end; from += warp_lanes) {
    const unsigned i = from + static_cast<unsigned>(lane_index());
    if (!__all_sync(all_lanes, i >= end || room.is_minus_zero(stage, i))) return false;
  }
  return true;
}
/// The segment that ended is answered.
template <class Acc>
__device__ __attribute__((noinline)) void answer_ended(const Acc& acc, const row_view<1>& v, const ragged_walk& w, prefix_share<Acc>& share,
                                                       typename room_of<Acc>::type& room, unsigned char* out) {
  bool sure = true;
  const std::uint64_t k = share.ended_segment;
  if (lane_index() == 0) {
    if (k == share.first) share.head = share.ended;
    else sure = ragged_answer(joined_rows<Acc>{acc}, v, share.ended, k, v.first_of(k + 1) - v.first_of(k), share.each, share.merges, out + k * w.answer_bytes);
  }
  if constexpr (Acc::proves) {
    if (__any_sync(all_lanes, !sure)) acc.exactly(room, v, k, false, out + k * w.answer_bytes);
  }
  __syncwarp();
  if (lane_index() == 0) share.ended_segment = ~std::uint64_t{0};
  __syncwarp();
}
/// The open segment k ends.
template <class Acc>
__device__ __forceinline__ void end_open(const Acc& acc, prefix_share<Acc>& share, std::uint64_t k) {
  if (lane_index() == 0) {
    share.ended = share.open;
    share.ended_segment = k;
    share.open = joined_rows<Acc>{acc}.identity();
  }
}
/// An exact sum of elements onto `open`.
template <class Acc>
__device__ __forceinline__ void keep_sum(const Acc& acc, prefix_share<Acc>& share, typename prefix_of<Acc>::sum s, const typename prefix_of<Acc>::facts& f) {
  using joins = joined_rows<Acc>;
  if (lane_index() == 0) share.open = joins{acc}.combine(share.open, joins::known(prefix_of<Acc>::of(acc).state_of(s, f), s));
}
/// Elements `from` to `end`, counted from the share's origin, of segment k onto `open`: with all that may lie in them.
template <class Acc>
__device__ __attribute__((noinline)) void keep_apart(const Acc& acc, const row_view<1>& v, const ragged_walk& w, prefix_share<Acc>& share, std::uint64_t k, unsigned from,
                                                     unsigned end) {
  const std::uint64_t begin = v.first_of(k);
  const typename Acc::state t = add_part(acc, v, w, k, begin, end - from, share.origin + from - begin, static_cast<unsigned>(lane_index()), 5);
  __syncwarp();
  const typename Acc::state s = lanes_total(acc, t, 5);
  if (lane_index() == 0) share.open = joined_rows<Acc>{acc}.combine(share.open, joined_rows<Acc>::near(s));
}

/// Answers the segments of a tile whose sums in doubles are not exact: by sums that are near, and each by itself where these do not decide the answer. What the tile has of
/// the last segment goes to `open`, or, where it is exact, to `carry`. Returns whether the share has more tiles.
/// Specials: the tile may have infinities or NaNs. These are left out of the sums: they alone decide the answers of their segments.
template <bool Specials, class Acc>
__device__ __attribute__((noinline)) bool add_inexact_tile(const Acc& acc, const row_view<1>& v, const ragged_walk& w, const prefix_room<Acc>& room, prefix_share<Acc>& share,
                                                           typename room_of<Acc>::type& exact, unsigned char* out) {
  if constexpr (Acc::proves) {
    const unsigned tile = share.tile, stage = share.stage, tile_end = tile + room.tile;
    typename prefix_of<Acc>::facts facts = share.facts;
    unsigned k = share.k;
    bool opens = share.opens;
    using sums = prefix_of<Acc>;
    const sums adds = sums::of(acc);
    const auto lane = static_cast<unsigned>(lane_index());
    using format = exact::format<typename sums::item>;
    if constexpr (Specials) {
      typename sums::part part;
      const typename sums::number all = room.scan(stage, [&](const pack& p) { return adds.sum_of_all(part, p, true); });
      facts = adds.warp_facts(part, all);
      room.find_specials(stage, !adds.has_signs());
      __syncwarp();
    }
    const auto special = [&](unsigned kinds) {
      return format::from_bits(kinds == 3 ? format::quiet_nan : kinds == 1 ? format::infinity : static_cast<typename format::bits>(format::infinity | format::sign_mask));
    };
    const bool whole = Specials && sums::is_exact(facts), known = whole || sums::is_near(facts);
    const auto sum_of = [&](unsigned before_end) { return room.sum_of(stage, before_end, [&](const pack& p, unsigned n) { return adds.sum_of(p, n, Specials); }); };
    const auto specials_of = [&](unsigned from, unsigned end) {
      if constexpr (Specials) return room.specials_of(from, end);
      else return 0u;
    };
    segment_ends<Acc> to_come{v, room, share.first, static_cast<std::uint32_t>(share.origin), share.many, share.asked, share.there};
    unsigned at = share.at;
    typename sums::sum before = sum_of(at);
    bool beginning = true;
    const auto add_piece = [&](const typename sums::sum& value, unsigned elements) {
      if (elements == 0) return;
      opens = true;
      const unsigned kinds = specials_of(at, at + elements);
      if (kinds == 0 && (!known || is_zero(value))) {  // it may be of -0
        keep_apart(acc, v, w, share, share.first + k, tile + at, tile + at + elements);
      } else if (lane == 0) {
        using joins = joined_rows<Acc>;
        typename Acc::state s = kinds == 0 ? adds.state_of(value, facts, !whole) : acc.identity();
        if (kinds != 0) {
          s.pair[0].s = kinds == 3 ? certified::power(1024) - certified::power(1024) : kinds == 1 ? certified::power(1024) : -certified::power(1024);
          s.extent.add_bits(certified::extent_bits(special(1)));
        }
        share.open = joins{acc}.combine(share.open, whole && kinds == 0 ? joins::known(s, value) : joins::near(s));
      }
    };
#pragma unroll 1
    while (true) {
      const unsigned next = to_come.next(k);
      const bool ends = next <= tile_end;
      const auto some = static_cast<unsigned>(__popc(static_cast<int>(__ballot_sync(all_lanes, ends))));
      if (some == 0) break;
      const unsigned my_end = next - tile;
      typename sums::sum upto{};
      if (ends) upto = sum_of(my_end);
      typename sums::sum less = number_from_below(upto, 1);
      unsigned my_begin = __shfl_up_sync(all_lanes, my_end, 1);
      if (lane == 0) {
        less = before;
        my_begin = at;
      }
      const typename sums::sum value = upto - less;
      bool mine = ends;
      if (beginning) {
        add_piece(number_of_lane(value, 0), __shfl_sync(all_lanes, my_end, 0) - at);
        end_open(acc, share, share.first + k);
        __syncwarp();
        answer_ended(acc, v, w, share, exact, out);
        opens = beginning = false;
        mine = ends && lane != 0;
      }
      bool apart = mine;
      unsigned char* const to = out + (share.first + k + lane) * w.answer_bytes;
      const unsigned kinds = mine ? specials_of(my_begin, my_end) : 0;
      if (kinds != 0) {
        *reinterpret_cast<typename sums::item*>(to) = special(kinds);
        apart = false;
      } else if (mine && known && (!is_zero(value) || my_begin == my_end)) {
        if (whole && !adds.asks_count()) {
          adds.answer(value, to);
          apart = false;
        } else {
          apart = !adds.answer(value, my_end - my_begin, facts, to);
        }
      }
      if (apart && my_end - my_begin <= lone_elements) apart = !answer_from_tile(acc, room, stage, my_begin, my_end, to);
      __syncwarp();
      if (__any_sync(all_lanes, apart)) answer_apart(acc, v, w, share, exact, share.first + k, apart, share.origin + tile + my_begin, my_end - my_begin, out);
      before = number_of_lane(upto, static_cast<int>(some) - 1);
      at = __shfl_sync(all_lanes, my_end, static_cast<int>(some) - 1);
      k += some;
      if (some < warp_lanes) break;
    }
    const unsigned to = min(share.stop, tile_end) - tile;
    const typename sums::sum rest = sum_of(to) - before;
    const bool carries = whole && !opens && to != at && !is_zero(rest) && specials_of(at, to) == 0;
    if (!carries) add_piece(rest, to - at);
    __syncwarp();
    if (lane == 0) {
      if (carries) {
        share.carry = rest;
        share.facts = facts;
      }
      share.carried = carries;
      share.at = at;
      share.k = k;
      share.opens = opens;
      share.asked = to_come.asked;
      share.there = to_come.there;
    }
    __syncwarp();
    return share.stop > tile_end;
  }
  return false;
}

/// Blocks that a multiprocessor of 228 KiB holds, and whose threads have registers enough: where a loop would put some of them into memory, fewer blocks are faster.
template <class Acc>
inline constexpr int prefix_resident = [] {
  constexpr int room = (224 << 10) / (ragged_warps * (prefix_room<Acc>::bytes + sizeof(typename room_of<Acc>::type) + sizeof(prefix_share<Acc>) + 2 * sizeof(typename joined_rows<Acc>::state)) + 1408);
  constexpr int most = Acc::proves ? 3 : 7;
  return room < most ? room : most;
}();

/// Counts: answers ask how many elements a segment has.
template <class Acc, bool Counts>
__global__ void __launch_bounds__(ragged_threads, resident_blocks(ragged_threads, prefix_resident<Acc>))
    prefix_kernel(const __grid_constant__ row_view<1> v, const __grid_constant__ ragged_walk w, const __grid_constant__ Acc acc, unsigned char* out,
                  unsigned char* partials, std::uint32_t* tickets, std::uint64_t* verdicts) {
  if constexpr (!has_bulk_copies) return;
  await_stream();
  using joins = joined_rows<Acc>;
  using state = typename joins::state;
  using sums = prefix_of<Acc>;
  using number = typename sums::number;
  using sum = typename sums::sum;
  using item = typename sums::item;
  using facts_type = typename sums::facts;
  using shared = prefix_room<Acc>;
  constexpr unsigned size = Acc::fixed_size, tile_size = shared::tile;
  __shared__ prefix_share<Acc> shares[ragged_warps];
  __shared__ state heads[ragged_warps], tails[ragged_warps];
  __shared__ std::uint64_t firsts[ragged_warps], nexts[ragged_warps];
  __shared__ typename room_of<Acc>::type rooms[ragged_warps];
  const auto lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(warp_index());
  const shared room{wf_dynamic_shared + (0 - reinterpret_cast<std::uintptr_t>(wf_dynamic_shared)) % 128 + warp * shared::bytes};
  const sums adds = sums::of(acc);
  auto& share = shares[warp];
  // Elements count from where the share's tiles begin, segments from its first one.
  std::uint64_t first;
  unsigned k = 0, many = 0, at = 0, stop = 0, high = 0;  // `at`: where in the tile that comes next what was not added yet begins; `many` segments end in the share, `stop`: behind its last element
  bool active, cut = false;                              // the first tile reaches before the array
  {
    const unit_line<Acc> line(v, w.segments);
    const std::uint64_t my_warp = blockIdx.x * std::uint64_t{ragged_warps} + warp;
    const std::uint64_t begin = line.of_warp(my_warp), end = line.of_warp(my_warp + 1);
    std::uint64_t ended[2];
    line.ended({begin, end}, ended);
    first = ended[0];
    active = first < w.segments && begin < end;
    std::uint64_t origin = 0;
    const std::uint64_t low = line.base, highest = line.base + line.all - w.segments * segment_units<Acc>;
    if (active) {
      const std::uint64_t unit = line.begin(first), length = v.first_of(first + 1) - v.first_of(first);
      const std::uint64_t from = v.first_of(first) + (begin > unit ? min(length, begin - unit) : 0);
      std::uint64_t last = end + line.base - ended[1] * segment_units<Acc>;
      if (ended[1] < w.segments) last = min(last, v.first_of(ended[1] + 1));
      at = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(v.x[0] + from * size) % 128) / size;
      origin = from - at;
      many = static_cast<unsigned>(ended[1] - first);
      stop = static_cast<unsigned>(last - origin);
      high = static_cast<unsigned>(min(highest - origin, std::uint64_t{~0u}));
      cut = static_cast<std::int64_t>(origin) < static_cast<std::int64_t>(low);
    }
    if (lane == 0) {
      share.head = share.tail = share.open = joins{acc}.identity();
      share.first = first;
      share.origin = origin;
      share.low = low;
      share.high = highest;
      share.each = line.each;
      share.merges = 4 * (line.each / tile_size + 2) + 64;
      share.many = many;
      share.stop = stop;
      share.ended_segment = ~std::uint64_t{0};
    }
    __syncwarp();
  }
  bool working = active;
  unsigned stage = 0, tile = 0, asked = 0, there = 0;
  bool carried = false, open = false, begun = false;
  [[maybe_unused]] unsigned began = 0;  // where segment k begins
  sum carry{};
  facts_type carry_facts{};
#pragma unroll 1
  while (working) {
    // Nothing but what the share keeps is needed here; what comes between two rounds takes no registers from them.
    const std::uint64_t here = share.first, origin = share.origin;
    const unsigned char* const data = v.x[0] + static_cast<std::int64_t>(origin) * static_cast<int>(size) + lane * 16;
    const auto ask = [&](unsigned to_stage, unsigned at_tile) {
      unsigned char* const to = room.stage(to_stage);
      if (at_tile + tile_size <= high && !(at_tile == 0 && cut)) {
        const unsigned char* const from = data + std::uint64_t{at_tile} * size;
#pragma unroll
        for (unsigned j = 0; j < shared::lane_packs; ++j) copy_pack(to + shared::place_of_load(j, lane), from + j * warp_lanes * 16);
      } else {  // it reaches beyond an end of the array
#pragma unroll 1
        for (unsigned i = lane; i < tile_size; i += warp_lanes) {
          const auto e = static_cast<std::int64_t>(origin + at_tile + i);
          item x{};
          if (e >= static_cast<std::int64_t>(share.low) && e < static_cast<std::int64_t>(share.high)) x = reinterpret_cast<const item*>(v.x[0])[e];
          reinterpret_cast<item*>(to + shared::place(i / shared::items))[i % shared::items] = x;
        }
      }
    };
    segment_ends<Acc> to_come{v, room, here, static_cast<std::uint32_t>(origin), many, asked, there};
    const auto keep = [&] {
      keep_sum(acc, share, carry, carry_facts);
      carried = false;
      open = true;
    };
    if (!begun) {
      ask(0, 0);
      to_come.ask(0);
      end_of_copies();
      begun = true;
    }
    bool inexact = false, ended = false;
#pragma unroll 1
    while (true) {
      const unsigned tile_end = tile + tile_size, soon = to_come.asked;
      if (tile_end < stop) ask(stage ^ 1, tile_end);
      to_come.ask(k);
      end_of_copies();
      await_copies<1>();
      __syncwarp();
      to_come.there = soon;
      typename sums::part part;
      const number all = room.scan(stage, [&](const pack& p) { return adds.sum_of_all(part, p); });
      const facts_type facts = adds.warp_facts(part, all);
      __syncwarp();
      facts_type joined = facts;
      if constexpr (Acc::proves) {
        inexact = !sums::is_exact(facts);
        if (carried) {
          joined = sums::joined(carry_facts, facts);
          if (inexact || !sums::is_exact(joined)) {
            keep();
            joined = facts;
          }
        }
        if (inexact) {
          carry_facts = facts;
          break;
        }
      }
      const auto sum_of = [&](unsigned before_end) { return room.sum_of(stage, before_end, [&](const pack& p, unsigned n) { return adds.sum_of(p, n); }); };
      number before{};
      if (at != 0) before = sum_of(at);
      bool beginning = true;  // no segment ended in this tile yet
      // `elements` elements of segment k, whose sum is `value`, are the next that it has.
      const auto add_to_carry = [&](const sum& value, unsigned elements) {
        if (elements == 0) return;
        carry = carried ? carry + value : value;
        carry_facts = joined;
        carried = true;
      };
#pragma unroll 1
      while (true) {
        const unsigned next = to_come.next(k);
        const bool ends = next <= tile_end;
        const auto some = static_cast<unsigned>(__popc(static_cast<int>(__ballot_sync(all_lanes, ends))));
        if (some == 0) break;
        const unsigned my_end = next - tile;
        number upto{};
        if (ends) upto = sum_of(my_end);
        number less = number_from_below(upto, 1);
        unsigned my_begin = __shfl_up_sync(all_lanes, my_end, 1);
        if (lane == 0) {
          less = before;
          my_begin = at;
        }
        auto value = static_cast<sum>(static_cast<number>(upto - less));
        if constexpr (Acc::proves) {  // all of them may be -0
          if (is_zero(value) && ends && my_begin != my_end && adds.has_signs()) {
            unsigned i = my_begin;
            while (i < my_end && room.is_minus_zero(stage, i)) ++i;
            if (i == my_end) make_minus_zero(value);
          }
          __syncwarp();
        }
        bool answers = ends;
        const bool longer = beginning && carried && lane == 0;  // than what it has of this tile
        if (beginning && (k == 0 || open)) {
          add_to_carry(number_of_lane(value, 0), __shfl_sync(all_lanes, my_end, 0) - at);
          if (carried) keep();
          end_open(acc, share, here + k);
          open = false;
          ended = true;
          answers = ends && lane != 0;
        } else if (longer) {
          value += carry;
        }
        [[maybe_unused]] bool apart = false;
        if (answers) {
          unsigned char* const to = out + (here + k + lane) * sums::answer_bytes;
          if constexpr (Counts) apart = !adds.answer(value, longer ? next - began : my_end - my_begin, joined, to);
          else adds.answer(value, to);
        }
        if constexpr (Acc::proves && Counts) {
          if (__any_sync(all_lanes, apart)) {
            // One that began in an earlier tile may have more elements than are added apart.
            if (__shfl_sync(all_lanes, apart && longer, 0)) acc.exactly(rooms[warp], v, here + k, false, out + (here + k) * sums::answer_bytes);
            answer_apart(acc, v, w, share, rooms[warp], here + k, apart && !longer, origin + tile + my_begin, my_end - my_begin, out);
          }
        }
        carried = beginning = false;
        joined = facts;
        before = number_of_lane(upto, static_cast<int>(some) - 1);
        at = __shfl_sync(all_lanes, my_end, static_cast<int>(some) - 1);
        k += some;
        if constexpr (Counts) began = tile + at;
        if (some < warp_lanes) break;
      }
      // Elements of segment k, which this tile does not end.
      if (const unsigned to = min(stop, tile_end) - tile; to > at) {
        auto value = static_cast<sum>(static_cast<number>((to == tile_size ? all : sum_of(to)) - before));
        if constexpr (Acc::proves) {
          if (is_zero(value) && adds.has_signs() && are_minus_zeros(room, stage, at, to)) make_minus_zero(value);
        }
        add_to_carry(value, to - at);
      }
      working = stop > tile_end;
      __syncwarp();
      if (!working) break;
      tile = tile_end;
      stage ^= 1;
      at = 0;
      if (ended) break;
    }
    if constexpr (Acc::proves) {
      if (lane == 0) {
        share.k = k;
        share.tile = tile;
        share.stage = stage;
        share.at = at;
        share.opens = open;
        share.carried = carried;
        share.carry = carry;
        share.facts = carry_facts;
        share.asked = to_come.asked;
        share.there = to_come.there;
      }
      __syncwarp();
      if (ended) answer_ended(acc, v, w, share, rooms[warp], out);
      if (inexact) {
        working = sums::is_infinite(carry_facts) ? add_inexact_tile<true>(acc, v, w, room, share, rooms[warp], out) : add_inexact_tile<false>(acc, v, w, room, share, rooms[warp], out);
        tile = share.tile + tile_size;
        stage = share.stage ^ 1;
        at = 0;
      } else {
        tile = share.tile;
        stage = share.stage;
        at = share.at;
      }
      k = share.k;
      open = share.opens;
      carried = share.carried;
      carry = share.carry;
      carry_facts = share.facts;
      if constexpr (Counts) {
        if (inexact && carried) began = share.tile + share.at;
      }
      asked = share.asked;
      there = share.there;
      __syncwarp();
    } else {
      if (ended && lane == 0) share.head = share.ended;
      asked = to_come.asked;
      there = to_come.there;
    }
  }
  if (active) {
    await_copies<0>();
    if (carried) {
      keep_sum(acc, share, carry, carry_facts);
      open = true;
    }
    if (lane == 0 && open) (k == 0 ? share.head : share.tail) = share.open;
  }
  if (lane == 0) {
    heads[warp] = share.head;
    tails[warp] = share.tail;
    firsts[warp] = first;
    nexts[warp] = first + k;
  }
  __syncthreads();
  const unit_line<joins> line(v, w.segments);
  join_segments(joins{acc}, v, w, line, heads, tails, firsts, nexts, rooms[0], share.merges, out, partials, tickets, verdicts);
}

/// Units of a warp at least, and of all.
inline constexpr std::uint64_t prefix_least = 1 << 11, prefix_units = 1 << 14;

/// Whether segments go this way; enqueued if they do.
template <class Acc>
bool enqueue_prefix(const Acc& acc, const row_view<1>& v, const rows_request& r, workspace& scratch, cudaStream_t stream, cudaError_t& e) {
  const ragged_plan plan = plan_segments(acc, v, scratch, prefix_least, prefix_resident<Acc>, sizeof(typename joined_rows<Acc>::state));
  if (!scratch.bulk_copies() || !plan.walk.quick || plan.walk.skip || v.offsets == nullptr || v.all + v.rows * segment_units<Acc> < prefix_units || !prefix_of<Acc>::fits(acc) ||
      (v.all + v.rows * segment_units<Acc>) / (std::uint64_t{plan.blocks} * ragged_warps) >= std::uint64_t{1} << 30) {
    return false;
  }
  const auto by = [&](auto kernel) { return enqueue_segments(kernel, ragged_warps * prefix_room<Acc>::bytes + 128, plan, acc, v, r, scratch, stream); };
  e = prefix_of<Acc>::of(acc).asks_count() ? by(prefix_kernel<Acc, true>) : by(prefix_kernel<Acc, false>);
  return true;
}

}  // namespace wf::device::inline WF_BUILD
