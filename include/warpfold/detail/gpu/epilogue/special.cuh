// SPDX-License-Identifier: Apache-2.0
/// \file special.cuh
/// Values that decide a sum whatever its digits are, and the formats of CUDA's own halves.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/format.hpp>

template <>
struct wf::exact::format<__half> : wf::exact::float_format<__half, wf::exact::ieee_f16> {};
template <>
struct wf::exact::format<__nv_bfloat16>
    : wf::exact::float_format<__nv_bfloat16, wf::exact::ieee_bf16> {};

namespace wf::device::inline WF_BUILD {

/// Which values that decide a sum were there, whatever its digits are, and whether there was an element other than -0.
namespace special {
inline constexpr std::uint32_t nan = 1, pos_inf = 2, neg_inf = 4, ordinary = 8;
}

}  // namespace wf::device::inline WF_BUILD
