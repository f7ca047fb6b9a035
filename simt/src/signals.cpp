// SPDX-License-Identifier: Apache-2.0
// Faults of the processor inside a kernel become faults of the launch; so does the wake-up of a thread
// that hangs. Elsewhere they go to whoever had the signal before.
#include "grid.hpp"
#include "stacks.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <cstring>

namespace simt::detail {

namespace {

constexpr std::array caught{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
std::array<struct sigaction, 5> before;
std::mutex installing;

std::uintptr_t instruction(void* context) {
  [[maybe_unused]] auto* c = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(c->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return c->uc_mcontext.pc;
#else
  return 0;
#endif
}

void chain(int signal, siginfo_t* info, void* context) {
  struct sigaction old {};
  for (std::size_t i = 0; i < caught.size(); ++i)
    if (caught[i] == signal) old = before[i];
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(signal, info, context);
  } else if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
    ::signal(signal, old.sa_handler);  // the fault repeats, and does what it would have done
  } else {
    old.sa_handler(signal);
  }
}

// Instrumented code is left at its next basic block, and not in the runtime, which may hold a lock. If none comes
// by the 16th wake-up, it hangs in something else.
bool ends_soon(const cuda_thread& t) {
  if (!t.in_kernel || ++t.in->wake_ups == 16) return false;
  fault none = fault::none;
  t.in->ending.compare_exchange_strong(none, fault::hung);
  return true;
}

// Runs on the worker's signal stack, which is left for good: the thread's own stack may be full.
void on_signal(int signal, siginfo_t* info, void* context) {
  cuda_thread* t = this_thread;
  if (!t) {
    if (signal != SIGRTMIN + wake_hung_signal_offset) chain(signal, info, context);
    return;
  }
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  const std::uintptr_t site = instruction(context);
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  switch (signal) {
    case SIGSEGV:
    case SIGBUS: {
      const auto low = reinterpret_cast<std::uintptr_t>(t->stack);
      if (address < low && address >= low - guard_bytes)
        fail_with(fault::out_of_bounds, address, site, "its stack of " + std::to_string(stack_bytes / 1024) + " KiB is full");
      if (info->si_code == SI_KERNEL && t->in_kernel && t->half_aligned != 0)
        fail_with(fault::misaligned, t->half_aligned, site, "16 bytes at once, whose address must be a multiple of 16");
      // An address that is not canonical is not told.
      fail(fault::out_of_bounds, info->si_code == SI_KERNEL ? 0 : address, site);
    }
    case SIGFPE: fail_with(fault::trap, 0, site, "an integer division by zero, or one that overflows");
    case SIGILL:
    case SIGTRAP: fail(fault::trap, 0, site);
    default:
      if (!ends_soon(*t)) fail(fault::hung, 0, site);
  }
}

}  // namespace

void install_signal_handlers() {
  const std::lock_guard lock(installing);
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  for (std::size_t i = 0; i < caught.size(); ++i) {
    struct sigaction now {};
    sigaction(caught[i], nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal) continue;
    before[i] = now;
    sigaction(caught[i], &ours, nullptr);
  }
  sigaction(SIGRTMIN + wake_hung_signal_offset, &ours, nullptr);
}

void enter_signal_stack() {
  constexpr std::size_t bytes = 256 * 1024;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = bytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace simt::detail
