// SPDX-License-Identifier: Apache-2.0
/// \file gpu_masks.hpp
/// What counts of an array on a GPU, as the library's kernels are told of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu_arrays.hpp"

namespace wfpy {

/// What counts of an array, broadcast to `shape`, whose dimensions `axes` are those that answers lose. `mask`: null, or one that can be broadcast to that shape.
wf::array_selection selection_of(const device_array& x, const device_array* mask, const wf::extents& shape, std::vector<int> axes, bool skip_nans, std::int64_t row);
/// Memory for all elements of an array, broadcast to `shape`, without gaps and in the order in which they lie: strides in bytes.
wf::extents dense_strides(const device_array& x, const wf::extents& shape);
/// What counts of an array as what is written into such memory: dimensions in the order in which they lie there.
wf::array_selection filling_of(const device_array& x, const device_array* mask, const wf::extents& shape, const wf::extents& dense, bool skip_nans);
/// An element, as bytes, that changes no answer of a reduction wherever it stands, but that a sum of nothing else is -0 (settle_zeros()); of dot's second input where `second` says so. Nothing where there is none.
std::optional<std::array<std::byte, 16>> neutral_of(wf::op o, wf::dtype t, bool second);
/// How many numbers of floats a sum is; 0 of what is no sum of floats, in which a sum of nothing needs no care.
int parts_of_sum(wf::op o, wf::dtype t);
int settle_zeros(const wf::array_selection& s, wf::dtype t, int parts, void* sums, std::int64_t count, const void* starts, int bytes, void* stream);
/// Elements of an answer whose dimensions `axes` are reduced.
std::int64_t row_of(const wf::extents& shape, const std::vector<int>& axes);

}  // namespace wfpy
