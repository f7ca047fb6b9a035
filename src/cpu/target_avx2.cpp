// SPDX-License-Identifier: Apache-2.0
// The kernels for avx2; src/CMakeLists.txt gives this file the flags of that target.
#define WF_TARGET target_avx2
#include "simd/table.hpp"
