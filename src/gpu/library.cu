// SPDX-License-Identifier: Apache-2.0
// The device_library of this build: CUDA's, or simt's.
#include <string>

#include <warpfold/error.hpp>

#include "table.cuh"

namespace wf {

namespace device::inline WF_BUILD {

namespace {

enqueue_function find(op o, dtype t, accuracy a) {
  for (const auto family : {find_order, find_integers, find_integer_moments, find_native, find_sums, find_products}) {
    if (const enqueue_function f = family(o, t, a)) return f;
  }
  return nullptr;
}

bool takes_it(op o, dtype t, accuracy a) noexcept { return find(o, t, a) != nullptr; }

void fail(int code, const char* who) {
  const auto e = static_cast<cudaError_t>(code);
  if (e == cudaSuccess) return;
  cudaGetLastError();  // told here, and so not to whoever asks next
  if (e == cudaErrorMisalignedAddress) {
    throw error(errc::bad_argument, std::string(who) + ": an input's address is not a multiple of its element's alignment");
  }
  const bool none = e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver;
  throw error(none ? errc::no_device : errc::device, std::string(who) + ": " + cudaGetErrorString(e));
}

void run(const device_request& r, void* scratch, void* stream) {
  const std::string who = std::string(properties_of(r.what).name) + " on " +
                          (WF_LIBRARY_IS_SIMT ? "simt" : "a GPU");
  const enqueue_function f = find(r.what, r.element, r.accuracy);
  if (f == nullptr) {
    throw error(errc::unsupported, who + ": elements of type " + std::string(info(r.element).name) +
                                       " are not among those that it takes there: see docs/gpu.md");
  }
  if (r.n < 0) throw error(errc::bad_argument, who + ": " + std::to_string(r.n) + " elements; 0 or more are right");
  if (r.out == nullptr) throw error(errc::bad_argument, who + ": nowhere to put the answer");
  fail(static_cast<int>(f(r, *static_cast<workspace*>(scratch), static_cast<cudaStream_t>(stream))), who.c_str());
}

void* make_scratch() { return new workspace; }

void free_scratch(void* scratch, void* stream) noexcept {
  auto* w = static_cast<workspace*>(scratch);
  w->release(static_cast<cudaStream_t>(stream));
  delete w;
}

constexpr device_library functions = {WF_LIBRARY_IS_SIMT ? "simt" : "cuda", takes_it, run, make_scratch, free_scratch, fail};

}  // namespace

}  // namespace device::inline WF_BUILD

#if WF_LIBRARY_IS_SIMT
const device_library& simt_library();
const device_library& simt_library() { return device::functions; }
#else
const device_library& cuda_library();
const device_library& cuda_library() { return device::functions; }
#endif

}  // namespace wf
