// SPDX-License-Identifier: Apache-2.0
/// \file spread.hpp
/// Variances by a correction that is no whole number, of states of moments.
#pragma once

#include <cstdint>
#include <cstring>

#include <warpfold/backend.hpp>
#include <warpfold/detail/exact/spread.hpp>
#include <warpfold/state_check.hpp>

namespace wf::reductions {

/// How states of a form answer.
inline exact::spread_of_states spread_of(const state_form& form, const exact::spread_question& asked) {
  return {exact::spread_of_states::type_of(form.element).unit, detail::rows_of(form), asked};
}

/// Writes the answer of a state's words, of the type that type_of() says, of any alignment.
inline void put_spread(const exact::spread_of_states& q, dtype type, const std::int64_t* words, void* to) {
  exact::scaled found{};
  const bool is = q.answer(words + 1, found);
  const auto put = [to](auto r) { std::memcpy(to, &r, sizeof r); };
  switch (type) {
    case dtype::f16: put(q.rounded<f16>(is, found)); break;
    case dtype::bf16: put(q.rounded<bf16>(is, found)); break;
    case dtype::f32: put(q.rounded<float>(is, found)); break;
    default: put(q.rounded<double>(is, found));
  }
}

}  // namespace wf::reductions
