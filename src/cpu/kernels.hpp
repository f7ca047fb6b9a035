// SPDX-License-Identifier: Apache-2.0
/// \file kernels.hpp
/// The hot loops, compiled once for each target and reached through one table of functions. They
/// know nothing of states: they hand back integers and floats that the accumulators fold in.
#pragma once

#include <cstdint>

namespace wf::cpu {

/// Elements in the unit of work that exact kernels retry with other windows: in L1, and few enough
/// adds a lane that bins never round.
inline constexpr std::int64_t tile = 4096;
/// A tile that fits no window goes to buckets, at most this many elements between two drains.
inline constexpr std::int64_t bucket_capacity = 8192;

inline constexpr int max_parts = 3;
inline constexpr int max_bins = 8;

/// What the exact extraction of one tile leaves: part p is the sum of sums[p][k]·2^exponents[p][k],
/// if `exact`.
struct extraction {
  std::int64_t sums[max_parts][max_bins];
  int exponents[max_parts][max_bins];
  int bins;
  /// Of the measured values (x for sums and moments, the rounded products for dot), NaNs left out.
  double largest;
  bool exact;
};

/// Asks the kernel to measure the tile first and to set its windows by that.
inline constexpr int measure_first = 4096;

/// Bits that one tile adds up: which numbers does a pair (x, y) of elements contribute?
enum class term : int { value, square, product, moments };  // x | x² | x·y | x and x²
inline constexpr int term_count = 4;

/// Numbers of wildly different exponents: each splits into a high and a low half, added in plain f64
/// to the bucket of its top seven exponent bits. Buckets from `scaled_from` on hold x·2^-64, those
/// below x·2^64: nothing overflows, and halves of small numbers are not subnormal, which is slow.
struct buckets {
  static constexpr int copies = 4;
  static constexpr int count = 128;
  static constexpr int scaled_from = 64;
  static constexpr int scaled_by = 64;
  alignas(64) double sums[max_parts][copies][count][2];
};

/// n <= tile. |measured| < 2^bound, else the answer says so by `largest`.
using extract_function = void (*)(const void* x, const void* y, std::int64_t n, int bound,
                                  extraction& out);
/// n <= bucket_capacity less what the buckets hold. True if a NaN or an infinity was left out.
using bucket_function = bool (*)(const void* x, const void* y, std::int64_t n, buckets& out);

/// The least and greatest key (see keys.hpp) and whether a NaN was seen.
struct extremes {
  std::int64_t least, greatest;  // u64: the bits
  bool nan;
};

struct moments {
  double mean_error;  // Σ(x - centre)
  double squares;     // Σ(x - centre)²
};

/// Element types of `extremes`, `count_nonzero` and integer sums; floats by their keys.
enum class lane : int { i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 };
inline constexpr int lane_count = 12;

struct kernel_table {
  extract_function extract[term_count][2][3];  // [term][f64?][few, more, many bins]: null if none
  bucket_function bucket[term_count][2];       // null where `many` is for any data, and for products
                                               // of f64, which overflow f64
  void (*widen_half[2])(const void* x, std::int64_t n, float* out);  // f16, bf16
  /// Any n; the same bits on every target.
  double (*fast_sum[2])(const void* x, std::int64_t n);
  double (*fast_dot[2])(const void* x, const void* y, std::int64_t n);
  moments (*fast_moments[2])(const void* x, std::int64_t n, double centre);
  std::uint64_t (*integer_sum[8])(const void* x, std::int64_t n);  // mod 2^64
  extremes (*extremes_of[lane_count])(const void* x, std::int64_t n);
  /// The first index whose key is the given one (zeros of either sign are one), or n.
  std::int64_t (*find[lane_count])(const void* x, std::int64_t n, std::int64_t key);
  std::int64_t (*find_nan[lane_count])(const void* x, std::int64_t n);
  std::int64_t (*count_nonzero[lane_count])(const void* x, std::int64_t n);
  bool (*all_negative_zero[2])(const void* x, std::int64_t n);
};

}  // namespace wf::cpu
