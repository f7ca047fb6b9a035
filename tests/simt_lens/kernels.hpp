// SPDX-License-Identifier: Apache-2.0
// The kernels of these tests, by name. A kernel's file marks lines that a test expects in a report by
// `// @name`, so that tests hold no line numbers.
#pragma once

#include <cstdint>
#include <string>

namespace lens_test {

struct launch {
  unsigned blocks = 1, threads = 32;
  unsigned shared_bytes = 0;
  unsigned cluster = 1;
  bool cooperative = false;
};

/// Runs kernel `name` on arrays of the device; gives back the launch's cudaError_t. The meaning of
/// `in`, `out` and `n` is the kernel's.
int run(const std::string& name, const launch&, const float* in, float* out, unsigned n);

/// The same, watched by an observer that is itself instrumented; `seen`: the accesses that it was told of.
int run_watched_from_within(const std::string& name, const launch&, const float* in, float* out, unsigned n, std::size_t& seen);

}  // namespace lens_test
