// SPDX-License-Identifier: Apache-2.0
/// \file bytes.hpp
/// Inputs of every element type, as bytes, and the CPU's answers.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <warpfold/warpfold.hpp>

#include "families.hpp"

template <class T>
void fill_floats(std::vector<unsigned char>& bytes, const std::string& family, std::uint64_t count, std::uint64_t seed) {
  const auto x = make_family<T>(family, count, seed);
  bytes.resize(count * sizeof(T));
  if (count != 0) std::memcpy(bytes.data(), x.data(), bytes.size());
}

/// n elements. Integers: any bits, or small ones with many equal in the family "ties"; bool: bytes 0 to 3.
inline std::vector<unsigned char> make_bytes(wf::dtype t, const std::string& family, std::uint64_t n, std::uint64_t seed) {
  std::vector<unsigned char> b;
  switch (t) {
    case wf::dtype::f16: fill_floats<wf::f16>(b, family, n, seed); return b;
    case wf::dtype::bf16: fill_floats<wf::bf16>(b, family, n, seed); return b;
    case wf::dtype::f32: fill_floats<float>(b, family, n, seed); return b;
    case wf::dtype::f64: fill_floats<double>(b, family, n, seed); return b;
    case wf::dtype::c64: fill_floats<float>(b, family, 2 * n, seed); return b;
    case wf::dtype::c128: fill_floats<double>(b, family, 2 * n, seed); return b;
    default: break;
  }
  std::mt19937_64 g(seed);
  const std::size_t size = wf::info(t).size;
  b.resize(n * size);
  for (auto& x : b) x = static_cast<unsigned char>(g());
  if (t == wf::dtype::boolean) {
    for (auto& x : b) x &= family == "zeros" ? 0 : 3;
  } else if (family == "ties") {
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = i % size == 0 ? b[i] & 3 : 0;
  } else if (family == "huge") {  // the greatest and the least numbers alone
    for (std::size_t i = 0; i < b.size(); i += size) {
      const bool up = g() % 2 == 0;
      for (std::size_t j = 0; j < size; ++j) b[i + j] = up ? 0xff : 0;
      b[i + size - 1] = up ? 0x7f : 0x80;
    }
  } else if (family == "zeros") {
    for (auto& x : b) x = 0;
  }
  return b;
}

/// A whole input of one stride.
struct strided {
  const unsigned char* first;
  std::int64_t n, stride;  ///< in elements
};

/// The CPU's answer to an operation, as bytes; `functions`: of others than its own.
inline std::vector<unsigned char> cpu_answer(wf::op o, wf::dtype t, wf::accuracy a, const wf::options& options,
                                             const strided& x, const strided& y, const wf::cpu::erased* functions = nullptr) {
  const wf::cpu::erased& r = functions != nullptr ? *functions : wf::builtin(o, t, a);
  const auto size = static_cast<std::int64_t>(wf::info(t).size);
  wf::cpu::operands in;
  in.shape = {x.n};
  in.data = {x.first, y.first};
  in.strides = {wf::extents{x.stride * size}, wf::extents{y.stride * size}};
  std::vector<unsigned char> out(r.result_size);
  wf::context c;
  c.accuracy = a;
  c.rounding = options.rounding;
  c.threads = 1;
  wf::cpu::reduce_all(r, &options, in, c, out.data());
  return out;
}

inline std::string hex(const std::vector<unsigned char>& bytes) {
  std::string s;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    const char* digits = "0123456789abcdef";
    s += digits[bytes[i] >> 4];
    s += digits[bytes[i] & 15];
  }
  return s;
}

/// Number k of an answer, as a double.
inline double number(wf::dtype t, const std::vector<unsigned char>& bytes, std::size_t k) {
  const auto as = [&]<class T>(T x) {
    std::memcpy(static_cast<void*>(&x), bytes.data() + k * sizeof x, sizeof x);
    return static_cast<double>(x);
  };
  switch (t) {
    case wf::dtype::f16: return as(wf::f16{});
    case wf::dtype::bf16: return as(wf::bf16{});
    case wf::dtype::f32: case wf::dtype::c64: return as(0.0f);
    default: return as(0.0);
  }
}
