// SPDX-License-Identifier: Apache-2.0
// States: what was reduced so far of each piece of an array, merged into that of the whole and taken out again.
//
//     c++ -std=c++20 states.cpp $(pkg-config --cflags --libs warpfold)
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <warpfold/backend.hpp>

namespace {

std::vector<std::byte> state_of(std::span<const double> values, const wf::state_form& form) {
  // [state]
  wf::request r;  // a sum of f64, unless told otherwise
  r.inputs.data[0] = values.data();
  r.inputs.shape = {static_cast<std::int64_t>(values.size())};
  r.inputs.strides[0] = {sizeof(double)};  // bytes
  r.wanted = wf::output::states;
  std::vector<std::byte> state(form.bytes);
  r.out = state.data();
  wf::cpu_backend().run(r);  // or wf::gpu(stream).run(r), with device memory
  // [/state]
  return state;
}

}  // namespace

int main() {
  const std::vector<double> values{1e300, 1, -1e300, 2};
  const std::span<const double> all(values);
  const wf::state_form form = wf::form_of_states(wf::op::sum, wf::dtype::f64);
  std::vector<std::byte> state = state_of(all.first(1), form);
  const std::vector<std::byte> others = state_of(all.subspan(1), form), whole = state_of(all, form);
  wf::merge_states(form, state.data(), others.data(), 1);
  double sum = 0;
  wf::finish_states(form, {}, state.data(), 1, &sum);
  std::printf("the sum is %g; the merged state has the bytes of the whole array's: %s\n", sum, state == whole ? "yes" : "no");
  wf::unmerge_states(form, state.data(), others.data(), 1);
  return sum == 3 && state != whole && state == state_of(all.first(1), form) ? 0 : 1;
}
