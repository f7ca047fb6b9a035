// SPDX-License-Identifier: Apache-2.0
// Functions of the parts of a word, each against the same told another way: by the types of C, byte by byte.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

namespace {

/// What CUDA's page says of one part, computed in 64 bits and stored in the part's own type.
template <class Part, class Answer>
void expect_each(const char* name, unsigned (*function)(unsigned, unsigned), Answer answer) {
  std::mt19937 random(3);
  const unsigned edges[] = {0, ~0u, 0x80808080u, 0x7f7f7f7fu, 0x80008000u, 0x7fff7fffu, 0x01ff01ffu, 0x00010001u, 0xff00ff00u};
  for (int k = 0; k < 20000; ++k) {
    unsigned words[2];
    for (unsigned& w : words) w = random() % 3 == 0 ? edges[random() % std::size(edges)] : static_cast<unsigned>(random());
    Part a[4 / sizeof(Part)], b[4 / sizeof(Part)], expected[4 / sizeof(Part)];
    std::memcpy(a, &words[0], 4);
    std::memcpy(b, &words[1], 4);
    for (std::size_t i = 0; i < std::size(a); ++i) expected[i] = static_cast<Part>(answer(static_cast<long long>(a[i]), static_cast<long long>(b[i])));
    unsigned whole;
    std::memcpy(&whole, expected, 4);
    ASSERT_EQ(function(words[0], words[1]), whole) << name << std::hex << " of " << words[0] << " and " << words[1];
  }
}

template <class Part>
long long clamped(long long x) {
  return std::clamp<long long>(x, std::numeric_limits<Part>::min(), std::numeric_limits<Part>::max());
}

using wide = long long;
#define BOTH(name, sign, result)                                                                                         \
  expect_each<sign##8>(#name "4", __##name##4, [](wide x, wide y) -> wide { using part = sign##8; (void)sizeof(part); return result; });   \
  expect_each<sign##16>(#name "2", __##name##2, [](wide x, wide y) -> wide { using part = sign##16; (void)sizeof(part); return result; })
#define ALONE(name, sign, result)                                                                                                                     \
  expect_each<sign##8>(#name "4", [](unsigned a, unsigned) { return __##name##4(a); }, [](wide x, wide) -> wide { using part = sign##8; (void)sizeof(part); return result; }); \
  expect_each<sign##16>(#name "2", [](unsigned a, unsigned) { return __##name##2(a); }, [](wide x, wide) -> wide { using part = sign##16; (void)sizeof(part); return result; })
using i8 = std::int8_t;
using i16 = std::int16_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;

TEST(video, arithmetic) {
  BOTH(vadd, u, x + y);
  BOTH(vsub, u, x - y);
  BOTH(vaddss, i, clamped<part>(x + y));
  BOTH(vsubss, i, clamped<part>(x - y));
  BOTH(vaddus, u, clamped<part>(x + y));
  BOTH(vsubus, u, clamped<part>(x - y));
  BOTH(vabsdiffs, i, std::abs(x - y));
  BOTH(vabsdiffu, u, std::abs(x - y));
  BOTH(vmaxs, i, std::max(x, y));
  BOTH(vmaxu, u, std::max(x, y));
  BOTH(vmins, i, std::min(x, y));
  BOTH(vminu, u, std::min(x, y));
  BOTH(vavgs, i, std::llround(static_cast<double>(x + y) / 2));  // halves away from zero
  BOTH(vavgu, u, std::llround(static_cast<double>(x + y) / 2));
  BOTH(vhaddu, u, static_cast<wide>(std::floor(static_cast<double>(x + y) / 2)));
  ALONE(vabs, i, std::abs(x));
  ALONE(vabsss, i, clamped<part>(std::abs(x)));
  ALONE(vneg, i, -x);
  ALONE(vnegss, i, clamped<part>(-x));
}

TEST(video, comparisons) {
#define COMPARED(name, sign, what)             \
  BOTH(vcmp##name, sign, (what) ? -1 : 0);     \
  BOTH(vset##name, sign, (what) ? 1 : 0)
  COMPARED(eq, u, x == y);
  COMPARED(ne, u, x != y);
  COMPARED(ges, i, x >= y);
  COMPARED(geu, u, x >= y);
  COMPARED(gts, i, x > y);
  COMPARED(gtu, u, x > y);
  COMPARED(les, i, x <= y);
  COMPARED(leu, u, x <= y);
  COMPARED(lts, i, x < y);
  COMPARED(ltu, u, x < y);
}

TEST(video, sums_of_distances_and_of_products) {
  EXPECT_EQ(__vsadu4(0xff000001u, 0x00ff0003u), 255u + 255 + 0 + 2);
  EXPECT_EQ(__vsads4(0x80000001u, 0x7fff0003u), 255u + 1 + 0 + 2);
  EXPECT_EQ(__vsadu2(0xffff0001u, 0x00010003u), 65534u + 2);
  EXPECT_EQ(__vsads2(0x80000001u, 0x7fff0003u), 65535u + 2);
  EXPECT_EQ(__dp2a_lo(static_cast<int>(0xfffd0002u), static_cast<int>(0x0706fe05u), 100), 100 + 2 * 5 + -3 * -2);
  EXPECT_EQ(__dp2a_hi(static_cast<int>(0xfffd0002u), static_cast<int>(0x8006fe05u), 100), 100 + 2 * 6 + -3 * -128);
  EXPECT_EQ(__dp2a_lo(0xfffd0002u, 0x0706fe05u, 100u), 100u + 2 * 5 + 0xfffdu * 0xfe);
  EXPECT_EQ(__dp2a_hi(0xfffd0002u, 0x8006fe05u, 100u), 100u + 2 * 6 + 0xfffdu * 0x80);
}

/// For three words or six halves, what CUDA's page says of one part, in the part's own type, where sums wrap around.
template <class Part, class Word, class Answer>
void expect_parts(const char* name, Word (*function)(Word, Word, Word), Answer answer) {
  std::mt19937 random(4);
  const unsigned edges[] = {0, ~0u, 0x80000000u, 0x7fffffffu, 0x80008000u, 0x7fff7fffu, 0x00010001u, 0x7fff8000u};
  for (int k = 0; k < 20000; ++k) {
    unsigned words[3];
    Part in[3][4 / sizeof(Part)], expected[4 / sizeof(Part)];
    for (unsigned& w : words) w = random() % 3 == 0 ? edges[random() % std::size(edges)] : static_cast<unsigned>(random());
    std::memcpy(in, words, sizeof words);
    for (std::size_t i = 0; i < std::size(expected); ++i) expected[i] = answer(in[0][i], in[1][i], in[2][i]);
    unsigned whole;
    std::memcpy(&whole, expected, 4);
    ASSERT_EQ(static_cast<unsigned>(function(static_cast<Word>(words[0]), static_cast<Word>(words[1]), static_cast<Word>(words[2]))), whole)
        << name << std::hex << " of " << words[0] << ", " << words[1] << ", " << words[2];
  }
}

template <class Part>
Part wrapped_sum(Part x, Part y) {
  return static_cast<Part>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
}

TEST(video, maxima_of_sums_and_of_three) {
  using std::max, std::min, std::int32_t, std::uint32_t;
#define OF_THREE(name, result)                                                                                   \
  expect_parts<int32_t, int>(#name "s32", __##name##_s32, [](int32_t x, int32_t y, int32_t z) { return result; });      \
  expect_parts<uint32_t, unsigned>(#name "u32", __##name##_u32, [](uint32_t x, uint32_t y, uint32_t z) { return result; }); \
  expect_parts<i16, unsigned>(#name "s16x2", __##name##_s16x2, [](i16 x, i16 y, i16 z) { return result; });              \
  expect_parts<u16, unsigned>(#name "u16x2", __##name##_u16x2, [](u16 x, u16 y, u16 z) { return result; })
  OF_THREE(vimax3, max(max(x, y), z));
  OF_THREE(vimin3, min(min(x, y), z));
  OF_THREE(viaddmax, max(wrapped_sum(x, y), z));
  OF_THREE(viaddmin, min(wrapped_sum(x, y), z));
#define POSITIVE(name, result)                                                                                                \
  expect_parts<int32_t, int>(#name "s32", __##name##_s32_relu, [](int32_t x, int32_t y, int32_t z) { return max(result, 0); });      \
  expect_parts<i16, unsigned>(#name "s16x2", __##name##_s16x2_relu, [](i16 x, i16 y, i16 z) { return max(result, i16{0}); })
  POSITIVE(vimax3, max(max(x, y), z));
  POSITIVE(vimin3, min(min(x, y), z));
  POSITIVE(viaddmax, max(wrapped_sum(x, y), z));
  POSITIVE(viaddmin, min(wrapped_sum(x, y), z));
  expect_parts<i16, unsigned>("vimax", [](unsigned a, unsigned b, unsigned) { return __vimax_s16x2_relu(a, b); },
                              [](i16 x, i16 y, i16) { return max(max(x, y), i16{0}); });
  expect_parts<i16, unsigned>("vimin", [](unsigned a, unsigned b, unsigned) { return __vimin_s16x2_relu(a, b); },
                              [](i16 x, i16 y, i16) { return max(min(x, y), i16{0}); });
  EXPECT_EQ(__vimax_s32_relu(-3, -2), 0);
  EXPECT_EQ(__vimin_s32_relu(5, 4), 4);
}

TEST(video, maxima_that_tell_which) {
  bool high = false, low = false;
  EXPECT_EQ(__vibmax_s32(-1, 0, &low), 0);
  EXPECT_FALSE(low);
  EXPECT_EQ(__vibmax_u32(~0u, 0, &low), ~0u);
  EXPECT_TRUE(low);
  EXPECT_EQ(__vibmin_s32(-1, -1, &low), -1);
  EXPECT_TRUE(low);  // the first of equal ones
  EXPECT_EQ(__vibmin_u32(~0u, 0, &low), 0u);
  EXPECT_FALSE(low);
  EXPECT_EQ(__vibmax_s16x2(0xffff0005u, 0x00010005u, &high, &low), 0x00010005u);
  EXPECT_TRUE(!high && low);
  EXPECT_EQ(__vibmax_u16x2(0xffff0005u, 0x00010006u, &high, &low), 0xffff0006u);
  EXPECT_TRUE(high && !low);
  EXPECT_EQ(__vibmin_s16x2(0xffff0005u, 0x00010004u, &high, &low), 0xffff0004u);
  EXPECT_TRUE(high && !low);
  EXPECT_EQ(__vibmin_u16x2(0xffff0005u, 0x00010005u, &high, &low), 0x00010005u);
  EXPECT_TRUE(!high && low);
}

TEST(video, n_th_set_bit) {
  EXPECT_EQ(__fns(0b10110, 0, 1), 1u);
  EXPECT_EQ(__fns(0b10110, 0, 3), 4u);
  EXPECT_EQ(__fns(0b10110, 2, 1), 2u);
  EXPECT_EQ(__fns(0b10110, 3, -1), 2u);
  EXPECT_EQ(__fns(0b10110, 3, -3), ~0u);
  EXPECT_EQ(__fns(0b10110, 4, 0), 4u);
  EXPECT_EQ(__fns(0b10110, 3, 0), ~0u);
}

TEST(video, directed_conversions_of_64_bits) {
  const unsigned long long x = (1ull << 63) + 1, most = ~0ull;
  EXPECT_EQ(__ull2float_rz(x), 0x1p63f);
  EXPECT_EQ(__ull2float_rd(x), 0x1p63f);
  EXPECT_EQ(__ull2float_ru(x), std::nextafter(0x1p63f, INFINITY));
  EXPECT_EQ(__ull2float_rz(most), std::nextafter(0x1p64f, 0.0f));
  EXPECT_EQ(__ull2float_ru(most), 0x1p64f);
  EXPECT_EQ(__ull2double_rz(most), std::nextafter(0x1p64, 0.0));
  EXPECT_EQ(__ull2double_rd(x), 0x1p63);
  EXPECT_EQ(__ull2double_ru(x), std::nextafter(0x1p63, INFINITY));
  EXPECT_EQ(__ull2double_ru(5), 5.0);
}

}  // namespace
