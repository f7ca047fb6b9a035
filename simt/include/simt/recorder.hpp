// SPDX-License-Identifier: Apache-2.0
/// \file recorder.hpp
/// Writes down what each lane of a block did, in its program order, for analyses that want all of a
/// block at once: requests, wavefronts and sectors of a warp, divergence, drawings.
#pragma once

#include <simt/machine.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace simt {

/// The first five are access_kind's.
enum class event_kind : std::uint8_t {
  read,
  write,
  atomic_load,
  atomic_store,
  atomic_update,
  basic_block,     ///< one was entered; extra: a number of this block within this chain of calls, from 1
  block_barrier,
  warp_sync,       ///< extra: the mask
  blocks_barrier,  ///< extra: the number of blocks
  fence,           ///< extra: the scope
  end,             ///< the thread's
  arrival,         ///< size: which meeting; extra: the mask; address: the lane that a shuffle reads
};

struct event {
  std::uint64_t address : 48;  ///< for accesses
  std::uint64_t size : 8;      ///< bytes
  std::uint64_t kind : 4;      ///< event_kind
  std::uint64_t where : 3;     ///< space, of accesses
  std::uint64_t is_volatile : 1;
  std::uint32_t site;          ///< index in recorder::sites(); 0: none
  std::uint32_t extra;         ///< by kind; of atomics memory_order, and memory_access::operations times 256

  event_kind what() const { return static_cast<event_kind>(kind); }
  space region() const { return static_cast<space>(where); }
  bool is_access() const { return what() <= event_kind::atomic_update; }
};
static_assert(sizeof(event) == 16);

/// A block's life. Lanes keep their own order; how they stood to one another is told by the barriers and
/// warp_sync events, each of which is in the list of every lane that took part.
struct block_recording {
  const launch_info* launch = nullptr;
  std::uint64_t block = 0;
  std::vector<std::vector<event>> threads;
  std::vector<std::uint32_t> chains;  ///< the calls that each thread is in: the recorder's own numbers

  std::uint32_t warps() const { return static_cast<std::uint32_t>((threads.size() + 31) / 32); }
  /// Empty for the lanes that the last warp lacks.
  std::span<const event> lane(std::uint32_t warp, std::uint32_t lane) const {
    const std::size_t i = std::size_t{warp} * 32 + lane;
    return i < threads.size() ? std::span<const event>(threads[i]) : std::span<const event>();
  }
};

/// Hands each block over when it ends, and keeps nothing: about 16 bytes an event, for blocks that run. A
/// launch whose running blocks make more than `most_events` between them fails with fault::too_long; 2^27 are 2 GiB, or
/// 131,072 events of each thread of a block of 1024.
class recorder : public observer {
 public:
  using sink = std::function<void(const block_recording&)>;
  explicit recorder(sink to, bool basic_blocks = true, std::uint64_t most_events = std::uint64_t{1} << 27);

  /// Instruction addresses (for locate()); an event's site is an index. Number 0 is no site.
  const std::vector<std::uintptr_t>& sites() const { return sites_; }

  void launch_begin(const launch_info&) override;
  void launch_end() override;
  void block_begin(std::uint64_t block) override;
  void block_end(std::uint64_t block) override;
  void thread_end(std::uint64_t block, std::uint32_t thread) override;
  void block_barrier(std::uint64_t block) override;
  void warp_sync(std::uint64_t block, std::uint32_t warp, std::uint32_t mask) override;
  void blocks_barrier(std::uint64_t first, std::uint64_t count) override;
  void fence(std::uint64_t block, std::uint32_t thread, scope) override;
  void arrive(std::uint64_t block, std::uint32_t thread, const arrival&) override;
  void access(std::uint64_t block, std::uint32_t thread, const memory_access&) override;
  void call(std::uint64_t block, std::uint32_t thread, std::uintptr_t site) override;
  void leave(std::uint64_t block, std::uint32_t thread) override;
  void basic_block(std::uint64_t block, std::uint32_t thread, std::uintptr_t site) override;

 private:
  block_recording& at(std::uint64_t block);
  std::uint32_t node_index(std::uint32_t chain, std::uint32_t site);
  std::uint32_t site_index(std::uintptr_t site);
  space space_of(std::uintptr_t address);
  void append(std::vector<event>& thread, const event&);
  void append_to_all(block_recording&, const event&);
  void overflow();

  sink to_;
  bool basic_blocks_, full_ = false;
  std::uint64_t most_events_, held_ = 0;
  launch_info launch_;
  std::vector<std::uintptr_t> sites_;
  std::unordered_map<std::uintptr_t, std::uint32_t> numbers_;
  std::array<std::pair<std::uintptr_t, std::uint32_t>, 256> recent_sites_{};
  // Chains of calls, 0 being the kernel itself: of each its caller's; by caller and place their numbers.
  std::vector<std::uint32_t> callers_{0};
  std::unordered_map<std::uint64_t, std::uint32_t> chain_numbers_, node_numbers_;
  std::array<std::pair<std::uint64_t, std::uint32_t>, 256> recent_nodes_{};
  struct page {
    std::uintptr_t number = 0;
    std::uint64_t generation = 0;
    space where = space::unknown;
  };
  std::array<page, 64> recent_pages_{};
  std::uint64_t generation_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<block_recording>> running_;
  std::vector<std::unique_ptr<block_recording>> spare_;
  block_recording* last_ = nullptr;
};

}  // namespace simt
