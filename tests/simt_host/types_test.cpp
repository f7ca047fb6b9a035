// SPDX-License-Identifier: Apache-2.0
// Layout and construction of vector types, as CUDA's headers have them.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector_types.h>

namespace {

template <class T, std::size_t Size, std::size_t Alignment>
constexpr bool layout =
    sizeof(T) == Size &&
    alignof(T) ==
        Alignment&& std::is_trivially_copyable_v<T>&& std::is_trivially_default_constructible_v<
            T>&& std::is_trivially_destructible_v<T>&& std::is_copy_constructible_v<T>&& std::
            is_copy_assignable_v<T>&& std::is_standard_layout_v<T>;

static_assert(layout<char1, 1, 1> && layout<char2, 2, 2> && layout<char3, 3, 1> &&
              layout<char4, 4, 4>);
static_assert(layout<short1, 2, 2> && layout<short2, 4, 4> && layout<short3, 6, 2> &&
              layout<short4, 8, 8>);
static_assert(layout<ushort4, 8, 8> && layout<uchar4, 4, 4> && layout<uint1, 4, 4> &&
              layout<uint3, 12, 4>);
static_assert(layout<int2, 8, 8> && layout<int3, 12, 4> && layout<int4, 16, 16> &&
              layout<uint4, 16, 16>);
static_assert(layout<long1, 8, 8> && layout<long2, 16, 16> && layout<long3, 24, 8> &&
              layout<long4, 32, 16>);
static_assert(layout<ulonglong2, 16, 16> && layout<longlong4, 32, 16> &&
              layout<longlong4_32a, 32, 32>);
static_assert(layout<float1, 4, 4> && layout<float2, 8, 8> && layout<float3, 12, 4> &&
              layout<float4, 16, 16>);
static_assert(layout<double1, 8, 8> && layout<double2, 16, 16> && layout<double3, 24, 8>);
static_assert(layout<double4, 32, 16> && layout<double4_16a, 32, 16> &&
              layout<double4_32a, 32, 32>);
static_assert(layout<__half, 2, 2> && layout<__half2, 4, 4> && layout<__nv_bfloat16, 2, 2> &&
              layout<__nv_bfloat162, 4, 4> && sizeof(dim3) == 12);

constexpr float4 copied(float4 v) {
  float4 other = v;
  other = v;
  return other;
}
static_assert(copied(float4{1, 2, 3, 4}).w == 4 && copied({1, 2}).z == 0);
static_assert(dim3(7).x == 7 && dim3(7).y == 1 && dim3(uint3{1, 2, 3}).z == 3);

TEST(VectorTypes, AreBuiltAsUnderCuda) {
  float4 v = {1, 2, 3, 4};
  float4 made = make_float4(1, 2, 3, 4);
  EXPECT_EQ(std::memcmp(&v, &made, sizeof v), 0);
  made = {5, 6, 7, 8};
  v = made;
  EXPECT_EQ(v.z, 7);
  const float4 zero = {};
  EXPECT_EQ(zero.w, 0);
  struct holder {
    float4 v;
    int n;
  } a{{1, 2, 3, 4}, 5}, b = a;
  b = a;
  EXPECT_EQ(b.v.y + static_cast<float>(b.n), 7);
  const auto [x, y] = int2{3, 4};
  EXPECT_EQ(x + y, 7);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(make_uint2(1, 2)), 0x200000001u);
  char4 c;
  const std::uint32_t word = 0x04030201;
  std::memcpy(&c, &word, sizeof c);
  EXPECT_EQ(c.w, 4);
  EXPECT_EQ(make_double4(1, 2, 3, 4).w, 4);
  EXPECT_EQ(make_ulonglong2(1, ~0ull).y, ~0ull);
}

TEST(Half, ReadsAsUnderCuda) {
  __half a = 1.5f;
  a += __half(2);
  EXPECT_EQ(__half2float(a), 3.5f);
  EXPECT_EQ(static_cast<int>(a), 3);
  EXPECT_EQ(static_cast<double>(-a), -3.5);
  EXPECT_TRUE(a > __float2half(3.0f) && a != __half(4) && !(a == __half(3)));
  EXPECT_EQ(__half_as_ushort(CUDART_MAX_NORMAL_FP16), __half_as_ushort(__float2half(65519.f)));
  EXPECT_TRUE(__hisnan(CUDART_INF_FP16 - CUDART_INF_FP16));
  __half2 p = __floats2half2_rn(1, 2);
  p = __hfma2(p, p, __half2half2(a));
  EXPECT_EQ(__low2float(p), 4.5f);
  EXPECT_EQ(__half22float2(__lowhigh2highlow(p)).x, 7.5f);
  EXPECT_TRUE(p == __halves2half2(__low2half(p), __high2half(p)));
  volatile __half memory[2] = {};
  memory[1] = a;
  const __half back = memory[1];
  EXPECT_EQ(static_cast<float>(back), 3.5f);

  // f16 sums of ones stop at 2048; the same in bf16 stop at 256.
  __half f16_sum = 0;
  __nv_bfloat16 bf16_sum = 0;
  for (int i = 0; i < 5000; ++i) {
    f16_sum += __half(1);
    bf16_sum += __nv_bfloat16(1);
  }
  EXPECT_EQ(static_cast<float>(f16_sum), 2048);
  EXPECT_EQ(static_cast<float>(bf16_sum), 256);
  EXPECT_EQ(__bfloat162float(__float2bfloat16_rz(1.999f)), 1.9921875f);
  EXPECT_EQ(__low2float(__float22bfloat162_rn(make_float2(3, 4))), 3);
}

}  // namespace
