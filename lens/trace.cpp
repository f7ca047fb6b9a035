// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "flow_graph.hpp"
#include "names.hpp"
#include "replay.hpp"
#include "value_flow.hpp"

namespace lens {
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
    std::set<std::uint64_t> used, written;
    std::map<std::uint64_t, std::uint32_t> user;  // for a word: the thread, or many
    std::map<std::uint32_t, std::set<std::uint64_t>> words_of_line;
    for (std::uint32_t k = 0; k < t.threads; ++k)
      for (const simt::event& e : first->threads[k]) {
        if (!e.is_access() || e.region() != simt::space::shared) continue;
        used.insert(e.address);
        words_of_line[e.site].insert(e.address);
        if (const auto [at, fresh] = user.try_emplace(e.address, k); !fresh && at->second != k) at->second = many;
        if (e.what() != simt::event_kind::read && e.what() != simt::event_kind::atomic_load) written.insert(e.address);
      }
    evidence seen(types);
    const std::vector<std::uint64_t> words(used.begin(), used.end());
    look(t, seen, words, written, true, nullptr);
    block_trace plain = look(t, seen, words, written, false, nullptr);
    if (log.has_reductions()) {
      std::set<std::uint64_t> own(used);
      for (const auto& [line, all] : words_of_line)
        if (std::any_of(all.begin(), all.end(), [&](std::uint64_t w) { return user[w] == many; }))
          for (const std::uint64_t w : all) own.erase(w);
      for (const std::uint64_t w : own) used.erase(w);
      if (auto followed = follow(t, seen, {used.begin(), used.end()}, written, own)) {
        traces.push_back(std::move(*followed));
        return;
      }
    }
    traces.push_back(std::move(plain));
  }

  block_trace look(const block_trace& t, evidence& seen, const std::vector<std::uint64_t>& words,
                   const std::set<std::uint64_t>& written, bool is_learning, reductions_followed* reductions) {
    block_trace draft = t;
    value_flow flow(draft, recorder.sites(), words, written, log, seen, is_learning, reductions);
    warp_replay<value_flow> replay(flow);
    for (std::uint32_t w = 0; w < first->warps(); ++w) {
      flow.begin(w);
      replay.run(*first, w, graph);
      flow.end();
    }
    flow.finish();
    if (is_learning) seen.decide();
    return draft;
  }

  /// Warps are looked at one after the other, so each look follows a number one reduction further. Nothing if none was
  /// followed, or what the block leaves is not seen to come of it.
  std::optional<block_trace> follow(const block_trace& t, evidence& seen, const std::vector<std::uint64_t>& words,
                                    const std::set<std::uint64_t>& written, const std::set<std::uint64_t>& own) {
    reductions_seen before;
    for (int k = 0; k < most_looks; ++k) {
      reductions_followed reductions{before, own, {}};
      block_trace draft = look(t, seen, words, written, false, &reductions);
      if (reductions.now == before) return reductions.is_any_drawn && reductions.reaches_result ? std::optional(std::move(draft)) : std::nullopt;
      before = std::move(reductions.now);
    }
    return {};
  }

  static constexpr std::uint32_t many = ~0u;
  static constexpr int most_looks = 8;
  flow_graph graph;
  std::optional<simt::block_recording> first;
  simt::launch_info info;
  std::optional<number_types> types;
  value_log log;
  std::vector<block_trace> traces;
  simt::recorder recorder;
};

tracing::tracing(std::optional<number_types> types) : state_(std::make_unique<state>()) {
  state_->types = types;
  record_with(state_->recorder);
}
tracing::~tracing() = default;

const std::vector<block_trace>& tracing::launches() const { return state_->traces; }

void tracing::launch_begin(const simt::launch_info& info) {
  state_->graph = {};
  state_->first.reset();
  state_->info = info;
  state_->log.begin(std::size_t{info.block[0]} * info.block[1] * info.block[2]);
  recorded::launch_begin(info);
}
void tracing::access(std::uint64_t block, std::uint32_t thread, const simt::memory_access& a) {
  if (block == 0) state_->log.access(thread, a);
  else state_->log.settle();
  recorded::access(block, thread, a);
}
void tracing::arrive(std::uint64_t block, std::uint32_t thread, const simt::arrival& a) {
  if (block == 0) state_->log.arrive(thread, a);
  else state_->log.settle();
  recorded::arrive(block, thread, a);
}
void tracing::reduced(std::uint64_t block, std::uint32_t warp, std::uint32_t mask, simt::update_kind what, std::uint64_t result) {
  if (block == 0) state_->log.reduced(warp, mask, what, result);
}
void tracing::basic_block(std::uint64_t block, std::uint32_t thread, std::uintptr_t site) {
  state_->log.settle();
  recorded::basic_block(block, thread, site);
}
void tracing::thread_end(std::uint64_t block, std::uint32_t thread) {
  state_->log.settle();
  recorded::thread_end(block, thread);
}
void tracing::launch_end() {
  recorded::launch_end();
  if (state_->first) state_->finish();
}

}  // namespace lens
