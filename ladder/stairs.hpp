// SPDX-License-Identifier: Apache-2.0
/// \file stairs.hpp
/// The rows of the three side stairs.
#pragma once

#include <cstdint>
#include <string_view>

namespace ladder {

struct transpose_row {
  std::string_view name;
  bool right = false;
  double seconds = 0;              ///< median; 0 on simt
  std::uint64_t shared_bytes = 0;  ///< a block's
};

struct overlap_row {
  std::string_view memory;  ///< `pageable` or `pinned`
  unsigned streams = 1;
  bool right = false;
  double seconds = 0;  ///< median; 0 on simt
};

struct precision_row {
  std::string_view data;  ///< `ones` or `uniform`
  std::string_view sum;   ///< `f16 serial`, `f32 tree` …
  std::uint64_t n = 0;
  double result = 0, exact = 0;
};

}  // namespace ladder
