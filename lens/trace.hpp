// SPDX-License-Identifier: Apache-2.0
/// \file trace.hpp
/// One block's run in full, for drawings: which thread adds what to what, and which lanes are active
/// when. Meant for small launches: everything is kept until the launch ends.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "counting.hpp"
#include "evidence.hpp"

namespace lens {

/// Where a value lies: a thread's registers, or shared memory; there the index counts the places that the
/// block uses, in the order of their addresses.
struct holder {
  bool in_shared = false;
  unsigned index = 0;
  auto operator<=>(const holder&) const = default;
};

/// A thread makes a value out of others: `to` of `from`, which are as they were before the row. Which thread it is,
/// is half of what a drawing teaches.
struct value_step {
  unsigned thread = 0;
  holder to;
  std::vector<holder> from;     ///< none: zero, or what is loaded
  double loaded = 0;            ///< for a load: what the elements come to, which goes to what `from` holds
  std::uint64_t address = 0;    ///< for a result, in global memory
  bool is_seen = false;         ///< the values that went there and back are what this makes of them
  bool reaches_result = false;  ///< it, or what was made of it, left for global memory at the end
  bool is_reduced = false;      ///< for a load: its thread then gave to a reduction of its warp, which is not followed
  unsigned elements = 0;        ///< for a load: how many there are
  unsigned neighbours = 0;      ///< the first so many of them, each of which begins where the one before ends
};

/// What the threads of the block did together, between two barriers.
struct value_row {
  enum class kind : std::uint8_t { load, store, read, shuffle, reduce, result };  ///< reduce: the lanes of a warp, together
  kind what = kind::load;
  unsigned epoch = 0;  ///< barriers before it
  source_place where;
  combination how = combination::add;
  bool is_atomic = false;  ///< then its steps follow each other
  std::vector<value_step> steps;
};

/// One instruction of a warp that the lens sees.
struct warp_moment {
  enum class kind : std::uint8_t { global, shared, atomic, barrier, warp_sync, shuffle, other };
  kind what = kind::other;
  std::uint32_t mask = 0;
  source_place where;
};

struct block_trace {
  std::string kernel;
  std::uint64_t blocks = 0;
  unsigned threads = 0;
  std::vector<value_row> rows;
  std::size_t rows_left_out = 0;  ///< by who keeps the trace, where there were too many to draw
  std::vector<std::vector<warp_moment>> warps;
};

/// The first block of each launch.
class tracing : public recorded {
 public:
  /// `types`: where they are known; else the values tell.
  explicit tracing(std::optional<number_types> types = {});
  ~tracing() override;
  tracing(const tracing&) = delete;
  tracing& operator=(const tracing&) = delete;

  const std::vector<block_trace>& launches() const;

  void launch_begin(const simt::launch_info&) override;
  void launch_end() override;
  void access(std::uint64_t block, std::uint32_t thread, const simt::memory_access&) override;
  void arrive(std::uint64_t block, std::uint32_t thread, const simt::arrival&) override;
  void reduced(std::uint64_t block, std::uint32_t warp, std::uint32_t mask, simt::update_kind, std::uint64_t result) override;
  void basic_block(std::uint64_t block, std::uint32_t thread, std::uintptr_t site) override;
  void thread_end(std::uint64_t block, std::uint32_t thread) override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace lens
