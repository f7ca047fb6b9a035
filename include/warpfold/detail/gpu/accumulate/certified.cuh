// SPDX-License-Identifier: Apache-2.0
/// \file certified.cuh
/// Sums with a certificate on a GPU (detail/exact/certified.hpp): what a thread keeps while it adds, and how threads, warps and
/// blocks put it together. Terms of an array: Σx or Σ|x|, Σ|x|², Σx·y, or Σx and Σ|x|².
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/certified.hpp>
#include <warpfold/detail/gpu/domain/elements.cuh>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/domain/shared_place.cuh>
#include <warpfold/detail/gpu/epilogue/certified_answer.cuh>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/warp.cuh>

namespace wf::device::inline WF_BUILD {

/// What is kept of the terms of elements of T. (T is an element as kernels know it: parts<P> for complex numbers.)
template <class T, terms Terms>
struct certified_traits {
  using number = number_of<T>;
  static constexpr bool wide = sizeof(number) == 8, complex = !std::is_same_v<T, number>;
  static constexpr bool sums = Terms != terms::squares, products = Terms == terms::products;
  static constexpr bool squares = Terms == terms::squares || Terms == terms::moments;
  static constexpr int parts = complex && sums ? 2 : 1;          ///< sums
  static constexpr int pairs = (sums ? parts : 0) + (squares ? 1 : 0);
  static constexpr bool narrow = sizeof(number) == 2;            ///< two numbers a word
  /// Chains of doubles, which may lose something. Products of f16 and bf16 too: what their sums lose is far below what an answer of 11 bits shows.
  static constexpr bool chains = sums && !wide && (!products || narrow);
  /// Sums of f64 are kept times 2^-64, so that none overflows on its way.
  static constexpr int scale = wide && Terms == terms::sum ? certified::shrinks : 0;
  static constexpr int inputs = products ? 2 : 1;
  static constexpr int numbers = static_cast<int>(sizeof(T) / sizeof(number));  ///< an element's
  static constexpr int items = 16 / static_cast<int>(sizeof(T));                ///< a pack's
  /// How many running sums a thread has; for complex numbers every other one is of the imaginary parts.
  static constexpr int lanes = wide || (products && !chains) ? 2 : 4;
  /// How many additions a pack brings to one of them.
  static constexpr int adds_of_pack = products ? items * numbers * numbers / lanes : 16 / static_cast<int>(sizeof(number)) / lanes;

  /// The range of the terms.
  static __device__ __forceinline__ certified::range range_of(const certified::extent& e) {
    using layout = typename exact::format<number>::layout;
    if constexpr (products) return certified::range_of_products<layout>(e);
    else return certified::range_of<layout>(e);
  }
};

/// The state that threads tell each other.
template <class Traits>
struct certified_state {
  certified::pair pair[Traits::pairs];  ///< the sums, then the squares'
  certified::extent extent;             ///< what is summed, where sums are
  double loss;                          ///< for the chains of doubles

  static __device__ __forceinline__ certified_state nothing() {
    certified_state s;
#pragma unroll
    for (int i = 0; i < Traits::pairs; ++i) s.pair[i] = certified::pair::nothing();
    s.extent = certified::extent::nothing();
    s.loss = 0;
    return s;
  }
  /// A state whose answers are certain, whatever is asked: each sum, and that of squares, is 1.
  __device__ __forceinline__ void rehearse() {
    using f = exact::format<typename Traits::number>;
#pragma unroll
    for (int i = 0; i < Traits::pairs; ++i) pair[i] = {1, 0};
    if constexpr (Traits::sums) extent.add_bits(certified::extent_bits(f::from_bits(static_cast<typename f::bits>(((typename f::bits{1} << (f::exponent_bits - 1)) - 1) << f::mantissa_bits))));
  }
  __device__ __forceinline__ void merge(const certified_state& o) {
#pragma unroll
    for (int i = 0; i < Traits::pairs; ++i) pair[i].merge(o.pair[i]);
    if constexpr (Traits::sums) extent.merge(o.extent);
    if constexpr (Traits::chains) loss = certified::add(loss, o.loss);
  }
  struct unseen {
    __device__ __forceinline__ void operator()(const certified::extent&) const {}
  };
  /// All lanes call it, the first Lanes of them with states: their state is then in lane 0. First the sums, then what these lost: so a step waits for a
  /// shuffle and an addition, not for a merge's five. see(extent): of all of them, while sums are on their way.
  template <int Lanes = warp_lanes, class See = unseen>
  __device__ __forceinline__ void merge_warp(See see = {}) {
    if constexpr (Traits::sums) {
      extent.greatest = warp_max(extent.greatest);
      extent.least = warp_min(extent.least);
    }
    see(extent);
    constexpr int steps = Lanes == 32 ? 5 : Lanes == 16 ? 4 : Lanes == 8 ? 3 : 2;
    static_assert(Lanes == 1 << steps);
    double lost[Traits::pairs][steps];
#pragma unroll
    for (int k = 0; k < steps; ++k) {
#pragma unroll
      for (int i = 0; i < Traits::pairs; ++i) {
        const certified::exact_sum_of t = certified::two_sum(pair[i].s, __shfl_down_sync(all_lanes, pair[i].s, Lanes >> (k + 1)));
        pair[i].s = t.sum;
        lost[i][k] = t.error;
      }
    }
#pragma unroll
    for (int k = 0; k < steps; ++k) {
#pragma unroll
      for (int i = 0; i < Traits::pairs; ++i) {
        const double other = __shfl_down_sync(all_lanes, pair[i].c, Lanes >> (k + 1));
        pair[i].c = certified::add(certified::add(pair[i].c, lost[i][k]), other);
      }
    }
    if constexpr (Traits::chains) {
      if (__any_sync(all_lanes, loss != 0)) loss = warp_sum(loss);
    }
  }

  /// All threads of a block of `warps` warps, of up to Threads threads, call it: the block's state is then in thread 0. One barrier, or none.
  /// `merged`: lane 0 of each warp has the warp's.
  template <int Threads, class See>
  __device__ __forceinline__ void merge_block(const shared_place<certified_state>& of_warp, int warps, See see, bool merged = false) {
    if (!merged) merge_warp();
    if (warps <= 1) {
      see(extent);
      return;
    }
    if (lane_index() == 0) of_warp.put(warp_index(), *this);
    __syncthreads();
    if (warp_index() == 0) merge_warps<Threads>(of_warp, warps, see);
  }
  /// All lanes of a warp call it: the state in lane 0 is that of `warps` others.
  template <int Threads, class See>
  __device__ __forceinline__ void merge_warps(const shared_place<certified_state>& of_warp, int warps, See see) {
    if (lane_index() < warps) *this = of_warp.get(lane_index());
    else *this = nothing();
    if (warps > 8) merge_warp<Threads / warp_lanes>(see);  // each step takes 40 cycles
    else if (warps > 4) merge_warp<8>(see);
    else merge_warp<4>(see);
  }

  // As words for a mailbox, none of which is zero: complements of doubles, and the extent with a mark.
  static constexpr int words = 2 * Traits::pairs + (Traits::sums ? 1 : 0) + (Traits::chains ? 1 : 0);
  static constexpr int extent_word = 2 * Traits::pairs;
  /// `mark` goes into the word of the extent, where there is one.
  __device__ __forceinline__ void to_words(std::uint64_t (&w)[words], bool mark) const {
#pragma unroll
    for (int i = 0; i < Traits::pairs; ++i) {
      w[2 * i] = word_of(pair[i].s);
      w[2 * i + 1] = word_of(pair[i].c);
    }
    if constexpr (Traits::sums) {
      const std::uint64_t greatest = extent.greatest >> 1 | (extent.greatest & 1), least = extent.least >> 1;
      w[extent_word] = std::uint64_t{1} << 63 | greatest << 32 | (mark ? std::uint64_t{1} << 31 : 0) | least;
    }
    if constexpr (Traits::chains) w[extent_word + 1] = word_of(loss);
  }
  static __device__ __forceinline__ certified_state from_words(const std::uint64_t (&w)[words]) {
    certified_state s = nothing();
#pragma unroll
    for (int i = 0; i < Traits::pairs; ++i) s.pair[i] = {double_of(w[2 * i]), double_of(w[2 * i + 1])};
    if constexpr (Traits::sums) {
      // The least may come out one less, but of f32 and narrower it is what it was.
      s.extent = {static_cast<std::uint32_t>(w[extent_word] >> 32) << 1,
                  static_cast<std::uint32_t>(w[extent_word]) << 1 | (Traits::wide ? 0u : 1u)};
    }
    if constexpr (Traits::chains) s.loss = double_of(w[extent_word + 1]);
    return s;
  }
  static __device__ __forceinline__ bool marked(const std::uint64_t (&w)[words]) {
    return Traits::sums && (w[Traits::sums ? extent_word : 0] & std::uint64_t{1} << 31) != 0;
  }

 private:
  static __device__ __forceinline__ std::uint64_t word_of(double v) {
    const std::uint64_t w = ~__builtin_bit_cast(std::uint64_t, v);
    return w == 0 ? 1 : w;  // one NaN for another
  }
  static __device__ __forceinline__ double double_of(std::uint64_t w) { return __builtin_bit_cast(double, ~w); }
};

/// What a thread adds to.
template <class T, terms Terms>
struct certified_running {
  using traits = certified_traits<T, Terms>;
  using number = typename traits::number;
  using state = certified_state<traits>;
  using lane_type = std::conditional_t<traits::chains, double, certified::pair>;
  static constexpr int lanes = traits::lanes;
  using square_type = std::conditional_t<traits::wide, certified::pair, double>;

  lane_type sum[lanes];
  square_type square[lanes];
  certified::extent extent;
  std::uint32_t greatest_two, least_two;  ///< for packs of f16 and bf16, of the elements in the lower and in the upper halves of words: the greatest magnitude's (products: sum of magnitudes') bits, and the least but zero, less 1
  std::uint32_t kept_bits;  ///< the bits of a double's upper word, or of two elements of f16 or bf16, that count; for norm1 all but the signs

  __device__ __forceinline__ void start(op what) {
#pragma unroll
    for (int i = 0; i < lanes; ++i) {
      if constexpr (traits::chains) sum[i] = -0.0;
      else sum[i] = certified::pair::nothing();
      if constexpr (traits::wide) square[i] = certified::pair::nothing();
      else square[i] = -0.0;
    }
    extent = certified::extent::nothing();
    greatest_two = 0;
    least_two = ~0u;
    kept_bits = what != op::norm1 ? ~0u : traits::narrow ? 0x7fff7fffu : 0x7fffffffu;
  }
  __device__ __forceinline__ void add(const pack (&p)[traits::inputs]) {
    if constexpr (traits::narrow) {
#pragma unroll
      for (int w = 0; w < 4; ++w) add_two(p, w);
    } else if constexpr (traits::products) {
#pragma unroll
      for (int i = 0; i < traits::items; ++i) add_product(item_of<T>(p[0], i), item_of<T>(p[1], i), i);
    } else {
#pragma unroll
      for (int i = 0; i < 16 / static_cast<int>(sizeof(number)); ++i) add_number(item_of<number>(p[0], i), i % lanes);
    }
  }
  __device__ __forceinline__ void add_item(const T& x) { add_item_to(x, 0); }
  /// Adds the i-th of several elements to its running sum; the compiler knows i.
  __device__ __forceinline__ void add_item_to(const T& x, int i) {
    if constexpr (traits::complex) {
      add_number(x.re, 2 * i % lanes);
      add_number(x.im, (2 * i + 1) % lanes);
    } else {
      add_number(x, i % lanes);
    }
  }
  __device__ __forceinline__ void add_item(const T& x, const T& y) { add_product(x, y, 0); }

  /// `length`: how many additions the longest chain has.
  __device__ __forceinline__ state total(std::uint64_t length) {
    state s = state::nothing();
    if constexpr (traits::sums) {
      merge_lanes<traits::parts>(sum, &s.pair[0]);
      s.extent = whole_extent();
    }
    if constexpr (traits::squares) merge_lanes<1>(square, &s.pair[traits::pairs - 1]);
    if constexpr (traits::chains) {
      s.loss = certified::loss_of_chain(traits::range_of(s.extent), length, lanes * length);
    }
    return s;
  }
  __device__ __forceinline__ certified::extent whole_extent() const {
    certified::extent e = extent;
    if constexpr (traits::narrow && traits::sums) {
      constexpr int twice = traits::products ? 0 : 1;
      e.greatest = max(e.greatest, max((greatest_two & 0xffff0000u) << twice, greatest_two << 16 << twice));
      e.least = min(e.least, min(least_two << 1 | 0x1ffffu, least_two << 17 | 0x1ffffu));
    }
    return e;
  }

 private:
  static __device__ __forceinline__ certified::pair as_pair(const certified::pair& p) { return p; }
  static __device__ __forceinline__ certified::pair as_pair(double s) { return {s, 0}; }
  /// Merges running sum i into part i mod Parts, by halves, since a merge takes 50 cycles.
  template <int Parts, class Lane>
  static __device__ __forceinline__ void merge_lanes(const Lane (&lane)[lanes], certified::pair* to) {
    certified::pair p[lanes];
#pragma unroll
    for (int i = 0; i < lanes; ++i) p[i] = as_pair(lane[i]);
#pragma unroll
    for (int step = lanes / 2; step >= Parts; step /= 2) {
#pragma unroll
      for (int i = 0; i < step; ++i) p[i].merge(p[i + step]);
    }
#pragma unroll
    for (int i = 0; i < Parts; ++i) to[i] = p[i];
  }

  static __device__ __forceinline__ double to_double(number x) {
    if constexpr (sizeof(number) == 8) return x;
    else return widened(to_float(x));
  }
  /// Adds the elements of f16 or bf16 in word w of each input.
  __device__ __forceinline__ void add_two(const pack (&p)[traits::inputs], int w) {
    const std::uint32_t x = p[0].word[w] & 0x7fff7fffu;
    if constexpr (traits::sums) least_two = __viaddmin_u16x2(x, ~0u, least_two);  // a zero, less 1, is out of the way
    if constexpr (traits::products) {
      const std::uint32_t y = p[1].word[w] & 0x7fff7fffu;
      least_two = __viaddmin_u16x2(y, ~0u, least_two);
      greatest_two = __viaddmax_u16x2(x, y, greatest_two);
      const two_doubles a = widened_two<number>(p[0].word[w]), b = widened_two<number>(p[1].word[w]);
      sum[2 * w % lanes] = certified::multiply_add(a.low, b.low, sum[2 * w % lanes]);
      sum[(2 * w + 1) % lanes] = certified::multiply_add(a.high, b.high, sum[(2 * w + 1) % lanes]);
    } else {
      if constexpr (traits::sums) greatest_two = __vmaxu2(greatest_two, x);
      const two_doubles v = widened_two<number>(traits::sums ? p[0].word[w] & kept_bits : p[0].word[w]);
      add_value(v.low, 2 * w % lanes);
      add_value(v.high, (2 * w + 1) % lanes);
    }
  }
  __device__ __forceinline__ void add_number(number x, int lane) {
    double v = to_double(x);
    if constexpr (traits::sums) {
      const std::uint32_t upper = traits::narrow ? kept_bits | 0x7fffffffu : kept_bits;
      v = __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, v) & (std::uint64_t{upper} << 32 | 0xffffffffu));
      extent.add_bits(certified::extent_bits(x));
    }
    add_value(v, lane);
  }
  /// Adds v to the sum, where there is one, and its square to the squares.
  __device__ __forceinline__ void add_value(double v, int lane) {
    if constexpr (traits::sums) {
      if constexpr (traits::chains) sum[lane] = certified::add(sum[lane], v);
      else if constexpr (traits::scale != 0) sum[lane].add_term(certified::multiply(v, certified::shrink));
      else sum[lane].add_term(v);
    }
    if constexpr (traits::squares) {
      if constexpr (traits::wide) square[lane].add_product(v, v);
      else square[lane] = certified::multiply_add(v, v, square[lane]);
    }
  }
  /// The bits of a magnitude, left-aligned in 32 bits without a sign.
  static __device__ __forceinline__ std::uint32_t magnitude_bits(number x) { return certified::extent_bits(x) >> 1; }
  __device__ __forceinline__ void add_one_product(number x, number y, bool minus, int lane) {
    const double a = to_double(x), b = minus ? -to_double(y) : to_double(y);
    if constexpr (traits::wide) sum[lane].add_product(a, b);
    else if constexpr (traits::chains) sum[lane] = certified::multiply_add(a, b, sum[lane]);
    else sum[lane].add_term(certified::multiply(a, b));
    extent.greatest = max(extent.greatest, magnitude_bits(x) + magnitude_bits(y));
  }
  __device__ __forceinline__ void add_least(number x) {
    if constexpr (!traits::wide) extent.least = min(extent.least, certified::extent_bits(x) - 1);
  }
  __device__ __forceinline__ void add_product(const T& x, const T& y, int lane) {
    if constexpr (traits::complex) {
      add_one_product(x.re, y.re, false, 0);
      add_one_product(x.im, y.im, true, 0);
      add_one_product(x.re, y.im, false, 1);
      add_one_product(x.im, y.re, false, 1);
      add_least(x.re);
      add_least(x.im);
      add_least(y.re);
      add_least(y.im);
    } else {
      add_one_product(x, y, false, lane % lanes);
      add_least(x);
      add_least(y);
    }
  }
};

/// A question, and numbers for its answer that the host computes.
struct certified_question {
  certified::question q;
  std::uint64_t length;  ///< the longest chain of additions to one number
  reciprocals by;
  loss_factors loss;
  int bits = 0;  ///< for anchored moments: a segment has 2^bits elements of a thread at most
};

/// The sums that a state knows; `factors` as the host has them, or made anew.
template <class T, terms Terms>
__device__ __forceinline__ void known_sums(const certified_state<certified_traits<T, Terms>>& s, const loss_factors& factors,
                                           certified::known (&sum)[certified_traits<T, Terms>::parts], certified::known& squares) {
  using traits = certified_traits<T, Terms>;
  sum[0] = squares = certified::uncertain();
  certified::range r{};
  if constexpr (traits::sums) {
    r = traits::range_of(s.extent);
    bool below = false;
    if constexpr (traits::scale != 0) {
      r.top -= traits::scale;
      r.unit -= traits::scale;
      below = r.unit < -1074 && s.extent.greatest != 0;  // the last bits of the least are lost
      if (below) r.unit = -1074;
    }
    double loss = certified::times_power(traits::products && traits::wide ? factors.products : factors.pairs, r.top);
    if (!(traits::products && traits::wide) && r.top + factors.pair_bits - r.unit <= 53) loss = 0;
    else if (r.top < -900) loss = certified::power(1024);  // it would underflow
    if (!r.finite) loss = certified::power(1024);
    // Zeros; of products of f64 the extent does not tell them from the least numbers.
    if (s.extent.greatest == 0 && !(traits::products && traits::wide)) loss = 0;
    if ((traits::products && traits::wide) || below) loss = certified::add(loss, factors.underflow);
    if constexpr (traits::chains) loss = certified::add(loss, s.loss + s.loss * 0x1p-20);
#pragma unroll
    for (int i = 0; i < traits::parts; ++i) sum[i] = certified::known_of(s.pair[i], loss, traits::scale);
  }
  if constexpr (traits::squares) {
    const certified::pair& p = s.pair[traits::pairs - 1];
    double loss = certified::multiply(factors.squares, certified::magnitude(p.s));
    if (traits::wide) loss = certified::add(loss, factors.underflow);
    if constexpr (Terms == terms::moments && traits::wide) {
      if (factors.anchored != 0) {
        const bool within = (r.top > certified::least_anchor - certified::anchor_spare) & (r.top <= certified::greatest_anchor - certified::anchor_spare);
        loss = within ? certified::add(loss, certified::multiply(factors.anchored, certified::power(2 * r.top))) : certified::power(1024);
        if (!within) sum[0].error = certified::power(1024);
      }
    }
    // All squares are multiples of 2^(2·unit): nothing was lost of a sum that is 53 bits from that.
    if (!traits::wide && traits::sums && r.finite && certified::magnitude(p.s) <= certified::power(2 * r.unit + 53)) loss = 0;
    squares = certified::known_of(p, loss);
  }
}

/// Whether states of such terms can tell that nothing was lost: then its sums are those of the elements, to the last bit. Squares have too many bits
/// for that, and of products of f64 the extent does not tell where they end.
template <class T, terms Terms>
inline constexpr bool may_lose_nothing = certified_traits<T, Terms>::sums && !certified_traits<T, Terms>::squares && !(certified_traits<T, Terms>::products && certified_traits<T, Terms>::wide);
/// Whether pairs lose nothing, as the extent tells; chains of doubles have a loss of their own.
template <class T, terms Terms>
__device__ __forceinline__ bool pairs_lose_nothing(const certified::extent& extent, const loss_factors& factors) {
  using traits = certified_traits<T, Terms>;
  if constexpr (!may_lose_nothing<T, Terms>) {
    return false;
  } else {
    const certified::range r = traits::range_of(extent);
    return r.finite & ((extent.greatest == 0) | (r.unit - traits::scale >= -1074)) & (r.top + factors.pair_bits - r.unit <= 53);
  }
}
/// `pairs`: what pairs_lose_nothing() said of its extent.
template <class T, terms Terms>
__device__ __forceinline__ bool loses_nothing(const certified_state<certified_traits<T, Terms>>& s, bool pairs) {
  return pairs & (!certified_traits<T, Terms>::chains | (s.loss == 0));
}

/// Writes the answer that infinities and NaNs decide, where nothing else is infinite on the way: a sum in floating point tells it. False where
/// all is finite.
template <class T, terms Terms, class Out>
__device__ __forceinline__ bool special_sums(const certified_state<certified_traits<T, Terms>>& s, op what, Out* out) {
  using traits = certified_traits<T, Terms>;
  using f = exact::format<Out>;
  if constexpr (traits::complex || (traits::wide && Terms != terms::sum)) {
    return false;
  } else {
    const double v = s.pair[0].s;
    if (certified::magnitude(v) < certified::power(1024)) return false;
    const Out nan = f::from_bits(f::quiet_nan);
    const bool spreads = what == op::var || what == op::std_dev;
    out[0] = v != v || spreads ? nan
                               : f::from_bits(static_cast<typename f::bits>(v < 0 ? f::infinity | f::sign_mask : f::infinity));
    if (what == op::mean_var) out[1] = nan;
    return true;
  }
}

/// The answer to a question of n elements, by one thread, in most cases; false if another way must be tried. `hopeless`: more was lost than a sum's last
/// places, and nothing but exact digits will do. `pairs`: pairs_lose_nothing().
template <class T, terms Terms, class Out>
__device__ __forceinline__ bool certified_quickly(const certified_state<certified_traits<T, Terms>>& s, const certified_question& q,
                                                  std::uint64_t n, bool pairs, Out* out, bool& hopeless) {
  using traits = certified_traits<T, Terms>;
  hopeless = false;
  if (q.q.rounding != wf::rounding::nearest) return false;
  if constexpr (sizeof(Out) == 8 && may_lose_nothing<T, Terms>) {  // a sum of two doubles, of which nothing was lost, is rounded by an addition
    if (loses_nothing<T, Terms>(s, pairs) & (q.q.what != op::mean)) {
      Out to[traits::parts];
      bool sure = n != 0;
#pragma unroll
      for (int i = 0; i < traits::parts; ++i) {
        const double h = certified::add(s.pair[i].s, s.pair[i].c), m = certified::magnitude(h);
        to[i] = certified::multiply(h, certified::power(traits::scale));
        sure = m > 0x1p-900 && m < 0x1p1020 && sure;
      }
      if (sure) {
#pragma unroll
        for (int i = 0; i < traits::parts; ++i) out[i] = to[i];
        return true;
      }
    }
  }
  certified::known sum[traits::parts], squares;
  known_sums<T, Terms>(s, q.loss, sum, squares);
  if constexpr (traits::sums && !traits::squares) {
#pragma unroll
    for (int i = 0; i < traits::parts; ++i) {
      const double error = sum[i].error, seen = certified::multiply(error, certified::power(exact::format<Out>::mantissa_bits - 2));
      hopeless |= error > 0 && error < 0x1p900 && seen >= certified::magnitude(sum[i].h);
    }
  }
  return answer_quickly<traits::parts, traits::sums, traits::squares>(q.q.what, sum, squares, n, q.by, out);
}

/// What the first try does not take: false if it is uncertain. Not inlined, since few come here; so that what is called with lies in no
/// thread's memory before, the state is a copy and the question a __grid_constant__.
template <class T, terms Terms, class Out>
__device__ __attribute__((noinline)) bool certified_slowly(certified_state<certified_traits<T, Terms>> s, const certified_question& q,
                                                           std::uint64_t n, Out* out) {
  using traits = certified_traits<T, Terms>;
  if (n == 0) return false;
  if (special_sums<T, Terms>(s, q.q.what, out)) return true;
  certified::known sum[traits::parts], squares;
  known_sums<T, Terms>(s, q.loss, sum, squares);
  return certified::answer<traits::parts, traits::sums, traits::squares>(q.q, sum, squares, n, out);
}

}  // namespace wf::device::inline WF_BUILD
