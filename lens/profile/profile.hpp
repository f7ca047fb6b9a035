// SPDX-License-Identifier: Apache-2.0
/// \file profile.hpp
/// All that `warpfold profile` shows of a rung or a reduction on a GPU: times of its kernels and of what it asked of
/// the CUDA runtime, then, in runs of their own, hardware counters and the roofline.
#pragma once

#include <ladder/clocks.hpp>
#include <ladder/data.hpp>
#include <ladder/ladder.hpp>
#include <warpfold/detail/gpu/library.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "activity.hpp"
#include "hardware.hpp"
#include "roofline.hpp"

namespace lens::profile {

struct profile_request {
  std::string rung;                 ///< or, if `reduction` is there, empty
  std::optional<wf::op> reduction;  ///< one of the library's, by its own kernels
  wf::accuracy accuracy = wf::accuracy::exact;  ///< for that
  wf::dtype type = wf::dtype::f32;
  std::uint64_t n = std::uint64_t{1} << 24;
  ladder::distribution data = ladder::distribution::uniform;
  std::uint64_t seed = 1;
  unsigned block = 256;
  unsigned runs = 50;
  bool hot = false;       ///< do not flush the L2 before each run
  bool counters = true;   ///< also the hardware's
  bool roofline = true;
};

/// What several durations come to, in seconds. spread: the middle half's width over the median.
struct statistics {
  std::string name;
  std::uint64_t count = 0;
  double total = 0, average = 0, median = 0, least = 0, most = 0, spread = 0;
};
statistics summary(std::string name, std::vector<double> seconds);

struct profiled_kernel {
  kernel_record first;  ///< its first launch; short name
  statistics time;
};

struct profile {
  profile_request asked;
  std::string name;  ///< `cpu/kahan`, `argmax`
  std::string what = "sum";  ///< the answer's name
  std::uint64_t input_bytes = 0;
  ladder::place_facts facts;
  std::optional<ladder::gpu_clocks> clocks;
  std::string result, exact;
  bool right = false, expected_wrong = false;
  std::string why;  ///< it is wrong

  std::string no_trace;  ///< why there are no activity records; then event_time is there
  std::vector<profiled_kernel> kernels;
  std::vector<statistics> transfers, calls;
  std::uint64_t dropped = 0;
  std::optional<ladder::timing> event_time;  ///< the whole rung's

  std::string no_counters;
  std::string chip;
  std::size_t passes = 0;
  struct named_counts {
    std::string name;
    counted_kernel counted;
  };
  std::vector<named_counts> counts;  ///< for each launch of one run

  std::optional<roofline> roof;
  bool counted_operations = false;  ///< the points' operations and bytes are the counters'; else the sum's own
};

/// Which of the rungs is asked for. Needs no GPU. Throws wf::error, bad_argument, for a rung that does not exist,
/// has no kernel or cannot use the block.
std::size_t rung_to_profile(std::span<const ladder::rung_info>, const profile_request&);

/// Throws wf::error: as rung_to_profile(), and device if a call failed.
profile profile_rung(ladder::place& gpu, const profile_request&);
/// The same of one of the library's reductions, by the kernels of `library`.
profile profile_reduction(ladder::place& gpu, const wf::device_library& library, const profile_request&);

/// The kernels of each of the runs: their names from activity records, then their counters, by instruction
/// alone, from runs of their own. Throws unavailable.
std::vector<std::vector<profile::named_counts>> count_runs(const std::vector<std::function<void()>>& runs);

/// As tables for a terminal, one JSON object, a page of its own.
std::string to_text(const profile&);
std::string to_json(const profile&, const std::string& command);
std::string to_html(const profile&, const std::string& command);

}  // namespace lens::profile
