// SPDX-License-Identifier: Apache-2.0
// A reduction of your own: the longest run of equal numbers. It has a state, and four functions; the
// library runs it on all cores, along any axes, over segments, and fused with others.
//
//     c++ -std=c++20 own_reduction.cpp $(pkg-config --cflags --libs warpfold)
#include <algorithm>
#include <cstdio>
#include <vector>

#include <warpfold/warpfold.hpp>

// Combining two stretches of the input needs to know how each begins and ends. The order of elements
// matters, and the library keeps it.
struct longest_run {
  struct state {
    int first, last;
    std::int64_t prefix, suffix, best, length;
  };
  state identity() const { return {}; }
  state lift(int x, std::int64_t) const { return {x, x, 1, 1, 1, 1}; }
  state combine(const state& a, const state& b) const {
    if (a.length == 0 || b.length == 0) return a.length == 0 ? b : a;
    const std::int64_t bridge = a.last == b.first ? a.suffix + b.prefix : 0;
    return {a.first,
            b.last,
            a.prefix == a.length && bridge != 0 ? a.length + b.prefix : a.prefix,
            b.suffix == b.length && bridge != 0 ? b.length + a.suffix : b.suffix,
            std::max({a.best, b.best, bridge}),
            a.length + b.length};
  }
  std::int64_t finish(const state& s, std::int64_t) const { return s.best; }
};

int main() {
  std::vector<int> x(1'000'000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i % 1000 / 7);
  for (std::size_t i = 600'000; i < 600'123; ++i) x[i] = -1;

  const std::int64_t longest = wf::reduce(x, longest_run{});
  const auto rows = wf::reduce(wf::view<int>(x.data(), {1000, 1000}), longest_run{}, wf::axis{1});
  const auto [sum, run] = wf::fuse(wf::sum, longest_run{})(x);
  std::printf("longest run %lld, in row 600 %lld, sum %lld\n", static_cast<long long>(longest),
              static_cast<long long>(rows[600]), static_cast<long long>(sum));
  return longest == 123 && rows[600] == 123 && run == longest ? 0 : 1;
}
