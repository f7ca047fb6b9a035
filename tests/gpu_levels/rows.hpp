// SPDX-License-Identifier: Apache-2.0
/// \file rows.hpp
/// Exact reductions by few small blocks, so that a thread takes thousands of elements.
#pragma once

#include <string>
#include <vector>

#include "../gpu_engine/data.hpp"

struct rows_answer {
  std::string error;
  std::vector<unsigned char> bytes;  ///< 32 of them
};
rows_answer reduce_rows(wf::op o, wf::dtype t, const std::vector<unsigned char>& x, const std::vector<unsigned char>& y,
                        std::int64_t n, unsigned blocks);
