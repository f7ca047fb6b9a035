// SPDX-License-Identifier: Apache-2.0
/// \file contenders.hpp
/// What warpfold is measured beside. At DRAM sizes each gets as many threads as warpfold, by its own
/// pool: a MiB at a time, the parts' sums added.
#pragma once

#include <Eigen/Core>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <vector>

#include <warpfold/executor.hpp>

namespace bench {

template <class T>
T by_loop(std::span<const T> x) {
  T sum = 0;
  for (const T v : x) sum += v;
  return sum;
}

template <class T>
T by_kahan(std::span<const T> x) {
  T sum = 0, lost = 0;
  for (const T v : x) {
    const T y = v - lost, t = sum + y;
    lost = (t - sum) - y;
    sum = t;
  }
  return sum;
}

template <class T>
T by_std_reduce(std::span<const T> x) {
  return std::reduce(x.begin(), x.end());
}

template <class T>
T by_eigen(std::span<const T> x) {
  return Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>(x.data(), static_cast<Eigen::Index>(x.size())).sum();
}

/// The floor: bytes loaded, 512 at a time, folded so that no load can be left out. With Ahead, lines are
/// asked for that many bytes before; which way is fastest depends on the machine, and the fastest counts.
template <std::size_t Ahead>
std::uint64_t read_part(const void* p, std::size_t bytes) {
  constexpr std::size_t words_a_row = 512 / sizeof(std::uint64_t);
  const auto* w = static_cast<const std::uint64_t*>(p);
  const std::size_t words = bytes / sizeof(std::uint64_t);
  std::uint64_t lanes[words_a_row] = {};
  std::size_t i = 0;
  for (; i + words_a_row <= words; i += words_a_row) {
    if constexpr (Ahead != 0)
      for (std::size_t line = 0; line < 512; line += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(w + i) + Ahead + line);
    for (std::size_t j = 0; j < words_a_row; ++j) lanes[j] |= w[i + j];
  }
  std::uint64_t all = 0;
  for (const std::uint64_t l : lanes) all |= l;
  for (; i < words; ++i) all |= w[i];
  return all;
}

/// The same by four quarters, a cache line of each in turn: the hardware's prefetchers follow every one.
inline std::uint64_t read_quarters(const void* p, std::size_t bytes) {
  constexpr std::size_t line = 64 / sizeof(std::uint64_t), ahead = 512 / sizeof(std::uint64_t);
  const auto* w = static_cast<const std::uint64_t*>(p);
  const std::size_t words = bytes / sizeof(std::uint64_t), quarter = words / 4 / line * line;
  std::uint64_t lanes[4 * line] = {};
  for (std::size_t i = 0; i < quarter; i += line)
    for (std::size_t r = 0; r < 4; ++r) {
      __builtin_prefetch(w + r * quarter + i + ahead);
      for (std::size_t j = 0; j < line; ++j) lanes[r * line + j] |= w[r * quarter + i + j];
    }
  std::uint64_t all = 0;
  for (const std::uint64_t l : lanes) all |= l;
  for (std::size_t i = 4 * quarter; i < words; ++i) all |= w[i];
  return all;
}

/// f(part of x) for every MiB of x, on as many threads as warpfold's pool has, or on this one.
template <class T, class F>
auto in_parts(std::span<const T> x, bool all_threads, F f) {
  using result = decltype(f(x));
  if (!all_threads) return f(x);
  static constexpr std::size_t part = (std::size_t{1} << 20) / sizeof(T);
  struct job {
    std::span<const T> x;
    F& f;
    std::vector<result> results;
  } j{x, f, std::vector<result>((x.size() + part - 1) / part)};
  auto& pool = wf::cpu::default_executor();
  pool.run(static_cast<std::int64_t>(j.results.size()), pool.concurrency(), [](void* a, std::int64_t k) {
    job& mine = *static_cast<job*>(a);
    const auto first = static_cast<std::size_t>(k) * part;
    mine.results[static_cast<std::size_t>(k)] = mine.f(mine.x.subspan(first, std::min(part, mine.x.size() - first)));
  }, &j);
  return std::accumulate(j.results.begin(), j.results.end(), result{});
}

}  // namespace bench
