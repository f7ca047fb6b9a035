// SPDX-License-Identifier: Apache-2.0
// Rows, columns, segments and labels on a GPU against the CPU, byte for byte, launched and captured. Skipped where there is no GPU.
#include "row_cases.hpp"

namespace {

class rows : public ::testing::TestWithParam<wf::dtype> {
 protected:
  void SetUp() override {
    const auto why = gpu_rows().why_not();
    if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
  }
  /// Random cases of each operation, by a machine.
  void check(const rows_machine& m, std::uint64_t seed, int cases) {
    std::mt19937_64 g(seed * 100 + static_cast<std::uint64_t>(GetParam()));
    for (int o = 0; o < wf::op_count; ++o) {
      const auto what = static_cast<wf::op>(o);
      const bool there = wf::find_builtin(what, GetParam(), wf::accuracy::exact) != nullptr;
      ASSERT_EQ(m.takes(what, GetParam(), wf::accuracy::exact), there) << wf::op_names[o];
      for (int i = 0; there && i < cases; ++i) {
        const row_case c = random_row_case(g, what, GetParam());
        if (difference(m, c).empty()) continue;
        ADD_FAILURE() << "seed " << seed << ": " << difference(m, shrunk(m, c));
        return;
      }
    }
  }
};

TEST_P(rows, of_random_views) { check(gpu_rows(), number_of_environment("WF_ROWS_SEED", 1), static_cast<int>(number_of_environment("WF_ROWS_CASES", 60))); }

TEST_P(rows, captured_and_replayed) {
  rows_machine captured = gpu_rows();
  captured.run = captured.replay;
  check(captured, 2, 8);
}

/// Rows and columns that begin anywhere, so many that they go by the kernels for many; and places.
TEST_P(rows, that_begin_anywhere) {
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  std::uint64_t k = 0;
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::argmin}) {
    if (!gpu_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t bytes : {46, 131, 1001, 4110}) {
      const std::int64_t n = bytes / size, first = static_cast<std::int64_t>(k % 3);
      ++k;
      EXPECT_EQ(difference(gpu_rows(), rows_case(what, GetParam(), 8'000'000 / (n * size), n, first, k)), "");
      EXPECT_EQ(difference(gpu_rows(), columns_case(what, GetParam(), 3'000'000 / bytes, n, static_cast<std::int64_t>(k % 2), static_cast<std::int64_t>(k % 5), 1 + static_cast<std::int64_t>(k % 2), k)), "");
    }
  }
}

/// Extremes and places by four packs a lane, of several at once, and of long lines and columns: NaNs, zeros of both signs and equal elements, whose ranks other instructions make than on simt.
TEST_P(rows, of_extremes_by_several_packs) {
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size), each = 16 / std::min<std::int64_t>(size, 16);
  std::uint64_t k = 0;
  for (const wf::op what : {wf::op::argmin, wf::op::argmax, wf::op::max}) {
    if (!gpu_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (std::size_t family = 0; family < row_families(GetParam()).size(); ++family) {
      for (const std::int64_t packs : {8, 16, 32, 35, 300}) {
        ++k;
        row_case c = rows_case(what, GetParam(), 100 + static_cast<std::int64_t>(k % 3000), packs * each, 0, k);
        c.family = row_families(GetParam())[family];
        EXPECT_EQ(difference(gpu_rows(), c), "");
      }
      row_case lines;
      lines.what = what;
      lines.type = GetParam();
      lines.family = row_families(GetParam())[family];
      lines.seed = ++k;
      lines.shape = {9, 3, 300 * each};
      lines.axes = {0, 2};
      lines.strides[0] = {900 * each, 300 * each, 1};
      lines.count[0] = 8100 * each;
      EXPECT_EQ(difference(gpu_rows(), lines), "");
      row_case columns = columns_case(what, GetParam(), 700, 64, 0, 0, 2, ++k);
      columns.family = row_families(GetParam())[family];
      EXPECT_EQ(difference(gpu_rows(), columns), "");
    }
  }
}

/// As on simt; the larger ones have several tiles a warp.
TEST(prefix_sums, that_are_near_ties) {
  const auto why = gpu_rows().why_not();
  if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
  std::uint64_t k = 0;
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1}) {
    for (const wf::dtype type : {wf::dtype::f32, wf::dtype::bf16}) {
      for (const std::int64_t n : {40000, 700000, 9000000}) EXPECT_EQ(difference(gpu_rows(), near_case(what, type, n, 97 * number_of_environment("WF_ROWS_SEED", 1) + k++)), "");
    }
  }
}

TEST(labels, of_floats_whose_slots_are_sampled) {
  const auto why = gpu_rows().why_not();
  if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
  for (const row_case& c : sampled_label_cases(5)) EXPECT_EQ(difference(gpu_rows(), c), "") << c.name();
}

INSTANTIATE_TEST_SUITE_P(gpu, rows,
                         ::testing::Values(wf::dtype::f16, wf::dtype::bf16, wf::dtype::f32, wf::dtype::f64, wf::dtype::i8, wf::dtype::i16,
                                           wf::dtype::i32, wf::dtype::i64, wf::dtype::u8, wf::dtype::u16, wf::dtype::u32, wf::dtype::u64,
                                           wf::dtype::boolean, wf::dtype::c64, wf::dtype::c128),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

}  // namespace
