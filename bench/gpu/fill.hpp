// SPDX-License-Identifier: Apache-2.0
/// \file fill.hpp
/// The data of the GPU benchmarks, and answers as numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <warpfold/detail/exact/format.hpp>
#include <warpfold/io/dtype.hpp>
#include <warpfold/types.hpp>

namespace bench {

/// xorshift64: a gigabyte a second, and seeded.
class random_words {
 public:
  explicit random_words(std::uint64_t seed) : s_(88172645463325252u * seed) {}
  std::uint64_t operator()() {
    s_ ^= s_ << 13;
    s_ ^= s_ >> 7;
    s_ ^= s_ << 17;
    return s_;
  }

 private:
  std::uint64_t s_;
};

/// `period` bytes of elements, repeated to `bytes`. Floats: near N(0, 1) (a sum of twelve uniform ones),
/// or any finite bits. Integers: any bits; bool: 0 or 1.
inline std::vector<unsigned char> fill(wf::dtype t, bool bits, std::size_t period, std::size_t bytes, std::uint64_t seed) {
  std::vector<unsigned char> out(bytes);
  random_words next(seed);
  const auto put = [&]<class T>(T) {
    using f = wf::exact::format<T>;
    for (std::size_t i = 0; i < period; i += sizeof(T)) {
      T x;
      if (bits) {
        auto b = static_cast<typename f::bits>(next() >> 3);
        while (!f::is_finite(b)) b = static_cast<typename f::bits>(next() >> 3);
        if constexpr (sizeof(T) == 8) {
          b ^= next() << 61;
          if (!f::is_finite(b)) b = 0;
        }
        x = f::from_bits(b);
      } else {
        double sum = -6;
        for (int k = 0; k < 3; ++k) {
          const std::uint64_t r = next();
          for (int j = 0; j < 4; ++j) sum += static_cast<double>(r >> (16 * j) & 0xffff) / 65536;
        }
        x = static_cast<T>(sum);
      }
      std::memcpy(&out[i], static_cast<const void*>(&x), sizeof x);
    }
  };
  switch (t) {
    case wf::dtype::f16: put(wf::f16{}); break;
    case wf::dtype::bf16: put(wf::bf16{}); break;
    case wf::dtype::f32: case wf::dtype::c64: put(0.0f); break;
    case wf::dtype::f64: case wf::dtype::c128: put(0.0); break;
    default:
      for (std::size_t i = 0; i < period; ++i) {
        out[i] = static_cast<unsigned char>(next() >> 32);
        if (t == wf::dtype::boolean) out[i] &= 1;
      }
  }
  for (std::size_t at = period; at < bytes; at += period) std::memcpy(&out[at], out.data(), std::min(period, bytes - at));
  return out;
}

/// f(T{}, at) for each number of a value of type t in `bytes` bytes; complex ones are two numbers.
template <class F>
void for_each_number(wf::dtype t, std::size_t bytes, F f) {
  const auto all = [&]<class T>(T) {
    for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) f(T{}, at);
  };
  switch (t) {
    case wf::dtype::f16: return all(wf::f16{});
    case wf::dtype::bf16: return all(wf::bf16{});
    case wf::dtype::f32: case wf::dtype::c64: return all(float{});
    case wf::dtype::f64: case wf::dtype::c128: return all(double{});
    case wf::dtype::i8: return all(std::int8_t{});
    case wf::dtype::i16: return all(std::int16_t{});
    case wf::dtype::i32: return all(std::int32_t{});
    case wf::dtype::i64: return all(std::int64_t{});
    case wf::dtype::u8: case wf::dtype::boolean: return all(std::uint8_t{});
    case wf::dtype::u16: return all(std::uint16_t{});
    case wf::dtype::u32: return all(std::uint32_t{});
    case wf::dtype::u64: return all(std::uint64_t{});
  }
}

inline std::vector<double> numbers(wf::dtype t, const std::vector<unsigned char>& bytes) {
  std::vector<double> v;
  for_each_number(t, bytes.size(), [&]<class T>(T x, std::size_t at) {
    std::memcpy(static_cast<void*>(&x), bytes.data() + at, sizeof x);
    v.push_back(static_cast<double>(x));
  });
  return v;
}

/// The second one of each two floats becomes the first one's opposite, and both are of any of `octaves` powers of 2 about 1: no certificate accepts their sums.
inline void make_undecided(wf::dtype t, std::vector<unsigned char>& bytes, int octaves, std::uint64_t seed) {
  random_words next(seed);
  for_each_number(t, bytes.size(), [&]<class T>(T x, std::size_t at) {
    if constexpr (!std::is_integral_v<T>) {
      std::memcpy(static_cast<void*>(&x), bytes.data() + at / (2 * sizeof(T)) * (2 * sizeof(T)), sizeof x);
      if (at / sizeof(T) % 2 == 0) x = static_cast<T>(std::ldexp(static_cast<double>(x), static_cast<int>((next() >> 32) % static_cast<unsigned>(octaves)) - octaves / 2));
      else x = static_cast<T>(-static_cast<double>(x));
      std::memcpy(bytes.data() + at, static_cast<const void*>(&x), sizeof x);
    }
  });
}

/// Twice each number: floats rounded to their type, integers modulo their range.
inline void twice(wf::dtype t, std::vector<unsigned char>& bytes) {
  for_each_number(t, bytes.size(), [&]<class T>(T x, std::size_t at) {
    std::memcpy(static_cast<void*>(&x), bytes.data() + at, sizeof x);
    if constexpr (std::is_integral_v<T>) x = static_cast<T>(std::uint64_t{2} * static_cast<std::uint64_t>(x));
    else x = static_cast<T>(2 * static_cast<double>(x));
    std::memcpy(bytes.data() + at, static_cast<const void*>(&x), sizeof x);
  });
}

}  // namespace bench
