// SPDX-License-Identifier: Apache-2.0
/// \file entry.cuh
/// A rung with its element type erased: what the place calls.
#pragma once

#include <span>

#include "rung.cuh"

namespace ladder::inline WF_BUILD {

using entry_function = cudaError_t (*)(const void* x, std::uint64_t n, void* out, run&);

struct entry {
  rung_info info;
  entry_function call = nullptr;
};

/// Defined in the build/ file of the element type.
template <class T>
std::span<const entry> entries();

}  // namespace ladder::inline WF_BUILD
