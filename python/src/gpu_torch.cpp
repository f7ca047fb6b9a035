// SPDX-License-Identifier: Apache-2.0
/// PyTorch's tensors, as PyTorch tells C of them.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu_library.hpp"

namespace wfpy {

namespace {

/// PyTorch's own functions that make a tensor and Python's object of it, as ATen/cuda/EmptyTensor.h, torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/autograd/python_variable.h tell of them: what its
/// Python functions, and the choice of an operator, do around them takes longer than they. None of a PyTorch that has not all of them under these names, which the types of their arguments are part of.
class torch_answers {
 public:
  torch_answers() {
    const auto library_named = [](const char* name) { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD); };
    void *const all = library_named("libtorch_cpu.so"), *const of_cuda = library_named("libtorch_cuda.so"), *const of_python = library_named("libtorch_python.so"),
         *const base = library_named("libc10.so");
    if (all == nullptr || of_cuda == nullptr || of_python == nullptr || base == nullptr) return;
    static constexpr std::array<const char*, wf::dtypes.size()> names{"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                                                      "bool", "complex64", "complex128"};
    for (std::size_t k = 0; k < names.size(); ++k) {
      const auto number = reinterpret_cast<std::int32_t (*)()>(dlsym(all, (std::string("aoti_torch_dtype_") + names[k]).c_str()));
      if (number == nullptr) return;
      types_[k] = static_cast<std::int8_t>(number());
    }
    const auto cuda = reinterpret_cast<std::int32_t (*)()>(dlsym(all, "aoti_torch_device_type_cuda"));
    empty_ = reinterpret_cast<decltype(empty_)>(dlsym(of_cuda, "_ZN2at6detail18empty_strided_cudaEN3c108ArrayRefIlEES3_NS1_10ScalarTypeESt8optionalINS1_6DeviceEE"));
    modes_ = reinterpret_cast<decltype(modes_)>(dlsym(base, "_ZN3c104impl21dispatch_mode_enabledEv"));
    address_ = reinterpret_cast<decltype(address_)>(dlsym(all, "aoti_torch_get_data_ptr"));
    release_ = reinterpret_cast<decltype(release_)>(dlsym(all, "aoti_torch_delete_tensor_object"));
    part_ = reinterpret_cast<decltype(part_)>(dlsym(all, "aoti_torch__reinterpret_tensor"));
    object_ = reinterpret_cast<decltype(object_)>(dlsym(of_python, "_Z16THPVariable_WrapON2at10TensorBaseE"));
    is_there_ = cuda != nullptr && empty_ != nullptr && modes_ != nullptr && address_ != nullptr && release_ != nullptr && part_ != nullptr && object_ != nullptr;
    if (is_there_) cuda_ = static_cast<std::int8_t>(cuda());
  }

  /// New tensors of that shape on a GPU, one behind the other in one piece of memory, which is all that they share, and the first one's address. None, without a Python error, where they cannot be made so,
  /// or where something wants to hear of every operator.
  template <std::size_t Count>
  std::array<nb::object, Count> tensors(const wf::extents& shape, wf::dtype type, int device, void*& first) const {
    std::array<nb::object, Count> made;
    if (!is_there_ || modes_()) return made;
    std::array<std::int64_t, wf::max_rank + 1> lengths{Count}, strides;
    std::int64_t n = 1;
    for (std::size_t d = shape.size(); d-- > 0; n *= std::max<std::int64_t>(1, shape[d])) {
      lengths[d + 1] = shape[d];
      strides[d + 1] = n;
    }
    strides[0] = n;
    constexpr std::size_t from = Count == 1 ? 1 : 0;  // the first dimension is not there of one
    const std::size_t rank = shape.size() + 1 - from;
    std::optional<tensor> answer;
    try {
      answer.emplace(empty_({&lengths[from], rank}, {&strides[from], rank}, types_[static_cast<std::size_t>(type)], gpu{cuda_, static_cast<std::int8_t>(device)}));
    } catch (const std::exception&) {  // no memory is left: the way by Python raises what PyTorch does
      return made;
    }
    tensor& all = *answer;
    bool right = address_(&all, &first) == 0;
    if constexpr (Count == 1) {
      if (right) made[0] = nb::steal(object_(&all));  // it takes the tensor out of `all`
      right = made[0].is_valid();
    } else {
      for (std::size_t k = 0; right && k < Count; ++k) {
        void* part = nullptr;
        right = part_(&all, static_cast<std::int64_t>(shape.size()), &lengths[1], &strides[1], static_cast<std::int64_t>(k) * n, &part) == 0;
        if (!right) break;
        made[k] = nb::steal(object_(part));
        right = made[k].is_valid();
        release_(part);
      }
    }
    if (Count != 1 || !right) release_(new tensor(all));  // which deletes it
    if (!right) {
      PyErr_Clear();
      made = {};
    }
    return made;
  }

 private:
  /// Arguments as PyTorch's C++ takes them: an at::IntArrayRef, a c10::Device.
  struct numbers {
    const std::int64_t* first;
    std::size_t size;
  };
  struct gpu {
    std::int8_t type, index;
  };
  /// An at::Tensor, of which nobody knows here how it is released. Its destructor says to the compiler that a function returns it as it does one that has something to do.
  struct tensor {
    void* at;
    explicit tensor(void* x) : at(x) {}
    tensor(const tensor&) = default;
    ~tensor() {}  // NOLINT(modernize-use-equals-default)
  };

  bool is_there_ = false;
  std::array<std::int8_t, wf::dtypes.size()> types_{};
  std::int8_t cuda_ = 0;
  tensor (*empty_)(numbers shape, numbers strides, std::int8_t type, std::optional<gpu> device) = nullptr;
  bool (*modes_)() = nullptr;  // whether a TorchDispatchMode is there
  std::int32_t (*address_)(void* tensor, void** found) = nullptr;
  std::int32_t (*release_)(void* tensor) = nullptr;
  std::int32_t (*part_)(void* tensor, std::int64_t rank, const std::int64_t* shape, const std::int64_t* strides, std::int64_t first, void** made) = nullptr;
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
  torch_library(nb::handle arrays, const nb::list& types, nb::handle exchange)
      : library(arrays, types, "to"), told_(static_cast<const functions*>(PyCapsule_GetPointer(exchange.ptr(), "dlpack_exchange_api"))) {
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
    void* at = nullptr;
    if (auto [one] = makes_.tensors<1>(shape, type, of.x.device, at); is_ours(one)) return {std::move(one), at};
    nb::object made = call(new_empty_, {x, tuple_of(shape).ptr(), type_object(type)}, dtype_, true);  // x need not be of the type that `of` is
    nb::dlpack::dltensor t;
    if (told_->dltensor_from_py_object_no_sync(made.ptr(), &t) != 0) throw nb::python_error();
    return {std::move(made), static_cast<std::byte*>(t.data) + t.byte_offset};
  }
  std::optional<std::array<nb::object, 2>> two_rooms(PyObject*, const place& of, const wf::extents& shape, wf::dtype type, void*& first) const override {
    auto two = makes_.tensors<2>(shape, type, of.x.device, first);
    if (!is_ours(two[0]) || !is_ours(two[1])) return std::nullopt;
    return two;
  }
  std::optional<std::uintptr_t> named(PyObject* stream) const override { return static_cast<std::uintptr_t>(number_of(attribute(stream, cuda_stream_))); }
  void used(PyObject* x, PyObject* stream) const override { call(record_stream_, {x, stream}, nullptr, true); }

 private:
  /// Else there is none, or something of PyTorch's stands in between, such as a mode in which its tensors are no real ones.
  bool is_ours(const nb::object& made) const { return made.is_valid() && reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())) == kind; }

  const functions* told_;
  const torch_answers makes_;
  PyObject *requires_grad_ = interned("requires_grad"), *is_neg_ = interned("is_neg"), *is_conj_ = interned("is_conj"), *new_empty_ = interned("new_empty"), *cuda_stream_ = interned("cuda_stream"),
           *record_stream_ = interned("record_stream");
  PyObject* dtype_ = nb::make_tuple("dtype").release().ptr();
};

}  // namespace

std::unique_ptr<library> torch_tensors(nb::handle kind, const nb::list& types, nb::handle exchange) { return std::make_unique<torch_library>(kind, types, exchange); }

}  // namespace wfpy
