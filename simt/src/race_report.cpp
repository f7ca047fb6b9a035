// SPDX-License-Identifier: Apache-2.0
#include <simt/race.hpp>

#include "race_state.hpp"

#include <map>
#include <tuple>

namespace simt {

namespace {

const char* word(access_kind k) {
  switch (k) {
    case access_kind::read: return "read";
    case access_kind::write: return "write";
    case access_kind::atomic_load: return "atomic load";
    case access_kind::atomic_store: return "atomic store";
    case access_kind::atomic_update: return "atomic update";
  }
  return "access";
}

std::string place(const race_side& s) {
  std::string text = access_of(s) + " at ";
  text += s.where.line == 0 ? "an unknown line" : s.where.file + ":" + std::to_string(s.where.line);
  return text + " by block " + std::to_string(s.block) + " thread " + std::to_string(s.thread);
}

auto position(const race_side& s) { return std::tuple(s.where.file, s.where.line, s.site, s.kind); }
auto key_of(const race_side& s) { return std::tuple(s.where.file, s.where.line, s.kind, s.is_volatile); }

}  // namespace

std::string access_of(const race_side& s) {
  return (s.is_volatile ? "volatile " : s.block_scope ? "block-scope " : "") + std::string(word(s.kind));
}

std::string to_string(const race& r) {
  return "race on " + std::string(r.where == space::shared ? "shared" : "global") + " memory in " +
         r.kernel + ": " + place(r.a) + ", and " + place(r.b) + " (" + std::to_string(r.count) + " times)";
}

std::vector<race> race_detector::races_by_site() const {
  std::vector<race> all;
  std::map<std::tuple<std::string, std::uintptr_t, int, std::uintptr_t, int, int>, std::size_t> at;
  for (race r : state_->found) {
    r.a.where = locate(r.a.site);
    r.b.where = locate(r.b.site);
    if (position(r.b) < position(r.a)) std::swap(r.a, r.b);
    auto [it, fresh] = at.try_emplace({r.kernel, r.a.site, int(r.a.kind), r.b.site, int(r.b.kind), int(r.where)},
                                      all.size());
    if (fresh)
      all.push_back(std::move(r));
    else
      all[it->second].count += r.count;
  }
  return all;
}

std::vector<race> race_detector::races() const {
  std::vector<race> all;
  using side = decltype(key_of(race_side{}));
  std::map<std::tuple<std::string, side, side, std::uintptr_t, std::uintptr_t, int>, std::size_t> at;
  for (race& r : races_by_site()) {
    // Where no line is known, instructions are what can be told apart.
    const std::uintptr_t a = r.a.where.line == 0 ? r.a.site : 0, b = r.b.where.line == 0 ? r.b.site : 0;
    auto [it, fresh] = at.try_emplace({r.kernel, key_of(r.a), key_of(r.b), a, b, int(r.where)}, all.size());
    if (fresh)
      all.push_back(std::move(r));
    else
      all[it->second].count += r.count;
  }
  return all;
}

}  // namespace simt
