// SPDX-License-Identifier: Apache-2.0
// The semantics table of docs/exact.md, a test a row.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>

#include "../support/oracle.hpp"

namespace wf::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double least = 0x1p-1074;

exact_sum sum_of(const std::vector<double>& x) {
  exact_sum s;
  s.add(x);
  return s;
}

TEST(semantics, result_is_the_true_sum_rounded_once_ties_to_even) {
  EXPECT_EQ(sum_of({1, 0x1p-53}).value(), 1);                              // a tie
  EXPECT_EQ(sum_of({1 + 0x1p-52, 0x1p-53}).value(), 1 + 0x1p-51);          // the other tie
  EXPECT_EQ(sum_of({1, 0x1p-53, least}).value(), 1 + 0x1p-52);             // no longer one
  EXPECT_EQ(sum_of({1, 0x1p-53, -least}).value(), 1);
  EXPECT_EQ(sum_of({1e16, 1, -1e16}).value(), 1);
  EXPECT_EQ(sum_of({0.1, 0.1, 0.1}).value(), 0.30000000000000004);
  EXPECT_EQ(sum_of(std::vector<double>(10, 0.1)).value(), 1);
}

TEST(semantics, directed_roundings_on_request) {
  const exact_sum s = sum_of({1, least});
  EXPECT_EQ(s.value(rounding::nearest), 1);
  EXPECT_EQ(s.value(rounding::zero), 1);
  EXPECT_EQ(s.value(rounding::down), 1);
  EXPECT_EQ(s.value(rounding::up), 1 + 0x1p-52);
  EXPECT_EQ(s.value(rounding::away), 1 + 0x1p-52);
  const exact_sum t = sum_of({-1, -least});
  EXPECT_EQ(t.value(rounding::nearest), -1);
  EXPECT_EQ(t.value(rounding::zero), -1);
  EXPECT_EQ(t.value(rounding::up), -1);
  EXPECT_EQ(t.value(rounding::down), -1 - 0x1p-52);
  EXPECT_EQ(t.value(rounding::away), -1 - 0x1p-52);
}

TEST(semantics, narrow_outputs_are_rounded_from_the_accumulator_never_through_f64) {
  exact_sum s = sum_of({1, 0x1p-24, 0x1p-60});
  EXPECT_EQ(s.value<float>(), 1.00000012f);
  EXPECT_EQ(static_cast<float>(s.value()), 1.0f);  // what rounding twice would give
  EXPECT_EQ(static_cast<float>(sum_of({1, 0x1p-11, 0x1p-60}).value<f16>()), 1 + 0x1p-10f);
  EXPECT_EQ(static_cast<float>(sum_of({1, 0x1p-8, 0x1p-60}).value<bf16>()), 1 + 0x1p-7f);
}

TEST(semantics, partial_overflow_never_happens) {
  EXPECT_EQ(sum_of({1e308, 1e308, -1e308}).value(), 1e308);
  EXPECT_EQ(sum_of({1e308, 1e308}).value(), inf);
  EXPECT_EQ(sum_of({-1e308, -1e308}).value(), -inf);
  EXPECT_EQ(sum_of({1e308, 1e308}).value(rounding::zero), std::numeric_limits<double>::max());
  EXPECT_EQ(sum_of({1e308, 1e308}).value(rounding::down), std::numeric_limits<double>::max());
  EXPECT_EQ(sum_of({-1e308, -1e308}).value(rounding::up), std::numeric_limits<double>::lowest());
  EXPECT_EQ(sum_of({1e300}).value<float>(), static_cast<float>(inf));
  EXPECT_EQ(sum_of({1e300}).value(), 1e300);
}

TEST(semantics, subnormals_are_exact_in_and_out) {
  EXPECT_EQ(sum_of({least, least}).value(), 2 * least);
  EXPECT_EQ(sum_of({0x1p-1022, -least}).value(), 0x1.ffffffffffffep-1023);
  EXPECT_EQ(sum_of(std::vector<double>(4096, least)).value(), 4096 * least);
  EXPECT_EQ(sum_of({0x1p-149}).value<float>(), 0x1p-149f);
  EXPECT_EQ(sum_of({0x1p-150}).value<float>(), 0);  // a tie
  EXPECT_EQ(sum_of({0x1p-150, least}).value<float>(), 0x1p-149f);
  EXPECT_EQ(sum_of({0x1p-150, -least}).value<float>(), 0);
  EXPECT_EQ(sum_of({0x1p-150, -least}).value<float>(rounding::up), 0x1p-149f);
  EXPECT_TRUE(same(sum_of({-least}).value<float>(), -0.0));  // underflows, and keeps its sign
  EXPECT_EQ(sum_of({-least}).value<float>(rounding::down), -0x1p-149f);
}

TEST(semantics, any_nan_or_both_infinities_give_the_canonical_nan_else_the_infinity) {
  EXPECT_TRUE(same(sum_of({1, nan, 2}).value(), nan));
  EXPECT_TRUE(same(sum_of({-nan, inf}).value(), nan));
  EXPECT_TRUE(same(sum_of({inf, -inf}).value(), nan));
  EXPECT_EQ(sum_of({inf, 1}).value(), inf);
  EXPECT_EQ(sum_of({-inf, 1e308, 1e308}).value(), -inf);
  EXPECT_EQ(sum_of({inf, inf}).value<float>(), static_cast<float>(inf));
  EXPECT_EQ(sum_of({nan}).value<f16>().bits, exact::ieee_f16::quiet_nan);
  // Merged as integers: the same from any pieces.
  exact_sum a = sum_of({inf}), b = sum_of({-inf});
  a.merge(b);
  EXPECT_TRUE(same(a.value(), nan));
}

TEST(semantics, negative_zero_only_from_negative_zeros_and_empty_is_positive_zero) {
  EXPECT_TRUE(same(sum_of({}).value(), 0.0));
  EXPECT_TRUE(same(sum_of({-0.0}).value(), -0.0));
  EXPECT_TRUE(same(sum_of(std::vector<double>(5000, -0.0)).value(), -0.0));
  EXPECT_TRUE(same(sum_of({-0.0, 0.0}).value(), 0.0));
  EXPECT_TRUE(same(sum_of({1, -1}).value(), 0.0));
  EXPECT_TRUE(same(sum_of({1, -1}).value(rounding::down), 0.0));
  EXPECT_TRUE(same(sum_of({-1, 1, -0.0}).value(), 0.0));
  exact_sum s = sum_of({-0.0});
  s.merge(sum_of({}));  // nothing changes nothing
  EXPECT_TRUE(same(s.value(), -0.0));
  s.merge(sum_of({0.0, -0.0}));
  EXPECT_TRUE(same(s.value(), 0.0));
}

TEST(semantics, capacity_is_2_to_the_63_elements_without_overflow) {
  // Doubling reaches 2^62 elements of the greatest value, then one less than 2^63 in all.
  for (const double x : {std::numeric_limits<double>::max(), -std::numeric_limits<double>::max()}) {
    exact_sum power = sum_of({x}), all = power;  // 2^k elements, 2^(k+1) - 1 elements
    for (int k = 1; k < 63; ++k) {
      power.merge(exact_sum(power));
      all.merge(power);
    }
    EXPECT_EQ(all.count(), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(all.mean(), x);
    EXPECT_EQ(all.value(), std::copysign(inf, x));
    EXPECT_EQ(exact_sum::from_bytes(all.to_bytes()), all);
    EXPECT_THROW(all.add(1.0), error);
    EXPECT_EQ(all.mean(), x);
  }
}

// Every public state refuses the element that it cannot count, and is then what it was: merged, added
// alone, or among a few or many.
template <class State, class Add, class AddMany>
void refuses_more_than_2_to_the_63(State one, Add add, AddMany add_many) {
  State power = one, all = one;  // 2^k elements, 2^(k+1) - 1 elements
  for (int k = 1; k < 63; ++k) {
    power.merge(State(power));
    all.merge(power);
  }
  const auto bytes_of = [](const State& s) {
    State canonical = s;
    canonical.normalise();
    return std::string(reinterpret_cast<const char*>(&canonical), sizeof canonical);
  };
  const auto refused = [&](State& s, const char* what, auto f) {
    const std::string before = bytes_of(s);
    try {
      f(s);
      ADD_FAILURE() << what << " was taken";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::capacity) << what;
      EXPECT_NE(std::string(e.what()).find("more than 2^63 - 1 elements"), std::string::npos) << e.what();
    }
    EXPECT_EQ(bytes_of(s), before) << what;
  };
  refused(power, "2^62 elements more", [&](State& s) { s.merge(State(s)); s.merge(one); });
  refused(all, "a state of one", [&](State& s) { s.merge(one); });
  refused(all, "an element", [&](State& s) { add(s); });
  refused(all, "a few", [&](State& s) { add_many(s, 3); });
  refused(all, "many", [&](State& s) { add_many(s, 5000); });
  refused(all, "itself", [&](State& s) { s.merge(State(s)); });
}

template <class T>
void states_of_a_type_refuse_more_than_2_to_the_63() {
  const T greatest = exact::format<T>::from_bits(exact::format<T>::greatest);
  const std::vector<T> many(5000, greatest);
  const auto state = [&](auto one, auto... operands) {
    one.add(operands...);
    refuses_more_than_2_to_the_63(
        one, [&](auto& s) { s.add(operands...); },
        [&](auto& s, std::size_t n) {
          if constexpr (sizeof...(operands) == 2) exact::accumulate(s, many.data(), many.data(), n);
          else exact::accumulate(s, many.data(), n);
        });
  };
  state(exact::sum_state<T>::identity(), greatest);
  state(exact::dot_state<T>::identity(), greatest, greatest);
  state(exact::squares_state<T>::identity(), greatest);
  state(exact::moments_state<T>::identity(), greatest);
}

TEST(semantics, capacity_is_that_of_every_state) {
  states_of_a_type_refuse_more_than_2_to_the_63<f16>();
  states_of_a_type_refuse_more_than_2_to_the_63<bf16>();
  states_of_a_type_refuse_more_than_2_to_the_63<float>();
  states_of_a_type_refuse_more_than_2_to_the_63<double>();
}

TEST(semantics, capacity_doubling_ends_by_an_error_never_by_a_wrong_sum) {
  auto h = exact::sum_state<f16>::identity();
  h.add(f16(65504.0f));
  auto d = exact::sum_state<double>::identity();
  d.add(std::numeric_limits<double>::max());
  for (int k = 0; k < 62; ++k) {
    h.merge(exact::sum_state<f16>(h));
    d.merge(exact::sum_state<double>(d));
  }
  for (int k = 0; k < 50; ++k) {
    EXPECT_THROW(h.merge(exact::sum_state<f16>(h)), error);
    EXPECT_THROW(d.merge(exact::sum_state<double>(d)), error);
  }
  EXPECT_EQ(h.value<double>(), 65504 * 0x1p62);
  EXPECT_EQ(d.value(), inf);
  EXPECT_EQ(exact::mean<double>(d), std::numeric_limits<double>::max());
}

TEST(semantics, capacity_states_of_2_to_the_31_ranks_add_word_by_word) {
  // Normalised digits are below 2^32, so 2^31 of them stay below 2^63: checked at the extreme.
  auto rank = exact::sum_state<double>::identity();
  for (int i = 0; i < 100; ++i) rank.add(i % 2 != 0 ? -least : 0x1.fffffffffffffp+1023);
  rank.normalise();
  auto total = exact::sum_state<double>::identity();
  for (int w = 0; w < total.words; ++w) {
    ASSERT_FALSE(__builtin_mul_overflow(rank.data()[w], std::int64_t{1} << 31, &total.data()[w]));
  }
  total.sum.normalise();
  auto want = exact::sum_state<double>::identity();
  want.merge(rank);
  for (int doubling = 0; doubling < 31; ++doubling) want.merge(exact::sum_state<double>(want));
  want.normalise();
  EXPECT_EQ(total.sum.compare(want.sum), 0);
  EXPECT_EQ(total.seen.count, want.seen.count);
}

TEST(semantics, equal_sums_have_equal_bytes) {
  EXPECT_EQ(sum_of({1, 2, 3}).to_bytes(), sum_of({6, 0, 0}).to_bytes());
  EXPECT_EQ(sum_of({1, -1}).to_bytes(), sum_of({-0.0, 0.0}).to_bytes());
  EXPECT_NE(sum_of({1, -1}).to_bytes(), sum_of({-0.0, -0.0}).to_bytes());
  EXPECT_NE(sum_of({1}).to_bytes(), sum_of({1, 0}).to_bytes());  // another count, another mean
  EXPECT_EQ(sum_of({1, 2, 3}).hash(), sum_of({6, 0, 0}).hash());
}

TEST(semantics, mean_is_rounded_once) {
  EXPECT_EQ(sum_of({1e308, 1e308}).mean(), 1e308);
  EXPECT_EQ(sum_of({1, 1, 2}).mean(), 4.0 / 3);
  EXPECT_EQ(sum_of({least, 0}).mean(), 0);                             // a tie to even
  EXPECT_EQ(sum_of({least, 0}).mean(rounding::up), least);
  EXPECT_TRUE(same(sum_of({}).mean(), nan));
  EXPECT_TRUE(same(sum_of({-0.0, -0.0}).mean(), -0.0));
  EXPECT_TRUE(same(sum_of({1, -1}).mean(), 0.0));
  EXPECT_EQ(sum_of({inf, 1}).mean(), inf);
  // (3 + a little) / 3, the little far below the quotient's bits.
  for (const double little : {0x1p-150, 0x1p-253, 0x1p-254, 0x1p-300, least}) {
    EXPECT_EQ(sum_of({3, little, 0}).mean(), 1);
    EXPECT_EQ(sum_of({3, little, 0}).mean(rounding::up), 1 + 0x1p-52);
    EXPECT_EQ(sum_of({3, -little, 0}).mean(rounding::down), 1 - 0x1p-53);
    EXPECT_EQ(sum_of({3, 0x9p-53, -little}).mean(), 1 + 0x1p-52);
    EXPECT_EQ(sum_of({3, 0x9p-53, 0}).mean(), 1 + 0x1p-51);  // without it a tie
  }
  // 3 · (1/3 to 24 bits) / 3: the sum rounded to f32 first would be 1, and the mean another number.
  exact_sum s;
  s.add(std::vector<float>{1 / 3.0f, 1 / 3.0f, 1 / 3.0f});
  EXPECT_EQ(s.mean<float>(), 1 / 3.0f);
}

template <class T>
exact::dot_state<T> dot_of(const std::vector<T>& a, const std::vector<T>& b) {
  auto s = exact::dot_state<T>::identity();
  exact::accumulate(s, a.data(), b.data(), a.size());
  return s;
}
template <class T>
exact::squares_state<T> squares_of(const std::vector<T>& x) {
  auto s = exact::squares_state<T>::identity();
  exact::accumulate(s, x.data(), x.size());
  return s;
}

TEST(semantics, dot_norm_and_squares_keep_products_exact) {
  // Where the low part of a two-product would underflow, and where the high part would overflow.
  const double a = 1 + 0x1p-52;
  const auto tiny = dot_of<double>({a * 0x1p-500, -0x1p-500},
                                   {a * 0x1p-500, (1 + 0x1p-51) * 0x1p-500});  // 2^-1104
  EXPECT_EQ(tiny.value(), 0);
  EXPECT_EQ(tiny.value(rounding::up), least);
  EXPECT_EQ((dot_of<double>({1e200, -1e200, 3}, {1e200, 1e200, 5}).value()), 15);
  EXPECT_EQ((dot_of<float>({1e30f, -1e30f, 3}, {1e30f, 1e30f, 5}).value()), 15);
  EXPECT_EQ(squares_of<double>({0x3p600, 0x4p600}).norm(), 0x5p600);
  EXPECT_EQ(squares_of<double>({0x3p600, 0x4p600}).value(), inf);
  EXPECT_EQ(squares_of<double>({3 * least, 4 * least}).norm(), 5 * least);
  EXPECT_EQ(squares_of<double>({}).norm(), 0);
  EXPECT_TRUE(same(dot_of<double>({inf}, {0}).value(), nan));
  EXPECT_TRUE(same(dot_of<double>({inf, 1}, {1, nan}).value(), nan));
  EXPECT_EQ(dot_of<double>({inf, -inf}, {2, -3}).value(), inf);
  EXPECT_TRUE(same(dot_of<double>({inf, inf}, {2, -3}).value(), nan));
  EXPECT_TRUE(same(dot_of<double>({-0.0, 0.0}, {1, -1}).value(), -0.0));
  EXPECT_TRUE(same(dot_of<double>({-0.0, 0.0}, {1, 1}).value(), 0.0));
  EXPECT_TRUE(same(dot_of<double>({}, {}).value(), 0.0));
  EXPECT_TRUE(same(squares_of<double>({-0.0}).norm(), 0.0));
  EXPECT_EQ(squares_of<double>({1, -inf}).norm(), inf);
}

TEST(semantics, hi_is_the_sum_to_nearest_and_lo_the_rest) {
  const exact_sum s = sum_of({1, 0x1p-60, least});
  EXPECT_EQ(s.value_pair().hi, 1);
  EXPECT_EQ(s.value_pair().lo, 0x1p-60);
  EXPECT_EQ(s.value_pair(rounding::up).hi, 1);
  EXPECT_EQ(s.value_pair(rounding::up).lo, std::nextafter(0x1p-60, 1));
  EXPECT_EQ(sum_of({1e308, 1e308}).value_pair().hi, inf);
  EXPECT_TRUE(same(sum_of({1e308, 1e308}).value_pair().lo, 0.0));
  EXPECT_TRUE(same(sum_of({nan, 1}).value_pair().hi, nan));
  EXPECT_TRUE(same(sum_of({nan, 1}).value_pair().lo, 0.0));
}

// Zeros too: hi + lo has the sign of the sum, in every type and mode.
template <class U>
void pairs_add_up_to_zeros(const exact_sum& s) {
  using f = exact::format<U>;
  for (const rounding mode : {rounding::nearest, rounding::zero, rounding::away, rounding::up, rounding::down}) {
    const exact::pair_of<U> p = s.value_pair<U>(mode);
    const double added = static_cast<double>(p.hi) + static_cast<double>(p.lo);
    const double value = static_cast<double>(s.value<U>(mode));
    EXPECT_TRUE(same(added, value)) << added << " for " << value << ", mode " << static_cast<int>(mode);
    EXPECT_EQ(f::negative(f::to_bits(p.hi)), std::signbit(s.value<double>(mode)));
  }
}

TEST(semantics, hi_and_lo_of_zeros_add_up_to_the_zero_of_the_sum) {
  exact_dot dots[2];
  dots[0].add(-0.0, 1.0);
  dots[1].add(0.0, 1.0);
  EXPECT_TRUE(same(dots[0].value_pair().lo, -0.0));
  EXPECT_TRUE(same(dots[1].value_pair().lo, 0.0));
  for (const auto& x : std::vector<std::vector<double>>{
           {}, {-0.0}, {0.0}, {-0.0, -0.0}, {-0.0, 0.0}, {1, -1}, {-least}, {least}, {-0x1p-200, -0.0}}) {
    const exact_sum s = sum_of(x);
    pairs_add_up_to_zeros<double>(s);
    pairs_add_up_to_zeros<float>(s);
    pairs_add_up_to_zeros<f16>(s);
    pairs_add_up_to_zeros<bf16>(s);
  }
}

// What others decide otherwise: the second table of docs/exact.md.

TEST(decided, nothing_sums_to_positive_zero_and_has_no_mean) {
  exact_dot dot;
  exact_moments moments;
  for (const rounding mode : {rounding::nearest, rounding::zero, rounding::away, rounding::up, rounding::down}) {
    EXPECT_TRUE(same(sum_of({}).value(mode), 0.0));
    EXPECT_TRUE(same(sum_of({}).value<float>(mode), 0.0f));
    EXPECT_TRUE(same(dot.value(mode), 0.0));
    EXPECT_TRUE(same(moments.sum(mode), 0.0));
    EXPECT_TRUE(same(moments.sum_of_squares(mode), 0.0));
    EXPECT_TRUE(same(moments.norm(mode), 0.0));
    EXPECT_TRUE(same(moments.mean(mode), nan));
    EXPECT_TRUE(same(sum_of({}).mean(mode), nan));
  }
}

TEST(decided, negative_zeros_sum_to_negative_zero) {
  exact_sum merged = sum_of({});
  merged.merge(sum_of({-0.0, -0.0}));
  EXPECT_TRUE(same(merged.value(), -0.0));
  EXPECT_TRUE(same(merged.mean(), -0.0));
  exact_dot dot;
  dot.add(-0.0, 3.0);
  dot.add(5.0, -0.0);
  EXPECT_TRUE(same(dot.value(), -0.0));
  exact_moments moments;
  moments.add(-0.0);
  EXPECT_TRUE(same(moments.sum(), -0.0));
  EXPECT_TRUE(same(moments.norm(), 0.0));
  EXPECT_TRUE(same(moments.var(), 0.0));
}

TEST(decided, cancellation_is_positive_zero_downward_too) {
  EXPECT_TRUE(same(sum_of({1, -1}).value(rounding::down), 0.0));
  exact_dot dot;
  dot.add(1.0, 1.0);
  dot.add(1.0, -1.0);
  EXPECT_TRUE(same(dot.value(rounding::down), 0.0));
}

TEST(decided, var_and_std_of_no_more_elements_than_the_correction_are_nan) {
  exact_moments m;
  for (const double x : {1.0, 2.0, 4.0}) {  // numerators are not zero: a quotient by 0 would be inf
    m.add(x);
    for (const std::int64_t correction : {m.count(), m.count() + 1, std::numeric_limits<std::int64_t>::max()}) {
      EXPECT_TRUE(same(m.var(correction), nan)) << m.count() << ", " << correction;
      EXPECT_TRUE(same(m.std_dev(correction), nan)) << m.count() << ", " << correction;
    }
    EXPECT_FALSE(std::isnan(m.var(m.count() - 1)));
    EXPECT_FALSE(std::isnan(m.var(-1)));
  }
}

TEST(decided, norm_of_an_infinity_and_a_nan_is_nan) {
  exact_moments m;
  m.add(-inf);
  EXPECT_TRUE(same(m.norm(), inf));
  m.add(nan);
  EXPECT_TRUE(same(m.norm(), nan));
  EXPECT_TRUE(same(m.sum_of_squares(), nan));
}

TEST(semantics, var_and_std_do_not_cancel_at_any_offset) {
  for (const double offset : {0.0, 1e9, 0x1p52, -0x1p52}) {
    auto m = exact::moments_state<double>::identity();
    for (const double d : {4.0, 7.0, 13.0, 16.0}) m.add(offset + d);
    EXPECT_EQ(m.var(), 22.5);
    EXPECT_EQ(m.var(1), 30);
    EXPECT_EQ(m.std(1), std::sqrt(30.0));
    EXPECT_EQ(m.mean(), offset + 10);
  }
  // The variance of {-1, -1, 2, l}: (4(6 + l²) - l²) / 16 = 1.5 + 3l²/16.
  for (const double little : {0x1p-80, 0x1p-400, least}) {
    auto merged = exact::moments_state<double>::identity();
    for (const double d : {-1.0, -1.0, 2.0, little}) merged.add(d);
    EXPECT_EQ(merged.var(), 1.5);
    EXPECT_EQ(merged.var(0, rounding::up), 1.5 + 0x1p-52);
    EXPECT_EQ(merged.std(0, rounding::up), std::nextafter(std::sqrt(1.5), 9));
  }
  auto m = exact::moments_state<double>::identity();
  EXPECT_TRUE(same(m.var(), nan));
  m.add(1e308);
  EXPECT_TRUE(same(m.var(0), 0.0));
  EXPECT_TRUE(same(m.var(1), nan));
  m.add(inf);
  EXPECT_TRUE(same(m.var(), nan));
}

}  // namespace
}  // namespace wf::test
