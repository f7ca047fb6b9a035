// SPDX-License-Identifier: Apache-2.0
/// \file machine.hpp
/// What the tests need of a device, the same for GPUs and simt: machine.cuh is compiled for both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <warpfold/gpu.hpp>

#include "../support/device.hpp"
#include "fused.hpp"

/// A reduction of a user's, by its own kernel: see support/own_reductions.cuh. Answers are 64-bit words.
enum class own { longest_run, polynomial, wide_state, triples, weighted, in_order, racing };
struct own_request {
  own which;
  const void* x;  ///< on the device
  const void* y;
  std::int64_t n, stride;
  std::uint32_t blocks, threads;  ///< 0: the library's choice
  void* out;
};

struct machine : device_functions {
  const wf::device_library* library;
  void* (*allocate_pinned)(std::size_t bytes);  ///< host memory that the device writes to
  void (*free_pinned)(void*);
  std::string (*reduce_own)(const own_request&);
  std::vector<wf::op> (*fused_ops)(fused_kind, wf::dtype);  ///< in the order of answers; none: not compiled
  std::string (*fuse)(const wf::device_place&, const fused_request&);
  void* (*make_stream)();
  void (*free_stream)(void*);
  std::string (*wait)(void* stream);
  /// Captures `work` on the stream, replays it.
  std::string (*replay)(void* stream, void (*work)(void*), void* context, int times);
  std::int64_t (*free_memory)();
  /// Captures `work` on the stream, in the mode that forbids most. The graph is launched on a stream, and freed.
  std::string (*capture)(void* stream, void (*work)(void*), void* context, void** graph);
  std::string (*launch)(void* graph, void* stream);
  void (*free_graph)(void* graph);
};
const machine& simt_machine();
const machine& gpu_machine();
