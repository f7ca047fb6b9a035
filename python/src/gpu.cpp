// SPDX-License-Identifier: Apache-2.0
/// Arrays on a GPU as the library's requests: the module warpfold._gpu of builds with CUDA. Compiled against simt it is warpfold._simt, which
/// the tests alone use: there the CPU's memory is a GPU's.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <warpfold/gpu.hpp>

#include "told_by_python.hpp"

namespace wfpy {

namespace {

const wf::device_library& kernels() { return WF_PYTHON_SIMT ? wf::simt_library() : wf::cuda_library(); }

[[noreturn]] void refuse(const std::string& what) { throw wf::error(wf::errc::bad_argument, what); }
void check(cudaError_t e, const char* who) { kernels().fail(static_cast<int>(e), who); }

/// An array as it tells of itself; strides in bytes.
struct device_array {
  const void* data = nullptr;
  wf::dtype type = wf::dtype::f64;
  wf::extents shape, strides;
  int device = 0;
  bool read_only = false;
  std::optional<std::uintptr_t> stream;  // on which its elements are made, where it says so
  std::shared_ptr<void> held;            // of DLPack

  std::int64_t size() const {
    const auto n = wf::detail::product(shape);
    if (!n) refuse("an array of more than 2^63 - 1 elements");
    return *n;
  }
  bool contiguous() const {
    auto step = static_cast<std::int64_t>(wf::info(type).size);
    if (size() == 0) return true;
    for (std::size_t d = shape.size(); d-- > 0; step *= shape[d])
      if (shape[d] != 1 && strides[d] != step) return false;
    return true;
  }
};

void without_gaps(device_array& a) {
  a.strides = wf::row_major(a.shape);
  for (std::int64_t& s : a.strides) s *= static_cast<std::int64_t>(wf::info(a.type).size);
}

std::optional<wf::dtype> type_of_typestr(const std::string& s) {
  if (s.size() < 3 || (s[0] != '|' && s[0] != (wf::native_order == wf::byte_order::little ? '<' : '>'))) return std::nullopt;
  const std::string size = s.substr(2);
  if (s[1] == 'b' && size == "1") return wf::dtype::boolean;
  if ((s[1] == 'i' || s[1] == 'u') && (size == "1" || size == "2" || size == "4" || size == "8")) return integer_of(size[0] - '0', s[1] == 'i');
  if (s[1] == 'f' && size == "2") return wf::dtype::f16;
  if (s[1] == 'f' && size == "4") return wf::dtype::f32;
  if (s[1] == 'f' && size == "8") return wf::dtype::f64;
  if (s[1] == 'c' && size == "8") return wf::dtype::c64;
  if (s[1] == 'c' && size == "16") return wf::dtype::c128;
  return std::nullopt;
}

/// The device that memory lies on, for what does not tell.
int device_of(const void* p, const char* who) {
  if (WF_PYTHON_SIMT || p == nullptr) return 0;
  cudaPointerAttributes of{};
  check(cudaPointerGetAttributes(&of, p), who);
  if (of.type == cudaMemoryTypeUnregistered) refuse(std::string(who) + ": memory that no GPU of this machine can read");
  return of.device;
}

device_array read_interface(const nb::dict& told, const char* who) {
  const auto missing = [&](const char* key) { refuse(std::string(who) + ": a __cuda_array_interface__ without '" + key + "'"); };
  const auto entry = [&](const char* key) -> nb::object { return told.contains(key) ? nb::object(told[key]) : nb::none(); };
  for (const char* key : {"shape", "typestr", "data"})
    if (!told.contains(key)) missing(key);
  if (!entry("mask").is_none()) throw wf::error(wf::errc::unsupported, std::string(who) + ": an array on a GPU with a mask; fill the masked elements");
  device_array a;
  const auto typestr = nb::cast<std::string>(entry("typestr"));
  const auto type = type_of_typestr(typestr);
  if (!type)
    throw wf::error(wf::errc::unsupported, std::string(who) + ": elements of type '" + typestr + "' on a GPU; they may be real and complex numbers "
                                               "of the machine's byte order");
  a.type = *type;
  for (const std::int64_t n : nb::cast<std::vector<std::int64_t>>(entry("shape"))) {
    if (n < 0) refuse(std::string(who) + ": a __cuda_array_interface__ with a negative length");
    a.shape.push_back(n);
    if (a.shape.size() > wf::max_rank) refuse(std::string(who) + ": an array of more than 32 dimensions");
  }
  if (const nb::object strides = entry("strides"); strides.is_none()) {
    without_gaps(a);
  } else {
    for (const std::int64_t s : nb::cast<std::vector<std::int64_t>>(strides)) a.strides.push_back(s);
    if (a.strides.size() != a.shape.size()) refuse(std::string(who) + ": a __cuda_array_interface__ with strides that are not one a dimension");
  }
  const auto data = nb::cast<nb::tuple>(entry("data"));
  if (data.size() != 2) refuse(std::string(who) + ": a __cuda_array_interface__ whose 'data' is not an address and a flag");
  a.data = reinterpret_cast<const void*>(nb::cast<std::uintptr_t>(data[0]));
  a.read_only = nb::cast<bool>(data[1]);
  if (const nb::object stream = entry("stream"); !stream.is_none()) {
    a.stream = nb::cast<std::uintptr_t>(stream);
    if (*a.stream == 0) refuse(std::string(who) + ": a __cuda_array_interface__ with stream 0, which its version 3 rules out; 1 is the default stream");
  }
  a.device = a.size() == 0 ? 0 : device_of(a.data, who);
  return a;
}

/// The array that a __cuda_array_interface__ tells of, version 3 and before.
device_array of_interface(const nb::dict& told, const char* who) {
  try {
    return read_interface(told, who);
  } catch (const nb::cast_error&) {
    refuse(std::string(who) + ": a __cuda_array_interface__ with an entry of another type than the protocol says");
  }
}

/// The array that __dlpack__() gave.
device_array of_capsule(nb::handle capsule, const char* who) {
  nb::ndarray<nb::ro> x;
  if (!nb::try_cast(capsule, x, false)) refuse(std::string(who) + ": what __dlpack__() gave is no array of DLPack");
  const int where = x.device_type();
  if (where != nb::device::cuda::value && where != nb::device::cuda_managed::value && where != nb::device::cuda_host::value)
    refuse(std::string(who) + ": an array of DLPack on the device type " + std::to_string(where) + "; 2, 3 and 13 are CUDA's");
  const auto type = type_of_dlpack(x.dtype());
  if (!type) throw wf::error(wf::errc::unsupported, std::string(who) + ": elements on a GPU that are no real and complex numbers");
  if (x.ndim() > std::size_t{wf::max_rank}) refuse(std::string(who) + ": an array of more than 32 dimensions");
  device_array a;
  a.data = x.data();
  a.type = *type;
  const auto size = static_cast<std::int64_t>(wf::info(*type).size);
  for (std::size_t d = 0; d < x.ndim(); ++d) {
    a.shape.push_back(static_cast<std::int64_t>(x.shape(d)));
    a.strides.push_back(x.stride(d) * size);
  }
  a.device = where == nb::device::cuda::value ? x.device_id() : device_of(a.data, who);
  a.held = std::make_shared<nb::ndarray<nb::ro>>(std::move(x));
  return a;
}

/// The thread's current device, for as long as a call takes.
class on_device {
 public:
  on_device(int wanted, const char* who) {
    check(cudaGetDevice(&before_), who);
    if (before_ == wanted) return;
    check(cudaSetDevice(wanted), who);
    changed_ = true;
  }
  on_device(const on_device&) = delete;
  ~on_device() {
    if (changed_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

/// A place for each stream that was ever reduced on, and whose turn it is there. They stay: a stream's scratch memory cannot be given back
/// when the stream may be gone.
struct turn {
  explicit turn(std::uintptr_t stream) : place(kernels(), reinterpret_cast<void*>(stream)) {}
  wf::device_place place;
  std::mutex one_at_a_time;
};
turn& turn_of(int device, std::uintptr_t stream) {
  static auto& all = *new std::map<std::pair<int, std::uintptr_t>, turn>;
  static auto& entry = *new std::mutex;
  const std::lock_guard lock(entry);
  return all.try_emplace({device, stream}, stream).first->second;
}

/// What `before` has been given so far comes first on `after`.
void in_order(int device, std::uintptr_t before, std::uintptr_t after) {
  constexpr const char* who = "streams";
  const on_device there(device, who);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), who);
  cudaError_t e = cudaEventRecord(event, reinterpret_cast<cudaStream_t>(before));
  if (e == cudaSuccess) e = cudaStreamWaitEvent(reinterpret_cast<cudaStream_t>(after), event, 0);
  cudaEventDestroy(event);
  check(e, who);
}

wf::extents broadcast_strides(const device_array& x, const wf::extents& shape) {
  wf::extents strides(shape.size(), 0);
  const std::size_t before = shape.size() - x.shape.size();
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] != 1 || shape[before + d] == 1) strides[before + d] = x.strides[d];
  return strides;
}

}  // namespace

}  // namespace wfpy

NB_MODULE(WF_PYTHON_MODULE, m) {
  using namespace wfpy;
  m.doc() = "Reductions of arrays on a GPU; the functions are those of the package.";
  tell_errors();
  nb::class_<device_array>(m, "Array")
      .def_prop_ro("dtype", [](const device_array& a) { return static_cast<int>(a.type); })
      .def_prop_ro("shape", [](const device_array& a) { return nb::tuple(nb::cast(std::vector<std::int64_t>(a.shape.begin(), a.shape.end()))); })
      .def_prop_ro("strides", [](const device_array& a) { return nb::tuple(nb::cast(std::vector<std::int64_t>(a.strides.begin(), a.strides.end()))); })  // in bytes
      .def_prop_ro("address", [](const device_array& a) { return reinterpret_cast<std::uintptr_t>(a.data); })
      .def_ro("device", &device_array::device)
      .def_ro("read_only", &device_array::read_only)
      .def_prop_ro("stream", [](const device_array& a) { return a.stream; })
      .def("contiguous", &device_array::contiguous);
  m.def("of_interface", &of_interface, nb::arg("told"), nb::arg("who"));
  m.def("of_capsule", &of_capsule, nb::arg("capsule"), nb::arg("who"));
  m.def("in_order", &in_order, nb::arg("device"), nb::arg("before"), nb::arg("after"));
  m.def(
      "reduce",
      [](int o, nb::handle accuracy, nb::handle rounding, std::int64_t correction, const device_array& x, const device_array* y,
         std::optional<std::vector<std::int64_t>> shape, std::optional<std::vector<int>> axes, const device_array* offsets, const device_array* labels, std::int64_t count,
         std::int64_t length, std::uintptr_t stream, std::uintptr_t out) {
        if (o < 0 || o >= wf::op_count) refuse("no such reduction");
        wf::request r;
        r.what = static_cast<wf::op>(o);
        r.element = x.type;
        r.context.accuracy = accuracy_named(accuracy);
        r.context.rounding = r.options.rounding = rounding_named(rounding);
        r.options.correction = correction;
        r.inputs.shape = shape ? wf::extents(shape->begin(), shape->end()) : x.shape;
        r.inputs.data[0] = x.data;
        r.inputs.strides[0] = broadcast_strides(x, r.inputs.shape);
        if (y != nullptr) {
          r.inputs.data[1] = y->data;
          r.inputs.strides[1] = broadcast_strides(*y, r.inputs.shape);
        }
        using kinds = wf::partition::kinds;
        const auto at = [&r](const device_array& indexes, kinds kind) {
          r.by.kind = kind;
          r.by.indexes = indexes.data;
          r.by.index_bytes = static_cast<std::uint8_t>(wf::info(indexes.type).size);
        };
        r.by.count = count;
        r.by.length = length;
        if (axes) {
          r.by.kind = kinds::axes;
          r.by.axes = *axes;
        } else if (offsets != nullptr) {
          at(*offsets, kinds::segments);
        } else if (labels != nullptr) {
          at(*labels, kinds::labels);
        } else if (length > 0) {
          r.by.kind = kinds::equal_segments;
        }
        r.out = reinterpret_cast<void*>(out);
        if (stream == 1) stream = 0;  // both are the default stream
        const nb::gil_scoped_release others_run;
        const on_device there(x.device, wf::op_names[o]);
        turn& t = turn_of(x.device, stream);
        const std::lock_guard lock(t.one_at_a_time);
        t.place.run(r);
      },
      nb::arg("op"), nb::arg("accuracy"), nb::arg("rounding"), nb::arg("correction"), nb::arg("x"), nb::arg("y").none(), nb::arg("shape").none(),
      nb::arg("axes").none(), nb::arg("offsets").none(), nb::arg("labels").none(), nb::arg("count"), nb::arg("length"), nb::arg("stream"), nb::arg("out"));
}
