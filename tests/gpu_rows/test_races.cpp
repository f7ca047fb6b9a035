// SPDX-License-Identifier: Apache-2.0
// The kernels of rows, instrumented, under the race detector: right answers, and no race, in three orders of blocks.
#include <simt/machine.hpp>
#include <simt/race.hpp>

#include "own_rows.hpp"
#include "row_cases.hpp"

namespace {

constexpr simt::block_order orders[] = {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled};

/// The case has the right answer and no race, with that order of blocks; `multiprocessors`, if not 0, is how many there are.
void expect_no_race(const row_case& c, simt::block_order order, unsigned multiprocessors = 0) {
  const auto before = simt::current_options();
  simt::race_detector detector;
  simt::current_options().order = order;
  if (multiprocessors != 0) simt::current_options().multiprocessors = multiprocessors;
  simt::current_options().watch = &detector;
  EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
  simt::current_options() = before;
  for (const auto& race : detector.races()) ADD_FAILURE() << c.name() << ": " << simt::to_string(race);
}

class row_races : public ::testing::TestWithParam<wf::dtype> {};

TEST_P(row_races, none) {
  std::mt19937_64 g(11 + static_cast<std::uint64_t>(GetParam()));
  for (int o = 0; o < wf::op_count; ++o) {
    const auto what = static_cast<wf::op>(o);
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (int k = 0; k < 12; ++k) {
      row_case c = random_row_case(g, what, GetParam());
      std::int64_t elements = 1;
      for (auto& n : c.shape) elements *= n;
      if (elements > 3000) continue;
      if (k % 4 == 3) {  // columns, cut
        c.offsets.clear();
        c.answers = -1;
        c.shape = {1100, 2};
        c.axes = {0};
        for (int i = 0; i < c.inputs(); ++i) {
          c.strides[i] = {2, 1};
          c.first[i] = 0;
          c.count[i] = 2200;
        }
      }
      expect_no_race(c, orders[(o + k) % 3]);
      if (HasFailure()) return;
    }
  }
}

/// Rows and columns that begin anywhere: by copies, and by words around what lies in them.
TEST(anywhere_races, none) {
  std::uint64_t k = 0;
  for (const wf::dtype t : {wf::dtype::f16, wf::dtype::bf16, wf::dtype::i8}) {
    const auto size = static_cast<std::int64_t>(wf::info(t).size);
    for (const std::int64_t bytes : {46, 134, 1002, 4110}) {
      for (const bool columns : {false, true}) {
        const std::int64_t n = bytes / size;
        const row_case c = columns ? columns_case(wf::op::sum, t, (t == wf::dtype::i8 ? 100000 : 20000) / bytes + 3, n, static_cast<std::int64_t>(k % 2), static_cast<std::int64_t>(k % 3), 1, k)
                                   : rows_case(wf::op::sum, t, 50000 / bytes, n, static_cast<std::int64_t>(k % 3), k);
        expect_no_race(c, orders[k++ % 3], 1);
      }
    }
  }
}

/// Short rows of small integers, whose answers a warp writes together.
TEST(staged_answer_races, none) {
  std::uint64_t k = 0;
  for (const wf::dtype t : {wf::dtype::i8, wf::dtype::u16}) {
    for (const std::int64_t n : {2, 4}) {
      expect_no_race(rows_case(k % 2 == 0 ? wf::op::sum : wf::op::argmax, t, 9000, n, 0, k), orders[k % 3]);
      ++k;
    }
  }
}

/// Rows that no certificate decides.
TEST(uncertain_row_races, none) {
  const auto before = simt::current_options();
  for (const wf::dtype t : {wf::dtype::f16, wf::dtype::f32, wf::dtype::f64}) {
    for (const wf::op what : {wf::op::sum, wf::op::std_dev, wf::op::dot}) {
      for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{5, 300}, {300, 5}, {1, 9000}}) {
        row_case c;
        c.what = what;
        c.type = t;
        c.family = "bits";
        c.shape = shape;
        c.axes = {shape[0] == 300 ? 0 : 1};
        for (int i = 0; i < c.inputs(); ++i) {
          c.strides[i] = {shape[1], 1};
          c.count[i] = shape[0] * shape[1];
        }
        simt::race_detector detector;
        simt::current_options().watch = &detector;
        EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
        simt::current_options() = before;
        for (const auto& race : detector.races()) ADD_FAILURE() << c.name() << ": " << simt::to_string(race);
      }
    }
  }
}

/// Small batches: of lanes, of a block, of a cluster; certain and not.
TEST(small_batch_races, none) {
  int k = 0;
  for (const wf::dtype t : {wf::dtype::f32, wf::dtype::f64, wf::dtype::i32}) {
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{37, 16}, {5, 256}, {3, 1024}, {1, 20480}}) {
      for (const char* family : {"ties", "bits"}) {
        row_case c;
        c.type = t;
        c.family = family;
        c.shape = shape;
        c.axes = {1};
        c.strides[0] = {shape[1], 1};
        c.count[0] = shape[0] * shape[1];
        expect_no_race(c, orders[k++ % 3]);
      }
    }
  }
}

/// Rows of whole packs that blocks take turns at, and columns that a thread has each.
TEST(turn_races, none) {
  int k = 0;
  for (const wf::dtype t : {wf::dtype::f32, wf::dtype::f64, wf::dtype::bf16}) {
    const auto size = static_cast<std::int64_t>(wf::info(t).size);
    expect_no_race(rows_case(wf::op::sum, t, 2, (size < 4 ? 300000 : 100000) / size / 16 * 16, 0, 3), orders[k++ % 3], 2);
    expect_no_race(columns_case(wf::op::sum, t, 7, 1024, 0, 0, 1, 5), orders[k % 3], 1);
  }
}

/// Long rows and segments that blocks share and add again, and states, which come the same way.
TEST(shared_again_races, none) {
  std::mt19937_64 g(8);
  for (int k = 0; k < 4; ++k) {
    row_case c;
    if (k < 2) {
      c.shape = {2, 36000};
      c.axes = {1};
      c.strides[0] = {36000, 1};
      c.count[0] = 72000;
    } else {
      c = ragged_case(g, wf::op::sum, wf::dtype::f64, ragged::all_in_one, 40000);
    }
    c.what = wf::op::sum;
    c.type = wf::dtype::f64;
    c.family = "cancelling";
    expect_no_race(c, orders[k % 3]);
  }
}

/// Segments that blocks share.
TEST(ragged_races, none) {
  std::mt19937_64 g(3);
  int k = 0;
  for (const wf::dtype t : {wf::dtype::f32, wf::dtype::f64, wf::dtype::i8}) {
    for (const wf::op what : {wf::op::sum, wf::op::argmax, wf::op::prod}) {
      for (const ragged kind : {ragged::power_law, ragged::one_huge, ragged::all_in_one}) {
        const row_case c = ragged_case(g, what, t, kind, 4000);
        expect_no_race(c, orders[k++ % 3]);
      }
    }
  }
}

/// Segments that are differences of prefix sums: exact tiles and others, in several tiles of a warp and several blocks.
TEST(prefix_sum_races, none) {
  std::mt19937_64 g(4);
  int k = 0;
  for (const wf::dtype t : {wf::dtype::f32, wf::dtype::f64, wf::dtype::bf16, wf::dtype::i8}) {
    for (const char* family : {"normal", "octaves", "bits", "minus_zeros"}) {
      row_case c = ragged_case(g, k % 2 == 0 ? wf::op::sum : wf::op::mean, t, static_cast<ragged>(k % 4), 22000);
      c.family = wf::is_integer(t) ? "bits" : family;
      c.strides[0] = {1};
      c.first[0] = k % 5;
      c.count[0] = c.first[0] + c.shape[0];
      expect_no_race(c, orders[k++ % 3], 1);
    }
  }
  for (const wf::dtype t : {wf::dtype::f32, wf::dtype::bf16}) expect_no_race(near_case(wf::op::sum, t, 40000, 5), orders[k++ % 3], 1);
}

/// The same where a warp takes several shares, one after the other.
TEST(prefix_share_races, none) {
  std::mt19937_64 g(5);
  for (const ragged kind : {ragged::power_law, ragged::one_huge}) {
    row_case c = ragged_case(g, wf::op::sum, wf::dtype::f32, kind, 450000);
    c.strides[0] = {1};
    c.count[0] = c.first[0] + c.shape[0];
    expect_no_race(c, orders[g() % 3], 1);
  }
}

/// Integers that are added where their labels say, since the answers are many (src/gpu/rows_added.cuh).
TEST(added_label_races, none) {
  row_case c;
  c.type = wf::dtype::i16;
  c.answers = 20000;
  c.shape = {3000};
  c.axes = {0};
  for (std::int64_t i = 0; i < c.shape[0]; ++i) c.labels.push_back(i % 3 == 0 ? 7 : i * 7919 % c.answers);
  c.strides[0] = {1};
  c.count[0] = c.shape[0];
  for (const auto order : orders) {
    expect_no_race(c, order);
  }
}

/// Floats likewise (src/gpu/rows_added_floats.cuh), some of them -0.
TEST(added_float_label_races, none) {
  int k = 0;
  for (const char* family : {"normal", "minus_zeros", "bits"}) {
    row_case c;
    c.type = wf::dtype::bf16;
    c.family = family;
    c.answers = 16384;
    c.shape = {83000};
    c.axes = {0};
    for (std::int64_t i = 0; i < c.shape[0]; ++i) c.labels.push_back(i % 3 == 0 ? 7 : i * 7919 % c.answers);
    c.strides[0] = {1};
    c.count[0] = c.shape[0];
    expect_no_race(c, orders[k++]);
  }
}

/// difference(seed, n) of `seeds` seeds, in the three orders of blocks.
void race_by_seeds(std::uint64_t seeds, std::int64_t n, std::string (*difference)(std::uint64_t, std::int64_t)) {
  const auto before = simt::current_options();
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    simt::race_detector detector;
    simt::current_options().order = orders[seed % 3];
    simt::current_options().watch = &detector;
    EXPECT_EQ(difference(seed, n), "") << simt::last_fault().text;
    simt::current_options() = before;
    for (const auto& race : detector.races()) ADD_FAILURE() << "seed " << seed << ": " << simt::to_string(race);
  }
}
/// Reductions that the caller's compiler knows, of rows that blocks share too.
TEST(own_row_races, none) { race_by_seeds(9, 2500, own_rows_difference); }
TEST(runs_races, none) { race_by_seeds(12, 2000, runs_difference); }

/// Whether answers overflowed.
TEST(checked_races, none) {
  std::mt19937_64 g(5);
  int k = 0;
  for (const wf::op what : {wf::op::sum, wf::op::prod, wf::op::dot}) {
    for (const ragged kind : {ragged::power_law, ragged::one_huge}) {
      row_case c = ragged_case(g, what, wf::dtype::i32, kind, 3000);
      c.checked = true;
      expect_no_race(c, orders[k++ % 3]);
    }
  }
}

/// Labels over several blocks, in one pass of the sort and in two; several tiles of a block; and a block alone.
TEST(label_races, none) {
  for (int k = 0; k < 9; ++k) {
    row_case c;
    c.type = wf::dtype::f32;
    c.what = k % 2 == 0 ? wf::op::sum : wf::op::argmin;
    c.answers = k % 2 == 0 ? 3000 : 7;
    simt::current_options().multiprocessors = k < 3 ? 0 : 1;
    const std::int64_t n = k < 3 ? 9001 : k < 6 ? 20001 : 3001;
    for (std::int64_t i = 0; i < n; ++i) c.labels.push_back(i * i % c.answers);
    c.shape = {n};
    c.axes = {0};
    c.strides[0] = {1};
    c.count[0] = n;
    expect_no_race(c, orders[k / 2 % 3]);
  }
}

INSTANTIATE_TEST_SUITE_P(lens, row_races, ::testing::Values(wf::dtype::bf16, wf::dtype::f32, wf::dtype::f64, wf::dtype::i8, wf::dtype::i32,
                                                               wf::dtype::c64, wf::dtype::c128),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

}  // namespace
