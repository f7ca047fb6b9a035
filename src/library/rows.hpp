// SPDX-License-Identifier: Apache-2.0
/// \file rows.hpp
/// The rows of the table that this translation unit compiles: those of each state_kind KIND for which it has defined
/// WF_COMPILES_KIND as a comma.
#pragma once

#include <warpfold/builtin.hpp>

#include "entry.hpp"

#define WF_ROWS(name, inputs, accepts, exact, fast)                   \
  WF_ROW(name##_exact, accepts, WF_BARE exact, WF_ELEMENTS_##inputs); \
  WF_ROW(name##_fast, accepts, WF_BARE fast, WF_ELEMENTS_##inputs);
#define WF_NO_ROWS(...)
#define WF_BARE(...) __VA_ARGS__
#define WF_ELEMENTS_1 T
#define WF_ELEMENTS_2 T, T
// The second of its arguments; the comma of a kind that is compiled makes WF_ROWS that.
#define WF_SECOND(first, second, ...) second
#define WF_SECOND_OF(...) WF_SECOND(__VA_ARGS__)

namespace wf::library {

using namespace reductions;

#define WF_OPERATION(name, c, text, summary, inputs, accepts, state, answer, overflow, exact, fast) \
  WF_SECOND_OF(WF_COMPILES_##state WF_ROWS, WF_NO_ROWS, )(name, inputs, accepts, exact, fast)
#include <warpfold/operations.def>

}  // namespace wf::library
