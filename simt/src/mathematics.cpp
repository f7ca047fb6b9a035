// SPDX-License-Identifier: Apache-2.0
// Functions of doubles that glibc computes less well than CUDA states: cbrt, exp10, tanh and the Bessel functions have these
// definitions in a program with simt, found before those of libm. Each is computed in long double and rounded once; Bessel
// functions near their zeros, where no rounding of theirs keeps the relative error, by the series about the zero. So have
// fmin and fmax, whose zero's sign C leaves open: PTX ISA 9.0, 9.7.3 "min" and "max": 0 is greater than -0.
#include <cmath>
#include <math.h>

namespace {

using wide = long double;

/// A zero below 8, in three doubles, and the slope there, in two. By MPFR, 300 bits.
struct zero {
  double place[3], slope[2];
};
constexpr zero of_j0[] = {
    {{0x1.33d152e971b4p+1, -0x1.0f539d7da258ep-53, -0x1.646effa90e9e4p-107}, {-0x1.09cdb3655128p-1, -0x1.ac8cc3d6bafa5p-55}},
    {{0x1.6148f5b2c2e45p+2, 0x1.75054cd60a517p-54, -0x1.2c78a130dfed1p-112}, {0x1.5c6e60a097823p-2, -0x1.af17f78e58353p-57}}};
constexpr zero of_j1[] = {
    {{0x1.ea75575af6f09p+1, -0x1.60155a9d1b256p-53, -0x1.fb72b16a8f55ep-108}, {-0x1.9c6cf582cbf7fp-2, 0x1.2de1143765a96p-57}},
    {{0x1.c0ff5f3b4725p+2, -0x1.b226d9d243827p-54, -0x1.3ceb4a3a76e2cp-109}, {0x1.33518b3874e8ap-2, 0x1.af22d033ee0a4p-56}}};
constexpr zero of_y0[] = {
    {{0x1.c982eb8d417eap-1, 0x1.ea9d270347f83p-56, -0x1.2c2f4d6e99a1fp-112}, {0x1.c24371844b88ap-1, -0x1.225c9ba2f376cp-56}},
    {{0x1.fa9534d98569cp+1, -0x1.f06ae7804384ep-54, 0x1.a02d2e779d6a4p-109}, {-0x1.9c34256a12a0cp-2, -0x1.a4026e436c4d3p-58}},
    {{0x1.c581dc4e72103p+2, -0x1.9774a495f56cfp-54, 0x1.acc2b9cf914d1p-113}, {0x1.334cca0697a5bp-2, -0x1.8d4484b7cd2a6p-56}}};
constexpr zero of_y1[] = {
    {{0x1.193bed4dff243p+1, -0x1.bd1e50d219bfdp-55, -0x1.eaabce933bf64p-114}, {0x1.0aa48442f014bp-1, -0x1.49367c4c05aaap-56}},
    {{0x1.5b7fe4e87b02ep+2, 0x1.dfe7bac228e8cp-52, -0x1.11f731cc08f3p-108}, {-0x1.5c7c556f0c19ap-2, 0x1.b8d2a1c496808p-56}}};

/// The coefficients follow from Bessel's equation x^2 y'' + x y' + (x^2 - order^2) y = 0. The next singularity is 0, so at a
/// distance of 1/8 from z > 0.89 terms fall by 7 and more each: 32 of them are more than enough.
wide series_about(const zero& at, int order, double x) {
  const wide z = static_cast<wide>(at.place[0]) + static_cast<wide>(at.place[1]);
  const wide d = static_cast<wide>(x - at.place[0]) - at.place[1] - at.place[2];  // the first difference is exact
  constexpr int terms = 32;
  wide a[terms + 2] = {0, static_cast<wide>(at.slope[0]) + static_cast<wide>(at.slope[1])};
  for (int k = 0; k < terms; ++k) {
    const wide w = k;
    wide sum = (2 * w + 1) * (w + 1) * z * a[k + 1] + (w * w + z * z - static_cast<wide>(order * order)) * a[k];
    if (k >= 1) sum += 2 * z * a[k - 1];
    if (k >= 2) sum += a[k - 2];
    a[k + 2] = -sum / (z * z * (w + 2) * (w + 1));
  }
  wide sum = 0;
  for (int k = terms + 1; k > 0; --k) sum = (sum + a[k]) * d;
  return sum;
}

template <int Zeros>
double near_a_zero_or(const zero (&zeros)[Zeros], int order, double x, wide (*elsewhere)(wide)) {
  for (const zero& at : zeros)
    if (std::fabs(x - at.place[0]) < 0.125) return static_cast<double>(series_about(at, order, x));
  return static_cast<double>(elsewhere(static_cast<wide>(x)));
}

template <class T>
T greater_of(T x, T y) {
  if (x == y) return std::signbit(x) ? y : x;
  return x > y || y != y ? x : y;
}
template <class T>
T less_of(T x, T y) {
  if (x == y) return std::signbit(x) ? x : y;
  return x < y || y != y ? x : y;
}

}  // namespace

extern "C" {

float fmaxf(float x, float y) noexcept { return greater_of(x, y); }
float fminf(float x, float y) noexcept { return less_of(x, y); }
double fmax(double x, double y) noexcept { return greater_of(x, y); }
double fmin(double x, double y) noexcept { return less_of(x, y); }
double cbrt(double x) noexcept { return static_cast<double>(cbrtl(static_cast<wide>(x))); }
double exp10(double x) noexcept { return static_cast<double>(exp10l(static_cast<wide>(x))); }
double tanh(double x) noexcept { return static_cast<double>(tanhl(static_cast<wide>(x))); }
double j0(double x) noexcept { return near_a_zero_or(of_j0, 0, std::fabs(x), j0l); }
double j1(double x) noexcept {
  const double size = near_a_zero_or(of_j1, 1, std::fabs(x), j1l);
  return std::signbit(x) ? -size : size;
}
double y0(double x) noexcept { return near_a_zero_or(of_y0, 0, x, y0l); }
double y1(double x) noexcept { return near_a_zero_or(of_y1, 1, x, y1l); }

}  // extern "C"
