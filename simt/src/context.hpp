// SPDX-License-Identifier: Apache-2.0
// Stacks that take turns on one OS thread. On x86-64 the switch is inline: a call into a library and back
// leaves the processor's stack of return addresses one off, so that each wait ends in a mispredicted
// return (bench/simt/fiber_switch.cpp has the figures). Elsewhere it is Boost.Context's.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#include <boost/context/detail/fcontext.hpp>
#endif

namespace simt::detail {

#if defined(__x86_64__)

extern "C" void simt_enter_context();

/// Stops here, to go on when somebody loads what is written to *save; goes on where `load` stopped. The
/// floating-point control words are not switched: kernels do not change them.
inline __attribute__((always_inline)) void switch_context(void** save, void* load) noexcept {
  __asm__ volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // the red zone of the function that this is inlined in
      "pushq %%rbp\n\t"
      "pushq %%rbx\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %1, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n"
      "1:\n\t"
      "popq %%rbx\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+D"(save), "+S"(load)
      :
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15"
#if defined(__AVX512F__)
        , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#endif
  );
}

/// The context in which `entry(argument)` starts on the stack that ends at `top` (exclusive, any
/// alignment). `entry` never returns.
inline void* make_context(std::byte* top, void (*entry)(void*), void* argument) noexcept {
  auto** slot = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15}) - 4;
  slot[0] = reinterpret_cast<void*>(simt_enter_context);
  slot[1] = reinterpret_cast<void*>(entry);
  slot[2] = argument;
  slot[3] = nullptr;  // ends a debugger's walk
  return slot;
}

#else

namespace boosted {
using namespace boost::context::detail;
// A stopped context is handed to the one that runs next, which keeps it where the stopped one said.
inline void keep(transfer_t from) noexcept {
  if (from.data) *static_cast<void**>(from.data) = from.fctx;
}
}  // namespace boosted

inline void switch_context(void** save, void* load) noexcept { boosted::keep(boosted::jump_fcontext(load, save)); }

inline void* make_context(std::byte* top, void (*entry)(void*), void* argument) noexcept {
  struct errand {
    void (*entry)(void*);
    void* argument;
  } mine{entry, argument};
  // Boost wants a size only to find the bottom of stacks that grow upwards.
  auto* fresh = boosted::make_fcontext(top, 4096, [](boosted::transfer_t from) {
    const errand todo = *static_cast<errand*>(from.data);
    boosted::keep(boosted::jump_fcontext(from.fctx, nullptr));
    todo.entry(todo.argument);
  });
  return boosted::jump_fcontext(fresh, &mine).fctx;
}

#endif

}  // namespace simt::detail
