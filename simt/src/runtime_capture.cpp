// SPDX-License-Identifier: Apache-2.0
// Capture: what would run is recorded as the nodes of a graph.
#include <algorithm>
#include <map>

#include "runtime_state.hpp"

namespace simt {
namespace detail {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

struct graph_registry {
  std::map<CUgraph_st*, std::unique_ptr<CUgraph_st>> graphs;
  std::map<CUgraphExec_st*, std::shared_ptr<CUgraphExec_st>> executables;
};

graph_registry& graphs() {
  static graph_registry* const g = new graph_registry;
  return *g;
}

// A graph in the making is its capture's.
const CUgraph_st* find_graph(cudaGraph_t graph) {
  if (graphs().graphs.contains(graph)) return graph;
  for (const auto& c : captures()) {
    if (c->graph.get() == graph) return graph;
  }
  return nullptr;
}

// The work of all streams must lead back to the first stream.
bool joined(const capture& c) {
  const auto& last = c.origin->dependencies;
  return std::all_of(c.graph->nodes.begin(), c.graph->nodes.end(), [&](const auto& node) {
    return node->has_dependents || std::find(last.begin(), last.end(), node.get()) != last.end();
  });
}

cudaError_t end_capture(cudaStream_t handle, cudaGraph_t* graph) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  *graph = nullptr;
  const std::lock_guard lock(state_mutex());
  CUstream_st* const stream = resolve(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const std::shared_ptr<capture> c = stream->capture;
  if (!c) return cudaErrorIllegalState;
  if (stream != c->origin) {
    c->invalidated = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  const cudaError_t e =
      c->invalidated ? cudaErrorStreamCaptureInvalidated
      : c->mode != cudaStreamCaptureModeRelaxed && c->owner != std::this_thread::get_id()
          ? cudaErrorStreamCaptureWrongThread
      : !joined(*c) ? cudaErrorStreamCaptureUnjoined
                    : cudaSuccess;
  finish(*c);
  if (e != cudaSuccess) return e;
  *graph = c->graph.get();
  graphs().graphs.emplace(*graph, std::move(c->graph));
  return cudaSuccess;
}

cudaError_t capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status,
                         const CUstream_st** stream) {
  if (status == nullptr) return cudaErrorInvalidValue;
  *stream = resolve(handle);
  if (*stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t e = check_legacy(**stream, false)) return e;
  *status = !(*stream)->capture               ? cudaStreamCaptureStatusNone
            : (*stream)->capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                              : cudaStreamCaptureStatusActive;
  return enter();
}

cudaError_t run_graph(CUgraphExec_st& executable) {
  const std::lock_guard lock(executable.running);
  for (const auto& node : executable.nodes) {
    if (const cudaError_t e = node->work()) return e;
  }
  return cudaSuccess;
}

}  // namespace

std::set<std::shared_ptr<capture>>& captures() {
  static auto* const all = new std::set<std::shared_ptr<capture>>;
  return *all;
}

std::size_t count_graphs() { return graphs().graphs.size(); }
std::size_t count_executables() { return graphs().executables.size(); }

cudaError_t check_unsafe() {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t result = cudaSuccess;
  for (const auto& c : captures()) {
    const bool own = c->owner == std::this_thread::get_id();
    const bool forbids =
        own ? c->mode != cudaStreamCaptureModeRelaxed
            : c->mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal;
    if (!forbids) continue;
    c->invalidated = true;
    result = cudaErrorStreamCaptureUnsupported;
  }
  return result;
}

cudaError_t check_unsafe_locked() {
  const std::lock_guard lock(state_mutex());
  return check_unsafe();
}

cudaError_t check_legacy(const CUstream_st& stream, bool invalidate) {
  if (!stream.legacy) return cudaSuccess;
  cudaError_t result = cudaSuccess;
  for (const auto& c : captures()) {
    const bool waits =
        std::any_of(c->streams.begin(), c->streams.end(), [](auto* s) { return s->blocking(); });
    if (!waits) continue;
    if (invalidate) c->invalidated = true;
    result = cudaErrorStreamCaptureImplicit;
  }
  return result;
}

cudaError_t add_node(CUstream_st& stream, work_function work) {
  if (stream.capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  auto node = std::make_shared<CUgraphNode_st>(CUgraphNode_st{std::move(work)});
  for (const cudaGraphNode_t before : stream.dependencies) before->has_dependents = true;
  stream.dependencies.assign(1, node.get());
  stream.capture->graph->nodes.push_back(std::move(node));
  return cudaSuccess;
}

void finish(capture& c) {
  c.over = true;
  for (CUstream_st* const stream : std::set(c.streams)) {
    stream->dependencies.clear();
    stream->capture.reset();
  }
  c.streams.clear();
  std::erase_if(captures(), [&](const auto& other) { return other.get() == &c; });
}

cudaError_t submit(cudaStream_t handle, work_function work) {
  if (const cudaError_t e = enter()) return e;
  CUstream_st* stream = nullptr;
  {
    const std::lock_guard lock(state_mutex());
    stream = resolve(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t e = check_legacy(*stream)) return e;
    if (stream->capture) return add_node(*stream, std::move(work));
  }
  return run_on(*stream, work);
}

cudaError_t enqueue(cudaStream_t stream, std::function<cudaError_t()> work) {
  return report(submit(stream, std::move(work)));
}

}  // namespace detail

using namespace detail;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  if (mode != cudaStreamCaptureModeGlobal && mode != cudaStreamCaptureModeThreadLocal &&
      mode != cudaStreamCaptureModeRelaxed)
    return report(cudaErrorInvalidValue);
  if (const cudaError_t e = enter()) return report(e);
  static unsigned long long last_id = 0;
  const std::lock_guard lock(state_mutex());
  CUstream_st* const stream = resolve(handle);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (stream->legacy) return report(cudaErrorStreamCaptureUnsupported);
  if (stream->capture) return report(cudaErrorIllegalState);
  auto c = std::make_shared<capture>();
  c->id = ++last_id;
  c->mode = mode;
  c->owner = std::this_thread::get_id();
  c->origin = stream;
  c->streams = {stream};
  stream->capture = c;
  captures().insert(std::move(c));
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return report(end_capture(stream, graph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(state_mutex());
  const CUstream_st* stream = nullptr;
  return report(capture_info(handle, status, &stream));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges,
                                     std::size_t* dependency_count) {
  const std::lock_guard lock(state_mutex());
  const CUstream_st* stream = nullptr;
  if (const cudaError_t e = capture_info(handle, status, &stream)) return report(e);
  if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = stream->capture->graph.get();
  if (dependencies != nullptr) *dependencies = stream->dependencies.data();
  if (edges != nullptr) *edges = nullptr;  // all edges are plain ones
  if (dependency_count != nullptr) *dependency_count = stream->dependencies.size();
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr || *mode < cudaStreamCaptureModeGlobal ||
      *mode > cudaStreamCaptureModeRelaxed)
    return report(cudaErrorInvalidValue);
  std::swap(*mode, thread_mode);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  const std::lock_guard lock(state_mutex());
  const CUgraph_st* const graph = find_graph(handle);
  if (graph == nullptr || count == nullptr) return report(cudaErrorInvalidValue);
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i)
      nodes[i] = i < graph->nodes.size() ? graph->nodes[i].get() : nullptr;
    *count = std::min(*count, graph->nodes.size());
  } else {
    *count = graph->nodes.size();
  }
  return report(enter());
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t handle,
                                 unsigned long long) {
  const std::lock_guard lock(state_mutex());
  const auto found = graphs().graphs.find(handle);
  if (executable == nullptr || found == graphs().graphs.end()) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = enter()) return report(e);
  if (const cudaError_t e = check_unsafe()) return report(e);
  auto created = std::make_shared<CUgraphExec_st>();
  created->nodes = found->second->nodes;
  *executable = created.get();
  graphs().executables.emplace(*executable, std::move(created));
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  const std::lock_guard lock(state_mutex());
  if (!graphs().executables.contains(executable)) return report(cudaErrorInvalidValue);
  return report(resolve(stream) != nullptr ? enter() : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  std::shared_ptr<CUgraphExec_st> executable;
  {
    const std::lock_guard lock(state_mutex());
    const auto found = graphs().executables.find(handle);
    if (found == graphs().executables.end()) return report(cudaErrorInvalidValue);
    executable = found->second;
    CUstream_st* const stream = resolve(stream_handle);
    if (stream != nullptr &&
        stream->capture) {  // CUDA has child nodes for that, but not by this call
      stream->capture->invalidated = true;
      return report(cudaErrorStreamCaptureUnsupported);
    }
  }
  return report(submit(stream_handle, [executable] { return run_graph(*executable); }));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const std::lock_guard lock(state_mutex());
  if (!graphs().executables.contains(executable)) return report(cudaErrorInvalidValue);
  if (const cudaError_t e = check_unsafe()) return report(e);
  graphs().executables.erase(executable);
  return report(enter());
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard lock(state_mutex());
  return report(graphs().graphs.erase(graph) != 0 ? enter() : cudaErrorInvalidValue);
}

}  // namespace simt
