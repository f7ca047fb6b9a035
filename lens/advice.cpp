// SPDX-License-Identifier: Apache-2.0
#include "advice.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>

#include "names.hpp"

namespace lens {
namespace {

/// use(lane) for each lane that takes part in the request.
template <class Use>
void for_each_lane(const request& r, const Use& use) {
  for (std::uint32_t rest = r.mask; rest != 0; rest &= rest - 1) use(static_cast<unsigned>(std::countr_zero(rest)));
}

/// The request with each lane's element at another place.
template <class Place>
shared_cost cost_at(const request& r, const Place& place) {
  request moved = r;
  for_each_lane(r, [&](unsigned lane) { moved.address[lane] = place(lane); });
  return cost_in_shared(moved);
}

std::uint64_t lowest_address(const request& r) {
  std::uint64_t low = ~std::uint64_t{0};
  for_each_lane(r, [&](unsigned lane) { low = std::min(low, r.address[lane]); });
  return low;
}

std::string place_text(const source_place& p) { return fmt::format("line {}", p.line); }

std::string conflict_cure(const request& r) {
  const auto stride = stride_of(r);
  if (!stride || *stride == 0)
    return "its lanes' places follow no one distance, so no padding of rows cures it: let neighbouring lanes take neighbouring elements";
  const auto bytes = static_cast<std::uint64_t>(std::abs(*stride)), apart = bytes / r.size;
  std::string cures;
  if (bytes % r.size == 0) {
    const bool skews = skewing_helps(r);
    const bool is_tree = apart < 32 && skews;  // no rows to pad: one array, of which lanes take every so-manieth
    const auto padding = is_tree ? std::nullopt : padding_for(r);
    if (padding && *padding != 0) cures = fmt::format("Rows of {} elements instead of {} have no conflicts", apart + *padding, apart);
    const auto add = [&](std::string_view cure) { cures += fmt::format("{} {}", cures.empty() ? "Without conflicts is" : ", nor has", cure); };
    if (swizzle_helps(r)) add("column c of row r at c ^ (r % 32), which needs no more memory");
    if (skews) add("element i at i + i / 32");
  }
  if (cures.empty())
    return fmt::format("its lanes are {} bytes apart, which neither padding nor skewing cures: let neighbouring lanes take neighbouring elements", bytes);
  return fmt::format("its lanes are {} element{} apart. {}", apart, apart == 1 ? "" : "s", cures);
}

const line_counts* worst_line(const kernel_counts& k, std::uint64_t (*cost)(const counters&)) {
  const line_counts* found = nullptr;
  for (const line_counts& l : k.lines)
    if (cost(l.counted) != 0 && (found == nullptr || cost(l.counted) > cost(found->counted))) found = &l;
  return found;
}

void add_conflicts(std::vector<advice>& all, const kernel_counts& k) {
  const counters& c = k.total;
  const std::uint64_t conflicts = c.shared_load.conflicts() + c.shared_store.conflicts() + c.shared_atomic.conflicts();
  const std::uint64_t passes = c.shared_load.wavefronts + c.shared_store.wavefronts + c.shared_atomic.wavefronts;
  const sample& s = k.worst_shared;
  // A tenth of the passes: less is hardly to be felt.
  if (conflicts == 0 || conflicts * 10 < passes || s.what.mask == 0) return;
  const shared_cost cost = cost_in_shared(s.what);
  if (cost.ways() < 2) return;
  all.push_back({rule::bank_conflicts, s.where,
                 fmt::format("{} of {} passes over shared memory are bank conflicts, up to {}-way in {}: {}", conflicts, passes, cost.ways(),
                             place_text(s.where), conflict_cure(s.what))});
}

void add_uncoalesced(std::vector<advice>& all, const kernel_counts& k) {
  const sample& s = k.worst_global;
  if (s.what.mask == 0) return;
  const counters& c = k.total;
  const std::uint64_t sectors = c.global_load.sectors + c.global_store.sectors;
  const std::uint64_t useful = c.global_load.useful_bytes + c.global_store.useful_bytes;
  // Four fifths of a contiguous request that is shifted by some bytes are of use; half of one of every second element.
  if (sectors == 0 || 3 * useful > 2 * 32 * sectors) return;
  const global_cost cost = cost_in_global(s.what);
  const unsigned needed = fewest_sectors(cost);
  if (cost.sectors < 2 * needed) return;
  const auto stride = stride_of(s.what);
  std::string why = stride ? fmt::format("its lanes are {} bytes apart, and want {} each", std::abs(*stride), s.what.size)
                           : std::string("its lanes' addresses follow no one distance");
  const std::string cure = stride ? "let neighbouring lanes take neighbouring elements, or turn a tile over in shared memory"
                                  : "sort the indexes, or bring the data into shared memory first";
  all.push_back({rule::uncoalesced, s.where,
                 fmt::format("{}% of the bytes that come from global memory are of use. A {} in {} touches {} sectors where {} would hold its "
                             "bytes: {}; {}",
                             100 * useful / (32 * sectors), s.is_load ? "load" : "store", place_text(s.where), cost.sectors, needed, why, cure)});
}

void add_divergence(std::vector<advice>& all, const kernel_counts& k) {
  const counters& c = k.total;
  const auto add = [](memory_counts a, const memory_counts& b) { return a += b; };
  const memory_counts accesses = add(add(c.global_load, c.global_store), add(c.shared_load, c.shared_store));
  // A quarter of the lanes idle in all basic blocks, or half of them in what reads and writes.
  const bool in_blocks = 4 * c.block_lanes < 3 * 32 * c.blocks, in_accesses = 2 * accesses.lanes < 32 * accesses.requests;
  if (c.divergent == 0 || c.blocks == 0 || (!in_blocks && !in_accesses)) return;
  const line_counts* worst = worst_line(k, [](const counters& x) { return x.divergent; });
  if (worst == nullptr) return;
  const double idle = in_blocks ? 100.0 - 100.0 * static_cast<double>(c.block_lanes) / (32.0 * static_cast<double>(c.blocks))
                                : 100.0 - 100.0 * static_cast<double>(accesses.lanes) / (32.0 * static_cast<double>(accesses.requests));
  all.push_back({rule::divergence, worst->where,
                 fmt::format("{:.0f}% of the lanes are idle, in the mean over the {}: lanes of one warp part {} times, {} of them in {}. Let whole "
                             "warps decide alike: neighbouring threads on one side",
                             idle, in_blocks ? "basic blocks" : "loads and stores", c.divergent, worst->counted.divergent, place_text(worst->where))});
}

void add_one_address(std::vector<advice>& all, const kernel_counts& k) {
  const auto tell = [&](const memory_counts& m, std::uint64_t (*turns)(const counters&), const char* where, std::uint64_t queue) {
    // Two lanes of each warp and more at one word.
    if (m.requests == 0 || m.turns < 2 * m.requests) return;
    const line_counts* worst = worst_line(k, turns);
    std::string text = fmt::format("{} warps' atomics on {} memory take {} turns, since lanes of a warp want one address", m.requests, where, m.turns);
    if (worst != nullptr) text += fmt::format(" ({})", place_text(worst->where));
    if (queue > 1) text += fmt::format("; {} updates wait for each other at one word", queue);
    text += fmt::format(". Add up within the warp by shuffles, and let one lane update: {} turns", m.requests);
    all.push_back({rule::one_address, worst != nullptr ? worst->where : source_place{}, text});
  };
  tell(k.total.global_atomic, [](const counters& x) { return x.global_atomic.turns; }, "global", k.longest_queue);
  tell(k.total.shared_atomic, [](const counters& x) { return x.shared_atomic.turns; }, "shared", 0);
}

void add_occupancy(std::vector<advice>& all, const kernel_counts& k) {
  const auto threads = static_cast<unsigned>(k.block[0] * k.block[1] * k.block[2]);
  const occupancy o = occupancy_of(threads, k.shared_bytes);
  if (o.warps >= 32 || o.blocks == 0) {
    if (threads % 32 == 0) return;
    all.push_back({rule::occupancy, {}, fmt::format("blocks of {} threads leave {} lanes of their last warp empty: take a multiple of 32", threads, 32 - threads % 32)});
    return;
  }
  std::string cure = o.limit == "shared memory" ? fmt::format("with {} bytes of shared memory a block, four would fit", std::uint64_t{228} * 1024 / 4 - 1024)
                     : o.limit == "blocks"      ? "blocks of 64 threads and more fill it"
                                                : "smaller blocks fill it better";
  all.push_back({rule::occupancy, {},
                 fmt::format("{} block{} of {} threads fit on a multiprocessor, {} warps of 64: {} run out first; {}", o.blocks, o.blocks == 1 ? "" : "s",
                             threads, o.warps, o.limit, cure)});
}

void add_roofline(std::vector<advice>& all, const kernel_counts& k) {
  const auto bytes = static_cast<double>(k.total.global_bytes()), flops = static_cast<double>(k.total.flops);
  constexpr const published_peak& gpu = reference_gpu;
  if (bytes == 0 || flops == 0 || flops / bytes >= gpu.ridge()) return;
  const double most = flops / bytes * gpu.bytes;
  all.push_back({rule::memory_bound, {},
                 fmt::format("{:.3g} operations a byte: memory holds it back below {:.3g} on an {}. {:.0f} bytes at its {:.2f} TB/s take {:.3g} µs, in which "
                             "it does {:.2g}% of the operations that it could",
                             flops / bytes, gpu.ridge(), gpu.name, bytes, gpu.bytes / 1e12, bytes / gpu.bytes * 1e6, 100 * most / gpu.flops)});
}

void add_barriers(std::vector<advice>& all, const explanation& e, const kernel_counts& k) {
  for (const ladder::race_pair& r : e.races) {
    if (short_name(r.kernel) != k.name && r.kernel != k.name) continue;
    const ladder::race_line &first = r.a.line <= r.b.line ? r.a : r.b, &second = r.a.line <= r.b.line ? r.b : r.a;
    const source_place where{second.file, second.line};
    const std::string lines = first.line == second.line && first.file == second.file
                                  ? fmt::format("two threads meet in line {} ({}, {})", first.line, first.access, second.access)
                                  : fmt::format("nothing orders line {} ({}) and line {} ({})", first.line, first.access, second.line, second.access);
    const bool in_shared = r.space == "shared";
    std::string cure;
    if (!in_shared) cure = "an atomic does within a kernel, or a kernel each; __syncthreads() orders the threads of one block only";
    else if (first.line == second.line) cure = "put a __syncthreads() between what it reads and what it writes, within reach of all threads of the block";
    else cure = fmt::format("put a __syncthreads() between them{}, within reach of all threads of the block", second.line < first.line ? ", and at the loop's end" : "");
    all.push_back({rule::missing_barrier, where, fmt::format("on {} memory {}: {}", r.space, lines, cure)});
  }
}

}  // namespace

std::string_view name_of(rule r) {
  constexpr std::string_view names[] = {"bank conflicts", "uncoalesced", "divergence", "one address", "occupancy", "memory bound", "missing barrier"};
  return names[static_cast<std::size_t>(r)];
}

std::optional<std::int64_t> stride_of(const request& r) {
  std::optional<std::int64_t> found;
  std::optional<unsigned> before;
  bool is_one = true;
  for_each_lane(r, [&](unsigned lane) {
    if (before) {
      const auto apart = static_cast<std::int64_t>(r.address[lane] - r.address[*before]);
      const auto lanes = static_cast<std::int64_t>(lane - *before);
      if (apart % lanes != 0 || (found && *found != apart / lanes)) is_one = false;
      if (!found) found = apart / lanes;
    }
    before = lane;
  });
  return is_one ? found : std::nullopt;
}

std::optional<unsigned> padding_for(const request& r) {
  const auto stride = stride_of(r);
  if (!stride || r.size == 0 || *stride % r.size != 0) return {};
  const auto apart = static_cast<std::uint64_t>(std::abs(*stride)), low = lowest_address(r);
  for (unsigned padding = 0; padding <= 32; ++padding)
    if (cost_at(r, [&](unsigned lane) { return low + lane * (apart + std::uint64_t{padding} * r.size); }).conflicts() == 0) return padding;
  return {};
}

bool skewing_helps(const request& r) {
  const std::uint64_t low = lowest_address(r);
  return cost_at(r, [&](unsigned lane) {
           const std::uint64_t i = (r.address[lane] - low) / r.size;
           return low + (i + i / 32) * r.size;
         }).conflicts() == 0;
}

bool swizzle_helps(const request& r) {
  const auto stride = stride_of(r);
  if (!stride || r.size != 4 || *stride == 0 || *stride % 128 != 0) return false;  // rows of 32 words, or of several times as many
  const auto row = static_cast<std::uint64_t>(std::abs(*stride));
  const std::uint64_t low = lowest_address(r), column = low / 4 % 32;
  return cost_at(r, [&](unsigned lane) { return low - column * 4 + lane * row + (column ^ lane) * 4; }).conflicts() == 0;
}

occupancy occupancy_of(unsigned threads, std::uint64_t shared_bytes, unsigned registers) {
  constexpr unsigned most_warps = 64, most_blocks = 32, all_registers = 65536;
  constexpr std::uint64_t all_shared = 228 * 1024, reserved = 1024;
  occupancy o;
  const unsigned warps = (threads + 31) / 32;
  if (threads == 0 || threads > 1024 || registers == 0 || registers > 255) return o;
  const auto registers_of_warp = [](unsigned each) { return (each * 32 + 255) / 256 * 256; };
  const std::uint64_t shared_of_block = (shared_bytes + 127) / 128 * 128 + reserved;
  const struct {
    std::string_view what;
    std::uint64_t blocks;
  } limits[] = {{"threads", most_warps / warps},
                {"shared memory", all_shared / shared_of_block},
                {"registers", all_registers / registers_of_warp(registers) / warps},
                {"blocks", most_blocks}};
  const auto least = std::min_element(std::begin(limits), std::end(limits), [](const auto& a, const auto& b) { return a.blocks < b.blocks; });
  o.blocks = static_cast<unsigned>(least->blocks);
  o.warps = o.blocks * warps;
  o.limit = least->what;
  for (unsigned r = 255; r > 0 && o.registers == 0; --r)
    if (o.blocks != 0 && all_registers / registers_of_warp(r) / warps >= o.blocks) o.registers = r;
  return o;
}

std::vector<advice> advice_for(const explanation& e, const kernel_counts& k) {
  std::vector<advice> all;
  add_barriers(all, e, k);
  add_uncoalesced(all, k);
  add_one_address(all, k);
  add_conflicts(all, k);
  add_divergence(all, k);
  add_occupancy(all, k);
  add_roofline(all, k);
  return all;
}

}  // namespace lens
