// SPDX-License-Identifier: Apache-2.0
// What the exact headers compute must not depend on the flags they are compiled with (flags.cmake gives them).
// Every answer is looked at as bits: what the compiler was told of zeros, NaNs and rounding has no say in that.
#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>

#include <cstdio>
#include <vector>

namespace {

using wf::rounding;
namespace exact = wf::exact;

int wrong = 0;
std::uint64_t digest = 0;

template <class T>
std::uint64_t bits(T x) {
  return exact::format<T>::to_bits(x);
}
template <class T>
T from(std::uint64_t b) {
  return exact::format<T>::from_bits(static_cast<typename exact::format<T>::bits>(b));
}

void put(std::uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
  digest ^= digest >> 29;
}

template <class T>
void is(const char* what, T got, std::uint64_t want) {
  if (bits(got) == want) return;
  std::printf("%s of %d bytes: bits %llx, expected %llx\n", what, static_cast<int>(sizeof(T)),
              static_cast<unsigned long long>(bits(got)), static_cast<unsigned long long>(want));
  ++wrong;
}

constexpr rounding modes[] = {rounding::nearest, rounding::zero, rounding::away, rounding::up, rounding::down};

/// Zeros of either sign, as constants that a compiler sees through.
template <class T>
void zeros() {
  using f = exact::format<T>;
  const std::uint64_t minus = f::sign_mask;
  const T negative = from<T>(minus), positive = from<T>(0), least = from<T>(1), most = from<T>(minus | 1);
  const auto sum = [](auto... x) {
    wf::exact_sum s;
    (s.add(x), ...);
    return s;
  };
  is("sum of nothing", sum().template value<T>(), 0);
  is("sum of -0", sum(negative).template value<T>(), minus);
  is("sum of -0 and +0", sum(negative, positive).template value<T>(), 0);
  is("sum of x and -x", sum(least, most).template value<T>(rounding::down), 0);
  is("mean of -0", sum(negative, negative).template mean<T>(), minus);
  is("mean of x and -x", sum(least, most).template mean<T>(), 0);
  is("mean of two of the least below 0", sum(most, negative, negative).template mean<T>(), minus);
  is("hi of -0", sum(negative).template value_pair<T>().hi, minus);
  is("lo of -0", sum(negative).template value_pair<T>().lo, minus);
  is("lo of +0", sum(positive).template value_pair<T>().lo, 0);
  is("what underflows", sum(from<double>(1 | std::uint64_t{1} << 63)).template value<T>(), sizeof(T) == 8 ? minus | 1 : minus);
  wf::exact_dot d;
  is("dot of nothing", d.template value<T>(), 0);
  d.add(negative, from<T>(f::greatest));
  is("dot of -0", d.template value<T>(), minus);
  is("lo of a dot of -0", d.template value_pair<T>().lo, minus);
  d.add(positive, positive);
  is("dot of -0 and +0", d.template value<T>(), 0);
  wf::exact_moments m;
  is("norm of nothing", m.template norm<T>(), 0);
  m.add(negative);
  is("norm of -0", m.template norm<T>(), 0);
  is("sum of squares of -0", m.template sum_of_squares<T>(), 0);
  is("var of -0", m.template var<T>(), 0);
  is("mean of a -0", m.template mean<T>(), minus);
}

/// Infinities and NaNs.
template <class T>
void specials() {
  using f = exact::format<T>;
  const T inf = from<T>(f::infinity), below = from<T>(f::infinity | f::sign_mask), nan = from<T>(f::infinity | 1u);
  wf::exact_sum s;
  s.add(inf);
  is("sum of inf", s.template value<T>(), f::infinity);
  is("lo of inf", s.template value_pair<T>().lo, 0);
  s.add(below);
  is("sum of both infinities", s.template value<T>(), f::quiet_nan);
  wf::exact_sum n;
  n.add(nan);
  is("sum of NaN", n.template value<T>(), f::quiet_nan);
  is("mean of nothing", wf::exact_sum().template mean<T>(), f::quiet_nan);
  is("var of nothing", wf::exact_moments().template var<T>(), f::quiet_nan);
  wf::exact_moments m;
  m.add(below);
  is("norm of -inf", m.template norm<T>(), f::infinity);
  wf::exact_dot d;
  d.add(inf, from<T>(0));
  is("inf · 0", d.template value<T>(), f::quiet_nan);
  wf::exact_sum large;
  for (int k = 0; k < 3; ++k) large.add(from<T>(f::greatest));
  is("overflow", large.template value<T>(), f::infinity);
}

/// Everything that is computed from 5000 finite elements of any bits, subnormals among them.
template <class T>
void numbers(std::uint64_t seed) {
  using f = exact::format<T>;
  std::vector<T> x, y;
  for (int k = 0; k < 5000; ++k) {
    T pair[2];
    for (T& v : pair) {
      do {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v = from<T>(seed >> (64 - 8 * sizeof(T)));
        if (k % 7 == 0) v = from<T>(bits(v) & (f::sign_mask | f::mantissa_mask));
      } while (!f::is_finite(static_cast<typename f::bits>(bits(v))));
    }
    x.push_back(pair[0]);
    y.push_back(pair[1]);
  }
  for (const std::size_t n : {std::size_t{3}, std::size_t{700}, x.size()}) {
    auto sum = exact::sum_state<T>::identity();
    exact::accumulate(sum, x.data(), n);
    auto dot = exact::dot_state<T>::identity();
    exact::accumulate(dot, x.data(), y.data(), n);
    auto moments = exact::moments_state<T>::identity();
    exact::accumulate(moments, x.data(), n);
    auto squares = exact::squares_state<T>::identity();
    exact::accumulate(squares, y.data(), n);
    wf::exact_sum any;
    any.add(x.data(), n);
    wf::exact_moments all;
    all.add(y.data(), n);
    wf::exact_dot products;
    products.add(x.data(), y.data(), n);
    for (const rounding mode : modes) {
      put(bits(sum.value(mode)));
      put(bits(exact::mean<T>(sum, mode)));
      put(bits(any.template value_pair<T>(mode).lo));
      put(bits(dot.value(mode)));
      put(bits(products.template value<T>(mode)));
      put(bits(moments.var(1, mode)));
      put(bits(squares.norm(mode)));
      put(bits(all.template std_dev<T>(1, mode)));
    }
    for (const std::byte b : any.to_bytes()) put(std::to_integer<std::uint64_t>(b));
  }
}

}  // namespace

int main() {
  zeros<wf::f16>();
  zeros<float>();
  zeros<double>();
#if !defined(WF_NO_SPECIALS)  // the flags are a promise that there are none
  specials<float>();
  specials<double>();
#endif
  numbers<float>(4);
  numbers<double>(8);
  std::printf("digest %016llx\n", static_cast<unsigned long long>(digest));
  return wrong == 0 ? 0 : 1;
}
