// SPDX-License-Identifier: Apache-2.0
/// Arrays of NumPy, and those on a GPU of libraries that were told of, over all or some axes and all else left at its default, are
/// answered before general code is asked; so are those of accuracy="fast", and on a GPU those that have an out= or a stream=. Everything else goes to warpfold._general.reduce.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "device_call.hpp"
#include "views.hpp"

namespace wfpy {

using wf::dtype;
using wf::op;

namespace {

constexpr std::int64_t worth_releasing = 1 << 13;  // elements; fewer are summed before another thread has begun

// Set once, when NumPy is first needed, and kept for good; ndarray_type last, by which threads without a GIL see the others.
std::atomic<PyObject*> ndarray_type = nullptr;
std::array<PyObject*, wf::dtypes.size()> scalar_types{};
std::array<PyObject*, wf::dtypes.size()> dtypes{};
PyObject *exact_name, *fast_name, *nearest_name, *general, *empty;
std::array<std::atomic<const device_call*>, 8> on_devices{};  // those in use come first

enum argument { which, array, axis, type, keepdims, correction, accuracy, rounding, where, out, stream, arguments };

PyObject* number_of(dtype type, const void* p) {
  const auto read = [p]<class T>(T x) {
    std::memcpy(static_cast<void*>(&x), p, sizeof x);
    return x;
  };
  PyObject* plain = nullptr;
  switch (type) {
    case dtype::f64: plain = PyFloat_FromDouble(read(double{})); break;
    case dtype::f32: plain = PyFloat_FromDouble(static_cast<double>(read(float{}))); break;
    case dtype::f16: plain = PyFloat_FromDouble(static_cast<double>(read(wf::f16{}))); break;
    case dtype::bf16: plain = PyFloat_FromDouble(static_cast<double>(read(wf::bf16{}))); break;
    case dtype::i64: plain = PyLong_FromLongLong(read(std::int64_t{})); break;
    case dtype::u64: plain = PyLong_FromUnsignedLongLong(read(std::uint64_t{})); break;
    case dtype::i32: plain = PyLong_FromLong(read(std::int32_t{})); break;
    case dtype::u32: plain = PyLong_FromUnsignedLong(read(std::uint32_t{})); break;
    case dtype::i16: plain = PyLong_FromLong(read(std::int16_t{})); break;
    case dtype::u16: plain = PyLong_FromLong(read(std::uint16_t{})); break;
    case dtype::i8: plain = PyLong_FromLong(read(std::int8_t{})); break;
    case dtype::u8: plain = PyLong_FromLong(read(std::uint8_t{})); break;
    case dtype::boolean: plain = PyBool_FromLong(read(std::uint8_t{})); break;
    case dtype::c64: {
      const auto z = read(std::array<float, 2>{});
      plain = PyComplex_FromDoubles(static_cast<double>(z[0]), static_cast<double>(z[1]));
      break;
    }
    case dtype::c128: {
      const auto z = read(std::array<double, 2>{});
      plain = PyComplex_FromDoubles(z[0], z[1]);
      break;
    }
  }
  const auto k = static_cast<std::size_t>(type);
  PyObject* made = k < scalar_types.size() ? scalar_types[k] : nullptr;
  if (plain == nullptr || made == nullptr) return plain;
  PyObject* scalar = PyObject_CallFunctionObjArgs(made, plain, nullptr);
  Py_DECREF(plain);
  return scalar;
}

bool is(PyObject* given, PyObject* text) {
  return given == text || (PyUnicode_CheckExact(given) && PyUnicode_Compare(given, text) == 0);
}

bool all_default(PyObject* const* a, bool on_device) {
  return a[type] == Py_None && a[where] == Py_None && (a[stream] == Py_None || on_device) && (a[correction] == Py_None || PyLong_CheckExact(a[correction])) &&
         is(a[rounding], nearest_name) && (a[keepdims] == Py_False || (a[keepdims] == Py_True && a[axis] != Py_None));
}

struct buffer {
  Py_buffer b{};
  bool held = false;
  buffer(PyObject* x, int flags) : held(PyObject_GetBuffer(x, &b, flags) == 0) {
    if (!held) PyErr_Clear();
  }
  buffer(const buffer&) = delete;
  ~buffer() {
    if (held) PyBuffer_Release(&b);
  }
};

template <class F>
void run_beside_others(std::int64_t n, F f) {
  if (n < worth_releasing) {
    f();
  } else {
    const nb::gil_scoped_release others_run;
    f();
  }
}

/// As NumPy has it, answers lie in the order of their elements. Where the dimensions that are kept are not in the order of memory, they are put into it, before those that are
/// reduced. Else nothing is done, and false.
template <class F>
bool put_in_memory_order(std::vector<int>& order, const layout& x, F is_reduced) {
  const auto distance = [&](int d) {  // of what has no neighbours the greatest
    const std::int64_t stride = std::abs(x.strides[static_cast<std::size_t>(d)]);
    return x.shape[static_cast<std::size_t>(d)] == 1 || stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride;
  };
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  bool sorted = true;
  for (const int d : order) {
    if (is_reduced(d) || distance(d) == std::numeric_limits<std::int64_t>::max()) continue;
    sorted = sorted && distance(d) <= before;
    before = distance(d);
  }
  if (sorted) return false;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (is_reduced(a) || is_reduced(b)) return !is_reduced(a) && is_reduced(b);
    return distance(a) > distance(b);
  });
  return true;
}

/// `answers`, whose dimension k is number order[k] of those that are wanted, by rising numbers.
PyObject* turned_back(PyObject* answers, const std::vector<int>& order) {
  const nb::object places = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(order.size())));
  if (!places.is_valid()) return nullptr;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto before = std::count_if(order.begin(), order.end(), [&](int d) { return d < order[k]; });
    PyTuple_SetItem(places.ptr(), before, PyLong_FromSize_t(k));
  }
  return PyObject_CallMethod(answers, "transpose", "O", places.ptr());
}

/// The answers; null without a Python error if this is not for the fast path.
PyObject* quick(op o, PyObject* x, PyObject* given_axes, bool keep, std::int64_t divide, wf::accuracy how) {
  const buffer held(x, PyBUF_STRIDES | PyBUF_FORMAT);
  const Py_buffer& b = held.b;
  const auto element = held.held ? type_of_format(b.format, b.itemsize) : std::nullopt;
  if (!element || b.itemsize == 0 || b.strides == nullptr) return nullptr;
  const wf::cpu::erased* f = wf::find_builtin(o, *element, how);
  if (f == nullptr || f->inputs != 1) return nullptr;
  std::int64_t n = 1;
  bool gaps = false;
  for (int d = b.ndim; d-- > 0;) {
    gaps = gaps || (b.shape[d] != 1 && b.strides[d] != n * b.itemsize);
    n *= b.shape[d];
  }
  if (n == 0) return nullptr;
  wf::options options;
  options.correction = divide;
  if (given_axes == Py_None && !gaps) {
    alignas(16) std::array<std::byte, 64> answer;
    run_beside_others(n, [&] { run_whole(*f, options, b.buf, n, answer.data()); });
    return scalar_of(o, *element, answer.data());
  }

  const wf::result_kind kind = wf::result_of_builtin(o, *element);
  const bool one_axis = wf::operation_of(o).state == wf::state_kind::places;  // the words for others are general code's
  if (given_axes == Py_None || b.ndim > wf::max_rank || kind.values != 1 || (one_axis && !PyLong_Check(given_axes))) return nullptr;
  std::vector<int> axes;
  if (!read_axes(given_axes, b.ndim, axes) || (axes.size() == static_cast<std::size_t>(b.ndim) && !keep)) return nullptr;
  layout at{b.buf, *element, wf::extents(b.shape, b.shape + b.ndim), wf::extents(b.strides, b.strides + b.ndim)};
  std::vector<int> order(static_cast<std::size_t>(b.ndim)), reduced_last;
  std::iota(order.begin(), order.end(), 0);
  const auto is_reduced = [&](int d) { return std::find(axes.begin(), axes.end(), d) != axes.end(); };
  const bool turned = put_in_memory_order(order, at, is_reduced);
  if (turned) {
    layout other{at.data, at.type, {}, {}};
    for (const int d : order) {
      other.shape.push_back(at.shape[static_cast<std::size_t>(d)]);
      other.strides.push_back(at.strides[static_cast<std::size_t>(d)]);
    }
    at = other;
    reduced_last.assign(axes.size(), 0);
    for (std::size_t k = 0; k < axes.size(); ++k) reduced_last[k] = static_cast<int>(order.size() - axes.size() + k);
  }
  if (!keep) std::erase_if(order, is_reduced);
  const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(order.size())));
  if (!shape.is_valid()) return nullptr;
  for (std::size_t k = 0; k < order.size(); ++k)
    PyTuple_SetItem(shape.ptr(), static_cast<Py_ssize_t>(k), PyLong_FromSsize_t(is_reduced(order[k]) ? 1 : b.shape[order[k]]));
  nb::object answers = nb::steal(PyObject_CallFunctionObjArgs(empty, shape.ptr(), dtypes[static_cast<std::size_t>(kind.type)], nullptr));
  if (!answers.is_valid()) return nullptr;
  {
    const buffer to(answers.ptr(), PyBUF_WRITABLE);
    if (!to.held) return nullptr;
    run_beside_others(n, [&] { run_axes(*f, options, at, turned ? reduced_last : axes, to.b.buf); });
  }
  return turned ? turned_back(answers.ptr(), order) : answers.release().ptr();
}

/// (op, x, axis, dtype, keepdims, correction, accuracy, rounding, where, out, stream)
PyObject* reduce(PyObject*, PyObject* const* a, Py_ssize_t n) {
  if (n != arguments) {
    PyErr_SetString(PyExc_TypeError, "reduce takes 11 arguments");
    return nullptr;
  }
  const auto* const kind = reinterpret_cast<PyObject*>(Py_TYPE(a[array]));
  const device_call* on_device = nullptr;
  for (const auto& each : on_devices) {
    const device_call* const one = each.load(std::memory_order_acquire);
    if (one == nullptr) break;
    if (one->kind == kind) on_device = one;
  }
  const bool exactly = is(a[accuracy], exact_name);
  int beyond = 0;  // 64 bits
  const long long divide = PyLong_CheckExact(a[correction]) ? PyLong_AsLongLongAndOverflow(a[correction], &beyond) : 0;
  if (((kind == ndarray_type.load(std::memory_order_acquire) && a[out] == Py_None) || on_device != nullptr) && beyond == 0 && all_default(a, on_device != nullptr) &&
      (exactly || is(a[accuracy], fast_name))) {
    const long o = PyLong_AsLong(a[which]);
    if (o < 0 || o >= wf::op_count) {
      if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "no such reduction");
      return nullptr;
    }
    const bool keep = a[keepdims] == Py_True;
    try {
      PyObject* found = on_device != nullptr ? on_device->run(*on_device, static_cast<int>(o), a[array], {a[axis], a[out], a[stream], keep, !exactly, divide})
                                             : quick(static_cast<op>(o), a[array], a[axis], keep, divide, exactly ? wf::accuracy::exact : wf::accuracy::fast);
      if (found != nullptr) return found;
    } catch (const std::bad_alloc&) {
      return PyErr_NoMemory();
    } catch (const std::exception& e) {
      PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  PyObject* given = PyTuple_New(arguments);
  if (given == nullptr) return nullptr;
  for (Py_ssize_t k = 0; k < arguments; ++k) {
    Py_INCREF(a[k]);
    PyTuple_SetItem(given, k, a[k]);
  }
  PyObject* result = PyObject_Call(general, given, nullptr);
  Py_DECREF(given);
  return result;
}

PyMethodDef methods[] = {{"reduce", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(reduce)), METH_FASTCALL, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool numpy_is_known() noexcept { return ndarray_type.load(std::memory_order_acquire) != nullptr; }

PyObject* scalar_of(op o, dtype element, const void* p) {
  const wf::result_kind kind = wf::result_of_builtin(o, element);
  if (kind.values == 1) return number_of(kind.type, p);
  const auto* at = static_cast<const std::byte*>(p);
  const bool mean_of_complex = kind.values == 3;
  PyObject* first = number_of(mean_of_complex ? element : kind.type, at);
  PyObject* second = number_of(kind.type, at + wf::info(mean_of_complex ? element : kind.type).size);
  PyObject* both = first != nullptr && second != nullptr ? PyTuple_Pack(2, first, second) : nullptr;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return both;
}

void add_fast_path(nb::module_& m) {
  exact_name = PyUnicode_InternFromString("exact");
  fast_name = PyUnicode_InternFromString("fast");
  nearest_name = PyUnicode_InternFromString("nearest");
  PyModule_AddFunctions(m.ptr(), methods);
  m.def("use_general", [](nb::object f) { general = f.release().ptr(); });
  // A capsule of a device_call for its type in place of the one before; None: for none any more.
  m.def("use_device", [](nb::handle capsule) {
    if (capsule.is_none()) {
      for (auto& each : on_devices) each.store(nullptr, std::memory_order_release);
      return;
    }
    const auto* const told = static_cast<const device_call*>(PyCapsule_GetPointer(capsule.ptr(), device_call::capsule));
    if (told == nullptr) throw nb::python_error();
    for (auto& to : on_devices) {
      const device_call* const there = to.load(std::memory_order_acquire);
      if (there == nullptr || there->kind == told->kind) {
        to.store(told, std::memory_order_release);
        return;
      }
    }
  }, nb::arg("capsule").none());
  m.def("use_numpy", [](nb::object ndarray, nb::object make, nb::list types, nb::list scalars) {
    empty = make.release().ptr();
    for (std::size_t i = 0; i < dtypes.size(); ++i) dtypes.at(i) = nb::object(types[i]).release().ptr();
    std::size_t k = 0;
    for (PyObject*& to : scalar_types) {
      nb::object one = scalars[k++];
      to = one.is_none() ? nullptr : one.release().ptr();
    }
    ndarray_type.store(ndarray.release().ptr(), std::memory_order_release);
  });
}

}  // namespace wfpy
