// SPDX-License-Identifier: Apache-2.0
// The GPU library's kernels on simt, against the CPU: all operations, types and data families.
#include <simt/machine.hpp>

#include <warpfold/detail/gpu/accumulate/logsumexp.cuh>
#include <warpfold/detail/gpu/kernels/certified_reduce.cuh>
#include <warpfold/warpfold.h>

#include <cmath>
#include <cstring>
#include <random>

#include "../support/effort.hpp"
#include "captures_table.hpp"
#include "fused_table.hpp"
#include "logsumexp_table.hpp"
#include "own_operations_table.hpp"
#include "own_table.hpp"
#include "places_table.hpp"
#include "states_table.hpp"
#include "table.hpp"

namespace {

/// Over all types: each is one of few tests of the program.
wf::test::some_of_all chosen;

class types : public ::testing::TestWithParam<wf::dtype> {
 protected:
  void SetUp() override { before_ = simt::current_options(); }
  void TearDown() override { simt::current_options() = before_; }
  void row(const std::string& family, const layout& s, simt::block_order order = simt::block_order::forward) {
    simt::current_options().order = order;
    check_row(simt_machine(), place_, GetParam(), family, s, 20 + static_cast<std::uint64_t>(s.n));
  }
  simt::options before_;
  wf::simulated_gpu place_;
};

TEST_P(types, every_operation_that_the_cpu_takes) {
  for (int k = 0; k < wf::op_count; ++k) {
    for (const auto a : {wf::accuracy::exact, wf::accuracy::fast}) {
      const auto o = static_cast<wf::op>(k);
      const bool expected = wf::find_builtin(o, GetParam(), a) != nullptr;
      EXPECT_EQ(simt_machine().library->takes(o, GetParam(), a), expected)
          << name_of(o, GetParam(), a, "any", {0, 0, 1});
    }
  }
}

TEST_P(types, lengths) {
  for (const std::int64_t n : {0, 1, 2, 7, 16, 33, 1000}) {
    if (chosen()) row(families_of(GetParam())[0], {n, 0, 1});
    if (chosen()) row("zeros", {n, 1, 1});
  }
}

TEST_P(types, families) {
  for (const auto& family : families_of(GetParam()))
    if (chosen()) row(family, {4099, 1, 1}, simt::block_order::reversed);
}

TEST_P(types, addresses) {
  const auto items = static_cast<std::int64_t>(16 / wf::info(GetParam()).size);
  for (std::int64_t skipped = 0; skipped < items; skipped += items > 4 ? 3 : 1)
    row(families_of(GetParam())[1], {201, skipped, 1});
}

TEST_P(types, strides) {
  for (const std::int64_t stride : {2, 3, -1, -5, 0})
    if (chosen()) row(families_of(GetParam())[1], {stride == 0 ? 1 : 777, 1, stride});
}

// One block adds the array again, in anchored sums: a range of a hundred powers of 2 that is known, and sums of next to nothing.
TEST_P(types, added_again_by_one_block) {
  if (wf::is_integer(GetParam())) return;
  for (const layout& s : {layout{2, 0, 1}, {33, 1, 1}, {1001, 0, 1}, {777, 1, -3}})
    if (chosen()) row("cancelling_octaves", s);
}

TEST_P(types, several_blocks_in_three_orders) {
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled})
    if (chosen()) row(families_of(GetParam())[order == simt::block_order::reversed ? 1 : 0], {70001, 1, 1}, order);
}

// Arrays of several blocks whose certificates fail: they are added again by the blocks that are still there, by some of them, or by the last one alone.
TEST_P(types, added_again_by_the_blocks_that_are_there) {
  wf::launch_choices c;
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled}) {
    for (const std::uint32_t looks : {0u, 1u, 256u}) {
      for (const std::uint32_t trust : {1u, 256u}) {
        if (wf::is_integer(GetParam()) || !chosen()) continue;
        c.looks = looks;
        c.trust = trust;
        place_.kernels().trials->choose(place_.scratch(), c);
        row("cancelling", {40001, looks, 1}, order);
        row("cancelling_octaves", {40001, looks, 1}, order);
      }
    }
  }
}

// What launches know of those before them: blocks that lost something leave after `trust` launches in which they stayed for nothing, and none after one that needed them.
TEST(launch_word, blocks_leave_where_they_were_not_needed) {
  using wf::device::launch_word;
  constexpr std::uint32_t trust = 3, range = 0xffffffff;
  launch_word w{0};
  const auto after = [&](bool again, bool lost) {
    const std::uint32_t turn = w.turn();
    w = w.next(again, range, lost, trust);
    EXPECT_NE(w.turn(), turn);
    EXPECT_EQ(w.again(), again);
    if (again) {
      EXPECT_EQ(w.range(), range);
    }
    return w.trusts();
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(after(false, true));
    EXPECT_FALSE(after(false, false));  // lost nothing: tells nothing
    EXPECT_FALSE(after(false, true));
    EXPECT_TRUE(after(false, true));
    EXPECT_TRUE(after(false, false));
    EXPECT_TRUE(after(false, true));
    EXPECT_FALSE(after(true, true));
    EXPECT_FALSE(after(true, true));
  }
  // The count stays where it is at its end.
  w.word = std::uint64_t{0xfffffffe} << 32;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(after(false, true));
  w.word = 0xfffffffe;  // and the number of launches begins anew
  EXPECT_FALSE(after(false, true));
  EXPECT_EQ(static_cast<std::uint32_t>(w.word), 0u);
}

// More than 132 blocks wait for the last one's word, or leave at once if the launch before lost something for nothing: then the last one adds again alone.
TEST(large_grids, wait_for_the_word_or_leave) {
  const auto before = simt::current_options();
  for (const auto order : {simt::block_order::forward, simt::block_order::shuffled}) {
    simt::current_options().multiprocessors = 80;
    simt::current_options().order = order;
    wf::simulated_gpu place;
    wf::launch_choices c;
    c.trust = 1;
    place.kernels().trials->choose(place.scratch(), c);
    constexpr std::int64_t n = 540'000;
    const layout all{n, 0, 1};
    const auto lost = make_bytes(wf::dtype::f64, "finite_bits", n, 3);
    auto cancels = lost;  // each number and its negative, in blocks that are far from each other, of which each loses something; all but a crumb
    std::mt19937_64 random(5);
    for (std::int64_t i = 0; i < n / 2; ++i) {
      const double x = i == 77 ? 0x1p-130 : std::ldexp(1 + 0x1p-52 * static_cast<double>(random() >> 12), static_cast<int>(random() % 200) - 100), minus = i == 77 ? 0 : -x;
      std::memcpy(&cancels[static_cast<std::size_t>(i) * 8], &x, 8);
      std::memcpy(&cancels[static_cast<std::size_t>(n - 1 - i) * 8], &minus, 8);
    }
    const device_inputs some(simt_machine(), lost, {}), nothing(simt_machine(), cancels, {});
    const auto sum = [&](bool cancelling) {
      check_cell(simt_machine(), place, wf::op::sum, wf::dtype::f64, wf::accuracy::exact, cancelling ? "cancelling" : "finite_bits", all, cancelling ? nothing : some,
                 cancelling ? cancels : lost, {}, {});
    };
    for (const bool cancelling : {true, false, true, true, false, false, true}) sum(cancelling);
  }
  simt::current_options() = before;
}

// Moments of f64 whose threads add so many elements that their segments are full again and again: each would leave the binade of its anchor.
TEST(anchored_moments, of_full_segments) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  wf::simulated_gpu place;
  constexpr std::int64_t n = 600'000;
  std::vector<unsigned char> x(8 * (n + 1));
  std::mt19937_64 random(9);
  for (std::int64_t i = 0; i <= n; ++i) {
    const double v = 1 + 0x1p-52 * static_cast<double>(random() >> 12);
    std::memcpy(&x[static_cast<std::size_t>(i) * 8], &v, 8);
  }
  const device_inputs in(simt_machine(), x, {});
  for (const layout& s : {layout{n, 0, 1}, layout{n, 1, 1}}) {
    for (const wf::op what : {wf::op::var, wf::op::mean_var}) check_cell(simt_machine(), place, what, wf::dtype::f64, wf::accuracy::exact, "of one binade", s, in, x, {}, {});
  }
  simt::current_options() = before;
}

// Certificates of arrays beyond L2, by bulk copies: chunks of 2048 packs, shared out among all multiprocessors but one. The last chunk is whole, or one pack, or lacks one
// and has an element behind it, which is no pack.
TEST(bulk_copies, of_certificates) {
  const auto before = simt::current_options();
  constexpr std::int64_t least = 262144, chunk = 2048;
  const auto check = [&]<class T>(T, unsigned multiprocessors, std::int64_t packs, std::int64_t rest, std::initializer_list<wf::op> ops) {
    simt::current_options().l2_bytes = 1 << 20;
    simt::current_options().multiprocessors = multiprocessors;
    wf::simulated_gpu place;
    const std::int64_t n = packs * static_cast<std::int64_t>(16 / sizeof(T)) + rest;
    std::vector<unsigned char> x(static_cast<std::size_t>(n) * sizeof(T));
    std::mt19937 random(static_cast<unsigned>(packs) + multiprocessors);
    for (std::int64_t i = 0; i < n; ++i) {  // sums are exact, so no answer comes from the kernel behind
      const T v = static_cast<T>(1 + random() % 1000);
      std::memcpy(&x[static_cast<std::size_t>(i) * sizeof(T)], &v, sizeof v);
    }
    const device_inputs in(simt_machine(), x, {});
    for (const wf::op what : ops) check_cell(simt_machine(), place, what, wf::dtype_of<T>, wf::accuracy::exact, "whole numbers", {n, 0, 1}, in, x, {}, {});
  };
  using enum wf::op;
  check(0.0, 4, least + 1, 0, {mean, mean_var});
  check(0.0, 3, least + chunk, 1, {norm1, norm2});
  check(0.0, 7, least + chunk - 1, 1, {mean, std_dev, sum_of_squares});
  check(0.0f, 6, least + 5 * chunk + 77, 3, {mean, mean_var, norm2});
  simt::current_options() = before;
}

// Beyond L2 a kernel adds all digits behind the certificate where that is uncertain, and leaves at once where it is not: in turn, so that each finds what it needs as it should be.
TEST_P(types, sums_beyond_l2) {
  if (!wf::is_floating(GetParam())) return;
  simt::current_options().l2_bytes = 1 << 16;
  for (const auto order : {simt::block_order::forward, simt::block_order::shuffled}) {
    simt::current_options().order = order;
    wf::simulated_gpu place;
    const std::int64_t n = 160'000 / static_cast<std::int64_t>(wf::info(GetParam()).size);
    const auto check = [&](const std::string& family, const layout& s) {
      const auto x = make_bytes(GetParam(), family, static_cast<std::uint64_t>(n + 1), 70);
      check_cell(simt_machine(), place, wf::op::sum, GetParam(), wf::accuracy::exact, family, s, device_inputs(simt_machine(), x, {}), x, {}, {});
    };
    for (const auto& family : families_of(GetParam())) {
      if (chosen()) {
        check(family, {n, 0, 1});
        check(family, {n - 1, 0, 1});
        check(family, {n, 1, 1});
      }
    }
  }
}

// Each block's sum loses nothing, but that of all has no certain rounding: what the blocks told is added exactly.
TEST_P(types, answered_by_what_the_blocks_told) {
  if (wf::is_integer(GetParam())) return;
  // Six blocks of 128 threads, on simt's four multiprocessors: a block's runs are all huge or all small.
  const std::int64_t n = 3072 * 16 / static_cast<std::int64_t>(wf::info(GetParam()).size);
  row("layers", {n, 0, 1});
  row("layers", {n, 0, 1}, simt::block_order::shuffled);
}

// The mean of a power of two elements is as exact as their sum, so the first way decides its ties; those of other numbers of elements take a longer way.
TEST_P(types, means_that_are_ties) {
  if (wf::is_integer(GetParam())) return;
  for (const std::int64_t n : {2, 6, 64, 1000, 1024, 16384, 16386})
    if (chosen()) row("neighbours", {n, 0, 1});
  for (const std::int64_t n : {256, 1024, 16384})
    if (chosen()) row("far_crumb", {n, 0, 1});
}

TEST_P(types, sums_without_an_error) {
  for (const layout& s : {layout{33, 0, 1}, {4099, 1, 1}, {70001, 0, 1}, {777, 1, -3}})
    if (chosen()) row(in_any_order, s);
}

// 64 KiB as CC 7.5 has, less what kernels hold statically, and the 99 of 8.6, 8.9 and 12.0.
TEST_P(types, in_little_shared_memory) {
  for (const unsigned shared : {60u * 1024, 99u * 1024}) {
    if (!chosen()) continue;
    simt::current_options().shared_opt_in = shared;
    wf::simulated_gpu place;
    check_row(simt_machine(), place, GetParam(), families_of(GetParam())[0], {5003, 0, 1}, 3);
  }
}

TEST_P(types, states_merge_and_are_taken_out_again) {
  const auto families = families_of(GetParam());
  for (const std::int64_t n : {0, 1, 3, 700})
    if (chosen()) check_states(simt_machine(), place_, GetParam(), families[0], n, 50 + static_cast<std::uint64_t>(n));
  for (const auto& family : families)
    if (chosen()) check_states(simt_machine(), place_, GetParam(), family, 4099, 60);
}

/// Those of many floats come as answers do, and by bins where there are special values.
TEST_P(types, states_of_long_arrays) {
  if (!wf::is_floating(GetParam())) return;
  for (const auto& family : families_of(GetParam())) {
    for (const auto order : {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled}) {
      if (!chosen()) continue;
      simt::current_options().order = order;
      check_states(simt_machine(), place_, GetParam(), family, 40013, 62, {wf::op::sum, wf::op::mean, wf::op::norm1});
    }
  }
}

/// The front door: answers of rows are those of the CPU's front door.
template <wf::op O, class T, class... S>
void check_front_door(const wf::detail::function<O>& f, const wf::simulated_gpu& place, const wf::view<T>& x, const S&... s) {
  const auto want = f(x, s...);
  std::vector<std::remove_cvref_t<decltype(want[0])>> got(static_cast<std::size_t>(want.size()) + 1);
  f(place, x, got.data(), s...);
  for (std::int64_t k = 0; k < want.size(); ++k)
    EXPECT_EQ(got[static_cast<std::size_t>(k)], want[k]) << wf::op_names[static_cast<int>(O)] << ", answer " << k;
}

TEST(front_door, takes_axes_and_segments) {
  const wf::simulated_gpu place;
  std::mt19937 random(1);
  std::vector<float> values(7 * 40 * 11);
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 7;
  const wf::view<float> x(values.data(), {7, 40, 11}), flat(values.data(), {static_cast<std::int64_t>(values.size())});
  for (const auto& axes : {wf::axis{0}, wf::axis{1}, wf::axis{-1}, wf::axis{0, 2}, wf::axis{1, 0}}) {
    check_front_door(wf::sum, place, x, axes);
    check_front_door(wf::mean, place, x.transposed(0, 2), axes);
    check_front_door(wf::argmax, place, x, axes);
    check_front_door(wf::std_dev, place, x, axes, wf::correction{1});
  }
  for (const std::int64_t length : {1, 16, 40, 3000, 5000}) check_front_door(wf::sum, place, flat, wf::segments_of{length});
  const std::vector<std::int64_t> offsets{3, 3, 10, 900, 901, 3080};
  check_front_door(wf::max, place, flat, wf::segments{offsets});
  std::vector<float> many(3 * 262144 + 6);  // few long rows, and one
  for (float& v : many) v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 7;
  check_front_door(wf::sum, place, wf::view<float>(many.data(), {3, 262144}, {262146, 1}), wf::axis{1});
  check_front_door(wf::argmin, place, wf::view<float>(many.data() + 1, {262144, 3}), wf::axis{0});
  for (const std::int64_t n : {1, 7, 5000, 262144}) {
    check_front_door(wf::sum, place, wf::view<float>(many.data() + 1, {1, n}), wf::axis{1});
    check_front_door(wf::mean, place, wf::view<float>(many.data(), {n, 1}, {3, 1}), wf::axis{0});
  }
  std::vector<std::int64_t> labels(values.size());
  for (auto& l : labels) l = static_cast<std::int64_t>(random() % 9);
  check_front_door(wf::sum, place, flat, wf::by_label{labels, 10});
  std::vector<float> nowhere(10);
  const std::vector<std::int64_t> few_labels(3), no_offsets;
  EXPECT_THROW(wf::sum(place, flat, nowhere.data(), wf::by_label{few_labels, 10}), wf::error);  // the rest of them would be read beyond the end
  EXPECT_THROW(wf::sum(place, flat, nowhere.data(), wf::segments{no_offsets}), wf::error);
  float whole = 0;
  wf::sum(place, x.transposed(0, 2), &whole);  // dimensions that do not lie in one another
  EXPECT_EQ(whole, wf::sum(x));
  EXPECT_THROW(wf::sum(place, flat, &whole, wf::axis{1}), wf::error);
}

TEST(front_door, makes_what_stays_beside_captures) {
  const auto open = [](void* stream) {
    return [place = std::make_shared<wf::simulated_gpu>(stream)](const wf::request& r) { place->run(r); };
  };
  check_first_calls_in_captures(simt_machine(), open);
  check_first_calls_beside_captures(simt_machine(), open);
}

TEST(c_interface, reduces_rows_and_gives_states_on_a_place) {
  wf_place* place = nullptr;
  ASSERT_EQ(wf_open_simt(&place), WF_OK) << wf_last_error();
  const float values[] = {1, 2, 3, 1e30f, 1, -1e30f};
  const std::int64_t shape[] = {2, 3};
  const int last[] = {-1};
  const wf_array x{values, WF_F32, 2, shape, nullptr};
  float rows[2] = {};
  wf_request q{};
  q.size = sizeof q;
  q.version = WF_REQUEST_VERSION;
  q.op = WF_SUM;
  q.x = &x;
  q.partition = WF_AXES;
  q.axes = last;
  q.axis_count = 1;
  q.out = rows;
  q.place = place;
  ASSERT_EQ(wf_run(&q), WF_OK) << wf_last_error();
  EXPECT_EQ(rows[0], 6);
  EXPECT_EQ(rows[1], 1);

  std::size_t bytes = 0;
  int adds = 0;
  ASSERT_EQ(wf_state_size(WF_SUM, WF_F32, WF_EXACT, &bytes, &adds), WF_OK);
  EXPECT_EQ(adds, 1);
  std::vector<unsigned char> here(bytes), there(bytes);
  q.partition = WF_WHOLE;
  q.output = WF_STATES;
  q.out = there.data();
  ASSERT_EQ(wf_run(&q), WF_OK) << wf_last_error();
  q.place = nullptr;
  q.out = here.data();
  ASSERT_EQ(wf_run(&q), WF_OK) << wf_last_error();
  EXPECT_EQ(here, there);
  const wf_states sums{sizeof(wf_states), WF_STATES_VERSION, WF_SUM, WF_F32, here.data(), 1, {}, place};
  ASSERT_EQ(wf_merge(&sums, there.data()), WF_OK);
  float sum = 0;
  ASSERT_EQ(wf_finish(&sums, &sum), WF_OK);
  EXPECT_EQ(sum, 14);
  ASSERT_EQ(wf_unmerge(&sums, there.data()), WF_OK);
  EXPECT_EQ(here, there);
  const std::int32_t integers[] = {1, 2};
  const std::int64_t two = 2;
  const wf_array y{integers, WF_I32, 1, &two, nullptr};
  unsigned char overflow = 2;
  std::int64_t total = 0;
  q.x = &y;
  q.output = WF_CHECKED;
  q.overflow = &overflow;
  q.out = nullptr;
  EXPECT_EQ(wf_run(&q), WF_BAD_ARGUMENT);
  q.out = &total;
  EXPECT_EQ(wf_run(&q), WF_OK) << wf_last_error();
  EXPECT_EQ(total, 3);
  EXPECT_EQ(overflow, 0);
  q.place = place;
  EXPECT_EQ(wf_run(&q), WF_BAD_ARGUMENT);  // it has no room for what lies above
  EXPECT_EQ(total, 3);
  const std::int64_t large[] = {INT64_MAX, INT64_MAX};
  const wf_array z{large, WF_I64, 1, &two, nullptr};
  wf_checked above{};
  q.x = &z;
  q.out = &above;
  q.overflow = nullptr;
  EXPECT_EQ(wf_run(&q), WF_OK) << wf_last_error();
  EXPECT_EQ(above.value, ~std::uint64_t{1});
  EXPECT_EQ(above.high[0] | above.high[1], 0u);
  EXPECT_EQ(above.overflow, 1);
  q.version = 7;
  EXPECT_EQ(wf_run(&q), WF_BAD_ARGUMENT);
  wf_close(place);
}

TEST_P(types, fused) {
  const auto families = families_of(GetParam());
  const auto check = [&](const std::string& family, const layout& s) {
    check_fused(simt_machine(), place_, GetParam(), family, s, 30 + static_cast<std::uint64_t>(s.n));
  };
  for (const std::int64_t n : {0, 1, 2, 7, 33, 1000}) check(families[0], {n, 0, 1});
  for (const auto& family : families)
    if (chosen()) check(family, {4099, 1, 1});
  for (const std::int64_t stride : {2, -5}) check(families[1], {777, 1, stride});
  check("zeros", {7, 0, 1});
  for (const auto order : {simt::block_order::reversed, simt::block_order::shuffled}) {
    simt::current_options().order = order;
    if (chosen()) check(families[order == simt::block_order::reversed ? 1 : 0], {40001, 1, 1});
  }
}

TEST_P(types, fused_in_little_shared_memory) {
  for (const unsigned shared : {60u * 1024, 99u * 1024}) {
    if (!chosen()) continue;
    simt::current_options().shared_opt_in = shared;
    wf::simulated_gpu place;
    check_fused(simt_machine(), place, GetParam(), families_of(GetParam())[0], {5003, 0, 1}, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(simt, types, ::testing::ValuesIn(all_dtypes),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

/// Large numbers that fill a slot of a column to its last bit, beside one so small that no register takes the pack, and so
/// many of them that the columns must carry.
TEST(fused, of_columns_that_carry) {
  const wf::simulated_gpu place;
  wf::launch_choices few;
  few.exact_blocks = 1;
  place.kernels().trials->choose(place.scratch(), few);
  const auto check = [&]<class T>(T large, T small) {
    const std::int64_t n = 800000;
    std::vector<unsigned char> bytes(static_cast<std::size_t>(n) * sizeof(T));
    constexpr std::int64_t pack = 16 / sizeof(T);
    for (std::int64_t i = 0; i < n; ++i) {
      const T x = i % pack == 0 ? small : i / pack % 2 == 0 ? large : -large;
      std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof x);
    }
    for (const fused_kind kind : {fused_kind::everything, fused_kind::headline})
      check_fused(simt_machine(), place, kind, wf::dtype_of<T>, "large and small", {n, 0, 1}, bytes);
  };
  check(0x1.fffffffffffffp38, 0x1p-60);
  check(0x1.fffffep33f, 0x1p-60f);
}

TEST(fused, of_a_wrong_address) {
  const wf::simulated_gpu place;
  unsigned char out[3 * 32];
  EXPECT_EQ(simt_machine().fuse(place, {fused_kind::own, wf::dtype::bf16, reinterpret_cast<const void*>(0x1001), 10, 1, {}, out}),
            "fuse on a GPU: an input's address is not a multiple of its element's alignment");
}

TEST(complex_numbers, at_any_multiple_of_their_parts) {
  const wf::simulated_gpu place;
  for (const wf::dtype t : {wf::dtype::c64, wf::dtype::c128}) check_halves(simt_machine(), place, t);
}

TEST(logsumexp, of_an_infinity_and_of_larger_numbers_elsewhere) {
  const wf::simulated_gpu place;
  check_infinity_and_larger_numbers(simt_machine(), place);
}

TEST(places, of_nans_zeros_and_equal_elements) {
  const wf::simulated_gpu place;
  check_places(simt_machine(), place);
}

TEST(certificates, products_below_the_least_number_keep_their_sign) {
  const wf::simulated_gpu place;
  check_least_products(simt_machine(), place);
}

class logsumexp_of : public ::testing::TestWithParam<wf::dtype> {};

TEST_P(logsumexp_of, awkward_data) {
  const wf::simulated_gpu place;
  check_logsumexp_of(simt_machine(), place, GetParam());
}

INSTANTIATE_TEST_SUITE_P(simt, logsumexp_of, ::testing::ValuesIn(real_dtypes),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

/// The exp of f64, in units in the last place of the true one.
TEST(logsumexp, its_exp_is_nearly_within_a_unit) {
  std::vector<unsigned char> table(wf::device::roots_of_two::bytes);
  for (int j = 0; j < 64; ++j) {
    const double root = wf::device::root_of_two(j);
    ASSERT_EQ(root, static_cast<double>(std::exp2(j / 64.0L)));
    std::memcpy(&table[static_cast<std::size_t>(j) * wf::device::roots_of_two::entry_bytes], &root, sizeof root);
  }
  double worst = 0;
  const auto look = [&](double u) {
    const long double want = std::exp(-static_cast<long double>(u));
    const double unit = std::ldexp(1.0, std::ilogb(static_cast<double>(want)) - 52);
    worst = std::max(worst, static_cast<double>(std::fabs(wf::device::exp_minus(u, table.data()) - want)) / unit);
  };
  std::mt19937_64 g(1);
  for (int i = 0; i < 1 << 16; ++i) {
    const double u = static_cast<double>(g() >> 11) * 0x1p-53;
    for (const double scale : {0x1p-20, 1.0, 40.0, 707.99}) look(u * scale);
  }
  for (int k = 0; k < 65000; ++k) {  // where one entry ends and the next begins
    look((k + 0.5) * 0.0108304246962491);
    look(k * 0.0108304246962491);
  }
  EXPECT_EQ(wf::device::exp_minus(0, table.data()), 1.0);
  EXPECT_LT(worst, 1.05);
}

class own_on_simt : public ::testing::TestWithParam<own> {};

TEST_P(own_on_simt, over_lengths_addresses_and_grids) {
  const auto before = simt::current_options();
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled}) {
    simt::current_options().order = order;
    if (order == simt::block_order::forward || chosen())
      check_own(simt_machine(), GetParam(), {0, 1, 5, 64, 1000, 5003, 40000});
  }
  simt::current_options() = before;
}

class operations_on_simt : public ::testing::TestWithParam<own_operation> {};

TEST_P(operations_on_simt, by_the_arithmetic_of_the_cpu) {
  const auto before = simt::current_options();
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled}) {
    if (order != simt::block_order::forward && !chosen()) continue;
    simt::current_options().order = order;
    own_operation_check check(simt_machine(), own_operations_on_simt(), own_states_on_simt, GetParam());
    check.pieces({0, 1, 40, 700, 5000, 40001});
    check.partitions(4 * 512 + 7);  // simt has 4 multiprocessors
    check.merged_on_the_device();
  }
  simt::current_options() = before;
}

INSTANTIATE_TEST_SUITE_P(simt, operations_on_simt, ::testing::ValuesIn(own_operations), [](const auto& given) { return own_operation_name(given.param); });

INSTANTIATE_TEST_SUITE_P(simt, own_on_simt, ::testing::ValuesIn(all_own), own_name);

}  // namespace
