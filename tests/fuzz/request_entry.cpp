// SPDX-License-Identifier: Apache-2.0
// wf_run of a request with any fields, and the functions of states. What is carried out is what the shorter functions answer.
#include "drawn_array.hpp"
#include "entries.hpp"

namespace {

using namespace fuzz;

bool finds_places(int op) { return op == WF_ARGMIN || op == WF_ARGMAX; }

/// Offsets or labels, of 4 or of 8 bytes, in memory of just their size.
struct drawn_indexes {
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> narrow;

  const void* of(int bytes) {
    if (bytes != 4) return wide.data();
    narrow.assign(wide.begin(), wide.end());
    return narrow.data();
  }
};

/// The answers of a request that was carried out, by a function for its partition alone.
int shorter(const wf_request& q, const std::vector<std::int64_t>& indexes, std::int64_t count, void* out) {
  switch (q.partition) {
    case WF_WHOLE: return wf_reduce(q.op, q.x, q.y, &q.options, out);
    case WF_AXES: return wf_reduce_axes(q.op, q.x, q.y, q.axes, q.axis_count, &q.options, out);
    case WF_LABELS: return wf_reduce_by_label(q.op, q.x, q.y, indexes.data(), count, &q.options, out);
    default: return wf_reduce_segments(q.op, q.x, q.y, indexes.data(), count, &q.options, out);
  }
}

int finished(const wf_states& s, const memory& out) { return wf_finish(&s, out.bytes.get()); }

void require_same(const wf_request& q, const memory& out, const std::vector<std::int64_t>& indexes, std::int64_t answers, std::size_t answer, std::size_t each) {
  const auto n = static_cast<std::size_t>(answers);
  memory want(n * answer + 1), got(n * answer + 1);
  require(shorter(q, indexes, answers, want.bytes.get()) == WF_OK, "a request is carried out, and refused otherwise");
  std::memset(got.bytes.get(), 0, got.size);
  if (q.output == WF_STATES)
    require(finished({sizeof(wf_states), WF_STATES_VERSION, q.op, q.x->dtype, out.bytes.get(), answers, q.options, nullptr}, got) == WF_OK,
            "states that have no answers");
  else
    std::memcpy(got.bytes.get(), out.bytes.get(), n * each);
  for (std::size_t k = 0; finds_places(q.op) && k < n; ++k) {  // the index in the whole
    std::int64_t place;
    std::memcpy(&place, want.bytes.get() + 8 * k, 8);
    place += place < 0 ? 0 : q.first;
    std::memcpy(want.bytes.get() + 8 * k, &place, 8);
  }
  require(std::memcmp(want.bytes.get(), got.bytes.get(), n * answer) == 0, "another answer of a request");
}

void check_run(taker& in, const drawn_call& c) {
  const auto size = result_size(c.op, c.type);
  wf_request q{};
  const std::uint8_t odd = in.byte();
  q.size = odd == 1 ? in.take<std::uint16_t>() : sizeof q;
  q.version = odd == 2 ? in.take<int>() : WF_REQUEST_VERSION;
  q.op = c.op;
  q.x = odd == 3 ? nullptr : &c.x.fields;
  q.y = c.second();
  q.partition = odd == 4 ? in.take<int>() : in.byte() % 5;
  q.output = odd == 5 ? in.take<int>() : in.byte() % 3;
  q.index_bytes = odd == 6 ? in.take<int>() : in.byte() % 3 * 4;
  q.first = (in.byte() & 3) == 0 ? in.number() : 0;
  q.length = in.number();
  q.options = c.options;

  std::size_t each = size.value_or(16);
  const std::size_t answer = each;
  if (q.output == WF_CHECKED) each = 8;
  if (q.output == WF_STATES) {
    int adds = 0;
    const int status = wf_state_size(q.op, c.type, q.options.accuracy, &each, &adds);
    require_told(status);
    if (status != WF_OK) each = answer;
    require(each % 8 == 0 || status != WF_OK, "a state that is no words");
  }

  drawn_indexes indexes;
  std::optional<drawn_axes> axes;
  bool right = size && c.x.known;
  std::int64_t answers = 1;
  const bool one_dimension = c.x.known && c.x.fields.rank == 1;
  switch (q.partition) {
    case WF_AXES:
      axes.emplace(in, c.x);
      q.axes = axes->axes.data();
      q.axis_count = static_cast<int>(axes->axes.size());
      right = right && axes->right;
      answers = axes->answers;
      break;
    case WF_SEGMENTS: {
      const std::uint8_t n = in.byte();
      indexes.wide.push_back(0);
      for (int k = 0; k < n % 8; ++k) indexes.wide.push_back(n < 200 ? indexes.wide.back() + in.byte() % 4 : in.number());
      answers = static_cast<std::int64_t>(indexes.wide.size()) - 1;
      q.count = n < 250 ? answers : n % 2 == 0 ? -1 : INT64_MAX;
      right = right && one_dimension && q.count == answers;
      break;
    }
    case WF_EQUAL_SEGMENTS: {
      right = right && one_dimension && q.length > 0;
      if (!right || c.x.is != sort::real) break;
      answers = c.x.elements / q.length + (c.x.elements % q.length != 0 ? 1 : 0);
      for (std::int64_t k = 0; k <= answers; ++k) indexes.wide.push_back(k == answers ? c.x.elements : k * q.length);
      break;
    }
    case WF_LABELS: {
      if (c.x.elements > 256) return;
      q.count = answers = in.number();
      if (answers > most_elements / 16 && answers < INT64_MAX / 8) return;  // the states alone take gigabytes
      const bool in_range = (in.byte() & 7) != 0 && answers > 0;
      for (std::int64_t k = 0; k < c.x.elements; ++k)
        indexes.wide.push_back(in_range ? in.byte() % std::min<std::int64_t>(answers, 256) : in.number());
      right = right && one_dimension && answers >= 0 && answers <= most_elements;
      break;
    }
    default: break;
  }
  if (c.too_large() || (right && answers > most_elements)) return;
  q.indexes = odd == 7 || q.partition == WF_EQUAL_SEGMENTS ? nullptr : indexes.of(q.index_bytes);
  const std::size_t room = right ? static_cast<std::size_t>(answers) : 1;
  memory out(room * each + 1), overflow(room + 1);
  q.out = odd == 8 ? nullptr : out.bytes.get();
  q.overflow = odd == 9 ? nullptr : reinterpret_cast<unsigned char*>(overflow.bytes.get());
  std::memset(out.bytes.get(), 0x5a, out.size);
  std::memset(overflow.bytes.get(), 0x5a, overflow.size);

  const int status = wf_run(&q);
  require_told(status);
  if (status != WF_OK) return;
  require(right && c.x.is == sort::real && (!c.y || c.y->is == sort::real), "what is no request is carried out");
  require(odd != 3 && q.first >= 0 && (odd != 1 || q.size == sizeof q) && (odd != 2 || q.version == WF_REQUEST_VERSION), "fields that are wrong are taken");
  if (q.output == WF_CHECKED)
    for (std::size_t k = 0; k < room; ++k) require(std::to_integer<unsigned>(overflow.bytes[k]) <= 1, "a flag that is neither 0 nor 1");
  if (q.output == WF_CHECKED) require(answer == 8, "checked answers of another size");
  if (answers == 0) return;
  // In 4 bytes the indexes may be others.
  if (!indexes.narrow.empty()) indexes.wide.assign(indexes.narrow.begin(), indexes.narrow.end());
  if (q.options.accuracy == WF_EXACT) require_same(q, out, indexes.wide, answers, answer, each);
}

/// States of x: merged with those of nothing and of x once more, taken out, finished.
void check_states(taker& in, const drawn_call& c) {
  if (c.x.is != sort::real || (c.y && c.y->is != sort::real)) return;
  const std::uint8_t odd = in.byte();
  const int accuracy = odd == 1 ? in.take<int>() : in.byte() % 2;
  const std::int64_t count = odd == 2 ? -in.byte() : in.byte() % 4;
  std::size_t bytes = 0;
  int adds = 0;
  const int known = wf_state_size(c.op, c.type, accuracy, &bytes, &adds);
  require_told(known);
  memory to(bytes * 4 + 1), later(bytes * 4 + 1), before(bytes * 4 + 1);
  void* const states = odd == 3 ? nullptr : to.bytes.get();
  wf_states all_of_them{sizeof(wf_states), WF_STATES_VERSION, c.op, c.type, states, count, {}, nullptr};
  all_of_them.options.accuracy = accuracy;
  const int cleared = wf_clear(&all_of_them);
  require_told(cleared);
  require((cleared == WF_OK) == (known == WF_OK && count >= 0 && (states != nullptr || count == 0)), "states are cleared that are none, or others not");
  if (cleared != WF_OK || states == nullptr || count == 0) return;
  wf_request q{};
  q.size = sizeof q;
  q.version = WF_REQUEST_VERSION;
  q.op = c.op;
  q.x = &c.x.fields;
  q.y = c.second();
  q.output = WF_STATES;
  q.options = c.options;
  q.options.accuracy = accuracy;
  for (std::int64_t k = 0; k < count; ++k) {
    q.out = later.bytes.get() + static_cast<std::size_t>(k) * bytes;
    const int status = wf_run(&q);
    require_told(status);
    if (status != WF_OK) return;
  }
  const std::size_t all = bytes * static_cast<std::size_t>(count);
  std::memcpy(before.bytes.get(), to.bytes.get(), all);
  require(wf_merge(&all_of_them, later.bytes.get()) == WF_OK, "states are not merged");
  const bool native = accuracy == WF_FAST || c.op == WF_LOGSUMEXP || c.op == WF_PROD;
  if (!native) require(std::memcmp(states, later.bytes.get(), all) == 0, "merging into nothing changes a state");
  const auto size = result_size(c.op, c.type);
  require(size.has_value(), "states without answers");
  memory answers(*size * 4 + 1), want(*size + 1);
  all_of_them.options = q.options;
  require(wf_finish(&all_of_them, answers.bytes.get()) == WF_OK, "states are not finished");
  require(wf_reduce(c.op, q.x, q.y, &q.options, want.bytes.get()) == WF_OK, "a state, but no answer");
  for (std::int64_t k = 0; k < count && !native; ++k)
    require(std::memcmp(answers.bytes.get() + static_cast<std::size_t>(k) * *size, want.bytes.get(), *size) == 0, "another answer of a state");
  const int taken = wf_unmerge(&all_of_them, later.bytes.get());
  require_told(taken);
  require((taken == WF_OK) == (adds != 0), "states are taken out that do not add, or others not");
  if (taken == WF_OK) require(std::memcmp(states, before.bytes.get(), all) == 0, "something is left where all was taken out");
}

}  // namespace

void check_request(std::span<const std::byte> content) {
  taker in(content);
  const drawn_call c(in);
  if (c.options.threads > 64) return;  // beyond those of the process they cost time alone
  if (c.function % 4 == 3) check_states(in, c);
  else check_run(in, c);
}
