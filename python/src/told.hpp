// SPDX-License-Identifier: Apache-2.0
/// \file told.hpp
/// Arrays of states: one state (warpfold/backend.hpp) for each answer. They are made from an array and its axes, merged one
/// by one or along an axis, checked, and finished. Nothing here knows Python.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <warpfold/backend.hpp>

#include "engine.hpp"

namespace wfpy {

/// What the states of an array are: those of a reduction of elements of one type, without regard to the order of the elements.
class state_kind {
 public:
  /// `wide`: the states of f64, whatever real type the elements have, so that sums and means are rounded to any type of
  /// floats, and moments of several types are merged. Throws wf::error (unsupported) where the order of the elements would be
  /// seen in the answer, for `dot`, and for `wide` states of other operations and of complex numbers.
  state_kind(wf::op what, wf::dtype element, bool wide);

  const wf::state_form& form() const { return form_; }
  wf::dtype element() const { return element_; }
  std::size_t bytes() const { return form_.bytes; }

  /// A state for each position along the axes that are not in `axes`, in C order. `first`: the index of each answer's first
  /// element.
  void from(const layout& x, std::span<const int> axes, const counted& c, std::int64_t first, void* out) const;
  /// A state for each label, of one-dimensional elements; labels are in [0, answers).
  void by_label(const layout& x, std::span<const std::int64_t> labels, std::int64_t answers, const counted& c, void* out) const;

  /// Throws wf::error (bad_input) on bytes that no reduction writes: counters that contradict each other, digits out of range.
  void check(const void* states, std::int64_t count) const;
  /// The canonical form of states that were merged by adding their words, checked.
  void settle(void* states, std::int64_t count) const;
  void clear(void* states, std::int64_t count) const { wf::clear_states(form_, states, count); }

  /// to[k] becomes the state of the elements of every arrays[i][k]; these are checked before. One array at least.
  void merge(void* to, std::span<const void* const> arrays, std::int64_t count) const;
  /// to[i, j] is merged with all of from[i, …, j], of the shape (outer, along, inner).
  void merge_along(void* to, const void* from, std::int64_t outer, std::int64_t along, std::int64_t inner) const;
  /// to[labels[k]] is merged with from[k].
  void merge_by_label(void* to, std::int64_t answers, const void* from, std::span<const std::int64_t> labels) const;

  /// Answers, of `round_to` where the states are wide. `fraction`: the correction, where it is no whole number.
  std::size_t answer_bytes(std::optional<wf::dtype> round_to) const;
  void finish(const wf::options& o, std::optional<double> fraction, std::optional<wf::dtype> round_to, const void* states, std::int64_t count, void* out) const;

 private:
  void merge_checked(void* to, const void* later, std::int64_t count) const;
  wf::cpu::erased functions() const;
  void check_elements(const layout& x, const counted& c) const;
  std::byte* at(void* states, std::int64_t k) const { return static_cast<std::byte*>(states) + static_cast<std::size_t>(k) * bytes(); }
  const std::byte* at(const void* states, std::int64_t k) const {
    return static_cast<const std::byte*>(states) + static_cast<std::size_t>(k) * bytes();
  }

  wf::dtype element_;
  bool wide_;
  wf::state_form form_;
};

}  // namespace wfpy
