// SPDX-License-Identifier: Apache-2.0
/// \file rows_certified.cuh
/// Exact sums of floats as accumulators of rows (rows_kernel.cuh): in doubles, by a certificate of each row, and in bins
/// of 16 bits where that fails.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/binned_rows.cuh>
#include <warpfold/detail/gpu/accumulate/certified.cuh>
#include <warpfold/detail/gpu/accumulate/row_accumulator.cuh>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>
#include <warpfold/detail/gpu/epilogue/state_words.cuh>

namespace wf::device::inline WF_BUILD {

/// What the answers of rows of one length have in common.
struct row_facts {
  reciprocals by;
  loss_factors loss;
  std::uint64_t chain;  ///< terms that a thread adds one after the other, at most

  /// The facts of rows of n elements. An element has `numbers` numbers; a thread adds at most `length` terms; `merges` pairs
  /// are merged one after the other, beside those that certified::merges allows for.
  template <bool Wide>
  static WF_HD row_facts of(std::uint64_t n, std::uint64_t numbers, std::int64_t correction, std::uint64_t length,
                            std::uint64_t merges, bool chains) {
    constexpr int far = -4096;
    const std::uint64_t all = n * numbers, paired = (chains ? 1 : length) + merges;
    row_facts f{};  // what chains lose, threads tell
    f.by = reciprocals::of(n, correction);
    f.chain = length;
    f.loss.pairs = certified::loss_of_pairs({0, far, true}, paired, all);
    f.loss.products = certified::loss_of_products(0, length + merges, all);
    f.loss.squares = Wide ? certified::loss_of_squares(1, length + merges, all) : certified::loss_of_narrow_squares(1, length + merges);
    f.loss.underflow = certified::multiply(static_cast<double>(all), certified::underflow);
    f.loss.pair_bits = certified::log2_of(all) + certified::log2_of(paired + static_cast<std::uint64_t>(certified::merges)) - 53;
    return f;
  }
};

/// A sum, its errors, and whether those lost anything. It decides ties of numbers with few digits, and rows that cancel to little. Number: float where elements have few bits, as its
/// operations take a fraction of a double's.
template <class Number>
struct exact_look {
  Number s = -Number{0}, c = 0;
  bool lost = false;

  __device__ __forceinline__ void add(Number x) {
    const auto sum = sum_of(s, x);
    s = sum.sum;
    add_error(sum.error);
  }
  /// Most elements of a row of few digits lose nothing.
  template <int N>
  __device__ __forceinline__ void add(const Number (&x)[N]) {
    Number error[N];
    bool any = false;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const auto sum = sum_of(s, x[k]);
      s = sum.sum;
      error[k] = sum.error;
      any = any || sum.error != 0;  // a NaN is, too
    }
    if (!any) return;
#pragma unroll
    for (int k = 0; k < N; ++k) add_error(error[k]);
  }
  __device__ __forceinline__ void merge(Number other, Number errors) {
    add(other);
    add_error(errors);
  }
  /// Merges the sum of the lane whose index differs in the bits of `mask`.
  __device__ __forceinline__ void merge_beside(int mask) {
    merge(__shfl_xor_sync(all_lanes, s, mask), __shfl_xor_sync(all_lanes, c, mask));
    lost = __shfl_xor_sync(all_lanes, lost ? 1 : 0, mask) != 0 || lost;
  }
  /// All lanes have the warp's afterwards; all of them call.
  __device__ __forceinline__ void merge_warp() {
#pragma unroll 1
    for (int step = 1; step < warp_lanes; step *= 2) merge(__shfl_xor_sync(all_lanes, s, step), __shfl_xor_sync(all_lanes, c, step));
    lost = __any_sync(all_lanes, lost);
  }
  __device__ __forceinline__ certified::known known() const { return certified::known_of(certified::pair{static_cast<double>(s), static_cast<double>(c)}, 0); }

 private:
  struct sum_of_two {
    Number sum, error;
  };
  static __device__ __forceinline__ sum_of_two sum_of(Number a, Number b) {
    if constexpr (sizeof(Number) == 8) {
      const auto t = certified::two_sum(a, b);
      return {t.sum, t.error};
    } else {
      const float t = __fadd_rn(a, b), z = __fadd_rn(t, -a);
      return {t, __fadd_rn(__fadd_rn(a, -__fadd_rn(t, -z)), __fadd_rn(b, -z))};
    }
  }
  __device__ __forceinline__ void add_error(Number x) {
    const auto errors = sum_of(c, x);
    c = errors.sum;
    lost = lost || errors.error != 0;
  }
};

/// T: an element as kernels know it. For real numbers sums of squares are kept beside the sums, as moments.
template <class T, terms Terms>
struct certified_rows {
  using traits = certified_traits<T, Terms>;
  using number = typename traits::number;
  using running = certified_running<T, Terms>;
  using bins = binned_rows<T, Terms, 1>;
  static constexpr int wide_copies = bin_copies<T, Terms>;
  using wide_bins = binned_rows<T, Terms, wide_copies>;
  static constexpr int inputs = traits::inputs, items = traits::items;
  static constexpr int size = static_cast<int>(sizeof(T)), align = static_cast<int>(alignof(T));
  static constexpr int fixed_size = size, fixed_align = align;
  /// An answer takes as long as so many elements (rows_ragged.cuh).
  static constexpr std::uint64_t segment_units = Terms != terms::sum || sizeof(T) >= 8 ? 8 : sizeof(T) == 4 ? 12 : 24;
  static constexpr bool proves = true, packs = !traits::complex;  ///< packs: also by the kernels of columns and of long rows
  struct nothing_lost {};
  struct chains_lost {
    double loss;  ///< for the chains of doubles, at most
  };
  struct state : std::conditional_t<traits::chains, chains_lost, nothing_lost> {
    certified::pair pair[traits::pairs];
    certified::extent extent;
  };

  certified::question q;
  bool states = false;            ///< states are wanted, not answers: of each row the exact digits
  std::size_t state_bytes = 0;

  int item_size() const { return size; }
  int item_align() const { return align; }
  std::size_t result_size() const {
    if (states) return state_bytes;
    const bool mean = q.what == op::mean_var;
    const bool both = q.what == op::sum || q.what == op::mean || q.what == op::dot;
    return sizeof(number) * static_cast<std::size_t>((both || mean ? traits::numbers : 1) + (mean ? 1 : 0));
  }
  WF_HD row_facts facts(std::uint64_t n, std::uint64_t length, std::uint64_t merges) const {
    return row_facts::of<traits::wide>(n, traits::numbers, q.correction, chain_of(length), merges, traits::chains);
  }
  static WF_HD std::uint64_t chain_of(std::uint64_t length) { return length * traits::numbers * traits::numbers + 4; }

  /// The answer of one row whose length no other row has, by facts of its own.
  __device__ __attribute__((noinline)) bool answer_here(const state& s, std::uint64_t n, std::uint64_t length, std::uint64_t merges, void* to) const {
    return answer(s, n, facts(n, length, merges), to);
  }

  __device__ __forceinline__ running start() const {
    running r;
    r.start(q.what);
    return r;
  }
  /// Adds all items of a pack.
  __device__ __forceinline__ void add(running& r, const pack (&p)[inputs], std::uint64_t) const { r.add(p); }
  /// Adds the first item of a pack to one chain.
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[inputs], std::uint64_t) const {
    if constexpr (inputs == 2) r.add_item(item_of<T>(p[0], 0), item_of<T>(p[1], 0));
    else r.add_item(item_of<T>(p[0], 0));
  }
  __device__ __forceinline__ state identity() const {
    state s;
#pragma unroll
    for (int i = 0; i < traits::pairs; ++i) s.pair[i] = certified::pair::nothing();
    s.extent = certified::extent::nothing();
    if constexpr (traits::chains) s.loss = 0;
    return s;
  }
  /// `chain`: how many terms were added one after the other, at most. The loss is computed from the thread's own range, as for whole arrays: the range of all
  /// elements of a long row is too wide to say that nothing was.
  __device__ __forceinline__ state total(const running& r, std::uint64_t chain) const {
    state s = identity();
    s.extent = r.whole_extent();
    if constexpr (traits::chains) {
      s.loss = certified::loss_of_chain(traits::range_of(s.extent), chain, chain);
#pragma unroll
      for (int p = 0; p < traits::parts; ++p) {
        double t = r.sum[p];
#pragma unroll
        for (int i = p + traits::parts; i < traits::lanes; i += traits::parts) t = certified::add(t, r.sum[i]);
        s.pair[p] = {t, 0};
      }
    } else if constexpr (traits::sums) {
#pragma unroll
      for (int i = 0; i < traits::lanes; ++i) s.pair[i % traits::parts].merge(r.sum[i]);
    }
    if constexpr (traits::squares) {
      certified::pair& square = s.pair[traits::pairs - 1];
      if constexpr (traits::wide) {
#pragma unroll
        for (int i = 0; i < traits::lanes; ++i) square.merge(r.square[i]);
      } else {
        double t = r.square[0];
#pragma unroll
        for (int i = 1; i < traits::lanes; ++i) t = certified::add(t, r.square[i]);
        square = {t, 0};
      }
    }
    return s;
  }
  __device__ __forceinline__ state combine(state a, const state& b) const {
#pragma unroll
    for (int i = 0; i < traits::pairs; ++i) a.pair[i].merge(b.pair[i]);
    if constexpr (traits::sums) a.extent.merge(b.extent);
    if constexpr (traits::chains) a.loss = certified::add(a.loss, b.loss);
    return a;
  }

  /// One thread writes the answer; false if it is uncertain. What decides nearly all answers is inlined, without a call in its way; the rest is a function of its own. So is all of it for sums of
  /// real numbers, whose answers to nearest are found elsewhere (quick_of).
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, const row_facts& f, void* to) const {
    if constexpr (real_sums) {
      return answer_apart(s, n, f, to);
    } else {
      if (states) return false;
      if (n != 0 && q.rounding == wf::rounding::nearest) {
        certified::known sum[traits::parts], squares;
        known_sums<T, Terms>(whole_state(s), f.loss, sum, squares);
        if (answer_quickly<traits::parts, traits::sums, traits::squares>(q.what, sum, squares, n, f.by, static_cast<number*>(to))) return true;
      }
      const state apart = s;  // so that `s` stays in registers
      return answer_apart(apart, n, f, to);
    }
  }
  /// The same of no elements, special values, ties and other roundings.
  __device__ __attribute__((noinline)) bool answer_apart(const state& s, std::uint64_t n, const row_facts& f, void* to) const {
    if (real_sums && states) return false;
    auto* const out = static_cast<number*>(to);
    if (n == 0) {
      using format = exact::format<number>;
      const bool none = q.what == op::mean || q.what == op::var || q.what == op::std_dev || q.what == op::mean_var;
      const int count = static_cast<int>(result_size_on_device() / sizeof(number));
      for (int i = 0; i < count; ++i) out[i] = format::from_bits(none ? format::quiet_nan : typename format::bits{0});
      return true;
    }
    const auto c = whole_state(s);
    const bool of_squares = q.what == op::norm2 || q.what == op::sum_of_squares;
    certified::known sum[traits::parts], squares;
    known_sums<T, Terms>(c, f.loss, sum, squares);
    if (real_sums && q.rounding == wf::rounding::nearest && answer_quickly<traits::parts, traits::sums, traits::squares>(q.what, sum, squares, n, f.by, out)) return true;
    if (!of_squares && special_sums<T, Terms>(c, q.what, out)) return true;
    if constexpr (real_sums) return answer_slowly<>(sum[0], n, out);
    else return certified::answer<traits::parts, traits::sums, traits::squares>(q, sum, squares, n, out);
  }

  /// A sum or a mean by any rounding, or to nearest. Not inlined: two ways end here, and seldom.
  template <wanted Wanted = wanted::answers>
  __device__ __attribute__((noinline)) bool answer_slowly(certified::known s, std::uint64_t n, number* out) const {
    const certified::known sum[1] = {s};
    return certified::answer<1, true, false>({q.what, rounding_of<Wanted>(), q.correction}, sum, certified::uncertain(), n, out);
  }

  /// Shared memory for the exact way: digits, and beside them bins.
  struct exact_room {
    std::int64_t digits[bins::digits + spread_digits<bins> > 32 ? bins::digits + spread_digits<bins> : 32];
    std::uint32_t kinds[bins::watches];
  };
  struct room : exact_room {
    bins rows;
  };
  /// All threads of the block, or one warp, add the row exactly, whatever its certificate says. This is not inlined either.
  template <wanted Wanted = wanted::states>
  __device__ __forceinline__ void exactly(room& shared, const row_view<inputs>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    if constexpr (real_sums) again_or_by_digits<Wanted>(shared, v, row, by_block, out);
    else by_digits<Wanted>(shared, v, row, by_block, out);
  }
  template <wanted Wanted>
  __device__ __attribute__((noinline)) void again_or_by_digits(room& shared, const row_view<inputs>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    const auto quickly = [&](const exact_look<look_number>& look) { return round_look<Wanted>(look, reinterpret_cast<number*>(out)); };
    if ((Wanted != wanted::states || !states) && again<Wanted>(shared, v, row, by_block, out, quickly)) return;
    by_digits<Wanted>(shared, v, row, by_block, out);
  }
  /// All threads of the block, or one warp, add the row once more and keep every error. True, for all of them, if that decides the answer. quickly(look): tries to, in few instructions.
  template <wanted Wanted, class Quickly>
  __device__ __forceinline__ bool again(room& shared, const row_view<1>& v, std::uint64_t row, bool by_block, unsigned char* out, const Quickly& quickly) const {
    const unsigned char* p[1];
    const std::uint64_t n = v.begin(row, p);
    const unsigned thread = by_block ? unsigned{threadIdx.x} : static_cast<unsigned>(lane_index());
    const unsigned threads = by_block ? unsigned{blockDim.x} : warp_lanes;
    exact_look<look_number> look;
    const auto number_of_element = [&](const T& element) {
      look_number x = 0;
      if constexpr (traits::wide) x = element;
      else x = static_cast<look_number>(to_float(element));
      return q.what == op::norm1 ? magnitude_of(x) : x;
    };
    const auto take = [&](const T& element) { look.add(number_of_element(element)); };
    const auto take_pack = [&](const pack& from) {
      look_number x[items];
#pragma unroll
      for (int e = 0; e < items; ++e) x[e] = number_of_element(item_of<T>(from, e));
      look.add(x);
    };
    constexpr int ahead = 8;
    std::uint64_t i = thread;
    const bool line = v.offsets != nullptr || v.dims - v.kept <= 1;
    const std::int64_t step = line ? v.element(1, 0) : 0;
    if (step == size) {  // side by side: by packs between multiples of 16
      const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p[0]) % 16);
      const std::uint64_t before = min(n, std::uint64_t{(16 - address) % 16 / size}), whole_packs = (n - before) / items;
      constexpr int at_once = ahead / 2;
      std::uint64_t k = thread;
#pragma unroll 1
      for (; k + (at_once - 1) * std::uint64_t{threads} < whole_packs; k += std::uint64_t{at_once} * threads) {
        pack some[at_once];
#pragma unroll
        for (int j = 0; j < at_once; ++j) some[j] = load_bytes(p[0] + before * size + (k + static_cast<unsigned>(j) * threads) * 16, 16);
#pragma unroll 1
        for (int j = 0; j < at_once; ++j) {
          take_pack(some[0]);
#pragma unroll
          for (int m = 0; m + 1 < at_once; ++m) some[m] = some[m + 1];
        }
      }
#pragma unroll 1
      for (; k < whole_packs; k += threads) take_pack(load_bytes(p[0] + before * size + k * 16, 16));
      for (std::uint64_t e = thread; e < before; e += threads) take(element_at(p[0] + e * size));
      i = before + whole_packs * items + thread;
    } else if (line) {  // several loads at once
#pragma unroll 1
      for (; i + (ahead - 1) * std::uint64_t{threads} < n; i += std::uint64_t{ahead} * threads) {
        T x[ahead];
#pragma unroll
        for (int j = 0; j < ahead; ++j) x[j] = element_at(p[0] + static_cast<std::int64_t>(i + static_cast<unsigned>(j) * threads) * step);
#pragma unroll 1  // the code of an element once
        for (int j = 0; j < ahead; ++j) {
          take(x[0]);
#pragma unroll
          for (int m = 0; m + 1 < ahead; ++m) x[m] = x[m + 1];
        }
      }
    }
    for (; i < n; i += threads) take(element_at(p[0] + v.element(i, 0)));
    __syncwarp();
    look.merge_warp();
    auto* const of_warp = reinterpret_cast<look_number*>(shared.digits);  // two of each warp, of 16 at most
    if (by_block) {
      if (threadIdx.x == 0) shared.kinds[0] = 0;
      __syncthreads();
      if (lane_index() == 0) {
        of_warp[2 * warp_index()] = look.s;
        of_warp[2 * warp_index() + 1] = look.c;
        if (look.lost) atomicOr(&shared.kinds[0], 1u);
      }
      __syncthreads();
      look.lost = shared.kinds[0] != 0;
      if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / warp_lanes; ++w) look.merge(of_warp[2 * w], of_warp[2 * w + 1]);
      }
      __syncthreads();
    }
    if (thread == 0) {
      bool sure = false;
      if (n != 0 && !look.lost) {
        sure = quickly(look) || answer_slowly<Wanted == wanted::nearest ? wanted::nearest : wanted::answers>(look.known(), n, reinterpret_cast<number*>(out));
      }
      shared.kinds[0] = sure ? 1 : 0;
    }
    if (by_block) __syncthreads();
    else __syncwarp();
    const bool sure = shared.kinds[0] != 0;
    if (by_block) __syncthreads();
    else __syncwarp();
    return sure;
  }
  /// The same by digits, which decide any answer.
  template <wanted Wanted>
  __device__ __attribute__((noinline)) void by_digits(room& shared, const row_view<inputs>& v, std::uint64_t row, bool by_block, unsigned char* out) const {
    const unsigned char* p[inputs];
    const std::uint64_t n = v.begin(row, p);
    add_exactly(shared, n, by_block, [&](typename bins::watch& watch, std::uint64_t first, std::uint64_t end, unsigned step) {
      add_range(shared.rows, watch, v, p, first, end, step);
    });
    answer_exactly<Wanted>(shared, v, row, by_block, out);
  }
  /// Adds n elements to the digits: add(watch, first, end, step) adds first, first + step, … below `end` to the bins.
  template <class Add>
  __device__ __forceinline__ void add_exactly(room& shared, std::uint64_t n, bool by_block, const Add& add) const {
    const unsigned thread = by_block ? unsigned{threadIdx.x} : static_cast<unsigned>(lane_index());
    const unsigned threads = by_block ? unsigned{blockDim.x} : warp_lanes;
    const auto sync = [by_block] {
      if (by_block) __syncthreads();
      else __syncwarp();
    };
    bins& b = shared.rows;
    for (unsigned j = thread; j < bins::bins; j += threads) b.bin[j] = 0;
    if (thread < bins::watches) b.kinds[thread] = 0;
    for (unsigned k = thread; k < bins::digits; k += threads) shared.digits[k] = 0;
    typename bins::watch watch;
    watch.start(states);
    const std::uint64_t round = bins::most_elements / threads * threads;
    for (std::uint64_t begin = 0; begin < n; begin += round) {
      sync();
      add(watch, begin + thread, min(n, begin + round), threads);
      sync();
      for (unsigned k = thread; k < bins::digits; k += threads) {
        shared.digits[k] += b.bin[2 * k] + std::int64_t{b.bin[2 * k + 1]} * 65536;
        b.bin[2 * k] = b.bin[2 * k + 1] = 0;
      }
      sync();
      settle(shared.digits, thread, threads, sync);
    }
    __syncwarp();
    b.tell(watch);
    sync();
    if (thread < bins::watches) shared.kinds[thread] = b.kinds[thread];
    sync();
  }

  /// Adds elements first, first + step, … below `end` of a row that begins at p to bins.
  template <class Bins>
  __device__ __forceinline__ void add_range(Bins& b, typename Bins::watch& watch, const row_view<inputs>& v, const unsigned char* const (&p)[inputs],
                                            std::uint64_t first, std::uint64_t end, unsigned step) const {
    for (std::uint64_t i = first; i < end; i += step) {
      const T x = element_at(p[0] + v.element(i, 0));
      if constexpr (inputs == 2) b.add(watch, false, x, element_at(p[1] + v.element(i, 1)));
      else b.add(watch, q.what == op::norm1, x);
    }
  }
  /// Writes the answer or the state from digits that hold the whole row. All threads of the block, or one warp, call it.
  template <wanted Wanted = wanted::states>
  __device__ __attribute__((noinline)) void answer_exactly(exact_room& shared, const row_view<inputs>& v, std::uint64_t row, bool by_block,
                                                           unsigned char* out) const {
    [[maybe_unused]] const unsigned thread = by_block ? unsigned{threadIdx.x} : static_cast<unsigned>(lane_index());
    const auto sync = [by_block] {
      if (by_block) __syncthreads();
      else __syncwarp();
    };
    const unsigned char* p[inputs];
    const std::uint64_t n = v.begin(row, p);
    if (Wanted == wanted::states && states) {
      const auto put = [&]<terms Of>(const std::int64_t* digits) {
        auto* const told = reinterpret_cast<std::int64_t*>(out);
        if (thread == 0) shared.kinds[0] = put_state<T, Of>(digits, shared.kinds, n, q.what, told) ? 0 : 1;
        sync();
        if (shared.kinds[0] == 0) return;
        specials_seen<T, Of> seen(q.what == op::norm1);
        for (std::uint64_t i = thread; i < n; i += by_block ? unsigned{blockDim.x} : warp_lanes) {
          const T x = element_at(p[0] + v.element(i, 0));
          if constexpr (inputs == 2) seen.add(x, element_at(p[1] + v.element(i, 1)));
          else seen.add(x);
        }
        __syncwarp();
        seen.tell(told);
      };
      if constexpr (traits::squares) {
        if (q.what == op::norm2 || q.what == op::sum_of_squares) {
          if (thread == 0) {
            for (int w = 1; w < bins::watches; ++w) shared.kinds[0] |= shared.kinds[w];
            shared.kinds[0] |= special::ordinary;  // a square has no sign
          }
          put.template operator()<terms::squares>(shared.digits + bins::digits - bins::f::product_digits);
          sync();
          return;
        }
      }
      // The host asks for moments of each part alone where numbers are complex.
      if constexpr (Terms != terms::moments || !traits::complex) put.template operator()<Terms>(shared.digits);
    } else {
      answer_of_digits<Wanted>(shared, n, by_block, out);
    }
    sync();
  }
  /// Writes the answer from digits that hold the whole row. All threads of the block, or one warp, call it.
  template <wanted Wanted = wanted::answers>
  __device__ __forceinline__ void answer_of_digits(exact_room& shared, std::uint64_t n, bool by_block, unsigned char* out) const {
    const unsigned thread = by_block ? unsigned{threadIdx.x} : static_cast<unsigned>(lane_index());
    if (thread < warp_lanes) {
      op what = q.what;
      if (traits::squares && (what == op::norm2 || what == op::sum_of_squares)) {  // a square has no sign
        if (thread == 0) {
          std::uint32_t k = 0;
#pragma unroll
          for (int w = 0; w < bins::watches; ++w) k |= shared.kinds[w];
          shared.kinds[0] = special::ordinary | ((k & special::nan) != 0                             ? special::nan
                                                 : (k & (special::pos_inf | special::neg_inf)) != 0 ? special::pos_inf
                                                                                                    : 0u);
        }
        __syncwarp();
      }
      // Read where they are: of a copy of its own, nvcc 13.0 at -Xcicc=-O1 -Xptxas=-O1 reads what was there before.
      answer_of_rows<bins>(shared.digits, shared.kinds, n, {what, rounding_of<Wanted>(), q.correction}, reinterpret_cast<number*>(out));
    }
  }
  /// Makes one step of carrying.
  template <class Sync>
  static __device__ __forceinline__ void settle(std::int64_t* digits, unsigned thread, unsigned threads, Sync sync) {
    constexpr int each = (bins::digits + warp_lanes - 1) / warp_lanes;
    std::int64_t w[each];
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const unsigned k = thread + static_cast<unsigned>(j) * threads;
      w[j] = k < bins::digits ? settled<bins>(digits, static_cast<int>(k)) : 0;
    }
    sync();
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const unsigned k = thread + static_cast<unsigned>(j) * threads;
      if (k < bins::digits) digits[k] = w[j];
    }
    sync();
  }

  /// The type in which a look adds real numbers.
  using look_number = std::conditional_t<std::is_same_v<T, bf16>, float, double>;
  static __device__ __forceinline__ look_number magnitude_of(look_number x) {
    if constexpr (sizeof(look_number) == 8) return certified::magnitude(x);
    else return fabsf(x);
  }

 private:
  static constexpr bool real_sums = Terms == terms::sum && !traits::complex;

  /// What is known of a whole array, from a row's state.
  static __device__ __forceinline__ certified_state<traits> whole_state(const state& s) {
    certified_state<traits> c = certified_state<traits>::nothing();
#pragma unroll
    for (int i = 0; i < traits::pairs; ++i) c.pair[i] = s.pair[i];
    c.extent = s.extent;
    if constexpr (traits::chains) c.loss = s.loss;
    return c;
  }
  /// A sum to nearest from a look that lost nothing, where that takes few instructions.
  template <wanted Wanted>
  __device__ __forceinline__ bool round_look(const exact_look<look_number>& look, number* out) const {
    if (q.what == op::mean || rounding_of<Wanted>() != wf::rounding::nearest) return false;
    const certified::known k = look.known();
    if (k.h != 0) return round_quickly(k.h, k.l, 0, *out);
    using format = exact::format<number>;
    *out = format::from_bits(__double2hiint(k.h) < 0 ? format::sign_mask : typename format::bits{0});
    return true;
  }
  template <wanted Wanted>
  __device__ __forceinline__ wf::rounding rounding_of() const {
    return Wanted == wanted::nearest ? wf::rounding::nearest : q.rounding;
  }
  __device__ __forceinline__ std::size_t result_size_on_device() const {
    const bool mean = q.what == op::mean_var;
    const bool both = q.what == op::sum || q.what == op::mean || q.what == op::dot;
    return sizeof(number) * static_cast<std::size_t>((both || mean ? traits::numbers : 1) + (mean ? 1 : 0));
  }
  static __device__ __forceinline__ T element_at(const unsigned char* p) { return item_of<T>(load_element(p, size, align), 0); }
};

}  // namespace wf::device::inline WF_BUILD
