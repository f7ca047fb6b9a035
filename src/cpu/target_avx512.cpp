// SPDX-License-Identifier: Apache-2.0
// The kernels for avx512; src/CMakeLists.txt gives this file the flags of that target.
#define WF_TARGET target_avx512
#include "simd/table.hpp"
