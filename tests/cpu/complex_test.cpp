// SPDX-License-Identifier: Apache-2.0
// Complex numbers: squares, norm, dot, mean with variance against MPFR, part by part; targets, pieces, strides.
#include <gtest/gtest.h>

#include <warpfold/warpfold.hpp>

#include "targets.hpp"
#include "typeless.hpp"

namespace wf::test {
namespace {

class complex_reductions : public testing::TestWithParam<dtype> {
 protected:
  dtype type = GetParam();
  dtype part = part_of(type);
};
INSTANTIATE_TEST_SUITE_P(of, complex_reductions, testing::Values(dtype::c64, dtype::c128),
                         [](const auto& p) { return name(p.param); });

TEST_P(complex_reductions, are_those_of_their_parts_for_every_family_size_and_target) {
  generator random(seed());
  for (const family k : all_families) {
    for (const int n : {0, 1, 2, 3, 31, 700, 5001}) {
      const auto mode = static_cast<rounding>(random() % 5);
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n) + ", mode " + std::to_string(static_cast<int>(mode)));
      const numbers x = make(type, k, n, random), y = make(type, k == family::one_nan ? family::normal : k, n, random);
      const complex_verdict v = judge_complex(x, y, mode, 1);
      how h;
      h.c.rounding = mode;
      h.correction = 1;
      const auto as_parts = [&](answer a) {
        a.kind.type = part;
        return a;
      };
      for_each_target([&] {
        EXPECT_PRED2(same_number, reduce(op::sum_of_squares, x, h).number(), v.squares);
        EXPECT_PRED2(same_number, reduce(op::norm2, x, h).number(), v.norm);
        const answer dot = as_parts(reduce(op::dot, x, y, h)), both = as_parts(reduce(op::mean_var, x, h));
        EXPECT_PRED2(same_number, dot.number(0), v.dot.real());
        EXPECT_PRED2(same_number, dot.number(1), v.dot.imag());
        EXPECT_PRED2(same_number, both.number(0), v.mean.real());
        EXPECT_PRED2(same_number, both.number(1), v.mean.imag());
        EXPECT_PRED2(same_number, both.number(2), v.var);
        EXPECT_PRED2(same_number, reduce(op::var, x, h).number(), v.var);
        EXPECT_PRED2(same_number, reduce(op::std_dev, x, h).number(), v.std);
      });
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(complex_reductions, under_fast_are_near_and_the_same_everywhere) {
  generator random(seed() + 1);
  cpu::thread_pool pool(4);
  const double eps = type == dtype::c64 ? 1e-5 : 1e-13;
  for (const int n : {1, 100, 300'001}) {
    const numbers x = make(type, family::normal, n, random), y = make(type, family::normal, n, random);
    how exact, fast;
    fast.c.accuracy = accuracy::fast;
    fast.c.executor = &pool;
    for (const op o : {op::sum_of_squares, op::norm2, op::dot, op::mean_var}) {
      answer want = reduce(o, x, y, exact), first = reduce(o, x, y, fast);
      const bool same_target = [&] {
        bool all = true;
        for_each_target([&] {
          for (const int threads : {1, 3}) {
            fast.c.threads = threads;
            all = all && reduce(o, x, y, fast) == first;
          }
        });
        return all;
      }();
      EXPECT_TRUE(same_target) << properties_of(o).name << ", n = " << n;
      want.kind.type = first.kind.type = part;
      for (std::size_t k = 0; k < want.bytes.size() / info(part).size; ++k)
        EXPECT_NEAR(first.number(static_cast<int>(k)), want.number(static_cast<int>(k)), eps * 4 * n) << properties_of(o).name;
    }
  }
}

TEST(complex_numbers, at_the_front_door) {
  const std::vector<c128> x{{3, 4}, {0, 12}, {1e200, 0}, {-1e200, 0}}, y{{1, 1}, {2, 0}, {1e200, 1}, {1e200, 1}};
  EXPECT_EQ(wf::norm(std::span(x).first(2)), 13);
  EXPECT_EQ(wf::sum_of_squares(std::span(x).first(2)), 169);
  EXPECT_EQ(wf::dot(x, y), c128(-1, 31));  // 3 - 4 + 1e400 - 1e400, 7 + 24 + 1e200 - 1e200
  const auto [mean, var] = wf::mean_var(std::span(x).first(2), correction{1});
  EXPECT_EQ(mean, c128(1.5, 8));
  EXPECT_EQ(var, 36.5);
  const auto [m, n] = wf::fuse(wf::mean_var, wf::norm)(x);
  EXPECT_EQ(m.mean, c128(0.75, 4));
  EXPECT_EQ(n, 1.4142135623730951e200);
}

}  // namespace
}  // namespace wf::test
