// SPDX-License-Identifier: Apache-2.0
/// \file own.hpp
/// Launches of the kernels that a caller's own reduction becomes; their text is in warpfold/_own_gpu.py.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <warpfold/gpu.hpp>

namespace wfpy::own {

/// `warpfold_own::view` of the text: an array, first the dimensions that answers differ in, then those that are reduced. Strides are in bytes.
struct view {
  std::array<const void*, 2> at{};
  std::int64_t kept = 0, reduced = 0;
  std::array<std::int64_t, wf::max_rank> length{};
  std::array<std::array<std::int64_t, wf::max_rank>, 2> stride{};
};

/// `warpfold_own::partition` of the text: which elements an answer has. Those between two offsets, or `length` of them, or all `n`.
struct partition {
  const void* offsets = nullptr;
  const std::int64_t* order = nullptr;
  std::int64_t bytes_of_offset = 0;
  std::uint64_t length = 0, n = 0;

  std::uint64_t most() const { return length != 0 ? length : n; }  ///< elements of one answer, where all have as many
};

/// An array as the kernels see it, a row of strides an input; `axes` rise. Dimensions that lie in one another become one.
inline view view_of(const std::array<const void*, 2>& at, const wf::extents& shape, const std::vector<const wf::extents*>& strides, const std::vector<int>& axes) {
  view of;
  of.at = at;
  std::int64_t next = 0;
  for (const bool reduced : {false, true}) {
    const std::int64_t first = next;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (std::binary_search(axes.begin(), axes.end(), static_cast<int>(d)) != reduced || shape[d] == 1) continue;
      bool joined = next > first;
      for (std::size_t k = 0; k < strides.size(); ++k) joined = joined && of.stride[k][static_cast<std::size_t>(next - 1)] == (*strides[k])[d] * shape[d];
      if (joined) --next;
      const auto to = static_cast<std::size_t>(next++);
      of.length[to] = shape[d] * (joined ? of.length[to] : 1);
      for (std::size_t k = 0; k < strides.size(); ++k) of.stride[k][to] = (*strides[k])[d];
    }
    (reduced ? of.reduced : of.kept) = next - first;
  }
  return of;
}

/// A reduction's kernels for one type of elements on one GPU, by the driver's functions.
struct kernels {
  static constexpr std::uint64_t few = 64, tile = 4096, most_parts = 256, most_blocks = 1 << 16, busy = 2048;
  enum which { each, warp, fold, finish };

  /// Elements of an answer that a warp takes alone: more where there are as many warps as keep a GPU busy.
  static std::uint64_t some_of(std::uint64_t answers) { return answers >= 8 * busy ? tile : tile / 4; }

  int threads = 0, state_bytes = 0;
  wf::dtype type = wf::dtype::f64;  ///< for answers, `values` numbers each
  int values = 1;
  void* context = nullptr;
  std::array<void*, 4> functions{};
  int (*launch)(void* f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared, void* stream, void** arguments, void** extra) = nullptr;
  int (*push)(void* context) = nullptr;  ///< null, as pop: a machine without contexts
  int (*pop)(void** context) = nullptr;

  /// In how many parts an answer's elements are folded: as many blocks as keep a GPU busy, of a tile or more each.
  static std::uint64_t parts_of(std::uint64_t answers, std::uint64_t n) {
    const auto up = [](std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; };
    return std::max<std::uint64_t>(1, std::min({up(n, tile), most_parts, up(busy, answers)}));
  }
  /// The states that parts of answers become, in bytes; none where a thread or a warp takes an answer's elements.
  std::uint64_t scratch(std::uint64_t answers, const partition& by) const {
    return by.most() <= some_of(answers) ? 0 : answers * parts_of(answers, by.most()) * static_cast<std::uint64_t>(state_bytes);
  }

  /// On the stream, one behind the other: the driver's first error, or 0. Answers of few elements and of more are told apart by the kernels where
  /// each may have another number.
  int put(const view& v, const partition& by, std::uint64_t answers, void* states, void* out, void* stream) const {
    int e = push != nullptr ? push(context) : 0;
    if (e != 0) return e;
    const auto one = [&](which f, std::uint64_t blocks, std::initializer_list<const void*> given) {
      std::array<void*, 6> arguments{};
      std::transform(given.begin(), given.end(), arguments.begin(), [](const void* p) { return const_cast<void*>(p); });
      if (e == 0)
        e = launch(functions[f], static_cast<unsigned>(std::min(blocks, most_blocks)), 1, 1, static_cast<unsigned>(threads), 1, 1, 0, stream, arguments.data(), nullptr);
    };
    const std::uint64_t most = by.most(), some = some_of(answers), uneven = by.offsets != nullptr ? most : most != 0 ? by.n % most : 0;
    const auto blocks = [&](int answers_of_block) { return (answers - 1) / static_cast<std::uint64_t>(answers_of_block) + 1; };
    if (by.offsets != nullptr || most <= few || (uneven != 0 && uneven <= few)) one(each, blocks(threads), {&v, &by, &answers, &out});
    if (most > few && (by.offsets != nullptr || most <= some || uneven > few)) one(warp, blocks(threads / 32), {&v, &by, &answers, &some, &out});
    if (most > some) {
      const std::uint64_t parts = parts_of(answers, most);
      one(fold, answers * parts, {&v, &by, &answers, &parts, &some, &states});
      one(finish, blocks(threads), {&by, &answers, &parts, &some, &states, &out});
    }
    void* before = nullptr;
    if (pop != nullptr) {
      const int popped = pop(&before);
      if (e == 0) e = popped;
    }
    return e;
  }
};

}  // namespace wfpy::own
