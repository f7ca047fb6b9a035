// SPDX-License-Identifier: Apache-2.0
/// \file indexes.hpp
/// The messages about offsets and labels that do not fit, wherever they are found.
#pragma once

#include <cstdint>

namespace wf::cpu {

/// Throws wf::error (bad_argument) of offset k, which falls, or lies outside the input.
[[noreturn]] void refuse_offset(std::int64_t k, std::int64_t offset, std::int64_t elements);
/// Throws wf::error (bad_argument) of the label of element i, which is no answer's.
[[noreturn]] void refuse_label(std::int64_t label, std::int64_t i, std::int64_t answers);

}  // namespace wf::cpu
