// SPDX-License-Identifier: Apache-2.0
// The few functions of NCCL that warpfold/nccl.hpp calls, among threads of one process whose devices are simt's: what they write is there
// when the call returns. The names and numbers are NCCL's.
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess = 0, cudaErrorNotReady = 600 };
inline thread_local bool stand_in_stream_hangs = false;  ///< as behind a collective that some rank does not come to
inline cudaError_t cudaStreamQuery(cudaStream_t) { return stand_in_stream_hangs ? cudaErrorNotReady : cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

enum ncclResult_t { ncclSuccess = 0, ncclInvalidArgument = 4, ncclRemoteError = 6, ncclInProgress = 7 };
enum ncclDataType_t { ncclUint8 = 1, ncclUint64 = 5 };
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
inline ncclResult_t ncclCommUserRank(ncclComm_t c, int* rank) {
  *rank = c->rank;
  return c->is_aborted ? ncclInvalidArgument : ncclSuccess;
}
inline ncclResult_t ncclCommAbort(ncclComm_t c) {
  c->is_aborted = true;
  stand_in_stream_hangs = false;
  return ncclSuccess;
}
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t* state) {
  *state = c->is_aborted ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

/// All ranks' addresses, between two meetings.
template <class F>
ncclResult_t stand_in_collective(ncclComm_t c, const void* send, std::size_t n, ncclDataType_t type, F f) {
  if (c == nullptr || c->is_aborted || send == nullptr || n == 0 || (type != ncclUint64 && type != ncclUint8)) return ncclInvalidArgument;
  ++c->calls;
  c->team->sent[static_cast<std::size_t>(c->rank)] = send;
  c->team->meet.arrive_and_wait();
  f(c->team->sent);
  return ncclSuccess;
}
inline ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t n, ncclDataType_t type, ncclRedOp_t, ncclComm_t c, cudaStream_t) {
  if (type != ncclUint64) return ncclInvalidArgument;
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
  const std::size_t size = type == ncclUint8 ? 1 : 8;
  const ncclResult_t r = stand_in_collective(c, send, n, type, [&](const std::vector<const void*>& all) {
    for (std::size_t k = 0; k < all.size(); ++k) std::memcpy(static_cast<char*>(receive) + k * n * size, all[k], n * size);
  });
  if (r == ncclSuccess) c->team->meet.arrive_and_wait();
  return r;
}

/// Messages of a group: a rank's go out, in the order of the ranks they go to, when the group ends.
struct stand_in_group {
  ncclComm_t comm = nullptr;
  std::vector<const void*> to;   ///< for each rank
  std::vector<void*> from;
  std::size_t bytes = 0;
};
inline thread_local stand_in_group stand_in_open;
inline ncclResult_t ncclGroupStart() {
  stand_in_open = {};
  return ncclSuccess;
}
inline ncclResult_t ncclSend(const void* p, std::size_t n, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t) {
  if (c->is_aborted || type != ncclUint8) return ncclInvalidArgument;
  stand_in_open.comm = c;
  stand_in_open.bytes = n;
  stand_in_open.to.resize(c->team->sent.size());
  stand_in_open.to[static_cast<std::size_t>(peer)] = p;
  return ncclSuccess;
}
inline ncclResult_t ncclRecv(void* p, std::size_t n, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t) {
  if (c->is_aborted || type != ncclUint8 || n != stand_in_open.bytes) return ncclInvalidArgument;
  stand_in_open.from.resize(c->team->sent.size());
  stand_in_open.from[static_cast<std::size_t>(peer)] = p;
  return ncclSuccess;
}
inline ncclResult_t ncclGroupEnd() {
  const stand_in_group g = std::exchange(stand_in_open, {});
  if (g.comm == nullptr) return ncclSuccess;
  const ncclResult_t r = stand_in_collective(g.comm, &g, g.bytes, ncclUint8, [&](const std::vector<const void*>& all) {
    for (std::size_t k = 0; k < all.size(); ++k)
      if (g.from[k] != nullptr) std::memcpy(g.from[k], static_cast<const stand_in_group*>(all[k])->to[static_cast<std::size_t>(g.comm->rank)], g.bytes);
  });
  if (r == ncclSuccess) g.comm->team->meet.arrive_and_wait();  // all have read
  return r;
}
