// SPDX-License-Identifier: Apache-2.0
/// \file shapes.hpp
/// What of a request can be checked without knowing its reduction.
#pragma once

#include <warpfold/request.hpp>

namespace wf {

/// As check(), of an operation and an element type that are known to be taken.
extents check_shapes(const request& r);

}  // namespace wf
