// SPDX-License-Identifier: Apache-2.0
// The kernels for scalar; src/CMakeLists.txt gives this file the flags of that target.
#define WF_TARGET target_scalar
#include "simd/table.hpp"
