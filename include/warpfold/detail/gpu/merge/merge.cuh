// SPDX-License-Identifier: Apache-2.0
/// \file merge.cuh
/// The protocols of merges: how blocks leave their sums or states in the scratch memory, and the last block takes them. The library's merges are tally
/// and mailbox (grid.cuh), and state_boxes (levels.cuh).
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/device/grid.cuh>

namespace wf::device::inline WF_BUILD {

/// A merge of whole numbers, added in any order: a thread posts a word of its block, and one of the last block collects the sums of Count words, from
/// `first` on, over so many posts. It leaves the memory as it was before.
template <class M>
concept word_merge = requires(std::uint64_t* room, std::int64_t v, std::uint32_t posts, std::int64_t (&sum)[1]) {
  { M::post(room, 0, v) } -> std::same_as<void>;
  M::template collect<1>(room, 0, posts, sum);
};
/// A merge of one value of each block, added in an order that the number of blocks and of readers alone decides.
template <class M, class V>
concept value_merge = requires(std::uint64_t* room, V v, std::uint32_t blocks) {
  { M::post(room, v) } -> std::same_as<void>;
  { M::template collect<1>(room, blocks, blocks, blocks, v) } -> std::same_as<V>;  // posts, the reader, readers, its own value
};
/// A merge of states, which are taken one by one.
template <class M, class State>
concept state_merge_of = requires(std::uint64_t* room, const State& s, std::uint32_t block, State& to) {
  { M::words } -> std::convertible_to<int>;  // a block's
  { M::post(room, s) } -> std::same_as<void>;
  M::take(room, block, to);
};

}  // namespace wf::device::inline WF_BUILD
