// SPDX-License-Identifier: Apache-2.0
#include "data.hpp"

#include <algorithm>
#include <bit>
#include <system_error>
#include <thread>
#include <vector>

#include <warpfold/half.hpp>

namespace ladder {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a counter in, 64 random bits out.
constexpr std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : key_(mixed(seed + 0x9e3779b97f4a7c15ull)) {}
  std::uint64_t operator()(std::uint64_t i, std::uint64_t stream = 0) const {
    return mixed(key_ + (i * 4 + stream) * 0x9e3779b97f4a7c15ull);
  }

 private:
  std::uint64_t key_;
};

/// Twelve 16-bit uniforms less their mean: deviation 65536.
std::int64_t normal_integer(const random_source& random, std::uint64_t i) {
  std::int64_t sum = 0;
  for (std::uint64_t stream = 0; stream < 3; ++stream) {
    const std::uint64_t bits = random(i, stream);
    for (int k = 0; k < 64; k += 16) sum += static_cast<std::int64_t>(bits >> k & 0xffff);
  }
  return sum - 6 * 65535;
}

/// What differs between the types.
template <class T>
struct kind;
template <>
struct kind<float> {
  static constexpr int uniform_bits = 24, hard_low = -60, hard_high = 60;
  static constexpr std::int64_t exact_limit = std::int64_t{1} << 24, largest = 4096;
};
template <>
struct kind<double> {
  static constexpr int uniform_bits = 53, hard_low = -300, hard_high = 300;
  static constexpr std::int64_t exact_limit = std::int64_t{1} << 53,
                                largest = std::int64_t{1} << 20;
};
template <>
struct kind<wf::f16> {  // added in f32
  static constexpr int uniform_bits = 11, hard_low = -14, hard_high = 14;
  static constexpr std::int64_t exact_limit = std::int64_t{1} << 24, largest = 2048;
};

/// ±(1 + fraction)·2^e, e anywhere in the type's hard range.
template <class T>
double wide_value(std::uint64_t bits) {
  constexpr auto span = static_cast<std::uint64_t>(kind<T>::hard_high - kind<T>::hard_low + 1);
  const std::uint64_t exponent =
      (bits & 0xffffff) % span + static_cast<std::uint64_t>(1023 + kind<T>::hard_low);
  return std::bit_cast<double>((bits & std::uint64_t{1} << 63) | exponent << 52 |
                               (bits >> 11 & 0xfffffffffffff));
}

template <class T>
T float_element(distribution d, const random_source& random, std::uint64_t i, std::uint64_t n) {
  const auto uniform = [&](std::uint64_t bits) {
    constexpr int width = kind<T>::uniform_bits;
    return static_cast<double>(bits >> (64 - width)) /
           static_cast<double>(std::uint64_t{1} << width);
  };
  switch (d) {
    case distribution::ones: return T(1.0f);
    case distribution::uniform: return T(uniform(random(i)));
    case distribution::normal: return T(static_cast<double>(normal_integer(random, i)) / 65536);
    case distribution::hard: break;
  }
  // Elements i and n-1-i cancel, but for one pair in 16.
  const std::uint64_t first = std::min(i, n - 1 - i), bits = random(first);
  if (random(first, 1) % 16 == 0) return T(uniform(random(i, 2)) / 16);
  return T(first == i ? wide_value<T>(bits) : -wide_value<T>(bits));
}

std::int32_t integer_element(distribution d, const random_source& random, std::uint64_t i) {
  switch (d) {
    case distribution::ones: return 1;
    case distribution::uniform: return static_cast<std::int32_t>(random(i) >> 32);
    case distribution::normal: return static_cast<std::int32_t>(normal_integer(random, i));
    case distribution::hard: break;
  }
  const std::uint64_t bits = random(i);
  return static_cast<std::int32_t>((bits & 1 ? 0x7fffffffu : 0x80000000u) - (bits >> 60 & 1));
}

template <class T>
void fill(array& a, distribution d, std::uint64_t seed) {
  auto* x = reinterpret_cast<T*>(a.data());
  const random_source random(seed);
  in_parallel(a.n, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    for (std::uint64_t i = begin; i < end; ++i) {
      if constexpr (std::is_same_v<T, std::int32_t>)
        x[i] = integer_element(d, random, i);
      else
        x[i] = float_element<T>(d, random, i, a.n);
    }
  });
}

/// Magnitudes 1 … most, each with either sign, if i's turn comes; one in `spacing` does.
template <class T>
void fill_pattern(pattern& p, std::uint64_t seed) {
  const std::uint64_t n = p.elements.n;
  auto* x = reinterpret_cast<T*>(p.elements.data());
  const random_source random(seed);
  std::uint64_t most = std::uint64_t{1} << 31, spacing = 1;  // i32: mod 2^32, so anything goes
  if constexpr (!std::is_same_v<T, std::int32_t>) {
    const auto limit = static_cast<std::uint64_t>(kind<T>::exact_limit);
    most = std::clamp<std::uint64_t>(limit / std::max<std::uint64_t>(n, 1), 1, kind<T>::largest);
    // Half of the limit in the mean, so that its excess by chance is out of the question.
    if (n > limit) spacing = std::bit_ceil(2 * n / limit);
  }
  std::vector<std::uint64_t> sums(parallel_parts());
  in_parallel(n, [&](std::uint64_t begin, std::uint64_t end, unsigned part) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t bits = random(i);
      std::uint64_t v = (bits >> 40) % spacing == 0 ? 1 + (bits & 0xffffffff) % most : 0;
      if (bits >> 63) v = 0 - v;
      sum += v;
      if constexpr (std::is_same_v<T, std::int32_t>)
        x[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(v));
      else
        x[i] = T(static_cast<float>(static_cast<std::int64_t>(v)));
    }
    sums[part] = sum;
  });
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  p.sum = static_cast<std::int64_t>(sum);
  p.sparse = spacing != 1;
}

}  // namespace

array::array(wf::dtype t, std::uint64_t count)
    : type(t), n(count), memory(new std::uint64_t[(count * wf::info(t).size + 7) / 8 + 1]) {}

array make_data(wf::dtype type, distribution d, std::uint64_t n, std::uint64_t seed) {
  array a(type, n);
  switch (type) {
    case wf::dtype::f32: fill<float>(a, d, seed); break;
    case wf::dtype::f64: fill<double>(a, d, seed); break;
    case wf::dtype::i32: fill<std::int32_t>(a, d, seed); break;
    default: fill<wf::f16>(a, d, seed); break;
  }
  return a;
}

pattern make_pattern(wf::dtype type, std::uint64_t n, std::uint64_t seed) {
  pattern p{array(type, n)};
  switch (type) {
    case wf::dtype::f32: fill_pattern<float>(p, seed); break;
    case wf::dtype::f64: fill_pattern<double>(p, seed); break;
    case wf::dtype::i32: fill_pattern<std::int32_t>(p, seed); break;
    default: fill_pattern<wf::f16>(p, seed); break;
  }
  return p;
}

unsigned parallel_parts() { return std::max(1u, std::thread::hardware_concurrency()); }

void in_parallel(std::uint64_t n,
                 const std::function<void(std::uint64_t, std::uint64_t, unsigned)>& work) {
  const unsigned parts = parallel_parts();
  if (n < 65536) return work(0, n, 0);
  const std::uint64_t each = n / parts + 1;
  std::vector<std::jthread> threads;
  threads.reserve(parts);
  for (unsigned k = 0; k < parts; ++k) {
    const auto part = [=, &work] { work(std::min(n, k * each), std::min(n, (k + 1) * each), k); };
    try {
      threads.emplace_back(part);
    } catch (const std::system_error&) {  // no memory for another thread's stack: this one's will do
      part();
    }
  }
}

}  // namespace ladder
