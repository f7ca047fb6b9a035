// SPDX-License-Identifier: Apache-2.0
/// \file entry.hpp
/// What simt's headers call in the runtime library. One copy serves plain and instrumented kernels, so
/// everything here lives outside of SIMT_BUILD. Kernels do not use it by name.
#pragma once

#include <simt/build.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>

#include <simt/runtime_types.hpp>

// Kernels call these for threadIdx and friends; `const`, so that a value is asked for once a function.
// axis 0, 1, 2 is x, y, z.
extern "C" {
__attribute__((const)) unsigned simt_thread_index(unsigned axis) noexcept;
__attribute__((const)) unsigned simt_block_index(unsigned axis) noexcept;
__attribute__((const)) unsigned simt_block_extent(unsigned axis) noexcept;
__attribute__((const)) unsigned simt_grid_extent(unsigned axis) noexcept;
}

namespace simt::detail {

// ---- Waiting for others. The site of a wait is the return address: the line that called.

enum class vote : std::uint8_t { none, count, all, any };

/// Waits for all threads of the block; the votes are counted as told.
SIMT_CONVERGENT int block_barrier(vote, int predicate);

enum class collective : std::uint8_t {
  sync, gather, ballot, match_any, match_all,
  add_s32, add_u32, min_s32, min_u32, max_s32, max_u32, and_u32, or_u32, xor_u32,
};

/// All lanes of `mask` meet, and each gets its own result. `source` is the lane to read, for gather.
SIMT_CONVERGENT std::uint64_t warp_collective(collective, std::uint32_t mask, std::uint64_t value, std::uint32_t source = 0);

/// The lanes of the warp that reach this call while the rest of the warp waits elsewhere.
SIMT_CONVERGENT std::uint32_t active_mask();

SIMT_CONVERGENT void grid_barrier();
/// The two halves of a cluster's barrier; arrive gives the phase to wait for.
SIMT_CONVERGENT std::uint64_t cluster_arrive();
SIMT_CONVERGENT void cluster_wait(std::uint64_t phase);
/// The same place of shared memory in another block of the cluster.
void* cluster_map(const void* shared, unsigned rank);
/// Which block of the cluster has it in its shared memory.
unsigned cluster_rank_of(const void* shared);

/// Nothing to do before somebody else writes: run the others.
void spin_yield();
void fence(int scope);  ///< 0 block, 1 device, 2 system
[[noreturn]] void trap();
long long clock();
std::uint64_t nanoseconds();

// ---- The shape of the launch beyond the built-in variables

bool is_cooperative();
unsigned cluster_extent(unsigned axis);  ///< blocks in the cluster
std::size_t dynamic_shared_bytes();

// ---- Atomics

/// Consecutive atomic operations of the running CUDA thread: past the limit it may be spinning, and the
/// others have a turn. Loads and failed exchanges weigh more than updates.
struct atomic_meter {
  std::uint32_t weight = 0;
  std::uint64_t count = 0;
};
inline constexpr std::uint32_t spin_limit = 1024, load_weight = 128;
extern thread_local constinit atomic_meter meter __attribute__((tls_model("initial-exec")));

enum class rmw : std::uint8_t { add, sub, min, max, exch, inc, dec, band, bor, bxor };
enum class number : std::uint8_t { i32, u32, i64, u64, f32, f64 };

// Out of line, for instrumented kernels: each reports to the observer with its caller's line and has
// the lock-step schedule's turn. `order` is a __ATOMIC_ constant, `scope` as for fence().
// `quiet`: not reported (a retry of a loop, or a plain kernel's).
void atomic_load(void* to, const void* from, unsigned size, int order, int scope, bool quiet);
void atomic_store(void* to, const void* from, unsigned size, int order, int scope, bool quiet);
std::uint64_t atomic_update(void* to, rmw, number, std::uint64_t operand, int order, int scope);
/// Writes what was there to *expected; size 1, 2, 4, 8 or 16.
bool atomic_exchange_if(void* to, void* expected, const void* desired, unsigned size, int order, int scope,
                        bool quiet);

// ---- Launches

/// The body of an instrumented launch calls this right before the kernel: here are its arguments.
void instrumented_kernel(const void* arguments, std::size_t bytes);
/// And this right behind it: what follows is the launch's own.
void kernel_returned();

struct launch_shape {
  std::uint32_t grid[3], block[3], cluster[3] = {1, 1, 1};
  std::uint64_t shared_bytes = 0;
  bool cooperative = false;
};

/// Checks, then runs `body` once for every thread, now or when the graph that `stream` captures is launched.
cudaError_t launch(const launch_shape&, const void* kernel, cudaStream_t stream, std::function<void()> body);

/// For who explains whole programs: called in place of each launch that would run now; `run` runs it, as often as called.
using launch_hook = cudaError_t (*)(const launch_shape&, const void* kernel, const std::function<cudaError_t()>& run);
extern launch_hook on_launch;

// ---- The simulated device

struct simulated_device {
  int multiprocessors = 4, threads_per_multiprocessor = 2048, blocks_per_multiprocessor = 32;
  int threads_per_block = 1024, warp = 32, major = 9, minor = 0, blocks_per_cluster = 8;
  std::uint64_t shared_per_block = 48 * 1024, shared_opt_in = 227 * 1024;
  std::uint64_t shared_per_multiprocessor = 228 * 1024, shared_reserved = 1024;
  std::uint32_t max_grid[3] = {2147483647u, 65535u, 65535u}, max_block[3] = {1024, 1024, 64};
};
inline constexpr simulated_device device_limits{};

/// Blocks that a multiprocessor holds at once.
constexpr int resident_blocks(std::uint64_t threads, std::uint64_t shared_bytes) {
  constexpr auto d = device_limits;
  if (threads == 0 || threads > static_cast<std::uint64_t>(d.threads_per_block)) return 0;
  if (shared_bytes > d.shared_opt_in) return 0;
  const std::uint64_t warps = (threads + 31) / 32;
  std::uint64_t blocks = static_cast<std::uint64_t>(d.threads_per_multiprocessor) / 32 / warps;
  const auto by_shared = d.shared_per_multiprocessor / (shared_bytes + d.shared_reserved);
  if (by_shared < blocks) blocks = by_shared;
  if (blocks > static_cast<std::uint64_t>(d.blocks_per_multiprocessor))
    blocks = static_cast<std::uint64_t>(d.blocks_per_multiprocessor);
  return static_cast<int>(blocks);
}

}  // namespace simt::detail
