// SPDX-License-Identifier: Apache-2.0
/// \file fold.cuh
/// The protocol of a fold, which is what a thread of reduce.cuh keeps while it adds; and any reduction as a fold. folds.cuh has
/// faster ones of the library's own.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/reduction.hpp>

namespace wf::device::inline WF_BUILD {

/// A fold that keeps something in shared memory, beside the states that warps have there: `shared_bytes` bytes, a multiple of 16. All
/// threads of the block call fill(shared), which writes them, before a barrier. start(shared) stands in place of start().
template <class F>
concept keeps_shared = requires(const F& f, unsigned char* shared) {
  { F::shared_bytes } -> std::convertible_to<std::size_t>;
  f.fill(shared);
  { f.start(static_cast<const unsigned char*>(shared)) } -> std::same_as<typename F::running>;
};
/// A fold whose answer holds an index, so that it needs the index of the first element.
template <class F>
concept writes_places = requires(const F& f, const typename F::state& s, std::uint64_t n, std::int64_t first, void* out) {
  f.write(s, n, first, out);
};
/// A fold that writes its state itself (backend.hpp); the states of others are written word by word.
template <class F>
concept writes_words = requires(const F& f, const typename F::state& s, std::uint64_t n, std::int64_t first, std::uint64_t* words) {
  f.write_state(s, n, first, words);
};
/// A fold of elements T of each input.
template <class F, class... T>
concept fold_of = requires(const F& f, const typename F::state& s, typename F::running& r, const pack (&p)[sizeof...(T)],
                           const arrays<sizeof...(T)>& a, std::uint64_t i, const T&... x, void* out) {
  requires std::is_trivially_copyable_v<typename F::state>;
  { F::loads } -> std::convertible_to<int>;                           // packs of an input on their way at once
  { F::item_size } -> std::convertible_to<int>;                       // an element's
  { F::packs } -> std::convertible_to<bool>;                          // whether elements come by packs of 16 bytes too
  { f.identity() } -> std::convertible_to<typename F::state>;         // these two as of a reduction
  { f.combine(s, s) } -> std::convertible_to<typename F::state>;
  f.add(r, p, i);                                                     // pack i of each input
  f.add_item(r, i, x...);                                             // element i
  { f.total(r, a) } -> std::convertible_to<typename F::state>;        // the state of a thread's registers
  requires keeps_shared<F> || requires { { f.start() } -> std::convertible_to<typename F::running>; };
  requires writes_places<F> || requires { f.write(s, i, out); };      // the answer of i elements
};

/// Shared memory that a fold keeps.
template <class Fold>
inline constexpr std::size_t fold_bytes = [] {
  if constexpr (keeps_shared<Fold>) return std::size_t{Fold::shared_bytes};
  else return std::size_t{0};
}();
template <class Fold>
__device__ __forceinline__ void fill_shared(const Fold& fold, unsigned char* shared) {
  if constexpr (keeps_shared<Fold>) fold.fill(shared);
}
template <class Fold>
__device__ __forceinline__ typename Fold::running start_fold(const Fold& fold, const unsigned char* shared) {
  if constexpr (keeps_shared<Fold>) return fold.start(shared);
  else return fold.start();
}
/// A fold that must be given the elements in their order, and says so.
template <class Fold>
concept keeps_order = requires { requires Fold::ordered; };

/// Any reduction as a fold. Small states are kept several times over, so that one element need not
/// wait for the one before it.
template <class R, class... T>
struct plain_fold {
  using state = state_of<R>;
  static constexpr int inputs = sizeof...(T);
  static constexpr bool packs = all_packable<T...>, ordered = !commutes<R>;
  static constexpr int item_size = static_cast<int>((sizeof(T) + ...) / inputs);  // a pack's
  static constexpr int loads = 4;
  static constexpr int items = packs ? 16 / item_size : 1;
  static constexpr int chains = commutes<R> && sizeof(state) <= 16 ? (items < 4 ? items : 4) : 1;
  R r;

  struct running {
    state chain[chains];
  };
  __device__ __forceinline__ state identity() const { return r.identity(); }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    return r.combine(a, b);
  }
  __device__ __forceinline__ running start() const {
    return start(std::make_index_sequence<chains>());
  }
  __device__ __forceinline__ void add(running& s, const pack (&p)[inputs], std::uint64_t v) const {
    if constexpr (packs) {
#pragma unroll
      for (int i = 0; i < items; ++i) {
        add_items(s.chain[i % chains], p, i, static_cast<std::int64_t>(v) * items + i,
                  std::index_sequence_for<T...>());
      }
    }
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t i, const T&... x) const {
    s.chain[0] = r.combine(s.chain[0], r.lift(x..., static_cast<std::int64_t>(i)));
  }
  __device__ __forceinline__ state total(const running& s, const arrays<inputs>&) const {
    state t = s.chain[0];
#pragma unroll
    for (int i = 1; i < chains; ++i) t = r.combine(t, s.chain[i]);
    return t;
  }
  __device__ __forceinline__ void write(const state& s, std::uint64_t n, void* out) const {
    *static_cast<result_of<R>*>(out) = r.finish(s, static_cast<std::int64_t>(n));
  }

 private:
  template <std::size_t... K>
  __device__ __forceinline__ running start(std::index_sequence<K...>) const {
    return {{(static_cast<void>(K), r.identity())...}};
  }
  template <std::size_t... K>
  __device__ __forceinline__ void add_items(state& s, const pack (&p)[inputs], int i,
                                            std::int64_t index, std::index_sequence<K...>) const {
    s = r.combine(s, r.lift(item_of<T>(p[K], i)..., index));
  }
};

}  // namespace wf::device::inline WF_BUILD
