// SPDX-License-Identifier: Apache-2.0
// A million ranks, without MPI: states of pieces merged in random trees, as an all-reduce of any library would merge them, are
// those of the whole array; and 2^31 states fit one sum of words.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

#include <warpfold/compact_state.hpp>

#include "../support/effort.hpp"
#include "../support/forms.hpp"

namespace {

void add_words(std::uint64_t* to, const std::uint64_t* from, std::size_t words) {
  for (std::size_t k = 0; k < words; ++k) to[k] += from[k];
}

std::int64_t word_of(const bytes& state, std::size_t k) {
  std::int64_t w = 0;
  std::memcpy(&w, state.data() + 8 * k, 8);
  return w;
}
void set_word(bytes& state, std::size_t k, std::int64_t w) { std::memcpy(state.data() + 8 * k, &w, 8); }

/// Pieces of 0 to 6 elements, one for each rank, drawn from a few.
struct pieces {
  static constexpr int different = 200;
  bytes x, y;  ///< those of the different ones, and
  std::vector<std::int64_t> at{0};
  bytes whole_x, whole_y;
  std::vector<std::uint8_t> of_rank;

  pieces(wf::dtype t, family which, std::int64_t ranks, std::mt19937_64& random) {
    const std::size_t size = wf::info(t).size;
    for (int k = 0; k < different; ++k) at.push_back(at.back() + (random() % 3 == 0 ? 0 : 1 + static_cast<std::int64_t>(random() % 6)));
    x = make_data(t, which, at.back(), random());
    y = make_data(t, which, at.back(), random());
    for (std::int64_t r = 0; r < ranks; ++r) {
      const std::size_t k = random() % different;
      of_rank.push_back(static_cast<std::uint8_t>(k));
      const auto from = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(at[k]) * size), to = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(at[k + 1]) * size);
      whole_x.insert(whole_x.end(), x.begin() + from, x.begin() + to);
      whole_y.insert(whole_y.end(), y.begin() + from, y.begin() + to);
    }
  }
};

/// The states of all ranks, merged. Ranks keep their order, but where addition merges them.
bytes merged(const wf::state_form& f, const pieces& p, std::mt19937_64& random) {
  std::vector<bytes> of_piece;
  for (std::size_t k = 0; k < pieces::different; ++k) of_piece.push_back(state_of(f, p.x, p.y, p.at[k], p.at[k + 1] - p.at[k], 0));
  const bool places = f.what == wf::op::argmin || f.what == wf::op::argmax;
  bytes nothing(f.bytes);
  wf::clear_states(f, nothing.data(), 1);

  // What waits to be merged, in order. A chain, a balanced tree or anything between.
  constexpr std::size_t most = 1024;
  const std::size_t words = f.bytes / 8;
  std::vector<std::uint64_t> waiting(most * words);
  std::size_t n = 0;
  const auto state = [&](std::size_t k) { return waiting.data() + k * words; };
  const auto merge_last = [&] {
    if (f.adds) {
      const std::uint64_t drawn = random();
      const std::size_t to = drawn % 4 == 0 ? drawn / 4 % (n - 1) : n - 2;
      add_words(state(to), state(n - 1), words);
      if (drawn >> 58 == 0) wf::merge_states(f, state(to), nothing.data(), 1);  // a rank that carries
    } else {
      wf::merge_states(f, state(n - 2), state(n - 1), 1);
    }
    --n;
  };
  const std::uint64_t eagerness = random() % 3;
  std::int64_t first = 0;
  std::uint64_t rank = 0;
  for (const std::uint8_t k : p.of_rank) {
    const std::int64_t elements = p.at[k + 1u] - p.at[k];
    std::memcpy(state(n), of_piece[k].data(), f.bytes);
    if (places && elements > 0) {
      bytes moved = of_piece[k];
      set_word(moved, 2, word_of(moved, 2) + first);
      std::memcpy(state(n), moved.data(), f.bytes);
    }
    ++n;
    first += elements;
    ++rank;
    if (eagerness == 0) {
      while (n > 1) merge_last();
    } else if (eagerness == 1) {
      for (int level = std::countr_zero(rank); level > 0; --level) merge_last();
    } else {
      while (n > 1 && (n == most || random() % 16 < 9)) merge_last();
    }
  }
  while (n > 1) merge_last();
  wf::merge_states(f, state(0), nothing.data(), 1);
  bytes all(f.bytes);
  std::memcpy(all.data(), state(0), f.bytes);
  return all;
}

void check(const wf::state_form& f, family which, std::int64_t ranks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const pieces p(f.element, which, ranks, random);
  const auto n = static_cast<std::int64_t>(p.whole_x.size() / wf::info(f.element).size);
  const bytes got = merged(f, p, random), want = state_of(f, p.whole_x, p.whole_y, 0, n);
  ASSERT_TRUE(got == want) << name_of(f) << ", " << ranks << " ranks, seed " << seed;
  EXPECT_NO_THROW(wf::check_states(f, got, 1, "merged"));
}

TEST(ranks, every_form_in_random_trees) {
  const auto many = static_cast<std::int64_t>((1 << 20) * wf::test::effort());
  std::set<std::tuple<std::size_t, bool, wf::op>> seen;
  std::uint64_t seed = 1;
  int forms = 0;
  for (const wf::state_form& f : all_forms()) {
    if (!f.canonical || f.accuracy == wf::accuracy::fast) continue;
    // A million for each length of states that are added, and for each other operation.
    const bool is_new = seen.insert({f.bytes, f.adds, f.adds ? wf::op::sum : f.what}).second;
    check(f, is_new || seed % 3 != 0 ? family::finite : family::any, is_new ? many : std::max<std::int64_t>(many >> 10, 200), seed);
    if (testing::Test::HasFatalFailure()) return;
    ++seed;
    ++forms;
  }
  EXPECT_GT(seen.size(), 20u);
  EXPECT_GT(forms, 250);
}

TEST(ranks, special_values) {
  for (const auto t : {wf::dtype::f64, wf::dtype::f16, wf::dtype::c64})
    for (const auto which : {family::any, family::alike, family::none})
      for (const wf::state_form& f : all_forms())
        if (f.element == t && f.canonical && f.accuracy == wf::accuracy::exact) check(f, which, 300, 7);
}

/// The most that an all-reduce adds up: 2^31 - 1 states of 2^32 elements each, with digits as large as they can be.
TEST(ranks, two_to_the_31_states_are_added_without_overflow) {
  constexpr std::int64_t ranks = INT32_MAX;
  int forms = 0;
  for (const wf::state_form& f : all_forms()) {
    const wf::detail::rows_of_digits rows = wf::detail::rows_of(f);
    if (rows.sums == 0) continue;
    const std::int64_t elements = (std::int64_t{1} << 32) / rows.terms;
    for (const bool negative : {false, true}) {
      bytes s(f.bytes);
      set_word(s, 0, elements);
      std::size_t at = 1;
      const auto fill = [&](int digits, bool minus) {  // just below what so many elements may make: see check_states
        const int bits = 32 * digits - 2 - std::countl_zero(std::uint64_t{1} << 32);
        for (int k = 0; k < digits; ++k, ++at) {
          const int here = std::clamp(bits - 32 * k, 0, 32);
          const std::int64_t ones = (std::int64_t{1} << here) - 1;
          set_word(s, at, !minus ? ones : k == digits - 1 ? ~ones : k == 0 ? 1 : 0xffffffff - ones);
        }
      };
      for (int row = 0; row < rows.sums; ++row) {
        fill(rows.digits, negative);
        set_word(s, at, elements * rows.terms);
        at += 5;
        if (rows.squares != 0) fill(rows.squares, false);
      }
      ASSERT_NO_THROW(wf::check_states(f, s, 1, "extreme")) << name_of(f);
      // By addition of words, all at once.
      bytes added(f.bytes), nothing(f.bytes);
      for (std::size_t k = 0; k < f.bytes / 8; ++k) {
        std::int64_t sum = 0;
        ASSERT_FALSE(__builtin_mul_overflow(word_of(s, k), ranks, &sum)) << name_of(f) << ", word " << k;
        set_word(added, k, sum);
      }
      wf::clear_states(f, nothing.data(), 1);
      wf::merge_states(f, added.data(), nothing.data(), 1);
      // By merging, which carries: 1 + 2 + 4 + … 2^30 of them.
      bytes power = s, want = s;
      for (int k = 1; k < 31; ++k) {
        wf::merge_states(f, power.data(), bytes(power).data(), 1);
        wf::merge_states(f, want.data(), power.data(), 1);
      }
      ASSERT_TRUE(added == want) << name_of(f) << (negative ? ", negative" : "");
      EXPECT_EQ(word_of(want, 0), ranks * elements);
    }
    ++forms;
  }
  EXPECT_GT(forms, 80);
}

/// What is no state is told apart, and every true one passes.
TEST(ranks, damaged_states) {
  const auto refused = [](const wf::state_form& f, const bytes& s, const char* why) {
    try {
      wf::check_states(f, s, 1, "test");
    } catch (const wf::error& e) {
      return e.code() == wf::errc::bad_input && std::string(e.what()).find(why) != std::string::npos;
    }
    return false;
  };
  for (const wf::state_form& f : all_forms()) {
    for (const auto which : {family::any, family::finite, family::alike, family::none}) {
      const bytes x = make_data(f.element, which, 40, 3), y = make_data(f.element, which, 40, 4);
      for (const std::int64_t n : {0, 1, 40}) {
        const bytes s = state_of(f, x, y, 0, n);
        ASSERT_NO_THROW(wf::check_states(f, s, 1, "test")) << name_of(f) << n;
        bytes bad = s;
        set_word(bad, 0, -1);
        ASSERT_TRUE(refused(f, bad, "negative")) << name_of(f);
        bad = s;
        bad.pop_back();
        ASSERT_TRUE(refused(f, bad, "are wanted")) << name_of(f);
        if (n == 0) {
          bad = s;
          set_word(bad, 1, word_of(s, 1) ^ 1);
          ASSERT_TRUE(refused(f, bad, "no elements")) << name_of(f);
        }
      }
    }
    if (wf::detail::rows_of(f).sums == 0) continue;
    const bytes x = make_data(f.element, family::alike, 40, 3), s = state_of(f, x, x, 0, 40);
    const auto with = [&](std::size_t word, std::int64_t v) {
      bytes b = s;
      set_word(b, word, v);
      return b;
    };
    const auto digits = static_cast<std::size_t>(wf::detail::rows_of(f).digits);
    EXPECT_TRUE(refused(f, with(1, std::int64_t{1} << 32), "canonical")) << name_of(f);
    EXPECT_TRUE(refused(f, with(1, -1), "canonical")) << name_of(f);
    EXPECT_TRUE(refused(f, with(digits, INT64_MAX), "leading digit")) << name_of(f);
    EXPECT_TRUE(refused(f, with(digits, INT32_MAX), "too large")) << name_of(f);
    EXPECT_TRUE(refused(f, with(digits + 1, 41), "contradicts")) << name_of(f);
    EXPECT_TRUE(refused(f, with(digits + 2, 81), "beyond")) << name_of(f);
    EXPECT_TRUE(refused(f, with(digits + 5, 3), "canonical")) << name_of(f);
    EXPECT_TRUE(refused(f, with(digits + 2, 40 * wf::detail::rows_of(f).terms), "no finite")) << name_of(f);
  }
  const auto of = [](wf::op o) { return wf::form_of_states(o, wf::dtype::i8); };
  const auto made = [](std::initializer_list<std::int64_t> words) {
    bytes b(8 * words.size());
    std::memcpy(b.data(), words.begin(), b.size());
    return b;
  };
  EXPECT_TRUE(refused(of(wf::op::min), made({3, 5, 4, 0}), "extremes"));
  EXPECT_TRUE(refused(of(wf::op::min), made({3, -129, 4, 0}), "extremes"));
  EXPECT_TRUE(refused(of(wf::op::max), made({3, 4, 5, 2}), "extremes"));
  EXPECT_TRUE(refused(of(wf::op::argmin), made({3, 4, -1, 0}), "place"));
  EXPECT_TRUE(refused(of(wf::op::argmax), made({3, 4, 1, 7}), "place"));
  EXPECT_TRUE(refused(of(wf::op::count_nonzero), made({3, 4}), "count"));
}

/// Compact states are the states, whatever they hold, and one state has one encoding.
TEST(ranks, compact_states) {
  std::mt19937_64 random(11);
  const auto is_refused = [](const wf::state_form& f, const bytes& compact) {
    try {
      wf::expand_states(f, compact);
    } catch (const wf::error& e) {
      return e.code() == wf::errc::bad_input;
    }
    return false;
  };
  for (const wf::state_form& f : all_forms()) {
    for (const auto which : {family::any, family::finite, family::alike, family::none, family::whole}) {
      bytes states, one;
      for (const std::int64_t n : {0, 1, 2, 40, 1000}) {
        const bytes x = make_data(f.element, which, n, random()), y = make_data(f.element, which, n, random());
        one = state_of(f, x, y, 0, n);
        states.insert(states.end(), one.begin(), one.end());
      }
      const bytes compact = wf::compact_states(f, states);
      ASSERT_TRUE(wf::expand_states(f, compact) == states) << name_of(f);
      EXPECT_LE(compact.size(), states.size()) << name_of(f);
      if (f.what == wf::op::sum && f.element == wf::dtype::f32 && f.accuracy == wf::accuracy::exact) {
        EXPECT_LE(wf::compact_states(f, one).size(), which == family::finite ? 70u : which == family::any ? 80u : 16u) << static_cast<int>(which);
      }
      // Truncated anywhere, and with a byte too many.
      bytes last = wf::compact_states(f, one);
      for (std::size_t n = 1; n < last.size(); ++n) ASSERT_TRUE(is_refused(f, bytes(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(n)))) << name_of(f) << n;
      last.push_back(std::byte{0x80});
      ASSERT_TRUE(is_refused(f, last)) << name_of(f);
      // Changed bytes are refused, or are another state's one encoding.
      for (int k = 0; k < 40; ++k) {
        bytes changed = compact;
        changed[random() % changed.size()] = static_cast<std::byte>(random() % 3 == 0 ? 0 : random());
        try {
          ASSERT_TRUE(wf::compact_states(f, wf::expand_states(f, changed)) == changed) << name_of(f);
        } catch (const wf::error& e) {
          ASSERT_EQ(e.code(), wf::errc::bad_input);
        }
      }
    }
  }
  // Extreme digits, of either sign: the widest number and the narrowest, at every place.
  const auto f = wf::form_of_states(wf::op::sum, wf::dtype::f64);
  for (int exponent = -1074; exponent < 1000; ++exponent)
    for (const double v : {std::ldexp(1.0, exponent), -std::ldexp(1.0, exponent), -std::ldexp(255.0, exponent), std::ldexp(128.0, exponent), std::ldexp(65535.0, exponent)})
      for (const double more : {0.0, 0x1p-1074, -0x1p-1074}) {
        bytes x(16);
        std::memcpy(x.data(), &v, 8);
        std::memcpy(x.data() + 8, &more, 8);
        const bytes state = state_of(f, x, x, 0, 2), compact = wf::compact_states(f, state);
        ASSERT_TRUE(wf::expand_states(f, compact) == state) << v << ' ' << more;
        ASSERT_TRUE(more != 0 || compact.size() <= 9) << v;
      }
}

/// A million ranks in slots: merged in pairs as an operation of MPI would.
TEST(ranks, compact_states_in_trees) {
  const auto ranks = static_cast<std::size_t>((1 << 20) * wf::test::effort());
  const auto f = wf::form_of_states(wf::op::sum, wf::dtype::f32);
  std::mt19937_64 random(3);
  for (const auto& [which, room, fits] : {std::tuple{family::alike, std::size_t{20}, true}, {family::finite, std::size_t{64}, true}, {family::finite, std::size_t{24}, false}}) {
    const pieces p(f.element, which, static_cast<std::int64_t>(ranks / 8), random);
    std::vector<bytes> slots(p.of_rank.size(), bytes(room + 1));
    for (std::size_t k = 0; k < slots.size(); ++k)
      wf::detail::slot::write(f, state_of(f, p.x, p.y, p.at[p.of_rank[k]], p.at[p.of_rank[k] + 1u] - p.at[p.of_rank[k]]).data(), slots[k]);
    while (slots.size() > 1) {
      const std::size_t to = random() % (slots.size() - 1);
      wf::detail::slot::merge(f, slots.back(), slots[to]);
      slots.pop_back();
    }
    bytes merged(f.bytes);
    ASSERT_EQ(wf::detail::slot::read(f, slots[0], merged.data()), fits);
    const bytes whole = state_of(f, p.whole_x, p.whole_y, 0, static_cast<std::int64_t>(p.whole_x.size() / 4));
    EXPECT_EQ(merged == whole, fits);
  }
}

}  // namespace
