// SPDX-License-Identifier: Apache-2.0
/// \file table_ops.hpp
/// The cells of the table: their types, which of them are native, and their names.
#pragma once

#include "native_bounds.hpp"

inline constexpr wf::dtype all_dtypes[] = {
    wf::dtype::f16, wf::dtype::bf16, wf::dtype::f32, wf::dtype::f64, wf::dtype::i8,
    wf::dtype::i16, wf::dtype::i32, wf::dtype::i64, wf::dtype::u8, wf::dtype::u16,
    wf::dtype::u32, wf::dtype::u64, wf::dtype::boolean, wf::dtype::c64, wf::dtype::c128};

inline bool is_spread(wf::op o) { return o == wf::op::var || o == wf::op::std_dev || o == wf::op::mean_var; }

/// Whether the answer is native floating point, whose last bits depend on the order.
inline bool is_native(wf::op o, wf::dtype t, wf::accuracy a) {
  if (o == wf::op::logsumexp) return true;
  if (o == wf::op::prod) return !wf::is_integer(t);
  if (a == wf::accuracy::exact) return false;
  switch (o) {
    case wf::op::min: case wf::op::max: case wf::op::minmax: case wf::op::norm_inf: case wf::op::argmin:
    case wf::op::argmax: case wf::op::any: case wf::op::all: case wf::op::count: case wf::op::count_nonzero:
      return false;
    case wf::op::var: case wf::op::std_dev: case wf::op::mean_var: case wf::op::mean: case wf::op::norm2:
      return true;  // of integers too, under fast
    default: return !wf::is_integer(t);
  }
}

/// Where an input lies.
struct layout {
  std::int64_t n;
  std::int64_t skipped;  ///< elements before the first one
  std::int64_t stride;
};

inline std::string name_of(wf::op o, wf::dtype t, wf::accuracy a, const std::string& family, const layout& s) {
  return std::string(wf::properties_of(o).name) + " of " + std::string(wf::info(t).name) +
         (a == wf::accuracy::exact ? " exact, " : " fast, ") + family + ", n = " + std::to_string(s.n) + ", " +
         std::to_string(s.skipped) + " skipped, stride " + std::to_string(s.stride);
}
