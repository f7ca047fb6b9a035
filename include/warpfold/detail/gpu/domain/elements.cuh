// SPDX-License-Identifier: Apache-2.0
/// \file elements.cuh
/// Elements as kernels know them, and which terms of them are added up.
#pragma once

#include <complex>

#include <warpfold/config.hpp>

namespace wf::device::inline WF_BUILD {

/// A complex number as it lies in memory: aligned as std::complex is, to its parts.
template <class P>
struct parts {
  P re, im;
};

/// Elements as kernels know them, and the numbers that they are made of.
template <class T>
struct kernel_element_of { using type = T; using number = T; };
template <class P>
struct kernel_element_of<std::complex<P>> { using type = parts<P>; using number = P; };
template <class T>
using kernel_element = typename kernel_element_of<T>::type;

/// What exact reductions add up of an array: Σx (or Σ|x|), Σ|x|², Σx and Σ|x|², Σx·y.
enum class terms { sum, squares, moments, products };

/// The numbers that an element consists of, as kernels know it.
template <class T>
struct number_of_element { using type = T; };
template <class P>
struct number_of_element<parts<P>> { using type = P; };
template <class T>
using number_of = typename number_of_element<T>::type;

}  // namespace wf::device::inline WF_BUILD
