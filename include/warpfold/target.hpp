// SPDX-License-Identifier: Apache-2.0
/// \file target.hpp
/// Which instruction set the kernels run with. Chosen at first use: the best that the processor has,
/// or what the environment variable WARPFOLD_CPU_TARGET names. Answers never depend on it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <warpfold/export.h>

namespace wf::cpu {

/// The instruction sets that kernels are compiled for.
enum class target {
  scalar,  ///< the least that the architecture guarantees (on x86-64 that has 16-byte vectors)
  neon,    ///< Arm's vectors of 16 bytes
  avx2,    ///< x86-64's vectors of 32 bytes
  avx512   ///< x86-64's vectors of 64 bytes
};

/// Its name, as above. Throws nothing.
WF_API std::string_view name(target t);
/// The target of that name, or nothing. Throws nothing.
WF_API std::optional<target> target_named(std::string_view name);

/// Those built in that this processor can run, best last. Throws nothing.
WF_API std::span<const target> available_targets();

/// The one that kernels run with. Throws wf::error where WARPFOLD_CPU_TARGET names none (bad_argument), or none that
/// runs here (unsupported).
WF_API target active_target();

/// Runs all kernels with `t` from now on, on every thread; throws wf::error (unsupported) if it is
/// not available. For tests and comparisons; not while a reduction runs.
WF_API void force_target(target t);

}  // namespace wf::cpu
