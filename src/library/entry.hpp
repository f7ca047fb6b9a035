// SPDX-License-Identifier: Apache-2.0
/// \file entry.hpp
/// Makes the functions of a built-in reduction: the semantics are those of its type in reductions/,
/// the speed that of a `hot` overload where one takes the reduction.
#pragma once

#include <array>
#include <cstring>
#include <tuple>

#include <warpfold/builtin.hpp>

#include "adapted.hpp"
#include "columns.hpp"
#include "proved.hpp"

namespace wf::library {

/// Elements of any alignment; a bool is any byte that is not zero.
template <class T>
inline T read(const void* p, std::int64_t i) {
  if constexpr (std::is_same_v<T, bool>) return static_cast<const unsigned char*>(p)[i] != 0;
  else return cpu::detail::load_any<T>(p, i);
}

/// States of digits, and those of complex numbers, which have one of each part.
template <class S>
inline constexpr bool has_canonical_form = requires(S& s) { s.normalise(); } || requires(S& s) {
  s.re.normalise();
  s.im.normalise();
};
template <class S>
void to_canonical(S& s) {
  if constexpr (requires { s.normalise(); }) {
    s.normalise();
  } else {
    s.re.normalise();
    s.im.normalise();
  }
}

template <class R, class... T>
struct entry {
  using state = state_of<R>;

  static R with(const void* self) {
    R r;
    static_cast<options&>(r) = *static_cast<const options*>(self);
    return r;
  }
  static void identity(const void*, void* s) { *static_cast<state*>(s) = R().identity(); }
  static void accumulate(const void*, void* s, const void* const* x, std::int64_t n, std::int64_t first) {
    const R r;
    state& to = *static_cast<state*>(s);
    if constexpr (requires { hot(r, to, x, n, first); }) {
      hot(r, to, x, n, first);
    } else {
      // A tile at a time, aligned.
      constexpr std::int64_t most = 512;
      std::tuple<std::array<T, most>...> tiles;
      for (std::int64_t i = 0; i < n; i += most) {
        const std::int64_t m = n - i < most ? n - i : most;
        copy(tiles, x, i, m, std::index_sequence_for<T...>());
        std::apply([&](const auto&... t) { fold(r, to, m, first + i, t.data()...); }, tiles);
      }
    }
  }
  template <class Tiles, std::size_t... K>
  static void copy(Tiles& tiles, const void* const* x, std::int64_t i, std::int64_t m,
                   std::index_sequence<K...>) {
    for (std::int64_t j = 0; j < m; ++j)
      ((std::get<K>(tiles)[static_cast<std::size_t>(j)] = read<T>(x[K], i + j)), ...);
  }
  static void combine(const void*, void* s, const void* later) {
    state& to = *static_cast<state*>(s);
    to = R().combine(to, *static_cast<const state*>(later));
  }
  static void finish(const void* self, const void* s, std::int64_t n, void* out) {
    const result_of<R> r = with(self).finish(*static_cast<const state*>(s), n);
    std::memcpy(out, &r, sizeof r);
  }
  /// Apart, since what is always short should not make room for a state.
  [[gnu::noinline]] static void by_state(const void* self, const void* const* x, std::int64_t n, void* out) {
    const cpu::ieee_environment environment;
    state s = R().identity();
    accumulate(self, &s, x, n, 0);
    finish(self, &s, n, out);
  }
  static constexpr auto short_run() -> decltype(cpu::erased::short_run) {
    if constexpr (requires(const R& r, const void* const* x) { short_hot(r, x, std::int64_t{}, nullptr); }) {
      return [](const void* self, const void* const* x, std::int64_t n, void* out) {
        if (!short_hot(with(self), x, n, out)) by_state(self, x, n, out);
      };
    } else {
      return nullptr;
    }
  }

  static constexpr auto few_run() -> decltype(cpu::erased::few_run) {
    if constexpr (requires(const R& r, const void* const* x) { few_hot(r, x, std::int64_t{}, nullptr); }) {
      return [](const void* self, const void* const* x, std::int64_t n, void* out) { return few_hot(with(self), x, n, out); };
    } else {
      return nullptr;
    }
  }

  static constexpr auto normalise() -> decltype(cpu::erased::normalise) {
    if constexpr (has_canonical_form<state>) {
      return [](void* s) { to_canonical(*static_cast<state*>(s)); };
    } else {
      return nullptr;
    }
  }
  /// Exact states are rows of digits and counters; sums of integers and counts are one word.
  static constexpr bool adds = requires(state& s) { s.data(); } || requires(state& s) { s.re.data(); } || std::is_same_v<state, std::int64_t> ||
                               (std::is_same_v<state, std::uint64_t> && R::declares.empty == declaration::nothing::zero);

  static_assert(sizeof(state) <= most_state_bytes && alignof(state) <= 64);
  static constexpr cpu::erased functions = {
      sizeof(state), alignof(state), sizeof(result_of<R>), sizeof...(T), {sizeof(T)...},
      commutes<R>,   identity,       accumulate,           combine,      finish,
      short_run(),   &R::declares,   proof_of<R, T...>(),  normalise(),  adds,       columns_of<R, T...>(),
      few_run()};
};

/// One row of the table: the functions for each dtype, null where there are none.
using row = std::array<const cpu::erased*, dtypes.size()>;

/// f.template operator()<T>() for each dtype: a pointer to functions, or null.
template <class F>
constexpr row for_dtypes(F f) {
  return [f]<class... T>(wf::detail::type_list<T...>) {
    static_assert(sizeof...(T) == dtypes.size());
    return row{f.template operator()<T>()...};
  }(wf::detail::element_types());
}

/// WF_ROW(name, concept, reduction type of T, element types): one `row` of a translation unit.
#define WF_ROW(name, accepts, ...)                                                      \
  extern const row name;                                                                \
  const row name = for_dtypes([]<class T>() -> const cpu::erased* {                     \
    if constexpr (accepts<T>) return &entry<__VA_ARGS__>::functions;                    \
    else return nullptr;                                                                \
  })

}  // namespace wf::library
