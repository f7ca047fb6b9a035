// SPDX-License-Identifier: Apache-2.0
/// \file fused_folds.cuh
/// Several reductions of the same elements in one kernel: a fold whose state is all their states.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/exact/products.hpp>
#include <warpfold/gpu/logsumexp.cuh>
#include <warpfold/gpu/native_folds.cuh>
#include <warpfold/gpu/reduce.cuh>
#include <warpfold/results.hpp>

namespace wf::device::inline WF_BUILD {

/// An exact sum as a state of each thread, for fused reductions alone: slower than the kernels that keep
/// columns in shared memory. State is wf::exact's of the operation.
template <class T, class State, op O>
struct exact_items_fold {
  using state = State;
  using running = State;
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 1;
  static constexpr bool packs = true;
  static constexpr int items = 16 / item_size;

  __device__ __forceinline__ state identity() const { return State::identity(); }
  __device__ __forceinline__ state combine(state a, const state& b) const {
    a.merge(b);
    return a;
  }
  __device__ __forceinline__ running start() const { return identity(); }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
#pragma unroll 1
    for (int i = 0; i < items; ++i) add_item(s, 0, __builtin_bit_cast(bytes, p[0]).x[i]);
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    using f = exact::format<T>;
    if constexpr (O == op::norm1) s.add(f::from_bits(static_cast<typename f::bits>(f::to_bits(x) & ~f::sign_mask)));
    else s.add(x);
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const { return s; }
  __device__ __forceinline__ void write(const state& s, std::uint64_t, void* out) const {
    auto* to = static_cast<T*>(out);
    if constexpr (O == op::mean) *to = exact::mean<T>(s);
    else if constexpr (O == op::norm2) *to = s.template norm<T>();
    else *to = s.template value<T>();
  }

 private:
  struct bytes {
    T x[16 / sizeof(T)];
  };
};

/// count
struct count_fold {
  using state = std::uint32_t;
  using running = std::uint32_t;
  template <class T>
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

/// The fold of operation O (accuracy::exact) on elements of T.
template <op O, class T>
constexpr auto fold_of_operation() {
  constexpr bool whole = integer<T>, number = floating<T>;
  if constexpr (O == op::count) return count_fold{};
  else if constexpr (O == op::any || O == op::all || O == op::count_nonzero || (std::is_same_v<T, bool> && O == op::sum))
    return nonzero_fold<T>{O};
  else if constexpr (real<T> && (O == op::min || O == op::max || O == op::minmax || O == op::norm_inf))
    return extremes_fold<T>{O};
  else if constexpr (real<T> && (O == op::argmin || O == op::argmax)) return arg_fold<T>{O == op::argmax};
  else if constexpr (real<T> && O == op::logsumexp) return logsumexp_fold<T>{};
  else if constexpr (whole && (O == op::sum || O == op::norm1 || O == op::sum_of_squares || O == op::prod))
    return integer_fold<T, O>{};
  else if constexpr (number && O == op::prod) return native_product_fold<T>{};
  else if constexpr (number && (O == op::sum || O == op::mean || O == op::norm1))
    return exact_items_fold<T, exact::sum_state<T>, O>{};
  else if constexpr (number && sizeof(T) <= 4 && (O == op::sum_of_squares || O == op::norm2))
    return exact_items_fold<T, exact::squares_state<T>, O>{};
  else static_assert(O != O, "this reduction of this element type cannot be fused on a GPU: see docs/gpu.md");
}

/// A fold whose answer goes to a place of its own.
template <class Fold>
struct placed_fold : Fold {
  void* out;
  __device__ __forceinline__ void write(const typename Fold::state& s, std::uint64_t n, void*) const {
    Fold::write(s, n, out);
  }
};

/// Two folds of the same elements of T; of more, the second one is such a pair again.
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

/// The fold of one part of a fused reduction: an operation's function object, or a reduction of a user's.
template <class T, class F>
auto placed(const F& f, void* out) {
  if constexpr (requires { F::operation; }) {
    static_assert(F::runs_on_devices, "reductions that are checked for overflow run on the CPU alone");
    using fold = decltype(fold_of_operation<F::operation, T>());
    return placed_fold<fold>{{fold_of_operation<F::operation, T>()}, out};
  } else {
    return placed_fold<plain_fold<F, T>>{{f}, out};
  }
}
template <class T, class A, class... B>
auto fused_folds(const A& a, const B&... b) {
  if constexpr (sizeof...(B) == 0) return a;
  else {
    const auto rest = fused_folds<T>(b...);
    return pair_fold<T, A, std::remove_cv_t<decltype(rest)>>{a, rest};
  }
}

}  // namespace wf::device::inline WF_BUILD
