// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <warpfold/warpfold.hpp>

namespace wf {

const char* version() noexcept { return WARPFOLD_VERSION_STRING; }

}  // namespace wf

namespace wf::detail {

void refuse_threads(int threads) {
  throw error(errc::bad_argument, "context: threads is " + std::to_string(threads) + "; it is 0 or more, and 0 means all");
}

void add_input(cpu::operands& o, std::size_t k, const void* data, std::size_t size, const extents& shape, const extents& strides) {
  o.data[k] = data;
  if (k == 0) o.shape = shape;
  else if (o.shape != shape)
    throw error(errc::bad_argument, "two inputs of the shapes " + text_of(o.shape) + " and " + text_of(shape) + "; they must be the same");
  o.strides[k] = byte_strides(shape, strides, static_cast<std::int64_t>(size));
}

void add_input(cpu::operands& o, std::size_t k, const void* data, std::size_t size, std::size_t n) {
  if (k != 0) {
    add_input(o, k, data, size, {static_cast<std::int64_t>(n)}, {1});
    return;
  }
  o.data[0] = data;  // what is right of one dimension, in a few ns
  o.shape.push_back(static_cast<std::int64_t>(n));
  o.strides[0].push_back(static_cast<std::int64_t>(size));
}

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
