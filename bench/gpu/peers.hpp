// SPDX-License-Identifier: Apache-2.0
/// \file peers.hpp
/// The same reductions by CUB, and a kernel that only reads.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <warpfold/builtin.hpp>

namespace bench {

struct peer_request {
  wf::op what;
  wf::dtype element;
  const void* x;
  const void* y;  ///< dot's second input
  std::int64_t n;
  void* out;  ///< 64 bytes; the answer's numbers as peer_answer says
  void* scratch;
  std::size_t scratch_bytes;
  cudaStream_t stream;
};

/// Whether CUB is asked for this.
bool has_peer(wf::op, wf::dtype);
void run_peer(const peer_request&);
/// The answer at `out` on the host, as a number to compare with the library's first one.
double peer_answer(wf::op, wf::dtype, const void* out);

/// Every byte is loaded and nothing is done with it: the floor is the fastest of so many ways.
int read_ways();
void run_read(int way, const void* x, std::size_t bytes, unsigned* out, cudaStream_t);

}  // namespace bench
