// SPDX-License-Identifier: Apache-2.0
/// The module warpfold._gpu of builds with CUDA: arrays on a GPU as the library's requests. Compiled against simt it is warpfold._simt, which the tests alone use: there the CPU's memory is a GPU's.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <warpfold/backend.hpp>
#include <warpfold/state_check.hpp>

#include "gpu_arrays.hpp"
#include "gpu_library.hpp"
#include "gpu_masks.hpp"
#include "own.hpp"

namespace wfpy {

namespace {

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
    const gil_released others_run;
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

using library_maker = std::unique_ptr<library> (*)(nb::handle kind, const nb::list& types, nb::handle more);

template <library_maker Make>
nb::object capsule_of(nb::handle kind, const nb::list& types, nb::handle more) {
  auto made = Make(kind, types, more);
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
    if (const std::uint64_t bytes = at->k.scratch(answers, by); bytes != 0)  // for the array's own type, which its library needs no word for
      scratch = of.room(x, a, wf::extents{static_cast<std::int64_t>(bytes / wf::info(a.x.type).size + 1)}, a.x.type);
    const own::view v = own::view_of({a.x.data, b.x.data}, a.x.shape, strides_of(a.x, y == nullptr ? nullptr : &b.x), axes);
    const int e = [&, to = address] {
      const gil_released others_run;
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

/// Variances by a correction that is no whole number: of states, for which the stream lends memory.
void put_spreads(wf::request r, double fraction, int device, std::uintptr_t stream, const device_array* labels) {
  const wf::state_form form = wf::form_of_states(r.what, r.element);
  const wf::exact::spread_question asked{fraction, r.options.rounding, r.what == wf::op::std_dev};
  r.context.accuracy = wf::accuracy::exact;
  r.wanted = wf::output::states;
  void* const answers = std::exchange(r.out, nullptr);
  std::int64_t count = 1;
  for (const std::int64_t n : wf::shape_of_answers(r.inputs.shape, r.by, wf::op_names[static_cast<int>(r.what)])) count *= n;
  in_turn(device, stream, r.what, [&](const turn& t) {
    const wf::device_machine& machine = t.place.machine();
    r.out = machine.take(static_cast<std::size_t>(count) * form.bytes, t.place.stream());
    const auto give_back = [&](void* p) { machine.give_back(p, t.place.stream()); };
    const std::unique_ptr<void, decltype(give_back)> lent(r.out, give_back);
    const wide_labels wide(r, labels, t.place);
    t.place.run(r);
    machine.fail(array_calls::spreads(static_cast<const std::int64_t*>(r.out), static_cast<std::int64_t>(form.bytes / 8), count, wf::detail::rows_of(form), r.element, asked,
                                      answers, t.place.stream()), wf::op_names[static_cast<int>(r.what)]);
  });
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
  m.def("torch_tensors", &capsule_of<torch_tensors>, nb::arg("kind"), nb::arg("types"), nb::arg("exchange"));
  m.def("cupy_arrays", &capsule_of<cupy_arrays>, nb::arg("kind"), nb::arg("types"), nb::arg("current_stream"));
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
        const gil_released others_run;
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
  // Seconds of a call of warpfold::gpu on that stream from C++, of all elements or along axes, of `calls` of them one behind the other, for what measures what Python adds to that.
  m.def("timed", [](int o, const device_array& x, std::uintptr_t out, std::uintptr_t stream, int calls, const std::vector<int>& axes) {
    if (o < 0 || o >= wf::op_count || calls < 1) refuse("no such reduction, or no call of it");
    wf::request r;
    r.what = static_cast<wf::op>(o);
    r.element = x.type;
    r.inputs.shape = x.shape;
    r.inputs.data[0] = x.data;
    r.inputs.strides[0] = x.strides;
    if (!axes.empty()) {
      r.by.kind = wf::partition::kinds::axes;
      r.by.axes = axes;
    }
    r.out = reinterpret_cast<void*>(out);
    double seconds = 0;
    in_turn(x.device, stream, r.what, [&](const turn& t) {
      const auto begin = std::chrono::steady_clock::now();
      for (int k = 0; k < calls; ++k) t.place.run(r);
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    });
    return seconds / calls;
  }, nb::arg("op"), nb::arg("x"), nb::arg("out"), nb::arg("stream"), nb::arg("calls"), nb::arg("axes") = std::vector<int>());
  m.def("in_order", &in_order, nb::arg("device"), nb::arg("before"), nb::arg("after"));
  m.def(
      "reduce",
      [](int o, nb::handle accuracy, nb::handle rounding, std::int64_t correction, const device_array& x, const device_array* y,
         std::optional<std::vector<std::int64_t>> shape, std::optional<std::vector<int>> axes, const device_array* offsets, const device_array* labels, std::int64_t count,
         std::int64_t length, std::uintptr_t stream, std::uintptr_t out, bool states, std::optional<double> fraction) {
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
        r.by.count = count;
        r.by.length = length;
        if (axes) {
          r.by.kind = kinds::axes;
          r.by.axes = *axes;
        } else if (offsets != nullptr) {
          r.by.kind = kinds::segments;
          r.by.indexes = offsets->data;
          r.by.index_bytes = static_cast<std::uint8_t>(wf::info(offsets->type).size);
        } else if (labels != nullptr) {
          wide_labels::name(r.by, *labels);
        } else if (length > 0) {
          r.by.kind = kinds::equal_segments;
        }
        r.out = reinterpret_cast<void*>(out);
        if (states) r.wanted = wf::output::states;
        if (fraction) put_spreads(r, *fraction, x.device, stream, labels);
        else put(r, x.device, stream, labels);
      },
      nb::arg("op"), nb::arg("accuracy").none(), nb::arg("rounding").none(), nb::arg("correction"), nb::arg("x"), nb::arg("y").none(), nb::arg("shape").none(),
      nb::arg("axes").none(), nb::arg("offsets").none(), nb::arg("labels").none(), nb::arg("count"), nb::arg("length"), nb::arg("stream"), nb::arg("out"),
      nb::arg("states") = false, nb::arg("fraction") = nb::none());
}
