// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry.
#include "npy_entry.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_npy(std::as_bytes(std::span(data, size)));
  return 0;
}
