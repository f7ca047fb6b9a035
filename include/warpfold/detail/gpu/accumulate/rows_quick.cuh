// SPDX-License-Identifier: Apache-2.0
/// \file rows_quick.cuh
/// Exact sums of short rows of floats (rows_kernel.cuh): a sum in doubles, and what tells that it lost nothing, which is so of most short rows, or
/// at most how much. Where that does not decide the rounding, the row goes the way of certified_rows' uncertain ones. Its state is half of theirs and its answer a tenth of their instructions, which is what short rows
/// cost; its bound grows with the row, and theirs hardly.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_buckets.cuh>
#include <warpfold/detail/gpu/accumulate/rows_certified.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// Rows of no more elements than this, and no longer shares of a thread, are short. For rows of more bytes than `quick_bytes`, where blocks take turns along a row, and for
/// columns of more elements than `quick_column`, a thread would have too many totals.
inline constexpr std::uint64_t quick_elements = 1 << 13, quick_length = 1 << 10, quick_bytes = std::uint64_t{1} << 31, quick_column = 1 << 22;

struct quick_facts {
  double loss;      ///< times the magnitudes' sum, or a power of 2 above the greatest: no sum of a thread differs by more from what is exact
  double pairs;     ///< likewise: what pairs lose
  double room;      ///< f32: nothing is lost of pairs below this many times 2^53 units; 0: never certain
  double most;      ///< f32: the most that a sum of magnitudes may be
  double by[2];     ///< 1 / n
  double shift;     ///< 1 / n where that is a power of 2, or 1 where no quotient is asked for; 0: a quotient need not be exact
  int span;         ///< how many powers of 2 may lie between the greatest and the least magnitude where nothing is lost
  std::uint64_t chain;
};

/// What is kept of f16: their sum. They are multiples of 2^-24 below 2^16: a sum of 2^13 of them loses nothing, nor does a pair of any number.
struct half_quick_sum {
  double s;
};
/// What is kept of f32: their sum, that of their magnitudes in a float, and the least magnitude's bits, doubled, less 1.
struct narrow_quick_sum {
  double s;
  float magnitudes;
  std::uint32_t least;
};
/// What is kept of bf16: their sum, and of those at even and at odd places the greatest magnitude's bits with the sign's set, and the least's but zero's less 1, as a signed number.
struct packed_quick_sum {
  double s;
  std::uint32_t greatest, least;
};
/// The same of longer rows.
struct half_quick_pair {
  certified::pair s;
};
struct narrow_quick_pair {
  certified::pair s;
  float magnitudes, lossy;  ///< lossy: the magnitudes of threads whose sums may have lost something
  std::uint32_t least;
};
struct packed_quick_pair {
  certified::pair s;
  std::uint32_t greatest, least, lossy;  ///< lossy: the greatest biased exponent of threads whose sums may have lost something; 0: of none
};
/// What is kept of f64: the sum, its errors, the greatest and the least of the magnitudes' upper words.
struct wide_quick_sum {
  certified::pair s;
  std::uint32_t greatest, least;
};
struct wide_quick_pair : wide_quick_sum {
  std::uint32_t errors;  ///< the greatest upper word of a merge's sum of errors
  bool lossy;            ///< a thread may have lost something
};

template <class T, bool Packed>
struct quick_long_rows;

/// A lane's exact sum: one slot of 64 bits takes an element, wherever its 32 bits begin.
template <class T>
using quick_slots = slot_buckets<exact::format<T>::mantissa_bits + 1, (1 << exact::format<T>::exponent_bits) - 3, 32, warp_lanes>;
/// f64 has no slots, since it would need too many: the errors of its sums are kept. Nothing is uncertain of f16.
template <class T>
inline constexpr bool has_quick_slots = sizeof(T) < 8 && !std::is_same_v<T, f16>;
/// Shared memory of a warp for uncertain rows.
template <class T>
union quick_room {
  typename certified_rows<T, terms::sum>::room rest;
  std::int64_t buckets[has_quick_slots<T> ? quick_slots<T>::slots * warp_lanes : 1];
};

/// Σx, Σ|x| and means of real floats, to nearest. Packed: bf16, two at a time; an answer then takes more instructions and an element fewer.
template <class T, bool Packed = std::is_same_v<T, bf16>>
struct quick_rows {
  using full = certified_rows<T, terms::sum>;
  static constexpr bool wide = sizeof(T) == 8, half = std::is_same_v<T, f16>, packed = Packed, narrow = !wide && !half && !packed;
  static constexpr int inputs = 1, size = static_cast<int>(sizeof(T)), items = 16 / size;
  static constexpr int fixed_size = size, fixed_align = size;
  static constexpr bool proves = true, packs = true, quick = true, any_order = true;
  /// The sum of f16 itself is known, and its quotient by n < 2^52 elements within 2^-98 of itself. That decides the rounding: a sum is a multiple of 2^-24 below 2^16 · n, so a quotient that is
  /// not in the middle of two numbers is 2^-25 / n or more away from there, 2^-93 of itself.
  static constexpr bool decides = half;
  using state = std::conditional_t<wide, wide_quick_sum, std::conditional_t<half, half_quick_sum, std::conditional_t<packed, packed_quick_sum, narrow_quick_sum>>>;
  using running = state;
  /// The accumulator of rows of which a thread has several totals, and of those that come by copies, where registers are few.
  using longer = quick_long_rows<T, Packed>;
  using streamed = std::conditional_t<wide, quick_rows, longer>;
  using long_state = std::conditional_t<wide, wide_quick_pair, std::conditional_t<half, half_quick_pair, std::conditional_t<packed, packed_quick_pair, narrow_quick_pair>>>;

  op what;

  int item_size() const { return size; }
  int item_align() const { return size; }
  std::size_t result_size() const { return sizeof(T); }

  static constexpr std::size_t answer_size = sizeof(T);

  /// A thread adds `length` elements at most, one after the other, and then `merges` sums of such.
  ///
  /// f16: nothing is ever lost. f32: each of the length + 5 additions that a term goes through, and the 3 more of `merges`, loses 2^-53 of a partial sum, which is no greater than the sum of
  /// magnitudes; that is a float's, of fewer than 2^14 additions per term, and so too small by less than 2^-9. Nothing is lost where all elements
  /// are multiples of 2^unit and that sum is below 2^(unit + 53). bf16: the same, where n times a power of 2 above the greatest magnitude stands for that sum.
  /// f64: with D operations between a term and the result, errors add up to at most 2^-53 · D · n times the greatest magnitude, and D
  /// additions of them lose 2^-53 of that each; nothing, where those are below 2^53 of the elements' unit.
  WF_HD quick_facts facts(std::uint64_t n, std::uint64_t length, std::uint64_t merges) const {
    quick_facts f{0, 0, 1, static_cast<double>(n) * 0x1p128, {0, 0}, 1, 0, length};
    const std::uint64_t deep = length + merges + 8 + 64 < n ? length + merges + 8 + 64 : n;
    const auto d = static_cast<double>(wide ? deep : length + merges + 8);
    f.loss = wide ? 4 * d * d * static_cast<double>(n) * 0x1p-106 : d * (1 + 0x1p-7) * 0x1p-53;
    if constexpr (packed) f.loss *= static_cast<double>(n);
    // D · 2^-53 · n · 2^top <= 2^(53 + unit), and unit is 52 below the least's exponent.
    if constexpr (wide) f.span = 52 - certified::log2_of(n) - certified::log2_of(deep);
    if constexpr (packed) f.span = packed_span - certified::log2_of(n);
    if (what == op::mean) {
      const reciprocals r = reciprocals::of(n, 0);
      f.by[0] = r.n[0];
      f.by[1] = r.n[1];
      f.shift = (n & (n - 1)) == 0 ? r.n[0] : 0;
    }
    return f;
  }

  static WF_HD std::uint64_t chain_of(std::uint64_t length) { return length; }

  __device__ __forceinline__ running start() const { return identity(); }
  /// Two of -0 of f16 or bf16, by which no sum changes, and which are neither the least of magnitudes nor the greatest.
  __device__ __forceinline__ std::uint32_t neutral() const { return 0x80008000u; }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t) const {
#pragma unroll
    for (int i = 0; i < (twos ? 4 : items); ++i) {
      if constexpr (twos) add_two(r, p[0].word[i]);
      else add_number(r, item_of<T>(p[0], i));
    }
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const {
    if constexpr (packed) {
      const std::uint32_t signs = (p[0].word[0] & 0xffffu) | 0x80008000u;
      r.s = certified::add(r.s, static_cast<double>(__uint_as_float((p[0].word[0] & kept_two()) << 16)));
      r.greatest = __vmaxu2(r.greatest, signs);
      r.least = __vmins2(r.least, signs - 0x00010001u);
    } else {
      add_number(r, item_of<T>(p[0], 0));
    }
  }
  /// Adds neighbouring columns of bf16, two per word of each load: their magnitudes are looked at two at a time.
  template <int Columns, int Loads>
  __device__ __forceinline__ void add_columns(running (&r)[Columns], const pack (&p)[Loads][1]) const
    requires(packed && Columns % 2 == 0)
  {
#pragma unroll
    for (int w = 0; w < Columns / 2; ++w) {
      running &low = r[2 * w], &high = r[2 * w + 1];
#pragma unroll
      for (int j = 0; j < Loads; ++j) {
        const std::uint32_t two = p[j][0].word[w], signs = two | 0x80008000u;
        const two_doubles v = widened_two<T>(two & kept_two());
        low.s = certified::add(low.s, v.low);
        high.s = certified::add(high.s, v.high);
        low.greatest = __vmaxu2(low.greatest, signs);
        low.least = __viaddmin_s16x2(signs, ~0u, low.least);
      }
    }
  }
  template <int Columns>
  __device__ __forceinline__ void part_columns(running (&r)[Columns]) const
    requires(packed && Columns % 2 == 0)
  {
#pragma unroll
    for (int w = 0; w < Columns; w += 2) {
      r[w + 1].greatest = __vmaxu2(r[w + 1].greatest, r[w].greatest >> 16 | 0x80000000u);
      r[w + 1].least = __vmins2(r[w + 1].least, r[w].least >> 16 | 0x7fff0000u);
      r[w].greatest = (r[w].greatest & 0xffffu) | 0x80000000u;
      r[w].least = (r[w].least & 0xffffu) | 0x7fff0000u;
    }
  }
  __device__ __forceinline__ state identity() const {
    if constexpr (wide) return {certified::pair::nothing(), 0, ~0u};
    else if constexpr (half) return {-0.0};
    else if constexpr (packed) return {-0.0, 0x80008000u, 0x7fff7fffu};
    else return {-0.0, 0, ~0u};
  }
  /// The states of all lanes of a warp, in each of them. 32 times the greatest of the lanes' sums of magnitudes stands for their sum.
  __device__ __forceinline__ state warp_together(state s) const {
    if constexpr (!wide) {
      return first_lanes_together<5>(s);
    } else {
#pragma unroll
      for (int m = 1; m < warp_lanes; m *= 2) s.s.merge({__shfl_xor_sync(all_lanes, s.s.s, m), __shfl_xor_sync(all_lanes, s.s.c, m)});
      s.greatest = warp_max(s.greatest);
      s.least = warp_min(s.least);
      return s;
    }
  }
  /// The same of the first 2^Steps lanes, where all others have nothing. Of f64 first all sums, then what they lost: so a step waits for a shuffle and an addition, not for a merge's five.
  template <int Steps>
  __device__ __forceinline__ state first_lanes_together(state s) const {
    if constexpr (wide) {
      double lost[Steps];
#pragma unroll
      for (int k = 0; k < Steps; ++k) {
        const certified::exact_sum_of t = certified::two_sum(s.s.s, __shfl_xor_sync(all_lanes, s.s.s, 1 << k));
        s.s.s = t.sum;
        lost[k] = t.error;
      }
      s.greatest = warp_max(s.greatest);
      s.least = warp_min(s.least);
#pragma unroll
      for (int k = 0; k < Steps; ++k) {
        const double other = __shfl_xor_sync(all_lanes, s.s.c, 1 << k);
        s.s.c = certified::add(certified::add(s.s.c, lost[k]), other);
      }
    } else {
#pragma unroll
      for (int k = 0; k < Steps; ++k) s.s = certified::add(s.s, __shfl_xor_sync(all_lanes, s.s, 1 << k));
      if constexpr (packed) {
        s.greatest = warp_max(__vmaxu2(s.greatest, s.greatest >> 16) & 0xffff);
        s.least = (warp_min(least_of(s.least)) ^ 0x8000u) | 0x7fff0000u;
      } else if constexpr (narrow) {
        s.magnitudes = (1 << Steps) * __uint_as_float(warp_max(__float_as_uint(s.magnitudes)));
        s.least = warp_min(s.least);
      }
    }
    return s;
  }
  /// Turns a plain sum of `length` elements at most into that of a longer row.
  __device__ __forceinline__ long_state lengthened(const state& s, std::uint64_t length) const {
    if constexpr (wide) return {s, static_cast<std::uint32_t>(__double2hiint(s.s.c)) & 0x7fffffffu, !is_whole(s, 52 - 2 * certified::log2_of(length))};
    else if constexpr (half) return {{s.s, 0}};
    else if constexpr (packed) return {{s.s, 0}, s.greatest, s.least, is_whole(s.greatest, s.least, packed_span - certified::log2_of(length)) ? 0 : top_of(s.greatest)};
    else return {{s.s, 0}, s.magnitudes, static_cast<double>(s.magnitudes) < units(s.least) ? 0 : s.magnitudes, s.least};
  }
  __device__ __forceinline__ state total(const running& r, std::uint64_t) const { return r; }
  __device__ __forceinline__ state combine(state a, const state& b) const {
    if constexpr (wide) {
      a.s.merge(b.s);
      a.greatest = max(a.greatest, b.greatest);
      a.least = min(a.least, b.least);
    } else {
      a.s = certified::add(a.s, b.s);
      if constexpr (packed) {
        a.greatest = __vmaxu2(a.greatest, b.greatest);
        a.least = __vmins2(a.least, b.least);
      } else if constexpr (narrow) {
        a.magnitudes = __fadd_rn(a.magnitudes, b.magnitudes);
        a.least = min(a.least, b.least);
      }
    }
    return a;
  }

  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, const quick_facts& f, void* to) const {
    if constexpr (wide) {
      const bool whole = is_whole(s, f.span);
      certified::known k = certified::known_of(s.s, 0);
      if (!whole) k.error = error_of(s.greatest, f);
      return round(k, whole, n, f, to);
    } else {
      bool whole = is_finite(s.s);  // nothing was lost
      if constexpr (packed) whole = whole && is_whole(s.greatest, s.least, f.span);
      else if constexpr (narrow) whole = static_cast<double>(s.magnitudes) < units(s.least);
      if (whole && f.shift != 0 && n != 0) {
        *static_cast<T*>(to) = rounded(certified::multiply(s.s, f.shift));
        return true;
      }
      double error = 0;
      if constexpr (packed) error = whole ? 0 : certified::multiply(f.loss, above(top_of(s.greatest)));
      else if constexpr (narrow) error = whole ? 0 : certified::multiply(f.loss, sum_of(s.magnitudes, f));
      return round({s.s, 0, error}, whole, n, f, to);
    }
  }

  /// Whether rows of `Elements`, side by side in 16 bytes, are answered by within(): rows of f16 and bf16, and of two elements of any type.
  template <int Elements>
  static constexpr bool has_bounds = size == 2 || Elements == 2;
  /// Two sums of f16 or bf16 in floats: one by additions that round down, one by additions that round up. The true sum lies between them.
  struct bounds {
    float low, high;
  };
  __device__ __forceinline__ bounds no_bounds() const { return {-0.0f, -0.0f}; }
  /// Adds a row's elements in a pack, from `first` on.
  template <int Elements>
  __device__ __forceinline__ void bound(bounds& b, const pack& p, int first) const
    requires(size == 2)
  {
#pragma unroll
    for (int j = first; j < first + Elements; ++j) {
      std::uint32_t bits;
      if constexpr (half) bits = __float_as_uint(to_float(item_of<T>(p, j)));
      else bits = j % 2 == 0 ? p.word[j / 2] << 16 : p.word[j / 2] & 0xffff0000u;
      const float x = __uint_as_float(what == op::norm1 ? bits & 0x7fffffffu : bits);
      b.low = __fadd_rd(b.low, x);
      b.high = __fadd_ru(b.high, x);
    }
  }
  /// Writes the answer where both bounds round to it, or are equal: zeros of two signs are, whose sum is +0, as `high` is. False where they differ, and for NaNs. `f.shift` is not 0.
  __device__ __forceinline__ bool within(const bounds& b, const quick_facts& f, void* to) const
    requires(size == 2)
  {
    const auto by = static_cast<float>(f.shift);
    const float low = __fmul_rd(b.low, by), high = __fmul_ru(b.high, by);
    const T answer = narrowed(high);
    *static_cast<T*>(to) = answer;
    return low <= high && (low == high || format::to_bits(narrowed(low)) == format::to_bits(answer));
  }
  /// The answer of a row of `Elements`, as many as a power of 2, in a pack. False if this does not decide it.
  template <int Elements>
  __device__ __forceinline__ bool within(const pack& p, int first, const quick_facts& f, void* to) const {
    if constexpr (size == 2) {
      bounds b = no_bounds();
      bound<Elements>(b, p, first);
      return within(b, f, to);
    } else {
      // An addition rounds the sum of two. Half of it is exact: a sum below twice the least normal number is, too. A mean's sum may overflow.
      static_assert(Elements == 2);
      if constexpr (wide) {
        const auto number = [&](int j) { return __hiloint2double(static_cast<int>(p.word[2 * j + 1] & kept()), static_cast<int>(p.word[2 * j])); };
        const double s = certified::multiply(certified::add(number(first), number(first + 1)), f.shift);
        *static_cast<T*>(to) = s;
        return is_finite(s);
      } else {
        const float s = __fmul_rn(__fadd_rn(__uint_as_float(p.word[first] & kept()), __uint_as_float(p.word[first + 1] & kept())), static_cast<float>(f.shift));
        *static_cast<T*>(to) = s;
        return (__float_as_uint(s) & 0x7f800000u) != 0x7f800000u;
      }
    }
  }

  /// The accumulator that decides what this one cannot.
  WF_HD full complete() const { return {{what, wf::rounding::nearest, 0}}; }
  using exact_room = typename full::exact_room;
  using format = exact::format<T>;
  using slots_type = quick_slots<T>;
  using room = quick_room<T>;
  /// How many elements of a row a lane may add alone: fewer than a slot takes without carrying. 0: nothing is uncertain.
  static constexpr unsigned alone_elements = narrow || packed ? 256 / size : wide ? 64 : 0;
  static constexpr bool has_slots = has_quick_slots<T>;
  static_assert(!has_slots || static_cast<int>(alone_elements) <= slots_type::adds_between_carries);
  /// A row's sum by slots, from the elements that `for_each` gives. It loses nothing, whatever the exponents, except what a double and its errors cannot hold in the end.
  template <class ForEach>
  __device__ __forceinline__ exact_look<double> by_slots(room& shared, const ForEach& for_each) const
    requires(has_slots)
  {
    slots_type c;
    c.start(reinterpret_cast<unsigned char*>(shared.buckets), lane_index());
    for_each([&](T x) {
      const std::uint32_t bits = format::to_bits(x);
      const std::uint32_t e = bits << 1 << (8 * (4 - size)) >> 24, m = bits & ((1u << format::mantissa_bits) - 1);
      const bool negative = what != op::norm1 && (bits & format::sign_mask) != 0;
      c.add(e == 0 ? m : m | 1u << format::mantissa_bits, static_cast<int>(e == 0 ? 0 : e - 1), negative);
    });
    std::int64_t carry = 0;
#pragma unroll 1
    for (int j = 0; j < slots_type::slots; ++j) {
      std::int64_t& slot = c.bucket[j * warp_lanes];
      const std::int64_t all = slot + carry;
      carry = all >> 32;
      slot = all & 0xffffffff;
    }
    // From the greatest digit on: a double, its errors, and whether those lose anything.
    constexpr int unit = format::min_exponent;
    const auto power = [](int e) { return __hiloint2double((e + 1023) << 20, 0); };
    exact_look<double> look;
    look.add(certified::multiply(static_cast<double>(carry), power(32 * slots_type::slots + unit)));
#pragma unroll 1
    for (int j = slots_type::slots - 1; j >= 0; --j) look.add(certified::multiply(static_cast<double>(c.bucket[j * warp_lanes]), power(32 * j + unit)));
    return look;
  }
  using look_type = exact_look<typename full::look_number>;
  /// What this lane adds of a row that begins at p: it is number `member` of `lanes`.
  __device__ __forceinline__ look_type look_at(const row_view<1>& v, const unsigned char* p, unsigned member, unsigned lanes) const {
    const auto n = static_cast<unsigned>(v.n);
    using number = typename full::look_number;
    look_type l;
    const auto number_of_element = [&](const T& x) {
      number of;
      if constexpr (wide) of = x;
      else of = static_cast<number>(to_float(x));
      return what == op::norm1 ? full::magnitude_of(of) : of;
    };
    if (v.element(1, 0) == size && reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && n % items == 0) {
      constexpr unsigned ahead = 4;
      const unsigned count = n / items;
#pragma unroll 1
      for (unsigned i = member; i < count; i += ahead * lanes) {
        pack some[ahead] = {};
#pragma unroll
        for (unsigned j = 0; j < ahead; ++j) {
          const unsigned at = i + j * lanes;
          if (at < count) some[j] = load_bytes(p + at * 16, 16);
        }
#pragma unroll 1
        for (unsigned j = 0; j < ahead && i + j * lanes < count; ++j) {
          number x[items];
#pragma unroll
          for (int k = 0; k < items; ++k) x[k] = number_of_element(item_of<T>(some[0], k));
          l.add(x);
#pragma unroll
          for (unsigned m = 0; m + 1 < ahead; ++m) some[m] = some[m + 1];
        }
      }
    } else {
#pragma unroll 4
      for (unsigned i = member; i < n; i += lanes) l.add(number_of_element(item_of<T>(load_bytes(p + v.element(i, 0), size), 0)));
    }
    return l;
  }
  /// A row's answer, if what was added lost nothing and that decides it.
  __device__ __forceinline__ bool answer_of(const look_type& l, std::uint64_t n, const quick_facts& f, unsigned char* out) const { return !l.lost && round(l.known(), true, n, f, out); }
  /// Answers a row by its slots, by one lane, while other lanes answer other rows.
  __device__ __forceinline__ bool answer_by_slots(room& shared, const row_view<1>& v, std::uint64_t row, const quick_facts& f, unsigned char* out) const
    requires(has_slots)
  {
    const unsigned char* p[1];
    const std::uint64_t n = v.begin(row, p);
    const exact_look<double> l = by_slots(shared, [&](auto put) {
#pragma unroll 4
      for (std::uint64_t i = 0; i < n; ++i) put(item_of<T>(load_bytes(p[0] + v.element(i, 0), size), 0));
    });
    return !l.lost && round(l.known(), true, n, f, out);
  }
  /// All threads of the block, or one warp.
  template <wanted = wanted::nearest>
  __device__ __forceinline__ void exactly(room& shared, const row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    complete().template exactly<wanted::nearest>(shared.rest, v, row, by_block, out);
  }
  /// The accumulator that settles uncertain rows of all kinds of quick ones, so that its code is there once.
  using settles = quick_rows<T>;
  __device__ __forceinline__ settles settler() const { return {what}; }
  /// All threads of the block, or one warp, look at a row of v, which has no offsets, once more. Whether that decided the answer; if not, by_digits() does.
  __device__ __forceinline__ bool again(room& shared, const quick_facts& f, const row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    return complete().template again<wanted::nearest>(shared.rest, v, row, by_block, out, [&](const look_type& l) { return answer_of(l, v.n, f, out); });
  }
  __device__ __forceinline__ void by_digits(room& shared, const row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    complete().template by_digits<wanted::nearest>(shared.rest, v, row, by_block, out);
  }

 protected:
  /// A sum rounded; whole: it is exact. False if that is uncertain.
  __device__ __forceinline__ bool round(certified::known k, bool whole, std::uint64_t n, const quick_facts& f, void* to) const {
    auto* const out = static_cast<T*>(to);
    if (n == 0) {
      *out = format::from_bits(what == op::mean ? format::quiet_nan : typename format::bits{0});
      return true;
    }
    if constexpr (wide) {
      // A normal number: its quotient by a power of 2 is normal, too.
      if (whole && f.shift != 0 && certified::magnitude(k.h) > 0x1p-900) {
        *out = certified::multiply(k.h, f.shift);
        return true;
      }
    } else {
      if (!is_finite(k.h)) {  // infinities and NaNs alone: a double has room for all sums of others
        *out = format::from_bits(k.h == certified::power(1024) ? format::infinity : k.h == -certified::power(1024) ? format::infinity | format::sign_mask : format::quiet_nan);
        return true;
      }
      if (whole && k.l == 0 && f.shift != 0) {
        *out = rounded(certified::multiply(k.h, f.shift));
        return true;
      }
    }
    if (whole && k.h == 0 && k.l == 0) {  // with the sign that additions gave it
      *out = format::from_bits(__double2hiint(k.h) < 0 ? format::sign_mask : typename format::bits{0});
      return true;
    }
    if (what == op::mean) k = times_reciprocal(k, f.by, 0x1p-98);
    if constexpr (half) {
      *out = rounded(to_odd(k.h, k.l));
      return true;
    } else {
      T by_bound;
      if (!round_quickly(k.h, k.l, k.error, by_bound)) return false;
      *out = by_bound;
      return true;
    }
  }
  /// h + l, where h is the double nearest to it, to odd. What is within 2^-97 of h is h where that is in the middle of two f16 (`decides`), and rounds as h does elsewhere.
  static __device__ __forceinline__ double to_odd(double h, double l) {
    auto bits = static_cast<std::uint64_t>(__double_as_longlong(h));
    if (certified::magnitude(l) > certified::multiply(0x1p-97, certified::magnitude(h))) {
      if ((__double2hiint(h) ^ __double2hiint(l)) < 0) --bits;
      bits |= 1;
    }
    return __longlong_as_double(static_cast<long long>(bits));
  }
  static __device__ __forceinline__ bool is_finite(double x) { return (static_cast<std::uint32_t>(__double2hiint(x)) & 0x7ff00000u) != 0x7ff00000u; }
  /// A sum of magnitudes, which may be too great for the float that it is kept in.
  static __device__ __forceinline__ double sum_of(float magnitudes, const quick_facts& f) {
    return __float_as_uint(magnitudes) == 0x7f800000u ? f.most : static_cast<double>(magnitudes);
  }
  /// bf16: n times a power of 2 above the greatest magnitude is below 2^53 of the least's unit, where their exponents are no farther apart than this less log2 n.
  static constexpr int packed_span = 45;
  /// The greatest magnitude's bits, and its biased exponent.
  static __device__ __forceinline__ std::uint32_t greatest_of(std::uint32_t two) { return __vmaxu2(two, two >> 16) & 0x7fff; }
  static __device__ __forceinline__ std::uint32_t top_of(std::uint32_t two) { return max(greatest_of(two) >> 7, 1u); }
  /// The least magnitude's bits less 1.
  static __device__ __forceinline__ std::uint32_t least_of(std::uint32_t two) { return (__vmins2(two, two >> 16) & 0xffff) ^ 0x8000u; }
  /// Whether exponents are no farther apart than `span`: it compares bits with one power of 2 less.
  static __device__ __forceinline__ bool is_whole(std::uint32_t greatest, std::uint32_t least, int span) {
    return static_cast<int>(greatest_of(greatest)) - static_cast<int>(least_of(least)) <= (span - 1) * 128;
  }
  /// The same for f64, by biased exponents. Below the least upper word there are 32 more bits: sums lose nothing of these either, unless there are too many elements.
  static __device__ __forceinline__ bool is_whole(const wide_quick_sum& s, int span) {
    const std::uint32_t low = max(s.least >> 20, 1u);
    return s.greatest == 0 || (s.greatest >> 20 < 0x7fe && static_cast<int>(s.greatest >> 20) - static_cast<int>(low) <= span);
  }
  static __device__ __forceinline__ double error_of(std::uint32_t greatest, const quick_facts& f) {
    const std::uint32_t top = min(greatest >> 20, 0x7feu);
    return top < 200 ? certified::power(1024) : certified::multiply(f.loss, __hiloint2double(static_cast<int>((top + 1) << 20), 0));  // it might underflow
  }
  /// The power of 2 above numbers of a biased exponent of bf16.
  static __device__ __forceinline__ double above(std::uint32_t exponent) { return __hiloint2double(static_cast<int>((exponent + 1 + 1023 - 127) << 20), 0); }
  /// A float rounded to f16 or bf16.
  static __device__ __forceinline__ T narrowed(float x) {
    if constexpr (half) return format::from_bits(__half_as_ushort(__float2half_rn(x)));
    else return format::from_bits(__bfloat16_as_ushort(__float2bfloat16_rn(x)));
  }
  /// An exact sum to nearest: to odd in a float first, which has bits enough for that not to be seen.
  static __device__ __forceinline__ T rounded(double x) {
    if constexpr (std::is_same_v<T, float>) {
      return __double2float_rn(x);
    } else {
      const float f = __double2float_rz(x);
      const std::uint32_t odd = __float_as_uint(f) | (static_cast<double>(f) != x ? 1u : 0u);
      if constexpr (std::is_same_v<T, f16>) return exact::format<T>::from_bits(__half_as_ushort(__float2half_rn(__uint_as_float(odd))));
      else return exact::format<T>::from_bits(static_cast<std::uint16_t>((odd + 0x7fff + (odd >> 16 & 1)) >> 16));
    }
  }
  /// 2^(unit + 53), where all magnitudes are multiples of 2^unit: the least of them is 2^(unit + 23) or more, or a multiple of the least number.
  static __device__ __forceinline__ double units(std::uint32_t least) { return __hiloint2double(static_cast<int>(((least >> 24) + 1023 - 127 + 29) << 20), 0); }
  /// Which bits of an element's upper word, or of two elements, count: for norm1 all but the sign.
  __device__ __forceinline__ std::uint32_t kept() const { return what == op::norm1 ? 0x7fffffffu : ~0u; }
  __device__ __forceinline__ std::uint32_t kept_two() const { return what == op::norm1 ? 0x7fff7fffu : ~0u; }
  /// Whether elements are added two at a time, as a word has them.
  static constexpr bool twos = half || packed;
  /// Adds two elements of f16 or bf16.
  __device__ __forceinline__ void add_two(running& r, std::uint32_t two) const {
    const two_doubles v = widened_two<T>(two & kept_two());
    r.s = certified::add(r.s, v.low);
    r.s = certified::add(r.s, v.high);
    if constexpr (packed) {
      const std::uint32_t signs = two | 0x80008000u;
      r.greatest = __vmaxu2(r.greatest, signs);
      r.least = __viaddmin_s16x2(signs, ~0u, r.least);  // zeros are out of the way
    }
  }
  __device__ __forceinline__ void add_number(running& r, T x) const {
    if constexpr (wide) {
      r.s.add_term(__hiloint2double(static_cast<int>(static_cast<std::uint32_t>(__double2hiint(x)) & kept()), __double2loint(x)));
      const std::uint32_t upper = static_cast<std::uint32_t>(__double2hiint(x)) & 0x7fffffffu;
      r.greatest = max(r.greatest, upper);
      r.least = min(r.least, upper);
    } else if constexpr (half) {
      r.s = certified::add(r.s, widened_bits<T>(static_cast<std::uint16_t>(x.bits & kept_two())));
    } else {
      const std::uint32_t bits = __float_as_uint(to_float(x)) & kept();
      r.s = certified::add(r.s, static_cast<double>(__uint_as_float(bits)));
      r.magnitudes = __fadd_rn(r.magnitudes, fabsf(__uint_as_float(bits)));
      r.least = min(r.least, 2 * bits - 1);  // zeros are out of the way
    }
  }
};

/// The same of rows of which a thread has several totals, which are merged as pairs.
template <class T, bool Packed>
struct quick_long_rows : quick_rows<T, Packed> {
  using base = quick_rows<T, Packed>;
  using state = typename base::long_state;
  using running = typename base::running;
  using base::half, base::packed, base::wide;

  /// A thread adds `length` elements at most to a chain; `merges` pairs are merged one after the other.
  ///
  /// An error of a merge is at most 2^-53 of the magnitudes' sum, so that all errors of `merges` together are below merges · 2^-53 of it, and each of 2 · merges
  /// additions of errors loses 2^-53 of those. Nothing is lost where errors are below 2^53 units. f64: the greatest sum of errors that there was says so.
  WF_HD quick_facts facts(std::uint64_t n, std::uint64_t length, std::uint64_t merges) const {
    quick_facts f = base::facts(n, length, wide ? merges : 0);
    const auto m = static_cast<double>(merges + 1);
    f.pairs = 2 * m * m * 0x1p-106 * (1 + 0x1p-7);
    f.room = 0x1p53 / m * (1 - 0x1p-7);
    if constexpr (packed) {
      f.pairs *= static_cast<double>(n);
      f.span += 53 - certified::log2_of(merges + 1);
    } else if (!wide && length + merges >= std::uint64_t{1} << 14) {
      f.room = 0;  // floats add up too few magnitudes
    }
    return f;
  }
  __device__ __forceinline__ state identity() const { return base::lengthened(base::identity(), 1); }
  __device__ __forceinline__ state total(const running& r, std::uint64_t length) const { return base::lengthened(r, length); }
  __device__ __forceinline__ state combine(state a, const state& b) const {
    a.s.merge(b.s);
    if constexpr (wide) {
      a.greatest = max(a.greatest, b.greatest);
      a.least = min(a.least, b.least);
      a.errors = max(max(a.errors, b.errors), static_cast<std::uint32_t>(__double2hiint(a.s.c)) & 0x7fffffffu);
      a.lossy = a.lossy || b.lossy;
    } else if constexpr (packed) {
      a.greatest = __vmaxu2(a.greatest, b.greatest);
      a.least = __vmins2(a.least, b.least);
      a.lossy = max(a.lossy, b.lossy);
    } else if constexpr (!half) {
      a.magnitudes = __fadd_rn(a.magnitudes, b.magnitudes);
      a.lossy = __fadd_rn(a.lossy, b.lossy);
      a.least = min(a.least, b.least);
    }
    return a;
  }
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, const quick_facts& f, void* to) const {
    bool whole = true;
    double error = 0;
    if constexpr (wide) {
      // The sums of errors are multiples of 2^(low - 52), where low is the least exponent: two of them below 2^low are added exactly.
      whole = s.greatest == 0 || (!s.lossy && s.greatest >> 20 < 0x7fe && s.errors >> 20 < max(s.least >> 20, 1u));
      if (!whole) error = base::error_of(s.greatest, f);
    } else if constexpr (packed) {
      whole = s.lossy == 0 && base::is_whole(s.greatest, s.least, f.span);
      if (!whole) {
        error = certified::multiply(f.pairs, base::above(base::top_of(s.greatest)));
        if (s.lossy != 0) error = certified::add(error, certified::multiply(f.loss, base::above(s.lossy)));
      }
    } else if constexpr (!half) {
      const double magnitudes = base::sum_of(s.magnitudes, f);
      whole = s.lossy == 0 && magnitudes < certified::multiply(f.room, base::units(s.least));
      if (!whole) error = f.room == 0 ? certified::power(1024) : certified::multiply_add(f.loss, base::sum_of(s.lossy, f), certified::multiply(f.pairs, magnitudes));
    }
    // Only infinities and NaNs make the sum one of them, and its error is then nothing of use.
    return base::round(wide || base::is_finite(s.s.s) ? certified::known_of(s.s, error) : certified::known{s.s.s, 0, error}, whole, n, f, to);
  }
};

/// The accumulator that an accumulator's short rows are added by, if there is another one for them.
template <class Acc>
struct quick_of {
  static constexpr bool there = false;
};
template <class T>
  requires(std::is_same_v<number_of<T>, T>)
struct quick_of<certified_rows<T, terms::sum>> {
  using full = certified_rows<T, terms::sum>;
  static constexpr bool there = true, sums = true;
  using type = quick_rows<T>;
  using by_items = quick_rows<T, false>;  ///< where rows have few elements
  static WF_HD type of(const full& a) { return {a.q.what}; }
  static WF_HD by_items items_of(const full& a) { return {a.q.what}; }
  static typename type::longer longer_of(const full& a) { return {of(a)}; }
  static bool fits(const full& a) { return !a.states && a.q.rounding == wf::rounding::nearest; }
};

}  // namespace wf::device::inline WF_BUILD
