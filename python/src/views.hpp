// SPDX-License-Identifier: Apache-2.0
/// \file views.hpp
/// Python's arrays as layouts: the buffer protocol, and DLPack.
#pragma once

#include <memory>
#include <optional>

#include <nanobind/nanobind.h>

#include "engine.hpp"
#include "told_by_python.hpp"

namespace wfpy {

/// Memory that Python owns, held while the view lives. Made and destroyed with the GIL.
struct view {
  layout at;
  std::shared_ptr<void> held;
};

/// The element type of a buffer's format, nothing for those that are not of this machine's numbers.
std::optional<wf::dtype> type_of_format(const char* format, Py_ssize_t size) noexcept;

/// The view of what has the buffer protocol; nothing for other objects, and other elements. Sets no Python error.
std::optional<view> view_of_buffer(PyObject* x);
/// The view of what has __dlpack__, in the CPU's memory, pinned or not.
std::optional<view> view_of_dlpack(nb::handle x);

/// A buffer for as long as a call takes; not held if there is none of that kind.
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
inline layout layout_of(const Py_buffer& b, wf::dtype type) {
  return {b.buf, type, wf::extents(b.shape, b.shape + b.ndim), wf::extents(b.strides, b.strides + b.ndim)};
}

constexpr std::int64_t worth_releasing = 1 << 13;  // elements; fewer are summed before another thread has begun

template <class F>
void run_beside_others(std::int64_t n, F f) {
  if (n < worth_releasing) {
    f();
  } else {
    const gil_released others_run;
    f();
  }
}

/// Element i of a list, which other threads may change at any moment where Python has no GIL; not valid where the list has become shorter.
inline nb::object item_of_list(PyObject* list, Py_ssize_t i) {
#ifdef Py_GIL_DISABLED
  const nb::object one = nb::steal(PyList_GetItemRef(list, i));
  if (!one.is_valid()) PyErr_Clear();
  return one;
#else
  return nb::borrow(PyList_GetItem(list, i));
#endif
}

void add_arrow(nb::module_& m);
void add_call(nb::module_& m);
void add_views(nb::module_& m);
void add_plans(nb::module_& m);
void add_states(nb::module_& m);
void add_state_arrays(nb::module_& m);
void add_twins(nb::module_& m);
void add_fast_path(nb::module_& m);
void add_fast_parts(nb::module_& m);

/// A NumPy scalar of the answer at p, or a tuple of them. Null and a Python error if that fails.
PyObject* scalar_of(wf::op o, wf::dtype element, const void* p);
bool is_numpys(PyObject* x) noexcept;                     ///< an array of NumPy's own class
nb::object new_numpy(PyObject* shape, wf::dtype type);    ///< not valid, and a Python error, if that fails; NumPy is known

/// What names say; nothing for none, without a Python error.
std::optional<wf::rounding> rounding_told(PyObject* name);
std::optional<wf::accuracy> accuracy_told(PyObject* name);

}  // namespace wfpy
