// SPDX-License-Identifier: Apache-2.0
/// \file states_request.hpp
/// The request to kernels that merge and answer states (states.hpp), without the host's functions.
#pragma once

#include <cstdint>

#include <warpfold/detail/exact/rows_of_digits.hpp>
#include <warpfold/io/dtype.hpp>
#include <warpfold/operations.hpp>
#include <warpfold/types.hpp>

namespace wf {

/// `count` states of one form, one after the other. All pointers are the device's.
struct states_request {
  op what;
  dtype element;
  wf::options options;
  detail::rows_of_digits rows;
  state_kind kind;
  std::int64_t nothing[2];  ///< words 1 and 2 of the state of no elements: the identities of extremes
  std::int64_t words;       ///< a state's
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

}  // namespace wf
