// SPDX-License-Identifier: Apache-2.0
/// \file logsumexp.cuh
/// Folds of log Σ exp(x), native in f64, of integers and f64 by tables in shared memory. At the full speed of an
/// H100's memory a multiprocessor has 76 instructions, 38 operations of FP64 and 76 bytes of shared memory for each
/// f64, and an eighth of that for each i8; an exp of CUDA's takes some 45 instructions in a row.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/folds.cuh>
#include <warpfold/detail/gpu/accumulate/keys.cuh>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>

namespace wf::device::inline WF_BUILD {

/// Doubles in shared memory, each sixteen times side by side: a copy for each lane of half a warp. One access of 64 bits serves
/// half a warp, so lanes never get in each other's way, whatever they look up.
template <int Entries>
struct lane_table {
  static constexpr std::uint32_t entry_bytes = 128;
  static constexpr std::size_t bytes = Entries * entry_bytes;

  /// entry(0), entry(1), … by all threads of the block; a barrier must follow.
  template <class F>
  static __device__ __forceinline__ void fill(unsigned char* shared, F entry) {
    for (unsigned i = threadIdx.x; i < Entries; i += blockDim.x) {
      const double value = entry(static_cast<int>(i));
      auto* copies = reinterpret_cast<double*>(shared + i * entry_bytes);
      for (unsigned c = 0; c < 16; ++c) copies[(i + c) % 16] = value;  // lanes begin at different banks
    }
  }
  /// This lane's copy of entry 0.
  static __device__ __forceinline__ const unsigned char* own(const unsigned char* shared) {
    return shared + threadIdx.x % 16 * 8;
  }
};

/// The entry that lies so many bytes behind entry 0.
__device__ __forceinline__ double looked_up(const unsigned char* own, std::uint32_t bytes) {
  return *reinterpret_cast<const double*>(own + bytes);
}

/// 2^(j/64), rounded.
__device__ __forceinline__ double root_of_two(int j) {
  static constexpr double root[64] = {
      0x1p0, 0x1.02c9a3e778061p0, 0x1.059b0d3158574p0, 0x1.0874518759bc8p0, 0x1.0b5586cf9890fp0,
      0x1.0e3ec32d3d1a2p0, 0x1.11301d0125b51p0, 0x1.1429aaea92dep0, 0x1.172b83c7d517bp0, 0x1.1a35beb6fcb75p0,
      0x1.1d4873168b9aap0, 0x1.2063b88628cd6p0, 0x1.2387a6e756238p0, 0x1.26b4565e27cddp0, 0x1.29e9df51fdee1p0,
      0x1.2d285a6e4030bp0, 0x1.306fe0a31b715p0, 0x1.33c08b26416ffp0, 0x1.371a7373aa9cbp0, 0x1.3a7db34e59ff7p0,
      0x1.3dea64c123422p0, 0x1.4160a21f72e2ap0, 0x1.44e086061892dp0, 0x1.486a2b5c13cdp0, 0x1.4bfdad5362a27p0,
      0x1.4f9b2769d2ca7p0, 0x1.5342b569d4f82p0, 0x1.56f4736b527dap0, 0x1.5ab07dd485429p0, 0x1.5e76f15ad2148p0,
      0x1.6247eb03a5585p0, 0x1.6623882552225p0, 0x1.6a09e667f3bcdp0, 0x1.6dfb23c651a2fp0, 0x1.71f75e8ec5f74p0,
      0x1.75feb564267c9p0, 0x1.7a11473eb0187p0, 0x1.7e2f336cf4e62p0, 0x1.82589994cce13p0, 0x1.868d99b4492edp0,
      0x1.8ace5422aa0dbp0, 0x1.8f1ae99157736p0, 0x1.93737b0cdc5e5p0, 0x1.97d829fde4e5p0, 0x1.9c49182a3f09p0,
      0x1.a0c667b5de565p0, 0x1.a5503b23e255dp0, 0x1.a9e6b5579fdbfp0, 0x1.ae89f995ad3adp0, 0x1.b33a2b84f15fbp0,
      0x1.b7f76f2fb5e47p0, 0x1.bcc1e904bc1d2p0, 0x1.c199bdd85529cp0, 0x1.c67f12e57d14bp0, 0x1.cb720dcef9069p0,
      0x1.d072d4a07897cp0, 0x1.d5818dcfba487p0, 0x1.da9e603db3285p0, 0x1.dfc97337b9b5fp0, 0x1.e502ee78b3ff6p0,
      0x1.ea4afa2a490dap0, 0x1.efa1bee615a27p0, 0x1.f50765b6e454p0, 0x1.fa7c1819e90d8p0};
  return root[j];
}
using roots_of_two = lane_table<64>;

/// exp(-u) of 0 <= u <= 708, by a table of roots_of_two: 2^k · 2^(j/64) · exp(r), |r| <= log(2) / 128. The series ends
/// with its fifth term; what the sixth, r^6/720, would add is taken up by the fourth as far as it can be, to 0.03 ulp.
/// The rounding of the table and the last one bring that to 1.05 ulp at most, 1.02 in tests/gpu_engine. Ten
/// operations of FP64, each rounded as IEEE 754 says, so simt gives a GPU's bits.
__device__ __forceinline__ double exp_minus(double u, const unsigned char* own) {
  constexpr double to_integer = 0x1.8p52;  // behind it, a double's last bits are an integer's
  const double moved = fma(u, -0x1.71547652b82fep+6, to_integer);
  const auto k = static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, moved));
  const double whole = moved - to_integer;
  const double r = fma(whole, -0x1.abc9e3b39803fp-62, fma(whole, -0x1.62e42fefa39efp-7, -u));
  const auto root = __builtin_bit_cast(std::uint64_t, looked_up(own, (k & 63) * roots_of_two::entry_bytes));
  const std::uint32_t high = static_cast<std::uint32_t>(root >> 32) + ((k & ~63u) << 14);
  const auto scale = __builtin_bit_cast(double, std::uint64_t{high} << 32 | static_cast<std::uint32_t>(root));
  const double r2 = r * r;
  const double q = fma(r2, fma(r, 0x1.1111111111111p-7, 0x1.555568e243846p-5), fma(r, 0x1.5555555555555p-3, 0.5));
  return fma(scale, fma(r2, q, r), scale);
}

/// What the folds but those of bytes have in common: sums of exp(x - largest).
template <class T>
struct shifted_sums {
  struct state {
    double largest, sum;  ///< sum·exp(largest); a NaN or +inf among the elements makes sum NaN or inf
  };
  static constexpr int inputs = 1, item_size = static_cast<int>(sizeof(T)), loads = 4;
  static constexpr bool packs = true;
  static constexpr int items = 16 / item_size;

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// The largest of nothing and of -inf alone: the least finite number, from which -inf is infinitely far.
  static constexpr double lowest = std::numeric_limits<double>::lowest();

  __device__ __forceinline__ state identity() const { return {lowest, 0}; }
  __device__ __forceinline__ state combine(const state& a, const state& b) const {
    const bool first = a.largest >= b.largest;
    const double largest = first ? a.largest : b.largest, smaller = first ? b.largest : a.largest;
    const double sum = first ? a.sum : b.sum, other = first ? b.sum : a.sum;
    if constexpr (floating<T> && sizeof(T) == 2) return {largest, sum + scaled(other, static_cast<double>(exp(static_cast<float>(smaller - largest))))};  // f32, as the exp of elements
    else return {largest, sum + shifted(other, smaller - largest)};
  }
  __device__ __forceinline__ void write(const state& s, std::uint64_t, void* out) const {
    using result = mean_type<T>;
    double v = s.largest + log(s.sum);
    if (s.sum != s.sum || s.sum == infinity) v = s.sum;
    if (s.sum == 0) v = -infinity;
    write_as<result>(out, from_double<result>(v));
  }
  /// The host's largest of nothing is -inf.
  __device__ __forceinline__ void write_state(const state& s, std::uint64_t, std::int64_t, std::uint64_t* words) const {
    words[0] = __builtin_bit_cast(std::uint64_t, s.largest == lowest && s.sum == 0 ? -infinity : s.largest);
    words[1] = __builtin_bit_cast(std::uint64_t, s.sum);
  }

 protected:
  /// sum·e; an infinity stays one where e is 0.
  static __device__ __forceinline__ double scaled(double sum, double e) { return sum - sum == 0 ? sum * e : sum; }
  /// sum·exp(by)
  template <class V>
  static __device__ __forceinline__ double shifted(double sum, V by) {
    return sum - sum == 0 ? sum * static_cast<double>(exp(by)) : sum;
  }
};

/// Floats take exp in E, those below f64 in f32 by default.
template <class T, class E = float>
struct float_logsumexp_fold : shifted_sums<T> {
  using base = shifted_sums<T>;
  using state = typename base::state;
  using value = std::conditional_t<sizeof(T) == 8, double, float>;
  static constexpr value lowest = std::numeric_limits<value>::lowest(), top = std::numeric_limits<value>::infinity();
  struct running {
    value largest;
    double sum;
  };

  __device__ __forceinline__ running start() const { return {lowest, 0}; }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
    value x[base::items];
#pragma unroll
    for (int i = 0; i < base::items; ++i) x[i] = value_of(item_of<T>(p[0], i));
    take(s, x);
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    const value v = value_of(x);
    const E by = static_cast<E>(v) - static_cast<E>(s.largest);
    const bool rises = v > s.largest && v < top;
    const auto e = static_cast<double>(exp(rises ? -by : by));  // the exponential of the largest so far, or of this one
    if (rises) {
      s.sum = base::scaled(s.sum, e) + 1;
      s.largest = v;
    } else {
      s.sum += e;
    }
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const {
    return {static_cast<double>(s.largest), s.sum};
  }

 private:
  static __device__ __forceinline__ value value_of(const T& x) {
    if constexpr (sizeof(T) == 8) return x;
    else return to_float(x);
  }
  template <int Count>
  static __device__ __forceinline__ void take(running& s, const value (&x)[Count]) {
    value m = x[0];
#pragma unroll
    for (int i = 1; i < Count; ++i) m = fmax(m, x[i]);  // the number, where the other is a NaN
    if (m == top) {
      m = s.largest;
#pragma unroll
      for (int i = 0; i < Count; ++i) m = x[i] > m && x[i] < top ? x[i] : m;
    }
    if (m > s.largest) {
      s.sum = base::shifted(s.sum, static_cast<E>(s.largest) - static_cast<E>(m));
      s.largest = m;
    }
    E part = 0;  // at most 8 terms up to 1, or infinite, or NaN
#pragma unroll
    for (int i = 0; i < Count; ++i) part += exp(static_cast<E>(x[i]) - static_cast<E>(s.largest));
    s.sum += static_cast<double>(part);
  }
};

/// f64, by exp_minus. What is farther than 708 below the largest counts as 0: 2^63 such elements are below 2^-958 of it.
struct double_logsumexp_fold : shifted_sums<double> {
  static constexpr std::size_t shared_bytes = roots_of_two::bytes;
  struct running {
    double largest, sum;
    const unsigned char* roots;
  };

  __device__ __forceinline__ void fill(unsigned char* shared) const { roots_of_two::fill(shared, root_of_two); }
  __device__ __forceinline__ running start(const unsigned char* shared) const {
    return {lowest, 0, roots_of_two::own(shared)};
  }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
    const double x = item_of<double>(p[0], 0), y = item_of<double>(p[0], 1);
    const double u = s.largest - x, v = s.largest - y;
    if (is_ordinary(u) && is_ordinary(v)) {
      s.sum += exp_minus(u, s.roots) + exp_minus(v, s.roots);
    } else {
#pragma unroll 1
      for (int i = 0; i < 2; ++i) take(s, i == 0 ? x : y);
    }
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, double x) const { take(s, x); }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const { return {s.largest, s.sum}; }

 private:
  /// From 0 to 708, nearly: by the upper half of the bits alone, which are those of an integer in the same order.
  static __device__ __forceinline__ bool is_ordinary(double u) {
    return static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, u) >> 32) < 0x40862000;
  }
  /// Any element: the new largest, infinities and NaNs too.
  static __device__ __forceinline__ void take(running& s, double x) {
    const double u = fabs(s.largest - x);
    const double e = is_ordinary(u) ? exp_minus(u, s.roots) : 0;
    if (x != x || x == infinity) {
      s.sum += x;
    } else if (x > s.largest) {
      s.sum = s.sum - s.sum == 0 ? fma(s.sum, e, 1.0) : s.sum;
      s.largest = x;
    } else {
      s.sum += e;
    }
  }
};

/// Integers of 16 bits and more: how far an element is below the largest so far is an integer, of which a table has
/// the exp. From 95 on it has 0: 2^63 such elements are below 2^-74 of the largest one. A pack whose own largest
/// lies that far below, as nearly all random ones do, is left at that. The library has a kernel a size, which learns of the sign when it runs: elements
/// without one have their highest bit flipped.
template <class T>
struct integer_logsumexp_fold : shifted_sums<T> {
  using base = shifted_sums<T>;
  using state = typename base::state;
  using with_sign = std::make_signed_t<T>;
  using keys = pack_keys<with_sign>;
  using key = typename keys::wide;
  using distance = std::make_unsigned_t<key>;
  static constexpr int reach = 95;
  using powers = lane_table<reach + 1>;
  static constexpr std::size_t shared_bytes = powers::bytes;
  static constexpr key least = std::numeric_limits<key>::min();
  bool flips = std::is_unsigned_v<T>;
  struct running {
    key largest, bar;  ///< bar: what is below it does not count
    double sum;
    const unsigned char* powers_of_e;
  };

  __device__ __forceinline__ void fill(unsigned char* shared) const {
    powers::fill(shared, [](int i) { return i < reach ? exp(-static_cast<double>(i)) : 0; });
  }
  __device__ __forceinline__ running start(const unsigned char* shared) const {
    return {least, least, 0, powers::own(shared)};
  }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
    constexpr std::uint32_t highest = base::item_size == 2 ? 0x80008000u : 0x80000000u;
    pack q = p[0];
#pragma unroll
    for (int j = base::item_size == 8 ? 1 : 0; j < 4; j += base::item_size == 8 ? 2 : 1) q.word[j] ^= flips ? highest : 0;
    typename keys::word low = keys::greatest_word, high = keys::least_word;
    keys::add(low, high, q);
    const key m = keys::greatest_of(high);
    if (m < s.bar) return;
    raise(s, m);
    double part[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < base::items; ++i) part[i % 2] += below(s, keys::of(item_of<with_sign>(q, i)));
    s.sum += part[0] + part[1];
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    const key k = keys::of(static_cast<with_sign>(flipped(static_cast<std::make_unsigned_t<T>>(x))));
    raise(s, k);
    s.sum += below(s, k);
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const {
    if (s.sum == 0) return base::identity();
    const auto largest = static_cast<std::make_unsigned_t<T>>(s.largest);
    return {flips ? static_cast<double>(flipped(largest)) : static_cast<double>(static_cast<with_sign>(largest)), s.sum};
  }

 private:
  __device__ __forceinline__ std::make_unsigned_t<T> flipped(std::make_unsigned_t<T> x) const {
    return static_cast<std::make_unsigned_t<T>>(x ^ (std::uint64_t{flips} << (8 * base::item_size - 1)));
  }
  /// exp(x - largest)
  static __device__ __forceinline__ double below(const running& s, key x) {
    const distance d = static_cast<distance>(s.largest) - static_cast<distance>(x);
    return looked_up(s.powers_of_e, static_cast<std::uint32_t>(d < reach ? d : reach) * powers::entry_bytes);
  }
  static __device__ __forceinline__ void raise(running& s, key m) {
    if (m <= s.largest) return;
    const key before = s.largest;
    s.largest = m;
    s.sum *= below(s, before);
    s.bar = m < least + reach ? least : m - reach;
  }
};

/// The words of a state whose sum is that of exp(x) itself: its largest is 0, or of nothing the host's -inf.
__device__ __forceinline__ void put_unshifted(double sum, std::uint64_t n, std::uint64_t* words) {
  words[0] = n == 0 ? std::uint64_t{0xfff} << 52 : 0;
  words[1] = __builtin_bit_cast(std::uint64_t, sum);
}

/// i8 and u8: a table of exp(x) for each of the 256, in no need of the largest: exp(255)·2^63 is far from overflow.
/// An H100's shared memory looks 16 entries up a clock where memory brings 13 elements. (Multiplying one or two of a
/// pack's 16 from powers of e instead, to spare it, took 1.01 and 1.06 times as long.) The library has one kernel of both.
template <class T>
struct byte_logsumexp_fold {
  using state = double;
  static constexpr int inputs = 1, item_size = 1, loads = 4;
  static constexpr bool packs = true;
  using powers = lane_table<256>;
  static constexpr std::size_t shared_bytes = powers::bytes;
  bool flips = std::is_unsigned_v<T>;  ///< elements have no sign
  struct running {
    double sum[4];
    const unsigned char* powers_of_e;
  };

  __device__ __forceinline__ void fill(unsigned char* shared) const {
    powers::fill(shared, [this](int i) { return exp(static_cast<double>(flips ? i : static_cast<std::int8_t>(i))); });
  }
  __device__ __forceinline__ state identity() const { return 0; }
  __device__ __forceinline__ state combine(state a, state b) const { return a + b; }
  __device__ __forceinline__ running start(const unsigned char* shared) const {
    return {{0, 0, 0, 0}, powers::own(shared)};
  }
  __device__ __forceinline__ void add(running& s, const pack (&p)[1], std::uint64_t) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t w = p[0].word[j];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        s.sum[i] += looked_up(s.powers_of_e, (i == 0 ? w << 7 : w >> (8 * i - 7)) & 0x7f80);
      }
    }
  }
  __device__ __forceinline__ void add_item(running& s, std::uint64_t, const T& x) const {
    s.sum[0] += looked_up(s.powers_of_e, static_cast<std::uint8_t>(x) * powers::entry_bytes);
  }
  __device__ __forceinline__ state total(const running& s, const arrays<1>&) const {
    return (s.sum[0] + s.sum[1]) + (s.sum[2] + s.sum[3]);
  }
  __device__ __forceinline__ void write(state s, std::uint64_t, void* out) const {
    write_as<double>(out, from_double<double>(log(s)));
  }
  __device__ __forceinline__ void write_state(state s, std::uint64_t n, std::int64_t, std::uint64_t* words) const { put_unshifted(s, n, words); }
};

/// The exponentials of k elements true and n - k false add up to k·e + (n - k).
struct bool_logsumexp_fold : nonzero_fold<bool> {
  __device__ __forceinline__ void write(state k, std::uint64_t n, void* out) const {
    const auto others = static_cast<double>(n - static_cast<std::uint64_t>(k));
    write_as<double>(out, log(fma(static_cast<double>(k), 2.718281828459045, others)));
  }
  __device__ __forceinline__ void write_state(state k, std::uint64_t n, std::int64_t, std::uint64_t* words) const {
    const auto others = static_cast<double>(n - static_cast<std::uint64_t>(k));
    put_unshifted(fma(static_cast<double>(k), 2.718281828459045, others), n, words);
  }
};

template <class T>
using logsumexp_fold = std::conditional_t<
    std::is_same_v<T, bool>, bool_logsumexp_fold,
    std::conditional_t<integer<T>, std::conditional_t<sizeof(T) == 1, byte_logsumexp_fold<T>, integer_logsumexp_fold<T>>,
                       std::conditional_t<std::is_same_v<T, double>, double_logsumexp_fold, float_logsumexp_fold<T>>>>;

}  // namespace wf::device::inline WF_BUILD
