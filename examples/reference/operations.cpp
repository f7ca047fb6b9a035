// SPDX-License-Identifier: Apache-2.0
// operations.hpp, builtin.hpp, results.hpp: the table of operations, at compile time and at run time.
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/builtin.hpp>
#include <warpfold/request.hpp>
#include <warpfold/results.hpp>

#include "expect.hpp"

namespace {

// At compile time.
static_assert(wf::takes<wf::op::sum, wf::c64> && !wf::takes<wf::op::max, wf::c64>);
static_assert(std::is_same_v<wf::result<wf::op::sum, std::int32_t>, std::int64_t> && wf::can_overflow<wf::op::sum> && !wf::can_overflow<wf::op::max>);
static_assert(wf::inputs_of(wf::op::dot) == wf::cpu::max_inputs && wf::inputs_of(wf::op::max) == 1);

void rows_of_the_table() {
  for (int k = 0; k < wf::op_count; ++k) expect(wf::operations[k].name == wf::op_names[k]);
  const wf::operation row = wf::operation_of(wf::op::minmax);
  expect(row.what == wf::op::minmax && row.name == "minmax" && row.summary == "The least and the greatest element" && row.inputs == 1);
  expect(!row.of_complex && row.state == wf::state_kind::extremes && row.answer == wf::answer_kind::two && !row.wraps);
}

void by_name() {
  expect(wf::op_named("std") == wf::op::std_dev && wf::op_named("norm") == wf::op::norm2 && !wf::op_named("median"));
  const wf::properties words = wf::properties_of(wf::op::sum);
  expect(words.name == "sum" && !words.elements.empty() && !words.result.empty());
  const wf::result_kind two = wf::result_of_builtin(wf::op::mean_var, wf::dtype::i32);
  expect(two.type == wf::dtype::f64 && two.values == 2);
  const wf::result_kind index = wf::result_of_kind(wf::answer_kind::index, wf::dtype::f32);
  expect(index.type == wf::dtype::i64 && index.values == 1);
}

/// An operation and a type that are known at run time, run by the table's own functions.
void by_functions() {
  const std::vector<float> values{1, 2, 3};
  const wf::options defaults;
  float sum = 0;
  wf::cpu::operands x;
  x.data[0] = values.data();
  x.shape = {3};
  x.strides[0] = {sizeof(float)};  // bytes
  wf::own_reduction own;
  own.functions = &wf::builtin(wf::op::sum, wf::dtype::f32, wf::accuracy::exact);
  own.self = &defaults;
  own.name = "mine";
  own.kernels = nullptr;  // what warpfold/gpu.cuh compiles of one for a GPU
  wf::request r;
  r.own = own;
  r.inputs = x;
  r.out = &sum;
  wf::cpu_backend().run(r);
  expect(sum == 6 && defaults.rounding == wf::rounding::nearest && defaults.correction == 0);
  expect(wf::find_builtin(wf::op::max, wf::dtype::c64, wf::accuracy::exact) == nullptr);    // builtin() would throw
  expect(wf::find_checked(wf::op::sum, wf::dtype::i32) != nullptr && wf::find_checked(wf::op::sum, wf::dtype::f32) == nullptr);
  expect(thrown_by<wf::error>([] { wf::builtin(wf::op::max, wf::dtype::c64, wf::accuracy::exact); }).code() == wf::errc::unsupported);
}

}  // namespace

int main() {
  rows_of_the_table();
  by_name();
  by_functions();
}
