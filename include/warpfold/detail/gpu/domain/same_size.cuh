// SPDX-License-Identifier: Apache-2.0
/// \file same_size.cuh
/// Integers with and without a sign that share a kernel.
#pragma once

#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/types.hpp>

namespace wf::device::inline WF_BUILD {

/// Whether integers have one.
inline bool has_sign(dtype t) { return t == dtype::i8 || t == dtype::i16 || t == dtype::i32 || t == dtype::i64; }
/// The integer with a sign of the same size, by whose kernel those without one go too, where it learns when it runs which they are. Other types and bool are themselves.
template <class T>
struct same_size_of { using type = T; };
template <integer T>
  requires(!std::is_same_v<T, bool>)
struct same_size_of<T> { using type = std::make_signed_t<T>; };
template <class T>
using same_size = typename same_size_of<T>::type;

}  // namespace wf::device::inline WF_BUILD
