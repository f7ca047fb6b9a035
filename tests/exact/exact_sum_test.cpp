// SPDX-License-Identifier: Apache-2.0
// wf::exact_sum, the public type: mixed element types, merges, stored bytes and their refusal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <unordered_set>

#include <warpfold/exact_sum.hpp>

#include "../support/exact_families.hpp"
#include "../support/oracle.hpp"

namespace wf::test {
namespace {

TEST(exact_sum, reads_as_in_the_design) {
  const std::vector<double> chunk{1e16, 1.0, -1e16};
  wf::exact_sum other;
  other.add(2.5f);
  wf::exact_sum acc; acc.add(chunk); acc.merge(other);
  EXPECT_EQ(acc.value(), 3.5);
  EXPECT_EQ(acc.count(), 4);
  EXPECT_FALSE(acc.empty());
}

TEST(exact_sum, takes_every_element_type_and_mixes_them) {
  exact_sum s;
  s.add(f16(0.5f));
  s.add(bf16(0.25f));
  s.add(0.125f);
  s.add(std::array<std::int8_t, 2>{-128, 127});
  s.add(std::vector<std::uint8_t>{255, 255});
  s.add(std::vector<short>{-300});
  s.add(7u);
  s.add(std::vector<f16>(3000, f16(1.0f)));
  const long long most[] = {std::numeric_limits<long long>::max()};
  s.add(most);
  s.add(std::numeric_limits<long long>::min());
  s.add(std::numeric_limits<std::uint64_t>::max());
  s.add(-0x1p64);
  EXPECT_EQ(s.value(), 0.875 - 1 + 510 - 300 + 7 + 3000 - 1 - 1);
  EXPECT_EQ(s.count(), 1 + 1 + 1 + 2 + 2 + 1 + 1 + 3000 + 1 + 1 + 1 + 1);
}

/// Elements that come and go in any order leave the sum of those that are there, and its bytes.
TEST(exact_sum, elements_are_taken_out_again) {
  generator random(seed());
  for (const family k : all_families) {
    const std::vector<double> x = make<double>(k, 300, random);
    std::vector<std::size_t> there;
    exact_sum window;
    for (std::size_t step = 0; step < 1500; ++step) {
      const std::size_t at = random() % x.size();
      if (const auto found = std::find(there.begin(), there.end(), at); found != there.end()) {
        there.erase(found);
        window.remove(x[at]);
      } else {
        there.push_back(at);
        window.add(x[at]);
      }
      if (step % 50 != 0) continue;
      exact_sum right;
      for (const std::size_t i : there) right.add(x[i]);
      ASSERT_EQ(window.to_bytes(), right.to_bytes()) << name(k) << ", step " << step;
      ASSERT_EQ(window.count(), static_cast<std::int64_t>(there.size()));
    }
    exact_sum half, all;
    half.add(std::span(x).first(100));
    all.add(x);
    all.unmerge(half);
    exact_sum rest;
    rest.add(std::span(x).subspan(100));
    EXPECT_EQ(all.to_bytes(), rest.to_bytes()) << name(k);
    all.remove(std::span(x).subspan(100));
    EXPECT_EQ(all.to_bytes(), exact_sum().to_bytes()) << name(k);
  }
}

TEST(exact_sum, refuses_to_take_out_what_is_no_part) {
  exact_sum s;
  s.add(std::array{1.0, 2.0});
  const exact_sum before = s;
  for (const double other : {NAN, INFINITY, -INFINITY}) EXPECT_THROW(s.remove(other), error) << other;
  exact_sum three;
  three.add(std::array{1.0, 1.0, 1.0});
  EXPECT_THROW(s.unmerge(three), error);
  EXPECT_EQ(s, before);
  s.remove(std::array{2.0, 1.0});
  EXPECT_TRUE(s.empty());
  EXPECT_THROW(s.remove(0.0f), error);
}

TEST(exact_sum, integers_are_exact_and_have_no_negative_zero) {
  generator random(seed());
  std::vector<std::int64_t> x(10000);
  __extension__ __int128 want = 0;
  exact_sum one_by_one, all;
  for (auto& v : x) {
    v = static_cast<std::int64_t>(random());
    want += v;
    one_by_one.add(v);
  }
  all.add(x);
  EXPECT_EQ(all, one_by_one);
  EXPECT_EQ(all.value(), static_cast<double>(want));
  exact_sum zeros;
  zeros.add(0);
  EXPECT_TRUE(same(zeros.value(), 0.0));
  zeros.add(std::vector<int>(100, 0));
  EXPECT_TRUE(same(zeros.value(), 0.0));
}

template <class T>
class pieces : public testing::Test {};
using element_types = testing::Types<f16, bf16, float, double>;
TYPED_TEST_SUITE(pieces, element_types);

TYPED_TEST(pieces, of_any_type_have_the_bytes_of_the_whole_in_double) {
  using T = TypeParam;
  generator random(seed());
  for (const family k : all_families) {
    SCOPED_TRACE(name(k));
    const auto x = make<T>(k, 7000, random);
    exact_sum whole, as_double, merged;
    whole.add(x);
    for (const T v : x) as_double.add(static_cast<double>(v));
    for (std::size_t at = 0; at < x.size();) {
      const std::size_t n = std::min(x.size() - at, random() % 4000);
      exact_sum part;
      part.add(x.data() + at, n);
      // Stored and read back on the way, now and then.
      merged.merge(n % 2 != 0 ? exact_sum::from_bytes(part.to_bytes()) : part);
      at += n;
    }
    EXPECT_EQ(whole.to_bytes(), as_double.to_bytes());
    EXPECT_EQ(whole.to_bytes(), merged.to_bytes());
    EXPECT_EQ(whole, merged);
    EXPECT_EQ(whole.hash(), merged.hash());
    EXPECT_EQ(exact_sum::from_bytes(whole.to_bytes()), whole);
  }
}

TEST(exact_sum, merges_states_of_other_engines) {
  auto state = exact::sum_state<double>::identity();
  state.add(1.5);
  state.add(-0.25);
  exact_sum s;
  s.merge(state);
  EXPECT_EQ(s.value(), 1.25);
  EXPECT_EQ(s.count(), 2);
}

TEST(exact_sum, hashes_into_containers) {
  std::unordered_set<exact_sum> set;
  for (int i = 0; i < 1000; ++i) {
    exact_sum s;
    s.add(i);
    set.insert(s);
    s.add(0.5);
    s.add(-0.5);
    set.insert(s);
    set.insert(s);  // there already
  }
  EXPECT_EQ(set.size(), 2000u);
}

TEST(exact_sum, capacity_error_changes_nothing) {
  exact_sum s;
  s.add(1.0);
  for (int k = 1; k < 63; ++k) s.merge(exact_sum(s));
  const exact_sum before = s;
  try {
    s.merge(exact_sum(s));
    FAIL() << "2^63 elements were taken";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::capacity);
  }
  EXPECT_EQ(s, before);
}

// Stored bytes.

exact_sum sample(int which) {
  generator random(seed() + static_cast<unsigned>(which));
  exact_sum s;
  if (which > 0) s.add(make<double>(all_families[which % 13], 50, random));
  return s;
}

errc refusal(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(exact_sum::from_bytes(bytes));
  } catch (const error& e) {
    EXPECT_NE(std::strlen(e.what()), 0u);
    return e.code();
  }
  return errc{};
}

TEST(stored, layout_is_as_documented) {
  exact_sum s;
  s.add(3.0);
  s.add(std::numeric_limits<double>::infinity());
  const auto b = s.to_bytes();
  ASSERT_EQ(b.size(), 328u);
  EXPECT_EQ(std::memcmp(b.data(), "WFXS\x01\x00\x44\x00\xce\xfb\xff\xff", 12), 0);
  // 3·2^1074 = 3·2^18 in digit 33.
  for (int k = 0; k < 272; ++k) {
    EXPECT_EQ(std::to_integer<int>(b[12 + k]), k == 4 * 33 + 2 ? 12 : 0) << k;
  }
  EXPECT_EQ(std::to_integer<int>(b[284]), 2);                // count
  EXPECT_EQ(std::to_integer<int>(b[284 + 2 * 8]), 1);        // pos_inf
  const std::string_view nine = "123456789";
  EXPECT_EQ(exact::crc32(std::as_bytes(std::span(nine))), 0xcbf43926u);  // the CRC's check value
}

TEST(stored, every_single_bit_flip_is_refused) {
  for (const int which : {0, 1, 3, 5, 8, 10}) {
    const auto good = sample(which).to_bytes();
    ASSERT_EQ(refusal(good), errc{});
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      auto bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      ASSERT_NE(refusal(bad), errc{}) << "bit " << bit;
    }
  }
}

TEST(stored, wrong_sizes_and_foreign_bytes_are_refused) {
  const auto good = sample(1).to_bytes();
  for (std::size_t n = 0; n < good.size(); ++n) {
    ASSERT_EQ(refusal(std::span(good).first(n)), errc::bad_input) << n;
  }
  std::vector<std::byte> longer(good.begin(), good.end());
  longer.push_back({});
  EXPECT_EQ(refusal(longer), errc::bad_input);
  generator random(seed());
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<std::byte> noise(random() % 400);
    for (auto& b : noise) b = static_cast<std::byte>(random());
    ASSERT_EQ(refusal(noise), errc::bad_input);
  }
}

// A change that also forges the checksum.
template <class Edit>
errc forged(const exact_sum& s, Edit edit) {
  auto b = s.to_bytes();
  edit(b);
  const std::uint32_t crc = exact::crc32(std::span(b).first(b.size() - 4));
  for (int k = 0; k < 4; ++k) b[b.size() - 4 + k] = static_cast<std::byte>(crc >> (8 * k));
  return refusal(b);
}

TEST(stored, another_version_is_named_unsupported) {
  EXPECT_EQ(forged(sample(1), [](auto& b) { b[4] = std::byte{2}; }), errc::unsupported);
}

TEST(stored, states_that_no_sum_can_reach_are_refused_whatever_the_checksum) {
  exact_sum s;
  s.add(1.0);
  const auto set = [](std::size_t at, std::uint64_t value) {
    return [=](auto& b) {
      for (int k = 0; k < 8; ++k) b[at + k] = static_cast<std::byte>(value >> (8 * k));
    };
  };
  EXPECT_EQ(forged(s, [](auto&) {}), errc{});
  EXPECT_EQ(forged(s, set(284, 0)), errc::bad_input);              // a sum of no elements
  EXPECT_EQ(forged(s, set(284, ~std::uint64_t{0})), errc::bad_input);   // count -1
  EXPECT_EQ(forged(s, set(292, 2)), errc::bad_input);              // more NaNs than elements
  EXPECT_EQ(forged(s, set(292, 1)), errc::bad_input);              // none but NaN, yet digits
  EXPECT_EQ(forged(s, set(316, 1)), errc::bad_input);              // none but -0, yet digits
  EXPECT_EQ(forged(s, set(276, 1ull << 62)), errc::bad_input);     // 2^2174 from one element
  EXPECT_EQ(forged(s, set(276, 1ull << 63)), errc::bad_input);     // the most negative
  exact_sum zeros;
  zeros.add(0.0);
  zeros.add(0.0);
  EXPECT_EQ(forged(zeros, set(316, 1)), errc::bad_input);          // not canonical
  EXPECT_EQ(forged(zeros, set(316, 2)), errc{});                   // both -0
}

TEST(stored, any_accepted_state_survives_merging) {
  // Forged states at the limit of what is accepted still merge without overflow, or are refused
  // for their count.
  generator random(seed());
  std::vector<exact_sum> accepted;
  for (int trial = 0; trial < 20000; ++trial) {
    auto b = sample(1).to_bytes();
    for (std::size_t k = 12; k < 284 + 8; ++k) {
      if (trial % 3 != 0 || random() % 2 == 0) b[k] = static_cast<std::byte>(random());
    }
    b[291] &= std::byte{0x1f};  // at most 2^61 elements, so that some can be merged
    const std::uint32_t crc = exact::crc32(std::span(b).first(b.size() - 4));
    for (int k = 0; k < 4; ++k) b[b.size() - 4 + k] = static_cast<std::byte>(crc >> (8 * k));
    if (refusal(b) == errc{}) accepted.push_back(exact_sum::from_bytes(b));
  }
  EXPECT_GT(accepted.size(), 100u);
  exact_sum total;
  for (const auto& s : accepted) {
    try {
      total.merge(s);
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::capacity);
    }
  }
  EXPECT_EQ(exact_sum::from_bytes(total.to_bytes()), total);
}

}  // namespace
}  // namespace wf::test
