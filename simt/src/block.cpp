// SPDX-License-Identifier: Apache-2.0
// One block's threads taking turns: who runs next, barriers, spinning, ending, failing.
#include "lens.hpp"
#include "schedule.hpp"
#include "stacks.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

namespace simt::detail {

thread_local constinit cuda_thread* this_thread SIMT_INITIAL_EXEC = nullptr;
thread_local constinit atomic_meter meter SIMT_INITIAL_EXEC;

namespace {

std::atomic<std::uint64_t> runs{0};

[[noreturn]] void abandon(block& b) {
  void* nowhere = nullptr;
  this_thread = nullptr;
  start_switch(nullptr, b.home_stack, b.home_stack_bytes);
  switch_context(&nowhere, b.home);
  std::terminate();
}

void end_thread(cuda_thread& t) {
  block& b = *t.in;
  warp& w = b.warps[t.linear / 32];
  t.state = waits::ended;
  w.ended |= 1u << t.lane();
  --b.live;
  happened(b);
  if (b.watch) b.watch->thread_end(b.linear, t.linear);
  leave(b, t);
}

void thread_main(void* argument) {
  auto& self = *static_cast<cuda_thread*>(argument);
  finish_switch(nullptr);
  for (;;) {  // a turn a block: the stack is used again
    std::string thrown;
    try {
      (*self.in->body)();
    } catch (const std::exception& e) {
      thrown = e.what();
    }
    if (!thrown.empty()) fail_with(fault::trap, 0, 0, "the kernel threw: " + std::move(thrown));
    end_thread(self);
  }
}

// Threads whose barrier outside of the block completed meanwhile.
bool release_outside(block& b) {
  bool any = false;
  for (cuda_thread& t : b.threads) {
    if (t.linear >= b.size || t.state != waits::outside) continue;
    if (t.outside->completed.load(std::memory_order_acquire) < t.phase) continue;
    t.state = waits::nothing;
    --b.outside;
    make_ready(b, t.linear / 32, 1u << t.lane());
    any = true;
  }
  return any;
}

bool waits_for_other_blocks(const block& b) {
  for (std::uint32_t i = 0; i < b.size; ++i) {
    const cuda_thread& t = b.threads[i];
    if (t.state != waits::outside) continue;
    const arrivals& mine = t.outside->whole_grid ? b.at_grid : b.at_cluster;
    if (mine.phases >= t.phase) return true;
  }
  return false;
}

void wait_outside(arrivals& mine, std::uint64_t phase, std::uintptr_t site) {
  cuda_thread& t = *this_thread;
  block& b = *t.in;
  if (mine.at->completed.load(std::memory_order_acquire) >= phase) return;
  t.site = site;
  t.outside = mine.at;
  t.phase = phase;
  t.state = waits::outside;
  ++b.outside;
  leave(b, t);
}

void tell_arrival(simt::meeting at, std::uintptr_t site) {
  cuda_thread& t = *this_thread;
  to_observer(t, [&](observer& o) { o.arrive(t.in->linear, t.linear, {at, 0, 0, site}); });
}

std::uint64_t arrive_outside(arrivals& mine) {
  block& b = *this_thread->in;
  const std::uint64_t phase = mine.phases + 1;
  if (++mine.threads == b.size) {
    mine.threads = 0;
    ++mine.phases;
    happened(b);
    const std::lock_guard lock(b.grid->mutex);
    b.grid->arrive(*mine.at);
  }
  return phase;
}

}  // namespace

// All lanes that wait for the mask at the place of the lowest one go on together.
void set_active(warp& w, block& b) {
  cuda_thread* lanes = &b.threads[b.current_warp * 32];
  const std::uintptr_t place = lanes[std::countr_zero(w.probing)].site;
  std::uint32_t together = 0;
  for (std::uint32_t rest = w.probing; rest != 0; rest &= rest - 1)
    if (lanes[std::countr_zero(rest)].site == place) together |= rest & -rest;
  for (std::uint32_t rest = together; rest != 0; rest &= rest - 1)
    w.result[static_cast<std::size_t>(std::countr_zero(rest))] = together;
  w.probing &= ~together;
  w.ready |= together;
}

void prepare_block(worker& w, grid& g) {
  block& b = w.block;
  while (w.stacks.size() * 32 < g.threads) {
    w.stacks.push_back(take_stacks());
    w.contexts_valid = false;
  }
  if (w.contexts_valid) return;
  b.threads.resize(w.stacks.size() * 32 + 2);
  for (std::uint32_t i = 0; i < w.stacks.size() * 32; ++i) {
    cuda_thread& t = b.threads[i];
    t = cuda_thread{};
    t.in = &b;
    t.linear = i;
    t.stack = stack_of(w.stacks[i / 32], i % 32);
    t.stack_bytes = stack_bytes;
    unpoison(t.stack, t.stack_bytes);
    // Page-aligned tops would all fall on one set of the first-level cache.
    t.context = make_context(t.stack + stack_bytes - i * 192 % 4096, thread_main, &t);
  }
  w.contexts_valid = true;
}

void run_block(worker& w, grid& g) {
  block& b = w.block;
  b.grid = &g;
  b.watch = g.chosen.watch;
  b.body = &g.body;
  b.lock_step = g.chosen.schedule == lane_schedule::lock_step;
  b.linear = g.block_at(w.assigned);
  b.run = runs.fetch_add(1, std::memory_order_relaxed) + 1;
  b.size = b.live = g.threads;
  b.warp_count = (b.size + 31) / 32;
  b.arrived = b.votes = b.spinning = b.outside = b.current_warp = 0;
  b.progress = true;
  b.counted = {};
  b.failed = {};
  b.ending.store(fault::none, std::memory_order_relaxed);
  b.why_ending.clear();
  b.wake_ups = 0;
  b.arguments_begin = b.arguments_end = 0;
  own_shared_memory(b);  // before other blocks of the cluster can find it
  const auto& grid_size = g.shape.grid;
  b.index[0] = static_cast<std::uint32_t>(b.linear % grid_size[0]);
  b.index[1] = static_cast<std::uint32_t>(b.linear / grid_size[0] % grid_size[1]);
  b.index[2] = static_cast<std::uint32_t>(b.linear / grid_size[0] / grid_size[1]);
  b.at_grid = {&g.whole, 0, 0};
  cluster_state* cluster = nullptr;
  if (g.cluster_size > 1) {
    const auto& c = g.shape.cluster;
    const std::uint32_t in[3] = {b.index[0] / c[0], b.index[1] / c[1], b.index[2] / c[2]};
    b.cluster = in[0] + std::uint64_t{grid_size[0] / c[0]} * (in[1] + std::uint64_t{grid_size[1] / c[1]} * in[2]);
    b.rank = b.index[0] % c[0] + c[0] * (b.index[1] % c[1] + c[1] * (b.index[2] % c[2]));
    cluster = g.cluster_of[b.cluster].get();
    b.at_cluster = {&cluster->barrier, 0, 0};
  } else {
    b.cluster = b.linear;
    b.rank = 0;
    b.at_cluster = {};
  }
  b.ready_warps = b.warp_count == 32 ? ~0u : (1u << b.warp_count) - 1;
  const std::uint32_t sx = g.shape.block[0], sy = g.shape.block[1];
  for (std::uint32_t i = 0; i < b.warp_count; ++i) {
    warp& each = b.warps[i];
    const std::uint32_t lanes = std::min(32u, b.size - i * 32);
    each.exists = each.ready = lanes == 32 ? ~0u : (1u << lanes) - 1;
    each.ended = each.spinning = each.probing = each.meetings = 0;
  }
  for (std::uint32_t i = 0, x = 0, y = 0, z = 0; i < b.size; ++i) {
    cuda_thread& t = b.threads[i];
    t.state = waits::nothing;
    t.in_kernel = t.telling = false;
    t.index[0] = x, t.index[1] = y, t.index[2] = z;
    if (++x == sx) x = 0, ++y;
    if (y == sy) y = 0, ++z;
  }
  for (const byte_range& r : dynamic_shared_ranges(g.shape.shared_bytes))
    std::memset(reinterpret_cast<void*>(r.begin), 0xFF, r.end - r.begin);  // nobody wrote it: NaN, −1
  if (cluster) {
    w.thread_locals = thread_local_ranges();
    cluster->owners[b.rank].store(&w, std::memory_order_release);
  }
  meter = {};
  if (b.watch) b.watch->block_begin(b.linear);

  while (b.live != 0 && b.failed.what == fault::none) {
    if (g.failed.load(std::memory_order_relaxed)) break;
    if (cuda_thread* next = next_ready(b, 31)) {
      go(b, nullptr, next);
    } else if (b.outside != 0 && release_outside(b)) {
      happened(b);
    } else if (b.spinning != 0) {
      if (g.standing.load(std::memory_order_relaxed)) {
        b.failed = why_standing(b);
        break;
      }
      if (!b.progress) g.park_spinning(w);
      b.progress = false;
      for (std::uint32_t i = 0; i < b.warp_count; ++i) {
        if (b.warps[i].spinning == 0) continue;
        make_ready(b, i, b.warps[i].spinning);
        b.warps[i].spinning = 0;
      }
      b.spinning = 0;
    } else if (waits_for_other_blocks(b)) {
      g.park_outside(w);
    } else {
      b.failed = why_stuck(b);
    }
  }
  if (b.live != 0) w.contexts_valid = false;
  else if (b.failed.what == fault::none)
    b.failed = {b.ending.load(std::memory_order_relaxed), 0, 0, 0, std::move(b.why_ending)};
  b.counted.atomics += meter.count;
  meter = {};
  if (cluster) cluster->ended[b.rank].store(true, std::memory_order_release);
  // Blocks that give up because another failed do so at once, and an observer's calls never overlap.
  if (b.watch && (b.live == 0 || b.failed.what != fault::none)) b.watch->block_end(b.linear);
}

int block_barrier(vote kind, int predicate) {
  cuda_thread& t = *this_thread;
  block& b = *t.in;
  const std::uintptr_t site = SIMT_SITE;
  to_observer(t, [&](observer& o) { o.arrive(b.linear, t.linear, {simt::meeting::block_barrier, 0, 0, site}); });
  b.votes += predicate != 0;
  if (++b.arrived == b.size) {
    b.arrived = 0;
    b.last_votes = b.votes;
    b.votes = 0;
    for (std::uint32_t i = 0; i < b.warp_count; ++i) b.warps[i].ready = b.warps[i].exists;
    b.warps[t.linear / 32].ready &= ~(1u << t.lane());
    b.ready_warps = b.warp_count == 32 ? ~0u : (1u << b.warp_count) - 1;
    ++b.counted.barriers;
    happened(b);
    to_observer(t, [&](observer& o) { o.block_barrier(b.linear); });
    if (b.grid->failed.load(std::memory_order_relaxed)) [[unlikely]] abandon(b);
  } else {
    t.site = site;
    t.state = waits::barrier;
    leave(b, t);
    t.state = waits::nothing;
  }
  switch (kind) {
    case vote::none: return 0;
    case vote::count: return static_cast<int>(b.last_votes);
    case vote::all: return b.last_votes == b.size;
    case vote::any: return b.last_votes != 0;
  }
  return 0;
}

std::uint32_t active_mask() {
  cuda_thread& t = *this_thread;
  warp& w = t.in->warps[t.linear / 32];
  w.probing |= 1u << t.lane();
  leave_in(t, waits::active_mask, SIMT_SITE);
  return static_cast<std::uint32_t>(w.result[t.lane()]);
}

void spin_at(std::uintptr_t site) {
  meter.weight = 0;
  if (!this_thread) return std::this_thread::yield();
  cuda_thread& t = *this_thread;
  t.in->warps[t.linear / 32].spinning |= 1u << t.lane();
  ++t.in->spinning;
  leave_in(t, waits::spin, site);
}

void spin_yield() { spin_at(SIMT_SITE); }

void yield_lane() {
  cuda_thread& t = *this_thread;
  block& b = *t.in;
  warp& w = b.warps[t.linear / 32];
  if (w.ready == 0) return;
  make_ready(b, t.linear / 32, 1u << t.lane());
  leave(b, t);
}

void grid_barrier() {
  if (!is_cooperative())
    fail_with(fault::trap, 0, SIMT_SITE, "a barrier of the grid needs a cooperative launch");
  tell_arrival(simt::meeting::grid_barrier, SIMT_SITE);
  arrivals& mine = this_thread->in->at_grid;
  wait_outside(mine, arrive_outside(mine), SIMT_SITE);
}

std::uint64_t cluster_arrive() {
  arrivals& mine = this_thread->in->at_cluster;
  if (mine.at) tell_arrival(simt::meeting::cluster_barrier, SIMT_SITE);
  return mine.at ? arrive_outside(mine) : 0;
}

void cluster_wait(std::uint64_t phase) {
  arrivals& mine = this_thread->in->at_cluster;
  if (mine.at) wait_outside(mine, phase, SIMT_SITE);
  else block_barrier(vote::none, 0);  // a cluster of one block
}

void fail_with(fault what, std::uintptr_t address, std::uintptr_t site, std::string text) {
  cuda_thread& t = *this_thread;
  block& b = *t.in;
  b.failed.what = what;
  b.failed.thread = t.linear;
  b.failed.address = address;
  b.failed.site = site;
  b.failed.text = std::move(text);
  abandon(b);
}

void fail(fault what, std::uintptr_t address, std::uintptr_t site) { fail_with(what, address, site, {}); }

void trap() { fail(fault::trap, 0, SIMT_SITE); }

}  // namespace simt::detail

void simt::give_up(std::string why) {
  detail::block* b = detail::this_block();
  if (b == nullptr || b->ending.load(std::memory_order_relaxed) != fault::none) return;
  b->why_ending = std::move(why);
  b->ending.store(fault::too_long, std::memory_order_relaxed);
}

extern "C" {
unsigned simt_thread_index(unsigned axis) noexcept { return simt::detail::this_thread->index[axis]; }
unsigned simt_block_index(unsigned axis) noexcept { return simt::detail::this_thread->in->index[axis]; }
unsigned simt_block_extent(unsigned axis) noexcept { return simt::detail::this_thread->in->grid->shape.block[axis]; }
unsigned simt_grid_extent(unsigned axis) noexcept { return simt::detail::this_thread->in->grid->shape.grid[axis]; }
}
