// SPDX-License-Identifier: Apache-2.0
/// \file rows_own.cuh
/// Accumulators of rows for reductions that the caller's compiler knows: the caller's own, with the order kept, fused ones, and those of
/// what a function makes of the elements. Two kernels take them: rows_ragged.cuh, for rows as for segments, and rows_columns.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/fused_folds.cuh>
#include <warpfold/detail/gpu/accumulate/row_accumulator.cuh>
#include <warpfold/detail/gpu/accumulate/rows_certified.cuh>
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>
#include <warpfold/detail/gpu/domain/rows_view.cuh>
#include <warpfold/device/levels.cuh>

namespace wf::device::inline WF_BUILD {

// Parts of an accumulator: what is kept of the values, and where the answer of each row goes. A part that proves answers false where it is
// uncertain, and exactly() then adds the row again.

/// Where the answers of a part go.
struct row_answers {
  unsigned char* out;
  std::size_t bytes;  ///< an answer's
  __device__ __forceinline__ unsigned char* of(std::uint64_t row) const { return out + row * bytes; }
};

/// No room in shared memory.
struct no_rows_room {};

/// A reduction of the caller's.
template <class R>
struct reduction_part {
  using state = state_of<R>;
  using running = state;
  using room = no_rows_room;
  static constexpr bool proves = false, ordered = !commutes<R>, indexed = true;
  R r;
  row_answers to;

  __device__ __forceinline__ running start() const { return r.identity(); }
  template <class... U>
  __device__ __forceinline__ void add(running& s, std::uint64_t i, const U&... x) const {
    s = r.combine(s, r.lift(x..., static_cast<std::int64_t>(i)));
  }
  __device__ __forceinline__ state total(const running& s, std::uint64_t) const { return s; }
  __device__ __forceinline__ state identity() const { return r.identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const { return r.combine(a, b); }
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, std::uint64_t, std::uint64_t row) const {
    *reinterpret_cast<result_of<R>*>(to.of(row)) = r.finish(s, static_cast<std::int64_t>(n));
    return true;
  }
};

/// A fold of the library's.
template <class Fold, class U>
struct fold_part {
  using state = typename Fold::state;
  using running = typename Fold::running;
  using room = no_rows_room;
  static constexpr bool proves = false, ordered = keeps_order<Fold>, indexed = true;
  Fold fold;
  row_answers to;

  __device__ __forceinline__ running start() const { return fold.start(); }
  template <class V>
  __device__ __forceinline__ void add(running& s, std::uint64_t i, const V& x) const { fold.add_item(s, i, __builtin_bit_cast(U, x)); }
  /// Elements that were added item by item are never looked for in the array again.
  __device__ __forceinline__ state total(const running& s, std::uint64_t) const { return fold.total(s, {}); }
  __device__ __forceinline__ state identity() const { return fold.identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const { return fold.combine(a, b); }
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, std::uint64_t, std::uint64_t row) const {
    fold.write(s, n, to.of(row));
    return true;
  }
};

/// logsumexp, and means, spreads and norms of integers: as any_rows has them, of which the compiler keeps what this operation needs.
template <op O, class U>
struct any_part {
  using state = any_rows<1>::state;
  using running = state;
  using room = no_rows_room;
  static constexpr bool proves = false, ordered = false, indexed = false;
  rounding mode;
  std::int64_t correction;
  row_answers to;

  __device__ __forceinline__ running start() const { return rows().start(); }
  template <class V>
  __device__ __forceinline__ void add(running& s, std::uint64_t i, const V& x) const {
    pack p[1] = {};
    static_assert(sizeof(V) == sizeof(U));
    __builtin_memcpy(p[0].word, &x, sizeof x);
    rows().add_item(s, p, i);
  }
  __device__ __forceinline__ state total(const running& s, std::uint64_t) const { return s; }
  __device__ __forceinline__ state identity() const { return rows().identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const { return rows().combine(a, b); }
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, std::uint64_t, std::uint64_t row) const {
    return rows().answer(s, n, {}, to.of(row));
  }

 private:
  __device__ __forceinline__ any_rows<1> rows() const {
    constexpr row_work work = O == op::logsumexp ? row_work::logsumexp : row_work::moments;
    return {O, dtype_of<U>, work, static_cast<std::int8_t>(sizeof(U)), static_cast<std::int8_t>(alignof(U)),
            std::is_signed_v<U> && !floating<U>, floating<U>, false, 0, mode, correction, 0};
  }
};

/// Exact sums of floats, from which `Count` answers are made, each by its own certificate. E: an element as kernels know it.
template <class E, terms Terms, int Count>
struct sums_part {
  using rows = certified_rows<E, Terms>;
  using state = typename rows::state;
  using running = typename rows::running;
  using room = typename rows::room;
  static constexpr bool proves = true, ordered = false, indexed = false;
  rows first;  ///< the first question
  op what[Count];
  row_answers to[Count];

  __device__ __forceinline__ running start() const { return first.start(); }
  template <class V>
  __device__ __forceinline__ void add(running& s, std::uint64_t, const V& x) const { s.add_item(__builtin_bit_cast(E, x)); }
  __device__ __forceinline__ state total(const running& s, std::uint64_t terms) const { return first.total(s, rows::chain_of(terms)); }
  __device__ __forceinline__ state identity() const { return first.identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const { return first.combine(a, b); }
  __device__ __attribute__((noinline)) bool answer(const state& s, std::uint64_t n, std::uint64_t merges, std::uint64_t row) const {
    const row_facts f = first.facts(n, rounds_of_chain, merges);
    bool sure = true;
#pragma unroll 1
    for (int k = 0; k < Count; ++k) sure = asked(k).answer(s, n, f, to[k].of(row)) && sure;
    return sure;
  }
  /// give(i, g) calls g with the values of element i that are to be added.
  template <class Give>
  __device__ __forceinline__ void exactly(room& shared, std::uint64_t n, std::uint64_t row, bool by_block, const Give& give) const {
#pragma unroll 1
    for (int k = 0; k < Count; ++k) {
      const rows one = asked(k);
      one.add_exactly(shared, n, by_block, [&](typename rows::bins::watch& watch, std::uint64_t from, std::uint64_t end, unsigned step) {
        for (std::uint64_t i = from; i < end; i += step) {
          give(i, [&](const auto& x) { shared.rows.add(watch, one.q.what == op::norm1, __builtin_bit_cast(E, x)); });
        }
      });
      one.answer_of_digits(shared, n, by_block, to[k].of(row));
      if (by_block) __syncthreads();
      else __syncwarp();
    }
  }

 private:
  __device__ __forceinline__ rows asked(int k) const {
    rows one = first;
    one.q.what = what[k];
    return one;
  }
};

/// Two parts of the same values; where there are more, B is such a pair again.
template <class A, class B>
struct both_parts {
  struct state {
    typename A::state a;
    typename B::state b;
  };
  struct running {
    typename A::running a;
    typename B::running b;
  };
  union room {
    typename A::room a;
    typename B::room b;
  };
  static constexpr bool proves = A::proves || B::proves, ordered = A::ordered || B::ordered, indexed = A::indexed || B::indexed;
  A a;
  B b;

  __device__ __forceinline__ running start() const { return {a.start(), b.start()}; }
  template <class V>
  __device__ __forceinline__ void add(running& s, std::uint64_t i, const V& x) const {
    a.add(s.a, i, x);
    b.add(s.b, i, x);
  }
  __device__ __forceinline__ state total(const running& s, std::uint64_t terms) const { return {a.total(s.a, terms), b.total(s.b, terms)}; }
  __device__ __forceinline__ state identity() const { return {a.identity(), b.identity()}; }
  __device__ __forceinline__ state combine(const state& s, const state& t) const { return {a.combine(s.a, t.a), b.combine(s.b, t.b)}; }
  __device__ __forceinline__ bool answer(const state& s, std::uint64_t n, std::uint64_t merges, std::uint64_t row) const {
    const bool sure = a.answer(s.a, n, merges, row);
    return b.answer(s.b, n, merges, row) && sure;
  }
  template <class Give>
  __device__ __forceinline__ void exactly(room& shared, std::uint64_t n, std::uint64_t row, bool by_block, const Give& give) const {
    if constexpr (A::proves) a.exactly(shared.a, n, row, by_block, give);
    if constexpr (B::proves) b.exactly(shared.b, n, row, by_block, give);
  }
};
template <class A, class... B>
auto parts_of(const A& a, const B&... b) {
  if constexpr (sizeof...(B) == 0) return a;
  else return both_parts<A, decltype(parts_of(b...))>{a, parts_of(b...)};
}

/// The elements as they are.
struct no_function {};

/// What a thread keeps of a row: `Parts`, over the values of F for elements T… of the inputs.
template <class Parts, class F, class... T>
struct own_rows {
  static constexpr bool own = true, packs = false, proves = Parts::proves;
  static constexpr int inputs = sizeof...(T), fixed_size = 1;
  static constexpr std::uint64_t tile = 256;  ///< elements that a warp adds between two times that its lanes meet, if the order is kept
  using state = typename Parts::state;
  using running = typename Parts::running;
  using room = typename Parts::room;
  struct facts_type {
    std::uint64_t chain, merges;
  };
  static_assert(std::is_trivially_copyable_v<state>);
  Parts parts;
  F f;
  const labelled* order;  ///< null, or where elements lie, in the order of their labels

  std::size_t result_size() const { return 0; }
  int item_size() const { return 1; }
  WF_HD facts_type facts(std::uint64_t, std::uint64_t, std::uint64_t merges) const { return {rounds_of_chain, merges}; }
  __device__ __forceinline__ running start() const { return parts.start(); }
  __device__ __forceinline__ state total(const running& r, std::uint64_t terms = 0) const { return parts.total(r, terms); }
  __device__ __forceinline__ state identity() const { return parts.identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const { return parts.combine(a, b); }
  __device__ __forceinline__ bool answer_row(const state& s, std::uint64_t n, std::uint64_t merges, std::uint64_t row) const {
    return parts.answer(s, n, merges + 16, row);
  }
  /// All threads of the block call it, or one warp.
  template <wanted = wanted::answers>
  __device__ __attribute__((noinline)) void exactly(room& shared, const row_view<inputs>& v, std::uint64_t row, bool by_block, unsigned char*) const {
    if constexpr (proves) {
      const row_begin b = begin(v, row);
      parts.exactly(shared, v.offsets != nullptr ? v.offset(row + 1) - v.offset(row) : v.first_of(row + 1) - v.first_of(row), row, by_block,
                    [&](std::uint64_t i, const auto& g) { give(load(v, b, i), g); });
    }
  }

  /// Adds `elements` elements of a row from its element `index` on, by 2^log2 lanes of which this is number `member`. If the order is
  /// kept, lanes have neighbouring pieces, and only a warp more than a tile.
  __device__ __forceinline__ state add_part(const row_view<inputs>& v, std::uint64_t row, std::uint64_t elements, std::uint64_t index,
                                            unsigned member, int log2) const {
    if constexpr (!Parts::ordered) {
      return walk(v, row, index + member, index + elements, 1u << log2);
    } else {
      constexpr unsigned each = tile / warp_lanes;
      state s = identity();
#pragma unroll 1
      for (std::uint64_t at = 0; at < elements; at += std::uint64_t{each} << log2) {
        const std::uint64_t from = min(elements, at + member * each);
        state piece = walk(v, row, index + from, index + min(elements, from + each), 1);
        if (log2 == 5) {
          for (int m = 1; m < warp_lanes; m *= 2) piece = combine(piece, state_from_above(piece, m));
          if (member != 0) piece = identity();
        }
        s = combine(s, piece);
      }
      return s;
    }
  }
  /// Adds elements first, first + step, … below `end` of a row, by this thread. Chains of doubles are cut.
  __device__ __forceinline__ state walk(const row_view<inputs>& v, std::uint64_t row, std::uint64_t first, std::uint64_t end, unsigned step) const {
    const row_begin b = begin(v, row);
    running r = start();
    state s = identity();
    unsigned terms = 0;
    std::uint64_t i = first;
#pragma unroll 1
    for (; i + 3 * std::uint64_t{step} < end; i += 4 * std::uint64_t{step}) {
      const loaded x[4] = {load(v, b, i), load(v, b, i + step), load(v, b, i + 2 * step), load(v, b, i + 3 * step)};
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) add(r, i + j * step, x[j]);
      terms += 4;
      if constexpr (proves) {
        if (terms == rounds_of_chain) {
          s = combine(s, total(r, terms));
          r = start();
          terms = 0;
        }
      }
    }
#pragma unroll 1
    for (; i < end; i += step) {
      add(r, i, load(v, b, i));
      ++terms;
    }
    return combine(s, total(r, terms));
  }

 private:
  template <class X, class Y>
  struct two {
    X x;
    Y y;
  };
  template <class X, class...>
  struct loaded_of { struct type { X x; }; };
  template <class X, class Y>
  struct loaded_of<X, Y> { using type = two<X, Y>; };
  using loaded = typename loaded_of<T...>::type;
  struct row_begin {
    const unsigned char* p[inputs];
    std::uint64_t first;  ///< for a segment by label: the number of its first element in their order
  };

  __device__ __forceinline__ row_begin begin(const row_view<inputs>& v, std::uint64_t row) const {
    row_begin b;
    b.first = 0;
    if (order != nullptr) {
      b.first = v.offset(row);
#pragma unroll
      for (int k = 0; k < inputs; ++k) b.p[k] = v.x[k];
    } else {
      v.begin(row, b.p);
    }
    return b;
  }
  __device__ __forceinline__ loaded load(const row_view<inputs>& v, const row_begin& b, std::uint64_t i) const {
    const auto at = [&](int k) {
      return b.p[k] + (order != nullptr ? static_cast<std::int64_t>(order[b.first + i].place) * v.dim[0].stride[k] : v.element(i, k));
    };
    using first = std::tuple_element_t<0, std::tuple<T...>>;
    using last = std::tuple_element_t<inputs - 1, std::tuple<T...>>;
    if constexpr (inputs == 2) return {load_item<first>(at(0)), load_item<last>(at(1))};
    else return {load_item<first>(at(0))};
  }
  __device__ __forceinline__ void add(running& r, std::uint64_t i, const loaded& x) const {
    if constexpr (std::is_same_v<F, no_function>) {
      if constexpr (inputs == 2) parts.add(r, i, x.x, x.y);
      else parts.add(r, i, x.x);
    } else {
      give(x, [&](const auto& value) { parts.add(r, i, value); });
    }
  }
  /// Calls g with the value that is reduced.
  template <class G>
  __device__ __forceinline__ void give(const loaded& x, const G& g) const {
    if constexpr (std::is_same_v<F, no_function>) g(x.x);
    else if constexpr (inputs == 2) g(f(x.x, x.y));
    else g(f(x.x));
  }
};

}  // namespace wf::device::inline WF_BUILD
