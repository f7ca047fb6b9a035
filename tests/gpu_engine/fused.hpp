// SPDX-License-Identifier: Apache-2.0
/// \file fused.hpp
/// The fused reductions that are tested: a machine has each for some element types.
#pragma once

#include <cstdint>

#include <warpfold/gpu.hpp>

/// everything: all that the type takes. The others ask for little, so that each kind of row set has a kernel: Σx, Σ|x|,
/// Σx², moments. own: beside a user's reduction that keeps the order.
enum class fused_kind { everything, sums, norm1, squares, headline, own };
inline constexpr fused_kind fused_kinds[] = {fused_kind::everything, fused_kind::sums,     fused_kind::norm1,
                                             fused_kind::squares,    fused_kind::headline, fused_kind::own};

/// Answer k goes to byte 32·k of `out`; the user's, a std::int64_t, comes last.
struct fused_request {
  fused_kind kind;
  wf::dtype element;
  const void* x;  ///< on the device
  std::int64_t n, stride;
  wf::options options;
  unsigned char* out;
};
