// SPDX-License-Identifier: Apache-2.0
// A module that holds the library: it reduces with threads, and static objects of it reduce when it is unloaded.
#include <cstdlib>
#include <vector>

#include <warpfold/warpfold.hpp>

namespace {

bool right() {
  const std::vector<float> x((std::size_t{1} << 19) + 1, 0.25f);
  return wf::sum(x) == 131072.25f && wf::argmax(x) == 0;
}

struct at_unload {
  int* told = nullptr;
  ~at_unload() {
    if (told != nullptr) *told += right() ? 1 : 1000;
  }
};
at_unload early;

}  // namespace

/// How many threads may be at work; 0: a sum was wrong. *told becomes greater by 2 when the module is unloaded.
extern "C" int reduce_in_a_module(int* told, int first_call) {
  setenv("WARPFOLD_THREADS", "4", 1);
  early.told = told;
  if (first_call != 0) return 1;  // that is then the destructor's
  if (!right()) return 0;
  static at_unload late;
  late.told = told;
  return wf::cpu::default_executor().concurrency();
}
