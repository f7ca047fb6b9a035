// SPDX-License-Identifier: Apache-2.0
// accuracy::fast: the same bits on every target and for every number of threads, and errors within
// the bound of its order of summation.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <thread>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <warpfold/detail/cpu/running.hpp>
#include <warpfold/warpfold.hpp>

#include "targets.hpp"
#include "typeless.hpp"

namespace wf::test {
namespace {

constexpr op fast_ops[] = {op::sum,  op::mean,    op::norm1,    op::sum_of_squares, op::norm2,
                           op::dot,  op::std_dev, op::mean_var, op::prod,           op::logsumexp};

class fast_reductions : public testing::TestWithParam<dtype> {};
INSTANTIATE_TEST_SUITE_P(of, fast_reductions, testing::ValuesIn(float_types), [](const auto& p) { return name(p.param); });

TEST_P(fast_reductions, give_the_same_bits_everywhere) {
  const dtype type = GetParam();
  generator random(seed());
  cpu::thread_pool pool(4);
  for (const int n : {1, 31, 64, 100, 4097, 140'001, 1'000'001}) {
    const numbers x = make(type, family::normal, n, random), y = make(type, family::uniform, n, random);
    how h;
    h.correction = 1;
    h.c.accuracy = accuracy::fast;
    h.c.executor = &pool;
    h.c.threads = 1;
    std::vector<answer> want;
    for (const op o : fast_ops) want.push_back(reduce(o, x, y, h));
    for_each_target([&] {
      for (const int threads : {1, 2, 4}) {
        h.c.threads = threads;
        for (std::size_t k = 0; k < want.size(); ++k)
          EXPECT_TRUE(reduce(fast_ops[k], x, y, h) == want[k])
              << "n = " << n << ", " << properties_of(fast_ops[k]).name << ", " << threads << " threads";
      }
    });
  }
}

void set_otherwise() {  // rounds up and flushes subnormals
  std::fesetround(FE_UPWARD);
#if defined(__SSE2__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

// Threads that start so.
struct set_otherwise_threads final : cpu::executor {
  int concurrency() const noexcept override { return 2; }
  void run(std::int64_t tasks, int, void (*task)(void*, std::int64_t), void* argument) override {
    std::jthread([&] {
      set_otherwise();
      for (std::int64_t k = 0; k < tasks; ++k) task(argument, k);
    });
  }
};

TEST_P(fast_reductions, give_the_same_bits_whatever_environment_the_caller_has_set) {
  const dtype type = GetParam();
  generator random(seed() + 2);
  cpu::thread_pool pool(3);
  set_otherwise_threads theirs;
  for (const int n : {1, 10, 4097, 400'001}) {
    for (const family k : {family::normal, family::subnormals}) {
      const numbers x = make(type, k, n, random), y = make(type, k, n, random);
      std::fenv_t before;
      for (const op o : fast_ops) {
        how h;
        h.c.accuracy = accuracy::fast;
        const answer want = reduce(o, x, y, h);
        for (cpu::executor* e : {static_cast<cpu::executor*>(&pool), static_cast<cpu::executor*>(&theirs)}) {
          h.c.executor = e;
          std::fegetenv(&before);
          set_otherwise();
          const answer got = reduce(o, x, y, h);
          std::fesetenv(&before);
          EXPECT_TRUE(got == want) << "n = " << n << ", " << properties_of(o).name;
        }
      }
    }
  }
}

TEST(fast, running_reductions_too_whatever_environment_the_caller_has_set) {
  generator random(seed() + 3);
  const std::vector<double> x = make<double>(family::normal, 1 << 20, random);
  const options told;
  const context c;
  const auto in_pieces = [&] {
    cpu::running r(builtin(op::sum, dtype::f64, accuracy::fast), &told, c);
    for (int k = 0; k < 8; ++k) {
      const void* p = x.data() + k * (1 << 17);
      r.add(&p, 1 << 17);
    }
    double sum = 0;
    r.finish(&sum);
    return sum;
  };
  const double want = in_pieces();
  std::fenv_t before;
  std::fegetenv(&before);
  set_otherwise();
  const double got = in_pieces();
  std::fesetenv(&before);
  EXPECT_EQ(got, want);
}

// NaNs of many bits, and those that infinities make: in vectors their order is another than in scalars.
TEST_P(fast_reductions, answer_with_one_nan) {
  const dtype type = GetParam();
  generator random(seed() + 4);
  for (const int n : {1, 2, 1000, 300'007}) {
    const numbers x = make(type, family::random_bits, n, random), y = make(type, family::random_bits, n, random);
    how h;
    h.c.accuracy = accuracy::fast;
    for_each_target([&] {
      for (const op o : fast_ops) {
        const answer a = reduce(o, x, y, h);
        for (int k = 0; k < a.kind.values; ++k)
          EXPECT_TRUE(!std::isnan(a.number(k)) || same_number(a.number(k), NAN)) << n << ' ' << properties_of(o).name;
      }
    });
  }
}

// In a sum of terms t each goes through at most 4096/lanes + log2(lanes) + log2(blocks) additions
// and three roundings more (product, widening, the answer): |error| <= g·Σ|t|, g = k·u / (1 - k·u).
TEST_P(fast_reductions, err_no_more_than_their_bound) {
  const dtype type = GetParam();
  generator random(seed() + 1);
  const bool wide = type == dtype::f64;
  const double u = wide ? 0x1p-53 : 0x1p-24;  // the arithmetic's
  const double last = type == dtype::f16 ? 0x1p-11 : type == dtype::bf16 ? 0x1p-8 : u;  // the answer's
  how fast;
  fast.c.accuracy = accuracy::fast;
  for (const int n : {100, 4096, 5000, 1'000'001}) {
    const numbers x = make(type, family::normal, n, random), y = make(type, family::normal, n, random);
    const double depth = 4096.0 / (wide ? 32 : 64) + 6 + std::ceil(std::log2(n / 4096.0 + 1)) + 3;
    const double g = depth * u / (1 - depth * u);
    long double absolute = 0, products = 0, dot = 0, sum = 0;
    for (int i = 0; i < n; ++i) {
      const long double a = number(x, i), b = number(y, i);
      sum += a;
      absolute += std::fabs(a);
      dot += a * b;
      products += std::fabs(a * b);
    }
    const double exact_sum = static_cast<double>(sum), exact_dot = static_cast<double>(dot);
    EXPECT_LE(std::fabs(reduce(op::sum, x, fast).number() - exact_sum),
              g * static_cast<double>(absolute) + last * std::fabs(exact_sum));
    EXPECT_LE(std::fabs(reduce(op::dot, x, y, fast).number() - exact_dot),
              g * static_cast<double>(products) + last * std::fabs(exact_dot));
    const double var = reduce(op::var, x, fast).number(), exact_var = reduce(op::var, x).number();
    EXPECT_LE(std::fabs(var - exact_var), (4 * g + 2 * last) * exact_var);
  }
}

TEST(fast, special_values_are_those_of_the_arithmetic) {
  const double inf = INFINITY;
  for_each_target([&] {
    EXPECT_TRUE(std::isnan(wf::sum(std::vector<double>{inf, -inf}, wf::fast)));
    EXPECT_EQ(wf::sum(std::vector<double>(1000, inf), wf::fast), inf);
    EXPECT_TRUE(std::signbit(wf::sum(std::vector<double>(77, -0.0), wf::fast)));
    EXPECT_TRUE(std::isnan(wf::sum(std::vector<float>{1, NAN}, wf::fast)));
    EXPECT_EQ(wf::var(std::vector<double>(5000, 1e8 + 0.25), wf::fast), 0.0);
    const std::vector<double> four{0, 0, 2, 2};
    EXPECT_EQ(wf::var(four, wf::fast, wf::correction{INT64_MIN}), 0x1p-61);
    EXPECT_EQ(wf::std_dev(std::vector<c128>{0, 0, 2, 2}, wf::fast, wf::correction{INT64_MIN}), std::sqrt(0x1p-61));
    EXPECT_TRUE(std::isnan(wf::var(four, wf::fast, wf::correction{INT64_MAX})));
  });
}

}  // namespace
}  // namespace wf::test
