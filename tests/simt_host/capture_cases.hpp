// SPDX-License-Identifier: Apache-2.0
// As runtime_cases.hpp, for capture and graphs.
#pragma once

#include "runtime_cases.hpp"

#define BEGIN(mode) CALL(cudaStreamBeginCapture(s, cudaStreamCaptureMode##mode))
#define STATUS(stream)                             \
  do {                                             \
    CALL(cudaStreamIsCapturing(stream, &st));      \
    print("   status %d\n", st);                   \
  } while (0)
#define END()                                                      \
  do {                                                             \
    gr = reinterpret_cast<cudaGraph_t>(1);                         \
    CALL(cudaStreamEndCapture(s, &gr));                            \
    print("   graph %d\n", gr == nullptr ? 0 : 1);                 \
    if (gr != nullptr) {                                           \
      n = 0;                                                       \
      CALL(cudaGraphGetNodes(gr, nullptr, &n));                    \
      print("   nodes %d\n", static_cast<int>(n));                 \
      cudaGraphDestroy(gr);                                        \
    }                                                              \
    STATUS(s);                                                     \
    STATUS(t);                                                     \
  } while (0)

static void run_capture_cases() {
  char buf[64] = {};
  size_t n = 0;
  void *p = nullptr, *q = nullptr;
  cudaMalloc(&p, 1000);
  cudaStream_t s = nullptr, t = nullptr;  // s does not wait for the legacy stream, t does
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaStreamCreate(&t);
  cudaEvent_t e = nullptr, f = nullptr;
  cudaEventCreate(&e);
  cudaEventCreate(&f);
  cudaEventRecord(f, s);
  float ms = 0;


  part("where capture can begin and end");
  cudaGraph_t gr = nullptr, gr2 = nullptr;
  cudaGraphExec_t ex = nullptr;
  cudaStreamCaptureStatus st;
  unsigned long long id = 0;
  CALL(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  CALL(cudaStreamEndCapture(s, &gr)); BEGIN(Global); BEGIN(Global); STATUS(s); END();

  part("empty");
  BEGIN(Global); END();

  part("one node");
  BEGIN(Global); CALL(cudaMemsetAsync(p, 0, 8, s)); END();

  part("malloc in global");
  BEGIN(Global); CALL(cudaMalloc(&q, 8)); STATUS(s); CALL(cudaMemsetAsync(p, 0, 8, s)); END();

  part("malloc in thread");
  BEGIN(ThreadLocal); CALL(cudaMalloc(&q, 8)); STATUS(s); END();

  part("malloc in relaxed");
  BEGIN(Relaxed); CALL(cudaMalloc(&q, 8)); CALL(cudaFree(q)); STATUS(s); END();

  part("free");
  CALL(cudaMalloc(&q, 8)); BEGIN(Global); CALL(cudaFree(q)); STATUS(s); END(); CALL(cudaFree(q));

  part("mallochost");
  BEGIN(Global); CALL(cudaMallocHost(&q, 8)); STATUS(s); END();

  part("sync stream");
  BEGIN(Global); CALL(cudaStreamSynchronize(s)); STATUS(s); END();

  part("query stream");
  BEGIN(Global); CALL(cudaStreamQuery(s)); STATUS(s); END();

  part("sync other stream");
  BEGIN(Global); CALL(cudaStreamSynchronize(t)); STATUS(s); END();

  part("sync device");
  BEGIN(Global); CALL(cudaDeviceSynchronize()); STATUS(s); END();

  part("sync device relaxed");
  BEGIN(Relaxed); CALL(cudaDeviceSynchronize()); STATUS(s); END();

  part("memcpy sync");
  BEGIN(Global); CALL(cudaMemcpy(p, buf, 8, cudaMemcpyHostToDevice)); STATUS(s); END();

  part("memcpy sync relaxed");
  BEGIN(Relaxed); CALL(cudaMemcpy(p, buf, 8, cudaMemcpyHostToDevice)); STATUS(s); END();

  part("memset null stream, s non-blocking");
  BEGIN(Global); CALL(cudaMemsetAsync(p, 0, 8, 0)); STATUS(s); END();

  part("null stream, blocking capture");
  CALL(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal)); CALL(cudaMemsetAsync(p, 0, 8, 0));
  STATUS(t);
  gr = (cudaGraph_t)1;
  CALL(cudaStreamEndCapture(t, &gr));

  part("null stream, blocking capture relaxed");
  CALL(cudaStreamBeginCapture(t, cudaStreamCaptureModeRelaxed));
  CALL(cudaMemsetAsync(p, 0, 8, 0)); STATUS(t); CALL(cudaStreamEndCapture(t, &gr));

  part("null stream query, blocking capture");
  CALL(cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal));
  CALL(cudaStreamIsCapturing(nullptr, &st)); CALL(cudaEventRecord(e, nullptr));
  CALL(cudaStreamEndCapture(t, &gr));

  part("event calls in capture");
  BEGIN(Global); CALL(cudaEventQuery(f)); STATUS(s); CALL(cudaEventSynchronize(f)); STATUS(s);
  END();

  part("captured event query");
  BEGIN(Global); CALL(cudaEventRecord(e, s)); CALL(cudaEventQuery(e)); STATUS(s); END();
  CALL(cudaEventQuery(e)); CALL(cudaEventSynchronize(e)); CALL(cudaEventElapsedTime(&ms, e, f));
  CALL(cudaStreamWaitEvent(t, e, 0));

  part("captured event sync");
  BEGIN(Global); CALL(cudaEventRecord(e, s)); CALL(cudaEventSynchronize(e)); STATUS(s); END();

  part("create in capture");
  BEGIN(Global);
  cudaEvent_t y;
  cudaStream_t v;
  CALL(cudaEventCreate(&y)); CALL(cudaStreamCreate(&v)); CALL(cudaStreamDestroy(v));
  CALL(cudaEventDestroy(y)); CALL(cudaMemGetInfo(&n, &n)); STATUS(s); END();

  part("fork join");
  BEGIN(Global); CALL(cudaEventRecord(e, s)); CALL(cudaStreamWaitEvent(t, e, 0)); STATUS(t);
  CALL(cudaMemsetAsync(p, 0, 8, t)); CALL(cudaMemsetAsync((char*)p + 8, 0, 8, s));
  CALL(cudaEventRecord(f, t)); CALL(cudaStreamWaitEvent(s, f, 0)); END();

  part("unjoined");
  BEGIN(Global); CALL(cudaEventRecord(e, s)); CALL(cudaStreamWaitEvent(t, e, 0));
  CALL(cudaMemsetAsync(p, 0, 8, t)); END();

  part("forked, no work");
  BEGIN(Global); CALL(cudaEventRecord(e, s)); CALL(cudaStreamWaitEvent(t, e, 0)); END();

  part("forked, no work, after a node");
  BEGIN(Global); CALL(cudaMemsetAsync(p, 0, 8, s)); CALL(cudaEventRecord(e, s));
  CALL(cudaStreamWaitEvent(t, e, 0)); END();

  part("work after the join");
  BEGIN(Global); CALL(cudaEventRecord(e, s)); CALL(cudaStreamWaitEvent(t, e, 0));
  CALL(cudaMemsetAsync(p, 0, 8, t)); CALL(cudaEventRecord(f, t));
  CALL(cudaStreamWaitEvent(s, f, 0)); CALL(cudaMemsetAsync(p, 0, 8, t)); END();

  part("end on the wrong stream");
  BEGIN(Global); CALL(cudaEventRecord(e, s)); CALL(cudaStreamWaitEvent(t, e, 0));
  CALL(cudaStreamEndCapture(t, &gr)); STATUS(s); END();

  part("wait for an outside event");
  CALL(cudaEventRecord(f, t)); BEGIN(Global); CALL(cudaStreamWaitEvent(s, f, 0)); STATUS(s);
  END();

  part("wait for an unrecorded event");
  cudaEvent_t never;
  cudaEventCreate(&never);
  BEGIN(Global); CALL(cudaStreamWaitEvent(s, never, 0)); STATUS(s); END();

  part("two captures");
  cudaStream_t w;
  cudaStreamCreateWithFlags(&w, 1);
  BEGIN(Global); CALL(cudaStreamBeginCapture(w, cudaStreamCaptureModeGlobal));
  CALL(cudaEventRecord(e, w)); CALL(cudaStreamWaitEvent(s, e, 0)); STATUS(s); STATUS(w); END();
  CALL(cudaStreamEndCapture(w, &gr));

  part("query other stream, thread-local");
  BEGIN(ThreadLocal); CALL(cudaStreamQuery(t)); STATUS(s); END();

  part("two captures, malloc");
  BEGIN(Global); CALL(cudaStreamBeginCapture(w, cudaStreamCaptureModeRelaxed));
  CALL(cudaMalloc(&q, 8)); STATUS(s); STATUS(w); END(); CALL(cudaStreamEndCapture(w, &gr));

  part("malloc async");
  BEGIN(Global); CALL(cudaMallocAsync(&q, 64, s)); CALL(cudaMemsetAsync(q, 0, 64, s));
  CALL(cudaFreeAsync(q, s)); END();

  part("malloc async, not freed");
  BEGIN(Global); CALL(cudaMallocAsync(&q, 64, s)); CALL(cudaMemsetAsync(q, 0, 64, s));
  gr = nullptr;
  CALL(cudaStreamEndCapture(s, &gr)); CALL(cudaGraphInstantiate(&ex, gr, 0));
  CALL(cudaGraphLaunch(ex, s)); CALL(cudaGraphLaunch(ex, s)); CALL(cudaFreeAsync(q, s));
  CALL(cudaStreamSynchronize(s)); CALL(cudaGraphLaunch(ex, s)); CALL(cudaStreamSynchronize(s));
  CALL(cudaGraphExecDestroy(ex)); CALL(cudaGraphDestroy(gr));

  part("free async of outside memory");
  CALL(cudaMallocAsync(&q, 64, s)); CALL(cudaStreamSynchronize(s)); BEGIN(Global);
  CALL(cudaFreeAsync(q, s)); END(); CALL(cudaFreeAsync(q, s));

  part("malloc async on an outside stream");
  BEGIN(Global); CALL(cudaMallocAsync(&q, 64, w)); STATUS(s); CALL(cudaFreeAsync(q, w));
  STATUS(s); END();

  part("invalid copy in capture");
  BEGIN(Global); CALL(cudaMemsetAsync(buf, 0, 8, s)); STATUS(s); END();

  part("pageable async copy");
  BEGIN(Global); CALL(cudaMemcpyAsync(p, buf, 8, cudaMemcpyHostToDevice, s));
  CALL(cudaMemcpyAsync(buf, p, 8, cudaMemcpyDeviceToHost, s)); STATUS(s); END();

  part("host fn, callback, external event");
  BEGIN(Global); CALL(cudaLaunchHostFunc(s, host_fn, nullptr));
  CALL(cudaEventRecordWithFlags(e, s, cudaEventRecordExternal));
  CALL(cudaStreamWaitEvent(s, f, cudaEventWaitExternal)); END();

  part("callback");
  BEGIN(Global);
  CALL(cudaStreamAddCallback(
      s, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0));
  STATUS(s); END();

  part("zero sized");
  BEGIN(Global); CALL(cudaMemsetAsync(p, 0, 0, s));
  CALL(cudaMemcpyAsync(p, q, 0, cudaMemcpyDefault, s)); END();

  part("destroy a capturing stream");
  CALL(cudaStreamBeginCapture(w, cudaStreamCaptureModeGlobal)); CALL(cudaStreamDestroy(w));
  CALL(cudaMalloc(&q, 8));

  part("graphs");
  BEGIN(Global); CALL(cudaMemsetAsync(p, 7, 8, s));
  CALL(cudaMemcpyAsync(buf, p, 8, cudaMemcpyDeviceToHost, s));
  CALL(cudaStreamGetCaptureInfo(s, &st, &id, &gr2));
  print("   id>0 %d graph %d\n", id > 0, gr2 != nullptr);
  CALL(cudaStreamEndCapture(s, &gr));
  print("   same %d\n", gr == gr2);
  CALL(cudaGraphInstantiate(&ex, gr, 0)); CALL(cudaGraphDestroy(gr));
  CALL(cudaGraphLaunch(ex, s)); CALL(cudaStreamSynchronize(s));
  print("   buf %d\n", buf[7]);
  BEGIN(Global); CALL(cudaGraphLaunch(ex, s)); CALL(cudaGraphLaunch(ex, s));
  CALL(cudaGraphLaunch(ex, t)); STATUS(s); END();

  part("graph calls in capture");
  BEGIN(Global); CALL(cudaMemsetAsync(p, 7, 8, s)); CALL(cudaStreamEndCapture(s, &gr2));
  cudaGraphExec_t ex2 = nullptr;
  BEGIN(Global); CALL(cudaGraphInstantiate(&ex2, gr2, 0)); STATUS(s); END();
  BEGIN(Global); CALL(cudaGraphExecDestroy(ex)); STATUS(s); END();
  BEGIN(Global); CALL(cudaGraphGetNodes(gr2, nullptr, &n)); CALL(cudaGraphDestroy(gr2)); STATUS(s);
  END();
  BEGIN(Global); CALL(cudaEventRecord(e, s)); CALL(cudaEventElapsedTime(&ms, e, f)); STATUS(s);
  END();
  BEGIN(Global); CALL(cudaStreamWaitEvent(s, e, 0)); STATUS(s); END();

  part("wrong graph handles");
  CALL(cudaGraphInstantiate(&ex, nullptr, 0)); CALL(cudaGraphLaunch(nullptr, s));
  CALL(cudaGraphDestroy(nullptr)); CALL(cudaGraphExecDestroy(nullptr));
  CALL(cudaGraphGetNodes(nullptr, nullptr, &n));

  part("exchange mode");
  cudaStreamCaptureMode m = cudaStreamCaptureModeRelaxed;
  CALL(cudaThreadExchangeStreamCaptureMode(&m));
  print("   was %d\n", m);
  BEGIN(Global); CALL(cudaMalloc(&q, 8)); STATUS(s); END();
  CALL(cudaThreadExchangeStreamCaptureMode(&m));
  print("   was %d\n", m);

  part("other thread");
  BEGIN(Global);
  std::thread([&] {
    void* z;
    CALL(cudaMalloc(&z, 8));
      CALL(cudaStreamEndCapture(s, &gr));
    }).join();
  STATUS(s); END();

  part("other thread, thread-local");
  BEGIN(ThreadLocal);
  std::thread([&] {
    void* z;
    CALL(cudaMalloc(&z, 8));
      CALL(cudaMemsetAsync(p, 0, 8, s));
      CALL(cudaStreamEndCapture(s, &gr));
    }).join();
  STATUS(s); END();

  part("other thread, relaxed");
  BEGIN(Relaxed);
  std::thread([&] {
    CALL(cudaMemsetAsync(p, 0, 8, s));
      CALL(cudaStreamEndCapture(s, &gr));
    }).join();
  STATUS(s); CALL(cudaStreamEndCapture(s, &gr));
  for (cudaEvent_t event : {e, f, never}) cudaEventDestroy(event);
  for (cudaStream_t stream : {s, t}) cudaStreamDestroy(stream);
  cudaFree(p);
  cudaFree(q);
}
