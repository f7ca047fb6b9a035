// SPDX-License-Identifier: Apache-2.0
// The place `gpu` of a build that has none.
#include "ladder.hpp"

#if !defined(WARPFOLD_HAS_CUDA)
std::unique_ptr<ladder::place> ladder::open_cuda() { return nullptr; }
#endif
