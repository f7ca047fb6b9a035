// SPDX-License-Identifier: Apache-2.0
// The traversal: axes, segments, labels, threads, order, errors, with a user's own reductions.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

#if defined(__linux__)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <warpfold/detail/exact/products.hpp>
#include <warpfold/warpfold.hpp>

#include "../support/exact_families.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

// Neither commutes nor forgives a wrong index: affine maps modulo a prime, composed in order.
struct in_order {
  static constexpr std::uint64_t prime = 2147483647;
  struct state {
    std::uint64_t a, b;
    std::int64_t wrong;  // elements whose index is not their value
  };
  state identity() const { return {1, 0, 0}; }
  state lift(std::int64_t x, std::int64_t i) const {
    return {static_cast<std::uint64_t>(x) % 97 + 2, static_cast<std::uint64_t>(x), x != i};
  }
  state combine(const state& x, const state& y) const {
    return {x.a * y.a % prime, (x.b * y.a + y.b) % prime, x.wrong + y.wrong};
  }
  std::pair<std::uint64_t, std::int64_t> finish(const state& s, std::int64_t) const { return {s.b, s.wrong}; }
};
struct digest {
  std::uint64_t value;
  std::int64_t wrong, count;
  bool operator==(const digest&) const = default;
};
struct ordered : in_order {
  digest finish(const state& s, std::int64_t n) const { return {s.b, s.wrong, n}; }
};

digest by_loop(const std::vector<std::int64_t>& x) {
  const ordered r;
  in_order::state s = r.identity();
  for (std::size_t i = 0; i < x.size(); ++i) s = r.combine(s, r.lift(x[i], static_cast<std::int64_t>(i)));
  return r.finish(s, static_cast<std::int64_t>(x.size()));
}

TEST(order, is_kept_for_any_number_of_threads) {
  for (const std::int64_t n : {0, 1, 2, 4095, 4097, 131072, 131073, 1'000'003}) {
    std::vector<std::int64_t> x(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = i;
    const digest want = by_loop(x);
    EXPECT_EQ(want.wrong, 0);
    cpu::thread_pool pool(5);
    for (const int threads : {1, 2, 5}) {
      context c;
      c.threads = threads;
      c.executor = &pool;
      EXPECT_EQ(wf::reduce(x, ordered(), c), want) << n << " elements, " << threads << " threads";
    }
    const view<std::int64_t> reversed(n > 0 ? x.data() + n - 1 : nullptr, {n}, {-1});
    EXPECT_EQ(wf::reduce(reversed, ordered()), by_loop({x.rbegin(), x.rend()})) << n;
  }
}

// All elements of a view along axes, gathered from the definition: answer k gets its elements in order.
template <class T>
std::vector<std::vector<T>> gathered(const view<T>& v, const std::vector<int>& axes) {
  std::vector<std::vector<T>> out;
  std::map<std::vector<std::int64_t>, std::size_t> place;
  std::vector<std::int64_t> at(static_cast<std::size_t>(v.rank()), 0);
  const auto is_reduced = [&](int d) { return std::find(axes.begin(), axes.end(), d) != axes.end(); };
  std::int64_t answers = 1;
  for (int d = 0; d < v.rank(); ++d)
    if (!is_reduced(d)) answers *= v.shape()[static_cast<std::size_t>(d)];
  out.resize(static_cast<std::size_t>(answers));
  for (std::int64_t i = 0; i < v.size(); ++i) {
    std::int64_t rest = i, offset = 0, answer = 0, scale = 1;
    for (int d = v.rank(); d-- > 0;) {
      const std::int64_t length = v.shape()[static_cast<std::size_t>(d)], k = rest % length;
      rest /= length;
      offset += k * v.strides()[static_cast<std::size_t>(d)];
      if (!is_reduced(d)) {
        answer += k * scale;
        scale *= length;
      }
    }
    out[static_cast<std::size_t>(answer)].push_back(v.data()[offset]);
  }
  return out;
}

struct layout {
  extents shape, strides;
  std::int64_t first;
};

// Random shapes; dimensions in any order of memory, some reversed, some repeated (stride 0).
layout random_layout(generator& random, std::int64_t most) {
  layout l;
  const std::size_t rank = random() % 5;
  std::int64_t size = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t n = 1 + static_cast<std::int64_t>(random() % (random() % 4 == 0 ? 700 : 9));
    if (random() % 24 == 0) n = 0;
    if (size * n > most) n = 1;
    size *= std::max<std::int64_t>(n, 1);
    l.shape.push_back(n);
  }
  std::vector<std::size_t> order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = d;
  if (random() % 2 == 0) std::ranges::shuffle(order, random);
  l.strides.resize(rank);
  std::int64_t stride = 1 + static_cast<std::int64_t>(random() % 2);
  l.first = 0;
  for (std::size_t k = rank; k-- > 0;) {
    const std::size_t d = order[k];
    const std::int64_t n = std::max<std::int64_t>(1, l.shape[d]);
    if (random() % 12 == 0) {
      l.strides[d] = 0;
      continue;
    }
    const bool reversed = random() % 5 == 0;
    l.strides[d] = reversed ? -stride : stride;
    if (reversed) l.first += stride * (n - 1);
    stride *= n;
  }
  return l;
}

std::vector<int> random_axes(generator& random, int rank) {
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d)
    if (random() % 2 == 0) axes.push_back(d);
  return axes;
}

TEST(axes, every_layout_gives_each_answer_its_elements_in_order) {
  generator random(seed());
  cpu::thread_pool pool(3);
  context c;
  c.executor = &pool;
  std::vector<std::int64_t> memory(2'000'000);
  for (auto& m : memory) m = static_cast<std::int64_t>(random() % 1000);
  for (int trial = 0; trial < 300; ++trial) {
    const layout l = random_layout(random, 100'000);
    const view<std::int64_t> v(memory.data() + l.first, l.shape, l.strides);
    const std::vector<int> axes = random_axes(random, v.rank());
    const auto elements = gathered(v, axes);
    const auto got = wf::reduce(v, ordered(), axis(axes), c);
    ASSERT_EQ(static_cast<std::size_t>(got.size()), elements.size());
    for (std::size_t k = 0; k < elements.size(); ++k)
      ASSERT_EQ(got.values[k], by_loop(elements[k])) << "trial " << trial << ", answer " << k;
  }
}

TEST(axes, built_in_reductions_of_strided_views) {
  generator random(seed() + 1);
  cpu::thread_pool pool(3);
  context c;
  c.executor = &pool;
  std::vector<double> memory = make<double>(family::finite_bits, 600'000, random);
  for (int trial = 0; trial < 60; ++trial) {
    const layout l = random_layout(random, 60'000);
    const view<double> v(memory.data() + l.first, l.shape, l.strides);
    const std::vector<int> axes = random_axes(random, v.rank());
    const auto elements = gathered(v, axes);
    for_each_target([&] {
      const auto sums = wf::sum(v, axis(axes), c);
      const auto means = wf::mean(v, axis(axes).keep(), c);
      const auto lowest = wf::min(v, axis(axes), c);
      const auto where = wf::argmax(v, axis(axes), c);
      const auto dots = wf::dot(v, v, axis(axes), c);
      ASSERT_EQ(static_cast<int>(means.shape.size()), v.rank());
      for (std::size_t k = 0; k < elements.size(); ++k) {
        const auto& e = elements[k];
        auto s = exact::sum_state<double>::identity();
        auto q = exact::squares_state<double>::identity();
        for (const double x : e) {
          s.add(x);
          q.add(x);
        }
        ASSERT_EQ(sums.values[k], s.value()) << trial;
        if (!e.empty()) {
          ASSERT_EQ(means.values[k], exact::mean<double>(s));
          ASSERT_EQ(lowest.values[k], *std::ranges::min_element(e));
          ASSERT_EQ(where.values[k], std::ranges::max_element(e) - e.begin());
        }
        ASSERT_EQ(dots.values[k], q.value());
      }
    });
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(axes, long_rows_and_columns_are_cut_into_chunks) {
  generator random(seed() + 2);
  cpu::thread_pool pool(4);
  context c;
  c.executor = &pool;
  const std::vector<float> x = make<float>(family::normal, 3 * 300'000, random);
  for (const bool columns : {false, true}) {
    const view<float> v = columns ? view<float>(x.data(), {300'000, 3}) : view<float>(x.data(), {3, 300'000});
    const auto got = wf::sum(v, axis{columns ? 0 : 1}, c);
    for (int k = 0; k < 3; ++k) {
      auto s = exact::sum_state<float>::identity();
      for (int i = 0; i < 300'000; ++i) s.add(x[static_cast<std::size_t>(columns ? 3 * i + k : 300'000 * k + i)]);
      EXPECT_EQ(got[k], s.value());
    }
  }
}

TEST(segments, ragged_empty_and_long_ones) {
  generator random(seed() + 3);
  cpu::thread_pool pool(3);
  context c;
  c.executor = &pool;
  std::vector<std::int64_t> offsets{0};
  for (int k = 0; k < 500; ++k)
    offsets.push_back(offsets.back() + (k == 77 ? 300'000 : random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 700)));
  std::vector<std::int64_t> x(static_cast<std::size_t>(offsets.back()) + 5);
  for (auto& v : x) v = static_cast<std::int64_t>(random() % 1000);
  const auto got = wf::reduce(x, ordered(), wf::segments{offsets}, c);
  const auto sums = wf::sum(x, wf::segments{offsets}, c);
  ASSERT_EQ(got.size(), 500);
  for (std::size_t k = 0; k < 500; ++k) {
    const std::vector<std::int64_t> part(x.begin() + offsets[k], x.begin() + offsets[k + 1]);
    EXPECT_EQ(got.values[k], by_loop(part)) << k;
    EXPECT_EQ(sums.values[k], std::accumulate(part.begin(), part.end(), std::int64_t{0}));
  }
  for (const std::int64_t length : {1, 2, 16, 1000, 400'000}) {
    const auto equal = wf::reduce(x, ordered(), wf::segments_of{length}, c);
    const auto n = static_cast<std::int64_t>(x.size());
    ASSERT_EQ(equal.size(), (n + length - 1) / length);
    for (std::int64_t k = 0; k < equal.size(); k += 1 + equal.size() / 50)
      EXPECT_EQ(equal[k], by_loop({x.begin() + k * length, x.begin() + std::min(n, (k + 1) * length)}));
  }
}

TEST(answers, that_no_memory_holds_are_refused) {
  const std::vector<double> x{1, 2};
  const std::vector<std::int64_t> labels{0, 1};
  const auto refused = [](auto f) {
    try {
      f();
    } catch (const wf::error& e) {
      EXPECT_EQ(e.code(), wf::errc::bad_argument);
      EXPECT_NE(std::string(e.what()).find("no memory holds so many"), std::string::npos) << e.what();
      return;
    }
    ADD_FAILURE() << "not refused";
  };
  for (const std::int64_t many : {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 60}) {
    refused([&] { wf::sum(x, wf::by_label{labels, many}); });
    refused([&] { wf::fuse(wf::sum, wf::min)(x, wf::by_label{labels, many}); });
    const wf::view<double> nothing(nullptr, {0, many});
    refused([&] { wf::sum(nothing, wf::axis{0}); });
    refused([&] { wf::fuse(wf::sum, wf::min)(nothing, wf::axis{0}); });
  }
  // Strides that no array in memory has.
  const wf::view<double> stretched(x.data(), {2, 2}, {std::int64_t{1} << 61, 1});
  EXPECT_THROW(wf::sum(stretched), wf::error);
  const wf::view<double> one_row(x.data(), {1, 2}, {std::numeric_limits<std::int64_t>::min(), 1});
  EXPECT_EQ(wf::sum(one_row), 3.0);
}

TEST(labels, collect_elements_in_order) {
  generator random(seed() + 4);
  cpu::thread_pool pool(3);
  context c;
  c.executor = &pool;
  for (const std::int64_t answers : {1, 3, 1000}) {
    const std::size_t n = answers == 3 ? 2'200'000 : 30'000;
    std::vector<std::int64_t> x(n), labels(n);
    std::vector<std::vector<std::int64_t>> want(static_cast<std::size_t>(answers));
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<std::int64_t>(random() % 1000);
      labels[i] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(answers)) / 2 * 2 % answers;
      want[static_cast<std::size_t>(labels[i])].push_back(x[i]);
    }
    const auto got = wf::reduce(x, ordered(), wf::by_label{labels, answers}, c);
    for (std::size_t a = 0; a < want.size(); ++a) EXPECT_EQ(got.values[a], by_loop(want[a])) << a;
  }
}

TEST(labels, few_elements_of_few_and_of_many_answers) {
  generator random(seed() + 9);
  for (const std::int64_t n : {1, 10, 129, 700, 4096, 4097})
    for (const std::int64_t answers : {1, 4, 5, 23, 64, 65, 1000}) {
      const auto count = static_cast<std::size_t>(n);
      const std::vector<double> x = make<double>(family::finite_bits, count, random), y = make<double>(family::normal, count, random);
      std::vector<std::int64_t> labels(count);
      std::vector<std::vector<double>> of_x(static_cast<std::size_t>(answers)), of_y = of_x;
      for (std::size_t i = 0; i < count; ++i) {
        labels[i] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(answers)) / 3 * 3;  // some have none
        of_x[static_cast<std::size_t>(labels[i])].push_back(x[i]);
        of_y[static_cast<std::size_t>(labels[i])].push_back(y[i]);
      }
      const auto sums = wf::sum(x, wf::by_label{labels, answers}), products = wf::dot(y, y, wf::by_label{labels, answers});
      for (std::size_t a = 0; a < of_x.size(); ++a) {
        EXPECT_EQ(sums.values[a], wf::sum(of_x[a])) << n << " elements, answer " << a << " of " << answers;
        EXPECT_EQ(products.values[a], wf::dot(of_y[a], of_y[a])) << n << " elements, answer " << a << " of " << answers;
      }
      for (const std::int64_t wrong : {std::int64_t{-1}, answers, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
        std::vector<std::int64_t> others = labels;
        others[count / 2] = wrong;
        EXPECT_THROW(wf::sum(x, wf::by_label{others, answers}), wf::error) << n << " elements, label " << wrong << " of " << answers;
      }
    }
}

TEST(fusion, answers_are_those_of_each_reduction_alone) {
  generator random(seed() + 5);
  const std::vector<double> x = make<double>(family::finite_bits, 200'001, random);
  for_each_target([&] {
    const auto [s, m, lowest, at, own] = wf::fuse(wf::sum, wf::mean_var, wf::min, wf::argmax, [] {
      struct counter {
        std::int64_t identity() const { return 0; }
        std::int64_t lift(double, std::int64_t) const { return 1; }
        std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
        std::int64_t finish(std::int64_t c, std::int64_t) const { return c; }
      };
      return counter();
    }())(x);
    EXPECT_EQ(s, wf::sum(x));
    EXPECT_EQ(m.mean, wf::mean(x));
    EXPECT_EQ(m.var, wf::var(x));
    EXPECT_EQ(lowest, wf::min(x));
    EXPECT_EQ(at, wf::argmax(x));
    EXPECT_EQ(own, 200'001);
    const view<double> matrix(x.data(), {1000, 200});
    const auto [rows, highest] = wf::fuse(wf::sum, wf::max)(matrix, axis{0});
    EXPECT_EQ(rows.values, wf::sum(matrix, axis{0}).values);
    EXPECT_EQ(highest.values, wf::max(matrix, axis{0}).values);
  });
}

TEST(fusion, of_checked_reductions_tells_overflow) {
  const std::vector<std::int64_t> x{INT64_MAX, INT64_MAX, 3, 4};
  const auto [sum, squares, least] = wf::fuse(wf::checked_sum, wf::checked_sum_of_squares, wf::min)(x);
  static_assert(std::is_same_v<decltype(sum), const checked<std::int64_t>>);
  EXPECT_EQ(sum.value, 5);
  EXPECT_TRUE(sum.overflow);
  EXPECT_TRUE(squares.overflow);
  EXPECT_EQ(least, 3);
  const auto [sums, counts] = wf::fuse(wf::checked_sum, wf::count)(x, wf::segments_of{2});
  EXPECT_TRUE(sums.values[0].overflow && !sums.values[1].overflow && sums.values[1].value == 7);
  EXPECT_EQ(counts[1], 2);
}

template <class F>
constexpr bool can_be_one_of_several = std::is_constructible_v<fused<F>, const F&>;
static_assert(can_be_one_of_several<std::remove_const_t<decltype(wf::sum)>>);
static_assert(!can_be_one_of_several<std::remove_const_t<decltype(wf::dot)>>);
static_assert(!can_be_one_of_several<std::remove_const_t<decltype(wf::checked_dot)>>);

// Two inputs of two types: the sum of weights where the value is odd, and the last index of one.
struct of_pairs {
  struct state {
    double weight;
    std::int64_t last;
    bool operator==(const state&) const = default;
  };
  state identity() const { return {0, -1}; }
  state lift(std::int32_t x, double weight, std::int64_t i) const { return x % 2 != 0 ? state{weight, i} : identity(); }
  state combine(const state& a, const state& b) const { return {a.weight + b.weight, b.last < 0 ? a.last : b.last}; }
  state finish(const state& s, std::int64_t) const { return s; }
};

of_pairs::state by_loop(const std::vector<std::int32_t>& x, const std::vector<double>& y) {
  const of_pairs r;
  of_pairs::state s = r.identity();
  for (std::size_t i = 0; i < x.size(); ++i) s = r.combine(s, r.lift(x[i], y[i], static_cast<std::int64_t>(i)));
  return s;
}

TEST(two_inputs, of_a_reduction_of_the_users_own) {
  generator random(seed() + 7);
  cpu::thread_pool pool(3);
  context c;
  c.executor = &pool;
  for (const std::size_t n : {0, 1, 12, 5000, 400'000}) {
    std::vector<std::int32_t> x(n);
    std::vector<double> y(n);
    for (auto& v : x) v = static_cast<std::int32_t>(random() % 100);
    for (auto& v : y) v = static_cast<double>(random() % 64);
    EXPECT_EQ(wf::reduce(x, y, of_pairs(), c), by_loop(x, y)) << n;
  }
  std::vector<std::int32_t> x(6 * 700);
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i), y[i] = static_cast<double>(i % 64);
  const auto part = [](const auto& v, std::size_t begin, std::size_t end) {
    return std::vector(v.begin() + static_cast<std::ptrdiff_t>(begin), v.begin() + static_cast<std::ptrdiff_t>(end));
  };
  const auto rows = wf::reduce(view<std::int32_t>(x.data(), {6, 700}), view<double>(y.data(), {6, 700}), of_pairs(), axis{1}, c);
  const auto pieces = wf::reduce(x, y, of_pairs(), wf::segments_of{700}, c);
  std::vector<std::int64_t> labels(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) labels[i] = static_cast<std::int64_t>(i / 700);
  const auto labelled = wf::reduce(x, y, of_pairs(), wf::by_label{labels, 6}, c);
  for (std::size_t k = 0; k < 6; ++k) {
    const auto want = by_loop(part(x, 700 * k, 700 * k + 700), part(y, 700 * k, 700 * k + 700));
    EXPECT_EQ(rows.values[k], want);
    EXPECT_EQ(pieces.values[k], want);
    EXPECT_EQ(labelled.values[k], want);
  }
}

// An executor of the caller's: tasks in reverse, on threads of its own; counts them.
struct reversed final : cpu::executor {
  std::atomic<std::int64_t> tasks_run{0};
  int concurrency() const noexcept override { return 3; }
  void run(std::int64_t tasks, int, void (*task)(void*, std::int64_t), void* argument) override {
    std::atomic<std::int64_t> next{tasks};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (std::int64_t k; (k = --next) >= 0;) {
          task(argument, k);
          ++tasks_run;
        }
      });
  }
};

TEST(executors, a_callers_own_gets_the_tasks_and_the_answer_stays) {
  generator random(seed() + 6);
  const std::vector<double> x = make<double>(family::normal, 1'000'000, random);
  reversed own;
  context c;
  c.executor = &own;
  EXPECT_EQ(wf::sum(x, c), wf::sum(x));
  EXPECT_EQ(wf::sum(x, c, wf::fast), wf::sum(x, wf::fast));
  EXPECT_GE(own.tasks_run, 14);
}

TEST(executors, a_task_may_reduce_and_several_threads_may_share_the_pool) {
  struct nested {
    std::int64_t identity() const { return 0; }
    std::int64_t lift(int x, std::int64_t i) const {
      if (i % 100'000 != 0) return x;
      return x + wf::sum(std::vector<int>(300'000, 1)) - 300'000;
    }
    std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
    std::int64_t finish(std::int64_t s, std::int64_t) const { return s; }
  };
  const std::vector<int> x(700'000, 1);
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { right += wf::reduce(x, nested()) == 700'000; });
  threads.clear();
  EXPECT_EQ(right, 4);
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// As `ulimit -v` does: room for some threads' stacks, not for 500.
void pool_in_little_memory() {
  std::ifstream sizes("/proc/self/statm");
  rlim_t pages = 0;
  sizes >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{200} << 20);
  const rlimit limit{most, most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  const std::vector<int> x(500'000, 1);
  cpu::thread_pool pool(500);
  context c;
  c.executor = &pool;
  std::_Exit(pool.concurrency() < 500 && wf::sum(x, c) == 500'000 ? 0 : 1);
}

TEST(executors, a_pool_has_the_threads_that_the_system_grants) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(pool_in_little_memory(), testing::ExitedWithCode(0), "");
}
#endif

TEST(errors, of_a_users_reduction_come_out) {
  struct fails {
    int identity() const { return 0; }
    int lift(int, std::int64_t i) const {
      if (i == 400'000) throw std::runtime_error("element 400000");
      return 0;
    }
    int combine(int a, int b) const { return a + b; }
    int finish(int s, std::int64_t) const { return s; }
  };
  EXPECT_THROW(wf::reduce(std::vector<int>(500'000), fails()), std::runtime_error);
}

template <class F>
std::string message_of(F f, errc code = errc::bad_argument) {
  try {
    f();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code);
    return e.what();
  }
  return "no error";
}

TEST(errors, say_what_where_and_what_would_be_right) {
  const std::vector<double> x(6);
  const view<double> m(x.data(), {2, 3});
  EXPECT_EQ(message_of([&] { wf::sum(m, axis{2}); }),
            "sum: axis 2 of an array of 2 dimensions; axes are -2 to 1");
  EXPECT_EQ(message_of([&] { wf::sum(m, axis{0, -2}); }), "sum: axis -2 is named twice");
  EXPECT_EQ(message_of([&] { wf::norm(view<double>(x.data(), {}), axis{0}); }),
            "norm2: axis 0 of an array of 0 dimensions, which has no axes");
  EXPECT_EQ(message_of([&] { view<double>(x.data(), {2, -3}); }), "view: a length of -3; lengths are 0 or more");
  EXPECT_EQ(message_of([&] { view<double>(x.data(), {2, 3}, {1}); }),
            "view: 2 lengths but 1 strides; one of each a dimension");
  const std::vector<std::int64_t> falling{0, 4, 2}, beyond{0, 7};
  EXPECT_EQ(message_of([&] { wf::sum(x, wf::segments{falling}); }),
            "segments: offset 2 is 2; offsets rise, from 0 to at most 6");
  EXPECT_EQ(message_of([&] { wf::sum(x, wf::segments{beyond}); }),
            "segments: offset 1 is 7; offsets rise, from 0 to at most 6");
  EXPECT_EQ(message_of([&] { wf::sum(x, wf::segments_of{0}); }),
            "sum: segments of 0 elements; they must have 1 or more");
  const std::vector<std::int64_t> labels{0, 1, 2, 0, 1, 3}, few{0};
  EXPECT_EQ(message_of([&] { wf::sum(x, wf::by_label{labels, 3}); }),
            "labels: label 3 of element 5; labels are 0 to 2");
  EXPECT_EQ(message_of([&] { wf::sum(x, wf::by_label{labels, 0}); }), "labels: label 0 of element 0; there are 0 answers");
  EXPECT_EQ(message_of([&] { wf::sum(x, wf::by_label{few, 3}); }),
            "sum: 1 labels for 6 elements; there must be one for each");
  context backwards;
  backwards.threads = -3;
  EXPECT_EQ(message_of([&] { wf::sum(x, backwards); }), "context: threads is -3; it is 0 or more, and 0 means all");
  EXPECT_EQ(message_of([&] {
              wf::request r;
              r.context = backwards;
              wf::check(r);
            }),
            "context: threads is -3; it is 0 or more, and 0 means all");
  EXPECT_EQ(message_of([&] { wf::dot(x, std::vector<double>(1)); }),
            "two inputs of the shapes (6,) and (1,); they must be the same");
  EXPECT_EQ(message_of([&] { wf::dot(m, view<double>(x.data(), {3, 2})); }),
            "two inputs of the shapes (2, 3) and (3, 2); they must be the same");
  EXPECT_EQ(message_of([&] { m.transposed(0, 5); }), "view: transposed(0, 5) of 2 dimensions, which count from 0");
  EXPECT_EQ(message_of([&] { m.transposed(-1, 0); }), "view: transposed(-1, 0) of 2 dimensions, which count from 0");
}

/// The place of the first negative number, and how many elements there were.
struct first_negative {
  std::int64_t identity() const { return -1; }
  std::int64_t lift(double x, std::int64_t i) const { return x < 0 ? i : -1; }
  std::int64_t combine(std::int64_t a, std::int64_t b) const { return a >= 0 ? a : b; }
  std::int64_t finish(std::int64_t s, std::int64_t n) const { return s * 1000 + n; }
};

// A request may name the caller's own reduction: what wf::reduce and wf::fuse do.
TEST(requests, take_reductions_of_the_callers_own) {
  const std::vector<double> x{3, 1, -2, 5, -7, 4};
  static constexpr cpu::erased functions = cpu::erase<first_negative, double>();
  const first_negative mine;
  std::vector<std::int64_t> out(3, 99);
  std::atomic<std::uint64_t> bytes = 0;
  wf::request r;
  r.own = {&functions, &mine, "first_negative"};
  r.inputs.data[0] = x.data();
  r.inputs.shape = {6};
  r.inputs.strides[0] = {sizeof(double)};
  r.out = out.data();
  EXPECT_EQ(wf::check(r), extents{});
  cpu_backend().run(r);
  EXPECT_EQ(out[0], 2006);
  r.first = 40;
  r.progress = &bytes;
  cpu_backend().run(r);
  EXPECT_EQ(out[0], 42006);
  EXPECT_EQ(bytes, 48);
  r.progress = nullptr;
  r.first = 0;
  r.by.kind = partition::kinds::equal_segments;
  r.by.length = 2;
  cpu_backend().run(r);
  EXPECT_EQ(out, (std::vector<std::int64_t>{-998, 2, 2}));
  r.inputs.strides[0] = {-static_cast<std::int64_t>(sizeof(double))};
  r.inputs.data[0] = x.data() + 5;
  cpu_backend().run(r);
  EXPECT_EQ(out, (std::vector<std::int64_t>{1002, 1002, -998}));
  r.by = {};
  r.inputs.data[0] = nullptr;
  EXPECT_EQ(message_of([&] { cpu_backend().run(r); }), "first_negative: input 0 is null, but has 6 elements");
  r.inputs.data[0] = x.data() + 5;
  r.wanted = output::states;
  EXPECT_EQ(message_of([&] { cpu_backend().run(r); }, errc::unsupported), "first_negative: a reduction that no operation names gives answers, no states and no wf::checked");
  r.wanted = output::answers;
  r.swapped[0] = true;
  EXPECT_EQ(message_of([&] { wf::check(r); }, errc::unsupported), "first_negative: a reduction that no operation names takes elements in the machine's order of bytes");
  r.swapped[0] = false;
  r.by.kind = partition::kinds::axes;
  const int beyond[] = {1};
  r.by.axes = beyond;
  EXPECT_EQ(message_of([&] { cpu_backend().run(r); }), "first_negative: axis 1 of an array of 1 dimensions; axes are -1 to 0");
}

TEST(shapes, of_more_positions_than_can_be_counted) {
  constexpr std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(message_of([] { view<double>(nullptr, {2, big, big}); }), "view: more than 2^63 elements");
  for (const extents& shape : {extents{0, big, big}, extents{big, 0, big}, extents{big, big, 0}}) {
    const view<double> v(nullptr, shape);
    EXPECT_EQ(v.size(), 0);
    EXPECT_EQ(wf::sum(v), 0);
    EXPECT_EQ(wf::sum(v, axis{}).shape, shape);
    const int empty = static_cast<int>(std::ranges::find(shape, 0) - shape.begin());
    EXPECT_EQ(message_of([&] { wf::sum(v, axis{empty}); }),
              "sum: answers of the shape (1099511627776, 1099511627776); there may be at most 2^63 - 1");
    EXPECT_EQ(message_of([&] { wf::fuse(wf::sum, wf::min)(v, axis{empty}); }),
              "fuse: answers of the shape (1099511627776, 1099511627776); there may be at most 2^63 - 1");
    EXPECT_EQ(wf::sum(v, axis{(empty + 1) % 3, (empty + 2) % 3}).shape, extents{0});
    double out = 7;
    cpu::operands x;
    x.shape = shape;
    x.strides[0] = v.strides();
    const options told;
    const int axes[] = {empty};
    EXPECT_EQ(message_of([&] { cpu::reduce_axes(builtin(op::sum, dtype::f64, accuracy::exact), &told, x, axes, {}, &out); }),
              "more than 2^63 answers");
  }
  const view<double> long_one(nullptr, {0, std::int64_t{1} << 62});
  EXPECT_EQ(wf::sum(long_one), 0);
  EXPECT_EQ(wf::sum(std::vector<double>{}, wf::segments_of{INT64_MAX}).size(), 0);
}

// What has no value before it is assigned one cannot be answered with.
struct answer_to_be_made {
  int value;
  explicit answer_to_be_made(int v) : value(v) {}
};
struct answers_with_it {
  int identity() const { return 0; }
  int lift(int x, std::int64_t) const { return x; }
  int combine(int a, int b) const { return a + b; }
  answer_to_be_made finish(int s, std::int64_t) const { return answer_to_be_made(s); }
};
static_assert(!reduction<answers_with_it, int>);

}  // namespace
}  // namespace wf::test
