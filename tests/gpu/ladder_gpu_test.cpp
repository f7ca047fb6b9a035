// SPDX-License-Identifier: Apache-2.0
// Every rung on a GPU, against the table that simt is held against; and the timed runs.
#include "../support/rung_table.hpp"

#include <ladder/runner.hpp>
#include <warpfold/error.hpp>

#include <memory>

namespace {

using wf::dtype;

class gpu : public testing::TestWithParam<dtype> {
 protected:
  void SetUp() override {
    try {
      place_ = ladder::open_cuda();
    } catch (const wf::error& e) {
      if (e.code() != wf::errc::no_device) throw;
      GTEST_SKIP() << "no GPU: " << e.what();
    }
    if (place_ == nullptr) GTEST_SKIP() << "this build has no CUDA";
  }
  std::unique_ptr<ladder::place> place_;
};

TEST_P(gpu, every_rung_is_right) {
  int runs = 0;
  for (const std::uint64_t n : rung_table::sizes)
    for (const unsigned block : rung_table::blocks)
      runs += rung_table::check_rungs(*place_, GetParam(), n, block);
  EXPECT_GT(runs, 1500);
}

TEST_P(gpu, every_rung_is_right_on_many_elements) {
  for (const std::uint64_t n : {std::uint64_t{10'000'000}, (std::uint64_t{1} << 25) + 77})
    rung_table::check_rungs(*place_, GetParam(), n, 256);
}

TEST_P(gpu, the_runner_times_what_is_right) {
  ladder::options o;
  o.type = GetParam();
  o.data = ladder::distribution::hard;
  for (const bool hot : {false, true}) {
    o.hot = hot;
    const ladder::report r = run_ladder(o, *place_, nullptr, [](auto, auto, auto) {});
    EXPECT_FALSE(r.any_wrong());
    EXPECT_GT(r.ceiling_seconds, 0);
    for (const ladder::row& row : r.rows) {
      if (row.said == ladder::verdict::skipped) continue;
      ASSERT_TRUE(row.time) << full_name(row.rung) << ": " << row.why;
      EXPECT_GT(row.time->median, 0);
      EXPECT_GE(row.time->samples, 3);
    }
  }
}

TEST_P(gpu, the_side_stairs_are_right) {
  for (const ladder::transpose_row& r : place_->transposes(1021)) EXPECT_TRUE(r.right) << r.name;
  for (const ladder::overlap_row& r : place_->overlaps(1'000'003))
    EXPECT_TRUE(r.right) << r.memory << r.streams;
}

INSTANTIATE_TEST_SUITE_P(ladder, gpu,
                         testing::Values(dtype::f32, dtype::f64, dtype::i32, dtype::f16),
                         [](const auto& p) { return std::string(wf::info(p.param).name); });

}  // namespace
