// SPDX-License-Identifier: Apache-2.0
// Any split into chunks, on any mix of targets, and any order of merging give the same bytes: types ×
// reductions × families. Floats are held against MPFR; the rest against the reduction of the whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include <warpfold/results.hpp>

#include "targets.hpp"
#include "typeless.hpp"

namespace wf::test {
namespace {

/// A state of a built-in reduction.
class folded {
 public:
  folded(const cpu::erased& r, const options& o) : r_(&r), options_(&o), state_(new_state(r)) {
    r.identity(&o, state_.get());
  }
  void add(const numbers& x, const numbers& y, std::int64_t first, std::int64_t n) {
    const void* p[] = {x.at(first), y.at(first)};
    r_->accumulate(options_, state_.get(), p, n, first);
  }
  void combine(const folded& later) { r_->combine(options_, state_.get(), later.state_.get()); }
  std::vector<std::byte> finish(std::int64_t n) const {
    std::vector<std::byte> out(r_->result_size);
    r_->finish(options_, state_.get(), n, out.data());
    return out;
  }

 private:
  struct free_aligned {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  using memory = std::unique_ptr<std::byte, free_aligned>;
  static memory new_state(const cpu::erased& r) {
    return memory(static_cast<std::byte*>(::operator new(r.state_size, std::align_val_t{64})));
  }

  const cpu::erased* r_;
  const options* options_;
  memory state_;
};

/// Cuts [0, n) at random places, some next to each other, some none.
std::vector<std::int64_t> cuts(std::int64_t n, generator& random) {
  std::vector<std::int64_t> at{0, n};
  const std::uint64_t pieces = random() % 12;
  for (std::uint64_t k = 0; k < pieces; ++k)
    at.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n + 1)));
  std::ranges::sort(at);
  return at;
}

std::vector<std::byte> by_pieces(const cpu::erased& r, const options& o, const numbers& x, const numbers& y,
                                 generator& random) {
  const std::int64_t n = x.size();
  const std::vector<std::int64_t> at = cuts(n, random);
  const auto targets = cpu::available_targets();
  std::vector<folded> states;
  for (std::size_t k = 0; k + 1 < at.size(); ++k) {
    cpu::force_target(targets[random() % targets.size()]);
    states.emplace_back(r, o);
    // A piece in two goes, or in one.
    const std::int64_t length = at[k + 1] - at[k];
    const std::int64_t half = random() % 2 != 0 ? length / 2 : 0;
    states.back().add(x, y, at[k], half);
    states.back().add(x, y, at[k] + half, length - half);
  }
  while (states.size() > 1) {
    // Reductions that keep the order of elements merge neighbours; others any two, either into the other.
    std::size_t a = random() % (states.size() - 1), b = a + 1;
    if (r.commutes) {
      a = random() % states.size();
      b = (a + 1 + random() % (states.size() - 1)) % states.size();
    }
    states[a].combine(states[b]);
    states.erase(states.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return states[0].finish(n);
}

/// Is the answer free of the order in which it is rounded?
bool has_one_answer(op o, dtype type) {
  if (o == op::logsumexp) return false;
  return o != op::prod || is_integer(type);
}

class pieces : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(of, pieces, testing::Range(0, static_cast<int>(dtypes.size())),
                         [](const auto& p) { return name(static_cast<dtype>(p.param)); });

TEST_P(pieces, in_any_number_on_any_target_merged_in_any_order_have_the_bytes_of_the_whole) {
  const auto type = static_cast<dtype>(GetParam());
  generator random(seed());
  const cpu::target before = cpu::active_target();
  for (const family k : all_families) {
    if (is_integer(type) && k >= family::ill_conditioned) break;  // two kinds of integers
    for (const int n : {1, 2, 100, 5000, 20'000}) {
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n));
      const numbers x = is_integer(type) ? random_elements(type, n, random, k == family::normal) : make(type, k, n, random);
      const numbers y = is_integer(type) ? random_elements(type, n, random) : make(type, k, n, random);
      options told;
      told.rounding = static_cast<rounding>(random() % 5);
      told.correction = static_cast<std::int64_t>(random() % 3);
      how h;
      h.c.rounding = told.rounding;
      h.correction = told.correction;
      const bool judged = is_floating(type) && n <= 5000;
      const verdict v = judged ? judge(x, y, told.rounding, told.correction) : verdict{};
      for (int operation = 0; operation < op_count; ++operation) {
        const op o = static_cast<op>(operation);
        const cpu::erased* r = find_builtin(o, type, accuracy::exact);
        if (r == nullptr || !has_one_answer(o, type)) continue;
        SCOPED_TRACE(properties_of(o).name);
        const answer want = reduce(o, x, y, h);
        const bool verdict_is_there = judged && std::ranges::find(exact_ops, o) != std::end(exact_ops);
        for (int part = 0; verdict_is_there && part < want.kind.values; ++part)
          EXPECT_PRED2(same_number, want.number(part), verdict_on(o, v, part));
        for (int trial = 0; trial < 3; ++trial) EXPECT_TRUE(by_pieces(*r, told, x, y, random) == want.bytes);
        const cpu::erased* checked_too = find_checked(o, type);
        if (checked_too == nullptr) continue;
        auto once = by_pieces(*checked_too, told, x, y, random), again = by_pieces(*checked_too, told, x, y, random);
        for (auto* bytes : {&once, &again}) bytes->resize(offsetof(checked<std::uint64_t>, overflow) + 1);  // not the padding
        EXPECT_TRUE(again == once);
        EXPECT_TRUE(std::memcmp(once.data(), want.bytes.data(), want.bytes.size()) == 0);
      }
      if (testing::Test::HasFailure()) {
        cpu::force_target(before);
        return;
      }
    }
  }
  cpu::force_target(before);
}

}  // namespace
}  // namespace wf::test
