// SPDX-License-Identifier: Apache-2.0
// The machine's inside: a CUDA thread (a stack that takes turns), its warp, its block. All of a block
// runs on one OS thread, so nothing in here is locked. What follows "For the instrumentation" is what
// the callbacks of instrumented kernels use; it is as cheap as a thread-local load.
#pragma once

#include <simt/entry.hpp>
#include <simt/machine.hpp>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace simt::detail {

struct block;
struct grid;
struct worker;

enum class waits : std::uint8_t { nothing, barrier, collective, active_mask, outside, spin, ended };

/// A barrier of whole blocks (a cluster's or the grid's): the phases that all of them completed.
struct phase_barrier {
  std::uint64_t first = 0, expected = 0;  // blocks
  std::uint64_t arrived = 0;              // under the grid's mutex
  std::atomic<std::uint64_t> completed{0};
  bool whole_grid = false;
};

struct alignas(64) cuda_thread {
  // The first cache line is what a wait touches.
  void* context = nullptr;
  block* in = nullptr;
  std::uintptr_t site = 0;  // the call it waits in
  std::uint32_t linear = 0;
  std::uint32_t mask = 0;   // the collective's that it waits in
  std::uint32_t index[3] = {};
  waits state = waits::nothing;
  bool in_kernel = false;  // an instrumented one: what leads there is instrumented, too, and not its own
  phase_barrier* outside = nullptr;
  std::uint64_t phase = 0;     // the one of *outside that it waits for
  std::byte* stack = nullptr;  // lowest byte
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;  // the address sanitizer's
  // The last access of 16 bytes or more at an address aligned to 8 only: the processor may refuse it.
  std::uintptr_t half_aligned = 0;
  bool telling = false;  // its observer is running, whose own code may be instrumented
  std::uint32_t lane() const { return linear % 32; }
};

/// Lanes that met so far in one collective. A warp may have several, with different masks.
struct meeting {
  std::uint32_t mask = 0, arrived = 0;
  collective what = collective::sync;
};

struct warp {
  std::uint32_t ready = 0;  // lanes that can run and do not
  std::uint32_t exists = 0, ended = 0, spinning = 0;
  std::uint32_t probing = 0;  // wait in active_mask()
  std::uint32_t meetings = 0;
  std::array<std::uint64_t, 32> value, result;
  std::array<std::uint32_t, 32> source;
  std::array<meeting, 32> meeting_of;
};

struct failure {
  fault what = fault::none;
  std::uint32_t thread = 0;
  std::uintptr_t address = 0, site = 0;
  std::string text;  // what is not told by the rest
};

struct counters {
  std::uint64_t barriers = 0, warp_syncs = 0, shuffles = 0, collectives = 0, atomics = 0;
};

/// How many threads of the block arrived at the barrier's next phase, and the phases they all did.
struct arrivals {
  phase_barrier* at = nullptr;
  std::uint32_t threads = 0;
  std::uint64_t phases = 0;
};

struct block {
  // First what every switch touches.
  std::uint32_t ready_warps = 0, current_warp = 0;
  std::uint32_t arrived = 0;  // at the block-wide barrier
  std::uint32_t votes = 0, last_votes = 0;
  std::uint32_t live = 0, size = 0, warp_count = 0;
  std::uint32_t spinning = 0, outside = 0;  // threads in these states
  bool progress = false;  // something but spinning happened since the last idle moment
  bool lock_step = false;
  // Where the host keeps the arguments of an instrumented kernel (0 and 0 of a plain one).
  std::uintptr_t arguments_begin = 0, arguments_end = 0;
  void* home = nullptr;  // the OS thread's own context
  void* home_fake_stack = nullptr;
  const void* home_stack = nullptr;
  std::size_t home_stack_bytes = 0;
  // For the watch over hung launches. Written by this OS thread only.
  std::atomic<std::uint64_t> switches{0}, events{0};
  detail::grid* grid = nullptr;
  observer* watch = nullptr;
  worker* on = nullptr;
  const std::function<void()>* body = nullptr;
  std::uint64_t linear = 0;  // in the grid
  std::uint64_t run = 0;     // unlike that of any other block of this program's life
  std::uint32_t index[3] = {};
  std::uint64_t cluster = 0;  // linear
  std::uint32_t rank = 0;     // in the cluster
  arrivals at_grid, at_cluster;
  counters counted;
  failure failed;
  // What fails the launch where a thread of an instrumented kernel enters its next basic block, for it may be
  // in the midst of anything when this is asked for. The wake-ups that came to nothing are counted.
  std::atomic<fault> ending{fault::none};
  std::string why_ending;
  unsigned wake_ups = 0;
  std::array<warp, 32> warps;
  std::vector<cuda_thread> threads;
};

struct byte_range {
  std::uintptr_t begin = 0, end = 0;
};

#define SIMT_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

// ---- For the instrumentation

/// The CUDA thread that runs on this OS thread; null on the host and while the machine itself works.
extern thread_local constinit cuda_thread* this_thread SIMT_INITIAL_EXEC;

/// printf(), of a kernel or of the host.
int print(const char* format, std::va_list);

inline block* this_block() {
  cuda_thread* t = this_thread;
  return t ? t->in : nullptr;
}

/// Calls the block's observer, if there is one, as tell(observer). What that does is not told.
template <class Tell>
void to_observer(cuda_thread& t, const Tell& tell) {
  if (t.in->watch == nullptr) return;
  struct guard {
    cuda_thread& t;
    ~guard() { t.telling = false; }
  } const end{t};
  t.telling = true;
  tell(*t.in->watch);
}

/// Lets the other lanes of the warp run up to here, one after the other.
void yield_lane();

/// Lets all others run; `site` is where the kernel waits.
void spin_at(std::uintptr_t site);

/// Ends the launch with this fault of the running CUDA thread; nothing of its stack is unwound.
[[noreturn]] void fail(fault what, std::uintptr_t address, std::uintptr_t site);
/// The same with words to put into the report's text.
[[noreturn]] void fail_with(fault what, std::uintptr_t address, std::uintptr_t site, std::string text);

/// The running thread's stack.
inline byte_range stack_range(const cuda_thread& t) {
  const auto low = reinterpret_cast<std::uintptr_t>(t.stack);
  return {low, low + t.stack_bytes};
}

/// Where the calling OS thread keeps thread-local variables, `__shared__` ones among them: one range a
/// loaded object. Found once an OS thread.
const std::vector<byte_range>& thread_local_ranges();

/// The used part of each dynamic shared array, for the block that runs on the calling OS thread.
std::vector<byte_range> dynamic_shared_ranges(std::uint64_t shared_bytes);
/// The whole arrays, unused part included.
std::vector<byte_range> dynamic_shared_arrays();

/// The dynamic shared memory of this block.
std::uint64_t shared_bytes_of(const block&);

}  // namespace simt::detail
