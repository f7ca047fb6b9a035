// SPDX-License-Identifier: Apache-2.0
// view.hpp: views of arrays in n dimensions, lengths and strides, axes, and the answers along them.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <warpfold/warpfold.hpp>

#include "expect.hpp"

namespace {

/// Takes what the front door takes beside views.
template <wf::host_range R>
std::int64_t length_of(const R& range) { return static_cast<std::int64_t>(std::ranges::size(range)); }

void views() {
  std::vector<float> pixels(24);  // 0, 1, … 23
  std::iota(pixels.begin(), pixels.end(), 0.0F);
  expect(length_of(pixels) == 24);

  const wf::extents shape{4, 6};                             // 4 rows of 6 elements
  const wf::view<float> image(pixels.data(), shape);         // C order, no gaps
  expect(image.rank() == 2 && image.size() == 24 && image.data() == pixels.data());
  expect(image.shape() == shape && image.strides() == wf::row_major(shape) && image.strides()[0] == 6);

  const wf::extents half{4, 2}, apart{6, 3};                 // the elements 0 and 3 of each row: strides count elements
  const wf::view<float> sparse(pixels.data(), half, apart);
  expect(wf::sum(sparse) == 0 + 3 + 6 + 9 + 12 + 15 + 18 + 21);

  const wf::view<float> turned = image.transposed(0, 1);     // the same memory, 6 × 4
  expect(turned.shape()[0] == 6 && turned.strides()[1] == 6 && wf::sum(turned) == wf::sum(image));
  static_assert(std::is_same_v<wf::view<float>::element, float>);

  // Refused: a negative length, strides that are not one for each dimension, a dimension that is none, more than max_rank.
  const auto bad = wf::errc::bad_argument;
  expect(thrown_by<wf::error>([&] { wf::view<float>(pixels.data(), {-1}); }).code() == bad);
  expect(thrown_by<wf::error>([&] { wf::view<float>(pixels.data(), {4, 6}, {6}); }).code() == bad);
  expect(thrown_by<wf::error>([&] { image.transposed(0, 2); }).code() == bad);
  expect(thrown_by<wf::error>([&] { wf::extents(wf::max_rank + 1); }).code() == bad);
}

void lengths() {
  wf::per_dimension<std::int64_t> d(2, 5);  // 5, 5; up to max_rank values, nothing is allocated
  d.push_back(7);
  expect(d.size() == 3 && d.front() == 5 && d.back() == 7 && d[2] == 7 && d.data() == d.begin());
  expect(std::accumulate(d.begin(), d.end(), std::int64_t{0}) == 17);
  d.pop_back();
  d.resize(4, 1);  // 5, 5, 1, 1
  expect(d == wf::per_dimension<std::int64_t>{5, 5, 1, 1});
  const std::vector<std::int64_t> same{5, 5, 1, 1};
  expect(d == wf::extents(same) && d == wf::extents(same.begin(), same.end()));
  wf::per_dimension<std::int64_t>::value_type most = 0;
  for (wf::per_dimension<std::int64_t>::iterator i = d.begin(); i != d.end(); ++i) most = std::max(most, *i);
  const wf::extents copy = d;
  for (wf::per_dimension<std::int64_t>::const_iterator i = copy.begin(); i != copy.end(); ++i) expect(*i <= most);
  d.clear();
  expect(d.empty() && most == 5);
}

void answers() {
  const std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  const wf::extents shape{2, 3};
  const wf::view<double> matrix(numbers.data(), shape);

  const wf::axis last{-1};                                   // negative ones count from the last
  wf::array<double> rows = wf::sum(matrix, last);            // the shape (2,): 6, 15
  expect(rows.size() == 2 && rows[0] == 6 && rows.data()[1] == 15 && rows.values.back() == 15 && rows.shape == wf::extents{2});
  expect(wf::max(static_cast<wf::view<double>>(rows)) == 15);    // answers are reduced further

  const wf::axis kept = last.keep();
  expect(kept.keepdims && kept.which.size() == 1 && wf::sum(matrix, kept).shape == wf::extents{2, 1});
  const std::vector<int> both{0, 1};
  expect(wf::sum(matrix, wf::axis(both)).size() == 1 && wf::sum(matrix, wf::axis(wf::per_dimension<int>(both), true)).shape == wf::extents{1, 1});

  wf::array<bool> some = wf::any(matrix, wf::axis{0});       // bool is bytes, 0 or 1
  expect(some.size() == 3 && some[0] && some.values[1] == 1 && some.data()[2] && some.shape == wf::extents{3});
  expect(thrown_by<wf::error>([&] { wf::sum(matrix, wf::axis{2}); }).code() == wf::errc::bad_argument);
}

}  // namespace

int main() {
  views();
  lengths();
  answers();
}
