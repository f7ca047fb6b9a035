// SPDX-License-Identifier: Apache-2.0
/// \file native_bounds.hpp
/// How far a native answer of a GPU may be from the true one.
///
/// A term passes through `depth` additions, each with a relative error of u: |error| <= γ Σ|terms|, γ = depth·u / (1 - depth·u)
/// (N. Higham, Accuracy and Stability of Numerical Algorithms, 4.2). u is that of the folds (detail/gpu/accumulate/native_folds.cuh,
/// detail/gpu/kernels/fast_sum.cuh): 2^-24 where a thread adds in f32, else 2^-53. The depth is what the launches come to: at least 512 threads
/// share more than 2048 packs of 16 bytes, so a chain of a thread has packs / 512 + 8 packs at most, of up to two elements of it a
/// pack, and whoever is the last to add has 128 partial sums: those of a pack, a warp, a block, and of the blocks.
///
/// Numbers of the family "in_any_order" are small multiples of a half: native arithmetic makes no error with them, in any order,
/// and only the last steps round.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../support/bytes.hpp"

inline constexpr const char* in_any_order = "in_any_order";

/// n elements whose sums and products are exact; none is zero or one but for bool.
inline std::vector<unsigned char> make_in_any_order(wf::dtype t, std::uint64_t n, std::uint64_t seed) {
  std::mt19937_64 g(seed);
  const std::size_t size = wf::info(t).size;
  std::vector<unsigned char> bytes(n * size);
  const auto put = [&]<class T>(T, std::uint64_t parts) {
    constexpr double numbers[] = {-2, -1, -0.5, 0.5, 2};
    for (std::uint64_t i = 0; i < parts; ++i) {
      T x;
      if constexpr (std::is_integral_v<T>) x = static_cast<T>(std::is_signed_v<T> && g() % 2 == 0 ? -2 : static_cast<int>(2 + g() % 2));
      else x = T(static_cast<float>(numbers[g() % 5]));
      std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x);
    }
  };
  switch (t) {
    case wf::dtype::f16: put(wf::f16{}, n); break;
    case wf::dtype::bf16: put(wf::bf16{}, n); break;
    case wf::dtype::f32: put(0.0f, n); break;
    case wf::dtype::f64: put(0.0, n); break;
    case wf::dtype::c64: put(0.0f, 2 * n); break;
    case wf::dtype::c128: put(0.0, 2 * n); break;
    case wf::dtype::i8: put(std::int8_t{}, n); break;
    case wf::dtype::i16: put(std::int16_t{}, n); break;
    case wf::dtype::i32: put(std::int32_t{}, n); break;
    case wf::dtype::i64: put(std::int64_t{}, n); break;
    case wf::dtype::u8: put(std::uint8_t{}, n); break;
    case wf::dtype::u16: put(std::uint16_t{}, n); break;
    case wf::dtype::u32: put(std::uint32_t{}, n); break;
    case wf::dtype::u64: put(std::uint64_t{}, n); break;
    case wf::dtype::boolean:
      for (auto& x : bytes) x = static_cast<unsigned char>(g() % 4);
      if (!bytes.empty()) bytes[0] = 0;
      break;
  }
  return bytes;
}

/// The absolute value of element i, of complex numbers the sum of their parts'. A part that is not finite counts as 0: no answer is
/// finite that it is a term of.
inline double magnitude(wf::dtype t, const strided& x, std::int64_t i) {
  const unsigned char* p = x.first + i * x.stride * static_cast<std::int64_t>(wf::info(t).size);
  const auto as = [&]<class T>(T v) {
    std::memcpy(static_cast<void*>(&v), p, sizeof v);
    return std::fabs(static_cast<double>(v));
  };
  const auto part = [](double v) { return std::isfinite(v) ? std::fabs(v) : 0.0; };
  switch (t) {
    case wf::dtype::f16: return as(wf::f16{});
    case wf::dtype::bf16: return as(wf::bf16{});
    case wf::dtype::f32: return as(0.0f);
    case wf::dtype::f64: return as(0.0);
    case wf::dtype::i8: return as(std::int8_t{});
    case wf::dtype::i16: return as(std::int16_t{});
    case wf::dtype::i32: return as(std::int32_t{});
    case wf::dtype::i64: return as(std::int64_t{});
    case wf::dtype::u8: return as(std::uint8_t{});
    case wf::dtype::u16: return as(std::uint16_t{});
    case wf::dtype::u32: return as(std::uint32_t{});
    case wf::dtype::u64: return as(std::uint64_t{});
    case wf::dtype::boolean: return *p != 0;
    case wf::dtype::c64: {
      const float* parts = reinterpret_cast<const float*>(p);
      return part(static_cast<double>(parts[0])) + part(static_cast<double>(parts[1]));
    }
    case wf::dtype::c128: {
      const double* parts = reinterpret_cast<const double*>(p);
      return part(parts[0]) + part(parts[1]);
    }
  }
  return 0;
}

inline double last_place(wf::dtype t, double x) {
  const int bits = t == wf::dtype::f16 ? 10 : t == wf::dtype::bf16 ? 7 : t == wf::dtype::f32 || t == wf::dtype::c64 ? 23 : 52;
  const int least = t == wf::dtype::f16 ? -24 : t == wf::dtype::bf16 ? -133 : t == wf::dtype::f32 || t == wf::dtype::c64 ? -149 : -1074;
  if (x == 0) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(x) - bits, least));
}

/// The unit roundoff of what a thread adds in.
inline double native_roundoff(wf::op o, wf::dtype t) {
  const bool squares = o == wf::op::dot || o == wf::op::sum_of_squares || o == wf::op::norm2;
  const bool spread = o == wf::op::var || o == wf::op::std_dev || o == wf::op::mean_var;
  if (o == wf::op::prod) return 0x1p-53;
  if (t == wf::dtype::f16 || (t == wf::dtype::f32 && o == wf::op::sum)) return 0x1p-24;
  return t == wf::dtype::bf16 && !squares && !spread ? 0x1p-24 : 0x1p-53;
}

/// What is wrong with a native answer, or nothing.
inline std::string native_fault(wf::op o, wf::dtype t, const std::string& family, const strided& x, const strided& y,
                                const std::vector<unsigned char>& want, const std::vector<unsigned char>& got) {
  const wf::dtype kind = wf::result_of_builtin(o, t).type;
  const std::size_t size = wf::is_complex(kind) ? wf::info(kind).size / 2 : wf::info(kind).size;
  if (got.size() != want.size()) return "an answer of another size";
  const bool exact = family == in_any_order;
  double sum = 0, terms = 0;  // Σ|x|, and that of the terms
  for (std::int64_t i = 0; i < x.n; ++i) {
    const double a = magnitude(t, x, i);
    sum += a;
    terms += o == wf::op::dot ? a * magnitude(t, y, i) : o == wf::op::sum_of_squares ? a * a : a;
  }
  const double n = static_cast<double>(x.n), per_pack = 16.0 / static_cast<double>(wf::info(t).size);
  const double chain = 2 * ((x.stride == 1 ? n / per_pack : n) / 512 + 8);
  const double u = native_roundoff(o, t), depth = chain + 128, g = depth * u / (1 - depth * u);
  const double g64 = depth * 0x1p-53 / (1 - depth * 0x1p-53);
  for (std::size_t k = 0; k < got.size() / size; ++k) {
    const double a = number(kind, got, k), w = number(kind, want, k);
    const auto fault = [&](double bound) {
      return "number " + std::to_string(k) + " is " + std::to_string(a) + ", the true one " + std::to_string(w) + ": " +
             std::to_string(std::fabs(a - w) / last_place(kind, w)) + " units in the last place, " +
             std::to_string(bound / last_place(kind, w)) + " are right";
    };
    if (std::isnan(w) || std::isinf(w) || std::isnan(a)) {
      if (!(std::isnan(w) ? std::isnan(a) : a == w)) return fault(0);
      continue;
    }
    double bound = last_place(kind, w);  // rounded to f64, and then to the type
    switch (o) {
      case wf::op::prod:
        if (exact && !wf::is_complex(t)) break;
        // Both answers: the CPU's is native too. A complex product has a relative error of √5 units (R. Brent, C. Percival and
        // P. Zimmermann, 2007).
        bound += wf::is_complex(t) ? 5 * n * 0x1p-53 * (std::fabs(w) + std::fabs(number(kind, want, 1 - k))) : 2 * n * 0x1p-53 * std::fabs(w);
        break;
      case wf::op::logsumexp:  // exp in f32 and sums of 8 of them; in f64 each exp has 1.05 units, and its argument one; the CPU's too
        bound += (wf::is_integer(t) || t == wf::dtype::f64 ? 3 * g64 : 0x1p-19) + last_place(kind, w);
        break;
      case wf::op::mean: bound += (exact ? 0 : g * sum / n) + 0x1p-52 * std::fabs(w); break;
      case wf::op::norm2: bound += (exact ? 0 : g * std::fabs(w)) + 0x1p-52 * std::fabs(w); break;
      case wf::op::var: case wf::op::std_dev: case wf::op::mean_var: {
        // A thread's squares are those of x - c, c one of its `chain` elements: (2 + 2 chain) times those about the mean at most. What
        // threads have is combined in f64.
        const double shifted = 2 + 2 * chain;
        if (o == wf::op::mean_var && k + 1 < got.size() / size) {
          bound += (exact ? g64 : g) * shifted * sum / n;
        } else {
          bound += (exact ? g64 : g) * shifted * std::fabs(w);
        }
        break;
      }
      default: bound = exact ? 0 : bound + g * terms; break;
    }
    if (!(std::fabs(a - w) <= bound)) return fault(bound);
  }
  return "";
}
