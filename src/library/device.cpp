// SPDX-License-Identifier: Apache-2.0
// Requests to a device, brought into the form that its kernels take.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>

#include <warpfold/backend.hpp>
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
  std::int64_t stride = 0, length = 1;  // of what has been looked at, the last dimension first
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

}  // namespace

std::int64_t device_stream::stride_of(const extents& shape, const extents& byte_strides, std::size_t size) {
  const std::optional<std::int64_t> stride = one_stride(shape, byte_strides);
  if (!stride)
    throw error(errc::unsupported, "gpu: a view whose dimensions do not lie in one another; it must be like one "
                                   "dimension with one stride");
  return *stride == 0 && detail::product(shape).value_or(0) <= 1 ? 1 : in_elements(*stride, size);
}

namespace {

rows_request without_dimensions(const request& r, std::size_t state_bytes) {
  rows_request q{};
  q.what = r.what;
  q.element = r.element;
  q.accuracy = r.context.accuracy;
  q.options = r.options;
  q.x = r.inputs.data;
  q.out = r.out;
  q.first = r.first;
  q.state_bytes = state_bytes;
  q.checked = r.wanted == output::checked;
  return q;
}
rows_request along_axes(const request& r, std::size_t state_bytes, const char* who) {
  rows_request q = without_dimensions(r, state_bytes);
  const std::size_t size = info(r.element).size, rank = r.inputs.shape.size();
  const auto axes = cpu::checked_axes(r.by.axes, static_cast<int>(rank), who);
  for (const bool kept : {true, false}) {
    for (std::size_t d = 0; d < rank; ++d) {
      const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end();
      if (is_reduced == kept) continue;
      const auto at = static_cast<std::size_t>(q.kept + q.reduced);
      q.length[at] = r.inputs.shape[d];
      for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_of(r.what)); ++k)
        q.stride[k][at] = in_elements(r.inputs.strides[k][d], size);
      ++(kept ? q.kept : q.reduced);
    }
  }
  return q;
}

rows_request all_axes(const request& r, std::size_t state_bytes) {
  request whole = r;
  per_dimension<int> axes(r.inputs.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  whole.by = {};
  whole.by.kind = partition::kinds::axes;
  whole.by.axes = {axes.data(), axes.size()};
  return along_axes(whole, state_bytes, op_names[static_cast<int>(r.what)]);
}

/// Segments and labels: one dimension, a reduced one.
rows_request along_indexes(const request& r, std::size_t state_bytes) {
  rows_request q = without_dimensions(r, state_bytes);
  q.reduced = 1;
  q.length[0] = r.inputs.shape[0];
  for (std::size_t k = 0; k < static_cast<std::size_t>(inputs_of(r.what)); ++k)
    q.stride[k][0] = in_elements(r.inputs.strides[k][0], info(r.element).size);
  q.segments = r.by.count;
  if (r.by.kind == partition::kinds::segments) {
    q.offsets = r.by.indexes;
    q.offset_bytes = r.by.index_bytes;
  } else {
    // Null says that there are no labels; those of no elements are nowhere, and are not read.
    q.labels = static_cast<const std::int64_t*>(r.by.indexes != nullptr ? r.by.indexes : r.out);
  }
  return q;
}

}  // namespace

device_stream::shared_rows device_stream::rows_in_bytes(const cpu::operands& in, int inputs, const partition& by, const char* who) {
  shared_rows s{{}, *detail::product(in.shape)};
  rows_request& q = s.rows;
  q.x = in.data;
  const auto put = [&](std::size_t d, std::int64_t length, std::int64_t times) {
    const auto at = static_cast<std::size_t>(q.kept + q.reduced);
    q.length[at] = length;
    for (std::size_t k = 0; k < static_cast<std::size_t>(inputs); ++k) q.stride[k][at] = in.strides[k][d] * times;
  };
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
      return s;
    }
    case partition::kinds::equal_segments: {
      const std::int64_t length = std::min(by.length, std::max<std::int64_t>(s.all, 1));
      put(0, s.all / length + (s.all % length != 0 ? 1 : 0), length);
      q.kept = 1;
      put(0, length, 1);
      q.reduced = 1;
      return s;
    }
    case partition::kinds::whole: case partition::kinds::segments: case partition::kinds::labels: break;
  }
  put(0, s.all, 1);
  q.reduced = 1;
  q.segments = by.count;
  if (by.kind == partition::kinds::segments) {
    q.offsets = by.indexes;
    q.offset_bytes = by.index_bytes;
  } else {  // of no elements they are nowhere, and are not read
    static constexpr std::int64_t none = 0;
    q.labels = by.indexes != nullptr ? static_cast<const std::int64_t*>(by.indexes) : &none;
  }
  return s;
}

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
    detail::run_rows(machine(), kernels, all_axes(r, state_bytes), scratch(), stream());
    return;
  }
  if (detail::product(answers) == 0) return;
  switch (r.by.kind) {
    case kinds::whole: return;
    case kinds::axes: {
      const rows_request q = along_axes(r, state_bytes, who);
      if (!run_few_long(r, q, kernels)) detail::run_rows(machine(), kernels, q, scratch(), stream());
      return;
    }
    case kinds::labels:
      if (r.by.index_bytes != 8) refuse("labels of 4 bytes; 8 are right");
      [[fallthrough]];
    case kinds::segments: detail::run_rows(machine(), kernels, along_indexes(r, state_bytes), scratch(), stream()); return;
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
    const rows_request q = along_axes(part, state_bytes, who);
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

void device_stream::fetch(const detail::inputs_anywhere& in, const partition& by, void* to, std::size_t bytes, const char* who, const void* self,
                         void (*work)(const void* self, const cpu::operands& in, const partition& by, void* out)) const {
  struct {
    partition by;
    const void* self;
    void (*work)(const void* self, const cpu::operands& in, const partition& by, void* out);
  } it{by, self, work};
  lent indexes(machine(), stream());
  if (by.indexes != nullptr && (in.host_bytes[0] != 0 || in.host_bytes[1] != 0)) {  // of the host, as the elements are
    const bool labels = by.kind == partition::kinds::labels;
    const std::int64_t elements = in.operands.shape[0], n = labels ? elements : by.count + 1;
    const auto* const at = static_cast<const std::int64_t*>(by.indexes);
    for (std::int64_t k = 0; k < n; ++k) {
      if (labels ? at[k] >= 0 && at[k] < by.count : at[k] >= (k == 0 ? 0 : at[k - 1]) && at[k] <= elements) continue;
      // As the CPU says it.
      throw error(errc::bad_argument, labels ? "labels: label " + std::to_string(at[k]) + " of element " + std::to_string(k) + "; labels are 0 to " + std::to_string(by.count - 1)
                                             : "segments: offset " + std::to_string(k) + " is " + std::to_string(at[k]) + "; offsets rise, from 0 to at most " + std::to_string(elements));
    }
    it.by.indexes = indexes.copy(by.indexes, static_cast<std::size_t>(n) * by.index_bytes);
  }
  fetch(in, to, bytes, who, &it, [](const void* asked, const cpu::operands& here, void* out) {
    const auto& told = *static_cast<const decltype(it)*>(asked);
    told.work(told.self, here, told.by, out);
  });
}

void device_stream::fetch(const request& r, const call_kernels& kernels, const detail::inputs_anywhere& in, void* to, std::size_t bytes) const {
  struct {
    const device_stream* place;
    const call_kernels* kernels;
    const request* asked;
  } it{this, &kernels, &r};
  fetch(in, r.by, to, bytes, op_names[static_cast<int>(r.what)], &it, [](const void* self, const cpu::operands& here, const partition& by, void* out) {
    const auto& given = *static_cast<const decltype(it)*>(self);
    request q = *given.asked;
    q.inputs = here;
    q.by = by;
    q.out = out;
    given.place->run(q, *given.kernels);
  });
}

}  // namespace wf
