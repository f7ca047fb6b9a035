// SPDX-License-Identifier: Apache-2.0
// The GPU library's kernels, instrumented, under the race detector: right answers, and no race, in three
// orders of blocks. Instrumented kernels run slowly, so the arrays are the smallest that take many blocks.
#include <simt/machine.hpp>
#include <simt/race.hpp>

#include "fused_table.hpp"
#include "own_table.hpp"
#include "states_table.hpp"
#include "table.hpp"

namespace {

constexpr simt::block_order orders[] = {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled};

/// Watches the launches while it lives.
class watched {
 public:
  explicit watched(simt::block_order order) : before_(simt::current_options()) {
    simt::current_options().order = order;
    simt::current_options().watch = &detector_;
  }
  ~watched() {
    simt::current_options() = before_;
    for (const auto& race : detector_.races()) ADD_FAILURE() << simt::to_string(race);
  }
  watched(const watched&) = delete;
  watched& operator=(const watched&) = delete;

 private:
  simt::options before_;
  simt::race_detector detector_;
};

class races : public ::testing::TestWithParam<wf::dtype> {};

TEST_P(races, none_in_any_operation) {
  const auto many = static_cast<std::int64_t>(16 / wf::info(GetParam()).size) * 2100 + 1;
  const auto families = families_of(GetParam());
  for (const auto order : orders) {
    const wf::simulated_gpu place;
    const watched w(order);
    try {
      check_row(simt_machine(), place, GetParam(), families[0], {many, 0, 1}, 5);
      check_row(simt_machine(), place, GetParam(), families[1], {301, 1, -2}, 6);
      check_row(simt_machine(), place, GetParam(), families[1], {many, 0, 1}, 7);
      if (!wf::is_integer(GetParam())) {  // added again by anchored sums
        check_row(simt_machine(), place, GetParam(), "cancelling_octaves", {many, 0, 1}, 8);
        check_row(simt_machine(), place, GetParam(), "cancelling_octaves", {301, 1, -2}, 9);
      }
    } catch (const wf::error& e) {
      FAIL() << e.what() << ": " << simt::last_fault().text;
    }
    if (HasFailure()) return;
  }
}

/// States of small arrays, merged, taken out again and answered by kernels.
TEST_P(races, none_in_work_on_states) {
  for (const auto order : orders) {
    const wf::simulated_gpu place;
    const watched w(order);
    check_states(simt_machine(), place, GetParam(), families_of(GetParam())[0], 90, 10);
    if (HasFailure()) return;
  }
}

TEST_P(races, none_in_states_of_long_arrays) {
  if (!wf::is_floating(GetParam())) return;
  const auto many = static_cast<std::int64_t>(16 / wf::info(GetParam()).size) * 2100 + 1;
  const auto families = families_of(GetParam());
  for (const auto order : orders) {
    const wf::simulated_gpu place;
    const watched w(order);
    for (const auto& family : {families[0], std::string("one_nan")}) check_states(simt_machine(), place, GetParam(), family, many, 8, {wf::op::sum});
    if (HasFailure()) return;
  }
}

TEST_P(races, none_in_fused_reductions) {
  const auto families = families_of(GetParam());
  for (const auto order : orders) {
    const wf::simulated_gpu place;
    const watched w(order);
    check_fused(simt_machine(), place, GetParam(), families[0], {5003, 0, 1}, 5);
    check_fused(simt_machine(), place, GetParam(), families[1], {301, 1, -2}, 6);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(lens, races, ::testing::ValuesIn(all_dtypes),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

class own_races : public ::testing::TestWithParam<own> {};

TEST_P(own_races, none_in_reductions_of_users) {
  for (const auto order : orders) {
    const watched w(order);
    check_own(simt_machine(), GetParam(), {64, 2003});
  }
}

INSTANTIATE_TEST_SUITE_P(lens, own_races, ::testing::ValuesIn(all_own), own_name);

/// The detector sees what these kernels do: blocks that tell each other something unordered are found.
TEST(detector, finds_a_planted_race) {
  const machine& m = simt_machine();
  const std::vector<std::int32_t> x(4096, 1);
  void* dx = m.allocate(4 * x.size());
  void* out = m.allocate(8);
  ASSERT_EQ(m.upload(dx, x.data(), 4 * x.size()), "");
  simt::race_detector detector;
  const auto before = simt::current_options();
  simt::current_options().watch = &detector;
  EXPECT_EQ(m.reduce_own({own::racing, dx, nullptr, static_cast<std::int64_t>(x.size()), 1, 3, 64, out}), "");
  simt::current_options() = before;
  EXPECT_FALSE(detector.races().empty());
  m.free(dx);
  m.free(out);
}

}  // namespace
