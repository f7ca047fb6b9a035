// SPDX-License-Identifier: Apache-2.0
/// \file device_call.hpp
/// How the fast path of warpfold._core asks a module of kernels (gpu.cpp) for what lies on a GPU, and what both read of a call.
#pragma once

#include <algorithm>
#include <vector>

#include <nanobind/nanobind.h>

namespace wfpy {

/// The arrays of one library. A capsule of that name has the address of one, which stays for good.
struct device_call {
  static constexpr const char* capsule = "warpfold.device_call";
  PyObject* kind;  ///< their type, exactly
  /// What a plain call says beside the operation and the array.
  struct asked {
    PyObject *axis, *out, *stream;  ///< None where they are not told
    bool keepdims, fast;
    long long correction;
  };
  /// The answer, an array of theirs, by kernels on the library's current stream. Null without a Python error: it is for general code.
  PyObject* (*run)(const device_call& self, int op, PyObject* x, const asked& how) noexcept;
};

/// Axes as they are told, each once and in [0, rank). False for what general code has words for.
inline bool read_axes(PyObject* given, int rank, std::vector<int>& axes) {
  const auto add = [&](PyObject* one) {
    const long told = PyLong_Check(one) && !PyBool_Check(one) ? PyLong_AsLong(one) : rank;
    const int d = static_cast<int>(told < 0 ? told + rank : told);
    if ((told == -1 && PyErr_Occurred() != nullptr) || told >= rank || told < -rank || std::find(axes.begin(), axes.end(), d) != axes.end()) {
      PyErr_Clear();  // of an int beyond long
      return false;
    }
    axes.push_back(d);
    return true;
  };
  if (!PyTuple_CheckExact(given)) return add(given);
  for (Py_ssize_t k = 0; k < PyTuple_Size(given); ++k)
    if (!add(PyTuple_GetItem(given, k))) return false;
  return true;
}

}  // namespace wfpy
