// SPDX-License-Identifier: Apache-2.0
// What one switch between two stacks costs, by three ways of doing it. simt pays one for each thread at
// each barrier, so the way it uses was chosen by these figures (docs/simt.md holds a run of them).
#include <benchmark/benchmark.h>
#include <boost/context/detail/fcontext.hpp>
#include <ucontext.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../../simt/src/context.hpp"

namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

// A ring of as many stacks as a block has threads; staggered or all tops at one offset in their pages.
struct stacks {
  explicit stacks(std::size_t count, std::size_t stagger)
      : memory(new (std::align_val_t{4096}) std::byte[count * stack_bytes]), step(stagger) {}
  ~stacks() { operator delete[](memory, std::align_val_t{4096}); }
  stacks(const stacks&) = delete;
  stacks& operator=(const stacks&) = delete;
  std::byte* top(std::size_t i) const { return memory + (i + 1) * stack_bytes - i * step % 4096; }
  std::byte* memory;
  std::size_t step;
};

void set_counters(benchmark::State& state, std::size_t switches) {
  state.counters["per_switch"] = benchmark::Counter(
      static_cast<double>(switches), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// A wait is a function that kernels call, so each way is measured within one, and the return counts.
struct ring {
  std::vector<void*> contexts;
  void* home = nullptr;
  void* after(std::size_t i) const { return i + 1 < contexts.size() ? contexts[i + 1] : home; }
};
ring turns;

namespace own {
using namespace simt::detail;
__attribute__((noinline)) void wait(std::size_t me) { switch_context(&turns.contexts[me], turns.after(me)); }
void body(void* me) {
  for (;;) wait(reinterpret_cast<std::size_t>(me));
}
void* make(std::byte* top, std::size_t i) { return make_context(top, body, reinterpret_cast<void*>(i)); }
}  // namespace own

namespace boosted {
using namespace boost::context::detail;
void switch_context(void** save, void* load) {
  const transfer_t from = jump_fcontext(load, save);
  if (from.data) *static_cast<void**>(from.data) = from.fctx;
}
__attribute__((noinline)) void wait(std::size_t me) { switch_context(&turns.contexts[me], turns.after(me)); }
void body(transfer_t from) {
  const auto me = reinterpret_cast<std::size_t>(from.data);
  from = jump_fcontext(from.fctx, nullptr);
  *static_cast<void**>(from.data) = from.fctx;
  for (;;) wait(me);
}
void* make(std::byte* top, std::size_t i) {
  return jump_fcontext(make_fcontext(top, stack_bytes / 2, body), reinterpret_cast<void*>(i)).fctx;
}
}  // namespace boosted

void turn(benchmark::State& state, void* (*make)(std::byte*, std::size_t), void (*switch_context)(void**, void*)) {
  const auto count = static_cast<std::size_t>(state.range(0));
  stacks memory(count, static_cast<std::size_t>(state.range(1)));
  turns.contexts.assign(count, nullptr);
  for (std::size_t i = 0; i < count; ++i) turns.contexts[i] = make(memory.top(i), i);
  for (auto _ : state) switch_context(&turns.home, turns.contexts[0]);
  set_counters(state, count + 1);
}

void simt_switch(benchmark::State& state) {
  turn(state, own::make, [](void** save, void* load) { simt::detail::switch_context(save, load); });
}
void boost_fcontext(benchmark::State& state) { turn(state, boosted::make, boosted::switch_context); }

namespace posix {
std::vector<ucontext_t> contexts;
ucontext_t home;
__attribute__((noinline)) void wait(std::size_t me) {
  swapcontext(&contexts[me], me + 1 < contexts.size() ? &contexts[me + 1] : &home);
}
void body(int me) {
  for (;;) wait(static_cast<std::size_t>(me));
}
}  // namespace posix

void ucontext(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  stacks memory(count, 0);
  const auto stagger = static_cast<std::size_t>(state.range(1));
  posix::contexts.assign(count, ucontext_t{});
  for (std::size_t i = 0; i < count; ++i) {
    getcontext(&posix::contexts[i]);
    posix::contexts[i].uc_stack.ss_sp = memory.memory + i * stack_bytes;
    posix::contexts[i].uc_stack.ss_size = stack_bytes - i * stagger % 4096;
    makecontext(&posix::contexts[i], reinterpret_cast<void (*)()>(posix::body), 1, static_cast<int>(i));
  }
  for (auto _ : state) swapcontext(&posix::home, &posix::contexts[0]);
  set_counters(state, count + 1);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"fibers", "stagger"})->Args({32, 192})->Args({256, 192})->Args({1024, 192})->Args({256, 0});
}
BENCHMARK(simt_switch)->Apply(sizes);
BENCHMARK(boost_fcontext)->Apply(sizes);
BENCHMARK(ucontext)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
