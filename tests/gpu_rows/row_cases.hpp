// SPDX-License-Identifier: Apache-2.0
/// \file row_cases.hpp
/// Random views, axes and segments, and their answers by a device beside the CPU's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../support/bytes.hpp"
#include "rows_machine.hpp"

/// WF_ROWS_SEED and WF_ROWS_CASES choose others, and more.
inline std::uint64_t number_of_environment(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

/// One question: a view of an array of `count` elements, or segments of it.
struct row_case {
  wf::op what = wf::op::sum;
  wf::dtype type = wf::dtype::f32;
  wf::accuracy accuracy = wf::accuracy::exact;
  bool checked = false;  ///< answers in a wf::checked
  wf::options options;
  std::string family = "normal";
  std::uint64_t seed = 1;  ///< the data's
  std::vector<unsigned char> bytes;      ///< the only input's elements, if not the family's
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides[2];  ///< in elements
  std::int64_t first[2] = {0, 0};        ///< where the view begins
  std::int64_t count[2] = {0, 0};        ///< elements behind it all
  std::vector<int> axes;                 ///< sorted
  std::vector<std::int64_t> offsets;     ///< for segments, if any
  int offset_bytes = 8;
  std::vector<std::int64_t> labels;      ///< for elements, if `answers` is not negative
  std::int64_t answers = -1;

  std::string name() const {
    std::ostringstream s;
    s << (checked ? "checked " : "") << wf::op_names[static_cast<int>(what)] << " of " << wf::info(type).name << (accuracy == wf::accuracy::fast ? ", fast" : "")
      << ", family " << family << ", seed " << seed << ", rounding " << static_cast<int>(options.rounding) << ", correction "
      << options.correction << ", shape";
    for (const auto n : shape) s << ' ' << n;
    for (int k = 0; k < inputs(); ++k) {
      s << ", strides";
      for (const auto n : strides[k]) s << ' ' << n;
      s << " from " << first[k];
    }
    s << ", axes";
    for (const auto a : axes) s << ' ' << a;
    if (!offsets.empty()) s << ", " << offsets.size() - 1 << " segments, offsets of " << offset_bytes << " bytes";
    if (answers >= 0) s << ", labels of " << answers << " answers";
    return s.str();
  }
  int inputs() const { return what == wf::op::dot ? 2 : 1; }
};

/// What is not exact anywhere.
inline bool is_native(wf::op o, wf::dtype t) { return o == wf::op::logsumexp || (o == wf::op::prod && !wf::is_integer(t)); }

/// The least positive number of a type, or of its parts; of f64 none is needed, whose numbers that small are not compared.
inline double least_of(wf::dtype t) {
  return t == wf::dtype::f16 ? 0x1p-24 : t == wf::dtype::bf16 ? 0x1p-133 : t == wf::dtype::f32 || t == wf::dtype::c64 ? 0x1p-149 : 0;
}

/// A view of `shape` in memory: dimensions in any order in it, with steps, backwards, repeated.
inline void make_strides(row_case& c, int input, std::mt19937_64& g) {
  const std::size_t rank = c.shape.size();
  std::vector<std::size_t> order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = d;
  if (g() % 2 == 0) std::shuffle(order.begin(), order.end(), g);
  const bool plain = g() % 3 == 0;
  std::int64_t step = plain || g() % 4 != 0 ? 1 : static_cast<std::int64_t>(1 + g() % 3), low = 0, high = 0;
  auto& strides = c.strides[input];
  strides.assign(rank, 0);
  for (std::size_t k = rank; k-- > 0;) {
    const std::size_t d = order[k];
    strides[d] = step;
    step *= std::max<std::int64_t>(c.shape[d], 1);
    if (!plain && g() % 4 == 0) step += static_cast<std::int64_t>(g() % 5);
    if (!plain && g() % 8 == 0) strides[d] = -strides[d];
    if (!plain && g() % 12 == 0) strides[d] = 0;
    if (c.shape[d] > 0) (strides[d] < 0 ? low : high) += strides[d] * (c.shape[d] - 1);
  }
  c.first[input] = -low + (g() % 2 == 0 ? 0 : static_cast<std::int64_t>(g() % 5));
  c.count[input] = c.first[input] + high + 1;
}

/// The families of a type.
inline std::vector<std::string> row_families(wf::dtype t) {
  if (wf::is_integer(t)) return {"bits", "ties", "huge", "zeros"};
  return {"normal", "bits", "finite_bits", "subnormals", "huge", "cancelling", "minus_zeros", "zeros", "sparse", "one_nan", "one_inf", "ties", "wide"};
}

/// Columns of one line behind the other, `pad` elements apart, from element `first` on; `others` such sets side by side.
inline row_case columns_case(wf::op what, wf::dtype type, std::int64_t n, std::int64_t columns, std::int64_t pad, std::int64_t first, std::int64_t others, std::uint64_t seed) {
  row_case c;
  c.what = what;
  c.type = type;
  c.family = row_families(type)[seed % row_families(type).size()];
  c.seed = seed;
  c.shape = {others, n, columns};
  c.axes = {1};
  const std::int64_t apart = columns + pad;
  c.strides[0] = {n * apart, apart, 1};
  c.first[0] = first;
  c.count[0] = first + ((others - 1) * n + n - 1) * apart + columns;  // nothing lies behind the last one
  return c;
}

/// Rows one after the other, from element `first` on.
inline row_case rows_case(wf::op what, wf::dtype type, std::int64_t many, std::int64_t n, std::int64_t first, std::uint64_t seed) {
  row_case c;
  c.what = what;
  c.type = type;
  c.family = row_families(type)[seed % row_families(type).size()];
  c.seed = seed;
  c.shape = {many, n};
  c.axes = {1};
  c.strides[0] = {n, 1};
  c.first[0] = first;
  c.count[0] = first + many * n;
  return c;
}

inline row_case random_row_case(std::mt19937_64& g, wf::op what, wf::dtype type) {
  row_case c;
  c.what = what;
  c.type = type;
  c.accuracy = g() % 8 == 0 ? wf::accuracy::fast : wf::accuracy::exact;
  if (g() % 3 == 0) c.options.rounding = static_cast<wf::rounding>(g() % 5);
  c.options.correction = static_cast<std::int64_t>(g() % 3);
  const auto families = row_families(type);
  c.family = g() % 2 == 0 ? families[0] : families[g() % families.size()];
  c.seed = g() % 1000;
  if (g() % 6 == 0) {  // labels
    const auto n = static_cast<std::int64_t>(g() % (g() % 3 == 0 ? 100 : 9000));
    c.answers = static_cast<std::int64_t>(1 + g() % (g() % 2 == 0 ? 10 : 3000));
    c.shape = {n};
    c.axes = {0};
    for (int k = 0; k < c.inputs(); ++k) make_strides(c, k, g);
    const bool runs = g() % 4 == 0;
    for (std::int64_t i = 0; i < n; ++i) {
      c.labels.push_back(runs && i != 0 && g() % 50 != 0 ? c.labels.back() : static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(c.answers)));
    }
    return c;
  }
  if (g() % 4 == 0) {  // segments
    const auto n = static_cast<std::int64_t>(g() % (g() % 2 == 0 ? 100 : 3000));
    const auto segments = static_cast<std::int64_t>(g() % (g() % 2 == 0 ? 10 : 200));
    c.shape = {n};
    c.axes = {0};
    for (int k = 0; k < c.inputs(); ++k) make_strides(c, k, g);
    std::vector<std::int64_t> cuts;
    for (std::int64_t k = 0; k <= segments; ++k) cuts.push_back(static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(n + 1)));
    if (g() % 2 == 0) {  // some that are empty, one that is long
      for (auto& x : cuts) x = g() % 3 == 0 ? x : cuts[0];
    }
    std::sort(cuts.begin(), cuts.end());
    c.offsets = cuts;
    c.offset_bytes = g() % 2 == 0 ? 4 : 8;
    return c;
  }
  const int rank = static_cast<int>(g() % 5);
  std::int64_t room = g() % 3 == 0 ? 20000 : 2000;
  for (int d = 0; d < rank; ++d) {
    static constexpr std::int64_t usual[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 64, 100, 127, 256, 1000, 4099};
    std::int64_t n = g() % 20 == 0 ? 0 : usual[g() % std::size(usual)];
    n = std::min(n, std::max<std::int64_t>(room, 1));
    if (n > 0) room /= n;
    c.shape.push_back(n);
  }
  for (int d = 0; d < rank; ++d) {
    if (g() % 2 == 0) c.axes.push_back(d);
  }
  for (int k = 0; k < c.inputs(); ++k) make_strides(c, k, g);
  return c;
}

/// How lengths of segments are drawn.
enum class ragged : int { power_law, mostly_empty, one_huge, all_in_one, none };
inline constexpr int ragged_kinds = 5;

/// Offsets of about `n` elements, of which the first may belong to no segment.
inline std::vector<std::int64_t> ragged_offsets(std::mt19937_64& g, ragged kind, std::int64_t n) {
  std::vector<std::int64_t> offsets = {static_cast<std::int64_t>(g() % 4)};
  const auto put = [&](std::int64_t length) { offsets.push_back(offsets.back() + length); };
  const auto below = [&](std::int64_t most) { return static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(most)); };
  if (kind == ragged::none) {
    for (std::int64_t k = below(3000); k-- > 0;) put(0);
    return offsets;
  }
  const std::int64_t huge = kind == ragged::all_in_one ? 0 : kind == ragged::one_huge ? below(n / 8 + 1) : -1;
  std::uniform_real_distribution<double> unit(0, 1);
  for (std::int64_t k = 0; offsets.back() < n; ++k) {
    if (k == huge) put(kind == ragged::all_in_one ? n : n - n / 3);
    else if (kind == ragged::one_huge) put(below(4));
    else if (kind == ragged::mostly_empty) put(g() % 10 == 0 ? below(40) : 0);
    else put(static_cast<std::int64_t>(std::min(1 / unit(g), 1e9)) - 1 < n ? static_cast<std::int64_t>(std::min(1 / unit(g), static_cast<double>(n))) - 1 : 0);
  }
  return offsets;
}

inline row_case ragged_case(std::mt19937_64& g, wf::op what, wf::dtype type, ragged kind, std::int64_t n) {
  row_case c;
  c.what = what;
  c.type = type;
  const auto families = row_families(type);
  c.family = families[g() % families.size()];
  c.seed = g() % 1000;
  c.offsets = ragged_offsets(g, kind, n);
  c.offset_bytes = g() % 2 == 0 ? 4 : 8;
  c.shape = {c.offsets.back() + static_cast<std::int64_t>(g() % 3)};
  c.axes = {0};
  for (int k = 0; k < c.inputs(); ++k) make_strides(c, k, g);
  if (g() % 2 == 0) {  // side by side
    for (int k = 0; k < c.inputs(); ++k) {
      c.strides[k] = {1};
      c.first[k] = g() % 2 == 0 ? 0 : 1;
      c.count[k] = c.shape[0] + 1;
    }
  }
  return c;
}

/// Segments side by side of about `n` f32 or bf16, in tiles whose sums in doubles are exact, and in others. Many sums are ties, decided by crumbs of 2^-60 to 2^-100 anywhere in the segment; or they are
/// 0, -0 or a crumb, beside numbers that cancel each other; or beside numbers so large that a double of the sum before loses as much as an answer shows.
template <class T>
row_case near_case_of(wf::op what, wf::dtype type, std::int64_t n, std::uint64_t seed) {
  constexpr int digits = wf::exact::format<T>::mantissa_bits;
  constexpr auto tile = static_cast<std::int64_t>(4096 / sizeof(T));
  std::mt19937_64 g(seed);
  std::normal_distribution<double> normal;
  const auto below = [&](std::int64_t most) { return static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(most)); };
  const auto either = [&](double x) { return g() % 2 == 0 ? x : -x; };
  enum class stretch { exact, ordinary, crumbs, large };
  row_case c;
  c.what = what;
  c.type = type;
  c.family = "near ties";
  c.seed = seed;
  c.first[0] = below(9);
  c.offsets = {below(4)};
  std::vector<double> x(static_cast<std::size_t>(c.first[0] + c.offsets[0]), 1), part;
  stretch around = stretch::exact;
  int large = 0;
  for (std::int64_t until = 0; c.offsets.back() < n;) {
    if (c.offsets.back() >= until) {
      until = c.offsets.back() + 200 + below(5 * tile);
      around = static_cast<stretch>(below(4));
      large = 8 + static_cast<int>(below(36));
    }
    const std::int64_t kind = below(8);  // 0, 1: zeros; 2, 3: plain numbers; otherwise few that decide, and some that cancel
    const auto length = static_cast<std::size_t>(below(40) == 0 ? tile / 2 + below(5 * tile / 2) : kind == 0 ? below(60) : below(201));
    const auto plain = [&] {
      if (around == stretch::exact) return std::ldexp(static_cast<double>(below(255) - 127), -6);
      return around == stretch::large && below(8) == 0 ? std::ldexp(normal(g), large) : normal(g);
    };
    part.clear();
    const auto put = [&](double y) {
      if (part.size() < length) part.push_back(y);
    };
    if (kind == 2 || kind == 3) {
      while (part.size() < length) put(plain());
    } else if (kind > 3) {
      if (kind != 4 && around != stretch::exact) {  // between two numbers, of which the lower one or the upper one is even
        const double scale = either(std::ldexp(1, static_cast<int>(below(9)) - 4));
        put(scale * (1 + std::ldexp(static_cast<double>(below(2)), -digits)));
        put(scale * std::ldexp(1, -digits - 1));
      }
    }
    if (kind != 0 && around == stretch::crumbs) {
      for (std::int64_t crumbs = below(3); crumbs > 0; --crumbs) put(either(std::ldexp(1, -60 - static_cast<int>(below(41)))));
    }
    if (kind > 3) {
      for (std::size_t pairs = static_cast<std::size_t>(below(static_cast<std::int64_t>(length) / 2 + 1)); pairs > 0 && part.size() + 2 <= length; --pairs) {
        const auto y = static_cast<double>(static_cast<float>(T(plain())));
        put(y);
        put(-y);
      }
    }
    const bool minus = kind == 0 || below(2) == 0;  // all that are left
    while (part.size() < length) put(minus ? -0.0 : either(0.0));
    std::shuffle(part.begin(), part.end(), g);
    x.insert(x.end(), part.begin(), part.end());
    c.offsets.push_back(c.offsets.back() + static_cast<std::int64_t>(length));
  }
  c.offset_bytes = g() % 2 == 0 ? 4 : 8;
  c.shape = {c.offsets.back()};
  c.axes = {0};
  c.strides[0] = {1};
  c.count[0] = static_cast<std::int64_t>(x.size());
  c.bytes.resize(x.size() * sizeof(T));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T y = T(x[i]);
    std::memcpy(c.bytes.data() + i * sizeof(T), &y, sizeof(T));
  }
  return c;
}
inline row_case near_case(wf::op what, wf::dtype type, std::int64_t n, std::uint64_t seed) {
  return type == wf::dtype::bf16 ? near_case_of<wf::bf16>(what, type, n, seed) : near_case_of<float>(what, type, n, seed);
}

/// Empty if the device's answers are the CPU's.
inline std::string difference(const rows_machine& m, const row_case& c) {
  const auto size = wf::info(c.type).size;
  const wf::cpu::erased& r = c.checked ? *wf::find_checked(c.what, c.type) : wf::builtin(c.what, c.type, wf::accuracy::exact);
  std::vector<unsigned char> data[2];
  void* device[2] = {nullptr, nullptr};
  wf::cpu::operands in;
  in.shape = c.shape;
  wf::rows_request q{};
  q.what = c.what;
  q.element = c.type;
  q.accuracy = c.accuracy;
  q.checked = c.checked;
  q.options = c.options;
  std::string trouble;
  for (int k = 0; k < c.inputs(); ++k) {
    data[k] = !c.bytes.empty() ? c.bytes : make_bytes(c.type, c.family, static_cast<std::uint64_t>(c.count[k]), c.seed + static_cast<std::uint64_t>(k));
    device[k] = m.allocate(data[k].size() + 1);
    trouble += m.upload(device[k], data[k].data(), data[k].size());
    const auto first = static_cast<std::size_t>(c.first[k]) * size;
    in.data[static_cast<std::size_t>(k)] = data[k].data() + first;
    for (const auto s : c.strides[k]) in.strides[static_cast<std::size_t>(k)].push_back(s * static_cast<std::int64_t>(size));
    q.x[static_cast<std::size_t>(k)] = static_cast<unsigned char*>(device[k]) + first;
  }
  for (int pass = 0; pass < 2; ++pass) {
    for (int d = 0; d < static_cast<int>(c.shape.size()); ++d) {
      const bool reduced = std::find(c.axes.begin(), c.axes.end(), d) != c.axes.end();
      if (reduced != (pass == 1)) continue;
      const auto at = static_cast<std::size_t>(q.kept + q.reduced);
      q.length[at] = c.shape[static_cast<std::size_t>(d)];
      for (int k = 0; k < c.inputs(); ++k) q.stride[static_cast<std::size_t>(k)][at] = c.strides[k][static_cast<std::size_t>(d)];
      ++(reduced ? q.reduced : q.kept);
    }
  }
  std::int64_t answers = 1;
  for (int d = 0; d < q.kept; ++d) answers *= q.length[static_cast<std::size_t>(d)];
  void* offsets = nullptr;
  if (!c.offsets.empty()) {
    answers = static_cast<std::int64_t>(c.offsets.size()) - 1;
    std::vector<std::int32_t> narrow(c.offsets.begin(), c.offsets.end());
    const std::size_t bytes = c.offsets.size() * static_cast<std::size_t>(c.offset_bytes);
    offsets = m.allocate(bytes);
    trouble += m.upload(offsets, c.offset_bytes == 4 ? static_cast<const void*>(narrow.data()) : c.offsets.data(), bytes);
    q.offsets = offsets;
    q.offset_bytes = c.offset_bytes;
    q.segments = answers;
  }
  void* labels = nullptr;
  if (c.answers >= 0) {
    answers = c.answers;
    labels = m.allocate(c.labels.size() * 8 + 1);
    trouble += m.upload(labels, c.labels.data(), c.labels.size() * 8);
    q.labels = static_cast<const std::int64_t*>(labels);
    q.segments = answers;
  }
  const std::size_t bytes = static_cast<std::size_t>(answers) * r.result_size;
  std::vector<unsigned char> want(bytes), got(bytes + 32, 0xa5);
  wf::context context;
  context.accuracy = wf::accuracy::exact;
  context.rounding = c.options.rounding;
  context.threads = 1;
  const auto reduce = [&](const wf::cpu::erased& by, const wf::cpu::operands& x, void* to) {
    if (c.answers >= 0) wf::cpu::reduce_labels(by, &c.options, x, c.labels, c.answers, context, to);
    else if (c.offsets.empty()) wf::cpu::reduce_axes(by, &c.options, x, c.axes, context, to);
    else wf::cpu::reduce_segments(by, &c.options, x, c.offsets, context, to);
  };
  reduce(r, in, want.data());
  void* out = m.allocate(got.size());
  trouble += m.upload(out, got.data(), got.size());
  q.out = out;
  if (trouble.empty()) trouble = m.run(q, 2);
  if (trouble.empty()) trouble = m.download(got.data(), out, got.size());
  for (void* p : {device[0], device[1], offsets, labels, out}) {
    if (p != nullptr) m.free(p);
  }
  if (!trouble.empty()) return c.name() + ": " + trouble;
  for (std::size_t k = bytes; k < got.size(); ++k) {
    if (got[k] != 0xa5) return c.name() + ": writes behind the answers";
  }
  const wf::result_kind kind = wf::result_of_builtin(c.what, c.type);
  // The sum of f(|factor|) for each answer.
  const auto sums_of = [&](auto f) {
    const std::size_t parts = wf::is_complex(c.type) ? 2 : 1;
    std::vector<double> terms(static_cast<std::size_t>(c.count[0])), sums(static_cast<std::size_t>(answers));
    for (std::size_t k = 0; k < terms.size(); ++k) {
      double x = std::fabs(number(c.type, data[0], parts * k));
      if (parts == 2) x += std::fabs(number(c.type, data[0], 2 * k + 1));
      terms[k] = f(x);
    }
    wf::cpu::operands x = in;
    x.data[0] = terms.data() + c.first[0];
    for (std::size_t d = 0; d < c.shape.size(); ++d) x.strides[0][d] = c.strides[0][d] * 8;
    reduce(wf::builtin(wf::op::sum, wf::dtype::f64, wf::accuracy::exact), x, sums.data());
    return sums;
  };
  // For products: log2 of what the factors above 1 come to, and of those below; and which are not numbers to multiply.
  std::vector<double> up, down, nans, infinities, zeros;
  if (c.what == wf::op::prod && is_native(c.what, c.type) && want != std::vector<unsigned char>(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(bytes))) {
    up = sums_of([](double x) { return std::isfinite(x) && x > 1 ? std::log2(x) : 0.0; });
    down = sums_of([](double x) { return x < 1 && x > 0 ? std::log2(x) : 0.0; });
    nans = sums_of([](double x) { return x != x ? 1.0 : 0.0; });
    infinities = sums_of([](double x) { return std::isinf(x) ? 1.0 : 0.0; });
    zeros = sums_of([](double x) { return x == 0 ? 1.0 : 0.0; });
  }
  for (std::int64_t a = 0; a < answers; ++a) {
    const auto from = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(a) * r.result_size);
    const std::vector<unsigned char> x(want.begin() + from, want.begin() + from + static_cast<std::ptrdiff_t>(r.result_size));
    const std::vector<unsigned char> y(got.begin() + from, got.begin() + from + static_cast<std::ptrdiff_t>(r.result_size));
    bool same = x == y;
    if (c.checked) same = std::memcmp(x.data(), y.data(), offsetof(wf::checked<std::int64_t>, overflow) + 1) == 0;  // then there is padding
    if (!same && is_native(c.what, c.type)) {
      same = true;
      const int parts = kind.values * (wf::is_complex(kind.type) ? 2 : 1);
      // A product of n numbers in f64, rounded to its type once; a part of a complex one may cancel.
      const double unit = kind.type == wf::dtype::f16 ? 0x1p-10 : kind.type == wf::dtype::bf16 ? 0x1p-7
                          : kind.type == wf::dtype::f32 || kind.type == wf::dtype::c64 ? 0x1p-23 : 0x1p-38;
      double size_of = 0;
      for (int k = 0; k < parts; ++k) size_of = std::max(size_of, std::fabs(number(kind.type, x, static_cast<std::size_t>(k))));
      for (int k = 0; k < parts; ++k) {
        const double p = number(kind.type, x, static_cast<std::size_t>(k)), o = number(kind.type, y, static_cast<std::size_t>(k));
        if (c.what == wf::op::prod) {
          const auto at = static_cast<std::size_t>(a);
          const bool complex = wf::is_complex(kind.type), finite = nans[at] == 0 && infinities[at] == 0;
          // In f64, in any order: what could leave its range on the way, depends on the order.
          const bool ranges = up[at] < 1000 && down[at] > -1000;
          if (!complex && (nans[at] != 0 || (infinities[at] != 0 && zeros[at] != 0))) same = same && p != p && o != o;
          else if (ranges && finite) same = same && (p == o || std::fabs(p - o) <= unit * size_of + least_of(kind.type));
          else if (ranges && !complex) same = same && p == o;
          continue;
        }
        // The greatest of n elements and a logarithm below log n, each with some units of 16 at most where they cancel to less.
        const double cancels = c.what == wf::op::logsumexp ? 0x1p-47 : 0;
        const bool odd = !std::isfinite(p) || !std::isfinite(o) || !std::isfinite(size_of);
        if (odd ? !(p == o || (p != p && o != o)) : std::fabs(p - o) > unit * std::max(size_of, 1e-300) + (unit > 0x1p-30 ? 1e-6 * size_of + 1e-7 : cancels)) same = false;
      }
    }
    if (!same) return c.name() + ": answer " + std::to_string(a) + " of " + std::to_string(answers) + " is 0x" + hex(y) + ", the CPU's 0x" + hex(x);
  }
  return "";
}

/// The same question in a smaller size, as long as it still differs.
inline row_case shrunk(const rows_machine& m, row_case c) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t d = 0; d < c.shape.size() && c.offsets.empty() && c.answers < 0; ++d) {
      for (const std::int64_t n : {std::int64_t{1}, c.shape[d] / 2, c.shape[d] - 1}) {
        if (n < 1 || n >= c.shape[d]) continue;
        row_case less = c;
        less.shape[d] = n;
        if (!difference(m, less).empty()) {
          c = less;
          smaller = true;
          break;
        }
      }
    }
  }
  return c;
}

/// Floats that are added where their labels say, by so many slots that only those are zeroed which a sample of the elements has. A third has one label.
inline std::vector<row_case> sampled_label_cases(std::uint64_t seed) {
  struct asked {
    wf::dtype type;
    wf::op what;
    const char* family;
    std::int64_t answers;
    std::int64_t n = 1400000;
    int labels = 0;  ///< a third of them one; 1: in no order, 2: in order, 3: in order, but for one group in a hundred that is three times as large
  };
  constexpr std::int64_t many = 2200000;  // so many f64 that slots of floats have room
  constexpr asked all[] = {{wf::dtype::f64, wf::op::sum, "octaves", 16384}, {wf::dtype::f64, wf::op::mean, "normal", 16384}, {wf::dtype::f64, wf::op::norm1, "wide", 16384},
                           {wf::dtype::f64, wf::op::mean, "finite_bits", 16384}, {wf::dtype::f64, wf::op::sum, "bits", 16384}, {wf::dtype::f64, wf::op::sum, "unsampled", 16384},
                           {wf::dtype::f64, wf::op::mean, "rare_exponent", 16384}, {wf::dtype::f32, wf::op::mean, "unsampled", 65536}, {wf::dtype::f32, wf::op::sum, "rare_exponent", 80000},
                           {wf::dtype::f32, wf::op::mean, "sparse", 65536}, {wf::dtype::f64, wf::op::sum, "finite_bits", 16384, many, 1}, {wf::dtype::f64, wf::op::norm1, "rare_exponent", 16384, many, 2},
                           {wf::dtype::f64, wf::op::sum, "normal", 16384, many, 2}, {wf::dtype::f64, wf::op::sum, "normal", 16384, many, 3}, {wf::dtype::f64, wf::op::sum, "bits", 16384, many},
                           {wf::dtype::f64, wf::op::norm1, "normal", 16384, many}};  // the last one: floats have no room for a third of all elements
  std::mt19937_64 g(seed);
  std::vector<row_case> cases;
  for (const auto& [type, what, family, answers, n, labels] : all) {
    row_case c;
    c.type = type;
    c.what = what;
    c.family = family;
    c.seed = g() % 1000;
    c.options.rounding = static_cast<wf::rounding>(cases.empty() ? 0 : g() % 5);
    c.answers = answers;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t in_order = i * answers / n;
      if (labels == 1 || (labels == 0 && i % 3 != 0)) c.labels.push_back(static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(answers)));
      else c.labels.push_back(labels == 0 ? 5 : labels == 3 && in_order % 100 < 3 ? in_order / 100 * 100 : in_order);
    }
    c.shape = {n};
    c.axes = {0};
    c.strides[0] = {1};
    c.count[0] = n;
    cases.push_back(c);
  }
  return cases;
}
