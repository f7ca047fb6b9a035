// SPDX-License-Identifier: Apache-2.0
/// \file device_launch_parameters.h
/// simt's own: the built-in variables, which cuda_runtime.h has.
#pragma once

#include <cuda_runtime.h>
