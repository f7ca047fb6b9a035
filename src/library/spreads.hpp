// SPDX-License-Identifier: Apache-2.0
/// \file spreads.hpp
/// Variances by a correction that is no whole number, of states in the CPU's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <warpfold/detail/reductions/spread.hpp>

namespace wf::library {

/// `count` states of moments are answered. The variance is what the last bytes of an answer, `apart` bytes from the next, hold.
inline void finish_spreads(const state_form& form, double correction, rounding mode, const void* states, std::int64_t count, std::size_t apart, void* out) {
  const exact::spread_of_states q = reductions::spread_of(form, {correction, mode, form.what == op::std_dev});
  const dtype type = exact::spread_of_states::type_of(form.element).type;
  std::vector<std::int64_t> words(form.bytes / 8);
  const auto* from = static_cast<const std::byte*>(states);
  auto* to = static_cast<std::byte*>(out) + apart - info(type).size;
  for (std::int64_t k = 0; k < count; ++k, from += form.bytes, to += apart) {
    std::memcpy(words.data(), from, form.bytes);
    reductions::put_spread(q, type, words.data(), to);
  }
}

}  // namespace wf::library
