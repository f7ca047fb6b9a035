// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simt::detail {

/// A thread-local variable of a program or library, by its offset in the object's thread-local block.
struct tls_symbol {
  std::uint64_t offset, size;
  std::string name;
};

/// All of them, by offset; empty if the file cannot be read or has no symbol table.
std::vector<tls_symbol> read_tls_symbols(const std::string& file);

}  // namespace simt::detail
