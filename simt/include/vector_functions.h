// SPDX-License-Identifier: Apache-2.0
/// \file vector_functions.h
/// simt's own: make_int2() and its like, which cuda_runtime.h has.
#pragma once

#include <cuda_runtime.h>
