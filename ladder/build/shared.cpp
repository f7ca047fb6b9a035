// SPDX-License-Identifier: Apache-2.0
// The dynamic shared memory of every kernel here, plain and instrumented.
#include <warpfold/device/shared_memory.cuh>

SIMT_DEFINE_DYNAMIC_SHARED(wf_dynamic_shared)
