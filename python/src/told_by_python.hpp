// SPDX-License-Identifier: Apache-2.0
/// \file told_by_python.hpp
/// What both compiled modules read of Python's arguments, and how they tell errors.
#pragma once

#include <optional>
#include <string>

#include <unistd.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <warpfold/context.hpp>
#include <warpfold/error.hpp>
#include <warpfold/io/dtype.hpp>

namespace wfpy {

namespace nb = nanobind;

/// Other threads of Python run while it lives. A thread that wants to go on when the interpreter has ended, as a daemon may, stays here until the process ends, as Python 3.14
/// has it: before, Python ends such a thread by pthread_exit(), which unwinds the stack like an exception, and from a destructor that would abort the process.
class gil_released {
 public:
  gil_released() : state_(PyEval_SaveThread()) {}
  gil_released(const gil_released&) = delete;
  ~gil_released() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) ::pause();
    }
  }

 private:
  PyThreadState* state_;
};

inline wf::dtype dtype_of_code(int code) {
  if (code < 0 || code > static_cast<int>(wf::dtype::c128)) throw wf::error(wf::errc::bad_argument, "no such element type");
  return static_cast<wf::dtype>(code);
}

constexpr wf::dtype integer_of(std::ptrdiff_t size, bool is_signed) {
  const int step = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
  return static_cast<wf::dtype>(static_cast<int>(is_signed ? wf::dtype::i8 : wf::dtype::u8) + step);
}

inline std::optional<wf::dtype> type_of_dlpack(nb::dlpack::dtype d) {
  using wf::dtype;
  if (d.lanes != 1) return std::nullopt;
  using code = nb::dlpack::dtype_code;
  switch (static_cast<code>(d.code)) {
    case code::Bool: return d.bits == 8 ? std::optional(dtype::boolean) : std::nullopt;
    case code::Int: return d.bits == 8 || d.bits == 16 || d.bits == 32 || d.bits == 64 ? std::optional(integer_of(d.bits / 8, true)) : std::nullopt;
    case code::UInt: return d.bits == 8 || d.bits == 16 || d.bits == 32 || d.bits == 64 ? std::optional(integer_of(d.bits / 8, false)) : std::nullopt;
    case code::Float:
      if (d.bits == 16) return dtype::f16;
      if (d.bits == 32) return dtype::f32;
      if (d.bits == 64) return dtype::f64;
      return std::nullopt;
    case code::Bfloat: return d.bits == 16 ? std::optional(dtype::bf16) : std::nullopt;
    case code::Complex:
      if (d.bits == 64) return dtype::c64;
      if (d.bits == 128) return dtype::c128;
      return std::nullopt;
    default: return std::nullopt;
  }
}

inline wf::rounding rounding_named(nb::handle name) {
  static constexpr const char* names[] = {"nearest", "zero", "away", "up", "down"};
  if (PyUnicode_Check(name.ptr()))
    for (int k = 0; k < 5; ++k)
      if (PyUnicode_CompareWithASCIIString(name.ptr(), names[k]) == 0) return static_cast<wf::rounding>(k);
  throw wf::error(wf::errc::bad_argument, std::string("rounding=") + nb::repr(name).c_str() +
                                              "; it may be 'nearest', 'zero', 'away', 'up' or 'down'");
}

inline wf::accuracy accuracy_named(nb::handle name) {
  if (PyUnicode_Check(name.ptr())) {
    if (PyUnicode_CompareWithASCIIString(name.ptr(), "exact") == 0) return wf::accuracy::exact;
    if (PyUnicode_CompareWithASCIIString(name.ptr(), "fast") == 0) return wf::accuracy::fast;
  }
  throw wf::error(wf::errc::bad_argument, std::string("accuracy=") + nb::repr(name).c_str() + "; it may be 'exact' or 'fast'");
}

/// The library's errors become NumPy's kinds. What lives when the interpreter ends, as a state that a daemon thread holds, is nothing that users need to be told.
inline void tell_errors() {
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const wf::error& e) {
      PyObject* kind = PyExc_RuntimeError;
      switch (e.code()) {
        case wf::errc::bad_argument: case wf::errc::bad_input: kind = PyExc_ValueError; break;
        case wf::errc::unsupported: kind = PyExc_TypeError; break;
        case wf::errc::capacity: kind = PyExc_OverflowError; break;
        case wf::errc::io: kind = PyExc_OSError; break;
        case wf::errc::no_device: case wf::errc::device: break;
      }
      PyErr_SetString(kind, e.what());
    }
  });
}

}  // namespace wfpy
