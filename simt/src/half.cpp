// SPDX-License-Identifier: Apache-2.0
// What instrumented kernels call.
#include <simt/half_ops.hpp>

template struct simt::half_ops<simt::f16_format>;
template struct simt::half_ops<simt::bf16_format>;
