// SPDX-License-Identifier: Apache-2.0
#pragma once
__device__ inline float added(float a, float b) { return a + b; }
