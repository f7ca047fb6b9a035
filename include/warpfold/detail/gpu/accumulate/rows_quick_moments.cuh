// SPDX-License-Identifier: Apache-2.0
/// \file rows_quick_moments.cuh
/// Exact var, std, mean_var, norm2 and sum_of_squares of rows of f16, bf16 and f32 (rows_kernel.cuh) that keep little of a row: Σx, Σx² and the least
/// magnitude. What certified_rows keeps beside them, the range of the elements, follows from Σx²: by |x| <= (t + x²/t) / 2 of any t > 0 Σ|x| is at most
/// (n·t + Σx²/t) / 2, which is nearly √(n·Σx²) where t is near the root of the mean square. A square is exact in a double, and squares never cancel, so
/// that their sum loses 2^-53 of itself an addition at most. Where that does not decide the rounding, the row goes the way of certified_rows' uncertain ones.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_certified.cuh>
#include <warpfold/detail/gpu/accumulate/rows_quick.cuh>

namespace wf::device::inline WF_BUILD {

struct moments_facts {
  reciprocals by;
  double n;            ///< elements
  double sum_loss;     ///< times a bound of Σ|x|: the most that sums of threads lose
  double square_loss;  ///< times Σx²: the most that it loses
  double pairs;        ///< times a bound of Σ|x|: the most that merges of pairs lose
  double room;         ///< pairs lose nothing of magnitudes below this many times 2^53 units
  std::uint64_t chain;
};

/// What is kept of a row.
struct quick_moments_sums {
  double s, q;
  std::uint32_t least;  ///< the least of the magnitudes but zero's: f32, its bits doubled, less 1; f16 and bf16, two of them, bits less 1, as signed numbers
};
/// The same of longer rows.
struct quick_moments_pair {
  certified::pair s;
  double q;
  float lossy;  ///< a bound of Σ|x| of threads whose sums may have lost something
  std::uint32_t least;
};

template <class T>
struct quick_long_moments;

template <class T>
struct quick_moments {
  using full = certified_rows<T, terms::moments>;
  static_assert(sizeof(T) <= 4);
  static constexpr bool packed = sizeof(T) == 2;
  static constexpr int inputs = 1, size = static_cast<int>(sizeof(T)), items = 16 / size;
  static constexpr int fixed_size = size, fixed_align = size;
  static constexpr bool proves = true, packs = true, quick = true, any_order = true;
  static constexpr std::uint64_t lone_bytes = 128;  ///< rows of no more bytes are a thread's: an answer takes long
  using state = quick_moments_sums;
  using running = state;
  using longer = quick_long_moments<T>;  ///< what rows go by of which a thread has several totals
  using streamed = longer;
  using room = typename full::room;

  op what;
  std::int64_t correction;

  int item_size() const { return size; }
  int item_align() const { return size; }
  std::size_t result_size() const { return sizeof(T) * (what == op::mean_var ? 2 : 1); }
  WF_HD full complete() const { return {{what, wf::rounding::nearest, correction}}; }

  /// A thread adds `length` elements at most, one after the other, and then `merges` sums of such. Each of the length + merges + 8 additions that a term goes
  /// through loses 2^-53 of a partial sum, which is no greater than Σ|x|, or Σx².
  WF_HD moments_facts facts(std::uint64_t n, std::uint64_t length, std::uint64_t merges) const {
    moments_facts f{};
    f.by = reciprocals::of(n, correction);
    f.n = static_cast<double>(n);
    f.sum_loss = f.square_loss = static_cast<double>(length + merges + 8) * (1 + 0x1p-7) * 0x1p-53;
    f.chain = length;
    return f;
  }
  static WF_HD std::uint64_t chain_of(std::uint64_t length) { return length; }

  __device__ __forceinline__ running start() const { return identity(); }
  __device__ __forceinline__ state identity() const { return {-0.0, 0, packed ? 0x7fff7fffu : ~0u}; }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t) const {
    if constexpr (packed) {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const two_doubles v = widened_two<T>(p[0].word[w]);
        add_value(r, v.low);
        add_value(r, v.high);
        look_at(r, p[0].word[w]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < items; ++i) add_number(r, item_of<T>(p[0], i));
    }
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const {
    add_number(r, item_of<T>(p[0], 0));
    if constexpr (packed) look_at(r, p[0].word[0] & 0xffffu);
  }
  __device__ __forceinline__ state total(const running& r, std::uint64_t) const { return r; }
  /// Turns a plain sum of `length` elements at most into that of a longer row.
  __device__ __forceinline__ quick_moments_pair lengthened(const state& s, std::uint64_t length) const {
    const double all = magnitudes(s.q, static_cast<double>(length));
    return {{s.s, 0}, s.q, all < units(s.least) || s.q == 0 ? 0 : __double2float_ru(all), s.least};
  }
  __device__ __forceinline__ state combine(state a, const state& b) const {
    a.s = certified::add(a.s, b.s);
    a.q = certified::add(a.q, b.q);
    a.least = lesser(a.least, b.least);
    return a;
  }

  /// Not inlined: it is long, and kernels come to it in several places.
  __device__ __attribute__((noinline)) bool answer(const state& s, std::uint64_t n, const moments_facts& f, void* to) const {
    const double all = magnitudes(s.q, f.n), below = units(s.least);
    return decide({s.s, 0, all < below ? 0 : certified::multiply(f.sum_loss, all)}, s.q, below, n, f, to);
  }
  /// All threads of the block, or one warp.
  template <wanted = wanted::nearest>
  __device__ __forceinline__ void exactly(room& shared, const row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    complete().template exactly<wanted::nearest>(shared, v, row, by_block, out);
  }

 protected:
  using format = exact::format<T>;

  static __device__ __forceinline__ std::uint32_t lesser(std::uint32_t a, std::uint32_t b) {
    if constexpr (packed) return __vmins2(a, b);
    else return min(a, b);
  }
  /// Two of f16 or bf16: zeros are out of the way.
  static __device__ __forceinline__ void look_at(running& r, std::uint32_t two) { r.least = __viaddmin_s16x2(two | 0x80008000u, ~0u, r.least); }
  static __device__ __forceinline__ void add_value(running& r, double v) {
    r.s = certified::add(r.s, v);
    r.q = certified::multiply_add(v, v, r.q);
  }
  static __device__ __forceinline__ void add_number(running& r, T x) {
    const float narrow = to_float(x);
    add_value(r, widened(narrow));
    if constexpr (!packed) r.least = min(r.least, 2 * __float_as_uint(narrow) - 1);
  }
  static __device__ __forceinline__ double power(int e) { return __hiloint2double((e + 1023) << 20, 0); }
  /// The most that Σ|x| can be, for n numbers whose squares add up to q.
  static __device__ __forceinline__ double magnitudes(double q, double n) {
    const int e = ((static_cast<int>(static_cast<std::uint32_t>(__double2hiint(q)) & 0x7fffffffu) >> 20) - (__double2hiint(n) >> 20)) >> 1;
    return certified::multiply(certified::multiply_add(q, power(-e), certified::multiply(n, power(e))), 0.5 * (1 + 0x1p-20));
  }
  /// 2^(unit + 53), where all elements are multiples of 2^unit.
  static __device__ __forceinline__ double units(std::uint32_t least) {
    if constexpr (packed) {
      const std::uint32_t bits = ((__vmins2(least, least >> 16) & 0xffffu) ^ 0x8000u) + 1;  // the least magnitude's
      return power(static_cast<int>(max(bits >> format::mantissa_bits, 1u)) - 1 + format::min_exponent + 53);
    } else {
      return power(static_cast<int>(least >> 24) - 127 + 29);
    }
  }

  /// The answer of a sum that is known and a sum of squares; `below`: 2^(unit + 53).
  __device__ __forceinline__ bool decide(const certified::known& sum, double q, double below, std::uint64_t n, const moments_facts& f, void* to) const {
    auto* const out = static_cast<T*>(to);
    const bool of_squares = what == op::norm2 || what == op::sum_of_squares;
    if (n == 0) {
      out[0] = format::from_bits(of_squares ? typename format::bits{0} : format::quiet_nan);
      if (what == op::mean_var) out[1] = out[0];
      return true;
    }
    if (!(q < certified::power(1000))) {  // an infinity, or a NaN: a double has room for all squares of others
      const double v = of_squares ? q : sum.h;
      const bool spreads = what == op::var || what == op::std_dev;
      out[0] = v != v || spreads ? format::from_bits(format::quiet_nan) : format::from_bits(static_cast<typename format::bits>(v < 0 ? format::infinity | format::sign_mask : format::infinity));
      if (what == op::mean_var) out[1] = format::from_bits(format::quiet_nan);
      return true;
    }
    // All squares are multiples of 2^(2·unit), and no partial sum is greater than the last.
    const double exact_below = certified::multiply(certified::multiply(below, below), 0x1p-53);
    const certified::known squares{q, 0, q < exact_below ? 0 : certified::multiply(f.square_loss, q)};
    const certified::known sums[1] = {sum};
    if (answer_quickly<1, true, true>(what, sums, squares, n, f.by, out)) return true;
    return answer_slowly(sum, squares, n, out);
  }
  /// Answers ties and near ties, and zeros. Not inlined: few rows come here.
  __device__ __attribute__((noinline)) bool answer_slowly(certified::known sum, certified::known squares, std::uint64_t n, T* out) const {
    const certified::known sums[1] = {sum};
    return certified::answer<1, true, true>({what, wf::rounding::nearest, correction}, sums, squares, n, out);
  }
};

/// The same of rows of which a thread has several totals, whose sums are merged as pairs.
template <class T>
struct quick_long_moments : quick_moments<T> {
  using base = quick_moments<T>;
  using state = quick_moments_pair;
  using running = typename base::running;

  /// A thread adds `length` elements at most to a chain; `merges` pairs are merged one after the other: an error of a merge is at most 2^-53 of Σ|x|, so that
  /// all errors of `merges` together are below merges · 2^-53 of it, and each of 2 · merges additions of errors loses 2^-53 of those.
  WF_HD moments_facts facts(std::uint64_t n, std::uint64_t length, std::uint64_t merges) const {
    moments_facts f = base::facts(n, length, merges);
    const auto m = static_cast<double>(merges + 1);
    f.pairs = 2 * m * m * 0x1p-106 * (1 + 0x1p-7);
    f.room = 0x1p53 / m * (1 - 0x1p-7);
    f.sum_loss = static_cast<double>(length + 8) * (1 + 0x1p-7) * 0x1p-53;
    return f;
  }
  __device__ __forceinline__ state identity() const { return {certified::pair::nothing(), 0, 0, base::identity().least}; }
  __device__ __forceinline__ state total(const running& r, std::uint64_t length) const { return base::lengthened(r, length); }
  __device__ __forceinline__ state combine(state a, const state& b) const {
    a.s.merge(b.s);
    a.q = certified::add(a.q, b.q);
    a.lossy = __fadd_ru(a.lossy, b.lossy);
    a.least = base::lesser(a.least, b.least);
    return a;
  }
  __device__ __attribute__((noinline)) bool answer(const state& s, std::uint64_t n, const moments_facts& f, void* to) const {
    const double all = base::magnitudes(s.q, f.n), below = base::units(s.least);
    double error = 0;
    if (s.lossy != 0 || !(all < certified::multiply(f.room, below))) error = certified::multiply_add(f.sum_loss, static_cast<double>(s.lossy), certified::multiply(f.pairs, all));
    const bool finite = s.q < certified::power(1000);
    return base::decide(finite ? certified::known_of(s.s, error) : certified::known{s.s.s, 0, 0}, s.q, below, n, f, to);
  }
};

template <class T>
  requires(std::is_same_v<number_of<T>, T> && sizeof(T) <= 4)
struct quick_of<certified_rows<T, terms::moments>> {
  using full = certified_rows<T, terms::moments>;
  static constexpr bool there = true, sums = false;
  using type = quick_moments<T>;
  using by_items = type;
  static WF_HD type of(const full& a) { return {a.q.what, a.q.correction}; }
  static WF_HD type items_of(const full& a) { return of(a); }
  static typename type::longer longer_of(const full& a) { return {of(a)}; }
  static bool fits(const full& a) { return !a.states && a.q.rounding == wf::rounding::nearest; }
};

}  // namespace wf::device::inline WF_BUILD
