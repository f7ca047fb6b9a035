// SPDX-License-Identifier: Apache-2.0
/// \file video.hpp
/// CUDA's functions of four bytes or two halves of a word (`__vadd4`, `__vmaxs2` …), of maxima of sums (`__viaddmax_s32` …), sums of
/// products of such parts, and conversions of 64 bits without a sign. All are exact: there is one right answer.
#pragma once

#include <simt/math.hpp>
#include <simt/vector_types.hpp>

namespace simt {
inline namespace SIMT_BUILD {
namespace video {

template <int Parts, class Function>
SIMT_INLINE constexpr unsigned each_unsigned(unsigned a, unsigned b, Function f) {
  constexpr int bits = 32 / Parts;
  constexpr unsigned mask = (1u << bits) - 1;
  unsigned all = 0;
  for (int at = 0; at < 32; at += bits)
    all |= (static_cast<unsigned>(f(static_cast<int>(a >> at & mask), static_cast<int>(b >> at & mask))) & mask) << at;
  return all;
}
/// The part with its sign.
template <int Parts>
SIMT_INLINE constexpr int signed_part(int x) {
  constexpr int bits = 32 / Parts;
  return x >= 1 << (bits - 1) ? x - (1 << bits) : x;
}
template <int Parts, class Function>
SIMT_INLINE constexpr unsigned each_signed(unsigned a, unsigned b, Function f) {
  return each_unsigned<Parts>(a, b, [f](int x, int y) { return f(signed_part<Parts>(x), signed_part<Parts>(y)); });
}
template <int Parts>
SIMT_INLINE constexpr int saturated(int x) {
  constexpr int most = (1 << (32 / Parts - 1)) - 1;
  return x > most ? most : x < -most - 1 ? -most - 1 : x;
}
template <int Parts>
SIMT_INLINE constexpr int saturated_unsigned(int x) {
  constexpr int most = (1 << (32 / Parts)) - 1;
  return x > most ? most : x < 0 ? 0 : x;
}
template <class T>
SIMT_INLINE constexpr T larger(T x, T y) { return x > y ? x : y; }
template <class T>
SIMT_INLINE constexpr T smaller(T x, T y) { return x < y ? x : y; }
SIMT_INLINE constexpr int distance(int x, int y) { return x > y ? x - y : y - x; }
template <int Parts>
SIMT_INLINE constexpr unsigned total(unsigned x) {
  unsigned sum = 0;
  for (int at = 0; at < 32; at += 32 / Parts) sum += x >> at & ((1u << (32 / Parts)) - 1);
  return sum;
}

}  // namespace video

#define SIMT_VIDEO(Parts)                                                                                                            \
  SIMT_VIDEO_1(vabs, each_signed, Parts, x < 0 ? -x : x)                                                                             \
  SIMT_VIDEO_1(vabsss, each_signed, Parts, video::saturated<Parts>(x < 0 ? -x : x))                                                  \
  SIMT_VIDEO_1(vneg, each_signed, Parts, -x)                                                                                         \
  SIMT_VIDEO_1(vnegss, each_signed, Parts, video::saturated<Parts>(-x))                                                              \
  SIMT_VIDEO_2(vabsdiffs, each_signed, Parts, video::distance(x, y))                                                                 \
  SIMT_VIDEO_2(vabsdiffu, each_unsigned, Parts, video::distance(x, y))                                                               \
  SIMT_VIDEO_2(vadd, each_unsigned, Parts, x + y)                                                                                    \
  SIMT_VIDEO_2(vaddss, each_signed, Parts, video::saturated<Parts>(x + y))                                                           \
  SIMT_VIDEO_2(vaddus, each_unsigned, Parts, video::saturated_unsigned<Parts>(x + y))                                                \
  SIMT_VIDEO_2(vsub, each_unsigned, Parts, x - y)                                                                                    \
  SIMT_VIDEO_2(vsubss, each_signed, Parts, video::saturated<Parts>(x - y))                                                           \
  SIMT_VIDEO_2(vsubus, each_unsigned, Parts, video::saturated_unsigned<Parts>(x - y))                                                \
  /* Signed, halves go away from zero, as PTX says of vavrg. */                                                                      \
  SIMT_VIDEO_2(vavgs, each_signed, Parts, (x + y + (x + y >= 0)) >> 1)                                                               \
  SIMT_VIDEO_2(vavgu, each_unsigned, Parts, (x + y + 1) >> 1)                                                                        \
  SIMT_VIDEO_2(vhaddu, each_unsigned, Parts, (x + y) >> 1)                                                                           \
  SIMT_VIDEO_2(vmaxs, each_signed, Parts, x > y ? x : y)                                                                             \
  SIMT_VIDEO_2(vmaxu, each_unsigned, Parts, x > y ? x : y)                                                                           \
  SIMT_VIDEO_2(vmins, each_signed, Parts, x < y ? x : y)                                                                             \
  SIMT_VIDEO_2(vminu, each_unsigned, Parts, x < y ? x : y)                                                                           \
  SIMT_VIDEO_COMPARED(eq, each_unsigned, Parts, ==)                                                                                  \
  SIMT_VIDEO_COMPARED(ne, each_unsigned, Parts, !=)                                                                                  \
  SIMT_VIDEO_COMPARED(ges, each_signed, Parts, >=)                                                                                   \
  SIMT_VIDEO_COMPARED(geu, each_unsigned, Parts, >=)                                                                                 \
  SIMT_VIDEO_COMPARED(gts, each_signed, Parts, >)                                                                                    \
  SIMT_VIDEO_COMPARED(gtu, each_unsigned, Parts, >)                                                                                  \
  SIMT_VIDEO_COMPARED(les, each_signed, Parts, <=)                                                                                   \
  SIMT_VIDEO_COMPARED(leu, each_unsigned, Parts, <=)                                                                                 \
  SIMT_VIDEO_COMPARED(lts, each_signed, Parts, <)                                                                                    \
  SIMT_VIDEO_COMPARED(ltu, each_unsigned, Parts, <)                                                                                  \
  SIMT_INLINE unsigned __vsads##Parts(unsigned a, unsigned b) { return video::total<Parts>(__vabsdiffs##Parts(a, b)); }              \
  SIMT_INLINE unsigned __vsadu##Parts(unsigned a, unsigned b) { return video::total<Parts>(__vabsdiffu##Parts(a, b)); }
#define SIMT_VIDEO_1(name, each, Parts, result) \
  SIMT_INLINE unsigned __##name##Parts(unsigned a) { return video::each<Parts>(a, a, [](int x, int) { return result; }); }
#define SIMT_VIDEO_2(name, each, Parts, result) \
  SIMT_INLINE unsigned __##name##Parts(unsigned a, unsigned b) { return video::each<Parts>(a, b, [](int x, int y) { return result; }); }
#define SIMT_VIDEO_COMPARED(name, each, Parts, sign)                   \
  SIMT_VIDEO_2(vcmp##name, each, Parts, x sign y ? -1 : 0)             \
  SIMT_VIDEO_2(vset##name, each, Parts, x sign y ? 1 : 0)
SIMT_VIDEO(2)
SIMT_VIDEO(4)
#undef SIMT_VIDEO
#undef SIMT_VIDEO_1
#undef SIMT_VIDEO_2
#undef SIMT_VIDEO_COMPARED

// ---- Of two and three numbers, or the halves of a word: sums wrap around, `relu` gives no less than 0.

#define SIMT_DPX_WORDS(suffix, type)                                                                                                    \
  SIMT_INLINE type __vimax3_##suffix(type a, type b, type c) { return video::larger(video::larger(a, b), c); }                          \
  SIMT_INLINE type __vimin3_##suffix(type a, type b, type c) { return video::smaller(video::smaller(a, b), c); }                        \
  SIMT_INLINE type __viaddmax_##suffix(type a, type b, type c) { return video::larger(static_cast<type>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c); }   \
  SIMT_INLINE type __viaddmin_##suffix(type a, type b, type c) { return video::smaller(static_cast<type>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c); }  \
  SIMT_INLINE type __vibmax_##suffix(type a, type b, bool* is_first) { return *is_first = a >= b, video::larger(a, b); }                \
  SIMT_INLINE type __vibmin_##suffix(type a, type b, bool* is_first) { return *is_first = a <= b, video::smaller(a, b); }
SIMT_DPX_WORDS(s32, int)
SIMT_DPX_WORDS(u32, unsigned)
#undef SIMT_DPX_WORDS
#define SIMT_DPX_HALVES(suffix, letter)                                                                                                 \
  SIMT_INLINE unsigned __vimax3_##suffix(unsigned a, unsigned b, unsigned c) { return __vmax##letter##2(__vmax##letter##2(a, b), c); }  \
  SIMT_INLINE unsigned __vimin3_##suffix(unsigned a, unsigned b, unsigned c) { return __vmin##letter##2(__vmin##letter##2(a, b), c); }  \
  SIMT_INLINE unsigned __viaddmax_##suffix(unsigned a, unsigned b, unsigned c) { return __vmax##letter##2(__vadd2(a, b), c); }          \
  SIMT_INLINE unsigned __viaddmin_##suffix(unsigned a, unsigned b, unsigned c) { return __vmin##letter##2(__vadd2(a, b), c); }          \
  SIMT_INLINE unsigned __vibmax_##suffix(unsigned a, unsigned b, bool* is_high, bool* is_low) {                                         \
    const unsigned first = __vsetge##letter##2(a, b);                                                                                   \
    *is_high = first >> 16 != 0;                                                                                                        \
    *is_low = (first & 1u) != 0;                                                                                                        \
    return __vmax##letter##2(a, b);                                                                                                     \
  }                                                                                                                                     \
  SIMT_INLINE unsigned __vibmin_##suffix(unsigned a, unsigned b, bool* is_high, bool* is_low) {                                         \
    const unsigned first = __vsetle##letter##2(a, b);                                                                                   \
    *is_high = first >> 16 != 0;                                                                                                        \
    *is_low = (first & 1u) != 0;                                                                                                        \
    return __vmin##letter##2(a, b);                                                                                                     \
  }
SIMT_DPX_HALVES(s16x2, s)
SIMT_DPX_HALVES(u16x2, u)
#undef SIMT_DPX_HALVES
#define SIMT_DPX_RELU(suffix, type, max, min)                                                                                           \
  SIMT_INLINE type __vimax_##suffix##_relu(type a, type b) { return max(max(a, b), type{0}); }                                          \
  SIMT_INLINE type __vimin_##suffix##_relu(type a, type b) { return max(min(a, b), type{0}); }                                          \
  SIMT_INLINE type __vimax3_##suffix##_relu(type a, type b, type c) { return max(__vimax3_##suffix(a, b, c), type{0}); }                \
  SIMT_INLINE type __vimin3_##suffix##_relu(type a, type b, type c) { return max(__vimin3_##suffix(a, b, c), type{0}); }                \
  SIMT_INLINE type __viaddmax_##suffix##_relu(type a, type b, type c) { return max(__viaddmax_##suffix(a, b, c), type{0}); }            \
  SIMT_INLINE type __viaddmin_##suffix##_relu(type a, type b, type c) { return max(__viaddmin_##suffix(a, b, c), type{0}); }
SIMT_DPX_RELU(s32, int, video::larger, video::smaller)
SIMT_DPX_RELU(s16x2, unsigned, __vmaxs2, __vmins2)
#undef SIMT_DPX_RELU

// Two products of 16 by 8 bits, of the low or the high bytes of b.
// Sums of products wrap around at 32 bits, with and without a sign.
SIMT_INLINE int __dp2a_lo(int a, int b, int c) {
  return static_cast<int>(static_cast<unsigned>(c) + static_cast<unsigned>(static_cast<short>(a) * static_cast<signed char>(b)) +
                          static_cast<unsigned>((a >> 16) * static_cast<signed char>(b >> 8)));
}
SIMT_INLINE int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
SIMT_INLINE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) { return c + (a & 0xffffu) * (b & 0xffu) + (a >> 16) * (b >> 8 & 0xffu); }
SIMT_INLINE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }
SIMT_INLINE int __dp4a(int a, int b, int c) {
  unsigned sum = static_cast<unsigned>(c);
  for (int i = 0; i < 32; i += 8) sum += static_cast<unsigned>(static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i));
  return static_cast<int>(sum);
}
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 255u) * (b >> i & 255u);
  return c;
}
#define SIMT_OF_PARTS(name, R, A, B) \
  SIMT_INLINE R name(A a, B b, R c) { return name(__builtin_bit_cast(R, a), __builtin_bit_cast(R, b), c); }
SIMT_OF_PARTS(__dp2a_lo, int, short2, char4)
SIMT_OF_PARTS(__dp2a_lo, unsigned, ushort2, uchar4)
SIMT_OF_PARTS(__dp2a_hi, int, short2, char4)
SIMT_OF_PARTS(__dp2a_hi, unsigned, ushort2, uchar4)
SIMT_OF_PARTS(__dp4a, int, char4, char4)
SIMT_OF_PARTS(__dp4a, unsigned, uchar4, uchar4)
#undef SIMT_OF_PARTS

/// The place of the n-th bit that is set, from `base` up, or down where n is negative; 0: of the base itself. All ones if there is none.
SIMT_INLINE unsigned __fns(unsigned mask, unsigned base, int n) {
  const int step = n < 0 ? -1 : 1;
  int left = n == 0 ? 1 : n * step;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<unsigned>(at);
    if (n == 0) break;
  }
  return ~0u;
}

#define SIMT_FROM_64(suffix, Way)                                                                                     \
  SIMT_INLINE float __ull2float_##suffix(unsigned long long x) {                                                      \
    return math::rounding<math::way::Way>([](unsigned long long a) { return static_cast<float>(a); }, x);             \
  }                                                                                                                   \
  SIMT_INLINE double __ull2double_##suffix(unsigned long long x) {                                                    \
/* As two exact halves: clang++'s own way gives -0 for 0 where sums are rounded down. */                              \
    return math::rounding<math::way::Way>([](double upper, double lower) { return upper + lower; },                   \
                                          static_cast<double>(x >> 32) * 0x1p32, static_cast<double>(x & 0xffffffffu)); \
  }
SIMT_FROM_64(rz, zero)
SIMT_FROM_64(ru, up)
SIMT_FROM_64(rd, down)
#undef SIMT_FROM_64

}  // inline namespace SIMT_BUILD
}  // namespace simt
