// SPDX-License-Identifier: Apache-2.0
// The kernels of these tests, by name; `// @mark` names a line of theirs.
#pragma once

#include <string>

namespace lens_test {

/// Runs it on `blocks` of `threads`; gives back the launch's cudaError_t. `in` and `out` are device memory.
int run(const std::string& name, unsigned blocks, unsigned threads, const float* in, float* out);

}  // namespace lens_test
