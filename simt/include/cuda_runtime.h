// SPDX-License-Identifier: Apache-2.0
/// \file cuda_runtime.h
/// simt's own: CUDA's language and runtime for a host compiler. Found first in a build against simt, so
/// that a kernel's source includes what it always would. docs/simt.md tells what is supported.
#pragma once

#define __SIMT__ 1

#include <simt/atomics.hpp>
#include <simt/device.hpp>
#include <simt/intrinsics.hpp>
#include <simt/launch.hpp>
#include <simt/math.hpp>
#include <simt/print.hpp>
#include <simt/runtime_api.hpp>
#include <simt/runtime_types.hpp>
#include <simt/vector_types.hpp>
#include <simt/video.hpp>
#include <simt/warp.hpp>

using namespace simt;
