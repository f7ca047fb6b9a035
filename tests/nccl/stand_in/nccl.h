// SPDX-License-Identifier: Apache-2.0
// The few functions of NCCL that warpfold/nccl.hpp calls, among threads of one process whose devices are simt's: what they write is there
// when the call returns. The names and numbers are NCCL's.
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

using cudaStream_t = void*;

enum ncclResult_t { ncclSuccess = 0, ncclInvalidArgument = 4, ncclRemoteError = 6, ncclInProgress = 7 };
enum ncclDataType_t { ncclUint64 = 5 };
enum ncclRedOp_t { ncclSum = 0 };

struct stand_in_team {
  explicit stand_in_team(int ranks) : sent(static_cast<std::size_t>(ranks)), meet(ranks) {}
  std::vector<const void*> sent;
  std::barrier<> meet;
};
struct ncclComm {
  std::shared_ptr<stand_in_team> team;
  int rank;
  bool is_aborted = false;
  int calls = 0;  ///< collectives so far
};
using ncclComm_t = ncclComm*;

inline const char* ncclGetErrorString(ncclResult_t r) {
  return r == ncclSuccess ? "no error" : r == ncclInvalidArgument ? "invalid argument" : "remote process exited or there was a network error";
}
inline ncclResult_t ncclCommCount(ncclComm_t c, int* n) {
  *n = static_cast<int>(c->team->sent.size());
  return c->is_aborted ? ncclInvalidArgument : ncclSuccess;
}
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t* state) {
  *state = c->is_aborted ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

/// All ranks' addresses, between two meetings.
template <class F>
ncclResult_t stand_in_collective(ncclComm_t c, const void* send, std::size_t n, ncclDataType_t type, F f) {
  if (c == nullptr || c->is_aborted || send == nullptr || n == 0 || type != ncclUint64) return ncclInvalidArgument;
  ++c->calls;
  c->team->sent[static_cast<std::size_t>(c->rank)] = send;
  c->team->meet.arrive_and_wait();
  f(c->team->sent);
  return ncclSuccess;
}
inline ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t n, ncclDataType_t type, ncclRedOp_t, ncclComm_t c, cudaStream_t) {
  std::vector<std::uint64_t> sums(n);
  const ncclResult_t r = stand_in_collective(c, send, n, type, [&](const std::vector<const void*>& all) {
    for (const void* one : all)
      for (std::size_t k = 0; k < n; ++k) sums[k] += static_cast<const std::uint64_t*>(one)[k];
  });
  if (r != ncclSuccess) return r;
  c->team->meet.arrive_and_wait();  // all have read
  std::memcpy(receive, sums.data(), 8 * n);
  return r;
}
inline ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t n, ncclDataType_t type, ncclComm_t c, cudaStream_t) {
  const ncclResult_t r = stand_in_collective(c, send, n, type, [&](const std::vector<const void*>& all) {
    for (std::size_t k = 0; k < all.size(); ++k) std::memcpy(static_cast<std::uint64_t*>(receive) + k * n, all[k], 8 * n);
  });
  if (r == ncclSuccess) c->team->meet.arrive_and_wait();
  return r;
}
