// SPDX-License-Identifier: Apache-2.0
// What only NCCL itself can show: capture into a graph, a rank that does not come, and communicators that are aborted while a collective is under
// way. After each the device is usable, and a new communicator gives the right bits.
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "expect_refused.hpp"
#include "ranks.hpp"

namespace {

using std::chrono::steady_clock;

cudaStream_t stream_of(const place_type& p) { return static_cast<cudaStream_t>(p.stream()); }

std::vector<float> values_of(int rank, int turn) {
  std::mt19937_64 random(static_cast<std::uint64_t>(10 * rank + turn));
  std::vector<float> x(5000);
  for (float& v : x) v = std::ldexp(static_cast<float>(static_cast<std::int32_t>(random())), static_cast<int>(random() % 80) - 40);
  return x;
}

template <class T>
bytes raw(const T& v) {
  const auto b = std::as_bytes(std::span(v));
  return {b.begin(), b.end()};
}

/// Sums and greatest elements of all ranks', captured once and replayed with other data in the same memory.
TEST(nccl, captured_into_a_graph) {
  if (device_count() == 0) GTEST_SKIP() << "no GPU here";
  for (const int ranks : rank_counts())
    with_ranks(ranks, [](const rank_type& me) {
      const on_device x(raw(values_of(me.index, 0))), tensor(raw(values_of(me.index, 0))), out(bytes(16));
      const std::span<const float> px(static_cast<const float*>(x.get()), 5000);
      float* const to = static_cast<float*>(out.get());
      const auto work = [&] {
        wf::nccl::sum(me.place, me.comm, px, to);
        wf::nccl::max(me.place, me.comm, px, to + 1);
        wf::nccl::mean(me.place, me.comm, px, to + 2);
        wf::nccl::sum_elements(me.place, me.comm, px, static_cast<float*>(tensor.get()));
      };
      work();  // once before: it allocates
      cudaStream_t const stream = stream_of(me.place);
      ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t exec = nullptr;
      ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
      work();
      ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
      ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
      for (int turn = 1; turn < 4; ++turn) {
        std::vector<float> all;
        for (int k = 0; k < me.ranks; ++k) {
          const auto one = values_of(k, turn);
          all.insert(all.end(), one.begin(), one.end());
        }
        const auto mine = values_of(me.index, turn);
        ASSERT_EQ(cudaMemcpyAsync(x.get(), mine.data(), mine.size() * sizeof(float), cudaMemcpyHostToDevice, stream), cudaSuccess);
        ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        const std::vector<float> want{wf::sum(all), wf::max(all), wf::mean(all)};
        bytes got = out.back();
        got.resize(12);
        EXPECT_TRUE(got == raw(want)) << "turn " << turn << ", " << me.ranks << " ranks";
        EXPECT_TRUE(tensor.back() == raw(wf::sum(wf::view<float>(all.data(), {me.ranks, 5000}), wf::axis{0}).values)) << "turn " << turn;
      }
      EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    });
}

/// Communicators of all devices, made anew.
std::vector<ncclComm_t> communicators(int ranks) {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
  EXPECT_EQ(ncclCommInitAll(comms.data(), ranks, nullptr), ncclSuccess);
  return comms;
}

/// f(k) of each rank, each on a thread and a device of its own.
void on_devices(int ranks, const std::function<void(int)>& f) {
  std::vector<std::thread> threads;
  for (int k = 0; k < ranks; ++k)
    threads.emplace_back([&f, k] {
      try {
        library().use(k);
        f(k);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << k << ": " << e.what();
      }
    });
  for (std::thread& t : threads) t.join();
}

struct one_rank {
  cudaStream_t stream = nullptr;
  std::unique_ptr<place_type> place;
  std::unique_ptr<on_device> x, out;
  one_rank() = default;
  one_rank(const one_rank&) = delete;
  ~one_rank() {
    place.reset();
    cudaStreamDestroy(stream);
  }
};

/// Sums of all ranks with new communicators: right bits on each.
void expect_usable(std::vector<one_rank>& all) {
  const int ranks = static_cast<int>(all.size());
  std::vector<float> whole;
  for (int k = 0; k < ranks; ++k) {
    const auto one = values_of(k, 0);
    whole.insert(whole.end(), one.begin(), one.end());
  }
  const float want = wf::sum(whole);
  auto comms = communicators(ranks);
  on_devices(ranks, [&](int k) {
    const one_rank& me = all[static_cast<std::size_t>(k)];
    const std::span<const float> px(static_cast<const float*>(me.x->get()), 5000);
    EXPECT_EQ(wf::sum(*me.place, px), wf::sum(values_of(k, 0)));
    wf::nccl::sum(*me.place, comms[static_cast<std::size_t>(k)], px, static_cast<float*>(me.out->get()));
    wf::nccl::wait(*me.place, comms[static_cast<std::size_t>(k)], std::chrono::seconds(20));
    bytes got = me.out->back();
    got.resize(4);
    EXPECT_TRUE(got == raw(std::vector<float>{want}));
  });
  for (const ncclComm_t c : comms) EXPECT_EQ(ncclCommDestroy(c), ncclSuccess);
}

std::vector<one_rank> places(int ranks) {
  std::vector<one_rank> all(static_cast<std::size_t>(ranks));
  on_devices(ranks, [&](int k) {
    one_rank& me = all[static_cast<std::size_t>(k)];
    EXPECT_EQ(cudaStreamCreateWithFlags(&me.stream, cudaStreamNonBlocking), cudaSuccess);
    me.place = std::make_unique<place_type>(static_cast<CUstream_st*>(me.stream));
    me.x = std::make_unique<on_device>(raw(values_of(k, 0)));
    me.out = std::make_unique<on_device>(bytes(16));
  });
  return all;
}

/// A reduction of each kind by all ranks: NCCL connects a communicator's ranks at its first collectives, whose calls wait for all of them.
void connect(std::vector<one_rank>& all, const std::vector<ncclComm_t>& comms) {
  on_devices(static_cast<int>(all.size()), [&](int k) {
    const one_rank& me = all[static_cast<std::size_t>(k)];
    const std::span<const float> px(static_cast<const float*>(me.x->get()), 5000);
    float* const to = static_cast<float*>(me.out->get());
    wf::nccl::sum(*me.place, comms[static_cast<std::size_t>(k)], px, to);
    wf::nccl::max(*me.place, comms[static_cast<std::size_t>(k)], px, to);
    EXPECT_EQ(cudaStreamSynchronize(me.stream), cudaSuccess);
  });
}

/// Rank 1 does not come: rank 0 gets an error when its time is over, and not a hang.
TEST(nccl, a_rank_that_does_not_come) {
  const int ranks = device_count();
  if (ranks < 2) GTEST_SKIP() << "fewer than two GPUs here";
  auto all = places(ranks);
  expect_usable(all);  // what is loaded at the first call is loaded
  for (const bool gathered : {false, true}) {
    auto comms = communicators(ranks);
    connect(all, comms);
    library().use(0);
    const std::span<const float> px(static_cast<const float*>(all[0].x->get()), 5000);
    float* const to = static_cast<float*>(all[0].out->get());
    if (gathered) wf::nccl::max(*all[0].place, comms[0], px, to);
    else wf::nccl::sum(*all[0].place, comms[0], px, to);
    wf::nccl::check(comms[0]);  // nothing is wrong yet
    const auto from = steady_clock::now();
    expect_refused([&] { wf::nccl::wait(*all[0].place, comms[0], std::chrono::milliseconds(300)); }, wf::errc::device, "not all ranks take part");
    const double s = std::chrono::duration<double>(steady_clock::now() - from).count();
    EXPECT_GE(s, 0.3);
    EXPECT_LT(s, 15);
    EXPECT_EQ(comms[0], nullptr);
    for (std::size_t k = 1; k < comms.size(); ++k) EXPECT_EQ(ncclCommAbort(comms[k]), ncclSuccess);
    expect_usable(all);
  }
}

/// A communicator that another thread aborts while its collective is under way.
TEST(nccl, aborted_under_way) {
  const int ranks = device_count();
  if (ranks < 2) GTEST_SKIP() << "fewer than two GPUs here";
  auto all = places(ranks);
  expect_usable(all);
  auto comms = communicators(ranks);
  connect(all, comms);
  library().use(0);
  const std::span<const float> px(static_cast<const float*>(all[0].x->get()), 5000);
  wf::nccl::sum(*all[0].place, comms[0], px, static_cast<float*>(all[0].out->get()));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(cudaStreamQuery(all[0].stream), cudaErrorNotReady);
  std::thread other([&] {
    library().use(0);
    ncclCommAbort(comms[0]);
  });
  other.join();
  EXPECT_EQ(cudaStreamSynchronize(all[0].stream), cudaSuccess);
  for (std::size_t k = 1; k < comms.size(); ++k) EXPECT_EQ(ncclCommAbort(comms[k]), ncclSuccess);
  expect_usable(all);
}

}  // namespace
