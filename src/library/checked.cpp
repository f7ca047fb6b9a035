// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/reductions/checked.hpp>

#include "entry.hpp"
#include "hot.hpp"

#define WF_CHECKED_fits(name, inputs)
#define WF_CHECKED_wraps(name, inputs) WF_ROW(checked_##name##_row, integer, checked_##name<T>, WF_ELEMENTS_##inputs);
#define WF_ELEMENTS_1 T
#define WF_ELEMENTS_2 T, T

namespace wf::library {

using namespace reductions;

#define WF_OPERATION(name, c, text, summary, inputs, accepts, state, answer, overflow, ...) WF_CHECKED_##overflow(name, inputs)
#include <warpfold/operations.def>

}  // namespace wf::library

#define WF_ROW_OF_fits(name) nullptr
#define WF_ROW_OF_wraps(name) &library::checked_##name##_row

namespace wf {

const cpu::erased* find_checked(op o, dtype element) noexcept {
  static constexpr const library::row* rows[] = {
#define WF_OPERATION(name, c, text, summary, inputs, accepts, state, answer, overflow, ...) WF_ROW_OF_##overflow(name),
#include <warpfold/operations.def>
  };
  if (static_cast<std::size_t>(o) >= std::size(rows) || static_cast<std::size_t>(element) >= dtypes.size()) return nullptr;
  const library::row* const found = rows[static_cast<std::size_t>(o)];
  return found == nullptr ? nullptr : (*found)[static_cast<std::size_t>(element)];
}

}  // namespace wf
