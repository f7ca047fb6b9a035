// SPDX-License-Identifier: Apache-2.0
/// \file device_call.hpp
/// How the fast path of warpfold._core asks a module of kernels (gpu.cpp) for what lies on a GPU, and what both read of a call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nanobind/nanobind.h>
#include <warpfold/context.hpp>
#include <warpfold/io/dtype.hpp>
#include <warpfold/operations.hpp>

namespace wfpy {

/// The arrays of one library. A capsule of that name has the address of one, which stays for good.
struct device_call {
  static constexpr const char* capsule = "warpfold.device_call";
  PyObject* kind;  ///< their type, exactly
  /// What a call says beside the operations and the array. Objects are None where they are not told.
  struct asked {
    PyObject *axis, *type, *out, *stream;
    bool keepdims, fast;
    wf::rounding rounding;
    long long correction;
    std::optional<wf::dtype> type_told;     ///< what `type` means, where that is known without the library
    PyObject* second = nullptr;             ///< the other array of dot()
    PyObject *offsets = nullptr, *labels = nullptr;  ///< arrays of theirs, or for offsets the length of each segment
    std::int64_t answers = 0;               ///< for labels
    PyObject* where = nullptr;              ///< a mask, an array of theirs; null: all elements count
    bool skip_nans = false;
  };
  /// The answer, an array of theirs, by kernels on the library's current stream, or a tuple of those of several operations. Null without a Python error: it is for general code.
  PyObject* (*run)(const device_call& self, std::span<const wf::op> ops, bool several, PyObject* x, const asked& how) noexcept;
};

/// Those of arrays of that type; null: nobody told of it.
const device_call* device_call_of(PyObject* kind) noexcept;

/// Axes as they are told, each once and in [0, rank). False for what general code has words for.
inline bool read_axes(PyObject* given, int rank, std::vector<int>& axes) {
  const auto add = [&](PyObject* one) {
    const long told = PyLong_Check(one) && !PyBool_Check(one) ? PyLong_AsLong(one) : rank;
    const int d = static_cast<int>(told < 0 ? told + rank : told);
    if ((told == -1 && PyErr_Occurred() != nullptr) || told >= rank || told < -rank || std::find(axes.begin(), axes.end(), d) != axes.end()) {
      PyErr_Clear();  // the int is beyond long
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
