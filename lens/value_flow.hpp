// SPDX-License-Identifier: Apache-2.0
/// \file value_flow.hpp
/// Follows values through one block: who makes which out of which. Addresses tell what a thread has read, and the
/// values themselves what it made of that: a lane that reads its neighbour and goes on with what it had has added
/// nothing.
#pragma once

#include <bit>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <simt/machine.hpp>
#include <simt/recorder.hpp>

#include "evidence.hpp"
#include "trace.hpp"

namespace lens {

combination operation_of(simt::update_kind);

/// What each thread of a block has loaded, stored and sent, an entry for each access and each arrival, in its order.
class value_log {
 public:
  struct entry {
    seen_value value;
    simt::update_kind update = simt::update_kind::unknown;  ///< for reductions of a warp, too
    std::uint64_t result = 0;                               ///< for those
  };
  void begin(std::size_t threads);
  void access(std::uint32_t thread, const simt::memory_access&);
  void arrive(std::uint32_t thread, const simt::arrival&);
  /// All lanes of the mask have arrived, each last of all.
  void reduced(std::uint32_t warp, std::uint32_t mask, simt::update_kind, std::uint64_t result);
  /// What was stored last is there: to be called when anything else happens.
  void settle();
  const std::vector<std::vector<entry>>& threads() const { return threads_; }
  bool has_reductions() const { return has_reductions_; }

 private:
  struct store {
    std::uint32_t thread;
    std::size_t at;
    std::uintptr_t address;
    std::uint32_t size;
  };
  std::vector<std::vector<entry>> threads_;
  std::vector<store> stores_;  // reported, and not yet done
  bool has_reductions_ = false;
};

/// What one look at a block tells the next of reductions of its warps. A number that goes through shared memory may lie
/// there in several words, which a drawing shows as one place: the first.
struct reductions_seen {
  std::map<std::uint64_t, std::uint64_t> first_word;                         ///< for the other words of a number
  std::map<std::uint64_t, std::map<unsigned, std::optional<whole>>> numbers;  ///< what lies there, by the barriers before
  bool operator==(const reductions_seen&) const = default;
};

/// How reductions of warps are followed: by what the last look has seen, which is empty at first.
struct reductions_followed {
  const reductions_seen& before;
  /// Words that one thread alone uses, as it does its registers, and all words of whose lines are such.
  const std::set<std::uint64_t>& own;
  reductions_seen now;
  bool is_any_drawn = false;
  bool reaches_result = false;  ///< something that the block leaves was seen to be made of what it has by then
};

/// A visitor of warp_replay, a warp after the other. Rows of different warps are one row if they are of one line and
/// kind, and as many barriers come before them.
class value_flow {
 public:
  /// `words`: the addresses of shared memory that the block uses, in order; `written`: those that it writes.
  /// `reductions`: none where they are not followed.
  value_flow(block_trace& to, const std::vector<std::uintptr_t>& sites, const std::vector<std::uint64_t>& words,
             const std::set<std::uint64_t>& written, const value_log& log, evidence& seen, bool is_learning,
             reductions_followed* reductions = nullptr)
      : trace_(to), sites_(sites), words_(words), written_(written), log_(log), seen_(seen), is_learning_(is_learning),
        reductions_(reductions) {}

  void begin(std::uint32_t warp);
  void entered(std::uint32_t, std::uint32_t) {}
  void diverged(std::uint32_t, std::uint32_t, unsigned) {}
  void arrived(const simt::event&, const request&);
  void accessed(const simt::event&, const request&);
  /// The end of the warp.
  void end();
  /// The rows in order, and which values the result is made of.
  void finish();

 private:
  using rows = std::list<value_row>;
  struct operand {
    holder from;
    seen_value value;
  };
  /// What a lane holds, and what it has come to know since.
  struct lane_state {
    bool is_live = false;
    holder home;  // where a drawing has what it holds: its registers, or shared memory where it has left it too
    seen_value held;
    std::optional<whole> number;  // what the drawing makes of its home
    bool is_total = false;        // that is a number in digits, which a reduction gave
    bool has_stored = false, is_stored_newer = false;
    operand stored;  // what it wrote to shared memory last
    std::vector<operand_value> loads;
    std::uint64_t loaded_to = 0;  // where the last of them ends
    unsigned neighbours = 0;      // the first so many of them, each of which begins where the one before ends
    rows::iterator load_row;
    std::vector<operand> reads;
    bool has_shuffled = false, is_given = false;  // the other lane had something
    bool is_own = false;                          // the lane has read itself, as those do whose source lies outside
    operand shuffled;
    rows::iterator shuffle_row;
  };
  /// What a value may be made of.
  struct guess {
    bool held = false, stored = false, shuffled = false, loads = false;
    bool are_sums = false;  // what was loaded
    int first_read = 0, reads = 0;
    bool uses_register() const { return held || stored || shuffled || loads; }
  };
  /// A reduction that adds digits, perhaps, and a store that perhaps is of its result.
  struct pending_digit {
    std::uint32_t mask;
    digit given;  // all 32 lanes'
    std::uint64_t result;
    rows::iterator row;
  };
  struct pending_store {
    unsigned lane;
    std::uint64_t address;
    value_log::entry what;
    rows::iterator row;
  };
  struct made {
    std::vector<holder> from;
    bool is_seen = false, of_reads = false;
  };

  template <class Function>
  static void each(std::uint32_t mask, Function function) {
    for (; mask != 0; mask &= mask - 1) function(static_cast<unsigned>(std::countr_zero(mask)));
  }
  unsigned thread(unsigned lane) const { return warp_ * 32 + lane; }
  holder of_thread(unsigned lane) const { return {false, thread(lane)}; }
  holder word_at(std::uint64_t address) const;
  source_place place(const simt::event&) const;
  void note(warp_moment::kind, const simt::event&, std::uint32_t mask);
  rows::iterator next_row(value_row::kind, const source_place&);
  const value_log::entry& next_entry(unsigned lane);

  std::vector<guess> guesses(const lane_state&) const;
  bool loads_sums(const lane_state&) const;
  std::vector<operand_value> operands(const lane_state&, const guess&) const;
  const source_place& place_of(const lane_state&, const guess&, const source_place& here) const;
  void learn(const lane_state&, const seen_value&, const source_place& here);
  std::optional<guess> explained(const lane_state&, const seen_value&, const source_place& here) const;
  made make(unsigned lane, const seen_value&, holder to, const source_place& here, bool into_register);
  void keep_shuffle(unsigned lane, const guess&, bool is_seen = false);
  void keep_loads(unsigned lane, const guess&);
  void shuffled(const simt::event&, const request&);
  void read(const simt::event&, const request&);
  void loaded(const simt::event&, const request&);
  void stored(const simt::event&, const request&);
  void left(const simt::event&, const request&);
  void store(unsigned lane, std::uint64_t address, const value_log::entry&, rows::iterator, bool is_update);

  // Reductions of warps: value_flow_digits.cpp.
  void reduced(const simt::event&, const request&);
  bool reduced_as_they_are(const request&, const std::array<value_log::entry, 32>&, const source_place& here);
  void settle_digits();
  bool add_digits();
  bool add_digits_of(const std::vector<whole>& numbers, const std::vector<holder>& from, bool are_read);
  std::optional<whole> number_at(holder) const;
  std::optional<std::vector<whole>> numbers_read(std::uint32_t mask, std::vector<holder>& from) const;
  std::optional<std::vector<whole>> numbers_held(std::uint32_t mask, std::vector<holder>& from) const;
  void keep_total(std::uint32_t mask, rows::iterator, const std::vector<holder>& from, const std::optional<whole>& total, const seen_value&);
  void place_total(unsigned lane, const whole& total, const std::vector<std::pair<whole, int>>& parts);
  bool is_own(std::uint64_t address) const { return reductions_ && reductions_->own.contains(address); }
  bool is_digit(unsigned lane, const seen_value&, const source_place& here) const;

  block_trace& trace_;
  const std::vector<std::uintptr_t>& sites_;
  const std::vector<std::uint64_t>& words_;
  const std::set<std::uint64_t>& written_;
  const value_log& log_;
  evidence& seen_;
  bool is_learning_;
  reductions_followed* reductions_;
  std::vector<pending_digit> digits_;
  std::vector<pending_store> stores_;
  std::uint32_t warp_ = 0;
  unsigned epoch_ = 0;
  std::map<unsigned, rows> rows_;
  rows::iterator cursor_;
  std::array<lane_state, 32> lanes_;
  std::vector<std::size_t> entries_;  // how many each lane has gone through
  std::map<unsigned, unsigned> reduced_;  // for a thread that gave to a reduction of its warp: the barriers before the last
  std::set<holder> found_;            // places that another block wrote
  source_place read_at_;              // the place of the last of the lanes' reads
};

}  // namespace lens
