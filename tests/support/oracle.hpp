// SPDX-License-Identifier: Apache-2.0
// The judge of the exact code: MPFR with room for every bit, and a rounding to each format written
// from its definition, sharing nothing with the library.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <warpfold/detail/exact/format.hpp>

namespace wf::test {

inline constexpr rounding all_roundings[] = {rounding::nearest, rounding::zero, rounding::away,
                                             rounding::up, rounding::down};

inline mpfr_rnd_t to_mpfr(rounding mode) {
  switch (mode) {
    case rounding::zero: return MPFR_RNDZ;
    case rounding::away: return MPFR_RNDA;
    case rounding::up: return MPFR_RNDU;
    case rounding::down: return MPFR_RNDD;
    default: return MPFR_RNDN;
  }
}

// A number of `precision` bits. Operations that do not fit leave it strictly between its neighbours
// (sticky), so a later rounding to a float sees on which side of a tie it lies.
class real {
 public:
  static constexpr int precision = 9600;  // (Σx)² of doubles has 4350; the rest to divide by

  real() {
    mpfr_init2(v_, precision);
    mpfr_set_zero(v_, 1);
  }
  explicit real(double x) : real() { mpfr_set_d(v_, x, MPFR_RNDN); }
  real(const real& o) : real() { mpfr_set(v_, o.v_, MPFR_RNDN); }
  real& operator=(const real& o) {
    mpfr_set(v_, o.v_, MPFR_RNDN);
    return *this;
  }
  ~real() { mpfr_clear(v_); }

  real& operator+=(const real& o) { return exact(mpfr_add(v_, v_, o.v_, MPFR_RNDZ)); }
  real& operator-=(const real& o) { return exact(mpfr_sub(v_, v_, o.v_, MPFR_RNDZ)); }
  real& operator*=(const real& o) { return exact(mpfr_mul(v_, v_, o.v_, MPFR_RNDZ)); }
  real& operator/=(const real& o) { return exact(mpfr_div(v_, v_, o.v_, MPFR_RNDZ)); }
  real& root() { return exact(mpfr_sqrt(v_, v_, MPFR_RNDZ)); }

  // Rounded to T, as a double (which holds any T).
  template <class T>
  double round(rounding mode) const {
    using f = exact::format<T>;
    const mpfr_rnd_t rnd = to_mpfr(mode);
    const int digits = f::mantissa_bits + 1;
    const int least_normal = f::min_exponent + f::mantissa_bits;  // as a power of two
    if (mpfr_zero_p(v_) != 0) return 0.0;
    mpfr_t y;
    mpfr_init2(y, precision);
    if (mpfr_get_exp(v_) - 1 < least_normal) {
      mpfr_mul_2si(y, v_, -f::min_exponent, MPFR_RNDN);
      mpfr_rint(y, y, rnd);
      mpfr_mul_2si(y, y, f::min_exponent, MPFR_RNDN);
    } else {
      mpfr_set_prec(y, digits);
      mpfr_set(y, v_, rnd);
    }
    double r = mpfr_get_d(y, MPFR_RNDN);
    mpfr_clear(y);
    const double greatest = std::ldexp(2.0 - std::ldexp(1.0, -f::mantissa_bits),
                                       (1 << (f::exponent_bits - 1)) - 1);
    if (std::fabs(r) > greatest) {
      const bool inward = mode == rounding::zero || (mode == rounding::down && r > 0) ||
                          (mode == rounding::up && r < 0);
      r = std::copysign(inward ? greatest : std::numeric_limits<double>::infinity(), r);
    }
    return r;
  }

 private:
  real& exact(int ternary) {
    if (ternary != 0) mpfr_sgn(v_) > 0 ? mpfr_nextabove(v_) : mpfr_nextbelow(v_);
    return *this;
  }
  mpfr_t v_;
};

// What the library's double should hold bit for bit; any NaN must be the canonical one.
inline bool same(double got, double want) {
  if (std::isnan(want)) {
    return __builtin_bit_cast(std::uint64_t, got) == exact::ieee_f64::quiet_nan;
  }
  return __builtin_bit_cast(std::uint64_t, got) == __builtin_bit_cast(std::uint64_t, want);
}

// The NaN and infinity rules of a sum, without states.
struct special_sum {
  bool nan = false, pos = false, neg = false;
  void add(double x) {
    nan = nan || std::isnan(x);
    pos = pos || (std::isinf(x) && x > 0);
    neg = neg || (std::isinf(x) && x < 0);
  }
  bool any() const { return nan || pos || neg; }
  double value() const {
    constexpr double inf = std::numeric_limits<double>::infinity();
    return nan || (pos && neg) ? std::numeric_limits<double>::quiet_NaN() : pos ? inf : -inf;
  }
};

}  // namespace wf::test
