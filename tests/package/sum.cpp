// SPDX-License-Identifier: Apache-2.0
// As in a user's program: one include, one call, a value that plain addition gets wrong. What went wrong is caught as wf::error
// also where it comes out of a shared library.
#include <cstdio>
#include <cstring>
#include <vector>
#include <warpfold/warpfold.hpp>

int main() {
  if (std::strcmp(wf::version(), WARPFOLD_VERSION_STRING) != 0) return std::puts("another version's headers"), 1;
  const std::vector<double> values{1e308, 1e308, -1e308};
  try {
    static_cast<void>(wf::sum(wf::view<double>(values.data(), {3}), wf::axis{1}));
    return std::puts("no error of an axis that is not there"), 1;
  } catch (const wf::error& e) {
    if (e.code() != wf::errc::bad_argument) return std::puts("another error"), 1;
  }
  wf::cpu::thread_pool pool(2);
  wf::context context;
  context.executor = &pool;
  std::printf("the exact sum is %g\n", static_cast<double>(wf::sum(values, context)));
}
