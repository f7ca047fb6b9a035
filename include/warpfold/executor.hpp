// SPDX-License-Identifier: Apache-2.0
/// \file executor.hpp
/// What runs the tasks of a reduction. The library's own pool is the default; a program with a
/// pool of its own derives from `executor`. Answers never depend on it.
#pragma once

#include <cstdint>
#include <memory>

#include <warpfold/export.h>

namespace wf::cpu {

/// What runs the tasks of a reduction. A program with a pool of its own derives from it:
///
///     struct my_executor : wf::cpu::executor {
///       int concurrency() const noexcept override { return my_pool().size(); }
///       void run(std::int64_t tasks, int threads, void (*task)(void*, std::int64_t), void* argument) override {
///         my_pool().for_each(tasks, threads, [=](std::int64_t k) { task(argument, k); });
///       }
///     };
///     wf::context c;
///     c.executor = &mine;
///     wf::sum(values, c);
class WF_API executor {
 public:
  virtual ~executor() = default;

  /// The most tasks that run at once.
  virtual int concurrency() const noexcept = 0;

  /// Calls task(argument, k) once for every k in [0, tasks), from at most `threads` threads at once,
  /// in any order, and returns when all are done. Tasks do not throw.
  virtual void run(std::int64_t tasks, int threads, void (*task)(void* argument, std::int64_t k),
                   void* argument) = 0;
};

/// \cond
struct pool_state;
/// \endcond

/// Threads that wait for work. The caller's thread works too, so a pool of n starts n - 1 threads, or as many
/// as the system grants: concurrency() says how many work. One `run` has the threads at a time;
/// another one that comes meanwhile, or from a task, runs on its caller's thread.
///
/// A child of fork() may use the pool, whatever its threads were doing; it starts threads of its own at the
/// next run. A child of a fork() in a task cannot finish that task's run: it ends by exec or _exit.
class WF_API thread_pool final : public executor {
 public:
  /// A pool of that many threads; 0: as many as the process may use. Throws nothing but std::bad_alloc: where the
  /// system grants fewer threads, the pool has fewer.
  explicit thread_pool(int threads = 0);
  ~thread_pool() override;
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  int concurrency() const noexcept override;
  /// Runs the tasks on the pool's threads and the caller's. Throws nothing, since tasks throw nothing.
  void run(std::int64_t tasks, int threads, void (*task)(void*, std::int64_t),
           void* argument) override;

 private:
  std::unique_ptr<pool_state> state_;
};

/// The pool of a context that names none. It is started at first use, with as many threads as the process
/// may use, or as WARPFOLD_THREADS says. It is never destroyed: exit() and dlclose() end its threads, and a reduction
/// after that, as in the destructor of a static object, runs on its caller's thread. Throws nothing.
WF_API executor& default_executor();

}  // namespace wf::cpu
