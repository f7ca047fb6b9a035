// SPDX-License-Identifier: Apache-2.0
// The very kernels of the GPU on simt, bit for bit against the host's exact sums.
#include <simt/machine.hpp>

#include "sum_table.hpp"

namespace {

const std::vector<shape> small_grids{shape::one_block, shape::nine_blocks, shape::library};

class families : public ::testing::TestWithParam<std::tuple<element, std::string>> {};

TEST_P(families, exact_and_fast_over_sizes_and_addresses) {
  const auto [type, family] = GetParam();
  const std::size_t items = 16 / size_of(type);
  auto grids = small_grids;
  if (type == element::f32) grids.push_back(shape::side_by_side);
  check_family(run_on_simt, type, family, {0, 1, 2, 7, 64, 1000, 5003}, grids,
               {0, 1, items - 1});
}

INSTANTIATE_TEST_SUITE_P(
    simt, families,
    ::testing::Combine(::testing::Values(element::f16, element::bf16, element::f32, element::f64,
                                         element::i32),
                       ::testing::ValuesIn(family_names())),
    [](const auto& given) {
      return std::string(name_of(std::get<0>(given.param))) + "_" + std::get<1>(given.param);
    });

class types : public ::testing::TestWithParam<element> {};

TEST_P(types, every_misalignment) {
  std::vector<std::size_t> skips;
  for (std::size_t i = 0; i < 16 / size_of(GetParam()); ++i) skips.push_back(i);
  for (const char* family : {"normal", "finite_bits"}) {
    check_family(run_on_simt, GetParam(), family, {1, 15, 16, 17, 33, 2049, 20001}, {shape::three_blocks}, skips);
  }
}

TEST_P(types, as_many_packs_as_a_kernel_takes) { check_full_kernels(run_on_simt, GetParam()); }

TEST_P(types, the_launches_that_the_library_chooses) {
  check_family(run_on_simt, GetParam(), "finite_bits", {0, 1, 3, 100, 500, 2000, 4096, 8191, 16385, 70000, 300001},
               {shape::library}, {0, 1});
}

TEST_P(types, carries_of_threads_with_many_elements) {
  for (const char* family : {"huge", "finite_bits", "normal", "rising", "falling", "steps", "edge"}) {
    std::vector<shape> grids{shape::one_block};
    if (GetParam() == element::f32) grids.push_back(shape::side_by_side);
    check_family(run_on_simt, GetParam(), family, {200003}, grids, {0});
  }
}

TEST_P(types, every_block_order_gives_the_same_bits) {
  const auto before = simt::current_options();
  for (const auto order : {simt::block_order::forward, simt::block_order::reversed,
                           simt::block_order::shuffled}) {
    for (const unsigned os_threads : {1u, 2u}) {
      simt::current_options().order = order;
      simt::current_options().os_threads = os_threads;
      check_family(run_on_simt, GetParam(), "wide", {3001}, {shape::nine_blocks}, {0, 1});
      check_family(run_on_simt, GetParam(), "normal", {20000}, {shape::library}, {0});
    }
  }
  simt::current_options() = before;
}

TEST_P(types, scratch_is_clean_after_each_run_and_in_graphs) {
  const auto c = make_case(GetParam(), "finite_bits", 3001, 5);
  for (const bool graph : {false, true}) {
    sum_request r;
    r.type = GetParam();
    r.launch = shape::nine_blocks;
    r.data = c.data.data();
    r.n = 3001;
    r.runs = 3;
    r.graph = graph;
    check_exact(run_on_simt, r, c, "three runs");
    r.exact = false;
    std::uint64_t three = 0, one = 0;
    check_fast(run_on_simt, r, c, "three fast runs", three);
    r.runs = 1;
    check_fast(run_on_simt, r, c, "one fast run", one);
    ASSERT_EQ(one, three);
  }
}

/// As large as a slot of a column takes, and of one sign: as many for a thread as make no carries, by more blocks than were asked for.
TEST(columns, do_not_overflow_without_carries) {
  constexpr std::uint64_t n = 100'000;
  for (const float x : {0x1.fffffep1f, -0x1.fffffep1f}) {
    const std::vector<float> data(n, x);
    sum_request r;
    r.type = element::f32;
    r.launch = shape::side_by_side;
    r.data = data.data();
    r.n = n;
    const auto got = run_on_simt(r);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.bits, __builtin_bit_cast(std::uint32_t, static_cast<float>(n * static_cast<double>(x))));
  }
}

TEST(arguments, an_address_between_elements_is_refused) {
  const auto c = make_case(element::f32, "normal", 64, 5);
  sum_request r;
  r.data = c.data.data();
  r.n = 16;
  EXPECT_EQ(run_on_simt(r).error, "");
  r.odd_bytes = 2;
  for (const bool exact : {false, true}) {
    r.exact = exact;
    EXPECT_NE(run_on_simt(r).error, "");
  }
}

INSTANTIATE_TEST_SUITE_P(simt, types,
                         ::testing::Values(element::f16, element::bf16, element::f32, element::f64,
                                           element::i32),
                         [](const auto& given) { return name_of(given.param); });

}  // namespace
