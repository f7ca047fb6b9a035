// SPDX-License-Identifier: Apache-2.0
// The kernels on a GPU, bit for bit against the host's exact sums. Skipped where there is no GPU.
#include "sum_table.hpp"

namespace {

class on_gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto why = why_no_gpu();
    if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
  }
};

class families : public on_gpu, public ::testing::WithParamInterface<std::tuple<element, std::string>> {};

TEST_P(families, exact_and_fast_over_sizes_and_addresses) {
  const auto [type, family] = GetParam();
  const std::size_t items = 16 / size_of(type);
  check_family(run_on_gpu, type, family, {0, 1, 2, 7, 64, 1000, 5003, 100003},
               {shape::one_block, shape::nine_blocks, shape::library}, {0, 1, items - 1});
  check_family(run_on_gpu, type, family, {1000003}, {shape::library}, {0, 1});
  if (type == element::f32) check_family(run_on_gpu, type, family, {0, 1, 5003, 100003}, {shape::side_by_side}, {0, 3});
}

INSTANTIATE_TEST_SUITE_P(
    gpu, families,
    ::testing::Combine(::testing::Values(element::f16, element::bf16, element::f32, element::f64,
                                         element::i32),
                       ::testing::ValuesIn(family_names())),
    [](const auto& given) {
      return std::string(name_of(std::get<0>(given.param))) + "_" + std::get<1>(given.param);
    });

class types : public on_gpu, public ::testing::WithParamInterface<element> {};

TEST_P(types, every_misalignment) {
  std::vector<std::size_t> skips;
  for (std::size_t i = 0; i < 16 / size_of(GetParam()); ++i) skips.push_back(i);
  check_family(run_on_gpu, GetParam(), "finite_bits", {1, 15, 16, 17, 33, 2049, 70001},
               {shape::three_blocks, shape::library}, skips);
}

TEST_P(types, as_many_packs_as_a_kernel_takes) { check_full_kernels(run_on_gpu, GetParam()); }

TEST_P(types, carries_of_threads_with_many_elements) {
  for (const char* family : {"huge", "finite_bits", "normal"}) {
    check_family(run_on_gpu, GetParam(), family, {200003}, {shape::one_block}, {0});
  }
}

TEST_P(types, graph_replays) {
  for (const std::uint64_t n : {1000u, 300001u}) {
    const auto c = make_case(GetParam(), "finite_bits", n, 5);
    sum_request r;
    r.type = GetParam();
    r.data = c.data.data();
    r.n = n;
    r.runs = 50;
    r.graph = true;
    check_exact(run_on_gpu, r, c, "graph replays");
    r.exact = false;
    std::uint64_t many = 0, one = 0;
    check_fast(run_on_gpu, r, c, "fast graph replays", many);
    r.runs = 1;
    r.graph = false;
    check_fast(run_on_gpu, r, c, "fast, once", one);
    ASSERT_EQ(one, many);
  }
}

TEST_P(types, many_streams_and_host_threads) {
  const std::uint64_t n = 200003;
  const auto c = make_case(GetParam(), "finite_bits", n, 9);
  sum_request r;
  r.type = GetParam();
  r.data = c.data.data();
  r.n = n;
  EXPECT_EQ(run_streams_on_gpu(r, c.exact_bits, 8, 8, 200), "");
  r.exact = false;
  const auto once = run_on_gpu(r);
  ASSERT_EQ(once.error, "");
  EXPECT_EQ(run_streams_on_gpu(r, once.bits, 8, 8, 200), "");
}

TEST_P(types, more_than_two_to_the_32_elements) {
  const std::uint64_t n = (std::uint64_t{1} << 32) + 70003;
  // Ones, minus two at every multiple of 2^16, and one more for the last element.
  const double sum = static_cast<double>(n) - 2.0 * static_cast<double>((n + 65535) / 65536) + 1;
  for (const std::size_t skipped : {0, 1}) {
    const auto exact = run_large_on_gpu(GetParam(), true, n, skipped);
    if (exact.error == "out of memory") GTEST_SKIP() << n * size_of(GetParam()) << " bytes do not fit";
    ASSERT_EQ(exact.error, "");
    const auto fast = run_large_on_gpu(GetParam(), false, n, skipped);
    ASSERT_EQ(fast.error, "");
    switch (GetParam()) {
      case element::i32:
        EXPECT_EQ(exact.bits, static_cast<std::uint64_t>(sum));
        EXPECT_EQ(fast.bits, exact.bits);
        break;
      case element::f64: EXPECT_EQ(fast_value(element::f64, exact.bits), sum); break;
      case element::f32: EXPECT_EQ(fast_value(element::f32, exact.bits), static_cast<float>(sum)); break;
      case element::f16: EXPECT_EQ(exact.bits, 0x7c00u); break;  // infinity: the sum is above 65504
      case element::bf16: EXPECT_EQ(exact.bits, wf::bf16(sum).bits); break;
    }
    if (GetParam() != element::i32) {
      EXPECT_NEAR(fast_value(GetParam(), fast.bits), sum, sum * 1e-3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(gpu, types,
                         ::testing::Values(element::f16, element::bf16, element::f32, element::f64,
                                           element::i32),
                         [](const auto& given) { return name_of(given.param); });

}  // namespace
