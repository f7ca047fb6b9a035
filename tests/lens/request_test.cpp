// SPDX-License-Identifier: Apache-2.0
// The rules of wavefronts and sectors, as they were measured on an H100: each line of the tables is a
// pattern of addresses and what the hardware counted.
#include <lens/drawing.hpp>
#include <lens/request.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace {

using lens::request;

request make(std::uint32_t size, const std::function<std::uint64_t(unsigned)>& address,
             std::uint32_t mask = ~0u) {
  request r;
  r.mask = mask;
  r.size = size;
  for (unsigned l = 0; l < 32; ++l) r.address[l] = address(l);
  return r;
}

struct shared_case {
  std::string name;
  request made;
  unsigned wavefronts, ideal;
};

constexpr std::uint32_t even = 0x55555555u, low_half = 0xFFFFu, low_quarter = 0xFFu;

std::vector<shared_case> shared_cases() {
  std::vector<shared_case> all;
  const auto add = [&](std::string name, const request& r, unsigned wavefronts, unsigned ideal) {
    all.push_back({std::move(name), r, wavefronts, ideal});
  };
  const auto stride = [](unsigned bytes) { return [=](unsigned l) { return std::uint64_t{l} * bytes; }; };
  for (const auto& [words, expected] :
       {std::pair{1u, 1u}, {2u, 2u}, {4u, 4u}, {8u, 8u}, {16u, 16u}, {32u, 32u}, {33u, 1u}})
    add("4 bytes, stride " + std::to_string(words), make(4, stride(4 * words)), expected, 1);
  add("4 bytes, all equal", make(4, [](unsigned) { return 64; }), 1, 1);
  add("4 bytes, two words of one bank", make(4, [](unsigned l) { return l % 2 * 128; }), 2, 1);
  add("4 bytes, the same word of eight blocks of a cluster", make(4, [](unsigned l) { return l * (9u << 20); }, low_quarter), 1, 1);
  add("4 bytes, two words of a bank in each of four blocks",
      make(4, [](unsigned l) { return l / 2 * (9u << 20) + l % 2 * 128; }, low_quarter), 2, 1);
  add("4 bytes, no lane", make(4, stride(4), 0), 0, 0);
  add("1 byte, four lanes a word", make(1, stride(1)), 1, 1);
  add("2 bytes, two lanes a word", make(2, stride(2)), 1, 1);
  add("2 bytes, stride of 128", make(2, stride(128)), 32, 1);
  add("8 bytes, linear", make(8, stride(8)), 2, 2);
  add("8 bytes, stride of 16", make(8, stride(16)), 4, 2);
  add("8 bytes, even lanes only", make(8, stride(8), even), 2, 2);
  add("8 bytes, lanes 0 to 15 only", make(8, stride(8), low_half), 1, 1);
  add("8 bytes, halves equal", make(8, [](unsigned l) { return l % 16 * 8; }), 2, 2);
  add("8 bytes, pairs equal", make(8, [](unsigned l) { return l / 2 * 8; }), 1, 1);
  add("8 bytes, all equal", make(8, [](unsigned) { return 8; }), 1, 1);
  add("16 bytes, linear", make(16, stride(16)), 4, 4);
  add("16 bytes, stride of 32", make(16, stride(32)), 8, 4);
  add("16 bytes, stride of 128", make(16, stride(128)), 32, 4);
  add("16 bytes, lanes 0 to 7 only", make(16, stride(16), low_quarter), 1, 1);
  add("16 bytes, l & ~2 equal", make(16, [](unsigned l) { return (l & ~2u) * 16; }), 4, 4);
  add("16 bytes, pairs equal", make(16, [](unsigned l) { return l / 2 * 16; }), 2, 2);
  add("16 bytes, fours equal", make(16, [](unsigned l) { return l / 4 * 16; }), 2, 2);
  add("16 bytes, all equal", make(16, [](unsigned) { return 0; }), 2, 2);
  return all;
}

TEST(shared, wavefronts_are_those_of_the_hardware) {
  for (const shared_case& c : shared_cases()) {
    const lens::shared_cost cost = cost_in_shared(c.made);
    EXPECT_EQ(cost.wavefronts, c.wavefronts) << c.name;
    EXPECT_EQ(cost.ideal, c.ideal) << c.name;
    const std::vector<unsigned> drawn = lens::passes_of(c.made);
    EXPECT_EQ(*std::max_element(drawn.begin(), drawn.end()), c.wavefronts) << c.name << ", in the drawing of banks";
    // Where in shared memory it lies does not matter, by whole rows of banks.
    request moved = c.made;
    for (auto& a : moved.address) a += 0x7f0000008000u;
    EXPECT_EQ(cost_in_shared(moved).wavefronts, c.wavefronts) << c.name << ", moved";
  }
}

TEST(shared, any_32_words_of_different_banks_are_one_wavefront) {
  for (unsigned odd = 1; odd < 64; odd += 2)
    EXPECT_EQ(cost_in_shared(make(4, [&](unsigned l) { return (l * odd % 32 + 32 * (l % 3)) * 4; })).wavefronts, 1u);
}

struct global_case {
  std::string name;
  request made;
  unsigned sectors, useful;
};

TEST(global, sectors_are_those_of_the_hardware) {
  const global_case cases[] = {
      {"4 bytes in a row", make(4, [](unsigned l) { return l * 4; }), 4, 128},
      {"16 bytes in a row", make(16, [](unsigned l) { return l * 16; }), 16, 512},
      {"stride of two floats", make(4, [](unsigned l) { return l * 8; }), 8, 128},
      {"shifted by 4 bytes", make(4, [](unsigned l) { return 4 + l * 4; }), 5, 128},
      {"one address", make(4, [](unsigned) { return 400; }), 1, 4},
      {"a sector each", make(4, [](unsigned l) { return l * 4096; }), 32, 128},
      {"backwards", make(4, [](unsigned l) { return 124 - l * 4; }), 4, 128},
      {"every other lane", make(4, [](unsigned l) { return l * 4; }, even), 4, 64},
      {"across two sectors", make(16, [](unsigned l) { return 24 + l * 64; }), 64, 512},
      {"single bytes", make(1, [](unsigned l) { return l; }), 1, 32},
      {"nobody", make(4, [](unsigned l) { return l; }, 0), 0, 0},
  };
  for (const global_case& c : cases) {
    EXPECT_EQ(cost_in_global(c.made).sectors, c.sectors) << c.name;
    EXPECT_EQ(cost_in_global(c.made).useful_bytes, c.useful) << c.name;
  }
}

TEST(atomics, lanes_of_one_address_take_turns) {
  EXPECT_EQ(multiplicity(make(4, [](unsigned) { return 0; })), 32u);
  EXPECT_EQ(multiplicity(make(4, [](unsigned l) { return l * 4; })), 1u);
  EXPECT_EQ(multiplicity(make(4, [](unsigned l) { return l % 4 * 4; })), 8u);
  EXPECT_EQ(multiplicity(make(4, [](unsigned l) { return l / 20; })), 20u);
  EXPECT_EQ(multiplicity(make(4, [](unsigned) { return 0; }, low_quarter)), 8u);
  EXPECT_EQ(multiplicity(make(4, [](unsigned) { return 0; }, 0)), 0u);
}

}  // namespace
