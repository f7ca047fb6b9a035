// SPDX-License-Identifier: Apache-2.0
/// \file integer_columns.hpp
/// Sums mod 2^64 of integers: of columns, and of rows without gaps.
#pragma once

#include "certify_rows.hpp"

namespace wf::cpu::WF_TARGET {

/// Sums mod 2^64, of up to rows_at_once elements in lanes twice as wide, and then in 64 bits.
template <class T>
void integer_columns(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, std::uint64_t* sums) {
  constexpr bool is_signed = static_cast<T>(-1) < 0;
  using wider = std::conditional_t<sizeof(T) == 1, std::conditional_t<is_signed, std::int16_t, std::uint16_t>,
                std::conditional_t<sizeof(T) == 2, std::conditional_t<is_signed, std::int32_t, std::uint32_t>,
                                   std::conditional_t<is_signed && sizeof(T) < 8, std::int64_t, std::uint64_t>>>;
  using W = vec<wider>;
  constexpr int bytes = width / static_cast<int>(sizeof(wider) / sizeof(T)), per = lanes<wider>;
  for_columns<vec<T, bytes>, T>(x, stride, rows, count, [&](std::int64_t j, std::int64_t here, auto read) __attribute__((always_inline)) {
    W sum{};
    for (std::int64_t k = 0; k < here; ++k) sum += __builtin_convertvector(read(k), W);
    alignas(64) wider parts[per];
    store(parts, sum);
    WF_UNROLL
    for (int p = 0; p < per; p += step)
      store(sums + j + p, load<u64s>(sums + j + p) + __builtin_convertvector((load<vec<wider, step * static_cast<int>(sizeof(wider))>>(parts + p)), u64s));
  });
}

/// Sums mod 2^64 of rows of integers, n <= most_of_row of up to 16 bits, `Apart` places from one to the next, a row `stride` bytes after the one before.
template <class T, int Apart = 1>
void integer_rows(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, std::uint64_t* sums) {
#if defined(__x86_64__)
  constexpr bool by_pairs = sizeof(T) <= 2;
#else
  constexpr bool by_pairs = false;
#endif
  using narrow = std::make_unsigned_t<T>;
  using V = vec<narrow>;
  constexpr std::int64_t size = sizeof(T), per = lanes<T>;
  constexpr bool is_signed = static_cast<T>(-1) < 0, flips = by_pairs && is_signed == (size == 1);  // sums of bytes have no sign, those of pairs have one
  constexpr auto flip = static_cast<narrow>(flips ? std::uint64_t{1} << (8 * size - 1) : 0);
  static_assert(Apart == 1 || size >= 4);
  const std::int64_t whole = whole_of_row<Apart>(n, per), taken = whole + (whole < n ? per : 0);
  // Each signed byte is 2^7 too great, each pair without a sign 2^15 too small.
  const std::uint64_t off = static_cast<std::uint64_t>(taken) * flip * (size == 1 ? std::uint64_t{0} - 1 : 1);
  const auto* row = static_cast<const unsigned char*>(x);
  for (std::int64_t i = 0; i < rows; ++i, row += stride) {
    u64s all[2] = {};
    const auto add = [&](V bits, int k) __attribute__((always_inline)) {
      const V v = bits ^ flip;
#if defined(__x86_64__)
      if constexpr (size == 1) {
        all[k] += sums_of_bytes(v);
        return;
      }
      if constexpr (size == 2) {
        all[k] = (u64s)((i32s)all[k] + sums_of_pairs((vec<std::int16_t>)v));  // at most 2^27 in each from 4096 of them
        return;
      }
#endif
      if constexpr (size == 8) {
        all[k] += (u64s)v;
      } else {
        constexpr int parts = 8 / size;
        using part = vec<T, width / parts>;
        part some[parts];
        __builtin_memcpy(some, &v, sizeof v);
        WF_UNROLL
        for (int p = 0; p < parts; ++p) all[k] += (u64s)__builtin_convertvector(some[p], i64s);
      }
    };
    std::int64_t j = 0;
    for (; j + 2 * per <= whole; j += 2 * per) {
      const auto* const at = row + j * Apart * size;
      WF_UNROLL
      for (int line = 0; line < 2 * Apart * width; line += 64) prefetch(at + line, 4096);
      add(load_of_row<V, Apart>(at), 0);
      add(load_of_row<V, Apart>(at + Apart * width), 1);
    }
    if (j < whole) add(load_of_row<V, Apart>(row + j * Apart * size), 0);
    if constexpr (Apart == 1) {
      if (whole < n) add(load_left<V>(row, n, n - whole), 1);
    } else {
      using F = std::conditional_t<size == 8, f64s, f32s>;
      add((V)load_last_of_second<F>(row + (n - 1) * Apart * size, n - whole), 1);
    }
    u64s sum = all[0] + all[1];
    if constexpr (by_pairs && size == 2) {
      const i32s pairs = (i32s)all[0] + (i32s)all[1];
      vec<std::int32_t, width / 2> some[2];
      __builtin_memcpy(some, &pairs, sizeof pairs);
      sum = (u64s)(__builtin_convertvector(some[0], i64s) + __builtin_convertvector(some[1], i64s));
    }
    sums[i] = static_cast<std::uint64_t>(sum_lanes((i64s)sum)) + off;
  }
}

}  // namespace wf::cpu::WF_TARGET
