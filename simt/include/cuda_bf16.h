// SPDX-License-Identifier: Apache-2.0
/// \file cuda_bf16.h
/// simt's own: bf16 for kernels compiled by a host compiler.
#pragma once

#include <simt/atomics.hpp>
#include <simt/bfloat16.hpp>

namespace simt {
template <>
inline constexpr bool atomic_by_exchange<__nv_bfloat16> = true;
template <>
inline constexpr bool atomic_by_exchange<__nv_bfloat162> = true;
}  // namespace simt

using namespace simt;
