// SPDX-License-Identifier: Apache-2.0
/// \file staged_copy.hpp
/// Copies of large arrays of the host to a device, by way of pinned memory. The device reads pinned memory by itself, so a piece is on its
/// way while the next one is put there; several threads do that, since one copies memory more slowly than the device reads it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <warpfold/executor.hpp>

namespace wf::staged {

inline constexpr std::size_t least_bytes = std::size_t{8} << 20;  ///< smaller arrays are copied at once, without pinned memory
inline constexpr std::size_t piece_bytes = std::size_t{2} << 20;
inline constexpr int most_lanes = 4, buffers = 2;                 ///< a lane is a thread with two pieces: one that it fills, one that is read

/// What the copy asks of a device. All but `pinned` give 0, or the code of an error.
template <class D>
concept device = requires(D& d, void* to, std::size_t bytes, int lane, int buffer) {
  d.begin(lane);                           ///< this thread is the lane from now on
  d.pinned(lane, buffer);                  ///< piece_bytes of pinned memory
  d.enqueue(to, bytes, lane, buffer);      ///< copies what lies there, later
  d.wait(lane, buffer);                    ///< waits until it is copied
};

/// Copies [from, from + bytes). When it returns, the caller may change that memory, and the pinned memory is free; the device may not have
/// all yet, but has it before what is enqueued after this. 0, or the code of the first error of a lane.
template <device D>
int copy(D& d, cpu::executor& threads, void* to, const void* from, std::size_t bytes) {
  const std::size_t pieces = (bytes + piece_bytes - 1) / piece_bytes;
  const int lanes = static_cast<int>(std::clamp<std::size_t>(static_cast<std::size_t>(threads.concurrency()), 1, std::min<std::size_t>(most_lanes, std::max<std::size_t>(pieces, 1))));
  struct job {
    D& d;
    std::byte* to;
    const std::byte* from;
    std::size_t bytes, pieces;
    int lanes;
    std::array<int, most_lanes> error;
  } j{d, static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes, pieces, lanes, {}};
  threads.run(lanes, lanes, [](void* argument, std::int64_t k) {
    job& all = *static_cast<job*>(argument);
    const int lane = static_cast<int>(k);
    int e = all.d.begin(lane), enqueued = 0;
    for (std::size_t p = static_cast<std::size_t>(lane); e == 0 && p < all.pieces; p += static_cast<std::size_t>(all.lanes)) {
      const int buffer = enqueued % buffers;
      if (enqueued >= buffers) e = all.d.wait(lane, buffer);
      if (e != 0) break;
      const std::size_t at = p * piece_bytes, size = std::min(piece_bytes, all.bytes - at);
      std::memcpy(all.d.pinned(lane, buffer), all.from + at, size);
      e = all.d.enqueue(all.to + at, size, lane, buffer);
      ++enqueued;
    }
    for (int last = std::max(enqueued - buffers, 0); last < enqueued; ++last) {
      const int waited = all.d.wait(lane, last % buffers);
      if (e == 0) e = waited;
    }
    all.error[static_cast<std::size_t>(lane)] = e;
  }, &j);
  for (const int e : j.error)
    if (e != 0) return e;
  return 0;
}

}  // namespace wf::staged
