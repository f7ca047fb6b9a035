// SPDX-License-Identifier: Apache-2.0
/// \file shared_memory.cuh
/// The one name of dynamic shared memory in this project; a kernel casts it to what it keeps there.
/// It is at global namespace, so that nvcc sees one declaration and simt needs one definition.
#pragma once

#include <cuda_runtime.h>

extern __shared__ __align__(16) unsigned char wf_dynamic_shared[];
