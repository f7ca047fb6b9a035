// SPDX-License-Identifier: Apache-2.0
/// \file state_words.cuh
/// Exact sums as states: the words that the host's reduction keeps of the same elements (backend.hpp), from the digits of
/// the whole array.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/format.hpp>
#include <warpfold/detail/gpu/domain/elements.cuh>
#include <warpfold/detail/gpu/epilogue/special.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/warp.cuh>
#include <warpfold/device/workspace.cuh>
#include <warpfold/operations.hpp>
#include <warpfold/types.hpp>

namespace wf::device::inline WF_BUILD {

/// Brings carry-save digits within ±2^62 to canonical form; one thread calls it. A digit weighs 2^32 times the one before;
/// the first weighs 2^unit, and 2^to_unit in the result, to_unit <= unit.
__device__ __attribute__((noinline)) inline void put_digits(std::int64_t* to, int to_count, int to_unit, const std::int64_t* from,
                                                            int count, int unit) {
  const int up = (unit - to_unit) / 32, shift = (unit - to_unit) % 32;
  std::int64_t carry = 0;   // canonical digits of `from`
  std::uint32_t before = 0;
  for (int k = 0; k < to_count; ++k) {
    std::int64_t digit = 0;
    if (k >= up && k < up + count) {
      const std::int64_t v = from[k - up] + carry;
      carry = v >> 32;
      digit = static_cast<std::int64_t>(static_cast<std::uint32_t>(v));
    } else if (k >= up + count) {  // the sign's
      digit = carry & 0xffffffff;
      carry >>= 32;
    }
    const std::uint64_t shifted = static_cast<std::uint64_t>(digit) << shift;
    to[k] = static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted) | before);
    before = static_cast<std::uint32_t>(shifted >> 32);
  }
  // The top digit is signed and takes all that is above it.
  std::int64_t& top = to[to_count - 1];
  if (shift == 0) top += (up + count > to_count ? from[to_count - up] + carry : carry) * (std::int64_t{1} << 32);
  else top = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(top)));
}

/// Writes the five counters; one thread calls it. Special values are counted by count_specials_kernel, where there are any.
__device__ __forceinline__ void put_counters(std::int64_t* to, std::uint64_t count, std::uint32_t kinds) {
  to[0] = static_cast<std::int64_t>(count);
  to[1] = to[2] = to[3] = 0;
  to[4] = kinds == 0 ? static_cast<std::int64_t>(count) : 0;  // nothing but -0
}

/// Where the words of an operation's state are.
template <class T, terms Terms>
struct state_layout {
  using number = number_of<T>;
  static constexpr bool complex = !std::is_same_v<T, number>, floats = floating<number>;
  using f = exact::format<std::conditional_t<floats, number, double>>;
  static constexpr int sum_digits = floats ? f::digits : 6, product_digits = floats ? f::product_digits : 6;
  static constexpr int first_digits = Terms == terms::sum || Terms == terms::moments ? sum_digits : product_digits;
  static constexpr int counters = 5;
  /// How many terms an element adds to a state.
  static constexpr int adds = complex && Terms != terms::sum ? 2 : 1;
  static constexpr int parts = complex && Terms != terms::squares ? 2 : 1;
  /// Words from the counters of one part to those of the next, and before the first.
  static constexpr int part_words = first_digits + counters, first_counters = 1 + first_digits;
};

/// Writes the state of n elements from the rows' digits; one thread calls it. `kinds` are those of the parts; false if some of
/// them are special and must be counted.
template <class T, terms Terms>
__device__ __attribute__((noinline)) bool put_state(const std::int64_t* digits, const std::uint32_t* kinds, std::uint64_t n, op what,
                                                    std::int64_t* out) {
  using layout = state_layout<T, Terms>;
  using f = typename layout::f;
  constexpr int sum_unit = layout::floats ? f::min_exponent : 0;
  *out++ = static_cast<std::int64_t>(n);
  if constexpr (!layout::floats) {
    // Rows of Σx, or of Σx and Σx².
    constexpr int row = 6, squares_row = 8;
    if (Terms == terms::sum || what == op::norm2) {
      put_digits(out, 6, 0, digits + (Terms == terms::sum ? 0 : row), Terms == terms::sum ? row : squares_row, 0);
      put_counters(out + 6, n, special::ordinary);
    } else {  // moments of integers are kept as those of f64
      using d = exact::format<double>;
      put_digits(out, d::digits, d::min_exponent, digits, row, 0);
      put_counters(out + d::digits, n, special::ordinary);
      put_digits(out + d::digits + layout::counters, d::product_digits, 2 * d::min_exponent, digits + row, squares_row, 0);
    }
    return true;
  } else {
    constexpr int unit = Terms == terms::sum || Terms == terms::moments ? sum_unit : 2 * sum_unit;
    bool plain = true;
    for (int part = 0; part < layout::parts; ++part) {
      put_digits(out, layout::first_digits, unit, digits + part * layout::first_digits, layout::first_digits, unit);
      put_counters(out + layout::first_digits, n * layout::adds, kinds[part]);
      plain = plain && (kinds[part] & (special::nan | special::pos_inf | special::neg_inf)) == 0;
      out += layout::part_words;
    }
    if constexpr (Terms == terms::moments) {
      put_digits(out, layout::product_digits, 2 * sum_unit, digits + layout::first_digits, layout::product_digits, 2 * sum_unit);
    }
    return plain;
  }
}

/// How many NaNs, infinities and negative infinities a thread has seen in each part.
template <class T, terms Terms>
struct specials_seen {
  using layout = state_layout<T, Terms>;
  using number = typename layout::number;
  using f = typename layout::f;
  static constexpr int last = layout::parts - 1;
  bool magnitudes;
  std::uint32_t seen[layout::parts][3];

  explicit __device__ __forceinline__ specials_seen(bool of_magnitudes) : magnitudes(of_magnitudes), seen{} {}
  __device__ __forceinline__ void add(const T& x) {
    if constexpr (layout::complex) {
      number_seen(0, x.re);
      number_seen(last, x.im);
    } else {
      number_seen(0, x);
    }
  }
  __device__ __forceinline__ void add(const T& x, const T& y) {
    if constexpr (layout::complex) {
      product_seen(0, x.re, y.re, false);
      product_seen(0, x.im, y.im, true);
      product_seen(last, x.re, y.im, false);
      product_seen(last, x.im, y.re, false);
    } else {
      product_seen(0, x, y, false);
    }
  }
  /// Adds them to the counters of a state; all lanes of a warp call it.
  __device__ __forceinline__ void tell(std::int64_t* state) const {
    for (int part = 0; part < layout::parts; ++part) {
      std::int64_t* counters = state + layout::first_counters + part * layout::part_words + 1;
      for (int k = 0; k < 3; ++k) {
        const std::uint32_t all = warp_sum(seen[part][k]);
        if (lane_index() == 0 && all != 0)
          atomicAdd(reinterpret_cast<unsigned long long*>(counters + k), static_cast<unsigned long long>(all));
      }
    }
  }

 private:
  __device__ __forceinline__ void count(int part, bool nan, bool negative) {
    ++seen[part][nan ? 0 : negative && !magnitudes && Terms != terms::squares ? 2 : 1];
  }
  __device__ __forceinline__ void number_seen(int part, number x) {
    const auto b = f::to_bits(x);
    if (!f::is_finite(b)) count(part, f::is_nan(b), f::negative(b));
  }
  __device__ __forceinline__ void product_seen(int part, number x, number y, bool minus) {
    const auto p = f::to_bits(x), q = f::to_bits(y);
    if (f::is_finite(p) && f::is_finite(q)) return;
    const auto zero = [](typename f::bits b) { return static_cast<typename f::bits>(b & ~f::sign_mask) == 0; };
    count(part, f::is_nan(p) || f::is_nan(q) || zero(p) || zero(q), (f::negative(p) != f::negative(q)) != minus);
  }
};

/// Counts NaNs and infinities into the counters of a state, if `plain` says that there are some. Leaves at once otherwise.
template <terms Terms, class T, class... Ts>
__global__ void __launch_bounds__(256) count_specials_kernel(arrays<1 + sizeof...(Ts)> a, bool magnitudes, std::int64_t* state,
                                                             const std::uint32_t* plain) {
  await_stream();
  if (*plain != 0) return;
  specials_seen<T, Terms> seen(magnitudes);
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < a.n; i += threads) {
    const T x = load_item<T>(a.x[0] + static_cast<std::int64_t>(i) * a.stride[0]);
    if constexpr (Terms == terms::products) seen.add(x, load_item<T>(a.x[1] + static_cast<std::int64_t>(i) * a.stride[1]));
    else seen.add(x);
  }
  seen.tell(state);
}

}  // namespace wf::device::inline WF_BUILD
