// SPDX-License-Identifier: Apache-2.0
// The shadow of memory: for each 4-byte word the last plain write, the plain reads since, and the
// atomics since, each with its byte mask. One write and one read lie in the cell itself, which is all
// that most words ever need; the rest is in an overflow part.
#pragma once

#include "race_clocks.hpp"

#include <algorithm>
#include <deque>

namespace simt::detail {

/// Who accessed a word: some lanes of one warp, or, in a large set, a whole block (wide), or anyone.
struct record {
  stamp when = 0;  ///< 0: none
  std::uint32_t block = 0;
  std::uint32_t lanes = 0;
  std::uint32_t warp : 5 = 0;
  std::uint32_t bytes : 4 = 0;
  std::uint32_t writes : 1 = 0;
  std::uint32_t wide : 1 = 0;
  std::uint32_t anyone : 1 = 0;
  std::uint32_t narrow : 1 = 0;  ///< an atomic of block scope
  std::uint32_t site : 19 = 0;

  bool joins(const record& r) const {
    return when == r.when && block == r.block && warp == r.warp && site == r.site &&
           bytes == r.bytes && writes == r.writes && !wide && !anyone;
  }
};
static_assert(sizeof(record) == 16);

/// Records that are not ordered among each other, in the order they came.
struct record_set {
  std::vector<record> all;
  std::uint32_t limit = 64;  ///< above it, compact() makes room and sets the next limit
  stamp latest = 0;

  /// Lanes of a warp that do the same at the same time share a record.
  void add(const record& r, stamp stale) {
    if (latest <= stale) all.clear();
    latest = std::max(latest, r.when);
    if (!all.empty() && all.back().joins(r)) {
      all.back().lanes |= r.lanes;
    } else {
      if (all.size() >= limit) compact(stale);
      all.push_back(r);
    }
  }

  /// Drops what is stale, and what a later access of the same lane stands for. If that is not enough, more than four records of a
  /// block become one of the whole block: who is ordered behind a lane by __syncwarp alone then seems to race with it.
  void compact(stamp stale) {
    std::erase_if(all, [&](const record& r) { return r.when <= stale; });
    keep_the_latest();
    if (all.size() <= few) {
      limit = std::max<std::uint32_t>(64, static_cast<std::uint32_t>(2 * all.size()));
      return;
    }
    std::unordered_map<std::uint32_t, std::uint32_t> of_block;
    for (const record& r : all) ++of_block[r.block];
    std::vector<record> kept;
    std::unordered_map<std::uint64_t, std::size_t> wide_at;
    for (record r : all) {
      if (r.anyone || of_block[r.block] <= 4) {
        kept.push_back(r);
        continue;
      }
      const auto key = std::uint64_t{r.block} << 32 | std::uint64_t{r.site} << 5 | r.bytes << 1 | r.writes;
      auto [it, fresh] = wide_at.try_emplace(key, kept.size());
      if (fresh) {
        r.wide = 1;
        kept.push_back(r);
      } else {
        kept[it->second].when = std::max(kept[it->second].when, r.when);
      }
    }
    if (kept.size() > most) kept = one_for_all(kept);
    all = std::move(kept);
    limit = std::max<std::uint32_t>(64, static_cast<std::uint32_t>(2 * all.size()));
  }

  void clear_bytes(std::uint32_t bytes) {
    if (all.empty()) return;
    for (record& r : all) r.bytes &= ~bytes;
    std::erase_if(all, [](const record& r) { return r.bytes == 0; });
  }

 private:
  static constexpr std::size_t few = 256;        ///< a record for each lane of eight warps
  static constexpr std::size_t most = 1u << 18;  ///< 4 MB for a word
  /// Who is ordered behind a lane's access, is behind its earlier ones.
  void keep_the_latest() {
    std::unordered_map<std::uint64_t, std::uint32_t> later;  // lanes
    for (auto r = all.rbegin(); r != all.rend(); ++r) {
      if (r->wide || r->anyone) continue;
      std::uint32_t& lanes = later[std::uint64_t{r->block} << 32 | std::uint64_t{r->warp} << 6 | std::uint64_t{r->bytes} << 2 | r->writes << 1 | r->narrow];
      r->lanes &= ~lanes;
      lanes |= r->lanes;
    }
    std::erase_if(all, [](const record& r) { return r.lanes == 0; });
  }
  static std::vector<record> one_for_all(const std::vector<record>& sets) {
    record any = sets.front();
    any.anyone = 1;
    for (const record& r : sets) {
      any.when = std::max(any.when, r.when);
      any.bytes |= r.bytes;
      any.writes |= r.writes;
      any.narrow |= r.narrow;
    }
    return {any};
  }
};

struct overflow {
  record_set writes;  ///< to other bytes of the word than the cell's own
  record_set reads, atomics;
  std::uintptr_t atomic_at = 0;  ///< the address of the last atomic on this word, if any
  bool narrow = false;           ///< some of them were of block scope
};

struct cell {
  record write, read;
  overflow* more = nullptr;
};

inline constexpr std::size_t page_bytes = 4096;

struct page {
  std::array<cell, page_bytes / 4> cells;
  std::uint64_t generation = 0;  ///< for `where` and `floor`
  space where = space::unknown;
  stamp floor = 0;               ///< what happened up to here was in another block or launch
};

class shadow {
 public:
  page& at(std::uintptr_t address) {
    const std::uintptr_t number = address / page_bytes;
    line& l = cache_[number % cache_.size()];
    if (l.number != number || l.found == nullptr) {
      auto& p = pages_[number];
      if (!p) p = std::make_unique<page>();
      l = {number, p.get()};
    }
    return *l.found;
  }
  overflow& more(cell& c) {
    if (c.more == nullptr) c.more = &overflows_.emplace_back();
    return *c.more;
  }
  void clear() {
    cache_.fill({});
    pages_.clear();
    overflows_.clear();
  }
  /// Roughly, in bytes.
  std::size_t size() const { return pages_.size() * sizeof(page) + overflows_.size() * sizeof(overflow); }

 private:
  struct line {
    std::uintptr_t number = 0;
    page* found = nullptr;
  };
  std::array<line, 256> cache_{};
  std::unordered_map<std::uintptr_t, std::unique_ptr<page>> pages_;
  std::deque<overflow> overflows_;
};

}  // namespace simt::detail
