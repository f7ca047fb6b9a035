// SPDX-License-Identifier: Apache-2.0
// States that came from elsewhere: as words (check_states) and compact (expand_states), of every operation and element type.
#include "entries.hpp"
#include "promises.hpp"

#include <warpfold/builtin.hpp>
#include <warpfold/compact_state.hpp>
#include <warpfold/results.hpp>

#include <optional>
#include <vector>

namespace {

using fuzz::require;
using bytes = std::vector<std::byte>;
using view = std::span<const std::byte>;

constexpr wf::rounding modes[] = {wf::rounding::nearest, wf::rounding::zero, wf::rounding::away, wf::rounding::up,
                                  wf::rounding::down};

std::int64_t count_of(view state) {
  std::int64_t n;
  std::memcpy(&n, state.data(), 8);
  return n;
}

bool is_state(const wf::state_form& form, view state) {
  try {
    wf::check_states(form, state, 1, "fuzz");
    return true;
  } catch (const wf::error& e) {
    require(e.code() == wf::errc::bad_input, "an error of another code");
    fuzz::require_one_line(e.what());
    return false;
  }
}

/// What is accepted is written back as it was.
std::optional<bytes> expanded(const wf::state_form& form, view compact) {
  try {
    bytes states = wf::expand_states(form, compact);
    require(states.size() % form.bytes == 0, "a part of a state");
    const bytes again = wf::compact_states(form, states);
    require(std::ranges::equal(again, compact), "accepted, and written back otherwise");
    return states;
  } catch (const wf::error& e) {
    require(e.code() == wf::errc::bad_input, "an error of another code");
    fuzz::require_one_line(e.what());
    return std::nullopt;
  }
}

void finish(const wf::state_form& form, view state) {
  const std::size_t size = wf::builtin(form.what, form.element, form.accuracy).result_size;
  const auto answer = std::make_unique<std::byte[]>(size);
  for (const wf::rounding mode : modes)
    for (const std::int64_t correction : {std::int64_t{0}, std::int64_t{1}, count_of(state), INT64_MAX, INT64_MIN}) {
      wf::options o;
      o.rounding = mode;
      o.correction = correction;
      wf::finish_states(form, o, state.data(), 1, answer.get());
    }
}

/// Nothing where there are more elements than a state counts.
std::optional<bytes> merged(const wf::state_form& form, const bytes& a, view b) {
  bytes to = a;
  try {
    wf::merge_states(form, to.data(), b.data(), 1);
    return to;
  } catch (const wf::error& e) {
    // A state of complex products counts two terms an element.
    require(e.code() == wf::errc::capacity && count_of(a) > INT64_MAX / 2 - count_of(b), "merging is refused");
    require(to == a, "a refusal changes a state");
    return std::nullopt;
  }
}

/// The counter of -0 of an exact sum alone is lost where others are merged into it.
bool keeps_zeros(const wf::state_form& form, view state) {
  const auto rows = wf::detail::rows_of(form);
  std::vector<std::int64_t> words(form.bytes / 8);
  std::memcpy(words.data(), state.data(), form.bytes);
  for (int row = 0; row < rows.sums; ++row)
    if (words[static_cast<std::size_t>(1 + row * (rows.digits + 5 + rows.squares) + rows.digits + 4)] != 0) return true;
  return false;
}

/// Two states that were accepted.
void check_pair(const wf::state_form& form, const bytes& a, const bytes& b) {
  bytes nothing(form.bytes);
  wf::clear_states(form, nothing.data(), 1);
  require(is_state(form, nothing), "the state of nothing is none");
  finish(form, a);
  const auto again = expanded(form, wf::compact_states(form, a));
  require(again && *again == a, "a compact state is another");
  if (form.canonical) {
    require(merged(form, a, nothing) == a, "merging nothing changes a state");
    require(merged(form, nothing, a) == a, "merging into nothing changes a state");
  }
  auto ab = merged(form, a, b);
  if (!ab) return;
  require(count_of(*ab) == count_of(a) + count_of(b), "merging loses elements");
  if (form.canonical) require(is_state(form, *ab), "a merged state is none");
  finish(form, *ab);
  if (form.adds) {
    require(merged(form, b, a) == ab, "merging depends on the order");
    wf::unmerge_states(form, ab->data(), b.data(), 1);
    require(*ab == a || keeps_zeros(form, a), "what is left is another state");
  }
  // As often as the count allows: words must not run over.
  bytes sum = a;
  for (int k = 0; k < 63 && form.canonical; ++k) {
    const auto more = merged(form, sum, sum);
    if (!more) break;
    sum = *more;
    require(is_state(form, sum), "a state that was doubled is none");
  }
  finish(form, sum);
}

/// The words of a state, of small and of extreme numbers; for random ones are never plausible.
bytes drawn(fuzz::taker& in, const wf::state_form& form) {
  std::vector<std::int64_t> words(form.bytes / 8);
  wf::clear_states(form, words.data(), 1);
  const auto rows = wf::detail::rows_of(form);
  words[0] = in.number();
  if (rows.sums == 0) {
    for (std::size_t k = 1; k < words.size(); ++k)
      if ((in.byte() & 1) != 0) words[k] = in.number();
  }
  std::size_t at = 1;
  const auto draw_number = [&](int digits) {
    const auto n = static_cast<std::size_t>(digits);
    const std::size_t from = in.byte() % n, some = in.byte() % 8u;
    for (std::size_t k = from; k < std::min(from + some, n); ++k) words[at + k] = in.take<std::uint32_t>();
    if ((in.byte() & 1) != 0)
      for (std::size_t k = from + some; k < n; ++k) words[at + k] = 0xffffffff;
    words[at + n - 1] = static_cast<std::int32_t>(static_cast<std::uint32_t>(words[at + n - 1]));
    at += n;
  };
  for (int row = 0; row < rows.sums; ++row) {
    draw_number(rows.digits);
    const std::uint8_t kind = in.byte();
    words[at] = (kind & 0x80) != 0 ? in.number() : static_cast<std::int64_t>(static_cast<std::uint64_t>(words[0]) * static_cast<std::uint64_t>(rows.terms));
    for (std::size_t k = 1; k < 5; ++k)
      if ((kind >> k & 1) != 0) words[at + k] = (kind & 1) != 0 ? words[at] : in.number();
    at += 5;
    if (rows.squares != 0) draw_number(rows.squares);
  }
  bytes out(form.bytes);
  std::memcpy(out.data(), words.data(), out.size());
  return out;
}

}  // namespace

void check_words(view content) {
  fuzz::taker in(content);
  const auto what = static_cast<wf::op>(in.byte() % (wf::op_count + 1));
  const auto element = static_cast<wf::dtype>(in.byte() % (wf::dtypes.size() + 1));
  const std::uint8_t how = in.byte();
  std::optional<wf::state_form> form;
  try {
    form = wf::known_form(what, element, (how & 1) != 0 ? wf::accuracy::fast : wf::accuracy::exact);
  } catch (const wf::error& e) {
    require(e.code() == wf::errc::unsupported, "an error of another code");
    fuzz::require_one_line(e.what());
    return;
  }
  if ((how & 2) != 0) {  // compact
    const auto states = expanded(*form, in.rest());
    if (!states || states->empty()) return;
    const auto first = states->begin(), last = states->end() - static_cast<std::ptrdiff_t>(form->bytes);
    check_pair(*form, bytes(first, first + static_cast<std::ptrdiff_t>(form->bytes)), bytes(last, states->end()));
    return;
  }
  if ((how & 4) != 0) (void)is_state(*form, in.rest());
  const bytes a = drawn(in, *form), b = drawn(in, *form);
  if (!is_state(*form, a)) return;
  check_pair(*form, a, is_state(*form, b) ? b : a);
}
