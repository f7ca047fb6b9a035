// SPDX-License-Identifier: Apache-2.0
/// \file called_kernels.hpp
/// What cmake/simt.cmake has kernels begin with that are compiled quickly: what CUDA always inlines is called.
#pragma once

#include <cuda_runtime.h>

#undef __forceinline__
#define __forceinline__ inline
