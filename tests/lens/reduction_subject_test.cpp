// SPDX-License-Identifier: Apache-2.0
// What `warpfold profile` does with a reduction, but for the times: run here on simt, it must find every
// answer right, and a wrong one wrong.
#include <lens/profile/reduction.hpp>
#include <warpfold/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include "../support/effort.hpp"

namespace {

using lens::profile::reduction_subject;
using wf::accuracy;
using wf::dtype;

class profiled : public testing::Test {
 protected:
  reduction_subject::judgement of(const wf::device_library& kernels, wf::op o, accuracy how, dtype type, std::uint64_t n,
                                  ladder::distribution kind) {
    const ladder::array data = ladder::make_data(type, kind, n, 7);
    reduction_subject subject(*place_, kernels, o, how, data, 7, kind);
    const ladder::place::work once = [&](void* stream) { subject(stream); };
    place_->finish(once);
    const auto first = subject.judge();
    int hooks = 0;
    place_->repeat(once, 2, true, [&](bool) { ++hooks; });
    EXPECT_EQ(hooks, 4);
    const auto again = subject.judge();
    EXPECT_EQ(again.result, first.result);
    EXPECT_EQ(subject.input_bytes(), n * wf::info(type).size * (o == wf::op::dot ? 2 : 1));
    return again;
  }
  std::unique_ptr<ladder::place> place_ = ladder::open_simt();
};

TEST_F(profiled, every_reduction_is_right) {
  int rows = 0;
  wf::test::some_of_all chosen;
  for (int k = 0; k < wf::op_count; ++k)
    for (const dtype type : {dtype::f32, dtype::f64, dtype::i32, dtype::f16})
      for (const accuracy how : {accuracy::exact, accuracy::fast}) {
        const auto o = static_cast<wf::op>(k);
        if (!wf::simt_library().takes(o, type, how)) continue;
        for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{20011}})
          for (const auto kind : {ladder::distribution::uniform, ladder::distribution::hard}) {
            ++rows;
            if (n > 1 && !chosen()) continue;
            const auto j = of(wf::simt_library(), o, how, type, n, kind);
            EXPECT_TRUE(j.right) << lens::profile::reduction_name(o) << ' ' << wf::info(type).name << ' '
                                 << (how == accuracy::fast ? "fast " : "exact ") << n << ": " << j.result << ", exact "
                                 << j.exact << ": " << j.why;
          }
      }
  EXPECT_GT(rows, 21 * 3 * 6);
}

int run_right(const wf::device_request& r, void* scratch, void* stream) {
  return wf::simt_library().kernels.whole[r.accuracy == accuracy::fast ? 1 : 0](r, scratch, stream);
}
/// A library that overlooks the last element.
int run_short(const wf::device_request& r, void* scratch, void* stream) {
  wf::device_request less = r;
  --less.n;
  return run_right(less, scratch, stream);
}
int run_beside(const wf::device_request& r, void* scratch, void* stream) {
  wf::device_request beside = r;
  beside.out = static_cast<char*>(r.out) + 32;
  return std::max(run_right(r, scratch, stream), run_right(beside, scratch, stream));
}

TEST_F(profiled, a_wrong_answer_is_wrong) {
  wf::device_library wrong = wf::simt_library();
  wrong.kernels.whole = {run_short, run_short};
  for (const auto& [o, how] : {std::pair{wf::op::mean, accuracy::exact}, {wf::op::mean, accuracy::fast},
                              {wf::op::dot, accuracy::fast}, {wf::op::norm2, accuracy::fast}, {wf::op::count, accuracy::exact},
                              {wf::op::logsumexp, accuracy::exact}, {wf::op::var, accuracy::exact}, {wf::op::mean_var, accuracy::fast}}) {
    const auto j = of(wrong, o, how, dtype::f32, 501, ladder::distribution::uniform);
    EXPECT_FALSE(j.right) << lens::profile::reduction_name(o) << ": " << j.result << ", exact " << j.exact;
    EXPECT_NE(j.why, "");
  }
  wrong.kernels.whole = {run_beside, run_beside};
  EXPECT_EQ(of(wrong, wf::op::max, accuracy::exact, dtype::f64, 100, ladder::distribution::normal).why, "it wrote beside its output");
}

TEST_F(profiled, names_are_the_reductions) {
  EXPECT_EQ(lens::profile::reduction_named("norm"), wf::op::norm2);
  EXPECT_EQ(lens::profile::reduction_named("argmax"), wf::op::argmax);
  EXPECT_EQ(lens::profile::reduction_named("tree_modulo"), std::nullopt);
}

}  // namespace
