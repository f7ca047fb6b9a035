// SPDX-License-Identifier: Apache-2.0
// Sums of few elements have a way of their own (src/cpu/short_sum.hpp): here against the superaccumulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include <warpfold/warpfold.hpp>

namespace wf::test {
namespace {

/// Floats within `spread` binades of one that is anywhere, often near the least, some with few bits, some cancelling
/// others.
template <class T>
std::vector<T> few(std::int64_t n, int spread, std::mt19937_64& random) {
  using f = exact::format<T>;
  using bits = typename f::bits;
  constexpr int fraction = sizeof(T) == 8 ? 52 : 23, top = sizeof(T) == 8 ? 2046 : 254;
  const int middle = static_cast<int>(random() % 3 == 0 ? random() % 130 : random() % top);
  std::vector<T> x;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0 && random() % 4 == 0) {
      x.push_back(-x[random() % x.size()]);
      continue;
    }
    const int exponent = std::clamp(middle + static_cast<int>(random() % static_cast<unsigned>(spread)) - spread / 2, 0, top);
    auto b = static_cast<bits>(random());
    if (random() % 3 == 0) b = static_cast<bits>(b & ~((bits{1} << (fraction - 4)) - 1));
    const bits sign = b & f::sign_mask, mantissa = b & ((bits{1} << fraction) - 1);
    x.push_back(f::from_bits(sign | static_cast<bits>(exponent) << fraction | mantissa));
  }
  return x;
}

template <class T>
void check() {
  using f = exact::format<T>;
  std::mt19937_64 random(21);
  for (const int spread : {1, 10, 40, 90, 400})
    for (int k = 0; k < 20'000; ++k) {
      const std::vector<T> x = few<T>(static_cast<std::int64_t>(random() % 60), spread, random);
      auto want = exact::sum_state<T>::identity();
      for (const T v : x) want.add(v);
      for (const rounding mode : {rounding::nearest, rounding::down, rounding::up, rounding::zero, rounding::away}) {
        if (mode != rounding::nearest && k % 8 != 0) continue;
        const T got = wf::sum(x, context{.rounding = mode});
        ASSERT_EQ(f::to_bits(got), f::to_bits(want.template value<T>(mode)))
            << x.size() << " elements, spread " << spread << ", case " << k;
      }
    }
}

TEST(short_sums, of_f64) { check<double>(); }
TEST(short_sums, of_f32) { check<float>(); }

}  // namespace
}  // namespace wf::test
