// SPDX-License-Identifier: Apache-2.0
/// \file levels.hpp
/// A kernel of a user's for each level, and what it must answer; levels.cuh is compiled for every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../support/own_reductions.cuh"

enum class level { thread, warp, block, cluster, grid };
inline constexpr level all_levels[] = {level::thread, level::warp, level::block, level::cluster, level::grid};
inline const char* name_of(level l) {
  constexpr const char* names[] = {"thread", "warp", "block", "cluster", "grid"};
  return names[static_cast<int>(l)];
}
/// States of 16 bytes (order matters), of 48 (order matters), and of 3.
enum class kind { polynomial, longest_run, triples };

struct level_request {
  level at;
  kind what;
  std::int64_t n;
  unsigned blocks, threads, cluster;
  unsigned wide = 0, high = 0;  ///< for level::block: threads along x and y, if not all along x
};
/// An answer for each group of the level: a thread, warp, block or cluster, or the grid.
struct level_answers {
  std::string error;
  std::vector<std::uint64_t> got;
};
inline std::int64_t groups_of(const level_request& r) {
  switch (r.at) {
    case level::thread: return std::int64_t{r.blocks} * r.threads;
    case level::warp: return std::int64_t{r.blocks} * r.threads / 32;
    case level::block: return r.blocks;
    case level::cluster: return r.blocks / r.cluster;
    case level::grid: return 1;
  }
  return 0;
}

/// Threads take stretches of this many elements, one after the other; the last ones may find none left.
inline std::int64_t stretch_of(const level_request& r) {
  const std::int64_t threads = std::int64_t{r.blocks} * r.threads;
  return (r.n + threads - 1) / threads;
}

template <class R, class T>
std::vector<std::uint64_t> folded_groups(const level_request& q, const std::vector<T>& x) {
  const R r;
  const std::int64_t groups = groups_of(q), threads = std::int64_t{q.blocks} * q.threads;
  const std::int64_t each = stretch_of(q) * (threads / groups);
  std::vector<std::uint64_t> want;
  for (std::int64_t g = 0; g < groups; ++g) {
    auto s = r.identity();
    std::int64_t count = 0;
    for (std::int64_t i = g * each; i < std::min(q.n, (g + 1) * each); ++i, ++count)
      s = r.combine(s, r.lift(x[static_cast<std::size_t>(i)], i));
    want.push_back(static_cast<std::uint64_t>(r.finish(s, count)));
  }
  return want;
}

template <class T>
std::vector<T> level_data(std::int64_t n) {
  std::mt19937_64 g(11);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (auto& v : x) {
    if constexpr (std::is_same_v<T, triple>) v = {static_cast<int>(g()), static_cast<int>(g()), static_cast<int>(g())};
    else if constexpr (sizeof(T) == 4) v = static_cast<T>(g() % 9 == 0);
    else v = static_cast<T>(g());
  }
  return x;
}

level_answers run_on_simt(const level_request& r);
level_answers run_on_lens(const level_request& r);
level_answers run_on_gpu(const level_request& r);
/// What is wrong with launches that need more shared memory than CUDA allows without being asked; empty if nothing is.
std::string much_shared_memory_on_simt();
std::string much_shared_memory_on_gpu();
/// Empty if there is a GPU, else why there is none.
std::string why_no_gpu();
