// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpfold/io/dtype.hpp>

namespace lens::profile {

/// Operations a second of a kernel that does nothing but fused multiply-adds, each counted as two, in
/// the type that elements are added in: f32 (f16 too), f64, or 32-bit integers. The best of several
/// launches on the current device, by events. Throws wf::error (errc::device).
double arithmetic_ceiling(wf::dtype);

}  // namespace lens::profile
