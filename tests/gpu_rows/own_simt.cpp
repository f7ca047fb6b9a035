// SPDX-License-Identifier: Apache-2.0
// Compiled for simt, plain and instrumented.
#include <warpfold/gpu.cuh>

#include <array>
#include <sstream>
#include <tuple>

#include "../support/own_reductions.cuh"
#include "own_rows.hpp"
#include "row_cases.hpp"
#include "shared_vector.hpp"

namespace {

struct difference_of {
  WF_HD float operator()(float x, std::int16_t y) const { return x - static_cast<float>(y); }
};
struct doubled {
  WF_HD std::int32_t operator()(std::int8_t x) const { return 2 * x; }
};
struct squared_size {
  WF_HD double operator()(wf::c64 z) const { return double{z.real()} * z.real() + double{z.imag()} * z.imag(); }
};

/// How elements are shared among answers, and for a plain loop which elements an answer has, in order.
struct shares {
  row_case c;
  std::vector<std::vector<std::vector<std::int64_t>>> elements;  ///< by input and answer: places from the first element on
  std::int64_t length = 0;  ///< for equal segments
  shared_vector<std::int64_t> indexes;  ///< offsets or labels

  explicit shares(std::mt19937_64& g, std::int64_t about) {
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(n)); };
    c.what = wf::op::dot;  // two inputs
    switch (g() % 5) {
      case 0:  // segments
        c.offsets = ragged_offsets(g, static_cast<ragged>(g() % ragged_kinds), about);
        c.shape = {c.offsets.back() + below(3)};
        break;
      case 1:  // labels
        c.shape = {below(about) + (g() % 8 == 0 ? 0 : 1)};
        c.answers = 1 + below(g() % 2 == 0 ? 5 : 700);
        for (std::int64_t i = 0; i < c.shape[0]; ++i) c.labels.push_back(below(c.answers));
        break;
      case 2:  // equal segments, the last shorter
        c.shape = {below(about)};
        length = 1 + below(g() % 2 == 0 ? 20 : about);
        break;
      default: {  // axes
        static constexpr std::int64_t usual[] = {1, 2, 3, 5, 8, 17, 32, 33, 100, 257};
        std::int64_t room = about;
        const int rank = 1 + static_cast<int>(g() % 4), large = static_cast<int>(g() % 4);
        for (int d = 0; d < rank; ++d) {
          std::int64_t n = g() % 25 == 0 ? 0 : d == large ? room / 2 + 1 : usual[g() % std::size(usual)];
          n = std::min(n, std::max<std::int64_t>(room, 1));
          if (n > 0) room /= n;
          c.shape.push_back(n);
          if (g() % 2 == 0) c.axes.push_back(d);
        }
        if (c.axes.empty()) c.axes.push_back(static_cast<int>(g() % c.shape.size()));
      }
    }
    for (int k = 0; k < 2; ++k) make_strides(c, k, g);
    const auto& given = c.answers >= 0 ? c.labels : c.offsets;
    indexes.assign(given.begin(), given.end());
    share();
  }

  bool axes() const { return c.offsets.empty() && c.answers < 0 && length == 0; }
  /// f(setting).
  template <class F>
  auto with(F f) const {
    if (length != 0) return f(wf::segments_of{length});
    if (c.answers >= 0) return f(wf::by_label{indexes, c.answers});
    if (!c.offsets.empty()) return f(wf::segments{indexes});
    return f(wf::axis(c.axes));
  }
  template <class T>
  wf::view<T> view(const shared_vector<T>& x, int k) const {
    return wf::view<T>(x.data() + c.first[k], wf::extents(c.shape.begin(), c.shape.end()), wf::extents(c.strides[k].begin(), c.strides[k].end()));
  }
  std::string name() const {
    std::ostringstream s;
    if (length != 0) s << "segments of " << length << ", ";
    s << c.name();
    return s.str();
  }

 private:
  void share() {
    std::int64_t answers = 1, n = 1;
    for (std::size_t d = 0; d < c.shape.size(); ++d) {
      n *= c.shape[d];
      if (std::find(c.axes.begin(), c.axes.end(), static_cast<int>(d)) == c.axes.end()) answers *= c.shape[d];
    }
    if (length != 0) answers = (n + length - 1) / length;
    else if (c.answers >= 0) answers = c.answers;
    else if (!c.offsets.empty()) answers = static_cast<std::int64_t>(c.offsets.size()) - 1;
    for (int k = 0; k < 2; ++k) {
      auto& of = elements.emplace_back(static_cast<std::size_t>(answers));
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t rest = i, place = 0, answer = 0, times = 1;
        for (std::size_t d = c.shape.size(); d-- > 0; rest /= c.shape[d]) {
          const std::int64_t at = rest % c.shape[d];
          place += at * c.strides[k][d];
          if (!axes() || std::find(c.axes.begin(), c.axes.end(), static_cast<int>(d)) != c.axes.end()) continue;
          answer += at * times;
          times *= c.shape[d];
        }
        if (length != 0) answer = i / length;
        else if (c.answers >= 0) answer = c.labels[static_cast<std::size_t>(i)];
        else if (!c.offsets.empty()) {
          answer = std::upper_bound(c.offsets.begin(), c.offsets.end(), i) - c.offsets.begin() - 1;
          if (answer < 0 || answer >= answers) continue;
        }
        of[static_cast<std::size_t>(answer)].push_back(c.first[k] + place);
      }
    }
  }
};

template <class T>
shared_vector<T> elements_of(const shares& s, int k, std::mt19937_64& g, const char* family = nullptr) {
  shared_vector<T> x(static_cast<std::size_t>(s.c.count[k]));
  if constexpr (wf::element<T>) {
    const auto families = row_families(wf::dtype_of<T>);
    const auto bytes = make_bytes(wf::dtype_of<T>, family != nullptr ? family : families[g() % families.size()], x.size(), g());
    if (!x.empty()) std::memcpy(static_cast<void*>(x.data()), bytes.data(), bytes.size());
  } else {
    for (T& v : x) v = {static_cast<std::int32_t>(g()), static_cast<std::int32_t>(g()), static_cast<std::int32_t>(g())};
  }
  return x;
}

template <class A>
bool same(const A& a, const A& b) { return std::memcmp(&a, &b, sizeof(A)) == 0; }

template <class A>
std::string bytes(const A& a) {
  const auto* const p = reinterpret_cast<const unsigned char*>(&a);
  return hex(std::vector<unsigned char>(p, p + sizeof(A)));
}

/// Answers beside those that are wanted, byte for byte.
template <class A>
std::string differ(const shares& s, const char* what, const wf::array<A>& got, const wf::array<A>& want) {
  if (got.shape != want.shape) return std::string(what) + ": another shape; " + s.name();
  for (std::size_t k = 0; k < want.values.size(); ++k) {
    if (!same(got.values[k], want.values[k]))
      return std::string(what) + ": answer " + std::to_string(k) + " of " + std::to_string(want.values.size()) + " is 0x" + bytes(got.values[k]) +
             ", not 0x" + bytes(want.values[k]) + "; " + s.name();
  }
  return "";
}

/// Room on the device for as many answers, of other bytes.
template <class A>
shared_vector<A> room_for(const wf::array<A>& answers) {
  shared_vector<A> room(answers.values.size());
  if (!room.empty()) std::memset(static_cast<void*>(room.data()), 0xa5, room.size() * sizeof(A));
  return room;
}
/// What work(out) writes, in the shape of `answers`.
template <class A, class F>
wf::array<A> from_device(const wf::array<A>& answers, const F& work) {
  auto room = room_for(answers);
  work(room.data());
  return {{room.begin(), room.end()}, answers.shape};
}

/// A reduction of the caller's, beside the CPU's and a plain loop.
template <class R, class... T>
std::string own(const wf::simulated_gpu& place, const shares& s, const char* what, const shared_vector<T>&... x) {
  return s.with([&](const auto& setting) -> std::string {
    const auto views = [&]<std::size_t... K>(std::index_sequence<K...>) { return std::tuple{s.view(x, static_cast<int>(K))...}; }(std::index_sequence_for<T...>());
    const auto want = std::apply([&](const auto&... v) { return wf::reduce(v..., R{}, setting); }, views);
    const auto got = from_device(want, [&](auto* out) { std::apply([&](const auto&... v) { wf::reduce(place, v..., out, R{}, setting); }, views); });
    if (const std::string wrong = differ(s, what, got, want); !wrong.empty()) return wrong;
    auto plain = want;
    for (std::size_t a = 0; a < plain.values.size(); ++a) {
      auto state = R{}.identity();
      const std::size_t n = s.elements[0][a].size();
      for (std::size_t i = 0; i < n; ++i) {
        const auto lifted = [&]<std::size_t... K>(std::index_sequence<K...>) {
          return R{}.lift(x[static_cast<std::size_t>(s.elements[K][a][i])]..., static_cast<std::int64_t>(i));
        }(std::index_sequence_for<T...>());
        state = R{}.combine(state, lifted);
      }
      plain.values[a] = R{}.finish(state, static_cast<std::int64_t>(n));
    }
    return differ(s, (std::string(what) + " by a plain loop").c_str(), got, plain);
  });
}

/// The answer of each share's values alone: value(answer, i) is one of them.
template <class R, class V, class A, class... S>
std::string alone(const shares& s, const char* what, const R& r, const V& value, const wf::array<A>& got, const S&... settings) {
  auto want = got;
  for (std::size_t a = 0; a < want.values.size(); ++a) {
    std::vector<std::remove_cvref_t<decltype(value(a, 0))>> values;
    for (std::size_t i = 0; i < s.elements[0][a].size(); ++i) values.push_back(value(a, i));
    if constexpr (wf::detail::is_builtin<R>) want.values[a] = r(values, settings...);
    else want.values[a] = wf::reduce(values, r, settings...);
  }
  return differ(s, (std::string(what) + " of the values alone").c_str(), got, want);
}

/// What F makes of the elements, by a reduction of the library's or the caller's.
template <class R, class F, class... T>
std::string mapped(const wf::simulated_gpu& place, const shares& s, const char* what, const F& f, const R& r, const shared_vector<T>&... x) {
  return s.with([&](const auto& setting) {
    const auto views = [&]<std::size_t... K>(std::index_sequence<K...>) { return std::tuple{s.view(x, static_cast<int>(K))...}; }(std::index_sequence_for<T...>());
    const auto want = std::apply([&](const auto&... v) { return wf::reduce(v..., wf::transform(f), r, setting, wf::rounding::up); }, views);
    const auto got = from_device(want, [&](auto* out) {
      std::apply([&](const auto&... v) { wf::reduce(place, v..., out, wf::transform(f), r, setting, wf::rounding::up); }, views);
    });
    const auto value = [&]<std::size_t... K>(std::index_sequence<K...>, std::size_t a, std::size_t i) {
      return f(x[static_cast<std::size_t>(s.elements[K][a][i])]...);
    };
    const std::string wrong = alone(s, what, r, [&](std::size_t a, std::size_t i) { return value(std::index_sequence_for<T...>(), a, i); }, got, wf::rounding::up);
    return wrong.empty() ? differ(s, what, got, want) : wrong;
  });
}

/// Fused reductions beside each alone on the CPU.
template <class T, class... F>
std::string fused(const wf::simulated_gpu& place, const shares& s, const char* what, const shared_vector<T>& x, const F&... f) {
  return s.with([&](const auto& setting) {
    const auto want = wf::fuse(f...)(s.view(x, 0), setting, wf::correction{1});
    auto got = want;
    std::apply([&](auto&... a) {
      auto outs = std::tuple{room_for(a)...};
      std::apply([&](auto&... out) {
        wf::fuse(f...)(place, s.view(x, 0), out.data()..., setting, wf::correction{1});
        (a.values.assign(out.begin(), out.end()), ...);
      }, outs);
    }, got);
    std::string wrong;
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((wrong = wrong.empty() ? differ(s, (std::string(what) + ", part " + std::to_string(K)).c_str(), std::get<K>(got), std::get<K>(want)) : wrong), ...);
    }(std::index_sequence_for<F...>());
    return wrong;
  });
}

}  // namespace

std::string own_rows_difference(std::uint64_t seed, std::int64_t elements) {
  const wf::simulated_gpu place;
  std::mt19937_64 g(seed);
  std::string wrong;
  for (int kind = 0; kind < own_row_kinds && wrong.empty(); ++kind) {
    const shares s(g, elements);
    switch (kind) {
      case 0: wrong = own<longest_run>(place, s, "longest_run", elements_of<std::int32_t>(s, 0, g, "ties")); break;
      case 1: wrong = own<polynomial>(place, s, "polynomial", elements_of<std::uint8_t>(s, 0, g)); break;
      case 2: wrong = own<triples>(place, s, "triples", elements_of<triple>(s, 0, g)); break;
      case 3: wrong = own<weighted>(place, s, "weighted", elements_of<std::int32_t>(s, 0, g), elements_of<std::int32_t>(s, 1, g)); break;
      case 4:
        wrong = mapped(place, s, "sums of differences", difference_of{}, wf::sum, elements_of<float>(s, 0, g), elements_of<std::int16_t>(s, 1, g));
        break;
      case 5: wrong = mapped(place, s, "longest run of doubles", doubled{}, longest_run{}, elements_of<std::int8_t>(s, 0, g, "ties")); break;
      case 6:
        wrong = fused(place, s, "fused f32", elements_of<float>(s, 0, g), wf::mean, wf::std_dev, wf::min, wf::norm1, wf::argmax, in_order<float>{});
        break;
      case 7: wrong = fused(place, s, "fused i16", elements_of<std::int16_t>(s, 0, g), wf::sum, wf::mean_var, wf::norm2, wf::max); break;
      default: wrong = mapped(place, s, "spread of sizes", squared_size{}, wf::mean_var, elements_of<wf::c64>(s, 0, g)); break;
    }
    if (!wrong.empty()) wrong += " (seed " + std::to_string(seed) + ", kind " + std::to_string(kind) + ")";
  }
  return wrong;
}
