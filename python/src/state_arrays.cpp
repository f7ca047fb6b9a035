// SPDX-License-Identifier: Apache-2.0
// Arrays of states for Python: bytes without gaps, one state after the other.
#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>

#include "told.hpp"
#include "views.hpp"

namespace wfpy {

namespace {

/// Memory of a Python object without gaps.
class room {
 public:
  room(nb::handle x, bool written) {
    if (PyObject_GetBuffer(x.ptr(), &b_, written ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  room(const room&) = delete;
  ~room() { PyBuffer_Release(&b_); }

  void* get() const { return b_.buf; }
  /// As many states as there are. Throws wf::error where bytes are missing or too much.
  std::int64_t states(const state_kind& k) const {
    const auto size = static_cast<std::size_t>(b_.len);
    if (size % k.bytes() != 0)
      throw wf::error(wf::errc::bad_input, std::to_string(size) + " bytes; states of " + wf::op_names[static_cast<int>(k.form().what)] +
                                               " of " + std::string(wf::info(k.form().element).name) + " have " +
                                               std::to_string(k.bytes()) + " each");
    return static_cast<std::int64_t>(size / k.bytes());
  }
  void need(std::size_t bytes) const {
    if (static_cast<std::size_t>(b_.len) != bytes)
      throw wf::error(wf::errc::bad_argument, "room of " + std::to_string(b_.len) + " bytes; there must be " + std::to_string(bytes));
  }

 private:
  Py_buffer b_{};
};

void as_many(std::int64_t a, std::int64_t b) {
  if (a != b) throw wf::error(wf::errc::bad_argument, std::to_string(a) + " states and " + std::to_string(b) + "; there must be as many");
}

std::span<const std::int64_t> labels_of(const view& v) {
  if (v.at.type != wf::dtype::i64 || v.at.shape.size() != 1 || !v.at.contiguous() ||
      reinterpret_cast<std::uintptr_t>(v.at.data) % alignof(std::int64_t) != 0)
    throw wf::error(wf::errc::bad_argument, "labels are not aligned 64-bit integers in one dimension");
  return {static_cast<const std::int64_t*>(v.at.data), static_cast<std::size_t>(v.at.shape[0])};
}

std::optional<wf::dtype> type_of(std::optional<int> code) {
  return code ? std::optional(dtype_of_code(*code)) : std::nullopt;
}

/// Where the digits lie that sums of floats, `words` words each, differ in: those from first to end, and the sign above. No end: other states than of finite sums of
/// as many elements each.
struct narrow_digits {
  std::int64_t count = 0, first = 0, end = 0;
};
constexpr std::int64_t counters_of_sum = 5;  // behind the digits: elements, NaNs, infinities, negative ones, whether all are -0

narrow_digits narrow_of(const std::int64_t* w, std::int64_t n, std::int64_t words) {
  const std::int64_t digits = words - 1 - counters_of_sum;
  if (n == 0 || digits < 2) return {};
  narrow_digits found{w[0], digits, 1};
  for (std::int64_t i = 0; i < n; ++i, w += words) {
    const std::int64_t *const d = w + 1, *const seen = d + digits, sign = d[digits - 1], above = sign & 0xffffffff;
    if (w[0] != found.count || seen[0] != found.count || (seen[1] | seen[2] | seen[3] | seen[4]) != 0 || (sign != 0 && sign != -1)) return {};
    std::int64_t end = digits - 1, first = 0;
    while (end > found.end && d[end - 1] == above) --end;
    while (first < found.first && d[first] == 0) ++first;
    found.end = std::max(found.end, end);
    found.first = std::min(found.first, first);
  }
  found.first = std::min(found.first, found.end - 1);
  return found;
}

/// A state in the words of states of float64, without the number of elements before them.
template <class State>
State of_words(const void* told);
template <>
wf::exact_sum of_words(const void* told) {
  wf::exact::sum_state<double> words;
  std::memcpy(static_cast<void*>(&words), told, sizeof words);
  wf::exact_sum s;
  s.merge(words);
  return s;
}
template <>
wf::exact_moments of_words(const void* told) {
  wf::exact_moments::state_type words;
  std::memcpy(static_cast<void*>(&words), told, sizeof words);
  std::array<std::byte, wf::exact_moments::byte_size> bytes;  // as stored, and so looked at when it is read
  auto squares = wf::exact_moments::squares_type::identity();
  squares.sum = words.second;
  const wf::exact::counters& c = words.first.seen;
  squares.seen = {c.count, c.nan, c.pos_inf + c.neg_inf, 0, 0};
  const auto first = wf::exact::to_bytes<68, -1074>(words.first);
  const auto second = wf::exact::to_bytes<134, -2148>(squares);
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), bytes.begin()));
  return wf::exact_moments::from_bytes(bytes);
}

/// Between an ExactSum or ExactMoments and an array of one state.
template <class State>
void add_words(nb::module_& m, const char* to_name, const char* from_name, wf::op what) {
  m.def(to_name, [](const State& s) {
    const auto words = s.state();
    const std::int64_t n = s.count();
    std::vector<std::byte> told(8 + sizeof words);
    std::memcpy(told.data(), &n, 8);
    std::memcpy(told.data() + 8, words.data(), sizeof words);
    return nb::bytes(told.data(), told.size());
  });
  m.def(from_name, [what](nb::bytes told) {
    const state_kind k(what, wf::dtype::f64, true);
    if (told.size() != k.bytes())
      throw wf::error(wf::errc::bad_input, std::to_string(told.size()) + " bytes; such a state has " + std::to_string(k.bytes()));
    k.check(told.data(), 1);
    return of_words<State>(static_cast<const std::byte*>(told.data()) + 8);
  });
}

}  // namespace

void add_state_arrays(nb::module_& m) {
  nb::class_<state_kind>(m, "StateKind")
      .def("__init__",
           [](state_kind* self, int what, int element, bool wide) {
             if (what < 0 || what >= wf::op_count) throw wf::error(wf::errc::bad_argument, "no such reduction");
             new (self) state_kind(static_cast<wf::op>(what), dtype_of_code(element), wide);
           })
      .def_prop_ro("bytes", [](const state_kind& k) { return k.bytes(); })
      .def_prop_ro("adds", [](const state_kind& k) { return k.form().adds; })
      .def("from_view",
           [](const state_kind& k, const view& x, const view* mask, bool skip_nans, std::vector<int> axes, std::int64_t first, int threads,
              nb::handle out) {
             const room to(out, true);
             std::size_t answers = 1;
             for (std::size_t d = 0; d < x.at.shape.size(); ++d)
               if (std::find(axes.begin(), axes.end(), static_cast<int>(d)) == axes.end()) answers *= static_cast<std::size_t>(x.at.shape[d]);
             to.need(answers * k.bytes());
             const counted c{mask == nullptr ? nullptr : &mask->at, skip_nans, threads};
             const gil_released others_run;
             k.from(x.at, wf::cpu::checked_axes(axes, static_cast<int>(x.at.shape.size()), "states"), c, first, to.get());
           },
           nb::arg("x"), nb::arg("mask").none(), nb::arg("skip_nans"), nb::arg("axes"), nb::arg("first"), nb::arg("threads"), nb::arg("out"))
      .def("by_label",
           [](const state_kind& k, const view& x, const view* mask, bool skip_nans, const view& labels, std::int64_t answers, nb::handle out) {
             const room to(out, true);
             to.need(static_cast<std::size_t>(answers) * k.bytes());
             const counted c{mask == nullptr ? nullptr : &mask->at, skip_nans, 0};
             const gil_released others_run;
             k.by_label(x.at, labels_of(labels), answers, c, to.get());
           },
           nb::arg("x"), nb::arg("mask").none(), nb::arg("skip_nans"), nb::arg("labels"), nb::arg("answers"), nb::arg("out"))
      .def("clear",
           [](const state_kind& k, nb::handle states) {
             const room to(states, true);
             k.clear(to.get(), to.states(k));
           })
      // For sums of floats whose digits lie narrow: how many elements each is of, and from where to where those digits lie that differ; None for others.
      .def("narrow_of",
           [](const state_kind& k, nb::handle states) -> std::optional<std::vector<std::int64_t>> {
             const room at(states, false);
             const std::int64_t n = at.states(k);
             narrow_digits found;
             {
               const gil_released others_run;
               found = narrow_of(static_cast<const std::int64_t*>(at.get()), n, static_cast<std::int64_t>(k.bytes() / 8));
             }
             if (found.end == 0) return std::nullopt;
             return std::vector{found.count, found.first, found.end};
           })
      // Those digits, the first of all states and then the next, the last with the sign above it.
      .def("narrow",
           [](const state_kind& k, nb::handle states, std::int64_t first, std::int64_t end, nb::handle out) {
             const room at(states, false), to(out, true);
             const std::int64_t n = at.states(k), words = static_cast<std::int64_t>(k.bytes() / 8), digits = words - 1 - counters_of_sum;
             if (first < 0 || first >= end || end >= digits) throw wf::error(wf::errc::bad_argument, "no such digits");
             to.need(static_cast<std::size_t>(n * (end - first)) * 8);
             auto* const into = static_cast<std::int64_t*>(to.get());
             const auto* w = static_cast<const std::int64_t*>(at.get());
             const gil_released others_run;
             for (std::int64_t i = 0; i < n; ++i, w += words) {
               for (std::int64_t d = first; d < end; ++d) into[(d - first) * n + i] = w[1 + d];
               into[(end - 1 - first) * n + i] += w[digits] * (std::int64_t{1} << 32);
             }
           },
           nb::arg("states"), nb::arg("first"), nb::arg("end"), nb::arg("out"))
      .def("check",
           [](const state_kind& k, nb::handle states) {
             const room at(states, false);
             k.check(at.get(), at.states(k));
           })
      .def("settle",
           [](const state_kind& k, nb::handle states) {
             const room to(states, true);
             k.settle(to.get(), to.states(k));
           })
      .def("merge",
           [](const state_kind& k, nb::handle to, nb::list arrays) {
             const room a(to, true);
             std::deque<room> from;
             std::vector<const void*> places;
             for (const nb::handle x : arrays) {
               places.push_back(from.emplace_back(x, false).get());
               as_many(a.states(k), from.back().states(k));
             }
             if (places.empty()) throw wf::error(wf::errc::bad_argument, "no arrays of states; there must be one");
             const gil_released others_run;
             k.merge(a.get(), places, a.states(k));
           })
      .def("merge_along",
           [](const state_kind& k, nb::handle to, nb::handle from, std::int64_t outer, std::int64_t along, std::int64_t inner) {
             const room a(to, true), b(from, false);
             as_many(a.states(k), outer * inner);
             as_many(b.states(k), outer * along * inner);
             const gil_released others_run;
             k.merge_along(a.get(), b.get(), outer, along, inner);
           })
      .def("merge_by_label",
           [](const state_kind& k, nb::handle to, nb::handle from, const view& labels) {
             const room a(to, true), b(from, false);
             as_many(b.states(k), labels.at.size());
             const gil_released others_run;
             k.merge_by_label(a.get(), a.states(k), b.get(), labels_of(labels));
           })
      .def("answer_bytes", [](const state_kind& k, std::optional<int> round_to) { return k.answer_bytes(type_of(round_to)); },
           nb::arg("round_to").none())
      .def("finish",
           [](const state_kind& k, nb::handle states, nb::handle rounding, std::int64_t correction, std::optional<int> round_to, nb::handle out, std::optional<double> fraction) {
             const room from(states, false), to(out, true);
             const auto type = type_of(round_to);
             to.need(static_cast<std::size_t>(from.states(k)) * k.answer_bytes(type));
             wf::options o;
             o.rounding = rounding_named(rounding);
             o.correction = correction;
             const gil_released others_run;
             k.finish(o, fraction, type, from.get(), from.states(k), to.get());
           },
           nb::arg("states"), nb::arg("rounding").none(), nb::arg("correction"), nb::arg("round_to").none(), nb::arg("out"), nb::arg("fraction") = nb::none());
  add_words<wf::exact_sum>(m, "words_of_sum", "sum_of_words", wf::op::sum);
  add_words<wf::exact_moments>(m, "words_of_moments", "moments_of_words", wf::op::mean_var);
  m.attr("state_version") = wf::state_version;
}

}  // namespace wfpy
