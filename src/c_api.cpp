// SPDX-License-Identifier: Apache-2.0
#include <warpfold/warpfold.h>

#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>

#include <warpfold/builtin.hpp>
#include <warpfold/cpu/fusion.hpp>
#include <warpfold/cpu/target.hpp>
#include <warpfold/results.hpp>

namespace {

using namespace wf;

static_assert(static_cast<int>(op::logsumexp) == WF_LOGSUMEXP && op_count == WF_LOGSUMEXP + 1);
static_assert(static_cast<int>(op::minmax) == WF_MINMAX && static_cast<int>(op::norm_inf) == WF_NORM_INF);
static_assert(static_cast<int>(dtype::c128) == WF_C128 && static_cast<int>(dtype::u64) == WF_U64);
static_assert(static_cast<int>(rounding::down) == WF_DOWN && static_cast<int>(errc::device) == WF_DEVICE);

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

/// Before as many are read.
void check_axis_count(int count, const wf_array& x) {
  if (count > x.rank)
    refuse("axis_count is " + std::to_string(count) + "; the array has " + std::to_string(x.rank) + " axes");
}

op checked_op(int o) {
  if (o < 0 || o >= op_count)
    refuse("operation " + std::to_string(o) + "; they are 0 to " + std::to_string(op_count - 1));
  return static_cast<op>(o);
}

dtype checked_dtype(int d) {
  if (d < 0 || d > WF_C128) refuse("element type " + std::to_string(d) + "; they are 0 to 14");
  return static_cast<dtype>(d);
}

struct told {
  wf::context context;
  wf::options options;

  explicit told(const wf_options* o) {
    if (o == nullptr) return;
    if (o->accuracy != WF_EXACT && o->accuracy != WF_FAST) refuse("options: accuracy is neither WF_EXACT nor WF_FAST");
    if (o->rounding < WF_NEAREST || o->rounding > WF_DOWN) refuse("options: no such rounding");
    if (o->threads < 0) refuse("options: threads below 0; 0 means all");
    context.accuracy = o->accuracy == WF_EXACT ? accuracy::exact : accuracy::fast;
    context.rounding = static_cast<rounding>(o->rounding);
    context.threads = o->threads;
    options.rounding = context.rounding;
    options.correction = o->correction;
  }
};

void add_input(cpu::operands& to, const wf_array& a, int k) {
  const auto size = static_cast<std::int64_t>(info(checked_dtype(a.dtype)).size);
  if (a.rank < 0 || a.rank > max_rank) refuse("array: rank " + std::to_string(a.rank) + "; it is 0 to 32");
  if (a.rank > 0) require(a.shape, "array: shape");
  const extents shape(a.shape, a.shape + a.rank);
  const view<char> check(nullptr, shape);  // lengths
  if (check.size() > 0) require(a.data, "array: data");
  extents strides;
  if (a.strides != nullptr) {
    strides = detail::byte_strides(shape, extents(a.strides, a.strides + a.rank), 1);
  } else {
    strides = detail::byte_strides(shape, row_major(shape), size);
  }
  if (k == 0) to.shape = shape;
  else if (shape != to.shape) refuse("two arrays of different shapes; they must be the same");
  to.data[static_cast<std::size_t>(k)] = a.data;
  to.strides[static_cast<std::size_t>(k)] = strides;
}

/// Checks everything, then f(functions, inputs, told).
template <class F>
int with(int o, const wf_array* x, const wf_array* y, const wf_options* given, void* out, F f) noexcept {
  return guarded([&] {
    require(x, "x");
    require(out, "out");
    const told t(given);
    const op which = checked_op(o);
    const cpu::erased& r = builtin(which, checked_dtype(x->dtype), t.context.accuracy);
    if (r.inputs == 2) {
      require(y, "y");
      if (y->dtype != x->dtype) refuse("x and y are of different element types");
    } else if (y != nullptr) {
      refuse("y is given, but " + std::string(properties_of(which).name) + " has one input");
    }
    cpu::operands in;
    add_input(in, *x, 0);
    if (r.inputs == 2) add_input(in, *y, 1);
    f(r, in, t);
  });
}

}  // namespace

extern "C" {

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
  return with(o, x, y, options, out, [&](const cpu::erased& r, const cpu::operands& in, const told& t) {
    cpu::reduce_all(r, &t.options, in, t.context, out);
  });
}

int wf_reduce_axes(int o, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                   const wf_options* options, void* out) {
  return with(o, x, y, options, out, [&](const cpu::erased& r, const cpu::operands& in, const told& t) {
    if (axis_count < 0) refuse("axis_count is below 0");
    if (axis_count > 0) require(axes, "axes");
    check_axis_count(axis_count, *x);
    const axis given(std::vector<int>(axes, axes + axis_count));
    cpu::reduce_axes(r, &t.options, in, cpu::checked_axes(given, x->rank, "wf_reduce_axes"), t.context, out);
  });
}

int wf_reduce_segments(int o, const wf_array* x, const wf_array* y, const int64_t* offsets,
                       int64_t segments, const wf_options* options, void* out) {
  return with(o, x, y, options, out, [&](const cpu::erased& r, const cpu::operands& in, const told& t) {
    require(offsets, "offsets");
    if (segments < 0) refuse("segments is below 0");
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / std::int64_t{sizeof(std::int64_t)} - 1;
    if (segments > most) refuse("segments is " + std::to_string(segments) + "; no memory holds so many offsets");
    cpu::reduce_segments(r, &t.options, in, {offsets, static_cast<std::size_t>(segments) + 1}, t.context, out);
  });
}

int wf_reduce_by_label(int o, const wf_array* x, const wf_array* y, const int64_t* labels,
                       int64_t answers, const wf_options* options, void* out) {
  return with(o, x, y, options, out, [&](const cpu::erased& r, const cpu::operands& in, const told& t) {
    const std::size_t n = in.shape.size() == 1 ? static_cast<std::size_t>(in.shape[0]) : 0;
    if (n > 0) require(labels, "labels");
    cpu::reduce_labels(r, &t.options, in, {labels, n}, answers, t.context, out);
  });
}

int wf_reduce_many(const int* ops, int count, const wf_array* x, const wf_options* options,
                   void* const* out) {
  return guarded([&] {
    require(ops, "ops");
    require(x, "x");
    require(out, "out");
    if (count <= 0) refuse("op_count is " + std::to_string(count) + "; it is 1 or more");
    const told t(options);
    const dtype element = checked_dtype(x->dtype);
    std::vector<cpu::fusion::part> parts;
    for (int k = 0; k < count; ++k) {
      require(out[k], "out[k]");
      parts.push_back({&builtin(checked_op(ops[k]), element, t.context.accuracy), &t.options});
    }
    const cpu::fusion all(parts);
    if (all.functions().inputs != 1) refuse("operations of two inputs cannot be fused here");
    cpu::operands in;
    add_input(in, *x, 0);
    std::vector<std::byte> raw(all.functions().result_size);
    cpu::reduce_all(all.functions(), &all, in, t.context, raw.data());
    for (int k = 0; k < count; ++k)
      std::memcpy(out[k], raw.data() + all.result_offset(static_cast<std::size_t>(k)),
                  parts[static_cast<std::size_t>(k)].functions->result_size);
  });
}

int wf_reduce_checked(int o, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                      const wf_options* options, void* out, unsigned char* overflow) {
  return with(o, x, y, options, out, [&](const cpu::erased&, const cpu::operands& in, const told& t) {
    require(overflow, "overflow");
    if (axis_count < 0) refuse("axis_count is below 0");
    const auto element = static_cast<dtype>(x->dtype);
    const cpu::erased* r = find_checked(static_cast<op>(o), element);
    if (r == nullptr)
      throw error(errc::unsupported, std::string(properties_of(static_cast<op>(o)).name) + " of " +
                                         std::string(info(element).name) + " cannot overflow; sum, prod, "
                                         "sum_of_squares, norm1 and dot of integers can");
    std::vector<int> which(x->rank);
    std::iota(which.begin(), which.end(), 0);
    if (axes != nullptr) {
      check_axis_count(axis_count, *x);
      which = cpu::checked_axes(axis(std::vector<int>(axes, axes + axis_count)), x->rank, "wf_reduce_checked");
    }
    const auto answers = detail::product(cpu::kept_shape(in.shape, which, false));
    if (!answers) refuse("more than 2^63 answers");
    std::vector<checked<std::uint64_t>> found;
    if (static_cast<std::size_t>(*answers) > found.max_size())
      refuse("wf_reduce_checked: " + std::to_string(*answers) + " answers; no memory holds so many");
    found.resize(static_cast<std::size_t>(*answers));
    cpu::reduce_axes(*r, &t.options, in, which, t.context, found.data());
    auto* to = static_cast<std::uint64_t*>(out);
    for (std::size_t k = 0; k < found.size(); ++k) {
      std::memcpy(to + k, &found[k].value, sizeof(std::uint64_t));
      overflow[k] = found[k].overflow;
    }
  });
}

const char* wf_last_error(void) { return last_error; }

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
