// SPDX-License-Identifier: Apache-2.0
#include <warpfold/target.hpp>

#include "views.hpp"

NB_MODULE(_core, m) {
  using namespace wfpy;
  m.doc() = "The compiled part of warpfold; its functions are those of the package.";
  // Errors become NumPy's kinds.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const wf::error& e) {
      PyObject* kind = PyExc_RuntimeError;
      switch (e.code()) {
        case wf::errc::bad_argument: case wf::errc::bad_input: kind = PyExc_ValueError; break;
        case wf::errc::unsupported: kind = PyExc_TypeError; break;
        case wf::errc::capacity: kind = PyExc_OverflowError; break;
        case wf::errc::io: kind = PyExc_OSError; break;
        case wf::errc::no_device: case wf::errc::device: break;
      }
      PyErr_SetString(kind, e.what());
    }
  });
  add_views(m);
  add_arrow(m);
  add_call(m);
  add_plans(m);
  add_states(m);
  add_state_arrays(m);
  add_twins(m);
  add_fast_path(m);
  m.def("cpu_target", [] { return wf::cpu::name(wf::cpu::active_target()).data(); });
}
