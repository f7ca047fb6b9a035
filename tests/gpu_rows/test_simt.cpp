// SPDX-License-Identifier: Apache-2.0
// Rows, columns and segments on simt against the CPU, byte for byte: random views, axes, segments, operations and types.
#include <simt/machine.hpp>

#include <span>

#include <warpfold/exact_sum.hpp>

#include "../effort.hpp"
#include "row_cases.hpp"

namespace {

constexpr simt::block_order orders[] = {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled};

class rows : public ::testing::TestWithParam<wf::dtype> {};

TEST_P(rows, of_random_views) {
  const auto before = simt::current_options();
  const std::uint64_t seed = number_of_environment("WF_ROWS_SEED", 1), cases = number_of_environment("WF_ROWS_CASES", 10);
  std::mt19937_64 g(seed * 100 + static_cast<std::uint64_t>(GetParam()));
  int failures = 0;
  for (std::uint64_t i = 0; i < cases && failures < 3; ++i) {
    for (int o = 0; o < wf::op_count && failures < 3; ++o) {
      const auto what = static_cast<wf::op>(o);
      const bool there = wf::on_devices(what) && wf::find_builtin(what, GetParam(), wf::accuracy::exact) != nullptr;
      ASSERT_EQ(simt_rows().takes(what, GetParam(), wf::accuracy::exact), there) << wf::op_names[o];
      if (!there) continue;
      const row_case c = random_row_case(g, what, GetParam());
      simt::current_options().order = orders[g() % 3];
      if (difference(simt_rows(), c).empty()) continue;
      ++failures;
      ADD_FAILURE() << "WF_ROWS_SEED=" << seed << ": " << difference(simt_rows(), shrunk(simt_rows(), c)) << "; " << simt::last_fault().text;
      simt::clear_fault();
    }
  }
  simt::current_options() = before;
}

/// Few rows and few columns, cut over many blocks whose last one puts them together.
TEST_P(rows, that_many_blocks_share) {
  const auto before = simt::current_options();
  int k = 0;
  for (int o = 0; o < wf::op_count; ++o) {
    const auto what = static_cast<wf::op>(o);
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const bool columns : {false, true}) {
      row_case c;
      c.what = what;
      c.type = GetParam();
      c.family = row_families(GetParam())[static_cast<std::size_t>(k++) % 3];
      c.seed = static_cast<std::uint64_t>(k);
      const auto n = static_cast<std::int64_t>(200000 / wf::info(GetParam()).size) + 1;
      c.shape = {columns ? n : 2, columns ? 3 : n};
      c.axes = {columns ? 0 : 1};
      for (int i = 0; i < c.inputs(); ++i) {
        c.strides[i] = {c.shape[1], 1};
        c.count[i] = c.shape[0] * c.shape[1];
      }
      simt::current_options().order = orders[k % 3];
      EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// Segments of every kind of lengths, over many blocks.
TEST_P(rows, of_ragged_segments) {
  const auto before = simt::current_options();
  std::mt19937_64 g(31 * number_of_environment("WF_ROWS_SEED", 1) + static_cast<std::uint64_t>(GetParam()));
  int k = static_cast<int>(GetParam()), failures = 0;
  for (int o = 0; o < wf::op_count && failures < 3; ++o) {
    const auto what = static_cast<wf::op>(o);
    if (wf::find_builtin(what, GetParam(), wf::accuracy::exact) == nullptr) continue;
    for (int times = 0; times < 2; ++times, ++k) {
      const row_case c = ragged_case(g, what, GetParam(), static_cast<ragged>(k % ragged_kinds), times == 0 ? 2000 : 30000);
      simt::current_options().order = orders[g() % 3];
      const std::string trouble = difference(simt_rows(), c);
      failures += trouble.empty() ? 0 : 1;
      EXPECT_EQ(trouble, "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// No warp adds more elements than its share of elements and segments, however they are cut; and together they add each once.
TEST(ragged_segments, are_shared_among_warps) {
  const rows_machine& m = simt_rows();
  std::mt19937_64 g(5);
  constexpr std::int64_t n = 200000;
  for (int kind = 0; kind < ragged_kinds; ++kind) {
    const auto offsets = ragged_offsets(g, static_cast<ragged>(kind), n);
    const auto elements = static_cast<std::uint64_t>(offsets.back() - offsets.front()), segments = offsets.size() - 1;
    void* const data = m.allocate(static_cast<std::size_t>(offsets.back()) * 4 + 4);
    void* const by = m.allocate(offsets.size() * 8);
    void* const out = m.allocate(segments * 8 + 8);
    const std::vector<std::int32_t> ones(static_cast<std::size_t>(offsets.back()) + 1, 1);
    EXPECT_EQ(m.upload(data, ones.data(), ones.size() * 4) + m.upload(by, offsets.data(), offsets.size() * 8), "");
    wf::rows_request r{};
    r.what = wf::op::sum;
    r.element = wf::dtype::i32;
    r.x[0] = data;
    r.reduced = 1;
    r.length[0] = offsets.back();
    r.stride[0][0] = 1;
    r.offsets = by;
    r.offset_bytes = 8;
    r.segments = static_cast<std::int64_t>(segments);
    r.out = out;
    const auto of_warp = simt_elements_of_warps(r);
    ASSERT_FALSE(of_warp.empty());
    std::uint64_t all = 0, most = 0;
    for (const auto x : of_warp) {
      all += x;
      most = std::max(most, x);
    }
    // 4 multiprocessors hold 64 blocks of 4 warps in two waves; each has 256 units to do, or there are fewer. A segment is 8 units.
    const std::uint64_t units = elements + 8 * segments, warps = std::min<std::uint64_t>(256, 4 * ((units + 1023) / 1024 + 1));
    EXPECT_EQ(all, elements) << kind;
    EXPECT_LE(most, units / warps + 256) << kind;
    std::vector<std::int64_t> got(segments);
    EXPECT_EQ(m.download(got.data(), out, segments * 8), "");
    for (std::size_t k = 0; k < segments; ++k) ASSERT_EQ(got[k], offsets[k + 1] - offsets[k]) << kind << ", segment " << k;
    for (void* p : {data, by, out}) m.free(p);
  }
}

/// Long rows of ordinary numbers whose sums lie 2^-20 beside the middle of two floats, 2^-14 apart: what a certificate takes to be
/// lost must be less. With the range of all elements in place of each thread's own it would be 2^-14.
TEST(long_rows, of_ordinary_numbers_are_certain) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  constexpr std::int64_t rows = 8;
  const std::int64_t n = std::max<std::int64_t>(static_cast<std::int64_t>((1 << 19) * wf::test::effort()), 4096);
  std::mt19937_64 g(7);
  std::normal_distribution<double> normal;
  std::vector<float> x(static_cast<std::size_t>(rows * n));
  std::vector<float> want(rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::span row(x.data() + r * n, static_cast<std::size_t>(n));
    for (float& v : row.first(row.size() - 3)) v = static_cast<float>(normal(g));
    wf::exact_sum sum;
    sum.add(row);  // three zeros at its end
    // Up to a sum near 700, then to beside a middle.
    row[row.size() - 3] = 700.0f - sum.value<float>();
    sum.add(row[row.size() - 3]);
    const double target = 700 + 0x1p-15 + 0x1p-20;
    for (const std::size_t last : {2u, 1u}) {
      wf::exact_sum rest = sum;
      rest.add(-target);
      row[row.size() - last] = -rest.value<float>();
      sum.add(row[row.size() - last]);
    }
    want[static_cast<std::size_t>(r)] = sum.value<float>();
    ASSERT_EQ(want[static_cast<std::size_t>(r)], 700.0f + 0x1p-14f);
    ASSERT_LT(std::abs(sum.value<double>() - target), 0x1p-40);
  }
  const rows_machine& m = simt_rows();
  void* const data = m.allocate(x.size() * 4);
  void* const out = m.allocate(rows * 4);
  for (const bool columns : {false, true}) {
    std::vector<float> placed = x;
    for (std::int64_t i = 0; columns && i < rows * n; ++i) placed[static_cast<std::size_t>(i % n * rows + i / n)] = x[static_cast<std::size_t>(i)];
    EXPECT_EQ(m.upload(data, placed.data(), placed.size() * 4), "");
    wf::rows_request r{};
    r.what = wf::op::sum;
    r.element = wf::dtype::f32;
    r.x[0] = data;
    r.kept = r.reduced = 1;
    r.length[0] = rows;
    r.length[1] = n;
    r.stride[0][0] = columns ? 1 : n;
    r.stride[0][1] = columns ? rows : 1;
    r.out = out;
    EXPECT_EQ(simt_uncertain_rows(r), 0) << (columns ? "columns" : "rows") << "; " << simt::last_fault().text;
    std::vector<float> got(rows);
    EXPECT_EQ(m.download(got.data(), out, rows * 4), "");
    EXPECT_EQ(got, want);
  }
  for (void* p : {data, out}) m.free(p);
  simt::current_options() = before;
}

/// As many answers as take three passes of the sort, most of them of no element; and a label for the last answer.
TEST(labels, of_many_answers) {
  const auto before = simt::current_options();
  for (const auto& order : orders) {
    row_case c;
    c.type = wf::dtype::i32;
    c.what = wf::op::argmax;
    c.answers = 70001;
    for (std::int64_t i = 0; i < 5000; ++i) c.labels.push_back(i % 3 == 0 ? c.answers - 1 : i * 7919 % c.answers);
    c.shape = {5000};
    c.axes = {0};
    c.strides[0] = {1};
    c.count[0] = 5000;
    simt::current_options().order = order;
    EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
  }
  simt::current_options() = before;
}

/// Labels that no answer has are left out; those of more elements than can be sorted are refused.
TEST(labels, that_no_answer_has) {
  const rows_machine& m = simt_rows();
  const std::vector<std::int64_t> labels = {2, -1, 0, 3, 2, INT64_MIN, INT64_MAX, 0}, values = {1, 10, 100, 1000, 10000, 1, 2, 4};
  void* const x = m.allocate(64);
  void* const by = m.allocate(64);
  void* const out = m.allocate(24);
  EXPECT_EQ(m.upload(x, values.data(), 64) + m.upload(by, labels.data(), 64), "");
  wf::rows_request r{};
  r.what = wf::op::sum;
  r.element = wf::dtype::i64;
  r.x[0] = x;
  r.reduced = 1;
  r.length[0] = 8;
  r.stride[0][0] = 1;
  r.labels = static_cast<const std::int64_t*>(by);
  r.segments = 3;
  r.out = out;
  EXPECT_EQ(m.run(r, 1), "");
  std::vector<std::int64_t> got(3);
  EXPECT_EQ(m.download(got.data(), out, 24), "");
  EXPECT_EQ(got, (std::vector<std::int64_t>{104, 0, 10001}));
  r.length[0] = std::int64_t{1} << 32;
  EXPECT_NE(m.run(r, 1), "");
  for (void* p : {x, by, out}) m.free(p);
}

INSTANTIATE_TEST_SUITE_P(simt, rows,
                         ::testing::Values(wf::dtype::f16, wf::dtype::bf16, wf::dtype::f32, wf::dtype::f64, wf::dtype::i8, wf::dtype::i16,
                                           wf::dtype::i32, wf::dtype::i64, wf::dtype::u8, wf::dtype::u16, wf::dtype::u32, wf::dtype::u64,
                                           wf::dtype::boolean, wf::dtype::c64, wf::dtype::c128),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

}  // namespace
