// SPDX-License-Identifier: Apache-2.0
// Reductions of warps (`__reduce_add_sync` and its like). Whole numbers are reduced as they are. Of other numbers lanes
// give digits, one reduction after the other: where the digits, each times a power of two that all lanes have in common,
// make up what the lanes hold, the sums of the digits make up the sum, whatever became of the digits in between.
#include "value_flow.hpp"

#include <algorithm>
#include <utility>

namespace lens {

using row_kind = value_row::kind;

void value_flow::reduced(const simt::event& e, const request& r) {
  const source_place here = place(e);
  std::array<value_log::entry, 32> given;
  each(r.mask, [&](unsigned l) { given[l] = next_entry(l); });
  seen_.have_reduced_words();
  if (!reductions_) {
    each(r.mask, [&](unsigned l) {
      reduced_[thread(l)] = epoch_;
      if (is_learning_) learn(lanes_[l], given[l].value, here);
    });
    return;
  }
  if (r.mask != e.extra || reduced_as_they_are(r, given, here)) return;  // lanes that come apart are not followed
  const value_log::entry& one = given[static_cast<unsigned>(std::countr_zero(r.mask))];
  if (one.update != simt::update_kind::add) return;
  pending_digit d{r.mask, digit(32), one.result, next_row(row_kind::reduce, here)};
  each(r.mask, [&](unsigned l) { d.given[l] = static_cast<std::int32_t>(static_cast<std::uint32_t>(given[l].value.bits[0])); });
  digits_.push_back(std::move(d));
}

/// Types are whole here, and each lane gives what it holds.
bool value_flow::reduced_as_they_are(const request& r, const std::array<value_log::entry, 32>& given, const source_place& here) {
  if (seen_.types().sum < number::i32) return false;
  bool any_read = false, are_held = true;
  each(r.mask, [&](unsigned l) { any_read |= !lanes_[l].reads.empty(); });
  const source_place from_where = any_read ? read_at_ : here;
  each(r.mask, [&](unsigned l) { are_held &= given[l].value.is_zero() || explained(lanes_[l], given[l].value, from_where).has_value(); });
  if (!are_held) return false;
  const auto read_row = any_read ? next_row(row_kind::read, read_at_) : rows::iterator{};
  const auto row = next_row(row_kind::reduce, here);
  const value_log::entry& one = given[static_cast<unsigned>(std::countr_zero(r.mask))];
  row->how = operation_of(one.update);
  std::vector<holder> from;
  each(r.mask, [&](unsigned l) {
    made m = make(l, given[l].value, of_thread(l), from_where, true);
    if (m.of_reads) read_row->steps.push_back({thread(l), of_thread(l), std::move(m.from), 0, 0, m.is_seen});
    if (row->how != combination::add || !given[l].value.is_zero()) from.push_back(lanes_[l].home);
  });
  const seen_value result{{one.result, 0}, 0, true};
  const operand_value total{result, false};
  keep_total(r.mask, row, from, exact_sum(seen_.types(), {&total, 1}), result);
  return true;
}

/// All lanes of the mask have it now.
void value_flow::keep_total(std::uint32_t mask, rows::iterator row, const std::vector<holder>& from, const std::optional<whole>& total,
                            const seen_value& v) {
  reductions_->is_any_drawn = true;
  each(mask, [&](unsigned l) {
    row->steps.push_back({thread(l), of_thread(l), from, 0, 0, true});
    lane_state& lane = lanes_[l];
    lane.is_live = true;
    lane.home = of_thread(l);
    lane.held = v;
    lane.number = total;
    lane.is_total = total.has_value();
    lane.is_stored_newer = lane.has_shuffled = lane.is_given = false;
    lane.loads.clear();
    lane.reads.clear();
  });
}

/// What a lane that holds a total sends or stores besides: one of its digits, or how to put them together.
bool value_flow::is_digit(unsigned l, const seen_value& v, const source_place& here) const {
  return reductions_ && lanes_[l].is_total && !explained(lanes_[l], v, here);
}

void value_flow::settle_digits() {
  if (digits_.empty()) return;
  if (!add_digits())
    for (const pending_store& s : stores_)
      if (!is_digit(s.lane, s.what.value, s.row->where)) store(s.lane, s.address, s.what, s.row, false);
  digits_.clear();
  stores_.clear();
}

bool value_flow::add_digits() {
  const std::uint32_t mask = digits_.front().mask;
  if (std::any_of(digits_.begin(), digits_.end(), [&](const pending_digit& d) { return d.mask != mask; })) return false;
  for (const bool are_read : {true, false}) {
    std::vector<holder> from;
    const auto numbers = are_read ? numbers_read(mask, from) : numbers_held(mask, from);
    if (numbers && add_digits_of(*numbers, from, are_read)) return true;
  }
  return false;
}

bool value_flow::add_digits_of(const std::vector<whole>& numbers, const std::vector<holder>& from, bool are_read) {
  std::vector<digit> given;
  for (const pending_digit& d : digits_) given.push_back(d.given);
  const auto weights = weights_of(numbers, given);
  if (!weights) return false;
  std::optional<whole> total = whole();
  std::vector<std::pair<whole, int>> parts;  // with the weights of their units
  auto row = digits_.front().row;
  for (std::size_t k = digits_.size(); k-- > 0;) {
    if (!(*weights)[k]) continue;
    std::int64_t sum = 0;
    for (const std::int64_t x : given[k]) sum += x;
    if (static_cast<std::uint32_t>(sum) != static_cast<std::uint32_t>(digits_[k].result)) return false;
    const whole part(sum, *(*weights)[k]);
    total = total ? total->plus(part) : std::nullopt;
    if (sum != 0) parts.insert(parts.begin(), {part, *(*weights)[k]});
    row = digits_[k].row;
  }
  if (!total) return false;
  const std::uint32_t mask = digits_.front().mask;
  each(mask, [&](unsigned l) {
    if (are_read || lanes_[l].loads.empty()) return;
    guess all;
    all.held = lanes_[l].is_live;
    all.loads = true;
    if (lanes_[l].load_row->how == combination::other) lanes_[l].load_row->how = combination::add;
    keep_loads(l, all);
  });
  row->how = combination::add;
  keep_total(mask, row, from, total, {});
  each(mask, [&](unsigned l) { place_total(l, *total, parts); });
  return true;
}

/// What the lane has stored of the total: its parts in their order, several in a word or one.
void value_flow::place_total(unsigned l, const whole& total, const std::vector<std::pair<whole, int>>& parts) {
  std::size_t placed = 0;
  std::vector<const pending_store*> words;
  for (const pending_store& s : stores_) {
    if (s.lane != l) continue;
    reductions_->now.numbers[s.address][epoch_];
    const unsigned spare = 64 - 8 * std::min(s.what.value.size, 8u);
    const auto units = static_cast<std::int64_t>(s.what.value.bits[0] << spare) >> spare;
    std::optional<whole> sum = whole();
    int unit = 0;
    for (std::size_t end = placed; end < parts.size() && sum && units != 0; ++end) {
      unit = end == placed ? parts[end].second : std::min(unit, parts[end].second);
      sum = sum->plus(parts[end].first);
      // The word's unit is that of its lowest digit, which may be 0, and then is no part.
      const whole word(units, 0);
      const int of_word = sum ? sum->exponent() - word.exponent() : 0;
      if (!sum || of_word > unit || *sum != whole(units, of_word)) continue;
      placed = end + 1;
      words.push_back(&s);
      break;
    }
  }
  if (placed != parts.size() || words.empty()) return;
  const pending_store& first = *words.front();
  for (const pending_store* s : words)
    if (s != &first) reductions_->now.first_word[s->address] = first.address;
  reductions_->now.numbers[first.address][epoch_] = total;
  const holder to = word_at(first.address);
  first.row->steps.push_back({thread(l), to, {of_thread(l)}, 0, 0, true});
}

std::optional<whole> value_flow::number_at(holder place) const {
  const auto& all = reductions_->before.numbers;
  const auto found = all.find(words_[place.index]);
  if (found == all.end()) return {};
  const auto after = found->second.lower_bound(epoch_);
  if (after != found->second.begin()) return std::prev(after)->second;
  return after != found->second.end() && after->first == epoch_ ? after->second : std::nullopt;
}

/// What the lanes have read; nothing if none of that is a number that a reduction gave.
std::optional<std::vector<whole>> value_flow::numbers_read(std::uint32_t mask, std::vector<holder>& from) const {
  std::vector<whole> numbers(32);
  bool fits = true;
  each(mask, [&](unsigned l) {
    std::set<holder> mine;
    for (const operand& o : lanes_[l].reads) {
      const auto n = number_at(o.from);
      if (!n || !mine.insert(o.from).second) continue;
      const auto sum = numbers[l].plus(*n);
      fits &= sum.has_value();
      numbers[l] = sum.value_or(whole());
      if (!n->is_zero()) from.push_back(o.from);
    }
  });
  return fits && !from.empty() ? std::optional(std::move(numbers)) : std::nullopt;
}

/// What they hold, and what they have loaded since.
std::optional<std::vector<whole>> value_flow::numbers_held(std::uint32_t mask, std::vector<holder>& from) const {
  std::vector<whole> numbers(32);
  bool fits = true;
  each(mask, [&](unsigned l) {
    const lane_state& lane = lanes_[l];
    const bool has_loads = !lane.loads.empty();
    std::optional<whole> n = whole();
    if (lane.is_live) n = has_loads && lane.home != of_thread(l) ? std::nullopt : lane.number;
    if (has_loads) {
      guess loads;
      loads.loads = true;
      const auto sum = exact_sum(seen_.types(), operands(lane, loads));
      n = n && sum ? n->plus(*sum) : std::nullopt;
    }
    fits &= n.has_value();
    numbers[l] = n.value_or(whole());
    if (!numbers[l].is_zero()) from.push_back(has_loads ? of_thread(l) : lane.home);
  });
  return fits ? std::optional(std::move(numbers)) : std::nullopt;
}

}  // namespace lens
