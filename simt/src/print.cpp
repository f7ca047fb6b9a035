// SPDX-License-Identifier: Apache-2.0
// The C library's printf(), for kernels too: there it returns what CUDA's does, the number of arguments that the format
// names, 0 where it names none, and -1 for no format (CUDA C++ Programming Guide, Formatted Output).
#include "thread.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace simt::detail {
namespace {

int arguments_of(const char* format) {
  int count = 0;
  while ((format = std::strchr(format, '%')) != nullptr) {
    const std::size_t flags = std::strspn(++format, "#0- +'*.0123456789hljztL");
    for (std::size_t k = 0; k < flags; ++k) count += format[k] == '*';
    format += flags;
    if (*format == '\0') break;
    count += *format++ != '%';
  }
  return count;
}

}  // namespace

int print(const char* format, std::va_list arguments) {
  if (this_thread == nullptr) return std::vprintf(format, arguments);
  if (format == nullptr) return -1;
  const int characters = std::vprintf(format, arguments);
  return characters < 0 ? -2 : arguments_of(format);
}

}  // namespace simt::detail

// In place of the C library's, as `__assert_fail` is; the second is what fortified builds call.
extern "C" {
int printf(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int result = simt::detail::print(format, arguments);
  va_end(arguments);
  return result;
}
int __printf_chk(int, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int result = simt::detail::print(format, arguments);
  va_end(arguments);
  return result;
}
}
