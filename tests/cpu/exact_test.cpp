// SPDX-License-Identifier: Apache-2.0
// Every exact reduction of floats, through the front door, against MPFR: types × families of data ×
// sizes × targets × layouts.
#include <gtest/gtest.h>

#include <warpfold/exact/products.hpp>
#include <warpfold/warpfold.hpp>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../exact/families.hpp"
#include "../exact/oracle.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
struct expected {
  double sum, mean, norm1, squares, norm, dot, var, std;
};

template <class T>
double d(T x) { return static_cast<double>(x); }

// Of one rounding mode; var and std with correction 1.
template <class T>
expected<T> judge(const std::vector<T>& x, const std::vector<T>& y, rounding mode) {
  real s, a, q, p;
  special_sum ss, sa, sq, sp;
  const std::size_t n = x.size();
  bool all_neg = n > 0, all_neg_products = n > 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double v = d(x[i]), w = d(y[i]);
    all_neg = all_neg && v == 0 && std::signbit(v);
    all_neg_products = all_neg_products && (v == 0 || w == 0) && std::signbit(v) != std::signbit(w);
    if (std::isfinite(v)) {
      const real r(v);
      s += r;
      a += real(std::fabs(v));
      real square(v);
      square *= r;
      q += square;
    } else {
      ss.add(v);
      sa.add(std::fabs(v));
      sq.add(v * v);
    }
    if (std::isfinite(v) && std::isfinite(w)) {
      real product(v);
      product *= real(w);
      p += product;
    } else {
      sp.add(v * w);
    }
  }
  expected<T> e{};
  const real count(static_cast<double>(n));
  e.sum = ss.any() ? ss.value() : all_neg ? -0.0 : s.round<T>(mode);
  e.norm1 = sa.any() ? sa.value() : a.round<T>(mode);
  e.squares = sq.any() ? sq.value() : q.round<T>(mode);
  e.dot = sp.any() ? sp.value() : all_neg_products ? -0.0 : p.round<T>(mode);
  real root = q;
  e.norm = sq.any() ? sq.value() : root.root().round<T>(mode);
  real mean = s;
  e.mean = ss.any() ? ss.value() : n == 0 ? nan : all_neg ? -0.0 : (mean /= count).round<T>(mode);
  if (n <= 1 || ss.any()) {
    e.var = e.std = nan;
  } else {
    real spread = q;
    spread *= count;
    real square = s;
    square *= s;
    spread -= square;
    spread /= count;
    spread /= real(static_cast<double>(n - 1));
    e.var = spread.round<T>(mode);
    e.std = spread.root().round<T>(mode);
  }
  return e;
}

// Of a container or a view.
template <class T, class X>
void check(const X& x, const X& y, const expected<T>& e, rounding mode) {
  EXPECT_PRED2(same, d(wf::sum(x, mode)), e.sum) << "sum";
  EXPECT_PRED2(same, d(wf::mean(x, mode)), e.mean) << "mean";
  EXPECT_PRED2(same, d(wf::norm1(x, mode)), e.norm1) << "norm1";
  EXPECT_PRED2(same, d(wf::sum_of_squares(x, mode)), e.squares) << "sum_of_squares";
  EXPECT_PRED2(same, d(wf::norm(x, mode)), e.norm) << "norm";
  EXPECT_PRED2(same, d(wf::dot(x, y, mode)), e.dot) << "dot";
  EXPECT_PRED2(same, d(wf::var(x, correction{1}, mode)), e.var) << "var";
  EXPECT_PRED2(same, d(wf::std_dev(x, correction{1}, mode)), e.std) << "std";
  const auto both = wf::mean_var(x, correction{1}, mode);
  EXPECT_PRED2(same, d(both.mean), e.mean) << "mean_var";
  EXPECT_PRED2(same, d(both.var), e.var) << "mean_var";
}

template <class T>
class exact_reductions : public testing::Test {};
using floats = testing::Types<f16, bf16, float, double>;
TYPED_TEST_SUITE(exact_reductions, floats);

TYPED_TEST(exact_reductions, agree_with_mpfr_for_every_size_family_and_target) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : all_families) {
    for (const std::size_t n : {0, 1, 2, 3, 5, 8, 17, 24, 25, 33, 63, 65, 200, 1023, 4095, 4097, 9001}) {
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n));
      const std::vector<T> x = make<T>(k, n, random);
      const std::vector<T> y = make<T>(k == family::one_nan ? family::normal : k, n, random);
      const expected<T> e = judge(x, y, rounding::nearest);
      for_each_target([&] { check<T>(x, y, e, rounding::nearest); });
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(exact_reductions, agree_with_mpfr_in_every_rounding_mode) {
  using T = TypeParam;
  generator random(seed() + 1);
  for (const family k : {family::normal, family::ill_conditioned, family::finite_bits, family::greatest}) {
    for (const std::size_t n : {1, 7, 24, 300, 5000}) {
      const std::vector<T> x = make<T>(k, n, random), y = make<T>(k, n, random);
      for (const rounding mode : all_roundings) {
        SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n) + ", mode " +
                     std::to_string(static_cast<int>(mode)));
        const expected<T> e = judge(x, y, mode);
        for_each_target([&] { check<T>(x, y, e, mode); });
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// The elements of x, laid out with a stride (in elements), then seen through a view.
template <class T>
struct strided_copy {
  std::vector<T> memory;
  view<T> seen;

  strided_copy(const std::vector<T>& x, std::int64_t stride)
      : memory(x.size() * static_cast<std::size_t>(std::abs(stride)) + 1, T{}),
        seen(place(x, stride)) {}

 private:
  view<T> place(const std::vector<T>& x, std::int64_t stride) {
    const auto n = static_cast<std::int64_t>(x.size());
    T* first = memory.data() + (stride < 0 ? -stride * (n - (n > 0)) : 0);
    for (std::int64_t i = 0; i < n; ++i) first[i * stride] = x[static_cast<std::size_t>(i)];
    return view<T>(first, {n}, {stride});
  }
};

TYPED_TEST(exact_reductions, do_not_depend_on_strides_or_alignment) {
  using T = TypeParam;
  generator random(seed() + 2);
  for (const family k : {family::normal, family::finite_bits, family::random_bits, family::all_neg_zero}) {
    for (const std::size_t n : {1, 10, 777, 9001}) {
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n));
      const std::vector<T> x = make<T>(k, n, random), y = make<T>(k, n, random);
      const expected<T> e = judge(x, y, rounding::nearest);
      std::vector<unsigned char> bytes(n * sizeof(T) + 1), more(n * sizeof(T) + 1);
      std::memcpy(bytes.data() + 1, x.data(), n * sizeof(T));
      std::memcpy(more.data() + 1, y.data(), n * sizeof(T));
      for_each_target([&] {
        for (const std::int64_t stride : {1, 2, 3, -1, -2}) {
          SCOPED_TRACE("stride " + std::to_string(stride));
          const strided_copy<T> a(x, stride), b(y, stride);
          check<T>(a.seen, b.seen, e, rounding::nearest);
        }
        SCOPED_TRACE("misaligned by a byte");
        const auto at = [n](std::vector<unsigned char>& from) {
          const void* p = from.data() + 1;
          return view<T>(static_cast<const T*>(p), {static_cast<std::int64_t>(n)});
        };
        check<T>(at(bytes), at(more), e, rounding::nearest);
      });
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(exact_reductions, do_not_depend_on_threads_when_there_are_many_chunks) {
  using T = TypeParam;
  generator random(seed() + 3);
  cpu::thread_pool pool(4);
  for (const family k : {family::normal, family::finite_bits, family::ill_conditioned}) {
    SCOPED_TRACE(name(k));
    const std::vector<T> x = make<T>(k, 400'003, random), y = make<T>(k, 400'003, random);
    // The exact core one element at a time; its own tests hold it against MPFR.
    auto s = exact::sum_state<T>::identity();
    auto p = exact::dot_state<T>::identity();
    auto m = exact::moments_state<T>::identity();
    for (std::size_t i = 0; i < x.size(); ++i) {
      s.add(x[i]);
      p.add(x[i], y[i]);
      m.add(x[i]);
    }
    for_each_target([&] {
      for (const int threads : {1, 2, 3, 4}) {
        context c;
        c.executor = &pool;
        c.threads = threads;
        EXPECT_PRED2(same, d(wf::sum(x, c)), d(s.value()));
        EXPECT_PRED2(same, d(wf::dot(x, y, c)), d(p.value()));
        EXPECT_PRED2(same, d(wf::var(x, c)), d(m.var()));
      }
    });
  }
}

// A window that fits at first and no longer does, and back: every level of the kernels, in one run.
TYPED_TEST(exact_reductions, agree_when_the_range_changes_from_tile_to_tile) {
  using T = TypeParam;
  generator random(seed() + 4);
  std::vector<T> x, y;
  for (int piece = 0; piece < 24; ++piece) {
    const family k = all_families[random() % 13];
    if (k == family::one_nan || k == family::infinities || k == family::random_bits) continue;
    const std::vector<T> a = make<T>(k, random() % 6000, random), b = make<T>(k, a.size(), random);
    x.insert(x.end(), a.begin(), a.end());
    y.insert(y.end(), b.begin(), b.end());
  }
  const expected<T> e = judge(x, y, rounding::nearest);
  for_each_target([&] { check<T>(x, y, e, rounding::nearest); });
}

#if defined(__SSE2__)
TYPED_TEST(exact_reductions, do_not_depend_on_the_callers_floating_point_environment) {
  using T = TypeParam;
  generator random(seed() + 5);
  cpu::thread_pool pool(2);
  context c;
  c.executor = &pool;
  for (const family k : {family::subnormals, family::finite_bits, family::normal}) {
    for (const std::size_t n : {3, 100, 9001, 200'000}) {
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n));
      const std::vector<T> x = make<T>(k, n, random), y = make<T>(k, n, random);
      const double sum = d(wf::sum(x)), dot = d(wf::dot(x, y)), std = d(wf::std_dev(x));
      for_each_target([&] {
        const unsigned before = _mm_getcsr();
        T got[3];
        const unsigned changed = (before & ~0x6000u) | 0x8040 | 0x4000;  // FTZ, DAZ, rounding up
        _mm_setcsr(changed);
        got[0] = wf::sum(x, c);
        got[1] = wf::dot(x, y, c);
        got[2] = wf::std_dev(x, c);
        const unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        EXPECT_EQ(after & 0xffc0, changed & 0xffc0) << "the caller's environment was not given back";
        EXPECT_PRED2(same, d(got[0]), sum);
        EXPECT_PRED2(same, d(got[1]), dot);
        EXPECT_PRED2(same, d(got[2]), std);
      });
    }
  }
}
#endif

}  // namespace
}  // namespace wf::test
