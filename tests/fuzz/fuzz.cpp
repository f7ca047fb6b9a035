// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry.
#include "entries.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  WF_FUZZ_ENTRY(std::as_bytes(std::span(data, size)));
  return 0;
}
