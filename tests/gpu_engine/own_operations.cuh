// SPDX-License-Identifier: Apache-2.0
// The body of own_operations.hpp for the device that this is compiled for.
#pragma once

#include <warpfold/detail/reductions/extrema.hpp>
#include <warpfold/detail/reductions/moments.hpp>
#include <warpfold/detail/reductions/own.hpp>

#include "../../src/gpu/own.cuh"
#include "own_operations.hpp"

namespace machines::inline WF_BUILD {

using namespace wf::device;

struct operation_kernels {
  enqueue_function whole;
  rows_function rows;
  states_function states;
};
template <class R, class... T>
constexpr operation_kernels kernels_of_operation() {
  using functions = operation_functions<R, T...>;
  return {functions::whole, functions::rows(), functions::states};
}

inline operation_kernels find_operation(wf::op o, wf::dtype t) {
  using namespace wf::reductions;
  using wf::dtype, wf::op;
  if (o == op::prod) {
    switch (t) {
      case dtype::f16: return kernels_of_operation<prod<wf::f16>, wf::f16>();
      case dtype::f64: return kernels_of_operation<prod<double>, double>();
      case dtype::i32: return kernels_of_operation<prod<std::int32_t>, std::int32_t>();
      case dtype::boolean: return kernels_of_operation<prod<bool>, bool>();
      case dtype::c64: return kernels_of_operation<prod<wf::c64>, wf::c64>();
      case dtype::c128: return kernels_of_operation<prod<wf::c128>, wf::c128>();
      default: break;
    }
  }
  if (o == op::min && t == dtype::f32) return kernels_of_operation<wf::reductions::min<float>, float>();
  if (o == op::min && t == dtype::i16) return kernels_of_operation<wf::reductions::min<std::int16_t>, std::int16_t>();
  if (o == op::argmin && t == dtype::f32) return kernels_of_operation<argmin<float>, float>();
  if (o == op::argmin && t == dtype::u64) return kernels_of_operation<argmin<std::uint64_t>, std::uint64_t>();
  if (o == op::dot && t == dtype::i8) return kernels_of_operation<dot<std::int8_t, true>, std::int8_t, std::int8_t>();
  return {nullptr, nullptr, nullptr};
}

inline wf::device_library own_operations_of(const wf::device_library& all) {
  wf::device_library own = all;
  const wf::run_kernel whole = [](const wf::device_request& r, void* scratch, void* stream) {
    const enqueue_function f = find_operation(r.what, r.element).whole;
    return f == nullptr ? wf::no_such_kernel : static_cast<int>(f(r, *static_cast<workspace*>(scratch), static_cast<cudaStream_t>(stream)));
  };
  own.kernels = {{whole, whole}, nullptr, [](const wf::rows_request& r, void* scratch, void* stream) {
                   const rows_function f = find_operation(r.what, r.element).rows;
                   return f == nullptr ? wf::no_such_kernel : static_cast<int>(f(r, *static_cast<workspace*>(scratch), static_cast<cudaStream_t>(stream)));
                 }};
  return own;
}

inline int own_states(const wf::states_request& r, void* stream) {
  const states_function f = find_operation(r.what, r.element).states;
  return f == nullptr ? wf::no_such_kernel : static_cast<int>(f(r, static_cast<cudaStream_t>(stream)));
}

}  // namespace machines::inline WF_BUILD
