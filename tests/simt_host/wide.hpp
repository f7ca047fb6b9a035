// SPDX-License-Identifier: Apache-2.0
// Copies whose width the instrumentation must see; wide.cpp is compiled as instrumented kernels
// are.
#pragma once

#include <cstddef>

/// Runs the copies named `which` on these arrays.
enum class wide_case {
  load_float4,
  store_float4,
  store_made_float4,
  store_braced_float4,
  copy_float4,
  copy_float4_of_struct,
  load_double2,
  load_int4,
  load_longlong2,
  load_float2,
  load_short4,
  load_uchar4,
  load_char2,
  load_double4,
  load_half,
  load_half2,
  add_half2,
  shared_float4,
  shared_half,
  union_float4,
};
float run_wide(wide_case which, const void* from, void* to, std::size_t i);
