// SPDX-License-Identifier: Apache-2.0
// Every rung on simt, over types, sizes, blocks and the orders of blocks: exact where every partial
// sum is, and within the bound of its own order of additions where not.
#include "../support/rung_table.hpp"

#include <simt/machine.hpp>

#include <iterator>
#include <string>
#include <vector>

namespace {

using wf::dtype;

class every_rung : public testing::TestWithParam<std::tuple<dtype, simt::block_order>> {
 protected:
  void SetUp() override {
    before_ = simt::current_options();
    simt::current_options().order = std::get<1>(GetParam());
    simt::current_options().seed = 12;
  }
  void TearDown() override { simt::current_options() = before_; }

 private:
  simt::options before_;
};

TEST_P(every_rung, is_right) {
  const auto place = ladder::open_simt();
  int runs = 0;
  for (const std::uint64_t n : rung_table::sizes)
    for (const unsigned block : rung_table::blocks)
      if (n <= 4096 || block == 256)
        runs += rung_table::check_rungs(*place, std::get<0>(GetParam()), n, block);
  EXPECT_GT(runs, 1500);
}

#ifdef WARPFOLD_SANITIZED  // the sanitizers look at what is touched, in one order as in another
const auto orders = testing::Values(simt::block_order::shuffled);
#else
const auto orders =
    testing::Values(simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled);
#endif

INSTANTIATE_TEST_SUITE_P(
    simt, every_rung,
    testing::Combine(testing::Values(dtype::f32, dtype::f64, dtype::i32, dtype::f16), orders),
    [](const auto& p) { return rung_table::type_and_order(p); });

TEST(unroll_warp, is_wrong_where_lanes_run_to_the_next_barrier) {
  const auto place = ladder::open_simt();
  const auto rungs = place->rungs(dtype::f32);
  const ladder::pattern pattern = ladder::make_pattern(dtype::f32, 4096, 5);
  place->load(dtype::f32, pattern.elements.data(), 4096);
  for (std::size_t k = 0; k < rungs.size(); ++k)
    if (rungs[k].name == "unroll_warp") {
      EXPECT_FALSE(matches(pattern, rungs[k], place->run(k, {256, 0}).result));
    }
}

TEST(ladder, has_every_rung_in_order) {
  const char* names[] = {"cpu",           "race",          "atomic",
                         "warp_leader",   "block_leader",  "shared_atomic",
                         "tree_modulo",   "tree_strided",  "tree_sequential",
                         "first_add",     "unroll_warp",   "unroll_warp_sync",
                         "unroll_all",    "grid_stride",   "shuffle",
                         "shuffle_block", "partials_host", "two_pass",
                         "grid_sync",     "last_block",    "vector_load",
                         "occupancy",     "cluster",       "record",
                         "exact"};
  for (const dtype type : {dtype::f32, dtype::f64, dtype::i32, dtype::f16})
    for (const auto& place : {ladder::open_simt(), ladder::open_lens()}) {
      std::vector<std::string> found;
      for (const ladder::rung_info& rung : place->rungs(type))
        if (found.empty() || found.back() != rung.name) found.emplace_back(rung.name);
      EXPECT_EQ(found, std::vector<std::string>(std::begin(names), std::end(names)));
    }
}

// What the page of warp_leader says of its number of tiles, without the guard.
TEST(warp_leader, has_no_tile_past_the_end_and_another_form_has_nearly_all_there_are) {
  for (const std::uint64_t step : {32u, 96u, 256u, 65536u})
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, step - 1, step, step + 1, 3 * step})
      for (std::uint64_t first = 0; first < step; ++first) {
        const std::uint64_t tiles = first < n ? 1 + (n - first - 1) / step : 0;
        ASSERT_EQ((n - first + step - 1) / step, tiles) << n << ", " << first << ", " << step;
        const std::uint64_t other = (n - 1 - first) / step + 1;
        if (first < n) ASSERT_EQ(other, tiles);
        else ASSERT_GT(other, (std::uint64_t{1} << 63) / step);
      }
}

}  // namespace
