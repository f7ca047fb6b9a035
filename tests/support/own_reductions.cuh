// SPDX-License-Identifier: Apache-2.0
/// \file own_reductions.cuh
/// Reductions as users write them, for host and device: the host's answers are the reference.
#pragma once

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/reduction.hpp>

/// Not commutative, 28 bytes of state and padding.
struct longest_run {
  struct state {
    std::int32_t first, last;
    std::int64_t prefix, suffix, best, length;
  };
  WF_HD state identity() const { return {}; }
  WF_HD state lift(std::int32_t x, std::int64_t) const { return {x, x, 1, 1, 1, 1}; }
  WF_HD state combine(const state& a, const state& b) const {
    if (a.length == 0 || b.length == 0) return a.length == 0 ? b : a;
    const std::int64_t bridge = a.last == b.first ? a.suffix + b.prefix : 0;
    std::int64_t best = a.best > b.best ? a.best : b.best;
    if (bridge > best) best = bridge;
    return {a.first, b.last, a.prefix == a.length && bridge != 0 ? a.length + b.prefix : a.prefix,
            b.suffix == b.length && bridge != 0 ? b.length + a.suffix : b.suffix, best, a.length + b.length};
  }
  WF_HD std::int64_t finish(const state& s, std::int64_t n) const { return s.best + (s.length == n ? 0 : -1000); }
};

/// A hash that depends on the order of all elements, modulo 2^64; of bytes.
struct polynomial {
  struct state {
    std::uint64_t value, power;
  };
  WF_HD state identity() const { return {0, 1}; }
  WF_HD state lift(std::uint8_t x, std::int64_t) const { return {x + 1u, 0x9e3779b97f4a7c15u}; }
  WF_HD state combine(const state& a, const state& b) const {
    return {a.value * b.power + b.value, a.power * b.power};
  }
  WF_HD std::uint64_t finish(const state& s, std::int64_t) const { return s.value; }
};

/// A state of 520 bytes, too large for 264 boxes of the mailbox.
struct wide_state {
  static constexpr bool commutes = true;
  struct state {
    std::uint32_t count[130];
  };
  WF_HD state identity() const { return {}; }
  WF_HD state lift(std::uint16_t x, std::int64_t) const {
    state s = {};
    s.count[x % 130] = x;
    return s;
  }
  WF_HD state combine(state a, const state& b) const {
    for (int k = 0; k < 130; ++k) a.count[k] += b.count[k];
    return a;
  }
  WF_HD std::uint64_t finish(const state& s, std::int64_t n) const {
    std::uint64_t h = static_cast<std::uint64_t>(n);
    for (int k = 0; k < 130; ++k) h = h * 31 + s.count[k];
    return h;
  }
};

/// Elements of 12 bytes, which no pack of 16 holds; a state of 3 bytes.
struct triple {
  std::int32_t a, b, c;
};
struct triples {
  static constexpr bool commutes = true;
  struct state {
    std::uint8_t low[3];
  };
  WF_HD state identity() const { return {}; }
  WF_HD state lift(triple t, std::int64_t i) const {
    return {{static_cast<std::uint8_t>(t.a), static_cast<std::uint8_t>(t.b + i), static_cast<std::uint8_t>(t.c)}};
  }
  WF_HD state combine(state x, const state& y) const {
    for (int k = 0; k < 3; ++k) x.low[k] = static_cast<std::uint8_t>(x.low[k] + y.low[k]);
    return x;
  }
  WF_HD std::uint64_t finish(const state& s, std::int64_t) const {
    return static_cast<std::uint64_t>(s.low[0]) << 16 | static_cast<std::uint64_t>(s.low[1]) << 8 | s.low[2];
  }
};

/// Two inputs, and the index.
struct weighted {
  static constexpr bool commutes = true;
  WF_HD std::uint64_t identity() const { return 0; }
  WF_HD std::uint64_t lift(std::int32_t x, std::int32_t y, std::int64_t i) const {
    return static_cast<std::uint64_t>(std::int64_t{x} * y) * static_cast<std::uint64_t>(i + 1);
  }
  WF_HD std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return a + b; }
  WF_HD std::uint64_t finish(std::uint64_t s, std::int64_t) const { return s; }
};

/// The first and the last element with their indexes: order and indexes both.
template <class T>
struct in_order {
  struct state {
    std::int64_t first, last;
    std::int64_t gaps;  ///< neighbours whose indexes do not follow each other
  };
  WF_HD state identity() const { return {-1, -1, 0}; }
  WF_HD state lift(T, std::int64_t i) const { return {i, i, 0}; }
  WF_HD state combine(const state& a, const state& b) const {
    if (a.first < 0 || b.first < 0) return a.first < 0 ? b : a;
    return {a.first, b.last, a.gaps + b.gaps + (a.last + 1 == b.first ? 0 : 1)};
  }
  WF_HD std::int64_t finish(const state& s, std::int64_t n) const {
    return n == 0 ? -1 : s.gaps == 0 && s.first == 0 && s.last == n - 1 ? 1 : 0;
  }
};

/// All threads count in one word, one after the other or at once: a race, for the detector to find.
struct racing {
  static constexpr bool commutes = true;
  std::uint64_t* counter;
  WF_HD std::uint64_t identity() const { return 0; }
  WF_HD std::uint64_t lift(std::int32_t x, std::int64_t) const {
    *counter += 1;
    return static_cast<std::uint64_t>(x);
  }
  WF_HD std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return a + b; }
  WF_HD std::uint64_t finish(std::uint64_t s, std::int64_t) const { return s; }
};
