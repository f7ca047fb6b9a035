// SPDX-License-Identifier: Apache-2.0
/// \file machine.hpp
/// The host's view of simt: how launches are scheduled, what went wrong in one, and what to watch.
/// Kernels never include this; they include <cuda_runtime.h>, which is simt's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simt {

/// The order in which the blocks of a grid start.
enum class block_order : std::uint8_t { forward, reversed, shuffled };

/// How far a lane runs before the next lane of its warp has its turn.
enum class lane_schedule : std::uint8_t {
  to_barrier,  ///< to the next barrier or warp collective: the fastest, and the least forgiving
  lock_step,   ///< to the next memory access (instrumented kernels only): as before Volta
};

class observer;

/// What holds for the launches of this host thread until it is changed.
struct options {
  block_order order = block_order::forward;
  std::uint64_t seed = 1;   ///< for the shuffled order
  unsigned os_threads = 0;  ///< blocks that run at once; 0: one a core; an observer makes it 1
  unsigned multiprocessors = 0;  ///< the simulated device's, which says so; 0: 4
  unsigned shared_opt_in = 0;    ///< bytes of shared memory that its blocks may ask for; 0: 227 KiB
  unsigned l2_bytes = 0;         ///< its L2's, which says so; 0: those of the host's last cache
  lane_schedule schedule = lane_schedule::to_barrier;
  double timeout_seconds = 60;  ///< without a step of the scheduler, before a launch is called hung
  observer* watch = nullptr;
  bool unwritten_reads = false;  ///< let reads of shared memory that nobody wrote pass, to see what races behind one
};

/// The options of the calling host thread; SIMT_ORDER, SIMT_SEED, SIMT_THREADS and SIMT_TIMEOUT set the
/// first values. Assign to change them.
options& current_options();

enum class fault : std::uint8_t {
  none,
  deadlock,            ///< every thread waits, and nothing can wake one
  divergent_barrier,   ///< a barrier or collective that part of its threads never reaches
  out_of_bounds,       ///< an access outside every allocation or shared variable
  uninitialised_read,  ///< a read of shared memory that no thread of the block wrote
  hung,                ///< no step of the scheduler within the time-out
  bad_collective,      ///< lanes of one warp in different collectives, or a mask without its caller
  trap,                ///< __trap() or a failed assert()
  misaligned,          ///< an access whose address is no multiple of its size
  too_much_shared,     ///< more static shared variables than a block may have
  too_long,            ///< more events than the observer can hold
  unsupported,         ///< inline PTX, in a whole program
};

const char* to_string(fault);

/// A place in the source, found from the address of an instruction.
struct source_line {
  std::string file, function;
  int line = 0, column = 0;
};
source_line locate(std::uintptr_t instruction);
/// Where the compiler gave it no line, as clang++ does to some of the calls that it inserts: that of what follows.
source_line locate_next(std::uintptr_t instruction);

/// Why a launch failed. The launch's error code is cudaErrorLaunchFailure, or cudaErrorIllegalAddress for
/// out_of_bounds and cudaErrorMisalignedAddress for misaligned, and this tells the rest.
struct fault_report {
  fault what = fault::none;
  std::string kernel;
  std::uint64_t block = 0;    ///< linear index in the grid
  std::uint32_t thread = 0;   ///< linear index in the block
  std::uintptr_t address = 0; ///< where the access went, if there is one
  source_line where;
  std::string text;  ///< all of it in one line, for people
};

/// The last launch of this host thread that failed; what == fault::none if none did.
fault_report last_fault();
void clear_fault();

/// What a launch did, counted on every run.
struct launch_stats {
  std::string kernel;
  std::uint64_t blocks = 0, threads = 0;
  std::uint64_t barriers = 0;      ///< block-wide barriers completed
  std::uint64_t warp_syncs = 0;    ///< __syncwarp and the like, a warp counting once
  std::uint64_t shuffles = 0;      ///< shuffles, a warp counting once
  std::uint64_t collectives = 0;   ///< votes, matches and warp reductions, a warp counting once
  std::uint64_t atomics = 0;       ///< atomic operations, a thread counting once
  std::uint64_t grid_syncs = 0, cluster_syncs = 0;
  std::uint64_t shared_bytes = 0;  ///< dynamic shared memory of a block
};

/// All launches since the program began: their blocks, and how many of them have begun. Any thread may ask.
struct launch_progress {
  std::uint64_t begun = 0, blocks = 0;
};
launch_progress progress_of_launches();

/// Totals over this host thread's launches since the last reset; `kernel` is the last one's.
launch_stats stats();
void reset_stats();

// ---------------------------------------------------------------------------------------------------
// Watching a launch. With an observer set, blocks run on one OS thread at a time, so calls never overlap.

enum class access_kind : std::uint8_t { read, write, atomic_load, atomic_store, atomic_update };
/// What an atomic update does, where one of CUDA's functions tells. A `count` wraps at its operand.
enum class update_kind : std::uint8_t { unknown, add, sub, min, max, exchange, count, bit_and, bit_or, bit_xor };
enum class memory_order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };
enum class scope : std::uint8_t { block, device, system };

struct memory_access {
  std::uintptr_t address;
  std::uint32_t size;     ///< bytes
  access_kind kind;
  bool is_volatile;
  memory_order order;     ///< for atomics
  std::uintptr_t site;    ///< an instruction of the source line that made it
  scope reach = scope::device;  ///< for atomics: whom they are atomic to
  std::uint8_t operations = 0;  ///< floating-point ones that an update makes: 1 where it adds floats
  update_kind update = update_kind::unknown;
  std::uint64_t operand = 0;  ///< its bits, where the update is known
};

/// Floating-point operations in one call of a function that the runtime has in place of a GPU's
/// instruction (f16, bf16, fma), by its address: 2 of a fused multiply-add, 0 of any other function.
unsigned operations_of_call(std::uintptr_t function);

/// What threads wait for together.
enum class meeting : std::uint8_t {
  block_barrier, grid_barrier, cluster_barrier, warp_sync, shuffle, vote, match, warp_reduction,
};

/// A thread comes to a meeting; it may be the last, or have to wait.
struct arrival {
  meeting at;
  std::uint32_t mask;    ///< which lanes, where a warp meets
  std::uint32_t source;  ///< the lane that a shuffle reads
  std::uintptr_t site;   ///< an instruction of the source line that came
  std::uint64_t value = 0;  ///< what a lane gives to a collective of its warp, by bits
};

struct launch_info {
  std::string kernel;
  std::uint32_t grid[3], block[3], cluster[3];
  std::uint64_t shared_bytes;
};

/// `block` and `thread` are linear indexes; a warp is thread / 32. Accesses come before they happen,
/// synchronisation when it is complete.
class observer {
 public:
  virtual ~observer() = default;
  virtual void launch_begin(const launch_info&) {}
  virtual void launch_end() {}
  virtual void block_begin(std::uint64_t /*block*/) {}
  virtual void block_end(std::uint64_t /*block*/) {}
  virtual void thread_end(std::uint64_t /*block*/, std::uint32_t /*thread*/) {}
  /// All threads of the block (those that have not ended) met.
  virtual void block_barrier(std::uint64_t /*block*/) {}
  /// The lanes of `mask` met, in __syncwarp or in any shuffle, vote, match or reduce.
  virtual void warp_sync(std::uint64_t /*block*/, std::uint32_t /*warp*/, std::uint32_t /*mask*/) {}
  /// What a reduction (`__reduce_*_sync`) gives to all lanes of `mask`, by bits; it follows their arrivals and its warp_sync().
  virtual void reduced(std::uint64_t /*block*/, std::uint32_t /*warp*/, std::uint32_t /*mask*/, update_kind,
                       std::uint64_t /*result*/) {}
  /// All threads of the `count` blocks from `first` on met (a cluster, or the whole grid).
  virtual void blocks_barrier(std::uint64_t /*first*/, std::uint64_t /*count*/) {}
  virtual void fence(std::uint64_t /*block*/, std::uint32_t /*thread*/, scope) {}
  /// Before the thread waits; block_barrier() and its like follow when all have come.
  virtual void arrive(std::uint64_t /*block*/, std::uint32_t /*thread*/, const arrival&) {}
  virtual void access(std::uint64_t /*block*/, std::uint32_t /*thread*/, const memory_access&) {}
  /// A function was called, from the instruction before `site`, or left. Only those that access memory or
  /// call others are told; what was inlined is no call.
  virtual void call(std::uint64_t /*block*/, std::uint32_t /*thread*/, std::uintptr_t /*site*/) {}
  virtual void leave(std::uint64_t /*block*/, std::uint32_t /*thread*/) {}
  /// A basic block was entered (instrumented kernels only).
  virtual void basic_block(std::uint64_t /*block*/, std::uint32_t /*thread*/, std::uintptr_t /*site*/) {}
};

/// For an observer that can take no more, in any call that tells it what a thread does: the launch fails
/// with fault::too_long and this text, where the block enters its next basic block or ends.
void give_up(std::string why);

// ---------------------------------------------------------------------------------------------------
// Where an address lies, for observers and for the bounds check.

enum class space : std::uint8_t { unknown, global, shared, local, constant };

struct region {
  space where = space::unknown;
  std::uintptr_t begin = 0, end = 0;  ///< the allocation's or the shared variable's
  std::uint64_t block = 0;            ///< the shared memory's owner
};

/// For the calling simt thread, or for the host outside a launch.
region find_region(std::uintptr_t address);

}  // namespace simt
