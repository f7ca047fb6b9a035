// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "flow_graph.hpp"
#include "names.hpp"
#include "replay.hpp"

namespace lens {
namespace {

using row_kind = value_row::kind;

/// Follows values through one block, a warp after the other. Rows of different warps are the same row if as
/// many barriers and as many rows of the warp come before it.
class value_flow {
 public:
  /// `words`: the addresses of shared memory that the block uses, in order.
  value_flow(block_trace& to, const std::vector<std::uintptr_t>& sites, const std::vector<std::uint64_t>& words)
      : trace_(to), sites_(sites), words_(words) {}

  void begin(std::uint32_t warp) {
    warp_ = warp;
    epoch_ = row_ = 0;
    pending_.assign(32, {});
    held_.assign(32, false);
    trace_.warps.emplace_back();
  }

  void entered(std::uint32_t, std::uint32_t) {}
  void diverged(std::uint32_t, std::uint32_t, unsigned) {}

  void arrived(const simt::event& e, const request& r) {
    const auto at = static_cast<simt::meeting>(e.size);
    using moment = warp_moment::kind;
    const bool barrier = at <= simt::meeting::cluster_barrier;
    note(barrier                            ? moment::barrier
         : at == simt::meeting::shuffle     ? moment::shuffle
         : at == simt::meeting::warp_sync   ? moment::warp_sync
                                            : moment::other,
         e, r.mask);
    if (barrier) {
      ++epoch_;
      row_ = 0;
    }
    if (at != simt::meeting::shuffle) return;
    read_pending();
    value_row& row = next_row(row_kind::shuffle, e);
    each(r.mask, [&](unsigned l) {
      const auto source = static_cast<unsigned>(r.address[l]);
      if (source == l || source > 31) return;
      row.steps.push_back({thread(l), of_thread(l), {of_thread(l), of_thread(source)}, false});
    });
  }

  void accessed(const simt::event& e, const request& r) {
    using kind = simt::event_kind;
    using moment = warp_moment::kind;
    const bool shared = e.region() == simt::space::shared, update = e.what() == kind::atomic_update;
    note(update ? moment::atomic : shared ? moment::shared : moment::global, e, r.mask);
    const bool load = e.what() == kind::read || e.what() == kind::atomic_load;
    if (shared && load) {
      read_at_ = place(e);
      each(r.mask, [&](unsigned l) { pending_[l].push_back(word_at(r.address[l])); });
    } else if (shared) {
      value_row& row = next_row(row_kind::store, e);
      each(r.mask, [&](unsigned l) {
        const holder to = word_at(r.address[l]);
        if (update) pending_[l].insert(pending_[l].begin(), to);
        std::vector<holder> from = sources(l, to);
        if (update && from.back() != of_thread(l)) from.push_back(of_thread(l));
        row.steps.push_back({thread(l), to, std::move(from), false});
      });
    } else if (load) {
      std::uint32_t fresh = 0;
      each(r.mask, [&](unsigned l) {
        if (!held_[l]) fresh |= 1u << l;
        held_[l] = true;
      });
      if (fresh == 0) return;
      value_row& row = next_row(row_kind::load, e);
      each(fresh, [&](unsigned l) { row.steps.push_back({thread(l), of_thread(l), {}, false}); });
    } else {
      value_row& row = next_row(row_kind::result, e);
      each(r.mask, [&](unsigned l) {
        row.steps.push_back({thread(l), of_thread(l), sources(l, of_thread(l)), false});
      });
    }
  }

  /// The rows in order, and which values the result is made of.
  void finish() {
    for (auto& [key, row] : rows_) {
      if (row.steps.empty()) continue;
      std::sort(row.steps.begin(), row.steps.end(),
                [](const value_step& a, const value_step& b) { return a.thread < b.thread; });
      trace_.rows.push_back(std::move(row));
    }
    std::set<holder> wanted;
    for (auto row = trace_.rows.rbegin(); row != trace_.rows.rend(); ++row) {
      std::vector<holder> needed;
      for (value_step& s : row->steps) {
        s.reaches_result = row->what == row_kind::result || wanted.contains(s.to);
        if (s.reaches_result) needed.insert(needed.end(), s.from.begin(), s.from.end());
      }
      for (const value_step& s : row->steps) wanted.erase(s.to);
      wanted.insert(needed.begin(), needed.end());
    }
  }

 private:
  template <class Function>
  static void each(std::uint32_t mask, Function function) {
    for (; mask != 0; mask &= mask - 1) function(static_cast<unsigned>(std::countr_zero(mask)));
  }
  unsigned thread(unsigned lane) const { return warp_ * 32 + lane; }
  holder of_thread(unsigned lane) const { return {false, thread(lane)}; }
  holder word_at(std::uint64_t address) const {
    const auto at = std::upper_bound(words_.begin(), words_.end(), address);
    return {true, static_cast<unsigned>(at - words_.begin()) - 1};
  }

  source_place place(const simt::event& e) const {
    const simt::source_line at = simt::locate(sites_[e.site]);
    return {plain_path(at.file), at.line};
  }

  void note(warp_moment::kind what, const simt::event& e, std::uint32_t mask) {
    trace_.warps.back().push_back({what, mask, place(e)});
  }

  value_row& next_row(row_kind what, const source_place& where) {
    value_row& row = rows_[{epoch_, row_++}];
    if (row.steps.empty()) row = {what, epoch_, where, {}};
    return row;
  }
  value_row& next_row(row_kind what, const simt::event& e) {
    return next_row(what, place(e));
  }

  /// What a thread has read since it last made something, and what it had before.
  std::vector<holder> sources(unsigned lane, holder to) {
    std::vector<holder> from = std::move(pending_[lane]);
    pending_[lane].clear();
    if (std::find(from.begin(), from.end(), to) == from.end() && to != of_thread(lane))
      from.push_back(of_thread(lane));
    if (from.empty()) from.push_back(of_thread(lane));
    // What is added to comes first: in which order a sum's operands are read is the compiler's choice.
    std::stable_partition(from.begin(), from.end(), [&](const holder& h) { return h == to; });
    return from;
  }

  /// Words that lanes read before they shuffle are a row of their own, where the last of them was read.
  void read_pending() {
    if (std::all_of(pending_.begin(), pending_.end(), [](const auto& p) { return p.empty(); })) return;
    value_row& row = next_row(row_kind::read, read_at_);
    for (unsigned l = 0; l < 32; ++l) {
      if (pending_[l].empty()) continue;
      row.steps.push_back({thread(l), of_thread(l), std::move(pending_[l]), false});
      pending_[l].clear();
    }
  }

  block_trace& trace_;
  const std::vector<std::uintptr_t>& sites_;
  const std::vector<std::uint64_t>& words_;
  std::uint32_t warp_ = 0;
  unsigned epoch_ = 0, row_ = 0;
  std::map<std::pair<unsigned, unsigned>, value_row> rows_;
  std::vector<std::vector<holder>> pending_;  // of each lane
  source_place read_at_;                      // of the last of them
  std::vector<bool> held_;                    // a lane has loaded from global memory
};

}  // namespace

struct tracing::state {
  state() : recorder([this](const simt::block_recording& b) { take(b); }) {}

  void take(const simt::block_recording& b) {
    for (const auto& thread : b.threads) {
      std::uint32_t from = flow_graph::exit;
      for (const simt::event& e : thread) {
        if (e.what() != simt::event_kind::basic_block) continue;
        if (from != flow_graph::exit) graph.add_edge(from, e.extra);
        from = e.extra;
      }
      if (from != flow_graph::exit) graph.add_edge(from, flow_graph::exit);
    }
    if (b.block == 0) first = b;
  }

  void finish() {
    block_trace t;
    t.kernel = short_name(info.kernel);
    t.blocks = std::uint64_t{info.grid[0]} * info.grid[1] * info.grid[2];
    t.threads = static_cast<unsigned>(first->threads.size());
    graph.find_meeting_points();
    std::set<std::uint64_t> used;
    for (const auto& thread : first->threads)
      for (const simt::event& e : thread)
        if (e.is_access() && e.region() == simt::space::shared) used.insert(e.address);
    const std::vector<std::uint64_t> words(used.begin(), used.end());
    value_flow flow(t, recorder.sites(), words);
    warp_replay<value_flow> replay(flow);
    for (std::uint32_t w = 0; w < first->warps(); ++w) {
      flow.begin(w);
      replay.run(*first, w, graph);
    }
    flow.finish();
    traces.push_back(std::move(t));
  }

  flow_graph graph;
  std::optional<simt::block_recording> first;
  simt::launch_info info;
  std::vector<block_trace> traces;
  simt::recorder recorder;
};

tracing::tracing() : state_(std::make_unique<state>()) { record_with(state_->recorder); }
tracing::~tracing() = default;

const std::vector<block_trace>& tracing::launches() const { return state_->traces; }

void tracing::launch_begin(const simt::launch_info& info) {
  state_->graph = {};
  state_->first.reset();
  state_->info = info;
  recorded::launch_begin(info);
}
void tracing::launch_end() {
  recorded::launch_end();
  if (state_->first) state_->finish();
}

}  // namespace lens
