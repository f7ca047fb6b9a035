// SPDX-License-Identifier: Apache-2.0
/// \file cooperative_groups.h
/// simt's own: thread block, tiles, coalesced threads, cluster and grid.
#pragma once

#include <cuda_runtime.h>

#include <simt/groups.hpp>
