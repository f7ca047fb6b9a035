// SPDX-License-Identifier: Apache-2.0
// As in a user's program: one include, one call, a value that plain addition gets wrong.
#include <cstdio>
#include <vector>
#include <warpfold/warpfold.hpp>

int main() {
  const std::vector<double> values{1e308, 1e308, -1e308};
  std::printf("the exact sum is %g\n", static_cast<double>(wf::sum(values)));
}
