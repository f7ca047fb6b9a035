// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "problem.hpp"

namespace wf::cpu {

namespace {

/// The order in which elements are walked may be that of memory: strides falling, none negative.
void to_memory_order(dimensions& dims, pointers& base) {
  for (dimension& d : dims) {
    if (d.strides[0] >= 0) continue;
    base[0] += d.strides[0] * (d.length - 1);
    d.strides[0] = -d.strides[0];
  }
  // std::stable_sort takes memory, even for two.
  for (std::size_t k = 1; k < dims.size(); ++k)
    for (std::size_t i = k; i > 0 && dims[i - 1].strides[0] < dims[i].strides[0]; --i) std::swap(dims[i - 1], dims[i]);
}

/// Answers that are neighbours in memory are made together, so the kept dimension with the least stride comes last. Where another one does, all are
/// put in the order of memory, and answers go to their places at the end.
void kept_in_memory_order(problem& p, const erased& r) {
  if (p.kept.size() < 2) return;
  const auto distance = [&](const dimension& d) {  // between neighbours; where all elements are the same one they are no neighbours
    std::int64_t most = 0;
    for (int k = 0; k < r.inputs; ++k) most = std::max(most, std::abs(d.strides[k]));
    return most == 0 ? std::numeric_limits<std::int64_t>::max() : most;
  };
  const auto longer = [&](const dimension& a, const dimension& b) { return distance(a) > distance(b); };
  const dimension& nearest = *std::min_element(p.kept.begin(), p.kept.end(), [&](const dimension& a, const dimension& b) { return longer(b, a); });
  if (distance(nearest) == distance(p.kept.back())) return;
  per_dimension<std::int64_t> places(p.kept.size(), static_cast<std::int64_t>(r.result_size));
  for (std::size_t d = p.kept.size(); d-- > 1;) places[d - 1] = places[d] * p.kept[d].length;
  per_dimension<int> order(p.kept.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return longer(p.kept[a], p.kept[b]); });
  dimensions sorted;
  for (const int d : order) {
    sorted.push_back(p.kept[d]);
    p.answer_places.push_back({p.kept[d].length, {places[d]}});
  }
  p.kept = sorted;
}

}  // namespace

problem arrange(const erased& r, const operands& x, std::span<const int> axes) {
  problem p;
  for (int k = 0; k < r.inputs; ++k) p.base[k] = static_cast<const std::byte*>(x.data[k]);
  for (int d = 0; d < static_cast<int>(x.shape.size()); ++d) {
    dimension dim{x.shape[d], {}};
    for (int k = 0; k < r.inputs; ++k) dim.strides[k] = x.strides[k][d];
    const bool is_reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    (is_reduced ? p.reduced : p.kept).push_back(dim);
  }
  const auto length_of = [](const dimension& d) { return d.length; };
  const auto answers = wf::detail::product(p.kept, length_of);
  const auto elements = wf::detail::product(p.reduced, length_of);
  if (!answers) throw error(errc::bad_argument, "more than 2^63 answers");
  p.answers = *answers;
  p.elements = elements.value_or(1);  // where there are no answers
  if (p.answers == 0 || p.elements == 0) return p;
  if (r.commutes && r.inputs == 1) to_memory_order(p.reduced, p.base);
  p.reduced = joined(p.reduced, r.inputs);
  p.kept = joined(p.kept, r.inputs);
  kept_in_memory_order(p, r);
  p.kept = joined(p.kept, r.inputs);
  return p;
}

}  // namespace wf::cpu
