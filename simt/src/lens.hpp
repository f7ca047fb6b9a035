// SPDX-License-Identifier: Apache-2.0
// What instrumented code is checked against, access by access: the bounds of allocations and of shared
// variables, and which bytes of shared memory the block has written.
#pragma once

#include "thread.hpp"

namespace simt::detail {

/// An instrumented object has been loaded: without one, the rest of this costs nothing.
void instrumentation_present();

/// From now on the shared memory of the calling OS thread is this block's, and unwritten. To be called
/// before the first thread of a block runs.
void own_shared_memory(const block&);

/// How an access looks to the checks.
struct touch {
  std::uintptr_t address;
  std::uint64_t size;
  bool reads, writes;
  bool aggregate;  ///< a copy of a whole object, whose padding may be unwritten
  std::uint32_t alignment;  ///< a power of two that the address must be a multiple of; 1: nothing is known
  std::uintptr_t site;
};

/// What an address is to the running thread.
enum class ground : std::uint8_t {
  own,     ///< its stack, an ordinary thread-local variable: nobody else's business
  shared,  ///< its block's, or another one's in its cluster
  global,  ///< allocations, and the data of programs and libraries
};

/// Fails the launch if the access is not wholly inside one allocation, shared variable or module's data, or
/// if the block uses more static shared memory than there is.
ground check_bounds(const cuda_thread&, const touch&);

/// Fails the launch: the address is no multiple of a.alignment.
[[noreturn]] void misaligned(const touch&);
inline void check_alignment(const touch& a) {
  if ((a.address & (a.alignment - 1)) != 0) [[unlikely]] misaligned(a);
}

/// For shared memory: fails the launch on a read that nobody wrote in this block's life; notes what a
/// write writes. To be called right before the access happens.
void check_written(const cuda_thread&, const touch&);

}  // namespace simt::detail
