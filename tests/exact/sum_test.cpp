// SPDX-License-Identifier: Apache-2.0
// Exact sums against MPFR: types × families × sizes × roundings × output types; and any split into
// chunks, by any path, merged in any order, gives the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <warpfold/detail/exact/accumulate.hpp>

#include "../support/exact_families.hpp"
#include "../support/oracle.hpp"

namespace wf::test {
namespace {

using exact::sum_state;

template <class T>
class sum : public testing::Test {};
using element_types = testing::Types<f16, bf16, float, double>;
TYPED_TEST_SUITE(sum, element_types);

template <class State>
testing::AssertionResult same_bytes(State a, State b) {
  a.normalise();
  b.normalise();
  if (std::memcmp(&a, &b, sizeof a) == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the states differ";
}

template <class U, class T>
void check_value(const sum_state<T>& got, const real& want, const special_sum& special,
                 bool all_neg_zero) {
  for (const rounding mode : all_roundings) {
    const double expected = special.any()  ? special.value()
                            : all_neg_zero ? -0.0
                                           : want.template round<U>(mode);
    const auto value = static_cast<double>(got.template value<U>(mode));
    EXPECT_TRUE(same(value, expected))
        << "got " << value << ", want " << expected << ", mode " << static_cast<int>(mode);
  }
}

TYPED_TEST(sum, is_the_true_sum_rounded_once_to_any_type_in_any_mode) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : all_families) {
    for (const std::size_t n : {0, 1, 2, 3, 17, 300, 5000}) {
      SCOPED_TRACE(testing::Message() << name(k) << " n " << n);
      const auto x = make<T>(k, n, random);
      auto state = sum_state<T>::identity();
      exact::accumulate(state, x.data(), x.size());
      real want;
      special_sum special;
      bool all_neg_zero = n > 0;
      for (const T v : x) {
        const auto d = static_cast<double>(v);
        special.add(d);
        if (std::isfinite(d)) want += real(d);
        all_neg_zero = all_neg_zero && d == 0 && std::signbit(d);
      }
      check_value<f16>(state, want, special, all_neg_zero);
      check_value<bf16>(state, want, special, all_neg_zero);
      check_value<float>(state, want, special, all_neg_zero);
      check_value<double>(state, want, special, all_neg_zero);
    }
  }
}

TYPED_TEST(sum, single_elements_come_back_as_they_are) {
  using T = TypeParam;
  using f = exact::format<T>;
  generator random(seed());
  std::vector<T> elements = make<T>(family::finite_bits, 2000, random);
  for (const auto b : {typename f::bits{0}, typename f::bits{1}, f::mantissa_mask,
                       static_cast<typename f::bits>(f::mantissa_mask + 1), f::greatest,
                       f::infinity, f::sign_mask}) {
    elements.push_back(from<T>(b));
    elements.push_back(from<T>(b | f::sign_mask));
  }
  for (const T x : elements) {
    auto state = sum_state<T>::identity();
    state.add(x);
    for (const rounding mode : all_roundings) {
      EXPECT_EQ(f::to_bits(state.value(mode)), f::to_bits(x));
    }
  }
}

TYPED_TEST(sum, any_split_path_and_merge_order_gives_the_same_bytes) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : all_families) {
    SCOPED_TRACE(name(k));
    auto x = make<T>(k, 6000, random);
    auto want = sum_state<T>::identity();
    for (const T v : x) want.add(v);
    for (int trial = 0; trial < 6; ++trial) {
      if (trial % 2 == 1) std::ranges::shuffle(x, random);
      std::vector<sum_state<T>> parts;
      for (std::size_t at = 0; at < x.size();) {
        const std::size_t most = trial < 3 ? 5000 : 40;
        const std::size_t n = std::min(x.size() - at, random() % most);
        parts.push_back(sum_state<T>::identity());
        exact::accumulate(parts.back(), x.data() + at, n);
        at += n;
      }
      while (parts.size() > 1) {  // a random tree
        std::swap(parts[random() % parts.size()], parts.back());
        const auto last = parts.back();
        parts.pop_back();
        auto& other = parts[random() % parts.size()];
        other = random() % 2 != 0 ? sum_state<T>::combine(other, last)
                                  : sum_state<T>::combine(last, other);
      }
      EXPECT_TRUE(same_bytes(parts.at(0), want));
    }
  }
}

TYPED_TEST(sum, element_wise_int64_addition_of_normalised_states_merges_them) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : all_families) {
    SCOPED_TRACE(name(k));
    auto whole = sum_state<T>::identity(), added = whole;
    for (int rank = 0; rank < 50; ++rank) {
      const auto x = make<T>(k, random() % 100, random);
      auto part = sum_state<T>::identity();
      for (const T v : x) {
        part.add(v);
        whole.add(v);
      }
      part.normalise();
      for (int w = 0; w < sum_state<T>::words; ++w) added.data()[w] += part.data()[w];
    }
    EXPECT_TRUE(same_bytes(added, whole));
  }
}

TYPED_TEST(sum, hi_and_lo_hold_twice_the_digits) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : {family::uniform, family::ill_conditioned, family::finite_bits,
                         family::greatest, family::subnormals}) {
    for (int trial = 0; trial < 50; ++trial) {
      const auto x = make<T>(k, random() % 40, random);
      auto state = sum_state<T>::identity();
      real want;
      for (const T v : x) {
        state.add(v);
        want += real(static_cast<double>(v));
      }
      const auto pair = state.template round_pair<T>();
      const double hi = want.template round<T>(rounding::nearest);
      EXPECT_TRUE(same(static_cast<double>(pair.hi), x.empty() ? 0.0 : hi));
      if (std::isinf(hi)) {
        EXPECT_TRUE(same(static_cast<double>(pair.lo), 0.0));
        continue;
      }
      want -= real(hi);
      EXPECT_TRUE(same(static_cast<double>(pair.lo), want.template round<T>(rounding::nearest)));
      const auto up = state.template round_pair<T>(rounding::up);
      EXPECT_TRUE(same(static_cast<double>(up.lo), want.template round<T>(rounding::up)));
    }
  }
}

// Digits at the edge of their budget: 2^28 adds without one of them normalising by hand.
TEST(digits, hold_their_budget_of_adds) {
  auto state = sum_state<double>::identity();
  state.seen.count = 2 * sum_state<double>::adds_between_carries - 1;  // the next add carries
  const double x = 0x1.fffffffffffffp+700;
  auto one = sum_state<double>::identity();
  one.add(x);
  for (auto& d : one.sum.d) d *= sum_state<double>::adds_between_carries - 1;
  state.sum.add(one.sum);
  state.add(x);
  for (const auto d : state.sum.d) {
    EXPECT_GE(d, 0);
    EXPECT_LE(d, 0xffffffff + (std::int64_t{1} << 33));
  }
  EXPECT_EQ(state.value(), x * 0x1p28);
}

TEST(digits, compare_and_zero) {
  using row = exact::digits<4, -24>;
  row a = row::zero(), b = row::zero();
  EXPECT_TRUE(a.is_zero());
  a.add(5, 3, false);
  b.add(5, 3, true);
  a.normalise();
  b.normalise();
  EXPECT_EQ(a.compare(b), 1);
  EXPECT_EQ(b.compare(a), -1);
  EXPECT_TRUE(b.is_negative());
  b.add_signed(80, 0);
  b.normalise();
  EXPECT_EQ(a.compare(b), 0);
  b.add_signed(-40, 0);
  b.normalise();
  EXPECT_TRUE(b.is_zero());
}

}  // namespace
}  // namespace wf::test
