// SPDX-License-Identifier: Apache-2.0
#include <warpfold/executor.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
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

/// A pool's threads are its own to join and, in a child of fork(), to forget: std::thread cannot be forgotten.
class started_threads {
 public:
  bool empty() const { return threads_.empty(); }
  int size() const { return static_cast<int>(threads_.size()); }

  /// As many of n as the system grants.
  void start(int n, void* (*entry)(void*), void* argument) noexcept {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    std::size_t stack = 0;  // `ulimit -s` may leave less than a task takes
    if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < least_stack)
      pthread_attr_setstacksize(&attributes, least_stack);
    try {
      threads_.reserve(static_cast<std::size_t>(n));
      for (int k = 0; k < n; ++k) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, entry, argument) != 0) break;
        threads_.push_back(thread);
      }
    } catch (const std::bad_alloc&) {  // none then
    }
    pthread_attr_destroy(&attributes);
  }
  /// A task that ends the process runs on one of them, and then nothing can wait for that thread.
  void join() {
    for (const pthread_t thread : threads_) {
      if (pthread_equal(thread, pthread_self()) == 0) pthread_join(thread, nullptr);
    }
    forget();
  }
  void forget() { std::vector<pthread_t>().swap(threads_); }
  void swap(started_threads& other) { threads_.swap(other.threads_); }

 private:
  static constexpr std::size_t least_stack = std::size_t{1} << 20;
  std::vector<pthread_t> threads_;
};

/// The tasks that a thread is doing, and the tasks within which it does them.
struct at_work {
  pool_state* pool;
  at_work* outer;
  bool lost = false;  // in a child of fork(): others of the run were in the hands of threads that are no more
};
constinit thread_local at_work* innermost = nullptr;

[[noreturn]] void end_of_lost_run() {
  std::fputs("warpfold: fork() in a task of a reduction: its child has none of the threads that do the others, so it "
             "cannot finish the reduction; leave the child by exec or _exit\n", stderr);
  std::abort();
}

}  // namespace

/// A pool: its threads, and the one run that they work at. fork() finds it in a chain of all pools and leaves
/// the child a pool without threads, which the next run there starts anew.
struct pool_state {
  std::atomic_flag taken;       // by the caller whose tasks the threads do, which may be a task itself
  std::atomic<int> helpers{0};  // the threads, or how many are to be started anew

  std::mutex mutex;
  std::condition_variable wake, done;
  std::uint64_t generation = 0;  // the current run's
  int wanted = 0;                // threads that may still join it
  int busy = 0;
  pthread_t caller{};            // the current run's
  started_threads threads;
  pid_t process = 0;             // whose threads they are
  std::atomic<bool> stopping{false};

  void (*task)(void*, std::int64_t) = nullptr;
  void* argument = nullptr;
  std::int64_t tasks = 0;
  std::atomic<std::int64_t> next{0};

  pool_state* following = nullptr;  // in the chain

  explicit pool_state(int threads_in_all);
  ~pool_state();
  pool_state(const pool_state&) = delete;
  pool_state& operator=(const pool_state&) = delete;

  void start();  // the mutex is held
  void stop();
  void run(std::int64_t n, int most, void (*f)(void*, std::int64_t), void* with);
  void drain(bool helper);
  void work();
  void forget_threads(at_work* forking);
};

namespace {

// All of these outlive everything: they have no destructors, and what runs before main() finds them ready.
constinit std::mutex start_mutex;  // the default pool's
constinit std::mutex chain_mutex;
constinit pool_state* chain = nullptr;
constinit at_work* forking = nullptr;  // for the thread in fork(), which holds the mutexes

// fork() copies one thread alone. No mutex of a pool may be in another's hands then.
void before_fork() {
  start_mutex.lock();
  chain_mutex.lock();
  for (pool_state* p = chain; p != nullptr; p = p->following) p->mutex.lock();
  forking = innermost;
}
void after_fork() {
  for (pool_state* p = chain; p != nullptr; p = p->following) p->mutex.unlock();
  chain_mutex.unlock();
  start_mutex.unlock();
}
void after_fork_in_child() {
  for (pool_state* p = chain; p != nullptr; p = p->following) p->forget_threads(forking);
  after_fork();
}

// At load, before there is a pool: a fork() that is on its way while the first pool starts has met it, too.
[[maybe_unused]] const int fork_handlers = pthread_atfork(before_fork, after_fork, after_fork_in_child);

}  // namespace

pool_state::pool_state(int threads_in_all) : helpers(threads_in_all - 1) {
  const std::lock_guard all(chain_mutex);
  const std::lock_guard lock(mutex);
  following = chain;
  chain = this;
  start();
}

pool_state::~pool_state() {
  stop();
  const std::lock_guard all(chain_mutex);
  pool_state** link = &chain;
  while (*link != this) link = &(*link)->following;
  *link = following;
}

void pool_state::start() {
  const auto entry = [](void* self) -> void* {
    static_cast<pool_state*>(self)->work();
    return nullptr;
  };
  process = getpid();
  threads.start(helpers, entry, this);
  helpers = threads.size();
}

/// Joins the threads. What runs or comes later runs on its caller alone.
void pool_state::stop() {
  started_threads last;
  {
    const std::lock_guard lock(mutex);
    stopping = true;
    helpers = 0;
    last.swap(threads);
    if (process != getpid()) last.forget();  // a child that no handler of fork() has seen
  }
  wake.notify_all();
  last.join();
}

void pool_state::drain(bool helper) {
  at_work here{this, innermost};
  innermost = &here;
  while (!(helper && stopping.load(std::memory_order_relaxed))) {
    const std::int64_t k = next.fetch_add(1, std::memory_order_relaxed);
    if (k >= tasks) break;
    task(argument, k);
    if (here.lost) [[unlikely]] end_of_lost_run();
  }
  innermost = here.outer;
}

void pool_state::work() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [&] { return stopping || (generation != seen && wanted > 0); });
    if (stopping) return;
    seen = generation;
    --wanted;
    ++busy;
    lock.unlock();
    drain(true);
    lock.lock();
    if (--busy == 0) done.notify_one();
  }
}

void pool_state::run(std::int64_t n, int most, void (*f)(void*, std::int64_t), void* with) {
  const auto useful = [&] {
    return static_cast<int>(std::min<std::int64_t>({std::int64_t{most} - 1, n - 1, helpers.load()}));
  };
  if (useful() <= 0 || taken.test_and_set(std::memory_order_acquire)) {
    for (std::int64_t k = 0; k < n; ++k) f(with, k);
    return;
  }
  {
    const std::lock_guard lock(mutex);
    if (threads.empty() && !stopping) start();
    caller = pthread_self();
    task = f;
    argument = with;
    tasks = n;
    next.store(0, std::memory_order_relaxed);
    wanted = useful();
    ++generation;
  }
  wake.notify_all();
  drain(false);
  {
    std::unique_lock lock(mutex);
    wanted = 0;
    done.wait(lock, [&] { return busy == 0; });
  }
  taken.clear(std::memory_order_release);
}

/// In the child of a fork() by a thread that was doing these tasks. The mutex is held.
void pool_state::forget_threads(at_work* tasks_of_this_thread) {
  // Threads that are no more slept on these, and cannot be joined.
  new (&wake) std::condition_variable;
  new (&done) std::condition_variable;
  threads.forget();
  bool mine = false;  // is the run that of this thread, which may go on with it?
  for (at_work* w = tasks_of_this_thread; w != nullptr; w = w->outer) {
    if (w->pool != this) continue;
    mine = pthread_equal(caller, pthread_self()) != 0;
    w->lost = !mine || busy > 0;
  }
  if (!mine) taken.clear();
  wanted = 0;
  busy = 0;
}

thread_pool::thread_pool(int threads)
    : state_(std::make_unique<pool_state>(threads > 0 ? threads : usable_threads())) {}
thread_pool::~thread_pool() = default;

int thread_pool::concurrency() const noexcept { return state_->helpers + 1; }

void thread_pool::run(std::int64_t tasks, int threads, void (*task)(void*, std::int64_t), void* argument) {
  state_->run(tasks, threads, task, argument);
}

namespace {

/// The default pool is never destroyed: objects that outlive its threads may still reduce in their destructors.
class default_pool final : public executor {
 public:
  explicit default_pool(int threads) : state(threads) {}
  int concurrency() const noexcept override { return state.helpers + 1; }
  void run(std::int64_t tasks, int threads, void (*task)(void*, std::int64_t), void* argument) override {
    state.run(tasks, threads, task, argument);
  }
  pool_state state;
};

alignas(default_pool) constinit std::byte place[sizeof(default_pool)]{};
constinit std::atomic<default_pool*> the_pool{nullptr};
constinit bool at_the_end = false;

/// Ends the default pool's threads at exit(), and before dlclose() takes away the code that they run.
struct ending {
  ~ending() {
    default_pool* pool = nullptr;
    {
      const std::lock_guard lock(start_mutex);
      at_the_end = true;
      pool = the_pool.load();
    }
    if (pool != nullptr) pool->state.stop();
  }
};
[[maybe_unused]] constinit const ending the_end;

}  // namespace

executor& default_executor() {
  default_pool* pool = the_pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    const std::lock_guard lock(start_mutex);
    pool = the_pool.load(std::memory_order_relaxed);
    if (pool == nullptr) {
      pool = new (place) default_pool(at_the_end ? 1 : usable_threads());
      the_pool.store(pool, std::memory_order_release);
    }
  }
  return *pool;
}

}  // namespace wf::cpu
