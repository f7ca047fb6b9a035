// SPDX-License-Identifier: Apache-2.0
// What the runtime's handles point to, and the rules that its files share.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <simt/runtime_api.hpp>

#include "memory.hpp"

namespace simt {

using work_function = std::function<cudaError_t()>;

struct CUgraphNode_st {
  work_function work;
  bool has_dependents = false;
};

/// Memory that a graph allocates when it is launched, at an address fixed when it was captured.
struct graph_memory {
  std::shared_ptr<void> storage;
  std::size_t size = 0;
  bool freed_in_graph = false;
};

using node_list = std::vector<std::shared_ptr<CUgraphNode_st>>;

struct CUgraph_st {
  node_list nodes;  // in the order of their capture, which is one that respects all edges
  std::vector<std::shared_ptr<graph_memory>> memory;
};

struct CUgraphExec_st {
  node_list nodes;
  std::mutex running;  // a graph never overlaps itself
};

namespace detail {

struct capture {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id owner;
  CUstream_st* origin = nullptr;
  std::set<CUstream_st*> streams;
  std::unique_ptr<CUgraph_st> graph = std::make_unique<CUgraph_st>();
  bool invalidated = false, over = false;
};

}  // namespace detail

struct CUstream_st {
  unsigned int flags = 0;
  bool legacy = false;
  std::shared_ptr<detail::capture> capture;
  std::vector<cudaGraphNode_t> dependencies;  // the next node's that is captured
  std::recursive_mutex running;               // work of one stream never overlaps

  bool blocking() const { return !legacy && (flags & cudaStreamNonBlocking) == 0; }
  ~CUstream_st();
};

struct CUevent_st {
  unsigned int flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<detail::capture> capture;  // where it was last recorded by a capture
  std::vector<cudaGraphNode_t> dependencies;
};

struct CUmemPoolHandle_st {
  std::mutex mutex;
  std::size_t max_size = 0;  // 0: no limit of its own
  std::size_t used = 0, used_high = 0;
  std::uint64_t release_threshold = 0;
  int reuse[3] = {1, 1, 1};
};

namespace detail {

/// Guards streams, events, captures and graphs; never held while work runs.
std::mutex& state_mutex();

// The functions below want state_mutex() held.

/// The stream of a handle, null and the two special handles included; null if it is none.
CUstream_st* resolve(cudaStream_t handle);
bool is_event(cudaEvent_t event);
std::set<std::shared_ptr<capture>>& captures();
std::size_t count_streams();
std::size_t count_events();
std::size_t count_graphs();
std::size_t count_executables();

/// Whether a call that CUDA calls unsafe during capture may go on; invalidates the captures that
/// forbid it.
cudaError_t check_unsafe();
/// Whether work for the legacy stream may go on: it would wait for blocking streams that capture.
cudaError_t check_legacy(const CUstream_st& stream, bool invalidate = true);
/// Adds a node after the stream's last ones.
cudaError_t add_node(CUstream_st& stream, work_function work);
/// Takes the streams out of a capture that ended or was given up.
void finish(capture& c);

// These take state_mutex() themselves.

/// cudaSuccess, or why no call can go on: a sticky error, or a host function that calls the API.
cudaError_t enter();
cudaError_t check_unsafe_locked();
/// Runs the work, or records it where the stream captures.
cudaError_t submit(cudaStream_t handle, work_function work);
/// Runs work of one stream after the work before it; also for what needs no node.
cudaError_t run_on(CUstream_st& stream, const work_function& work);

/// Notes that the calling thread is in a host function of a stream, which must not call the API.
class host_function_scope {
 public:
  host_function_scope();
  ~host_function_scope();
};

inline cudaError_t report(cudaError_t error) {
  return error == cudaSuccess ? error : set_last_error(error);
}

/// Device memory for cudaMalloc, pools and graphs; 0 bytes give null.
cudaError_t allocate(void** pointer, std::size_t size, memory_kind kind,
                     std::shared_ptr<CUmemPoolHandle_st> pool);
/// The pool of a handle, null if it is none.
std::shared_ptr<CUmemPoolHandle_st> find_pool(cudaMemPool_t handle);
/// The pool that cudaMallocAsync takes from.
std::shared_ptr<CUmemPoolHandle_st> current_pool();
std::size_t count_pools();
void reset_pools();
/// What cudaFuncSetAttribute() was told of kernels.
void forget_kernel_settings();
void release(const allocation_record& record);

}  // namespace detail
}  // namespace simt
