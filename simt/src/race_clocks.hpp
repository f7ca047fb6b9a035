// SPDX-License-Identifier: Apache-2.0
// What each thread knows of the others' past: the happens-before order of a launch.
//
// An observed launch is serial, so one counter stamps all events, and "t knows u's past up to stamp s"
// is a single number. A barrier then costs one number a block, not a vector clock a thread. What
// crosses blocks (or warps, without a barrier) through atomics is kept in a log for each
// location: who released, and what the releaser knew. An acquire remembers (log, stamp); its content is
// looked up only when the cheap comparisons fail.
#pragma once

#include <simt/machine.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simt::detail {

using stamp = std::uint32_t;
inline constexpr std::uint32_t warp_lanes = 32;

class sync_log;

/// What was released to a location up to a stamp, and so known to whoever acquired it then.
struct log_view {
  const sync_log* log;
  stamp until;
  bool block_only;  ///< acquired by a fence of block scope: counts only for threads of its own block
};
using views = std::shared_ptr<const std::vector<log_view>>;
views join(const views&, const views&);

using lane_stamps = std::array<stamp, warp_lanes>;

/// What the releaser knew when it released (or at its fence before).
struct snapshot {
  std::uint32_t block = 0, thread = 0;
  stamp own = 0;      ///< the thread itself, up to here
  stamp barrier = 0;  ///< all threads of its block
  stamp warp = 0;     ///< all lanes of its warp
  std::uint32_t cluster_first = 0, cluster_count = 0;
  stamp cluster = 0;
  bool block_scope = false;
  std::vector<std::pair<std::uint32_t, lane_stamps>> rows;  ///< (warp, its lanes), where the above is less
  views others;

  bool covers(std::uint32_t other_block, std::uint32_t other_thread, stamp when) const;
  /// All threads of the block, as far as they are known together.
  bool covers_block(std::uint32_t other_block, stamp when) const;
};
using snapshot_ptr = std::shared_ptr<const snapshot>;

class sync_log {
 public:
  stamp created = 0;
  void append(stamp when, snapshot_ptr);
  bool empty() const { return entries_.empty(); }

 private:
  friend class clocks;
  struct entry {
    stamp when;
    snapshot_ptr what;
  };
  std::vector<entry> entries_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> by_block_;
  std::vector<std::uint32_t> inheriting_;  ///< entries whose releaser had acquired other logs
};

struct thread_clock {
  views known;         ///< acquired
  views pending;       ///< read by relaxed atomics, acquired at the next fence
  snapshot_ptr fence;  ///< released by the next atomic store
  snapshot_ptr block_fence;
  bool touched = false;
};

struct block_clock {
  std::uint32_t index = 0;
  stamp begin = 0, barrier = 0, cluster = 0;
  std::uint32_t cluster_first = 0, cluster_count = 0;
  std::array<stamp, warp_lanes> warps{};  ///< a sync of all lanes of the warp
  std::array<std::unique_ptr<std::array<lane_stamps, warp_lanes>>, warp_lanes> lanes{};  ///< partial syncs
  std::vector<thread_clock> threads;
  std::vector<std::uint32_t> touched;
  views known;         ///< by all threads of the block
  snapshot_ptr fence;  ///< what its threads had done before the last barrier: any of them releases it
};

class clocks {
 public:
  void begin_launch(const launch_info&);
  block_clock& begin_block(std::uint64_t block);
  void end_block(std::uint64_t block);
  block_clock& at(std::uint64_t block) {
    if (last_ == nullptr || last_->index != block) last_ = &find(block);
    return *last_;
  }

  void block_barrier(block_clock&);
  void blocks_barrier(std::uint64_t first, std::uint64_t count);
  void warp_sync(block_clock&, std::uint32_t warp, std::uint32_t mask);
  void fence(block_clock&, std::uint32_t thread, scope);
  /// Before an atomic access to the location: what it releases, then what it acquires. `within_block`: only threads of the
  /// block can reach the location.
  void atomic(block_clock&, std::uint32_t thread, const memory_access&, stamp floor, bool within_block);
  /// A plain write ends what the location released.
  void forget(std::uintptr_t address) { logs_.erase(address); }

  /// Whether the thread knows the other thread's past up to `when`.
  bool knows(const block_clock& b, std::uint32_t thread, std::uint32_t other_block,
             std::uint32_t other_thread, stamp when) const {
    if (when <= all_) return true;
    if (other_block == b.index) {
      if (other_thread == thread || when <= b.barrier) return true;
      const std::uint32_t warp = thread / warp_lanes;
      if (other_thread / warp_lanes == warp) {
        if (when <= b.warps[warp]) return true;
        if (b.lanes[warp] && when <= (*b.lanes[warp])[thread % warp_lanes][other_thread % warp_lanes])
          return true;
      }
    } else if (other_block - b.cluster_first < b.cluster_count && when <= b.cluster) {
      return true;
    }
    return acquired(b, thread, other_block, other_thread, when, false);
  }
  bool knows_block(const block_clock& b, std::uint32_t thread, std::uint32_t other_block,
                   stamp when) const;

  /// Whether the thread has acquired what came to this location by atomics up to `when`. The atomics
  /// themselves are then past, too, by the coherence of one location: so a last block may reset its ticket.
  bool observed(const block_clock& b, std::uint32_t thread, std::uintptr_t address, stamp when) const;

  stamp now() const { return now_; }
  stamp launch_floor() const { return floor_; }
  bool clusters() const { return cluster_blocks_ > 1; }
  stamp all() const { return all_; }  ///< the last barrier of the grid, or the launch's begin

 private:
  block_clock& find(std::uint64_t block);
  thread_clock& touch(block_clock&, std::uint32_t thread);
  bool acquired(const block_clock&, std::uint32_t thread, std::uint32_t other_block,
                std::uint32_t other_thread, stamp when, bool whole_block) const;
  snapshot_ptr take(const block_clock&, std::uint32_t thread, bool block_scope) const;
  void pool_fences(block_clock&);
  views gather(block_clock&);

  stamp now_ = 1, floor_ = 0, all_ = 0;
  std::uint64_t grid_blocks_ = 0;
  std::uint32_t block_threads_ = 0, cluster_blocks_ = 1;
  std::unordered_map<std::uint64_t, std::unique_ptr<block_clock>> blocks_;
  std::vector<std::unique_ptr<block_clock>> pool_;
  block_clock* last_ = nullptr;
  std::unordered_map<std::uintptr_t, sync_log*> logs_;  ///< the living log of a location
  std::vector<std::unique_ptr<sync_log>> all_logs_;     ///< views point here until the launch ends
};

}  // namespace simt::detail
