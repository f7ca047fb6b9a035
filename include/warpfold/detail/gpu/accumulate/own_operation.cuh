// SPDX-License-Identifier: Apache-2.0
/// \file own_operation.cuh
/// A reduction of the library's table by the CPU's own arithmetic (detail/reductions), for kernels of any reduction: as a fold of whole
/// arrays, and as a part of rows. It is for operations that no kernel knows (state_kind::own).
#pragma once

#include <cstdint>

#include <warpfold/builtin.hpp>
#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/fold.cuh>
#include <warpfold/detail/gpu/accumulate/rows_own.cuh>
#include <warpfold/detail/gpu/domain/elements.cuh>

namespace wf::device::inline WF_BUILD {

/// R of elements T… as kernels know them, the first of which has the index `first`.
template <class R, class... T>
struct placed_reduction {
  static constexpr bool commutes = wf::commutes<R>;
  R r;
  std::int64_t first;

  /// The reduction with the settings of a request.
  static placed_reduction of(const options& told, std::int64_t first) {
    placed_reduction made{R(), first};
    static_cast<options&>(made.r) = told;
    return made;
  }
  WF_HD state_of<R> identity() const { return r.identity(); }
  WF_HD state_of<R> lift(const kernel_element<T>&... x, std::int64_t i) const { return r.lift(__builtin_bit_cast(T, x)..., first + i); }
  WF_HD state_of<R> combine(const state_of<R>& a, const state_of<R>& b) const { return r.combine(a, b); }
  WF_HD result_of<R> finish(const state_of<R>& s, std::int64_t n) const { return r.finish(s, n); }
};

/// A state of digits, and one that has a state of digits for each part of a complex number: they have a canonical form.
template <class State>
concept has_digits = requires(State& s) { s.normalise(); };
template <class State>
concept has_parts_of_digits = requires(State& s) {
  s.re.normalise();
  s.im.normalise();
};

/// Writes a state as the host does (backend.hpp): n, then its own words in canonical form.
template <class State>
__device__ __forceinline__ void put_own_state(State s, std::uint64_t n, std::uint64_t* words) {
  if constexpr (has_digits<State>) {
    s.normalise();
  } else if constexpr (has_parts_of_digits<State>) {
    s.re.normalise();
    s.im.normalise();
  }
  constexpr int count = static_cast<int>((sizeof s + 7) / 8);
  std::uint64_t own[count] = {};
  __builtin_memcpy(own, &s, sizeof s);
  words[0] = n;
#pragma unroll
  for (int k = 0; k < count; ++k) words[1 + k] = own[k];
}

template <class R, class... T>
struct operation_fold : plain_fold<placed_reduction<R, T...>, kernel_element<T>...> {
  __device__ __forceinline__ void write_state(const state_of<R>& s, std::uint64_t n, std::int64_t, std::uint64_t* words) const {
    put_own_state(s, n, words - 1);
  }
};

template <class R, class... T>
struct operation_part : reduction_part<placed_reduction<R, T...>> {
  bool states;  ///< states are wanted, not answers
  __device__ __forceinline__ bool answer(const state_of<R>& s, std::uint64_t n, std::uint64_t merges, std::uint64_t row) const {
    if (!states) return reduction_part<placed_reduction<R, T...>>::answer(s, n, merges, row);
    put_own_state(s, n, reinterpret_cast<std::uint64_t*>(this->to.of(row)));
    return true;
  }
};

}  // namespace wf::device::inline WF_BUILD
