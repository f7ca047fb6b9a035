// SPDX-License-Identifier: Apache-2.0
// The device of this build but for its kernels: CUDA's, or simt's.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <warpfold/detail/gpu/tuning.hpp>
#include <warpfold/device/captures.cuh>
#include <warpfold/error.hpp>
#include <warpfold/executor.hpp>

#include "../measure/timer.cuh"
#include "staged_copy.hpp"
#include "table.cuh"

namespace wf {

namespace device::inline WF_BUILD {

namespace {

void fail(int code, const char* who) {
  const auto e = static_cast<cudaError_t>(code);
  if (e == cudaSuccess) return;
  cudaGetLastError();  // this call reports the error, so the next one does not
  if (e == cudaErrorMisalignedAddress) {
    throw error(errc::bad_argument, std::string(who) + ": an input's address is not a multiple of its element's alignment");
  }
  const bool none = e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver;
  throw error(none ? errc::no_device : errc::device, std::string(who) + ": " + cudaGetErrorString(e));
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

/// Makes the scratch memory. It has the choices of the tuning file, if that is valid for this device.
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

double microseconds_of(const void* self, void (*work)(const void* self), int runs) {
  const measure::stopwatch watch;
  std::vector<double> times;
  for (int k = -2; k < runs; ++k) {  // two to warm up
    const double seconds = watch.seconds(nullptr, [&] { work(self); });
    if (k >= 0) times.push_back(seconds);
  }
  return 1e6 * measure::spread_of(std::move(times)).median;
}

void free_scratch(void* scratch, void* stream) noexcept {
  auto* w = static_cast<workspace*>(scratch);
  w->release(static_cast<cudaStream_t>(stream));
  delete w;
}

/// What a device's pool keeps when a thread waits: the memory of a tensor that is under way over ranks.
constexpr std::uint64_t kept_bytes = std::uint64_t{320} << 20;

/// The pool of the current device, from which memory is lent; null where there is none. CUDA's default pool gives all memory back to the system whenever a thread waits,
/// and has it made anew: 0.7 µs a MiB.
cudaMemPool_t own_pool() {
  static auto& pools = *new std::map<int, cudaMemPool_t>;  // to the end, as devices are
  static auto& entry = *new std::mutex;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
  const std::lock_guard lock(entry);
  const auto found = pools.find(device);
  if (found != pools.end()) return found->second;
  const beside_captures meanwhile;
  cudaMemPoolProps of{};
  of.allocType = cudaMemAllocationTypePinned;
  of.location.type = cudaMemLocationTypeDevice;
  of.location.id = device;
  cudaMemPool_t made = nullptr;
  if (cudaMemPoolCreate(&made, &of) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  std::uint64_t kept = kept_bytes;
  cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept);
  return pools[device] = made;
}

void* take(std::size_t bytes, void* stream) {
  void* p = nullptr;
  const auto s = static_cast<cudaStream_t>(stream);
  const cudaMemPool_t pool = own_pool();
  cudaError_t e = pool == nullptr ? cudaErrorNotSupported : cudaMallocFromPoolAsync(&p, bytes == 0 ? 1 : bytes, pool, s);
  if (e != cudaSuccess) {
    cudaGetLastError();
    e = cudaMallocAsync(&p, bytes == 0 ? 1 : bytes, s);
  }
  fail(static_cast<int>(e), "device memory");
  return p;
}

void give_back(void* p, void* stream) noexcept { cudaFreeAsync(p, static_cast<cudaStream_t>(stream)); }

/// Pinned memory for copies of large arrays of the host: made for the first, and kept. One copy has it at a time.
struct stage {
  static constexpr std::size_t bytes = staged::piece_bytes * staged::most_lanes * staged::buffers;
  std::mutex entry;
  std::byte* memory = nullptr;

  /// Whether the pinned memory is there; it is made where it is not.
  bool ready() {
    cudaPointerAttributes of{};  // cudaDeviceReset() takes it away
    if (memory != nullptr && cudaPointerGetAttributes(&of, memory) == cudaSuccess && of.type == cudaMemoryTypeHost) return true;
    void* p = nullptr;
    const cudaError_t e = cudaHostAlloc(&p, bytes, cudaHostAllocPortable);
    if (e != cudaSuccess) cudaGetLastError();
    memory = e == cudaSuccess ? static_cast<std::byte*>(p) : nullptr;
    return memory != nullptr;
  }
};

/// A staged copy on a stream of the device that was current where it began.
struct staged_on_stream {
  std::byte* memory;
  cudaStream_t stream;
  int device;
  std::array<std::array<cudaEvent_t, staged::buffers>, staged::most_lanes> copied{};

  ~staged_on_stream() {
    for (const auto& of_lane : copied)
      for (const cudaEvent_t event : of_lane)
        if (event != nullptr) cudaEventDestroy(event);
  }
  cudaEvent_t& event(int lane, int buffer) { return copied[static_cast<std::size_t>(lane)][static_cast<std::size_t>(buffer)]; }
  int begin(int lane) {
    cudaError_t e = cudaSetDevice(device);
    for (int k = 0; k < staged::buffers && e == cudaSuccess; ++k) e = cudaEventCreateWithFlags(&event(lane, k), cudaEventDisableTiming);
    return static_cast<int>(e);
  }
  std::byte* pinned(int lane, int buffer) const { return memory + staged::piece_bytes * static_cast<std::size_t>(lane * staged::buffers + buffer); }
  int enqueue(void* to, std::size_t bytes, int lane, int buffer) {
    cudaError_t e = cudaMemcpyAsync(to, pinned(lane, buffer), bytes, cudaMemcpyDefault, stream);
    if (e == cudaSuccess) e = cudaEventRecord(event(lane, buffer), stream);
    return static_cast<int>(e);
  }
  int wait(int lane, int buffer) { return static_cast<int>(cudaEventSynchronize(event(lane, buffer))); }
};

/// Returns when all of the host's memory has been read, unless it is pinned: that is read when the stream gets there.
void copy_in(void* to, const void* from, std::size_t bytes, void* stream) {
  const auto s = static_cast<cudaStream_t>(stream);
  static auto& kept = *new stage;  // to the end, as devices are
  cudaPointerAttributes of{};
  if (bytes >= staged::least_bytes && cudaPointerGetAttributes(&of, from) == cudaSuccess && of.type == cudaMemoryTypeUnregistered) {
    const std::unique_lock lock(kept.entry, std::try_to_lock);
    int device = 0;
    if (lock && cudaGetDevice(&device) == cudaSuccess && kept.ready()) {
      staged_on_stream d{kept.memory, s, device};
      fail(staged::copy(d, cpu::default_executor(), to, from, bytes), "an input");
      return;
    }
  }
  fail(static_cast<int>(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s)), "an input");
}

void copy_back(void* to, const void* from, std::size_t bytes, void* stream) {
  const auto s = static_cast<cudaStream_t>(stream);
  cudaError_t e = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s);
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

int devices() {
  int count = 0;
  fail(static_cast<int>(cudaGetDeviceCount(&count)), "devices");
  return count;
}

int use(int device) {
  int before = 0;
  cudaError_t e = cudaGetDevice(&before);
  if (e == cudaSuccess && device != before) e = cudaSetDevice(device);
  fail(static_cast<int>(e), "device");
  return before;
}

void* make_stream() {
  cudaStream_t s = nullptr;
  fail(static_cast<int>(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)), "stream");
  return s;
}

void end_stream(void* s) noexcept { cudaStreamDestroy(static_cast<cudaStream_t>(s)); }

constexpr device_machine functions = {WF_LIBRARY_IS_SIMT ? "simt" : "cuda", make_scratch, free_scratch, fail, take, give_back, copy_in, copy_back, reads,
                                      devices, use, make_stream, end_stream};
constexpr trial_device trial_functions = {device_name, table_choices, choose, allocate, release, copy_out, microseconds_of};

}  // namespace

}  // namespace device::inline WF_BUILD

static_assert(no_such_kernel == static_cast<int>(cudaErrorNotSupported));

const device_machine& device::built_kernels::machine() { return device::functions; }
const trial_device& device::built_kernels::trials() { return device::trial_functions; }

}  // namespace wf
