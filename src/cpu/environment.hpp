// SPDX-License-Identifier: Apache-2.0
/// \file environment.hpp
/// Exact kernels rest on IEEE arithmetic: rounding to nearest, no flushing of subnormals; native sums would
/// be others without. A caller may have set the processor otherwise, so both set it back while they run; 4
/// cycles if it was right.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace wf::cpu {

class ieee_environment {
 public:
#if defined(__SSE2__)
  ieee_environment() : saved_(_mm_getcsr()) {
    if ((saved_ & 0xffc0) != 0x1f80) _mm_setcsr((saved_ & ~0xffc0u) | 0x1f80u);
  }
  ~ieee_environment() {
    if ((saved_ & 0xffc0) != 0x1f80) _mm_setcsr(saved_);
  }

 private:
  unsigned saved_;
#elif defined(__aarch64__)
  ieee_environment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if ((saved_ & modes) != 0) asm volatile("msr fpcr, %0" : : "r"(saved_ & ~modes));
  }
  ~ieee_environment() {
    if ((saved_ & modes) != 0) asm volatile("msr fpcr, %0" : : "r"(saved_));
  }

 private:
  static constexpr std::uint64_t modes = 0x3c00000;  // rounding, flush to zero
  std::uint64_t saved_;
#endif
 public:
  ieee_environment(const ieee_environment&) = delete;
  ieee_environment& operator=(const ieee_environment&) = delete;
};

}  // namespace wf::cpu
