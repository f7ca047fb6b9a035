// SPDX-License-Identifier: Apache-2.0
/// \file many_blocks.cuh
/// Launch bounds that are the same for 7.5 and 8.0, whose code is made of one PTX in releases (cmake/kernels.cmake).
#pragma once

#include <cuda_runtime.h>

#include <warpfold/device/launch.cuh>

/// __launch_bounds__(threads, resident_blocks(threads, wanted)) of kernels of which 8.0 is to hold more than the 1024 threads that a multiprocessor of 7.5 has room for. PTX for 7.5 cannot
/// ask for them, so it says how many registers they have.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750 && 100 * __CUDACC_VER_MAJOR__ + __CUDACC_VER_MINOR__ >= 1204
#define WF_MANY_BLOCKS(threads, wanted) __maxnreg__(65536 / ((threads) * (wanted)) / 8 * 8)
#else
#define WF_MANY_BLOCKS(threads, wanted) __launch_bounds__(threads, ::wf::device::resident_blocks(threads, wanted))
#endif
