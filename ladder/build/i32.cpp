// SPDX-License-Identifier: Apache-2.0
// For simt: the same source.
#include "i32.cu"
