// SPDX-License-Identifier: Apache-2.0
// The operation, the element type and the GPU architecture that docs/adding.md adds, in a copy of the sources to which its diffs were
// applied: by every door, against the oracles of tests/cpu.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/detail/gpu/launch_choices.hpp>
#include <warpfold/detail/gpu/states.hpp>
#include <warpfold/io/reduce.hpp>
#include <warpfold/io/text.hpp>
#include <warpfold/gpu.hpp>
#include <warpfold/warpfold.h>
#include <warpfold/warpfold.hpp>

#include "../cpu/judgement.hpp"

namespace {

int checks = 0;

void expect(bool right, const char* what) {
  ++checks;
  if (right) return;
  std::printf("%s is wrong\n", what);
  std::exit(1);
}

using wf::op;

/// Arrays of every type, against what judgement.cpp says of them.
void judged() {
  wf::test::generator random(3);
  for (const wf::dtype type : wf::test::real_types)
    for (const std::int64_t n : {0, 1, 2, 7, 30, 300})
      for (const int kind : {0, 1}) {
        const bool ordinary = wf::is_floating(type) && kind == 1;
        const wf::test::numbers x = ordinary ? wf::test::make(type, wf::test::family::uniform, n, random)
                                             : wf::test::random_elements(type, n, random, kind);
        for (const int threads : {1, 2}) {
          wf::test::how h;
          h.c.threads = threads;
          const wf::test::judgement right(x, x, h);
          const wf::test::answer got = wf::test::reduce(op::prod_abs, x, h);
          if (!right.accepts(op::prod_abs, got)) std::printf("%s, %s\n", wf::test::name(type).c_str(), right.difference(op::prod_abs, got).c_str());
          expect(right.accepts(op::prod_abs, got), "an answer");
        }
      }
}

/// The element type f8: the front door, C, its text, and every exact answer of each family of data against MPFR's.
void of_f8() {
  std::vector<wf::f8> x;
  for (const float v : {1.0f, 1.75f, -0.5f, 57344.0f, 0x1p-16f, 3.1f}) x.push_back(wf::f8(v));
  expect(static_cast<float>(x[5]) == 3.0f && x[3].bits == 0x7b && x[4].bits == 1, "f8 of a float");
  expect(static_cast<float>(wf::sum(x)) == 57344 && static_cast<float>(wf::min(x)) == -0.5f && wf::argmax(x) == 3, "reductions of f8");
  expect(static_cast<float>(wf::sum(std::span(x).first(3))) == 2 && static_cast<float>(wf::prod_abs(std::span(x).first(3))) == 0.875f, "sums and products of f8");
  const auto rows = wf::sum(wf::view<wf::f8>(x.data(), {2, 3}), wf::axis{1});
  expect(rows.values.size() == 2 && static_cast<float>(rows.values[0]) == 2, "wf::sum of rows of f8");
  wf::f8 answer{};
  const std::int64_t n = 3;
  const wf_array array{x.data(), WF_F8, 1, &n, nullptr};
  expect(wf_reduce(WF_MEAN, &array, nullptr, nullptr, &answer) == WF_OK && static_cast<float>(answer) == 0.75f, "wf_reduce of f8");
  expect(wf::dtype_named("f8") == wf::dtype_of<wf::f8> && wf::io::value_text(wf::dtype::f8, reinterpret_cast<const std::byte*>(&x[1])) == "1.8" &&
             wf::io::shortest(x[4]) == "2e-05", "its name and its text");
  const wf::simulated_gpu place;
  expect(!place.takes(op::sum, wf::dtype::f8, wf::accuracy::exact, wf::partition::kinds::whole, wf::output::answers), "that no kernel takes f8");
  wf::test::generator random(5);
  for (const wf::test::family k : wf::test::all_families)
    for (const std::int64_t m : {0, 1, 3, 100, 5000}) {
      const wf::test::numbers a = wf::test::make(wf::dtype::f8, k, m, random), b = wf::test::make(wf::dtype::f8, k, m, random);
      for (const wf::rounding mode : {wf::rounding::nearest, wf::rounding::up}) {
        wf::test::how h;
        h.c.rounding = mode;
        const wf::test::verdict right = wf::test::judge(a, b, mode, 0);
        for (const op o : wf::test::exact_ops) {
          const wf::test::answer got = wf::test::reduce(o, a, b, h);
          for (int part = 0; part < got.kind.values; ++part)
            expect(wf::test::same_number(got.number(part), wf::test::verdict_on(o, right, part)), (std::string(wf::op_names[static_cast<int>(o)]) + " of f8").c_str());
        }
      }
    }
}

/// On simt: answers and states of arrays, rows and labels are the CPU's. Products of powers of two: every order gives the same bits.
template <class T>
void on_simt(std::vector<T> x) {
  const wf::simulated_gpu place;
  expect(wf::prod_abs(place, x) == wf::prod_abs(x), "wf::prod_abs on simt");
  const auto n = static_cast<std::int64_t>(x.size());
  expect(wf::prod_abs(x, wf::segments_of{8}).values == wf::prod_abs(place, x, wf::segments_of{8}).values, "wf::prod_abs of rows on simt");
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < n; ++i) labels.push_back(i * i % 5);
  expect(wf::prod_abs(x, wf::by_label{labels, 6}).values == wf::prod_abs(place, x, wf::by_label{labels, 6}).values, "wf::prod_abs by label on simt");
  const wf::state_form form = wf::form_of_states(op::prod_abs, wf::dtype_of<T>);
  std::vector<std::byte> cpu(form.bytes), simt(form.bytes);
  wf::request r;
  r.what = op::prod_abs;
  r.element = wf::dtype_of<T>;
  r.inputs.data[0] = x.data();
  r.inputs.shape = {n};
  r.inputs.strides[0] = {sizeof(T)};
  r.wanted = wf::output::states;
  expect(place.takes(op::prod_abs, r.element, wf::accuracy::exact, wf::partition::kinds::whole, wf::output::states), "what simt takes");
  r.out = cpu.data();
  wf::cpu_backend().run(r);
  r.out = simt.data();
  place.run(r);
  expect(cpu == simt, "a state on simt");
  if constexpr (wf::integer<T>) {  // canonical states are merged and answered there too
    std::vector<std::byte> two(cpu), merged(form.bytes);
    two.insert(two.end(), simt.begin(), simt.end());
    wf::merge_states(form, cpu.data(), simt.data(), 1);
    wf::result<op::prod_abs, T> right{}, answer{};
    wf::finish_states(form, {}, cpu.data(), 1, &right);
    wf::states_request q = wf::detail::states_of(form, {}, 1);
    q.states = reinterpret_cast<std::int64_t*>(merged.data());
    q.from = reinterpret_cast<const std::int64_t*>(two.data());
    q.sets = 2;
    q.out = &answer;
    place.run_states(q, "prod_abs");
    expect(merged == cpu && answer == right, "states merged on simt");
  }
}

}  // namespace

int main() {
  // The front door, with an axis too; the name; C's number.
  const std::vector<double> x{-2, 3, -0.5, 4};
  expect(wf::prod_abs(x) == 12, "wf::prod_abs");
  expect(wf::prod_abs(std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min(), -2}) == std::uint64_t{1} << 32, "wf::prod_abs of integers");
  const auto rows = wf::prod_abs(wf::view<double>(x.data(), {2, 2}), wf::axis{1});
  expect(rows.values.size() == 2 && rows.values[0] == 6 && rows.values[1] == 2, "wf::prod_abs of rows");
  expect(wf::op_named("prod_abs") == op::prod_abs, "its name");
  expect(wf::properties_of(op::prod_abs).elements == "real", "what is told of it");
  expect(wf::find_builtin(op::prod_abs, wf::dtype::c64, wf::accuracy::exact) == nullptr, "what it takes");
  double answer = 0;
  const std::int64_t n = 4;
  const wf_array array{x.data(), WF_F64, 1, &n, nullptr};
  expect(wf_reduce(WF_PROD_ABS, &array, nullptr, nullptr, &answer) == WF_OK && answer == 12, "wf_reduce");

  // States: two halves, merged.
  const wf::state_form form = wf::form_of_states(op::prod_abs, wf::dtype::f64);
  std::vector<std::byte> states[2];
  for (std::size_t k = 0; k < 2; ++k) {
    wf::request r;
    r.what = op::prod_abs;
    r.element = wf::dtype::f64;
    r.inputs.data[0] = x.data() + 2 * k;
    r.inputs.shape = {2};
    r.inputs.strides[0] = {sizeof(double)};
    r.wanted = wf::output::states;
    states[k].resize(form.bytes);
    r.out = states[k].data();
    wf::cpu_backend().run(r);
  }
  wf::merge_states(form, states[0].data(), states[1].data(), 1);
  wf::finish_states(form, {}, states[0].data(), 1, &answer);
  expect(answer == 12, "the answer of merged states");
  judged();
  of_f8();
  // The architecture 11.0, of which launches know how many threads a multiprocessor holds.
  expect(wf::launch_choices_for(11, 0) == wf::launch_choices{256, 3, 2, 32}, "launches on 11.0");
  std::vector<double> powers;
  std::vector<std::int16_t> integers;
  for (int i = 0; i < 800; ++i) {
    powers.push_back(i % 3 == 0 ? -2 : i % 3 == 1 ? 0.5 : -1);
    integers.push_back(static_cast<std::int16_t>(i % 7 == 0 ? -3 : 1));
  }
  on_simt(powers);
  on_simt(integers);
  on_simt(std::vector<float>(powers.begin(), powers.end()));
  std::printf("%d checks of wf::prod_abs, wf::f8 and 11.0\n", checks);
}
