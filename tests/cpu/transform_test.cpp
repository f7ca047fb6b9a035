// SPDX-License-Identifier: Apache-2.0
// A function of the elements before a reduction: the answers are those of an array of what it gives. And what the front door takes
// beside ranges and wf::view: mdspans, views of const, types of the same bits.
#include <warpfold/warpfold.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

/// Two bytes of a program's own, as CUDA's __half is one.
struct two_bytes {
  std::uint16_t bits;
};

/// What std::mdspan shows, of any strides.
template <class T, std::size_t Rank, class Reference = T&>
struct own_mdspan {
  using element_type = T;
  using reference = Reference;
  using accessor_type = int;
  T* p;
  std::array<int, Rank> lengths, steps;
  bool strided = true;
  static constexpr std::size_t rank() { return Rank; }
  T* data_handle() const { return p; }
  int extent(std::size_t d) const { return lengths[d]; }
  int stride(std::size_t d) const { return steps[d]; }
  bool is_strided() const { return strided; }
};

}  // namespace

template <>
struct wf::stands_for<two_bytes> {
  using type = wf::f16;
};

namespace {

/// Small integers: every sum, product and mean of few is exact in every type, so that fast answers are exact ones.
template <class T>
std::vector<T> small_numbers(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& v : x) {
    if constexpr (wf::complex_number<T>) v = T(static_cast<float>(random() % 7) - 3, static_cast<float>(random() % 5));
    else if constexpr (wf::floating<T>) v = T(static_cast<float>(random() % 7) - 3);
    else v = static_cast<T>(random() % 4);
  }
  return x;
}

template <class R>
std::string bytes_of(const R& answer) {
  return {reinterpret_cast<const char*>(&answer), sizeof answer};
}
template <class R>
std::string bytes_of(const wf::array<R>& answers) {
  return {reinterpret_cast<const char*>(answers.values.data()), answers.values.size() * sizeof answers.values[0]};
}

/// x of two dimensions, every way to share elements, and whole: by a function, and by an array of what the function gives.
template <class T, class V, class F, class What>
void check_shapes(const What& what, const F& f, std::int64_t rows, std::int64_t columns) {
  const std::vector<T> x = small_numbers<T>(rows * columns, 5), y = small_numbers<T>(rows * columns, 6);
  const std::unique_ptr<V[]> of_one(new V[x.size()]), of_two(new V[x.size()]);  // for bool too
  for (std::size_t i = 0; i < x.size(); ++i) {
    of_one[i] = f(x[i], x[i]);
    of_two[i] = f(x[i], y[i]);
  }
  const std::span<const V> one(of_one.get(), x.size()), two(of_two.get(), x.size());
  const auto twice = [&](const T& v) { return f(v, v); };
  const std::vector<std::int64_t> offsets{0, 0, rows * columns / 3, rows * columns};
  std::vector<std::int64_t> labels(x.size());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * i % 5);
  const auto check = [&](const auto&... settings) {
    EXPECT_EQ(bytes_of(wf::reduce(x, wf::transform(twice), what, settings...)), bytes_of(what(one, settings...)));
    EXPECT_EQ(bytes_of(wf::reduce(x, y, wf::transform(f), what, settings...)), bytes_of(what(two, settings...)));
  };
  check();
  if constexpr (What::operation != wf::op::mean_var) check(wf::fast);  // whose native bits depend on how elements are cut
  check(wf::context{.accuracy = wf::accuracy::exact, .rounding = wf::rounding::down, .threads = 3, .executor = nullptr});
  check(wf::segments{offsets});
  check(wf::segments_of{7});
  check(wf::by_label{labels, 6});
  for (const auto& axes : {wf::axis{0}, wf::axis{1}}) {  // for transposed inputs elements lie apart
    const auto of = [&](const auto& v) { return wf::view(v.data(), {rows, columns}).transposed(0, 1); };
    EXPECT_EQ(bytes_of(wf::reduce(of(x), wf::transform(twice), what, axes)), bytes_of(what(of(one), axes)));
    EXPECT_EQ(bytes_of(wf::reduce(of(x), of(y), wf::transform(f), what, axes)), bytes_of(what(of(two), axes)));
  }
}

template <class T, class V, class F>
void check_type(const F& f) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 5}, {40, 33}, {7, 2500}}) {
    check_shapes<T, V>(wf::sum, f, rows, columns);
    check_shapes<T, V>(wf::count_nonzero, f, rows, columns);
    check_shapes<T, V>(wf::mean_var, f, rows, columns);
    if constexpr (wf::real<V>) {
      check_shapes<T, V>(wf::argmax, f, rows, columns);
      check_shapes<T, V>(wf::minmax, f, rows, columns);
    }
  }
}

TEST(transform, answers_what_an_array_of_it_would) {
  check_type<double, double>([](double a, double b) { return a * b - 1; });
  check_type<float, double>([](float a, float b) { return double{a} + 2 * double{b}; });
  check_type<std::int32_t, std::int8_t>([](std::int32_t a, std::int32_t b) { return static_cast<std::int8_t>(a - b); });
  check_type<std::uint8_t, bool>([](std::uint8_t a, std::uint8_t b) { return a > b; });
  check_type<wf::f16, float>([](wf::f16 a, wf::f16 b) { return static_cast<float>(a) * static_cast<float>(b); });
  check_type<wf::c64, wf::c64>([](wf::c64 a, wf::c64 b) { return a * std::conj(b); });
}

TEST(transform, of_nothing_is_the_reduction_of_nothing) {
  const std::vector<float> none;
  EXPECT_EQ(wf::reduce(none, wf::transform([](float x) { return x; }), wf::sum), 0);
  EXPECT_EQ(wf::reduce(none, wf::transform([](float x) { return x; }), wf::argmin), -1);
}

/// As users write them: it tells the order and the indexes.
struct in_order {
  struct state { std::int64_t first, last, gaps; };
  state identity() const { return {-1, -1, 0}; }
  state lift(std::int64_t x, std::int64_t i) const { return {i, i, x == 2 * i ? 0 : 1}; }
  state combine(state a, state b) const {
    if (a.first < 0 || b.first < 0) return a.first < 0 ? b : a;
    return {a.first, b.last, a.gaps + b.gaps + (a.last + 1 == b.first ? 0 : 1)};
  }
  bool finish(state s, std::int64_t n) const { return s.gaps == 0 && s.first == 0 && s.last == n - 1; }
};

TEST(transform, keeps_order_and_indexes) {
  std::vector<std::int32_t> x(300000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i);
  EXPECT_TRUE(wf::reduce(x, wf::transform([](std::int32_t v) { return std::int64_t{2} * v; }), in_order{}));
  x[123457] = 0;
  EXPECT_FALSE(wf::reduce(x, wf::transform([](std::int32_t v) { return std::int64_t{2} * v; }), in_order{}));
}

TEST(transform, takes_members_and_checked_sums) {
  struct point { float x, y; };
  const std::vector<point> points{{1, 2}, {3, 4}};
  EXPECT_EQ(wf::reduce(points, wf::transform(&point::y), wf::sum), 6);
  const std::vector<std::int64_t> large{INT64_MAX, 1};
  EXPECT_TRUE(wf::reduce(large, wf::transform([](std::int64_t v) { return v; }), wf::checked_sum).overflow);
}

TEST(transform, refuses_two_shapes) {
  const std::vector<float> x(3), y(4);
  EXPECT_THROW(wf::reduce(x, y, wf::transform([](float a, float b) { return a + b; }), wf::sum), wf::error);
}

TEST(inputs, are_mdspans_and_what_looks_like_them) {
  std::vector<double> x = small_numbers<double>(60, 2);
  const wf::view<double> same(x.data(), {3, 4}, {20, 2});
  const own_mdspan<double, 2> m{x.data(), {3, 4}, {20, 2}};
  const own_mdspan<const double, 2> of_const{x.data(), {3, 4}, {20, 2}};
  EXPECT_EQ(wf::sum(m), wf::sum(same));
  EXPECT_EQ(wf::sum(of_const, wf::axis{0}).values, wf::sum(same, wf::axis{0}).values);
  EXPECT_EQ(wf::dot(m, of_const), wf::dot(same, same));
  EXPECT_EQ(wf::reduce(m, wf::transform([](double v) { return 2 * v; }), wf::sum, wf::axis{1}).values[2], 2 * wf::sum(same, wf::axis{1}).values[2]);
  EXPECT_EQ(wf::sum(own_mdspan<double, 0>{x.data(), {}, {}}), x[0]);
  own_mdspan<double, 2> elsewhere = m;
  elsewhere.strided = false;
  EXPECT_THROW(wf::sum(elsewhere), wf::error);
  static_assert(!wf::detail::input<own_mdspan<double, 2, double>>, "an accessor that computes is not what lies in memory");
}

TEST(inputs, are_views_of_const_and_types_of_the_same_bits) {
  const std::vector<float> x{1, 2, 3};
  EXPECT_EQ(wf::sum(wf::view<const float>(x.data(), {3})), 6);
  EXPECT_EQ(wf::reduce(wf::view<const float>(x.data(), {3}), wf::transform([](float v) { return -v; }), wf::min), -3);
  std::vector<two_bytes> halves;
  for (const float v : x) halves.push_back({wf::f16(v).bits});
  const auto total = wf::sum(halves);
  static_assert(std::is_same_v<decltype(total), const wf::f16>);
  EXPECT_EQ(static_cast<float>(total), 6);
  EXPECT_EQ(static_cast<float>(std::get<0>(wf::fuse(wf::max)(halves))), 3);
  EXPECT_EQ(static_cast<float>(wf::dot(halves, std::vector<wf::f16>(3, wf::f16(2.0f)))), 12);
}

}  // namespace
