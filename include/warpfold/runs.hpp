// SPDX-License-Identifier: Apache-2.0
/// \file runs.hpp
/// Runs of equal neighbours among keys: the groups of a sorted table. Each run is a segment, so every reduction takes them: one
/// search gives the unique keys and their counts, and any number of reductions use its segments.
///
///     wf::runs<int> groups = wf::find_runs(keys);                          // 7 7 7 9 2 2: keys 7 9 2, offsets 0 3 4 6
///     auto sums = wf::sum(values, wf::segments{groups.offsets});           // an answer for each run
///     auto spreads = wf::std_dev(values, wf::segments{groups.offsets});
///     std::int64_t first = groups.count(0);                                // 3
///
/// On a GPU: gpu.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <warpfold/config.hpp>

namespace wf {

/// The types of keys: integers, enumerations, and structs of 2, 4, 8 or 16 bytes without padding that are made of them. Keys are equal where
/// their bytes are. Floats are no keys, since their zeros are equal and their NaNs are not: pass their bits. For bool pass bytes.
template <class K>
concept run_key = !std::is_same_v<K, bool> && std::is_trivially_copyable_v<K> && std::has_unique_object_representations_v<K> &&
                  (sizeof(K) == 1 || sizeof(K) == 2 || sizeof(K) == 4 || sizeof(K) == 8 || sizeof(K) == 16);

/// Runs of equal neighbours among keys, in their order. A key whose elements are not all neighbours has several runs.
template <run_key K>
struct runs {
  std::vector<K> keys;                ///< the key of each run
  std::vector<std::int64_t> offsets;  ///< run k is the elements offsets[k] … offsets[k + 1]; one more than there are runs

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(keys.size()); }  ///< runs
  /// Elements of run k, unchecked.
  std::int64_t count(std::int64_t k) const { return offsets[static_cast<std::size_t>(k) + 1] - offsets[static_cast<std::size_t>(k)]; }
};

/// The runs of a contiguous range of keys. An empty range has no runs, and offsets are {0}. Throws nothing but std::bad_alloc.
///
///     auto groups = wf::find_runs(std::vector<int>{7, 7, 9});   // keys {7, 9}, offsets {0, 2, 3}
template <std::ranges::contiguous_range X>
  requires(std::ranges::sized_range<X>)
auto find_runs(const X& keys) {
  using K = std::remove_cv_t<std::ranges::range_value_t<X>>;
  static_assert(run_key<K>, "warpfold: keys are integers, enumerations or structs of them without padding, of 1, 2, 4, 8 or 16 bytes");
  const auto* const x = std::ranges::data(keys);
  const auto n = static_cast<std::int64_t>(std::ranges::size(keys));
  runs<K> found;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i != 0 && __builtin_memcmp(x + i, x + i - 1, sizeof(K)) == 0) continue;
    found.keys.push_back(x[i]);
    found.offsets.push_back(i);
  }
  found.offsets.push_back(n);
  return found;
}

}  // namespace wf
