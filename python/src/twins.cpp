// SPDX-License-Identifier: Apache-2.0
/// What the twins of math.fsum, math.sumprod and statistics need: Python's own numbers, one after the other.
#include <cmath>
#include <limits>

#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>

#include "views.hpp"

namespace wfpy {

namespace {

/// f(element) of each; a Python error is thrown on.
template <class F>
void for_each(nb::handle iterable, F f) {
  PyObject* const x = iterable.ptr();
  // A list may change while a number's own __float__ runs: its length is asked for again each time.
  if (PyList_CheckExact(x)) {
#ifdef Py_GIL_DISABLED  // other threads may change it at any moment
    for (Py_ssize_t i = 0; i < PyList_Size(x); ++i) {
      const nb::object one = nb::steal(PyList_GetItemRef(x, i));
      if (!one.is_valid()) {
        PyErr_Clear();  // it has become shorter
        return;
      }
      f(one);
    }
#else
    for (Py_ssize_t i = 0; i < PyList_Size(x); ++i) f(nb::borrow(PyList_GetItem(x, i)));
#endif
    return;
  }
  const nb::object it = nb::steal(PyObject_GetIter(x));
  if (!it.is_valid()) throw nb::python_error();
  while (PyObject* next = PyIter_Next(it.ptr())) f(nb::steal(next));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
}

double float_of(nb::handle x) {
  const double value = PyFloat_AsDouble(x.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

[[noreturn]] void raise(PyObject* kind, const char* what) {
  PyErr_SetString(kind, what);
  throw nb::python_error();
}

/// The value as math.fsum tells it: no NaN out of infinities, and zero is +0.
double fsum_of(const wf::exact_sum& s) {
  const auto seen = s.state().seen;
  if (seen.pos_inf != 0 && seen.neg_inf != 0) raise(PyExc_ValueError, "-inf + inf in fsum");
  const double value = s.value();
  if (std::isinf(value) && seen.pos_inf + seen.neg_inf == 0) raise(PyExc_OverflowError, "the sum is larger than the largest float");
  return value + 0.0;
}

double fsum(nb::handle iterable) {
  wf::exact_sum s;
  for_each(iterable, [&](const nb::object& x) { s.add(float_of(x)); });
  return fsum_of(s);
}

/// An int that a double holds, too. False for others, and other types.
bool exact_float(nb::handle x, double& value) {
  if (PyFloat_CheckExact(x.ptr())) {
    value = PyFloat_AsDouble(x.ptr());
    return true;
  }
  if (!PyLong_CheckExact(x.ptr())) return false;
  int overflow = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(x.ptr(), &overflow);
  constexpr long long most = 1LL << 53;
  value = static_cast<double>(whole);
  return overflow == 0 && whole <= most && whole >= -most;
}

/// Σ p·q of two lists of one length, or None where they are not floats and small ints with a float among them.
nb::object sumprod(nb::list p, nb::list q) {
  wf::exact_dot s;
  bool floats = false;
  for (std::size_t i = 0; i < p.size() && i < q.size(); ++i) {
    double x = 0, y = 0;
    if (!exact_float(p[i], x) || !exact_float(q[i], y)) return nb::none();
    floats = floats || PyFloat_CheckExact(nb::object(p[i]).ptr()) || PyFloat_CheckExact(nb::object(q[i]).ptr());
    s.add(x, y);
  }
  if (!floats) return nb::none();
  return nb::float_(s.value());
}

/// Adds what is a float or a small int. False, and the state is of no use, if there is anything else, or no float at all.
template <class State>
bool add_all(State& s, nb::handle list) {
  bool known = true, floats = false;
  for_each(list, [&](const nb::object& x) {
    double value = 0;
    known = known && exact_float(x, value);
    floats = floats || PyFloat_CheckExact(x.ptr());
    if (known) s.add(value);
  });
  return known && floats;
}

}  // namespace

void add_twins(nb::module_& m) {
  m.def("fsum", fsum, nb::arg("iterable").none());
  m.def("fsum_of", fsum_of);
  m.def("sumprod", sumprod);
  m.def("sum_all", [](wf::exact_sum& s, nb::list x) { return add_all(s, x); });
  m.def("moments_all", [](wf::exact_moments& s, nb::list x) { return add_all(s, x); });
}

}  // namespace wfpy
