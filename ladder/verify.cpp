// SPDX-License-Identifier: Apache-2.0
#include "verify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <warpfold/detail/exact/accumulate.hpp>
#include <warpfold/detail/exact/sum_state.hpp>
#include <warpfold/io/text.hpp>

namespace ladder {
namespace {

/// What a float type can do.
struct precision {
  double unit;         // half a unit in the last place of 1
  int digits;          // the significand's
  int least_exponent;  // that of a normal number
  double most;
};

precision precision_of(wf::dtype type) {
  switch (type) {
    case wf::dtype::f64: return {0x1p-53, 53, -1022, std::numeric_limits<double>::max()};
    case wf::dtype::f32: return {0x1p-24, 24, -126, std::numeric_limits<float>::max()};
    default: return {0x1p-11, 11, -14, 65504};
  }
}

double last_place(double x, const precision& p) {
  const int exponent = x == 0 ? p.least_exponent : std::max(std::ilogb(x), p.least_exponent);
  return std::ldexp(1.0, exponent - p.digits + 1);
}

template <class T>
using state = wf::exact::sum_state<T>;

/// The exact sum; `magnitude` gets a bound of the sum of magnitudes of the finite elements.
template <class T>
state<T> exact_sum(const array& a, double& magnitude) {
  const auto* x = reinterpret_cast<const T*>(a.data());
  std::vector<state<T>> states(parallel_parts(), state<T>::identity());
  std::vector<double> magnitudes(parallel_parts());
  in_parallel(a.n, [&](std::uint64_t begin, std::uint64_t end, unsigned part) {
    wf::exact::accumulate(states[part], x + begin, end - begin);
    double sum[4] = {};
    for (std::uint64_t i = begin; i < end; ++i) {
      const double v = std::abs(static_cast<double>(x[i]));
      sum[i % 4] += v <= std::numeric_limits<double>::max() ? v : 0;
    }
    magnitudes[part] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  });
  state<T> all = state<T>::identity();
  magnitude = 0;
  for (const state<T>& s : states) all.merge(s);
  for (const double m : magnitudes) magnitude += m;
  // Rounding took at most n·2^-53 of it.
  magnitude *= 1 + std::ldexp(static_cast<double>(a.n) + 64, -52);
  return all;
}

}  // namespace

wf::dtype result_type(wf::dtype element, const rung_info& rung) {
  return element == wf::dtype::f16 && !rung.element_result ? wf::dtype::f32 : element;
}

double result_value(wf::dtype result, std::uint64_t bits) {
  switch (result) {
    case wf::dtype::f64: return std::bit_cast<double>(bits);
    case wf::dtype::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case wf::dtype::f16:
      return static_cast<double>(wf::f16::from_bits(static_cast<std::uint16_t>(bits)));
    default: return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
  }
}

std::string result_text(wf::dtype result, std::uint64_t bits) {
  switch (result) {
    case wf::dtype::f64: return wf::io::shortest(std::bit_cast<double>(bits));
    case wf::dtype::f32:
      return wf::io::shortest(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case wf::dtype::f16:
      return wf::io::shortest(wf::f16::from_bits(static_cast<std::uint16_t>(bits)));
    default: return std::to_string(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
  }
}

reference::reference(const array& a) : type_(a.type), n_(a.n) {
  const auto keep = [&](const auto& s) {
    const auto pair = s.template round_pair<double>();
    hi_ = pair.hi;
    lo_ = pair.lo;
    as_f16_ = s.template value<wf::f16>().bits;
    as_f32_ = std::bit_cast<std::uint32_t>(s.template value<float>());
    as_f64_ = std::bit_cast<std::uint64_t>(s.template value<double>());
  };
  switch (a.type) {
    case wf::dtype::f32: keep(exact_sum<float>(a, magnitude_)); return;
    case wf::dtype::f64: keep(exact_sum<double>(a, magnitude_)); return;
    case wf::dtype::f16: keep(exact_sum<wf::f16>(a, magnitude_)); return;
    default: break;
  }
  const auto* x = reinterpret_cast<const std::int32_t*>(a.data());
  for (std::uint64_t i = 0; i < n_; ++i) integer_ += static_cast<std::uint64_t>(std::int64_t{x[i]});
}

judgement reference::judge_integer(std::uint64_t bits) const {
  judgement j;
  const auto difference = static_cast<std::uint32_t>(bits) - static_cast<std::uint32_t>(integer_);
  j.error = static_cast<std::int32_t>(difference);
  j.ulps = std::abs(j.error);
  j.right = difference == 0;
  if (!j.right) j.why = "not the sum mod 2^32";
  return j;
}

namespace {

/// How many decimal digits agree: of an error of 1 in 1000, three.
double right_digits(double error, double sum) {
  if (error == 0) return std::numeric_limits<double>::infinity();
  if (sum == 0 || !std::isfinite(error)) return 0;
  return std::max(0.0, -std::log10(std::abs(error / sum)));
}

}  // namespace

judgement reference::judge(const rung_info& rung, std::uint64_t bits, double depth) const {
  judgement j = judge_sum(rung, bits, depth);
  // The only answer of a sum that is not finite is itself.
  const bool is_finite = type_ == wf::dtype::i32 || std::isfinite(hi_);
  j.digits = is_finite ? right_digits(j.error, type_ == wf::dtype::i32 ? static_cast<double>(static_cast<std::int32_t>(integer_)) : hi_)
                       : j.right ? std::numeric_limits<double>::infinity() : 0;
  // Rounded once, nothing could be closer.
  if (j.ulps <= 0.5 || (rung.exact && j.right)) j.digits = std::numeric_limits<double>::infinity();
  return j;
}

judgement reference::judge_sum(const rung_info& rung, std::uint64_t bits, double depth) const {
  if (type_ == wf::dtype::i32) return judge_integer(bits);
  const wf::dtype type = result_type(type_, rung);
  const precision p = precision_of(type),
                  adds = precision_of(type_ == wf::dtype::f64 ? type_ : wf::dtype::f32);
  const std::uint64_t rounded = type == wf::dtype::f64   ? as_f64_
                                : type == wf::dtype::f32 ? as_f32_
                                                         : as_f16_;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * wf::info(type).size);
  const double value = result_value(type, bits), correct = result_value(type, rounded);
  judgement j;
  if (std::isfinite(value) && std::isfinite(hi_)) {
    j.error = (value - hi_) - lo_;
    j.ulps = std::abs(j.error) / last_place(std::isfinite(correct) ? correct : p.most, p);
  } else if (!(value == correct || (std::isnan(value) && std::isnan(correct)))) {  // an infinity too is what a large sum rounds to
    j.error = j.ulps = std::numeric_limits<double>::quiet_NaN();
  }
  if (rung.exact) {
    j.right = (bits & mask) == rounded;
    if (!j.right) j.why = "not the correctly rounded sum " + result_text(type, rounded);
    return j;
  }
  j.bound = std::expm1(depth * std::log1p(adds.unit)) * magnitude_;
  // Float atomics on global memory flush subnormal numbers to zero, before and after each addition.
  if (rung.any_order && type_ != wf::dtype::f64) j.bound += 2 * static_cast<double>(n_) * 0x1p-126;
  if (!std::isfinite(hi_)) {
    j.right = value == hi_ || (std::isnan(value) && std::isnan(hi_));
  } else if (std::isfinite(value)) {
    j.right = std::abs(j.error) <= j.bound;
  }
  // The sum, or partial ones, may have overflowed, where magnitudes allow it.
  if (!std::isfinite(value) && magnitude_ + j.bound >= adds.most) j.right = true;
  if (!j.right)
    j.why = "further from the exact sum " + text(type) + " than its order of additions allows";
  return j;
}

double reference::condition() const {
  if (type_ == wf::dtype::i32 || !std::isfinite(hi_)) return std::numeric_limits<double>::quiet_NaN();
  return hi_ == 0 ? (magnitude_ == 0 ? 1 : std::numeric_limits<double>::infinity()) : magnitude_ / std::abs(hi_);
}

std::string reference::text(wf::dtype result) const {
  switch (result) {
    case wf::dtype::f64: return result_text(result, as_f64_);
    case wf::dtype::f32: return result_text(result, as_f32_);
    case wf::dtype::f16: return result_text(result, as_f16_);
    default: return result_text(result, integer_);
  }
}

bool matches(const pattern& p, const rung_info& rung, std::uint64_t bits) {
  const wf::dtype type = result_type(p.elements.type, rung);
  if (type == wf::dtype::i32)
    return static_cast<std::uint32_t>(bits) == static_cast<std::uint32_t>(p.sum);
  const auto sum = static_cast<double>(p.sum);
  const double expected = type == wf::dtype::f16 ? static_cast<double>(wf::f16(sum)) : sum;
  return result_value(type, bits) == expected;
}

}  // namespace ladder
