// SPDX-License-Identifier: Apache-2.0
#include "value_flow.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "names.hpp"

namespace lens {

using row_kind = value_row::kind;

void value_log::begin(std::size_t threads) {
  threads_.assign(threads, {});
  stores_.clear();
  has_reductions_ = false;
}

void value_log::reduced(std::uint32_t warp, std::uint32_t mask, simt::update_kind what, std::uint64_t result) {
  has_reductions_ = true;
  for (; mask != 0; mask &= mask - 1) {
    auto& all = threads_[warp * 32 + static_cast<unsigned>(std::countr_zero(mask))];
    all.back().update = what;
    all.back().result = result;
  }
}

void value_log::settle() {
  for (const store& s : stores_)
    std::memcpy(threads_[s.thread][s.at].value.bits.data(), reinterpret_cast<const void*>(s.address), s.size);
  stores_.clear();
}

void value_log::access(std::uint32_t thread, const simt::memory_access& a) {
  const bool stores = a.kind == simt::access_kind::write || a.kind == simt::access_kind::atomic_store;
  // The parts of an object are told one after the other, before the first is there.
  const bool goes_on = stores && !stores_.empty() && stores_.back().thread == thread &&
                       stores_.back().address + stores_.back().size == a.address;
  if (!goes_on) settle();
  entry e{{{}, a.size, a.size <= 16}, a.update};
  if (!stores && a.kind != simt::access_kind::atomic_update && e.value.is_known) {
    std::memcpy(e.value.bits.data(), reinterpret_cast<const void*>(a.address), a.size);
  } else if (a.kind == simt::access_kind::atomic_update) {
    e.value.bits[0] = a.operand;
    e.value.is_known = a.update != simt::update_kind::unknown && a.update != simt::update_kind::count;
  }
  threads_[thread].push_back(e);
  if (stores && e.value.is_known) stores_.push_back({thread, threads_[thread].size() - 1, a.address, a.size});
}

void value_log::arrive(std::uint32_t thread, const simt::arrival& a) {
  settle();
  threads_[thread].push_back({{{a.value, 0}, 0, true}, {}});
}

holder value_flow::word_at(std::uint64_t address) const {
  if (reductions_)
    if (const auto& first = reductions_->before.first_word; first.contains(address)) address = first.at(address);
  const auto at = std::upper_bound(words_.begin(), words_.end(), address);
  return {true, static_cast<unsigned>(at - words_.begin()) - 1};
}

source_place value_flow::place(const simt::event& e) const {
  const simt::source_line at = simt::locate(sites_[e.site]);
  return {plain_path(at.file), at.line};
}

void value_flow::note(warp_moment::kind what, const simt::event& e, std::uint32_t mask) {
  trace_.warps.back().push_back({what, mask, place(e)});
}

/// The next of this kind and line that an earlier warp has had in this epoch, or a new one.
value_flow::rows::iterator value_flow::next_row(row_kind what, const source_place& where) {
  rows& all = rows_[epoch_];
  auto at = std::find_if(cursor_, all.end(), [&](const value_row& r) { return r.what == what && r.where == where; });
  if (at == all.end()) {
    value_row fresh;
    fresh.what = what;
    fresh.epoch = epoch_;
    fresh.where = where;
    fresh.how = seen_.at(where);
    at = all.insert(cursor_, std::move(fresh));
  }
  cursor_ = std::next(at);
  return at;
}

const value_log::entry& value_flow::next_entry(unsigned lane) {
  static const value_log::entry none;
  const auto& all = log_.threads()[thread(lane)];
  const std::size_t at = entries_[lane]++;
  return at < all.size() ? all[at] : none;
}

void value_flow::begin(std::uint32_t warp) {
  warp_ = warp;
  epoch_ = 0;
  cursor_ = rows_[0].begin();
  lanes_.fill({});
  for (unsigned l = 0; l < 32; ++l) lanes_[l].home = of_thread(l);
  entries_.assign(32, 0);
  trace_.warps.emplace_back();
}

void value_flow::end() {
  settle_digits();
  for (unsigned l = 0; l < 32; ++l) {
    guess all;  // what became of it is not seen
    all.held = lanes_[l].is_live;
    all.shuffled = lanes_[l].is_given;
    all.loads = true;
    keep_shuffle(l, all);
    if (!lanes_[l].is_live) keep_loads(l, {});
  }
}

void value_flow::arrived(const simt::event& e, const request& r) {
  const auto at = static_cast<simt::meeting>(e.size);
  using moment = warp_moment::kind;
  const bool barrier = at <= simt::meeting::cluster_barrier;
  note(barrier                          ? moment::barrier
       : at == simt::meeting::shuffle   ? moment::shuffle
       : at == simt::meeting::warp_sync ? moment::warp_sync
                                        : moment::other,
       e, r.mask);
  if (at == simt::meeting::shuffle) return shuffled(e, r);
  if (at == simt::meeting::warp_reduction) return reduced(e, r);
  each(r.mask, [&](unsigned l) { next_entry(l); });
  if (!barrier) return;
  settle_digits();
  cursor_ = rows_[++epoch_].begin();
}

void value_flow::accessed(const simt::event& e, const request& r) {
  using kind = simt::event_kind;
  using moment = warp_moment::kind;
  const bool is_shared = e.region() == simt::space::shared, is_update = e.what() == kind::atomic_update;
  note(is_update ? moment::atomic : is_shared ? moment::shared : moment::global, e, r.mask);
  const bool is_load = e.what() == kind::read || e.what() == kind::atomic_load;
  if (is_shared) return is_load ? read(e, r) : stored(e, r);
  return is_load ? loaded(e, r) : left(e, r);
}

/// What a value may be made of, the likeliest first.
std::vector<value_flow::guess> value_flow::guesses(const lane_state& lane) const {
  std::vector<guess> bases;
  const auto base = [&](bool held, bool stored, bool shuffled) {
    guess g;
    g.held = held;
    g.stored = stored;
    g.shuffled = shuffled;
    bases.push_back(g);
  };
  if (lane.has_stored && lane.is_stored_newer) base(false, true, false);
  if (lane.has_shuffled && lane.is_given) {
    if (lane.is_live) base(true, false, true);
    if (lane.has_stored) base(false, true, true);
  }
  if (lane.is_live) base(true, false, false);
  if (lane.has_shuffled && lane.is_own && lane.is_live) base(true, false, true);  // twice what it held
  if (lane.has_shuffled && lane.is_given) base(false, false, true);
  if (lane.has_stored) base(false, true, false);
  std::vector<guess> registers;
  if (!lane.loads.empty()) {
    for (const bool is_stored : {false, true}) {
      for (guess g : bases)
        if (g.stored == is_stored) {
          g.loads = true;
          registers.push_back(g);
        }
      if (is_stored) continue;
      guess alone;
      alone.loads = true;
      registers.push_back(alone);
    }
  }
  registers.insert(registers.end(), bases.begin(), bases.end());
  std::vector<guess> all;
  const int reads = static_cast<int>(lane.reads.size());
  const auto with_reads = [&](int first, int count) {
    guess alone;
    alone.first_read = first;
    alone.reads = count;
    all.push_back(alone);
    for (guess g : registers) {
      g.first_read = first;
      g.reads = count;
      all.push_back(g);
    }
  };
  if (reads > 0) with_reads(0, reads);
  for (int k = 0; reads > 1 && k < reads; ++k) with_reads(k, 1);
  all.insert(all.end(), registers.begin(), registers.end());
  if (!lane.loads.empty() && loads_sums(lane)) {
    std::vector<guess> first = all;
    std::erase_if(first, [](const guess& g) { return !g.loads; });
    for (guess& g : first) g.are_sums = true;
    all.insert(all.begin(), first.begin(), first.end());
  }
  return all;
}

/// Sums of halves that were stored to global memory are loaded as floats.
bool value_flow::loads_sums(const lane_state& lane) const {
  const auto is_sum = [&](const operand_value& o) { return o.seen.size == size_of(seen_.types().sum); };
  return seen_.types().sum != seen_.types().element && std::any_of(lane.loads.begin(), lane.loads.end(), is_sum);
}

std::vector<operand_value> value_flow::operands(const lane_state& lane, const guess& g) const {
  std::vector<operand_value> all;
  if (g.held) all.push_back({lane.held, false});
  if (g.stored) all.push_back({lane.stored.value, false});
  if (g.shuffled) all.push_back({lane.shuffled.value, false});
  if (g.loads)
    for (const operand_value& o : lane.loads) all.push_back({o.seen, !(g.are_sums && o.seen.size == size_of(seen_.types().sum))});
  for (int k = 0; k < g.reads; ++k) all.push_back({lane.reads[static_cast<std::size_t>(g.first_read + k)].value, false});
  return all;
}

/// The line that decides how they are put together.
const source_place& value_flow::place_of(const lane_state& lane, const guess& g, const source_place& here) const {
  return g.reads != 0 ? here : g.loads ? lane.load_row->where : g.shuffled ? lane.shuffle_row->where : here;
}

/// Nearly every operation gives the same with zero, and the greatest of equal operands is each of them.
static bool tells_operations(const std::vector<operand_value>& of) {
  for (std::size_t a = 0; a < of.size(); ++a) {
    if (of[a].seen.is_zero()) return false;
    for (std::size_t b = 0; b < a; ++b)
      if (of[a].seen.has_bits_of(of[b].seen)) return false;
  }
  return true;
}

void value_flow::learn(const lane_state& lane, const seen_value& v, const source_place& here) {
  for (const guess& g : guesses(lane)) {
    const std::vector<operand_value> of = operands(lane, g);
    if (of.size() >= 2 ? tells_operations(of) : g.loads) seen_.vote(place_of(lane, g, here), of, v);
  }
}

std::optional<value_flow::guess> value_flow::explained(const lane_state& lane, const seen_value& v, const source_place& here) const {
  if (!v.is_known) return {};
  std::optional<guess> best;
  double least = 0;
  for (const guess& g : guesses(lane)) {
    const std::vector<operand_value> of = operands(lane, g);
    const bool is_copy = of.size() == 1 && !of[0].is_load && of[0].seen.has_bits_of(v);
    const combination how = of.size() == 1 ? combination::add : seen_.at(place_of(lane, g, here));
    std::optional<double> off;
    if (is_copy) off = 0;
    else if (of.size() > 1 || of[0].is_load) off = distance(seen_.types(), how, of, v);
    if (!off || (best && *off >= least)) continue;
    best = g;
    least = *off;
  }
  return best;
}

void value_flow::keep_shuffle(unsigned l, const guess& g, bool is_seen) {
  lane_state& lane = lanes_[l];
  if (lane.has_shuffled && g.shuffled) {
    value_step step{thread(l), of_thread(l), {lane.shuffled.from}, 0, 0, is_seen};
    if (g.held) step.from.insert(step.from.begin(), lane.home);
    else if (g.stored) step.from.insert(step.from.begin(), lane.stored.from);
    lane.shuffle_row->steps.push_back(std::move(step));
    lane.home = of_thread(l);
    lane.number.reset();
  }
  lane.has_shuffled = lane.is_given = lane.is_own = false;
}

void value_flow::keep_loads(unsigned l, const guess& g) {
  lane_state& lane = lanes_[l];
  if (!lane.loads.empty()) {
    value_step step{thread(l), of_thread(l), {}};
    if (g.held || g.shuffled) step.from.push_back(of_thread(l));
    else if (g.stored) step.from.push_back(lane.stored.from);
    guess loads;
    loads.loads = true;
    loads.are_sums = g.are_sums;
    step.loaded = combined(seen_.types(), lane.load_row->how, operands(lane, loads));
    const bool is_sum = lane.load_row->how == combination::add || lane.load_row->how == combination::other;
    std::optional<whole> sum = is_sum ? exact_sum(seen_.types(), operands(lane, loads)) : std::nullopt;
    if (sum && !step.from.empty()) sum = lane.number && step.from[0] == of_thread(l) ? lane.number->plus(*sum) : std::nullopt;
    lane.number = sum;
    step.elements = static_cast<unsigned>(lane.loads.size());
    step.neighbours = lane.neighbours;
    lane.load_row->steps.push_back(std::move(step));
  }
  lane.loads.clear();
}

/// How a lane made the value that it now stores, sends or adds: the steps up to it, and what it is made of.
value_flow::made value_flow::make(unsigned l, const seen_value& v, holder to, const source_place& here, bool into_register) {
  lane_state& lane = lanes_[l];
  if (is_learning_) learn(lane, v, here);
  const std::optional<guess> found = explained(lane, v, here);
  made result;
  result.is_seen = found.has_value();
  const bool is_cleared = !found && v.is_zero();
  guess g = found.value_or(guess{});
  if (!found) {  // all that may have gone into it
    g.held = lane.is_live;
    g.shuffled = lane.is_given;
    g.loads = !lane.is_live;
    g.reads = is_cleared ? 0 : static_cast<int>(lane.reads.size());
  }
  for (int k = 0; k < g.reads; ++k) {
    const holder from = lane.reads[static_cast<std::size_t>(g.first_read + k)].from;
    if (from == to) result.from.insert(result.from.begin(), from);
    else result.from.push_back(from);
  }
  const bool reads_are_all = !found && g.reads != 0 && (into_register || (!result.from.empty() && result.from[0] == to) || to == of_thread(l));
  result.of_reads = g.reads != 0;
  const bool of_register = found ? g.uses_register() : !is_cleared && !reads_are_all;
  const bool is_stored = found && g.stored && !g.shuffled && !g.loads;
  const bool goes_through = (g.shuffled && lane.has_shuffled) || (g.loads && !lane.loads.empty());
  if (of_register) {
    const holder own = is_stored ? lane.stored.from : goes_through ? of_thread(l) : lane.home;
    result.from.insert(!result.from.empty() && result.from[0] == to ? result.from.end() : result.from.begin(), own);
  }
  if (of_register || into_register || is_cleared) {
    guess of_shuffle = g;
    if (found && !of_register) of_shuffle.held = of_shuffle.shuffled = lane.is_given;  // what it gave went under
    keep_shuffle(l, of_shuffle, found.has_value());
    if (g.loads) keep_loads(l, g);
    else lane.loads.clear();
    if (is_stored) lane.home = lane.stored.from;
    else if (is_cleared || (into_register && result.of_reads)) lane.home = of_thread(l);
    lane.is_live = !is_cleared;
    if (into_register) lane.is_stored_newer = false;
    lane.held = result.of_reads && !into_register ? seen_value{} : v;
    if (is_cleared) lane.number = whole();
    else if (found || result.of_reads) lane.number.reset();
    if (found && lane.held.is_known) {
      const operand_value one{v, false};
      lane.number = exact_sum(seen_.types(), {&one, 1});
    }
    lane.is_total = false;
  }
  if (result.of_reads || is_cleared) lane.reads.clear();
  return result;
}

void value_flow::shuffled(const simt::event& e, const request& r) {
  settle_digits();
  const source_place here = place(e);
  bool any_read = false;
  each(r.mask, [&](unsigned l) { any_read |= !lanes_[l].reads.empty(); });
  const auto read_row = any_read ? next_row(row_kind::read, read_at_) : rows::iterator{};
  const auto row = next_row(row_kind::shuffle, here);
  std::array<seen_value, 32> sent;
  std::uint32_t digits = 0;
  each(r.mask, [&](unsigned l) {
    sent[l] = next_entry(l).value;
    if (is_digit(l, sent[l], here)) {
      digits |= 1u << l;
      return;
    }
    made m = make(l, sent[l], of_thread(l), any_read ? read_at_ : here, true);
    if (m.of_reads) read_row->steps.push_back({thread(l), of_thread(l), std::move(m.from), 0, 0, m.is_seen});
  });
  each(r.mask, [&](unsigned l) {
    const auto source = static_cast<unsigned>(r.address[l]);
    lane_state& lane = lanes_[l];
    lane.has_shuffled = source < 32 && ((r.mask & ~digits) >> source & 1u) != 0;
    if (!lane.has_shuffled) return;
    lane.is_own = source == l;  // then it counts where it is seen to have added to itself, and only there
    lane.is_given = !lane.is_own && lanes_[source].is_live;
    lane.shuffled = {lanes_[source].home, sent[source]};
    lane.shuffle_row = row;
  });
}

void value_flow::read(const simt::event& e, const request& r) {
  read_at_ = place(e);
  std::optional<rows::iterator> others;
  each(r.mask, [&](unsigned l) {
    const seen_value v = next_entry(l).value;
    if (is_own(r.address[l])) return;
    const holder from = word_at(r.address[l]);
    if (!written_.contains(r.address[l]) && found_.insert(from).second) {
      if (!others) others = next_row(row_kind::load, read_at_);
      const operand_value one{v, false};
      (*others)->steps.push_back({thread(l), from, {}, combined(seen_.types(), combination::add, {&one, 1}), 0, true});
    }
    lanes_[l].reads.push_back({from, v});
  });
}

void value_flow::loaded(const simt::event& e, const request& r) {
  std::optional<rows::iterator> row;
  each(r.mask, [&](unsigned l) {
    lane_state& lane = lanes_[l];
    const seen_value v = next_entry(l).value;
    const std::uint64_t before = std::exchange(lane.loaded_to, r.address[l] + r.size);
    if (!lane.loads.empty() && lane.loads.back().seen.size < size_of(seen_.types().element) && before == r.address[l]) {
      seen_value& whole = lane.loads.back().seen;  // an element that is loaded word by word
      std::memcpy(reinterpret_cast<char*>(whole.bits.data()) + whole.size, v.bits.data(), v.size);
      whole.size += v.size;
      return;
    }
    if (lane.loads.empty()) {
      if (!row) row = next_row(row_kind::load, place(e));
      lane.load_row = *row;
      lane.neighbours = 0;
    }
    if (lane.loads.empty() || (before == r.address[l] && lane.neighbours == lane.loads.size())) ++lane.neighbours;
    lane.loads.push_back({v, true});
  });
}

combination operation_of(simt::update_kind k) {
  using kind = simt::update_kind;
  switch (k) {
    case kind::min: return combination::least;
    case kind::max: return combination::greatest;
    case kind::bit_and: return combination::bit_and;
    case kind::bit_or: return combination::bit_or;
    case kind::bit_xor: return combination::bit_xor;
    case kind::exchange:
    case kind::count: return combination::other;
    default: return combination::add;
  }
}

void value_flow::stored(const simt::event& e, const request& r) {
  const bool is_update = e.what() == simt::event_kind::atomic_update;
  const auto row = next_row(row_kind::store, place(e));
  each(r.mask, [&](unsigned l) {
    const value_log::entry& entry = next_entry(l);
    if (is_own(r.address[l])) return;
    if (!is_update && !digits_.empty()) stores_.push_back({l, r.address[l], entry, row});
    else if (!is_digit(l, entry.value, row->where)) store(l, r.address[l], entry, row, is_update);
  });
}

void value_flow::store(unsigned l, std::uint64_t address, const value_log::entry& entry, rows::iterator row, bool is_update) {
  const holder to = word_at(address);
  made m = make(l, entry.value, to, row->where, false);
  if (is_update) {
    row->is_atomic = true;
    row->how = operation_of(entry.update);
    if (m.from.empty() || m.from[0] != to) m.from.insert(m.from.begin(), to);
  } else {
    lanes_[l].has_stored = true;
    lanes_[l].is_stored_newer = m.of_reads;
    lanes_[l].stored = {to, entry.value};
  }
  row->steps.push_back({thread(l), to, std::move(m.from), 0, 0, m.is_seen});
}

/// Stores and atomics of global memory: what the block has to give.
void value_flow::left(const simt::event& e, const request& r) {
  settle_digits();
  const auto row = next_row(row_kind::result, place(e));
  row->is_atomic = e.what() != simt::event_kind::write;
  each(r.mask, [&](unsigned l) {
    const seen_value v = next_entry(l).value;
    if (const lane_state& lane = lanes_[l]; lane.is_total && is_rounded(seen_.types(), *lane.number, v)) {
      row->steps.push_back({thread(l), of_thread(l), {lane.home}, 0, r.address[l], true});
      reductions_->reaches_result = true;
      return;
    }
    made m = make(l, v, of_thread(l), row->where, false);
    if (reductions_) reductions_->reaches_result |= m.is_seen;
    row->steps.push_back({thread(l), of_thread(l), std::move(m.from), 0, r.address[l], m.is_seen});
  });
}

void value_flow::finish() {
  bool any_seen = false;
  for (const auto& [epoch, all] : rows_)
    for (const value_row& row : all)
      for (const value_step& s : row.steps) any_seen |= row.what == row_kind::result && s.is_seen;
  for (auto& [epoch, all] : rows_)
    for (value_row& row : all) {
      // Tickets and flags are not summed.
      if (row.what == row_kind::result && row.is_atomic && any_seen)
        std::erase_if(row.steps, [](const value_step& s) { return !s.is_seen; });
      if (row.steps.empty()) continue;
      // What no value was seen to come from is no sum.
      const auto is_seen = [](const value_step& s) { return s.is_seen; };
      if (row.what == row_kind::shuffle && row.how == combination::add && std::none_of(row.steps.begin(), row.steps.end(), is_seen))
        row.how = combination::other;
      std::stable_sort(row.steps.begin(), row.steps.end(),
                       [](const value_step& a, const value_step& b) { return a.thread < b.thread; });
      trace_.rows.push_back(std::move(row));
    }
  std::set<holder> wanted;
  for (auto row = trace_.rows.rbegin(); row != trace_.rows.rend(); ++row) {
    std::vector<holder> needed;
    for (value_step& s : row->steps) {
      const auto reduced = reduced_.find(s.thread);
      // What all lanes of a warp make together is in what each does next.
      s.is_reduced = !reductions_ && row->what == row_kind::load && reduced != reduced_.end() && row->epoch <= reduced->second;
      s.reaches_result = row->what == row_kind::result || wanted.contains(s.to) || s.is_reduced;
      if (s.reaches_result) needed.insert(needed.end(), s.from.begin(), s.from.end());
    }
    for (const value_step& s : row->steps) wanted.erase(s.to);
    wanted.insert(needed.begin(), needed.end());
    // All lanes have what a reduction gives; those that go on with it are drawn. Words that tell how to put digits
    // together are no part of the number.
    const bool may_be_digits = reductions_ && (row->what == row_kind::store || row->what == row_kind::read);
    if (row->what == row_kind::reduce || may_be_digits)
      std::erase_if(row->steps, [&](const value_step& s) { return !s.reaches_result && !(may_be_digits && s.is_seen); });
  }
  std::erase_if(trace_.rows, [](const value_row& row) { return row.steps.empty(); });
}

}  // namespace lens
