// SPDX-License-Identifier: Apache-2.0
/// \file exact_buckets.cuh
/// Where a thread keeps an exact sum of anything: a private set of int64 slots in shared memory.
/// exact_thread.cuh has buckets tuned for sums of f32 and f64; this one serves products too.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/exact/digits.hpp>
#include <warpfold/detail/exact/format.hpp>
#include <warpfold/detail/gpu/accumulate/exact_thread.cuh>

namespace wf::device::inline WF_BUILD {

/// Numbers mantissa·2^p of Mantissa bits, p <= Greatest. Slot j weighs 2^(Spacing·j). A number that
/// leaves room for sums in one slot is added to one, else it is cut into parts of Spacing bits.
template <int Mantissa, int Greatest, int Spacing, int Sets>
struct slot_buckets {
  static constexpr int shifted_bits = Mantissa + Spacing - 1;
  static constexpr int parts = shifted_bits <= 56 ? 1 : (shifted_bits + Spacing - 1) / Spacing;
  static constexpr int slots = (Greatest + Mantissa + Spacing - 1) / Spacing + 1;  // the last: carries only
  static constexpr int spare_bits = 63 - (parts == 1 ? shifted_bits : Spacing);
  static constexpr int adds_between_carries = spare_bits > 20 ? 1 << 20 : (1 << spare_bits) - 4;
  static constexpr std::size_t shared_bytes = sizeof(std::int64_t) * slots * Sets;
  using mantissa = std::conditional_t<(Mantissa > 64), exact::u128, std::uint64_t>;
  static constexpr std::uint64_t part_mask = (std::uint64_t{1} << Spacing) - 1;

  std::int64_t* bucket;  ///< slot j is bucket[j * Sets]

  __device__ __forceinline__ void start(unsigned char* shared, int own = static_cast<int>(threadIdx.x)) {
    bucket = reinterpret_cast<std::int64_t*>(shared) + own;
#pragma unroll 4
    for (int j = 0; j < slots; ++j) bucket[j * Sets] = 0;
  }

  __device__ __forceinline__ void add(mantissa m, int p, bool negative) {
    const int slot = static_cast<int>(static_cast<unsigned>(p) / Spacing);
    const int shift = p - Spacing * slot;
    std::int64_t* s = bucket + slot * Sets;
    if constexpr (Mantissa < 31 && Spacing == 32) {
      // (-m)·(-2^s) is one wide multiply-add; +2^31 would not fit its signed factor.
      const auto minus = static_cast<std::int32_t>(negative ? m : 0 - m);
      const auto weight = static_cast<std::int32_t>(0xffffffffu << shift);
      s[0] += std::int64_t{minus} * weight;
    } else if constexpr (parts == 1) {
      const auto v = static_cast<std::int64_t>(m << shift);
      s[0] += negative ? -v : v;
    } else {
      std::int64_t part[parts];
#pragma unroll
      for (int j = 0; j < parts; ++j) {
        const auto bits = static_cast<std::uint64_t>(j == 0 ? m << shift : m >> (Spacing * j - shift));
        part[j] = static_cast<std::int64_t>(bits & part_mask);
        part[j] = s[j * Sets] + (negative ? -part[j] : part[j]);
      }
#pragma unroll
      for (int j = 0; j < parts; ++j) s[j * Sets] = part[j];
    }
  }

  /// Adds v·2^place, v within ±2^62. It counts as one addition.
  __device__ __forceinline__ void add_scaled(std::int64_t v, int place) {
    const int slot = place / Spacing;
    const std::uint64_t m = v < 0 ? 0u - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
    const exact::u128 shifted = exact::u128{m} << (place - Spacing * slot);
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const auto a = static_cast<std::int64_t>(static_cast<std::uint64_t>(shifted >> (Spacing * j)) & part_mask);
      if (a != 0) bucket[(slot + j) * Sets] += v < 0 ? -a : a;
    }
  }

  __device__ __forceinline__ void carry() {
    std::int64_t c = 0;
#pragma unroll 4
    for (int j = 0; j < slots - 1; ++j) {
      const std::int64_t v = bucket[j * Sets] + c;
      bucket[j * Sets] = v & static_cast<std::int64_t>(part_mask);
      c = v >> Spacing;
    }
    bucket[(slots - 1) * Sets] += c;
  }
};

/// Sums of f64: slot j holds multiples of 2^(51j), in units of the least number. An element is two parts, cut by
/// additions that round as in anchored_doubles.cuh, half as many operations as shifts take: what is left below 2^(51j + 52)
/// goes to slot j, and the multiples of that to slot j + 1, doubled.
template <int Sets>
struct double_buckets : slot_buckets<53, exact::format<double>::max_shift + 1, 51, Sets> {
  static constexpr int spacing = 51;
  /// Parts are within 2^52: 2000 of them and a carry stay below 2^63.
  static constexpr int adds_between_carries = 2000;

  /// An infinity or a NaN spoils digits that nobody reads.
  __device__ __forceinline__ void add(double x) {
    const std::uint32_t magnitude = static_cast<std::uint32_t>(__double2hiint(x)) & 0x7fffffffu;
    const int slot = static_cast<int>((magnitude >> 20) * 1285 >> 16);  // (field - 1) / 51, and 0 of 0
    int anchor = slot * (spacing << 20) + 0x180000;  // the upper word of 1.5·2^52 units of the slot
    if (magnitude >= 2041u << 20) {  // the upper anchor would be infinite
      x *= 0x1p-51;
      anchor -= spacing << 20;
    }
    const int upper_anchor = anchor + (52 << 20);
    const double with_upper = x + __hiloint2double(upper_anchor, 0);
    const double left = x - (with_upper - __hiloint2double(upper_anchor, 0));
    const double with_lower = left + __hiloint2double(anchor, 0);
    std::int64_t* s = this->bucket + slot * Sets;
    const auto upper = static_cast<std::uint64_t>(__double_as_longlong(with_upper)) -
                       (std::uint64_t{static_cast<std::uint32_t>(upper_anchor)} << 32);
    const auto lower = static_cast<std::uint64_t>(__double_as_longlong(with_lower)) -
                       (std::uint64_t{static_cast<std::uint32_t>(anchor)} << 32);
    const auto s0 = static_cast<std::uint64_t>(s[0]) + lower;
    const auto s1 = static_cast<std::uint64_t>(s[Sets]) + 2 * upper;
    s[0] = static_cast<std::int64_t>(s0);
    s[Sets] = static_cast<std::int64_t>(s1);
  }
};

/// Digit k of Count, from the pieces of slots Spacing bits apart: no digit takes more than one slot's
/// beginning. The top digit takes all that is above it.
template <int Spacing, int Slots, int Count>
__device__ __forceinline__ std::int64_t digit_of_pieces(const piece_room<Slots>& r, int k) {
  static_assert(Spacing >= 32 && Spacing < 64);
  std::int64_t v = 0;
#pragma unroll
  for (int up = 0; up < 3; ++up) {
    const int from = k - up;  // the digit in which the slot begins
    if (from < 0) continue;
    const int slot = (32 * from + Spacing - 1) / Spacing;
    const int at = Spacing * slot - 32 * from;
    if (slot >= Slots || at >= 32) continue;
    const std::int64_t low = r.low[slot], high = r.high[slot];
    const bool top = k == Count - 1;
    const auto cut = [&](std::int64_t x) {  // its bits below 2^32, shifted, for this digit
      const auto ux = static_cast<std::uint64_t>(x) << at;
      return static_cast<std::int64_t>(top ? ux : ux & 0xffffffffu);
    };
    if (up == 0) {
      v += cut(low);
      if (top) v += static_cast<std::int64_t>(static_cast<std::uint64_t>(high) << 32 << at);
    }
    if (up == 1) v += (low >> (32 - at)) + cut(high);
    if (up == 2) v += high >> (32 - at);
  }
  return v;
}

/// A finite element of T as mantissa·2^(p + min_exponent): an infinity or a NaN gives some number that
/// spoils digits which nobody reads.
template <class T>
struct decoded {
  using f = exact::format<T>;
  std::uint64_t mantissa;
  int p;
  bool negative;
  __device__ __forceinline__ explicit decoded(T x) {
    const auto b = f::to_bits(x);
    const auto magnitude = static_cast<typename f::bits>(b & ~f::sign_mask);
    const int e = static_cast<int>(magnitude >> f::mantissa_bits) - 1;
    p = e > 0 ? e : 0;
    mantissa = magnitude - (static_cast<std::uint64_t>(p) << f::mantissa_bits);
    negative = f::negative(b);
  }
};

/// The special values that a sum of elements of T has had. For elements up to 32 bits the greatest bit
/// patterns, as signed and as unsigned numbers, tell: two operations per element.
template <class T>
struct special_watch {
  using f = exact::format<T>;
  static constexpr bool wide = sizeof(T) == 8;
  static constexpr int shift = wide ? 0 : 32 - 8 * static_cast<int>(sizeof(T));
  static constexpr std::uint32_t infinity = wide ? 0 : static_cast<std::uint32_t>(f::infinity << shift);
  std::uint32_t seen;
  std::int32_t greatest;
  std::uint32_t greatest_bits;
  __device__ __forceinline__ void start() {
    seen = 0;
    greatest = INT32_MIN;  // -0 is the least of all, as a signed number
    greatest_bits = 0;
  }
  __device__ __forceinline__ void add(T x) {
    const auto b = f::to_bits(x);
    if constexpr (wide) {
      if (!f::is_finite(b)) tell(b);
      greatest = max(greatest, static_cast<std::int32_t>(b >> 32));
      greatest_bits |= static_cast<std::uint32_t>(b);
    } else {
      const std::uint32_t w = static_cast<std::uint32_t>(b) << shift;
      greatest = max(greatest, static_cast<std::int32_t>(w));
      greatest_bits = max(greatest_bits, w);
    }
  }
  /// Adds a product as one element.
  __device__ __forceinline__ void add_product(T x, T y) {
    const auto a = f::to_bits(x), b = f::to_bits(y);
    if (!f::is_finite(a) || !f::is_finite(b)) {  // rare: the sum is decided by it
      const bool nan = f::is_nan(a) || f::is_nan(b) || is_zero(a) || is_zero(b);
      tell(nan ? f::quiet_nan : static_cast<typename f::bits>(f::infinity | ((a ^ b) & f::sign_mask)));
    }
    if ((seen & special::ordinary) == 0) {
      const bool minus_zero = (is_zero(a) || is_zero(b)) && f::negative(a) != f::negative(b);
      if (!minus_zero) seen |= special::ordinary;
    }
  }
  /// x², which is never -0.
  __device__ __forceinline__ void add_square(T x) {
    const auto b = f::to_bits(x);
    if (!f::is_finite(b)) tell(static_cast<typename f::bits>(b & ~f::sign_mask));
    seen |= special::ordinary;
  }
  __device__ __forceinline__ std::uint32_t kinds() const {
    std::uint32_t k = seen;
    if constexpr (wide) {
      if (greatest != INT32_MIN || greatest_bits != 0) k |= special::ordinary;
    } else {
      if (greatest != INT32_MIN) k |= special::ordinary;
      if (greatest > static_cast<std::int32_t>(infinity) || greatest_bits > (infinity | 0x80000000u)) k |= special::nan;
      if (greatest == static_cast<std::int32_t>(infinity)) k |= special::pos_inf;
      if (greatest_bits == (infinity | 0x80000000u)) k |= special::neg_inf;
    }
    // What is special is not -0 either.
    return k == 0 ? 0 : k | special::ordinary;
  }

 private:
  static __device__ __forceinline__ bool is_zero(typename f::bits b) {
    return static_cast<typename f::bits>(b & ~f::sign_mask) == 0;
  }
  __device__ __forceinline__ void tell(typename f::bits b) {
    seen |= f::is_nan(b) ? special::nan : f::negative(b) ? special::neg_inf : special::pos_inf;
  }
};

}  // namespace wf::device::inline WF_BUILD
