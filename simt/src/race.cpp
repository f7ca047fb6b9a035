// SPDX-License-Identifier: Apache-2.0
#include <simt/race.hpp>

#include "race_state.hpp"

#include <algorithm>
#include <bit>

namespace simt {

namespace detail {

namespace {
std::uintptr_t first_byte(std::uintptr_t word, const record& a, const record& b) {
  const std::uint32_t both = a.bytes & b.bytes;
  return word + static_cast<unsigned>(std::countr_zero(both));
}

bool is_narrow(const memory_access& a) { return a.kind >= access_kind::atomic_load && a.reach == scope::block; }
}  // namespace

void race_state::begin_launch(const launch_info& info) {
  // Stamps are 32 bits: start over long before they end.
  if (order.now() > (1u << 31) || memory.size() > (std::size_t{1} << 30)) {
    memory.clear();
    if (order.now() > (1u << 31)) order = clocks{};
  }
  kernel = info.kernel;
  order.begin_launch(info);
  ++generation;
  found_here.clear();
}

std::uint32_t race_state::site_index(const memory_access& a) {
  const std::uintptr_t key = a.site << 4 | static_cast<std::uintptr_t>(a.kind) << 1 | a.is_volatile;
  auto& line = site_cache[(key >> 4 ^ key) % site_cache.size()];
  if (line.first != key) {
    auto [it, fresh] = site_numbers.try_emplace(key, static_cast<std::uint32_t>(sites.size()));
    if (fresh) sites.push_back({a.site, a.kind, a.is_volatile, is_narrow(a)});
    line = {key, it->second};
  }
  return line.second;
}

void race_state::classify(page& p, std::uintptr_t address) {
  const region r = find(address);
  p.generation = generation;
  p.where = r.where == space::unknown ? space::global : r.where;
  p.floor = order.launch_floor();
  if (p.where == space::shared) p.floor = order.at(r.block).begin;
}

bool race_state::ordered(const block_clock& b, std::uint32_t thread, const record& r) const {
  if (r.anyone) return r.when <= order.all();
  if (r.wide) return order.knows_block(b, thread, r.block, r.when);
  if (r.when <= order.all()) return true;
  if (r.block == b.index && r.when <= b.barrier) return true;
  const std::uint32_t first = r.warp * warp_lanes;
  for (std::uint32_t left = r.lanes; left != 0; left &= left - 1)
    if (!order.knows(b, thread, r.block, first + static_cast<std::uint32_t>(std::countr_zero(left)), r.when))
      return false;
  return true;
}

void race_state::report(const block_clock& b, std::uint32_t thread, const record& before,
                        std::uint32_t site, std::uintptr_t address, space where) {
  const std::uint64_t key = std::uint64_t{before.site} << 32 | site;
  auto [it, fresh] = found_here.try_emplace(key, found.size());
  if (!fresh) {
    ++found[it->second].count;
    return;
  }
  std::uint32_t other = before.warp * warp_lanes;
  for (std::uint32_t left = before.lanes; left != 0; left &= left - 1) {
    const auto lane = before.warp * warp_lanes + static_cast<std::uint32_t>(std::countr_zero(left));
    other = lane;
    if (before.wide || before.anyone || !order.knows(b, thread, before.block, lane, before.when)) break;
  }
  const known_site& x = sites[before.site];
  const known_site& y = sites[site];
  race r;
  r.kernel = kernel;
  r.a = {x.kind, x.is_volatile, x.block_scope, x.address, before.block, other, {}};
  r.b = {y.kind, y.is_volatile, y.block_scope, y.address, b.index, thread, {}};
  r.where = where;
  r.address = address;
  r.count = 1;
  found.push_back(std::move(r));
}

void race_state::check(const block_clock& b, std::uint32_t thread, const record_set& set,
                       const record& now, bool writers_only, stamp floor, std::uintptr_t word, space where,
                       std::uintptr_t atomic_at) {
  if (set.latest <= floor) return;
  const bool all = set.all.size() <= 64;  // a racing set of thousands is one report
  for (const record& r : set.all) {
    if (!(r.bytes & now.bytes) || r.when <= floor || (writers_only && !r.writes)) continue;
    if (ordered(b, thread, r) || (atomic_at != 0 && order.observed(b, thread, atomic_at, r.when))) continue;
    report(b, thread, r, now.site, first_byte(word, r, now), where);
    if (!all) return;
  }
}

void race_state::check(const block_clock& b, std::uint32_t thread, const record& r, const record& now,
                       stamp floor, std::uintptr_t word, space where) {
  if (r.when <= floor || !(r.bytes & now.bytes) || ordered(b, thread, r)) return;
  report(b, thread, r, now.site, first_byte(word, r, now), where);
}

/// Atomics of block scope are atomic to those of their own block alone.
void race_state::check_reach(const block_clock& b, std::uint32_t thread, const overflow& before, const record& now,
                             stamp floor, std::uintptr_t word, space where) {
  for (const record& r : before.atomics.all) {
    if (!(r.narrow || now.narrow) || !(r.writes || now.writes) || (r.block == b.index && !r.anyone)) continue;
    if (order.observed(b, thread, before.atomic_at, r.when)) continue;
    check(b, thread, r, now, floor, word, where);
  }
}

void race_state::access(std::uint64_t block, std::uint32_t thread, const memory_access& a) {
  block_clock& b = order.at(block);
  if (thread >= b.threads.size()) b.threads.resize(thread + 1);
  record now;
  now.block = b.index;
  now.lanes = 1u << thread % warp_lanes;
  now.warp = thread / warp_lanes;
  now.writes = a.kind != access_kind::read && a.kind != access_kind::atomic_load;
  now.site = site_index(a);
  const bool atomic = a.kind >= access_kind::atomic_load;
  now.narrow = is_narrow(a);
  now.when = order.now();

  const std::uintptr_t end = a.address + a.size;
  for (std::uintptr_t word = a.address & ~std::uintptr_t{3}; word < end; word += 4) {
    page& p = memory.at(word);
    if (p.generation != generation) classify(p, std::max(word, a.address));
    if (p.where == space::local || p.where == space::constant) return;
    std::uint32_t bytes = 15;
    if (word < a.address) bytes &= 15u << (a.address - word);
    if (end < word + 4) bytes &= 15u >> (word + 4 - end);
    now.bytes = bytes;
    cell& c = p.cells[word % page_bytes / 4];
    touch(b, thread, c, now, atomic ? a.address : 0, p, word);
  }
  if (!atomic) return;
  const page& p = memory.at(a.address);
  order.atomic(b, thread, a, p.floor, p.where == space::shared && !order.clusters());
}

void race_state::touch(const block_clock& b, std::uint32_t thread, cell& c, const record& now,
                       std::uintptr_t atomic_at, page& p, std::uintptr_t word) {
  const stamp floor = std::max(p.floor, order.all());
  check(b, thread, c.write, now, floor, word, p.where);
  if (c.more) check(b, thread, c.more->writes, now, false, floor, word, p.where);

  if (atomic_at != 0) {
    if (now.writes) {
      check(b, thread, c.read, now, floor, word, p.where);
      if (c.more) check(b, thread, c.more->reads, now, false, floor, word, p.where);
    }
    overflow& more = memory.more(c);
    if (now.narrow || more.narrow) {
      check_reach(b, thread, more, now, floor, word, p.where);
      more.narrow = true;
    }
    more.atomics.add(now, floor);
    more.atomic_at = atomic_at;
    return;
  }

  if (!now.writes) {
    if (c.more) check(b, thread, c.more->atomics, now, true, floor, word, p.where, c.more->atomic_at);
    const bool covered = !(c.read.bytes & ~now.bytes);
    if (c.read.when <= floor || !c.read.bytes || (covered && c.read.joins(now)) ||
        (covered && ordered(b, thread, c.read))) {
      const bool same = c.read.when > floor && c.read.joins(now);
      const std::uint32_t lanes = same ? c.read.lanes : 0;
      c.read = now;
      c.read.lanes |= lanes;
    } else {
      memory.more(c).reads.add(now, floor);
    }
    return;
  }

  check(b, thread, c.read, now, floor, word, p.where);
  c.read.bytes &= ~now.bytes;
  if (c.more) {
    check(b, thread, c.more->reads, now, false, floor, word, p.where);
    check(b, thread, c.more->atomics, now, false, floor, word, p.where, c.more->atomic_at);
    c.more->reads.clear_bytes(now.bytes);
    c.more->atomics.clear_bytes(now.bytes);
    c.more->writes.clear_bytes(now.bytes);
    if (c.more->atomic_at != 0) order.forget(c.more->atomic_at);
    c.more->atomic_at = 0;
    c.more->narrow = false;
  }
  if (c.write.when > floor && c.write.bytes & ~now.bytes) {
    record rest = c.write;
    rest.bytes &= ~now.bytes;
    memory.more(c).writes.add(rest, floor);
  }
  c.write = now;
}

}  // namespace detail

race_detector::race_detector(region_finder find)
    : state_(std::make_unique<detail::race_state>(std::move(find))) {}
race_detector::~race_detector() = default;

void race_detector::clear() { state_->found.clear(), state_->found_here.clear(); }
void race_detector::launch_begin(const launch_info& info) { state_->begin_launch(info); }
void race_detector::launch_end() {}
void race_detector::block_begin(std::uint64_t block) {
  ++state_->generation;
  state_->order.begin_block(block);
}
void race_detector::block_end(std::uint64_t block) { state_->order.end_block(block); }
void race_detector::block_barrier(std::uint64_t block) {
  state_->order.block_barrier(state_->order.at(block));
}
void race_detector::warp_sync(std::uint64_t block, std::uint32_t warp, std::uint32_t mask) {
  state_->order.warp_sync(state_->order.at(block), warp, mask);
}
void race_detector::blocks_barrier(std::uint64_t first, std::uint64_t count) {
  state_->order.blocks_barrier(first, count);
}
void race_detector::fence(std::uint64_t block, std::uint32_t thread, scope reach) {
  state_->order.fence(state_->order.at(block), thread, reach);
}
void race_detector::access(std::uint64_t block, std::uint32_t thread, const memory_access& a) {
  state_->access(block, thread, a);
}

}  // namespace simt
