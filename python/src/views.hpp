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

void add_arrow(nb::module_& m);
void add_call(nb::module_& m);
void add_views(nb::module_& m);
void add_plans(nb::module_& m);
void add_states(nb::module_& m);
void add_state_arrays(nb::module_& m);
void add_twins(nb::module_& m);
void add_fast_path(nb::module_& m);

/// A NumPy scalar of the answer at p, or a tuple of them. Null and a Python error if that fails.
PyObject* scalar_of(wf::op o, wf::dtype element, const void* p);
bool numpy_is_known() noexcept;

}  // namespace wfpy
