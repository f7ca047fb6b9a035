// SPDX-License-Identifier: Apache-2.0
// Calls of the host API, most of them at the edge of what is allowed, each printed with what it
// gave. A GPU's answers are in runtime_golden.txt (runtime_golden.cpp wrote it); simt has to give
// the same.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

static std::string output;

static void print(const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  output += line;
}

// The call, what it gave, and the last error where that is another.
#define CALL(x)                                                                        \
  do {                                                                                 \
    const cudaError_t gave = (x), last = cudaGetLastError();                           \
    print("%s | %s%s%s\n", #x, cudaGetErrorName(gave), last != gave ? ", last " : "",  \
          last != gave ? cudaGetErrorName(last) : "");                                 \
  } while (0)

static void part(const char* n) {
  print("-- %s\n", n);
  cudaGetLastError();
}
static void host_fn(void*) {}

static void run_runtime_cases() {
  void *p = nullptr, *q = nullptr, *h = nullptr;
  char buf[1024] = {};
  int i = 0;
  cudaFree(nullptr);

  part("malloc");
  p = buf;
  CALL(cudaMalloc(&p, 0));
  print("   null %d\n", p == nullptr);
  p = buf;
  CALL(cudaMallocAsync(&p, 0, 0));
  print("   null %d\n", p == nullptr);
  p = buf;
  CALL(cudaMallocHost(&p, 0));
  print("   null %d\n", p == nullptr);
  CALL(cudaMalloc((void**)nullptr, 16));
  p = buf;
  CALL(cudaMalloc(&p, size_t(1) << 60));
  print("   untouched %d null %d\n", p == buf, p == nullptr);
  CALL(cudaFree(nullptr)); CALL(cudaFreeAsync(nullptr, 0)); CALL(cudaFreeHost(nullptr));
  CALL(cudaMalloc(&p, 1000)); CALL(cudaMalloc(&q, 1000));
  print("   align %d\n", int((size_t)p % 256));
  CALL(cudaFree((char*)q + 16)); CALL(cudaFree(buf)); CALL(cudaFree(q)); CALL(cudaFree(q));
  CALL(cudaMallocAsync(&q, 1000, 0)); CALL(cudaFree(q)); CALL(cudaMalloc(&q, 1000));
  CALL(cudaFreeAsync(q, 0)); CALL(cudaDeviceSynchronize()); CALL(cudaFreeAsync(buf, 0));
  CALL(cudaMallocHost(&h, 1000)); CALL(cudaFree(h)); CALL(cudaFreeHost(p));
  CALL(cudaFreeHost(buf));

  part("memcpy");
  CALL(cudaMalloc(&q, 1000)); CALL(cudaMemcpy(p, buf, 1000, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, buf, 1 << 24, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(nullptr, buf, 0, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(nullptr, buf, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, nullptr, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(buf + 512, buf, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, q, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(buf, p, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, buf, 8, cudaMemcpyDeviceToHost));
  CALL(cudaMemcpy(p, buf, 8, cudaMemcpyDeviceToDevice));
  CALL(cudaMemcpy(h, p, 8, cudaMemcpyDeviceToDevice));
  CALL(cudaMemcpy(h, buf, 8, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(p, q, 8, cudaMemcpyHostToHost));
  CALL(cudaMemcpy(p, buf, 8, cudaMemcpyHostToHost));
  CALL(cudaMemcpy(p, buf, 8, cudaMemcpyDefault));
  CALL(cudaMemcpy(buf, buf + 512, 8, cudaMemcpyDefault));
  CALL(cudaMemcpy(p, buf, 8, static_cast<cudaMemcpyKind>(7)));
  CALL(cudaMemcpy2D(p, 8, buf, 16, 8, 4, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(p, 4, buf, 16, 8, 4, cudaMemcpyHostToDevice)); CALL(cudaMemset(buf, 0, 8));
  CALL(cudaMemset(h, 0, 8)); CALL(cudaMemset(p, 0, 1000)); CALL(cudaMemset(p, 0, 1 << 24));
  CALL(cudaMemset(nullptr, 0, 0)); CALL(cudaMemset(nullptr, 0, 8));
  CALL(cudaMemcpyPeer(p, 0, q, 0, 8)); CALL(cudaMemcpyPeer(p, 0, q, 99, 8));

  part("attributes");
  cudaPointerAttributes a;
  CALL(cudaPointerGetAttributes(&a, (char*)p + 5));
  print("   type %d dev %d d %d h %d\n", a.type, a.device, a.devicePointer == (char*)p + 5,
        a.hostPointer == nullptr);
  CALL(cudaPointerGetAttributes(&a, h));
  print("   type %d dev %d d %d h %d\n", a.type, a.device, a.devicePointer == h,
        a.hostPointer == h);
  CALL(cudaPointerGetAttributes(&a, buf));
  print("   type %d dev %d d %d h %d\n", a.type, a.device, a.devicePointer == nullptr,
        a.hostPointer == buf);
  CALL(cudaPointerGetAttributes(&a, nullptr));
  CALL(cudaDeviceGetAttribute(&i, (cudaDeviceAttr)100000, 0));
  CALL(cudaDeviceGetAttribute(&i, cudaDevAttrWarpSize, 99));
  CALL(cudaDeviceGetAttribute(&i, cudaDevAttrClockRate, 0)); CALL(cudaSetDevice(99));
  CALL(cudaSetDevice(-1));
  print("%s / %s\n", cudaGetErrorName((cudaError_t)12345), cudaGetErrorString((cudaError_t)12345));
  print("%s / %s\n", cudaGetErrorName(cudaErrorInvalidValue),
        cudaGetErrorString(cudaErrorInvalidValue));

  part("pools");
  cudaMemPool_t pool = nullptr, def = nullptr;
  cudaMemPoolProps props;
  std::memset(&props, 0, sizeof props);
  CALL(cudaMemPoolCreate(&pool, &props));
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = 0;
  CALL(cudaMemPoolCreate(&pool, &props)); CALL(cudaDeviceGetDefaultMemPool(&def, 0));
  CALL(cudaMemPoolDestroy(def)); CALL(cudaMallocFromPoolAsync(&q, 1000, pool, 0));
  unsigned long long u = 0;
  CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &u));
  print("   used %llu\n", u);
  CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &u));
  u = 5;
  CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &u));
  u = 0;
  CALL(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &u));
  CALL(cudaMemPoolTrimTo(pool, 0)); CALL(cudaMemPoolDestroy(pool)); CALL(cudaMemset(q, 0, 1000));
  CALL(cudaFreeAsync(q, 0)); CALL(cudaDeviceSynchronize());
  CALL(cudaMallocFromPoolAsync(&q, 1000, nullptr, 0));

  part("events");
  cudaStream_t s = nullptr, t = nullptr;
  cudaEvent_t e = nullptr, f = nullptr, g = nullptr;
  float ms = 0;
  CALL(cudaStreamCreateWithFlags(&s, 77));
  CALL(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); CALL(cudaStreamCreate(&t));
  CALL(cudaStreamCreate(nullptr)); CALL(cudaEventCreate(&e)); CALL(cudaEventCreate(&f));
  CALL(cudaEventCreateWithFlags(&g, cudaEventDisableTiming));
  cudaEvent_t x = nullptr;
  CALL(cudaEventCreateWithFlags(&x, 128));
  CALL(cudaEventCreateWithFlags(&x, cudaEventInterprocess));
  CALL(cudaEventElapsedTime(&ms, e, f)); CALL(cudaEventQuery(e)); CALL(cudaEventSynchronize(e));
  CALL(cudaStreamWaitEvent(s, e, 0)); CALL(cudaStreamWaitEvent(s, nullptr, 0));
  CALL(cudaEventRecord(e, s)); CALL(cudaEventRecord(f, s)); CALL(cudaEventRecord(g, s));
  CALL(cudaStreamSynchronize(s)); CALL(cudaEventElapsedTime(&ms, e, f));
  CALL(cudaEventElapsedTime(&ms, e, g)); CALL(cudaEventElapsedTime(&ms, e, nullptr));
  CALL(cudaEventRecord(nullptr, s)); CALL(cudaEventDestroy(nullptr));
  CALL(cudaStreamDestroy(nullptr)); CALL(cudaEventRecordWithFlags(e, s, cudaEventRecordExternal));
  CALL(cudaLaunchHostFunc(s, host_fn, nullptr)); CALL(cudaLaunchHostFunc(s, nullptr, nullptr));
  for (cudaEvent_t event : {e, f, g}) cudaEventDestroy(event);
  for (cudaStream_t stream : {s, t}) cudaStreamDestroy(stream);
  cudaFree(p);
  cudaFreeHost(h);
}
