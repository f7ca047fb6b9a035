// SPDX-License-Identifier: Apache-2.0
/// \file reduction.hpp
/// The one idea: a reduction is a fold of states.
///
///     identity()        the empty state
///     lift(x, i)        element x with index i becomes a state (two inputs: lift(x, y, i))
///     combine(a, b)     two states become one; a's elements come before b's
///     finish(s, n)      the state of n elements becomes the answer
///
/// `combine` must be associative, up to rounding if the answer may depend on where it rounds. It need
/// not commute: elements keep their order at every level of every machine.
///
/// A type with these four const members is a reduction, and `wf::reduce(x, r)` (for two inputs `wf::reduce(x, y, r)`)
/// runs it over whole arrays, axes, segments and keys, on all cores. Two optional members make it faster:
///
///     static constexpr bool commutes = true;      axes may be walked in the order of memory
///     accumulate(s, x, n, i)                      folds x[0 … n), whose indexes start at i, into s
///
/// and one tells others what to expect: `static constexpr wf::declaration declares`.
///
/// States, elements and answers are trivially copyable; answers are also default-constructible.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace wf {

/// The type of a reduction's states: what identity() gives.
template <class R>
using state_of = std::remove_cvref_t<decltype(std::declval<const R&>().identity())>;

/// The type of a reduction's answers: what finish() gives.
template <class R>
using result_of = std::remove_cvref_t<decltype(std::declval<const R&>().finish(
    std::declval<const state_of<R>&>(), std::int64_t{}))>;

/// R reduces elements of T, or pairs of elements of T and U.
template <class R, class... T>
concept reduction =
    (std::is_trivially_copyable_v<T> && ...) && std::is_trivially_copyable_v<state_of<R>> &&
    std::is_trivially_copyable_v<result_of<R>> && std::default_initializable<result_of<R>> &&
    requires(const R& r, const state_of<R>& s, const T&... x, std::int64_t i) {
      { r.lift(x..., i) } -> std::convertible_to<state_of<R>>;
      { r.combine(s, s) } -> std::convertible_to<state_of<R>>;
      r.finish(s, i);
    };

namespace detail {

/// Refuses a type that is no reduction, and names the member that it lacks.
template <class R, class... T>
consteval bool require_reduction() {
  if constexpr (!requires(const R& r) { r.identity(); }) {
    static_assert(sizeof(R) == 0, "warpfold: a reduction has a const member identity(), the state of no elements");
  } else if constexpr (!requires(const R& r, const T&... x, std::int64_t i) {
                         { r.lift(x..., i) } -> std::convertible_to<state_of<R>>;
                       }) {
    static_assert(sizeof(R) == 0, "warpfold: a reduction has a const member lift(x, index), of two inputs lift(x, y, index), which "
                                  "gives the state of one element of this type");
  } else if constexpr (!requires(const R& r, const state_of<R>& s) {
                         { r.combine(s, s) } -> std::convertible_to<state_of<R>>;
                       }) {
    static_assert(sizeof(R) == 0, "warpfold: a reduction has a const member combine(earlier, later), which gives the state of both");
  } else if constexpr (!requires(const R& r, const state_of<R>& s, std::int64_t n) { r.finish(s, n); }) {
    static_assert(sizeof(R) == 0, "warpfold: a reduction has a const member finish(state, n), which gives the answer of n elements");
  } else {
    static_assert((std::is_trivially_copyable_v<T> && ...), "warpfold: elements are trivially copyable; these are not");
    static_assert(std::is_trivially_copyable_v<state_of<R>>, "warpfold: the state of a reduction is trivially copyable; this is not");
    static_assert(std::is_trivially_copyable_v<result_of<R>> && std::default_initializable<result_of<R>>,
                  "warpfold: the answer of a reduction is trivially copyable and has a default constructor; this has not");
  }
  return true;
}

}  // namespace detail

/// R folds a run of elements by itself.
template <class R, class... T>
concept accumulates = reduction<R, T...> && requires(const R& r, state_of<R>& s, const T*... x,
                                                     std::int64_t n) { r.accumulate(s, x..., n, n); };

/// Whether R says that the order of elements cannot change its answer.
template <class R>
inline constexpr bool commutes = [] {
  if constexpr (requires { R::commutes; }) return bool{R::commutes};
  else return false;
}();

/// What a reduction promises, beside `commutes`. All reductions of the library declare it: docs/reductions.md is
/// made from their declarations, and tests check each declaration against what the reduction does.
struct declaration {
  /// The answer for no elements; the least float is -inf, the greatest +inf.
  enum class nothing : std::uint8_t {
    zero,               ///< +0
    one,                ///< 1
    minus_one,          ///< -1: no index
    nan,                ///< NaN
    least,              ///< the least value of the type
    greatest,           ///< the greatest value of the type
    greatest_and_least  ///< both, as minmax has them
  };
  /// What a NaN does.
  enum class nans : std::uint8_t {
    none,          ///< no element can be one
    win,           ///< the answer is NaN
    are_found,     ///< the answer is the index of the first
    are_not_zero,  ///< it is not zero
    are_counted    ///< it is an element
  };
  /// How the answer is rounded.
  enum class rounds : std::uint8_t {
    never,    ///< not at all: integers wrap
    once,     ///< once, from the true value
    natively  ///< as the hardware adds
  };
  nothing empty;    ///< without elements
  nans nan;         ///< for NaNs
  rounds rounding;  ///< how the answer is rounded
};

/// Folds x[0 … n), whose indexes start at `first`, into s on this thread, in order; x points to n elements of each
/// input. Throws what r's members throw.
template <class R, class... T>
  requires reduction<R, T...>
constexpr void fold(const R& r, state_of<R>& s, std::int64_t n, std::int64_t first, const T*... x) {
  if constexpr (accumulates<R, T...>) {
    r.accumulate(s, x..., n, first);
  } else {
    for (std::int64_t i = 0; i < n; ++i) s = r.combine(s, r.lift(x[i]..., first + i));
  }
}

}  // namespace wf
