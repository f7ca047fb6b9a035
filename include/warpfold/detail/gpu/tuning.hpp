// SPDX-License-Identifier: Apache-2.0
/// \file tuning.hpp
/// The file of launch choices, by the name of the GPU:
///
///     {"warpfold_tuning": 1, "gpus": {"NVIDIA H100 80GB HBM3": {"reduce_threads": 512, "reduce_blocks": 2,
///                                                               "sum_blocks": 2, "exact_blocks": 3}}}
///
/// The environment variable WARPFOLD_TUNE names it; without that no file is read. It is read when a place gets its scratch memory, once as long as
/// it does not change. A GPU that it does not know gets the table of launch_choices.hpp, and so do all where the file is missing or
/// malformed: a reduction never fails for it, tuning_problem() and `warpfold info` tell of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <warpfold/detail/gpu/launch_choices.hpp>
#include <warpfold/detail/gpu/library.hpp>

namespace wf {

/// The path of the tuning file, which WARPFOLD_TUNE names; empty if there is none.
std::string tuning_path();

/// Where `warpfold tune` writes if nothing else is named: warpfold/tuning.json under XDG_CONFIG_HOME, else under ~/.config; empty if there is no such folder.
/// Nobody reads it there unless WARPFOLD_TUNE names it.
std::string usual_tuning_path();

/// Whether WARPFOLD_TUNE names a file.
bool has_tuning();

/// The choices that the file has for a GPU. Throws wf::error (bad_input; io where it cannot be read).
std::optional<launch_choices> read_tuning(const std::string& path, std::string_view gpu);
/// The same of the file at tuning_path().
std::optional<launch_choices> read_tuning(std::string_view gpu);

/// The same for places: where the file cannot be read or is malformed, it returns nothing, and tuning_problem() says why.
std::optional<launch_choices> usable_tuning(std::string_view gpu) noexcept;
/// What was wrong with the file when a place last wanted it, in one line; empty if nothing.
WF_API std::string tuning_problem();

/// Puts the choices for a GPU into the file, beside those of others; it is written whole or not at all.
void write_tuning(const std::string& path, std::string_view gpu, const launch_choices& choices);

/// A launch that was tried: the time of all its reductions, over that of the table's choice.
struct tuning_trial {
  std::string kernel;  ///< reduce, sum or exact
  launch_choices choices;
  double ratio;
};
struct tuning_result {
  std::string gpu;
  launch_choices before, after;
  std::vector<tuning_trial> trials;
};

/// Tries the choices on a GPU, about two seconds and `bytes` of its memory. It calls `told` with each trial.
/// A choice is taken if it is 1% faster than the table's. Throws wf::error.
tuning_result tune(const device_library& kernels, std::uint64_t bytes = std::uint64_t{1} << 30,
                   const std::function<void(const tuning_trial&)>& told = {});

}  // namespace wf
