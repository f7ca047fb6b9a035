// SPDX-License-Identifier: Apache-2.0
/// \file launch_choices.hpp
/// What launches of large arrays are made of, by architecture; `warpfold tune` finds better values for a
/// GPU at hand, and the library reads them from a file: see docs/gpu.md.
#pragma once

#include <cstdint>

namespace wf {

/// Choices for arrays that are large enough to fill a GPU. Answers do not depend on them, but for the last
/// bits of native floating point, which are the same from run to run as long as these are.
struct launch_choices {
  std::uint32_t reduce_threads = 512;  ///< a block, of the general kernel: a multiple of 32 up to 512
  std::uint32_t reduce_blocks = 2;     ///< a multiprocessor, of the general kernel: 1 to 32
  std::uint32_t sum_blocks = 2;        ///< a multiprocessor, of fast sums: 1 to 8
  std::uint32_t exact_blocks = 32;     ///< a multiprocessor, of exact kernels; never more than fit at once: 1 to 32
  std::uint32_t overlap = 1;           ///< 1: a kernel may come to a GPU of CC 9.0 on before the last one of its kind is done
  std::uint32_t looks = 256;           ///< at a verdict that does not come, of a block that certificates may need again, before it leaves (certified_reduce.cuh); not tuned
  std::uint32_t trust = 256;           ///< launches whose blocks lost something and were not needed again, until those of the next ones leave at once (certified_reduce.cuh); not tuned

  friend constexpr bool operator==(const launch_choices&, const launch_choices&) = default;
};

/// The table. 9.0 is measured (H100); the others are believed to be like it.
constexpr launch_choices launch_choices_for(int major, int minor) {
  if (major == 9) return {512, 2, 2, 32};
  if (major == 7 && minor == 5) return {256, 4, 1, 32};  // a multiprocessor holds 1024 threads
  return {};
}

}  // namespace wf
