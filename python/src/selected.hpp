// SPDX-License-Identifier: Apache-2.0
/// \file selected.hpp
/// A reduction of some of the elements: of those that a mask names, or of those that are not NaN. What is left is
/// brought together a tile at a time, so nothing is copied beyond a cache.
#pragma once

#include <cstring>

#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/io/dtype.hpp>

namespace wfpy {

class selected {
 public:
  /// What is referred to outlives this. Masked: input 1 is bytes, 0 or not.
  selected(const wf::cpu::erased& inner, const void* self, wf::dtype element, bool masked);

  const wf::cpu::erased& functions() const { return functions_; }

 private:
  using keep_function = std::int64_t (*)(const void* x, const void* mask, std::int64_t n, void* kept);

  const wf::cpu::erased& inner_;
  const void* self_;
  keep_function keep_;
  bool (*all_)(const void* x, const void* mask, std::int64_t n);  // whether all are kept
  std::size_t offset_;  // the inner state's, behind the number of elements kept
  wf::cpu::erased functions_{};
};

}  // namespace wfpy
