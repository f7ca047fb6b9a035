// SPDX-License-Identifier: Apache-2.0
#include <warpfold/request.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/results.hpp>

#include "../cpu/environment.hpp"
#include "adapted.hpp"
#include "shapes.hpp"

namespace wf {

namespace {

/// The functions of what is asked, which is refused where there are none.
const cpu::erased& functions_of(const request& r) {
  if (r.context.threads < 0) detail::refuse_threads(r.context.threads);
  if (detail::is_own(r)) {
    if (r.own.functions == nullptr) throw error(errc::unsupported, std::string(r.own.name) + ": it has kernels for a GPU alone; the CPU wants its functions");
    return *r.own.functions;
  }
  const cpu::erased& answers = builtin(r.what, r.element, r.context.accuracy);
  if (r.wanted != output::checked) return answers;
  if (const cpu::erased* const f = find_checked(r.what, r.element)) return *f;
  throw error(errc::unsupported, std::string(op_names[static_cast<int>(r.what)]) + " of " + std::string(info(r.element).name) +
                                     " cannot overflow; sum, prod, sum_of_squares, norm1 and dot of integers can");
}

}  // namespace

extents check(const request& r) {
  if (r.own.kernels == nullptr) functions_of(r);
  return check_shapes(r);
}

namespace cpu {

namespace {

/// Offsets or labels as the engine takes them: copied where they have 4 bytes.
class wide_indexes {
 public:
  wide_indexes(const partition& by, std::int64_t n) {
    const auto count = static_cast<std::size_t>(n);
    if (by.index_bytes == 8) {
      span_ = {static_cast<const std::int64_t*>(by.indexes), count};
      return;
    }
    const auto* from = static_cast<const std::int32_t*>(by.indexes);
    copy_.assign(from, from + count);
    span_ = copy_;
  }
  std::span<const std::int64_t> get() const { return span_; }

 private:
  std::vector<std::int64_t> copy_;
  std::span<const std::int64_t> span_;
};

/// Whether each input's elements, `n` in all, lie in C order one beside the other.
bool without_gaps(const erased& r, const operands& x, std::int64_t n) {
  if (n <= 1) return true;
  for (std::size_t k = 0; k < static_cast<std::size_t>(r.inputs); ++k) {
    auto apart = static_cast<std::int64_t>(r.element_sizes[k]);
    for (std::size_t d = x.shape.size(); d-- > 0; apart *= x.shape[d]) {
      if (x.shape[d] != 1 && x.strides[k][d] != apart) return false;
    }
  }
  return true;
}

/// Runs any reduction wherever a partition says; `who` begins messages. The partition has been checked (shape_of_answers), and `out` has
/// room for as many answers. Throws wf::error (bad_argument) of offsets and labels that do not fit.
void run(const erased& r, const void* self, const operands& x, const partition& by, const context& c, void* out,
         const char* who) {
  using kinds = partition::kinds;
  switch (by.kind) {
    case kinds::whole: {
      const std::int64_t n = *wf::detail::product(x.shape);
      if (without_gaps(r, x, n)) reduce_run(r, self, x.data.data(), n, c, out);
      else reduce_all(r, self, x, c, out);
      return;
    }
    case kinds::axes:
      reduce_axes(r, self, x, checked_axes(by.axes, static_cast<int>(x.shape.size()), who), c, out);
      return;
    case kinds::segments:
      reduce_segments(r, self, x, wide_indexes(by, by.count + 1).get(), c, out);
      return;
    case kinds::labels:
      reduce_labels(r, self, x, wide_indexes(by, x.shape[0]).get(), by.count, c, out);
      return;
    case kinds::equal_segments: break;
  }
  const std::int64_t n = x.shape[0], length = by.length, whole = n / length;
  operands rows = x;  // equal segments are the rows of a matrix; what is left is one more
  rows.shape = {whole, length};
  for (std::size_t k = 0; k < static_cast<std::size_t>(r.inputs); ++k)
    rows.strides[k] = {whole > 1 ? x.strides[k][0] * length : 0, x.strides[k][0]};  // a length that no array has overflows it
  const int last[] = {1};
  reduce_axes(r, self, rows, last, c, out);
  if (whole * length == n) return;
  operands rest = x;
  rest.shape = {n - whole * length};
  for (std::size_t k = 0; k < static_cast<std::size_t>(r.inputs); ++k)
    rest.data[k] = static_cast<const std::byte*>(x.data[k]) + whole * length * x.strides[k][0];
  reduce_all(r, self, rest, c, static_cast<std::byte*>(out) + static_cast<std::size_t>(whole) * r.result_size);
}

}  // namespace

}  // namespace cpu

namespace {

class on_the_cpu final : public backend {
 public:
  std::string_view name() const noexcept override { return "cpu"; }
  bool takes(op what, dtype element, accuracy a, partition::kinds, output wanted) const noexcept override {
    return wanted == output::checked ? find_checked(what, element) != nullptr : find_builtin(what, element, a) != nullptr;
  }
  void run(const request& r) const override {
    const cpu::erased& f = functions_of(r);
    check_shapes(r);
    const void* const self = detail::is_own(r) ? r.own.self : &r.options;
    if (r.first == 0 && r.wanted != output::states && !r.swapped[0] && !r.swapped[1] && r.progress == nullptr) {  // a few ns of a small array's time
      cpu::run(f, self, r.inputs, r.by, r.context, r.out, name_of(r));
      return;
    }
    const library::adapted a(f, self, {r.element, r.swapped, r.first, r.wanted == output::states, r.progress});
    cpu::run(a.functions(), a.self(), r.inputs, r.by, r.context, r.out, name_of(r));
  }
  void clear(const state_form& f, void* states, std::int64_t count) const override { clear_states(f, states, count); }
  void merge(const state_form& f, void* to, const void* later, std::int64_t count) const override { merge_states(f, to, later, count); }
  void unmerge(const state_form& f, void* to, const void* later, std::int64_t count) const override { unmerge_states(f, to, later, count); }
  void finish(const state_form& f, const options& o, const void* states, std::int64_t count, void* out) const override {
    finish_states(f, o, states, count, out);
  }
};

}  // namespace

const backend& cpu_backend() {
  static const on_the_cpu it;
  return it;
}

// ---- States.

namespace {

/// One state, aligned, without the number of elements before it. It lies on the stack: no call allocates for its states.
class aligned_state {
 public:
  explicit aligned_state(const cpu::erased& r) : r_(r) {}
  aligned_state(const aligned_state&) = delete;
  aligned_state& operator=(const aligned_state&) = delete;
  void* get() { return memory_; }
  void read(const void* told) { std::memcpy(memory_, static_cast<const std::byte*>(told) + 8, r_.state_size); }
  void write(void* told) {
    if (r_.normalise != nullptr) r_.normalise(memory_);
    std::memcpy(static_cast<std::byte*>(told) + 8, memory_, r_.state_size);
  }
  /// Takes the words of `part` out of those that were read, as integers mod 2^64.
  void subtract(const std::byte* part) {
    for (std::size_t at = 0; at < r_.state_size; at += 8) {
      std::uint64_t word, less;
      std::memcpy(&word, memory_ + at, 8);
      std::memcpy(&less, part + 8 + at, 8);
      word -= less;
      std::memcpy(memory_ + at, &word, 8);
    }
  }

 private:
  const cpu::erased& r_;
  alignas(64) std::byte memory_[library::most_state_bytes];
};

const cpu::erased& functions_of(const state_form& f) { return builtin(f.what, f.element, f.accuracy); }

std::int64_t count_of(const std::byte* told) {
  std::int64_t n;
  std::memcpy(&n, told, 8);
  return n;
}

}  // namespace

state_form form_of_states(op what, dtype element, accuracy a) {
  const cpu::erased& r = builtin(what, element, a);
  const bool native = r.declares->rounding == declaration::rounds::natively;
  return {what, element, a, library::told_bytes(r), r.adds, !native};
}

void clear_states(const state_form& form, void* states, std::int64_t count) {
  const cpu::erased& r = functions_of(form);
  check_states_call(form.what, count, {{states, "states"}});
  aligned_state s(r);
  r.identity(nullptr, s.get());
  for (std::int64_t k = 0; k < count; ++k) {
    std::byte* to = static_cast<std::byte*>(states) + static_cast<std::size_t>(k) * form.bytes;
    std::memset(to, 0, form.bytes);
    s.write(to);
  }
}

void merge_states(const state_form& form, void* to, const void* later, std::int64_t count) {
  const cpu::ieee_environment environment;
  const cpu::erased& r = functions_of(form);
  check_states_call(form.what, count, {{to, "to"}, {later, "later"}});
  aligned_state a(r), b(r);
  for (std::int64_t k = 0; k < count; ++k) {
    std::byte* x = static_cast<std::byte*>(to) + static_cast<std::size_t>(k) * form.bytes;
    const std::byte* y = static_cast<const std::byte*>(later) + static_cast<std::size_t>(k) * form.bytes;
    std::int64_t n = 0;
    if (__builtin_add_overflow(count_of(x), count_of(y), &n))
      throw error(errc::capacity, std::string(op_names[static_cast<int>(form.what)]) + ": a state of more than 2^63 - 1 elements");
    a.read(x);
    b.read(y);
    r.combine(nullptr, a.get(), b.get());
    a.write(x);
    std::memcpy(x, &n, 8);
  }
}

void unmerge_states(const state_form& form, void* to, const void* later, std::int64_t count) {
  const char* const who = op_names[static_cast<int>(form.what)];
  const cpu::erased& r = functions_of(form);
  if (!form.adds)
    throw error(errc::unsupported, std::string(who) + ": its states cannot be taken out of one another; those of sums can");
  check_states_call(form.what, count, {{to, "to"}, {later, "later"}});
  aligned_state a(r);
  for (std::int64_t k = 0; k < count; ++k) {
    std::byte* x = static_cast<std::byte*>(to) + static_cast<std::size_t>(k) * form.bytes;
    const std::byte* y = static_cast<const std::byte*>(later) + static_cast<std::size_t>(k) * form.bytes;
    if (count_of(y) > count_of(x))
      refuse(std::string(who) + ": a state of " + std::to_string(count_of(y)) + " elements cannot be taken out of one of " +
             std::to_string(count_of(x)));
    const std::int64_t left = count_of(x) - count_of(y);
    a.read(x);
    a.subtract(y);
    a.write(x);
    std::memcpy(x, &left, 8);
  }
}

void finish_states(const state_form& form, const options& o, const void* states, std::int64_t count, void* out) {
  const cpu::ieee_environment environment;
  const cpu::erased& r = functions_of(form);
  check_states_call(form.what, count, {{states, "states"}, {out, "out"}});
  aligned_state a(r);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::byte* x = static_cast<const std::byte*>(states) + static_cast<std::size_t>(k) * form.bytes;
    a.read(x);
    r.finish(&o, a.get(), count_of(x), static_cast<std::byte*>(out) + static_cast<std::size_t>(k) * r.result_size);
  }
}

}  // namespace wf
