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
  switch (wf::operation_of(o).state) {
    case wf::state_kind::extremes: case wf::state_kind::places: case wf::state_kind::nonzeros: case wf::state_kind::count: return false;
    case wf::state_kind::sums: case wf::state_kind::dots: case wf::state_kind::moments:
      return !wf::is_integer(t) || !wf::operation_of(o).wraps;  // means of integers too, under fast
    case wf::state_kind::product: case wf::state_kind::logsumexp: case wf::state_kind::own: break;
  }
  return !wf::is_integer(t);
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
