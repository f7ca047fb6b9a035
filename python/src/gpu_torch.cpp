// SPDX-License-Identifier: Apache-2.0
/// PyTorch's tensors, as PyTorch tells C of them.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu_library.hpp"

namespace wfpy {

namespace {

/// PyTorch's own functions that make a tensor and Python's object of it, as torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/autograd/python_variable.h tell of them: what its Python functions do
/// around them takes longer than they. None of a PyTorch that has not all of them under these names, which the types of their arguments are part of.
class torch_answers {
 public:
  torch_answers() {
    void *const all = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD), *const of_python = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_NOLOAD);
    if (all == nullptr || of_python == nullptr) return;
    static constexpr std::array<const char*, wf::dtypes.size()> names{"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                                                      "bool", "complex64", "complex128"};
    for (std::size_t k = 0; k < names.size(); ++k) {
      const auto number = reinterpret_cast<std::int32_t (*)()>(dlsym(all, (std::string("aoti_torch_dtype_") + names[k]).c_str()));
      if (number == nullptr) return;
      types_[k] = number();
    }
    const auto cuda = reinterpret_cast<std::int32_t (*)()>(dlsym(all, "aoti_torch_device_type_cuda"));
    empty_ = reinterpret_cast<decltype(empty_)>(dlsym(all, "aoti_torch_empty_strided"));
    address_ = reinterpret_cast<decltype(address_)>(dlsym(all, "aoti_torch_get_data_ptr"));
    release_ = reinterpret_cast<decltype(release_)>(dlsym(all, "aoti_torch_delete_tensor_object"));
    object_ = reinterpret_cast<decltype(object_)>(dlsym(of_python, "_Z16THPVariable_WrapON2at10TensorBaseE"));
    is_there_ = cuda != nullptr && empty_ != nullptr && address_ != nullptr && release_ != nullptr && object_ != nullptr;
    if (is_there_) cuda_ = cuda();
  }

  /// A new tensor on a GPU, and its elements' address; null, without a Python error, where it cannot be made so.
  std::pair<PyObject*, void*> tensor(const wf::extents& shape, wf::dtype type, int device) const {
    if (!is_there_) return {};
    std::array<std::int64_t, wf::max_rank> strides;
    std::int64_t step = 1;
    for (std::size_t d = shape.size(); d-- > 0; step *= std::max<std::int64_t>(1, shape[d])) strides[d] = step;
    void *made = nullptr, *at = nullptr;
    if (empty_(static_cast<std::int64_t>(shape.size()), shape.data(), strides.data(), types_[static_cast<std::size_t>(type)], cuda_, device, &made) != 0) return {};
    PyObject* const object = address_(made, &at) == 0 ? object_(made) : nullptr;  // it takes the tensor out of `made`
    release_(made);
    if (object == nullptr) PyErr_Clear();
    return {object, at};
  }

 private:
  bool is_there_ = false;
  std::array<std::int32_t, wf::dtypes.size()> types_{};
  std::int32_t cuda_ = 0;
  std::int32_t (*empty_)(std::int64_t rank, const std::int64_t* shape, const std::int64_t* strides, std::int32_t type, std::int32_t device_type, std::int32_t device, void** made) = nullptr;
  std::int32_t (*address_)(void* tensor, void** found) = nullptr;
  std::int32_t (*release_)(void* tensor) = nullptr;
  PyObject* (*object_)(void* tensor) = nullptr;
};

/// PyTorch's tensors, by DLPack's C functions (DLPackExchangeAPI of DLPack 1.3, which stands in the type as a capsule).
struct torch_library final : library {
  struct functions {
    std::uint32_t major, minor;
    void* before;
    int (*managed_tensor_allocator)(void*, void**, void*, void (*)(void*, const char*, const char*));
    int (*managed_tensor_from_py_object_no_sync)(void*, void**);
    int (*managed_tensor_to_py_object_no_sync)(void*, void**);
    int (*dltensor_from_py_object_no_sync)(void*, nb::dlpack::dltensor*);
    int (*current_work_stream)(std::int32_t, std::int32_t, void**);
  };
  torch_library(nb::handle arrays, const nb::list& types, nb::handle more)
      : library(arrays, types, "to"), told_(static_cast<const functions*>(PyCapsule_GetPointer(nb::object(more[0]).ptr(), "dlpack_exchange_api"))),
        make_context_(nb::object(more[1]).release().ptr()) {
    if (told_ == nullptr) throw nb::python_error();
    if (told_->major != 1 || told_->dltensor_from_py_object_no_sync == nullptr || told_->current_work_stream == nullptr)
      refuse("an exchange API of another version of DLPack than 1, or without functions");
  }

  bool read(PyObject* x, place& found) const override {
    nb::dlpack::dltensor t;
    // The C functions take these as if they were plain.
    if (attribute(x, requires_grad_).ptr() != Py_False) return false;
    if (told_->dltensor_from_py_object_no_sync(x, &t) != 0) {  // it has no memory of one piece: what general code says of it is better
      PyErr_Clear();
      return false;
    }
    if (t.device.device_type != nb::device::cuda::value || t.ndim > wf::max_rank) return false;
    const auto type = type_of_dlpack(t.dtype);
    if (!type) return false;
    const wf::dtype e = *type;
    if ((e <= wf::dtype::f64 || e >= wf::dtype::c64) && call(is_neg_, {x}, nullptr, true).ptr() != Py_False) return false;
    if (e >= wf::dtype::c64 && call(is_conj_, {x}, nullptr, true).ptr() != Py_False) return false;
    found.x.data = static_cast<const std::byte*>(t.data) + t.byte_offset;
    found.x.type = e;
    found.x.device = t.device.device_id;
    for (int d = 0; d < t.ndim; ++d) found.x.shape.push_back(t.shape[d]);
    without_gaps(found.x);
    if (t.strides != nullptr)
      for (int d = 0; d < t.ndim; ++d) found.x.strides[static_cast<std::size_t>(d)] = t.strides[d] * static_cast<std::int64_t>(wf::info(e).size);
    void* stream = nullptr;
    if (told_->current_work_stream(t.device.device_type, t.device.device_id, &stream) != 0) {
      PyErr_Clear();
      return false;
    }
    found.stream = reinterpret_cast<std::uintptr_t>(stream);
    return true;
  }
  // Not by managed_tensor_allocator: such memory is not the tensor's own, and record_stream() leaves it out.
  std::pair<nb::object, void*> room(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type) const override {
    if (const auto made = makes_.tensor(shape, type, of.x.device); made.first != nullptr) {
      nb::object one = nb::steal(made.first);
      if (reinterpret_cast<PyObject*>(Py_TYPE(one.ptr())) == kind) return {std::move(one), made.second};  // else something of PyTorch's stands in between
    }
    nb::object made = call(new_empty_, {x, tuple_of(shape).ptr(), type_object(type)}, dtype_, true);  // x need not be of the type that `of` is
    nb::dlpack::dltensor t;
    if (told_->dltensor_from_py_object_no_sync(made.ptr(), &t) != 0) throw nb::python_error();
    return {std::move(made), static_cast<std::byte*>(t.data) + t.byte_offset};
  }
  std::optional<std::array<nb::object, 2>> two_rooms(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type, void*& first) const override {
    if (make_context_ == Py_None) return std::nullopt;
    auto [made, at] = room(x, of, both_shape(shape), type);
    first = at;
    const context apart(*this);
    const nb::object parts = call(unbind_, {made.ptr()}, nullptr, true);
    return std::array{item(parts, 0), item(parts, 1)};
  }
  std::optional<std::uintptr_t> named(PyObject* stream) const override { return static_cast<std::uintptr_t>(number_of(attribute(stream, cuda_stream_))); }
  void used(PyObject* x, PyObject* stream) const override { call(record_stream_, {x, stream}, nullptr, true); }

 private:
  /// One of make_context_, entered for as long as it lives. They are used again: to make one takes longer than to enter it.
  class context {
   public:
    explicit context(const torch_library& of) : of_(of) {
      if (of.contexts_.empty()) {
        held_ = call(of.make_context_, {});
      } else {
        held_ = std::move(of.contexts_.back());
        of.contexts_.pop_back();
      }
      call(of.enter_, {held_.ptr()}, nullptr, true);
    }
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    ~context() {
      try {
        call(of_.exit_, {held_.ptr(), Py_None, Py_None, Py_None}, nullptr, true);
        of_.contexts_.push_back(std::move(held_));
      } catch (...) {
        PyErr_Clear();
      }
    }

   private:
    const torch_library& of_;
    nb::object held_;
  };
  mutable std::vector<nb::object> contexts_;  // the GIL's
  const functions* told_;
  const torch_answers makes_;
  PyObject* make_context_;
  PyObject *unbind_ = interned("unbind"), *enter_ = interned("__enter__"), *exit_ = interned("__exit__");
  PyObject *requires_grad_ = interned("requires_grad"), *is_neg_ = interned("is_neg"), *is_conj_ = interned("is_conj"), *new_empty_ = interned("new_empty"), *cuda_stream_ = interned("cuda_stream"),
           *record_stream_ = interned("record_stream");
  PyObject* dtype_ = nb::make_tuple("dtype").release().ptr();
};

}  // namespace

std::unique_ptr<library> torch_tensors(nb::handle kind, const nb::list& types, nb::handle more) { return std::make_unique<torch_library>(kind, types, more); }

}  // namespace wfpy
