// SPDX-License-Identifier: Apache-2.0
#include "../registry.cuh"

template std::span<const ladder::entry> ladder::entries<double>();
