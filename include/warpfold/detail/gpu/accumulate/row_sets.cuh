// SPDX-License-Identifier: Apache-2.0
/// \file row_sets.cuh
/// Which row set adds up which terms of elements of a type, and in blocks of how many threads.
#pragma once

#include <cuda_runtime.h>

#include <complex>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_complex.cuh>
#include <warpfold/detail/gpu/accumulate/exact_integers.cuh>
#include <warpfold/detail/gpu/accumulate/exact_levels.cuh>
#include <warpfold/detail/gpu/accumulate/exact_rows.cuh>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>

namespace wf::device::inline WF_BUILD {

/// Lanes to a column. Columns of f64 are 648 bytes, those of an element up to 1300: shared by lanes, there is room for
/// the 16 warps or more that keep the memory busy. With a column a thread, the moments had 6.
template <class T, terms Terms>
inline constexpr int column_share = [] {
  if (Terms == terms::sum || sizeof(typename kernel_element_of<T>::number) < 8) return 1;
  return Terms == terms::moments || (Terms == terms::products && complex_number<T>) ? 4 : 2;
}();

/// The columns that take anything. Norm1: Σ|x| beside the moments of floats.
template <class T, terms Terms, int Threads, bool Norm1>
struct columns_of;
template <class T, int Threads>
struct columns_of<T, terms::sum, Threads, false> { using type = sum_rows<T, Threads>; };
template <class T, int Threads>
struct columns_of<T, terms::squares, Threads, false> {
  using type = product_rows<T, Threads, 1, column_share<T, terms::squares>>;
};
template <class T, int Threads>
struct columns_of<T, terms::products, Threads, false> {
  using type = product_rows<T, Threads, 2, column_share<T, terms::products>>;
};
template <class T, int Threads>
struct columns_of<T, terms::moments, Threads, false> {
  using type = moment_rows<T, Threads, column_share<T, terms::moments>>;
};
template <class T, int Threads>
struct columns_of<T, terms::moments, Threads, true> {
  using type = norm1_moment_rows<T, Threads, column_share<T, terms::moments>>;
};
template <class P, int Threads>
struct columns_of<std::complex<P>, terms::squares, Threads, false> {
  using type = complex_square_rows<P, Threads, column_share<std::complex<P>, terms::squares>>;
};
template <class P, int Threads>
struct columns_of<std::complex<P>, terms::products, Threads, false> {
  using type = complex_product_rows<P, Threads, column_share<std::complex<P>, terms::products>>;
};
template <class P, int Threads>
struct columns_of<std::complex<P>, terms::moments, Threads, false> {
  using type = complex_moment_rows<P, Threads, column_share<std::complex<P>, terms::moments>>;
};

template <class T, terms Terms, int Threads, bool Norm1 = false>
struct row_set_of {
  using P = typename kernel_element_of<T>::number;
  using columns = typename columns_of<T, Terms, Threads, Norm1>::type;
  using type = anchored_rows<columns, P, Terms, Threads, Terms == terms::products ? 2 : 4, levels_of_products<P>, true>;
};
template <floating T, int Threads>
struct row_set_of<T, terms::sum, Threads, false> {
  using type = anchored_rows<sum_rows<T, Threads>, T, terms::sum, Threads, 4, 0, true>;
};
template <class P, int Threads>
struct row_set_of<std::complex<P>, terms::sum, Threads, false> {
  using type = complex_rows<P, Threads, typename row_set_of<P, terms::sum, Threads>::type>;
};
/// The rows of integers are Σx, or Σx and Σx²: their terms are sum and moments.
template <integer T, terms Terms, int Threads>
struct row_set_of<T, Terms, Threads, false> {
  static constexpr bool squares = Terms != terms::sum;
  using type = std::conditional_t<sizeof(T) == 8, long_rows<T, Threads, squares>, integer_rows<T, Threads, squares>>;
};
template <class T, terms Terms, int Threads, bool Norm1 = false>
using row_set = typename row_set_of<T, Terms, Threads, Norm1>::type;

/// Threads a block where one may have 227 KiB of shared memory, 99, or less.
struct block_sizes {
  int most, middle, least;
};

/// Chosen from runs on an H100: see the log of docs/gpu.md.
template <class T, terms Terms>
constexpr block_sizes sizes_for() {
  constexpr bool moments = Terms == terms::moments, squares = Terms == terms::squares;
  // Integers take two blocks a multiprocessor: with more threads there are too few registers for what is on its way.
  if (integer<T>) return {512, 512, 512};
  if (Terms == terms::sum) {
    if (sizeof(typename kernel_element_of<T>::number) == 8) return {608, 128, 128};
    return {256, 256, 256};
  }
  if (complex_number<T>) return {sizeof(T) == 16 || moments ? 512 : 320, 128, 128};
  if (sizeof(T) == 8) return {moments ? 256 : squares ? 576 : 512, 256, 128};
  return {sizeof(T) == 4 && moments ? 384 : 256, 256, 256};
}

}  // namespace wf::device::inline WF_BUILD
