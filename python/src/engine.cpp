// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <warpfold/backend.hpp>

#include "rounded.hpp"
#include "selected.hpp"

namespace wfpy {

using namespace wf;

namespace {

[[noreturn]] void refuse(const std::string& what) { throw error(errc::bad_argument, what); }

const cpu::erased& functions_of(const request& r, op o, dtype element) {
  if (!r.round_to) return builtin(o, element, r.accuracy);
  const bool mean = o == op::mean;
  if (mean || o == op::sum)
    if (const cpu::erased* f = find_rounded(mean, element, *r.round_to)) return *f;
  throw error(errc::unsupported, std::string(properties_of(o).name) + ": no answer of type " + std::string(info(*r.round_to).name) +
                                     " from elements of type " + std::string(info(element).name));
}

cpu::operands operands_of(const layout& x, const layout* second) {
  cpu::operands o;
  o.data[0] = x.data;
  o.shape = x.shape;
  o.strides[0] = detail::byte_strides(x.shape, x.strides, 1);
  if (second != nullptr) {
    if (second->shape != x.shape)
      refuse("two arrays of the shapes " + detail::text_of(x.shape) + " and " + detail::text_of(second->shape) + "; they must be the same");
    o.data[1] = second->data;
    o.strides[1] = detail::byte_strides(second->shape, second->strides, 1);
  }
  return o;
}

}  // namespace

std::int64_t layout::size() const {
  const auto n = detail::product(shape);
  if (!n) refuse("an array of more than 2^63 - 1 elements");
  return *n;
}

bool layout::contiguous() const {
  auto step = static_cast<std::int64_t>(info(type).size);
  if (size() == 0) return true;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

layout broadcast(const layout& x, const extents& shape, const char* what) {
  layout b{x.data, x.type, shape, extents(shape.size(), 0)};
  const bool more = x.shape.size() > shape.size();
  const std::size_t before = more ? 0 : shape.size() - x.shape.size();
  bool fits = !more;
  for (std::size_t d = 0; fits && d < x.shape.size(); ++d) {
    if (x.shape[d] == shape[before + d]) b.strides[before + d] = x.strides[d];
    else fits = x.shape[d] == 1;
  }
  if (!fits)
    refuse(std::string(what) + " has the shape " + detail::text_of(x.shape) + ", which cannot be broadcast to " + detail::text_of(shape));
  return b;
}

struct plan::parts {
  wf::options options;
  wf::context context;
  std::vector<cpu::fusion::part> list;
  std::unique_ptr<cpu::fusion> fused;
  std::unique_ptr<selected> numbers, some;  // without NaNs, of the mask
  std::unique_ptr<cpu::running> pieces;
  const cpu::erased* functions = nullptr;
  const void* self = nullptr;
};

plan::plan(const request& r, dtype element, bool masked) : p_(std::make_unique<parts>()) {
  parts& p = *p_;
  p.options = r.options;
  p.context.accuracy = r.accuracy;
  p.context.rounding = r.options.rounding;
  p.context.threads = r.threads;
  for (const op o : r.ops) p.list.push_back({&functions_of(r, o, element), &p.options});
  if (p.list.size() == 1) {
    p.functions = p.list[0].functions;
    p.self = &p.options;
  } else {
    p.fused = std::make_unique<cpu::fusion>(p.list);
    p.functions = &p.fused->functions();
    p.self = p.fused.get();
  }
  const auto leave_out = [&](std::unique_ptr<selected>& to, bool by_mask) {
    to = std::make_unique<selected>(*p.functions, p.self, element, by_mask);
    p.functions = &to->functions();
    p.self = to.get();
  };
  if (r.skip_nans && !is_integer(element)) leave_out(p.numbers, false);
  if (masked) leave_out(p.some, true);
}
plan::plan(const request& r, const cpu::erased& own, const void* self, dtype element, bool masked) : p_(std::make_unique<parts>()) {
  parts& p = *p_;
  p.context.threads = r.threads;
  p.list.push_back({&own, self});
  p.functions = &own;
  p.self = self;
  if (masked) {
    p.some = std::make_unique<selected>(own, self, element, true);
    p.functions = &p.some->functions();
    p.self = p.some.get();
  }
}
plan::~plan() = default;

int plan::inputs() const { return p_->functions->inputs; }

std::size_t plan::size() const { return p_->functions->result_size; }
std::size_t plan::offset(std::size_t k) const { return p_->fused ? p_->fused->result_offset(k) : 0; }
std::size_t plan::size_of(std::size_t k) const { return p_->list[k].functions->result_size; }

namespace {

/// A request of this module's: functions, elements, how they are shared, settings, room for the answers.
void ask(const cpu::erased& f, const void* self, const cpu::operands& x, const partition& by, const context& c, void* out) {
  wf::request r;
  r.own = {&f, self, by.kind == partition::kinds::labels ? "labels" : by.kind == partition::kinds::segments ? "segments" : "array"};
  r.inputs = x;
  r.by = by;
  r.context = c;
  r.out = out;
  cpu_backend().run(r);
}

context nearest_or(const options& o) {
  context c;
  c.rounding = o.rounding;
  return c;
}

}  // namespace

partition along(std::span<const int> axes) {
  partition by;
  by.kind = partition::kinds::axes;
  by.axes = axes;
  return by;
}
partition by_segment(std::span<const std::int64_t> offsets) {
  if (offsets.empty()) refuse("segments: no offsets; n segments have n + 1 offsets");
  partition by;
  by.kind = partition::kinds::segments;
  by.indexes = offsets.data();
  by.count = static_cast<std::int64_t>(offsets.size()) - 1;
  return by;
}
partition by_label(const layout& x, std::span<const std::int64_t> labels, std::int64_t answers) {
  if (x.shape.size() == 1 && static_cast<std::int64_t>(labels.size()) != x.shape[0])
    refuse("labels: " + std::to_string(labels.size()) + " labels for " + std::to_string(x.shape[0]) + " elements; there must be one for each");
  partition by;
  by.kind = partition::kinds::labels;
  by.indexes = labels.data();
  by.count = answers;
  return by;
}

void plan::run(const partition& by, const layout& x, const layout* second, void* out) const {
  ask(*p_->functions, p_->self, operands_of(x, second), by, p_->context, out);
}

void run_pair(const cpu::erased& f, const options& o, const layout& x, const layout& y, void* out) {
  ask(f, &o, operands_of(x, &y), {}, nearest_or(o), out);
}
void run_parts(const cpu::erased& f, const options& o, const layout& x, const partition& by, void* out) {
  ask(f, &o, operands_of(x, nullptr), by, nearest_or(o), out);
}
bool copies_rows(const cpu::erased& f, const layout& x, std::span<const int> axes) { return cpu::copies_rows(f, operands_of(x, nullptr), axes); }

namespace {

/// A reduction of what counts of the elements, for as long as one call takes.
struct of_some {
  std::optional<selected> numbers, some;
  const cpu::erased* functions;
  const void* self;
  context how;

  of_some(const cpu::erased& f, const void* self_of_f, dtype element, const counted& c) : functions(&f), self(self_of_f) {
    how.threads = c.threads;
    if (c.skip_nans && !is_integer(element)) leave_out(numbers, element, false);
    if (c.mask != nullptr) leave_out(some, element, true);
  }

 private:
  void leave_out(std::optional<selected>& to, dtype element, bool by_mask) {
    to.emplace(*functions, self, element, by_mask);
    functions = &to->functions();
    self = &*to;
  }
};

}  // namespace

void run_counted(const cpu::erased& f, const void* self, const layout& x, const counted& c, const partition& by, void* out) {
  const of_some r(f, self, x.type, c);
  ask(*r.functions, r.self, operands_of(x, c.mask), by, r.how, out);
}

void run_all(const cpu::erased& f, const options& o, const layout& x, const counted& c, void* out) {
  of_some r(f, &o, x.type, c);
  r.how.rounding = o.rounding;
  ask(*r.functions, r.self, operands_of(x, c.mask), {}, r.how, out);
}

void run_selected(const selected& s, const layout& x, const layout& mask, void* out) {
  ask(s.functions(), &s, operands_of(x, &mask), {}, {}, out);
}

void plan::add(const void* x, const void* mask, std::int64_t n) {
  parts& p = *p_;
  if (!p.pieces) p.pieces = std::make_unique<cpu::running>(*p.functions, p.self, p.context);
  const void* const both[] = {x, mask};
  if (n > 0) p.pieces->add(both, n);
}

void plan::finish(void* out) {
  add(nullptr, nullptr, 0);
  p_->pieces->finish(out);
}

}  // namespace wfpy
