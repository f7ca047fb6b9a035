// SPDX-License-Identifier: Apache-2.0
// The GPU library on a GPU, against the CPU. Skipped where there is no GPU.
#include "containers.hpp"
#include "fused_table.hpp"
#include "logsumexp_table.hpp"
#include "own_operations_table.hpp"
#include "own_table.hpp"
#include "places_table.hpp"
#include "states_table.hpp"
#include "table.hpp"

namespace {

void skip_without_gpu() {
  const auto why = gpu_machine().why_not();
  if (!why.empty()) GTEST_SKIP() << "no GPU: " << why;
}

class types : public ::testing::TestWithParam<wf::dtype> {
 protected:
  void SetUp() override { skip_without_gpu(); }
  void row(const wf::device_place& place, const std::string& family, const layout& s) {
    check_row(gpu_machine(), place, GetParam(), family, s, 20 + static_cast<std::uint64_t>(s.n));
  }
};

TEST_P(types, lengths_addresses_strides_and_families) {
  const wf::gpu place;
  for (const std::int64_t n : {0, 1, 2, 7, 16, 33, 1000}) row(place, families_of(GetParam())[0], {n, 0, 1});
  for (const auto& family : families_of(GetParam())) row(place, family, {70001, 1, 1});
  const auto items = static_cast<std::int64_t>(16 / wf::info(GetParam()).size);
  for (std::int64_t skipped = 0; skipped < items; ++skipped) row(place, families_of(GetParam())[1], {2001, skipped, 1});
  for (const std::int64_t stride : {2, -3}) row(place, families_of(GetParam())[1], {7777, 1, stride});
  row(place, families_of(GetParam())[0], {3000001, 1, 1});
  for (const std::int64_t n : {33, 4099, 70001, 3000001}) row(place, in_any_order, {n, 1, 1});
}

TEST_P(types, states_merge_and_are_taken_out_again) {
  const wf::gpu place;
  const wf::simulated_gpu simulated;
  const wf::device_place& second = simulated;
  const auto families = families_of(GetParam());
  for (const auto& family : families) {
    check_states(gpu_machine(), place, GetParam(), family, 4099, 60, {}, &simt_machine(), &second);
    check_states(gpu_machine(), place, GetParam(), family, 300007, 61);
  }
  if (!wf::is_floating(GetParam())) return;
  for (const char* family : {"normal", "bits", "one_nan"}) check_states(gpu_machine(), place, GetParam(), family, 30000001, 62, {wf::op::sum});  // beyond L2 in part
}

/// One of each kind of launch: what compute-sanitizer is run over.
TEST_P(types, brief) {
  const wf::gpu place;
  for (const layout& s : {layout{0, 0, 1}, {33, 1, 1}, {777, 1, -3}, {5003, 0, 1}, {70001, 1, 1}}) {
    row(place, families_of(GetParam())[0], s);
    check_fused(gpu_machine(), place, GetParam(), families_of(GetParam())[0], s, 4);
  }
}

TEST_P(types, fused) {
  const wf::gpu place;
  const auto families = families_of(GetParam());
  const auto check = [&](const std::string& family, const layout& s) {
    check_fused(gpu_machine(), place, GetParam(), family, s, 30 + static_cast<std::uint64_t>(s.n));
  };
  for (const std::int64_t n : {0, 1, 2, 7, 33, 1000}) check(families[0], {n, 0, 1});
  for (const auto& family : families) check(family, {70001, 1, 1});
  for (const std::int64_t skipped : {1, 2, 3}) check(families[1], {2001, skipped, 1});
  for (const std::int64_t stride : {2, -3}) check(families[1], {7777, 1, stride});
  for (const auto& family : {families[0], families[1]}) check(family, {3000001, 1, 1});
}

/// Against the CPU on both, of the same data: the same bytes in all three places.
TEST_P(types, the_same_bytes_on_cpu_gpu_and_simt) {
  const wf::gpu place;
  const wf::simulated_gpu simulated;
  for (const auto& family : families_of(GetParam())) {
    for (const std::int64_t n : {500, 4099, 20011, 400009}) {
      row(place, family, {n, 0, 1});
      if (n < 20000) check_row(simt_machine(), simulated, GetParam(), family, {n, 0, 1}, 20 + static_cast<std::uint64_t>(n));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(gpu, types, ::testing::ValuesIn(all_dtypes),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

TEST(containers, of_thrust_and_of_libcudacxx) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  EXPECT_EQ(containers_on_gpu(), "");
}

TEST(complex_numbers, at_any_multiple_of_their_parts) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const wf::gpu place;
  for (const wf::dtype t : {wf::dtype::c64, wf::dtype::c128}) check_halves(gpu_machine(), place, t);
}

TEST(logsumexp, of_an_infinity_and_of_larger_numbers_elsewhere) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const wf::gpu place;
  check_infinity_and_larger_numbers(gpu_machine(), place);
}

TEST(places, of_nans_zeros_and_equal_elements) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const wf::gpu place;
  check_places(gpu_machine(), place);
}

TEST(certificates, products_below_the_least_number_keep_their_sign) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const wf::gpu place;
  check_least_products(gpu_machine(), place);
}

class logsumexp_of : public ::testing::TestWithParam<wf::dtype> {};

TEST_P(logsumexp_of, awkward_data) {
  skip_without_gpu();
  if (IsSkipped()) return;
  const wf::gpu place;
  check_logsumexp_of(gpu_machine(), place, GetParam());
}

INSTANTIATE_TEST_SUITE_P(gpu, logsumexp_of, ::testing::ValuesIn(real_dtypes),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

class own_on_gpu : public ::testing::TestWithParam<own> {};

TEST_P(own_on_gpu, over_lengths_addresses_and_grids) {
  skip_without_gpu();
  if (!IsSkipped()) check_own(gpu_machine(), GetParam(), {0, 1, 5, 64, 1000, 5003, 300007});
}

class operations_on_gpu : public ::testing::TestWithParam<own_operation> {};

TEST_P(operations_on_gpu, by_the_arithmetic_of_the_cpu) {
  skip_without_gpu();
  if (IsSkipped()) return;
  own_operation_check check(gpu_machine(), own_operations_on_gpu(), own_states_on_gpu, GetParam());
  check.pieces({0, 1, 40, 700, 5000, 300007});
  check.partitions(100003);
  check.merged_on_the_device();
}

INSTANTIATE_TEST_SUITE_P(gpu, operations_on_gpu, ::testing::ValuesIn(own_operations), [](const auto& given) { return own_operation_name(given.param); });

INSTANTIATE_TEST_SUITE_P(gpu, own_on_gpu, ::testing::ValuesIn(all_own), own_name);

TEST(large, more_than_two_to_the_32_bytes) {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const machine& m = gpu_machine();
  const std::int64_t n = (std::int64_t{1} << 32) + 70003;
  auto* x = static_cast<unsigned char*>(m.allocate(static_cast<std::size_t>(n)));
  if (x == nullptr) GTEST_SKIP() << "no room for " << n << " bytes";
  std::vector<unsigned char> part(std::size_t{1} << 24, 1);
  for (std::int64_t at = 0; at < n; at += static_cast<std::int64_t>(part.size()))
    ASSERT_EQ(m.upload(x + at, part.data(), static_cast<std::size_t>(std::min<std::int64_t>(n - at, static_cast<std::int64_t>(part.size())))), "");
  const unsigned char low = 0x80;
  ASSERT_EQ(m.upload(x + n - 2, &low, 1), "");
  auto* out = static_cast<std::int64_t*>(m.allocate(8));
  const wf::gpu place;
  const auto ask = [&](wf::op o) {
    std::int64_t got = -7;
    m.library->run({o, wf::dtype::i8, wf::accuracy::exact, {}, {x, nullptr}, {1, 1}, n, out}, place.scratch(), nullptr);
    EXPECT_EQ(m.download(&got, out, 8), "");
    return got;
  };
  EXPECT_EQ(ask(wf::op::sum), n - 1 - 128);
  EXPECT_EQ(ask(wf::op::argmin), n - 2);
  EXPECT_EQ(ask(wf::op::argmax), 0);
  EXPECT_EQ(ask(wf::op::count_nonzero), n);
  EXPECT_EQ(ask(wf::op::sum_of_squares), n - 1 + 16384);
  m.free(x);
  m.free(out);
}

/// Arrays that come by bulk copies: of any bits, and between multiples of 16 bytes.
template <class T>
void check_large_sums() {
  skip_without_gpu();
  if (::testing::Test::IsSkipped()) return;
  const machine& m = gpu_machine();
  const std::size_t n = (std::size_t{1} << 30) / sizeof(T) + 70003;
  auto* x = static_cast<T*>(m.allocate((n + 1) * sizeof(T)));
  if (x == nullptr) GTEST_SKIP() << "no room for " << n << " elements";
  auto* out = static_cast<T*>(m.allocate(sizeof(T)));
  std::vector<T> data(n);
  const wf::gpu place;
  for (const char* family : {"finite_bits", "normal"}) {
    const auto part = make_bytes(wf::dtype_of<T>, family, 1000003, 11);
    for (std::size_t at = 0; at < n; at += 1000003)
      std::memcpy(data.data() + at, part.data(), std::min<std::size_t>(n - at, 1000003) * sizeof(T));
    const T want = wf::sum(data);
    std::string fast;
    for (const std::size_t skipped : {0u, 1u}) {
      ASSERT_EQ(m.upload(x + skipped, data.data(), n * sizeof(T)), "");
      for (const auto a : {wf::accuracy::exact, wf::accuracy::fast}) {
        m.library->run({wf::op::sum, wf::dtype_of<T>, a, {}, {x + skipped, nullptr}, {1, 1}, static_cast<std::int64_t>(n), out},
                       place.scratch(), nullptr);
        std::vector<unsigned char> got(sizeof(T)), wanted(sizeof(T));
        ASSERT_EQ(m.download(got.data(), out, sizeof(T)), "");
        std::memcpy(wanted.data(), &want, sizeof(T));
        if (a == wf::accuracy::exact) EXPECT_EQ(hex(got), hex(wanted)) << family << ", skipped " << skipped;
        else if (skipped == 0) fast = hex(got);
        else EXPECT_EQ(hex(got), fast) << family;
      }
    }
  }
  m.free(x);
  m.free(out);
}
TEST(large, sums_of_f32) { check_large_sums<float>(); }
TEST(large, sums_of_f64) { check_large_sums<double>(); }

}  // namespace
