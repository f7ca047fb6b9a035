// SPDX-License-Identifier: Apache-2.0
/// \file kernels.hpp
/// The hot loops, compiled once for each target and reached through one table of functions. They
/// know nothing of states: they hand back integers and floats that the accumulators fold in.
#pragma once

#include <cstdint>

namespace wf::cpu {

/// Elements in the unit of work that exact kernels retry with other windows: in L1, and few enough
/// adds a lane that levels never round.
inline constexpr std::int64_t tile = 4096;
/// A tile that fits no window goes to buckets, at most this many elements between two drains.
inline constexpr std::int64_t bucket_capacity = std::int64_t{1} << 16;

/// Memory is read faster in four places by turns than in one, for the hardware's prefetchers follow each. So what may be
/// read in any order, and is not in L1, is read as four runs beside each other.
inline constexpr int runs = 4;
inline constexpr std::int64_t least_for_runs = std::int64_t{1} << 17;  // bytes

inline constexpr int max_parts = 3;
inline constexpr int max_levels = 8;

/// What the exact extraction of one tile leaves: part p is the sum of sums[p][k]·2^exponents[p][k],
/// if `exact`.
struct extraction {
  std::int64_t sums[max_parts][max_levels];
  int exponents[max_parts][max_levels];
  int levels;
  /// The largest of the measured values (x for sums and moments, the rounded products for dot), NaNs left out.
  double largest;
  bool exact;
  bool special;  ///< where not exact: an infinity or a NaN may be why
};

/// How many elements or products of some are infinite or NaN; the product of 0 and an infinity is a NaN.
struct special_counts {
  std::int64_t nan, pos_inf, neg_inf;
  std::int64_t all() const { return nan + pos_inf + neg_inf; }
};

/// Asks the kernel to measure the tile first and to set its windows by that.
inline constexpr int measure_first = 4096;

/// Bits that one tile adds up: which numbers does a pair (x, y) of elements contribute?
enum class term : int { value, square, product, moments };  // x | x² | x·y | x and x²
inline constexpr int term_count = 4;

/// Tables of buckets, for numbers of wildly different exponents (simd/bucket.hpp): of f32; of f64,
/// which products of f32 are; of products of f64. Behind those of the first two are words for each
/// exponent (simd/exponents.hpp), which a kernel folds into the buckets.
enum class bucket_kind : int { narrow, wide, product };

/// Element k adds to copy k % copies. A bucket has `words`, padded to `stride`; word w of bucket b
/// counts units of 2^(units[w] + span·b).
struct bucket_shape {
  int copies, count, words, stride, span;
  int units[3];
  int extra;    ///< words behind the buckets
  int cleared;  ///< those, from the end, that are to be zero at first

  constexpr std::int64_t size() const { return std::int64_t{copies} * count * stride; }
  constexpr std::int64_t whole() const { return size() + extra; }
};
inline constexpr bucket_shape bucket_shapes[] = {{1, 16, 1, 1, 16, {-150}, 2048, 2048},
                                                 {8, 64, 2, 2, 32, {-1033, -1075}, 4104, 8},
                                                 {4, 128, 3, 4, 32, {-2059, -2105, -2150}, 0, 0}};

/// n <= tile. |measured| < 2^bound, else the answer says so by `largest`.
using extract_function = void (*)(const void* x, const void* y, std::int64_t n, int bound,
                                  extraction& out);
using extract_functions = extract_function[term_count][2][2];  // [term][f64?][few, more levels]
/// Adds to a table: 0 < n <= bucket_capacity less what it holds, and n <= tile. Returns what was left out.
using bucket_function = special_counts (*)(const void* x, const void* y, std::int64_t n, std::int64_t* sums);

/// Sums in pairs of doubles, and what they lost at most (simd/certify.hpp). Elements of even places, then of odd ones.
struct evidence {
  /// Sums of finite elements | the answer is NaN | no such sums, but perhaps scaled down, or up.
  enum what { sums, is_nan, hopeless, too_large, too_small } verdict = sums;
  bool zeros = true;                                     ///< every element, or one of each pair
  bool negative = true;                                  ///< the first element, and that of each run that was joined
  double values[2] = {}, values_rest[2] = {}, products[2] = {}, products_rest[2] = {};
  double lost_values = 0, lost_products = 0;
  // Given to the kernel: elements are multiplied by 2^scale, which is -certified_scale, 0 or certified_scale; it may look at the
  // first ones and say that they are too small.
  int scale = 0;
  bool first = false;
};
inline constexpr int certified_scale = 600;  // for f64: squares of the greatest, too, are then far from the end
/// What is added up: terms, and magnitudes in place of elements.
inline constexpr int certified_kinds = term_count + 1;
/// Any n. `out` is set anew, but for what is given.
using certify_function = void (*)(const void* x, const void* y, std::int64_t n, evidence& out);

/// Columns whose sums are certified together, at most.
inline constexpr std::int64_t most_columns = 512;
/// The same where nothing is kept of them but answers.
inline constexpr std::int64_t most_whole_columns = 1024;

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

/// Elements that few_sum takes at most.
inline constexpr std::int64_t most_of_few = 128;
/// The same of few_mean and few_squares.
inline constexpr std::int64_t most_of_few_moments = 32;

struct kernel_table {
  extract_functions extract[2];                // [infinities and NaNs as zeros?]
  special_counts (*specials[2][2])(const void* x, const void* y, std::int64_t n);  // [products?][f64?]
  bucket_function bucket[2][2];                // [products?][f64?]
  void (*fold[2])(std::int64_t* sums);         // the words behind narrow and wide buckets into them
  certify_function certify[2][2][certified_kinds];  // [f64?]; of f32 [plain, anchored], of f64 [anchored, scaled]
  // Columns side by side (simd/certify_columns.hpp and its neighbours).
  void (*certify_columns[2][2])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* s, double* c, double* lost);  // [f64?][magnitudes?]
  /// The sums of whole columns, or their means, rounded to nearest; false where one is uncertain, and then none is written.
  bool (*sum_columns[2][2])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool cached, void* out);  // [f64?][mean?]
  /// Rows of n elements, up to 4096; with gaps in every second place, a vector of them or more, of 4 or 8 bytes.
  void (*certify_rows[2][2][2])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* s, double* c, double* lost);  // [gaps?][f64?][magnitudes?]
  void (*certify_half_rows[2][2])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* s, double* c, double* lost);  // [bf16?][magnitudes?]
  void (*integer_rows[2][8])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, std::uint64_t* sums);  // [gaps?]; of 4 and 8 bytes any n
  /// The sum of n elements, 1 <= n <= most_of_few, rounded to nearest, whatever the processor's mode is; false where another way must be tried. Null likewise.
  bool (*few_sum[2])(const void* x, std::int64_t n, void* out);
  /// The same of means, sums of squares and variances (a quotient by `divisor`, which is 0 for sums), 1 <= n <= most_of_few_moments, in IEEE arithmetic.
  bool (*few_mean[2])(const void* x, std::int64_t n, void* out);
  bool (*few_squares[2][2])(const void* x, std::int64_t n, double divisor, void* out);  // [f64?][root?]
  void (*round_columns[2][2])(const double* s, const double* c, const double* lost, double n, std::int64_t count, void* out, unsigned char* certain);  // [f64?][mean?]
  // The same of squares, and with them of elements (f32, f64 and the integers below 64 bits, as in `lane`; the others are null).
  void (*square_columns[lane_count][2])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart);
  /// The same for rows of n integers, up to 4096: with elements of up to 32 bits, without them of 32 bits; the others are null.
  void (*square_rows[lane_count][2])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, double* at, std::int64_t apart);
  void (*exact_square_columns[2][2])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, double* at, std::int64_t apart);  // [f64?][values?]
  void (*round_squares[2][2])(const double* at, std::int64_t apart, double n, double divisor, std::int64_t count, void* out, unsigned char* certain);  // [f64?][root?]
  void (*extreme_columns[lane_count])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, bool begin, bool cached, void* least, void* greatest);
  void (*extreme_rows[2][lane_count])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t n, void* least, void* greatest);  // [gaps?]; any n
  void (*elements_of_keys[lane_count])(const void* keys, const void* others, std::int64_t count, std::int64_t nan, void* out);
  void (*integer_columns[8])(const void* x, std::int64_t stride, std::int64_t rows, std::int64_t count, std::uint64_t* sums);
  void (*widen_half[2])(const void* x, std::int64_t n, float* out);  // f16, bf16
  /// Any n; the same bits on every target.
  double (*fast_sum[2])(const void* x, std::int64_t n);
  double (*fast_dot[2])(const void* x, const void* y, std::int64_t n);
  moments (*fast_moments[2])(const void* x, std::int64_t n, double centre);
  std::uint64_t (*integer_sum[8])(const void* x, std::int64_t n);  // mod 2^64
  /// The extremes of four runs of n elements, n > 0, that begin `apart` elements from each other; if that is 0, of one.
  extremes (*extremes_of[lane_count])(const void* x, std::int64_t n, std::int64_t apart);
  /// The first index whose key is the given one (zeros of either sign are one), or n.
  std::int64_t (*find[lane_count])(const void* x, std::int64_t n, std::int64_t key);
  std::int64_t (*find_nan[lane_count])(const void* x, std::int64_t n);
  std::int64_t (*count_nonzero[lane_count])(const void* x, std::int64_t n);
  bool (*all_negative_zero[2])(const void* x, std::int64_t n);
};

}  // namespace wf::cpu
