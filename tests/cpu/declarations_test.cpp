// SPDX-License-Identifier: Apache-2.0
// What every reduction of the library declares is what it does, for each element type and accuracy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "typeless.hpp"

namespace wf::test {
namespace {

using nothing = declaration::nothing;
using nans = declaration::nans;
using rounds = declaration::rounds;

/// f(op, element type, how, functions) for each that there is.
template <class F>
void each(F f) {
  for (int k = 0; k < op_count; ++k)
    for (std::size_t d = 0; d < dtypes.size(); ++d)
      for (const accuracy a : {accuracy::exact, accuracy::fast}) {
        const op o = static_cast<op>(k);
        const dtype t = static_cast<dtype>(d);
        const cpu::erased* found = find_builtin(o, t, a);
        if (found == nullptr) continue;
        SCOPED_TRACE(std::string(properties_of(o).name) + " of " + name(t) + (a == accuracy::exact ? ", exact" : ", fast"));
        ASSERT_NE(found->declares, nullptr);
        how h;
        h.c.accuracy = a;
        f(o, t, h, *found);
      }
}

answer reduce_any(op o, const numbers& x, const how& h) { return o == op::dot ? reduce(o, x, x, h) : reduce(o, x, h); }

bool is_float(dtype t) { return t <= dtype::f64; }

/// The values of an answer, those of a complex number apart.
struct value {
  dtype type;
  const void* at;
};
std::vector<value> values_of(const answer& a) {
  const dtype part = part_of(a.kind.type);
  std::vector<value> all;
  for (std::size_t i = 0; i < a.bytes.size(); i += info(part).size) all.push_back({part, a.bytes.data() + i});
  return all;
}

i128 limit(dtype t, bool least) {
  if (t == dtype::boolean) return !least;
  const int bits = static_cast<int>(8 * info(t).size);
  if (t >= dtype::u8) return least ? 0 : (i128{1} << bits) - 1;
  return least ? -(i128{1} << (bits - 1)) : (i128{1} << (bits - 1)) - 1;
}

void expect(const value& v, nothing what) {
  const bool least = what == nothing::least;
  if (is_float(v.type)) {
    const double got = as_double(v.type, v.at);
    switch (what) {
      case nothing::zero: EXPECT_TRUE(got == 0 && !std::signbit(got)) << got; return;
      case nothing::one: EXPECT_EQ(got, 1); return;
      case nothing::nan: EXPECT_TRUE(std::isnan(got)) << got; return;
      case nothing::least: case nothing::greatest: EXPECT_EQ(got, least ? -HUGE_VAL : HUGE_VAL); return;
      default: FAIL() << "no answer of a float";
    }
  }
  const answer whole_answer{{v.type, 1}, {static_cast<const std::byte*>(v.at), static_cast<const std::byte*>(v.at) + info(v.type).size}};
  const i128 got = whole_answer.whole();
  switch (what) {
    case nothing::zero: EXPECT_TRUE(got == 0); return;
    case nothing::one: EXPECT_TRUE(got == 1); return;
    case nothing::minus_one: EXPECT_TRUE(got == -1); return;
    case nothing::least: case nothing::greatest: EXPECT_TRUE(got == limit(v.type, least)); return;
    default: FAIL() << "no answer of an integer";
  }
}

TEST(declarations, of_no_elements) {
  int checked = 0;
  each([&](op o, dtype t, const how& h, const cpu::erased& f) {
    const answer got = reduce_any(o, numbers{t, {}}, h);
    const std::vector<value> values = values_of(got);
    const nothing empty = f.declares->empty;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (empty == nothing::greatest_and_least) {
        expect(values[k], k == 0 ? nothing::greatest : nothing::least);
      } else if (is_complex(got.kind.type) && k % 2 == 1 && empty == nothing::one) {
        expect(values[k], nothing::zero);  // 1 is 1 + 0i
      } else {
        expect(values[k], empty);
      }
      ++checked;
    }
  });
  EXPECT_GT(checked, 500);
}

/// Every part of every element is `base`, but of the elements 3 and 5 it is `other`.
numbers with_two(dtype t, double base, double other) {
  const dtype part = part_of(t);
  const int parts = is_complex(t) ? 2 : 1;
  numbers x{t, {}};
  for (int i = 0; i < 7 * parts; ++i) {
    const double v = i / parts == 3 || i / parts == 5 ? other : base;
    const float narrow = static_cast<float>(v);
    std::byte b[8];
    if (part == dtype::f64) std::memcpy(b, &v, 8);
    else if (part == dtype::f32) std::memcpy(b, &narrow, 4);
    else if (part == dtype::bf16) *reinterpret_cast<bf16*>(b) = bf16(narrow);
    else *reinterpret_cast<f16*>(b) = f16(narrow);
    x.bytes.insert(x.bytes.end(), b, b + info(part).size);
  }
  return x;
}

TEST(declarations, of_nans) {
  const double nan = std::nan("");
  std::set<nans> seen;
  each([&](op o, dtype t, const how& h, const cpu::erased& f) {
    const nans rule = f.declares->nan;
    seen.insert(rule);
    if (!is_float(t) && !is_complex(t)) {
      EXPECT_EQ(rule, nans::none);
      return;
    }
    for (const double base : {0.0, 1.0}) {
      const answer got = reduce_any(o, with_two(t, base, nan), h);
      switch (rule) {
        case nans::none: ADD_FAILURE() << "floats have NaNs"; break;
        case nans::win:
          for (const value& v : values_of(got)) EXPECT_TRUE(std::isnan(as_double(v.type, v.at)));
          break;
        case nans::are_found: EXPECT_TRUE(got.whole() == 3); break;
        case nans::are_not_zero: EXPECT_EQ(got.bytes, reduce_any(o, with_two(t, base, 2), h).bytes); break;
        case nans::are_counted: EXPECT_TRUE(got.whole() == 7); break;
      }
    }
  });
  EXPECT_EQ(seen.size(), 5u);
}

numbers permuted(const numbers& x, const std::vector<std::int64_t>& order) {
  numbers y{x.type, {}};
  const std::size_t size = info(x.type).size;
  for (const std::int64_t i : order) {
    const auto* p = static_cast<const std::byte*>(x.at(i));
    y.bytes.insert(y.bytes.end(), p, p + size);
  }
  return y;
}

// A type that says it does not commute must be seen not to: of products and logarithms in f64 alone,
// as narrower answers hide what f64 rounds.
TEST(declarations, of_commuting) {
  generator random(5);
  each([&](op o, dtype t, const how& h, const cpu::erased& f) {
    if (h.c.accuracy != accuracy::exact) return;
    const bool is_place = o == op::argmin || o == op::argmax;
    if (!f.commutes && !is_place && part_of(t) != dtype::f64) return;
    const numbers x = f.commutes || !(is_float(t) || is_complex(t)) ? random_elements(t, 60, random)
                                                                    : make(t, family::uniform, 60, random);
    std::vector<std::int64_t> order(60);
    std::iota(order.begin(), order.end(), 0);
    const answer straight = reduce_any(o, x, h);
    bool same = true;
    for (int k = 0; k < 20; ++k) {
      std::shuffle(order.begin(), order.end(), random);
      same = same && reduce_any(o, permuted(x, order), h) == straight;
    }
    EXPECT_EQ(same, f.commutes);
  });
}

// Those that are rounded once are the ones that other tests hold against MPFR, no more and no less.
TEST(declarations, of_rounding) {
  std::set<op> once, judged(std::begin(exact_ops), std::end(exact_ops));
  each([&](op o, dtype t, const how& h, const cpu::erased& f) {
    const rounds told = f.declares->rounding;
    if (t == dtype::f64 && h.c.accuracy == accuracy::exact && told == rounds::once) once.insert(o);
    if (h.c.accuracy == accuracy::fast && is_float(t)) {
      EXPECT_NE(told, rounds::once);
    }
  });
  EXPECT_EQ(once, judged);
}

}  // namespace
}  // namespace wf::test
