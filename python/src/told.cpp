// SPDX-License-Identifier: Apache-2.0
#include "told.hpp"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>
#include <warpfold/state_check.hpp>

#include "../../src/library/adapted.hpp"
#include "../../src/library/spreads.hpp"
#include "rounded.hpp"
#include "selected.hpp"

namespace wfpy {

using namespace wf;

namespace {

bool is_moments(op o) { return wf::operation_of(o).state == wf::state_kind::moments; }
bool is_place(op o) { return wf::operation_of(o).state == wf::state_kind::places; }

template <class State>
void to_canonical(void* s) {
  auto& state = *static_cast<State*>(s);
  const auto words = state.state();
  static_assert(sizeof words == sizeof(State));  // nothing but the words
  std::memcpy(s, words.data(), sizeof words);
}

std::int64_t count_of(const std::byte* state) {
  std::int64_t n;
  std::memcpy(&n, state, 8);
  return n;
}

template <class U>
void round_all(const exact::sum_state<double>* s, bool mean, rounding mode, void* out) {
  exact_sum sum;
  sum.merge(*s);
  const U r = mean ? sum.mean<U>(mode) : sum.value<U>(mode);
  std::memcpy(out, &r, sizeof r);
}

}  // namespace

state_kind::state_kind(op what, dtype element, bool wide) : element_(element), wide_(wide), form_{} {
  const std::string who = op_names[static_cast<int>(what)];
  if (what == op::dot) throw error(errc::unsupported, "dot: states of two arrays are not made");
  const dtype of = wide ? dtype::f64 : element;
  if (wide && (is_complex(element) || (what != op::sum && what != op::mean && !is_moments(what))))
    throw error(errc::unsupported, who + ": no states of " + std::string(info(element).name) + " in digits of float64");
  builtin(what, element, accuracy::exact);  // refuses what the operation does not take
  form_ = form_of_states(what, of);
  const bool product = what == op::prod && !is_integer(of);
  if (!form_.canonical || product || what == op::logsumexp)
    throw error(errc::unsupported, who + " of " + std::string(info(element).name) +
                                       " depends on the order of the elements, and so on the pieces; it has no state");
}

cpu::erased state_kind::functions() const {
  if (!wide_) return builtin(form_.what, element_, accuracy::exact);
  cpu::erased f = is_moments(form_.what) ? *find_moments_state(element_) : *find_sum_state(element_);
  f.normalise = is_moments(form_.what) ? to_canonical<exact_moments> : to_canonical<exact_sum>;
  return f;
}

void state_kind::check_elements(const layout& x, const counted& c) const {
  const std::string who = op_names[static_cast<int>(form_.what)];
  if (x.type != element_)
    throw error(errc::bad_argument, who + ": elements of " + std::string(info(x.type).name) + " for states of " +
                                        std::string(info(element_).name));
  if (c.mask != nullptr && c.mask->type != dtype::boolean) throw error(errc::bad_argument, who + ": a mask that is not of bool");
  if (is_place(form_.what) && (c.mask != nullptr || c.skip_nans))
    throw error(errc::unsupported, who + ": places are those of all elements; none can be left out");
}

void state_kind::from(const layout& x, std::span<const int> axes, const counted& c, std::int64_t first, void* out) const {
  check_elements(x, c);
  const cpu::erased f = functions();
  const wf::options none;
  const library::adapted told(f, &none, {element_, {}, first, true, nullptr});
  run_counted(told.functions(), told.self(), x, c, along(axes), out);
}

void state_kind::by_label(const layout& x, std::span<const std::int64_t> labels, std::int64_t answers, const counted& c,
                          void* out) const {
  check_elements(x, c);
  const cpu::erased f = functions();
  const wf::options none;
  const library::adapted told(f, &none, {element_, {}, 0, true, nullptr});
  run_counted(told.functions(), told.self(), x, c, wfpy::by_label(x, labels, answers), out);
}

void state_kind::check(const void* states, std::int64_t count) const {
  check_states(form_, {static_cast<const std::byte*>(states), static_cast<std::size_t>(count) * bytes()}, count, "states");
}

void state_kind::settle(void* states, std::int64_t count) const {
  std::vector<std::byte> nothing(bytes());
  clear(nothing.data(), 1);
  for (std::int64_t k = 0; k < count; ++k) {
    if (count_of(at(states, k)) < 0)
      throw error(errc::bad_input, "state " + std::to_string(k) + " has less than no elements, or more than 2^63 - 1");
    merge_states(form_, at(states, k), nothing.data(), 1);
  }
  check(states, count);
}

void state_kind::merge_checked(void* to, const void* later, std::int64_t count) const {
  if (!is_place(form_.what)) {
    merge_states(form_, to, later, count);
    return;
  }
  for (std::int64_t k = 0; k < count; ++k) {  // the first of equals, whichever comes first here
    std::byte* const x = at(to, k);
    const std::byte* const y = at(later, k);
    std::int64_t here, there;
    std::memcpy(&here, x + 16, 8);
    std::memcpy(&there, y + 16, 8);
    if (there >= 0 && there < here) {
      std::array<std::byte, 64> first;
      std::memcpy(first.data(), y, bytes());
      merge_states(form_, first.data(), x, 1);
      std::memcpy(x, first.data(), bytes());
    } else {
      merge_states(form_, x, y, 1);
    }
  }
}

void state_kind::merge(void* to, std::span<const void* const> arrays, std::int64_t count) const {
  for (const void* const array : arrays) check(array, count);
  std::memcpy(to, arrays[0], static_cast<std::size_t>(count) * bytes());
  for (const void* const later : arrays.subspan(1)) merge_checked(to, later, count);
}

void state_kind::merge_along(void* to, const void* from, std::int64_t outer, std::int64_t along, std::int64_t inner) const {
  check(to, outer * inner);
  check(from, outer * along * inner);
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t k = 0; k < along; ++k) merge_checked(at(to, i * inner), at(from, (i * along + k) * inner), inner);
}

void state_kind::merge_by_label(void* to, std::int64_t answers, const void* from, std::span<const std::int64_t> labels) const {
  const auto n = static_cast<std::int64_t>(labels.size());
  check(to, answers);
  check(from, n);
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t label = labels[static_cast<std::size_t>(k)];
    if (label < 0 || label >= answers)
      throw error(errc::bad_argument, "label " + std::to_string(label) + " of state " + std::to_string(k) + "; there are " +
                                          std::to_string(answers) + " answers");
    merge_checked(at(to, label), at(from, k), 1);
  }
}

std::size_t state_kind::answer_bytes(std::optional<dtype> round_to) const {
  return round_to ? info(*round_to).size : builtin(form_.what, form_.element, accuracy::exact).result_size;
}

void state_kind::finish(const options& o, std::optional<double> fraction, std::optional<dtype> round_to, const void* states, std::int64_t count, void* out) const {
  check(states, count);
  if (!round_to) {
    if (!fraction || form_.what == op::mean_var || !is_moments(form_.what)) finish_states(form_, o, states, count, out);
    if (fraction && is_moments(form_.what)) library::finish_spreads(form_, *fraction, o.rounding, states, count, answer_bytes({}), out);
    return;
  }
  const bool mean = form_.what == op::mean;
  if (!wide_ || (!mean && form_.what != op::sum) || !is_floating(*round_to))
    throw error(errc::unsupported, std::string(op_names[static_cast<int>(form_.what)]) + ": such states are not rounded to " +
                                       std::string(info(*round_to).name));
  for (std::int64_t k = 0; k < count; ++k) {
    exact::sum_state<double> s;
    std::memcpy(static_cast<void*>(&s), at(states, k) + 8, sizeof s);
    std::byte* to = static_cast<std::byte*>(out) + static_cast<std::size_t>(k) * info(*round_to).size;
    switch (*round_to) {
      case dtype::f16: round_all<f16>(&s, mean, o.rounding, to); break;
      case dtype::bf16: round_all<bf16>(&s, mean, o.rounding, to); break;
      case dtype::f32: round_all<float>(&s, mean, o.rounding, to); break;
      default: round_all<double>(&s, mean, o.rounding, to);
    }
  }
}

}  // namespace wfpy
