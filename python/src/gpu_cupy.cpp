// SPDX-License-Identifier: Apache-2.0
/// CuPy's arrays, by their attributes.
#include <array>
#include <optional>
#include <utility>

#include "gpu_library.hpp"

namespace wfpy {

namespace {

/// CuPy's arrays, by their attributes; `current` gives the current stream.
struct cupy_library final : library {
  cupy_library(nb::handle arrays, const nb::list& types, nb::handle current) : library(arrays, types, "astype"), current_(current.inc_ref().ptr()) {}

  bool read(PyObject* x, place& found) const override {
    const auto type = type_named(attribute(x, dtype_).ptr());
    if (!type) return false;
    found.x.type = *type;
    const nb::object shape = attribute(x, shape_), strides = attribute(x, strides_), data = attribute(x, data_);
    const Py_ssize_t rank = PyTuple_Size(shape.ptr());
    if (rank < 0 || rank > wf::max_rank || PyTuple_Size(strides.ptr()) != rank) return false;
    for (Py_ssize_t d = 0; d < rank; ++d) {
      found.x.shape.push_back(number_of(nb::borrow(PyTuple_GetItem(shape.ptr(), d))));
      found.x.strides.push_back(number_of(nb::borrow(PyTuple_GetItem(strides.ptr(), d))));
    }
    found.x.data = reinterpret_cast<const void*>(number_of(attribute(data.ptr(), ptr_)));
    found.x.device = static_cast<int>(number_of(attribute(data.ptr(), device_id_)));
    int now = 0;
    if (cudaGetDevice(&now) != cudaSuccess || now != found.x.device) return false;  // its memory and streams are the current device's
    found.stream = static_cast<std::uintptr_t>(number_of(attribute(call(current_, {}).ptr(), ptr_)));
    return true;
  }
  std::pair<nb::object, void*> room(PyObject*, const place&, const wf::extents& shape, wf::dtype type) const override {
    const nb::object lengths = tuple_of(shape);
    nb::object made = call(kind, {lengths.ptr(), type_object(type)});
    void* const address = reinterpret_cast<void*>(number_of(attribute(attribute(made.ptr(), data_).ptr(), ptr_)));
    return {std::move(made), address};
  }
  std::optional<std::array<nb::object, 2>> two_rooms(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type, void*& first) const override {
    auto [made, at] = room(x, of, both_shape(shape), type);
    first = at;
    return std::array{item(made, 0), item(made, 1)};
  }

 private:
  PyObject* current_;
  PyObject *dtype_ = interned("dtype"), *shape_ = interned("shape"), *strides_ = interned("strides"), *data_ = interned("data"), *ptr_ = interned("ptr"),
           *device_id_ = interned("device_id");
};

}  // namespace

std::unique_ptr<library> cupy_arrays(nb::handle kind, const nb::list& types, nb::handle current) { return std::make_unique<cupy_library>(kind, types, current); }

}  // namespace wfpy
