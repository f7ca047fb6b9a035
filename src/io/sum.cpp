// SPDX-License-Identifier: Apache-2.0
#include <warpfold/io/sum.hpp>

#include <warpfold/exact/accumulate.hpp>
#include <warpfold/exact/sum_state.hpp>
#include <warpfold/half.hpp>
#include <warpfold/io/text.hpp>

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace wf::io {
namespace {

__extension__ typedef __int128 i128;
using exact::u128;

/// What is copied before it is added is copied in pieces of this many bytes: they stay in L2 and
/// are far longer than exact::accumulate needs to be fast. On the stack, of which it takes as much
/// again.
constexpr std::size_t piece = std::size_t{128} << 10;

// A sum in progress has: `scalar`, what is swapped and aligned; add(); merge(); finish().

template <class T>
struct float_sum {
  using scalar = T;
  exact::sum_state<T> state = exact::sum_state<T>::identity();

  void add(std::span<const T> values) { exact::accumulate(state, values.data(), values.size()); }
  void merge(const float_sum& other) { state.merge(other.state); }
  void finish(sum_result& r, rounding mode) const {
    r.bits[0] = exact::format<T>::to_bits(state.value(mode));
    r.count = static_cast<std::uint64_t>(state.seen.count);
  }
};

template <class T>
struct complex_sum {
  using scalar = T;
  float_sum<T> real, imaginary;

  void add(std::span<const T> values) {
    constexpr std::size_t most = piece / sizeof(T);
    std::array<T, most> re, im;
    for (std::size_t start = 0; start < values.size(); start += 2 * most) {
      const std::size_t n = std::min(most, (values.size() - start) / 2);
      for (std::size_t k = 0; k < n; ++k) {
        re[k] = values[start + 2 * k];
        im[k] = values[start + 2 * k + 1];
      }
      real.add({re.data(), n});
      imaginary.add({im.data(), n});
    }
  }
  void merge(const complex_sum& other) {
    real.merge(other.real);
    imaginary.merge(other.imaginary);
  }
  void finish(sum_result& r, rounding mode) const {
    imaginary.finish(r, mode);
    r.bits[1] = r.bits[0];
    real.finish(r, mode);
  }
};

/// The integer of twice the width.
template <class T>
using twice =
    std::conditional_t<sizeof(T) == 1,
                       std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;

/// The sum of integers; of bool (Truth), the number of those that are not 0.
template <class T, bool Truth = false>
struct integer_sum {
  using scalar = T;
  using word = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  i128 total = 0;
  std::uint64_t count = 0;

  static word of_run(std::span<const T> run) {
    if constexpr (sizeof(T) < 4) {
      // Summed in twice the width, which 2^8 elements of 8 bits or 2^16 of 16 cannot overflow:
      // twice to four times as many lanes of SIMD as in 64 bits.
      constexpr std::size_t most = std::size_t{1} << (8 * sizeof(T));
      word sum = 0;
      for (std::size_t start = 0; start < run.size(); start += most) {
        twice<T> part = 0;
        for (const T x : run.subspan(start, std::min(most, run.size() - start)))
          part = static_cast<twice<T>>(part + (Truth ? x != 0 : x));
        sum += part;
      }
      return sum;
    } else {
      word sum = 0;
      for (const T x : run) sum += x;
      return sum;
    }
  }

  /// 2^30 elements at most between two visits to the 128-bit total keep every partial sum in 63
  /// bits.
  void add(std::span<const T> values) {
    constexpr std::size_t most = std::size_t{1} << 30;
    count += values.size();
    for (; !values.empty(); values = values.subspan(std::min(most, values.size()))) {
      const auto run = values.first(std::min(most, values.size()));
      if constexpr (sizeof(T) < 8) {
        total += of_run(run);
      } else {
        // In halves, since a compiler vectorises additions of 64 bits but no carry between them.
        std::uint64_t low = 0;
        word high = 0;
        for (const T x : run) {
          low += static_cast<std::uint32_t>(x);
          high += x >> 32;
        }
        total += (i128{high} * (i128{1} << 32)) + low;
      }
    }
  }
  void merge(const integer_sum& other) {
    total += other.total;
    count += other.count;
  }
  void finish(sum_result& r, rounding) const {
    r.bits[0] = static_cast<std::uint64_t>(total);
    r.high = static_cast<std::int64_t>(total >> 64);
    r.count = count;
  }
};

template <class T>
T swapped(T x) {
  if constexpr (sizeof(T) == 1) return x;
  if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(__builtin_bswap16(std::bit_cast<std::uint16_t>(x)));
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(x)));
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(x)));
}

/// Adds elements of any alignment and byte order: in place if both are the machine's, else through
/// a small buffer.
template <class Sum>
void add_bytes(Sum& sum, std::span<const std::byte> bytes, bool swap) {
  using scalar = typename Sum::scalar;
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(scalar) == 0;
  if (aligned && !(swap && sizeof(scalar) > 1)) {
    sum.add({reinterpret_cast<const scalar*>(bytes.data()), bytes.size() / sizeof(scalar)});
    return;
  }
  std::array<scalar, piece / sizeof(scalar)> buffer;
  while (!bytes.empty()) {
    const std::size_t n = std::min(buffer.size(), bytes.size() / sizeof(scalar));
    std::memcpy(buffer.data(), bytes.data(), n * sizeof(scalar));
    if (swap)
      for (std::size_t k = 0; k < n; ++k) buffer[k] = swapped(buffer[k]);
    sum.add({buffer.data(), n});
    bytes = bytes.subspan(n * sizeof(scalar));
  }
}

/// Work is handed out in blocks of this size: small enough to end together and to show progress,
/// large enough that its atomic increments do not count. A multiple of every element's size.
constexpr std::size_t block = std::size_t{1} << 20;

template <class Sum>
void add_parallel(std::vector<Sum>& sums, std::span<const std::byte> bytes, bool swap,
                  std::atomic<std::uint64_t>* progress) {
  const std::size_t blocks = (bytes.size() + block - 1) / block;
  std::atomic<std::size_t> next = 0;
  const auto work = [&](Sum& shared) {
    Sum sum = shared;  // on this thread's own stack: neighbours in the vector share cache lines
    for (std::size_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < blocks;) {
      const std::size_t size = std::min(block, bytes.size() - k * block);
      add_bytes(sum, bytes.subspan(k * block, size), swap);
      if (progress) progress->fetch_add(size, std::memory_order_relaxed);
    }
    shared = sum;
  };
  std::vector<std::jthread> others;
  for (std::size_t k = 1; k < std::min(sums.size(), blocks); ++k)
    others.emplace_back([&work, &sum = sums[k]] { work(sum); });
  work(sums[0]);
}

template <class Sum>
sum_result sum_as(array_file& file, const sum_options& options) {
  const unsigned threads =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  const bool swap = file.layout().order != native_order;
  std::vector<Sum> sums(threads);
  for (auto bytes = file.next(); !bytes.empty(); bytes = file.next())
    add_parallel(sums, bytes, swap, options.progress);
  for (unsigned k = 1; k < threads; ++k) sums[0].merge(sums[k]);

  const dtype elements = file.layout().type;
  const dtype integer = elements >= dtype::u8 && elements <= dtype::u64 ? dtype::u64 : dtype::i64;
  sum_result result{elements, is_integer(elements) ? integer : elements, 0, {}, 0};
  sums[0].finish(result, options.round);
  return result;
}

}  // namespace

bool sum_result::overflow() const {
  if (!is_integer(type)) return false;
  return type == dtype::u64 ? high != 0 : high != (static_cast<std::int64_t>(bits[0]) >> 63);
}

sum_result sum(array_file& file, const sum_options& options) {
  switch (file.layout().type) {
    case dtype::f16:
      return sum_as<float_sum<f16>>(file, options);
    case dtype::bf16:
      return sum_as<float_sum<bf16>>(file, options);
    case dtype::f32:
      return sum_as<float_sum<float>>(file, options);
    case dtype::f64:
      return sum_as<float_sum<double>>(file, options);
    case dtype::i8:
      return sum_as<integer_sum<std::int8_t>>(file, options);
    case dtype::i16:
      return sum_as<integer_sum<std::int16_t>>(file, options);
    case dtype::i32:
      return sum_as<integer_sum<std::int32_t>>(file, options);
    case dtype::i64:
      return sum_as<integer_sum<std::int64_t>>(file, options);
    case dtype::u8:
      return sum_as<integer_sum<std::uint8_t>>(file, options);
    case dtype::u16:
      return sum_as<integer_sum<std::uint16_t>>(file, options);
    case dtype::u32:
      return sum_as<integer_sum<std::uint32_t>>(file, options);
    case dtype::u64:
      return sum_as<integer_sum<std::uint64_t>>(file, options);
    case dtype::boolean:
      return sum_as<integer_sum<std::uint8_t, true>>(file, options);
    case dtype::c64:
      return sum_as<complex_sum<float>>(file, options);
    case dtype::c128:
      return sum_as<complex_sum<double>>(file, options);
  }
  return {};
}

std::string part_text(const sum_result& r, int part) {
  const std::uint64_t bits = r.bits[static_cast<std::size_t>(part)];
  switch (r.type) {
    case dtype::f16:
      return shortest(f16::from_bits(static_cast<std::uint16_t>(bits)));
    case dtype::bf16:
      return shortest(bf16::from_bits(static_cast<std::uint16_t>(bits)));
    case dtype::f32:
    case dtype::c64:
      return shortest(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case dtype::f64:
    case dtype::c128:
      return shortest(std::bit_cast<double>(bits));
    case dtype::u64:
      return std::to_string(bits);
    default:
      return std::to_string(static_cast<std::int64_t>(bits));
  }
}

std::string true_integer_text(const sum_result& r) {
  const bool negative = r.high < 0;
  u128 rest = u128{static_cast<std::uint64_t>(r.high)} << 64 | r.bits[0];
  if (negative) rest = ~rest + 1;
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  return negative ? "-" + text : text;
}

}  // namespace wf::io
