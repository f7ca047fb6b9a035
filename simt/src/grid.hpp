// SPDX-License-Identifier: Apache-2.0
// A launch: which blocks run, which wait, and on which OS threads. A block needs an OS thread of its own
// as long as it lives, and a permit while it runs. One that waits for other blocks gives its permit
// away: to a block that a barrier set free, else to the next one to start, else to one that spins.
#pragma once

#include "stacks.hpp"
#include "thread.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>

namespace simt::detail {

/// An OS thread that outlives launches.
struct worker {
  std::counting_semaphore<> go{0};
  detail::grid* grid = nullptr;
  std::uint64_t assigned = 0;  // position in the starting order
  pthread_t thread{};
  bool contexts_valid = false;
  std::uint32_t spins_alone = 0;
  std::vector<stack_set> stacks;  // each of 32
  std::vector<byte_range> thread_locals;
  detail::block block;
};

/// Idle for now; a new one if none is, for which memory or OS threads may be lacking: then it throws.
worker& acquire_worker();
void release_worker(worker&, bool keep_stacks);
/// For a worker that has too few, from an idle one or new. Throws std::bad_alloc.
stack_set take_stacks();

struct cluster_state {
  phase_barrier barrier;
  std::vector<std::atomic<worker*>> owners;  // null: not started
  std::vector<std::atomic<bool>> ended;
  std::uint64_t finished = 0;  // under the grid's mutex
  explicit cluster_state(std::size_t size) : owners(size), ended(size) {}
};

struct grid {
  grid(const launch_shape&, std::uintptr_t kernel, const std::function<void()>& body, const options&);

  const launch_shape shape;
  const std::uintptr_t kernel;
  const std::function<void()>& body;
  const options chosen;
  std::uint64_t blocks = 0, clusters = 0;
  std::uint32_t threads = 0, cluster_size = 1;

  std::mutex mutex;
  std::condition_variable done;
  std::uint64_t next = 0, finished = 0;  // positions started, blocks ended
  std::uint64_t resident = 0, resident_limit = 1;
  int permits = 1, permits_total = 1;  // below 0 while a failed launch ends
  unsigned attached = 0;  // workers
  std::vector<worker*> at_work;
  std::deque<worker*> released, spinners;
  std::vector<worker*> parked;
  std::vector<std::uint64_t> order;  // empty: by the rule of the other orders
  std::vector<std::unique_ptr<cluster_state>> cluster_of;
  phase_barrier whole;
  counters counted;
  std::uint64_t grid_syncs = 0, cluster_syncs = 0;
  std::atomic<bool> failed{false};
  bool out_of_memory = false;  // failed for that, and not for what a block did
  std::atomic<bool> standing{false};  // only spinning, for longer than the time-out
  failure why;
  std::uint64_t failed_block = 0;

  std::uint64_t block_at(std::uint64_t position) const;
  bool can_start() const;
  void hand_out();                      // all below: under the mutex
  void start_block();
  void assign(worker&);
  void fail(const block&, failure);
  void fail_without_memory();
  void release_all_that_wait();
  void detach(worker&);
  void arrive(phase_barrier&);

  void run();                           // the launching thread
  void work(worker&);                   // a worker's part
  bool run_one(worker&);                // one block of it; false: no memory
  void park_outside(worker&);           // until a barrier that its block waits at completes
  void park_spinning(worker&);
  void stuck_everywhere();
  void watch_for_standstill(std::unique_lock<std::mutex>&);
};

/// Stacks for a block. Throws std::bad_alloc.
void prepare_block(worker&, grid&);
/// Runs one block from start to end, or until the launch failed.
void run_block(worker&, grid&);

/// What is wrong in a block whose threads all wait, and none for anything that can come.
failure why_stuck(const block&);
/// The same for a block in a launch where nothing moves but spinning.
failure why_standing(const block&);

void install_signal_handlers();
void enter_signal_stack();  // once a worker
inline constexpr int wake_hung_signal_offset = 5;  // SIGRTMIN + this

std::string kernel_name(std::uintptr_t);

}  // namespace simt::detail
