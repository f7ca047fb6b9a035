// SPDX-License-Identifier: Apache-2.0
// CUDA's device functions against MPFR: within a unit in the last place of the true value, which is less than CUDA
// allows itself; roundings and conversions to the last bit.
#include <cuda_runtime.h>

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace {

class real {
 public:
  explicit real(double x = 0, mpfr_prec_t bits = 300) {
    mpfr_init2(v, bits);
    mpfr_set_d(v, x, MPFR_RNDN);
  }
  ~real() { mpfr_clear(v); }
  real(const real&) = delete;
  real& operator=(const real&) = delete;
  mpfr_t v;
};

template <class T>
double unit_at(double x) {
  constexpr int digits = std::numeric_limits<T>::digits, least = std::numeric_limits<T>::min_exponent - 1;
  return std::ldexp(1.0, std::max(x == 0 ? least : std::ilogb(x), least) - digits + 1);
}

template <class T>
double units_off(T got, const real& truth) {
  real off;
  mpfr_sub_d(off.v, truth.v, static_cast<double>(got), MPFR_RNDN);
  return std::abs(mpfr_get_d(off.v, MPFR_RNDN)) / unit_at<T>(mpfr_get_d(truth.v, MPFR_RNDN));
}

using truth_of = std::function<void(mpfr_t, mpfr_t)>;

template <class T>
void check(const char* name, T (*f)(T), const truth_of& truth, double low, double high, double most = 1) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> any(low, high);
  for (int k = 0; k < 300; ++k) {
    const T x = static_cast<T>(any(random));
    real of(static_cast<double>(x)), expected;
    truth(expected.v, of.v);
    const T got = f(x);
    ASSERT_LE(units_off(got, expected), most) << name << '(' << static_cast<double>(x) << ") is " << static_cast<double>(got);
  }
}

void sin_of_pi(mpfr_t to, mpfr_t x, bool is_sine) {
  real pi;
  mpfr_const_pi(pi.v, MPFR_RNDN);
  mpfr_mul(pi.v, pi.v, x, MPFR_RNDN);
  if (is_sine) mpfr_sin(to, pi.v, MPFR_RNDN);
  else mpfr_cos(to, pi.v, MPFR_RNDN);
}
void scaled_erfc(mpfr_t to, mpfr_t x) {
  real square;
  mpfr_sqr(square.v, x, MPFR_RNDN);
  mpfr_exp(square.v, square.v, MPFR_RNDN);
  mpfr_erfc(to, x, MPFR_RNDN);
  mpfr_mul(to, to, square.v, MPFR_RNDN);
}
void normal_below(mpfr_t to, mpfr_t x) {
  real root(2);
  mpfr_sqrt(root.v, root.v, MPFR_RNDN);
  mpfr_div(root.v, x, root.v, MPFR_RNDN);
  mpfr_neg(root.v, root.v, MPFR_RNDN);
  mpfr_erfc(to, root.v, MPFR_RNDN);
  mpfr_div_ui(to, to, 2, MPFR_RNDN);
}
void bessel(mpfr_t to, mpfr_t x, unsigned order) {
  real quarter, term(1);
  mpfr_sqr(quarter.v, x, MPFR_RNDN);
  mpfr_div_ui(quarter.v, quarter.v, 4, MPFR_RNDN);
  if (order == 1) mpfr_div_ui(term.v, x, 2, MPFR_RNDN);
  mpfr_set(to, term.v, MPFR_RNDN);
  for (unsigned k = 1; k < 400; ++k) {
    mpfr_mul(term.v, term.v, quarter.v, MPFR_RNDN);
    mpfr_div_ui(term.v, term.v, k * (k + order), MPFR_RNDN);
    mpfr_add(to, to, term.v, MPFR_RNDN);
  }
}

#define BOTH(name, truth, ...)               \
  check<float>(#name "f", name##f, truth, __VA_ARGS__); \
  check<double>(#name, name, truth, __VA_ARGS__)

// glibc's from 2.41 on are a sine or cosine of fl(π)·r in their own precision, |r| ≤ 1/2 reduced without error. Of p digits, fl(π) is off by at most
// 0.47·2^-p of itself, the product by 2^-p, and the functions enlarge neither; their own error is 0.56 units: 1.47 + 0.56 together.
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 41)
constexpr double units_of_pi = 2.04;
#else
constexpr double units_of_pi = 1;
#endif

TEST(math, functions_that_c_has_not_are_right_to_a_unit) {
  BOTH(rcbrt, [](mpfr_t to, mpfr_t x) { mpfr_cbrt(to, x, MPFR_RNDN); mpfr_ui_div(to, 1, to, MPFR_RNDN); }, -1e6, 1e6);
  BOTH(sinpi, [](mpfr_t to, mpfr_t x) { sin_of_pi(to, x, true); }, -1000, 1000, units_of_pi);
  BOTH(cospi, [](mpfr_t to, mpfr_t x) { sin_of_pi(to, x, false); }, -1000, 1000, units_of_pi);
  BOTH(erfcx, scaled_erfc, -8, 60);
  BOTH(normcdf, normal_below, -12, 8);
  BOTH(cyl_bessel_i0, [](mpfr_t to, mpfr_t x) { bessel(to, x, 0); }, -80, 80);
  BOTH(cyl_bessel_i1, [](mpfr_t to, mpfr_t x) { bessel(to, x, 1); }, -80, 80);
}

// The true inverse lies between the neighbours of what is told.
template <class T>
void check_inverse(const char* name, T (*f)(T), const truth_of& back, double low, double high) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> any(low, high);
  for (int k = 0; k < 1000; ++k) {
    const T y = static_cast<T>(any(random)), x = f(y);
    const T infinity = std::numeric_limits<T>::infinity();
    real below(static_cast<double>(std::nextafter(x, -infinity))), above(static_cast<double>(std::nextafter(x, infinity))), a, b;
    back(a.v, below.v);
    back(b.v, above.v);
    const int from = mpfr_cmp_d(a.v, static_cast<double>(y)), to = mpfr_cmp_d(b.v, static_cast<double>(y));
    ASSERT_LE(from * to, 0) << name << '(' << static_cast<double>(y) << ") is " << static_cast<double>(x);
  }
}
#define BOTH_INVERSES(name, back, low, high)               \
  check_inverse<float>(#name "f", name##f, back, low, high); \
  check_inverse<double>(#name, name, back, low, high)

TEST(math, inverses_are_right_to_a_unit) {
  BOTH_INVERSES(erfinv, [](mpfr_t to, mpfr_t x) { mpfr_erf(to, x, MPFR_RNDN); }, -0.9999, 0.9999);
  BOTH_INVERSES(erfcinv, [](mpfr_t to, mpfr_t x) { mpfr_erfc(to, x, MPFR_RNDN); }, 1e-6, 1.9);
  BOTH_INVERSES(normcdfinv, normal_below, 1e-6, 0.999);
  EXPECT_EQ(normcdfinvf(0), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(erfinvf(1), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(erfcinv(2.5)));
}

TEST(math, lengths_neither_over_nor_underflow) {
  EXPECT_EQ(norm3df(3e30f, 0, 4e30f), 5e30f);
  EXPECT_EQ(norm4d(1e-300, 1e-300, 1e-300, 1e-300), 2e-300);
  EXPECT_EQ(rnorm3df(0, 0.5f, 0), 2.0f);
  EXPECT_EQ(rhypot(0.0, 4.0), 0.25);
  const float x[] = {1, 2, 2};
  EXPECT_EQ(normf(3, x), 3.0f);
  EXPECT_EQ(norm3d(std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, 0), HUGE_VAL);
  EXPECT_EQ(sinpi(1e300), 0);
  EXPECT_EQ(cospif(0.5f), 0);
  EXPECT_TRUE(std::signbit(sinpif(-0.0f)));
}

TEST(math, approximations_are_within_cudas_bounds) {
  // 2 + floor(|1.16 x|) units, and 2^-21.4 beyond units of 3 near 1; a unit is less than either.
  check<float>("__expf", [](float x) { return __expf(x); }, [](mpfr_t to, mpfr_t x) { mpfr_exp(to, x, MPFR_RNDN); }, -80, 80);
  check<float>("__exp10f", [](float x) { return __exp10f(x); }, [](mpfr_t to, mpfr_t x) { mpfr_exp10(to, x, MPFR_RNDN); }, -35, 35);
  check<float>("__logf", [](float x) { return __logf(x); }, [](mpfr_t to, mpfr_t x) { mpfr_log(to, x, MPFR_RNDN); }, 1e-3, 1e6);
  check<float>("__log2f", [](float x) { return __log2f(x); }, [](mpfr_t to, mpfr_t x) { mpfr_log2(to, x, MPFR_RNDN); }, 1e-3, 1e6);
  check<float>("__sinf", [](float x) { return __sinf(x); }, [](mpfr_t to, mpfr_t x) { mpfr_sin(to, x, MPFR_RNDN); }, -3.14, 3.14);
  check<float>("__cosf", [](float x) { return __cosf(x); }, [](mpfr_t to, mpfr_t x) { mpfr_cos(to, x, MPFR_RNDN); }, -3.14, 3.14);
  EXPECT_EQ(__powf(2, 10), 1024);
  EXPECT_TRUE(std::isnan(__powf(-2, 2)));
  EXPECT_EQ(__fdividef(6, 3), 2);
  EXPECT_EQ(__fdividef(1e38f, 0x1.8p127f), 0);
}

template <class T>
void check_rounding(T (*f)(T, T), int (*truth)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t), mpfr_rnd_t way) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(-1000, 1000);
  for (int k = 0; k < 2000; ++k) {
    const T a = static_cast<T>(any(random)), b = static_cast<T>(any(random) * 1e-5);
    real x(static_cast<double>(a)), y(static_cast<double>(b)), r(0, std::numeric_limits<T>::digits);
    truth(r.v, x.v, y.v, way);
    ASSERT_EQ(static_cast<double>(f(a, b)), mpfr_get_d(r.v, MPFR_RNDN)) << static_cast<double>(a) << ", " << static_cast<double>(b);
  }
}

TEST(math, directed_rounding_is_exact) {
#define DIRECTED(suffix, way)                              \
  check_rounding<float>(__fadd_##suffix, mpfr_add, way);   \
  check_rounding<float>(__fsub_##suffix, mpfr_sub, way);   \
  check_rounding<float>(__fmul_##suffix, mpfr_mul, way);   \
  check_rounding<float>(__fdiv_##suffix, mpfr_div, way);   \
  check_rounding<double>(__dadd_##suffix, mpfr_add, way);  \
  check_rounding<double>(__dsub_##suffix, mpfr_sub, way);  \
  check_rounding<double>(__dmul_##suffix, mpfr_mul, way);  \
  check_rounding<double>(__ddiv_##suffix, mpfr_div, way)
  DIRECTED(rn, MPFR_RNDN);
  DIRECTED(rz, MPFR_RNDZ);
  DIRECTED(ru, MPFR_RNDU);
  DIRECTED(rd, MPFR_RNDD);
  EXPECT_EQ(__double2float_ru(1 + 0x1p-40), 1 + 0x1p-23f);
  EXPECT_EQ(__double2float_rz(-1 - 0x1p-40), -1);
  EXPECT_EQ(__ll2double_rd((1LL << 60) + 1), 0x1p60);
  EXPECT_EQ(__uint2float_ru(0xFFFFFFFFu), 0x1p32f);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(math, conversions_to_integers_are_as_ptx_has_them) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rn(-3.5f), -4);
  EXPECT_EQ(__float2int_rz(-2.9f), -2);
  EXPECT_EQ(__float2int_ru(2.1f), 3);
  EXPECT_EQ(__float2int_rd(-2.1f), -3);
  EXPECT_EQ(__float2int_rn(3e10f), 2147483647);
  EXPECT_EQ(__float2int_rn(-3e10f), -2147483647 - 1);
  EXPECT_EQ(__float2int_rn(nan), 0);
  EXPECT_EQ(__float2uint_rz(-5.0f), 0u);
  EXPECT_EQ(__float2uint_rn(5e9f), 4294967295u);
  EXPECT_EQ(__float2ll_rn(nan), std::numeric_limits<long long>::min());
  EXPECT_EQ(__double2int_rn(static_cast<double>(nan)), std::numeric_limits<int>::min());
  EXPECT_EQ(__double2ll_rz(-1e30), std::numeric_limits<long long>::min());
  EXPECT_EQ(__double2ull_ru(1e30), ~0ull);
  EXPECT_EQ(__double2uint_rn(2.5), 2u);
}

TEST(math, integers) {
  EXPECT_EQ(__sad(-2147483647 - 1, 2147483647, 1u), 0u);
  EXPECT_EQ(__hadd(-3, 2), -1);
  EXPECT_EQ(__rhadd(-3, 2), 0);
  EXPECT_EQ(__uhadd(~0u, ~0u), ~0u);
  EXPECT_EQ(__urhadd(1, 2), 2u);
}

TEST(math, names_of_doubles_are_of_floats_too) {
  const float x = 0.3f;
  EXPECT_EQ(exp(x), expf(x));  // in double this would be another number
  EXPECT_NE(static_cast<double>(exp(x)), std::exp(static_cast<double>(x)));
  EXPECT_EQ(j0(x), j0f(x));
  EXPECT_EQ(rcbrt(x), rcbrtf(x));
  float sine = 0, cosine = 0;
  sincos(x, &sine, &cosine);
  EXPECT_EQ(sine, sinf(x));
  EXPECT_EQ(cosine, cosf(x));
  EXPECT_EQ(llmax(-1, 0), 0);
  EXPECT_EQ(ullmax(~0ull, 0), ~0ull);
  EXPECT_EQ(fdivide(1.0, 4.0), 0.25);
  EXPECT_EQ(__fmaf_ieee_rz(1, 0x1p-149f, 1), 1.0f);
  EXPECT_EQ(__fmaf_ieee_ru(1, 0x1p-149f, 1), std::nextafter(1.0f, 2.0f));
}

}  // namespace
