// SPDX-License-Identifier: Apache-2.0
/// \file hardware.hpp
/// Hardware counters of every kernel that a piece of work launches, by CUPTI's range profiler: each
/// kernel is a range of its own, and is replayed once a pass. Never time a run that is counted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "metrics.hpp"

namespace lens::profile {

struct counted {
  std::string chip;         ///< `GH100`
  std::size_t passes = 0;   ///< over each kernel
  std::vector<counted_kernel> kernels;  ///< in the order of their launches
};

/// Counts the metrics of metrics() while `work` runs, or only those that are counted by instruction, which
/// take one pass; the others are NaN then. `work` launches at most `most_kernels` on the current device and
/// waits for them. Throws unavailable, with the reason, where that cannot be; then `work` may have run.
/// `work` must not launch graphs.
counted count_kernels(const std::function<void()>& work, bool instructions_alone = false,
                      std::size_t most_kernels = 64);

}  // namespace lens::profile
