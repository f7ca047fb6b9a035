// SPDX-License-Identifier: Apache-2.0
#include "told.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <warpfold/exact/exact_moments.hpp>
#include <warpfold/exact/exact_sum.hpp>

#include "rounded.hpp"
#include "selected.hpp"

namespace wfpy {

using namespace wf;

namespace {

bool is_moments(op o) { return o == op::var || o == op::std_dev || o == op::mean_var; }
bool is_place(op o) { return o == op::argmin || o == op::argmax; }

/// The functions of a reduction whose answer is its state, as it is told outside. `r` outlives this.
class telling {
 public:
  telling(const cpu::erased& r, std::size_t bytes, std::int64_t first, void (*normalise)(void*))
      : r_(r), bytes_(bytes), first_(first), normalise_(normalise), functions_(r) {
    functions_.short_run = nullptr;
    functions_.proves = nullptr;  // a proof has no state
    functions_.result_size = bytes;
    functions_.identity = [](const void* p, void* s) { as(p).r_.identity(&as(p).none_, s); };
    functions_.accumulate = [](const void* p, void* s, const void* const* x, std::int64_t n, std::int64_t at) {
      as(p).r_.accumulate(&as(p).none_, s, x, n, as(p).first_ + at);
    };
    functions_.combine = [](const void* p, void* s, const void* later) { as(p).r_.combine(&as(p).none_, s, later); };
    functions_.finish = [](const void* p, const void* s, std::int64_t n, void* out) {
      const telling& me = as(p);
      alignas(64) std::array<std::byte, 4096> copy;
      std::memcpy(copy.data(), s, me.r_.state_size);
      if (me.normalise_ != nullptr) me.normalise_(copy.data());
      auto* to = static_cast<std::byte*>(out);
      std::memcpy(to, &n, 8);
      std::memset(to + 8, 0, me.bytes_ - 8);
      std::memcpy(to + 8, copy.data(), me.r_.state_size);
    };
  }
  telling(const telling&) = delete;

  const cpu::erased& functions() const { return functions_; }

 private:
  static const telling& as(const void* p) { return *static_cast<const telling*>(p); }

  const cpu::erased& r_;
  std::size_t bytes_;
  std::int64_t first_;
  void (*normalise_)(void*);
  wf::options none_;
  cpu::erased functions_;
};

template <class State>
void to_canonical(void* s) {
  auto& state = *static_cast<State*>(s);
  const auto words = state.state();
  static_assert(sizeof words == sizeof(State));  // nothing but the words
  std::memcpy(s, words.data(), sizeof words);
}

[[noreturn]] void foreign(const state_form& f, std::int64_t k, const std::string& why) {
  throw error(errc::bad_input, "state " + std::to_string(k) + " is none of " + op_names[static_cast<int>(f.what)] + " of " +
                                   std::string(info(f.element).name) + ": " + why);
}

/// The parts of a state's words, in their order.
struct parts {
  enum kind { digits, squares, counters, flag, key, place, up_to_count, any };
  struct part {
    kind what;
    int words;
    std::uint64_t each = 1;  ///< counters: how many they count for an element
  };
  std::vector<part> list;
};

parts parts_of(const state_form& f) {
  const int words = static_cast<int>(f.bytes / 8) - 1;
  const bool complex = is_complex(f.element);
  switch (f.what) {
    case op::min: case op::max: case op::minmax: case op::norm_inf: return {{{parts::key, 2}, {parts::flag, 1}}};
    case op::argmin: case op::argmax: return {{{parts::key, 1}, {parts::place, 1}, {parts::flag, 1}}};
    case op::any: case op::all: case op::count: case op::count_nonzero: return {{{parts::up_to_count, 1}}};
    default: break;
  }
  if (words == 1) return {{{parts::any, 1}}};
  if (is_moments(f.what)) {
    const int each = complex ? words / 2 : words;
    const dtype part = complex ? (f.element == dtype::c64 ? dtype::f32 : dtype::f64) : is_integer(f.element) ? dtype::f64 : f.element;
    const int first = static_cast<int>(form_of_states(op::sum, part).bytes / 8) - 6;
    parts p{{{parts::digits, first}, {parts::counters, 5}, {parts::squares, each - first - 5}}};
    if (complex) p.list.insert(p.list.end(), {p.list[0], p.list[1], p.list[2]});
    return p;
  }
  const bool twice = complex && (f.what == op::sum || f.what == op::mean);
  const int each = twice ? words / 2 : words;
  parts p{{{parts::digits, each - 5}, {parts::counters, 5, complex && !twice ? 2u : 1u}}};  // |x|² counts both parts of each element
  if (twice) p.list.insert(p.list.end(), {p.list[0], p.list[1]});
  return p;
}

/// Null, or what is wrong with a state.
const char* wrong_with(const parts& p, const std::byte* state) {
  const auto word = [state](int k) {
    std::int64_t w;
    std::memcpy(&w, state + 8 * static_cast<std::size_t>(k), 8);
    return w;
  };
  const std::int64_t n = word(0);
  if (n < 0) return "less than no elements";
  int at = 1;
  for (const parts::part& one : p.list) {
    switch (one.what) {
      case parts::digits:
      case parts::squares: {
        std::uint64_t high = 0;
        for (int k = 0; k < one.words - 1; ++k) high |= static_cast<std::uint64_t>(word(at + k)) >> 32;
        const std::int64_t top = word(at + one.words - 1);
        if (high != 0 || top != static_cast<std::int32_t>(top)) return "digits of more than 32 bits";
        if (one.what == parts::squares && top < 0) return "a sum of squares below 0";
        break;
      }
      case parts::counters: {
        const std::uint64_t all = one.each * static_cast<std::uint64_t>(n);
        std::uint64_t left = all;
        for (int k = 1; k < 5; ++k) {
          const auto some = static_cast<std::uint64_t>(word(at + k));
          if (some > left) return "more special elements than elements";
          left -= some;
        }
        if (static_cast<std::uint64_t>(word(at)) != all) return "two numbers of elements";
        if (word(at + 4) != 0 && word(at + 4) != word(at)) return "elements that are -0, beside others";
        break;
      }
      case parts::flag:
        if (word(at) != 0 && word(at) != 1) return "a mark of a NaN that is neither 0 nor 1";
        break;
      case parts::place:
        if ((word(at) < 0) != (n == 0) || word(at) < -1) return "a place that is none";
        break;
      case parts::up_to_count:
        if (word(at) < 0 || word(at) > n) return "more elements that count than elements";
        break;
      case parts::key:
      case parts::any: break;
    }
    at += one.words;
  }
  return nullptr;
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

const cpu::erased& state_kind::functions() const {
  if (!wide_) return builtin(form_.what, element_, accuracy::exact);
  return is_moments(form_.what) ? *find_moments_state(element_) : *find_sum_state(element_);
}

void (*state_kind::canonical() const)(void*) {
  if (!wide_) return functions().normalise;
  return is_moments(form_.what) ? to_canonical<exact_moments> : to_canonical<exact_sum>;
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
  const telling told(functions(), bytes(), first, canonical());
  run_counted(told.functions(), &told, x, c, axes, out);
}

void state_kind::by_label(const layout& x, std::span<const std::int64_t> labels, std::int64_t answers, const counted& c,
                          void* out) const {
  check_elements(x, c);
  const telling told(functions(), bytes(), 0, canonical());
  run_counted(told.functions(), &told, x, c, labels, answers, out);
}

void state_kind::check(const void* states, std::int64_t count) const {
  const parts p = parts_of(form_);
  for (std::int64_t k = 0; k < count; ++k)
    if (const char* why = wrong_with(p, at(states, k))) foreign(form_, k, why);
}

void state_kind::settle(void* states, std::int64_t count) const {
  std::vector<std::byte> nothing(bytes());
  clear(nothing.data(), 1);
  for (std::int64_t k = 0; k < count; ++k) {
    if (count_of(at(states, k)) < 0) foreign(form_, k, "less than no elements, or more than 2^63 - 1");
    merge_states(form_, at(states, k), nothing.data(), 1);
  }
  check(states, count);
}

void state_kind::merge_checked(std::byte* to, const std::byte* later) const {
  if (is_place(form_.what)) {  // the first of equals, whichever comes first here
    std::int64_t here, there;
    std::memcpy(&here, to + 16, 8);
    std::memcpy(&there, later + 16, 8);
    if (there >= 0 && there < here) {
      std::array<std::byte, 64> first;
      std::memcpy(first.data(), later, bytes());
      merge_states(form_, first.data(), to, 1);
      std::memcpy(to, first.data(), bytes());
      return;
    }
  }
  merge_states(form_, to, later, 1);
}

void state_kind::merge(void* to, const void* later, std::int64_t count) const {
  check(to, count);
  check(later, count);
  if (!is_place(form_.what)) {
    merge_states(form_, to, later, count);
    return;
  }
  for (std::int64_t k = 0; k < count; ++k) merge_checked(at(to, k), at(later, k));
}

void state_kind::merge_along(void* to, const void* from, std::int64_t outer, std::int64_t along, std::int64_t inner) const {
  check(to, outer * inner);
  check(from, outer * along * inner);
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t k = 0; k < along; ++k) {
      if (!is_place(form_.what)) {
        merge_states(form_, at(to, i * inner), at(from, (i * along + k) * inner), inner);
        continue;
      }
      for (std::int64_t j = 0; j < inner; ++j) merge_checked(at(to, i * inner + j), at(from, (i * along + k) * inner + j));
    }
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
    merge_checked(at(to, label), at(from, k));
  }
}

std::size_t state_kind::answer_bytes(std::optional<dtype> round_to) const {
  return round_to ? info(*round_to).size : builtin(form_.what, form_.element, accuracy::exact).result_size;
}

void state_kind::finish(const options& o, std::optional<dtype> round_to, const void* states, std::int64_t count, void* out) const {
  check(states, count);
  if (!round_to) {
    finish_states(form_, o, states, count, out);
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
