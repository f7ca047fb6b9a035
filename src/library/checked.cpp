// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/reductions/checked.hpp>

#include "entry.hpp"
#include "hot.hpp"

namespace wf::library {

using namespace reductions;

WF_ROW(checked_sum_row, integer, checked_sum<T>, T);
WF_ROW(checked_prod_row, integer, checked_prod<T>, T);
WF_ROW(checked_squares_row, integer, checked_squares<T>, T);
WF_ROW(checked_norm1_row, integer, checked_norm1<T>, T);
WF_ROW(checked_dot_row, integer, checked_dot<T>, T, T);

}  // namespace wf::library

namespace wf {

const cpu::erased* find_checked(op o, dtype element) noexcept {
  const auto in = [element](const library::row& r) { return r[static_cast<std::size_t>(element)]; };
  switch (o) {
    case op::sum: return in(library::checked_sum_row);
    case op::prod: return in(library::checked_prod_row);
    case op::sum_of_squares: return in(library::checked_squares_row);
    case op::norm1: return in(library::checked_norm1_row);
    case op::dot: return in(library::checked_dot_row);
    default: return nullptr;
  }
}

}  // namespace wf
