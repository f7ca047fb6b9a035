// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include <algorithm>

#include "runtime_state.hpp"

namespace simt {
namespace detail {
namespace {

struct registry {
  std::set<CUstream_st*> streams;
  std::set<CUevent_st*> events;
  std::shared_mutex
      legacy_order;  // the legacy stream's work excludes that of every blocking stream
};

registry& handles() {
  static registry* const r = new registry;  // streams may be used by destructors of static objects
  return *r;
}

CUstream_st& legacy_stream() {
  static CUstream_st* const stream = [] {
    auto* const s = new CUstream_st;
    s->legacy = true;
    return s;
  }();
  return *stream;
}

CUstream_st& thread_stream() {
  thread_local CUstream_st stream;
  return stream;
}

// Whether a call may look at when the event happened.
cudaError_t check_event(cudaEvent_t event, bool invalidate) {
  if (!is_event(event)) return cudaErrorInvalidResourceHandle;
  if (!event->capture) return cudaSuccess;
  if (event->capture->over) return cudaErrorInvalidValue;
  if (invalidate) event->capture->invalidated = true;
  return cudaErrorCapturedEvent;
}

cudaError_t create_event(cudaEvent_t* event, unsigned int flags) {
  constexpr unsigned int known =
      cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (event == nullptr || (flags & ~known) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaEventInterprocess) != 0)
    return (flags & cudaEventDisableTiming) != 0 ? cudaErrorNotSupported : cudaErrorInvalidValue;
  if (const cudaError_t e = enter()) return e;
  auto created = std::make_unique<CUevent_st>();
  created->flags = flags;
  const std::lock_guard lock(state_mutex());
  handles().events.insert(created.get());
  *event = created.release();
  return cudaSuccess;
}

cudaError_t record_event(cudaEvent_t event, cudaStream_t handle, unsigned int flags) {
  if ((flags & ~cudaEventRecordExternal) != 0) return cudaErrorInvalidValue;
  if (const cudaError_t e = enter()) return e;
  const std::lock_guard lock(state_mutex());
  CUstream_st* const stream = resolve(handle);
  if (stream == nullptr || !is_event(event)) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t e = check_legacy(*stream)) return e;
  if (stream->capture && (flags & cudaEventRecordExternal) != 0) {
    return add_node(*stream, [event] {
      const std::lock_guard inner(state_mutex());
      if (!is_event(event)) return cudaErrorInvalidResourceHandle;
      event->capture.reset();
      event->recorded = true;
      event->time = std::chrono::steady_clock::now();
      return cudaSuccess;
    });
  }
  if (stream->capture) {
    if (stream->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
    event->capture = stream->capture;
    event->dependencies = stream->dependencies;
    return cudaSuccess;
  }
  if ((flags & cudaEventRecordExternal) != 0) return cudaErrorIllegalState;
  event->capture.reset();
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}

// The stream enters the event's capture, or waits in it; outside of capture all that was asked for
// is done.
cudaError_t wait_event(cudaStream_t handle, cudaEvent_t event, unsigned int flags) {
  if ((flags & ~cudaEventWaitExternal) != 0) return cudaErrorInvalidValue;
  if (const cudaError_t e = enter()) return e;
  const std::lock_guard lock(state_mutex());
  CUstream_st* const stream = resolve(handle);
  if (stream == nullptr || !is_event(event)) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t e = check_legacy(*stream)) return e;
  if (stream->capture && (flags & cudaEventWaitExternal) != 0)
    return add_node(*stream, [] { return cudaSuccess; });
  const std::shared_ptr<capture>& theirs = event->capture;
  if (!theirs) {
    if (!stream->capture || !event->recorded) return cudaSuccess;
    stream->capture->invalidated = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (theirs->over) {
    if (stream->capture) stream->capture->invalidated = true;
    return cudaErrorInvalidValue;
  }
  if (stream->legacy) {
    theirs->invalidated = true;
    return cudaErrorStreamCaptureImplicit;
  }
  if (stream->capture && stream->capture != theirs) {
    stream->capture->invalidated = theirs->invalidated = true;
    return cudaErrorStreamCaptureMerge;
  }
  if (theirs->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (!stream->capture) {
    stream->capture = theirs;
    theirs->streams.insert(stream);
  }
  for (const cudaGraphNode_t node : event->dependencies) {
    auto& mine = stream->dependencies;
    if (std::find(mine.begin(), mine.end(), node) == mine.end()) mine.push_back(node);
  }
  return cudaSuccess;
}

cudaError_t synchronize(cudaStream_t handle) {
  if (const cudaError_t e = enter()) return e;
  CUstream_st* stream = nullptr;
  {
    const std::lock_guard lock(state_mutex());
    stream = resolve(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture) {
      stream->capture->invalidated = true;
      return cudaErrorStreamCaptureUnsupported;
    }
    if (const cudaError_t e = check_unsafe()) return e;
    if (const cudaError_t e = check_legacy(*stream)) return e;
  }
  return run_on(*stream, [] { return cudaSuccess; });  // another thread may be at work on it
}

}  // namespace

std::mutex& state_mutex() {
  static std::mutex* const m = new std::mutex;
  return *m;
}

CUstream_st* resolve(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return &legacy_stream();
  if (handle == cudaStreamPerThread) return &thread_stream();
  return handles().streams.contains(handle) ? handle : nullptr;
}

bool is_event(cudaEvent_t event) { return handles().events.contains(event); }
std::size_t count_streams() { return handles().streams.size(); }
std::size_t count_events() { return handles().events.size(); }

cudaError_t run_on(CUstream_st& stream, const work_function& work) {
  std::unique_lock<std::shared_mutex> all(handles().legacy_order, std::defer_lock);
  std::shared_lock<std::shared_mutex> one(handles().legacy_order, std::defer_lock);
  const std::unique_lock own(stream.running);
  if (stream.legacy) all.lock();
  if (stream.blocking()) one.lock();
  return work();
}

}  // namespace detail

using namespace detail;

CUstream_st::~CUstream_st() {
  if (!capture) return;
  const std::lock_guard lock(state_mutex());
  finish(*std::shared_ptr<detail::capture>(capture));
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (stream == nullptr || (flags & ~cudaStreamNonBlocking) != 0)
    return report(cudaErrorInvalidValue);
  if (const cudaError_t e = enter()) return report(e);
  auto created = std::make_unique<CUstream_st>();
  created->flags = flags;
  const std::lock_guard lock(state_mutex());
  handles().streams.insert(created.get());
  *stream = created.release();
  return cudaSuccess;
}

// There is one priority; others are brought into the range, as CUDA does.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::unique_ptr<CUstream_st> owner;
  {
    const std::lock_guard lock(state_mutex());
    if (handles().streams.erase(stream) == 0) return report(cudaErrorInvalidResourceHandle);
    owner.reset(stream);
    if (stream->capture &&
        stream->capture->origin != stream) {  // a fork: what it did stays unjoined
      stream->capture->streams.erase(stream);
      stream->capture.reset();
    }
  }
  const std::lock_guard finished(owner->running);
  return report(enter());
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return report(synchronize(stream)); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return report(synchronize(stream)); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return report(wait_event(stream, event, flags));
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  const std::lock_guard lock(state_mutex());
  const CUstream_st* const stream = resolve(handle);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (flags == nullptr) return report(cudaErrorInvalidValue);
  *flags = stream->flags;
  return report(enter());
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  const std::lock_guard lock(state_mutex());
  if (resolve(handle) == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (priority == nullptr) return report(cudaErrorInvalidValue);
  *priority = 0;
  return report(enter());
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return cudaStreamGetPriority(stream, device);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  if (function == nullptr) return report(cudaErrorInvalidValue);
  return report(submit(stream, [=] {
    const host_function_scope scope;
    function(user_data);
    return cudaSuccess;
  }));
}

// CUDA cannot capture these; cudaLaunchHostFunc() is what it has instead.
cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback,
                                  void* user_data, unsigned int flags) {
  if (callback == nullptr || flags != 0) return report(cudaErrorInvalidValue);
  {
    const std::lock_guard lock(state_mutex());
    CUstream_st* const stream = resolve(handle);
    if (stream != nullptr && stream->capture) {
      stream->capture->invalidated = true;
      return report(cudaErrorStreamCaptureUnsupported);
    }
  }
  return report(submit(handle, [=] {
    const host_function_scope scope;
    callback(handle, cudaSuccess, user_data);
    return cudaSuccess;
  }));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return report(create_event(event, cudaEventDefault));
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return report(create_event(event, flags));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return report(create_event(event, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return report(record_event(event, stream, cudaEventRecordDefault));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return report(record_event(event, stream, flags));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(state_mutex());
  if (const cudaError_t e = check_event(event, true)) return report(e);
  if (const cudaError_t e = check_unsafe()) return report(e);
  return report(enter());
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (milliseconds == nullptr) return report(cudaErrorInvalidValue);
  const std::lock_guard lock(state_mutex());
  if (const cudaError_t e = check_event(start, false)) return report(e);
  if (const cudaError_t e = check_event(end, false)) return report(e);
  for (const CUevent_st* const event : {start, end}) {
    if (!event->recorded || (event->flags & cudaEventDisableTiming) != 0)
      return report(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return report(enter());
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(state_mutex());
  if (handles().events.erase(event) == 0) return report(cudaErrorInvalidResourceHandle);
  delete event;
  return report(enter());
}

}  // namespace simt
