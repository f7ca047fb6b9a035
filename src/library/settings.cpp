// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <warpfold/warpfold.hpp>

namespace wf {

const char* version() noexcept { return WARPFOLD_VERSION_STRING; }

}  // namespace wf

namespace wf::detail {

extents shape_of_answers(const cpu::operands& o, const settings& s, const char* who) {
  if (s.by.kind == partition::kinds::labels && o.shape.size() == 1 && s.labelled != o.shape[0])
    throw error(errc::bad_argument, std::string(who) + ": " + std::to_string(s.labelled) + " labels for " +
                                        std::to_string(o.shape[0]) + " elements; there must be one for each");
  if (s.by.kind == partition::kinds::segments && s.by.count < 0)
    throw error(errc::bad_argument, std::string(who) + ": no offsets; n segments have n + 1 offsets");
  return wf::shape_of_answers(o.shape, s.by, who);
}

void refuse_answers(const extents& shape, const char* who) {
  throw error(errc::bad_argument, std::string(who) + ": answers of the shape " + text_of(shape) + "; no memory holds so many");
}

}  // namespace wf::detail
