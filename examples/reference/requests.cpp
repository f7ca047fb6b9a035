// SPDX-License-Identifier: Apache-2.0
// request.hpp, backend.hpp, state_check.hpp, compact_state.hpp: what is known at run time is asked by a request; states are kept and merged.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/compact_state.hpp>

#include "expect.hpp"

namespace {

const std::vector<float> values{1, 2, 3, 4, 5, 6};

/// A request of a 2 × 3 matrix; shapes count elements, strides bytes.
wf::request of_matrix(wf::op what, void* out) {
  wf::request r;
  r.what = what;
  r.element = wf::dtype::f32;
  r.inputs.data[0] = values.data();
  r.inputs.shape = {2, 3};
  r.inputs.strides[0] = {3 * sizeof(float), sizeof(float)};
  r.out = out;
  return r;
}

void answers() {
  float rows[2] = {};
  wf::request r = of_matrix(wf::op::sum, rows);
  const int last[] = {-1};
  wf::partition by;
  by.kind = wf::partition::kinds::axes;
  by.axes = last;
  by.keepdims = true;
  r.by = by;
  r.options.rounding = wf::rounding::nearest;
  r.context.threads = 1;
  std::atomic<std::uint64_t> read = 0;
  r.progress = &read;                                                // bytes so far
  expect(wf::check(r) == wf::extents{2, 1});                         // the shape of the answers, and whether all fits
  expect(wf::shape_of_answers(r.inputs.shape, r.by, "mine") == wf::extents{2, 1});
  const wf::backend& cpu = wf::cpu_backend();
  expect(cpu.name() == "cpu" && cpu.takes(r.what, r.element, wf::accuracy::exact, by.kind, r.wanted));
  cpu.run(r);
  expect(rows[0] == 6 && rows[1] == 15 && read == sizeof(float) * values.size());
  r.out = nullptr;
  expect(thrown_by<wf::error>([&] { wf::check(r); }).code() == wf::errc::bad_argument);
}

void of_pieces() {
  // Segments by offsets of 4 bytes, or of one length; labels; the places of a piece that begins at element 100; numbers of the other byte order.
  wf::request r = of_matrix(wf::op::argmax, nullptr);
  r.inputs.shape = {6};
  r.inputs.strides[0] = {sizeof(float)};
  const std::int32_t offsets[] = {0, 2, 6};
  wf::partition by;
  by.kind = wf::partition::kinds::segments;
  by.indexes = offsets;
  by.index_bytes = 4;
  by.count = 2;
  r.by = by;
  r.first = 100;
  std::int64_t at[3] = {};
  r.out = at;
  wf::cpu_backend().run(r);
  expect(at[0] == 101 && at[1] == 103);
  by.kind = wf::partition::kinds::equal_segments;
  by.length = 2;
  r.by = by;
  wf::cpu_backend().run(r);
  expect(at[0] == 101 && at[2] == 101);
  const std::uint16_t other_order = 0x0100;                           // 1, its bytes exchanged
  std::uint64_t sum = 0;
  wf::request q;
  q.element = wf::dtype::u16;
  q.inputs.data[0] = &other_order;
  q.swapped[0] = true;
  q.out = &sum;
  wf::cpu_backend().run(q);
  expect(sum == 1);
}

void states() {
  const wf::state_form form = wf::form_of_states(wf::op::sum, wf::dtype::f32);
  expect(form.what == wf::op::sum && form.element == wf::dtype::f32 && form.accuracy == wf::accuracy::exact);
  expect(form.adds && form.canonical && form.bytes % 8 == 0 && wf::state_version == 2);
  std::vector<std::byte> whole(form.bytes), nothing(form.bytes);
  wf::clear_states(form, nothing.data(), 1);                          // without elements
  wf::request r = of_matrix(wf::op::sum, whole.data());
  r.wanted = wf::output::states;
  wf::cpu_backend().run(r);
  std::vector<std::byte> two = whole;
  wf::merge_states(form, two.data(), whole.data(), 1);                // as if all were there twice
  float answer = 0;
  wf::finish_states(form, wf::options{}, two.data(), 1, &answer);
  expect(answer == 42);
  wf::unmerge_states(form, two.data(), whole.data(), 1);
  expect(two == whole);
  wf::unmerge_states(form, two.data(), whole.data(), 1);
  expect(two == nothing);

  const wf::backend& place = wf::cpu_backend();                       // or a wf::gpu, and states in its memory
  place.clear(form, two.data(), 1);
  place.merge(form, two.data(), whole.data(), 1);
  place.merge(form, two.data(), whole.data(), 1);
  place.unmerge(form, two.data(), whole.data(), 1);
  place.finish(form, wf::options{}, two.data(), 1, &answer);
  expect(answer == 21 && two == whole);

  const std::vector<std::byte> few = wf::compact_states(form, whole);  // to store or to send
  expect(few.size() < 16 && wf::expand_states(form, few) == whole);
  // What comes from outside is looked at before it is merged.
  const wf::state_form known = wf::known_form(wf::op::sum, wf::dtype::f32, wf::accuracy::exact);
  wf::check_states(known, whole, 1, "mine");
  whole[15] = std::byte{0x7f};
  expect(thrown_by<wf::error>([&] { wf::check_states(known, whole, 1, "mine"); }).code() == wf::errc::bad_input);
}

}  // namespace

int main() {
  answers();
  of_pieces();
  states();
}
