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
      .def("__init__",  // of a reduction compiled for the caller: addresses of a cpu::erased and of its object, in memory for good
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
             request r = p.asked;
             std::int64_t n = 1;
             if (axes) {
               r.by = request::partition::axes;
               r.axes = *axes;
               for (std::size_t d = 0; d < x.at.shape.size(); ++d)
                 if (std::find(axes->begin(), axes->end(), static_cast<int>(d)) == axes->end()) n *= x.at.shape[d];
             } else if (offsets != nullptr) {
               r.by = request::partition::offsets;
               r.offsets = whole_numbers(*offsets, "offsets");
               n = static_cast<std::int64_t>(r.offsets.size()) - 1;
             } else if (labels != nullptr) {
               r.by = request::partition::labels;
               r.labels = whole_numbers(*labels, "labels");
               r.answers = n = answers;
             }
             const room to(out, p.made.size() * static_cast<std::size_t>(std::max<std::int64_t>(n, 0)));
             const nb::gil_scoped_release others_run;
             p.made.run(r, x.at, second == nullptr ? nullptr : &second->at, to.b.buf);
           },
           nb::arg("x"), nb::arg("second").none(), nb::arg("axes").none(), nb::arg("offsets").none(), nb::arg("labels").none(),
           nb::arg("answers"), nb::arg("out"))
      .def("add",
           [](bound_plan& p, const view& x, const view* mask) {
             check_second(p, x, mask);
             if (!x.at.contiguous() || (mask != nullptr && !mask->at.contiguous()) || (mask != nullptr && mask->at.shape != x.at.shape))
               throw wf::error(wf::errc::bad_argument, "a piece has gaps");
             const nb::gil_scoped_release others_run;
             p.made.add(x.at.data, mask == nullptr ? nullptr : mask->at.data, x.at.size());
           },
           nb::arg("x"), nb::arg("mask").none())
      .def("finish", [](bound_plan& p, nb::handle out) {
        const room to(out, p.made.size());
        p.made.finish(to.b.buf);
      });
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
