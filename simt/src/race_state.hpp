// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simt/race.hpp>

#include "race_shadow.hpp"

namespace simt::detail {

class race_state {
 public:
  explicit race_state(race_detector::region_finder f) : find(std::move(f)) { sites.push_back({}); }

  void begin_launch(const launch_info&);
  void access(std::uint64_t block, std::uint32_t thread, const memory_access&);

  struct known_site {
    std::uintptr_t address = 0;
    access_kind kind = access_kind::read;
    bool is_volatile = false;
    bool block_scope = false;
  };

  race_detector::region_finder find;
  clocks order;
  shadow memory;
  std::uint64_t generation = 0;  ///< counts blocks and launches: shared memory changes hands with each
  std::string kernel;
  std::vector<race> found;  ///< by pair of sites, without source lines
  std::unordered_map<std::uint64_t, std::size_t> found_here;  ///< in this launch

 private:
  std::uint32_t site_index(const memory_access&);
  void classify(page&, std::uintptr_t address);
  bool ordered(const block_clock&, std::uint32_t thread, const record&) const;
  void report(const block_clock&, std::uint32_t thread, const record& before, std::uint32_t site,
              std::uintptr_t address, space);
  void check(const block_clock&, std::uint32_t thread, const record_set&, const record& now,
             bool writers_only, stamp floor, std::uintptr_t word, space, std::uintptr_t atomic_at = 0);
  void check(const block_clock&, std::uint32_t thread, const record&, const record& now, stamp floor,
             std::uintptr_t word, space);
  void check_reach(const block_clock&, std::uint32_t thread, const overflow&, const record& now, stamp floor,
                   std::uintptr_t word, space);
  void touch(const block_clock&, std::uint32_t thread, cell&, const record& now,
             std::uintptr_t atomic_at, page&, std::uintptr_t word);

  std::vector<known_site> sites;  ///< number 0: none
  std::unordered_map<std::uintptr_t, std::uint32_t> site_numbers;
  std::array<std::pair<std::uintptr_t, std::uint32_t>, 1024> site_cache{};
};

}  // namespace simt::detail
