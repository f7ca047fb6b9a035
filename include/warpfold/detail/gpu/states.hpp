// SPDX-License-Identifier: Apache-2.0
/// \file states.hpp
/// How host code asks the compiled kernels to merge states and to answer them, in the device's memory: what is left to do after an
/// all-reduce of their words (nccl.hpp), and what a place does with states (backend.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/context.hpp>
#include <warpfold/error.hpp>
#include <warpfold/state_check.hpp>

namespace wf {

/// `count` states of one form, one after the other. All pointers are the device's.
struct states_request {
  op what;
  dtype element;
  wf::options options;
  detail::rows_of_digits rows;
  state_kind kind;
  std::int64_t nothing[2];  ///< words 1 and 2 of the state of no elements: the identities of extremes
  std::int64_t words;       ///< of a state
  std::int64_t count;
  /// Where `sets` is 0, sums of the words of up to 2^31 canonical states, which become canonical; where it is -1, canonical states, to be
  /// answered. Else they become what the states of all sets are merged to, in the order of the sets. States that add are merged into, one set at a time.
  std::int64_t* states;
  const std::int64_t* from;  ///< sets · count states: a set after the other
  std::int64_t sets;
  bool adds;      ///< states are merged by adding their words
  bool into;      ///< `states` are the set before the first
  bool take_out;  ///< the set is taken out of `states`, which add
  void* out;  ///< null, or where their answers go
};

namespace detail {

/// The request of states of a form, without pointers. Throws wf::error (unsupported) of those that depend on the order of additions:
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
  std::vector<std::int64_t> nothing(form.bytes / 8);
  clear_states(form, nothing.data(), 1);
  for (std::size_t k = 0; k < 2 && k + 1 < nothing.size(); ++k) r.nothing[k] = nothing[k + 1];
  return r;
}

}  // namespace detail

}  // namespace wf
