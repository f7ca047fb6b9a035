// SPDX-License-Identifier: Apache-2.0
/// \file target.hpp
/// Which instruction set the kernels run with. Chosen at first use: the best that the processor has,
/// or what the environment variable WARPFOLD_CPU_TARGET names. Answers never depend on it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace wf::cpu {

/// `scalar` is the least that the architecture guarantees (on x86-64 that has 16-byte vectors).
enum class target { scalar, neon, avx2, avx512 };

std::string_view name(target t);
std::optional<target> target_named(std::string_view name);

/// Those built in that this processor can run, best last.
std::span<const target> available_targets();

target active_target();

/// Runs all kernels with `t` from now on, on every thread; throws wf::error (unsupported) if it is
/// not available. For tests and comparisons; not while a reduction runs.
void force_target(target t);

}  // namespace wf::cpu
