// SPDX-License-Identifier: Apache-2.0
#include "judgement.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "../support/oracle.hpp"
#include "loops.hpp"

namespace wf::test {

namespace {

using u128 = exact::u128;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double half_ulp = 0x1p-53;  // half the last place of 1 in f64

double rounded(const real& r, dtype type, rounding mode) {
  return with_float(type, [&]<class T>() { return r.round<T>(mode); });
}

real real_of(u128 v) {
  real r;
  for (int shift = 96; shift >= 0; shift -= 32) {
    r *= real(0x1p32);
    r += real(static_cast<double>(static_cast<std::uint32_t>(v >> shift)));
  }
  return r;
}

/// The numbers of a product, those of complex numbers with their imaginary parts.
struct factors {
  std::vector<std::complex<double>> all;
  dtype part;
  bool is_complex;
};

/// What can be said where a partial product may overflow or underflow: which one, the order decides.
std::array<wanted, 3> product_out_of_range(const factors& x, bool zero, bool infinite, bool negative, double reach) {
  if (x.is_complex) return {wanted::within(-infinity, infinity, true), wanted::within(-infinity, infinity, true)};
  if (infinite && zero) return {wanted::any_nan()};
  if (zero) return {wanted::within(0, 0, reach > 1000)};
  return {negative ? wanted::within(-infinity, -0.0, true) : wanted::within(0, infinity, true)};
}

/// A product in f64, in any grouping, rounded to the type of an element.
std::array<wanted, 3> product(const factors& x) {
  bool nan = false, infinite = false, zero = false, negative = false;
  double reach = 0, depth = 0;  // as powers of two
  for (const auto& v : x.all) {
    nan = nan || std::isnan(v.real()) || std::isnan(v.imag());
    infinite = infinite || std::isinf(v.real()) || std::isinf(v.imag());
    zero = zero || v == 0.0;
    negative = negative != std::signbit(v.real());
    const double size = std::log2(std::max(std::fabs(v.real()), std::fabs(v.imag())));
    if (std::isfinite(size)) (size > 0 ? reach : depth) += std::fabs(size) + 0.5;
  }
  if (nan) return {wanted::any_nan(), wanted::any_nan()};
  if (infinite || reach > 1000 || depth > 900) return product_out_of_range(x, zero, infinite, negative, reach);
  if (zero && !x.is_complex) return {wanted::just(negative ? -0.0 : 0.0)};
  real re(1), im;
  for (const auto& v : x.all) {
    const real a(v.real()), b(v.imag());
    real ac = re, bd = im, ad = re, bc = im;
    re = ac *= a;
    re -= bd *= b;
    im = ad *= b;
    im += bc *= a;
  }
  const double size = std::hypot(re.round<double>(rounding::nearest), im.round<double>(rounding::nearest));
  const real off(size * half_ulp * (x.is_complex ? 6 : 2) * static_cast<double>(x.all.size()));
  const auto about = [&](const real& r) {
    real low = r, high = r;
    return wanted::within(rounded(low -= off, x.part, rounding::nearest), rounded(high += off, x.part, rounding::nearest));
  };
  return {about(re), about(im)};
}

/// In long double: the elements, the type of the answer.
wanted log_sum_exp(const std::vector<long double>& x, dtype type) {
  long double most = -infinity, sum = 0;
  for (const long double v : x) {
    if (std::isnan(v)) return wanted::any_nan();
    most = std::max(most, v);
  }
  if (std::isinf(most)) return wanted::just(static_cast<double>(most));
  for (const long double v : x) sum += std::exp(v - most);
  const long double answer = most + std::log(sum);
  const double off = half_ulp * (2 * static_cast<double>(x.size()) + 128 + 8 * std::fabs(static_cast<double>(answer)));
  const auto narrowed = [&](double v) { return std::isinf(v) ? v : rounded(real(v), type, rounding::nearest); };
  return wanted::within(narrowed(static_cast<double>(answer - off)), narrowed(static_cast<double>(answer + off)));
}

double magnitude_of(double v) { return std::fabs(v); }
i128 magnitude_of(i128 v) { return v < 0 ? -v : v; }
wanted wanted_of(double v) { return wanted::just(v); }
wanted wanted_of(i128 v) { return wanted::integer(v); }

/// The greatest and the least that a type has.
template <class V>
std::pair<V, V> limits(dtype type) {
  if constexpr (std::is_same_v<V, double>) {
    return {infinity, -infinity};
  } else {
    if (type == dtype::boolean) return {1, 0};
    const V half = V{1} << (8 * info(type).size - 1);
    return type >= dtype::u8 ? std::pair{2 * half - 1, V{0}} : std::pair{half - 1, -half};
  }
}

}  // namespace

judgement::judgement(const numbers& x, const numbers& y, const how& h) {
  if (is_complex(x.type)) of_complex(x, y, h);
  else if (is_floating(x.type)) of_floats(x, y, h);
  else of_integers(x, y, h);
}

void judgement::of_counts(std::int64_t n, std::int64_t nonzero) {
  of(op::count)[0] = wanted::integer(n);
  of(op::count_nonzero)[0] = wanted::integer(nonzero);
  of(op::any)[0] = wanted::integer(nonzero > 0);
  of(op::all)[0] = wanted::integer(nonzero == n);
}

template <class V>
void judgement::of_order(const numbers& x) {
  told<V> t = loop(values<V>(x));
  of_counts(x.size(), t.nonzero);
  of(op::argmin)[0] = wanted::integer(t.argmin);
  of(op::argmax)[0] = wanted::integer(t.argmax);
  of(op::norm_inf)[0] = wanted_of(t.nan ? t.least : std::max(magnitude_of(t.least), magnitude_of(t.greatest)));
  if (x.size() == 0) std::tie(t.least, t.greatest) = limits<V>(x.type);
  of(op::min)[0] = of(op::minmax)[0] = wanted_of(t.least);
  of(op::max)[0] = of(op::minmax)[1] = wanted_of(t.greatest);
}

void judgement::of_floats(const numbers& x, const numbers& y, const how& h) {
  const verdict v = judge(x, y, h.c.rounding, h.correction);
  for (const op o : exact_ops)
    for (int part = 0; part < 2; ++part) of(o)[static_cast<std::size_t>(part)] = wanted::just(verdict_on(o, v, part));
  of_order<double>(x);
  factors f{{}, x.type, false};
  std::vector<long double> wide;
  for (const double e : values<double>(x)) {
    f.all.emplace_back(e);
    wide.push_back(e);
  }
  of(op::prod) = product(f);
  of(op::logsumexp)[0] = log_sum_exp(wide, x.type);
}

void judgement::of_complex(const numbers& x, const numbers& y, const how& h) {
  const complex_verdict v = judge_complex(x, y, h.c.rounding, h.correction);
  const auto both = [](std::complex<double> c, wanted last = {}) {
    return std::array{wanted::just(c.real()), wanted::just(c.imag()), last};
  };
  of(op::sum) = both(v.sum);
  of(op::mean) = both(v.mean);
  of(op::dot) = both(v.dot);
  of(op::mean_var) = both(v.mean, wanted::just(v.var));
  of(op::var)[0] = wanted::just(v.var);
  of(op::std_dev)[0] = wanted::just(v.std);
  of(op::sum_of_squares)[0] = wanted::just(v.squares);
  of(op::norm2)[0] = wanted::just(v.norm);
  const std::vector<double> re = values<double>(parts_of(x, 0)), im = values<double>(parts_of(x, 1));
  factors f{{}, part_of(x.type), true};
  for (std::size_t i = 0; i < re.size(); ++i) f.all.emplace_back(re[i], im[i]);
  of_counts(x.size(), std::ranges::count_if(f.all, [](const auto& c) { return c != 0.0; }));
  of(op::prod) = product(f);
}

void judgement::of_integers(const numbers& x, const numbers& y, const how& h) {
  const std::int64_t n = x.size();
  i128 sum = 0;
  u128 squares_low = 0, squares_high = 0, product = 1, dot = 0, norm1 = 0;  // the last three mod 2^64
  std::vector<long double> wide;
  for (std::int64_t i = 0; i < n; ++i) {
    const i128 a = whole(x, i);
    const auto m = static_cast<u128>(magnitude_of(a));
    sum += a;
    squares_low += static_cast<std::uint64_t>(m * m);
    squares_high += m * m >> 64;
    product *= static_cast<u128>(a);
    dot += static_cast<u128>(a) * static_cast<u128>(whole(y, i));
    norm1 += m;
    wide.push_back(static_cast<long double>(a));
  }
  of(op::sum)[0] = wanted::integer(sum);
  of(op::sum_of_squares)[0] = wanted::integer(static_cast<i128>(squares_low));
  of(op::prod)[0] = wanted::integer(static_cast<i128>(product));
  of(op::dot)[0] = wanted::integer(static_cast<i128>(dot));
  of(op::norm1)[0] = wanted::integer(static_cast<i128>(norm1));
  of(op::logsumexp)[0] = log_sum_exp(wide, dtype::f64);
  of_order<i128>(x);

  const real count(static_cast<double>(n)), of_all = real_of(static_cast<u128>(magnitude_of(sum)));
  real squares = real_of(squares_high), square = of_all, mean = of_all, spread, root;
  squares *= real(0x1p64);
  squares += real_of(squares_low);
  root = spread = squares;
  spread *= count;
  spread -= square *= of_all;
  if (sum < 0) mean *= real(-1);
  const auto to_f64 = [&](const real& r) { return wanted::just(r.round<double>(h.c.rounding)); };
  const bool none = n == 0, free = n > h.correction && !none;
  if (!none) mean /= count;
  if (free) (spread /= count) /= real(static_cast<double>(n - h.correction));
  of(op::norm2)[0] = to_f64(root.root());
  of(op::mean)[0] = of(op::mean_var)[0] = none ? wanted::just(quiet_nan) : to_f64(mean);
  of(op::var)[0] = of(op::mean_var)[1] = free ? to_f64(spread) : wanted::just(quiet_nan);
  of(op::std_dev)[0] = free ? to_f64(spread.root()) : wanted::just(quiet_nan);
}

namespace {

/// Calls f(part of the answer, its type) for each float or integer of an answer.
template <class F>
void each_part(const answer& got, F f) {
  const dtype type = part_of(got.kind.type);
  const answer parts{{type, 1}, got.bytes};
  for (std::size_t k = 0; k * info(type).size < got.bytes.size(); ++k) f(k, parts);
}

bool accepted(const wanted& w, const answer& parts, int k) {
  if (is_integer(parts.kind.type)) return static_cast<std::uint64_t>(parts.whole(k)) == w.whole;
  const double got = parts.number(k);
  return w.bits ? same_number(got, w.low) : std::isnan(got) ? w.nan : w.low <= got && got <= w.high;
}

}  // namespace

bool judgement::accepts(op o, const answer& got) const {
  bool all = true;
  each_part(got, [&](std::size_t k, const answer& parts) { all = all && accepted(of(o)[k], parts, static_cast<int>(k)); });
  return all;
}

std::string judgement::difference(op o, const answer& got) const {
  std::ostringstream text;
  text << std::hexfloat << "got";
  each_part(got, [&](std::size_t k, const answer& parts) {
    const wanted& w = of(o)[k];
    if (is_integer(parts.kind.type))
      text << ' ' << static_cast<std::uint64_t>(parts.whole(static_cast<int>(k))) << ", not " << w.whole << " (mod 2^64);";
    else
      text << ' ' << parts.number(static_cast<int>(k)) << ", not " << w.low << (w.bits ? "" : " to ")
           << (w.bits ? std::string() : std::to_string(w.high)) << (w.nan ? " or NaN;" : ";");
  });
  return text.str();
}

}  // namespace wf::test
