// SPDX-License-Identifier: Apache-2.0
// A drawing is a proof: done as arithmetic, step by step, it gives what the kernel gave.
#include <ladder/data.hpp>
#include <ladder/ladder.hpp>
#include <ladder/runner.hpp>
#include <ladder/verify.hpp>
#include <lens/drawing.hpp>
#include <lens/trace.hpp>
#include <warpfold/half.hpp>

#include <gtest/gtest.h>

#include "../support/effort.hpp"
#include "kernels.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <map>

namespace {

using lens::holder;
using lens::value_row;
using wf::dtype;

/// What is held in registers and shared memory, and what has gone to global memory.
struct machine {
  std::map<holder, double> held;
  std::map<std::uint64_t, double> global;
};

/// Does what a row says with what is held before it. Steps of atomics follow each other, others happen at once.
void take(const value_row& row, machine& m) {
  std::map<holder, double> after = m.held;
  for (const lens::value_step& s : row.steps) {
    const auto& before = row.is_atomic ? after : m.held;
    double sum = s.loaded;
    for (const holder& h : s.from) sum += before.contains(h) ? before.at(h) : 0;
    if (row.what != value_row::kind::result) after[s.to] = sum;
    else m.global[s.address] = row.is_atomic ? m.global[s.address] + sum : sum;
  }
  m.held = std::move(after);
}

/// What the block of a trace leaves, by its drawing: what goes to global memory last.
double replayed(const lens::block_trace& t) {
  machine m;
  std::uint64_t result = 0;
  for (const value_row& row : t.rows) {
    take(row, m);
    if (row.what == value_row::kind::result && !row.steps.empty()) result = row.steps.back().address;
  }
  return m.global[result];
}

lens::number_types types_of(dtype type) {
  using lens::number;
  switch (type) {
    case dtype::i32: return {number::i32, number::i32};
    case dtype::f64: return {number::f64, number::f64};
    case dtype::f16: return {number::f32, number::f16};
    default: return {number::f32, number::f32};
  }
}

class drawings : public testing::Test {
 protected:
  /// The traces of a rung, of n elements that are all whole numbers, and what it answers.
  std::vector<lens::block_trace> traced(std::size_t rung, dtype type, std::uint64_t n, unsigned block, unsigned sms) {
    const ladder::pattern data = ladder::make_pattern(type, n, 1);
    lens_->load(type, data.elements.data(), n);
    lens::tracing trace(types_of(type));
    simt::options& options = simt::current_options();
    const simt::options before = options;
    options.watch = &trace;
    options.schedule = simt::lane_schedule::lock_step;  // as `explain` draws
    const ladder::outcome ran = lens_->run(rung, {block, 1, sms});
    options = before;
    refused_ = ran.refused;
    result_ = ladder::result_value(ladder::result_type(type, lens_->rungs(type)[rung]), ran.result);
    return trace.launches();
  }
  std::unique_ptr<ladder::place> lens_ = ladder::open_lens();
  std::string refused_;
  double result_ = 0;
};

bool can_have(const ladder::rung_info& r, unsigned block) {
  return !r.on_host && block >= r.min_block && (!r.power_of_two || (block & (block - 1)) == 0);
}

/// For i32, where sums are those mod 2^32.
double of_type(double x, dtype type) {
  if (type != dtype::i32) return x;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)));
}

// `exact` has tests of its own, below.
TEST_F(drawings, replayed_as_arithmetic_they_give_the_result) {
  wf::test::some_of_all chosen;
  for (const dtype type : {dtype::i32, dtype::f32, dtype::f64, dtype::f16})
    for (std::size_t k = 0; k < lens_->rungs(type).size(); ++k) {
      const ladder::rung_info& rung = lens_->rungs(type)[k];
      if (rung.on_host || rung.exact) continue;
      unsigned proved = 0;
      for (unsigned block = 32; block <= 1024; block += block < 128 ? 32 : block) {
        if (!can_have(rung, block)) continue;
        // As many elements as a block has threads, and fewer; a cluster's eight blocks have more, if not in whole.
        for (const std::uint64_t n : {std::uint64_t{block}, std::uint64_t{block} - 5, std::uint64_t{5}, std::uint64_t{block} * 27}) {
          if (n > block && block > 128) continue;
          if (proved > 0 && !chosen()) continue;
          const auto traces = traced(k, type, n, block, 1);
          if (!refused_.empty() || traces.empty()) continue;
          if (traces.back().blocks > 1 && rung.name != "cluster") continue;
          ++proved;
          EXPECT_EQ(of_type(replayed(traces.back()), type), result_)
              << full_name(rung) << ", " << wf::info(type).name << ", block " << block << ", n " << n << "\n"
              << lens::values_in_text(traces.back(), rung.file);
        }
      }
      EXPECT_GT(proved, 0u) << full_name(rung) << ", " << wf::info(type).name;
    }
}

// What goes from thread to thread in `exact` are digits of its elements, by reductions of warps: the drawing follows the
// numbers that they are digits of, and is replayed as that of every other rung. f16: rounded, once.
double rounded_to(double x, dtype type) { return type == dtype::f16 ? static_cast<double>(wf::f16(x)) : x; }

struct exact_drawing {
  lens::block_trace trace;
  double result;
  std::string words;
};

class exact_drawings : public drawings {
 protected:
  exact_drawing drawn(dtype type, std::uint64_t n) {
    const auto& rungs = lens_->rungs(type);
    const auto exact = std::find_if(rungs.begin(), rungs.end(), [](const ladder::rung_info& r) { return r.exact && !r.on_host; });
    const auto traces = traced(static_cast<std::size_t>(exact - rungs.begin()), type, n, 64, 1);
    EXPECT_TRUE(refused_.empty() && traces.size() == 1 && traces.back().blocks == 1) << refused_ << ", n " << n;
    return {traces.back(), result_,
            std::string(wf::info(type).name) + ", n " + std::to_string(n) + "\n" + lens::values_in_text(traces.back(), exact->file)};
  }
};

TEST_F(exact_drawings, replayed_as_arithmetic_they_give_the_result) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16})
    for (const std::uint64_t n : {1, 5, 31, 32, 33, 64, 127, 251, 256, 500, 1000, 1024, 2048, 3001}) {
      const exact_drawing d = drawn(type, n);
      EXPECT_EQ(rounded_to(replayed(d.trace), type), d.result) << d.words;
      // Each operation was seen in the values, and every element comes to the result.
      unsigned elements = 0, results = 0;
      for (const value_row& row : d.trace.rows)
        for (const lens::value_step& s : row.steps) {
          EXPECT_TRUE(s.reaches_result) << "thread " << s.thread << " of " << d.words;
          EXPECT_FALSE(s.is_reduced) << "thread " << s.thread << " of " << d.words;
          EXPECT_TRUE(row.what == value_row::kind::load || (s.is_seen && (row.how == lens::combination::add || s.from.size() < 2))) << "thread " << s.thread << " of " << d.words;
          elements += s.elements;
          results += row.what == value_row::kind::result;
        }
      EXPECT_GE(elements, n * wf::info(type).size / 16) << d.words;  // packs, and what is no whole pack
      EXPECT_EQ(results, 1u) << d.words;
    }
}

/// A drawing with one mistake: an operand is left out, or is the next lane's.
lens::block_trace without(lens::block_trace t, std::size_t row, std::size_t step, std::size_t operand) {
  auto& from = t.rows[row].steps[step].from;
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(operand));
  return t;
}
lens::block_trace shifted(lens::block_trace t, std::size_t row, std::size_t step, std::size_t operand) {
  ++t.rows[row].steps[step].from[operand].index;
  return t;
}

TEST_F(exact_drawings, that_are_broken_do_not_give_the_result) {
  wf::test::some_of_all chosen;
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16}) {
    const exact_drawing d = drawn(type, 1000);
    const double sum = replayed(d.trace);
    EXPECT_EQ(rounded_to(sum, type), d.result) << d.words;
    unsigned dropped = 0, moved = 0, operands = 0;
    for (std::size_t r = 0; r < d.trace.rows.size(); ++r)
      for (std::size_t s = 0; s < d.trace.rows[r].steps.size(); ++s)
        for (std::size_t k = 0; k < d.trace.rows[r].steps[s].from.size(); ++k) {
          if (operands > 40 && !chosen()) continue;
          ++operands;
          dropped += replayed(without(d.trace, r, s, k)) != sum;
          moved += replayed(shifted(d.trace, r, s, k)) != sum;
        }
    EXPECT_EQ(dropped, operands) << d.words;
    EXPECT_EQ(moved, operands) << d.words;
    EXPECT_GT(operands, 40u) << d.words;
  }
}

// A reduction of whole numbers is told as what it is; the types are not given, the values tell them.
TEST(reductions_of_words, are_drawn_as_one_operation) {
  float *in = nullptr, *out = nullptr;
  ASSERT_EQ(cudaMallocManaged(&in, 128 * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&out, sizeof(float)), cudaSuccess);
  auto* const words = reinterpret_cast<std::int32_t*>(in);
  int sum = 0, most = 0;
  for (int k = 0; k < 128; ++k) {
    words[k] = 1 + k * 7919 % 1000;
    sum += words[k];
    most = std::max(most, words[k]);
  }
  for (const bool is_sum : {true, false}) {
    lens::tracing trace;
    simt::current_options().watch = &trace;
    EXPECT_EQ(lens_test::run(is_sum ? "words<sum>" : "words<max>", 1, 128, in, out), 0);
    simt::current_options().watch = nullptr;
    EXPECT_EQ(*reinterpret_cast<const std::int32_t*>(out), is_sum ? sum : most);
    const lens::block_trace& t = trace.launches().at(0);
    const std::string drawn = lens::values_in_text(t, "tests/lens/kernels.cpp");
    unsigned rows = 0;
    for (const value_row& row : t.rows) {
      if (row.what != value_row::kind::reduce) continue;
      ++rows;
      EXPECT_EQ(row.how, is_sum ? lens::combination::add : lens::combination::greatest) << drawn;
      for (const lens::value_step& s : row.steps) EXPECT_TRUE(s.is_seen && s.reaches_result && s.from.size() >= 4) << drawn;
    }
    EXPECT_EQ(rows, 2u) << drawn;
    EXPECT_TRUE(!is_sum || replayed(t) == sum) << drawn;
  }
  lens::tracing trace;
  simt::current_options().watch = &trace;
  EXPECT_EQ(lens_test::run("words_of_two", 1, 64, in, out), 0);
  simt::current_options().watch = nullptr;
  EXPECT_EQ(replayed(trace.launches().at(0)), *reinterpret_cast<const std::int32_t*>(out)) << lens::values_in_text(trace.launches().at(0), "");
  EXPECT_EQ(cudaFree(in), cudaSuccess);
  EXPECT_EQ(cudaFree(out), cudaSuccess);
}

}  // namespace
