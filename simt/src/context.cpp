// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#if defined(__x86_64__)
// Where a new context starts: entry and argument lie on its stack.
__asm__(R"(
.text
.p2align 4
.globl simt_enter_context
.type simt_enter_context, @function
simt_enter_context:
  .cfi_startproc
  .cfi_undefined rip
  popq %rax
  popq %rdi
  xorl %ebp, %ebp
  pushq $0
  pushq $0
  andq $-16, %rsp
  callq *%rax
  ud2
  .cfi_endproc
.size simt_enter_context, .-simt_enter_context
)");
#endif
