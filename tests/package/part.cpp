// SPDX-License-Identifier: Apache-2.0
// A plugin of a program that has two of them, each with a warpfold of its own version: PART_is(version) says 1 if this one has that
// version, by its headers and by what is compiled, and its answers and errors are right.
#include <cstring>
#include <vector>
#include <warpfold/warpfold.h>
#include <warpfold/warpfold.hpp>

#define NAME_OF(part, end) part##end
#define NAME(part, end) NAME_OF(part, end)

extern "C" WF_API int NAME(PART, _is)(const char* version) {
  if (std::strcmp(WARPFOLD_VERSION_STRING, version) != 0 || std::strcmp(wf::version(), version) != 0 || std::strcmp(wf_version(), version) != 0)
    return 0;
  try {
    static_cast<void>(wf::sum(wf::view<double>(nullptr, {0}), wf::axis{1}));
    return 0;
  } catch (const wf::error& e) {
    if (e.code() != wf::errc::bad_argument) return 0;
  }
  std::vector<double> values(1'000'000, 0x1p-60);
  values.front() = 1e308;
  values.back() = -1e308;
  wf::cpu::thread_pool pool(2);
  wf::context context;
  context.executor = &pool;
  return wf::sum(values, context) == 999'998 * 0x1p-60;
}
