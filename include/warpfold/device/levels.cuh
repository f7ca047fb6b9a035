// SPDX-License-Identifier: Apache-2.0
/// \file levels.cuh
/// Any reduction at every level of the machine: thread, warp, block, grid (clusters: cluster.cuh). R is a
/// type with the state, identity and combine of reduction.hpp, its members marked WF_HD; states are
/// trivially copyable, of any size.
/// Order is kept at every level: of two neighbours, the one of the lower index comes first.
///
///     __global__ void kernel(const float* x, float* out) {
///       __shared__ wf::block_states<my_reduction, 256> room;
///       my_reduction r;
///       auto s = wf::block_reduce(r, r.lift(x[threadIdx.x], threadIdx.x), room.of_warp);
///       if (threadIdx.x == 0) *out = r.finish(s, blockDim.x);
///     }
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/warp.cuh>
#include <warpfold/reduction.hpp>

namespace wf::device::inline WF_BUILD {

/// A state as words, for shuffles and messages.
template <class State>
struct state_words {
  static_assert(std::is_trivially_copyable_v<State>);
  static constexpr int count = static_cast<int>((sizeof(State) + 3) / 4);
  std::uint32_t word[count];

  static __device__ __forceinline__ state_words of(const State& s) {
    state_words w;
    if constexpr (sizeof(State) % 4 != 0) w.word[count - 1] = 0;
    __builtin_memcpy(w.word, &s, sizeof s);
    return w;
  }
  /// The state, in the place of one that is there: it need not have a default constructor.
  __device__ __forceinline__ void to(State& s) const { __builtin_memcpy(&s, word, sizeof s); }
};

/// Elements first, first + step, … below n of x, lifted and combined in that order by this thread alone.
template <class R, class T>
__device__ __forceinline__ state_of<R> thread_reduce(const R& r, const T* x, std::int64_t first, std::int64_t n,
                                                     std::int64_t step = 1) {
  state_of<R> s = r.identity();
  for (std::int64_t i = first; i < n; i += step) s = r.combine(s, r.lift(x[i], i));
  return s;
}

/// The state of the lane `step` above; the own one where there is none.
template <class State>
__device__ __forceinline__ State state_from_above(const State& s, int step) {
  auto w = state_words<State>::of(s);
#pragma unroll
  for (int j = 0; j < w.count; ++j) w.word[j] = __shfl_down_sync(all_lanes, w.word[j], step);
  State t = s;
  w.to(t);
  return t;
}

/// A reduction that has a quicker way to combine the states of a warp, for which it is called by all lanes.
template <class R>
concept reduces_warps = requires(const R& r, const state_of<R>& s) {
  { r.reduce_warp(s) } -> std::same_as<state_of<R>>;
};

/// The states of lanes 0 … 31 combined in that order, in lane 0 only. All lanes call.
template <class R>
__device__ __forceinline__ state_of<R> warp_reduce(const R& r, state_of<R> s) {
  if constexpr (reduces_warps<R>) {
    return r.reduce_warp(s);
  } else {
#pragma unroll
    for (int step = 1; step < warp_lanes; step *= 2) {
      const state_of<R> above = state_from_above(s, step);
      s = r.combine(s, above);  // needed in the lanes that are multiples of 2 step, harmless elsewhere
    }
    return s;
  }
}

/// A thread's place in its block, whose first dimension varies fastest: warps are 32 of them in a row.
__device__ __forceinline__ unsigned thread_in_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

/// What block_reduce needs of shared memory, without a constructor: states need not have a trivial one.
template <class R, int Threads>
struct block_states {
  alignas(16) unsigned char of_warp[sizeof(state_of<R>) * ((Threads + 31) / 32)];
};

// Calls are qualified: a reduction that derives from something of wf would else find any_shape's too.
/// The states of all threads of the block in order, in thread 0 only. The block is of whole warps in one dimension, as kernels of the library
/// are launched, and all its threads call. `room` holds a state per warp; it is free before the call, and may be used again after a barrier. Takes
/// one barrier.
template <class R>
__device__ __forceinline__ state_of<R> block_reduce(const R& r, state_of<R> s, void* room) {
  using state = state_of<R>;
  s = warp_reduce(r, s);
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (warps == 1) return s;
  auto* of_warp = static_cast<state*>(room);
  if (lane_index() == 0) of_warp[warp_index()] = s;
  __syncthreads();
  if (warp_index() == 0) {
    s = lane_index() < warps ? of_warp[lane_index()] : r.identity();
    s = warp_reduce(r, s);
  }
  return s;
}

/// Levels for blocks of any shape.
namespace any_shape {

/// The states of all threads of the block, in thread 0 only, in the order of thread_in_block(). Blocks have one, two or three
/// dimensions and any number of threads, all of which call; `room` holds a state a warp (block_states), is free before the call
/// and may be used again after a barrier. One barrier.
template <class R>
__device__ __forceinline__ state_of<R> block_reduce(const R& r, state_of<R> s, void* room) {
  using state = state_of<R>;
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z, thread = thread_in_block();
  const unsigned lane = thread % warp_lanes, warp = thread / warp_lanes, left = threads - warp * warp_lanes;
  if (left >= warp_lanes) {
    s = warp_reduce(r, s);
  } else {  // the last warp, of fewer threads
    const unsigned mask = (1u << left) - 1;
    for (unsigned step = 1; step < left; step *= 2) {
      auto w = state_words<state>::of(s);
      const bool is_there = lane + step < left;
#pragma unroll
      for (int j = 0; j < w.count; ++j) w.word[j] = __shfl_sync(mask, w.word[j], static_cast<int>(is_there ? lane + step : lane));
      state above = s;
      w.to(above);
      if (is_there) s = r.combine(s, above);
    }
  }
  if (threads <= warp_lanes) return s;
  auto* of_warp = static_cast<state*>(room);
  if (lane == 0) of_warp[warp] = s;
  __syncthreads();
  if (warp == 0) {
    s = lane < (threads + warp_lanes - 1) / warp_lanes ? of_warp[lane] : r.identity();
    s = warp_reduce(r, s);
  }
  return s;
}

}  // namespace any_shape

/// A box a block for a state of any size: see grid.cuh. 32 bits of it and a mark in each word.
template <class State>
struct state_boxes {
  static constexpr int words = state_words<State>::count;
  static constexpr std::uint64_t full = std::uint64_t{1} << 32;

  /// One thread of the block calls it.
  static __device__ __forceinline__ void post(std::uint64_t* boxes, const State& s) {
    std::uint64_t* box = boxes + std::uint64_t{blockIdx.x} * words;
    const auto w = state_words<State>::of(s);
#pragma unroll
    for (int j = 0; j < words; ++j) store_word(box + j, full | w.word[j]);
  }

  /// Waits for the message of block b, takes it out and leaves the box empty. Eight words are asked for
  /// at once, since a look takes 0.5 µs.
  static __device__ __forceinline__ void take(std::uint64_t* boxes, std::uint32_t b, State& to) {
    std::uint64_t* box = boxes + std::uint64_t{b} * words;
    state_words<State> w;
    constexpr int batch = words < 8 ? words : 8;
#pragma unroll
    for (int first = 0; first < words; first += batch) {
      std::uint64_t seen[batch];
      for (bool wait = true; wait;) {
        std::uint64_t marks = full;
#pragma unroll
        for (int j = 0; j < batch; ++j) {
          seen[j] = first + j < words ? load_word(box + first + j) : full;
          marks &= seen[j];
        }
        wait = marks == 0;
        if (wait) __nanosleep(20);
      }
#pragma unroll
      for (int j = 0; j < batch; ++j) {
        if (first + j < words) {
          w.word[first + j] = static_cast<std::uint32_t>(seen[j]);
          store_word(box + first + j, 0);
        }
      }
    }
    w.to(to);
  }
};

/// The states of all blocks in order, in thread 0 of the last block only; true there. `s` is the
/// block's own state, in its thread 0. All threads of the block call. `boxes` hold
/// gridDim.x · state_boxes::words zeroed words, which are zero again when the kernel has ended; they
/// serve launches that follow each other. `room` is block_reduce's. Blocks of whole warps in one dimension.
template <class R>
__device__ __forceinline__ bool grid_reduce(const R& r, state_of<R>& s, void* room,
                                            std::uint64_t* boxes) {
  using state = state_of<R>;
  if (gridDim.x == 1) return threadIdx.x == 0;
  if (!is_last_block()) {
    if (threadIdx.x == 0) state_boxes<state>::post(boxes, s);
    return false;
  }
  const std::uint32_t posts = gridDim.x - 1;
  if (posts <= warp_lanes) {  // few: one warp takes them, and the block need not wait for itself
    if (warp_index() != 0) return false;
    state others = r.identity();
    if (threadIdx.x < posts) state_boxes<state>::take(boxes, threadIdx.x, others);
    __syncwarp();
    others = device::warp_reduce(r, others);
    if (threadIdx.x == 0) s = r.combine(others, s);
    return threadIdx.x == 0;
  }
  const std::uint32_t each = (posts + blockDim.x - 1) / blockDim.x;
  const std::uint32_t from = min(posts, threadIdx.x * each), to = min(posts, from + each);
  state others = r.identity();
  for (std::uint32_t b = from; b < to; ++b) {
    state one = others;
    state_boxes<state>::take(boxes, b, one);
    others = r.combine(others, one);
  }
  __syncthreads();  // the room is in use until here
  others = device::block_reduce(r, others, room);
  if (threadIdx.x == 0) s = r.combine(others, s);
  return threadIdx.x == 0;
}

}  // namespace wf::device::inline WF_BUILD

namespace wf {
using device::any_shape::block_reduce;
using device::block_states;
using device::grid_reduce;
using device::state_boxes;
using device::thread_in_block;
using device::thread_reduce;
using device::warp_reduce;
}  // namespace wf
