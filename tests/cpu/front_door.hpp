// SPDX-License-Identifier: Apache-2.0
// Calls of wf::sum and its like whose reduction, element type and place are known at run time only.
#pragma once

#include <warpfold/view.hpp>

#include "typeless.hpp"

namespace wf::test {

/// Elements somewhere in memory: as in wf::view, but of any type.
struct elements {
  dtype type;
  const std::byte* first;
  extents shape, strides;
};

enum class place { range, whole, axes, segments, segments_of, labels };

struct where {
  place kind = place::whole;
  axis axes{};
  std::vector<std::int64_t> numbers;  // offsets or labels
  std::int64_t count = 0;             // the length of segments, or how many labels there are
};

struct answers {
  result_kind kind;
  extents shape;
  std::size_t each;  // bytes
  std::vector<std::byte> bytes;

  std::int64_t size() const { return static_cast<std::int64_t>(bytes.size() / each); }
  answer operator[](std::int64_t i) const {
    const auto at = bytes.begin() + i * static_cast<std::int64_t>(each);
    return {kind, {at, at + static_cast<std::int64_t>(each)}};
  }
};

/// y is used by dot only.
answers at_front_door(op o, const elements& x, const elements& y, const where& w, const how& h);

}  // namespace wf::test
