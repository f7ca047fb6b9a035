// SPDX-License-Identifier: Apache-2.0
#include "race_clocks.hpp"

namespace simt::detail {

namespace {

bool releases(memory_order o) {
  return o == memory_order::release || o == memory_order::acq_rel || o == memory_order::seq_cst;
}

bool acquires(memory_order o) {
  return o == memory_order::acquire || o == memory_order::acq_rel || o == memory_order::seq_cst;
}

/// `v` without `own`: what a log hands on beside itself.
views without(const views& v, const sync_log* own) {
  if (!v) return v;
  auto rest = std::make_shared<std::vector<log_view>>();
  for (const log_view& x : *v)
    if (x.log != own) rest->push_back(x);
  return rest->empty() ? nullptr : rest;
}

views view_of(const sync_log* log, stamp until) {
  return std::make_shared<std::vector<log_view>>(1, log_view{log, until, false});
}

}  // namespace

views join(const views& a, const views& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  std::vector<log_view> all(*a);
  bool grew = false;
  for (const log_view& y : *b) {
    auto same = std::find_if(all.begin(), all.end(), [&](const log_view& x) {
      return x.log == y.log && x.block_only == y.block_only;
    });
    if (same == all.end()) {
      all.push_back(y);
      grew = true;
    } else if (same->until < y.until) {
      same->until = y.until;
      grew = true;
    }
  }
  return grew ? std::make_shared<const std::vector<log_view>>(std::move(all)) : a;
}

bool snapshot::covers(std::uint32_t other_block, std::uint32_t other_thread, stamp when) const {
  if (other_block != block) return other_block - cluster_first < cluster_count && when <= cluster;
  if (when <= barrier) return true;
  if (other_thread == thread && when <= own) return true;
  if (other_thread / warp_lanes == thread / warp_lanes && when <= warp) return true;
  for (const auto& [w, stamps] : rows)
    if (w == other_thread / warp_lanes && when <= stamps[other_thread % warp_lanes]) return true;
  return false;
}

bool snapshot::covers_block(std::uint32_t other_block, stamp when) const {
  return other_block == block ? when <= barrier
                              : other_block - cluster_first < cluster_count && when <= cluster;
}

void sync_log::append(stamp when, snapshot_ptr what) {
  if (!entries_.empty() && entries_.back().what == what) return;
  const auto index = static_cast<std::uint32_t>(entries_.size());
  by_block_[what->block].push_back(index);
  if (what->others) inheriting_.push_back(index);
  entries_.push_back({when, std::move(what)});
}

void clocks::begin_launch(const launch_info& info) {
  blocks_.clear();
  last_ = nullptr;
  logs_.clear();
  all_logs_.clear();
  floor_ = all_ = now_++;
  grid_blocks_ = std::uint64_t{info.grid[0]} * info.grid[1] * info.grid[2];
  block_threads_ = info.block[0] * info.block[1] * info.block[2];
  cluster_blocks_ = std::max(1u, info.cluster[0] * info.cluster[1] * info.cluster[2]);
}

block_clock& clocks::begin_block(std::uint64_t block) {
  std::unique_ptr<block_clock> fresh;
  if (pool_.empty()) {
    fresh = std::make_unique<block_clock>();
  } else {
    fresh = std::move(pool_.back());
    pool_.pop_back();
    for (std::uint32_t t : fresh->touched) fresh->threads[t] = {};
    fresh->touched.clear();
    for (auto& rows : fresh->lanes) rows.reset();
    fresh->warps.fill(0);
    fresh->known.reset();
    fresh->fence.reset();
  }
  fresh->threads.resize(block_threads_);
  fresh->index = static_cast<std::uint32_t>(block);
  fresh->begin = fresh->barrier = now_++;
  fresh->cluster = 0;
  fresh->cluster_first = static_cast<std::uint32_t>(block / cluster_blocks_ * cluster_blocks_);
  fresh->cluster_count = cluster_blocks_;
  last_ = fresh.get();
  blocks_[block] = std::move(fresh);
  return *last_;
}

void clocks::end_block(std::uint64_t block) {
  auto it = blocks_.find(block);
  if (it == blocks_.end()) return;
  if (last_ == it->second.get()) last_ = nullptr;
  pool_.push_back(std::move(it->second));
  blocks_.erase(it);
}

block_clock& clocks::find(std::uint64_t block) {
  auto it = blocks_.find(block);
  return it != blocks_.end() ? *it->second : begin_block(block);
}

thread_clock& clocks::touch(block_clock& b, std::uint32_t thread) {
  if (thread >= b.threads.size()) b.threads.resize(thread + 1);
  thread_clock& t = b.threads[thread];
  if (!t.touched) {
    t.touched = true;
    b.touched.push_back(thread);
  }
  return t;
}

snapshot_ptr clocks::take(const block_clock& b, std::uint32_t thread, bool block_scope) const {
  auto s = std::make_shared<snapshot>();
  const std::uint32_t warp = thread / warp_lanes;
  s->block = b.index;
  s->thread = thread;
  s->own = now_;
  s->barrier = b.barrier;
  s->warp = b.warps[warp];
  s->cluster_first = b.cluster_first;
  s->cluster_count = b.cluster_count;
  s->cluster = b.cluster;
  s->block_scope = block_scope;
  if (b.lanes[warp]) s->rows.emplace_back(warp, (*b.lanes[warp])[thread % warp_lanes]);
  s->others = join(b.known, b.threads[thread].known);
  return s;
}

void clocks::fence(block_clock& b, std::uint32_t thread, scope reach) {
  thread_clock& t = touch(b, thread);
  if (reach == scope::block) {
    if (t.pending) {
      auto narrowed = std::make_shared<std::vector<log_view>>(*t.pending);
      for (log_view& v : *narrowed) v.block_only = true;
      t.known = join(t.known, narrowed);
    }
    t.block_fence = take(b, thread, true);
  } else {
    t.known = join(t.known, t.pending);
    t.pending.reset();
    t.fence = take(b, thread, false);
  }
  ++now_;
}

void clocks::atomic(block_clock& b, std::uint32_t thread, const memory_access& a, stamp floor, bool within_block) {
  auto it = logs_.find(a.address);
  sync_log* log = it == logs_.end() ? nullptr : it->second;
  if (log != nullptr && log->created <= floor) log = nullptr;

  if (a.kind != access_kind::atomic_store && log != nullptr && !log->empty()) {
    thread_clock& t = touch(b, thread);
    views& into = acquires(a.order) ? t.known : t.pending;
    into = join(into, view_of(log, now_));
  }
  if (a.kind == access_kind::atomic_load) return;

  snapshot_ptr released[3];
  if (releases(a.order)) {
    touch(b, thread);
    released[0] = take(b, thread, false);
  } else {
    const thread_clock& t = b.threads[thread];
    released[0] = t.fence;
    released[1] = t.block_fence;
    if (!within_block) released[2] = b.fence;  // made before a barrier, so the block's threads know it
  }
  const bool any = released[0] || released[1] || released[2];
  if (a.kind == access_kind::atomic_store) log = nullptr;  // ends the release sequence
  if (!any) {
    if (log == nullptr && it != logs_.end()) logs_.erase(it);
    return;
  }
  ++now_;
  if (log == nullptr) {
    log = all_logs_.emplace_back(std::make_unique<sync_log>()).get();
    log->created = now_;
    logs_[a.address] = log;
  }
  for (snapshot_ptr& s : released) {
    if (!s) continue;
    if (s->others) {
      auto lean = std::make_shared<snapshot>(*s);
      lean->others = without(s->others, log);
      s = std::move(lean);
    }
    log->append(now_, std::move(s));
  }
}

views clocks::gather(block_clock& b) {
  views all = b.known;
  for (std::uint32_t i : b.touched) {
    thread_clock& t = b.threads[i];
    all = join(join(all, t.known), t.pending);
    t.known.reset();
    t.pending.reset();
  }
  return all;
}

/// A fence by each thread, a barrier, then one atomic by one thread releases them all.
void clocks::pool_fences(block_clock& b) {
  std::vector<snapshot_ptr> taken;
  for (std::uint32_t i : b.touched)
    if (b.threads[i].fence) taken.push_back(std::move(b.threads[i].fence));
  if (taken.empty()) return;
  if (b.fence) taken.push_back(b.fence);
  if (taken.size() == 1) {
    b.fence = taken[0];
    return;
  }
  auto all = std::make_shared<snapshot>(*taken[0]);
  all->rows.clear();
  for (const snapshot_ptr& s : taken) {
    all->barrier = std::max(all->barrier, s->barrier);
    all->cluster = std::max(all->cluster, s->cluster);
    all->others = join(all->others, s->others);
    auto row_of = [&](std::uint32_t warp) -> lane_stamps& {
      for (auto& [w, stamps] : all->rows)
        if (w == warp) return stamps;
      return all->rows.emplace_back(warp, lane_stamps{}).second;
    };
    for (const auto& [w, stamps] : s->rows) {
      lane_stamps& row = row_of(w);
      for (std::uint32_t l = 0; l < warp_lanes; ++l) row[l] = std::max(row[l], stamps[l]);
    }
    lane_stamps& row = row_of(s->thread / warp_lanes);
    for (stamp& x : row) x = std::max(x, s->warp);
    row[s->thread % warp_lanes] = std::max(row[s->thread % warp_lanes], s->own);
  }
  b.fence = std::move(all);
}

void clocks::block_barrier(block_clock& b) {
  if (!b.touched.empty()) {
    b.known = gather(b);
    pool_fences(b);
  }
  b.barrier = now_++;
}

void clocks::blocks_barrier(std::uint64_t first, std::uint64_t count) {
  const bool whole = first == 0 && count >= grid_blocks_;
  views all;
  for (auto& [index, b] : blocks_) {
    if (index - first >= count) continue;
    all = join(all, gather(*b));
    pool_fences(*b);
    b->barrier = now_;
    if (whole) continue;
    b->cluster_first = static_cast<std::uint32_t>(first);
    b->cluster_count = static_cast<std::uint32_t>(count);
    b->cluster = now_;
  }
  if (whole) {
    all_ = now_;
    all.reset();  // everything is known
  }
  for (auto& [index, b] : blocks_)
    if (index - first < count) b->known = all;
  ++now_;
}

void clocks::warp_sync(block_clock& b, std::uint32_t warp, std::uint32_t mask) {
  const std::uint32_t here =
      std::min(warp_lanes, block_threads_ > warp * warp_lanes ? block_threads_ - warp * warp_lanes : 0);
  const std::uint32_t existing = here == warp_lanes ? ~0u : (1u << here) - 1;
  mask &= existing;

  if (!b.touched.empty()) {
    views all;
    bool differ = false;
    for (std::uint32_t l = 0; l < here; ++l) {
      if (!(mask >> l & 1)) continue;
      const views& mine = b.threads[warp * warp_lanes + l].known;
      differ = differ || (mine && mine != all);
      all = join(all, mine);
    }
    if (differ)
      for (std::uint32_t l = 0; l < here; ++l)
        if (mask >> l & 1) touch(b, warp * warp_lanes + l).known = all;
  }

  if (mask == existing) {
    b.warps[warp] = now_++;
    b.lanes[warp].reset();
    return;
  }
  if (!b.lanes[warp]) b.lanes[warp] = std::make_unique<std::array<lane_stamps, warp_lanes>>();
  auto& rows = *b.lanes[warp];
  lane_stamps met{};
  for (std::uint32_t l = 0; l < here; ++l)
    if (mask >> l & 1)
      for (std::uint32_t m = 0; m < warp_lanes; ++m) met[m] = std::max(met[m], rows[l][m]);
  for (std::uint32_t l = 0; l < here; ++l)
    if (mask >> l & 1) met[l] = now_;
  for (std::uint32_t l = 0; l < here; ++l)
    if (mask >> l & 1) rows[l] = met;
  ++now_;
}

bool clocks::knows_block(const block_clock& b, std::uint32_t thread, std::uint32_t other_block,
                         stamp when) const {
  if (when <= all_) return true;
  if (other_block == b.index) {
    if (when <= b.barrier) return true;
  } else if (other_block - b.cluster_first < b.cluster_count && when <= b.cluster) {
    return true;
  }
  return acquired(b, thread, other_block, 0, when, true);
}

bool clocks::observed(const block_clock& b, std::uint32_t thread, std::uintptr_t address, stamp when) const {
  auto it = logs_.find(address);
  if (it == logs_.end()) return false;
  auto has = [&](const views& v) {
    return v && std::any_of(v->begin(), v->end(), [&](const log_view& x) {
      return x.log == it->second && x.until >= when && !x.block_only;
    });
  };
  return has(b.known) || has(b.threads[thread].known);
}

bool clocks::acquired(const block_clock& b, std::uint32_t thread, std::uint32_t other_block,
                      std::uint32_t other_thread, stamp when, bool whole_block) const {
  const views& mine = b.threads[thread].known;
  if (!mine && !b.known) return false;
  std::vector<log_view> open, seen;
  auto push = [&](const views& v) {
    if (!v) return;
    for (const log_view& x : *v) {
      const bool done = std::any_of(seen.begin(), seen.end(), [&](const log_view& y) {
        return y.log == x.log && y.until >= x.until && (!y.block_only || x.block_only);
      });
      if (done) continue;
      seen.push_back(x);
      open.push_back(x);
    }
  };
  push(mine);
  push(b.known);
  const std::uint32_t first = other_block / cluster_blocks_ * cluster_blocks_;
  while (!open.empty()) {
    const log_view v = open.back();
    open.pop_back();
    for (std::uint32_t i = first; i < first + cluster_blocks_; ++i) {
      auto it = v.log->by_block_.find(i);
      if (it == v.log->by_block_.end()) continue;
      for (auto e = it->second.rbegin(); e != it->second.rend(); ++e) {
        const sync_log::entry& x = v.log->entries_[*e];
        if (x.when > v.until) continue;
        if ((v.block_only || x.what->block_scope) && x.what->block != b.index) continue;
        if (whole_block ? x.what->covers_block(other_block, when)
                        : x.what->covers(other_block, other_thread, when))
          return true;
      }
    }
    for (std::uint32_t e : v.log->inheriting_) {
      if (v.log->entries_[e].when > v.until) break;
      push(v.log->entries_[e].what->others);
    }
  }
  return false;
}

}  // namespace simt::detail
