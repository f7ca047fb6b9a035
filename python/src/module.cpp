// SPDX-License-Identifier: Apache-2.0
#include <warpfold/target.hpp>

#include "views.hpp"

NB_MODULE(_core, m) {
  using namespace wfpy;
  m.doc() = "The compiled part of warpfold; its functions are those of the package.";
  tell_errors();
  add_views(m);
  add_arrow(m);
  add_call(m);
  add_plans(m);
  add_states(m);
  add_state_arrays(m);
  add_twins(m);
  add_fast_path(m);
  add_fast_parts(m);
  m.def("cpu_target", [] { return wf::cpu::name(wf::cpu::active_target()).data(); });
}
