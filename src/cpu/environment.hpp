// SPDX-License-Identifier: Apache-2.0
/// \file environment.hpp
/// Exact kernels rest on IEEE arithmetic: rounding to nearest, no flushing of subnormals, no traps; native sums
/// would be others without. A caller may have set the processor otherwise, so both set it while they run, and
/// leave it as they found it: the status flags too, which would tell how an answer was found, not what it is.
/// 4 cycles if all was right and no flag was raised that was not up before.
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
    if ((saved_ & modes) != masked_to_nearest) _mm_setcsr((saved_ & ~modes) | masked_to_nearest);
  }
  ~ieee_environment() {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned modes = 0xffc0;  // flush to zero, rounding, traps masked, subnormals are zeros
  static constexpr unsigned masked_to_nearest = 0x1f80;
  unsigned saved_;
#elif defined(__aarch64__)
  ieee_environment() : modes_(0), flags_(0) {
    asm volatile("mrs %0, fpcr" : "=r"(modes_));
    asm volatile("mrs %0, fpsr" : "=r"(flags_));
    if ((modes_ & modes) != 0) asm volatile("msr fpcr, %0" : : "r"(modes_ & ~modes));
  }
  ~ieee_environment() {
    std::uint64_t now;
    asm volatile("mrs %0, fpsr" : "=r"(now));
    if (now != flags_) asm volatile("msr fpsr, %0" : : "r"(flags_));
    if ((modes_ & modes) != 0) asm volatile("msr fpcr, %0" : : "r"(modes_));
  }

 private:
  static constexpr std::uint64_t modes = 0x3c09f00;  // rounding, flush to zero, traps
  std::uint64_t modes_, flags_;
#endif
 public:
  ieee_environment(const ieee_environment&) = delete;
  ieee_environment& operator=(const ieee_environment&) = delete;
};

}  // namespace wf::cpu
