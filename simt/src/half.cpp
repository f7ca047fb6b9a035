// SPDX-License-Identifier: Apache-2.0
// Arithmetic that instrumented kernels call, and how many operations of a GPU each call is.
#include <simt/half_ops.hpp>
#include <simt/machine.hpp>

#include <cmath>
#include <cstdint>

template struct simt::half_ops<simt::f16_format>;
template struct simt::half_ops<simt::bf16_format>;

// The names that cmake/simt.cmake gives to fma and fmaf.
extern "C" {
double simt_fma(double, double, double);
float simt_fmaf(float, float, float);
double simt_fma(double a, double b, double c) { return std::fma(a, b, c); }
float simt_fmaf(float a, float b, float c) { return std::fma(a, b, c); }
}

namespace simt {
namespace {

template <class Format>
unsigned operations_of(std::uintptr_t function) {
  using ops = half_ops<Format>;
  using unsigned_16 = typename ops::bits;
  const auto is = [&](auto* f) { return function == reinterpret_cast<std::uintptr_t>(f); };
  using binary = unsigned_16 (*)(unsigned_16, unsigned_16);
  for (const binary f : {&ops::add, &ops::subtract, &ops::multiply, &ops::divide})
    if (is(f)) return 1;
  return is(&ops::fused_multiply_add) ? 2 : 0;
}

}  // namespace

unsigned operations_of_call(std::uintptr_t function) {
  if (function == reinterpret_cast<std::uintptr_t>(&simt_fma) || function == reinterpret_cast<std::uintptr_t>(&simt_fmaf))
    return 2;
  return operations_of<f16_format>(function) + operations_of<bf16_format>(function);
}

}  // namespace simt
