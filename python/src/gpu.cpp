// SPDX-License-Identifier: Apache-2.0
/// Arrays on a GPU as the library's requests: the module warpfold._gpu of builds with CUDA. Compiled against simt it is warpfold._simt, which
/// the tests alone use: there the CPU's memory is a GPU's.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <warpfold/detail/gpu/array_calls.hpp>
#include <warpfold/gpu.hpp>

#include "device_call.hpp"
#include "own.hpp"
#include "told_by_python.hpp"

static_assert(wf::array_selection::max_rank == wf::max_rank);

namespace wfpy {

namespace {

const wf::device_library& kernels() { return WF_PYTHON_SIMT ? wf::simt_library() : wf::cuda_library(); }
#if WF_PYTHON_SIMT
using array_calls = wf::simt_array_calls;
#else
using array_calls = wf::cuda_array_calls;
#endif

[[noreturn]] void refuse(const std::string& what) { throw wf::error(wf::errc::bad_argument, what); }
void check(cudaError_t e, const char* who) { kernels().fail(static_cast<int>(e), who); }

/// An array as it tells of itself; strides in bytes.
struct device_array {
  const void* data = nullptr;
  wf::dtype type = wf::dtype::f64;
  wf::extents shape, strides;
  int device = 0;
  bool read_only = false;
  std::optional<std::uintptr_t> stream;  // on which its elements are made, where it says so
  std::shared_ptr<void> held;            // of DLPack

  std::int64_t size() const {
    const auto n = wf::detail::product(shape);
    if (!n) refuse("an array of more than 2^63 - 1 elements");
    return *n;
  }
  bool contiguous() const {
    auto step = static_cast<std::int64_t>(wf::info(type).size);
    if (size() == 0) return true;
    for (std::size_t d = shape.size(); d-- > 0; step *= shape[d])
      if (shape[d] != 1 && strides[d] != step) return false;
    return true;
  }
};

void without_gaps(device_array& a) {
  a.strides = wf::row_major(a.shape);
  for (std::int64_t& s : a.strides) s *= static_cast<std::int64_t>(wf::info(a.type).size);
}

std::optional<wf::dtype> type_of_typestr(const std::string& s) {
  if (s.size() < 3 || (s[0] != '|' && s[0] != (wf::native_order == wf::byte_order::little ? '<' : '>'))) return std::nullopt;
  const std::string size = s.substr(2);
  if (s[1] == 'b' && size == "1") return wf::dtype::boolean;
  if ((s[1] == 'i' || s[1] == 'u') && (size == "1" || size == "2" || size == "4" || size == "8")) return integer_of(size[0] - '0', s[1] == 'i');
  if (s[1] == 'f' && size == "2") return wf::dtype::f16;
  if (s[1] == 'f' && size == "4") return wf::dtype::f32;
  if (s[1] == 'f' && size == "8") return wf::dtype::f64;
  if (s[1] == 'c' && size == "8") return wf::dtype::c64;
  if (s[1] == 'c' && size == "16") return wf::dtype::c128;
  return std::nullopt;
}

/// The device that memory lies on, for what does not tell.
int device_of(const void* p, const char* who) {
  if (WF_PYTHON_SIMT || p == nullptr) return 0;
  cudaPointerAttributes of{};
  check(cudaPointerGetAttributes(&of, p), who);
  if (of.type == cudaMemoryTypeUnregistered) refuse(std::string(who) + ": memory that no GPU of this machine can read");
  return of.device;
}

device_array read_interface(const nb::dict& told, const char* who) {
  const auto missing = [&](const char* key) { refuse(std::string(who) + ": a __cuda_array_interface__ without '" + key + "'"); };
  const auto entry = [&](const char* key) -> nb::object { return told.contains(key) ? nb::object(told[key]) : nb::none(); };
  for (const char* key : {"shape", "typestr", "data"})
    if (!told.contains(key)) missing(key);
  if (!entry("mask").is_none()) throw wf::error(wf::errc::unsupported, std::string(who) + ": an array on a GPU with a mask; fill the masked elements");
  device_array a;
  const auto typestr = nb::cast<std::string>(entry("typestr"));
  const auto type = type_of_typestr(typestr);
  if (!type)
    throw wf::error(wf::errc::unsupported, std::string(who) + ": elements of type '" + typestr + "' on a GPU; they may be real and complex numbers "
                                               "of the machine's byte order");
  a.type = *type;
  for (const std::int64_t n : nb::cast<std::vector<std::int64_t>>(entry("shape"))) {
    if (n < 0) refuse(std::string(who) + ": a __cuda_array_interface__ with a negative length");
    a.shape.push_back(n);
    if (a.shape.size() > wf::max_rank) refuse(std::string(who) + ": an array of more than 32 dimensions");
  }
  if (const nb::object strides = entry("strides"); strides.is_none()) {
    without_gaps(a);
  } else {
    for (const std::int64_t s : nb::cast<std::vector<std::int64_t>>(strides)) a.strides.push_back(s);
    if (a.strides.size() != a.shape.size()) refuse(std::string(who) + ": a __cuda_array_interface__ with strides that are not one a dimension");
  }
  const auto data = nb::cast<nb::tuple>(entry("data"));
  if (data.size() != 2) refuse(std::string(who) + ": a __cuda_array_interface__ whose 'data' is not an address and a flag");
  a.data = reinterpret_cast<const void*>(nb::cast<std::uintptr_t>(data[0]));
  a.read_only = nb::cast<bool>(data[1]);
  if (const nb::object stream = entry("stream"); !stream.is_none()) {
    a.stream = nb::cast<std::uintptr_t>(stream);
    if (*a.stream == 0) refuse(std::string(who) + ": a __cuda_array_interface__ with stream 0, which its version 3 rules out; 1 is the default stream");
  }
  a.device = a.size() == 0 ? 0 : device_of(a.data, who);
  return a;
}

/// The array that a __cuda_array_interface__ tells of, version 3 and before.
device_array of_interface(const nb::dict& told, const char* who) {
  try {
    return read_interface(told, who);
  } catch (const nb::cast_error&) {
    refuse(std::string(who) + ": a __cuda_array_interface__ with an entry of another type than the protocol says");
  }
}

/// The array that __dlpack__() gave; pinned: its library says that it is, of what the capsule may call the CPU's.
device_array of_capsule(nb::handle capsule, const char* who, bool pinned) {
  nb::ndarray<nb::ro> x;
  if (!nb::try_cast(capsule, x, false)) refuse(std::string(who) + ": what __dlpack__() gave is no array of DLPack");
  const int where = x.device_type();
  if (where != nb::device::cuda::value && where != nb::device::cuda_managed::value && where != nb::device::cuda_host::value &&
      !(pinned && where == nb::device::cpu::value))
    refuse(std::string(who) + ": an array of DLPack on the device type " + std::to_string(where) + "; 2, 3 and 13 are CUDA's");
  const auto type = type_of_dlpack(x.dtype());
  if (!type) throw wf::error(wf::errc::unsupported, std::string(who) + ": elements on a GPU that are no real and complex numbers");
  if (x.ndim() > std::size_t{wf::max_rank}) refuse(std::string(who) + ": an array of more than 32 dimensions");
  device_array a;
  a.data = x.data();
  a.type = *type;
  const auto size = static_cast<std::int64_t>(wf::info(*type).size);
  for (std::size_t d = 0; d < x.ndim(); ++d) {
    a.shape.push_back(static_cast<std::int64_t>(x.shape(d)));
    a.strides.push_back(x.stride(d) * size);
  }
  a.device = where == nb::device::cuda::value ? x.device_id() : device_of(a.data, who);
  a.held = std::make_shared<nb::ndarray<nb::ro>>(std::move(x));
  return a;
}

/// The thread's current device, for as long as a call takes.
class on_device {
 public:
  on_device(int wanted, const char* who) {
    check(cudaGetDevice(&before_), who);
    if (before_ == wanted) return;
    check(cudaSetDevice(wanted), who);
    changed_ = true;
  }
  on_device(const on_device&) = delete;
  ~on_device() {
    if (changed_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

/// A place for each stream that was ever reduced on, and whose turn it is there. They stay: a stream's scratch memory cannot be given back
/// when the stream may be gone.
struct turn {
  explicit turn(std::uintptr_t stream) : place(kernels(), reinterpret_cast<void*>(stream)) {}
  wf::device_place place;
  std::mutex one_at_a_time;

  /// Memory for what is put on the stream before the next call that asks for some. It stays, as the place's scratch memory does.
  void* memory(std::size_t bytes) {
    if (bytes > size_) {
      if (at_ != nullptr) place.machine().give_back(at_, place.stream());
      at_ = nullptr;
      size_ = 0;
      const std::size_t more = std::bit_ceil(bytes);
      at_ = place.machine().take(more, place.stream());
      size_ = more;
    }
    return at_;
  }

 private:
  void* at_ = nullptr;
  std::size_t size_ = 0;
};
turn& turn_of(int device, std::uintptr_t stream) {
  static auto& all = *new std::map<std::pair<int, std::uintptr_t>, turn>;
  static auto& entry = *new std::mutex;
  const std::lock_guard lock(entry);
  return all.try_emplace({device, stream}, stream).first->second;
}

/// What `before` has been given so far comes first on `after`.
void in_order(int device, std::uintptr_t before, std::uintptr_t after) {
  constexpr const char* who = "streams";
  const on_device there(device, who);
  static auto& events = *new std::map<int, cudaEvent_t>;  // they stay: who waits for one waits for what was recorded before
  static auto& entry = *new std::mutex;
  const std::lock_guard lock(entry);
  cudaEvent_t& event = events[device];
  if (event == nullptr) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), who);
  check(cudaEventRecord(event, reinterpret_cast<cudaStream_t>(before)), who);
  check(cudaStreamWaitEvent(reinterpret_cast<cudaStream_t>(after), event, 0), who);
}

cudaStream_t stream_at(std::uintptr_t address) { return reinterpret_cast<cudaStream_t>(address == 1 ? 0 : address); }  // both are the default stream

/// Bytes to a GPU or on it, on a stream. On simt the tests' arrays are the CPU's memory, which its copies would refuse.
void put_bytes(int device, void* to, const void* from, std::size_t size, cudaMemcpyKind kind, std::uintptr_t stream) {
  constexpr const char* who = "all_reduce";
  const on_device there(device, who);
  if (WF_PYTHON_SIMT) {
    check(cudaStreamSynchronize(stream_at(stream)), who);
    std::memcpy(to, from, size);
  } else {
    check(cudaMemcpyAsync(to, from, size, kind, stream_at(stream)), who);
  }
}

/// What the first `width` bytes of `count` rows on a GPU are once the stream has come to here; zeros stand there then, so that nobody takes them for
/// those of a message that never came.
nb::bytes taken(int device, std::uintptr_t rows, std::size_t pitch, std::size_t width, std::size_t count, std::uintptr_t stream) {
  constexpr const char* who = "all_reduce";
  static auto& entry = *new std::mutex;
  static void* pinned = nullptr;
  static std::size_t size = 0;
  std::string found(width * count, '\0');
  const auto from = reinterpret_cast<std::byte*>(rows);
  {
    const nb::gil_scoped_release others_run;
    const on_device there(device, who);
    const std::lock_guard lock(entry);
    if (WF_PYTHON_SIMT) {
      check(cudaStreamSynchronize(stream_at(stream)), who);
      for (std::size_t k = 0; k < count; ++k) {
        std::memcpy(&found[k * width], from + k * pitch, width);
        std::memset(from + k * pitch, 0, width);
      }
    } else {
      if (size < found.size()) {
        cudaFreeHost(pinned);
        pinned = nullptr;
        size = 0;
        check(cudaMallocHost(&pinned, found.size()), who);
        size = found.size();
      }
      check(cudaMemcpy2DAsync(pinned, width, from, pitch, width, count, cudaMemcpyDeviceToHost, stream_at(stream)), who);
      check(cudaMemset2DAsync(from, pitch, 0, width, count, stream_at(stream)), who);
      check(cudaStreamSynchronize(stream_at(stream)), who);
      std::memcpy(found.data(), pinned, found.size());
    }
  }
  return nb::bytes(found.data(), found.size());
}

wf::extents broadcast_strides(const device_array& x, const wf::extents& shape) {
  wf::extents strides(shape.size(), 0);
  const std::size_t before = shape.size() - x.shape.size();
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] != 1 || shape[before + d] == 1) strides[before + d] = x.strides[d];
  return strides;
}

/// f(turn) with that of a stream, which is one thread's at a time; other threads of Python run meanwhile: a launch waits where the stream is full.
template <class F>
void in_turn(int device, std::uintptr_t stream, wf::op what, F f) {
  if (stream == 1) stream = 0;  // both are the default stream
  const nb::gil_scoped_release others_run;
  const on_device there(device, wf::op_names[static_cast<int>(what)]);
  turn& t = turn_of(device, stream);
  const std::lock_guard lock(t.one_at_a_time);
  f(t);
}
void put(const wf::request& r, int device, std::uintptr_t stream) {
  in_turn(device, stream, r.what, [&r](const turn& t) { t.place.run(r); });
}

/// What counts of an array, and of its mask, that lie so.
wf::array_selection selection_in(const own::view& v, wf::dtype element, bool skip_nans) {
  wf::array_selection s;
  s.x = v.at[0];
  s.mask = v.at[1];
  s.rank = static_cast<int>(v.kept + v.reduced);
  s.shape = v.length;
  s.strides = v.stride[0];
  s.mask_strides = v.stride[1];
  s.element = element;
  s.skip_nans = skip_nans;
  return s;
}
/// What counts of an array, broadcast to `shape`, whose dimensions `axes` are those that answers lose. `mask`: null, or one that can be broadcast to that shape.
wf::array_selection selection_of(const device_array& x, const device_array* mask, const wf::extents& shape, std::vector<int> axes, bool skip_nans, std::int64_t row) {
  std::sort(axes.begin(), axes.end());
  const wf::extents of_x = broadcast_strides(x, shape), of_mask = mask == nullptr ? wf::extents(shape.size(), 0) : broadcast_strides(*mask, shape);
  const own::view v = own::view_of({x.data, mask == nullptr ? nullptr : mask->data}, shape, mask == nullptr ? std::vector{&of_x} : std::vector{&of_x, &of_mask}, axes);
  auto s = selection_in(v, x.type, skip_nans);
  s.row = row;
  return s;
}
/// Memory for all elements of an array, broadcast to `shape`, without gaps and in the order in which they lie: strides in bytes.
wf::extents dense_strides(const device_array& x, const wf::extents& shape) {
  const wf::extents lie = broadcast_strides(x, shape);
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::abs(lie[a]) > std::abs(lie[b]); });
  wf::extents strides(shape.size(), 0);
  auto step = static_cast<std::int64_t>(wf::info(x.type).size);
  for (std::size_t k = order.size(); k-- > 0; step *= shape[order[k]]) strides[order[k]] = step;
  return strides;
}
/// What counts of an array as what is written into such memory: dimensions in the order in which they lie there.
wf::array_selection filling_of(const device_array& x, const device_array* mask, const wf::extents& shape, const wf::extents& dense, bool skip_nans) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return dense[a] > dense[b]; });
  const wf::extents of_x = broadcast_strides(x, shape), of_mask = mask == nullptr ? wf::extents(shape.size(), 0) : broadcast_strides(*mask, shape);
  wf::extents lengths, steps, mask_steps;
  std::vector<const wf::extents*> both{&steps};
  if (mask != nullptr) both.push_back(&mask_steps);
  for (const std::size_t d : order) {
    lengths.push_back(shape[d]);
    steps.push_back(of_x[d]);
    mask_steps.push_back(of_mask[d]);
  }
  const own::view v = own::view_of({x.data, mask == nullptr ? nullptr : mask->data}, lengths, both, {});
  return selection_in(v, x.type, skip_nans);
}

/// An element, as bytes, that changes no answer of a reduction wherever it stands, but that a sum of nothing else is -0 (settle_zeros()); of dot's second input where `second` says so. Nothing where there is none.
std::optional<std::array<std::byte, 16>> neutral_of(wf::op o, wf::dtype t, bool second) {
  std::array<std::byte, 16> found{};
  const std::size_t size = wf::info(t).size;
  const bool floating = wf::is_floating(t), has_sign = floating || (wf::is_integer(t) && t != wf::dtype::boolean && (t < wf::dtype::u8 || t > wf::dtype::u64));
  const auto put = [&](std::uint64_t bits) { std::memcpy(found.data(), &bits, std::min(size, sizeof bits)); };
  const std::uint64_t ones = ~std::uint64_t{0} >> (64 - 8 * std::min<std::size_t>(size, 8)), sign = std::uint64_t{1} << (8 * std::min<std::size_t>(size, 8) - 1);
  const auto float_bits = [t](std::uint64_t f64, std::uint64_t f32, std::uint64_t f16, std::uint64_t bf16) {
    return t == wf::dtype::f64 ? f64 : t == wf::dtype::f32 ? f32 : t == wf::dtype::f16 ? f16 : bf16;
  };
  const std::uint64_t one = floating ? float_bits(0x3ff0000000000000, 0x3f800000, 0x3c00, 0x3f80) : 1, infinity = float_bits(0x7ff0000000000000, 0x7f800000, 0x7c00, 0x7f80);
  switch (o) {
    case wf::op::dot:
      if (wf::is_complex(t)) return std::nullopt;
      if (second) {
        put(one);
        return found;
      }
      [[fallthrough]];
    case wf::op::sum:
      if (floating) put(sign);
      if (t == wf::dtype::c64) put(std::uint64_t{1} << 63 | std::uint64_t{1} << 31);
      if (t == wf::dtype::c128) found[7] = found[15] = std::byte{0x80};
      return found;
    case wf::op::sum_of_squares: case wf::op::norm1: case wf::op::norm2: case wf::op::norm_inf: case wf::op::count_nonzero: case wf::op::any: return found;
    case wf::op::all:
      if (wf::is_complex(t)) return std::nullopt;
      put(one);
      return found;
    case wf::op::min:
      if (wf::is_complex(t)) return std::nullopt;
      put(floating ? infinity : t == wf::dtype::boolean ? 1 : has_sign ? ones ^ sign : ones);
      return found;
    case wf::op::max:
      if (wf::is_complex(t)) return std::nullopt;
      put(floating ? infinity | sign : has_sign ? sign : 0);
      return found;
    default: return std::nullopt;
  }
}
/// How many numbers of floats a sum is; 0 of what is no sum of floats, in which a sum of nothing needs no care.
int parts_of_sum(wf::op o, wf::dtype t) { return (o != wf::op::sum && o != wf::op::dot) || wf::is_integer(t) ? 0 : wf::is_complex(t) ? 2 : 1; }
int settle_zeros(const wf::array_selection& s, wf::dtype t, int parts, void* sums, std::int64_t count, const void* starts, int bytes, void* stream) {
  return array_calls::settle_zeros(s, sums, static_cast<int>(wf::info(t).size) / parts, parts, count, starts, bytes, stream);
}
/// Whether elements that belong to different answers lie side by side, so that what is written in the order of answers is read with large gaps; and they are many.
bool lies_across(const device_array& x, const wf::extents& shape, const std::vector<int>& axes) {
  constexpr std::int64_t many = 1 << 25;  // at 2^24 floats an H100 still takes 0.7 of the time of labels so
  const wf::extents lie = broadcast_strides(x, shape);
  std::int64_t n = 1, least = std::numeric_limits<std::int64_t>::max();
  int at = -1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    n *= shape[d];
    if (shape[d] > 1 && lie[d] != 0 && std::abs(lie[d]) < least) {
      least = std::abs(lie[d]);
      at = static_cast<int>(d);
    }
  }
  return n >= many && at >= 0 && std::find(axes.begin(), axes.end(), at) == axes.end();
}

/// Elements of an answer whose dimensions `axes` are reduced.
std::int64_t row_of(const wf::extents& shape, const std::vector<int>& axes) {
  std::int64_t row = 1;
  for (const int d : axes) row *= shape[static_cast<std::size_t>(d)];
  return row;
}

/// An operation of two answers, and those of which each is one.
struct twins {
  wf::op both, first, second;
};
constexpr std::array all_twins{twins{wf::op::minmax, wf::op::min, wf::op::max}, twins{wf::op::mean_var, wf::op::mean, wf::op::var}};
const twins* twins_of(wf::op o) {
  const auto at = std::find_if(all_twins.begin(), all_twins.end(), [o](const twins& t) { return t.both == o; });
  return at == all_twins.end() ? nullptr : &*at;
}

/// An attribute, or nothing where reading it raised.
nb::object attribute(PyObject* x, PyObject* name) {
  nb::object found = nb::steal(PyObject_GetAttr(x, name));
  if (!found.is_valid()) throw nb::python_error();
  return found;
}
std::int64_t number_of(const nb::object& x) {
  const long long found = PyLong_AsLongLong(x.ptr());
  if (found == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return found;
}
PyObject* interned(const char* name) {
  PyObject* made = PyUnicode_InternFromString(name);
  if (made == nullptr) throw nb::python_error();
  return made;
}
nb::object tuple_of(const wf::extents& numbers) {
  nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  if (!made.is_valid()) throw nb::python_error();
  for (std::size_t d = 0; d < numbers.size(); ++d) PyTuple_SetItem(made.ptr(), static_cast<Py_ssize_t>(d), PyLong_FromLongLong(numbers[d]));
  return made;
}
nb::object call(PyObject* f, std::initializer_list<PyObject*> given, PyObject* names = nullptr, bool method = false) {
  const std::size_t count = given.size() - (names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_Size(names)));
  nb::object found = nb::steal(method ? PyObject_VectorcallMethod(f, given.begin(), count, names) : PyObject_Vectorcall(f, given.begin(), count, names));
  if (!found.is_valid()) throw nb::python_error();
  return found;
}

nb::object item(const nb::object& all, Py_ssize_t k) {
  nb::object found = nb::steal(PySequence_GetItem(all.ptr(), k));
  if (!found.is_valid()) throw nb::python_error();
  return found;
}
/// The shape of two arrays of one shape, one behind the other.
wf::extents both_shape(const wf::extents& one) {
  wf::extents both{2};
  for (const std::int64_t n : one) both.push_back(n);
  return both;
}

/// The axes that a plain call reduces, rising, and the shape of its answers. False for what general code has words for.
bool told_axes(PyObject* axis, bool keepdims, const wf::extents& shape, std::vector<int>& axes, wf::extents& kept) {
  const int rank = static_cast<int>(shape.size());
  if (axis == Py_None) {
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  } else if (!read_axes(axis, rank, axes)) {
    return false;
  }
  std::sort(axes.begin(), axes.end());
  for (int d = 0; d < rank; ++d) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), d);
    if (!reduced || keepdims) kept.push_back(reduced ? 1 : shape[static_cast<std::size_t>(d)]);
  }
  return true;
}

/// The arrays of one library, as it tells of them in the fewest steps. Its functions may throw; then general code says what is wrong.
struct library : device_call {
  struct place {
    device_array x;
    std::uintptr_t stream = 0;  // the library's current one
  };
  library(nb::handle arrays, const nb::list& types, const char* conversion) : device_call{arrays.inc_ref().ptr(), &answer}, conversion_(interned(conversion)) {
    for (std::size_t k = 0; k < types_.size(); ++k) types_[k] = nb::object(types[k]).release().ptr();
  }
  library(const library&) = delete;
  virtual ~library() = default;  // they stay: warpfold._core has their addresses

  /// The array, unless it is one for general code.
  virtual bool read(PyObject* x, place& found) const = 0;
  /// An array of the library's like x, and where its elements lie.
  virtual std::pair<nb::object, void*> room(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type) const = 0;
  /// Two arrays as of room(), for an answer each, of which the second lies behind the first. Nothing where the library has no such.
  virtual std::optional<std::array<nb::object, 2>> two_rooms(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type, void*& first) const = 0;
  /// The address of another stream of the library's that a call names, unless that is for general code.
  virtual std::optional<std::uintptr_t> named(PyObject* stream) const {
    static_cast<void>(stream);
    return std::nullopt;
  }
  /// Its memory is not to be given away before that stream has come to here.
  virtual void used(PyObject* x, PyObject* stream) const {
    static_cast<void>(x);
    static_cast<void>(stream);
  }

  PyObject* type_object(wf::dtype type) const { return types_[static_cast<std::size_t>(type)]; }
  std::optional<wf::dtype> type_named(PyObject* object) const {
    for (std::size_t k = 0; k < types_.size(); ++k)
      if (types_[k] == object) return static_cast<wf::dtype>(k);
    return std::nullopt;
  }

 private:
  static PyObject* answer(const device_call& self, std::span<const wf::op> ops, bool several, PyObject* x, const asked& how) noexcept {
    try {
      return static_cast<const library&>(self).reduced(ops, several, x, how).release().ptr();
    } catch (nb::python_error&) {  // it took the error away
    } catch (const std::exception&) {
    }
    PyErr_Clear();
    return nullptr;
  }

  /// One call: its arrays, its request but for the operation and the room, and the shape of the answers.
  struct prepared {
    PyObject* object;
    place x, y, indexes;
    std::uintptr_t stream = 0;
    std::vector<int> axes;
    wf::extents kept;
    wf::request r;
    std::optional<wf::dtype> widened, cut;  ///< elements are to be of the first, answers modulo less of the second
    place mask;
    std::vector<nb::object> held;  ///< arrays of the library's for as long as the call takes
    std::int64_t* places = nullptr;  ///< of the elements that count, where answers are places
    const void* starts = nullptr;    ///< of segments, before what does not count was left out; null: they are `row` elements long
    int start_bytes = 8;
    std::int64_t row = 0;
    std::optional<wf::array_selection> counted;  ///< what counts of the elements of a sum
    int parts = 0;                               ///< numbers of a sum of floats
  };
  nb::object reduced(std::span<const wf::op> ops, bool several, PyObject* x, const asked& how) const {
    prepared p;
    p.object = x;
    if (!read(x, p.x) || p.x.x.size() == 0) return {};
    const std::optional<std::uintptr_t> on = how.stream == Py_None ? p.x.stream : named(how.stream);
    if (!on) return {};
    p.stream = *on;
    if (how.type != Py_None && how.type != nullptr && !converts_here(ops[0], how, p)) {
      const nb::object found = converted(ops[0], x, p.x.x.type, how);
      if (found.is_valid()) return found;
      if (!is_natural(ops[0], p.x.x.type, how)) return {};
    }
    p.r.element = p.x.x.type;
    p.r.inputs.data[0] = p.x.x.data;
    p.r.inputs.shape = p.x.x.shape;
    p.r.inputs.strides[0] = p.x.x.strides;
    p.r.context.accuracy = how.fast ? wf::accuracy::fast : wf::accuracy::exact;
    p.r.context.rounding = p.r.options.rounding = how.rounding;
    p.r.options.correction = how.correction;
    if (how.second != nullptr && !read_second(how.second, p)) return {};
    if (how.offsets != nullptr || how.labels != nullptr ? !read_parts(how, p) : !read_told_axes(ops, how, p)) return {};
    if (how.stream != Py_None) {
      for (PyObject* one : {x, how.second, how.labels}) if (one != nullptr) used(one, how.stream);
      if (how.offsets != nullptr && !PyLong_CheckExact(how.offsets)) used(how.offsets, how.stream);
    }
    if (p.stream != p.x.stream) in_order(p.x.x.device, p.x.stream, p.stream);
    if ((how.where != nullptr || (how.skip_nans && !wf::is_integer(p.x.x.type))) && !select(ops, how, p)) return {};
    if (!several && twins_of(ops[0]) == nullptr) return answer_of(ops[0], how, p);
    if (how.out != Py_None) return {};
    return several ? fused(ops, how, p) : answers_of({twins_of(ops[0])->first, twins_of(ops[0])->second}, true, how, p);
  }

  /// The answers of several operations as a tuple, in which those of two are tuples.
  nb::object fused(std::span<const wf::op> ops, const asked& how, prepared& p) const {
    std::vector<wf::op> each;
    for (const wf::op o : ops) {
      if (const twins* const t = twins_of(o)) each.insert(each.end(), {t->first, t->second});
      else each.push_back(o);
    }
    nb::object found = answers_of(each, false, how, p);
    if (!found.is_valid() || each.size() == ops.size()) return found;
    nb::object all = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(ops.size())));
    if (!all.is_valid()) throw nb::python_error();
    Py_ssize_t from = 0, to = 0;
    for (const wf::op o : ops) {
      const Py_ssize_t count = twins_of(o) != nullptr ? 2 : 1;
      nb::object one = count == 2 ? nb::steal(PyTuple_GetSlice(found.ptr(), from, from + 2)) : nb::borrow(PyTuple_GetItem(found.ptr(), from));
      if (!one.is_valid()) throw nb::python_error();
      PyTuple_SetItem(all.ptr(), to++, one.release().ptr());
      from += count;
    }
    return all;
  }

  /// One answer of each, as a tuple. `alone`: they are those of one operation, not of several whose answers are each as if it were alone.
  nb::object answers_of(const std::vector<wf::op>& ops, bool alone, const asked& how, prepared& p) const {
    struct pass {
      wf::op what;
      void* out;
      void* second = nullptr;     ///< where the second answer goes, unless behind the first
      std::size_t part_size = 0;  ///< of pairs of answers, which are parted
    };
    std::vector<nb::object> made(ops.size());
    std::vector<pass> passes;
    std::size_t most_bytes = 0;
    const auto answers = *wf::detail::product(p.kept);
    const auto told = [&](nb::object&& one) {
      if (how.stream != Py_None) used(one.ptr(), how.stream);
      return std::move(one);
    };
    for (const twins& t : all_twins) {
      const auto place_of = [&ops](wf::op o) { return static_cast<std::size_t>(std::find(ops.begin(), ops.end(), o) - ops.begin()); };
      const std::size_t i = place_of(t.first), j = place_of(t.second);
      if (i == ops.size() || j == ops.size() || !one_pass(t, alone, p)) continue;
      const wf::dtype type = wf::result_of_builtin(t.both, p.r.element).type;
      pass both{t.both, nullptr};
      const bool apart = t.both == wf::op::minmax && finds_extremes(p);
      if (!apart && is_whole(p)) {
        auto two = two_rooms(p.object, p.x, p.kept, type, both.out);
        if (!two) continue;
        made[i] = told(std::move((*two)[0]));
        made[j] = told(std::move((*two)[1]));
      } else {
        nb::object first, second;
        std::tie(first, both.out) = room(p.object, p.x, p.kept, type);
        std::tie(second, both.second) = room(p.object, p.x, p.kept, type);
        made[i] = told(std::move(first));
        made[j] = told(std::move(second));
        if (!apart) {
          both.part_size = wf::info(type).size;
          most_bytes = std::max(most_bytes, 2 * both.part_size * static_cast<std::size_t>(answers));
        }
      }
      passes.push_back(both);
    }
    for (std::size_t k = 0; k < ops.size(); ++k) {
      if (made[k].is_valid()) continue;
      const wf::result_kind result = wf::result_of_builtin(ops[k], p.r.element);
      if (result.values != 1 || type_object(result.type) == Py_None) return {};
      pass one{ops[k], nullptr};
      std::tie(made[k], one.out) = room(p.object, p.x, p.kept, result.type);
      if (how.stream != Py_None) used(made[k].ptr(), how.stream);
      passes.push_back(one);
    }
    // For many answers of two each, which are parted: an array of the library's, so that a graph has it among its own.
    std::pair<nb::object, void*> pairs{nb::object(), nullptr};
    if (most_bytes != 0) {
      const auto size = static_cast<std::int64_t>(wf::info(p.r.element).size);
      pairs = room(p.object, p.x, wf::extents{(static_cast<std::int64_t>(most_bytes) + size - 1) / size}, p.r.element);
      if (how.stream != Py_None) used(pairs.first.ptr(), how.stream);
    }
    in_turn(p.x.x.device, p.stream, ops[0], [&](const turn& t) {
      const wf::device_place& on = t.place;
      for (const pass& one : passes) {
        p.r.what = one.what;
        p.r.out = one.part_size != 0 ? pairs.second : one.out;
        if (one.second == nullptr || one.part_size != 0) {
          on.run(p.r);
        } else {
          const wf::device_request r{one.what, p.r.element, p.r.context.accuracy, p.r.options, {p.r.inputs.data[0], nullptr}, {1, 1}, p.x.x.size(), one.out};
          on.machine().fail(array_calls::extremes(r, one.second, on.scratch(), on.stream()), "minmax");
        }
        if (one.part_size != 0) on.machine().fail(array_calls::part(pairs.second, one.part_size, one.out, one.second, answers, on.stream()), "parts");
        settle(one.what, p, t, one.out);
      }
    });
    nb::object all = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(ops.size())));
    if (!all.is_valid()) throw nb::python_error();
    for (std::size_t k = 0; k < ops.size(); ++k) PyTuple_SetItem(all.ptr(), static_cast<Py_ssize_t>(k), made[k].release().ptr());
    return all;
  }

  /// Leaves out what does not count: then the request is one of segments of what does.
  bool select(std::span<const wf::op> ops, const asked& how, prepared& p) const {
    if (how.labels != nullptr || p.widened || p.cut || type_object(wf::dtype::i64) == Py_None) return false;
    if (how.where != nullptr) {
      if (Py_TYPE(how.where) != Py_TYPE(p.object) || !read(how.where, p.mask) || p.mask.x.type != wf::dtype::boolean || p.mask.x.device != p.x.x.device || p.mask.stream != p.x.stream ||
          !fits(p.mask.x.shape, p.r.inputs.shape))
        return false;
      if (how.stream != Py_None) used(how.where, how.stream);
    }
    using kinds = wf::partition::kinds;
    const std::int64_t n = *wf::detail::product(p.r.inputs.shape), answers = *wf::detail::product(p.kept);
    const bool by_offsets = p.r.by.kind == kinds::segments;
    std::vector<int> axes = p.axes;
    p.row = n;
    if (p.r.by.kind == kinds::equal_segments) p.row = p.r.by.length;
    else if (p.r.by.kind == kinds::axes) p.row = row_of(p.r.inputs.shape, axes);
    if (answers == 0 || p.row == 0) return false;
    const bool asks_places = std::any_of(ops.begin(), ops.end(), [](wf::op o) { return wf::operation_of(o).state == wf::state_kind::places; });
    const auto made = [&](wf::dtype type, std::int64_t count) {
      auto [one, address] = room(p.object, p.x, wf::extents{count}, type);
      if (how.stream != Py_None) used(one.ptr(), how.stream);
      p.held.push_back(std::move(one));
      return address;
    };
    const device_array* const mask = how.where == nullptr ? nullptr : &p.mask.x;
    const wf::extents shape = p.r.inputs.shape;
    if (const auto neutral = neutral_of(ops[0], p.x.x.type, false); ops.size() == 1 && neutral) {
      std::array<wf::array_selection, 2> fill;
      int inputs = 0;
      for (const device_array* const x : {&p.x.x, p.r.inputs.data[1] == nullptr ? nullptr : &p.y.x}) {
        if (x == nullptr) continue;
        const auto k = static_cast<std::size_t>(inputs++);
        const wf::extents dense = dense_strides(*x, shape);
        fill[k] = filling_of(*x, mask, shape, dense, how.skip_nans);
        fill[k].to = made(x->type, n);
        p.r.inputs.data[k] = fill[k].to;
        p.r.inputs.strides[k] = dense;
      }
      p.parts = parts_of_sum(ops[0], p.x.x.type);
      if (p.parts != 0) p.counted = selection_of(p.x.x, mask, shape, axes, how.skip_nans, p.row);
      if (by_offsets) {
        p.starts = p.r.by.indexes;
        p.start_bytes = p.r.by.index_bytes;
      }
      in_turn(p.x.x.device, p.stream, ops[0], [&](const turn& t) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(inputs); ++k)
          t.place.machine().fail(array_calls::fill(fill[k], neutral_of(ops[0], p.x.x.type, k == 1)->data(), t.place.stream()), "where");
      });
      return true;
    }
    if (lies_across(p.x.x, shape, axes)) return false;
    const auto numbers = [&](std::int64_t count) { return static_cast<std::int64_t*>(made(wf::dtype::i64, count)); };
    wf::array_selection first = selection_of(p.x.x, mask, shape, axes, how.skip_nans, p.row), second = first;
    first.to = made(p.x.x.type, n);
    first.offsets = numbers((by_offsets ? 1 : answers) + 1);
    if (by_offsets || asks_places) first.places = numbers(n);
    if (p.r.inputs.data[1] != nullptr) {
      second = selection_of(p.y.x, mask, shape, axes, false, p.row);
      second.to = made(p.x.x.type, n);
    }
    const std::int64_t* offsets = first.offsets;
    std::int64_t* narrowed = nullptr;
    if (by_offsets) {
      offsets = narrowed = numbers(answers + 1);
      p.starts = p.r.by.indexes;
      p.start_bytes = p.r.by.index_bytes;
    }
    if (asks_places) p.places = first.places;
    in_turn(p.x.x.device, p.stream, ops[0], [&](const turn& t) {
      const wf::device_place& on = t.place;
      const auto check_one = [&on](int e) { on.machine().fail(e, "where"); };
      check_one(array_calls::select(first, on.scratch(), on.stream()));
      if (second.to != nullptr) check_one(array_calls::select(second, on.scratch(), on.stream()));
      if (by_offsets) check_one(array_calls::narrow(first.places, first.offsets + 1, p.starts, p.start_bytes, answers + 1, narrowed, on.stream()));
    });
    const auto size = static_cast<std::int64_t>(wf::info(p.x.x.type).size);
    p.r.inputs.shape = {n};
    p.r.inputs.data[0] = first.to;
    p.r.inputs.strides[0] = {size};
    if (second.to != nullptr) {
      p.r.inputs.data[1] = second.to;
      p.r.inputs.strides[1] = {size};
    }
    p.axes.clear();
    p.r.by = {};
    p.r.by.kind = kinds::segments;
    p.r.by.indexes = offsets;
    p.r.by.index_bytes = 8;
    p.r.by.count = answers;
    return true;
  }
  /// Whether a shape can be broadcast to another.
  static bool fits(const wf::extents& given, const wf::extents& shape) {
    if (given.size() > shape.size()) return false;
    for (std::size_t d = 0, before = shape.size() - given.size(); d < given.size(); ++d)
      if (given[d] != 1 && given[d] != shape[before + d]) return false;
    return true;
  }
  /// What is to be done with answers of what counts: places among that become places among all, and a sum of nothing +0.
  static void settle(wf::op o, const prepared& p, const turn& t, void* out) {
    if (p.parts != 0) {
      t.place.machine().fail(settle_zeros(*p.counted, p.x.x.type, p.parts, out, *wf::detail::product(p.kept), p.starts, p.start_bytes, t.place.stream()), "where");
      return;
    }
    if (p.places == nullptr || wf::operation_of(o).state != wf::state_kind::places) return;
    const wf::device_place& on = t.place;
    on.machine().fail(array_calls::widen(static_cast<std::int64_t*>(out), *wf::detail::product(p.kept), static_cast<const std::int64_t*>(p.r.by.indexes), p.places, p.starts, p.start_bytes, p.row,
                                         on.stream()), "where");
  }

  static bool is_whole(const prepared& p) { return p.r.by.kind == wf::partition::kinds::whole; }
  /// Whether min and max are to be found in one pass that has two places for its answers: of a whole array without gaps.
  bool finds_extremes(const prepared& p) const { return is_whole(p) && wf::has_kernels(p.r.element) && !wf::is_complex(p.r.element) && p.x.x.contiguous(); }
  /// Whether both answers are to be had in one pass, each as if it were alone where they are not. Of many answers those are of parts of pairs, which takes a launch and memory more: it is for
  /// many elements, few of them answers.
  bool one_pass(const twins& t, bool alone, const prepared& p) const {
    constexpr std::int64_t many = 1 << 18, each = 16;
    const wf::result_kind both = wf::result_of_builtin(t.both, p.r.element), first = wf::result_of_builtin(t.first, p.r.element);
    if (p.r.inputs.data[1] != nullptr || both.type != first.type || both.type != wf::result_of_builtin(t.second, p.r.element).type || type_object(both.type) == Py_None ||
        (p.r.context.accuracy == wf::accuracy::fast && !alone))
      return false;
    return is_whole(p) || (p.x.x.size() >= many && p.x.x.size() / each >= *wf::detail::product(p.kept));
  }

  /// Another array of the same kind, type and place, and the shape of both broadcast to one.
  bool read_second(PyObject* y, prepared& p) const {
    if (Py_TYPE(y) != Py_TYPE(p.object) || !read(y, p.y) || p.y.x.type != p.x.x.type || p.y.x.device != p.x.x.device || p.y.stream != p.x.stream) return false;
    const wf::extents &a = p.x.x.shape, &b = p.y.x.shape;
    wf::extents shape(std::max(a.size(), b.size()), 1);
    std::copy(a.begin(), a.end(), shape.end() - static_cast<std::ptrdiff_t>(a.size()));
    for (std::size_t d = 0, before = shape.size() - b.size(); d < b.size(); ++d) {
      std::int64_t& n = shape[before + d];
      if (n != b[d] && n != 1 && b[d] != 1) return false;
      if (n == 1) n = b[d];
    }
    const auto n = wf::detail::product(shape);
    if (!n || *n == 0) return false;
    p.r.inputs.strides[0] = broadcast_strides(p.x.x, shape);
    p.r.inputs.data[1] = p.y.x.data;
    p.r.inputs.strides[1] = broadcast_strides(p.y.x, shape);
    p.r.inputs.shape = shape;
    return true;
  }
  static bool read_told_axes(std::span<const wf::op> ops, const asked& how, prepared& p) {
    for (const wf::op o : ops)  // the words for others are general code's
      if (wf::operation_of(o).state == wf::state_kind::places && how.axis != Py_None && !PyLong_Check(how.axis)) return false;
    if (!told_axes(how.axis, how.keepdims, p.r.inputs.shape, p.axes, p.kept)) return false;
    if (p.axes.size() < p.r.inputs.shape.size()) {
      p.r.by.kind = wf::partition::kinds::axes;
      p.r.by.axes = p.axes;
    }
    return true;
  }
  /// Segments, or labels, which nobody looks at here.
  bool read_parts(const asked& how, prepared& p) const {
    if (p.x.x.shape.size() != 1) return false;
    const std::int64_t n = p.x.x.shape[0];
    using kinds = wf::partition::kinds;
    std::int64_t answers = how.answers;
    PyObject* const given = how.labels != nullptr ? how.labels : how.offsets;
    if (PyLong_CheckExact(given)) {
      const std::int64_t length = number_of(nb::borrow(given));
      if (length <= 0) return false;
      p.r.by.kind = kinds::equal_segments;
      p.r.by.length = length;
      answers = (n - 1) / length + 1;
    } else {
      const device_array& at = p.indexes.x;
      if (Py_TYPE(given) != Py_TYPE(p.object) || !read(given, p.indexes) || at.shape.size() != 1 || !at.contiguous() || at.device != p.x.x.device || p.indexes.stream != p.x.stream) return false;
      if (at.type != wf::dtype::i64 && (at.type != wf::dtype::i32 || how.labels != nullptr)) return false;
      if (how.labels != nullptr ? at.shape[0] != n : at.shape[0] == 0) return false;
      if (how.labels == nullptr) answers = at.shape[0] - 1;
      p.r.by.kind = how.labels != nullptr ? kinds::labels : kinds::segments;
      p.r.by.indexes = at.data;
      p.r.by.index_bytes = static_cast<std::uint8_t>(wf::info(at.type).size);
      p.r.by.count = answers;
    }
    p.kept.push_back(answers);
    return answers > 0;
  }

  nb::object answer_of(wf::op o, const asked& how, prepared& p) const {
    wf::result_kind result = wf::result_of_builtin(o, p.r.element);
    if (p.cut) result.type = *p.cut;
    if (result.values != 1 || type_object(result.type) == Py_None) return {};
    p.r.what = o;
    nb::object made;
    if (how.out == Py_None) {
      std::tie(made, p.r.out) = room(p.object, p.x, p.kept, result.type);
    } else {
      place to;
      if (Py_TYPE(how.out) != Py_TYPE(p.object) || !read(how.out, to) || to.x.type != result.type || !(to.x.shape == p.kept) || !to.x.contiguous() ||
          to.x.device != p.x.x.device || to.stream != p.x.stream)
        return {};  // general code says what is wrong
      made = nb::borrow(how.out);
      p.r.out = const_cast<void*>(to.x.data);
    }
    if (how.stream != Py_None) used(made.ptr(), how.stream);
    if (!p.widened && !p.cut) {
      in_turn(p.x.x.device, p.stream, o, [&p, o](const turn& t) {
        t.place.run(p.r);
        settle(o, p, t, p.r.out);
      });
      return made;
    }
    in_turn(p.x.x.device, p.stream, o, [&p, &result](turn& t) {
      const wf::device_place& on = t.place;
      const auto convert = [&on](const void* from, wf::dtype element, void* to, wf::dtype wanted, std::int64_t n) {
        on.machine().fail(array_calls::convert(from, element, to, wanted, n, on.stream()), "dtype");
      };
      const std::int64_t n = p.x.x.size();
      if (p.widened) {
        void* const wide = t.memory(static_cast<std::size_t>(n) * wf::info(p.r.element).size);
        convert(p.x.x.data, *p.widened, wide, p.r.element, n);
        p.r.inputs.data[0] = wide;
        on.run(p.r);
      } else {
        const auto answers = *wf::detail::product(p.kept);
        void* const whole = t.memory(static_cast<std::size_t>(answers) * sizeof(std::uint64_t));
        void* const to = std::exchange(p.r.out, whole);
        on.run(p.r);
        convert(whole, wf::dtype::i64, to, result.type, answers);
      }
    });
    return made;
  }

  /// Whether a call for another type, of few elements, has them converted by kernels of this module, which take a third of the time of the library's own; then
  /// they stand in `p` as they are to be. Not into a graph, which would write to the stream's memory whenever it is launched.
  bool converts_here(wf::op o, const asked& how, prepared& p) const {
    constexpr std::int64_t few = 1 << 16;
    const auto want = wanted(how);
    const wf::dtype element = p.x.x.type;
    if (!want || (o != wf::op::sum && o != wf::op::mean && o != wf::op::prod) || how.stream != Py_None || type_object(*want) == Py_None || is_natural(o, element, how) ||
        how.where != nullptr || how.skip_nans || p.x.x.size() > few || is_captured(p.stream))
      return false;
    if (wf::is_integer(*want)) {
      if (*want == wf::dtype::boolean || !wf::is_integer(element) || o == wf::op::mean || how.out != Py_None || wf::info(*want).size == 8) return false;
      p.cut = want;
      return true;
    }
    if (wf::is_complex(*want) || !holds(*want, element) || element == wf::dtype::boolean || wf::result_of_builtin(o, *want).type != *want || !p.x.x.contiguous()) return false;
    p.widened = element;
    p.x.x.type = *want;
    without_gaps(p.x.x);
    return true;
  }
  static bool is_captured(std::uintptr_t stream) {
    cudaStreamCaptureStatus now = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream_at(stream), &now) != cudaSuccess || now != cudaStreamCaptureStatusNone;
  }

  std::optional<wf::dtype> wanted(const asked& how) const {
    const auto named_so = type_named(how.type);
    return named_so ? named_so : how.type_told;
  }
  bool is_natural(wf::op o, wf::dtype element, const asked& how) const {
    return (o == wf::op::sum || o == wf::op::mean || o == wf::op::prod) && wanted(how) == wf::result_of_builtin(o, element).type;
  }
  /// Sums of integers modulo less than 2^64, and answers of a type that holds all elements, by the library's own conversions, which are on its own stream. Not valid for other calls.
  nb::object converted(wf::op o, PyObject* x, wf::dtype element, const asked& how) const {
    const auto want = wanted(how);
    if (!want || (o != wf::op::sum && o != wf::op::mean && o != wf::op::prod) || how.stream != Py_None || type_object(*want) == Py_None || is_natural(o, element, how)) return {};
    asked plain = how;
    plain.type = Py_None;
    if (wf::is_integer(*want)) {
      if (*want == wf::dtype::boolean || !wf::is_integer(element) || o == wf::op::mean || how.out != Py_None) return {};
      const nb::object whole = reduced(std::span(&o, 1), false, x, plain);
      return whole.is_valid() ? as_type(whole.ptr(), *want) : nb::object();
    }
    if (!holds(*want, element) || (o == wf::op::prod && *want == wf::dtype::bf16) || wf::result_of_builtin(o, *want).type != *want) return {};
    const nb::object wide = as_type(x, *want);
    return reduced(std::span(&o, 1), false, wide.ptr(), plain);
  }
  nb::object as_type(PyObject* x, wf::dtype type) const { return call(conversion_, {x, type_object(type)}, nullptr, true); }
  /// Whether a wider type of floats or of complex numbers has every number of the other.
  static bool holds(wf::dtype wide, wf::dtype narrow) {
    using wf::dtype;
    if (wide == dtype::c128) return narrow == dtype::c64;
    if (wide != dtype::f64 && wide != dtype::f32) return false;
    if (wf::is_complex(narrow) || narrow == wide) return false;
    if (wf::is_integer(narrow)) return wf::info(narrow).size <= (wide == dtype::f64 ? 4 : 2);
    return wf::info(narrow).size < wf::info(wide).size;
  }

  PyObject* conversion_;  // the name of the method that gives a copy of another type
  std::array<PyObject*, wf::dtypes.size()> types_{};  // their objects for element types; None: it has no such type
};

/// PyTorch's tensors, by DLPack's C functions (DLPackExchangeAPI of DLPack 1.3, which stands in the type as a capsule).
struct torch_library final : library {
  struct functions {
    std::uint32_t major, minor;
    void* before;
    int (*managed_tensor_allocator)(void*, void**, void*, void (*)(void*, const char*, const char*));
    int (*managed_tensor_from_py_object_no_sync)(void*, void**);
    int (*managed_tensor_to_py_object_no_sync)(void*, void**);
    int (*dltensor_from_py_object_no_sync)(void*, nb::dlpack::dltensor*);
    int (*current_work_stream)(std::int32_t, std::int32_t, void**);
  };
  /// `more`: the exchange API, torch.empty_like, and what makes contexts in which views are tensors of their own, or None.
  torch_library(nb::handle arrays, const nb::list& types, nb::handle more)
      : library(arrays, types, "to"), told_(static_cast<const functions*>(PyCapsule_GetPointer(nb::object(more[0]).ptr(), "dlpack_exchange_api"))),
        empty_like_(nb::object(more[1]).release().ptr()), make_context_(nb::object(more[2]).release().ptr()) {
    if (told_ == nullptr) throw nb::python_error();
    if (told_->major != 1 || told_->dltensor_from_py_object_no_sync == nullptr || told_->current_work_stream == nullptr)
      refuse("an exchange API of another version of DLPack than 1, or without functions");
  }

  bool read(PyObject* x, place& found) const override {
    nb::dlpack::dltensor t;
    // The C functions take these as if they were plain.
    if (attribute(x, requires_grad_).ptr() != Py_False) return false;
    if (told_->dltensor_from_py_object_no_sync(x, &t) != 0) {  // it has no memory of one piece: what general code says of it is better
      PyErr_Clear();
      return false;
    }
    if (t.device.device_type != nb::device::cuda::value || t.ndim > wf::max_rank) return false;
    const auto type = type_of_dlpack(t.dtype);
    if (!type) return false;
    const wf::dtype e = *type;
    if ((e <= wf::dtype::f64 || e >= wf::dtype::c64) && call(is_neg_, {x}, nullptr, true).ptr() != Py_False) return false;
    if (e >= wf::dtype::c64 && call(is_conj_, {x}, nullptr, true).ptr() != Py_False) return false;
    found.x.data = static_cast<const std::byte*>(t.data) + t.byte_offset;
    found.x.type = e;
    found.x.device = t.device.device_id;
    for (int d = 0; d < t.ndim; ++d) found.x.shape.push_back(t.shape[d]);
    without_gaps(found.x);
    if (t.strides != nullptr)
      for (int d = 0; d < t.ndim; ++d) found.x.strides[static_cast<std::size_t>(d)] = t.strides[d] * static_cast<std::int64_t>(wf::info(e).size);
    void* stream = nullptr;
    if (told_->current_work_stream(t.device.device_type, t.device.device_id, &stream) != 0) {
      PyErr_Clear();
      return false;
    }
    found.stream = reinterpret_cast<std::uintptr_t>(stream);
    return true;
  }
  // Not by managed_tensor_allocator: such memory is not the tensor's own, and record_stream() leaves it out. empty_like() of a tensor of the answer's shape, one
  // element expanded, takes two thirds of new_empty()'s time.
  std::pair<nb::object, void*> room(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type) const override {
    nb::dlpack::dltensor t;
    for (const pattern& p : patterns_) {
      if (p.like == nullptr || p.type != type || p.device != of.x.device || !(p.shape == shape)) continue;
      const nb::object like = nb::borrow(p.like);  // other threads may put another in its place meanwhile
      nb::object made = call(empty_like_, {like.ptr()});
      if (told_->dltensor_from_py_object_no_sync(made.ptr(), &t) != 0) throw nb::python_error();
      std::int64_t step = 1;  // it may have any order of dimensions that PyTorch likes
      bool dense = t.device.device_type == nb::device::cuda::value && t.device.device_id == of.x.device && t.ndim == static_cast<int>(shape.size());
      for (std::size_t d = shape.size(); dense && d-- > 0; step *= shape[d]) dense = t.shape[d] == shape[d] && (shape[d] == 1 || t.strides == nullptr || t.strides[d] == step);
      if (dense) return {std::move(made), static_cast<std::byte*>(t.data) + t.byte_offset};
      break;
    }
    const auto empty = [&](const wf::extents& lengths) {
      const nb::object told = tuple_of(lengths);
      return call(new_empty_, {x, told.ptr(), type_object(type)}, dtype_, true);  // x need not be of the type that `of` is
    };
    nb::object made = empty(shape);
    if (told_->dltensor_from_py_object_no_sync(made.ptr(), &t) != 0) throw nb::python_error();
    nb::object like = empty(wf::extents(shape.size(), 1));
    if (!shape.empty()) like = call(expand_, {like.ptr(), tuple_of(shape).ptr()}, nullptr, true);
    pattern& to = patterns_[next_++ % patterns_.size()];
    PyObject* const before = to.like;
    to = {type, of.x.device, shape, like.release().ptr()};
    Py_XDECREF(before);
    return {std::move(made), static_cast<std::byte*>(t.data) + t.byte_offset};
  }
  std::optional<std::array<nb::object, 2>> two_rooms(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type, void*& first) const override {
    if (make_context_ == Py_None) return std::nullopt;
    auto [made, at] = room(x, of, both_shape(shape), type);
    first = at;
    const context apart(*this);
    const nb::object parts = call(unbind_, {made.ptr()}, nullptr, true);
    return std::array{item(parts, 0), item(parts, 1)};
  }
  std::optional<std::uintptr_t> named(PyObject* stream) const override { return static_cast<std::uintptr_t>(number_of(attribute(stream, cuda_stream_))); }
  void used(PyObject* x, PyObject* stream) const override { call(record_stream_, {x, stream}, nullptr, true); }

 private:
  /// Shapes, types and GPUs of the latest answers, and a tensor of each.
  struct pattern {
    wf::dtype type = wf::dtype::f64;
    int device = 0;
    wf::extents shape;
    PyObject* like = nullptr;
  };
  /// One of make_context_, entered for as long as it lives. They are used again: to make one takes longer than to enter it.
  class context {
   public:
    explicit context(const torch_library& of) : of_(of) {
      if (of.contexts_.empty()) {
        held_ = call(of.make_context_, {});
      } else {
        held_ = std::move(of.contexts_.back());
        of.contexts_.pop_back();
      }
      call(of.enter_, {held_.ptr()}, nullptr, true);
    }
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    ~context() {
      try {
        call(of_.exit_, {held_.ptr(), Py_None, Py_None, Py_None}, nullptr, true);
        of_.contexts_.push_back(std::move(held_));
      } catch (...) {
        PyErr_Clear();
      }
    }

   private:
    const torch_library& of_;
    nb::object held_;
  };
  mutable std::vector<nb::object> contexts_;  // the GIL's
  mutable std::array<pattern, 16> patterns_;
  mutable std::size_t next_ = 0;
  const functions* told_;
  PyObject *empty_like_, *make_context_;
  PyObject *unbind_ = interned("unbind"), *enter_ = interned("__enter__"), *exit_ = interned("__exit__");
  PyObject* expand_ = interned("expand");
  PyObject *requires_grad_ = interned("requires_grad"), *is_neg_ = interned("is_neg"), *is_conj_ = interned("is_conj"), *new_empty_ = interned("new_empty"), *cuda_stream_ = interned("cuda_stream"),
           *record_stream_ = interned("record_stream");
  PyObject* dtype_ = nb::make_tuple("dtype").release().ptr();
};

/// CuPy's arrays, by their attributes; `current` gives the current stream.
struct cupy_library final : library {
  cupy_library(nb::handle arrays, const nb::list& types, nb::handle current) : library(arrays, types, "astype"), current_(current.inc_ref().ptr()) {}

  bool read(PyObject* x, place& found) const override {
    const auto type = type_named(attribute(x, dtype_).ptr());
    if (!type) return false;
    found.x.type = *type;
    const nb::object shape = attribute(x, shape_), strides = attribute(x, strides_), data = attribute(x, data_);
    const Py_ssize_t rank = PyTuple_Size(shape.ptr());
    if (rank < 0 || rank > wf::max_rank || PyTuple_Size(strides.ptr()) != rank) return false;
    for (Py_ssize_t d = 0; d < rank; ++d) {
      found.x.shape.push_back(number_of(nb::borrow(PyTuple_GetItem(shape.ptr(), d))));
      found.x.strides.push_back(number_of(nb::borrow(PyTuple_GetItem(strides.ptr(), d))));
    }
    found.x.data = reinterpret_cast<const void*>(number_of(attribute(data.ptr(), ptr_)));
    found.x.device = static_cast<int>(number_of(attribute(data.ptr(), device_id_)));
    int now = 0;
    if (cudaGetDevice(&now) != cudaSuccess || now != found.x.device) return false;  // its memory and streams are the current device's
    found.stream = static_cast<std::uintptr_t>(number_of(attribute(call(current_, {}).ptr(), ptr_)));
    return true;
  }
  std::pair<nb::object, void*> room(PyObject*, const place&, const wf::extents& shape, wf::dtype type) const override {
    const nb::object lengths = tuple_of(shape);
    nb::object made = call(kind, {lengths.ptr(), type_object(type)});
    void* const address = reinterpret_cast<void*>(number_of(attribute(attribute(made.ptr(), data_).ptr(), ptr_)));
    return {std::move(made), address};
  }
  std::optional<std::array<nb::object, 2>> two_rooms(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type, void*& first) const override {
    auto [made, at] = room(x, of, both_shape(shape), type);
    first = at;
    return std::array{item(made, 0), item(made, 1)};
  }

 private:
  PyObject* current_;
  PyObject *dtype_ = interned("dtype"), *shape_ = interned("shape"), *strides_ = interned("strides"), *data_ = interned("data"), *ptr_ = interned("ptr"),
           *device_id_ = interned("device_id");
};

/// Those that were ever told of, the latest first.
std::vector<const library*>& libraries() {
  static auto& all = *new std::vector<const library*>;
  return all;
}

const library* library_of(PyObject* x) {
  const auto at = std::find_if(libraries().begin(), libraries().end(), [x](const library* l) { return l->kind == reinterpret_cast<PyObject*>(Py_TYPE(x)); });
  return at == libraries().end() ? nullptr : *at;
}

template <class L>
nb::object capsule_of(nb::handle kind, const nb::list& types, nb::handle more) {
  auto made = std::make_unique<L>(kind, types, more);
  libraries().insert(libraries().begin(), made.get());
  nb::object capsule = nb::steal(PyCapsule_New(static_cast<device_call*>(made.get()), device_call::capsule, nullptr));
  if (!capsule.is_valid()) throw nb::python_error();
  made.release();  // for good
  return capsule;
}

std::vector<const wf::extents*> strides_of(const device_array& x, const device_array* y) {
  return y == nullptr ? std::vector{&x.strides} : std::vector{&x.strides, &y->strides};
}

/// A reduction of the caller's own: its kernels for the types and GPUs that it has met.
class own_calls {
 public:
  void add(int element, int device, const own::kernels& k) { met_.push_back({dtype_of_code(element), device, k}); }

  /// The answers of plain arrays of a library that was told of, on its current stream; None: it is for general code.
  nb::object quick(nb::handle x, nb::handle y, nb::handle axis, bool keepdims) const {
    const library* const of = library_of(x.ptr());
    if (of == nullptr || (!y.is_none() && Py_TYPE(y.ptr()) != Py_TYPE(x.ptr()))) return nb::none();
    try {
      const nb::object found = reduced(*of, x.ptr(), y.is_none() ? nullptr : y.ptr(), axis.ptr(), keepdims);
      if (found.is_valid()) return found;
    } catch (nb::python_error&) {  // it took the error away
    } catch (const std::exception&) {
    }
    PyErr_Clear();
    return nb::none();
  }

 private:
  nb::object reduced(const library& of, PyObject* x, PyObject* y, PyObject* axis, bool keepdims) const {
    library::place a, b;
    if (!of.read(x, a) || a.x.size() == 0) return {};
    if (y != nullptr && (!of.read(y, b) || b.x.type != a.x.type || b.x.device != a.x.device || b.stream != a.stream || !(b.x.shape == a.x.shape)))
      return {};
    const auto at = std::find_if(met_.begin(), met_.end(), [&](const entry& e) { return e.element == a.x.type && e.device == a.x.device; });
    if (at == met_.end() || of.type_object(at->k.type) == Py_None) return {};
    std::vector<int> axes;
    wf::extents kept;
    if (!told_axes(axis, keepdims, a.x.shape, axes, kept)) return {};
    own::partition by;
    by.n = 1;
    for (const int d : axes) by.n *= static_cast<std::uint64_t>(a.x.shape[static_cast<std::size_t>(d)]);
    const std::uint64_t answers = static_cast<std::uint64_t>(a.x.size()) / by.n;
    if (at->k.values != 1) kept.push_back(at->k.values);
    auto [made, address] = of.room(x, a, kept, at->k.type);
    std::pair<nb::object, void*> scratch{nb::object(), nullptr};
    if (const std::uint64_t bytes = at->k.scratch(answers, by); bytes != 0)  // of the array's own type, which its library needs no word for
      scratch = of.room(x, a, wf::extents{static_cast<std::int64_t>(bytes / wf::info(a.x.type).size + 1)}, a.x.type);
    const own::view v = own::view_of({a.x.data, b.x.data}, a.x.shape, strides_of(a.x, y == nullptr ? nullptr : &b.x), axes);
    const int e = [&, to = address] {
      const nb::gil_scoped_release others_run;
      return at->k.put(v, by, answers, scratch.second, to, reinterpret_cast<void*>(a.stream));
    }();
    return e == 0 ? std::move(made) : nb::object();
  }

  struct entry {
    wf::dtype element;
    int device;
    own::kernels k;
  };
  std::vector<entry> met_;
};

/// The answers of n elements of `rows` rows, which lie `apart` bytes from each other.
void of_rows(int o, int element, std::int64_t rows, std::int64_t n, std::uintptr_t first, std::uintptr_t apart, int device, std::uintptr_t stream, std::uintptr_t out) {
  if (o < 0 || o >= wf::op_count) refuse("no such reduction");
  wf::request r;
  r.what = static_cast<wf::op>(o);
  r.element = dtype_of_code(element);
  const auto size = static_cast<std::int64_t>(wf::info(r.element).size);
  if (static_cast<std::int64_t>(apart) % size != 0) refuse("rows whose elements are not aligned alike");
  r.inputs.shape = {rows, n};
  r.inputs.strides[0] = {static_cast<std::int64_t>(apart), size};
  r.inputs.data[0] = reinterpret_cast<const void*>(first);
  const int axis = 0;
  r.by.kind = wf::partition::kinds::axes;
  r.by.axes = std::span(&axis, 1);
  r.out = reinterpret_cast<void*>(out);
  put(r, device, stream);
}

}  // namespace

}  // namespace wfpy

NB_MODULE(WF_PYTHON_MODULE, m) {
  using namespace wfpy;
  m.doc() = "Reductions of arrays on a GPU; the functions are those of the package.";
  tell_errors();
  nb::class_<device_array>(m, "Array")
      .def_prop_ro("dtype", [](const device_array& a) { return static_cast<int>(a.type); })
      .def_prop_ro("shape", [](const device_array& a) { return nb::tuple(nb::cast(std::vector<std::int64_t>(a.shape.begin(), a.shape.end()))); })
      .def_prop_ro("strides", [](const device_array& a) { return nb::tuple(nb::cast(std::vector<std::int64_t>(a.strides.begin(), a.strides.end()))); })  // in bytes
      .def_prop_ro("address", [](const device_array& a) { return reinterpret_cast<std::uintptr_t>(a.data); })
      .def_ro("device", &device_array::device)
      .def_ro("read_only", &device_array::read_only)
      .def_prop_ro("stream", [](const device_array& a) { return a.stream; })
      .def("contiguous", &device_array::contiguous);
  m.def("of_interface", &of_interface, nb::arg("told"), nb::arg("who"));
  m.def("of_capsule", &of_capsule, nb::arg("capsule"), nb::arg("who"), nb::arg("pinned"));
  m.def("torch_tensors", &capsule_of<torch_library>, nb::arg("kind"), nb::arg("types"), nb::arg("more"));
  m.def("cupy_arrays", &capsule_of<cupy_library>, nb::arg("kind"), nb::arg("types"), nb::arg("current_stream"));
  // An array of a library that was told of, as it tells of itself in the fewest steps, with the library's current stream; None: it is for the protocols.
  m.def("read", [](nb::handle x) -> std::optional<device_array> {
    library::place found;
    const library* const of = library_of(x.ptr());
    try {
      if (of == nullptr || !of->read(x.ptr(), found)) return std::nullopt;
    } catch (nb::python_error&) {  // it took the error away
      return std::nullopt;
    } catch (const std::exception&) {
      return std::nullopt;
    }
    found.x.stream = found.stream == 0 ? 1 : found.stream;
    return std::move(found.x);
  }, nb::arg("x"));
  nb::class_<own::kernels>(m, "OwnKernels")
      .def("__init__", [](own::kernels* made, std::tuple<int, int, int, int> told, std::uintptr_t context, std::array<std::uintptr_t, 4> functions,
                          std::array<std::uintptr_t, 3> driver) {
        own::kernels k;
        std::tie(k.threads, k.state_bytes, std::ignore, k.values) = told;
        k.type = dtype_of_code(std::get<2>(told));
        k.context = reinterpret_cast<void*>(context);
        std::transform(functions.begin(), functions.end(), k.functions.begin(), [](std::uintptr_t p) { return reinterpret_cast<void*>(p); });
        k.launch = reinterpret_cast<decltype(k.launch)>(driver[0]);
        k.push = reinterpret_cast<decltype(k.push)>(driver[1]);
        k.pop = reinterpret_cast<decltype(k.pop)>(driver[2]);
        new (made) own::kernels(k);
      }, nb::arg("told"), nb::arg("context"), nb::arg("functions"), nb::arg("driver"))
      .def_prop_ro("dtype", [](const own::kernels& k) { return static_cast<int>(k.type); })
      .def_ro("values", &own::kernels::values)
      .def("scratch", [](const own::kernels& k, std::uint64_t answers, std::uint64_t length, std::uint64_t n) {
        own::partition by;
        by.length = length;
        by.n = n;
        return k.scratch(answers, by);
      }, nb::arg("answers"), nb::arg("length"), nb::arg("n"))
      .def("put", [](const own::kernels& k, const device_array& x, const device_array* y, std::vector<int> axes, const device_array* offsets, const device_array* order,
                     std::uint64_t length, std::uint64_t n, std::uint64_t answers, std::uintptr_t states, std::uintptr_t out, std::uintptr_t stream) {
        std::sort(axes.begin(), axes.end());
        own::partition by;
        by.length = length;
        by.n = n;
        if (offsets != nullptr) {
          by.offsets = offsets->data;
          by.bytes_of_offset = static_cast<std::int64_t>(wf::info(offsets->type).size);
        }
        if (order != nullptr) by.order = static_cast<const std::int64_t*>(order->data);
        const own::view v = own::view_of({x.data, y == nullptr ? nullptr : y->data}, x.shape, strides_of(x, y), axes);
        const nb::gil_scoped_release others_run;
        return k.put(v, by, answers, reinterpret_cast<void*>(states), reinterpret_cast<void*>(out), reinterpret_cast<void*>(stream));
      }, nb::arg("x"), nb::arg("y").none(), nb::arg("axes"), nb::arg("offsets").none(), nb::arg("order").none(), nb::arg("length"), nb::arg("n"), nb::arg("answers"),
         nb::arg("states"), nb::arg("out"), nb::arg("stream"));
  nb::class_<own_calls>(m, "OwnCalls")
      .def(nb::init<>())
      .def("add", &own_calls::add, nb::arg("element"), nb::arg("device"), nb::arg("kernels"))
      .def("quick", &own_calls::quick, nb::arg("x"), nb::arg("y").none(), nb::arg("axis").none(), nb::arg("keepdims"));
  m.def("taken", &taken, nb::arg("device"), nb::arg("rows"), nb::arg("pitch"), nb::arg("width"), nb::arg("count"), nb::arg("stream"));
  // The answers of two arrays without gaps, element by element.
  m.def("of_two", [](int o, int element, std::int64_t n, std::uintptr_t x, std::uintptr_t y, int device, std::uintptr_t stream, std::uintptr_t out) {
    of_rows(o, element, 2, n, std::min(x, y), std::max(x, y) - std::min(x, y), device, stream, out);
  }, nb::arg("op"), nb::arg("element"), nb::arg("n"), nb::arg("x"), nb::arg("y"), nb::arg("device"), nb::arg("stream"), nb::arg("out"));
  // Those of rows that come `head` bytes behind what is taken, element by element, and what is taken.
  m.def("answered", [](int o, int element, std::int64_t rows, std::int64_t n, std::uintptr_t come, std::size_t head, std::size_t row, int device, std::uintptr_t stream,
                       std::uintptr_t out) {
    of_rows(o, element, rows, n, come + head, row, device, stream, out);
    return taken(device, come, row, head, static_cast<std::size_t>(rows), stream);
  }, nb::arg("op"), nb::arg("element"), nb::arg("rows"), nb::arg("n"), nb::arg("come"), nb::arg("head"), nb::arg("row"), nb::arg("device"), nb::arg("stream"), nb::arg("out"));
  m.def("copied", [](int device, std::uintptr_t to, std::uintptr_t from, std::size_t size, std::uintptr_t stream) {
    put_bytes(device, reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size, cudaMemcpyDeviceToDevice, stream);
  }, nb::arg("device"), nb::arg("to"), nb::arg("from"), nb::arg("size"), nb::arg("stream"));
  m.def("sent", [](int device, std::uintptr_t to, const nb::bytes& data, std::uintptr_t stream) {
    put_bytes(device, reinterpret_cast<void*>(to), data.c_str(), data.size(), cudaMemcpyHostToDevice, stream);
  }, nb::arg("device"), nb::arg("to"), nb::arg("data"), nb::arg("stream"));
  // What counts of an array, in the order of its answers of `row` elements each; 0: of all that the axes reduce.
  m.def("select", [](const device_array& x, const device_array* mask, const std::vector<std::int64_t>& shape, std::vector<int> axes, bool skip_nans, std::int64_t row, std::uintptr_t to,
                     std::uintptr_t offsets, std::uintptr_t places, std::uintptr_t stream) {
    if (mask != nullptr && mask->type != wf::dtype::boolean) refuse("a mask that is not of bool");
    const wf::extents all(shape.begin(), shape.end());
    wf::array_selection s = selection_of(x, mask, all, axes, skip_nans, row != 0 ? row : row_of(all, axes));
    s.to = reinterpret_cast<void*>(to);
    s.offsets = reinterpret_cast<std::int64_t*>(offsets);
    s.places = reinterpret_cast<std::int64_t*>(places);
    in_turn(x.device, stream, wf::op::sum, [&s](const turn& t) { t.place.machine().fail(array_calls::select(s, t.place.scratch(), t.place.stream()), "where"); });
  }, nb::arg("x"), nb::arg("mask").none(), nb::arg("shape"), nb::arg("axes"), nb::arg("skip_nans"), nb::arg("row"), nb::arg("to"), nb::arg("offsets"), nb::arg("places"), nb::arg("stream"));
  m.def("has_neutral", [](int o, int element) { return neutral_of(static_cast<wf::op>(o), dtype_of_code(element), false).has_value(); }, nb::arg("op"), nb::arg("element"));
  m.def("lies_across", [](const device_array& x, const std::vector<std::int64_t>& shape, const std::vector<int>& axes) {
    return lies_across(x, wf::extents(shape.begin(), shape.end()), axes);
  }, nb::arg("x"), nb::arg("shape"), nb::arg("axes"));
  // All elements, broadcast to a shape, in memory at `to`, with a neutral one in place of each that does not count.
  m.def("fill", [](int o, bool second, const device_array& x, const device_array* mask, const std::vector<std::int64_t>& shape, bool skip_nans, std::uintptr_t to, std::uintptr_t stream) {
    if (mask != nullptr && mask->type != wf::dtype::boolean) refuse("a mask that is not of bool");
    const auto neutral = neutral_of(static_cast<wf::op>(o), x.type, second);
    if (!neutral) refuse("no neutral element");
    device_array made;
    made.data = reinterpret_cast<const void*>(to);
    made.type = x.type;
    made.device = x.device;
    made.shape = wf::extents(shape.begin(), shape.end());
    made.strides = dense_strides(x, made.shape);
    wf::array_selection s = filling_of(x, mask, made.shape, made.strides, skip_nans);
    s.to = reinterpret_cast<void*>(to);
    in_turn(x.device, stream, static_cast<wf::op>(o), [&](const turn& t) { t.place.machine().fail(array_calls::fill(s, neutral->data(), t.place.stream()), "where"); });
    return made;
  }, nb::arg("op"), nb::arg("second"), nb::arg("x"), nb::arg("mask").none(), nb::arg("shape"), nb::arg("skip_nans"), nb::arg("to"), nb::arg("stream"));
  // Sums of nothing that such a filling left -0 become +0.
  m.def("settle", [](int o, const device_array& x, const device_array* mask, const std::vector<std::int64_t>& shape, const std::vector<int>& axes, bool skip_nans, std::int64_t row,
                     const device_array* starts, std::uintptr_t answers, std::int64_t count, std::uintptr_t stream) {
    const int parts = parts_of_sum(static_cast<wf::op>(o), x.type);
    const wf::extents all(shape.begin(), shape.end());
    const wf::array_selection s = selection_of(x, mask, all, axes, skip_nans, row != 0 ? row : row_of(all, axes));
    if (parts == 0 || count == 0) return;
    in_turn(x.device, stream, static_cast<wf::op>(o), [&](const turn& t) {
      t.place.machine().fail(settle_zeros(s, x.type, parts, reinterpret_cast<void*>(answers), count, starts == nullptr ? nullptr : starts->data,
                                          starts == nullptr ? 8 : static_cast<int>(wf::info(starts->type).size), t.place.stream()), "where");
    });
  }, nb::arg("op"), nb::arg("x"), nb::arg("mask").none(), nb::arg("shape"), nb::arg("axes"), nb::arg("skip_nans"), nb::arg("row"), nb::arg("starts").none(), nb::arg("answers"), nb::arg("count"),
     nb::arg("stream"));
  m.def("narrow", [](std::uintptr_t places, std::uintptr_t counted, const device_array& offsets, std::uintptr_t to, std::uintptr_t stream) {
    in_turn(offsets.device, stream, wf::op::sum, [&](const turn& t) {
      t.place.machine().fail(array_calls::narrow(reinterpret_cast<const std::int64_t*>(places), reinterpret_cast<const std::int64_t*>(counted), offsets.data,
                                                 static_cast<int>(wf::info(offsets.type).size), offsets.size(), reinterpret_cast<std::int64_t*>(to), t.place.stream()), "where");
    });
  }, nb::arg("places"), nb::arg("counted"), nb::arg("offsets"), nb::arg("to"), nb::arg("stream"));
  m.def("widen", [](std::uintptr_t answers, std::int64_t count, const device_array& offsets, std::uintptr_t places, const device_array* starts, std::int64_t row, std::uintptr_t stream) {
    in_turn(offsets.device, stream, wf::op::argmin, [&](const turn& t) {
      t.place.machine().fail(array_calls::widen(reinterpret_cast<std::int64_t*>(answers), count, static_cast<const std::int64_t*>(offsets.data), reinterpret_cast<const std::int64_t*>(places),
                                                starts == nullptr ? nullptr : starts->data, starts == nullptr ? 8 : static_cast<int>(wf::info(starts->type).size), row, t.place.stream()), "where");
    });
  }, nb::arg("answers"), nb::arg("count"), nb::arg("offsets"), nb::arg("places"), nb::arg("starts").none(), nb::arg("row"), nb::arg("stream"));
  m.def("in_order", &in_order, nb::arg("device"), nb::arg("before"), nb::arg("after"));
  m.def(
      "reduce",
      [](int o, nb::handle accuracy, nb::handle rounding, std::int64_t correction, const device_array& x, const device_array* y,
         std::optional<std::vector<std::int64_t>> shape, std::optional<std::vector<int>> axes, const device_array* offsets, const device_array* labels, std::int64_t count,
         std::int64_t length, std::uintptr_t stream, std::uintptr_t out, bool states) {
        if (o < 0 || o >= wf::op_count) refuse("no such reduction");
        wf::request r;
        r.what = static_cast<wf::op>(o);
        r.element = x.type;
        r.context.accuracy = accuracy_named(accuracy);
        r.context.rounding = r.options.rounding = rounding_named(rounding);
        r.options.correction = correction;
        r.inputs.shape = shape ? wf::extents(shape->begin(), shape->end()) : x.shape;
        r.inputs.data[0] = x.data;
        r.inputs.strides[0] = broadcast_strides(x, r.inputs.shape);
        if (y != nullptr) {
          r.inputs.data[1] = y->data;
          r.inputs.strides[1] = broadcast_strides(*y, r.inputs.shape);
        }
        using kinds = wf::partition::kinds;
        const auto at = [&r](const device_array& indexes, kinds kind) {
          r.by.kind = kind;
          r.by.indexes = indexes.data;
          r.by.index_bytes = static_cast<std::uint8_t>(wf::info(indexes.type).size);
        };
        r.by.count = count;
        r.by.length = length;
        if (axes) {
          r.by.kind = kinds::axes;
          r.by.axes = *axes;
        } else if (offsets != nullptr) {
          at(*offsets, kinds::segments);
        } else if (labels != nullptr) {
          at(*labels, kinds::labels);
        } else if (length > 0) {
          r.by.kind = kinds::equal_segments;
        }
        r.out = reinterpret_cast<void*>(out);
        if (states) r.wanted = wf::output::states;
        put(r, x.device, stream);
      },
      nb::arg("op"), nb::arg("accuracy").none(), nb::arg("rounding").none(), nb::arg("correction"), nb::arg("x"), nb::arg("y").none(), nb::arg("shape").none(),
      nb::arg("axes").none(), nb::arg("offsets").none(), nb::arg("labels").none(), nb::arg("count"), nb::arg("length"), nb::arg("stream"), nb::arg("out"),
      nb::arg("states") = false);
}
