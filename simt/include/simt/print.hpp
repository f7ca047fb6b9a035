// SPDX-License-Identifier: Apache-2.0
/// \file print.hpp
/// printf() as kernels call it. Built-in variables are objects here, and `...` would take one as it is, without a
/// word: so printf is a template, which hands their values on. An object of any other class is refused. In a kernel
/// what any printf returns is CUDA's: how many arguments it printed, and not how many characters (simt/src/print.cpp).
#pragma once

#include <cstdio>
#include <type_traits>

#include <simt/device.hpp>

namespace simt {
inline namespace SIMT_BUILD {
namespace builtin {

template <class T>
concept printed = !std::is_class_v<value_t<T>> && !std::is_union_v<T>;

/// What `...` would make of it.
template <class T>
SIMT_INLINE auto printed_value(T x) {
  if constexpr (std::is_same_v<T, float>) return static_cast<double>(x);
  else return static_cast<value_t<T>>(x);
}

}  // namespace builtin

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
/// Without arguments a call is the C library's own.
template <class First, class... More>
SIMT_INLINE int printf(const char* format, First first, More... more) {
  static_assert(sizeof...(More) < 32, "printf takes up to 32 arguments besides its format, as on a GPU");
  return __builtin_printf(format, builtin::printed_value(first), builtin::printed_value(more)...);
}
#pragma GCC diagnostic pop

template <class First, class... More>
  requires(!builtin::printed<First> || (!builtin::printed<More> || ...))
__attribute__((unavailable("printf takes numbers and pointers, no objects of a class: name a member, or convert it")))
int printf(const char* format, First first, More... more);

}  // inline namespace SIMT_BUILD
}  // namespace simt

using simt::printf;
namespace std {
using ::printf;
}
