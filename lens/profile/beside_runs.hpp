// SPDX-License-Identifier: Apache-2.0
/// \file beside_runs.hpp
/// What is run on simt and on a GPU so that their counters can be set beside each other.
#pragma once

#include <ladder/ladder.hpp>
#include <lens/counting.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lens::profile {

/// A rung with a kernel, or the transposes.
struct beside_case {
  std::string name;                 ///< `warp_leader/flat`, `transpose`
  std::optional<std::size_t> rung;  ///< its index in rungs(type); none: the transposes
};

inline constexpr unsigned transpose_side = 256;

/// All of them, or those of a name, with or without variant.
std::vector<beside_case> beside_cases(const ladder::place&, wf::dtype, const std::string& name = {});

/// Runs it on what the place has loaded; why it was refused, or nothing. Rungs that fill the device launch
/// as on one of 4 multiprocessors: a grid barrier's blocks must all be there at once, and on simt each is
/// an OS thread.
std::string run_case(ladder::place&, const beside_case&, wf::dtype, unsigned block);

struct simt_counted {
  std::string refused;
  std::vector<kernel_counts> kernels;
};
/// The same on simt, counted. The library's own kernels ask the device how many multiprocessors it has:
/// set simt::options::multiprocessors to the GPU's before the place is opened.
simt_counted count_case(ladder::place& lens, const beside_case&, wf::dtype, unsigned block);

}  // namespace lens::profile
