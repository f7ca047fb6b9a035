// SPDX-License-Identifier: Apache-2.0
#include <simt/recorder.hpp>

namespace simt {

namespace {

event plain(event_kind kind, std::uint32_t site, std::uint32_t extra) {
  event e{};
  e.kind = static_cast<std::uint64_t>(kind) & 15;
  e.site = site;
  e.extra = extra;
  return e;
}

bool ended(const std::vector<event>& thread) {
  return !thread.empty() && thread.back().what() == event_kind::end;
}

}  // namespace

recorder::recorder(sink to, bool basic_blocks, std::uint64_t most_events)
    : to_(std::move(to)), basic_blocks_(basic_blocks), most_events_(most_events), sites_(1) {}

void recorder::launch_begin(const launch_info& info) {
  launch_ = info;
  running_.clear();
  last_ = nullptr;
  full_ = false;
  held_ = 0;
  ++generation_;
}

void recorder::launch_end() {
  running_.clear();  // left by a launch that failed
  last_ = nullptr;
}

void recorder::block_begin(std::uint64_t block) {
  ++generation_;
  std::unique_ptr<block_recording> fresh;
  if (spare_.empty()) {
    fresh = std::make_unique<block_recording>();
  } else {
    fresh = std::move(spare_.back());
    spare_.pop_back();
    for (auto& t : fresh->threads) t.clear();
  }
  fresh->launch = &launch_;
  fresh->block = block;
  fresh->threads.resize(std::size_t{launch_.block[0]} * launch_.block[1] * launch_.block[2]);
  fresh->chains.assign(fresh->threads.size(), 0);
  last_ = fresh.get();
  running_[block] = std::move(fresh);
}

void recorder::block_end(std::uint64_t block) {
  auto it = running_.find(block);
  if (it == running_.end()) return;
  if (!full_) to_(*it->second);
  for (const auto& t : it->second->threads) held_ -= t.size();
  if (last_ == it->second.get()) last_ = nullptr;
  spare_.push_back(std::move(it->second));
  running_.erase(it);
}

block_recording& recorder::at(std::uint64_t block) {
  if (last_ == nullptr || last_->block != block) {
    auto it = running_.find(block);
    if (it == running_.end()) {
      block_begin(block);
      it = running_.find(block);
    }
    last_ = it->second.get();
  }
  return *last_;
}

std::uint32_t recorder::site_index(std::uintptr_t site) {
  auto& line = recent_sites_[site % recent_sites_.size()];
  if (line.first != site) {
    auto [it, fresh] = numbers_.try_emplace(site, static_cast<std::uint32_t>(sites_.size()));
    if (fresh) sites_.push_back(site);
    line = {site, it->second};
  }
  return line.second;
}

space recorder::space_of(std::uintptr_t address) {
  page& p = recent_pages_[address / 4096 % recent_pages_.size()];
  if (p.number != address / 4096 || p.generation != generation_)
    p = {address / 4096, generation_, find_region(address).where};
  return p.where;
}

void recorder::overflow() {
  full_ = true;
  give_up("more than " + std::to_string(most_events_) + " events in the blocks that run, which is all that is recorded");
}

void recorder::append(std::vector<event>& thread, const event& e) {
  if (held_ >= most_events_) [[unlikely]] return overflow();
  ++held_;
  thread.push_back(e);
}

void recorder::append_to_all(block_recording& b, const event& e) {
  for (auto& t : b.threads)
    if (!ended(t)) append(t, e);
}

void recorder::thread_end(std::uint64_t block, std::uint32_t thread) {
  append(at(block).threads[thread], plain(event_kind::end, 0, 0));
}

void recorder::block_barrier(std::uint64_t block) {
  append_to_all(at(block), plain(event_kind::block_barrier, 0, 0));
}

void recorder::warp_sync(std::uint64_t block, std::uint32_t warp, std::uint32_t mask) {
  block_recording& b = at(block);
  for (std::uint32_t l = 0; l < 32; ++l) {
    const std::size_t i = std::size_t{warp} * 32 + l;
    if (mask >> l & 1 && i < b.threads.size()) append(b.threads[i], plain(event_kind::warp_sync, 0, mask));
  }
}

void recorder::blocks_barrier(std::uint64_t first, std::uint64_t count) {
  for (auto& [index, b] : running_)
    if (index - first < count)
      append_to_all(*b, plain(event_kind::blocks_barrier, 0, static_cast<std::uint32_t>(count)));
}

void recorder::fence(std::uint64_t block, std::uint32_t thread, scope reach) {
  append(at(block).threads[thread], plain(event_kind::fence, 0, static_cast<std::uint32_t>(reach)));
}

void recorder::arrive(std::uint64_t block, std::uint32_t thread, const arrival& a) {
  event e = plain(event_kind::arrival, site_index(a.site), a.mask);
  e.size = static_cast<std::uint64_t>(a.at) & 0xFFu;
  e.address = a.source;
  append(at(block).threads[thread], e);
}

void recorder::access(std::uint64_t block, std::uint32_t thread, const memory_access& a) {
  const bool atomic = a.kind >= access_kind::atomic_load;
  event e = plain(static_cast<event_kind>(a.kind), site_index(a.site),
                  atomic ? static_cast<std::uint32_t>(a.order) | std::uint32_t{a.operations} << 8 : 0);
  e.address = a.address & 0xFFFFFFFFFFFFu;
  e.size = a.size & 0xFFu;
  e.where = static_cast<std::uint64_t>(space_of(a.address)) & 7;
  e.is_volatile = a.is_volatile;
  append(at(block).threads[thread], e);
}

std::uint32_t recorder::node_index(std::uint32_t chain, std::uint32_t site) {
  const std::uint64_t key = std::uint64_t{chain} << 32 | site;
  auto& line = recent_nodes_[(site + chain * 67) % recent_nodes_.size()];
  if (line.first != key || line.second == 0)
    line = {key, node_numbers_.try_emplace(key, static_cast<std::uint32_t>(node_numbers_.size()) + 1).first->second};
  return line.second;
}

void recorder::call(std::uint64_t block, std::uint32_t thread, std::uintptr_t site) {
  if (!basic_blocks_) return;
  std::uint32_t& chain = at(block).chains[thread];
  const std::uint64_t key = std::uint64_t{chain} << 32 | site_index(site);
  const auto [it, fresh] = chain_numbers_.try_emplace(key, static_cast<std::uint32_t>(callers_.size()));
  if (fresh) callers_.push_back(chain);
  chain = it->second;
}

void recorder::leave(std::uint64_t block, std::uint32_t thread) {
  if (!basic_blocks_) return;
  std::uint32_t& chain = at(block).chains[thread];
  chain = callers_[chain];
}

void recorder::basic_block(std::uint64_t block, std::uint32_t thread, std::uintptr_t site) {
  if (!basic_blocks_) return;
  block_recording& b = at(block);
  const std::uint32_t index = site_index(site);
  append(b.threads[thread], plain(event_kind::basic_block, index, node_index(b.chains[thread], index)));
}

}  // namespace simt
