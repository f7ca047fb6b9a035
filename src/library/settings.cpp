// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <warpfold/warpfold.hpp>

namespace wf::detail {

namespace {

extents equal_offsets(std::int64_t n, std::int64_t length, const char* who) {
  if (length <= 0)
    throw error(errc::bad_argument, std::string(who) + ": segments of " + std::to_string(length) +
                                        " elements; they must have 1 or more");
  extents offsets;
  for (std::int64_t i = 0; i < n; i += length) offsets.push_back(i);
  offsets.push_back(n);
  return offsets;
}

void one_dimension(const cpu::operands& o, const char* who) {
  if (o.shape.size() != 1)
    throw error(errc::bad_argument, std::string(who) + ": segments and labels of an input of " +
                                        std::to_string(o.shape.size()) + " dimensions; it must have 1");
}

}  // namespace

extents shape_of_answers(const cpu::operands& o, const settings& s, const char* who) {
  if (s.axes != nullptr) {
    const std::vector<int> axes = cpu::checked_axes(*s.axes, static_cast<int>(o.shape.size()), who);
    extents shape = cpu::kept_shape(o.shape, axes, s.axes->keepdims);
    if (!product(shape))
      throw error(errc::bad_argument, std::string(who) + ": answers of the shape " + text_of(shape) +
                                          "; there may be at most 2^63 - 1");
    return shape;
  }
  one_dimension(o, who);
  if (s.length != nullptr)
    return {static_cast<std::int64_t>(equal_offsets(o.shape[0], s.length->length, who).size()) - 1};
  if (s.offsets != nullptr) return {std::max<std::int64_t>(0, static_cast<std::int64_t>(s.offsets->offsets.size()) - 1)};
  return {std::max<std::int64_t>(0, s.labels->answers)};
}

void refuse_answers(const extents& shape, const char* who) {
  throw error(errc::bad_argument, std::string(who) + ": answers of the shape " + text_of(shape) + "; no memory holds so many");
}

void run(const cpu::erased& r, const void* self, const cpu::operands& o, const settings& s, void* out,
         const char* who) {
  if (s.axes != nullptr) {
    const std::vector<int> axes = cpu::checked_axes(*s.axes, static_cast<int>(o.shape.size()), who);
    cpu::reduce_axes(r, self, o, axes, s.context, out);
  } else if (s.length != nullptr) {
    const std::int64_t n = o.shape[0], length = s.length->length;
    if (length <= 0 || n % length != 0) {
      cpu::reduce_segments(r, self, o, equal_offsets(n, length, who), s.context, out);
      return;
    }
    cpu::operands rows = o;  // equal segments are the rows of a matrix
    rows.shape = {n / length, length};
    for (int k = 0; k < r.inputs; ++k) rows.strides[k] = {o.strides[k][0] * length, o.strides[k][0]};
    const int last[] = {1};
    cpu::reduce_axes(r, self, rows, last, s.context, out);
  } else if (s.offsets != nullptr) {
    cpu::reduce_segments(r, self, o, s.offsets->offsets, s.context, out);
  } else {
    cpu::reduce_labels(r, self, o, s.labels->labels, s.labels->answers, s.context, out);
  }
}

}  // namespace wf::detail
