// SPDX-License-Identifier: Apache-2.0
/// \file cuda.h
/// simt's own. Programs of the runtime's interface include it without need; of the driver's interface it has nothing.
#pragma once

#define CUDA_VERSION 13000

#include <cuda_runtime.h>
