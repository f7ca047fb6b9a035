// SPDX-License-Identifier: Apache-2.0
// The bounds of native answers (native_bounds.hpp) refuse what a wrong kernel would answer: an element dropped, an element taken
// twice, the wrong number of elements in a division, and nothing at all.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "table_ops.hpp"

namespace {

constexpr auto fast = wf::accuracy::fast, exact = wf::accuracy::exact;

/// Numbers of an answer changed, rounded to its type again.
std::vector<unsigned char> changed(wf::dtype kind, std::vector<unsigned char> answer, const std::function<double(std::size_t, double)>& f) {
  const auto each = [&]<class T>(T x) {
    for (std::size_t k = 0; k < answer.size() / sizeof x; ++k) {
      x = static_cast<T>(f(k, number(kind, answer, k)));
      std::memcpy(&answer[k * sizeof x], &x, sizeof x);
    }
  };
  switch (kind) {
    case wf::dtype::f16: each(wf::f16{}); break;
    case wf::dtype::bf16: each(wf::bf16{}); break;
    case wf::dtype::f32: case wf::dtype::c64: each(0.0f); break;
    default: each(0.0); break;
  }
  return answer;
}

struct cell {
  wf::op o;
  wf::dtype t;
  std::string family;
  std::int64_t n;
  std::vector<unsigned char> x, y, want;

  cell(wf::op which, wf::dtype type, const std::string& f, std::int64_t count) : o(which), t(type), family(f), n(count) {
    const auto made = [&](std::uint64_t seed) {
      return f == in_any_order ? make_in_any_order(t, static_cast<std::uint64_t>(n), seed) : make_bytes(t, f, static_cast<std::uint64_t>(n), seed);
    };
    x = made(7);
    y = made(8);
    want = answer_of(exact, x, y, n);
  }
  wf::dtype kind() const { return wf::result_of_builtin(o, t).type; }
  std::vector<unsigned char> answer_of(wf::accuracy a, const std::vector<unsigned char>& p, const std::vector<unsigned char>& q,
                                       std::int64_t count) const {
    return cpu_answer(o, t, a, {}, {p.data(), count, 1}, {q.data(), count, 1});
  }
  std::string fault(const std::vector<unsigned char>& got) const {
    return native_fault(o, t, family, {x.data(), n, 1}, {y.data(), n, 1}, want, got);
  }
  bool divides() const { return o == wf::op::mean || is_spread(o); }
  /// An answer whose division was by `right` where `wrong` would be right.
  std::vector<unsigned char> divided(const std::vector<unsigned char>& answer, double right, double wrong) const {
    const double f = wrong / right;
    return changed(kind(), answer, [&](std::size_t, double v) { return v * (o == wf::op::std_dev ? std::sqrt(f) : f); });
  }
  /// What a kernel answers that sees element j `times` times and divides by n.
  std::vector<unsigned char> with_element(std::int64_t j, int times) const {
    const std::size_t size = wf::info(t).size, at = static_cast<std::size_t>(j) * size;
    const auto seen = [&](std::vector<unsigned char> v) {
      const std::vector<unsigned char> one(v.begin() + static_cast<std::ptrdiff_t>(at), v.begin() + static_cast<std::ptrdiff_t>(at + size));
      if (times == 0) v.erase(v.begin() + static_cast<std::ptrdiff_t>(at), v.begin() + static_cast<std::ptrdiff_t>(at + size));
      else v.insert(v.end(), one.begin(), one.end());
      return v;
    };
    const std::int64_t count = n + times - 1;
    const auto answer = answer_of(exact, seen(x), seen(y), count);
    return divides() ? divided(answer, static_cast<double>(n), static_cast<double>(count)) : answer;
  }
  /// Whether an answer's type can show, by more than `units`, that it is another.
  bool shows(const std::vector<unsigned char>& got, double units) const {
    const bool in_f32 = o == wf::op::logsumexp && !wf::is_integer(t) && t != wf::dtype::f64;
    const std::size_t size = wf::is_complex(kind()) ? wf::info(kind()).size / 2 : wf::info(kind()).size;
    for (std::size_t k = 0; k < want.size() / size; ++k) {
      const double w = number(kind(), want, k), a = number(kind(), got, k);
      const bool wide = kind() == wf::dtype::f64 && (is_spread(o) || o == wf::op::logsumexp);
      // A difference below 2^-8 may come from rounding normal numbers in f32.
      const double noise = (in_f32 ? 0x1p-17 : 0) + (wide ? 0x1p-30 * std::fabs(w) : 0) +
                           (family == in_any_order ? 0 : 0x1p-8 / (divides() ? static_cast<double>(n) : 1));
      if (a != w && !(std::fabs(a - w) <= units * last_place(kind(), w) + noise)) return true;
    }
    return false;
  }
};

void for_each_native(const std::function<void(wf::op, wf::dtype)>& f) {
  for (const wf::dtype t : all_dtypes) {
    for (int k = 0; k < wf::op_count; ++k) {
      const auto o = static_cast<wf::op>(k);
      if (is_native(o, t, fast) && wf::find_builtin(o, t, exact) != nullptr) f(o, t);
    }
  }
}

std::string told(const cell& c) { return name_of(c.o, c.t, fast, c.family, {c.n, 0, 1}); }

TEST(bounds, refuse_a_dropped_a_doubled_and_a_miscounted_element) {
  for_each_native([](wf::op o, wf::dtype t) {
    for (const char* family : {in_any_order, "normal"}) {
      if (std::string(family) == "normal" && wf::is_integer(t)) continue;
      for (const std::int64_t n : {5, 33, 4099, 70001}) {
        const bool normal = std::string(family) == "normal";
        if (o == wf::op::prod && n > (normal || wf::is_complex(t) ? 33 : 5000)) continue;
        if (normal && n > 33) continue;  // one among many is less than rounding in f32 may come to: the other family is for that
        const cell c(o, t, family, n);
        ASSERT_EQ(c.fault(c.want), "") << told(c);
        const double units = normal ? 64 : 8;
        int dropped = 0, doubled = 0, miscounted = 0;
        for (std::int64_t j = 0; j < n; j += n < 100 ? 1 : n / 3) {
          for (const int times : {0, 2}) {
            const auto got = c.with_element(j, times);
            if (!c.shows(got, units)) continue;
            ++(times == 0 ? dropped : doubled);
            ASSERT_NE(c.fault(got), "") << told(c) << ": element " << j << " is taken " << times << " times";
          }
        }
        for (const std::int64_t wrong : {n - 1, n + 1}) {
          if (!c.divides()) continue;
          const auto got = c.divided(c.want, static_cast<double>(wrong), static_cast<double>(n));
          if (!c.shows(got, units)) continue;
          ++miscounted;
          ASSERT_NE(c.fault(got), "") << told(c) << ": divided as if there were " << wrong;
        }
        if (n > 5 || normal) continue;  // where every type can show it
        ASSERT_GE(dropped, 1) << told(c);
        ASSERT_GE(doubled, 1) << told(c);
        ASSERT_EQ(miscounted, c.divides() ? 2 : 0) << told(c);
      }
    }
  });
}

TEST(bounds, refuse_nothing_for_an_answer) {
  for_each_native([](wf::op o, wf::dtype t) {
    if (o == wf::op::prod) return;
    const cell c(o, t, wf::is_integer(t) ? in_any_order : "normal", t == wf::dtype::f16 ? 20001 : 70001);  // squares of f16 that are finite
    ASSERT_EQ(c.fault(c.want), "") << told(c);
    ASSERT_NE(c.fault(changed(c.kind(), c.want, [](std::size_t, double) { return 0.0; })), "") << told(c) << ": zero";
    ASSERT_NE(c.fault(changed(c.kind(), c.want, [](std::size_t, double w) { return w * 1.1; })), "") << told(c) << ": a tenth more";
  });
}

}  // namespace
