// SPDX-License-Identifier: Apache-2.0
// Copies by way of pinned memory, onto a device that copies as late as it may: a piece goes when somebody waits for it, or when all is
// over. So a buffer that is filled again too early, or given back too early, tells.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/gpu/staged_copy.hpp"

namespace {

namespace staged = wf::staged;

struct late_device {
  struct piece {
    void* to = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<std::byte> memory = std::vector<std::byte>(staged::piece_bytes * staged::most_lanes * staged::buffers);
  std::array<std::array<std::vector<piece>, staged::buffers>, staged::most_lanes> queued;  // more than one: a wait was lost
  std::atomic<int> pieces{0}, lanes{0};
  int fails_at = -1;  // that piece, by an error

  int begin(int) {
    ++lanes;
    return 0;
  }
  std::byte* pinned(int lane, int buffer) { return memory.data() + staged::piece_bytes * static_cast<std::size_t>(lane * staged::buffers + buffer); }
  std::vector<piece>& queue(int lane, int buffer) { return queued[static_cast<std::size_t>(lane)][static_cast<std::size_t>(buffer)]; }
  int enqueue(void* to, std::size_t bytes, int lane, int buffer) {
    if (pieces++ == fails_at) return 7;
    queue(lane, buffer).push_back({to, bytes});
    return 0;
  }
  int wait(int lane, int buffer) {
    for (const piece& p : queue(lane, buffer)) std::memcpy(p.to, pinned(lane, buffer), p.bytes);
    queue(lane, buffer).clear();
    return 0;
  }
  bool idle() const {
    return std::ranges::all_of(queued, [](const auto& lane) { return std::ranges::all_of(lane, [](const auto& q) { return q.empty(); }); });
  }
};

std::vector<std::byte> bytes_of(std::size_t n) {
  std::vector<std::byte> x(n);
  std::uint32_t state = static_cast<std::uint32_t>(n) + 1;
  for (std::byte& b : x) b = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return x;
}

constexpr std::size_t piece = staged::piece_bytes;

}  // namespace

TEST(staged_copy, copies_every_byte_whatever_the_length_and_the_threads) {
  const auto from = bytes_of(17 * piece + 3);
  for (const int threads : {1, 2, 3, 8}) {
    wf::cpu::thread_pool pool(threads);
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, piece - 1, piece, piece + 1, 4 * piece, 9 * piece - 7, 17 * piece + 3}) {
      std::vector<std::byte> to(n + 64, std::byte{0x5a});
      late_device d;
      ASSERT_EQ(staged::copy(d, pool, to.data(), from.data(), n), 0);
      ASSERT_TRUE(d.idle()) << n << " bytes, " << threads << " threads: the buffers are given back, and something is still to be read from them";
      ASSERT_EQ(std::memcmp(from.data(), to.data(), n), 0) << n << " bytes, " << threads << " threads";
      ASSERT_TRUE(std::all_of(to.begin() + static_cast<std::ptrdiff_t>(n), to.end(), [](std::byte b) { return b == std::byte{0x5a}; })) << n;
      ASSERT_EQ(d.pieces, static_cast<int>((n + piece - 1) / piece));
      ASSERT_LE(d.lanes, std::min(staged::most_lanes, std::max(d.pieces.load(), 1)));
      if (n > 8 * piece) {
        ASSERT_EQ(d.lanes, std::min(pool.concurrency(), staged::most_lanes));
      }
    }
  }
}

TEST(staged_copy, tells_the_first_error_and_waits_for_what_is_under_way) {
  wf::cpu::thread_pool pool(2);
  const auto from = bytes_of(12 * piece);
  std::vector<std::byte> to(from.size());
  for (const int at : {0, 1, 5, 11}) {
    late_device d;
    d.fails_at = at;
    EXPECT_EQ(staged::copy(d, pool, to.data(), from.data(), from.size()), 7) << at;
    EXPECT_TRUE(d.idle()) << at;
    EXPECT_LE(d.pieces, 12);
  }
}
