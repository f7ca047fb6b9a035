// SPDX-License-Identifier: Apache-2.0
// CUDA's mathematical functions on simt against MPFR: within the errors that CUDA states (math_cases.hpp), on edges and on
// random bits. Functions of f16 and bf16, which CUDA has rounded right, are asked of every value that there is.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "../support/effort.hpp"
#include "math_cases.hpp"

namespace {

/// A number of 320 bits. Exponents of MPFR do not end where doubles' do.
class real {
 public:
  explicit real(double x = 0, mpfr_prec_t bits = 320) {
    mpfr_init2(v, bits);
    mpfr_set_d(v, x, MPFR_RNDN);
  }
  ~real() { mpfr_clear(v); }
  real(const real&) = delete;
  real& operator=(const real&) = delete;
  operator mpfr_ptr() { return v; }
  mpfr_t v;
};

// ---- What is true: true_NAME(answer, x).

#define TRUE_BY(name, function) \
  void true_##name(mpfr_ptr r, mpfr_srcptr x) { function(r, x, MPFR_RNDN); }
TRUE_BY(sqrt, mpfr_sqrt)
TRUE_BY(cbrt, mpfr_cbrt)
TRUE_BY(exp, mpfr_exp)
TRUE_BY(exp2, mpfr_exp2)
TRUE_BY(exp10, mpfr_exp10)
TRUE_BY(expm1, mpfr_expm1)
TRUE_BY(log, mpfr_log)
TRUE_BY(log2, mpfr_log2)
TRUE_BY(log10, mpfr_log10)
TRUE_BY(log1p, mpfr_log1p)
TRUE_BY(sin, mpfr_sin)
TRUE_BY(cos, mpfr_cos)
TRUE_BY(tan, mpfr_tan)
TRUE_BY(asin, mpfr_asin)
TRUE_BY(acos, mpfr_acos)
TRUE_BY(atan, mpfr_atan)
TRUE_BY(sinh, mpfr_sinh)
TRUE_BY(cosh, mpfr_cosh)
TRUE_BY(tanh, mpfr_tanh)
TRUE_BY(asinh, mpfr_asinh)
TRUE_BY(acosh, mpfr_acosh)
TRUE_BY(atanh, mpfr_atanh)
TRUE_BY(erf, mpfr_erf)
TRUE_BY(erfc, mpfr_erfc)
TRUE_BY(tgamma, mpfr_gamma)
TRUE_BY(rint, mpfr_rint)
TRUE_BY(nearbyint, mpfr_rint)
TRUE_BY(fabs, mpfr_abs)
TRUE_BY(j0, mpfr_j0)
TRUE_BY(j1, mpfr_j1)
TRUE_BY(y0, mpfr_y0)
TRUE_BY(y1, mpfr_y1)
void true_ceil(mpfr_ptr r, mpfr_srcptr x) { mpfr_ceil(r, x); }
void true_floor(mpfr_ptr r, mpfr_srcptr x) { mpfr_floor(r, x); }
void true_trunc(mpfr_ptr r, mpfr_srcptr x) { mpfr_trunc(r, x); }
void true_round(mpfr_ptr r, mpfr_srcptr x) { mpfr_round(r, x); }
/// 1/sqrt(-0) is -inf by IEEE 754 and here; MPFR has +inf.
void true_rsqrt(mpfr_ptr r, mpfr_srcptr x) {
  mpfr_sqrt(r, x, MPFR_RNDN);
  mpfr_ui_div(r, 1, r, MPFR_RNDN);
}
void true_rcbrt(mpfr_ptr r, mpfr_srcptr x) {
  mpfr_cbrt(r, x, MPFR_RNDN);
  mpfr_ui_div(r, 1, r, MPFR_RNDN);
}
void true_logb(mpfr_ptr r, mpfr_srcptr x) {
  if (mpfr_zero_p(x)) mpfr_set_inf(r, -1);
  else if (mpfr_inf_p(x)) mpfr_set_inf(r, 1);
  else if (mpfr_nan_p(x)) mpfr_set_nan(r);
  else mpfr_set_si(r, mpfr_get_exp(x) - 1, MPFR_RNDN);
}
void true_lgamma(mpfr_ptr r, mpfr_srcptr x) {
  int sign = 0;
  mpfr_lgamma(r, &sign, x, MPFR_RNDN);
}
/// sin(pi x) or cos(pi x), of x less its nearest whole number, which is exact.
void of_pi(mpfr_ptr r, mpfr_srcptr x, bool is_sine) {
  if (!mpfr_number_p(x)) return mpfr_set_nan(r);
  real whole, rest, half, pi;
  mpfr_rint(whole, x, MPFR_RNDN);
  mpfr_sub(rest, x, whole, MPFR_RNDN);
  mpfr_div_2ui(half, whole, 1, MPFR_RNDN);
  const bool is_odd = mpfr_integer_p(half) == 0;
  mpfr_const_pi(pi, MPFR_RNDN);
  if (!is_sine && mpfr_cmp_abs(rest, real(0.5)) == 0) return mpfr_set_zero(r, 1);
  mpfr_mul(rest, rest, pi, MPFR_RNDN);
  if (is_sine) mpfr_sin(r, rest, MPFR_RNDN);
  else mpfr_cos(r, rest, MPFR_RNDN);
  if (is_odd) mpfr_neg(r, r, MPFR_RNDN);
  if (mpfr_zero_p(r)) mpfr_set_zero(r, mpfr_signbit(x) ? -1 : 1);  // for sin the sign is that of x
}
void true_sinpi(mpfr_ptr r, mpfr_srcptr x) { of_pi(r, x, true); }
void true_cospi(mpfr_ptr r, mpfr_srcptr x) { of_pi(r, x, false); }
/// e^(x^2) erfc(x); from 10^6 on 1/(x sqrt(pi)) (1 - 1/(2x^2) + 3/(4x^4)), which is off by less than 2x^-6.
void true_erfcx(mpfr_ptr r, mpfr_srcptr x) {
  real square;
  mpfr_sqr(square, x, MPFR_RNDN);
  if (mpfr_cmp_d(x, 1e6) <= 0) {
    real factor;
    mpfr_exp(factor, square, MPFR_RNDN);
    mpfr_erfc(r, x, MPFR_RNDN);
    mpfr_mul(r, r, factor, MPFR_RNDN);
    return;
  }
  real series(1), term, pi;
  mpfr_ui_div(term, 1, square, MPFR_RNDN);
  mpfr_div_2ui(term, term, 1, MPFR_RNDN);
  mpfr_sub(series, series, term, MPFR_RNDN);
  mpfr_sqr(term, term, MPFR_RNDN);
  mpfr_mul_ui(term, term, 3, MPFR_RNDN);
  mpfr_add(series, series, term, MPFR_RNDN);
  mpfr_const_pi(pi, MPFR_RNDN);
  mpfr_sqrt(pi, pi, MPFR_RNDN);
  mpfr_mul(pi, pi, x, MPFR_RNDN);
  mpfr_div(r, series, pi, MPFR_RNDN);
}
void true_normcdf(mpfr_ptr r, mpfr_srcptr x) {
  real root(2);
  mpfr_sqrt(root, root, MPFR_RNDN);
  mpfr_div(root, x, root, MPFR_RNDN);
  mpfr_neg(root, root, MPFR_RNDN);
  mpfr_erfc(r, root, MPFR_RNDN);
  mpfr_div_2ui(r, r, 1, MPFR_RNDN);
}
/// The x with erfc(x) = y, 0 < y <= 1: by bisection to 40 bits (erfc falls), then three of Newton's steps.
void inverse_of_erfc(mpfr_ptr x, mpfr_srcptr y) {
  real low(0), high(30), value, slope, square;
  mpfr_set_prec(value.v, 64);
  for (int k = 0; k < 45; ++k) {
    mpfr_add(x, low, high, MPFR_RNDN);
    mpfr_div_2ui(x, x, 1, MPFR_RNDN);
    mpfr_erfc(value, x, MPFR_RNDN);
    mpfr_set(mpfr_cmp(value, y) > 0 ? low.v : high.v, x, MPFR_RNDN);
  }
  mpfr_set_prec(value.v, 320);
  for (int k = 0; k < 3; ++k) {
    mpfr_erfc(value, x, MPFR_RNDN);
    mpfr_sub(value, value, y, MPFR_RNDN);
    mpfr_sqr(square, x, MPFR_RNDN);
    mpfr_exp(slope, square, MPFR_RNDN);
    mpfr_mul(value, value, slope, MPFR_RNDN);
    mpfr_const_pi(slope, MPFR_RNDN);
    mpfr_sqrt(slope, slope, MPFR_RNDN);
    mpfr_div_2ui(slope, slope, 1, MPFR_RNDN);
    mpfr_mul(value, value, slope, MPFR_RNDN);
    mpfr_add(x, x, value, MPFR_RNDN);
  }
}
void true_erfcinv(mpfr_ptr r, mpfr_srcptr y) {
  if (mpfr_cmp_ui(y, 1) == 0) return mpfr_set_zero(r, 1);
  if (mpfr_nan_p(y) || mpfr_sgn(y) < 0 || mpfr_cmp_ui(y, 2) > 0) return mpfr_set_nan(r);
  if (mpfr_zero_p(y)) return mpfr_set_inf(r, 1);
  if (mpfr_cmp_ui(y, 2) == 0) return mpfr_set_inf(r, -1);
  if (mpfr_cmp_ui(y, 1) <= 0) return inverse_of_erfc(r, y);
  real other(0, 1200);
  mpfr_ui_sub(other, 2, y, MPFR_RNDN);
  inverse_of_erfc(r, other);
  mpfr_neg(r, r, MPFR_RNDN);
}
/// erfc's of 1 - y; a small y's is sqrt(pi)/2 (y + pi/12 y^3), off by less than y^5.
void true_erfinv(mpfr_ptr r, mpfr_srcptr y) {
  if (mpfr_nan_p(y) || mpfr_cmpabs_ui(y, 1) > 0) return mpfr_set_nan(r);
  if (mpfr_cmpabs_ui(y, 1) == 0) return mpfr_set_inf(r, mpfr_sgn(y));
  real pi;
  mpfr_const_pi(pi, MPFR_RNDN);
  if (mpfr_cmp_abs(y, real(0x1p-30)) < 0) {
    real cube;
    mpfr_pow_ui(cube, y, 3, MPFR_RNDN);
    mpfr_mul(cube, cube, pi, MPFR_RNDN);
    mpfr_div_ui(cube, cube, 12, MPFR_RNDN);
    mpfr_add(r, y, cube, MPFR_RNDN);
    mpfr_sqrt(pi, pi, MPFR_RNDN);
    mpfr_mul(r, r, pi, MPFR_RNDN);
    mpfr_div_2ui(r, r, 1, MPFR_RNDN);
    return;
  }
  real rest;
  mpfr_abs(rest, y, MPFR_RNDN);
  mpfr_ui_sub(rest, 1, rest, MPFR_RNDN);
  inverse_of_erfc(r, rest);
  if (mpfr_sgn(y) < 0) mpfr_neg(r, r, MPFR_RNDN);
}
void true_normcdfinv(mpfr_ptr r, mpfr_srcptr y) {
  real twice;
  mpfr_mul_2ui(twice, y, 1, MPFR_RNDN);
  true_erfcinv(r, twice);
  mpfr_sqrt_ui(twice, 2, MPFR_RNDN);
  mpfr_mul(r, r, twice, MPFR_RNDN);
  mpfr_neg(r, r, MPFR_RNDN);
  if (mpfr_zero_p(r)) mpfr_set_zero(r, 1);
}
void bessel_i(mpfr_ptr r, mpfr_srcptr x, unsigned order) {
  if (mpfr_nan_p(x)) return mpfr_set_nan(r);
  if (mpfr_cmpabs_ui(x, 1000) > 0) return mpfr_set_inf(r, order == 1 && mpfr_sgn(x) < 0 ? -1 : 1);  // e^1000 is no double
  real quarter, term(1);
  mpfr_sqr(quarter, x, MPFR_RNDN);
  mpfr_div_2ui(quarter, quarter, 2, MPFR_RNDN);
  if (order == 1) mpfr_div_2ui(term, x, 1, MPFR_RNDN);
  mpfr_set(r, term, MPFR_RNDN);
  for (unsigned k = 1; k < 3000 && !mpfr_zero_p(term.v) && mpfr_get_exp(term.v) > mpfr_get_exp(r) - 200; ++k) {
    mpfr_mul(term, term, quarter, MPFR_RNDN);
    mpfr_div_ui(term, term, k * (k + order), MPFR_RNDN);
    mpfr_add(r, r, term, MPFR_RNDN);
  }
}
void true_cyl_bessel_i0(mpfr_ptr r, mpfr_srcptr x) { bessel_i(r, x, 0); }
void true_cyl_bessel_i1(mpfr_ptr r, mpfr_srcptr x) { bessel_i(r, x, 1); }

#define TRUE_BY_2(name, function) \
  void true_##name(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y) { function(r, x, y, MPFR_RNDN); }
TRUE_BY_2(pow, mpfr_pow)
TRUE_BY_2(atan2, mpfr_atan2)
TRUE_BY_2(hypot, mpfr_hypot)
TRUE_BY_2(fmod, mpfr_fmod)
TRUE_BY_2(remainder, mpfr_remainder)
TRUE_BY_2(fdim, mpfr_dim)
TRUE_BY_2(fmax, mpfr_max)
TRUE_BY_2(fmin, mpfr_min)
TRUE_BY_2(copysign, mpfr_copysign)
void true_rhypot(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y) {
  mpfr_hypot(r, x, y, MPFR_RNDN);
  mpfr_ui_div(r, 1, r, MPFR_RNDN);
}
void true_fma(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_srcptr z) { mpfr_fma(r, x, y, z, MPFR_RNDN); }
void true_norm3d(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_srcptr z) {
  mpfr_hypot(r, x, y, MPFR_RNDN);
  mpfr_hypot(r, r, z, MPFR_RNDN);
}
void true_rnorm3d(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_srcptr z) {
  true_norm3d(r, x, y, z);
  mpfr_ui_div(r, 1, r, MPFR_RNDN);
}

// ---- How far off an answer is.

/// Places on the line of numbers: neighbours differ by 1, and 0 is -0.
template <class T>
std::int64_t place(T x) {
  using bits = typename math_cases::format<T>::bits;
  const auto u = std::bit_cast<bits>(x);
  const auto without_sign = static_cast<std::int64_t>(u & (~bits{0} >> 1));
  return std::signbit(x) ? -without_sign : without_sign;
}
template <class T>
T rounded(mpfr_srcptr x) {
  if constexpr (sizeof(T) == 4) return mpfr_get_flt(x, MPFR_RNDN);
  else return mpfr_get_d(x, MPFR_RNDN);
}
/// Units between two numbers; of a NaN and a number infinitely many.
template <class T>
double units_between(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<double>::infinity();
  return std::abs(static_cast<double>(place(a) - place(b)));
}

/// What was found of one function: the worst, and where.
struct worst_of {
  double units = 0;
  std::string where;
  template <class T, class... X>
  void see(T got, T expected, double allowed, X... x) {
    const double off = units_between(got, expected);
    if (off <= units) return;
    units = off;
    if (off <= allowed) return;
    char text[200];
    where = "of";
    ((std::snprintf(text, sizeof text, " %a", static_cast<double>(x)), where += text), ...);
    std::snprintf(text, sizeof text, " is %a, not %a", static_cast<double>(got), static_cast<double>(expected));
    where += text;
  }
};
void expect_within(double bound, const worst_of& worst, const char* name) {
  EXPECT_LE(worst.units, bound) << name << ' ' << worst.where;
}

/// Edges and as many more as wanted: WARPFOLD_MATH_CALLS of each function, for a search.
std::uint64_t calls() {
  static const char* const wanted = std::getenv("WARPFOLD_MATH_CALLS");
  return static_cast<std::uint64_t>((wanted != nullptr ? std::atof(wanted) : 600) * wf::test::effort()) + 60;
}

/// CUDA states no bound there, or MPFR takes very long for what is an infinity or a zero.
template <class T>
bool has_bound(const std::string& name, T x) {
  if (name == "lgamma") return !(x > (sizeof(T) == 4 ? T(-10.001) : T(-23.0001)) && x < T(-2.2637)) && std::abs(x) < T(1e30);
  if (name == "tgamma") return !(std::abs(x) > 200) || std::isinf(x);
  if (name == "erfcinv" || name == "normcdfinv") return x < 2 && x > T(1e-300);
  return true;
}

template <class T>
void check_1(const char* name, T (*f)(T), void (*truth)(mpfr_ptr, mpfr_srcptr), double bound) {
  worst_of worst;
  real expected;
  for (std::uint64_t i = 0; i < calls(); ++i) {
    const T x = math_cases::argument<T>(i);
    if (!has_bound(name, x)) continue;
    truth(expected, real(static_cast<double>(x)));
    worst.see(f(x), rounded<T>(expected), bound, x);
  }
  expect_within(bound, worst, name);
}
template <class T>
void check_2(const char* name, T (*f)(T, T), void (*truth)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr), double bound) {
  worst_of worst;
  real expected(0, bound == 0 ? 2200 : 320);
  for (std::uint64_t i = 0; i < calls() + 676; ++i) {
    const T x = math_cases::argument<T>(i, 0), y = math_cases::argument<T>(i, 1);
    if (std::string(name) == "copysign" && std::isnan(y)) continue;  // MPFR's have no sign
    truth(expected, real(static_cast<double>(x)), real(static_cast<double>(y)));
    worst.see(f(x, y), rounded<T>(expected), bound, x, y);
  }
  expect_within(bound, worst, name);
}
template <class T>
void check_3(const char* name, T (*f)(T, T, T), void (*truth)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_srcptr), double bound) {
  worst_of worst;
  real expected(0, bound == 0 ? 4400 : 320);
  for (std::uint64_t i = 0; i < calls() + 676; ++i) {
    const T x = math_cases::argument<T>(i, 0), y = math_cases::argument<T>(i, 1), z = math_cases::argument<T>(i, 2);
    truth(expected, real(static_cast<double>(x)), real(static_cast<double>(y)), real(static_cast<double>(z)));
    worst.see(f(x, y, z), rounded<T>(expected), bound, x, y, z);
  }
  expect_within(bound, worst, name);
}

class math_bounds : public testing::Test {
 protected:
  void SetUp() override {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
};

TEST_F(math_bounds, functions_of_one_argument) {
#define CHECK_1(name, of_float, of_double)                                           \
  check_1<float>(#name, [](float x) -> float { return name##f(x); }, true_##name, of_float); \
  check_1<double>(#name, [](double x) -> double { return name(x); }, true_##name, of_double);
  MATH_UNARY(CHECK_1)
}

TEST_F(math_bounds, functions_of_several) {
#define CHECK_2(name, of_float, of_double)                                                              \
  check_2<float>(#name, [](float x, float y) -> float { return name##f(x, y); }, true_##name, of_float); \
  check_2<double>(#name, [](double x, double y) -> double { return name(x, y); }, true_##name, of_double);
#define CHECK_3(name, of_float, of_double)                                                                             \
  check_3<float>(#name, [](float x, float y, float z) -> float { return name##f(x, y, z); }, true_##name, of_float); \
  check_3<double>(#name, [](double x, double y, double z) -> double { return name(x, y, z); }, true_##name, of_double);
  MATH_BINARY(CHECK_2)
  MATH_TERNARY(CHECK_3)
}

template <class T>
void check_bessel(const char* name, T (*f)(T), void (*truth)(mpfr_ptr, mpfr_srcptr), double bound) {
  worst_of worst;
  real expected;
  const double absolute = sizeof(T) == 4 ? 2.2e-6 : 5e-12;
  for (std::uint64_t i = 0; i < calls(); ++i) {
    const T x = math_cases::argument<T>(i);
    if (std::abs(x) > T(5000)) continue;
    truth(expected, real(static_cast<double>(x)));
    const T got = f(x), right = rounded<T>(expected);
    const bool is_near = std::abs(got - right) <= static_cast<T>(absolute);
    if (!(std::abs(x) >= 8 && is_near)) worst.see(got, right, bound, x);
  }
  expect_within(bound, worst, name);
}
TEST_F(math_bounds, bessel_functions) {
#define CHECK_BESSEL(name, of_float, of_double)                                           \
  check_bessel<float>(#name, [](float x) -> float { return name##f(x); }, true_##name, of_float); \
  check_bessel<double>(#name, [](double x) -> double { return name(x); }, true_##name, of_double);
  MATH_BESSEL(CHECK_BESSEL)
}

/// The doubles and floats next to the zeros, where the relative error is hard to keep.
TEST_F(math_bounds, bessel_functions_next_to_their_zeros) {
  const struct {
    const char* name;
    double (*f)(double);
    void (*truth)(mpfr_ptr, mpfr_srcptr);
    double zero;
  } zeros[] = {{"j0", j0, true_j0, 0x1.33d152e971b4p+1},  {"j0", j0, true_j0, 0x1.6148f5b2c2e45p+2}, {"j1", j1, true_j1, 0x1.ea75575af6f09p+1},
               {"j1", j1, true_j1, 0x1.c0ff5f3b4725p+2},  {"y0", y0, true_y0, 0x1.c982eb8d417eap-1}, {"y0", y0, true_y0, 0x1.fa9534d98569cp+1},
               {"y0", y0, true_y0, 0x1.c581dc4e72103p+2}, {"y1", y1, true_y1, 0x1.193bed4dff243p+1}, {"y1", y1, true_y1, 0x1.5b7fe4e87b02ep+2}};
  real expected;
  for (const auto& z : zeros) {
    worst_of worst;
    for (double off = 0; off < 0.2; off = off == 0 ? 0x1p-53 : off * 3)
      for (const double x : {z.zero + off, z.zero - off, -z.zero - off}) {
        if (x < 0 && z.name[0] == 'y') continue;
        z.truth(expected, real(x));
        worst.see(z.f(x), rounded<double>(expected), 7, x);
      }
    expect_within(7, worst, z.name);
  }
}

TEST_F(math_bounds, bessel_functions_of_higher_order) {
  real expected;
  worst_of of_y;
  for (std::uint64_t i = 0; i < calls(); ++i) {
    const float x = math_cases::argument<float>(i);
    const double d = math_cases::argument<double>(i);
    if (std::abs(d) < 5000) {
      mpfr_jn(expected, 128, real(d), MPFR_RNDN);
      EXPECT_NEAR(jn(128, d), mpfr_get_d(expected, MPFR_RNDN), 5e-12) << d;
    }
    if (d > 7.5 && d < 5000) {
      mpfr_yn(expected, 5, real(d), MPFR_RNDN);
      EXPECT_NEAR(yn(5, d), mpfr_get_d(expected, MPFR_RNDN), 5e-12) << d;
    }
    if (std::abs(x) < 5000) {
      mpfr_jn(expected, 128, real(static_cast<double>(x)), MPFR_RNDN);
      EXPECT_NEAR(static_cast<double>(jnf(128, x)), mpfr_get_d(expected, MPFR_RNDN), 2.2e-6) << static_cast<double>(x);
    }
    if (x > 0 && x < 5000) {
      mpfr_yn(expected, 5, real(static_cast<double>(x)), MPFR_RNDN);
      const float got = ynf(5, x), right = rounded<float>(expected);
      if (x < 5) of_y.see(got, right, 15, x);
      else EXPECT_NEAR(got, right, 2.2e-6f) << static_cast<double>(x);
    }
  }
  expect_within(15, of_y, "ynf(5, x)");  // 2 + 2.5 n
}

// ---- Those that only kernels have.

TEST_F(math_bounds, fast_approximations) {
  // Better than the bounds of a GPU's, of which the least is 2 units or 2^-24.
  const auto check = [](const char* name, auto f, void (*truth)(mpfr_ptr, mpfr_srcptr), float low, float high, double bound) {
    worst_of worst;
    real expected;
    for (std::uint64_t i = 0; i < calls(); ++i) {
      const float x = math_cases::argument<float>(i);
      if (!(x >= low && x <= high)) continue;
      truth(expected, real(static_cast<double>(x)));
      worst.see(f(x), rounded<float>(expected), bound, x);
    }
    expect_within(bound, worst, name);
  };
  constexpr float most = std::numeric_limits<float>::max();
  check("__expf", [](float x) { return __expf(x); }, true_exp, -most, most, 2);
  check("__exp10f", [](float x) { return __exp10f(x); }, true_exp10, -most, most, 2);
  check("__logf", [](float x) { return __logf(x); }, true_log, 0, most, 1);
  check("__log2f", [](float x) { return __log2f(x); }, true_log2, 0, most, 1);
  check("__log10f", [](float x) { return __log10f(x); }, true_log10, 0, most, 2);
  check("__sinf", [](float x) { return __sinf(x); }, true_sin, -3.1415927f, 3.1415927f, 1);
  check("__cosf", [](float x) { return __cosf(x); }, true_cos, -3.1415927f, 3.1415927f, 1);
  check("__tanf", [](float x) { return __tanf(x); }, true_tan, -3.1415927f, 3.1415927f, 4);
  check("__tanhf", [](float x) { return __tanhf(x); }, true_tanh, -most, most, 2);
  check("__frsqrt_rn", [](float x) { return __frsqrt_rn(x); }, true_rsqrt, 0, most, 0);
  check("__frcp_rn", [](float x) { return __frcp_rn(x); }, [](mpfr_ptr r, mpfr_srcptr x) { mpfr_ui_div(r, 1, x, MPFR_RNDN); }, -most, most, 0);
}

TEST_F(math_bounds, several_answers_and_four_arguments) {
  worst_of sine, cosine, length, inverse;
  real expected;
  for (std::uint64_t i = 0; i < calls(); ++i) {
    const double x = math_cases::argument<double>(i), y = math_cases::argument<double>(i, 1), z = math_cases::argument<double>(i, 2);
    double s = 0, c = 0;
    sincos(x, &s, &c);
    EXPECT_EQ(units_between(s, sin(x)) + units_between(c, cos(x)), 0) << x;
    sincospi(x, &s, &c);
    EXPECT_EQ(units_between(s, sinpi(x)) + units_between(c, cospi(x)), 0) << x;
    true_norm3d(expected, real(x), real(y), real(z));
    mpfr_hypot(expected, expected, real(x), MPFR_RNDN);
    length.see(norm4d(x, y, z, x), rounded<double>(expected), 2, x, y, z);
    mpfr_ui_div(expected, 1, expected, MPFR_RNDN);
    inverse.see(rnorm4d(x, y, z, x), rounded<double>(expected), 1, x, y, z);
    int exponent = 0;
    const double fraction = frexp(x, &exponent);
    EXPECT_EQ(units_between(ldexp(fraction, exponent), x), 0) << x;
    double whole = 0;
    const double rest = modf(x, &whole);
    if (!std::isfinite(x)) continue;
    EXPECT_EQ(rest + whole, x);
    if (x != 0) {
      EXPECT_EQ(ilogb(x), static_cast<int>(logb(x))) << x;
    }
  }
  expect_within(2, length, "norm4d");
  expect_within(1, inverse, "rnorm4d");
}

/// The 16-bit number that is nearest to a true value, ties to even: of the two neighbours of what was got, by exact comparison.
template <class T>
bool is_nearest(T got, mpfr_srcptr truth) {
  const auto value = [](T x) { return static_cast<double>(static_cast<float>(x)); };
  if (mpfr_nan_p(truth)) return std::isnan(value(got));
  if (std::isnan(value(got))) return false;
  if (mpfr_zero_p(truth)) return value(got) == 0;
  if (mpfr_inf_p(truth)) return std::isinf(value(got)) && std::signbit(value(got)) == (mpfr_signbit(truth) != 0);
  const unsigned short infinity = T(std::numeric_limits<float>::infinity()).bits, size = got.bits & 0x7fff;
  // A half of the way to the neighbours; infinity stands where the number after the largest would.
  const auto of_size = [&](int s) {
    if (s < infinity) return value(T::of(static_cast<unsigned short>(s)));
    return 2 * value(T::of(static_cast<unsigned short>(infinity - 1))) - value(T::of(static_cast<unsigned short>(infinity - 2)));
  };
  const double here = of_size(size);
  real distance;
  mpfr_abs(distance, truth, MPFR_RNDN);
  const bool has_sign = (got.bits & 0x8000) != 0;
  if (size != 0 && has_sign != (mpfr_signbit(truth) != 0)) return false;
  const int above = mpfr_cmp_d(distance, (here + of_size(size + 1)) / 2);
  if (size < infinity && !(above < 0 || (above == 0 && size % 2 == 0))) return false;
  if (size == 0) return true;
  const int below = mpfr_cmp_d(distance, (here + of_size(size - 1)) / 2);
  return below > 0 || (below == 0 && size % 2 == 0);
}

template <class T>
void check_half(const char* name, T (*f)(T), void (*truth)(mpfr_ptr, mpfr_srcptr)) {
  unsigned wrong = 0, first = 0;
  real expected(0, 64);  // more than twice the bits of a 16-bit number, and 42 to tell on which side of a half
  wf::test::some_of_all chosen;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    if (!chosen()) continue;
    const T x = T::of(static_cast<unsigned short>(bits));
    truth(expected, real(static_cast<double>(static_cast<float>(x)), 64));
    if (!is_nearest(f(x), expected) && wrong++ == 0) first = bits;
  }
  EXPECT_EQ(wrong, 0u) << name << ", first of " << static_cast<double>(static_cast<float>(T::of(static_cast<unsigned short>(first))));
}

template <class T>
void check_halves() {
#define CHECK_HALF(name) check_half<T>("h" #name, [](T x) -> T { return h##name(x); }, true_##name);
  CHECK_HALF(sqrt)
  CHECK_HALF(rsqrt)
  CHECK_HALF(exp)
  CHECK_HALF(exp2)
  CHECK_HALF(exp10)
  CHECK_HALF(log)
  CHECK_HALF(log2)
  CHECK_HALF(log10)
  CHECK_HALF(sin)
  CHECK_HALF(cos)
  CHECK_HALF(tanh)
  CHECK_HALF(ceil)
  CHECK_HALF(floor)
  CHECK_HALF(trunc)
  CHECK_HALF(rint)
  check_half<T>("hrcp", [](T x) -> T { return hrcp(x); }, [](mpfr_ptr r, mpfr_srcptr x) { mpfr_ui_div(r, 1, x, MPFR_RNDN); });
}
TEST_F(math_bounds, functions_of_f16_are_rounded_right) { check_halves<__half>(); }
TEST_F(math_bounds, functions_of_bf16_are_rounded_right) { check_halves<__nv_bfloat16>(); }

}  // namespace
