// SPDX-License-Identifier: Apache-2.0
// Three reductions of your own: mean and variance that skip NaN, the k largest elements, and where the best of structs is.
//
//     c++ -std=c++20 more_reductions.cpp $(pkg-config --cflags --libs warpfold)
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include <warpfold/warpfold.hpp>

// Welford's algorithm, as Chan, Golub and LeVeque merge its states.
struct moments_without_nan {
  struct state { double n, mean, squares; };
  struct answer { double mean, var; };
  static constexpr bool commutes = true;
  state identity() const { return {0, 0, 0}; }
  state lift(double x, std::int64_t) const { return std::isnan(x) ? identity() : state{1, x, 0}; }
  state combine(const state& a, const state& b) const {
    const double n = a.n + b.n, apart = b.mean - a.mean;
    if (n == 0) return identity();
    return {n, a.mean + apart * b.n / n, a.squares + b.squares + apart * apart * a.n * b.n / n};
  }
  answer finish(const state& s, std::int64_t) const { return {s.n > 0 ? s.mean : NAN, s.n > 1 ? s.squares / (s.n - 1) : NAN}; }
};

// Each state is sorted, the largest first; two are merged.
template <int K>
struct largest {
  struct state { float x[K]; };
  static constexpr bool commutes = true;
  state identity() const {
    state s;
    for (float& v : s.x) v = -std::numeric_limits<float>::infinity();
    return s;
  }
  state lift(float v, std::int64_t) const {
    state s = identity();
    s.x[0] = v;
    return s;
  }
  state combine(const state& a, const state& b) const {
    state s;
    for (int k = 0, i = 0, j = 0; k < K; ++k) s.x[k] = a.x[i] >= b.x[j] ? a.x[i++] : b.x[j++];
    return s;
  }
  state finish(const state& s, std::int64_t) const { return s; }
};

struct city {
  float latitude, longitude;
  std::int32_t people;
};
// The index of the largest; of equal ones the first.
struct most_people {
  struct state {
    std::int32_t people;
    std::int64_t at;
  };
  static constexpr bool commutes = true;
  state identity() const { return {-1, -1}; }
  state lift(const city& c, std::int64_t i) const { return {c.people, i}; }
  state combine(const state& a, const state& b) const { return b.people > a.people || (b.people == a.people && b.at < a.at) ? b : a; }
  std::int64_t finish(const state& s, std::int64_t) const { return s.at; }
};

int main() {
  std::vector<double> readings(100'000, 2);
  for (std::size_t i = 0; i < readings.size(); i += 2) readings[i] = i % 10 == 0 ? NAN : 4;
  const auto [mean, var] = wf::reduce(readings, moments_without_nan{});  // 40,000 of 4 and 50,000 of 2
  std::printf("without NaN: mean %.6f, variance %.6f\n", mean, var);

  std::vector<float> scores(50'000);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i * 7919 % 50'000);
  const auto best = wf::reduce(scores, largest<3>{});
  std::printf("the largest: %g, %g, %g\n", best.x[0], best.x[1], best.x[2]);

  const std::vector<city> cities{{52.5f, 13.4f, 3'700'000}, {35.7f, 139.7f, 14'000'000}, {-1.3f, 36.8f, 4'400'000}};
  const std::int64_t at = wf::reduce(cities, most_people{});
  // One member alone needs no reduction of your own.
  const std::int64_t again = wf::reduce(cities, wf::transform(&city::people), wf::argmax);
  std::printf("most people: city %lld\n", static_cast<long long>(at));

  const bool right = std::abs(mean - 26.0 / 9) < 1e-9 && std::abs(var - 80.0 / 81 * 90'000 / 89'999) < 1e-9;  // 90,000 merges, each within 1e-16
  return right && best.x[0] == 49'999 && best.x[2] == 49'997 && at == 1 && again == 1 ? 0 : 1;
}
