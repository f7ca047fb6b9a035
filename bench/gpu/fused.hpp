// SPDX-License-Identifier: Apache-2.0
/// \file fused.hpp
/// A fused reduction to time, of f32 and f64: mean, standard deviation, least and greatest in one kernel.
#pragma once

#include <cstdint>

#include <warpfold/gpu.hpp>

namespace bench {

inline constexpr wf::op fused_ops[] = {wf::op::mean, wf::op::std_dev, wf::op::min, wf::op::max};

/// The four answers go to `out`, side by side.
void run_fused(const wf::device_place&, wf::dtype, const void* x, std::int64_t n, void* out);

}  // namespace bench
