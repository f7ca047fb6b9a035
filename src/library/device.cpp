// SPDX-License-Identifier: Apache-2.0
// Requests to a device, brought into the form that its kernels take.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include <warpfold/backend.hpp>
#include <warpfold/detail/cpu/indexes.hpp>
#include <warpfold/detail/gpu/own_kernels.hpp>
#include <warpfold/gpu.hpp>

#include "shapes.hpp"

namespace wf {

namespace {

/// Bytes of an answer.
std::size_t answer_size(op o, dtype t, bool checked) {
  if (checked) return sizeof(wf::checked<std::int64_t>);
  const result_kind k = result_of_kind(operation_of(o).answer, t);
  return info(k.type).size * static_cast<std::size_t>(k.values);
}

/// A stride in elements. Throws wf::error (unsupported) of strides that are no multiple of their size.
std::int64_t in_elements(std::int64_t bytes, std::size_t size) {
  const auto each = static_cast<std::int64_t>(size);
  if (bytes % each != 0)
    throw error(errc::unsupported, "gpu: elements that are " + std::to_string(bytes) + " bytes apart; a multiple of their size, " +
                                       std::to_string(size) + ", is needed");
  return bytes / each;
}

/// What an n-d view comes to if its dimensions lie in one another: one stride, in bytes; nothing otherwise.
std::optional<std::int64_t> one_stride(const extents& shape, const extents& byte_strides) {
  std::int64_t stride = 0, length = 1;  // what has been looked at, the last dimension first
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return 0;
    if (shape[d] == 1) continue;
    if (length == 1) stride = byte_strides[d];
    else if (byte_strides[d] != stride * length) return std::nullopt;
    length *= shape[d];
  }
  return stride;
}

bool has_one_stride(const request& r) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_of(r.what)); ++k)
    if (!one_stride(r.inputs.shape, r.inputs.strides[k])) return false;
  return true;
}

[[noreturn]] void refuse_input(const char* who, std::size_t k) {
  throw error(errc::bad_argument, std::string(who) + ": input " + std::to_string(k) + " is memory of the host, which the GPU cannot read; "
                                      "give it memory of its own, or an array of the host (std::vector, std::array), which is copied");
}

/// The elements of all inputs make one answer.
bool one_answer(const request& r) {
  return r.by.kind == partition::kinds::whole ||
         (r.by.kind == partition::kinds::axes && r.by.axes.size() == r.inputs.shape.size());
}

/// Elements of one stride, in elements: what an n-d view comes to if its dimensions lie in one another without gaps. Throws wf::error
/// (unsupported) of others.
std::int64_t stride_of(const extents& shape, const extents& byte_strides, std::size_t size) {
  const std::optional<std::int64_t> stride = one_stride(shape, byte_strides);
  if (!stride)
    throw error(errc::unsupported, "gpu: a view whose dimensions do not lie in one another; it must be like one "
                                   "dimension with one stride");
  return *stride == 0 && detail::product(shape).value_or(0) <= 1 ? 1 : in_elements(*stride, size);
}

/// The rows of `inputs` inputs that a partition makes: their shape, where they lie, and strides in bytes.
rows_request rows_of(const cpu::operands& in, int inputs, const partition& by, const char* who) {
  rows_request q{};
  q.x = in.data;
  const auto put = [&](std::size_t d, std::int64_t length, std::int64_t times) {
    const auto at = static_cast<std::size_t>(q.kept + q.reduced);
    q.length[at] = length;
    for (std::size_t k = 0; k < static_cast<std::size_t>(inputs); ++k) q.stride[k][at] = in.strides[k][d] * times;
  };
  const std::int64_t all = *detail::product(in.shape);
  switch (by.kind) {
    case partition::kinds::axes: {
      const std::size_t rank = in.shape.size();
      const auto axes = cpu::checked_axes(by.axes, static_cast<int>(rank), who);
      for (const bool kept : {true, false}) {
        for (std::size_t d = 0; d < rank; ++d) {
          const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end();
          if (is_reduced == kept) continue;
          put(d, in.shape[d], 1);
          ++(kept ? q.kept : q.reduced);
        }
      }
      return q;
    }
    case partition::kinds::equal_segments: {  // the last may be shorter
      const std::int64_t length = std::min(by.length, std::max<std::int64_t>(all, 1));
      put(0, all / length + (all % length != 0 ? 1 : 0), length);
      q.kept = 1;
      put(0, length, 1);
      q.reduced = 1;
      return q;
    }
    case partition::kinds::whole: case partition::kinds::segments: case partition::kinds::labels: break;
  }
  put(0, all, 1);
  q.reduced = 1;
  q.segments = by.count;
  if (by.kind == partition::kinds::segments) {
    q.offsets = by.indexes;
    q.offset_bytes = by.index_bytes;
    return q;
  }
  if (by.index_bytes != 8) throw error(errc::unsupported, std::string(who) + ": labels of 4 bytes on a GPU; 8 are right");
  static constexpr std::int64_t none = 0;  // null says that there are no labels; those of no elements are nowhere, and are not read
  q.labels = by.indexes != nullptr ? static_cast<const std::int64_t*>(by.indexes) : &none;
  return q;
}

/// The same of a request of an operation, as its kernels take them: strides in elements.
rows_request rows_of(const request& r, std::size_t state_bytes) {
  rows_request q = rows_of(r.inputs, inputs_of(r.what), r.by, op_names[static_cast<int>(r.what)]);
  const std::size_t size = info(r.element).size;
  for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_of(r.what)); ++k)
    for (std::size_t d = 0; d < static_cast<std::size_t>(q.kept + q.reduced); ++d) q.stride[k][d] = in_elements(q.stride[k][d], size);
  q.what = r.what;
  q.element = r.element;
  q.accuracy = r.context.accuracy;
  q.options = r.options;
  q.out = r.out;
  q.first = r.first;
  q.state_bytes = state_bytes;
  q.checked = r.wanted == output::checked;
  return q;
}

/// One row of all elements.
rows_request one_row(const request& r, std::size_t state_bytes) {
  request whole = r;
  per_dimension<int> axes(r.inputs.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  whole.by = {};
  whole.by.kind = partition::kinds::axes;
  whole.by.axes = {axes.data(), axes.size()};
  return rows_of(whole, state_bytes);
}

}  // namespace

void device_stream::refuse_unreachable(const cpu::operands& in, std::int64_t n, const void* out, const char* who) const {
  if (n != 0)
    for (std::size_t k = 0; k < in.data.size(); ++k)
      if (in.data[k] != nullptr && !machine().reads(in.data[k])) refuse_input(who, k);
  if (out != nullptr && !machine().reads(out))
    throw error(errc::bad_argument, std::string(who) + ": the answer goes to memory of the host that is not pinned, where the GPU cannot write; give it "
                                                       "memory of its own, or no place for the answer, as in wf::sum(place, x), which waits");
}

void device_stream::run(const request& r, const call_kernels& kernels, std::size_t state_bytes) const {
  const extents answers = check_shapes(r);
  look_at(r.inputs, *detail::product(r.inputs.shape), detail::product(answers) == 0 ? nullptr : r.out, op_names[static_cast<int>(r.what)]);
  using kinds = partition::kinds;
  const char* const who = op_names[static_cast<int>(r.what)];
  const auto refuse = [&](const char* what) {
    throw error(errc::unsupported, std::string(who) + " on " + (name() == "simt" ? "simt" : "a GPU") + ": " + what);
  };
  if (r.swapped[0] || r.swapped[1]) refuse("elements of the other byte order; give them in the machine's");
  if (one_answer(r)) {
    if (has_one_stride(r)) {
      run_whole(r, kernels);
      return;
    }
  }
  if (r.wanted == output::states && state_bytes == 0)
    refuse(r.context.accuracy == accuracy::fast ? "states of rows under accuracy::fast; ask for exact ones" : "states of such elements");
  if (one_answer(r)) {
    detail::run_rows(machine(), kernels, one_row(r, state_bytes), scratch(), stream());
    return;
  }
  if (detail::product(answers) == 0) return;
  switch (r.by.kind) {
    case kinds::whole: return;
    case kinds::axes: {
      const rows_request q = rows_of(r, state_bytes);
      if (!run_few_long(r, q, kernels)) detail::run_rows(machine(), kernels, q, scratch(), stream());
      return;
    }
    case kinds::segments: case kinds::labels: detail::run_rows(machine(), kernels, rows_of(r, state_bytes), scratch(), stream()); return;
    case kinds::equal_segments: break;
  }
  // Equal segments are the rows of a matrix; what is left is one more.
  const std::int64_t n = r.inputs.shape[0], length = r.by.length, whole = n / length;
  const int last[] = {1};
  request part = r;
  part.by = {};
  if (whole > 0) {
    part.by.kind = kinds::axes;
    part.by.axes = last;
    part.inputs.shape = {whole, length};
    for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_of(r.what)); ++k)
      part.inputs.strides[k] = {r.inputs.strides[k][0] * length, r.inputs.strides[k][0]};
    const rows_request q = rows_of(part, state_bytes);
    if (!run_few_long(part, q, kernels)) detail::run_rows(machine(), kernels, q, scratch(), stream());
  }
  if (whole * length == n) return;
  part.by = {};
  part.inputs = r.inputs;
  part.inputs.shape = {n - whole * length};
  for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_of(r.what)); ++k)
    part.inputs.data[k] = static_cast<const std::byte*>(r.inputs.data[k]) + whole * length * r.inputs.strides[k][0];
  part.out = static_cast<std::byte*>(r.out) + static_cast<std::size_t>(whole) * (state_bytes != 0 ? state_bytes : answer_size(r.what, r.element, r.wanted == output::checked));
  run_whole(part, kernels);
}

void device_stream::run_own(const request& r, std::span<void* const> out) const {
  const own_kernels& own = *r.own.kernels;
  const char* const who = r.own.name;
  const auto inputs = static_cast<std::size_t>(own.inputs);
  if (detail::product(check_shapes(r)) == 0) return;
  if (r.first != 0)
    throw error(errc::unsupported, std::string(who) + ": elements from the index " + std::to_string(r.first) + " on; a reduction that no operation names begins at 0 there");
  for (const void* to : out)
    if (to == nullptr) refuse_out(who);
  own_input in{*detail::product(r.inputs.shape)};
  look_at(r.inputs, in.n, nullptr, who);
  for (const void* to : out) look_at({}, 0, to, who);
  rows_request rows;
  if (r.by.kind == partition::kinds::whole) {
    for (std::size_t k = 0; k < inputs; ++k) in.stride[k] = stride_of(r.inputs.shape, r.inputs.strides[k], own.sizes[k]);
  } else {
    for (std::size_t k = 0; k < inputs; ++k) {  // from one element that is aligned all others are
      for (const std::int64_t bytes : r.inputs.strides[k]) {
        if (bytes % static_cast<std::int64_t>(own.aligns[k]) != 0)
          throw error(errc::unsupported, std::string(who) + ": elements that are " + std::to_string(bytes) + " bytes apart; a multiple of their alignment, " +
                                             std::to_string(own.aligns[k]) + ", is needed");
      }
    }
    rows = rows_of(r.inputs, own.inputs, r.by, who);
    in.rows = &rows;
  }
  machine().fail(own.enqueue(r.own.self, r, in, scratch(), stream()), who);
}

/// One answer, or rows so long that a launch for each is little beside reading it: one array after the other, by the kernels of whole arrays, which are
/// nearer to the speed of reading.
bool device_stream::run_few_long(const request& r, const rows_request& q, const call_kernels& kernels) const {
  constexpr std::int64_t most_answers = 64, least_bytes = std::int64_t{1} << 29;
  const auto kept = static_cast<std::size_t>(q.kept), ranks = kept + static_cast<std::size_t>(q.reduced);
  std::int64_t answers = 1, elements = 1;
  for (std::size_t d = 0; d < kept; ++d) answers *= q.length[d];
  for (std::size_t d = kept; d < ranks; ++d) elements *= q.length[d];
  const auto size = static_cast<std::int64_t>(info(r.element).size);
  if (elements == 0 || answers > most_answers || (answers != 1 && elements < least_bytes / size)) return false;
  device_request whole{r.what, r.element, r.context.accuracy, r.options, {}, {1, 1}, elements, r.out, r.first, r.wanted == output::states, q.checked};
  const auto inputs = static_cast<std::size_t>(inputs_of(r.what));
  for (std::size_t k = 0; k < inputs; ++k) {
    const extents shape(q.length.begin() + q.kept, q.length.begin() + q.kept + q.reduced);
    const extents strides(q.stride[k].begin() + q.kept, q.stride[k].begin() + q.kept + q.reduced);
    const std::optional<std::int64_t> stride = one_stride(shape, strides);
    if (!stride || (answers != 1 && *stride != 1)) return false;
    whole.stride[k] = elements == 1 ? 1 : *stride;
  }
  const std::size_t result = q.state_bytes != 0 ? q.state_bytes : answer_size(r.what, r.element, q.checked);
  for (std::int64_t a = 0; a < answers; ++a) {
    for (std::size_t k = 0; k < inputs; ++k) {
      std::int64_t rest = a, at = 0;
      for (std::size_t d = kept; d-- > 0; rest /= q.length[d]) at += rest % q.length[d] * q.stride[k][d];
      whole.x[k] = static_cast<const std::byte*>(q.x[k]) + at * size;
    }
    whole.out = static_cast<std::byte*>(r.out) + static_cast<std::size_t>(a) * result;
    detail::run_whole(machine(), kernels, whole, scratch(), stream());
  }
  return true;
}

void device_stream::run_whole(const request& r, const call_kernels& kernels) const {
  device_request d{r.what, r.element, r.context.accuracy, r.options, {}, {1, 1}, *detail::product(r.inputs.shape), r.out,
                   r.first, r.wanted == output::states, r.wanted == output::checked};
  for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_of(r.what)); ++k) {
    d.x[k] = r.inputs.data[k];
    d.stride[k] = stride_of(r.inputs.shape, r.inputs.strides[k], info(r.element).size);
  }
  detail::run_whole(machine(), kernels, d, scratch(), stream());
}

namespace {

/// Memory of a device, given back in the stream's order.
class lent {
 public:
  lent(const device_machine& kernels, void* stream) : kernels_(&kernels), stream_(stream) {}
  ~lent() {
    if (at_ != nullptr) kernels_->give_back(at_, stream_);
  }
  lent(const lent&) = delete;
  lent& operator=(const lent&) = delete;
  void* take(std::size_t bytes) { return at_ = kernels_->take(bytes, stream_); }
  void* get() const { return at_; }
  void* copy(const void* from, std::size_t bytes) {
    take(bytes);
    if (bytes != 0) kernels_->copy_in(at_, from, bytes, stream_);
    return at_;
  }

 private:
  const device_machine* kernels_;
  void* stream_;
  void* at_ = nullptr;
};

}  // namespace

void device_stream::fetch(const detail::inputs_anywhere& in, void* to, std::size_t bytes, const char* who, const void* self,
                         void (*work)(const void* self, const cpu::operands& in, void* out)) const {
  lent x(machine(), stream()), y(machine(), stream()), out(machine(), stream());
  lent* const copies[] = {&x, &y};
  cpu::operands here = in.operands;
  for (std::size_t k = 0; k < here.data.size(); ++k) {
    if (in.host_bytes[k] != 0) {
      here.data[k] = copies[k]->copy(here.data[k], in.host_bytes[k]);
    } else if (here.data[k] != nullptr && detail::product(here.shape) != 0 && !machine().reads(here.data[k])) {
      refuse_input(who, k);
    }
  }
  work(self, here, out.take(bytes));
  if (bytes != 0) machine().copy_back(to, out.get(), bytes, stream());
}

void device_stream::fetch(const request& r, const detail::inputs_anywhere& in, void* to, std::size_t bytes, const void* self,
                         void (*work)(const void* self, const request& there)) const {
  struct {
    const request& asked;
    partition by;
    const void* self;
    void (*work)(const void* self, const request& there);
  } it{r, r.by, self, work};
  lent indexes(machine(), stream());
  if (r.by.indexes != nullptr && (in.host_bytes[0] != 0 || in.host_bytes[1] != 0)) {  // memory of the host, as the elements are in
    const bool labels = r.by.kind == partition::kinds::labels;
    const std::int64_t elements = in.operands.shape[0], n = labels ? elements : r.by.count + 1;
    const auto* const at = static_cast<const std::int64_t*>(r.by.indexes);
    for (std::int64_t k = 0; k < n; ++k) {
      if (labels ? at[k] >= 0 && at[k] < r.by.count : at[k] >= (k == 0 ? 0 : at[k - 1]) && at[k] <= elements) continue;
      if (labels) cpu::refuse_label(at[k], k, r.by.count);
      cpu::refuse_offset(k, at[k], elements);
    }
    it.by.indexes = indexes.copy(r.by.indexes, static_cast<std::size_t>(n) * r.by.index_bytes);
  }
  fetch(in, to, bytes, name_of(r), &it, [](const void* given, const cpu::operands& here, void* out) {
    const auto& told = *static_cast<const decltype(it)*>(given);
    request there = told.asked;
    there.inputs = here;
    there.by = told.by;
    there.out = out;
    told.work(told.self, there);
  });
}

void device_stream::fetch(const request& r, const call_kernels& kernels, const detail::inputs_anywhere& in, void* to, std::size_t bytes) const {
  struct {
    const device_stream* place;
    const call_kernels* kernels;
  } it{this, &kernels};
  fetch(r, in, to, bytes, &it, [](const void* self, const request& there) {
    const auto& given = *static_cast<const decltype(it)*>(self);
    given.place->run(there, *given.kernels);
  });
}

}  // namespace wf
