// SPDX-License-Identifier: Apache-2.0
/// \file engine.hpp
/// The traversal: whole arrays, axes, segments and keys over all cores, for any reduction. Compiled
/// once; a reduction is a table of functions here, made by `erase` from one of any type.
///
/// The elements of an answer are cut into chunks by their number alone; each chunk is folded in
/// order into a state, and the states are combined pairwise in order. So neither the number of
/// threads nor their timing can change an answer, and non-commutative reductions keep their order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include <warpfold/context.hpp>
#include <warpfold/export.h>
#include <warpfold/reduction.hpp>
#include <warpfold/view.hpp>

namespace wf::cpu {

/// The most inputs of a reduction.
inline constexpr int max_inputs = 2;

/// \cond
/// A reduction as functions. `self` is the reduction's object, or the options of a built-in one.
struct erased {
  std::size_t state_size, state_align, result_size;
  int inputs;
  std::array<std::size_t, max_inputs> element_sizes;
  bool commutes;
  void (*identity)(const void* self, void* state);
  /// x[k] points to n elements without gaps, of any alignment.
  void (*accumulate)(const void* self, void* state, const void* const* x, std::int64_t n,
                     std::int64_t first);
  void (*combine)(const void* self, void* state, const void* later);
  void (*finish)(const void* self, const void* state, std::int64_t n, void* out);
  /// Does all of the above for a short contiguous run; null if there is no shorter way. The caller has set the processor to IEEE arithmetic.
  void (*short_run)(const void* self, const void* const* x, std::int64_t n, void* out) = nullptr;
  const declaration* declares = nullptr;  ///< null if the reduction says nothing
  const struct proof* proves = nullptr;   ///< the library's: how answers are computed without states
  void (*normalise)(void* state) = nullptr;  ///< to the canonical form; null if every state is in it
  bool adds = false;                         ///< states are merged by adding their words of 64 bits
  const struct column_fold* columns = nullptr;  ///< the library's: how rows are added to answers side by side
  /// The same as short_run, whatever the processor's mode is; false where that is not possible.
  bool (*few_run)(const void* self, const void* const* x, std::int64_t n, void* out) = nullptr;
};

/// \endcond

/// Inputs in n dimensions, of one shape: those of a wf::request.
struct operands {
  std::array<const void*, max_inputs> data{};  ///< for each input the element whose indexes are all 0
  extents shape;                               ///< a length for each dimension, in elements
  std::array<extents, max_inputs> strides;     ///< for each input one a dimension, in bytes
};

/// \cond

/// Computes one answer from n elements without gaps, on the shortest way: x[k] points to those of input k.
WF_API void reduce_run(const erased& r, const void* self, const void* const* x, std::int64_t n,
                const context& c, void* out);

/// Computes the exact sum of few elements, to nearest, on the shortest way; false where another way must be taken, and then `out` is unchanged.
WF_API bool sum_at_once(const float* x, std::int64_t n, float* out);
WF_API bool sum_at_once(const double* x, std::int64_t n, double* out);

/// Computes one answer from all elements.
WF_API void reduce_all(const erased& r, const void* self, const operands& x, const context& c, void* out);

/// Computes an answer for each position along the axes that are not in `axes`, C-ordered. `axes` are
/// distinct, in [0, rank).
WF_API void reduce_axes(const erased& r, const void* self, const operands& x, std::span<const int> axes,
                 const context& c, void* out);

/// Whether reduce_axes copies the elements itself, so that a copy of the caller's would win nothing: rows whose elements lie apart, and columns
/// whose answers do, as many at a time as a cache has room for, by all threads.
WF_API bool copies_rows(const erased& r, const operands& x, std::span<const int> axes);

/// Computes an answer for each segment: segment k is the elements offsets[k] … offsets[k + 1] of one-dimensional inputs of any stride;
/// its indexes start at 0. Throws wf::error (bad_argument) on offsets that fall or leave the input.
WF_API void reduce_segments(const erased& r, const void* self, const operands& x,
                     std::span<const std::int64_t> offsets, const context& c, void* out);

/// Computes an answer for each label: element i of one-dimensional inputs belongs to answer labels[i] in [0, answers), else wf::error.
/// An element's index counts the elements of its label before it.
WF_API void reduce_labels(const erased& r, const void* self, const operands& x,
                   std::span<const std::int64_t> labels, std::int64_t answers, const context& c,
                   void* out);

/// Checks axes against a rank: distinct ones in [0, rank), sorted. `who` begins the message.
WF_API per_dimension<int> checked_axes(std::span<const int> axes, int rank, const char* who);

/// The shape of the answers.
WF_API extents kept_shape(const extents& shape, std::span<const int> axes, bool keepdims);

namespace detail {

template <class T>
T load_any(const void* p, std::int64_t i) {
  T x;
  __builtin_memcpy(static_cast<void*>(&x),
                   static_cast<const std::byte*>(p) + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return x;
}

template <class R, class... T>
struct eraser {
  using state = state_of<R>;
  static const R& as(const void* self) { return *static_cast<const R*>(self); }

  static void identity(const void* self, void* s) { *static_cast<state*>(s) = as(self).identity(); }

  static void accumulate(const void* self, void* s, const void* const* x, std::int64_t n,
                         std::int64_t first) {
    run(self, s, x, n, first, std::index_sequence_for<T...>());
  }
  template <std::size_t... K>
  static void run(const void* self, void* s, const void* const* x, std::int64_t n,
                  std::int64_t first, std::index_sequence<K...>) {
    state& to = *static_cast<state*>(s);
    const bool aligned = ((reinterpret_cast<std::uintptr_t>(x[K]) % alignof(T) == 0) && ...);
    if (aligned) {
      fold(as(self), to, n, first, static_cast<const T*>(x[K])...);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const std::tuple<T...> one{load_any<T>(x[K], i)...};
      fold(as(self), to, 1, first + i, &std::get<K>(one)...);
    }
  }
  static void combine(const void* self, void* s, const void* later) {
    state& to = *static_cast<state*>(s);
    to = as(self).combine(to, *static_cast<const state*>(later));
  }
  static void finish(const void* self, const void* s, std::int64_t n, void* out) {
    const result_of<R> r = as(self).finish(*static_cast<const state*>(s), n);
    __builtin_memcpy(out, &r, sizeof r);
  }
};

}  // namespace detail

/// Makes the table of functions of a reduction of elements of T...
template <class R, class... T>
  requires reduction<R, T...>
constexpr erased erase() {
  using e = detail::eraser<R, T...>;
  return {sizeof(state_of<R>), alignof(state_of<R>), sizeof(result_of<R>), sizeof...(T),
          {sizeof(T)...},      wf::commutes<R>,      e::identity,          e::accumulate,
          e::combine,          e::finish};
}

/// \endcond

}  // namespace wf::cpu
