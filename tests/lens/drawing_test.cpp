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

#include "../effort.hpp"

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

/// Of i32, where sums are those mod 2^32.
double of_type(double x, dtype type) {
  if (type != dtype::i32) return x;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)));
}

// `exact` has a test of its own, below.
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

// What goes from thread to thread in `exact` are digits and units of its elements, and it goes by the reductions of warps, whose lanes all get what all
// have given: no step between the loads and the answer is an operation on what is drawn. What the drawing says of the
// loads is replayed: each is in the result, and all of them together are.
TEST_F(drawings, of_exact_all_that_is_loaded_comes_to_the_result) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16}) {
    const auto& rungs = lens_->rungs(type);
    const auto exact = std::find_if(rungs.begin(), rungs.end(), [](const ladder::rung_info& r) { return r.exact && !r.on_host; });
    ASSERT_NE(exact, rungs.end());
    for (const std::uint64_t n : {5, 31, 32, 33, 251, 256, 1000, 1024}) {
      const auto traces = traced(static_cast<std::size_t>(exact - rungs.begin()), type, n, 64, 1);
      ASSERT_TRUE(refused_.empty() && traces.size() == 1 && traces.back().blocks == 1) << refused_ << ", n " << n;
      const lens::block_trace& t = traces.back();
      const std::string drawn = std::string(wf::info(type).name) + ", n " + std::to_string(n) + "\n" + lens::values_in_text(t, exact->file);
      double loaded = 0;
      unsigned results = 0;
      for (const value_row& row : t.rows)
        for (const lens::value_step& s : row.steps) {
          if (row.what == value_row::kind::load && !s.to.in_shared) {
            loaded += s.loaded;
            EXPECT_TRUE(s.reaches_result) << "thread " << s.thread << " of " << drawn;
          }
          results += row.what == value_row::kind::result;
          // Digits of f64 go by shuffles, too: their rows are labelled `add`, though nothing was seen to be one.
          EXPECT_TRUE(type == dtype::f64 || s.from.size() < 2 || row.how == lens::combination::other || row.is_atomic)
              << "thread " << s.thread << " of " << drawn;
        }
      EXPECT_EQ(type == dtype::f16 ? static_cast<double>(wf::f16(loaded)) : loaded, result_) << drawn;  // f16: rounded, once
      EXPECT_EQ(results, 1u) << drawn;
    }
  }
}

}  // namespace
