// SPDX-License-Identifier: Apache-2.0
/// \file metrics.hpp
/// The hardware counters that `warpfold profile` reads, by CUPTI's names for compute capability 9.0.
/// Host-safe, and without CUPTI.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lens::profile {

/// Those of `sass` are counted by patched code, one instruction of a warp at a time, and are the same
/// in every run; those of the hardware are what its units saw, and move with timing.
enum class source : unsigned char { sass, hardware };

struct metric {
  std::string_view name;   ///< as CUPTI spells it
  std::string_view label;  ///< `shared load wavefronts`
  std::string_view unit;   ///< empty for a count; `%`, `B`, `lanes`, `warps`
  source from;
};
std::span<const metric> metrics();

/// What was counted of one kernel, in the order of metrics().
struct counted_kernel {
  std::vector<double> values;
  /// The value of a metric by name; NaN if it is not one of them.
  double of(std::string_view name) const;
  /// Operations of f32 and f64, an fma being two. Those of f16 are not among them: nvcc makes constants
  /// by HFMA2 and widens halves by HADD2, and the kernels add in f32.
  double flops() const;
  /// 32 bytes a sector that global loads, stores and atomics touched.
  double sector_bytes() const;
};

/// CUPTI's host side, which needs no GPU: how many passes over a kernel the metrics take on a chip, and
/// the names that it does not know.
struct metric_check {
  std::size_t passes = 0;
  std::vector<std::string> unknown;
};
/// Throws unavailable where CUPTI is not.
metric_check check_metrics(const std::string& chip, std::span<const std::string_view> names);

}  // namespace lens::profile
