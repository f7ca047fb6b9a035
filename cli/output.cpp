// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace cli {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void write_page(const std::string& path, const std::string& text, const std::string& option) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw wf::error(wf::errc::bad_input, option + " " + wf::io::quoted(path) + ": cannot be written: " +
                                             std::strerror(errno != 0 ? errno : EIO));
}

}  // namespace cli
