// SPDX-License-Identifier: Apache-2.0
// Permits, parking and the pool of OS threads; the watch over launches that stand still.
#include "grid.hpp"

#include "limits.hpp"

#include <simt/runtime_api.hpp>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace simt::detail {

namespace {

std::atomic<std::uint64_t> blocks_begun = 0, blocks_of_all = 0;

// Never destroyed: its threads outlive main().
struct worker_pool {
  std::mutex mutex;
  std::vector<worker*> idle;
};
worker_pool*& pool() {
  static worker_pool* the = [] {
    // A child process has none of the threads.
    pthread_atfork(nullptr, nullptr, [] { pool() = new worker_pool; });
    return new worker_pool;
  }();
  return the;
}

void worker_main(worker& w) {
  w.thread = pthread_self();
  pthread_attr_t attributes;
  if (pthread_getattr_np(w.thread, &attributes) == 0) {
    void* low = nullptr;
    pthread_attr_getstack(&attributes, &low, &w.block.home_stack_bytes);
    w.block.home_stack = low;
    pthread_attr_destroy(&attributes);
  }
  enter_signal_stack();
  w.block.on = &w;
  for (;;) {
    w.go.acquire();
    w.grid->work(w);
  }
}

// Signals of the program go to the program's threads; faults and the wake-up come to a worker.
struct signals_of_workers {
  sigset_t before;
  signals_of_workers() {
    sigset_t mask;
    sigfillset(&mask);
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPROF, SIGRTMIN + wake_hung_signal_offset})
      sigdelset(&mask, s);
    pthread_sigmask(SIG_SETMASK, &mask, &before);
  }
  ~signals_of_workers() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
};

}  // namespace

worker& acquire_worker() {
  auto& all = *pool();
  {
    const std::lock_guard lock(all.mutex);
    if (!all.idle.empty()) {
      worker& w = *all.idle.back();
      all.idle.pop_back();
      return w;
    }
  }
  auto w = std::make_unique<worker>();
  const signals_of_workers inherited;
  std::thread(worker_main, std::ref(*w)).detach();
  return *w.release();
}

// To map and unmap stacks each launch would take most of the ladder's time: an idle worker keeps those with
// guards. Launches of many shapes leave them with workers that need fewer, so these give before any go without.
stack_set take_stacks() {
  if (guarded_sets.load() >= most_guarded_sets) {
    auto& all = *pool();
    const std::lock_guard lock(all.mutex);
    for (worker* w : all.idle) {
      if (w->stacks.empty()) continue;
      const stack_set set = w->stacks.back();
      w->stacks.pop_back();
      w->contexts_valid = false;
      return set;
    }
  }
  return map_stacks();
}

void release_worker(worker& w, bool keep_stacks) {
  const auto kept = std::partition(w.stacks.begin(), w.stacks.end(),
                                   [&](const stack_set& set) { return keep_stacks && set.all_guarded; });
  if (kept != w.stacks.end()) w.contexts_valid = false;
  std::for_each(kept, w.stacks.end(), unmap_stacks);
  w.stacks.erase(kept, w.stacks.end());
  auto& all = *pool();
  const std::lock_guard lock(all.mutex);
  all.idle.push_back(&w);
}

grid::grid(const launch_shape& s, std::uintptr_t k, const std::function<void()>& f, const options& o)
    : shape(s), kernel(k), body(f), chosen(o) {
  blocks = std::uint64_t{s.grid[0]} * s.grid[1] * s.grid[2];
  threads = s.block[0] * s.block[1] * s.block[2];
  cluster_size = s.cluster[0] * s.cluster[1] * s.cluster[2];
  clusters = blocks / cluster_size;
  resident_limit = static_cast<std::uint64_t>(multiprocessors(o)) *
                   static_cast<std::uint64_t>(resident_blocks(threads, s.shared_bytes));
  permits_total = static_cast<int>(
      o.watch ? 1 : o.os_threads != 0 ? o.os_threads : std::max(1u, std::thread::hardware_concurrency()));
  permits = permits_total;
  whole.expected = blocks;
  blocks_of_all.fetch_add(blocks, std::memory_order_relaxed);
  whole.whole_grid = true;
  if (chosen.order == block_order::shuffled) {
    order.resize(clusters);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::mt19937_64 random(o.seed);
    // Not std::shuffle: a seed means the same order with every library.
    for (std::uint64_t i = clusters; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  }
  if (cluster_size > 1) {
    for (std::uint64_t i = 0; i < clusters; ++i) {
      cluster_of.push_back(std::make_unique<cluster_state>(cluster_size));
      cluster_of.back()->barrier.expected = cluster_size;
      cluster_of.back()->barrier.first = i;
    }
  }
}

// Blocks start a cluster at a time.
std::uint64_t grid::block_at(std::uint64_t position) const {
  std::uint64_t which = position / cluster_size;
  const auto rank = static_cast<std::uint32_t>(position % cluster_size);
  if (chosen.order == block_order::reversed) which = clusters - 1 - which;
  if (chosen.order == block_order::shuffled) which = order[which];
  if (cluster_size == 1) return which;
  const auto& c = shape.cluster;
  const std::uint64_t cx = shape.grid[0] / c[0], cy = shape.grid[1] / c[1];
  const std::uint64_t x = which % cx * c[0] + rank % c[0];
  const std::uint64_t y = which / cx % cy * c[1] + rank / c[0] % c[1];
  const std::uint64_t z = which / cx / cy * c[2] + rank / c[0] / c[1];
  return x + shape.grid[0] * (y + shape.grid[1] * z);
}

// The first block of a cluster starts only where all of it fits.
bool grid::can_start() const {
  if (next == blocks || failed.load(std::memory_order_relaxed)) return false;
  return next % cluster_size != 0 || resident + cluster_size <= std::max<std::uint64_t>(resident_limit, cluster_size);
}

void grid::assign(worker& w) {
  w.assigned = next++;
  blocks_begun.fetch_add(1, std::memory_order_relaxed);
  // The rest of a started cluster has its places reserved.
  if (w.assigned % cluster_size == 0) resident += cluster_size;
}

void grid::start_block() {
  try {
    at_work.reserve(at_work.size() + 1);
    worker& w = acquire_worker();
    --permits;
    w.grid = this;
    assign(w);
    ++attached;
    at_work.push_back(&w);
    w.go.release();
  } catch (const std::exception&) {  // no memory, or no OS thread
    fail_without_memory();
  }
}

void grid::hand_out() {
  while (permits > 0) {
    if (!released.empty()) {
      worker& w = *released.front();
      released.pop_front();
      --permits;
      w.go.release();
    } else if (can_start()) {
      start_block();
    } else if (!spinners.empty()) {
      worker& w = *spinners.front();
      spinners.pop_front();
      --permits;
      w.go.release();
    } else {
      break;
    }
  }
  if (permits == permits_total && !parked.empty() && !failed) stuck_everywhere();
}

void grid::fail(const block& b, failure f) {
  if (!failed.load(std::memory_order_relaxed)) {
    why = std::move(f);
    failed_block = b.linear;
    failed.store(true, std::memory_order_release);
  }
  release_all_that_wait();
}

void grid::fail_without_memory() {
  if (!failed.load(std::memory_order_relaxed)) {
    out_of_memory = true;
    failed.store(true, std::memory_order_release);
  }
  release_all_that_wait();
}

// They come back to give up; each takes a permit that it will return.
void grid::release_all_that_wait() {
  for (auto* list : {&released, &spinners}) {
    for (worker* w : *list) --permits, w->go.release();
    list->clear();
  }
  for (worker* w : parked) --permits, w->go.release();
  parked.clear();
}

void grid::arrive(phase_barrier& at) {
  if (++at.arrived < at.expected) return;
  at.arrived = 0;
  at.completed.store(at.completed.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  ++(at.whole_grid ? grid_syncs : cluster_syncs);
  if (chosen.watch) chosen.watch->blocks_barrier(at.whole_grid ? 0 : at.first * cluster_size, at.expected);
  for (std::size_t i = 0; i < parked.size();) {
    worker* w = parked[i];
    if (!at.whole_grid && w->block.at_cluster.at != &at) {
      ++i;
      continue;
    }
    parked.erase(parked.begin() + static_cast<std::ptrdiff_t>(i));
    released.push_back(w);
  }
  hand_out();
}

void grid::park_outside(worker& w) {
  {
    const std::lock_guard lock(mutex);
    if (failed) return;
    for (const cuda_thread& t : w.block.threads)
      if (t.linear < threads && t.state == waits::outside &&
          t.outside->completed.load(std::memory_order_relaxed) >= t.phase)
        return;
    ++permits;
    parked.push_back(&w);
    hand_out();
  }
  w.go.acquire();
}

void grid::park_spinning(worker& w) {
  bool alone = false;
  {
    const std::lock_guard lock(mutex);
    if (failed) return;
    alone = released.empty() && !can_start() && spinners.empty();
    if (!alone) {
      ++permits;
      spinners.push_back(&w);
      hand_out();
    }
  }
  if (!alone) {
    w.spins_alone = 0;
    w.go.acquire();
  } else if (++w.spins_alone < 64) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void grid::stuck_everywhere() {
  block& b = parked.front()->block;
  fail(b, why_stuck(b));
}

void grid::work(worker& w) {
  for (;;) {
    w.spins_alone = 0;
    const bool ran = run_one(w);
    std::unique_lock lock(mutex);
    if (!ran) {
      fail_without_memory();
      return detach(w);
    }
    counters& c = w.block.counted;
    counted.barriers += c.barriers;
    counted.warp_syncs += c.warp_syncs;
    counted.shuffles += c.shuffles;
    counted.collectives += c.collectives;
    counted.atomics += c.atomics;
    ++finished;
    // Places come free a cluster at a time.
    if (cluster_size == 1) --resident;
    else if (++cluster_of[w.block.cluster]->finished == cluster_size) resident -= cluster_size;
    if (w.block.failed.what != fault::none) fail(w.block, std::move(w.block.failed));
    if (released.empty() && can_start()) {
      assign(w);
      continue;
    }
    return detach(w);
  }
}

bool grid::run_one(worker& w) {
  try {
    prepare_block(w, *this);
    run_block(w, *this);
    return true;
  } catch (const std::bad_alloc&) {
    w.contexts_valid = false;
    return false;
  }
}

void grid::detach(worker& w) {
  ++permits;
  hand_out();
  at_work.erase(std::find(at_work.begin(), at_work.end(), &w));
  release_worker(w, !out_of_memory);
  if (--attached == 0) done.notify_all();
}

void grid::watch_for_standstill(std::unique_lock<std::mutex>& lock) {
  using clock = std::chrono::steady_clock;
  const std::chrono::duration<double> limit(chosen.timeout_seconds > 0 ? chosen.timeout_seconds : 1e9);
  const auto tick = std::chrono::duration_cast<clock::duration>(
      std::clamp<std::chrono::duration<double>>(limit / 8, std::chrono::milliseconds(5), std::chrono::milliseconds(200)));
  std::uint64_t events = 0, switches = 0;
  auto since = clock::now();
  while (!done.wait_for(lock, tick, [&] { return attached == 0; })) {
    std::uint64_t events_now = finished, switches_now = 0;
    for (worker* w : at_work) {
      events_now += w->block.events.load(std::memory_order_relaxed);
      switches_now += w->block.switches.load(std::memory_order_relaxed);
    }
    const bool spins = switches_now != switches;
    if (events_now != events || failed) since = clock::now();
    if (clock::now() - since >= limit || (failed && !spins)) {
      const auto runs = [&](worker* w) {
        return std::find(parked.begin(), parked.end(), w) == parked.end() &&
               std::find(spinners.begin(), spinners.end(), w) == spinners.end();
      };
      const auto running = std::find_if(at_work.begin(), at_work.end(), runs);
      if (spins && !failed) {
        standing.store(true, std::memory_order_relaxed);  // the next block to spin reports it
      } else if (running != at_work.end()) {
        pthread_kill((*running)->thread, SIGRTMIN + wake_hung_signal_offset);
      }
    }
    events = events_now;
    switches = switches_now;
  }
}

void grid::run() {
  std::unique_lock lock(mutex);
  hand_out();
  watch_for_standstill(lock);
}

}  // namespace simt::detail

simt::launch_progress simt::progress_of_launches() {
  return {detail::blocks_begun.load(std::memory_order_relaxed), detail::blocks_of_all.load(std::memory_order_relaxed)};
}
