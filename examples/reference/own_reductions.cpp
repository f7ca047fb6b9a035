// SPDX-License-Identifier: Apache-2.0
// reduction.hpp: what a reduction of your own may declare, and what is told of it.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <warpfold/warpfold.hpp>

#include "expect.hpp"

namespace {

/// The greatest element and how often it is there.
struct greatest_often {
  struct state {
    std::int32_t most;
    std::int64_t often;
  };
  static constexpr bool commutes = true;   // axes may be walked in the order of memory
  static constexpr wf::declaration declares{.empty = wf::declaration::nothing::zero,
                                            .nan = wf::declaration::nans::none,
                                            .rounding = wf::declaration::rounds::never};
  state identity() const { return {std::numeric_limits<std::int32_t>::min(), 0}; }
  state lift(std::int32_t x, std::int64_t) const { return {x, 1}; }
  state combine(state a, state b) const {
    if (a.most == b.most) return {a.most, a.often + b.often};
    return a.most > b.most ? a : b;
  }
  std::int64_t finish(state s, std::int64_t) const { return s.often; }
  /// Not needed; makes it faster.
  void accumulate(state& s, const std::int32_t* x, std::int64_t n, std::int64_t) const {
    for (std::int64_t i = 0; i < n; ++i) s = combine(s, {x[i], 1});
  }
};

/// How many pairs are in order.
struct in_order {
  std::int64_t identity() const { return 0; }
  std::int64_t lift(std::int32_t x, std::int32_t y, std::int64_t) const { return x <= y; }
  std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
  std::int64_t finish(std::int64_t s, std::int64_t) const { return s; }
};

static_assert(wf::reduction<greatest_often, std::int32_t> && wf::reduction<in_order, std::int32_t, std::int32_t>);
static_assert(wf::accumulates<greatest_often, std::int32_t> && !wf::accumulates<in_order, std::int32_t, std::int32_t>);
static_assert(wf::commutes<greatest_often> && !wf::commutes<in_order>);
static_assert(std::is_same_v<wf::state_of<in_order>, std::int64_t> && std::is_same_v<wf::result_of<greatest_often>, std::int64_t>);
static_assert(greatest_often::declares.empty == wf::declaration::nothing::zero && greatest_often::declares.nan == wf::declaration::nans::none &&
              greatest_often::declares.rounding == wf::declaration::rounds::never);

}  // namespace

int main() {
  const std::vector<std::int32_t> x{3, 7, 7, 1, 7}, y{4, 7, 2, 1, 9};
  expect(wf::reduce(x, greatest_often{}) == 3 && wf::reduce(std::vector<std::int32_t>(), greatest_often{}) == 0);
  expect(wf::reduce(x, y, in_order{}) == 4);
  expect(wf::reduce(x, greatest_often{}, wf::segments_of{2}).values == std::vector<std::int64_t>{1, 1, 1});

  // One part of an array, whose first element has the index 100, is reduced by hand on this thread.
  const greatest_often r;
  wf::state_of<greatest_often> s = r.identity();
  wf::fold(r, s, 5, 100, x.data());
  expect(r.finish(s, 5) == 3);
}
