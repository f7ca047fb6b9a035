// SPDX-License-Identifier: Apache-2.0
/// \file device_functions.h
/// simt's own: what cuda_runtime.h has.
#pragma once

#include <cuda_runtime.h>
