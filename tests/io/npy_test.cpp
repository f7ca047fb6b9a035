// SPDX-License-Identifier: Apache-2.0
// Every element type × byte order × memory order × format version × way of reading.
#include "npy_writer.hpp"

#include <warpfold/error.hpp>
#include <warpfold/half.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/io/reduce.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>

namespace io = wf::io;
using npy_writer::bytes;

namespace {

// Bits of the whole number `n` as one real element, built from the formats' definitions.
std::uint64_t float_bits(int n, int exponent_bits, int mantissa_bits) {
  if (n == 0) return 0;
  const int e = std::bit_width(static_cast<unsigned>(n)) - 1;
  const auto fraction = static_cast<std::uint64_t>(n) - (std::uint64_t{1} << e);
  const auto bias = static_cast<std::uint64_t>((1 << (exponent_bits - 1)) - 1);
  return (bias + static_cast<std::uint64_t>(e)) << mantissa_bits | fraction << (mantissa_bits - e);
}

std::uint64_t real_bits(wf::dtype type, int n) {
  switch (type) {
    case wf::dtype::f16:
      return float_bits(n, 5, 10);
    case wf::dtype::bf16:
      return float_bits(n, 8, 7);
    case wf::dtype::f32:
    case wf::dtype::c64:
      return float_bits(n, 8, 23);
    case wf::dtype::f64:
    case wf::dtype::c128:
      return float_bits(n, 11, 52);
    case wf::dtype::boolean:
      return n != 0;
    default:
      return static_cast<std::uint64_t>(n);
  }
}

/// 0, 1, … n-1, in complex numbers with the imaginary parts 1, 2, … n.
bytes counting(wf::dtype type, int n, bool big) {
  bytes data;
  for (int k = 0; k < n; ++k) {
    npy_writer::append_word(data, real_bits(type, k), wf::info(type).part, big);
    if (wf::is_complex(type))
      npy_writer::append_word(data, real_bits(type, k + 1), wf::info(type).part, big);
  }
  return data;
}

io::reduced sum(io::array_file& file) {
  io::reduce_options options;
  options.check_overflow = true;
  return io::reduce(wf::op::sum, file, options);
}

/// The bits of part 0, or of a complex sum's part 1.
std::uint64_t bits_of(const io::reduced& r, std::size_t part = 0) {
  const std::size_t size = wf::info(r.kind.type).part;
  std::uint64_t bits = 0;
  for (std::size_t k = 0; k < size; ++k)
    bits |= std::to_integer<std::uint64_t>(
                r.values[part * size + (std::endian::native == std::endian::big ? size - 1 - k : k)])
            << (8 * k);
  return bits;
}

void expect_sum_of_0_to_11(const io::reduced& r, wf::dtype type) {
  EXPECT_EQ(r.elements, type);
  EXPECT_EQ(r.count, 12u);
  const bool boolean = type == wf::dtype::boolean;
  EXPECT_EQ(bits_of(r), boolean ? 11u : wf::is_integer(type) ? 66u : real_bits(type, 66));
  if (wf::is_complex(type)) {
    EXPECT_EQ(bits_of(r, 1), real_bits(type, 78));
  }
  EXPECT_EQ(r.overflows(), 0u);
}

io::array_file in_memory(const bytes& content, std::optional<io::raw_format> raw = {}) {
  return io::array_file::from(io::input::in_memory(content, "memory"), raw);
}

using npy_case = std::tuple<int, char, bool, int>;  // dtype, byte order, Fortran, version
class npy : public testing::TestWithParam<npy_case> {};

TEST_P(npy, reads_and_sums) {
  const auto [index, mark, fortran, version] = GetParam();
  const auto type = static_cast<wf::dtype>(index);
  const std::string code(wf::info(type).npy);
  const bool big =
      mark == '>' || ((mark == '=' || mark == '|') && std::endian::native == std::endian::big);
  const bytes content =
      npy_writer::file(version, mark + code, fortran, "(3, 4)", counting(type, 12, big));

  auto file = in_memory(content);
  EXPECT_EQ(file.layout().type, type);
  EXPECT_EQ(file.layout().order, big ? wf::byte_order::big : wf::byte_order::little);
  EXPECT_EQ(file.layout().fortran, fortran);
  EXPECT_EQ(file.layout().shape, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(file.layout().count, 12u);
  EXPECT_EQ(file.layout().offset + 12 * wf::info(type).size, content.size());
  expect_sum_of_0_to_11(sum(file), type);

  const npy_writer::pipe_of pipe(content);
  ASSERT_TRUE(pipe.ok);
  auto piped = io::array_file::open(pipe.path);
  EXPECT_TRUE(piped.size_known());
  expect_sum_of_0_to_11(sum(piped), type);
}

/// All but bf16, which raw_files covers.
std::vector<int> types_of_numpy() {
  std::vector<int> indexes;
  for (std::size_t k = 0; k < wf::dtypes.size(); ++k)
    if (!wf::dtypes[k].npy.empty()) indexes.push_back(static_cast<int>(k));
  return indexes;
}

std::string name_of(const testing::TestParamInfo<npy_case>& about) {
  const auto [index, mark, fortran, version] = about.param;
  const char* order = mark == '<' ? "little" : mark == '>' ? "big" : mark == '=' ? "native" : "bar";
  return std::string(wf::dtypes[static_cast<std::size_t>(index)].name) + "_" + order +
         (fortran ? "_fortran_v" : "_c_v") + std::to_string(version);
}

INSTANTIATE_TEST_SUITE_P(all, npy,
                         testing::Combine(testing::ValuesIn(types_of_numpy()),
                                          testing::Values('<', '>', '=', '|'), testing::Bool(),
                                          testing::Values(1, 2, 3)),
                         name_of);

class raw_files : public testing::TestWithParam<int> {};

TEST_P(raw_files, any_offset_and_order) {
  const auto type = static_cast<wf::dtype>(GetParam());
  for (const bool big : {false, true}) {
    for (const std::size_t offset : {0, 1, 7, 64}) {
      bytes content(offset, std::byte{0x5a});
      const bytes data = counting(type, 12, big);
      content.insert(content.end(), data.begin(), data.end());
      const io::raw_format raw{type, big ? wf::byte_order::big : wf::byte_order::little, offset};
      auto file = in_memory(content, raw);
      expect_sum_of_0_to_11(sum(file), type);

      const npy_writer::pipe_of pipe(content);
      ASSERT_TRUE(pipe.ok);
      auto piped = io::array_file::open(pipe.path, raw);
      EXPECT_FALSE(piped.size_known());
      expect_sum_of_0_to_11(sum(piped), type);
      EXPECT_TRUE(piped.size_known());
      EXPECT_EQ(piped.layout().count, 12u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, raw_files, testing::Range(0, static_cast<int>(wf::dtypes.size())),
                         [](const auto& p) {
                           return std::string(wf::dtypes[static_cast<std::size_t>(p.param)].name);
                         });

TEST(raw, empty_is_zero_elements) {
  for (std::size_t k = 0; k < wf::dtypes.size(); ++k) {
    auto file = in_memory({}, io::raw_format{static_cast<wf::dtype>(k)});
    const auto r = sum(file);
    EXPECT_EQ(r.count, 0u);
    EXPECT_EQ(bits_of(r), 0u) << "the empty sum is +0";
  }
}

TEST(raw, size_not_a_multiple) {
  for (const std::size_t offset : {0, 1}) {
    const bytes content(21 + offset);
    try {
      in_memory(content, io::raw_format{wf::dtype::f64, wf::native_order, offset});
      FAIL() << "was read";
    } catch (const wf::error& e) {
      EXPECT_NE(std::string(e.what()).find("21 bytes"), std::string::npos) << e.what();
    }
    const npy_writer::pipe_of pipe(content);
    auto piped =
        io::array_file::open(pipe.path, io::raw_format{wf::dtype::f64, wf::native_order, offset});
    EXPECT_THROW(sum(piped), wf::error);
  }
}

TEST(raw, offset_past_the_end) {
  const bytes content(16);
  EXPECT_THROW(in_memory(content, io::raw_format{wf::dtype::f64, wf::native_order, 17}), wf::error);
  EXPECT_THROW(in_memory(content, io::raw_format{wf::dtype::f64, wf::native_order, ~0ull}),
               wf::error);
  const npy_writer::pipe_of pipe(content);
  EXPECT_THROW(
      io::array_file::open(pipe.path, io::raw_format{wf::dtype::f64, wf::native_order, 17}),
      wf::error);
  auto file = in_memory(content, io::raw_format{wf::dtype::f64, wf::native_order, 16});
  EXPECT_EQ(sum(file).count, 0u);
}

TEST(raw, refuses_a_npy_file_unless_its_header_is_skipped) {
  const bytes content =
      npy_writer::file(1, "<f8", false, "(12,)", counting(wf::dtype::f64, 12, false));
  EXPECT_THROW(in_memory(content, io::raw_format{wf::dtype::f64}), wf::error);
  auto file = in_memory(content, io::raw_format{wf::dtype::f64, wf::byte_order::little, 128});
  expect_sum_of_0_to_11(sum(file), wf::dtype::f64);
}

TEST(integers, overflow_is_exact_mod_2_64_and_reported) {
  const auto total = [](wf::dtype type, std::initializer_list<std::uint64_t> words) {
    bytes data;
    for (const std::uint64_t w : words)
      npy_writer::append_word(data, w, 8, std::endian::native == std::endian::big);
    auto file = in_memory(data, io::raw_format{type});
    return sum(file);
  };
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  auto r = total(wf::dtype::i64, {most, 1});
  EXPECT_TRUE(r.overflows() != 0);
  EXPECT_EQ(bits_of(r), most + 1);
  EXPECT_EQ(io::true_integer_text(r.kind.type, r.checks[0]), "9223372036854775808");
  r = total(wf::dtype::i64, {most, 1, ~0ull});
  EXPECT_FALSE(r.overflows() != 0) << "what overflows on the way and comes back has not overflowed";
  EXPECT_EQ(io::value_text(r.kind.type, r.value(0)), "9223372036854775807");
  r = total(wf::dtype::i64, {most + 1, most + 1});
  EXPECT_TRUE(r.overflows() != 0);
  EXPECT_EQ(io::true_integer_text(r.kind.type, r.checks[0]), "-18446744073709551616");
  EXPECT_EQ(io::value_text(r.kind.type, r.value(0)), "0");
  r = total(wf::dtype::u64, {~0ull, ~0ull});
  EXPECT_TRUE(r.overflows() != 0);
  EXPECT_EQ(io::true_integer_text(r.kind.type, r.checks[0]), "36893488147419103230");
  EXPECT_EQ(io::value_text(r.kind.type, r.value(0)), "18446744073709551614");
  r = total(wf::dtype::u64, {~0ull});
  EXPECT_FALSE(r.overflows() != 0);
  EXPECT_EQ(io::value_text(r.kind.type, r.value(0)), "18446744073709551615");
}

/// Enough for several blocks a thread, cancelling, over the whole range of exponents.
TEST(threads, do_not_change_a_bit) {
  constexpr std::uint64_t seed = 20240607;
  std::mt19937_64 random(seed);
  std::vector<double> values(700'001);
  for (double& x : values)
    x = std::bit_cast<double>(random() & ~(std::uint64_t{1} << 62));  // |x| < 2
  const auto content = std::as_bytes(std::span(values));
  std::uint64_t first = 0;
  for (const int threads : {1, 2, 3, 8, 64}) {
    auto file = io::array_file::from(io::input::in_memory(content, "memory"),
                                     io::raw_format{wf::dtype::f64});
    std::atomic<std::uint64_t> progress = 0;
    wf::cpu::thread_pool pool(threads);
    io::reduce_options options;
    options.context.executor = &pool;
    options.progress = &progress;
    const auto r = io::reduce(wf::op::sum, file, options);
    EXPECT_EQ(progress, content.size());
    EXPECT_EQ(r.count, values.size());
    if (threads == 1) first = bits_of(r);
    EXPECT_EQ(bits_of(r), first) << threads << " threads, seed " << seed;
  }
}

}  // namespace
