// SPDX-License-Identifier: Apache-2.0
/// Arrays on a GPU as they tell of themselves: __cuda_array_interface__ and DLPack, and the streams that they are made on.
#include "gpu_arrays.hpp"

#include <map>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace wfpy {

const wf::device_library& kernels() { return WF_PYTHON_SIMT ? wf::simt_library() : wf::cuda_library(); }
void refuse(const std::string& what) { throw wf::error(wf::errc::bad_argument, what); }
void check(cudaError_t e, const char* who) { kernels().fail(static_cast<int>(e), who); }

void without_gaps(device_array& a) {
  a.strides = wf::row_major(a.shape);
  for (std::int64_t& s : a.strides) s *= static_cast<std::int64_t>(wf::info(a.type).size);
}

namespace {

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

}  // namespace

device_array of_interface(const nb::dict& told, const char* who) {
  try {
    return read_interface(told, who);
  } catch (const nb::cast_error&) {
    refuse(std::string(who) + ": a __cuda_array_interface__ with an entry of another type than the protocol says");
  }
}

device_array of_capsule(nb::handle capsule, const char* who, bool pinned) {
  nb::ndarray<nb::ro> x;
  if (!nb::try_cast(capsule, x, false)) refuse(std::string(who) + ": what __dlpack__() gave is no array of DLPack");
  const int where = x.device_type();
  if (where != nb::device::cuda::value && where != nb::device::cuda_managed::value && where != nb::device::cuda_host::value &&
      !(pinned && where == nb::device::cpu::value))
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

wf::extents broadcast_strides(const device_array& x, const wf::extents& shape) {
  wf::extents strides(shape.size(), 0);
  const std::size_t before = shape.size() - x.shape.size();
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] != 1 || shape[before + d] == 1) strides[before + d] = x.strides[d];
  return strides;
}

turn& turn_of(int device, std::uintptr_t stream) {
  static auto& all = *new std::map<std::pair<int, std::uintptr_t>, turn>;
  static auto& entry = *new std::mutex;
  const std::lock_guard lock(entry);
  return all.try_emplace({device, stream}, stream).first->second;
}

void in_order(int device, std::uintptr_t before, std::uintptr_t after) {
  constexpr const char* who = "streams";
  const on_device there(device, who);
  static auto& events = *new std::map<int, cudaEvent_t>;  // they stay: who waits for one waits for what was recorded before
  static auto& entry = *new std::mutex;
  const std::lock_guard lock(entry);
  cudaEvent_t& event = events[device];
  if (event == nullptr) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), who);
  check(cudaEventRecord(event, reinterpret_cast<cudaStream_t>(before)), who);
  check(cudaStreamWaitEvent(reinterpret_cast<cudaStream_t>(after), event, 0), who);
}

}  // namespace wfpy
