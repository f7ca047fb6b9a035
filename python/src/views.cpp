// SPDX-License-Identifier: Apache-2.0
#include "views.hpp"

#include <cstring>
#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace wfpy {

using wf::dtype;

std::optional<dtype> type_of_format(const char* f, Py_ssize_t size) noexcept {
  if (f == nullptr) return size == 1 ? std::optional(dtype::u8) : std::nullopt;
  if (*f == '@' || *f == '=' || *f == (wf::native_order == wf::byte_order::little ? '<' : '>')) ++f;
  if (f[0] == 'Z' && f[1] != '\0' && f[2] == '\0') {
    if (f[1] == 'f') return dtype::c64;
    if (f[1] == 'd') return dtype::c128;
    return std::nullopt;
  }
  if (f[0] == '\0' || f[1] != '\0') return std::nullopt;
  switch (f[0]) {
    case 'd': return dtype::f64;
    case 'f': return dtype::f32;
    case 'e': return dtype::f16;
    case '?': return dtype::boolean;
    case 'b': case 'h': case 'i': case 'l': case 'q': case 'n': return integer_of(size, true);
    case 'B': case 'H': case 'I': case 'L': case 'Q': case 'N': return integer_of(size, false);
    default: return std::nullopt;
  }
}

std::optional<view> view_of_buffer(PyObject* x) {
  if (!PyObject_CheckBuffer(x)) return std::nullopt;
  auto held = std::make_shared<buffer>(x, PyBUF_STRIDES | PyBUF_FORMAT);
  if (!held->held) return std::nullopt;
  const Py_buffer& b = held->b;
  const auto type = type_of_format(b.format, b.itemsize);
  if (!type || wf::info(*type).size != static_cast<std::size_t>(b.itemsize) || b.ndim > wf::max_rank) return std::nullopt;
  view v{{b.buf, *type, wf::extents(b.shape, b.shape + b.ndim), {}}, nullptr};
  if (b.strides != nullptr) {
    v.at.strides = wf::extents(b.strides, b.strides + b.ndim);
  } else {  // as ctypes tells that there are no gaps, though it was asked for them
    v.at.strides = wf::row_major(v.at.shape);
    for (std::int64_t& s : v.at.strides) s *= b.itemsize;
  }
  v.held = std::move(held);
  return v;
}

namespace {

/// What __dlpack__() gives, told that DLPack 1.0 is known, by which arrays that are read-only can be told, or as it was before. Not by nanobind, which asks a library's to_dlpack() where that raises: PyTorch's
/// gives what __dlpack__() refuses, as complex numbers that are to be conjugated, as they lie.
nb::object capsule_of(nb::handle x) {
  static PyObject* const name = PyUnicode_InternFromString("__dlpack__");
  static PyObject* const names = nb::make_tuple("max_version").release().ptr();
  static PyObject* const version = nb::make_tuple(1, 0).release().ptr();
  PyObject* const given[] = {x.ptr(), version};
  nb::object made = nb::steal(PyObject_VectorcallMethod(name, given, 1, names));
  if (!made.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    PyErr_Clear();
    made = nb::steal(PyObject_VectorcallMethod(name, given, 1, nullptr));
  }
  if (!made.is_valid()) PyErr_Clear();
  return made;
}

}  // namespace

std::optional<view> view_of_dlpack(nb::handle x) {
  nb::ndarray<nb::ro> a;
  const nb::object capsule = capsule_of(x);
  if (!capsule.is_valid() || PyCapsule_CheckExact(capsule.ptr()) == 0 || !nb::try_cast(capsule, a, false) || (a.device_type() != nb::device::cpu::value && a.device_type() != nb::device::cuda_host::value)) return std::nullopt;
  const auto type = type_of_dlpack(a.dtype());
  if (!type || a.ndim() > std::size_t{wf::max_rank}) return std::nullopt;
  const auto size = static_cast<std::int64_t>(wf::info(*type).size);
  view v{{a.data(), *type, {}, {}}, nullptr};
  for (std::size_t d = 0; d < a.ndim(); ++d) {
    v.at.shape.push_back(static_cast<std::int64_t>(a.shape(d)));
    v.at.strides.push_back(a.stride(d) * size);
  }
  v.held = std::make_shared<nb::ndarray<nb::ro>>(std::move(a));
  return v;
}

void add_views(nb::module_& m) {
  nb::class_<view>(m, "View")
      .def_prop_ro("dtype", [](const view& v) { return static_cast<int>(v.at.type); })
      .def_prop_ro("shape", [](const view& v) { return nb::tuple(nb::cast(std::vector<std::int64_t>(v.at.shape.begin(), v.at.shape.end()))); })
      .def_prop_ro("size", [](const view& v) { return v.at.size(); })
      .def("contiguous", [](const view& v) { return v.at.contiguous(); })
      .def("read_as", [](const view& v, int code) {  // the same bytes as another type of that size
        view other = v;
        other.at.type = dtype_of_code(code);
        if (wf::info(other.at.type).size != wf::info(v.at.type).size) throw wf::error(wf::errc::bad_argument, "types of different sizes");
        return other;
      })
      .def_prop_ro("__array_interface__",  // for what NumPy has to read; bf16, which it does not know, as uint16
                   [](const view& v) {
                     static constexpr const char* kinds[] = {"f2", "u2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "c8", "c16"};
                     const auto numbers = [](const wf::extents& e) { return nb::tuple(nb::cast(std::vector<std::int64_t>(e.begin(), e.end()))); };
                     nb::dict told;
                     told["version"] = 3;
                     told["shape"] = numbers(v.at.shape);
                     told["strides"] = numbers(v.at.strides);
                     told["typestr"] = std::string(wf::native_order == wf::byte_order::little ? "<" : ">") + kinds[static_cast<int>(v.at.type)];
                     told["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(v.at.data), true);
                     return told;
                   })
      .def("broadcast", [](const view& v, const std::vector<std::int64_t>& shape, const char* what) {
        return view{broadcast(v.at, shape, what), v.held};
      });
  m.def("view_of_buffer", [](nb::handle x) { return view_of_buffer(x.ptr()); }, nb::arg("x").none());
  m.def("view_of_dlpack", &view_of_dlpack);
}

}  // namespace wfpy
