// SPDX-License-Identifier: Apache-2.0
/// \file captures_table.hpp
/// First calls of a place that are captured into a graph, on any machine: what a call makes once must be there for later calls and launches, in any
/// order.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "machine.hpp"

/// Sums of 70,001 floats, of the rows of a matrix and of labels. `open` makes something that puts a request on a stream; it is asked once for each.
inline void check_first_calls_in_captures(const machine& m, const std::function<std::function<void(const wf::request&)>(void* stream)>& open) {
  constexpr std::int64_t n = 70001, width = 1001, rows = 69, labels = 5;
  std::vector<float> x(n);
  std::vector<std::int64_t> label(n);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t i = 0; i < n; ++i) label[at(i)] = i * i % labels;
  struct bytes {
    const machine& m;
    void* p;
    bytes(const machine& of, std::size_t count) : m(of), p(of.allocate(count)) {}
    bytes(const bytes&) = delete;
    ~bytes() { m.free(p); }
  };
  const bytes there(m, n * sizeof(float)), labels_there(m, n * sizeof(std::int64_t)), out(m, 128 * sizeof(float));
  ASSERT_EQ(m.upload(labels_there.p, label.data(), n * sizeof(std::int64_t)), "");
  ASSERT_EQ(m.wait(nullptr), "");
  using kinds = wf::partition::kinds;
  for (const kinds kind : {kinds::labels, kinds::axes, kinds::whole}) {  // labels first: they take memory of a pool that is made once
    const std::array<int, 1> last{1};
    wf::request r;
    r.what = wf::op::sum;
    r.element = wf::dtype::f32;
    r.inputs.data[0] = there.p;
    r.inputs.shape = kind == kinds::axes ? wf::extents{rows, width} : wf::extents{n};
    r.inputs.strides[0] = kind == kinds::axes ? wf::extents{width * 4, 4} : wf::extents{4};
    r.by.kind = kind;
    if (kind == kinds::axes) r.by.axes = last;
    if (kind == kinds::labels) {
      r.by.indexes = labels_there.p;
      r.by.index_bytes = 8;
      r.by.count = labels;
    }
    r.out = out.p;
    const std::size_t answers = kind == kinds::whole ? 1 : kind == kinds::axes ? rows : labels;
    const auto expect_sums = [&](const char* when) {
      std::vector<double> want(answers);
      for (std::int64_t i = 0; i < (kind == kinds::axes ? rows * width : n); ++i)
        want[kind == kinds::whole ? 0 : kind == kinds::axes ? at(i / width) : at(label[at(i)])] += static_cast<double>(x[at(i)]);
      std::vector<float> got(answers);
      ASSERT_EQ(m.download(got.data(), out.p, answers * sizeof(float)), "");
      for (std::size_t k = 0; k < answers; ++k) ASSERT_EQ(got[k], static_cast<float>(want[k])) << when << ", partition " << static_cast<int>(kind) << ", answer " << k;
      std::memset(got.data(), 0xff, answers * sizeof(float));
      ASSERT_EQ(m.upload(out.p, got.data(), answers * sizeof(float)), "");
      ASSERT_EQ(m.wait(nullptr), "");
    };
    const auto other_numbers = [&](std::int64_t scale) {  // whole ones, whose sums doubles hold
      for (std::int64_t i = 0; i < n; ++i) x[at(i)] = static_cast<float>(i * 7919 % 100003 * scale - 20000);
      ASSERT_EQ(m.upload(there.p, x.data(), n * sizeof(float)), "");
      ASSERT_EQ(m.wait(nullptr), "");
    };
    void* const stream = m.make_stream();
    {
      struct call {
        std::function<void(const wf::request&)> put;
        const wf::request* r;
        std::string wrong;
      } one{open(stream), &r, ""};
      void* graph = nullptr;
      ASSERT_EQ(m.capture(stream, [](void* given) {
        auto* c = static_cast<call*>(given);
        try {
          c->put(*c->r);
        } catch (const std::exception& e) {
          c->wrong = e.what();
        }
      }, &one, &graph), "") << one.wrong;
      ASSERT_EQ(one.wrong, "");
      other_numbers(1);
      one.put(r);  // with what the captured call made, before the graph was ever launched
      ASSERT_EQ(m.wait(stream), "");
      expect_sums("beside the graph");
      for (const std::int64_t scale : {3, 5}) {
        other_numbers(scale);
        ASSERT_EQ(m.launch(graph, stream), "");
        ASSERT_EQ(m.wait(stream), "");
        expect_sums("from the graph");
        other_numbers(-scale);
        one.put(r);
        ASSERT_EQ(m.wait(stream), "");
        expect_sums("after the graph");
      }
      m.free_graph(graph);
    }
    ASSERT_EQ(m.wait(stream), "");
    m.free_stream(stream);
  }
}

/// The same while another stream is captured by the same thread: a place's first call does not spoil that.
inline void check_first_calls_beside_captures(const machine& m, const std::function<std::function<void(const wf::request&)>(void* stream)>& open) {
  const float x[] = {1, 2, 4};
  void *const there = m.allocate(sizeof x), *const out = m.allocate(2 * sizeof(float)), *const captured = m.make_stream(), *const other = m.make_stream();
  ASSERT_EQ(m.upload(there, x, sizeof x), "");
  ASSERT_EQ(m.wait(nullptr), "");
  {
    const auto first = open(captured), second = open(other);
    struct calls {
      const std::function<void(const wf::request&)>&first, &second;
      wf::request r;
      void* beside;
      std::string wrong;
    } both{first, second, {}, static_cast<float*>(out) + 1, ""};
    both.r.what = wf::op::sum;
    both.r.element = wf::dtype::f32;
    both.r.inputs.data[0] = there;
    both.r.inputs.shape = {3};
    both.r.inputs.strides[0] = {4};
    both.r.out = out;
    void* graph = nullptr;
    EXPECT_EQ(m.capture(captured, [](void* given) {
      auto* c = static_cast<calls*>(given);
      try {
        c->first(c->r);
        wf::request beside = c->r;
        beside.out = c->beside;
        c->second(beside);
      } catch (const std::exception& e) {
        c->wrong = e.what();
      }
    }, &both, &graph), "");
    EXPECT_EQ(both.wrong, "");
    float got[2] = {};
    if (graph != nullptr) {
      EXPECT_EQ(m.launch(graph, captured), "");
      EXPECT_EQ(m.wait(captured), "");
      EXPECT_EQ(m.wait(other), "");
      EXPECT_EQ(m.download(got, out, sizeof got), "");
      m.free_graph(graph);
    }
    EXPECT_EQ(got[0], 7);
    EXPECT_EQ(got[1], 7);
  }
  EXPECT_EQ(m.wait(captured), "");
  EXPECT_EQ(m.wait(other), "");
  m.free_stream(captured);
  m.free_stream(other);
  m.free(there);
  m.free(out);
}
