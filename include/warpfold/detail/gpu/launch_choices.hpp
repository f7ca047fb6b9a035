// SPDX-License-Identifier: Apache-2.0
/// \file launch_choices.hpp
/// The shapes of launches of large arrays, by architecture; `warpfold tune` finds better values for a
/// GPU at hand, and the library reads them from a file: see docs/gpu.md.
#pragma once

#include <cstdint>

namespace wf {

/// Choices for arrays that are large enough to fill a GPU. Answers do not depend on them, but for the last
/// bits of native floating point, which are the same from run to run as long as these are.
struct launch_choices {
  std::uint32_t reduce_threads = 512;  ///< threads per block of the general kernel: a multiple of 32 up to 512
  std::uint32_t reduce_blocks = 2;     ///< blocks per multiprocessor of the general kernel: 1 to 32
  std::uint32_t sum_blocks = 2;        ///< blocks per multiprocessor of fast sums: 1 to 8
  std::uint32_t exact_blocks = 32;     ///< blocks per multiprocessor of exact kernels, never more than fit at once: 1 to 32
  std::uint32_t overlap = 1;           ///< 1: from CC 9.0 on a kernel may start before the one before it has ended
  std::uint32_t looks = 256;           ///< how often a block that stays looks for the verdict before it leaves (certified_reduce.cuh); not tuned
  std::uint32_t trust = 256;           ///< after so many launches whose blocks lost something and were not needed again, blocks leave at once (certified_reduce.cuh); not tuned

  friend constexpr bool operator==(const launch_choices&, const launch_choices&) = default;
};

/// The table. 9.0 is measured (H100); the others are believed to be like it.
constexpr launch_choices launch_choices_for(int major, int minor) {
  if (major == 9) return {512, 2, 2, 32};
  if (major == 7 && minor == 5) return {256, 4, 1, 32};  // a multiprocessor holds 1024 threads
  return {};
}

}  // namespace wf
