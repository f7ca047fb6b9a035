// SPDX-License-Identifier: Apache-2.0
/// \file version.hpp
/// The version of the headers, as macros, and that of the compiled library, as a function.
#pragma once

#include <warpfold/export.h>
#include <warpfold/version.h>

namespace wf {

/// The version of the compiled library, as "0.1.0". Where it differs from WARPFOLD_VERSION_STRING, a program was compiled
/// with the headers of another version than the library that it runs with.
WF_API const char* version() noexcept;

}  // namespace wf
