// SPDX-License-Identifier: Apache-2.0
/// \file own_table.hpp
/// Users' reductions on any machine, against the same reductions folded one element after the other.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "machine.hpp"
#include "../support/own_reductions.cuh"

inline constexpr own all_own[] = {own::longest_run, own::polynomial, own::wide_state,
                                  own::triples,     own::weighted,   own::in_order};
inline std::string own_name(const ::testing::TestParamInfo<own>& given) {
  constexpr const char* names[] = {"longest_run", "polynomial", "wide_state", "triples", "weighted", "in_order"};
  return names[static_cast<int>(given.param)];
}

inline std::size_t own_size(own which) {
  switch (which) {
    case own::polynomial: return 1;
    case own::wide_state: return 2;
    case own::triples: return 12;
    case own::in_order: return 8;
    default: return 4;
  }
}

template <class R, class... T>
std::uint64_t folded(std::int64_t n, std::int64_t stride, const T*... x) {
  const R r;
  auto s = r.identity();
  for (std::int64_t i = 0; i < n; ++i) s = r.combine(s, r.lift(x[i * stride]..., i));
  return static_cast<std::uint64_t>(r.finish(s, n));
}

inline std::uint64_t own_answer(own which, const unsigned char* x, const unsigned char* y, std::int64_t n, std::int64_t stride) {
  const auto at = [&]<class T>(const T*) { return reinterpret_cast<const T*>(x); };
  const auto* i = at(static_cast<const std::int32_t*>(nullptr));
  switch (which) {
    case own::longest_run: return folded<longest_run>(n, stride, i);
    case own::polynomial: return folded<polynomial>(n, stride, at(static_cast<const std::uint8_t*>(nullptr)));
    case own::wide_state: return folded<wide_state>(n, stride, at(static_cast<const std::uint16_t*>(nullptr)));
    case own::triples: return folded<triples>(n, stride, at(static_cast<const triple*>(nullptr)));
    case own::weighted: return folded<weighted>(n, stride, i, reinterpret_cast<const std::int32_t*>(y));
    case own::in_order: return folded<in_order<std::uint64_t>>(n, stride, at(static_cast<const std::uint64_t*>(nullptr)));
    case own::racing: break;
  }
  return 0;
}

inline void check_own(const machine& m, own which, const std::vector<std::int64_t>& lengths) {
  const std::size_t size = own_size(which);
  std::mt19937_64 g(7);
  for (const std::int64_t n : lengths) {
    for (const std::int64_t stride : {1, 2}) {
      if (n > 5003 && (stride != 1 || which == own::wide_state) && n > 50000) continue;
      const std::size_t skipped = n % 3 == 0 ? 0 : 1;
      const std::size_t bytes = (skipped + static_cast<std::size_t>(n * stride) + 1) * size;
      std::vector<std::uint64_t> room(bytes / 8 + 2), room_y(bytes / 8 + 2);  // aligned
      auto* x = reinterpret_cast<unsigned char*>(room.data());
      auto* y = reinterpret_cast<unsigned char*>(room_y.data());
      for (std::size_t k = 0; k < bytes; ++k) {
        x[k] = static_cast<unsigned char>(which == own::longest_run ? k % 4 == 0 && g() % 9 == 0 : g());
        y[k] = static_cast<unsigned char>(g());
      }
      void *dx = m.allocate(bytes), *dy = m.allocate(bytes), *out = m.allocate(8);
      ASSERT_EQ(m.upload(dx, x, bytes), "");
      ASSERT_EQ(m.upload(dy, y, bytes), "");
      const std::uint64_t want = own_answer(which, x + skipped * size, y + skipped * size, n, stride);
      struct grid { std::uint32_t blocks, threads; };
      for (const grid launch : {grid{0, 0}, grid{1, 32}, grid{1, 96}, grid{3, 64}, grid{7, 128}}) {
        if (which == own::wide_state && n > 5003 && launch.blocks == 1) continue;  // slow on simt
        std::uint64_t got = 0xa5;
        ASSERT_EQ(m.reduce_own({which, static_cast<unsigned char*>(dx) + skipped * size, static_cast<unsigned char*>(dy) + skipped * size,
                                n, stride, launch.blocks, launch.threads, out}), "");
        ASSERT_EQ(m.download(&got, out, 8), "");
        ASSERT_EQ(got, want) << "n = " << n << ", stride " << stride << ", " << launch.blocks << " blocks of " << launch.threads;
      }
      m.free(dx);
      m.free(dy);
      m.free(out);
    }
  }
}
