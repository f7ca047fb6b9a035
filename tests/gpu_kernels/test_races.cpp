// SPDX-License-Identifier: Apache-2.0
// The kernels, instrumented, under the race detector: none may be found.
#include <simt/machine.hpp>
#include <simt/race.hpp>

#include "sum_table.hpp"

namespace {

class races : public ::testing::TestWithParam<element> {};

TEST_P(races, none_in_any_kernel) {
  const auto before = simt::current_options();
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed}) {
    for (const auto s : {shape::one_block, shape::three_blocks, shape::nine_blocks, shape::side_by_side, shape::library}) {
      if (s == shape::side_by_side && GetParam() != element::f32) continue;
      for (const bool exact : {false, true}) {
        // The library's kernels for small arrays go two ways: see exact_sum_small_kernel.
        const std::uint64_t n = s == shape::library ? 500 : s == shape::three_blocks ? 9001 : 3001;
        const auto c = make_case(GetParam(), order == simt::block_order::forward ? "finite_bits" : "normal", n, 7);
        sum_request r;
        r.type = GetParam();
        r.launch = s;
        r.data = c.data.data();
        r.n = n;
        r.skipped = 1;
        r.exact = exact;
        r.runs = 2;
        simt::race_detector detector;
        simt::current_options().order = order;
        simt::current_options().watch = &detector;
        const auto got = run_on_lens(r);
        simt::current_options() = before;
        EXPECT_EQ(got.error, "") << simt::last_fault().text;
        if (exact) {
          EXPECT_EQ(got.bits, c.exact_bits);
        }
        for (const auto& race : detector.races()) ADD_FAILURE() << simt::to_string(race);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(lens, races,
                         ::testing::Values(element::f16, element::bf16, element::f32, element::f64,
                                           element::i32),
                         [](const auto& given) { return name_of(given.param); });

}  // namespace
