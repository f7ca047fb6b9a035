// SPDX-License-Identifier: Apache-2.0
/// \file row_cases.hpp
/// Random views, axes and segments, and their answers by a device beside the CPU's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../gpu_engine/data.hpp"
#include "rows_machine.hpp"

/// One question: a view of an array of `count` elements, or segments of it.
struct row_case {
  wf::op what = wf::op::sum;
  wf::dtype type = wf::dtype::f32;
  wf::accuracy accuracy = wf::accuracy::exact;
  wf::options options;
  std::string family = "normal";
  std::uint64_t seed = 1;  ///< of the data
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides[2];  ///< in elements
  std::int64_t first[2] = {0, 0};        ///< where the view begins
  std::int64_t count[2] = {0, 0};        ///< elements behind it all
  std::vector<int> axes;                 ///< sorted
  std::vector<std::int64_t> offsets;     ///< of segments, if any
  int offset_bytes = 8;

  std::string name() const {
    std::ostringstream s;
    s << wf::op_names[static_cast<int>(what)] << " of " << wf::info(type).name << (accuracy == wf::accuracy::fast ? ", fast" : "")
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
    return s.str();
  }
  int inputs() const { return what == wf::op::dot ? 2 : 1; }
};

/// What is not exact anywhere.
inline bool is_native(wf::op o, wf::dtype t) { return o == wf::op::logsumexp || (o == wf::op::prod && !wf::is_integer(t)); }

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

/// Empty if the device's answers are the CPU's.
inline std::string difference(const rows_machine& m, const row_case& c) {
  const auto size = wf::info(c.type).size;
  const wf::cpu::erased& r = wf::builtin(c.what, c.type, wf::accuracy::exact);
  std::vector<unsigned char> data[2];
  void* device[2] = {nullptr, nullptr};
  wf::cpu::operands in;
  in.shape = c.shape;
  wf::rows_request q{};
  q.what = c.what;
  q.element = c.type;
  q.accuracy = c.accuracy;
  q.options = c.options;
  std::string trouble;
  for (int k = 0; k < c.inputs(); ++k) {
    data[k] = make_bytes(c.type, c.family, static_cast<std::uint64_t>(c.count[k]), c.seed + static_cast<std::uint64_t>(k));
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
  const std::size_t bytes = static_cast<std::size_t>(answers) * r.result_size;
  std::vector<unsigned char> want(bytes), got(bytes + 32, 0xa5);
  wf::context context;
  context.accuracy = wf::accuracy::exact;
  context.rounding = c.options.rounding;
  context.threads = 1;
  if (c.offsets.empty()) wf::cpu::reduce_axes(r, &c.options, in, c.axes, context, want.data());
  else wf::cpu::reduce_segments(r, &c.options, in, c.offsets, context, want.data());
  void* out = m.allocate(got.size());
  trouble += m.upload(out, got.data(), got.size());
  q.out = out;
  if (trouble.empty()) trouble = m.run(q, 2);
  if (trouble.empty()) trouble = m.download(got.data(), out, got.size());
  for (void* p : {device[0], device[1], offsets, out}) {
    if (p != nullptr) m.free(p);
  }
  if (!trouble.empty()) return c.name() + ": " + trouble;
  for (std::size_t k = bytes; k < got.size(); ++k) {
    if (got[k] != 0xa5) return c.name() + ": writes behind the answers";
  }
  const wf::result_kind kind = wf::result_of_builtin(c.what, c.type);
  for (std::int64_t a = 0; a < answers; ++a) {
    const auto from = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(a) * r.result_size);
    const std::vector<unsigned char> x(want.begin() + from, want.begin() + from + static_cast<std::ptrdiff_t>(r.result_size));
    const std::vector<unsigned char> y(got.begin() + from, got.begin() + from + static_cast<std::ptrdiff_t>(r.result_size));
    bool same = x == y;
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
        const bool odd = !std::isfinite(p) || !std::isfinite(o) || !std::isfinite(size_of);
        // Where factors overflow on the way, what comes out depends on the order.
        if (c.what == wf::op::prod && odd) continue;
        if (odd ? !(p == o || (p != p && o != o)) : std::fabs(p - o) > unit * std::max(size_of, 1e-300) + (unit > 0x1p-30 ? 1e-6 * size_of + 1e-7 : 0)) same = false;
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
    for (std::size_t d = 0; d < c.shape.size() && c.offsets.empty(); ++d) {
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
