// SPDX-License-Identifier: Apache-2.0
/// What the twins of math.fsum, math.sumprod and statistics need: Python's own numbers, one after the other.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
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
    for (Py_ssize_t i = 0; i < PyList_Size(x); ++i) {
      const nb::object one = item_of_list(x, i);
      if (!one.is_valid()) return;
      f(one);
    }
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

/// Finite doubles by the kernels of arrays, a tile at a time: their sum or mean, or with two of each call the sum of products.
template <wf::op Op>
class tiles {
 public:
  void add(double x, double y = 0) {
    x_[n_] = x;
    if constexpr (Op == wf::op::dot) y_[n_] = y;
    if (++n_ == x_.size()) put();
  }
  /// The mean, of tiles<op::mean>. Of 1, 2, 4, … numbers it is the rounded sum over their number, which rounds nothing more. Of few others: the true sum is s + e, where e is the rounded rest; the true mean is then q + (r + e) / n, where r = s - q n is
  /// exact. Both ends of the interval that the errors of e, of r + e and of the quotient leave are added to q: if that gives one number, it is the mean rounded
  /// once. Else, and of many numbers, the kernel of means gives it.
  double mean() {
    if (before_ || n_ > 1000) return value();
    const auto n = static_cast<double>(n_);
    const double s = of_few(), q = s / n, magnitude = std::fabs(q);
    if (s == 0) return 0;
    if (magnitude > 0x1p-900 && magnitude < 0x1p1000) {
      if ((n_ & (n_ - 1)) == 0) return q;
      x_[n_] = -s;
      ++n_;
      const double e = of_few();
      --n_;
      const double r = std::fma(-q, n, s), add = (r + e) / n, error = (std::fabs(r) + std::fabs(e)) / n * 0x1p-50;
      const double low = q + (add - error), high = q + (add + error);
      if (low == high) return low;
    }
    return value();
  }
  double value() {
    if constexpr (Op == wf::op::dot) {
      double few = 0;
      if (!before_ && products_of_few(few)) return few;
    }
    double answer = 0;
    if (before_) {
      put();
      before_->finish(&answer);
    } else {
      const auto n = static_cast<std::int64_t>(n_);
      const wf::cpu::erased& f = wf::builtin(Op, wf::dtype::f64, wf::accuracy::exact);
      if constexpr (Op == wf::op::dot) {
        const wf::extents apart{sizeof(double)};
        run_pair(f, {}, {x_.data(), wf::dtype::f64, {n}, apart}, {y_.data(), wf::dtype::f64, {n}, apart}, &answer);
      } else {
        run_whole(f, {}, x_.data(), n, &answer);
      }
    }
    return answer;
  }

 private:
  /// Sums few products: each is two numbers, what it is rounded to and what that lacks, where neither is lost, and the sum of all of them is rounded once.
  bool products_of_few(double& answer) const {
    tiles<wf::op::sum> parts;
    if (n_ > size / 2 - 1) return false;
    for (std::size_t i = 0; i < n_; ++i) {
      const double p = x_[i] * y_[i], magnitude = std::fabs(p);
      if (!(magnitude > 0x1p-900 && magnitude < 0x1p1000)) return false;
      parts.add(p);
      parts.add(std::fma(x_[i], y_[i], -p));
    }
    answer = parts.value();
    return true;
  }
  double of_few() const {
    double answer = 0;
    run_whole(wf::builtin(wf::op::sum, wf::dtype::f64, wf::accuracy::exact), {}, x_.data(), static_cast<std::int64_t>(n_), &answer);
    return answer;
  }
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

/// All numbers of an iterable: those that are finite, and a state of the others.
template <wf::op Op>
struct numbers {
  tiles<Op> finite;
  std::optional<wf::exact_sum> others;
  bool any = false;

  explicit numbers(nb::handle iterable) {
    for_each(iterable, [this](const nb::object& x) {
      const double value = float_of(x);
      any = true;
      if (std::isfinite(value)) {
        finite.add(value);
      } else {
        if (!others) others.emplace();
        others->add(value);
      }
    });
  }
};

double fsum(nb::handle iterable) {
  numbers<wf::op::sum> given(iterable);
  if (given.others) return fsum_of(*given.others);
  const double value = given.finite.value();
  if (std::isinf(value)) raise(PyExc_OverflowError, "the sum is larger than the largest float");
  return value + 0.0;
}

/// statistics.StatisticsError, which nobody else needs.
[[noreturn]] void raise_statistics_error(const char* what) {
  const nb::object module = nb::steal(PyImport_ImportModule("statistics"));
  if (!module.is_valid()) throw nb::python_error();
  raise(nb::object(module.attr("StatisticsError")).ptr(), what);
}

/// The mean, rounded once.
double fmean(nb::handle iterable) {
  numbers<wf::op::mean> given(iterable);
  if (!given.any) raise_statistics_error("fmean requires at least one data point");
  return given.others ? fsum_of(*given.others) : given.finite.mean() + 0.0;
}

/// As a list that nobody else changes.
nb::object list_of(nb::handle iterable) {
  nb::object made = nb::steal(PySequence_List(iterable.ptr()));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

PyObject* of_arrays = nullptr;  // what answers for arrays, and for quotients of sums that no double holds: (name, what is asked of)

/// The rounded sum of products over the rounded sum of weights; where one of these is near the ends of what doubles hold, the true quotient.
double weighted_mean(nb::handle data, nb::handle weights) {
  const nb::object x = list_of(data), w = list_of(weights);
  tiles<wf::op::dot> products;
  tiles<wf::op::sum> whole;
  std::optional<wf::exact_dot> others;
  std::optional<wf::exact_sum> other_weights;
  const Py_ssize_t n = PyList_Size(x.ptr()), m = PyList_Size(w.ptr());
  for (Py_ssize_t i = 0; i < std::min(n, m); ++i) {
    const double a = float_of(PyList_GetItem(x.ptr(), i)), b = float_of(PyList_GetItem(w.ptr(), i));
    if (std::isfinite(b)) {
      whole.add(b);
    } else {
      if (!other_weights) other_weights.emplace();
      other_weights->add(b);
    }
    if (std::isfinite(a) && std::isfinite(b)) {
      products.add(a, b);
    } else {
      if (!others) others.emplace();
      others->add(a, b);
    }
  }
  if (n != m) raise_statistics_error("data and weights must be the same length");
  if (n == 0) raise_statistics_error("fmean requires at least one data point");
  const double divisor = other_weights ? fsum_of(*other_weights) : whole.value();
  if (divisor == 0) raise_statistics_error("sum of weights must be non-zero");
  const double sum = others ? others->value() : products.value(), quotient = sum / divisor;
  const auto in_range = [](double v) { return std::fabs(v) > 0x1p-900 && std::fabs(v) < 0x1p1000; };
  if (others || other_weights || (in_range(sum) && in_range(divisor) && in_range(quotient))) return quotient;
  const nb::object made = nb::steal(PyObject_CallFunction(of_arrays, "s(OO)", "quotient", x.ptr(), w.ptr()));
  if (!made.is_valid()) throw nb::python_error();
  return float_of(made);
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

/// A number of Python's that a double holds, bools and what is derived from float among them; `floats` is set by floats. False for others.
bool other_number(nb::handle x, double& value, bool& floats) {
  if (PyFloat_Check(x.ptr())) {
    value = PyFloat_AsDouble(x.ptr());
    floats = true;
    return true;
  }
  if (!PyLong_Check(x.ptr())) return false;
  if (exact_float(x, value)) return true;
  value = PyLong_AsDouble(x.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  const nb::object back = nb::steal(PyLong_FromDouble(value));
  return back.is_valid() && PyObject_RichCompareBool(back.ptr(), x.ptr(), Py_EQ) == 1;
}
inline bool exact_number(nb::handle x, double& value, bool& floats) {
  if (!PyFloat_CheckExact(x.ptr())) return other_number(x, value, floats);
  value = PyFloat_AsDouble(x.ptr());
  floats = true;
  return true;
}

/// Σ p·q of two lists of one length that nobody else has, or None where a double does not hold all of them, or none is a float.
nb::object sumprod(nb::list p, nb::list q) {
  tiles<wf::op::dot> finite;
  wf::exact_dot others;
  bool floats = false, all_finite = true;
  const auto n = static_cast<Py_ssize_t>(p.size());
  for (Py_ssize_t i = 0; i < n; ++i) {
    const nb::handle left = PyList_GetItem(p.ptr(), i), right = PyList_GetItem(q.ptr(), i);
    double x = 0, y = 0;
    bool is_float = false;
    if (!exact_number(left, x, is_float) || !exact_number(right, y, is_float)) return nb::none();
    if (!is_float && std::fabs(x * y) >= 0x1p63) return nb::none();  // which Python's ints multiply, and math.sumprod adds as they are
    floats = floats || is_float;
    if (std::isfinite(x) && std::isfinite(y)) {
      finite.add(x, y);
    } else {
      others.add(x, y);
      all_finite = false;
    }
  }
  if (!floats) return nb::none();
  return nb::float_((all_finite ? finite.value() : others.value()) + 0.0);  // an infinite or NaN product decides alone; zero is +0
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

bool is_array(PyObject* x) {
  if (PyList_CheckExact(x) || PyTuple_CheckExact(x)) return false;
  static constexpr const char* protocols[] = {"__dlpack__", "__array_interface__", "__array__", "__arrow_c_stream__", "__arrow_c_array__"};
  return std::any_of(std::begin(protocols), std::end(protocols), [x](const char* name) { return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(x)), name) != 0; });
}

template <class F>
PyObject* as_python(F f) noexcept {
  try {
    return f();
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

PyObject* python_fsum(PyObject*, PyObject* x) {
  if (is_array(x)) return PyObject_CallFunction(of_arrays, "sO", "fsum", x);
  return as_python([x] { return PyFloat_FromDouble(fsum(x)); });
}

/// fmean(data, weights=None)
PyObject* python_fmean(PyObject*, PyObject* const* a, Py_ssize_t n, PyObject* names) {
  PyObject* given[] = {nullptr, Py_None};
  static constexpr const char* parameters[] = {"data", "weights"};
  if (n > 2) {
    PyErr_Format(PyExc_TypeError, "fmean() takes from 1 to 2 positional arguments but %zd were given", n);
    return nullptr;
  }
  std::copy_n(a, n, given);
  for (Py_ssize_t k = 0; names != nullptr && k < PyTuple_Size(names); ++k) {
    PyObject* const name = PyTuple_GetItem(names, k);
    const auto* const at = std::find_if(std::begin(parameters), std::end(parameters), [name](const char* p) { return PyUnicode_CompareWithASCIIString(name, p) == 0; });
    const auto place = at - std::begin(parameters);
    if (place == 2 || place < n) {
      PyErr_Format(PyExc_TypeError, place == 2 ? "fmean() got an unexpected keyword argument '%U'" : "fmean() got multiple values for argument '%U'", name);
      return nullptr;
    }
    given[place] = a[n + k];
  }
  if (given[0] == nullptr) {
    PyErr_SetString(PyExc_TypeError, "fmean() missing 1 required positional argument: 'data'");
    return nullptr;
  }
  if (is_array(given[0]) && given[1] == Py_None) return PyObject_CallFunction(of_arrays, "sO", "fmean", given[0]);
  if (is_array(given[0]) || (given[1] != Py_None && is_array(given[1]))) return PyObject_CallFunction(of_arrays, "s(OO)", "weights", given[0], given[1]);
  return as_python([&] { return PyFloat_FromDouble(given[1] == Py_None ? fmean(given[0]) : weighted_mean(given[0], given[1])); });
}

PyMethodDef methods[] = {
    {"fsum", python_fsum, METH_O, R"(fsum(iterable, /)
--

The sum, as `math.fsum`, but that nothing overflows on the way.

Parameters
----------
iterable : iterable of real numbers
    Each is converted to a float first. An array is summed where it lies, as it is, without
    nulls and masked elements.

Returns
-------
float
    The true sum, rounded once.

Raises
------
OverflowError
    The sum is beyond the largest float, or a number is.
ValueError
    Infinities of both signs.

References
----------
docs/exact.md: how the answer is exact, after R. Neal, "Fast exact summation using small and large superaccumulators" (2015).

Examples
--------
>>> import warpfold as wf
>>> wf.fsum([1e308, 1e308, -1e308])
1e+308
)"},
    {"fmean", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(python_fmean)), METH_FASTCALL | METH_KEYWORDS, R"(fmean(data, weights=None)
--

The mean, as `statistics.fmean`, rounded once.

Parameters
----------
data : iterable of real numbers
    Each is converted to a float first. The elements of an array are taken as they are.
weights : iterable of real numbers, optional
    One for each of the data.

Returns
-------
float
    The mean; with weights, it is the rounded sum of products over the rounded sum of weights, and where one of these is too large
    or too small for a float, the true quotient, rounded once.

Raises
------
statistics.StatisticsError
    There are no data, or weights are not as many, or add up to 0.
TypeError
    Numbers that are none; with weights, arrays with nulls or masked elements.

References
----------
docs/exact.md: how the answer is exact, after R. Neal, "Fast exact summation using small and large superaccumulators" (2015).

Examples
--------
>>> import warpfold as wf
>>> wf.fmean([3.5, 4.0, 5.25])
4.25
)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_twins(nb::module_& m) {
  PyModule_AddFunctions(m.ptr(), methods);
  m.def("use_arrays", [](nb::object f) { of_arrays = f.release().ptr(); });
  m.def("fsum_of", fsum_of);
  m.def("sumprod", sumprod);
  m.def("sum_all", [](wf::exact_sum& s, nb::list x) { return add_all(s, x); });
  m.def("moments_all", [](wf::exact_moments& s, nb::list x) { return add_all(s, x); });
}

}  // namespace wfpy
