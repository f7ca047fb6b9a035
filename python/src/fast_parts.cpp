// SPDX-License-Identifier: Apache-2.0
/// The quick ways of dot(), of segments and labels, and of fuse(): of arrays of NumPy, with all else as plain as the fast path takes it.
/// Each gives NotImplemented where general code is to be asked, and so for all that is refused.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "device_call.hpp"
#include "views.hpp"

namespace wfpy {

using wf::dtype;
using wf::op;

namespace {

PyObject* not_here() { return Py_NewRef(Py_NotImplemented); }

/// Elements of one array, of a type that views have.
struct elements {
  buffer held;
  std::optional<dtype> type;
  std::int64_t n = 1;

  explicit elements(PyObject* x) : held(x, PyBUF_STRIDES | PyBUF_FORMAT) {
    if (!held.held || held.b.strides == nullptr || held.b.itemsize == 0 || held.b.ndim > wf::max_rank) return;
    type = type_of_format(held.b.format, held.b.itemsize);
    for (int d = 0; d < held.b.ndim; ++d) n *= held.b.shape[d];
  }
  layout at() const { return layout_of(held.b, *type); }
};

/// One function's way, in which errors of the library are general code's to tell.
template <class F>
PyObject* told_by_general(F f) {
  try {
    PyObject* found = f();
    return found == nullptr && PyErr_Occurred() == nullptr ? not_here() : found;
  } catch (const wf::error&) {
    return not_here();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
    return nullptr;
  }
}

bool right_number(Py_ssize_t n, Py_ssize_t wanted, const char* name) {
  if (n != wanted) PyErr_Format(PyExc_TypeError, "%s takes %zd arguments", name, wanted);
  return n == wanted;
}

/// Arrays on a GPU that a library's own way is for; null for others.
const device_call* device_of(PyObject* x) { return device_call_of(reinterpret_cast<PyObject*>(Py_TYPE(x))); }

/// What a call says whose axes are None.
device_call::asked asked_of(PyObject* axis, PyObject* stream, bool keepdims, wf::accuracy how, wf::rounding mode, long long correction) {
  return {axis, Py_None, Py_None, stream, keepdims, how == wf::accuracy::fast, mode, correction, std::nullopt};
}
PyObject* of_device(const device_call& d, std::span<const op> ops, bool several, PyObject* x, const device_call::asked& how) {
  PyObject* const found = d.run(d, ops, several, x, how);
  return found == nullptr && PyErr_Occurred() == nullptr ? not_here() : found;
}

void set_mask(device_call::asked& how, PyObject* where) {
  if (where != Py_None && where != Py_True) how.where = where;
}

/// (op, x, axis, keepdims, correction, rounding): an exact reduction of an array on a GPU. A list of axes is a tuple of them; none are all.
PyObject* on_gpu(PyObject*, PyObject* const* a, Py_ssize_t n) {
  if (!right_number(n, 6, "on_gpu")) return nullptr;
  const device_call* const d = device_of(a[1]);
  const auto mode = rounding_told(a[5]);
  if (d == nullptr || !mode || !PyBool_Check(a[3]) || !PyLong_CheckExact(a[4])) return not_here();
  const long what = PyLong_AsLong(a[0]);
  int beyond = 0;
  const long long divide = PyLong_AsLongLongAndOverflow(a[4], &beyond);
  if (what < 0 || what >= wf::op_count || beyond != 0) {
    PyErr_Clear();
    return not_here();
  }
  nb::object axes = PyList_CheckExact(a[2]) ? nb::steal(PyList_AsTuple(a[2])) : nb::borrow(a[2]);
  if (!axes.is_valid()) return nullptr;
  if (PyTuple_CheckExact(axes.ptr()) && PyTuple_Size(axes.ptr()) == 0) axes = nb::none();
  const auto one = static_cast<op>(what);
  return of_device(*d, std::span(&one, 1), false, a[1], asked_of(axes.ptr(), Py_None, a[3] == Py_True, wf::accuracy::exact, *mode, divide));
}

/// (x, y, axis, keepdims, accuracy, rounding, out, stream, where)
PyObject* dot(PyObject*, PyObject* const* a, Py_ssize_t n) {
  if (!right_number(n, 9, "dot")) return nullptr;
  const auto how = accuracy_told(a[4]);
  const auto mode = rounding_told(a[5]);
  if (const device_call* const d = device_of(a[0]); d != nullptr && how && mode && (*how == wf::accuracy::exact || *mode == wf::rounding::nearest) && PyBool_Check(a[3])) {
    auto asked = asked_of(a[2], a[7], a[3] == Py_True, *how, *mode, 0);
    asked.second = a[1];
    asked.out = a[6];
    set_mask(asked, a[8]);
    const op what = op::dot;
    return of_device(*d, std::span(&what, 1), false, a[0], asked);
  }
  if (!is_numpys(a[0]) || !is_numpys(a[1]) || a[2] != Py_None || a[3] != Py_False || !how || !mode || a[6] != Py_None || a[7] != Py_None || (a[8] != Py_None && a[8] != Py_True) ||
      (*how == wf::accuracy::fast && *mode != wf::rounding::nearest))
    return not_here();
  return told_by_general([&]() -> PyObject* {
    const elements x(a[0]), y(a[1]);
    if (!x.type || x.type != y.type) return nullptr;
    const layout left = x.at(), right = y.at();
    const wf::cpu::erased* f = wf::find_builtin(op::dot, *x.type, *how);
    alignas(16) std::array<std::byte, 64> answer;
    if (left.shape != right.shape || f == nullptr || f->result_size > sizeof answer) return nullptr;
    wf::options options;
    options.rounding = *mode;
    run_beside_others(x.n, [&] { run_pair(*f, options, left, right, answer.data()); });
    return scalar_of(op::dot, *x.type, answer.data());
  });
}

/// (op, x, offsets, labels, answers, correction, accuracy, rounding, stream, where, out): offsets, or labels and how many answers or None.
PyObject* parted(PyObject*, PyObject* const* a, Py_ssize_t n) {
  if (!right_number(n, 11, "parted")) return nullptr;
  const auto how = accuracy_told(a[6]);
  const auto mode = rounding_told(a[7]);
  const bool by_labels = a[2] == Py_None;
  PyObject* const given = by_labels ? a[3] : a[2];
  const bool by_length = !by_labels && PyLong_CheckExact(given);
  const device_call* const d = device_of(a[1]);
  if (!(d != nullptr || (is_numpys(a[1]) && (by_length || is_numpys(given)) && a[8] == Py_None && (a[9] == Py_None || a[9] == Py_True) && a[10] == Py_None)) || !how || !mode || (*how == wf::accuracy::fast && *mode != wf::rounding::nearest))
    return not_here();
  const auto number = [](PyObject* told, std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (told == Py_None) return otherwise;
    int beyond = 0;
    const long long value = PyLong_CheckExact(told) ? PyLong_AsLongLongAndOverflow(told, &beyond) : 0;
    return PyLong_CheckExact(told) && beyond == 0 ? std::optional<std::int64_t>(value) : std::nullopt;
  };
  const auto divide = number(a[5], 0), told = number(a[4], -1);
  const long what = PyLong_AsLong(a[0]);
  if (what < 0 || what >= wf::op_count) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "no such reduction");
    return nullptr;
  }
  if (!divide || !told) return not_here();
  if (d != nullptr) {
    if (by_labels && a[4] == Py_None) return not_here();  // all labels would have to be waited for
    auto asked = asked_of(Py_None, a[8], false, *how, *mode, *divide);
    (by_labels ? asked.labels : asked.offsets) = given;
    asked.answers = *told;
    asked.out = a[10];
    set_mask(asked, a[9]);
    const auto one = static_cast<op>(what);
    return of_device(*d, std::span(&one, 1), false, a[1], asked);
  }
  return told_by_general([&]() -> PyObject* {
    const elements x(a[1]);
    const auto o = static_cast<op>(what);
    if (!x.type || x.held.b.ndim != 1) return nullptr;
    const wf::cpu::erased* f = wf::find_builtin(o, *x.type, *how);
    if (f == nullptr || f->inputs != 1) return nullptr;
    const wf::result_kind kind = wf::result_of_builtin(o, *x.type);
    if (kind.values != 1) return nullptr;
    wf::options options;
    options.rounding = *mode;
    options.correction = *divide;
    std::vector<std::int64_t> ends;
    std::optional<elements> theirs;
    std::span<const std::int64_t> at;
    if (by_length) {
      const auto length = number(given, 0);
      if (!length || *length <= 0) return nullptr;
      ends.reserve(static_cast<std::size_t>((x.n - 1) / *length + 2));
      for (std::int64_t i = 0; i < x.n; i = *length > x.n - i ? x.n : i + *length) ends.push_back(i);
      ends.push_back(x.n);
      at = ends;
    } else {
      theirs.emplace(given);
      const Py_buffer& b = theirs->held.b;
      if (theirs->type != dtype::i64 || b.ndim != 1 || theirs->n == 0 || (theirs->n != 1 && b.strides[0] != 8) || reinterpret_cast<std::uintptr_t>(b.buf) % alignof(std::int64_t) != 0)
        return nullptr;
      at = {static_cast<const std::int64_t*>(b.buf), static_cast<std::size_t>(theirs->n)};
    }
    std::int64_t answers = static_cast<std::int64_t>(at.size()) - 1;
    if (by_labels) {
      answers = *told;
      if (answers < 0 && a[4] == Py_None) {
        std::array<std::int64_t, 4> most = {-1, -1, -1, -1};  // one after the other they would wait for each other
        std::size_t i = 0;
        for (; i + most.size() <= at.size(); i += most.size())
          for (std::size_t k = 0; k < most.size(); ++k) most[k] = std::max(most[k], at[i + k]);
        for (; i < at.size(); ++i) most[0] = std::max(most[0], at[i]);
        answers = *std::max_element(most.begin(), most.end()) + 1;
      }
      if (answers <= 0 || answers == std::numeric_limits<std::int64_t>::max() || static_cast<std::int64_t>(at.size()) != x.n) return nullptr;
      if (answers > 4 * x.n + 1024) return nullptr;  // there may be no room for so many
    }
    const nb::object shape = nb::steal(PyTuple_New(1));
    if (!shape.is_valid()) return nullptr;
    PyTuple_SetItem(shape.ptr(), 0, PyLong_FromLongLong(answers));
    nb::object found = new_numpy(shape.ptr(), kind.type);
    if (!found.is_valid()) return nullptr;
    {
      const buffer to(found.ptr(), PyBUF_WRITABLE);
      if (!to.held) return nullptr;
      run_beside_others(x.n, [&] {
        run_parts(*f, options, x.at(), by_labels ? by_label(x.at(), at, answers) : by_segment(at), to.b.buf);
      });
    }
    return found.release().ptr();
  });
}

/// (ops, x, axis, keepdims, correction, accuracy, rounding, stream, where): of NumPy's arrays one answer of all elements each.
PyObject* fused(PyObject*, PyObject* const* a, Py_ssize_t n) {
  if (!right_number(n, 9, "fused")) return nullptr;
  const auto how = accuracy_told(a[5]);
  const auto mode = rounding_told(a[6]);
  int beyond = 0;
  const long long divide = PyLong_CheckExact(a[4]) ? PyLong_AsLongLongAndOverflow(a[4], &beyond) : 0;
  const device_call* const d = device_of(a[1]);
  const bool here = d != nullptr ? PyBool_Check(a[3]) : is_numpys(a[1]) && a[2] == Py_None && a[3] == Py_False && a[7] == Py_None && (a[8] == Py_None || a[8] == Py_True);
  if (!PyTuple_CheckExact(a[0]) || !here || !PyLong_CheckExact(a[4]) || beyond != 0 || !how || !mode || (*how == wf::accuracy::fast && *mode != wf::rounding::nearest))
    return not_here();
  std::vector<op> ops;
  for (Py_ssize_t k = 0; k < PyTuple_Size(a[0]); ++k) {
    const long what = PyLong_AsLong(PyTuple_GetItem(a[0], k));
    if (what < 0 || what >= wf::op_count) {
      PyErr_Clear();
      return not_here();
    }
    ops.push_back(static_cast<op>(what));
  }
  if (d != nullptr) {
    auto asked = asked_of(a[2], a[7], a[3] == Py_True, *how, *mode, divide);
    set_mask(asked, a[8]);
    return of_device(*d, ops, true, a[1], asked);
  }
  return told_by_general([&]() -> PyObject* {
    const elements x(a[1]);
    if (!x.type || x.n == 0) return nullptr;
    request r;
    r.ops = ops;
    r.accuracy = *how;
    r.options.rounding = *mode;
    r.options.correction = divide;
    const plan made(r, *x.type, false);
    std::vector<std::byte> answers(made.size());
    run_beside_others(x.n, [&] { made.run({}, x.at(), nullptr, answers.data()); });
    const nb::object all = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(r.ops.size())));
    if (!all.is_valid()) return nullptr;
    for (std::size_t k = 0; k < r.ops.size(); ++k) {
      PyObject* one = scalar_of(r.ops[k], *x.type, answers.data() + made.offset(k));
      if (one == nullptr) return nullptr;
      PyTuple_SetItem(all.ptr(), static_cast<Py_ssize_t>(k), one);
    }
    return Py_NewRef(all.ptr());
  });
}

template <class F>
PyCFunction as_method(F f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)); }

PyMethodDef methods[] = {{"dot", as_method(dot), METH_FASTCALL, nullptr},
                         {"parted", as_method(parted), METH_FASTCALL, nullptr},
                         {"on_gpu", as_method(on_gpu), METH_FASTCALL, nullptr},
                         {"fused", as_method(fused), METH_FASTCALL, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_fast_parts(nb::module_& m) { PyModule_AddFunctions(m.ptr(), methods); }

}  // namespace wfpy
