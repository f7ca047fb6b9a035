// SPDX-License-Identifier: Apache-2.0
#include "adapted.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "../cpu/columns.hpp"
#include "../cpu/prove.hpp"

namespace wf::library {

namespace {

template <class Word>
void swap_words(std::byte* to, const std::byte* from, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    Word w;
    std::memcpy(&w, from + k * sizeof w, sizeof w);
    if constexpr (sizeof w == 2) w = __builtin_bswap16(w);
    if constexpr (sizeof w == 4) w = __builtin_bswap32(w);
    if constexpr (sizeof w == 8) w = __builtin_bswap64(w);
    std::memcpy(to + k * sizeof w, &w, sizeof w);
  }
}

void swap_bytes(dtype type, std::byte* to, const void* from, std::int64_t elements) {
  const dtype_info& i = info(type);
  const std::size_t words = static_cast<std::size_t>(elements) * (i.size / i.part);
  const auto* p = static_cast<const std::byte*>(from);
  if (i.part == 2) swap_words<std::uint16_t>(to, p, words);
  if (i.part == 4) swap_words<std::uint32_t>(to, p, words);
  if (i.part == 8) swap_words<std::uint64_t>(to, p, words);
}

}  // namespace

bool has_columns_of_numbers(const cpu::erased& r) { return r.columns != nullptr && r.columns->of_numbers; }

adapted::adapted(const cpu::erased& r, const void* self, const changes& c) : r_(r), self_(self), with_(c) {
  if (info(c.element).part == 1) with_.swapped = {};
  swaps_ = with_.swapped[0] || with_.swapped[1];
  changed_ = swaps_ || c.first != 0 || c.states || c.progress != nullptr;
  if (!changed_) return;
  functions_ = r;
  functions_.short_run = nullptr;
  functions_.few_run = nullptr;
  // A proof reads the elements as they are, and gives an answer; it is not asked for the index of one.
  functions_.proves = nullptr;
  const bool by_columns = c.states && !swaps_ && c.progress == nullptr && r.columns != nullptr;
  functions_.columns = by_columns ? r.columns->states : nullptr;
  functions_.identity = [](const void* p, void* s) { as(p).r_.identity(as(p).self_, s); };
  functions_.accumulate = [](const void* p, void* s, const void* const* x, std::int64_t n, std::int64_t first) {
    as(p).accumulate(s, x, n, first);
  };
  functions_.combine = [](const void* p, void* s, const void* later) { as(p).r_.combine(as(p).self_, s, later); };
  if (!c.states) {
    functions_.finish = [](const void* p, const void* s, std::int64_t n, void* out) {
      as(p).r_.finish(as(p).self_, s, n, out);
    };
    return;
  }
  functions_.result_size = told_bytes(r);
  functions_.finish = [](const void* p, const void* s, std::int64_t n, void* out) {
    const cpu::erased& f = as(p).r_;
    auto* to = static_cast<std::byte*>(out);
    std::memcpy(to, &n, 8);
    std::memset(to + 8, 0, told_bytes(f) - 8);
    if (f.normalise == nullptr) {
      std::memcpy(to + 8, s, f.state_size);
      return;
    }
    alignas(64) std::byte copy[most_state_bytes];
    std::memcpy(copy, s, f.state_size);
    f.normalise(copy);
    std::memcpy(to + 8, copy, f.state_size);
  };
}

/// A piece at a time by its proof. Where that tells nothing, the next pieces are not asked for theirs: 1, then 3, 7, … until one tells.
void adapted::add_proved(void* s, const void* x, std::int64_t n, std::int64_t first) const {
  constexpr std::int64_t least = 2048, most = 8192;
  const std::int64_t pieces = (n + most - 1) / most;
  std::int64_t passed = 0, to_pass = 0;
  for (std::int64_t k = 0, i = 0; k < pieces; ++k) {
    const std::int64_t m = (n - i) / (pieces - k);
    const void* const at = static_cast<const std::byte*>(x) + static_cast<std::size_t>(i) * r_.element_sizes[0];
    bool added = false;
    if (m >= least && to_pass == 0) {
      cpu::evidence found;
      r_.proves->gather(&at, m, false, found);
      added = r_.proves->add(found, m, s);
      passed = added ? 0 : std::min<std::int64_t>(2 * passed + 1, 63);
      to_pass = passed;
    } else if (to_pass > 0) {
      --to_pass;
    }
    if (!added) r_.accumulate(self_, s, &at, m, first + i);
    i += m;
  }
}

void adapted::accumulate(void* s, const void* const* x, std::int64_t n, std::int64_t first) const {
  first += with_.first;
  if (!swaps_) {
    if (with_.states && r_.proves != nullptr && r_.proves->add != nullptr) add_proved(s, x[0], n, first);
    else r_.accumulate(self_, s, x, n, first);
  } else {
    const std::size_t size = info(with_.element).size;
    thread_local std::vector<std::byte> buffers[cpu::max_inputs];
    for (std::int64_t i = 0; i < n; i += swapped_together) {
      const std::int64_t m = std::min(swapped_together, n - i);
      const void* here[cpu::max_inputs] = {};
      for (int k = 0; k < r_.inputs; ++k) {
        here[k] = static_cast<const std::byte*>(x[k]) + static_cast<std::size_t>(i) * size;
        if (!with_.swapped[static_cast<std::size_t>(k)]) continue;
        if (buffers[k].size() < static_cast<std::size_t>(m) * size) buffers[k].resize(static_cast<std::size_t>(m) * size);
        swap_bytes(with_.element, buffers[k].data(), here[k], m);
        here[k] = buffers[k].data();
      }
      r_.accumulate(self_, s, here, m, first + i);
    }
  }
  if (with_.progress == nullptr) return;
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(r_.inputs); ++k) bytes += r_.element_sizes[k];
  with_.progress->fetch_add(static_cast<std::uint64_t>(n) * bytes, std::memory_order_relaxed);
}

}  // namespace wf::library
