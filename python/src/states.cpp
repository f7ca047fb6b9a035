// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>

#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>

#include "../../src/library/spreads.hpp"
#include "rounded.hpp"
#include "selected.hpp"
#include "views.hpp"

namespace wfpy {

namespace {

template <class State>
void add_view(State& to, const view& v, const view* mask) {
  constexpr bool sum = std::is_same_v<State, wf::exact_sum>;
  const wf::cpu::erased* f = sum ? find_sum_state(v.at.type) : find_moments_state(v.at.type);
  if (f == nullptr) throw wf::error(wf::errc::unsupported, "exact states take real numbers; elements are of type " + std::string(wf::info(v.at.type).name));
  const auto n = v.at.size();
  alignas(State) std::byte more[sizeof(State)];
  const wf::options none;
  std::optional<selected> some;
  if (mask != nullptr) {
    if (mask->at.type != wf::dtype::boolean) throw wf::error(wf::errc::bad_argument, "a mask that is not of bool");
    some.emplace(*f, &none, v.at.type, true);
  }
  const auto run = [&] {
    if (some) {
      run_selected(*some, v.at, mask->at, more);
    } else {
      run_parts(*f, none, v.at, {}, more);
    }
  };
  run_beside_others(n, run);
  State found;
  std::memcpy(static_cast<void*>(&found), more, sizeof found);
  to.merge(found);
}

/// A Python number: an int of any size that a double or 64 bits hold, or a float.
template <class State>
void add_number(State& to, nb::handle x) {
  if (PyLong_Check(x.ptr())) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(x.ptr(), &overflow);
    if (overflow == 0) {
      to.add(static_cast<std::int64_t>(value));
      return;
    }
    const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(x.ptr()) : 0;
    if (overflow > 0 && PyErr_Occurred() == nullptr) {
      to.add(static_cast<std::uint64_t>(large));
      return;
    }
    PyErr_Clear();
    const double rounded = PyLong_AsDouble(x.ptr());
    if (rounded == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    const nb::object back = nb::steal(PyLong_FromDouble(rounded));
    if (PyObject_RichCompareBool(back.ptr(), x.ptr(), Py_EQ) != 1)
      throw wf::error(wf::errc::capacity, "an int that neither 64 bits nor a float hold cannot be added exactly");
    to.add(rounded);
    return;
  }
  const double value = PyFloat_AsDouble(x.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  to.add(value);
}

wf::dtype float_type(int code) {
  const wf::dtype t = dtype_of_code(code);
  if (!wf::is_floating(t)) throw wf::error(wf::errc::unsupported, "dtype=" + std::string(wf::info(t).name) + "; it is a type of floats");
  return t;
}

[[noreturn]] void refuse_unmerge(const char* name, const std::string& why) {
  throw wf::error(wf::errc::bad_argument, std::string(name) + ": " + why);
}

/// The words of `whole` less those of `part`, in canonical form; both are.
template <class Words>
Words without(const char* name, Words whole, const Words& part) {
  const auto n = whole.data()[Words::words - 5], m = part.data()[Words::words - 5];  // the count, before four other counters
  if (m > n) refuse_unmerge(name, std::to_string(m) + " elements cannot be taken out of " + std::to_string(n));
  for (int k = 0; k < Words::words; ++k)
    whole.data()[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(whole.data()[k]) - static_cast<std::uint64_t>(part.data()[k]));
  whole.normalise();
  return whole;
}
constexpr const char* never_in = "what is taken out was not all added before";

/// The state before `part` was merged; docs/states.md says what is lost of -0. `to` changes only if all goes well.
void unmerge(wf::exact_sum& to, const wf::exact_sum& part) {
  using state = wf::exact_sum::state_type;
  const state rest = without("ExactSum", to.state(), part.state());
  if (!wf::exact::detail::plausible(rest)) refuse_unmerge("ExactSum", never_in);
  wf::exact::sum_state<double> words;
  static_cast<state&>(words) = rest;
  wf::exact_sum made;
  made.merge(words);
  to = made;
}
void unmerge(wf::exact_moments& to, const wf::exact_moments& part) {
  using wf::exact_moments;
  const auto whole = to.state(), some = part.state();
  auto sums = without("ExactMoments", static_cast<const wf::exact_sum::state_type&>(whole.first),
                      static_cast<const wf::exact_sum::state_type&>(some.first));
  auto squares = exact_moments::squares_type::identity();
  squares.sum = whole.second;
  for (int k = 0; k < exact_moments::squares_type::digits_type::count; ++k) squares.sum.d[k] -= some.second.d[k];
  const auto& c = sums.seen;
  squares.seen = {c.count, c.nan, c.pos_inf + c.neg_inf, 0, 0};
  squares.normalise();
  std::array<std::byte, exact_moments::byte_size> bytes;
  std::ranges::copy(wf::exact::to_bytes(sums), bytes.begin());
  std::ranges::copy(wf::exact::to_bytes(squares), bytes.begin() + wf::exact_sum::byte_size);
  try {
    to = exact_moments::from_bytes(bytes);  // which looks whether they can be anything's
  } catch (const wf::error&) {
    refuse_unmerge("ExactMoments", never_in);
  }
}

/// f.operator()<U>() of the type that a value is rounded to; what comes back is a double without loss.
template <class F>
double as_type(int code, F f) {
  switch (float_type(code)) {
    case wf::dtype::f16: return static_cast<double>(f.template operator()<wf::f16>());
    case wf::dtype::bf16: return static_cast<double>(f.template operator()<wf::bf16>());
    case wf::dtype::f32: return static_cast<double>(f.template operator()<float>());
    default: return f.template operator()<double>();
  }
}

template <class State>
nb::bytes bytes_of(const State& s) {
  const auto b = s.to_bytes();
  return nb::bytes(b.data(), b.size());
}
template <class State>
State from_bytes(nb::bytes b) {
  return State::from_bytes({static_cast<const std::byte*>(b.data()), b.size()});
}

/// Every method locks its states, where Python has no GIL. Locks of add_view are given up while other threads run; it changes `to` after that.
template <class State>
nb::class_<State> add_common(nb::module_& m, const char* name) {
  return nb::class_<State>(m, name)
      .def(nb::init<>())
      .def("add_view", add_view<State>, nb::lock_self(), nb::arg("x"), nb::arg("mask").none() = nb::none())
      .def("add_number", add_number<State>, nb::lock_self(), nb::arg("x").none())
      .def("merge", [](State& a, const State& b) { a.merge(State(b)); }, nb::lock_self(), nb::arg("other").lock())
      .def("unmerge", [](State& a, const State& b) { unmerge(a, b); }, nb::lock_self(), nb::arg("other").lock())
      .def("copy", [](const State& a) { return State(a); }, nb::lock_self())
      .def("equals", [](const State& a, const State& b) { return a == b; }, nb::lock_self(), nb::arg("other").lock())
      .def("hash", [](const State& a) { return static_cast<Py_hash_t>(a.hash() >> 1); }, nb::lock_self())
      .def_prop_ro("count", [](const State& a) { return a.count(); }, nb::lock_self())
      .def("to_bytes", bytes_of<State>, nb::lock_self())
      .def_static("from_bytes", from_bytes<State>);
}

}  // namespace

void add_states(nb::module_& m) {
  using wf::exact_moments;
  using wf::exact_sum;
  add_common<exact_sum>(m, "Sum")
      .def("value", [](const exact_sum& s, nb::handle mode, int type) {
        const auto r = rounding_named(mode);
        return as_type(type, [&]<class U>() { return s.value<U>(r); });
      }, nb::lock_self(), nb::arg("rounding").none(), nb::arg("dtype"))
      .def("mean", [](const exact_sum& s, nb::handle mode, int type) {
        const auto r = rounding_named(mode);
        return as_type(type, [&]<class U>() { return s.mean<U>(r); });
      }, nb::lock_self(), nb::arg("rounding").none(), nb::arg("dtype"))
      .def("specials", [](const exact_sum& s) {
        const auto c = s.state().seen;
        return nb::make_tuple(c.nan, c.pos_inf, c.neg_inf, c.neg_zero);
      }, nb::lock_self());
  add_common<exact_moments>(m, "Moments")
      .def("finite", [](const exact_moments& s) { return s.state().first.seen.finite(); }, nb::lock_self())
      .def("answer", [](const exact_moments& s, const char* which, std::int64_t correction, nb::handle mode, int type, std::optional<double> fraction) {
        const auto r = rounding_named(mode);
        const std::string name = which;
        wf::exact::scaled found{};
        const auto spread = wf::reductions::spread_of(wf::form_of_states(wf::op::var, wf::dtype::f64), {fraction.value_or(0.5), r, name == "std"});
        const bool is = fraction && spread.answer(s.state().data(), found);
        return as_type(type, [&]<class U>() {
          if (fraction && (name == "var" || name == "std")) return spread.rounded<U>(is, found);
          if (name == "sum") return s.sum<U>(r);
          if (name == "mean") return s.mean<U>(r);
          if (name == "sum_of_squares") return s.sum_of_squares<U>(r);
          if (name == "norm") return s.norm<U>(r);
          if (name == "var") return s.var<U>(correction, r);
          return s.std_dev<U>(correction, r);
        });
      }, nb::lock_self(), nb::arg("which"), nb::arg("correction"), nb::arg("rounding").none(), nb::arg("dtype"), nb::arg("fraction") = nb::none());
}

}  // namespace wfpy
