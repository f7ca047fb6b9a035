// SPDX-License-Identifier: Apache-2.0
// A shared object of a user's, with the archives linked into it: a sum, and a file that is not there.
#include <vector>
#include <warpfold/io/array_file.hpp>
#include <warpfold/warpfold.hpp>

extern "C" int right() {
  try {
    wf::io::array_file::open("no such file.npy");
    return 0;
  } catch (const wf::error& e) {
    if (e.code() != wf::errc::io) return 0;
  }
  const std::vector<double> values{1e308, 1e308, -1e308};
  return wf::sum(values) == 1e308;
}
