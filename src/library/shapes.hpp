// SPDX-License-Identifier: Apache-2.0
/// \file shapes.hpp
/// What of a request can be checked without knowing its reduction.
#pragma once

#include <string>

#include <warpfold/error.hpp>
#include <warpfold/request.hpp>

namespace wf {

[[noreturn]] inline void refuse(const std::string& what) { throw error(errc::bad_argument, what); }

/// As check(), of an operation and an element type that are known to be taken.
extents check_shapes(const request& r);

}  // namespace wf
