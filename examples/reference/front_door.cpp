// SPDX-License-Identifier: Apache-2.0
// warpfold.hpp: every function of the front door, its settings, and reductions of functions of elements.
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

// [front door]
#include <warpfold/warpfold.hpp>
// [/front door]

#include "expect.hpp"

namespace {

const std::vector<double> x{3, -4, 0, 12};
const std::vector<double> y{1, 2, 3, 0.5};

void functions() {
  expect(wf::sum(x) == 11 && wf::prod(x) == 0 && wf::mean(x) == 2.75);
  expect(wf::sum_of_squares(x) == 169 && wf::norm2(x) == 13 && wf::norm(x) == 13 && wf::norm1(x) == 19 && wf::norm_inf(x) == 12);
  expect(wf::min(x) == -4 && wf::max(x) == 12 && wf::argmin(x) == 1 && wf::argmax(x) == 3);
  expect(wf::any(x) && !wf::all(x) && wf::count(x) == 4 && wf::count_nonzero(x) == 3);
  expect(wf::dot(x, y) == 3 - 8 + 0 + 6);
  expect(std::abs(wf::logsumexp(x) - std::log(std::exp(3) + std::exp(-4) + 1 + std::exp(12))) < 1e-12);

  const wf::minmax_result<double> range = wf::minmax(x);
  expect(range.min == -4 && range.max == 12);
  const wf::mean_var_result<double> moments = wf::mean_var(x);
  expect(moments.mean == wf::mean(x) && moments.var == wf::var(x) && wf::std_dev(x) == std::sqrt(moments.var));
  static_assert(std::is_same_v<wf::result<wf::op::mean_var, wf::c64>, wf::mean_var_result<wf::c64, float>>);  // the variance is real
}

void as_in_readme() {
  const std::vector<double> values{1, 2, 3, 4}, chunk{5, 6};
  const wf::view<const double> matrix(values.data(), {2, 2});
  wf::exact_sum other;
  other.add(7);
  // [front door]

  double s = wf::sum(values);            // exact: rounded once, whatever the order
  auto rows = wf::sum(matrix, wf::axis{1});
  wf::exact_sum acc;                     // a state that can be stored, sent and merged
  acc.add(chunk);
  acc.merge(other);
  double total = acc.value();
  // [/front door]
  expect(s == 10 && rows.values == std::vector<double>{3, 7} && total == 18);
}

void by_axes(const wf::view<const double>& matrix) {
  // [rows]
  wf::array<double> s = wf::sum(matrix, wf::axis{1});    // or wf_run() in C, with a request
  // [/rows]
  expect(s.values == std::vector<double>{-1, 12});
}

void settings() {
  wf::context c;                          // passed by const reference, or left out
  c.accuracy = wf::accuracy::exact;
  c.rounding = wf::rounding::down;
  c.threads = 1;
  c.executor = &wf::cpu::default_executor();
  const std::vector<double> tenths(10, 0.1);
  const double low = wf::sum(tenths, c), high = wf::sum(tenths, wf::rounding::up);
  expect(low <= wf::sum(tenths) && wf::sum(tenths) <= high && low < high);
  expect(wf::fast == wf::accuracy::fast && std::abs(wf::sum(tenths, wf::fast) - 1) < 1e-15);

  const wf::correction sample{1};         // variances are divided by n - 1
  expect(sample.value == 1 && wf::var(x, sample) == wf::var(x) * 4 / 3);

  const std::vector<std::int64_t> offsets{0, 1, 4};       // segments of 1 and 3 elements
  const wf::segments parts{offsets};
  expect(parts.offsets.size() == 3 && wf::sum(x, parts).values == std::vector<double>{3, 8});
  const wf::segments_of pairs{2};
  expect(pairs.length == 2 && wf::sum(x, pairs).values == std::vector<double>{-1, 12});
  const std::vector<std::int64_t> names{1, 0, 1, 1};      // the answer that each element belongs to
  const wf::by_label groups{names, 2};
  expect(groups.labels.size() == x.size() && groups.answers == 2 && wf::sum(x, groups).values == std::vector<double>{-4, 15});
}

void overflow() {
  const std::vector<std::int64_t> large(4, INT64_MAX), ones(4, 1);
  const wf::checked<std::int64_t> s = wf::checked_sum(large);
  expect(s.overflow && s.high[0] == 1 && s.value == -4);  // 2^65 - 4
  expect(wf::checked_prod(large).overflow && wf::checked_sum_of_squares(large).overflow && wf::checked_norm1(large).overflow);
  expect(!wf::checked_dot(ones, ones).overflow && wf::checked_dot(ones, ones).value == 4);
  static_assert(std::is_same_v<decltype(wf::checked_sum), const wf::checked_function<wf::op::sum>>);
}

void of_functions() {
  const wf::transform square([](double v) { return v * v; });
  expect(square.f(3) == 9 && wf::reduce(x, square, wf::sum) == 169);  // without an array of squares
  expect(wf::reduce(x, y, wf::transform([](double a, double b) { return std::abs(a - b); }), wf::max) == 11.5);
}

void fused() {
  const wf::fused three = wf::fuse(wf::sum, wf::min, wf::argmax);     // one pass
  const auto [sum, least, at] = three(x);
  expect(sum == 11 && least == -4 && at == 3);
}

void errors() {
  const wf::error e = thrown_by<wf::error>([] { wf::sum(x, wf::segments_of{0}); });
  expect(e.code() == wf::errc::bad_argument && std::string_view(e.what()).starts_with("sum"));
  const wf::error mine(wf::errc::unsupported, "mine: in your own code too");
  expect(mine.code() == wf::errc::unsupported);
}

void versions() {
  // The version of the headers, and that of the library that the program runs with.
  expect(std::string_view(WARPFOLD_VERSION_STRING) == wf::version());
  expect(WARPFOLD_VERSION == 10000 * WARPFOLD_VERSION_MAJOR + 100 * WARPFOLD_VERSION_MINOR + WARPFOLD_VERSION_PATCH);
#if WARPFOLD_VERSION < 100
#error "this needs warpfold 0.1"
#endif
}

}  // namespace

int main() {
  functions();
  as_in_readme();
  by_axes({x.data(), {2, 2}});
  settings();
  overflow();
  of_functions();
  fused();
  errors();
  versions();
}
