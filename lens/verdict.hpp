// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ladder/verify.hpp>

namespace lens {

/// Fills a report's `result`, `exact`, `right` and `why` with what a run of a rung gave.
template <class Report>
void judge(Report& to, const ladder::rung_info& rung, const ladder::array& data, const ladder::outcome& ran) {
  const ladder::reference truth(data);
  const wf::dtype type = result_type(to.asked.type, rung);
  const ladder::judgement j = truth.judge(rung, ran.result, ran.depth);
  to.result = ladder::result_text(type, ran.result);
  to.exact = truth.text(type);
  to.right = j.right && ran.damage.empty();
  to.why = ran.damage.empty() ? j.why : ran.damage;
}

}  // namespace lens
