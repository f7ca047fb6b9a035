// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

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
    for (const auto& thread : first->threads)
      for (const simt::event& e : thread) {
        if (!e.is_access() || e.region() != simt::space::shared) continue;
        used.insert(e.address);
        if (e.what() != simt::event_kind::read && e.what() != simt::event_kind::atomic_load) written.insert(e.address);
      }
    const std::vector<std::uint64_t> words(used.begin(), used.end());
    evidence seen(types);
    for (const bool is_learning : {true, false}) {
      block_trace draft = t;
      value_flow flow(draft, recorder.sites(), words, written, log, seen, is_learning);
      warp_replay<value_flow> replay(flow);
      for (std::uint32_t w = 0; w < first->warps(); ++w) {
        flow.begin(w);
        replay.run(*first, w, graph);
        flow.end();
      }
      flow.finish();
      seen.decide();
      if (!is_learning) traces.push_back(std::move(draft));
    }
  }

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
