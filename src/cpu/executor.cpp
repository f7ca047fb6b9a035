// SPDX-License-Identifier: Apache-2.0
#include <warpfold/cpu/executor.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace wf::cpu {

namespace {

int usable_threads() {
  if (const char* text = std::getenv("WARPFOLD_THREADS"); text != nullptr) {
    const int n = std::atoi(text);
    if (n > 0) return std::min(n, 4096);
  }
#if defined(__linux__)
  cpu_set_t set;  // what a container or taskset leaves of the machine
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

struct thread_pool::shared {
  std::atomic_flag taken;  // by the caller whose tasks the threads do, which may be a task itself

  std::mutex mutex;
  std::condition_variable wake, done;
  std::uint64_t generation = 0;  // of the current run
  int wanted = 0;                // threads that may still join it
  int busy = 0;
  bool stopping = false;

  void (*task)(void*, std::int64_t) = nullptr;
  void* argument = nullptr;
  std::int64_t tasks = 0;
  std::atomic<std::int64_t> next{0};

  std::vector<std::jthread> threads;

  void drain() {
    for (std::int64_t k; (k = next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
      task(argument, k);
  }

  void work() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stopping || (generation != seen && wanted > 0); });
      if (stopping) return;
      seen = generation;
      --wanted;
      ++busy;
      lock.unlock();
      drain();
      lock.lock();
      if (--busy == 0) done.notify_one();
    }
  }
};

thread_pool::thread_pool(int threads) : shared_(std::make_unique<shared>()) {
  const int n = threads > 0 ? threads : usable_threads();
  try {
    for (int k = 1; k < n; ++k) shared_->threads.emplace_back([s = shared_.get()] { s->work(); });
  } catch (const std::exception&) {  // no room for another, or no more allowed: those there are will do
  }
}

thread_pool::~thread_pool() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->wake.notify_all();
  shared_->threads.clear();  // joins
}

int thread_pool::concurrency() const noexcept {
  return static_cast<int>(shared_->threads.size()) + 1;
}

void thread_pool::run(std::int64_t tasks, int threads, void (*task)(void*, std::int64_t),
                      void* argument) {
  shared& s = *shared_;
  const auto helpers = static_cast<int>(
      std::min<std::int64_t>({std::int64_t{threads} - 1, tasks - 1,
                              static_cast<std::int64_t>(s.threads.size())}));
  if (helpers <= 0 || s.taken.test_and_set(std::memory_order_acquire)) {
    for (std::int64_t k = 0; k < tasks; ++k) task(argument, k);
    return;
  }
  {
    const std::lock_guard lock(s.mutex);
    s.task = task;
    s.argument = argument;
    s.tasks = tasks;
    s.next.store(0, std::memory_order_relaxed);
    s.wanted = helpers;
    ++s.generation;
  }
  s.wake.notify_all();
  s.drain();
  {
    std::unique_lock lock(s.mutex);
    s.wanted = 0;
    s.done.wait(lock, [&] { return s.busy == 0; });
  }
  s.taken.clear(std::memory_order_release);
}

executor& default_executor() {
  static thread_pool pool;
  return pool;
}

}  // namespace wf::cpu
