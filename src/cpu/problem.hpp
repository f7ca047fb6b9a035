// SPDX-License-Identifier: Apache-2.0
/// \file problem.hpp
/// A request as dimensions: which are kept and which are reduced, how answers are grouped, and which groups have their answers.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "traversal.hpp"

namespace wf::cpu {

struct problem {
  dimensions kept, reduced;
  pointers base{};
  std::int64_t answers = 1, elements = 1;  // elements: of each answer
  dimensions answer_places;                // not empty: `kept` is in the order of memory, and answers go to these places, with strides in bytes
};

/// Dimensions as they are walked: joined where they lie in one another, and in the order of memory where that makes no difference.
problem arrange(const erased& r, const operands& x, std::span<const int> axes);

/// Every answer of a problem; answer k goes to out + k·result_size.
void solve(const erased& r, const void* self, const problem& p, const context& c, std::byte* out);

/// Answers by groups: a panel of those that lie side by side in memory while the elements of each lie farther apart; else one by one.
struct grouping {
  bool panels;
  std::int64_t side_by_side, width, a_row, count;  // answers of a row, of a group; groups of a row, of all

  struct place {
    std::int64_t answer, width;  // the first of the group, and how many there are
    pointers base;
  };
  /// Group number `group`, where groups are `w` wide and a row has `in_row` of them.
  place at(const problem& p, std::int64_t group, std::int64_t w, std::int64_t in_row, int inputs) const {
    const std::int64_t column = group % in_row * w, answer = group / in_row * side_by_side + column;
    return {answer, std::min(w, side_by_side - column), at_index(p.base, p.kept, answer, inputs)};
  }
  place at(const problem& p, std::int64_t group, int inputs) const { return at(p, group, width, a_row, inputs); }
};

/// Which groups have their answers: a byte each, of a few without an allocation. None at first.
class answered_groups {
 public:
  answered_groups() = default;
  explicit answered_groups(std::int64_t groups) : count_(static_cast<std::size_t>(groups)) {
    if (count_ > sizeof few_) many_ = std::make_unique<unsigned char[]>(count_);
    else std::memset(few_, 0, count_);
  }
  answered_groups(answered_groups&& o) noexcept { *this = std::move(o); }
  answered_groups& operator=(answered_groups&& o) noexcept {
    all = o.all;
    count_ = o.count_;
    many_ = std::move(o.many_);
    if (many_ == nullptr) std::memcpy(few_, o.few_, count_);
    return *this;
  }

  bool all = false;
  bool empty() const { return count_ == 0; }
  unsigned char* data() { return many_ != nullptr ? many_.get() : few_; }
  const unsigned char* data() const { return many_ != nullptr ? many_.get() : few_; }
  bool has(std::int64_t group) const { return count_ != 0 && data()[group] != 0; }
  bool have_all() const { return std::memchr(data(), 0, count_) == nullptr; }

 private:
  std::size_t count_ = 0;
  std::unique_ptr<unsigned char[]> many_;
  unsigned char few_[512];
};

}  // namespace wf::cpu
