// SPDX-License-Identifier: Apache-2.0
#include <warpfold/warpfold.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/builtin.hpp>
#include <warpfold/detail/cpu/fusion.hpp>
#include <warpfold/results.hpp>
#include <warpfold/target.hpp>

#include "place.hpp"

namespace {

using namespace wf;

// What callers were compiled with: a new operation has a new number.
static_assert(WF_SUM == 0 && WF_NORM2 == 8 && WF_DOT == 10 && WF_MINMAX == 13 && WF_COUNT == 18 && WF_LOGSUMEXP == 20);
static_assert(static_cast<int>(dtype::c128) == WF_C128 && static_cast<int>(dtype::u64) == WF_U64);
static_assert(static_cast<int>(rounding::down) == WF_ROUND_DOWN && static_cast<int>(errc::device) == WF_DEVICE);

// Fixed memory: telling of a failure to allocate must not allocate.
thread_local char last_error[512] = "";

int failed(int status, const char* what) noexcept {
  std::strncpy(last_error, what, sizeof last_error - 1);
  return status;
}

template <class F>
int guarded(F f) noexcept {
  try {
    f();
    return WF_OK;
  } catch (const error& e) {
    return failed(static_cast<int>(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return failed(WF_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error&) {  // more than containers hold
    return failed(WF_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return failed(WF_INTERNAL, e.what());
  } catch (...) {
    return failed(WF_INTERNAL, "an exception of unknown type");
  }
}

[[noreturn]] void refuse(const std::string& what) { throw error(errc::bad_argument, what); }

void require(const void* p, const char* what) {
  if (p == nullptr) refuse(std::string(what) + " is null");
}

/// A struct that begins with its size and version.
void check_struct(const char* what, std::size_t size, int version, std::size_t own_size, int own_version) {
  if (size != own_size || version != own_version)
    refuse(std::string(what) + ": size " + std::to_string(size) + " and version " + std::to_string(version) + "; this library's are " +
           std::to_string(own_size) + " and " + std::to_string(own_version));
}

op checked_op(int o) {
  if (o < 0 || o >= op_count)
    refuse("operation " + std::to_string(o) + "; they are 0 to " + std::to_string(op_count - 1));
  return static_cast<op>(o);
}

dtype checked_dtype(int d) {
  if (d < 0 || static_cast<std::size_t>(d) >= dtypes.size())
    refuse("element type " + std::to_string(d) + "; they are 0 to " + std::to_string(dtypes.size() - 1));
  return static_cast<dtype>(d);
}

void take(wf::request& r, const wf_options* o) {
  if (o == nullptr) return;
  if (o->accuracy != WF_EXACT && o->accuracy != WF_FAST) refuse("options: accuracy is neither WF_EXACT nor WF_FAST");
  if (o->rounding < WF_ROUND_NEAREST || o->rounding > WF_ROUND_DOWN) refuse("options: no such rounding");
  if (o->threads < 0) refuse("options: threads is " + std::to_string(o->threads) + "; it is 0 or more, and 0 means all");
  r.context.accuracy = o->accuracy == WF_EXACT ? accuracy::exact : accuracy::fast;
  r.context.rounding = static_cast<rounding>(o->rounding);
  r.context.threads = o->threads;
  r.options.rounding = r.context.rounding;
  r.options.correction = o->correction;
}

void add_input(cpu::operands& to, const wf_array& a, int k) {
  const auto size = static_cast<std::int64_t>(info(checked_dtype(a.dtype)).size);
  if (a.rank < 0 || a.rank > max_rank) refuse("array: rank " + std::to_string(a.rank) + "; it is 0 to 32");
  if (a.rank > 0) require(a.shape, "array: shape");
  const extents shape(a.shape, a.shape + a.rank);
  const view<char> check(nullptr, shape);  // lengths
  if (check.size() > 0) require(a.data, "array: data");
  const bool given = a.strides != nullptr;
  detail::add_input(to, static_cast<std::size_t>(k), a.data, given ? 1 : static_cast<std::size_t>(size), shape,
                    given ? extents(a.strides, a.strides + a.rank) : row_major(shape));
}

/// Operation, inputs and options.
request request_of(int o, const wf_array* x, const wf_array* y, const wf_options* given) {
  request r;
  require(x, "x");
  take(r, given);
  r.what = checked_op(o);
  r.element = checked_dtype(x->dtype);
  builtin(r.what, r.element, r.context.accuracy);
  if (inputs_of(r.what) == 2) {
    require(y, "y");
    if (y->dtype != x->dtype) refuse("x and y are of different element types");
  } else if (y != nullptr) {
    refuse("y is given, but " + std::string(properties_of(r.what).name) + " has one input");
  }
  add_input(r.inputs, *x, 0);
  if (inputs_of(r.what) == 2) add_input(r.inputs, *y, 1);
  return r;
}

void reduce_over(request& r, const int* axes, int count) {
  if (count < 0) refuse("axis_count is below 0");
  if (count > 0) require(axes, "axes");
  const auto rank = static_cast<int>(r.inputs.shape.size());
  if (count > rank)  // before as many are read
    refuse("axis_count is " + std::to_string(count) + "; the array has " + std::to_string(rank) + " axes");
  r.by.kind = partition::kinds::axes;
  r.by.axes = {axes, static_cast<std::size_t>(count)};
}

/// Memory of a call: a few answers' on the stack, more of the heap.
struct stack_first {
  alignas(std::max_align_t) std::array<std::byte, 1024> few;
  std::pmr::monotonic_buffer_resource resource{few.data(), few.size()};
};

static_assert(sizeof(wf_checked) == sizeof(checked<std::int64_t>) && offsetof(wf_checked, overflow) == offsetof(checked<std::int64_t>, overflow));

/// Answers of integers, and whether they fit, each to its own place.
void run_checked(request& r, void* out, unsigned char* overflow) {
  require(out, "out");
  require(overflow, "overflow");
  const auto answers = detail::product(shape_of_answers(r.inputs.shape, r.by, "WF_CHECKED"));
  stack_first memory;
  std::pmr::vector<checked<std::uint64_t>> found(&memory.resource);
  if (static_cast<std::size_t>(*answers) > found.max_size())
    refuse("WF_CHECKED: " + std::to_string(*answers) + " answers; no memory holds so many");
  found.resize(static_cast<std::size_t>(*answers));
  r.wanted = output::checked;
  r.out = found.data();
  cpu_backend().run(r);
  auto* to = static_cast<std::uint64_t*>(out);
  for (std::size_t k = 0; k < found.size(); ++k) {
    std::memcpy(to + k, &found[k].value, sizeof(std::uint64_t));
    overflow[k] = found[k].overflow;
  }
}

state_form form_of(int o, int element, int a) {
  if (a != WF_EXACT && a != WF_FAST) refuse("accuracy is neither WF_EXACT nor WF_FAST");
  return form_of_states(checked_op(o), checked_dtype(element), a == WF_EXACT ? accuracy::exact : accuracy::fast);
}

/// States of a call of C, as a backend takes them.
struct told_states {
  state_form form;
  wf::options options;
  const backend& on;

  static told_states of(const wf_states* s) {
    require(s, "states");
    check_struct("states", s->size, s->version, sizeof(wf_states), WF_STATES_VERSION);
    request r;
    take(r, &s->options);
    return {form_of_states(checked_op(s->op), checked_dtype(s->dtype), r.context.accuracy), r.options,
            s->place != nullptr ? *s->place->backend : cpu_backend()};
  }
};

}  // namespace

namespace wf {

int open_place(wf_place** place, std::unique_ptr<backend> (*make)(void* stream), void* stream) noexcept {
  return guarded([&] {
    require(place, "place");
    *place = nullptr;
    auto made = std::make_unique<wf_place>();
    made->backend = make(stream);
    *place = made.release();
  });
}

}  // namespace wf

extern "C" {

int wf_run(const wf_request* q) {
  return guarded([&] {
    require(q, "request");
    check_struct("request", q->size, q->version, sizeof(wf_request), WF_REQUEST_VERSION);
    request r = request_of(q->op, q->x, q->y, &q->options);
    if (q->output < WF_ANSWERS || q->output > WF_STATES) refuse("output " + std::to_string(q->output) + "; they are 0 to 2");
    switch (q->partition) {
      case WF_WHOLE: break;
      case WF_AXES: reduce_over(r, q->axes, q->axis_count); break;
      case WF_SEGMENTS: r.by.kind = partition::kinds::segments; break;
      case WF_EQUAL_SEGMENTS: r.by.kind = partition::kinds::equal_segments; break;
      case WF_LABELS: r.by.kind = partition::kinds::labels; break;
      default: refuse("partition " + std::to_string(q->partition) + "; they are 0 to 4");
    }
    if (q->index_bytes != 0 && q->index_bytes != 4 && q->index_bytes != 8)
      refuse("index_bytes is " + std::to_string(q->index_bytes) + "; it is 4 or 8");
    r.by.index_bytes = q->index_bytes == 4 ? 4 : 8;
    r.by.indexes = q->indexes;
    r.by.count = q->count;
    r.by.length = q->length;
    r.first = q->first;
    r.wanted = static_cast<output>(q->output);
    r.out = q->out;
    if (q->place != nullptr && r.wanted == output::checked && q->overflow != nullptr)
      refuse("overflow: on a place `out` is room for a wf_checked, which says it; a null `overflow` is right");
    if (q->place != nullptr) q->place->backend->run(r);
    else if (r.wanted == output::checked) run_checked(r, q->out, q->overflow);
    else cpu_backend().run(r);
  });
}

int wf_state_size(int o, int element, int a, size_t* bytes, int* adds) {
  return guarded([&] {
    require(bytes, "bytes");
    require(adds, "adds");
    const state_form f = form_of(o, element, a);
    *bytes = f.bytes;
    *adds = f.adds ? 1 : 0;
  });
}

int wf_clear(const wf_states* states) {
  return guarded([&] {
    const told_states s = told_states::of(states);
    s.on.clear(s.form, states->states, states->count);
  });
}

int wf_merge(const wf_states* to, const void* later) {
  return guarded([&] {
    const told_states s = told_states::of(to);
    s.on.merge(s.form, to->states, later, to->count);
  });
}

int wf_unmerge(const wf_states* from, const void* later) {
  return guarded([&] {
    const told_states s = told_states::of(from);
    s.on.unmerge(s.form, from->states, later, from->count);
  });
}

int wf_finish(const wf_states* states, void* out) {
  return guarded([&] {
    const told_states s = told_states::of(states);
    s.on.finish(s.form, s.options, states->states, states->count, out);
  });
}

void wf_close(wf_place* place) { delete place; }

int wf_result_type(int o, int element, int* type, int* values) {
  return guarded([&] {
    require(type, "type");
    require(values, "values");
    builtin(checked_op(o), checked_dtype(element), accuracy::exact);
    const result_kind kind = result_of_builtin(checked_op(o), checked_dtype(element));
    *type = static_cast<int>(kind.type);
    *values = kind.values;
  });
}

int wf_reduce(int o, const wf_array* x, const wf_array* y, const wf_options* options, void* out) {
  return guarded([&] {
    request r = request_of(o, x, y, options);
    require(out, "out");
    r.out = out;
    cpu_backend().run(r);
  });
}

int wf_reduce_axes(int o, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                   const wf_options* options, void* out) {
  return guarded([&] {
    request r = request_of(o, x, y, options);
    require(out, "out");
    reduce_over(r, axes, axis_count);
    r.out = out;
    cpu_backend().run(r);
  });
}

int wf_reduce_segments(int o, const wf_array* x, const wf_array* y, const int64_t* offsets,
                       int64_t segments, const wf_options* options, void* out) {
  return guarded([&] {
    request r = request_of(o, x, y, options);
    require(out, "out");
    require(offsets, "offsets");
    if (segments < 0) refuse("segments is below 0");
    r.by.kind = partition::kinds::segments;
    r.by.indexes = offsets;
    r.by.count = segments;
    r.out = out;
    cpu_backend().run(r);
  });
}

int wf_reduce_by_label(int o, const wf_array* x, const wf_array* y, const int64_t* labels,
                       int64_t answers, const wf_options* options, void* out) {
  return guarded([&] {
    request r = request_of(o, x, y, options);
    require(out, "out");
    r.by.kind = partition::kinds::labels;
    r.by.indexes = labels;
    r.by.count = answers;
    r.out = out;
    cpu_backend().run(r);
  });
}

int wf_reduce_many(const int* ops, int count, const wf_array* x, const wf_options* options,
                   void* const* out) {
  return guarded([&] {
    require(ops, "ops");
    require(x, "x");
    require(out, "out");
    if (count <= 0) refuse("op_count is " + std::to_string(count) + "; it is 1 or more");
    request r;
    take(r, options);
    const dtype element = checked_dtype(x->dtype);
    stack_first memory;
    std::pmr::vector<cpu::fusion::part> parts(&memory.resource);
    parts.reserve(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) {
      require(out[k], "out[k]");
      parts.push_back({&builtin(checked_op(ops[k]), element, r.context.accuracy), &r.options});
    }
    const cpu::fusion all(parts);
    if (all.functions().inputs != 1) refuse("operations of two inputs cannot be fused here");
    add_input(r.inputs, *x, 0);
    std::pmr::vector<std::byte> raw(all.functions().result_size, &memory.resource);
    r.own = {&all.functions(), &all, "wf_reduce_many"};
    r.out = raw.data();
    cpu_backend().run(r);
    for (int k = 0; k < count; ++k)
      std::memcpy(out[k], raw.data() + all.result_offset(static_cast<std::size_t>(k)),
                  parts[static_cast<std::size_t>(k)].functions->result_size);
  });
}

int wf_reduce_checked(int o, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                      const wf_options* options, void* out, unsigned char* overflow) {
  return guarded([&] {
    request r = request_of(o, x, y, options);
    if (axes != nullptr) reduce_over(r, axes, axis_count);
    else if (axis_count < 0) refuse("axis_count is below 0");
    run_checked(r, out, overflow);
  });
}

const char* wf_last_error(void) { return last_error; }

const char* wf_version(void) { return WARPFOLD_VERSION_STRING; }

const char* wf_cpu_target(void) {
  const char* found = "";
  guarded([&] { found = cpu::name(cpu::active_target()).data(); });
  return found;
}

int wf_force_cpu_target(const char* name) {
  return guarded([&] {
    require(name, "name");
    const auto t = cpu::target_named(name);
    if (!t) refuse(std::string("CPU target '") + name + "'; it may be scalar, neon, avx2 or avx512");
    cpu::force_target(*t);
  });
}

}  // extern "C"
