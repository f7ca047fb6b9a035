// SPDX-License-Identifier: Apache-2.0
// wf::exact_moments and wf::exact_dot: pieces, stored bytes and their refusal; they agree with the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_set>

#include <warpfold/exact_moments.hpp>

#include "typeless.hpp"

namespace wf::test {
namespace {

TEST(exact_moments, reads_as_documented) {
  exact_moments m, other;
  m.add(std::vector<double>{1e9 + 1, 1e9 + 2});
  other.add(1e9 + 3);
  m.merge(other);
  EXPECT_EQ(m.mean(), 1e9 + 2);
  EXPECT_EQ(m.var(1), 1);
  EXPECT_EQ(m.std_dev(1), 1);
  EXPECT_EQ(m.count(), 3);
  EXPECT_EQ(exact_moments::from_bytes(m.to_bytes()), m);
  exact_dot d;
  d.add(std::vector<double>{1e300, 1, -1e300}, std::vector<double>{1e300, 2, 1e300});
  EXPECT_EQ(d.value(), 2);
  EXPECT_EQ(d.value_pair().lo, 0);
  EXPECT_EQ(exact_dot::from_bytes(d.to_bytes()), d);
}

class stored : public testing::TestWithParam<dtype> {};
INSTANTIATE_TEST_SUITE_P(of, stored, testing::ValuesIn(real_types), [](const auto& p) { return name(p.param); });

template <class S, class... P>
void add(S& s, dtype type, std::int64_t n, const P*... x) {
  const auto as = [&]<class T>() { s.add(static_cast<const T*>(x)..., static_cast<std::size_t>(n)); };
  switch (type) {
    case dtype::f16: return as.template operator()<f16>();
    case dtype::bf16: return as.template operator()<bf16>();
    case dtype::f32: return as.template operator()<float>();
    case dtype::f64: return as.template operator()<double>();
    case dtype::i8: return as.template operator()<std::int8_t>();
    case dtype::i16: return as.template operator()<std::int16_t>();
    case dtype::i32: return as.template operator()<std::int32_t>();
    case dtype::i64: return as.template operator()<std::int64_t>();
    case dtype::u8: return as.template operator()<std::uint8_t>();
    case dtype::u16: return as.template operator()<std::uint16_t>();
    case dtype::u32: return as.template operator()<std::uint32_t>();
    default: return as.template operator()<std::uint64_t>();
  }
}

TEST_P(stored, pieces_have_the_bytes_of_the_whole_and_the_engines_answers) {
  const dtype type = GetParam();
  if (type == dtype::boolean) GTEST_SKIP() << "a bool counts; it is no number";
  generator random(seed());
  for (const family k : all_families) {
    if (is_integer(type) && k >= family::ill_conditioned) break;
    SCOPED_TRACE(name(k));
    const int n = 7001;
    const numbers x = is_integer(type) ? random_elements(type, n, random, k == family::normal) : make(type, k, n, random);
    const numbers y = is_integer(type) ? random_elements(type, n, random) : make(type, k, n, random);
    exact_moments whole, merged;
    exact_dot dot, merged_dot;
    add(whole, type, n, x.at(0));
    add(dot, type, n, x.at(0), y.at(0));
    for (std::int64_t at = 0; at < n;) {
      const std::int64_t m = std::min<std::int64_t>(n - at, static_cast<std::int64_t>(random() % 2000));
      exact_moments part;
      exact_dot part_dot;
      add(part, type, m, x.at(at));
      add(part_dot, type, m, x.at(at), y.at(at));
      // Stored and read back on the way, now and then; into the part, or the part into it.
      part = m % 2 != 0 ? exact_moments::from_bytes(part.to_bytes()) : part;
      part_dot = m % 2 != 0 ? exact_dot::from_bytes(part_dot.to_bytes()) : part_dot;
      if (random() % 2 != 0) {
        std::swap(part, merged);
        std::swap(part_dot, merged_dot);
      }
      merged.merge(part);
      merged_dot.merge(part_dot);
      at += m;
    }
    EXPECT_EQ(whole.to_bytes(), merged.to_bytes());
    EXPECT_EQ(whole, merged);
    EXPECT_EQ(whole.hash(), merged.hash());
    EXPECT_EQ(exact_moments::from_bytes(whole.to_bytes()), whole);
    EXPECT_EQ(dot.to_bytes(), merged_dot.to_bytes());
    EXPECT_EQ(dot, merged_dot);
    EXPECT_EQ(dot.hash(), merged_dot.hash());
    EXPECT_EQ(whole.count(), n);

    if (type == dtype::f64 || is_integer(type)) {
      EXPECT_PRED2(same_number, whole.mean(), reduce(op::mean, x).number());
      EXPECT_PRED2(same_number, whole.var(), reduce(op::var, x).number());
      EXPECT_PRED2(same_number, whole.std_dev(), reduce(op::std_dev, x).number());
      EXPECT_PRED2(same_number, whole.norm(), reduce(op::norm2, x).number());
    }
    if (type == dtype::f64) {
      EXPECT_PRED2(same_number, whole.sum(), reduce(op::sum, x).number());
      EXPECT_PRED2(same_number, whole.sum_of_squares(), reduce(op::sum_of_squares, x).number());
      EXPECT_PRED2(same_number, dot.value(), reduce(op::dot, x, y).number());
    }
    if (type == dtype::f32) {
      EXPECT_PRED2(same_number, double{whole.var<float>()}, reduce(op::var, x).number());
      EXPECT_PRED2(same_number, double{dot.value<float>()}, reduce(op::dot, x, y).number());
    }
  }
}

template <class S>
errc refusal(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(S::from_bytes(bytes));
  } catch (const error& e) {
    return e.code();
  }
  return errc{};
}

template <class S>
void check_refusals(const S& s) {
  const auto good = s.to_bytes();
  ASSERT_EQ(refusal<S>(good), errc{});
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_NE(refusal<S>(bad), errc{}) << "bit " << bit;
  }
  for (std::size_t n = 0; n < good.size(); ++n) ASSERT_EQ(refusal<S>(std::span(good).first(n)), errc::bad_input) << n;
  std::vector<std::byte> longer(good.begin(), good.end());
  longer.push_back({});
  EXPECT_EQ(refusal<S>(longer), errc::bad_input);
}

TEST(stored_bytes, every_bit_flip_and_every_other_size_is_refused) {
  generator random(seed());
  for (const family k : {family::normal, family::random_bits, family::infinities, family::all_neg_zero}) {
    SCOPED_TRACE(name(k));
    const auto x = make<double>(k, 50, random), y = make<double>(k, 50, random);
    exact_moments m;
    exact_dot d;
    check_refusals(m);
    check_refusals(d);
    m.add(x);
    d.add(x, y);
    check_refusals(m);
    check_refusals(d);
  }
}

TEST(stored_bytes, halves_that_contradict_each_other_are_refused) {
  const auto mixed = [](const std::vector<double>& sum, const std::vector<double>& squares) {
    exact_moments a, b;
    a.add(sum);
    b.add(squares);
    auto bytes = a.to_bytes();
    const auto other = b.to_bytes();
    std::copy(other.begin() + exact_sum::byte_size, other.end(), bytes.begin() + exact_sum::byte_size);
    return refusal<exact_moments>(bytes);
  };
  EXPECT_EQ(mixed({1, 2}, {1, -2}), errc{});  // another sum, as near as that goes
  EXPECT_EQ(mixed({1, 2}, {1, 1}), errc::bad_input);  // 9 > 2·2
  EXPECT_EQ(mixed({1, 2}, {1, 2, 0}), errc::bad_input);
  EXPECT_EQ(mixed({1, 2, INFINITY}, {1, 2, NAN}), errc::bad_input);
  EXPECT_EQ(mixed({0, 1e-300}, {0, 0}), errc::bad_input);
  exact_sum s;
  s.add(1.0);
  EXPECT_EQ(refusal<exact_dot>(s.to_bytes()), errc::bad_input);  // a sum is no dot
}

TEST(stored_bytes, negative_squares_are_refused) {
  exact_moments m;
  m.add(std::vector<double>{1, -1});
  exact_dot d;
  d.add(std::vector<double>{1, 1}, std::vector<double>{-1, -1});
  auto bytes = m.to_bytes();
  std::ranges::copy(d.to_bytes(), bytes.begin() + exact_sum::byte_size);
  EXPECT_EQ(refusal<exact_moments>(bytes), errc::bad_input);
}

TEST(states, integers_and_floats_mix) {
  exact_moments m;
  m.add(std::numeric_limits<std::int64_t>::min());
  m.add(std::numeric_limits<std::uint64_t>::max());
  m.add(-0x1p63);
  m.add(std::int8_t{1});
  EXPECT_EQ(m.sum(), 0);
  EXPECT_EQ(m.count(), 4);
  exact_dot d;
  d.add(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min());
  d.add(-0x1p63, 0x1p63);
  d.add(0, -1);  // integers have no -0
  EXPECT_PRED2(same_number, d.value(), 0.0);
}

TEST(states, hash_into_containers_and_capacity_is_told) {
  std::unordered_set<exact_moments> moments;
  std::unordered_set<exact_dot> dots;
  for (int i = 0; i < 100; ++i) {
    exact_moments m;
    exact_dot d;
    m.add(i);
    d.add(i, 3);
    for (int twice = 0; twice < 2; ++twice) {
      moments.insert(m);
      dots.insert(d);
    }
  }
  EXPECT_EQ(moments.size(), 100u);
  EXPECT_EQ(dots.size(), 100u);
  exact_moments m;
  exact_dot d;
  m.add(1.5);
  d.add(1.5, 2.0);
  for (int k = 1; k < 63; ++k) {
    m.merge(exact_moments(m));
    d.merge(exact_dot(d));
  }
  EXPECT_EQ(m.mean(), 1.5);
  EXPECT_EQ(m.var(), 0);
  EXPECT_EQ(refusal<exact_moments>(m.to_bytes()), errc{});
  EXPECT_EQ(refusal<exact_dot>(d.to_bytes()), errc{});
  for (int which = 0; which < 2; ++which) {
    try {
      which == 0 ? m.merge(exact_moments(m)) : d.merge(exact_dot(d));
      FAIL() << "2^63 elements were taken";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::capacity);
    }
  }
  EXPECT_THROW(d.add(std::vector<double>{1}, std::vector<double>{}), error);
}

}  // namespace
}  // namespace wf::test
