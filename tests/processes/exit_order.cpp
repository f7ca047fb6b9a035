// SPDX-License-Identifier: Apache-2.0
// Static objects that reduce in their destructors, at exit(): made before the first call, made after it, or
// making the first call themselves. Argument: which of them reduce, and what main() does before.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <warpfold/warpfold.hpp>

namespace {

bool right() {
  static const std::vector<double>& x = *new std::vector<double>((std::size_t{1} << 19) + 3, 0.5);
  return wf::sum(x) == 0.25 * (1 << 20) + 1.5 && wf::max(x) == 0.5 && wf::mean(x) == 0.5;
}

struct at_exit {
  bool reduces = false;
  ~at_exit() {
    if (!reduces) return;
    if (!right()) {
      std::puts("wrong sum in the destructor of a static object");
      std::_Exit(1);
    }
    std::puts("right");
  }
};

at_exit early;  // its destructor is the last to run

}  // namespace

int main(int, char** argv) {
  const char* what = argv[1] != nullptr ? argv[1] : "both";
  setenv("WARPFOLD_THREADS", "4", 1);
  early.reduces = std::strcmp(what, "late") != 0;
  if (std::strcmp(what, "first") == 0) return 0;  // the first call is that of the destructor
  if (!right()) return 1;
  static at_exit late;
  late.reduces = std::strcmp(what, "early") != 0;
  if (std::strcmp(what, "busy") == 0) {
    std::thread([] {  // reduces while exit() runs destructors
      for (;;) {
        if (!right()) std::_Exit(2);
      }
    }).detach();
    for (int k = 0; k < 20; ++k) {
      if (!right()) return 1;
    }
  }
  return 0;
}
