// SPDX-License-Identifier: Apache-2.0
// The C library's printf(), for kernels too: there it returns what CUDA's does, the number of arguments that the format
// names, 0 where it names none, and -1 for no format (CUDA C++ Programming Guide, Formatted Output).
#include "thread.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

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

// The first conversion that CUDA's printf does not know, or "": it has the sizes h, l and ll alone, and no precision from an
// argument. An H100 (CUDA 13.0) took what follows such a conversion from the wrong bytes.
std::string_view unknown_to_cuda(const char* format) {
  while ((format = std::strchr(format, '%')) != nullptr) {
    const char* const begin = format++;
    format += std::strspn(format, "#0- +'*0123456789");
    bool known = true;
    if (*format == '.') {
      known = *++format != '*';
      format += std::strspn(format, "*0123456789");
    }
    const std::size_t size = std::strspn(format, "hlqjztL");
    known = known && (size == 0 || std::string_view(format, size) == "h" || std::string_view(format, size) == "l" ||
                      std::string_view(format, size) == "ll");
    format += size;
    if (*format == '\0') break;
    ++format;
    if (!known) return {begin, static_cast<std::size_t>(format - begin)};
  }
  return {};
}

// Once for each format, on stderr: the text itself is printed as the C library prints it.
void warn_of_unknown(const char* format) {
  static std::mutex guard;
  static std::set<std::string>& told = *new std::set<std::string>;  // kernels may print while the process ends
  const std::string_view found = unknown_to_cuda(format);
  if (found.empty()) return;
  const std::scoped_lock lock(guard);
  if (!told.emplace(format).second) return;
  std::fprintf(stderr,
               "simt: printf in a kernel: CUDA does not know %.*s (its sizes are h, l and ll, its precision a number); a GPU prints this "
               "and what follows wrong; write %%lld or %%llu with a cast\n",
               static_cast<int>(found.size()), found.data());
}

}  // namespace

int print(const char* format, std::va_list arguments) {
  if (this_thread == nullptr) return std::vprintf(format, arguments);
  if (format == nullptr) return -1;
  warn_of_unknown(format);
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
