// SPDX-License-Identifier: Apache-2.0
/// \file states.hpp
/// How host code asks the compiled kernels to merge states and to answer them, in the device's memory: what is left to do after an
/// all-reduce of their words (nccl.hpp), and what a place does with states (backend.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <warpfold/backend.hpp>
#include <warpfold/context.hpp>
#include <warpfold/detail/gpu/states_request.hpp>
#include <warpfold/error.hpp>
#include <warpfold/state_check.hpp>

namespace wf {

namespace detail {

/// No form's state has more.
inline constexpr std::size_t most_state_bytes = 4096;

/// The request for states of a form, without pointers. Throws wf::error (unsupported) for states that depend on the order of additions:
/// no device merges them.
inline states_request states_of(const state_form& told, const options& o, std::int64_t n) {
  const state_form form = known_form(told.what, told.element, told.accuracy);
  if (!form.canonical)
    throw error(errc::unsupported, std::string(op_names[static_cast<int>(form.what)]) + " of " + std::string(info(form.element).name) +
                                       ": states of native floating point are not merged on devices; exact ones are");
  if (n < 0) throw error(errc::bad_argument, std::string(op_names[static_cast<int>(form.what)]) + ": " + std::to_string(n) + " states");
  states_request r{};
  r.what = form.what;
  r.element = form.element;
  r.options = o;
  r.rows = rows_of(form);
  r.kind = operation_of(form.what).state;
  r.words = static_cast<std::int64_t>(form.bytes / 8);
  r.count = n;
  r.adds = form.adds;
  std::array<std::int64_t, most_state_bytes / 8> nothing;
  clear_states(form, nothing.data(), 1);
  for (std::size_t k = 0; k < 2 && k + 1 < form.bytes / 8; ++k) r.nothing[k] = nothing[k + 1];
  return r;
}

}  // namespace detail

}  // namespace wf
