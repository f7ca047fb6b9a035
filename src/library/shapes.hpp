// SPDX-License-Identifier: Apache-2.0
/// \file shapes.hpp
/// What of a request can be checked without knowing its reduction.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include <warpfold/error.hpp>
#include <warpfold/request.hpp>

namespace wf {

[[noreturn]] inline void refuse(const std::string& what) { throw error(errc::bad_argument, what); }

/// Throws wf::error (bad_argument) of a null pointer where answers go.
[[noreturn]] void refuse_out(const std::string& who);

/// How messages about a request begin: its operation, or the name of the caller's own reduction.
const char* name_of(const request& r);

/// As check(), but whether an operation takes the element type.
extents check_shapes(const request& r);

/// Throws wf::error (bad_argument) of a negative number of states, and of null pointers to some: `what` says to what.
void check_states_call(op o, std::int64_t count, std::initializer_list<std::pair<const void*, const char*>> pointers);

}  // namespace wf
