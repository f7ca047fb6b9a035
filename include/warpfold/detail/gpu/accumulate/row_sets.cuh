// SPDX-License-Identifier: Apache-2.0
/// \file row_sets.cuh
/// Which row set adds up which terms of whole numbers: Σx, or Σx and Σx² for all terms but sums.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/exact_integers.cuh>
#include <warpfold/detail/gpu/domain/elements.cuh>

namespace wf::device::inline WF_BUILD {

template <integer T, terms Terms, int Threads>
using row_set = std::conditional_t<sizeof(T) == 8, long_rows<T, Threads, Terms != terms::sum>, integer_rows<T, Threads, Terms != terms::sum>>;

}  // namespace wf::device::inline WF_BUILD
