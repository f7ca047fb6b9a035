// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "views.hpp"

namespace wfpy {

namespace {

struct bound_plan {
  request asked;
  wf::dtype element;
  bool masked;
  plan made;

  bound_plan(request r, wf::dtype e, bool m) : asked(std::move(r)), element(e), masked(m), made(asked, e, m) {}
  bound_plan(const wf::cpu::erased& own, const void* self, wf::dtype e, bool m) : element(e), masked(m), made(asked, own, self, e, m) {}
};

/// Room for so many answers, of any type: a writable buffer without gaps.
struct room {
  Py_buffer b{};
  room(nb::handle out, std::size_t bytes) {
    if (PyObject_GetBuffer(out.ptr(), &b, PyBUF_WRITABLE) != 0) throw nb::python_error();
    if (static_cast<std::size_t>(b.len) < bytes) {
      PyBuffer_Release(&b);
      throw wf::error(wf::errc::bad_argument, "too little room for the answers");
    }
  }
  room(const room&) = delete;
  ~room() { PyBuffer_Release(&b); }
};

std::span<const std::int64_t> whole_numbers(const view& v, const char* what) {
  if (v.at.type != wf::dtype::i64 || v.at.shape.size() != 1 || !v.at.contiguous() ||
      reinterpret_cast<std::uintptr_t>(v.at.data) % alignof(std::int64_t) != 0)
    throw wf::error(wf::errc::bad_argument, std::string(what) + " are not aligned 64-bit integers in one dimension");
  return {static_cast<const std::int64_t*>(v.at.data), static_cast<std::size_t>(v.at.shape[0])};
}

void check_second(const bound_plan& p, const view& x, const view* second) {
  if (x.at.type != p.element) throw wf::error(wf::errc::bad_argument, "elements of another type than the plan's");
  const bool dot = !p.masked;
  if ((second != nullptr) != (p.made.inputs() == 2)) throw wf::error(wf::errc::bad_argument, "a second array is missing or too much");
  if (second != nullptr && second->at.type != (dot ? p.element : wf::dtype::boolean))
    throw wf::error(wf::errc::bad_argument, "the second array has another type");
}

/// The number, among all elements of a row, of number `place` among those that the mask names; `at` is where the row's part of the mask begins. Rows have the dimensions `axes` of the mask, in C order.
std::int64_t place_among_all(const layout& mask, const std::vector<int>& axes, const std::byte* at, std::int64_t begin, std::int64_t n, std::int64_t place) {
  std::vector<std::int64_t> k(axes.size(), 0);
  if (begin != 0) at += begin * mask.strides[static_cast<std::size_t>(axes[0])];  // it has one dimension
  for (std::int64_t i = 0; i < n; ++i) {
    if (*at != std::byte{0} && place-- == 0) return i;
    for (std::size_t d = axes.size(); d-- > 0;) {
      const auto axis = static_cast<std::size_t>(axes[d]);
      at += mask.strides[axis];
      if (++k[d] + begin < mask.shape[axis]) break;
      at -= k[d] * mask.strides[axis];
      k[d] = 0;
    }
  }
  return -1;
}

/// Answers that are places among the elements that a mask names become places among all; those below 0 stay. Answers lose the axes, or are those of segments of one dimension.
void widen_places(const view& mask, const std::vector<int>& given, const view* starts, nb::handle answers) {
  const buffer to(answers.ptr(), PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
  if (!to.held || mask.at.type != wf::dtype::boolean) throw wf::error(wf::errc::bad_argument, "answers or a mask of another type");
  std::vector<int> axes = given, kept;
  std::sort(axes.begin(), axes.end());
  std::int64_t n = 1, count = 1;
  for (int d = 0; d < static_cast<int>(mask.at.shape.size()); ++d) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), d);
    (reduced ? n : count) *= mask.at.shape[static_cast<std::size_t>(d)];
    if (!reduced) kept.push_back(d);
  }
  const auto offsets = starts == nullptr ? std::span<const std::int64_t>() : whole_numbers(*starts, "offsets");
  if (starts != nullptr) count = static_cast<std::int64_t>(offsets.size()) - 1;
  if (to.b.len != count * static_cast<Py_ssize_t>(sizeof(std::int64_t))) throw wf::error(wf::errc::bad_argument, "another number of answers");
  auto* const found = static_cast<std::int64_t*>(to.b.buf);
  run_beside_others(n * count, [&] {
    for (std::int64_t a = 0; a < count; ++a) {
      if (found[a] < 0) continue;
      const auto* at = static_cast<const std::byte*>(mask.at.data);
      std::int64_t rest = a;
      for (std::size_t d = kept.size(); d-- > 0;) {
        const auto axis = static_cast<std::size_t>(kept[d]);
        at += rest % mask.at.shape[axis] * mask.at.strides[axis];
        rest /= mask.at.shape[axis];
      }
      const std::int64_t begin = starts == nullptr ? 0 : offsets[static_cast<std::size_t>(a)];
      const std::int64_t length = starts == nullptr ? n : offsets[static_cast<std::size_t>(a) + 1] - begin;
      found[a] = place_among_all(mask.at, axes, at, begin, length, found[a]);
    }
  });
}

}  // namespace

void add_plans(nb::module_& m) {
  nb::class_<bound_plan>(m, "Plan")
      .def("__init__",
           [](bound_plan* self, const std::vector<int>& ops, int element, bool masked, std::optional<int> round_to, bool skip_nans,
              nb::handle accuracy, nb::handle rounding, std::int64_t correction) {
             request r;
             for (const int o : ops) {
               if (o < 0 || o >= wf::op_count) throw wf::error(wf::errc::bad_argument, "no such reduction");
               r.ops.push_back(static_cast<wf::op>(o));
             }
             if (ops.size() > 1)
               for (const int o : ops)
                 if (static_cast<wf::op>(o) == wf::op::dot)
                   throw wf::error(wf::errc::unsupported, "dot takes two arrays and cannot be fused");
             if (round_to) r.round_to = dtype_of_code(*round_to);
             r.skip_nans = skip_nans;
             r.accuracy = accuracy_named(accuracy);
             r.options.rounding = rounding_named(rounding);
             r.options.correction = correction;
             new (self) bound_plan(std::move(r), dtype_of_code(element), masked);
           },
           nb::arg("ops"), nb::arg("element"), nb::arg("masked"), nb::arg("round_to").none(), nb::arg("skip_nans"), nb::arg("accuracy").none(),
           nb::arg("rounding").none(), nb::arg("correction"))
      .def("__init__",  // for a reduction compiled for the caller: addresses of a cpu::erased and of its object, in memory for good
           [](bound_plan* self, std::uintptr_t functions, std::uintptr_t object, int element, bool masked) {
             new (self) bound_plan(*reinterpret_cast<const wf::cpu::erased*>(functions), reinterpret_cast<const void*>(object),
                                   dtype_of_code(element), masked);
           })
      .def_prop_ro("size", [](const bound_plan& p) { return p.made.size(); })
      .def_prop_ro("offsets",
                   [](const bound_plan& p) {
                     std::vector<std::size_t> at;
                     for (std::size_t k = 0; k < p.asked.ops.size(); ++k) at.push_back(p.made.offset(k));
                     return nb::tuple(nb::cast(at));
                   })
      .def("run",
           [](const bound_plan& p, const view& x, const view* second, std::optional<std::vector<int>> axes, const view* offsets,
              const view* labels, std::int64_t answers, nb::handle out) {
             check_second(p, x, second);
             wf::partition by;
             std::int64_t n = 1;
             if (axes) {
               by = along(*axes);
               for (std::size_t d = 0; d < x.at.shape.size(); ++d)
                 if (std::find(axes->begin(), axes->end(), static_cast<int>(d)) == axes->end()) n *= x.at.shape[d];
             } else if (offsets != nullptr) {
               by = by_segment(whole_numbers(*offsets, "offsets"));
               n = by.count;
             } else if (labels != nullptr) {
               by = by_label(x.at, whole_numbers(*labels, "labels"), n = answers);
             }
             const room to(out, p.made.size() * static_cast<std::size_t>(std::max<std::int64_t>(n, 0)));
             const gil_released others_run;
             p.made.run(by, x.at, second == nullptr ? nullptr : &second->at, to.b.buf);
           },
           nb::arg("x"), nb::arg("second").none(), nb::arg("axes").none(), nb::arg("offsets").none(), nb::arg("labels").none(),
           nb::arg("answers"), nb::arg("out"))
      .def("add",
           [](bound_plan& p, const view& x, const view* mask) {
             check_second(p, x, mask);
             if (!x.at.contiguous() || (mask != nullptr && !mask->at.contiguous()) || (mask != nullptr && mask->at.shape != x.at.shape))
               throw wf::error(wf::errc::bad_argument, "a piece has gaps");
             const gil_released others_run;
             p.made.add(x.at.data, mask == nullptr ? nullptr : mask->at.data, x.at.size());
           },
           nb::arg("x"), nb::arg("mask").none())
      .def("finish", [](bound_plan& p, nb::handle out) {
        const room to(out, p.made.size());
        p.made.finish(to.b.buf);
      });
  m.def("widen_places", widen_places, nb::arg("mask"), nb::arg("axes"), nb::arg("starts").none(), nb::arg("answers"));
  m.def("answer_of", [](int o, int element) {
    if (o < 0 || o >= wf::op_count) throw wf::error(wf::errc::bad_argument, "no such reduction");
    const auto kind = wf::result_of_builtin(static_cast<wf::op>(o), dtype_of_code(element));
    return nb::make_tuple(static_cast<int>(kind.type), kind.values);
  });
  nb::list names, types, rows;
  for (const wf::operation& o : wf::operations) {
    names.append(wf::op_names[static_cast<int>(o.what)]);
    const bool rounds = wf::builtin(o.what, wf::dtype::f64, wf::accuracy::exact).declares->rounding == wf::declaration::rounds::once;
    rows.append(nb::make_tuple(nb::str(o.summary.data(), o.summary.size()), o.inputs, rounds));
  }
  for (const auto& one : wf::dtypes) types.append(std::string(one.name).c_str());
  m.attr("op_names") = names;
  m.attr("operations") = rows;
  m.attr("dtype_names") = types;
}

}  // namespace wfpy
