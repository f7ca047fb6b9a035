// SPDX-License-Identifier: Apache-2.0
/// \file converted.hpp
/// Elements and answers as those of another type, so that the quickest kernels, those of each type's own answers, serve the others too.
#pragma once

#include "engine.hpp"

namespace wfpy {

/// Answers of f64 or f32 that are the true ones, rounded to nearest, as a narrower type of floats. False where one lies halfway between two numbers
/// of that type, and would so be rounded twice: on which side of it the true one lies, is not known then.
bool narrow(const void* answers, wf::dtype type, std::size_t n, wf::dtype to, void* out);

/// Sums of integers, less than 2^63 by far, as floats, to nearest.
void as_floats(const void* sums, wf::dtype type, std::size_t n, wf::dtype to, void* out);

/// Whether a copy of such elements is to be had: of f32 as f64, of real numbers but f16 and bf16 as they are.
bool can_copy(wf::dtype from, wf::dtype to);
/// A copy without gaps, in C order. In place of what does not count there is 0, of floats -0, which changes no sum but that of nothing. Of floats, as bool: which count.
void copy_filled(const layout& x, const counted& c, wf::dtype to, void* out);

}  // namespace wfpy
