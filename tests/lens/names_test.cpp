// SPDX-License-Identifier: Apache-2.0
// The names of the hardware counters, by CUPTI's host side, which knows chips that are not there.
#include <lens/counters.hpp>
#include <lens/profile/beside.hpp>
#include <lens/profile/metrics.hpp>
#include <lens/profile/profile.hpp>
#include <lens/profile/unavailable.hpp>
#include <warpfold/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace {

using lens::profile::metric_check;

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& n : names) all += n + " ";
  return all;
}

std::vector<std::string_view> names_of_metrics() {
  std::vector<std::string_view> all;
  for (const auto& m : lens::profile::metrics()) all.push_back(m.name);
  return all;
}

class names : public testing::Test {
 protected:
  void SetUp() override {
    try {
      const std::string_view any = "dram__bytes_read.sum";
      lens::profile::check_metrics("GH100", {&any, 1});
    } catch (const lens::profile::unavailable& e) {
      GTEST_SKIP() << "no CUPTI here: " << e.what();
    }
  }
};

TEST_F(names, every_metric_of_a_profile_is_known_for_gh100) {
  const auto all = names_of_metrics();
  const metric_check c = lens::profile::check_metrics("GH100", all);
  EXPECT_TRUE(c.unknown.empty()) << joined(c.unknown);
  EXPECT_GE(c.passes, 2u);
  EXPECT_LE(c.passes, 16u) << "a kernel is replayed once a pass";
}

TEST_F(names, instruction_counters_take_one_pass) {
  std::vector<std::string_view> sass;
  for (const auto& m : lens::profile::metrics())
    if (m.from == lens::profile::source::sass) sass.push_back(m.name);
  EXPECT_EQ(lens::profile::check_metrics("GH100", sass).passes, 1u);
}

TEST_F(names, the_lens_names_metrics_that_exist) {
  std::vector<std::string_view> all;
  for (const lens::hardware_counter& h : lens::hardware_counters()) all.push_back(h.metric);
  const metric_check c = lens::profile::check_metrics("GH100", all);
  EXPECT_TRUE(c.unknown.empty()) << joined(c.unknown);
}

TEST_F(names, a_name_that_no_chip_has_is_told) {
  const std::string_view wrong[] = {"dram__bytes_read.sum", "smsp__sass_no_such_thing.sum"};
  const metric_check c = lens::profile::check_metrics("GH100", wrong);
  ASSERT_EQ(c.unknown.size(), 1u);
  EXPECT_EQ(c.unknown[0], wrong[1]);
}

TEST_F(names, a_chip_that_does_not_exist_is_refused) {
  const std::string_view any = "dram__bytes_read.sum";
  EXPECT_THROW(lens::profile::check_metrics("XX999", {&any, 1}), lens::profile::unavailable);
}

// These need no CUPTI.
TEST(counters_of_a_profile, have_names_of_their_own) {
  const auto all = names_of_metrics();
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
}

TEST(counters_of_a_profile, hold_all_that_is_set_beside_simt) {
  const auto all = names_of_metrics();
  for (const auto& c : lens::profile::shared_counters())
    for (const std::string_view m : c.metrics)
      EXPECT_NE(std::find(all.begin(), all.end(), m), all.end()) << c.name << ": " << m;
}

TEST(counters_of_a_profile, add_up_to_operations_and_bytes) {
  lens::profile::counted_kernel k;
  for (const auto& m : lens::profile::metrics()) {
    const std::string_view n = m.name;
    k.values.push_back(n.find("op_ffma") != n.npos ? 10 : n.find("op_dadd") != n.npos ? 3
                       : n.find("t_sectors_pipe_lsu_mem_global_op_ld") != n.npos ? 5 : 0);
  }
  EXPECT_EQ(k.flops(), 23);
  EXPECT_EQ(k.sector_bytes(), 160);
}

TEST(profile_names, what_cannot_be_profiled_is_told_without_a_gpu) {
  const ladder::rung_info rungs[] = {{.name = "cpu", .variant = "serial", .on_host = true}, {.name = "tree", .power_of_two = true}};
  lens::profile::profile_request q;
  q.rung = "tree";
  EXPECT_EQ(lens::profile::rung_to_profile(rungs, q), 1u);
  q.block = 96;
  EXPECT_THROW(lens::profile::rung_to_profile(rungs, q), wf::error);
  for (const char* name : {"nope", "cpu/serial"}) {
    q.rung = name;
    EXPECT_THROW(lens::profile::rung_to_profile(rungs, q), wf::error) << name;
  }
}

}  // namespace
