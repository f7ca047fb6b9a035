// SPDX-License-Identifier: Apache-2.0
// exact_sum.hpp, exact_moments.hpp: sums, moments and dot products that are added to, merged, stored and compared.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>

#include "expect.hpp"

namespace {

const std::vector<double> chunk{1e300, 1, -1e300, 2};

/// What such a sum takes.
template <wf::exact_element T>
double twice(T x) {
  wf::exact_sum s;
  s.add(x);
  s.add(x);
  return s.value();
}

void sums() {
  expect(twice(1.5F) == 3 && twice(std::int64_t{1} << 62) == 0x1p63);
  wf::exact_sum here, there;
  expect(here.empty() && here.value() == 0 && std::isnan(here.mean()));
  here.add(chunk);                         // any contiguous range
  here.add(chunk.data(), chunk.size());    // n elements
  there.add(0.5F);                         // or one element, of any type
  here.merge(there);
  expect(here.count() == 9 && here.value() == 6.5 && here.mean() == 6.5 / 9);
  expect(here.value<float>(wf::rounding::up) == 6.5F);

  here.unmerge(there);                     // out again, and so exactly
  here.remove(chunk[0]);                   // one element less
  expect(here.count() == 7 && here.value() == 6 - chunk[0]);
  here.add(chunk[0]);
  expect(thrown_by<wf::error>([&] { wf::exact_sum().remove(1.0); }).code() == wf::errc::bad_argument);
  here.merge(there);

  wf::exact_sum third;
  third.add(1e16);
  third.add(1);
  const wf::exact::pair_of<double> pair = third.value_pair();  // hi + lo has twice the digits
  expect(pair.hi == 1e16 && pair.lo == 1);

  const std::array<std::byte, wf::exact_sum::byte_size> bytes = here.to_bytes();  // stored, sent
  const wf::exact_sum again = wf::exact_sum::from_bytes(bytes);
  expect(again == here && again.hash() == here.hash() && std::unordered_set<wf::exact_sum>{here, again}.size() == 1);
  const wf::exact_sum::state_type digits = here.state();  // canonical
  expect(digits.round<double>() == 6.5);
  expect(thrown_by<wf::error>([&] { wf::exact_sum::from_bytes(std::span(bytes).first(8)); }).code() == wf::errc::bad_input);
}

void moments() {
  wf::exact_moments m, other;
  expect(m.empty());
  const std::vector<float> floats{1, 2, 3};
  m.add(floats);
  m.add(floats.data(), floats.size());
  other.add(4.0);
  m.merge(other);
  expect(m.count() == 7 && m.sum() == 16 && m.mean() == 16.0 / 7 && m.sum_of_squares() == 44 && m.norm() == std::sqrt(44.0));
  const double var = m.var(1);             // divided by n - 1
  expect(std::abs(var - (44 - 256.0 / 7) / 6) < 1e-14 && std::abs(m.std_dev(1) - std::sqrt(var)) < 1e-15);
  const std::array<std::byte, wf::exact_moments::byte_size> bytes = m.to_bytes();
  const wf::exact_moments again = wf::exact_moments::from_bytes(bytes);
  expect(again == m && again.hash() == m.hash());
  const wf::exact_moments::state_type digits = m.state();
  expect(digits.first.seen.count == 7);
  static_assert(sizeof(wf::exact_moments::squares_type) > 0);  // the digits of Σx²
}

void products() {
  wf::exact_dot d, other;
  expect(d.empty());
  const std::vector<double> x{1e200, 3, -1e200}, y{1e100, 2, 1e100};
  d.add(x, y);                             // two ranges of one length
  d.add(x.data(), y.data(), x.size());     // n pairs
  other.add(2.0, 5.0);                     // or one
  d.merge(other);
  expect(d.count() == 7 && d.value() == 22 && d.value_pair().lo == 0);
  const std::array<std::byte, wf::exact_dot::byte_size> bytes = d.to_bytes();
  const wf::exact_dot again = wf::exact_dot::from_bytes(bytes);
  expect(again == d && again.hash() == d.hash());
  const wf::exact_dot::state_type digits = d.state();
  expect(digits.round<double>() == 22);
  expect(thrown_by<wf::error>([&] { d.add(x, std::vector<double>{1}); }).code() == wf::errc::bad_argument);
}

}  // namespace

int main() {
  sums();
  moments();
  products();
}
