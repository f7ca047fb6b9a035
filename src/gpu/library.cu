// SPDX-License-Identifier: Apache-2.0
// The device_library of this build: CUDA's, or simt's.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/error.hpp>

#include "rows.cuh"
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

/// States of logsumexp: those of floats are kept as the host keeps them.
bool takes_it(op o, dtype t, accuracy a, bool states) noexcept {
  return find(o, t, a) != nullptr && !(states && o == op::logsumexp && !is_floating(t));
}

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
  const auto who = [&] { return std::string(properties_of(r.what).name) + " on " + (WF_LIBRARY_IS_SIMT ? "simt" : "a GPU"); };
  const enqueue_function f = find(r.what, r.element, r.accuracy);
  if (f == nullptr || !takes_it(r.what, r.element, r.accuracy, r.states)) {
    throw error(errc::unsupported, who() + ": " + (f != nullptr ? "states of " : "") + "elements of type " +
                                       std::string(info(r.element).name) + " are not among those that it takes there: see docs/gpu.md");
  }
  if (r.n < 0) throw error(errc::bad_argument, who() + ": " + std::to_string(r.n) + " elements; 0 or more are right");
  if (r.out == nullptr) throw error(errc::bad_argument, who() + ": nowhere to put the answer");
  const cudaError_t e = f(r, *static_cast<workspace*>(scratch), static_cast<cudaStream_t>(stream));
  if (e != cudaSuccess) fail(static_cast<int>(e), who().c_str());
}

bool takes_rows(op o, dtype t, accuracy a) noexcept { return find_rows(o, t, a) != nullptr; }

void run_rows(const rows_request& r, void* scratch, void* stream) {
  const auto who = [&] { return std::string(properties_of(r.what).name) + " of rows on " + (WF_LIBRARY_IS_SIMT ? "simt" : "a GPU"); };
  const rows_function f = find_rows(r.what, r.element, r.accuracy);
  const cudaError_t e = f == nullptr ? cudaErrorNotSupported : f(r, *static_cast<workspace*>(scratch), static_cast<cudaStream_t>(stream));
  if (e == cudaErrorNotSupported) {
    throw error(errc::unsupported, who() + ": elements of type " + std::string(info(r.element).name) +
                                       (r.labels != nullptr ? " by label" : "") + " are not among those that it takes there: see docs/gpu.md");
  }
  if (e != cudaSuccess) fail(static_cast<int>(e), who().c_str());
}

std::string device_name() {
  int device = 0;
  cudaDeviceProp p{};
  cudaError_t e = cudaGetDevice(&device);
  if (e == cudaSuccess) e = cudaGetDeviceProperties(&p, device);
  fail(static_cast<int>(e), "device");
  return p.name;
}

launch_choices table_choices() {
  int device = 0;
  launch_choices c;
  cudaError_t e = cudaGetDevice(&device);
  if (e == cudaSuccess) e = workspace::table_choices(c, device);
  fail(static_cast<int>(e), "device");
  return c;
}

void choose(void* scratch, const launch_choices& c) { static_cast<workspace*>(scratch)->choose(c); }

/// With the choices of the tuning file, if there is a good one.
void* make_scratch() {
  auto w = std::make_unique<workspace>();
  if (has_tuning()) {  // a device's name takes a millisecond
    if (const auto c = usable_tuning(device_name())) w->choose(*c);
  }
  return w.release();
}

void* allocate(std::size_t bytes, const void* pattern, std::size_t pattern_bytes) {
  void* p = nullptr;
  fail(static_cast<int>(cudaMalloc(&p, bytes)), "device memory");
  for (std::size_t at = 0; at < bytes; at += pattern_bytes) {
    const std::size_t left = bytes - at;
    fail(static_cast<int>(cudaMemcpy(static_cast<unsigned char*>(p) + at, pattern, left < pattern_bytes ? left : pattern_bytes,
                                     cudaMemcpyHostToDevice)), "device memory");
  }
  return p;
}

void release(void* p) { cudaFree(p); }

void copy_out(void* to, const void* from, std::size_t bytes) {
  cudaError_t e = cudaDeviceSynchronize();
  if (e == cudaSuccess) e = cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
  fail(static_cast<int>(e), "an answer");
}

double microseconds(const device_request& r, void* scratch, int runs) {
  const auto check = [](cudaError_t e) { fail(static_cast<int>(e), "timing"); };
  struct events {
    cudaEvent_t from = nullptr, to = nullptr;
    ~events() {
      if (from != nullptr) cudaEventDestroy(from);
      if (to != nullptr) cudaEventDestroy(to);
    }
  } e;
  check(cudaEventCreate(&e.from));
  check(cudaEventCreate(&e.to));
  std::vector<float> times;
  for (int k = -2; k < runs; ++k) {  // two to warm up
    check(cudaEventRecord(e.from, nullptr));
    run(r, scratch, nullptr);
    check(cudaEventRecord(e.to, nullptr));
    check(cudaEventSynchronize(e.to));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, e.from, e.to));
    if (k >= 0) times.push_back(ms);
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return 1000.0 * static_cast<double>(times[static_cast<std::size_t>(runs / 2)]);
}

void free_scratch(void* scratch, void* stream) noexcept {
  auto* w = static_cast<workspace*>(scratch);
  w->release(static_cast<cudaStream_t>(stream));
  delete w;
}

void* take(std::size_t bytes, void* stream) {
  void* p = nullptr;
  fail(static_cast<int>(cudaMallocAsync(&p, bytes == 0 ? 1 : bytes, static_cast<cudaStream_t>(stream))), "device memory");
  return p;
}

void give_back(void* p, void* stream) noexcept { cudaFreeAsync(p, static_cast<cudaStream_t>(stream)); }

/// Of pageable memory it returns when all has been read.
void copy_in(void* to, const void* from, std::size_t bytes, void* stream) {
  fail(static_cast<int>(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream))), "an input");
}

void copy_back(void* to, const void* from, std::size_t bytes, void* stream) {
  const auto s = static_cast<cudaStream_t>(stream);
  cudaError_t e = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, s);
  if (e == cudaSuccess) e = cudaStreamSynchronize(s);
  fail(static_cast<int>(e), "an answer");
}

bool reads(const void* p) {
  cudaPointerAttributes of{};
  cudaError_t e = cudaPointerGetAttributes(&of, p);
  if (e == cudaSuccess && of.type != cudaMemoryTypeUnregistered) return true;
  int device = 0, any = 0;
  if (e == cudaSuccess) e = cudaGetDevice(&device);
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&any, cudaDevAttrPageableMemoryAccess, device);
  fail(static_cast<int>(e), "an input");
  return any != 0;
}

constexpr device_library functions = {WF_LIBRARY_IS_SIMT ? "simt" : "cuda", takes_it, run, takes_rows, run_rows, make_scratch,
                                      free_scratch, fail, take, give_back, copy_in, copy_back, reads, device_name, table_choices, choose, allocate, release, copy_out,
                                      microseconds};

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
