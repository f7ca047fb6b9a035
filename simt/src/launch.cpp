// SPDX-License-Identifier: Apache-2.0
// The host's side of a launch: options, checks, totals, the last fault.
#include "grid.hpp"
#include "limits.hpp"

#include <simt/launch.hpp>
#include <simt/runtime_api.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace simt {

namespace {

template <class T>
void read_number(const char* name, T& value, std::string& refused) {
  const char* text = std::getenv(name);
  if (!text || !*text) return;
  const std::string_view all(text);
  const auto end = all.data() + all.size();
  if (const auto [at, error] = std::from_chars(all.data(), end, value); error != std::errc() || at != end)
    refused = std::string(name) + "=" + text + " is not a number that it can be";
}

options first_options(std::string& refused) {
  options o;
  const char* order = std::getenv("SIMT_ORDER");
  const std::string_view text = order ? order : "";
  if (text == "reversed") o.order = block_order::reversed;
  else if (text == "shuffled") o.order = block_order::shuffled;
  else if (!text.empty() && text != "forward")
    refused = "SIMT_ORDER=" + std::string(text) + " is none of forward, reversed and shuffled";
  read_number("SIMT_SEED", o.seed, refused);
  read_number("SIMT_THREADS", o.os_threads, refused);
  read_number("SIMT_TIMEOUT", o.timeout_seconds, refused);
  read_number("SIMT_MULTIPROCESSORS", o.multiprocessors, refused);
  return o;
}

struct host_state {
  std::string refused;  // an environment variable that says nothing sensible: what is wrong with it
  options chosen = first_options(refused);
  bool told = false;
  launch_stats total;
  std::uintptr_t last_kernel = 0;
  fault_report last;
};

host_state& host() {
  thread_local host_state state;
  return state;
}

// A misspelt option would otherwise test what nobody asked for.
bool refuses(host_state& h) {
  if (h.refused.empty()) return false;
  if (!h.told) std::fprintf(stderr, "simt: %s\n", h.refused.c_str());
  h.told = true;
  return true;
}

}  // namespace

options& current_options() { return host().chosen; }
fault_report last_fault() { return host().last; }

void clear_fault() {
  host().last = {};
  detail::clear_sticky_error();
}

launch_stats stats() {
  host_state& h = host();
  if (h.last_kernel != 0) h.total.kernel = detail::kernel_name(h.last_kernel);
  return h.total;
}

void reset_stats() {
  host().total = {};
  host().last_kernel = 0;
}

namespace detail {

/// So that print.cpp is linked wherever kernels are, also where another printf() is found first, as that of a sanitizer.
[[gnu::used]] int (*const print_of_all)(const char*, std::va_list) = print;

fault_report report_of(const grid&);

bool is_cooperative() { return this_thread->in->grid->shape.cooperative; }
unsigned cluster_extent(unsigned axis) { return this_thread->in->grid->shape.cluster[axis]; }
std::size_t dynamic_shared_bytes() { return this_thread->in->grid->shape.shared_bytes; }

launch_shape shape_of(const cudaLaunchConfig_t& c) {
  launch_shape s{{c.gridDim.x, c.gridDim.y, c.gridDim.z}, {c.blockDim.x, c.blockDim.y, c.blockDim.z}};
  s.shared_bytes = c.dynamicSmemBytes;
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    const cudaLaunchAttributeValue& v = c.attrs[i].val;
    if (c.attrs[i].id == cudaLaunchAttributeCooperative) s.cooperative = v.cooperative != 0;
    if (c.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      s.cluster[0] = v.clusterDim.x;
      s.cluster[1] = v.clusterDim.y;
      s.cluster[2] = v.clusterDim.z;
    }
  }
  return s;
}

// The codes are those that CUDA 13 gives on a GPU, measured: a shape beyond a limit is an invalid value, where CUDA 12 said
// cudaErrorInvalidConfiguration.
cudaError_t check_shape(const launch_shape& s, const void* kernel) {
  constexpr auto d = device_limits;
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  std::uint64_t threads = 1, cluster = 1;
  for (int i = 0; i < 3; ++i) {
    if (s.grid[i] == 0 || s.grid[i] > d.max_grid[i]) return cudaErrorInvalidValue;
    if (s.block[i] == 0 || s.block[i] > d.max_block[i]) return cudaErrorInvalidValue;
    if (s.cluster[i] == 0 || s.cluster[i] > 16 || s.grid[i] % s.cluster[i] != 0) return cudaErrorInvalidClusterSize;
    threads *= s.block[i];
    cluster *= s.cluster[i];
  }
  if (threads > static_cast<std::uint64_t>(d.threads_per_block)) return cudaErrorInvalidValue;
  if (s.shared_bytes > std::min<std::uint64_t>(max_dynamic_shared(kernel), shared_opt_in(current_options()))) return cudaErrorInvalidValue;
  const auto on_device = static_cast<std::uint64_t>(multiprocessors(current_options())) *
                         static_cast<std::uint64_t>(resident_blocks(threads, s.shared_bytes));
  const std::uint64_t largest = nonportable_clusters(kernel) ? 16 : static_cast<std::uint64_t>(d.blocks_per_cluster);
  if (cluster > largest || (cluster > 1 && cluster > on_device)) return cudaErrorInvalidClusterSize;
  if (s.cooperative && std::uint64_t{s.grid[0]} * s.grid[1] * s.grid[2] > on_device)
    return cudaErrorCooperativeLaunchTooLarge;
  return cudaSuccess;
}

cudaError_t code_of(fault what) {
  switch (what) {
    case fault::out_of_bounds: return cudaErrorIllegalAddress;
    case fault::misaligned: return cudaErrorMisalignedAddress;
    case fault::unsupported: return cudaErrorNotSupported;  // which does not stay, so that other kernels run
    default: return cudaErrorLaunchFailure;
  }
}

cudaError_t run_grid(const launch_shape& shape, const void* kernel, const std::function<void()>& body) {
  if (this_thread) return cudaErrorNotSupported;  // a launch from within a kernel
  host_state& h = host();
  install_signal_handlers();
  grid g(shape, reinterpret_cast<std::uintptr_t>(kernel), body, h.chosen);
  if (g.chosen.watch) {
    launch_info info{kernel_name(g.kernel), {}, {}, {}, shape.shared_bytes};
    for (int i = 0; i < 3; ++i) {
      info.grid[i] = shape.grid[i];
      info.block[i] = shape.block[i];
      info.cluster[i] = shape.cluster[i];
    }
    g.chosen.watch->launch_begin(info);
  }
  g.run();
  if (g.chosen.watch) g.chosen.watch->launch_end();
  h.last_kernel = g.kernel;
  launch_stats& total = h.total;
  total.blocks += g.blocks;
  total.threads += g.blocks * g.threads;
  total.barriers += g.counted.barriers;
  total.warp_syncs += g.counted.warp_syncs;
  total.shuffles += g.counted.shuffles;
  total.collectives += g.counted.collectives;
  total.atomics += g.counted.atomics;
  total.grid_syncs += g.grid_syncs;
  total.cluster_syncs += g.cluster_syncs;
  total.shared_bytes = shape.shared_bytes;
  if (!g.failed) return cudaSuccess;
  if (g.out_of_memory) return cudaErrorMemoryAllocation;
  h.last = report_of(g);
  return code_of(h.last.what);
}

launch_hook on_launch = nullptr;

cudaError_t launch(const launch_shape& shape, const void* kernel, cudaStream_t stream, std::function<void()> body) {
  if (const cudaError_t sticky = sticky_error()) return set_last_error(sticky);
  if (refuses(host())) return set_last_error(cudaErrorInvalidValue);
  if (const cudaError_t bad = check_shape(shape, kernel)) return set_last_error(bad);
  return enqueue(stream, [=] {
    const auto run = [&] { return run_grid(shape, kernel, body); };
    return on_launch != nullptr && this_thread == nullptr ? on_launch(shape, kernel, run) : run();
  });
}

}  // namespace detail
}  // namespace simt
