// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 against MPFR with their precision, exponents and subnormals.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <random>

#include <simt/bfloat16.hpp>
#include <simt/half.hpp>

namespace {

using namespace simt;

constexpr std::uint64_t seed = 20250301;
constexpr int trials = 1'000'000;

template <class Format>
struct oracle {
  using ops = half_ops<Format>;
  mpfr_t x, y, z, result;

  oracle() {
    mpfr_set_default_prec(64);
    mpfr_inits(x, y, z, nullptr);
    mpfr_init2(result, Format::mantissa + 1);
    // MPFR's significands are in [1/2, 1).
    mpfr_set_emin(1 - Format::bias - Format::mantissa + 1);
    mpfr_set_emax(Format::bias + 1);
  }
  ~oracle() {
    mpfr_clears(x, y, z, result, nullptr);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }

  // Values of the operands are within the exponents, or set_wide() is used.
  void set(mpfr_t to, unsigned short bits) { mpfr_set_flt(to, ops::to_float(bits), MPFR_RNDN); }
  static void set_wide(mpfr_t to, double v) {
    const mpfr_exp_t low = mpfr_get_emin(), high = mpfr_get_emax();
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_set_d(to, v, MPFR_RNDN);
    mpfr_set_emin(low);
    mpfr_set_emax(high);
  }

  // The bits of `result`, after an operation with MPFR's return value `ternary`.
  unsigned short bits(int ternary, mpfr_rnd_t mode) {
    ternary = mpfr_check_range(result, ternary, mode);
    mpfr_subnormalize(result, ternary, mode);
    if (mpfr_nan_p(result)) return 0x7FFF;
    const unsigned s = mpfr_signbit(result) ? 0x8000u : 0u;
    if (mpfr_zero_p(result)) return static_cast<unsigned short>(s);
    if (mpfr_inf_p(result)) return static_cast<unsigned short>(s | ops::infinity);
    // Encoded by the definition of the format: the significand in units of the last place.
    const double magnitude = std::abs(mpfr_get_d(result, MPFR_RNDN));
    int exponent = std::max(std::ilogb(magnitude), 1 - Format::bias);
    const double units = std::ldexp(magnitude, Format::mantissa - exponent);
    const auto significand = static_cast<unsigned>(units);
    EXPECT_EQ(significand, units);
    const unsigned hidden = 1u << Format::mantissa;
    if (significand < hidden) return static_cast<unsigned short>(s | significand);
    return static_cast<unsigned short>(
        s | static_cast<unsigned>(exponent + Format::bias) << Format::mantissa |
        (significand - hidden));
  }
};

template <class Format>
class HalfArithmetic : public ::testing::Test {};
using formats = ::testing::Types<f16_format, bf16_format>;
TYPED_TEST_SUITE(HalfArithmetic, formats);

// Half of the pairs have exponents near one another, where sums round and cancel.
template <class Format>
struct operands {
  unsigned short a, b, c;
  explicit operands(std::mt19937_64& random) {
    const std::uint64_t k = random();
    a = static_cast<unsigned short>(k);
    b = static_cast<unsigned short>(k >> 16);
    c = static_cast<unsigned short>(k >> 32);
    if (k >> 63 == 0) return;
    const unsigned mask = 0x7FFFu >> Format::mantissa << Format::mantissa;
    const auto near = [&](unsigned x, unsigned offset) {
      return static_cast<unsigned short>((x & ~mask) |
                                         ((a + ((offset - 12u) << Format::mantissa)) & mask));
    };
    b = near(b, k >> 48 & 31);
    c = near(c, k >> 53 & 31);
  }
};

TYPED_TEST(HalfArithmetic, EveryValueSurvivesFloatAndDouble) {
  using ops = half_ops<TypeParam>;
  for (unsigned b = 0; b < 0x10000; ++b) {
    const auto bits = static_cast<unsigned short>(b);
    const unsigned short expected = ops::is_nan(bits) ? ops::nan : bits;
    ASSERT_EQ(ops::from_float(ops::to_float(bits)), expected) << b;
    ASSERT_EQ(ops::from_double(ops::to_float(bits), rounding::nearest), expected) << b;
  }
}

TYPED_TEST(HalfArithmetic, ValuesAreThoseOfTheFormat) {
  using ops = half_ops<TypeParam>;
  for (unsigned b = 0; b < ops::infinity; ++b) {
    const unsigned e = b >> TypeParam::mantissa, m = b & ((1u << TypeParam::mantissa) - 1);
    const double value =
        e == 0 ? std::ldexp(m, 1 - TypeParam::bias - TypeParam::mantissa)
               : std::ldexp(m + (1u << TypeParam::mantissa),
                            static_cast<int>(e) - TypeParam::bias - TypeParam::mantissa);
    ASSERT_EQ(ops::to_float(static_cast<unsigned short>(b)), value) << b;
    ASSERT_EQ(ops::to_float(static_cast<unsigned short>(b | 0x8000)), -value) << b;
  }
  EXPECT_EQ(ops::to_float(ops::infinity), INFINITY);
}

TYPED_TEST(HalfArithmetic, SumsProductsQuotientsRoundOnce) {
  using ops = half_ops<TypeParam>;
  SCOPED_TRACE(seed);
  oracle<TypeParam> o;
  std::mt19937_64 random(seed);
  for (int i = 0; i < trials; ++i) {
    const operands<TypeParam> in(random);
    o.set(o.x, in.a);
    o.set(o.y, in.b);
    int t = mpfr_add(o.result, o.x, o.y, MPFR_RNDN);
    ASSERT_EQ(ops::add(in.a, in.b), o.bits(t, MPFR_RNDN)) << in.a << " + " << in.b;
    t = mpfr_sub(o.result, o.x, o.y, MPFR_RNDN);
    ASSERT_EQ(ops::subtract(in.a, in.b), o.bits(t, MPFR_RNDN)) << in.a << " - " << in.b;
    t = mpfr_mul(o.result, o.x, o.y, MPFR_RNDN);
    ASSERT_EQ(ops::multiply(in.a, in.b), o.bits(t, MPFR_RNDN)) << in.a << " * " << in.b;
    t = mpfr_div(o.result, o.x, o.y, MPFR_RNDN);
    ASSERT_EQ(ops::divide(in.a, in.b), o.bits(t, MPFR_RNDN)) << in.a << " / " << in.b;
  }
}

TYPED_TEST(HalfArithmetic, FusedMultiplyAddRoundsOnce) {
  using ops = half_ops<TypeParam>;
  SCOPED_TRACE(seed);
  oracle<TypeParam> o;
  std::mt19937_64 random(seed);
  for (int i = 0; i < trials; ++i) {
    const operands<TypeParam> in(random);
    o.set(o.x, in.a);
    o.set(o.y, in.b);
    o.set(o.z, in.c);
    const int t = mpfr_fma(o.result, o.x, o.y, o.z, MPFR_RNDN);
    ASSERT_EQ(ops::fused_multiply_add(in.a, in.b, in.c), o.bits(t, MPFR_RNDN))
        << in.a << " * " << in.b << " + " << in.c;
  }
}

// The product is a tie between two values, and the addend far below it decides.
TYPED_TEST(HalfArithmetic, FusedMultiplyAddSeesTheLastBit) {
  using ops = half_ops<TypeParam>;
  oracle<TypeParam> o;
  const auto value = [](double v) { return ops::from_double(v, rounding::nearest); };
  const double ulp = std::ldexp(1, -TypeParam::mantissa);
  const double large = 1 + ulp, middle = std::ldexp(1 + std::ldexp(1, -TypeParam::mantissa / 2), 8);
  for (const double factor : {large, -large, middle, -middle}) {
    for (const unsigned addend : {0u, 1u, 0x8001u, 3u, 0x8003u}) {
      for (unsigned m = 0; m < 1u << TypeParam::mantissa; ++m) {
        const auto a = static_cast<unsigned short>(value(1) | m), b = value(factor);
        const auto c = static_cast<unsigned short>(addend);
        o.set(o.x, a);
        o.set(o.y, b);
        o.set(o.z, c);
        const int t = mpfr_fma(o.result, o.x, o.y, o.z, MPFR_RNDN);
        ASSERT_EQ(ops::fused_multiply_add(a, b, c), o.bits(t, MPFR_RNDN))
            << a << ' ' << b << ' ' << c;
      }
    }
  }
}

TYPED_TEST(HalfArithmetic, ConversionsRoundAsTheirNamesSay) {
  using ops = half_ops<TypeParam>;
  SCOPED_TRACE(seed);
  oracle<TypeParam> o;
  std::mt19937_64 random(seed);
  const std::pair<rounding, mpfr_rnd_t> modes[] = {{rounding::nearest, MPFR_RNDN},
                                                   {rounding::zero, MPFR_RNDZ},
                                                   {rounding::down, MPFR_RNDD},
                                                   {rounding::up, MPFR_RNDU}};
  for (int i = 0; i < trials; ++i) {
    // A value of the format, moved by a part of its last place, and by double's own.
    const std::uint64_t k = random();
    const double at = ops::to_float(static_cast<unsigned short>(k));
    double v =
        std::bit_cast<double>(std::bit_cast<std::uint64_t>(at) +
                              ((k >> 16 & 3) << (50 - TypeParam::mantissa)) + (k >> 18 & 3) - 1);
    if ((k >> 20 & 7) == 0) v = std::bit_cast<double>(random());
    oracle<TypeParam>::set_wide(o.x, v);
    for (const auto& [mode, theirs] : modes) {
      const int t = mpfr_set(o.result, o.x, theirs);
      ASSERT_EQ(ops::from_double(v, mode), o.bits(t, theirs))
          << v << " mode " << static_cast<int>(mode);
    }
    const float f = static_cast<float>(v);
    oracle<TypeParam>::set_wide(o.x, f);
    const int t = mpfr_set(o.result, o.x, MPFR_RNDN);
    ASSERT_EQ(ops::from_float(f), o.bits(t, MPFR_RNDN)) << f;
    const auto n = static_cast<std::int64_t>(random()) >> (k >> 32 & 63);
    for (const auto& [mode, theirs] : modes) {
      int ternary = mpfr_set_sj(o.result, n, theirs);
      ASSERT_EQ(ops::from_signed(n, mode), o.bits(ternary, theirs)) << n;
      ternary = mpfr_set_uj(o.result, static_cast<std::uint64_t>(n), theirs);
      ASSERT_EQ(ops::from_unsigned(static_cast<std::uint64_t>(n), mode), o.bits(ternary, theirs))
          << n;
    }
  }
}

TYPED_TEST(HalfArithmetic, OverflowAndTheSmallestValue) {
  using ops = half_ops<TypeParam>;
  const double most = ops::to_float(ops::largest), least = ops::to_float(1);
  const double next = std::ldexp(1, TypeParam::bias + 1), tie = (most + next) / 2;
  EXPECT_EQ(ops::from_double(std::nextafter(tie, 0), rounding::nearest), ops::largest);
  EXPECT_EQ(ops::from_double(tie, rounding::nearest), ops::infinity);
  EXPECT_EQ(ops::from_double(tie, rounding::zero), ops::largest);
  EXPECT_EQ(ops::from_double(-tie, rounding::up), ops::largest | 0x8000);
  EXPECT_EQ(ops::from_double(-tie, rounding::down), ops::infinity | 0x8000);
  EXPECT_EQ(ops::from_double(least / 2, rounding::nearest), 0);
  EXPECT_EQ(ops::from_double(std::nextafter(least / 2, 1), rounding::nearest), 1);
  EXPECT_EQ(ops::from_double(1e-320, rounding::up), 1);
  EXPECT_EQ(ops::from_double(-1e-320, rounding::nearest), 0x8000);
}

}  // namespace
