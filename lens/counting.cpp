// SPDX-License-Identifier: Apache-2.0
#include "counting.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "flow_graph.hpp"
#include "names.hpp"
#include "operations.hpp"
#include "replay.hpp"
#include "split.hpp"

namespace lens {
namespace {

/// The lowest and the highest address.
std::pair<std::uint64_t, std::uint64_t> bounds(const request& r) {
  std::pair<std::uint64_t, std::uint64_t> found{~std::uint64_t{0}, 0};
  for (std::uint32_t rest = r.mask; rest != 0; rest &= rest - 1) {
    const std::uint64_t at = r.address[static_cast<unsigned>(std::countr_zero(rest))];
    found = {std::min(found.first, at), std::max(found.second, at)};
  }
  return found;
}

/// Lanes that do not lie as far from the one before as the second does from the first, in banks: none in a column of a
/// padded tile, many in one of a swizzled tile.
unsigned irregular_lanes(const request& r) {
  unsigned count = 0;
  std::uint64_t before = 0, first = 0;
  for (unsigned l = 0, seen = 0; l < 32; ++l) {
    if (!(r.mask >> l & 1u)) continue;
    const std::uint64_t bank = r.address[l] / 4 % 32, step = (bank + 32 - before) % 32;
    if (seen == 1) first = step;
    count += seen > 1 && step != first;
    before = bank;
    ++seen;
  }
  return count;
}

/// The wider of two requests with as many conflicts and lanes tells more: it is a column and not a row; and of about
/// equally wide ones that which differs most from a plain stride. Operands of one warp are loaded in an order that
/// compilers choose: of equally wide ones the lower.
bool tells_more(const request& a, const request& b, bool same_warp) {
  if (same_block(a, a.mask) != a.mask) return false;  // a column of a cluster's blocks, each with banks of its own
  const auto [a_low, a_high] = bounds(a);
  const auto [b_low, b_high] = bounds(b);
  const std::uint64_t wide = a_high - a_low, wide_before = b_high - b_low;
  if (std::bit_width(wide) != std::bit_width(wide_before)) return wide > wide_before;
  if (const unsigned irregular = irregular_lanes(a), before = irregular_lanes(b); irregular != before) return irregular > before;
  return wide != wide_before ? wide > wide_before : same_warp && a_low < b_low;
}

/// One kernel's counters, by site of the recorder.
struct kernel_state {
  kernel_counts known;
  flow_graph graph;
  std::vector<counters> sites;
  std::unordered_map<std::uint64_t, std::uint64_t> updates;  // for each word of global memory
  unsigned worst_conflicts = 0, most_wasted = 0;
  std::uint32_t worst_site = 0, wasteful_site = 0;

  counters& at(std::uint32_t site) {
    if (site >= sites.size()) sites.resize(site + 64);
    return sites[site];
  }
};

/// What a replayed warp does to the counters.
class tally {
 public:
  explicit tally(split_accesses::same_place same) : split_(std::move(same)) {}

  void begin(kernel_state& k, std::uint64_t block, std::uint32_t warp) {
    kernel_ = &k;
    block_ = block;
    warp_ = warp;
  }
  void end() { flush(); }

  void entered(std::uint32_t site, std::uint32_t mask) {
    flush();
    counters& c = kernel_->at(site);
    ++c.blocks;
    c.block_lanes += static_cast<unsigned>(std::popcount(mask));
  }
  void diverged(std::uint32_t site, std::uint32_t, unsigned) {
    flush();
    ++kernel_->at(site).divergent;
  }
  void arrived(const simt::event& e, const request&) {
    flush();
    counters& c = kernel_->at(e.site);
    switch (static_cast<simt::meeting>(e.size)) {
      case simt::meeting::block_barrier: ++c.barriers; break;
      case simt::meeting::grid_barrier:
      case simt::meeting::cluster_barrier: ++c.outer_barriers; break;
      case simt::meeting::warp_sync: ++c.warp_syncs; break;
      case simt::meeting::shuffle: ++c.shuffles; break;
      default: ++c.collectives; break;
    }
  }
  void accessed(const simt::event& e, const request& r) {
    if (!split_.take(e, r)) {
      flush();
      split_.take(e, r);
    }
  }

 private:
  void flush() {
    split_.flush([this](const simt::event& e, const request& r) { add(e, r); });
  }

  void add(const simt::event& e, const request& r) {
    using kind = simt::event_kind;
    counters& c = kernel_->at(e.site);
    const bool load = e.what() == kind::read || e.what() == kind::atomic_load;
    const bool update = e.what() == kind::atomic_update;
    if (update) c.flops += std::uint64_t{r.lanes()} * (e.extra >> 8);
    if (e.region() == simt::space::shared) {
      memory_counts& m = update ? c.shared_atomic : load ? c.shared_load : c.shared_store;
      const shared_cost cost = cost_in_shared(r);
      ask(m, r, update);
      m.wavefronts += cost.wavefronts;
      m.ideal += cost.ideal;
      m.ways = std::max<std::uint64_t>(m.ways, cost.ways());
      keep_worst(e, r, cost);
    } else if (e.region() == simt::space::global) {
      memory_counts& m = update ? c.global_atomic : load ? c.global_load : c.global_store;
      const global_cost cost = cost_in_global(r);
      ask(m, r, update);
      m.sectors += cost.sectors;
      m.useful_bytes += cost.useful_bytes;
      if (!update) keep_wasteful(e, r, cost);
      if (update)
        for (std::uint32_t rest = r.mask; rest != 0; rest &= rest - 1)
          ++kernel_->updates[r.address[static_cast<unsigned>(std::countr_zero(rest))]];
    }
  }

  static void ask(memory_counts& m, const request& r, bool update) {
    ++m.requests;
    m.lanes += r.lanes();
    m.bytes += std::uint64_t{r.lanes()} * r.size;
    if (update) m.turns += multiplicity(r);
  }

  void keep_wasteful(const simt::event& e, const request& r, const global_cost& cost) {
    const unsigned wasted = cost.sectors - (cost.useful_bytes + 31) / 32;
    if (wasted <= kernel_->most_wasted) return;
    kernel_->most_wasted = wasted;
    kernel_->wasteful_site = e.site;
    fill(kernel_->known.worst_global, e, r);
  }
  void fill(sample& s, const simt::event& e, const request& r) const {
    s.what = r;
    s.is_load = e.what() == simt::event_kind::read || e.what() == simt::event_kind::atomic_load;
    s.is_atomic = e.what() >= simt::event_kind::atomic_load;
    s.block = block_;
    s.warp = warp_;
  }

  // The first of the worst, of equal ones that with the most lanes, then what tells_more().
  void keep_worst(const simt::event& e, const request& r, const shared_cost& cost) {
    sample& s = kernel_->known.worst_shared;
    const auto rank = std::pair(cost.conflicts(), r.lanes()), most = std::pair(kernel_->worst_conflicts, s.what.lanes());
    const bool same_warp = s.block == block_ && s.warp == warp_;
    if (rank < most || (rank == most && !tells_more(r, s.what, same_warp))) return;
    kernel_->worst_conflicts = cost.conflicts();
    kernel_->worst_site = e.site;
    fill(s, e, r);
  }

  kernel_state* kernel_ = nullptr;
  std::uint64_t block_ = 0;
  std::uint32_t warp_ = 0;
  split_accesses split_;
};

}  // namespace

struct counting::state {
  state()
      : warps([this](std::uint32_t a, std::uint32_t b) { return same_place(a, b); }),
        replay(warps),
        recorder([this](const simt::block_recording& b) { take(b); }) {}

  kernel_state& kernel_of(const std::string& name) {
    const auto [it, fresh] = numbers.try_emplace(name, all.size());
    if (fresh) {
      all.push_back(std::make_unique<kernel_state>());
      all.back()->known.name = short_name(name);
    }
    return *all[it->second];
  }

  void take(const simt::block_recording& b) {
    kernel_state& k = *running;
    bool new_edge = false;
    for (const auto& thread : b.threads) {
      std::uint32_t from = flow_graph::exit;
      for (const simt::event& e : thread) {
        if (e.what() != simt::event_kind::basic_block) continue;
        if (from != flow_graph::exit) new_edge |= k.graph.add_edge(from, e.extra);
        from = e.extra;
      }
      if (from != flow_graph::exit) new_edge |= k.graph.add_edge(from, flow_graph::exit);
      k.known.events += thread.size();
    }
    if (new_edge) k.graph.find_meeting_points();
    for (std::uint32_t w = 0; w < b.warps(); ++w) {
      warps.begin(k, b.block, w);
      replay.run(b, w, k.graph);
      warps.end();
    }
  }

  const simt::source_line& place(std::uint32_t site) const {
    if (site >= places.size()) places.resize(site + 64);
    if (!places[site]) places[site] = simt::locate(recorder.sites()[site]);
    return *places[site];
  }
  bool same_place(std::uint32_t a, std::uint32_t b) const {
    const simt::source_line &p = place(a), &q = place(b);
    return p.line == q.line && p.column == q.column && p.column != 0 && p.file == q.file;
  }

  std::vector<std::unique_ptr<kernel_state>> all;
  std::unordered_map<std::string, std::size_t> numbers;
  kernel_state* running = nullptr;
  mutable std::vector<std::optional<simt::source_line>> places;
  tally warps;
  warp_replay<tally> replay;
  simt::recorder recorder;
};

namespace {
/// What clang++ calls where shared memory of another file is named; no kernel's author wrote it. Its name is as libc++ or libstdc++ demangles it.
bool is_thread_local_wrapper(const simt::source_line& at) {
  return at.file.empty() && (at.function.starts_with("thread-local wrapper routine for ") || at.function.starts_with("TLS wrapper function for "));
}
}  // namespace

counting::counting() : state_(std::make_unique<state>()) { record_with(state_->recorder); }
counting::~counting() = default;

std::vector<kernel_counts> counting::kernels() const {
  std::vector<kernel_counts> result;
  for (const auto& k : state_->all) {
    if (k->known.launches == 0) continue;
    kernel_counts c = k->known;
    std::map<source_place, counters> lines;
    const auto line_of = [&](const simt::source_line& at) -> counters& { return lines[{plain_path(at.file), at.line}]; };
    for (std::uint32_t site = 1; site < k->sites.size(); ++site) {
      const counters& counted = k->sites[site];
      if (counted == counters{}) continue;
      // A basic block without a line is that of its first instruction with one; an access without a line was made of
      // several, and is of none of them.
      const simt::source_line at = counted.blocks != 0 ? simt::locate_next(state_->recorder.sites()[site]) : state_->place(site);
      if (is_thread_local_wrapper(at)) continue;
      line_of(at) += counted;
      c.total += counted;
      if (counted.block_lanes == 0) continue;
      for (const operation& o : operations_of_block(state_->recorder.sites()[site])) {
        const std::uint64_t made = counted.block_lanes * o.count;
        line_of(simt::locate(o.at)).flops += made;
        c.total.flops += made;
      }
    }
    for (auto& [where, counted] : lines) c.lines.push_back({where, counted});
    c.atomic_words = k->updates.size();
    for (const auto& [address, times] : k->updates) c.longest_queue = std::max(c.longest_queue, times);
    const auto locate_sample = [this](sample& of, std::uint32_t site) {
      if (of.what.mask == 0) return;
      const simt::source_line& at = state_->place(site);
      of.where = {plain_path(at.file), at.line};
    };
    locate_sample(c.worst_shared, k->worst_site);
    locate_sample(c.worst_global, k->wasteful_site);
    result.push_back(std::move(c));
  }
  return result;
}

bool counting::settled() const {
  return std::all_of(state_->all.begin(), state_->all.end(),
                     [](const auto& k) { return k->graph.settled(); });
}

void counting::forget_counts() {
  for (auto& k : state_->all) {
    kernel_counts fresh;
    fresh.name = k->known.name;
    k->known = std::move(fresh);
    k->sites.clear();
    k->updates.clear();
    k->worst_conflicts = k->most_wasted = 0;
    k->graph.settle();
  }
}

void counting::launch_begin(const simt::launch_info& info) {
  kernel_state& k = state_->kernel_of(info.kernel);
  if (k.known.launches++ == 0) {
    std::copy_n(info.grid, 3, k.known.grid);
    std::copy_n(info.block, 3, k.known.block);
    k.known.shared_bytes = info.shared_bytes;
  }
  state_->running = &k;
  recorded::launch_begin(info);
}

}  // namespace lens
