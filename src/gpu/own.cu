// SPDX-License-Identifier: Apache-2.0
// The operations whose states no kernel knows (state_kind::own), by the CPU's arithmetic of them: each row of the table that has such a
// state brings its kernels.
#include <warpfold/detail/reductions/own.hpp>

#include "own.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

/// What is compiled for an operation and a type.
struct functions {
  enqueue_function whole;
  rows_function rows;
  states_function states;
};

#define WF_BARE(...) __VA_ARGS__
#define WF_ELEMENTS_1 T
#define WF_ELEMENTS_2 T, T
#define WF_FUNCTIONS(...) \
  functions{operation_functions<__VA_ARGS__>::whole, operation_functions<__VA_ARGS__>::rows(), operation_functions<__VA_ARGS__>::states}
#define WF_CASE(name, inputs, accepts, exactly, natively)                                    \
  case op::name:                                                                             \
    if constexpr (accepts<T>) {                                                              \
      if (a == accuracy::fast) return WF_FUNCTIONS(WF_BARE natively, WF_ELEMENTS_##inputs);  \
      return WF_FUNCTIONS(WF_BARE exactly, WF_ELEMENTS_##inputs);                            \
    }                                                                                        \
    break;
#define WF_NO_CASE(...)
// The second of its arguments; the comma of `own` makes WF_CASE that.
#define WF_SECOND(first, second, ...) second
#define WF_SECOND_OF(...) WF_SECOND(__VA_ARGS__)
#define WF_COMPILES_own ,

template <class T>
functions functions_of([[maybe_unused]] op o, [[maybe_unused]] accuracy a) {
  using namespace reductions;
  switch (o) {
#define WF_OPERATION(name, c, text, summary, inputs, accepts, state, answer, overflow, exact, fast) \
  WF_SECOND_OF(WF_COMPILES_##state WF_CASE, WF_NO_CASE, )(name, inputs, accepts, exact, fast)
#include <warpfold/operations.def>
    default: break;
  }
  return {nullptr, nullptr, nullptr};
}

functions functions_of(op o, dtype t, accuracy a) {
  functions found{nullptr, nullptr, nullptr};
  for_dtype(t, [&]<class T>() -> enqueue_function {
    found = functions_of<T>(o, a);
    return nullptr;
  });
  return found;
}

enqueue_function find_own(op o, dtype t, accuracy a) { return functions_of(o, t, a).whole; }

}  // namespace

rows_function find_rows_own(op o, dtype t, accuracy a) { return functions_of(o, t, a).rows; }
states_function find_states_own(op o, dtype t) { return functions_of(o, t, accuracy::exact).states; }

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(own, find_own)
