// SPDX-License-Identifier: Apache-2.0
/// \file certify_rows.hpp
/// Sums of rows with what they lost, a vector of rows at a time. Elements lie side by side, or in every second place.
#pragma once

#include "column_sums.hpp"

namespace wf::cpu::WF_TARGET {

/// The first `some` < step elements of f64, and zeros.
WF_INLINE f64s load_some(const void* p, std::int64_t some) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1 << some) - 1), p);
#elif defined(__AVX2__)
  return _mm256_maskload_pd(static_cast<const double*>(p), (__m256i)(i64s{0, 1, 2, 3} < some));
#else
  f64s v{};
  if (some != 0) __builtin_memcpy(&v, p, sizeof v[0]);
  return v;
#endif
}

/// The elements in the even places of two vectors, or those in the odd ones, in an order that a shuffle of each half gives.
template <bool Odd>
WF_INLINE f64s every_second_of(f64s a, f64s b) {
#if defined(__AVX512F__)
  if constexpr (Odd) return _mm512_maskz_unpackhi_pd(0xff, a, b);
  else return _mm512_maskz_unpacklo_pd(0xff, a, b);
#elif defined(__AVX2__)
  if constexpr (Odd) return _mm256_unpackhi_pd(a, b);
  else return _mm256_unpacklo_pd(a, b);
#else
  return __builtin_shufflevector(a, b, Odd, 2 + Odd);
#endif
}
template <bool Odd>
WF_INLINE f32s every_second_of(f32s a, f32s b) {
  [[maybe_unused]] constexpr int places = Odd ? 0xdd : 0x88;
#if defined(__AVX512F__)
  return _mm512_maskz_shuffle_ps(0xffff, a, b, places);
#elif defined(__AVX2__)
  return _mm256_shuffle_ps(a, b, places);
#else
  return __builtin_shufflevector(a, b, Odd, 2 + Odd, 4 + Odd, 6 + Odd);
#endif
}

/// A vector of a row, from its first element on, of which the next one is `Apart` places behind. Where that is 2, the row has an element behind them, too.
template <class V, int Apart>
WF_INLINE V load_of_row(const unsigned char* p) {
  if constexpr (Apart == 1) {
    return load<V>(p);
  } else {
    using F = std::conditional_t<sizeof(V{}[0]) == 8, f64s, f32s>;
    return (V)every_second_of<false>(load<F>(p), load<F>(p + width));
  }
}
/// The last vector of a row that has as many elements, none left out.
template <class V, int Apart>
WF_INLINE V load_end_of_row(const unsigned char* last) {
  constexpr std::int64_t size = sizeof(V{}[0]);
  if constexpr (Apart == 1) {
    return load<V>(last + size - width);
  } else {
    using F = std::conditional_t<size == 8, f64s, f32s>;
    return (V)every_second_of<true>(load<F>(last + size - 2 * width), load<F>(last + size - width));
  }
}
template <int Apart>
WF_INLINE void prefetch_lines_of(const unsigned char* p) {
  prefetch(p);
  if constexpr (Apart == 2) prefetch(p + width);
}
/// How many elements are read by whole vectors, since nothing is read behind the last element.
template <int Apart>
WF_INLINE std::int64_t whole_of_row(std::int64_t n, std::int64_t per) { return (Apart == 1 ? n : n - 1) / per * per; }

/// Is every one of n elements -0, or zero?
template <class T>
bool all_negative(const unsigned char* p, std::int64_t n, std::int64_t apart, bool& zeros) {
  bool negative = true;
  zeros = true;
  for (std::int64_t j = 0; j < n && zeros; ++j, p += apart * static_cast<std::int64_t>(sizeof(T))) {
    T v;
    __builtin_memcpy(&v, p, sizeof v);
    if constexpr (std::is_floating_point_v<T>) {
      negative = negative && __builtin_signbit(v);
      zeros = v == 0;
    } else {  // bits
      negative = negative && v >> 15 != 0;
      zeros = (v & 0x7fff) == 0;
    }
  }
  return negative && zeros;
}

/// The last `some` elements before `end`, in the last lanes, and zeros; all of the vector's bytes are there.
template <class V>
WF_INLINE V load_last(const unsigned char* end, std::int64_t some) {
  alignas(64) static constexpr struct mask {
    unsigned char bytes[2 * sizeof(V)] = {};
    constexpr mask() {
      for (std::size_t k = sizeof(V); k < sizeof bytes; ++k) bytes[k] = 0xff;
    }
  } all;
  using bytes = vec<std::uint8_t, sizeof(V)>;
  return (V)(load<bytes>(end - sizeof(V)) & load<bytes>(all.bytes + some * static_cast<std::int64_t>(sizeof(V{}[0]))));
}
/// The last `some` elements of a row in every second place, and zeros; the row has as many elements as a vector.
template <class V>
WF_INLINE V load_last_of_second(const unsigned char* last, std::int64_t some) {
  constexpr std::int64_t size = sizeof(V{}[0]), per = width / size;
  const auto* const end = last + size;
  const std::int64_t places = 2 * some;
  return every_second_of<true>(load_last<V>(end - width, places > per ? places - per : 0), load_last<V>(end, places < per ? places : per));
}

/// Rows of n <= most_of_row elements, `Apart` places from one to the next, a row `stride` bytes after the one before: their sums s + c, and what is lost.
/// There is room for whole vectors. With one anchor for all rows, as long as it serves.
template <bool Absolute, int Apart>
void certify_wide_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* s, double* c, double* lost) {
  constexpr std::int64_t size = Apart * sizeof(double);
  const std::int64_t whole = whole_of_row<Apart>(n, step), tail = n - whole;
  const auto read = [&](const unsigned char* p) __attribute__((always_inline)) {
    prefetch_lines_of<Apart>(p);
    return load_of_row<f64s, Apart>(p);
  };
  const auto read_tail = [&](const unsigned char* row) __attribute__((always_inline)) {
    if constexpr (Apart == 1) return load_some(row + whole * size, tail);
    else return load_last_of_second<f64s>(row + (n - 1) * size, tail);
  };
  f64s anchor{};
  const auto anchor_of = [&](const unsigned char* row) __attribute__((always_inline)) {
    f64s greatest = abs(read_tail(row));
    for (std::int64_t i = 0; i < whole; i += step) greatest = max(abs(read(row + i * size)), greatest);
    double most = 0;
    for (int k = 0; k < step; ++k) most = greatest[k] > most ? greatest[k] : most;
    anchor = anchored_sums::anchor(all_lanes<f64s>(most));
  };
  bool serves = false;
  for (std::int64_t i = 0; i < rows; i += step) {
    f64s sums[step], anchors{};
    rests rest[step];
    WF_UNROLL
    for (int k = 0; k < step; ++k) {
      sums[k] = f64s{};
      rest[k] = {};
    }
    const auto here = static_cast<int>(rows - i < step ? rows - i : step);
    for (int k = 0; k < here; ++k) {
      const auto* const row = static_cast<const unsigned char*>(x) + (i + k) * stride;
      for (bool again = !serves;; again = true) {
        if (again) anchor_of(row);
        anchored_sums a, b;
        a.begin(anchor);
        b.begin(anchor);
        const auto add = [&](anchored_sums& to, f64s v) __attribute__((always_inline)) { to.add(Absolute ? abs(v) : v, anchor); };
        std::int64_t j = 0;
        for (; j + 2 * step <= whole; j += 2 * step) {
          add(a, read(row + j * size));
          add(b, read(row + (j + step) * size));
        }
        if (j < whole) add(a, read(row + j * size));
        if (tail != 0) add(b, read_tail(row));
        const f64s sum = (a.t - anchor) + (b.t - anchor);
        // Eight such lanes have no more than 53 bits.
        const i64s fits = ~(a.has_left() | b.has_left()) & (i64s)(abs(sum) <= anchor * 0.125);
        serves = !any_lane(~fits);
        if (!serves && !again) continue;
        a.rest.add(b.rest);
        sums[k] = (f64s)((i64s)sum | ~fits);
        rest[k] = a.rest;
        anchors[k] = anchor[0];
        break;
      }
    }
    rests all;
    all.add_lanes(rest);
    f64s sum = sums_of_lanes(sums, [](f64s a, f64s b) { return a + b; }), off = all.lost(anchors, static_cast<double>(n));
    if (const i64s zero = (i64s)(sum == 0.0) & all.nothing(); any_lane(zero)) [[unlikely]] {
      for (int k = 0; k < here; ++k) {
        if (zero[k] == 0) continue;
        bool zeros = false;
        sum[k] = all_negative<double>(static_cast<const unsigned char*>(x) + (i + k) * stride, n, Apart, zeros) && !Absolute ? -0.0 : 0.0;
        if (zeros) off[k] = 0;
      }
    }
    store(s + i, sum);
    store(c + i, all.sum());
    store(lost + i, off);
    serves = serves && !any_lane((i64s)(off > abs(sum) * 0x1p-60));
  }
}

/// The same as load_last of a row that may be shorter, in the first lanes then.
template <class V>
WF_INLINE V load_left(const unsigned char* row, std::int64_t n, std::int64_t left) {
  constexpr std::int64_t size = sizeof(V{}[0]);
  if (n * size >= static_cast<std::int64_t>(sizeof(V))) return load_last<V>(row + n * size, left);
  V v{};
  __builtin_memcpy(&v, row, static_cast<std::size_t>(n * size));
  return v;
}

/// Elements of 16 bits as f32.
using halves_of_f32s = vec<std::uint16_t, width / 2>;
template <class Half>
WF_INLINE f32s widened(halves_of_f32s v) {
  if constexpr (Half::infinity == 0x7f80) {
    return (f32s)(__builtin_convertvector(v, u32s) << 16);
  } else {
#if defined(__AVX512F__)
    return _mm512_maskz_cvtph_ps(0xffff, (__m256i)v);
#elif defined(__F16C__)
    return _mm256_cvtph_ps((__m128i)v);
#else  // as widen_half
    const u32s bits = __builtin_convertvector(v, u32s);
    const f32s magnitude = (f32s)(((bits & 0x7fff) << 13) + (112u << 23)), above = magnitude - 0x1p-14f;
    u32s wide = (u32s)(magnitude + (f32s)((i32s)above & (i32s)(above < 0.0f)));
    wide |= (u32s)((bits & 0x7c00) == 0x7c00) & 0x7f800000u;
    return (f32s)(wide | (bits & 0x8000) << 16);
#endif
  }
}

/// The same of f32, and of what is widened to that.
template <class T, bool Absolute, int Apart>
void certify_narrow_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* s, double* c, double* lost) {
  constexpr bool half = !std::is_same_v<T, float>;
  static_assert(!half || Apart == 1);
  constexpr std::int64_t size = Apart * (half ? 2 : 4);
  constexpr int per = lanes<float>;
  const f64s one = unknown_one();
  const std::int64_t whole = whole_of_row<Apart>(n, per), tail = n - whole;
  const auto read = [&](const unsigned char* p) __attribute__((always_inline)) {
    prefetch_lines_of<Apart>(p);
    if constexpr (half) return widened<T>(load<halves_of_f32s>(p));
    else return load_of_row<f32s, Apart>(p);
  };
  const auto read_tail = [&](const unsigned char* row) __attribute__((always_inline)) {
    if constexpr (half) return widened<T>(load_left<halves_of_f32s>(row, n, tail));
    else if constexpr (Apart == 1) return load_left<f32s>(row, n, tail);
    else return load_last_of_second<f32s>(row + (n - 1) * size, tail);
  };
  for (std::int64_t i = 0; i < rows; i += step) {
    narrow_sums::row all[step];
    const auto here = static_cast<int>(rows - i < step ? rows - i : step);
    for (int k = 0; k < here; ++k) {
      const auto* const row = static_cast<const unsigned char*>(x) + (i + k) * stride;
      narrow_sums a, b;
      const auto add = [&](narrow_sums& to, f32s v) __attribute__((always_inline)) { to.add(Absolute ? abs(v) : v, one); };
      std::int64_t j = 0;
      for (; j + 2 * per <= whole; j += 2 * per) {
        add(a, read(row + j * size));
        add(b, read(row + (j + per) * size));
      }
      if (j < whole) add(a, read(row + j * size));
      if (tail != 0) add(b, read_tail(row));
      all[k] = a.together(b);
    }
    f64s sum, off;
    narrow_sums::of_rows(all, n, sum, off);
    if (const i64s zero = (i64s)(sum == 0.0); any_lane(zero)) [[unlikely]] {
      for (int k = 0; k < here; ++k) {
        if (zero[k] == 0) continue;
        bool zeros = false;
        sum[k] = all_negative<std::conditional_t<half, std::uint16_t, float>>(static_cast<const unsigned char*>(x) + (i + k) * stride, n, Apart, zeros) && !Absolute ? -0.0 : 0.0;
      }
    }
    store(s + i, sum);
    store(c + i, f64s{});
    store(lost + i, off);
  }
}
template <class T, bool Absolute, int Apart = 1>
void certify_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* s, double* c, double* lost) {
  if constexpr (sizeof(T) == 8) certify_wide_rows<Absolute, Apart>(x, stride, rows, n, s, c, lost);
  else certify_narrow_rows<T, Absolute, Apart>(x, stride, rows, n, s, c, lost);
}

}  // namespace wf::cpu::WF_TARGET
