// SPDX-License-Identifier: Apache-2.0
// Who runs next in a block. Inlined into every wait: what a wait costs is the cache lines it touches, a
// thread's record and the last few lines of its stack, so there are few of them, and the next ones are
// asked for early.
#pragma once

#include "context.hpp"
#include "grid.hpp"
#include "sanitizer.hpp"

#include <bit>

namespace simt::detail {

#define SIMT_SITE (reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1)
#define SIMT_HOT inline __attribute__((always_inline))

SIMT_HOT void bump(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// All lanes that wait for the mask at the place of the lowest one go on together.
void set_active(warp& w, block& b);

// The lane after `lane` that can run, in this warp if it has one, else in the next that has.
SIMT_HOT cuda_thread* next_ready(block& b, std::uint32_t lane) {
  for (;;) {
    const std::uint32_t at = b.current_warp;
    warp& w = b.warps[at];
    if (w.ready != 0) {
      const std::uint32_t above = lane < 31 ? w.ready & (~0u << (lane + 1)) : 0;
      const auto next = static_cast<std::uint32_t>(std::countr_zero(above != 0 ? above : w.ready));
      w.ready &= ~(1u << next);
      cuda_thread* t = &b.threads[at * 32 + next];
      // Two spare records end the array; theirs is null, which a prefetch does not mind.
      const auto soon = reinterpret_cast<std::uintptr_t>(t[2].context);
      __builtin_prefetch(reinterpret_cast<const void*>(soon));
      __builtin_prefetch(reinterpret_cast<const void*>(soon + 64));
      __builtin_prefetch(reinterpret_cast<const void*>(soon + 128));
      return t;
    }
    if (w.probing != 0) {
      set_active(w, b);
      continue;
    }
    b.ready_warps &= ~(1u << at);
    if (b.ready_warps == 0) return nullptr;
    const std::uint32_t above = at < 31 ? b.ready_warps & (~0u << (at + 1)) : 0;
    b.current_warp = static_cast<std::uint32_t>(std::countr_zero(above != 0 ? above : b.ready_warps));
    lane = 31;
  }
}

// From one CUDA thread to another, or to or from the OS thread's own stack (null).
SIMT_HOT void go(block& b, cuda_thread* from, cuda_thread* to) {
  bump(b.switches);
  meter.weight = 0;
  this_thread = to;
  void** fake = from ? &from->fake_stack : &b.home_fake_stack;
  if (to) start_switch(fake, to->stack, to->stack_bytes);
  else start_switch(fake, b.home_stack, b.home_stack_bytes);
  switch_context(from ? &from->context : &b.home, to ? to->context : b.home);
  finish_switch(*fake);
}

SIMT_HOT void leave(block& b, cuda_thread& t) { go(b, &t, next_ready(b, t.lane())); }

SIMT_HOT void make_ready(block& b, std::uint32_t warp_index, std::uint32_t lanes) {
  b.warps[warp_index].ready |= lanes;
  b.ready_warps |= 1u << warp_index;
}

SIMT_HOT void happened(block& b) {
  b.progress = true;
  bump(b.events);
}

SIMT_HOT void leave_in(cuda_thread& t, waits state, std::uintptr_t site) {
  t.site = site;
  t.state = state;
  leave(*t.in, t);
  t.state = waits::nothing;
}

}  // namespace simt::detail
