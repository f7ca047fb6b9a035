// SPDX-License-Identifier: Apache-2.0
/// \file columns.hpp
/// Which reductions add rows to answers side by side (cpu/columns.hpp), and how: sums of floats with what they lost, sums of integers, extremes.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "../cpu/columns.hpp"
#include "hot.hpp"
#include "proved.hpp"

namespace wf::library {

/// Sums, means and norm1 of f32 and f64.
template <class R, class T>
struct columns_by_proof {
  static constexpr std::int64_t most = 512;
  static constexpr bool wide = sizeof(T) == 8;
  static constexpr asked ask = asks_of<R>;
  struct block {
    double s[most], c[most], lost[most];
  };
  static_assert(sizeof(block) <= cpu::column_bytes);

  static void begin(void* to) {
    auto& b = *static_cast<block*>(to);
    std::fill_n(b.s, most, -0.0);  // which alone leaves -0 as it is
    std::fill_n(b.c, most, 0.0);
    std::fill_n(b.lost, most, 0.0);
  }
  static void add(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool) {
    auto& b = *static_cast<block*>(to);
    cpu::kernels().certify_columns[wide][ask.kind == of_magnitudes](x, stride, rows, count, b.s, b.c, b.lost);
  }
  static void merge(void* to, const void* other, std::int64_t from, std::int64_t count) {
    auto& b = *static_cast<block*>(to);
    const auto& o = *static_cast<const block*>(other);
    for (std::int64_t k = 0; k < count; ++k) {
      const exact_sum_of sum = two_sum(b.s[k], o.s[from + k]), rest = two_sum(b.c[k], o.c[from + k]), all = two_sum(rest.sum, sum.error);
      b.s[k] = sum.sum;
      b.c[k] = all.sum;
      b.lost[k] += o.lost[from + k] + (magnitude(rest.error) + magnitude(all.error));
    }
  }
  static void finish(const void* self, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    auto& b = *static_cast<block*>(from);
    std::memset(certain, 0, static_cast<std::size_t>(count));
    if (static_cast<const options*>(self)->rounding == rounding::nearest && n < std::int64_t{1} << 52)
      cpu::kernels().round_columns[wide][ask.what == op::mean](b.s, b.c, b.lost, static_cast<double>(n), count, out, certain);
    for (std::int64_t k = 0; k < count; ++k) {
      if (certain[k] != 0) continue;
      cpu::evidence e;
      e.values[0] = b.s[k];
      e.values_rest[0] = b.c[k];
      e.lost_values = b.lost[k];
      e.zeros = b.s[k] == 0 && b.c[k] == 0 && b.lost[k] == 0;
      e.negative = std::signbit(b.s[k]);
      if (!(b.s[k] - b.s[k] == 0) || !(b.c[k] - b.c[k] == 0) || !(b.lost[k] - b.lost[k] == 0)) e.verdict = cpu::evidence::hopeless;
      bool again = false;
      certain[k] = proved<R, T>::conclude(self, e, n, static_cast<T*>(out) + k, again);
    }
  }
  static constexpr cpu::column_fold functions{most, begin, add, merge, finish};
};

/// Sums of integers, mod 2^64, and means of those whose sums have no more bits.
template <class R, class T>
struct columns_of_integers {
  static constexpr std::int64_t most = 1024;
  static_assert(most * sizeof(std::uint64_t) <= cpu::column_bytes);

  static void begin(void* to) { std::memset(to, 0, most * sizeof(std::uint64_t)); }
  static void add(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool) {
    cpu::kernels().integer_columns[reductions::integer_lane<T>()](x, stride, rows, count, static_cast<std::uint64_t*>(to));
  }
  static void merge(void* to, const void* other, std::int64_t from, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) static_cast<std::uint64_t*>(to)[k] += static_cast<const std::uint64_t*>(other)[from + k];
  }
  static void finish(const void* self, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    if constexpr (std::is_same_v<result_of<R>, double>) {
      std::memset(certain, 0, static_cast<std::size_t>(count));
      // Sums of less than 2^31 elements are less than 2^63, and so two doubles.
      if (n >> 31 != 0 || static_cast<const options*>(self)->rounding != rounding::nearest) return;
      constexpr std::int64_t some = 64;
      alignas(64) double s[some], c[some], lost[some] = {};
      for (std::int64_t i = 0; i < count; i += some) {
        const std::int64_t here = std::min(some, count - i);
        for (std::int64_t k = 0; k < here; ++k) {
          const auto sum = static_cast<std::int64_t>(static_cast<const std::uint64_t*>(from)[i + k]);
          const std::int64_t low = sum % (std::int64_t{1} << 32);
          s[k] = static_cast<double>(sum - low);
          c[k] = static_cast<double>(low);
        }
        std::fill(s + here, s + some, 0.0);
        std::fill(c + here, c + some, 0.0);
        cpu::kernels().round_columns[1][1](s, c, lost, static_cast<double>(n), here, static_cast<double*>(out) + i, certain + i);
      }
    } else {
      std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof(std::uint64_t));
      std::memset(certain, 1, static_cast<std::size_t>(count));
    }
  }
  static constexpr cpu::column_fold functions{most, begin, add, merge, finish};
};

/// Least, greatest, or both, by keys as wide as elements.
template <class R, class T>
struct columns_of_extremes {
  static constexpr std::int64_t most = 4096 / sizeof(T);
  static constexpr bool is_least = std::is_same_v<R, reductions::min<T>>, is_greatest = std::is_same_v<R, reductions::max<T>>;
  static constexpr int lane = reductions::lane_of<T>();
  using element = std::conditional_t<sizeof(T) == 1, std::conditional_t<std::is_signed_v<T>, std::int8_t, std::uint8_t>,
                  std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_same_v<T, std::uint16_t>, std::uint16_t, std::int16_t>,
                  std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_same_v<T, std::uint32_t>, std::uint32_t, std::int32_t>,
                                     std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>>>>;
  struct block {
    alignas(64) element least[most];
    alignas(64) element greatest[most];
  };
  static_assert(sizeof(block) <= cpu::column_bytes);

  static void begin(void*) {}
  static void add(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool any) {
    auto& b = *static_cast<block*>(to);
    cpu::kernels().extreme_columns[lane](x, stride, rows, count, !any, b.least, b.greatest);
  }
  static void merge(void* to, const void* other, std::int64_t from, std::int64_t count) {
    auto& b = *static_cast<block*>(to);
    const auto& o = *static_cast<const block*>(other);
    for (std::int64_t k = 0; k < count; ++k) {
      b.least[k] = std::min(b.least[k], o.least[from + k]);
      b.greatest[k] = std::max(b.greatest[k], o.greatest[from + k]);
    }
  }
  static void finish(const void* self, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    auto& b = *static_cast<block*>(from);
    std::memset(certain, 1, static_cast<std::size_t>(count));
    if constexpr (is_least || is_greatest) {
      std::int64_t nan = 0;
      if constexpr (floating<T>) nan = exact::format<T>::quiet_nan;
      cpu::kernels().elements_of_keys[lane](is_least ? b.least : b.greatest, is_least ? b.greatest : b.least, count, nan, out);
    } else {
      R r;
      static_cast<options&>(r) = *static_cast<const options*>(self);
      for (std::int64_t k = 0; k < count; ++k) {
        typename R::state s{static_cast<std::int64_t>(b.least[k]), static_cast<std::int64_t>(b.greatest[k]), 0};
        if constexpr (floating<T>) {
          constexpr std::int64_t infinity = exact::format<T>::infinity;
          s.nan = s.greatest > infinity || s.least < ~infinity;
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
          s.least ^= INT64_MIN;
          s.greatest ^= INT64_MIN;
        }
        const result_of<R> answer = r.finish(s, n);
        std::memcpy(static_cast<unsigned char*>(out) + static_cast<std::size_t>(k) * sizeof answer, &answer, sizeof answer);
      }
    }
  }
  static constexpr cpu::column_fold functions{most, begin, add, merge, finish};
};

template <class R, class T>
constexpr const cpu::column_fold* columns_of_one() {
  if constexpr (std::is_same_v<T, bool> || complex_number<T>) {
    return nullptr;
  } else if constexpr (asks_of<R>.is) {
    if constexpr (sizeof(T) >= 4 && (asks_of<R>.kind == of_values || asks_of<R>.kind == of_magnitudes)) return &columns_by_proof<R, T>::functions;
    else return nullptr;
  } else if constexpr (std::is_base_of_v<reductions::extreme_fold<T>, R>) {
    return &columns_of_extremes<R, T>::functions;
  } else if constexpr (integer<T> && (std::is_same_v<R, reductions::sum<T, true>> || std::is_same_v<R, reductions::sum<T, false>>)) {
    return &columns_of_integers<R, T>::functions;
  } else if constexpr (integer<T> && sizeof(T) < 8 && (std::is_same_v<R, reductions::mean<T, true>> || std::is_same_v<R, reductions::mean<T, false>>)) {
    return &columns_of_integers<R, T>::functions;
  } else {
    return nullptr;
  }
}
template <class R, class... T>
constexpr const cpu::column_fold* columns_of() {
  if constexpr (sizeof...(T) == 1) return columns_of_one<R, T...>();
  else return nullptr;
}

}  // namespace wf::library
