// SPDX-License-Identifier: Apache-2.0
// The caller's floating-point environment has no say: flush-to-zero, denormals-are-zero and the
// rounding mode of the thread leave every bit as it was.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>

#include "../support/exact_families.hpp"

namespace wf::test {
namespace {

// Everything that the exact code computes from x and y, as bytes.
template <class T>
std::string everything(const std::vector<T>& x, const std::vector<T>& y) {
  std::string out;
  const auto put = [&](const auto& v) {
    out.append(reinterpret_cast<const char*>(&v), sizeof v);
  };
  auto sum = exact::sum_state<T>::identity(), one_by_one = sum;
  exact::accumulate(sum, x.data(), x.size());
  for (const T v : x) one_by_one.add(v);
  one_by_one.normalise();
  auto dot = exact::dot_state<T>::identity();
  exact::accumulate(dot, x.data(), y.data(), x.size());
  auto squares = exact::squares_state<T>::identity();
  exact::accumulate(squares, x.data(), x.size());
  auto moments = exact::moments_state<T>::identity();
  exact::accumulate(moments, x.data(), x.size());
  put(sum);
  put(one_by_one);
  put(dot);
  put(squares);
  put(moments);
  for (const rounding mode : {rounding::nearest, rounding::zero, rounding::away, rounding::up,
                              rounding::down}) {
    put(sum.value(mode));
    put(sum.template value<double>(mode));
    put(sum.template value<float>(mode));
    put(sum.template value<f16>(mode));
    put(sum.template round_pair<T>(mode));
    put(dot.value(mode));
    put(squares.norm(mode));
    put(moments.mean(mode));
    put(moments.var(1, mode));
    put(moments.std(0, mode));
  }
  for (const T v : x) {
    if constexpr (sizeof(T) < sizeof(double)) put(exact::widen(v));
    put(exact::convert<exact::ieee_f16, exact::format<T>>(exact::format<T>::to_bits(v)));
  }
  exact_sum s;
  s.add(x);
  put(s.to_bytes());
  return out;
}

template <class T>
class environment : public testing::Test {};
using element_types = testing::Types<f16, bf16, float, double>;
TYPED_TEST_SUITE(environment, element_types);

template <class T, class Enter, class Leave>
void compare(Enter enter, Leave leave) {
  generator random(seed());
  for (const family k : all_families) {
    for (const std::size_t n : {1, 20, 4000}) {
      const auto x = make<T>(k, n, random), y = make<T>(family::subnormals, n, random);
      const std::string want = everything(x, y);
      enter();
      const std::string got = everything(x, y);
      leave();
      EXPECT_TRUE(got == want) << name(k) << " n " << n;
    }
  }
}

#if defined(__SSE2__)
TYPED_TEST(environment, flush_to_zero_and_denormals_are_zero_change_nothing) {
  const unsigned before = _mm_getcsr();
  compare<TypeParam>(
      [&] {
        _mm_setcsr(before | 0x8040);
        volatile double least = 0x1p-1074;
        ASSERT_EQ(least * 1.0, 0);  // it is on
      },
      [&] { _mm_setcsr(before); });
}
#endif

TYPED_TEST(environment, rounding_mode_of_the_thread_changes_nothing) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    compare<TypeParam>([&] { ASSERT_EQ(std::fesetround(mode), 0); },
                       [] { std::fesetround(FE_TONEAREST); });
  }
}

// Integers do the work, so no status flag is raised either; roots, which are guessed in f64, are left out.
TYPED_TEST(environment, status_flags_of_the_thread_stay_as_they_are) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : all_families) {
    for (const std::size_t n : {1, 20, 5000}) {
      const auto x = make<T>(k, n, random), y = make<T>(family::random_bits, n, random);
      for (const int flags : {0, FE_ALL_EXCEPT}) {
        std::feclearexcept(FE_ALL_EXCEPT);
        if (flags != 0) std::feraiseexcept(flags);
        exact_sum sum;
        sum.add(x);
        exact_dot dot;
        dot.add(x, y);
        exact_moments moments;
        moments.add(x);
        for (const rounding mode : {rounding::nearest, rounding::up}) {
          static_cast<void>(sum.value<T>(mode));
          static_cast<void>(sum.mean<T>(mode));
          static_cast<void>(sum.value_pair<float>(mode));
          static_cast<void>(dot.value<T>(mode));
          static_cast<void>(moments.var<T>(1, mode));
        }
        const int after = std::fetestexcept(FE_ALL_EXCEPT);
        std::feclearexcept(FE_ALL_EXCEPT);
        EXPECT_EQ(after, flags) << name(k) << " n " << n;
      }
    }
  }
}

}  // namespace
}  // namespace wf::test
