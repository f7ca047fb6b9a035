// SPDX-License-Identifier: Apache-2.0
// Shortest decimals: over every f16 and bf16, and many f32 and f64.
#include <warpfold/io/text.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

namespace {

using wf::bf16;
using wf::f16;
using wf::io::shortest;

struct half_format {
  int mantissa_bits;
  int least_exponent;  // that of the unit of subnormals
};

// The digits in `text`, without leading and trailing zeros.
std::string digits_of(const std::string& text) {
  std::string digits;
  for (const char c : text.substr(0, text.find('e')))
    if (c >= '0' && c <= '9') digits += c;
  digits.erase(0, digits.find_first_not_of('0'));
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

/// Every positive finite value of a 16-bit format. Bounds and decimals are compared in 64-bit
/// mantissas, which hold the bounds exactly.
template <class T>
void check_all(half_format format) {
  const int special = 0x7fff >> format.mantissa_bits << format.mantissa_bits;
  for (int bits = 1; bits < special; ++bits) {
    const int stored = bits & ((1 << format.mantissa_bits) - 1),
              biased = bits >> format.mantissa_bits;
    const int mantissa = biased ? stored | 1 << format.mantissa_bits : stored;
    const int exponent = format.least_exponent + (biased ? biased - 1 : 0);
    const long double x = std::ldexp(static_cast<long double>(mantissa), exponent);
    const long double low =
        std::ldexp(mantissa - (stored == 0 && biased > 1 ? 0.25L : 0.5L), exponent);
    const long double high = std::ldexp(mantissa + 0.5L, exponent);
    const auto reads_back = [&](long double y) {
      return (low < y && y < high) || (mantissa % 2 == 0 && (y == low || y == high));
    };

    const std::string text = shortest(T::from_bits(static_cast<std::uint16_t>(bits)));
    ASSERT_TRUE(reads_back(std::strtold(text.c_str(), nullptr))) << text << " for " << bits;
    ASSERT_EQ(shortest(T::from_bits(static_cast<std::uint16_t>(bits | 0x8000))), "-" + text);

    const int length = static_cast<int>(digits_of(text).size());
    char nearest[64];
    // None of the same length is nearer, unless it does not read back.
    std::snprintf(nearest, sizeof nearest, "%.*Le", length - 1, x);
    if (reads_back(std::strtold(nearest, nullptr))) {
      ASSERT_EQ(std::strtold(nearest, nullptr), std::strtold(text.c_str(), nullptr))
          << text << " for " << bits;
    }
    if (length == 1) continue;
    // Neither the nearest shorter one nor its neighbours read back.
    std::snprintf(nearest, sizeof nearest, "%.*Le", length - 2, x);
    const long double shorter = std::strtold(nearest, nullptr);
    const long double step = std::strtold(
        ("1e" + std::to_string(std::atoi(std::strchr(nearest, 'e') + 1) - (length - 2))).c_str(),
        nullptr);
    for (const long double y : {shorter - step, shorter, shorter + step})
      ASSERT_FALSE(reads_back(y)) << text << " is not the shortest for " << bits;
  }
}

TEST(shortest, every_f16) { check_all<f16>({10, -24}); }
TEST(shortest, every_bf16) { check_all<bf16>({7, -133}); }

template <class T, class Bits>
void check_random(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int k = 0; k < 200'000; ++k) {
    const T x = std::bit_cast<T>(static_cast<Bits>(random()));
    if (!std::isfinite(x)) continue;
    const std::string text = shortest(x);
    T back = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(end, text.data() + text.size());
    ASSERT_EQ(std::bit_cast<Bits>(back), std::bit_cast<Bits>(x)) << text << ", seed " << seed;
    char reference[64];
    const auto written =
        std::to_chars(reference, reference + sizeof reference, x, std::chars_format::scientific);
    ASSERT_EQ(digits_of(text), digits_of({reference, written.ptr})) << "seed " << seed;
  }
}

TEST(shortest, random_f32) { check_random<float, std::uint32_t>(1); }
TEST(shortest, random_f64) { check_random<double, std::uint64_t>(2); }

TEST(shortest, layout) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(0.1f), "0.1");
  EXPECT_EQ(shortest(f16(0.1)), "0.1");
  EXPECT_EQ(shortest(bf16(0.1)), "0.1");
  EXPECT_EQ(shortest(100000.0), "100000");
  EXPECT_EQ(shortest(1234.5), "1234.5");
  EXPECT_EQ(shortest(1e15), "1000000000000000");
  EXPECT_EQ(shortest(1e16), "1e+16");
  EXPECT_EQ(shortest(1.5e300), "1.5e+300");
  EXPECT_EQ(shortest(1e-4), "0.0001");
  EXPECT_EQ(shortest(1.25e-5), "1.25e-05");
  EXPECT_EQ(shortest(5e-324), "5e-324");
  EXPECT_EQ(shortest(0.0), "0");
  EXPECT_EQ(shortest(-0.0), "-0");
  EXPECT_EQ(shortest(f16::from_bits(0x8000)), "-0");
  EXPECT_EQ(shortest(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(shortest(bf16::from_bits(0x7f80)), "inf");
  EXPECT_EQ(shortest(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(shortest(-std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(shortest(f16::from_bits(0x7e00)), "nan");
  EXPECT_EQ(shortest(f16::from_bits(0x7bff)), "65500");
  EXPECT_EQ(shortest(f16::from_bits(0x0001)), "6e-08");
}

TEST(messages, stay_on_one_line) {
  EXPECT_EQ(wf::io::quoted("a\nb\x1b\xff"), "'a\\x0ab\\x1b\\xff'");
  EXPECT_EQ(wf::io::quoted("abcdef", 3), "'abc'...");
  using wf::io::printable_name;
  EXPECT_EQ(printable_name("d\xc3\xa9j\xc3\xa0\n\x7f\xc2\x9b"),
            "d\xc3\xa9j\xc3\xa0\\x0a\\x7f\\xc2\\x9b");
  EXPECT_EQ(printable_name("\xf0\x9f\x98\x80\xe2\x82\xac"), "\xf0\x9f\x98\x80\xe2\x82\xac");
  // Cut off, overlong, a surrogate, beyond Unicode.
  EXPECT_EQ(printable_name("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable_name("\xc0\x8a"), "\\xc0\\x8a");
  EXPECT_EQ(printable_name("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable_name("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
