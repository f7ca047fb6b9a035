// SPDX-License-Identifier: Apache-2.0
// The kernels for neon; src/CMakeLists.txt gives this file the flags of that target.
#define WF_TARGET target_neon
#include "simd/table.hpp"
