// SPDX-License-Identifier: Apache-2.0
/// \file operations.hpp
/// Floating-point operations, read off the machine code: arithmetic calls nobody, so no observer hears of
/// it, but it stands in the basic blocks whose entries are counted.
#pragma once

#include <cstdint>
#include <vector>

namespace lens {

struct operation {
  std::uintptr_t at;   ///< the instruction, for simt::locate()
  unsigned count = 0;  ///< for one thread: 1 for an addition, subtraction, product, quotient or root, 2 for a fused one
};

/// What a thread computes from a basic block's mark (the site of simt::observer::basic_block) to the next
/// block's, all paths without a mark of their own taken together. Comparisons, min, max, signs and
/// conversions are no operations. x86-64; elsewhere nothing.
std::vector<operation> operations_of_block(std::uintptr_t site);

/// Whether operations_of_block() reads this processor's code.
bool reads_operations();

}  // namespace lens
