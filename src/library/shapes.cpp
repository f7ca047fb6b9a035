// SPDX-License-Identifier: Apache-2.0
// Shapes of inputs and answers. Nothing here needs a reduction, so that a program that reduces on a GPU alone links none of the CPU's.
#include "shapes.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/detail/cpu/indexes.hpp>
#include <warpfold/detail/gpu/own_kernels.hpp>
#include <warpfold/error.hpp>
#include <warpfold/view.hpp>

namespace wf {

namespace {

std::int64_t length_of_one_dimension(const extents& shape, const char* who) {
  if (shape.size() != 1)
    refuse(std::string(who) + ": segments and labels of an input of " + std::to_string(shape.size()) +
           " dimensions; it must have 1");
  return shape[0];
}

}  // namespace

extents shape_of_answers(const extents& shape, const partition& by, const char* who) {
  using kinds = partition::kinds;
  switch (by.kind) {
    case kinds::whole: return {};
    case kinds::axes: {
      const extents kept = cpu::kept_shape(shape, cpu::checked_axes(by.axes, static_cast<int>(shape.size()), who), by.keepdims);
      if (!detail::product(kept))
        refuse(std::string(who) + ": answers of the shape " + detail::text_of(kept) + "; there may be at most 2^63 - 1");
      return kept;
    }
    case kinds::equal_segments: {
      const std::int64_t n = length_of_one_dimension(shape, who);
      if (by.length <= 0)
        refuse(std::string(who) + ": segments of " + std::to_string(by.length) + " elements; they must have 1 or more");
      return {n / by.length + (n % by.length != 0 ? 1 : 0)};
    }
    case kinds::segments:
    case kinds::labels: break;
  }
  length_of_one_dimension(shape, who);
  const bool labels = by.kind == kinds::labels;
  if (by.count < 0)
    refuse(std::string(who) + ": " + (labels ? "labels of " : "") + std::to_string(by.count) + (labels ? " answers" : " segments") + "; there must be 0 or more");
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8 - 1;  // offsets of 8 bytes, one more than segments
  if (by.count > most)
    refuse(std::string(who) + ": " + (labels ? "labels of " : "") + std::to_string(by.count) + (labels ? " answers" : " segments") + "; no memory holds so many");
  if (by.index_bytes != 4 && by.index_bytes != 8)
    refuse(std::string(who) + ": " + (labels ? "labels" : "offsets") + " of " + std::to_string(int{by.index_bytes}) +
           " bytes; they have 4 or 8");
  if (by.indexes == nullptr && (!labels || shape[0] != 0))
    refuse(std::string(who) + ": no " + (labels ? "labels; there is one for each element" : "offsets; n segments have n + 1 offsets"));
  return {by.count};
}

void check_states_call(op o, std::int64_t count, std::initializer_list<std::pair<const void*, const char*>> pointers) {
  const char* const who = op_names[static_cast<int>(o)];
  if (count < 0) refuse(std::string(who) + ": " + std::to_string(count) + " states; there must be 0 or more");
  for (const auto& [p, what] : pointers)
    if (p == nullptr && count != 0) refuse(std::string(who) + ": " + what + " is null, but there are " + std::to_string(count) + " states");
}

void refuse_out(const std::string& who) { refuse(who + ": nowhere to put the answer"); }

const char* name_of(const request& r) { return detail::is_own(r) ? r.own.name : op_names[static_cast<int>(r.what)]; }

namespace {

/// The number of inputs of a request's reduction. One that no operation names is refused what it cannot do.
int inputs_of(const request& r) {
  if (!detail::is_own(r)) return inputs_of(r.what);
  if (r.wanted != output::answers)
    throw error(errc::unsupported, std::string(r.own.name) + ": a reduction that no operation names gives answers, no states and no wf::checked");
  if (r.swapped[0] || r.swapped[1])
    throw error(errc::unsupported, std::string(r.own.name) + ": a reduction that no operation names takes elements in the machine's order of bytes");
  return r.own.functions != nullptr ? r.own.functions->inputs : r.own.kernels->inputs;
}

}  // namespace

extents check_shapes(const request& r) {
  const char* const who = name_of(r);
  const int inputs = inputs_of(r);
  const auto elements = detail::product(r.inputs.shape);
  if (!elements) refuse(std::string(who) + ": inputs of the shape " + detail::text_of(r.inputs.shape) + "; more than 2^63 - 1 elements");
  for (int k = 0; k < inputs; ++k) {
    if (r.inputs.strides[static_cast<std::size_t>(k)].size() != r.inputs.shape.size())
      refuse(std::string(who) + ": an input of " + std::to_string(r.inputs.shape.size()) + " dimensions has " +
             std::to_string(r.inputs.strides[static_cast<std::size_t>(k)].size()) + " strides");
    if (*elements != 0 && r.inputs.data[static_cast<std::size_t>(k)] == nullptr)
      refuse(std::string(who) + ": input " + std::to_string(k) + " is null, but has " + std::to_string(*elements) + " elements");
  }
  if (r.first < 0 || r.first > std::numeric_limits<std::int64_t>::max() - *elements)
    refuse(std::string(who) + ": the first of " + std::to_string(*elements) + " elements has the index " + std::to_string(r.first) +
           "; indexes are 0 to 2^63 - 1");
  const extents answers = shape_of_answers(r.inputs.shape, r.by, who);
  if (r.out == nullptr && detail::product(answers) != 0) refuse_out(who);
  return answers;
}

}  // namespace wf

namespace wf::cpu {

void refuse_offset(std::int64_t k, std::int64_t offset, std::int64_t elements) {
  refuse("segments: offset " + std::to_string(k) + " is " + std::to_string(offset) + "; offsets rise, from 0 to at most " + std::to_string(elements));
}

void refuse_label(std::int64_t label, std::int64_t i, std::int64_t answers) {
  refuse("labels: label " + std::to_string(label) + " of element " + std::to_string(i) + "; " +
         (answers == 0 ? "there are 0 answers" : "labels are 0 to " + std::to_string(answers - 1)));
}

per_dimension<int> checked_axes(std::span<const int> axes, int rank, const char* who) {
  per_dimension<int> out;
  for (const int given : axes) {
    const int d = given < 0 ? given + rank : given;
    if (rank == 0)
      refuse(std::string(who) + ": axis " + std::to_string(given) + " of an array of 0 dimensions, which has no axes");
    if (d < 0 || d >= rank)
      refuse(std::string(who) + ": axis " + std::to_string(given) + " of an array of " +
             std::to_string(rank) + " dimensions; axes are " + std::to_string(-rank) + " to " +
             std::to_string(rank - 1));
    if (std::find(out.begin(), out.end(), d) != out.end())
      refuse(std::string(who) + ": axis " + std::to_string(given) + " is named twice");
    out.push_back(d);
  }
  std::sort(out.begin(), out.end());
  return out;
}

extents kept_shape(const extents& shape, std::span<const int> axes, bool keepdims) {
  extents out;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) out.push_back(shape[d]);
    else if (keepdims) out.push_back(1);
  }
  return out;
}

}  // namespace wf::cpu
