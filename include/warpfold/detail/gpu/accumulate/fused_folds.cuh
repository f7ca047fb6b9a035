// SPDX-License-Identifier: Apache-2.0
/// \file fused_folds.cuh
/// Folds of the same elements as one fold, whose state is all their states; fused_reduce.cuh puts exact sums beside it.
#pragma once

#include <cuda_runtime.h>

#include <complex>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/fold.cuh>
#include <warpfold/detail/gpu/accumulate/logsumexp.cuh>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>
#include <warpfold/results.hpp>

namespace wf::device::inline WF_BUILD {

/// count
template <class T>
struct count_fold {
  using state = std::uint32_t;
  using running = std::uint32_t;
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 1;
  static constexpr bool packs = packable<T>;
  static constexpr int items = packs ? 16 / item_size : 1;
  __device__ __forceinline__ void add_item(running&, std::uint64_t, const T&) const {}
  __device__ __forceinline__ state identity() const { return 0; }
  __device__ __forceinline__ state combine(state, state) const { return 0; }
  __device__ __forceinline__ running start() const { return 0; }
  __device__ __forceinline__ void add(running&, const pack (&)[1], std::uint64_t) const {}
  __device__ __forceinline__ state total(running, const arrays<1>&) const { return 0; }
  __device__ __forceinline__ void write(state, std::uint64_t n, void* out) const {
    write_as<std::int64_t>(out, static_cast<std::int64_t>(n));
  }
};

template <class P>
struct complex_product : native_complex<P> {
  __device__ __forceinline__ auto lift(std::complex<P> x, std::int64_t i) const {
    return native_complex<P>::lift(__builtin_bit_cast(parts<P>, x), i);
  }
};

/// The fold of operation O on elements of T, for operations that are not asked of a row set (row_terms).
template <op O, class T>
constexpr auto fold_of_operation() {
  constexpr bool flags = std::is_same_v<T, bool> && (O == op::sum || O == op::norm1 || O == op::sum_of_squares);
  constexpr state_kind state = operation_of(O).state;
  static_assert(state != state_kind::own, "warpfold: on a GPU, an operation of state_kind::own is not fused; see docs/adding.md");
  if constexpr (state == state_kind::count) return count_fold<T>{};
  else if constexpr (flags || state == state_kind::nonzeros) return nonzero_fold<T>{O};
  else if constexpr (state == state_kind::extremes) return extremes_fold<T>{O};
  else if constexpr (state == state_kind::places) return arg_fold<T>{O == op::argmax};
  else if constexpr (state == state_kind::logsumexp) return logsumexp_fold<T>{};
  else if constexpr (O == op::norm1 && !std::is_signed_v<T>) return integer_fold<T, op::sum>{};
  else if constexpr (integer<T>) return integer_fold<T, O>{};
  else if constexpr (complex_number<T>) return plain_fold<complex_product<typename T::value_type>, T>{{{op::prod}}};
  else return native_product_fold<T>{};
}

/// Folds that differ in their last step alone: a thread keeps one state for all of them.
template <class Fold>
inline constexpr bool has_many_answers = false;
template <class T>
inline constexpr bool has_many_answers<nonzero_fold<T>> = true;
template <class T>
inline constexpr bool has_many_answers<extremes_fold<T>> = true;

/// A fold whose answers go to places of their own.
template <class Fold, int Answers = 1>
struct placed_fold : Fold {
  void* out[Answers];
  op what[Answers];
  __device__ __forceinline__ void write(const typename Fold::state& s, std::uint64_t n, void*) const {
#pragma unroll
    for (int i = 0; i < Answers; ++i) {
      if constexpr (has_many_answers<Fold>) {
        Fold one = *this;
        one.what = what[i];
        one.write(s, n, out[i]);
      } else {
        Fold::write(s, n, out[i]);
      }
    }
  }
};

/// Two folds of the same elements of T; where there are more, the second is such a pair again.
template <class T, class A, class B>
struct pair_fold {
  struct state {
    typename A::state a;
    typename B::state b;
  };
  struct running {
    typename A::running a;
    typename B::running b;
  };
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 2;
  static constexpr bool packs = packable<T>, ordered = keeps_order<A> || keeps_order<B>;
  static constexpr int items = packs ? 16 / item_size : 1;
  static constexpr std::size_t shared_bytes = fold_bytes<A> + fold_bytes<B>;
  A a;
  B b;

  __device__ __forceinline__ state identity() const { return {a.identity(), b.identity()}; }
  __device__ __forceinline__ state combine(const state& s, const state& t) const {
    return {a.combine(s.a, t.a), b.combine(s.b, t.b)};
  }
  __device__ __forceinline__ void fill(unsigned char* shared) const {
    fill_shared(a, shared);
    fill_shared(b, shared + fold_bytes<A>);
  }
  __device__ __forceinline__ running start(const unsigned char* shared = nullptr) const {
    return {start_fold(a, shared), start_fold(b, shared + fold_bytes<A>)};
  }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t v) const {
    a.add(s.a, p, v);
    b.add(s.b, p, v);
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t i, const T& x) const {
    a.add_item(s.a, i, x);
    b.add_item(s.b, i, x);
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>& in) const {
    return {a.total(s.a, in), b.total(s.b, in)};
  }
  __device__ __forceinline__ void write(const state& s, std::uint64_t n, void*) const {
    a.write(s.a, n, nullptr);
    b.write(s.b, n, nullptr);
  }
};

/// No fold at all.
struct no_fold {};

template <class T, class A, class... B>
auto pairs_of(const A& a, const B&... b) {
  if constexpr (sizeof...(B) == 0) return a;
  else {
    const auto rest = pairs_of<T>(b...);
    return pair_fold<T, A, std::remove_cv_t<decltype(rest)>>{a, rest};
  }
}

}  // namespace wf::device::inline WF_BUILD
