// SPDX-License-Identifier: Apache-2.0
/// \file exact_terms.cuh
/// What exact reductions add up of an array: Σx (or Σ|x|), Σ|x|², Σx and Σ|x|², Σx·y.
#pragma once

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>

namespace wf::device::inline WF_BUILD {

enum class terms { sum, squares, moments, products };

/// The numbers that an element consists of, as kernels know it.
template <class T>
struct number_of_element { using type = T; };
template <class P>
struct number_of_element<parts<P>> { using type = P; };
template <class T>
using number_of = typename number_of_element<T>::type;

}  // namespace wf::device::inline WF_BUILD
