// SPDX-License-Identifier: Apache-2.0
/// \file own_operations.hpp
/// The way of operations of state_kind::own (src/gpu/own.cuh), tested by operations whose answers and states are known: each by the
/// CPU's arithmetic on the device, in place of the kernels that it has.
#pragma once

#include <string>

#include <warpfold/gpu.hpp>
#include <warpfold/operations.hpp>

struct own_operation {
  wf::op what;
  wf::dtype type;
};
/// States of one word, of several, with a canonical form; orders that matter and places; two inputs; elements of every size.
inline constexpr own_operation own_operations[] = {
    {wf::op::prod, wf::dtype::f16}, {wf::op::prod, wf::dtype::f64}, {wf::op::prod, wf::dtype::i32},   {wf::op::prod, wf::dtype::boolean},
    {wf::op::prod, wf::dtype::c64}, {wf::op::prod, wf::dtype::c128}, {wf::op::min, wf::dtype::f32},   {wf::op::min, wf::dtype::i16},
    {wf::op::argmin, wf::dtype::f32}, {wf::op::argmin, wf::dtype::u64}, {wf::op::dot, wf::dtype::i8},
};
inline std::string own_operation_name(own_operation o) {
  return std::string(wf::op_names[static_cast<int>(o.what)]) + "_" + std::string(wf::info(o.type).name);
}

/// A library that has nothing but these, by that way.
const wf::device_library& own_operations_on_simt();
const wf::device_library& own_operations_on_gpu();
/// Its states: merged and answered (detail/gpu/states.hpp). A cudaError_t.
using run_own_states = int (*)(const wf::states_request&, void* stream);
int own_states_on_simt(const wf::states_request&, void* stream);
int own_states_on_gpu(const wf::states_request&, void* stream);
