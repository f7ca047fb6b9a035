// SPDX-License-Identifier: Apache-2.0
/// Calls of arrays that a library keeps on a GPU: what is asked, the arrays that it is asked of, room for answers, and the reductions that are put on a stream.
#include "gpu_library.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "gpu_masks.hpp"

namespace wfpy {

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

nb::object call(PyObject* f, std::initializer_list<PyObject*> given, PyObject* names, bool method) {
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
wf::extents both_shape(const wf::extents& one) {
  wf::extents both{2};
  for (const std::int64_t n : one) both.push_back(n);
  return both;
}

namespace {

constexpr std::array all_twins{twins{wf::op::minmax, wf::op::min, wf::op::max}, twins{wf::op::mean_var, wf::op::mean, wf::op::var}};

const twins* twins_of(wf::op o) {
  const auto at = std::find_if(all_twins.begin(), all_twins.end(), [o](const twins& t) { return t.both == o; });
  return at == all_twins.end() ? nullptr : &*at;
}

}  // namespace

PyObject* library::answer(const device_call& self, std::span<const wf::op> ops, bool several, PyObject* x, const asked& how) noexcept {
  try {
    return static_cast<const library&>(self).reduced(ops, several, x, how).release().ptr();
  } catch (nb::python_error&) {  // it took the error away
  } catch (...) {  // PyTorch's C++ may throw what it likes
  }
  PyErr_Clear();
  return nullptr;
}

nb::object library::reduced(std::span<const wf::op> ops, bool several, PyObject* x, const asked& how) const {
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

nb::object library::fused(std::span<const wf::op> ops, const asked& how, prepared& p) const {
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

nb::object library::answers_of(const std::vector<wf::op>& ops, bool alone, const asked& how, prepared& p) const {
  struct pass {
    wf::op what;
    void* out;
    void* second = nullptr;     ///< where the second answer goes, unless behind the first
    std::size_t part_size = 0;  ///< for pairs of answers, which are parted
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
    const wide_labels wide(p.r, p.labels, on);
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

bool library::is_whole(const prepared& p) { return p.r.by.kind == wf::partition::kinds::whole; }

bool library::finds_extremes(const prepared& p) const { return is_whole(p) && wf::has_kernels(p.r.element) && !wf::is_complex(p.r.element) && p.x.x.contiguous(); }

bool library::one_pass(const twins& t, bool alone, const prepared& p) const {
  constexpr std::int64_t many = 1 << 18, each = 16;
  const wf::result_kind both = wf::result_of_builtin(t.both, p.r.element), first = wf::result_of_builtin(t.first, p.r.element);
  if (p.r.inputs.data[1] != nullptr || both.type != first.type || both.type != wf::result_of_builtin(t.second, p.r.element).type || type_object(both.type) == Py_None ||
      (p.r.context.accuracy == wf::accuracy::fast && !alone))
    return false;
  return is_whole(p) || (p.x.x.size() >= many && p.x.x.size() / each >= *wf::detail::product(p.kept));
}

bool library::read_second(PyObject* y, prepared& p) const {
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

bool library::read_told_axes(std::span<const wf::op> ops, const asked& how, prepared& p) {
  for (const wf::op o : ops)  // the words for others are general code's
    if (wf::operation_of(o).state == wf::state_kind::places && how.axis != Py_None && !PyLong_Check(how.axis)) return false;
  if (!told_axes(how.axis, how.keepdims, p.r.inputs.shape, p.axes, p.kept)) return false;
  if (p.axes.size() < p.r.inputs.shape.size()) {
    p.r.by.kind = wf::partition::kinds::axes;
    p.r.by.axes = p.axes;
  }
  return true;
}

bool library::read_parts(const asked& how, prepared& p) const {
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
    if (Py_TYPE(given) != Py_TYPE(p.object) || !read(given, p.indexes) || at.shape.size() != 1 || at.device != p.x.x.device || p.indexes.stream != p.x.stream) return false;
    if (how.labels != nullptr) {
      if (!wf::is_integer(at.type) || at.type == wf::dtype::boolean || at.shape[0] != n) return false;
      wide_labels::name(p.r.by, at);
      p.labels = &at;
    } else {
      if ((at.type != wf::dtype::i64 && at.type != wf::dtype::i32) || !at.contiguous() || at.shape[0] == 0) return false;
      answers = at.shape[0] - 1;
      p.r.by.kind = kinds::segments;
      p.r.by.indexes = at.data;
      p.r.by.index_bytes = static_cast<std::uint8_t>(wf::info(at.type).size);
    }
    p.r.by.count = answers;
  }
  p.kept.push_back(answers);
  return answers > 0;
}

nb::object library::answer_of(wf::op o, const asked& how, prepared& p) const {
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
      const wide_labels wide(p.r, p.labels, t.place);
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

bool library::converts_here(wf::op o, const asked& how, prepared& p) const {
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

bool library::is_captured(std::uintptr_t stream) {
  cudaStreamCaptureStatus now = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream_at(stream), &now) != cudaSuccess || now != cudaStreamCaptureStatusNone;
}

std::optional<wf::dtype> library::wanted(const asked& how) const {
  const auto named_so = type_named(how.type);
  return named_so ? named_so : how.type_told;
}

bool library::is_natural(wf::op o, wf::dtype element, const asked& how) const {
  return (o == wf::op::sum || o == wf::op::mean || o == wf::op::prod) && wanted(how) == wf::result_of_builtin(o, element).type;
}

nb::object library::converted(wf::op o, PyObject* x, wf::dtype element, const asked& how) const {
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

nb::object library::as_type(PyObject* x, wf::dtype type) const { return call(conversion_, {x, type_object(type)}, nullptr, true); }

bool library::holds(wf::dtype wide, wf::dtype narrow) {
  using wf::dtype;
  if (wide == dtype::c128) return narrow == dtype::c64;
  if (wide != dtype::f64 && wide != dtype::f32) return false;
  if (wf::is_complex(narrow) || narrow == wide) return false;
  if (wf::is_integer(narrow)) return wf::info(narrow).size <= (wide == dtype::f64 ? 4 : 2);
  return wf::info(narrow).size < wf::info(wide).size;
}

std::vector<const library*>& libraries() {
  static auto& all = *new std::vector<const library*>;
  return all;
}

const library* library_of(PyObject* x) {
  const auto at = std::find_if(libraries().begin(), libraries().end(), [x](const library* l) { return l->kind == reinterpret_cast<PyObject*>(Py_TYPE(x)); });
  return at == libraries().end() ? nullptr : *at;
}

}  // namespace wfpy
