// SPDX-License-Identifier: Apache-2.0
// What whole programs need beyond kernels: launches by void pointers, and word of a kernel that died.
#include <simt/machine.hpp>
#include <simt/program.hpp>
#include <simt/runtime_api.hpp>

#include "thread.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include <unistd.h>

namespace simt::detail {
namespace {

struct known_kernels {
  std::mutex mutex;
  std::map<const void*, body_maker> all;
};
known_kernels& known() {
  static known_kernels k;
  return k;
}

/// A program that never asks for errors would end as if nothing had been.
void end_with_failure(int status, void*) {
  if (status != 0 || on_launch != nullptr) return;  // who explains the launches has the last word
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace

void remember_kernel(const void* kernel, body_maker make) {
  known_kernels& k = known();
  const std::lock_guard lock(k.mutex);
  k.all[kernel] = make;
}

body_maker maker_of(const void* kernel) {
  known_kernels& k = known();
  const std::lock_guard lock(k.mutex);
  const auto found = k.all.find(kernel);
  return found == k.all.end() ? nullptr : found->second;
}

void inline_ptx() {
  if (this_thread != nullptr)
    fail_with(fault::unsupported, 0, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1,
              "inline PTX, which simt does not run: give it a twin under #if defined(__SIMT__)");
  std::fputs("warpfold: a function of the host has inline assembly with a semicolon, which is taken for PTX\n", stderr);
  std::_Exit(1);
}

void refuse_launch_in_kernel() {
  if (this_thread != nullptr)
    fail_with(fault::unsupported, 0, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1,
              "a launch from within a kernel, which simt does not run: launch it from the host");
}

void tell_fault(cudaError_t e) {
  static std::mutex mutex;
  static std::string told;
  if (e == cudaSuccess) return;
  const fault_report fault = last_fault();
  const std::lock_guard lock(mutex);
  if (fault.what == fault::none || fault.text == told) return;
  if (told.empty()) on_exit(end_with_failure, nullptr);
  told = fault.text;
  std::fflush(stdout);
  std::fprintf(stderr, "warpfold: %s\n", fault.text.c_str());
}

}  // namespace simt::detail
