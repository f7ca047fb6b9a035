// SPDX-License-Identifier: Apache-2.0
/// \file race.hpp
/// Finds data races in instrumented launches: two accesses to a byte, one of them a write, not both
/// atomic to each other, and nothing between them that orders them (docs/lens.md tells what orders).
#pragma once

#include <simt/machine.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace simt {

/// One of the two accesses of a race; block and thread are those of the first time it was seen.
struct race_side {
  access_kind kind = access_kind::read;
  bool is_volatile = false;
  bool block_scope = false;  ///< an atomic for its own block only
  std::uintptr_t site = 0;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;
  source_line where;
};

/// A pair of accesses in the source that raced, `count` times. Two executions of one line are a pair too.
struct race {
  std::string kernel;
  race_side a, b;  ///< ordered by file and line
  space where = space::unknown;
  std::uintptr_t address = 0;  ///< where it was the first time
  std::uint64_t count = 0;
};

std::string to_string(const race&);
/// What one side did, as "volatile read" or "block-scope atomic update".
std::string access_of(const race_side&);

namespace detail {
class race_state;
}

/// Set as options::watch (alone or in a composite_observer), launch, then ask.
class race_detector : public observer {
 public:
  using region_finder = std::function<region(std::uintptr_t)>;

  /// `find` says where an address lies; it is asked once a page and block.
  explicit race_detector(region_finder find = find_region);
  ~race_detector() override;
  race_detector(const race_detector&) = delete;
  race_detector& operator=(const race_detector&) = delete;

  /// The pairs of source lines that raced in the launches since clear(), in the order found. Pairs that
  /// share kernel, lines, kinds and space are one.
  std::vector<race> races() const;
  /// The same, but a pair for each two instructions.
  std::vector<race> races_by_site() const;
  void clear();

  void launch_begin(const launch_info&) override;
  void launch_end() override;
  void block_begin(std::uint64_t block) override;
  void block_end(std::uint64_t block) override;
  void block_barrier(std::uint64_t block) override;
  void warp_sync(std::uint64_t block, std::uint32_t warp, std::uint32_t mask) override;
  void blocks_barrier(std::uint64_t first, std::uint64_t count) override;
  void fence(std::uint64_t block, std::uint32_t thread, scope) override;
  void access(std::uint64_t block, std::uint32_t thread, const memory_access&) override;

 private:
  std::unique_ptr<detail::race_state> state_;
};

}  // namespace simt
