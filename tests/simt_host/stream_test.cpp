// SPDX-License-Identifier: Apache-2.0
// Streams, events, graphs, errors and the device, beyond the single calls of runtime_cases.hpp.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <simt/machine.hpp>
#include <simt/runtime_api.hpp>

namespace {

using namespace simt;

#define OK(call) ASSERT_EQ(call, cudaSuccess)

struct stream_owner {
  cudaStream_t s = nullptr;
  explicit stream_owner(unsigned flags = cudaStreamDefault) {
    cudaStreamCreateWithFlags(&s, flags);
  }
  ~stream_owner() { cudaStreamDestroy(s); }
  operator cudaStream_t() const { return s; }
};

struct event_owner {
  cudaEvent_t e = nullptr;
  event_owner() { cudaEventCreate(&e); }
  ~event_owner() { cudaEventDestroy(e); }
  operator cudaEvent_t() const { return e; }
};

TEST(Streams, RunWorkInOrderAndAtOnce) {
  const live_objects before = live();
  {
    stream_owner s(cudaStreamNonBlocking);
    std::string log;
    OK(detail::enqueue(s, [&] { return log += 'a', cudaSuccess; }));
    OK(cudaLaunchHostFunc(
        s, [](void* p) { *static_cast<std::string*>(p) += 'b'; }, &log));
    OK(cudaStreamAddCallback(
        s,
        [](cudaStream_t, cudaError_t e, void* p) {
          *static_cast<std::string*>(p) += e == cudaSuccess ? 'c' : '!';
        },
        &log, 0));
    EXPECT_EQ(log, "abc");
    OK(cudaStreamSynchronize(s));
    unsigned flags = 9;
    OK(cudaStreamGetFlags(s, &flags));
    EXPECT_EQ(flags, cudaStreamNonBlocking);
    EXPECT_EQ(live().streams, before.streams + 1);
  }
  EXPECT_EQ(live().streams, before.streams);
}

TEST(Streams, WorkOfOneStreamNeverOverlaps) {
  stream_owner s;
  std::atomic<int> inside{0}, most{0};
  const auto work = [&] {
    most = std::max<int>(most, ++inside);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --inside;
    return cudaSuccess;
  };
  // The legacy stream waits for s and s for it.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) detail::enqueue(t % 2 == 0 ? s.s : nullptr, work);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(most, 1);
}

TEST(Streams, HostFunctionsMustNotCallTheApi) {
  cudaError_t inside = cudaSuccess;
  OK(cudaLaunchHostFunc(
      nullptr,
      [](void* p) {
        void* memory = nullptr;
        *static_cast<cudaError_t*>(p) = cudaMalloc(&memory, 8);
      },
      &inside));
  EXPECT_EQ(inside, cudaErrorNotPermitted);
  cudaGetLastError();
}

TEST(Streams, DestroyedHandlesAreErrors) {
  cudaStream_t s = nullptr;
  OK(cudaStreamCreate(&s));
  OK(cudaStreamDestroy(s));
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemsetAsync(nullptr, 0, 8, s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
  cudaEvent_t e = nullptr;
  OK(cudaEventCreate(&e));
  OK(cudaEventDestroy(e));
  EXPECT_EQ(cudaEventRecord(e), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(Events, MeasureTheWorkBetweenThem) {
  event_owner a, b;
  OK(cudaEventRecord(a));
  OK(detail::enqueue(nullptr, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return cudaSuccess;
  }));
  OK(cudaEventRecord(b));
  OK(cudaEventSynchronize(b));
  float ms = 0;
  OK(cudaEventElapsedTime(&ms, a, b));
  EXPECT_GE(ms, 20);
  EXPECT_LT(ms, 10000);
}

TEST(Graphs, ReplayWhatWasCaptured) {
  const live_objects before = live();
  {
    stream_owner s, t;
    event_owner fork, join;
    int* p = nullptr;
    OK(cudaMalloc(&p, 8));
    int host = 0, calls = 0;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 0, 8, s));
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(t, fork));
    OK(detail::enqueue(t, [&] { return ++calls, *p += 5, cudaSuccess; }));
    OK(cudaEventRecord(join, t));
    OK(cudaStreamWaitEvent(s, join));
    OK(cudaMemcpyAsync(&host, p, 4, cudaMemcpyDeviceToHost, s));
    cudaStreamCaptureStatus status{};
    unsigned long long id = 0;
    std::size_t dependencies = 0;
    OK(cudaStreamGetCaptureInfo(s, &status, &id, nullptr, nullptr, nullptr, &dependencies));
    EXPECT_EQ(dependencies, 1u);
    EXPECT_EQ(calls, 0);
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(s, &graph));
    std::size_t count = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT_EQ(count, 3u);
    std::vector<cudaGraphNode_t> nodes(5);
    count = nodes.size();
    OK(cudaGraphGetNodes(graph, nodes.data(), &count));
    EXPECT_EQ(count, 3u);
    EXPECT_NE(nodes[2], nullptr);
    EXPECT_EQ(nodes[3], nullptr);
    cudaGraphExec_t executable = nullptr;
    OK(cudaGraphInstantiate(&executable, graph));
    OK(cudaGraphDestroy(graph));
    for (int i = 1; i <= 10; ++i) {
      host = 0;
      OK(cudaGraphLaunch(executable, t));
      EXPECT_EQ(host, 5);
      EXPECT_EQ(calls, i);
    }
    OK(cudaGraphExecDestroy(executable));
    OK(cudaFree(p));
  }
  const live_objects after = live();
  EXPECT_EQ(after.graphs, before.graphs);
  EXPECT_EQ(after.executables, before.executables);
  EXPECT_EQ(after.events, before.events);
}

TEST(Graphs, StopAtTheFirstErrorAndGiveIt) {
  stream_owner s;
  bool ran = false;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  OK(detail::enqueue(s, [] { return cudaErrorInvalidConfiguration; }));
  OK(detail::enqueue(s, [&] { return ran = true, cudaSuccess; }));
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(s, &graph));
  cudaGraphExec_t executable = nullptr;
  OK(cudaGraphInstantiate(&executable, graph));
  EXPECT_EQ(cudaGraphLaunch(executable, s), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_FALSE(ran);
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
}

TEST(Graphs, AllocateTheirOwnMemory) {
  const live_objects before = live();
  stream_owner s;
  int* p = nullptr;
  int host[2] = {};
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  OK(cudaMallocAsync(&p, 8, s));
  OK(cudaMemsetAsync(p, 0, 4, s));
  OK(cudaMemcpyAsync(host, p, 8, cudaMemcpyDeviceToHost, s));
  OK(cudaFreeAsync(p, s));
  EXPECT_EQ(cudaFreeAsync(p, s), cudaErrorInvalidValue);
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(s, &graph));
  cudaGraphExec_t executable = nullptr;
  OK(cudaGraphInstantiate(&executable, graph));
  OK(cudaGraphDestroy(graph));
  EXPECT_EQ(cudaMemset(p, 0, 4), cudaErrorInvalidValue);  // not there between launches
  for (int i = 0; i < 3; ++i) {
    host[0] = host[1] = 7;
    OK(cudaGraphLaunch(executable, s));
    EXPECT_EQ(host[0], 0);
    EXPECT_EQ(host[1], -1);  // fresh each time
  }
  OK(cudaGraphExecDestroy(executable));
  EXPECT_EQ(live().allocations, before.allocations);
  cudaGetLastError();
}

TEST(Errors, OfKernelsStickUntilCleared) {
  int* p = nullptr;
  OK(cudaMalloc(&p, 4));
  stream_owner s;
  EXPECT_EQ(detail::enqueue(s, [] { return cudaErrorIllegalAddress; }), cudaErrorIllegalAddress);
  bool ran = false;
  EXPECT_EQ(detail::enqueue(s, [&] { return ran = true, cudaSuccess; }), cudaErrorIllegalAddress);
  EXPECT_FALSE(ran);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // until a call meets it again
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  void* q = nullptr;
  EXPECT_EQ(cudaMalloc(&q, 4), cudaErrorIllegalAddress);
  std::thread([] { EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress); }).join();
  const std::size_t allocations = live().allocations;
  EXPECT_EQ(cudaFree(p), cudaErrorIllegalAddress);
  EXPECT_EQ(live().allocations, allocations - 1);  // owners leave no leak behind
  clear_fault();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  OK(cudaDeviceSynchronize());
}

TEST(Errors, OfLaunchesDoNotStick) {
  EXPECT_EQ(detail::set_last_error(cudaErrorInvalidConfiguration), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorLaunchFailure), "cudaErrorLaunchFailure");
}

TEST(Errors, ResetForgetsThemAndTheMemory) {
  int* p = nullptr;
  OK(cudaMalloc(&p, 4));
  detail::set_last_error(cudaErrorLaunchFailure);
  OK(cudaDeviceReset());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(live().allocations, 0u);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Device, SaysWhatItIs) {
  int count = 0, value = 0, version = 0;
  OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  cudaDeviceProp p{};
  OK(cudaGetDeviceProperties(&p, 0));
  EXPECT_STREQ(p.name, "simt");
  EXPECT_EQ(p.major * 10 + p.minor, 90);
  EXPECT_EQ(p.multiProcessorCount, 4);
  EXPECT_EQ(p.warpSize, 32);
  EXPECT_EQ(p.cooperativeLaunch, 1);
  EXPECT_EQ(p.asyncEngineCount, 1);  // as the classic two-stream programs ask before they begin
  EXPECT_EQ(p.concurrentKernels, 1);
  EXPECT_EQ(p.managedMemory, 1);
  EXPECT_EQ(p.textureAlignment, 0u);
  EXPECT_GT(p.l2CacheSize, 0);
  EXPECT_GT(p.totalGlobalMem, std::size_t{1} << 28);
  const std::pair<cudaDeviceAttr, int> attributes[] = {
      {cudaDevAttrCooperativeLaunch, 1},
      {cudaDevAttrClusterLaunch, 1},
      {cudaDevAttrMultiProcessorCount, 4},
      {cudaDevAttrWarpSize, 32},
      {cudaDevAttrMaxThreadsPerBlock, 1024},
      {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 * 1024},
      {cudaDevAttrAsyncEngineCount, 1},
      {cudaDevAttrManagedMemory, 1},
      {cudaDevAttrComputeMode, 0},
      {cudaDevAttrMemoryPoolsSupported, 1}};
  for (const auto& [attribute, expected] : attributes) {
    OK(cudaDeviceGetAttribute(&value, attribute, 0));
    EXPECT_EQ(value, expected) << attribute;
  }
  OK(cudaRuntimeGetVersion(&version));
  EXPECT_EQ(version, 13000);
}

void a_kernel(int*) {}
template <class T>
void another_kernel(T*) {}

TEST(Device, TellsHowManyBlocksFit) {
  int blocks = 0, grid = 0, block = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, a_kernel, 1024, 0));
  EXPECT_EQ(blocks, 2);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, a_kernel, 32, 0));
  EXPECT_EQ(blocks, 32);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, a_kernel, 256, 40 * 1024));
  EXPECT_EQ(blocks, 5);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, a_kernel, 256, 100 * 1024));
  EXPECT_EQ(blocks, 0);  // above 48 KiB one has to ask
  OK(cudaFuncSetAttribute(a_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, a_kernel, 256, 100 * 1024));
  EXPECT_EQ(blocks, 2);
  cudaFuncAttributes attributes{};
  OK(cudaFuncGetAttributes(&attributes, a_kernel));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 100 * 1024);
  OK(cudaFuncGetAttributes(&attributes, another_kernel<float>));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 48 * 1024);
  EXPECT_EQ(cudaFuncSetAttribute(a_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024),
            cudaErrorInvalidValue);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, another_kernel<float>));
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 8);
  cudaGetLastError();
}

}  // namespace
