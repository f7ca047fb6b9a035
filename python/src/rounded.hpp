// SPDX-License-Identifier: Apache-2.0
/// \file rounded.hpp
/// Sums and means of one element type, rounded once to another: the state holds every real type.
#pragma once

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/io/dtype.hpp>

namespace wfpy {

/// `self` is a wf::options. Null if there is none: of complex numbers, or to no type of floats.
const wf::cpu::erased* find_rounded(bool mean, wf::dtype element, wf::dtype to) noexcept;

/// The state itself, a wf::exact_sum or wf::exact_moments, as the answer. Null for complex numbers.
const wf::cpu::erased* find_sum_state(wf::dtype element) noexcept;
const wf::cpu::erased* find_moments_state(wf::dtype element) noexcept;

}  // namespace wfpy
