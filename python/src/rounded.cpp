// SPDX-License-Identifier: Apache-2.0
#include "rounded.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include <warpfold/builtin.hpp>
#include <warpfold/exact_moments.hpp>
#include <warpfold/types.hpp>

namespace wfpy {

namespace {

using wf::exact_sum;
using functions = wf::cpu::erased;

template <class State>
void identity(const void*, void* s) { *static_cast<State*>(s) = State(); }
template <class State>
void combine(const void*, void* s, const void* later) {
  static_cast<State*>(s)->merge(*static_cast<const State*>(later));
}

template <class State, class T>
void accumulate(const void*, void* s, const void* const* x, std::int64_t n, std::int64_t) {
  auto& to = *static_cast<State*>(s);
  // Aligned, a tile at a time; a bool is any byte that is not zero.
  constexpr std::int64_t tile = 4096;
  using value = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  std::array<value, tile> here;
  for (std::int64_t i = 0; i < n; i += tile) {
    const auto m = static_cast<std::size_t>(std::min(tile, n - i));
    std::memcpy(static_cast<void*>(here.data()), static_cast<const std::byte*>(x[0]) + static_cast<std::size_t>(i) * sizeof(T),
                m * sizeof(T));
    if constexpr (std::is_same_v<T, bool>)
      for (std::size_t k = 0; k < m; ++k) here[k] = here[k] != 0;
    to.add(here.data(), m);
  }
}

template <class U, bool Mean>
void finish(const void* self, const void* s, std::int64_t, void* out) {
  const auto mode = static_cast<const wf::options*>(self)->rounding;
  const auto& from = *static_cast<const exact_sum*>(s);
  const U r = Mean ? from.mean<U>(mode) : from.value<U>(mode);
  std::memcpy(out, &r, sizeof r);
}

template <class State>
void hand_over(const void*, const void* s, std::int64_t, void* out) { std::memcpy(out, s, sizeof(State)); }

template <class State, class T, std::size_t Size, auto Finish>
constexpr functions row = {sizeof(State), alignof(State), Size, 1, {sizeof(T)}, true, identity<State>, accumulate<State, T>, combine<State>, Finish};

template <class State, std::size_t Size, auto Finish>
const functions* of_element(wf::dtype element) {
  switch (element) {
    case wf::dtype::f16: return &row<State, wf::f16, Size, Finish>;
    case wf::dtype::bf16: return &row<State, wf::bf16, Size, Finish>;
    case wf::dtype::f32: return &row<State, float, Size, Finish>;
    case wf::dtype::f64: return &row<State, double, Size, Finish>;
    case wf::dtype::i8: return &row<State, std::int8_t, Size, Finish>;
    case wf::dtype::i16: return &row<State, std::int16_t, Size, Finish>;
    case wf::dtype::i32: return &row<State, std::int32_t, Size, Finish>;
    case wf::dtype::i64: return &row<State, std::int64_t, Size, Finish>;
    case wf::dtype::u8: return &row<State, std::uint8_t, Size, Finish>;
    case wf::dtype::u16: return &row<State, std::uint16_t, Size, Finish>;
    case wf::dtype::u32: return &row<State, std::uint32_t, Size, Finish>;
    case wf::dtype::u64: return &row<State, std::uint64_t, Size, Finish>;
    case wf::dtype::boolean: return &row<State, bool, Size, Finish>;
    default: return nullptr;
  }
}

/// Sums and means of f32 as f64: by the states of f64, which take a tile at a time.
template <wf::op Op>
void accumulate_widened(const void* self, void* s, const void* const* x, std::int64_t n, std::int64_t first) {
  constexpr std::int64_t tile = 4096;
  alignas(64) std::array<double, tile> wide;
  const functions& inner = wf::builtin(Op, wf::dtype::f64, wf::accuracy::exact);
  for (std::int64_t i = 0; i < n; i += tile) {
    const std::int64_t m = std::min(tile, n - i);
    for (std::int64_t k = 0; k < m; ++k) {
      float one;
      std::memcpy(&one, static_cast<const std::byte*>(x[0]) + (i + k) * static_cast<std::int64_t>(sizeof one), sizeof one);
      wide[static_cast<std::size_t>(k)] = static_cast<double>(one);
    }
    const void* const tiles[wf::cpu::max_inputs] = {wide.data(), nullptr};
    inner.accumulate(self, s, tiles, m, first + i);
  }
}
template <wf::op Op>
const functions* widened() {
  static const functions made = [] {
    functions f = wf::builtin(Op, wf::dtype::f64, wf::accuracy::exact);
    f.element_sizes = {sizeof(float)};
    f.accumulate = accumulate_widened<Op>;
    f.short_run = nullptr;
    f.few_run = nullptr;
    f.proves = nullptr;
    f.columns = nullptr;
    return f;
  }();
  return &made;
}

template <class U>
const functions* to_type(bool mean, wf::dtype element) {
  return mean ? of_element<exact_sum, sizeof(U), finish<U, true>>(element) : of_element<exact_sum, sizeof(U), finish<U, false>>(element);
}

}  // namespace

const functions* find_rounded(bool mean, wf::dtype element, wf::dtype to) noexcept {
  if (element == wf::dtype::f32 && to == wf::dtype::f64) return mean ? widened<wf::op::mean>() : widened<wf::op::sum>();
  switch (to) {
    case wf::dtype::f16: return to_type<wf::f16>(mean, element);
    case wf::dtype::bf16: return to_type<wf::bf16>(mean, element);
    case wf::dtype::f32: return to_type<float>(mean, element);
    case wf::dtype::f64: return to_type<double>(mean, element);
    default: return nullptr;
  }
}

const functions* find_sum_state(wf::dtype element) noexcept {
  return of_element<exact_sum, sizeof(exact_sum), hand_over<exact_sum>>(element);
}
const functions* find_moments_state(wf::dtype element) noexcept {
  return of_element<wf::exact_moments, sizeof(wf::exact_moments), hand_over<wf::exact_moments>>(element);
}

}  // namespace wfpy
