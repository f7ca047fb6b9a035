// SPDX-License-Identifier: Apache-2.0
// assert() of glibc ends here: in a kernel it is the launch's fault, elsewhere what it always was.
#include "thread.hpp"

#include <cstdio>
#include <cstdlib>

extern "C" [[noreturn]] void __assert_fail(const char* expression, const char* file, unsigned int line,
                                           const char* function) noexcept {
  if (simt::detail::this_thread)
    simt::detail::fail_with(simt::fault::trap, 0, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1,
                            std::string("assertion failed: ") + expression);
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
  std::fflush(stderr);
  std::abort();
}
