// SPDX-License-Identifier: Apache-2.0
// The mathematical functions of f16 and bf16, of every value that there is, against float's: exact where the answer has one
// rounding at most, else within a unit in the last place, which is CUDA's stated error or less.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace {

/// Places on the line of numbers: neighbours differ by 1.
template <class T>
int place(T x) {
  const int bits = x.bits & 0x7fff;
  return (x.bits & 0x8000) != 0 ? -bits : bits;
}
template <class T>
bool is_nan(T x) {
  return std::isnan(static_cast<float>(x));
}

template <class T, class Function, class Reference>
void expect_within(int units, const char* name, Function function, Reference reference) {
  int far = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const T x = T::of(bits), found = function(x), expected = T(static_cast<float>(reference(static_cast<float>(x))));
    if (is_nan(found) && is_nan(expected)) continue;
    const bool is_far = is_nan(found) != is_nan(expected) || std::abs(place(found) - place(expected)) > units;
    if (is_far && ++far < 4)
      ADD_FAILURE() << name << " of " << static_cast<float>(x) << " is " << static_cast<float>(found) << ", not " << static_cast<float>(expected);
  }
  EXPECT_EQ(far, 0) << name;
}

template <class T>
class half_functions : public testing::Test {};
using both = testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(half_functions, both);

#define WITHIN(units, name, reference) \
  expect_within<TypeParam>(units, #name, [](TypeParam x) { return name(x); }, [](float x) -> float { return reference; })

TYPED_TEST(half_functions, are_right_for_every_value) {
  WITHIN(0, hceil, std::ceil(x));
  WITHIN(0, hfloor, std::floor(x));
  WITHIN(0, htrunc, std::trunc(x));
  WITHIN(0, hrint, std::nearbyint(x));
  WITHIN(0, hsqrt, std::sqrt(x));  // 24 bits and more twice over: the second rounding does no harm
  WITHIN(0, hrcp, 1 / x);
  WITHIN(1, hrsqrt, 1 / std::sqrt(x));
  WITHIN(1, hexp, std::exp(x));
  WITHIN(1, hexp2, std::exp2(x));
  WITHIN(1, hexp10, std::pow(10.0f, x));
  WITHIN(1, hlog, std::log(x));
  WITHIN(1, hlog2, std::log2(x));
  WITHIN(1, hlog10, std::log10(x));
  WITHIN(1, hsin, std::sin(x));
  WITHIN(1, hcos, std::cos(x));
  WITHIN(1, htanh, std::tanh(x));
}

TEST(half_pairs, are_two_halves) {
  const __half2 a = __floats2half2_rn(2.25f, 9.0f), b = __floats2half2_rn(2.25f, 4.0f);
  EXPECT_EQ(__low2float(h2sqrt(a)), 1.5f);
  EXPECT_EQ(__high2float(h2sqrt(a)), 3.0f);
  EXPECT_EQ(__high2float(h2floor(h2rcp(b))), 0.0f);
  EXPECT_EQ(__heq2_mask(a, b), 0x0000ffffu);
  EXPECT_EQ(__hgt2_mask(a, b), 0xffff0000u);
  EXPECT_EQ(__hle2_mask(a, b), 0x0000ffffu);
  const __half2 nan = __float2half2_rn(NAN);
  EXPECT_EQ(__hlt2_mask(a, nan), 0u);
  EXPECT_EQ(__hltu2_mask(a, nan), ~0u);
}

TEST(half_pairs, fused_products) {
  const auto pair = [](float x, float y) { return __floats2half2_rn(x, y); };
  const __half2 product = __hcmadd(pair(1, 2), pair(3, 4), pair(10, 20));  // (1 + 2i)(3 + 4i) + 10 + 20i
  EXPECT_EQ(__low2float(product), 5.0f);
  EXPECT_EQ(__high2float(product), 30.0f);
  const __half2 positive = __hfma2_relu(pair(-1, 2), pair(3, 4), pair(1, 1));
  EXPECT_EQ(__low2float(positive), 0.0f);
  EXPECT_EQ(__high2float(positive), 9.0f);
  EXPECT_TRUE(__hisnan(__hfma_relu(__float2half(NAN), __float2half(1), __float2half(1))));
  EXPECT_EQ(__hfma_relu(__float2bfloat16(-1), __float2bfloat16(2), __float2bfloat16(1)).bits, 0);
}

TEST(half_conversions, to_bytes_saturate) {
  EXPECT_EQ(__half2char_rz(__float2half(-3.9f)), -3);
  EXPECT_EQ(__half2char_rz(__float2half(300)), 127);
  EXPECT_EQ(__bfloat162char_rz(__float2bfloat16(-300)), -128);
  EXPECT_EQ(__half2uchar_rz(__float2half(-1)), 0);
  EXPECT_EQ(__bfloat162uchar_rz(__float2bfloat16(INFINITY)), 255);
  EXPECT_EQ(__half2uchar_rz(__float2half(NAN)), 0);
}

}  // namespace
