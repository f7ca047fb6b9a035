// SPDX-License-Identifier: Apache-2.0
/// \file counting.hpp
/// Counts what instrumented launches do, block by block as they end; of a block nothing is kept but its
/// share of the counters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "counters.hpp"
#include "recorded.hpp"
#include "request.hpp"

namespace lens {

struct source_place {
  std::string file;  ///< from the repository's root, or as the compiler was given it
  int line = 0;
  auto operator<=>(const source_place&) const = default;
};

struct line_counts {
  source_place where;
  counters counted;
};

/// One request as it was made, for drawings.
struct sample {
  request what;
  bool is_load = false, is_atomic = false;
  std::uint64_t block = 0;
  std::uint32_t warp = 0;
  source_place where;
};

struct kernel_counts {
  std::string name;  ///< with template arguments, without namespaces
  std::uint32_t grid[3] = {}, block[3] = {};  ///< the first launch's
  std::uint64_t shared_bytes = 0;             ///< dynamic, of the first launch
  std::uint64_t launches = 0, events = 0;
  counters total;
  std::vector<line_counts> lines;   ///< by file and line; they add up to the total
  std::uint64_t atomic_words = 0;   ///< different words of global memory that atomics updated
  std::uint64_t longest_queue = 0;  ///< updates of the one updated most often, by lanes
  sample worst_global;              ///< the load or store with the most sectors beyond those that would hold its bytes
  sample worst_shared;              ///< the request with the most conflicts; no lanes if there was none
};

/// Set as simt::options::watch, launch, ask.
class counting : public recorded {
 public:
  counting();
  ~counting() override;
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;

  /// Every kernel that ran, in the order of the first launches; a kernel's launches add up.
  std::vector<kernel_counts> kernels() const;

  /// False if a block took a path that shows, only now, that lanes of an earlier block meet elsewhere than
  /// they were taken to. Then forget_counts() and launch the same again: the flow graphs are kept.
  bool settled() const;
  void forget_counts();

  void launch_begin(const simt::launch_info&) override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Launches until the counts are settled: a second time at most, in practice. `launch` runs the same each time.
template <class Launch>
std::vector<kernel_counts> count(const Launch& launch) {
  counting c;
  simt::options& options = simt::current_options();
  simt::observer* const before = options.watch;
  struct put_back {
    simt::options& o;
    simt::observer* w;
    ~put_back() { o.watch = w; }
  } guard{options, before};
  options.watch = &c;
  launch();
  for (int again = 0; again < 4 && !c.settled(); ++again) {
    c.forget_counts();
    launch();
  }
  return c.kernels();
}

}  // namespace lens
