// SPDX-License-Identifier: Apache-2.0
/// Arrays of NumPy, and those on a GPU of libraries that were told of, are answered before general code is asked, where all that a call says is of the plain kinds: of NumPy's, a mask and an
/// out= that are arrays of theirs, an element type, axes as ints, a way of rounding; on a GPU, accuracy="fast" and stream=. Everything else, and what is refused, goes to warpfold._general.reduce.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "converted.hpp"
#include "device_call.hpp"
#include "rounded.hpp"
#include "views.hpp"

namespace wfpy {

using wf::dtype;
using wf::op;

namespace {

// Set once, when NumPy is first needed, and kept for good; ndarray_type last, by which threads without a GIL see the others.
std::atomic<PyObject*> ndarray_type = nullptr;
std::array<PyObject*, wf::dtypes.size()> scalar_types{};
std::array<PyObject*, wf::dtypes.size()> dtypes{};
PyObject *exact_name, *fast_name, *nearest_name, *general, *empty;
std::array<std::atomic<const device_call*>, 8> on_devices{};  // those in use come first

enum argument { which, array, axis, type, keepdims, correction, accuracy, rounding, where, out, stream, skip_nans, arguments };

PyObject* number_of(dtype type, const void* p) {
  const auto read = [p]<class T>(T x) {
    std::memcpy(static_cast<void*>(&x), p, sizeof x);
    return x;
  };
  PyObject* plain = nullptr;
  switch (type) {
    case dtype::f64: plain = PyFloat_FromDouble(read(double{})); break;
    case dtype::f32: plain = PyFloat_FromDouble(static_cast<double>(read(float{}))); break;
    case dtype::f16: plain = PyFloat_FromDouble(static_cast<double>(read(wf::f16{}))); break;
    case dtype::bf16: plain = PyFloat_FromDouble(static_cast<double>(read(wf::bf16{}))); break;
    case dtype::i64: plain = PyLong_FromLongLong(read(std::int64_t{})); break;
    case dtype::u64: plain = PyLong_FromUnsignedLongLong(read(std::uint64_t{})); break;
    case dtype::i32: plain = PyLong_FromLong(read(std::int32_t{})); break;
    case dtype::u32: plain = PyLong_FromUnsignedLong(read(std::uint32_t{})); break;
    case dtype::i16: plain = PyLong_FromLong(read(std::int16_t{})); break;
    case dtype::u16: plain = PyLong_FromLong(read(std::uint16_t{})); break;
    case dtype::i8: plain = PyLong_FromLong(read(std::int8_t{})); break;
    case dtype::u8: plain = PyLong_FromLong(read(std::uint8_t{})); break;
    case dtype::boolean: plain = PyBool_FromLong(read(std::uint8_t{})); break;
    case dtype::c64: {
      const auto z = read(std::array<float, 2>{});
      plain = PyComplex_FromDoubles(static_cast<double>(z[0]), static_cast<double>(z[1]));
      break;
    }
    case dtype::c128: {
      const auto z = read(std::array<double, 2>{});
      plain = PyComplex_FromDoubles(z[0], z[1]);
      break;
    }
  }
  const auto k = static_cast<std::size_t>(type);
  PyObject* made = k < scalar_types.size() ? scalar_types[k] : nullptr;
  if (plain == nullptr || made == nullptr) return plain;
  PyObject* scalar = PyObject_CallFunctionObjArgs(made, plain, nullptr);
  Py_DECREF(plain);
  return scalar;
}

bool is(PyObject* given, PyObject* text) {
  return given == text || (PyUnicode_CheckExact(given) && PyUnicode_Compare(given, text) == 0);
}

/// The element type that a caller names: NumPy's object or class of it, Python's own class, a name. Nothing for what general code reads, or refuses.
std::optional<dtype> type_told(PyObject* given) {
  static constexpr std::array<const char*, wf::dtypes.size()> names = {"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
                                                                      "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"};
  for (std::size_t k = 0; k < dtypes.size(); ++k)
    if (scalar_types[k] != nullptr && (given == scalar_types[k] || given == dtypes[k])) return static_cast<dtype>(k);
  if (given == reinterpret_cast<PyObject*>(&PyFloat_Type)) return dtype::f64;
  if (!PyUnicode_CheckExact(given)) return std::nullopt;
  for (std::size_t k = 0; k < dtypes.size(); ++k)
    if (scalar_types[k] != nullptr && PyUnicode_CompareWithASCIIString(given, names[k]) == 0) return static_cast<dtype>(k);
  return std::nullopt;
}

/// As NumPy has it, answers lie in the order of their elements. Where the dimensions that are kept are not in the order of memory, they are put into it, before those that are
/// reduced. Else nothing is done, and false.
template <class F>
bool put_in_memory_order(std::vector<int>& order, const layout& x, F is_reduced) {
  const auto distance = [&](int d) {  // the greatest where there are no neighbours
    const std::int64_t stride = std::abs(x.strides[static_cast<std::size_t>(d)]);
    return x.shape[static_cast<std::size_t>(d)] == 1 || stride == 0 ? std::numeric_limits<std::int64_t>::max() : stride;
  };
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  bool sorted = true;
  for (const int d : order) {
    if (is_reduced(d) || distance(d) == std::numeric_limits<std::int64_t>::max()) continue;
    sorted = sorted && distance(d) <= before;
    before = distance(d);
  }
  if (sorted) return false;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (is_reduced(a) || is_reduced(b)) return !is_reduced(a) && is_reduced(b);
    return distance(a) > distance(b);
  });
  return true;
}

/// `answers`, whose dimension k is number order[k] of those that are wanted, by rising numbers.
PyObject* turned_back(PyObject* answers, const std::vector<int>& order) {
  const nb::object places = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(order.size())));
  if (!places.is_valid()) return nullptr;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto before = std::count_if(order.begin(), order.end(), [&](int d) { return d < order[k]; });
    PyTuple_SetItem(places.ptr(), before, PyLong_FromSize_t(k));
  }
  return PyObject_CallMethod(answers, "transpose", "O", places.ptr());
}

bool needs_elements(op o) { return o == op::min || o == op::max || o == op::minmax || wf::operation_of(o).state == wf::state_kind::places; }

/// Whether n bytes at p may have some of the elements' bytes among them.
bool overlap(const void* p, Py_ssize_t n, const Py_buffer& x) {
  const char* first = static_cast<const char*>(x.buf);
  const char* last = first + x.itemsize;
  for (int d = 0; d < x.ndim; ++d) (x.strides[d] < 0 ? first : last) += (x.shape[d] - 1) * x.strides[d];
  return static_cast<const char*>(p) < last && first < static_cast<const char*>(p) + n;
}

/// A sum of integers mod 2^64, of which `to` has room for less, in its place.
void cut(void* answer, dtype to) {
  std::uint64_t whole;
  std::memcpy(&whole, answer, sizeof whole);
  const auto put = [answer](auto less) { std::memcpy(answer, &less, sizeof less); };
  switch (wf::info(to).size) {
    case 1: put(static_cast<std::uint8_t>(whole)); break;
    case 2: put(static_cast<std::uint16_t>(whole)); break;
    case 4: put(static_cast<std::uint32_t>(whole)); break;
    default: break;
  }
}

/// What a call says of elements that are NumPy's.
struct request_of_numpy {
  op what;
  PyObject *x, *axis, *type, *where, *out;  // the last four None where they are not told
  bool keepdims, skip_nans;
  wf::accuracy how;
  wf::options options;
};

/// One call, whose steps each say whether it is still for the fast path.
class quick_call {
 public:
  explicit quick_call(const request_of_numpy& r) : r_(r), x_(r.x, PyBUF_STRIDES | PyBUF_FORMAT) {}

  /// The answers; null without a Python error if this is not for the fast path.
  PyObject* answer() {
    if (!x_.held || !read_elements() || !read_type() || !read_mask() || !read_axes_told()) return nullptr;
    if (cast_) {
      const nb::object cast = nb::steal(PyObject_CallMethod(r_.x, "astype", "O", dtypes[static_cast<std::size_t>(final_)]));
      if (!cast.is_valid()) return nullptr;
      request_of_numpy of_cast = r_;
      of_cast.x = cast.ptr();
      of_cast.type = Py_None;
      return quick_call(of_cast).answer();
    }
    if (whole_) return one();
    return r_.out == Py_None ? made() : into_theirs();
  }

 private:
  bool read_elements() {
    const auto element = type_of_format(x_.b.format, x_.b.itemsize);
    if (!element || x_.b.itemsize == 0 || x_.b.strides == nullptr) return false;
    element_ = *element;
    for (int d = x_.b.ndim; d-- > 0;) {
      gaps_ = gaps_ || (x_.b.shape[d] != 1 && x_.b.strides[d] != n_ * x_.b.itemsize);
      n_ *= x_.b.shape[d];
    }
    if (x_.b.ndim > wf::max_rank && (gaps_ || r_.axis != Py_None || r_.keepdims || r_.skip_nans || r_.where != Py_None)) return false;
    one_axis_ = wf::operation_of(r_.what).state == wf::state_kind::places;
    return n_ != 0 || !needs_elements(r_.what);
  }

  bool read_type() {
    functions_ = wf::find_builtin(r_.what, element_, r_.how);
    if (functions_ == nullptr || functions_->inputs != 1 || functions_->result_size > sizeof answer_) return false;
    kind_ = wf::result_of_builtin(r_.what, element_);
    final_ = kind_.type;
    if (r_.type == Py_None) return true;
    const auto want = type_told(r_.type);
    if (!want || (r_.what != op::sum && r_.what != op::mean && r_.what != op::prod)) return false;
    final_ = *want;
    if (final_ == kind_.type) return true;
    if (wf::is_integer(final_)) {  // sums mod 2^64 are so mod less, too
      cut_ = true;
      return wf::is_integer(element_) && r_.what != op::mean && final_ != dtype::boolean;
    }
    if (r_.what == op::prod) {  // the elements taken as that type
      cast_ = wf::is_complex(final_) || !wf::is_complex(element_);
      return cast_;
    }
    if (wf::is_complex(element_) || wf::is_complex(final_)) return false;
    functions_ = find_builtin(r_.what, element_, wf::accuracy::exact);
    const bool to_nearest = r_.options.rounding == wf::rounding::nearest;
    if (to_nearest && wf::is_integer(kind_.type) && x_.b.itemsize <= 4 && n_ <= std::int64_t{1} << 30) how_ = conversion::of_whole_sums;
    else if (to_nearest && !wf::is_integer(kind_.type) && wf::info(final_).size < wf::info(kind_.type).size) how_ = conversion::of_answers;
    else rounded();
    return functions_ != nullptr;
  }
  /// Chooses the reduction by states, from which an answer of any type is rounded.
  void rounded() {
    functions_ = find_rounded(r_.what == op::mean, element_, final_);
    how_ = conversion::none;
    rounded_ = true;
  }

  bool read_mask() {
    if (r_.where == Py_None || r_.where == Py_True) return true;
    if (reinterpret_cast<PyObject*>(Py_TYPE(r_.where)) != ndarray_type.load(std::memory_order_acquire) || one_axis_) return false;
    mask_held_.emplace(r_.where, PyBUF_STRIDES | PyBUF_FORMAT);
    const Py_buffer& b = mask_held_->b;
    if (!mask_held_->held || b.strides == nullptr || type_of_format(b.format, b.itemsize) != dtype::boolean || b.ndim > x_.b.ndim) return false;
    const wf::extents shape(x_.b.shape, x_.b.shape + x_.b.ndim);
    for (int d = 0, before = x_.b.ndim - b.ndim; d < b.ndim; ++d)
      if (b.shape[d] != 1 && b.shape[d] != x_.b.shape[before + d]) return false;
    mask_ = broadcast(layout_of(b, dtype::boolean), shape, "where=");
    return true;
  }

  bool read_axes_told() {
    if (r_.axis == Py_None) {
      whole_ = !r_.keepdims;
      if (whole_) return true;
      axes_.resize(static_cast<std::size_t>(x_.b.ndim));
      std::iota(axes_.begin(), axes_.end(), 0);
      return !one_axis_;
    }
    if ((one_axis_ && !PyLong_Check(r_.axis)) || !read_axes(r_.axis, x_.b.ndim, axes_)) return false;
    whole_ = axes_.size() == static_cast<std::size_t>(x_.b.ndim) && !r_.keepdims;
    return true;
  }

  /// What the functions give, one after the other, as the answers. False: `rounded()` ones are to be asked for.
  bool finish(const void* found, std::int64_t n, void* to) const {
    if (how_ == conversion::of_answers) return narrow(found, kind_.type, static_cast<std::size_t>(n), final_, to);
    as_floats(found, kind_.type, static_cast<std::size_t>(n), final_, to);
    return true;
  }

  counted which_count() const { return {mask_ ? &*mask_ : nullptr, r_.skip_nans, 0}; }

  /// Whether the mask leaves some of each answer's elements, for what has no answer of nothing.
  bool each_has_some(const layout& mask, std::span<const int> axes, std::int64_t answers) const {
    std::vector<std::int64_t> some(static_cast<std::size_t>(answers));
    run_parts(*wf::find_builtin(op::sum, dtype::boolean, wf::accuracy::exact), {}, mask, along(axes), some.data());
    return std::find(some.begin(), some.end(), 0) == some.end();
  }

  PyObject* one() {
    if (mask_ && needs_elements(r_.what)) {
      std::vector<int> all(static_cast<std::size_t>(x_.b.ndim));
      std::iota(all.begin(), all.end(), 0);
      if (!each_has_some(*mask_, all, 1)) return nullptr;
    }
    std::optional<buffer> theirs;
    if (r_.out != Py_None) {
      theirs.emplace(r_.out, PyBUF_WRITABLE | PyBUF_STRIDES | PyBUF_FORMAT);
      if (!theirs->held || theirs->b.ndim != 0 || kind_.values != 1 || type_of_format(theirs->b.format, theirs->b.itemsize) != final_) return nullptr;
    }
    const auto run = [&] {
      run_beside_others(n_, [&] {
        if (!gaps_ && !mask_ && !r_.skip_nans) run_whole(*functions_, r_.options, x_.b.buf, n_, answer_.data());
        else run_all(*functions_, r_.options, layout_of(x_.b, element_), which_count(), answer_.data());
      });
    };
    run();
    if (how_ != conversion::none && !finish(answer_.data(), 1, answer_.data())) {
      rounded();
      run();
    }
    if (cut_) cut(answer_.data(), final_);
    if (theirs) {
      std::memcpy(theirs->b.buf, answer_.data(), wf::info(final_).size);
      return Py_NewRef(r_.out);
    }
    return kind_.values == 1 ? number_of(final_, answer_.data()) : scalar_of(r_.what, element_, answer_.data());
  }

  bool is_reduced(int d) const { return std::find(axes_.begin(), axes_.end(), d) != axes_.end(); }
  std::int64_t answers() const {
    std::int64_t n = 1;
    for (int d = 0; d < x_.b.ndim; ++d) n *= is_reduced(d) ? 1 : x_.b.shape[d];
    return n;
  }

  /// The answers of type final_, or that are cut or parted afterwards. False, and nothing is done: general code has words for that.
  bool run(const layout& x, const std::vector<int>& axes, void* to) {
    if (mask_ && needs_elements(r_.what) && !each_has_some(*mask_, axes, answers())) return false;
    if (how_ == conversion::none) {
      run_beside_others(n_, [&] { run_as_they_are(x, axes, to); });
      return true;
    }
    std::vector<std::byte> found(static_cast<std::size_t>(answers()) * functions_->result_size);
    bool certain = false;
    run_beside_others(n_, [&] {
      run_as_they_are(x, axes, found.data());
      certain = finish(found.data(), answers(), to);
    });
    if (!certain) {
      rounded();
      run_beside_others(n_, [&] { run_as_they_are(x, axes, to); });
    }
    return true;
  }
  void run_as_they_are(const layout& x, const std::vector<int>& axes, void* to) const {
    if (run_copied(x, axes, to)) return;
    if (mask_ || r_.skip_nans) run_counted(*functions_, &r_.options, x, which_count(), along(axes), to);
    else run_parts(*functions_, r_.options, x, along(axes), to);
  }

  /// Whether no neighbours in memory are neighbours along an axis, or those that are belong to different answers, which lie the other way round.
  static bool apart(const layout& x, const std::vector<int>& axes) {
    const auto size = static_cast<std::int64_t>(wf::info(x.type).size);
    for (std::size_t d = 0; d < x.shape.size(); ++d) {
      const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end();
      if (x.shape[d] != 1 && (reduced ? std::abs(x.strides[d]) : x.strides[d] < 0 ? size + 1 : x.strides[d]) <= size) return false;
    }
    return true;
  }

  /// Sums along axes of some of the elements, and of f32 as f64, and reductions of elements that lie apart: a copy of some rows at a time is reduced by the kernels of axes. False
  /// if it cannot be so.
  bool run_copied(const layout& x, const std::vector<int>& axes, void* to) const {
    constexpr std::int64_t together = 1 << 16;  // elements
    const bool widens = how_ == conversion::none && element_ == dtype::f32 && final_ == dtype::f64;
    const bool some = mask_ || (r_.skip_nans && !wf::is_integer(element_));
    const dtype as = widens ? dtype::f64 : element_;
    if ((!widens && !some && (!apart(x, axes) || copies_rows(*functions_, x, axes))) || (some && (r_.what != op::sum || r_.options.rounding != wf::rounding::nearest)) ||
        ((widens || some) && r_.how != wf::accuracy::exact) || n_ == 0 || !can_copy(element_, as))
      return false;
    std::size_t across = 0;  // the first dimension that is kept
    while (across < x.shape.size() && (x.shape[across] == 1 || std::find(axes.begin(), axes.end(), static_cast<int>(across)) != axes.end())) ++across;
    if (across == x.shape.size()) return false;
    const std::int64_t length = x.shape[across], each = n_ / length;
    if (each > together) return false;
    const wf::cpu::erased& f = widens ? *wf::find_builtin(r_.what, as, wf::accuracy::exact) : *functions_;
    const std::int64_t step = std::min(length, together / each);
    const dtype given = widens ? as : rounded_ ? final_ : kind_.type;  // by f
    const auto size = wf::info(as).size, size_given = wf::info(given).size;
    const std::unique_ptr<std::byte[]> copy(new std::byte[static_cast<std::size_t>(step * each) * size]);
    const auto part_of = [across](const layout& a, std::int64_t begin, std::int64_t count) {
      layout part = a;
      part.data = static_cast<const std::byte*>(a.data) + begin * a.strides[across];
      part.shape[across] = count;
      return part;
    };
    auto* out = static_cast<std::byte*>(to);
    for (std::int64_t i = 0; i < length; i += step) {
      const std::int64_t count = std::min(step, length - i);
      const layout part = part_of(x, i, count);
      const auto mask = mask_ ? std::optional(part_of(*mask_, i, count)) : std::nullopt;
      const counted which{mask ? &*mask : nullptr, r_.skip_nans, 0};
      const auto run_copy = [&](const wf::cpu::erased& of, dtype type, void* found) {
        copy_filled(part, which, type, copy.get());
        layout here{copy.get(), type, part.shape, wf::row_major(part.shape)};
        for (std::int64_t& s : here.strides) s *= static_cast<std::int64_t>(wf::info(type).size);
        run_parts(of, r_.options, here, along(axes), found);
      };
      const auto n = static_cast<std::size_t>(answers() / length * count);
      auto* const sums = out + static_cast<std::size_t>(i * (answers() / length)) * f.result_size;
      run_copy(f, as, sums);
      if (!some || wf::is_integer(as) || !any_minus_zero(sums, given, n)) continue;
      std::vector<std::int64_t> counts(n);  // 0 of sums of nothing
      run_copy(*wf::find_builtin(op::sum, dtype::boolean, wf::accuracy::exact), dtype::boolean, counts.data());
      for (std::size_t k = 0; k < n; ++k)
        if (counts[k] == 0) std::memset(sums + k * size_given, 0, size_given);
    }
    return true;
  }
  static bool any_minus_zero(const void* sums, dtype type, std::size_t n) {
    const auto any = [sums, n]<class B>(B minus_zero) {
      for (std::size_t i = 0; i < n; ++i) {
        B one;
        std::memcpy(&one, static_cast<const std::byte*>(sums) + i * sizeof one, sizeof one);
        if (one == minus_zero) return true;
      }
      return false;
    };
    switch (wf::info(type).size) {
      case 8: return any(std::uint64_t{1} << 63);
      case 4: return any(std::uint32_t{1} << 31);
      default: return any(std::uint16_t{1U << 15});
    }
  }

  PyObject* into_theirs() {
    const buffer to(r_.out, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    if (!to.held || cut_ || kind_.values != 1 || type_of_format(to.b.format, to.b.itemsize) != final_) return nullptr;
    if (to.b.ndim != x_.b.ndim - (r_.keepdims ? 0 : static_cast<int>(axes_.size()))) return nullptr;
    for (int d = 0, k = 0; d < x_.b.ndim; ++d) {
      if (is_reduced(d) && !r_.keepdims) continue;
      if (to.b.shape[k++] != (is_reduced(d) ? 1 : x_.b.shape[d])) return nullptr;
    }
    if (overlap(to.b.buf, to.b.len, x_.b) || (mask_held_ && overlap(to.b.buf, to.b.len, mask_held_->b))) return nullptr;
    return run(layout_of(x_.b, element_), axes_, to.b.buf) ? Py_NewRef(r_.out) : nullptr;
  }

  /// As a new array, or two.
  PyObject* made() {
    layout at = layout_of(x_.b, element_);
    std::vector<int> order(static_cast<std::size_t>(x_.b.ndim)), reduced = axes_;
    std::iota(order.begin(), order.end(), 0);
    const bool turned = put_in_memory_order(order, at, [this](int d) { return is_reduced(d); });
    if (turned) {
      const auto turn = [&order](layout& a) {
        layout other{a.data, a.type, {}, {}};
        for (const int d : order) {
          other.shape.push_back(a.shape[static_cast<std::size_t>(d)]);
          other.strides.push_back(a.strides[static_cast<std::size_t>(d)]);
        }
        a = other;
      };
      turn(at);
      if (mask_) turn(*mask_);
      for (std::size_t k = 0; k < reduced.size(); ++k) reduced[k] = static_cast<int>(order.size() - reduced.size() + k);
    }
    if (!r_.keepdims) std::erase_if(order, [this](int d) { return is_reduced(d); });
    const nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(order.size())));
    if (!shape.is_valid()) return nullptr;
    for (std::size_t k = 0; k < order.size(); ++k)
      PyTuple_SetItem(shape.ptr(), static_cast<Py_ssize_t>(k), PyLong_FromSsize_t(is_reduced(order[k]) ? 1 : x_.b.shape[order[k]]));
    const auto array_of = [&shape](dtype t) { return new_numpy(shape.ptr(), t); };
    const auto finished = [&](nb::object& a) { return turned ? turned_back(a.ptr(), order) : a.release().ptr(); };
    if (kind_.values != 1) {
      const auto size = functions_->result_size, count = static_cast<std::size_t>(answers());
      std::vector<std::byte> pairs(size * count);
      const dtype types[] = {kind_.values == 3 ? element_ : kind_.type, kind_.type};  // a complex mean beside a real variance
      if (!run(at, reduced, pairs.data())) return nullptr;
      nb::object both[2];
      for (std::size_t k = 0, offset = 0; k < 2; offset = wf::info(types[k++]).size) {
        nb::object a = array_of(types[k]);
        if (!a.is_valid()) return nullptr;
        {
          const buffer to(a.ptr(), PyBUF_WRITABLE);
          if (!to.held) return nullptr;
          for (std::size_t i = 0; i < count; ++i)
            std::memcpy(static_cast<std::byte*>(to.b.buf) + i * wf::info(types[k]).size, pairs.data() + i * size + offset, wf::info(types[k]).size);
        }
        both[k] = nb::steal(finished(a));
        if (!both[k].is_valid()) return nullptr;
      }
      return PyTuple_Pack(2, both[0].ptr(), both[1].ptr());
    }
    nb::object answers = array_of(cut_ ? kind_.type : final_);
    if (!answers.is_valid()) return nullptr;
    {
      const buffer to(answers.ptr(), PyBUF_WRITABLE);
      if (!to.held || !run(at, reduced, to.b.buf)) return nullptr;
    }
    if (cut_) {
      answers = nb::steal(PyObject_CallMethod(answers.ptr(), "astype", "O", dtypes[static_cast<std::size_t>(final_)]));
      if (!answers.is_valid()) return nullptr;
    }
    return finished(answers);
  }

  const request_of_numpy& r_;
  const buffer x_;
  std::optional<buffer> mask_held_;
  std::optional<layout> mask_;
  dtype element_ = dtype::f64, final_ = dtype::f64;
  wf::result_kind kind_{};
  const wf::cpu::erased* functions_ = nullptr;
  std::int64_t n_ = 1;
  bool gaps_ = false, one_axis_ = false, cut_ = false, cast_ = false, rounded_ = false, whole_ = false;
  enum class conversion { none, of_answers, of_whole_sums } how_ = conversion::none;
  std::vector<int> axes_;
  alignas(16) std::array<std::byte, 64> answer_;
};

/// One answer of floats alone, or of ints that 64 bits hold alone, from a list or a tuple. Null without a Python error for others.
PyObject* of_numbers(op o, PyObject* x, bool some, const wf::options& options, wf::accuracy how) {
  const bool list = PyList_CheckExact(x);
  const auto n = static_cast<std::size_t>(list ? PyList_Size(x) : PyTuple_Size(x));
  std::vector<std::uint64_t> bits(n);
  dtype element = dtype::f64;
  for (std::size_t i = 0; i < n; ++i) {
    const nb::object one = list ? item_of_list(x, static_cast<Py_ssize_t>(i)) : nb::borrow(PyTuple_GetItem(x, static_cast<Py_ssize_t>(i)));
    if (!one.is_valid()) return nullptr;
    const bool whole = PyLong_CheckExact(one.ptr());
    if (i == 0 && whole) element = dtype::i64;
    if (whole != (element == dtype::i64)) return nullptr;
    if (whole) {
      int beyond = 0;
      const long long value = PyLong_AsLongLongAndOverflow(one.ptr(), &beyond);
      if (beyond != 0) return nullptr;
      bits[i] = static_cast<std::uint64_t>(value);
    } else {
      if (!PyFloat_CheckExact(one.ptr())) return nullptr;
      bits[i] = __builtin_bit_cast(std::uint64_t, PyFloat_AsDouble(one.ptr()));
    }
  }
  const wf::cpu::erased* f = wf::find_builtin(o, element, how);
  alignas(16) std::array<std::byte, 64> answer;
  if (n == 0 || f == nullptr || f->inputs != 1 || f->result_size > sizeof answer) return nullptr;
  const auto count = static_cast<std::int64_t>(n);
  run_beside_others(count, [&] {
    if (some) run_all(*f, options, {bits.data(), element, {count}, {sizeof(std::uint64_t)}}, {nullptr, true, 0}, answer.data());
    else run_whole(*f, options, bits.data(), count, answer.data());
  });
  return scalar_of(o, element, answer.data());
}

/// (op, x, axis, dtype, keepdims, correction, accuracy, rounding, where, out, stream, skip_nans)
PyObject* reduce(PyObject*, PyObject* const* a, Py_ssize_t n) {
  if (n != arguments) {
    PyErr_SetString(PyExc_TypeError, "reduce takes 12 arguments");
    return nullptr;
  }
  auto* const kind = reinterpret_cast<PyObject*>(Py_TYPE(a[array]));
  const device_call* const on_device = device_call_of(kind);
  const bool exactly = is(a[accuracy], exact_name);
  int beyond = 0;  // 64 bits
  const long long divide = PyLong_CheckExact(a[correction]) ? PyLong_AsLongLongAndOverflow(a[correction], &beyond) : 0;
  const bool readable = beyond == 0 && (a[correction] == Py_None || PyLong_CheckExact(a[correction])) && (a[keepdims] == Py_False || a[keepdims] == Py_True) &&
                        (exactly || is(a[accuracy], fast_name));
  const PyObject* const theirs = ndarray_type.load(std::memory_order_acquire);
  const bool numbers = theirs != nullptr && (PyList_CheckExact(a[array]) || PyTuple_CheckExact(a[array])) && a[axis] == Py_None && a[type] == Py_None &&
                       a[where] == Py_None && a[out] == Py_None && a[keepdims] == Py_False;
  const bool on_host = (kind == theirs || numbers) && a[stream] == Py_None && (a[out] == Py_None || reinterpret_cast<PyObject*>(Py_TYPE(a[out])) == theirs) &&
                       (exactly || is(a[rounding], nearest_name));
  if (readable && (on_host || (on_device != nullptr && (exactly || is(a[rounding], nearest_name))))) {
    const long o = PyLong_AsLong(a[which]);
    if (o < 0 || o >= wf::op_count) {
      if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "no such reduction");
      return nullptr;
    }
    const bool keep = a[keepdims] == Py_True;
    try {
      PyObject* found = nullptr;
      const auto what = static_cast<op>(o);
      const auto mode = rounding_told(a[rounding]);
      if (mode && on_device != nullptr) {
        device_call::asked told{a[axis], a[type], a[out], a[stream], keep, !exactly, *mode, divide, a[type] == Py_None ? std::nullopt : type_told(a[type])};
        if (a[where] != Py_None && a[where] != Py_True) told.where = a[where];
        told.skip_nans = a[skip_nans] == Py_True;
        found = on_device->run(*on_device, std::span(&what, 1), false, a[array], told);
      } else if (mode) {
        wf::options options;
        options.correction = divide;
        options.rounding = *mode;
        const auto how = exactly ? wf::accuracy::exact : wf::accuracy::fast;
        const bool some = a[skip_nans] == Py_True;
        found = numbers ? of_numbers(what, a[array], some, options, how)
                        : quick_call({what, a[array], a[axis], a[type], a[where], a[out], keep, some, how, options}).answer();
      }
      if (found != nullptr) return found;
    } catch (const std::bad_alloc&) {
      return PyErr_NoMemory();
    } catch (const std::exception& e) {
      PyErr_SetString(PyExc_RuntimeError, e.what());
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  PyObject* given = PyTuple_New(arguments);
  if (given == nullptr) return nullptr;
  for (Py_ssize_t k = 0; k < arguments; ++k) {
    Py_INCREF(a[k]);
    PyTuple_SetItem(given, k, a[k]);
  }
  PyObject* result = PyObject_Call(general, given, nullptr);
  Py_DECREF(given);
  return result;
}

PyMethodDef methods[] = {{"reduce", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(reduce)), METH_FASTCALL, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

const device_call* device_call_of(PyObject* kind) noexcept {
  for (const auto& each : on_devices) {
    const device_call* const one = each.load(std::memory_order_acquire);
    if (one == nullptr || one->kind == kind) return one;
  }
  return nullptr;
}

std::optional<wf::rounding> rounding_told(PyObject* name) {
  if (is(name, nearest_name)) return wf::rounding::nearest;
  try {
    return rounding_named(name);
  } catch (const wf::error&) {
    return std::nullopt;
  }
}
std::optional<wf::accuracy> accuracy_told(PyObject* name) {
  if (is(name, exact_name)) return wf::accuracy::exact;
  return is(name, fast_name) ? std::optional(wf::accuracy::fast) : std::nullopt;
}

bool is_numpys(PyObject* x) noexcept { return reinterpret_cast<PyObject*>(Py_TYPE(x)) == ndarray_type.load(std::memory_order_acquire); }

nb::object new_numpy(PyObject* shape, dtype type) { return nb::steal(PyObject_CallFunctionObjArgs(empty, shape, dtypes[static_cast<std::size_t>(type)], nullptr)); }

PyObject* scalar_of(op o, dtype element, const void* p) {
  const wf::result_kind kind = wf::result_of_builtin(o, element);
  if (kind.values == 1) return number_of(kind.type, p);
  const auto* at = static_cast<const std::byte*>(p);
  const bool mean_of_complex = kind.values == 3;
  PyObject* first = number_of(mean_of_complex ? element : kind.type, at);
  PyObject* second = number_of(kind.type, at + wf::info(mean_of_complex ? element : kind.type).size);
  PyObject* both = first != nullptr && second != nullptr ? PyTuple_Pack(2, first, second) : nullptr;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return both;
}

void add_fast_path(nb::module_& m) {
  exact_name = PyUnicode_InternFromString("exact");
  fast_name = PyUnicode_InternFromString("fast");
  nearest_name = PyUnicode_InternFromString("nearest");
  PyModule_AddFunctions(m.ptr(), methods);
  m.def("use_general", [](nb::object f) { general = f.release().ptr(); });
  // A capsule of a device_call for its type in place of the one before; None: for none any more.
  m.def("use_device", [](nb::handle capsule) {
    if (capsule.is_none()) {
      for (auto& each : on_devices) each.store(nullptr, std::memory_order_release);
      return;
    }
    const auto* const told = static_cast<const device_call*>(PyCapsule_GetPointer(capsule.ptr(), device_call::capsule));
    if (told == nullptr) throw nb::python_error();
    for (auto& to : on_devices) {
      const device_call* const there = to.load(std::memory_order_acquire);
      if (there == nullptr || there->kind == told->kind) {
        to.store(told, std::memory_order_release);
        return;
      }
    }
  }, nb::arg("capsule").none());
  m.def("use_numpy", [](nb::object ndarray, nb::object make, nb::list types, nb::list scalars) {
    empty = make.release().ptr();
    for (std::size_t i = 0; i < dtypes.size(); ++i) dtypes.at(i) = nb::object(types[i]).release().ptr();
    std::size_t k = 0;
    for (PyObject*& to : scalar_types) {
      nb::object one = scalars[k++];
      to = one.is_none() ? nullptr : one.release().ptr();
    }
    ndarray_type.store(ndarray.release().ptr(), std::memory_order_release);
  });
}

}  // namespace wfpy
