// SPDX-License-Identifier: Apache-2.0
/// \file cuda_fp16.h
/// simt's own: f16 for kernels compiled by a host compiler.
#pragma once

#include <simt/atomics.hpp>
#include <simt/half.hpp>

namespace simt {
template <>
inline constexpr bool atomic_by_exchange<__half> = true;
template <>
inline constexpr bool atomic_by_exchange<__half2> = true;
}  // namespace simt

using namespace simt;
