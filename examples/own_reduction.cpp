// SPDX-License-Identifier: Apache-2.0
// A reduction of your own: how many runs of equal numbers an array has. It has a state, and four
// functions; the library runs it on all cores, along any axes, over segments, and fused with others.
//
//     c++ -std=c++20 own_reduction.cpp $(pkg-config --cflags --libs warpfold)
#include <cstdio>
#include <vector>

#include <warpfold/warpfold.hpp>

// Two stretches of the input have the runs of both, or one less where a run goes across. The order of
// elements matters, and the library keeps it.
struct count_runs {
  struct state {
    int first, last;
    std::int64_t runs;
  };
  state identity() const { return {}; }
  state lift(int x, std::int64_t) const { return {x, x, 1}; }
  state combine(const state& a, const state& b) const {
    if (a.runs == 0 || b.runs == 0) return a.runs == 0 ? b : a;
    return {a.first, b.last, a.runs + b.runs - (a.last == b.first)};
  }
  std::int64_t finish(const state& s, std::int64_t) const { return s.runs; }
};

int main() {
  std::vector<int> x(1'000'000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i % 1000 / 125);
  for (std::size_t i = 600'000; i < 601'000; ++i) x[i] = -1;

  const std::int64_t all = wf::reduce(x, count_runs{});
  const auto rows = wf::reduce(wf::view<int>(x.data(), {1000, 1000}), count_runs{}, wf::axis{1});
  const auto halves = wf::reduce(x, count_runs{}, wf::segments_of{500'000});
  const auto [sum, runs] = wf::fuse(wf::sum, count_runs{})(x);
  std::printf("%lld runs, in row 600 %lld, in the halves %lld and %lld, sum %lld\n", static_cast<long long>(all),
              static_cast<long long>(rows[600]), static_cast<long long>(halves[0]), static_cast<long long>(halves[1]),
              static_cast<long long>(sum));
  return all == 999 * 8 + 1 && rows[600] == 1 && halves[0] == 4000 && halves[1] == 3993 && runs == all ? 0 : 1;
}
