// SPDX-License-Identifier: Apache-2.0
/// What the twins of math.fsum, math.sumprod and statistics need: Python's own numbers, one after the other.
#include <array>
#include <cmath>
#include <limits>
#include <optional>

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

/// Finite doubles by the kernels of arrays, a tile at a time: their sum, or with two of each call that of products.
template <wf::op Op>
class tiles {
 public:
  void add(double x, double y = 0) {
    x_[n_] = x;
    if constexpr (Op == wf::op::dot) y_[n_] = y;
    if (++n_ == x_.size()) put();
  }
  double value() {
    double answer = 0;
    if (before_) {
      put();
      before_->finish(&answer);
    } else {
      const wf::options nearest;
      const void* const both[] = {x_.data(), y_.data()};
      wf::cpu::reduce_run(wf::builtin(Op, wf::dtype::f64, wf::accuracy::exact), &nearest, both, static_cast<std::int64_t>(n_), {}, &answer);
    }
    return answer;
  }

 private:
  void put() {
    if (!before_) {
      request asked;
      asked.ops.push_back(Op);
      before_.emplace(asked, wf::dtype::f64, false);
    }
    before_->add(x_.data(), y_.data(), static_cast<std::int64_t>(n_));
    n_ = 0;
  }

  static constexpr std::size_t size = 1024;
  std::array<double, size> x_;
  std::array<double, Op == wf::op::dot ? size : 1> y_;
  std::size_t n_ = 0;
  std::optional<plan> before_;
};

double fsum(nb::handle iterable) {
  tiles<wf::op::sum> finite;
  wf::exact_sum others;
  for_each(iterable, [&](const nb::object& x) {
    const double value = float_of(x);
    if (std::isfinite(value)) finite.add(value);
    else others.add(value);
  });
  if (others.count() != 0) return fsum_of(others);
  const double value = finite.value();
  if (std::isinf(value)) raise(PyExc_OverflowError, "the sum is larger than the largest float");
  return value + 0.0;
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

/// Σ p·q of two lists of one length that nobody else has, or None where they are not floats and small ints with a float among them.
nb::object sumprod(nb::list p, nb::list q) {
  tiles<wf::op::dot> finite;
  wf::exact_dot others;
  bool floats = false, all_finite = true;
  const auto n = static_cast<Py_ssize_t>(p.size());
  for (Py_ssize_t i = 0; i < n; ++i) {
    const nb::handle left = PyList_GetItem(p.ptr(), i), right = PyList_GetItem(q.ptr(), i);
    double x = 0, y = 0;
    if (!exact_float(left, x) || !exact_float(right, y)) return nb::none();
    floats = floats || PyFloat_CheckExact(left.ptr()) || PyFloat_CheckExact(right.ptr());
    if (std::isfinite(x) && std::isfinite(y)) {
      finite.add(x, y);
    } else {
      others.add(x, y);
      all_finite = false;
    }
  }
  if (!floats) return nb::none();
  return nb::float_(all_finite ? finite.value() : others.value());  // an infinite or NaN product decides alone
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
