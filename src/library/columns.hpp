// SPDX-License-Identifier: Apache-2.0
/// \file columns.hpp
/// Which reductions add rows to answers side by side (cpu/columns.hpp), and how: sums of floats and of squares with what they lost, sums of integers, extremes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "../cpu/columns.hpp"
#include "hot.hpp"
#include "proved.hpp"

namespace wf::library {

constexpr std::int64_t whole_vectors(std::int64_t count) { return (count + 63) / 64 * 64; }
/// State k of n elements, as adapted.hpp tells it.
template <class State>
void tell_state(const State& s, std::int64_t n, void* out, std::int64_t k) {
  static_assert(sizeof s % 8 == 0);
  auto* const to = static_cast<std::byte*>(out) + static_cast<std::size_t>(k) * (8 + sizeof s);
  std::memcpy(to, &n, 8);
  std::memcpy(to + 8, &s, sizeof s);
}

/// Sums, their errors, and what these lost, of columns that have both.
inline void merge_sums(double* s, double* c, double* lost, const double* more_s, const double* more_c, const double* more_lost, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    const exact_sum_of sum = two_sum(s[k], more_s[k]), rest = two_sum(c[k], more_c[k]), all = two_sum(rest.sum, sum.error);
    s[k] = sum.sum;
    c[k] = all.sum;
    lost[k] += more_lost[k] + (magnitude(rest.error) + magnitude(all.error));
  }
}

/// certain[k] = f(k) where that is 0.
template <class F>
void for_uncertain(unsigned char* certain, std::int64_t count, F f) {
  for (auto* p = certain; (p = static_cast<unsigned char*>(std::memchr(p, 0, static_cast<std::size_t>(certain + count - p)))) != nullptr; ++p)
    *p = f(p - certain);
}

/// Answers of f16 and bf16 by those of f32, rounded again. That may be wrong only where the first rounding gave a number halfway between two of T,
/// which has so few bits that the others are zero.
template <class T>
void narrowed(const float* from, std::int64_t count, T* to, unsigned char* certain) {
  constexpr std::uint32_t behind_ties = std::is_same_v<T, f16> ? 0xfff : 0x7fff;
  for (std::int64_t k = 0; k < count; ++k) {
    to[k] = reductions::narrow<T>(from[k]);
    if (static_cast<float>(to[k]) != from[k] && (std::bit_cast<std::uint32_t>(from[k]) & behind_ties) == 0) certain[k] = 0;
  }
}

/// Sums, means and norm1 of rows of f16 and bf16, widened to f32.
template <class R, class T>
bool rows_of_halves(const void* self, const void* x, std::int64_t stride, bool, std::int64_t rows, std::int64_t n, void* out, unsigned char* certain) {
  constexpr asked ask = asks_of<R>;
  constexpr std::int64_t some = 64;
  std::memset(certain, 0, static_cast<std::size_t>(rows));
  if (static_cast<const options*>(self)->rounding != rounding::nearest) return true;
  const cpu::ieee_environment environment;  // widening f16 multiplies
  alignas(64) double s[some], c[some], lost[some];
  alignas(64) float wide[some];
  for (std::int64_t i = 0; i < rows; i += some) {
    const std::int64_t here = std::min(some, rows - i);
    cpu::kernels().certify_half_rows[std::is_same_v<T, bf16>][ask.kind == of_magnitudes](static_cast<const unsigned char*>(x) + i * stride, stride, here, n, s, c, lost);
    cpu::kernels().round_columns[0][ask.what == op::mean](s, c, lost, static_cast<double>(n), here, wide, certain + i);
    narrowed(wide, here, static_cast<T*>(out) + i, certain + i);
  }
  return true;
}
/// There are no columns of them.
template <class R, class T>
inline constexpr cpu::column_fold rows_of_halves_alone{.most = 64, .turned = 0, .begin = nullptr, .add = nullptr, .merge = nullptr, .finish = nullptr, .rows = rows_of_halves<R, T>, .least_of_row = 33};

/// Sums, means and norm1 of f32 and f64.
template <class R, class T>
struct columns_by_proof {
  static constexpr std::int64_t most = cpu::most_columns;
  static constexpr bool wide = sizeof(T) == 8;
  static constexpr asked ask = asks_of<R>;
  struct block {
    double s[most], c[most], lost[most];
  };
  static_assert(sizeof(block) <= cpu::column_bytes);

  static void begin(void* to, std::int64_t count) {
    auto& b = *static_cast<block*>(to);
    std::fill_n(b.s, whole_vectors(count), -0.0);  // which alone leaves -0 as it is
    std::fill_n(b.c, whole_vectors(count), 0.0);
    std::fill_n(b.lost, whole_vectors(count), 0.0);
  }
  static void add(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool, bool) {
    auto& b = *static_cast<block*>(to);
    cpu::kernels().certify_columns[wide][ask.kind == of_magnitudes](x, stride, rows, count, b.s, b.c, b.lost);
  }
  static void merge(void* to, const void* other, std::int64_t from, std::int64_t count) {
    auto& b = *static_cast<block*>(to);
    const auto& o = *static_cast<const block*>(other);
    merge_sums(b.s, b.c, b.lost, o.s + from, o.c + from, o.lost + from, count);
  }
  static void finish(const void* self, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    auto& b = *static_cast<block*>(from);
    std::memset(certain, 0, static_cast<std::size_t>(count));
    if (static_cast<const options*>(self)->rounding == rounding::nearest && n < std::int64_t{1} << 52)
      cpu::kernels().round_columns[wide][ask.what == op::mean](b.s, b.c, b.lost, static_cast<double>(n), count, out, certain);
    for_uncertain(certain, count, [&](std::int64_t k) {
      cpu::evidence e;
      e.values[0] = b.s[k];
      e.values_rest[0] = b.c[k];
      e.lost_values = b.lost[k];
      e.zeros = b.s[k] == 0 && b.c[k] == 0 && b.lost[k] == 0;
      e.negative = std::signbit(b.s[k]);
      if (!is_finite(b.s[k]) || !is_finite(b.c[k]) || !is_finite(b.lost[k])) e.verdict = cpu::evidence::hopeless;
      bool again = false;
      return proved<R, T>::conclude(self, e, n, static_cast<T*>(out) + k, again);
    });
  }
  static bool rows(const void* self, const void* x, std::int64_t stride, bool gaps, std::int64_t rows, std::int64_t n, void* out, unsigned char* certain) {
    const auto certify = cpu::kernels().certify_rows[gaps][wide][ask.kind == of_magnitudes];
    block b;
    for (std::int64_t i = 0; i < rows; i += most) {
      const std::int64_t here = std::min(most, rows - i);
      const auto* const first = static_cast<const unsigned char*>(x) + i * stride;
      if (n <= cpu::most_of_row) {
        certify(first, stride, here, n, b.s, b.c, b.lost);
      } else {
        for (std::int64_t k = 0; k < here; ++k) add_long_row(first + k * stride, n, b, k, certify);
      }
      finish(self, &b, n, here, static_cast<T*>(out) + i, certain + i);
    }
    return true;
  }
  /// The sums of a long row with gaps, as row k: of its pieces, as rows. Short ones, since the first of some is read twice.
  template <class F>
  static void add_long_row(const unsigned char* x, std::int64_t n, block& to, std::int64_t k, F certify) {
    constexpr std::int64_t some = 64, piece = 1024, apart = 2 * static_cast<std::int64_t>(sizeof(T));
    double s[some], c[some], lost[some];
    to.s[k] = -0.0;
    to.c[k] = to.lost[k] = 0;
    for (std::int64_t i = 0; i < n;) {
      const bool last = n - i < 2 * piece;  // no piece has fewer elements than a vector
      const std::int64_t pieces = last ? 1 : std::min(some, (n - i) / piece - 1), length = last ? n - i : piece;
      certify(x + i * apart, piece * apart, pieces, length, s, c, lost);
      for (std::int64_t j = 0; j < pieces; ++j) merge_sums(to.s + k, to.c + k, to.lost + k, s + j, c + j, lost + j, 1);
      i += pieces * length;
    }
  }
  static bool whole(const void* self, const void* x, std::int64_t stride, std::int64_t n, std::int64_t count, bool cached, void* out) {
    const auto sums = cpu::kernels().sum_columns[wide][ask.what == op::mean];
    return static_cast<const options*>(self)->rounding == rounding::nearest && sums(x, stride, n, count, cached, out);
  }
  static void tell(const void*, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    const auto& b = *static_cast<const block*>(from);
    state_of<R> s = R().identity();
    s.seen.count = n;
    for (std::int64_t k = 0; k < count; ++k) {
      certain[k] = is_exact(b.s[k], b.c[k], b.lost[k]);
      if (!certain[k]) continue;
      s.sum = decltype(s.sum)::zero();
      add_exact(s.sum, {b.s[k], b.c[k]});
      s.sum.normalise();
      tell_state(s, n, out, k);
    }
  }
  static constexpr std::int64_t turned = sizeof(T) == 4 || ask.what == op::mean ? 128 : 64;
  static constexpr cpu::column_fold states{most, turned, begin, add, merge, tell, nullptr, nullptr, true};
  static constexpr cpu::column_fold functions{most, turned, begin, add, merge, finish, rows, &states, false, ask.kind == of_values && (ask.what == op::sum || ask.what == op::mean) ? whole : nullptr,
                                              cpu::most_whole_columns, 33, true};
};

/// Sums and means of f16: multiples of 2^-24 of less than 2^16, so that doubles add 2^13 of them exactly. A quotient of such a sum is no closer to a tie of
/// f16 than half a unit of its own last place, and so is not rounded to one.
template <class R>
struct columns_of_halves {
  static constexpr std::int64_t most = 1024, exact = std::int64_t{1} << 13, vector = 64;
  static_assert(most * sizeof(double) <= cpu::column_bytes);

  static void begin(void* to, std::int64_t count) { std::fill_n(static_cast<double*>(to), whole_vectors(count), -0.0); }
  static void add(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool, bool) {
    const cpu::ieee_environment environment;  // widening f16 multiplies
    alignas(64) float row[most];
    std::fill_n(row, whole_vectors(count), 0.0f);
    for (std::int64_t i = 0; i < rows; ++i) {
      cpu::kernels().widen_half[0](static_cast<const unsigned char*>(x) + i * stride, count, row);
      auto* s = static_cast<double*>(to);
      const float* p = row;
      for (std::int64_t k = 0; k < count; k += vector, s += vector, p += vector)
        for (std::int64_t j = 0; j < vector; ++j) s[j] += static_cast<double>(p[j]);
    }
  }
  static void merge(void* to, const void* other, std::int64_t from, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) static_cast<double*>(to)[k] += static_cast<const double*>(other)[from + k];
  }
  static void finish(const void* self, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    std::memset(certain, 0, static_cast<std::size_t>(count));
    if (n > exact || static_cast<const options*>(self)->rounding != rounding::nearest) return;
    const cpu::ieee_environment environment;
    for (std::int64_t k = 0; k < count; ++k) {
      const double s = static_cast<const double*>(from)[k];
      certain[k] = is_finite(s);
      static_cast<f16*>(out)[k] = reductions::narrow<f16>(asks_of<R>.what == op::mean ? s / static_cast<double>(n) : s);
    }
  }
  static constexpr cpu::column_fold functions{most, 128, begin, add, merge, finish, rows_of_halves<R, f16>, nullptr, false, nullptr, 0, 33};
};

/// Sums of integers, mod 2^64, and means of those whose sums have no more bits.
template <class R, class T>
struct columns_of_integers {
  static constexpr std::int64_t most = 1024;
  static_assert(most * sizeof(std::uint64_t) <= cpu::column_bytes);

  static void begin(void* to, std::int64_t count) { std::fill_n(static_cast<std::uint64_t*>(to), whole_vectors(count), 0); }
  static void add(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool, bool) {
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
      // Those of less than 2^51 are one double, whose bits are the sum's beside those of 1.5·2^52, and a division rounds once.
      if (constexpr int bits = 8 * static_cast<int>(sizeof(T)); n < std::int64_t{1} << (51 - bits)) {
        constexpr double beside = 0x1.8p52;
        const auto by = static_cast<double>(n);
        for (std::int64_t k = 0; k < count; ++k)
          static_cast<double*>(out)[k] = (std::bit_cast<double>(static_cast<const std::uint64_t*>(from)[k] + std::bit_cast<std::uint64_t>(beside)) - beside) / by;
        std::memset(certain, 1, static_cast<std::size_t>(count));
        return;
      }
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
  static bool rows(const void* self, const void* x, std::int64_t stride, bool gaps, std::int64_t rows, std::int64_t n, void* out, unsigned char* certain) {
    const auto sums = cpu::kernels().integer_rows[gaps][reductions::integer_lane<T>()];
    if constexpr (std::is_same_v<result_of<R>, double>) {
      alignas(64) std::uint64_t some[most];
      for (std::int64_t i = 0; i < rows; i += most) {
        const std::int64_t here = std::min(most, rows - i);
        sums(static_cast<const unsigned char*>(x) + i * stride, stride, here, n, some);
        finish(self, some, n, here, static_cast<double*>(out) + i, certain + i);
      }
    } else {
      sums(x, stride, rows, n, static_cast<std::uint64_t*>(out));
      std::memset(certain, 1, static_cast<std::size_t>(rows));
    }
    return true;
  }
  static void tell(const void*, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    const auto* const sums = static_cast<const std::uint64_t*>(from);
    if constexpr (std::is_same_v<state_of<R>, std::uint64_t>) {
      for (std::int64_t k = 0; k < count; ++k) tell_state(sums[k], n, out, k);
    } else if (n >> 31 == 0) {  // and so less than 2^63
      auto s = R().identity();
      s.seen.count = n;
      for (std::int64_t k = 0; k < count; ++k) {
        s.sum = decltype(s.sum)::zero();
        s.sum.add_signed(static_cast<std::int64_t>(sums[k]), 0);
        s.sum.normalise();
        tell_state(s, n, out, k);
      }
    }
    std::memset(certain, std::is_same_v<state_of<R>, std::uint64_t> || n >> 31 == 0, static_cast<std::size_t>(count));
  }
  static constexpr std::int64_t turned = sizeof(T) < 8 ? 128 : 32;
  static constexpr cpu::column_fold states{most, turned, begin, add, merge, tell, nullptr, nullptr, true};
  static constexpr cpu::column_fold functions{most, turned, begin, add, merge, finish, rows, &states, false, nullptr, 0, 25, sizeof(T) >= 4};
};

/// Least, greatest, or both, by keys as wide as elements.
template <class R, class T>
struct columns_of_extremes {
  static constexpr std::int64_t most = sizeof(T) == 8 ? 1024 : 4096 / sizeof(T);
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

  static void begin(void*, std::int64_t) {}
  static void add(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool any, bool cached) {
    auto& b = *static_cast<block*>(to);
    cpu::kernels().extreme_columns[lane](x, stride, rows, count, !any, cached, b.least, b.greatest);
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
        const result_of<R> answer = r.finish(state_at(b, k), n);
        std::memcpy(static_cast<unsigned char*>(out) + static_cast<std::size_t>(k) * sizeof answer, &answer, sizeof answer);
      }
    }
  }
  static bool rows(const void* self, const void* x, std::int64_t stride, bool gaps, std::int64_t rows, std::int64_t n, void* out, unsigned char* certain) {
    block b;
    for (std::int64_t i = 0; i < rows; i += most) {
      const std::int64_t here = std::min(most, rows - i);
      std::fill(b.least + here, b.least + whole_vectors(here), element{});
      std::fill(b.greatest + here, b.greatest + whole_vectors(here), element{});
      cpu::kernels().extreme_rows[gaps][lane](static_cast<const unsigned char*>(x) + i * stride, stride, here, n, b.least, b.greatest);
      finish(self, &b, n, here, static_cast<unsigned char*>(out) + static_cast<std::size_t>(i) * sizeof(result_of<R>), certain + i);
    }
    return true;
  }
  static typename R::state state_at(const block& b, std::int64_t k) {
    typename R::state s{static_cast<std::int64_t>(b.least[k]), static_cast<std::int64_t>(b.greatest[k]), 0};
    if constexpr (floating<T>) {
      constexpr std::int64_t infinity = exact::format<T>::infinity;
      s.nan = s.greatest > infinity || s.least < ~infinity;
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      s.least ^= INT64_MIN;
      s.greatest ^= INT64_MIN;
    }
    return s;
  }
  static void tell(const void*, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    for (std::int64_t k = 0; k < count; ++k) {
      const typename R::state s = state_at(*static_cast<const block*>(from), k);
      certain[k] = s.nan == 0;
      tell_state(s, n, out, k);
    }
  }
  static constexpr std::int64_t turned = sizeof(T) < 8 ? 128 : 64;
  static constexpr cpu::column_fold states{most, turned, begin, add, merge, tell, nullptr, nullptr, true};
  static constexpr cpu::column_fold functions{most, turned, begin, add, merge, finish, rows, &states, false, nullptr, 0, 65, sizeof(T) >= 4};
};

template <class Answer>
struct part_of_answer {
  using type = Answer;
};
template <class Part, class Mean>
struct part_of_answer<mean_var_result<Part, Mean>> {
  using type = Part;
};

/// Sums of squares and their roots, of floats and of integers below 64 bits; with sums, variances, their roots, and means beside them. f16 and bf16
/// are added up as f32.
template <class R, class T, bool Spread, bool Root>
struct columns_of_squares {
  static constexpr bool wide = std::is_same_v<T, double>;  // whose states have one array more: what is behind both doubles of a square
  static constexpr int behind = Spread ? 6 : 3, arrays = wide ? behind + 1 : behind;
  static constexpr std::int64_t most = (Spread ? 256 : 512) / 4 * (wide ? 3 : 4);
  static constexpr bool half = floating<T> && sizeof(T) == 2;
  static constexpr int lane = reductions::lane_of<std::conditional_t<half, float, T>>();
  using answer = result_of<R>;
  using part = typename part_of_answer<answer>::type;
  static_assert(!half || std::is_same_v<part, T>);
  static constexpr bool both = !std::is_same_v<answer, part>;
  static_assert(arrays * most * sizeof(double) <= cpu::column_bytes);

  static void begin(void* to, std::int64_t count) {
    auto* const at = static_cast<double*>(to);
    for (int k = 0; k < arrays; ++k) std::fill_n(at + k * most, whole_vectors(count), k % 3 == 0 && k < behind ? -0.0 : 0.0);
  }
  static void add(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool, bool) {
    const auto squares = cpu::kernels().square_columns[lane][Spread];
    if constexpr (half) {
      constexpr std::int64_t some = 8;
      alignas(64) float wide_rows[some][most];
      for (std::int64_t i = 0; i < rows; i += some) {
        const std::int64_t here = std::min(some, rows - i);
        for (std::int64_t k = 0; k < here; ++k)
          cpu::kernels().widen_half[!std::is_same_v<T, f16>](static_cast<const unsigned char*>(x) + (i + k) * stride, count, wide_rows[k]);
        squares(wide_rows, sizeof wide_rows[0], here, count, static_cast<double*>(to), most);
      }
    } else {
      squares(x, stride, rows, count, static_cast<double*>(to), most);
    }
  }
  /// f(to, certain) writes answers of f32 where those of T are rounded again.
  template <class F>
  static void round(std::int64_t count, part* to, unsigned char* certain, F f) {
    if constexpr (half) {
      float wide_answers[most];
      f(wide_answers, certain);
      narrowed(wide_answers, count, to, certain);
    } else {
      f(to, certain);
    }
  }
  /// For integers; norms of those of 8 and 16 bits are faster with a state each.
  static bool rows(const void* self, const void* x, std::int64_t stride, bool, std::int64_t rows, std::int64_t n, void* out, unsigned char* certain) {
    alignas(64) double sums[arrays * most];
    for (std::int64_t i = 0; i < rows; i += most) {
      const std::int64_t here = std::min(most, rows - i);
      begin(sums, here);
      cpu::kernels().square_rows[lane][Spread](static_cast<const unsigned char*>(x) + i * stride, stride, here, n, sums, most);
      finish(self, sums, n, here, static_cast<answer*>(out) + i, certain + i);
    }
    return true;
  }
  static void add_to_state(void* to, const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool any, bool cached) {
    if constexpr (floating<T>) cpu::kernels().exact_square_columns[wide][Spread](x, stride, rows, count, static_cast<double*>(to), most);
    else add(to, x, stride, rows, count, any, cached);
  }
  static void merge(void* to, const void* other, std::int64_t from, std::int64_t count) {
    for (int k = 0; k < behind; k += 3) {
      double* const at = static_cast<double*>(to) + k * most;
      const double* const o = static_cast<const double*>(other) + k * most + from;
      merge_sums(at, at + most, at + 2 * most, o, o + most, o + 2 * most, count);
    }
  }
  static void merge_states(void* to, const void* other, std::int64_t from, std::int64_t count) {
    if constexpr (wide) {
      auto* const at = static_cast<double*>(to);
      const auto* const o = static_cast<const double*>(other) + from;
      for (std::int64_t k = 0; k < count; ++k) {
        const exact_sum_of sum = two_sum(at[k], o[k]), rest = two_sum(at[most + k], o[most + k]), all = two_sum(rest.sum, sum.error);
        exact_sum_of last = two_sum(at[behind * most + k], o[behind * most + k]);
        double lost = magnitude(last.error);
        for (const double error : {rest.error, all.error}) {
          last = two_sum(last.sum, error);
          lost += magnitude(last.error);
        }
        at[k] = sum.sum;
        at[most + k] = all.sum;
        at[2 * most + k] += o[2 * most + k] + lost;
        at[behind * most + k] = last.sum;
      }
      if constexpr (Spread) merge_sums(at + 3 * most, at + 4 * most, at + 5 * most, o + 3 * most, o + 4 * most, o + 5 * most, count);
    } else {
      merge(to, other, from, count);
    }
  }
  static void finish(const void* self, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    const auto* const at = static_cast<const double*>(from);
    const auto& o = *static_cast<const options*>(self);
    std::memset(certain, 0, static_cast<std::size_t>(count));
    const auto less = static_cast<std::int64_t>(static_cast<std::uint64_t>(n) - static_cast<std::uint64_t>(o.correction));  // below 0, not few, where that is beyond 2^63
    const bool few = Spread ? n >> 26 == 0 && less > 0 && less >> 26 == 0 : n < std::int64_t{1} << 52;
    if (few && o.rounding == rounding::nearest) {
      if constexpr (both) {
        part means[most], variances[most];
        unsigned char sure[most];
        round(count, means, sure, [&](auto* to, unsigned char* told) {
          cpu::kernels().round_columns[sizeof *to == 8][true](at + 3 * most, at + 4 * most, at + 5 * most, static_cast<double>(n), count, to, told);
        });
        round(count, variances, certain, [&](auto* to, unsigned char* told) {
          cpu::kernels().round_squares[sizeof *to == 8][false](at, most, static_cast<double>(n), static_cast<double>(n * less), count, to, told);
        });
        for (std::int64_t k = 0; k < count; ++k) {
          certain[k] &= sure[k];
          static_cast<answer*>(out)[k] = {means[k], variances[k]};
        }
      } else {
        round(count, static_cast<part*>(out), certain, [&](auto* to, unsigned char* told) {
          cpu::kernels().round_squares[sizeof *to == 8][Root](at, most, static_cast<double>(n), Spread ? static_cast<double>(n * less) : 0, count, to, told);
        });
      }
    }
    if constexpr (floating<T>) {
      for_uncertain(certain, count, [&](std::int64_t k) {
        cpu::evidence e;
        const auto take = [&](int array, double (&sums)[2], double (&rest)[2], double& lost) {
          const double* const p = at + array * most + k;
          sums[0] = p[0];
          rest[0] = p[most];
          lost = p[2 * most];
          e.zeros = p[0] == 0 && p[most] == 0 && lost == 0;
          e.negative = std::signbit(p[0]);
          if (!is_finite(p[0]) || !is_finite(p[most]) || !is_finite(lost)) e.verdict = cpu::evidence::hopeless;
        };
        take(0, e.products, e.products_rest, e.lost_products);
        if constexpr (Spread) take(3, e.values, e.values_rest, e.lost_values);
        bool again = false;
        return proved<R, T>::conclude(self, e, n, static_cast<answer*>(out) + k, again);
      });
    }
  }
  static void tell(const void*, void* from, std::int64_t n, std::int64_t count, void* out, unsigned char* certain) {
    const auto* const at = static_cast<const double*>(from);
    state_of<R> s = R().identity();
    if constexpr (Spread) s.first.seen.count = n;
    else s.seen.count = n;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto digits = [&](auto& to, int array) {
        const double* const p = at + array * most + k;
        const double rest = wide && array == 0 ? at[behind * most + k] : 0;
        if (!is_exact(p[0], p[most], p[2 * most]) || !is_finite(rest)) return false;
        to = std::remove_reference_t<decltype(to)>::zero();
        add_exact(to, {p[0], p[most], rest});
        to.normalise();
        return true;
      };
      if constexpr (Spread) certain[k] = digits(s.second, 0) && digits(s.first.sum, 3);
      else certain[k] = digits(s.sum, 0);
      if (certain[k]) tell_state(s, n, out, k);
    }
  }
  static constexpr cpu::column_fold states{most, 128, begin, add_to_state, merge_states, tell, nullptr, nullptr, true};
  static constexpr cpu::column_fold functions{most, 128, begin, add, merge, finish, integer<T> && (Spread || sizeof(T) == 4) ? rows : nullptr, half ? nullptr : &states};
};

template <class R, class T>
constexpr const cpu::column_fold* columns_of_one() {
  if constexpr (std::is_same_v<T, bool> || complex_number<T>) {
    return nullptr;
  } else if constexpr (asks_of<R>.is) {
    constexpr asked ask = asks_of<R>;
    constexpr bool root = ask.what == op::norm2 || ask.what == op::std_dev;
    if constexpr (std::is_same_v<T, f16> && ask.kind == of_values) return &columns_of_halves<R>::functions;
    else if constexpr ((std::is_same_v<T, f16> || std::is_same_v<T, bf16>) && (ask.kind == of_values || ask.kind == of_magnitudes)) return &rows_of_halves_alone<R, T>;
    else if constexpr (sizeof(T) < 4 && !((std::is_same_v<T, f16> || std::is_same_v<T, bf16>) && (ask.kind == of_squares || ask.kind == of_moments))) return nullptr;
    else if constexpr (ask.kind == of_values || ask.kind == of_magnitudes) return &columns_by_proof<R, T>::functions;
    else if constexpr (ask.kind == of_squares) return &columns_of_squares<R, T, false, root>::functions;
    else if constexpr (ask.kind == of_moments) return &columns_of_squares<R, T, true, root>::functions;
    else return nullptr;
  } else if constexpr (std::is_base_of_v<reductions::extreme_fold<T>, R>) {
    if constexpr (reductions::has_lane<T>) return &columns_of_extremes<R, T>::functions;
    else return nullptr;
  } else if constexpr (integer<T> && (std::is_same_v<R, reductions::sum<T, true>> || std::is_same_v<R, reductions::sum<T, false>>)) {
    return &columns_of_integers<R, T>::functions;
  } else if constexpr (integer<T> && sizeof(T) < 8 && (std::is_same_v<R, reductions::mean<T, true>> || std::is_same_v<R, reductions::mean<T, false>>)) {
    return &columns_of_integers<R, T>::functions;
  } else if constexpr (integer<T> && sizeof(T) < 8) {
    if constexpr (std::is_same_v<R, reductions::norm2<T, true>> || std::is_same_v<R, reductions::norm2<T, false>>)
      return &columns_of_squares<R, T, false, true>::functions;
    else if constexpr (std::is_same_v<R, reductions::var<T, true>>) return &columns_of_squares<R, T, true, false>::functions;
    else if constexpr (std::is_same_v<R, reductions::mean_var<T, true>>) return &columns_of_squares<R, T, true, false>::functions;
    else if constexpr (std::is_same_v<R, reductions::std_dev<T, true>>) return &columns_of_squares<R, T, true, true>::functions;
    else return nullptr;
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
