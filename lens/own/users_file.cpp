// SPDX-License-Identifier: Apache-2.0
#include "users_file.hpp"

namespace lens {
namespace {

source_file& users_file() {
  static source_file one;
  return one;
}

}  // namespace

std::span<const source_file> sources() { return {&users_file(), 1}; }

void own::show_file(const std::string& path, const std::string& text) { users_file() = {path, text}; }

}  // namespace lens
