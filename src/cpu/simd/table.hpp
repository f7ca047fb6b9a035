// SPDX-License-Identifier: Apache-2.0
/// \file table.hpp
/// All kernels of one target. Included once by each target_*.cpp, which names the target.
#pragma once

#include "certify.hpp"
#include "certify_columns.hpp"
#include "certify_rows.hpp"
#include "exponents.hpp"
#include "extract.hpp"
#include "extreme_columns.hpp"
#include "fast.hpp"
#include "few.hpp"
#include "few_exact.hpp"
#include "few_moments.hpp"
#include "integer_columns.hpp"
#include "keys.hpp"
#include "round_columns.hpp"
#include "square_columns.hpp"
#include "sum_columns.hpp"

namespace wf::cpu::WF_TARGET {

const kernel_table& table() {
  using f = float;
  using d = double;
  constexpr taking only_finite{false, true};
  static constexpr kernel_table kernels = {
#define WF_LANES(function)                                                             \
  {function<lane_type<std::int8_t>>,   function<lane_type<std::int16_t>>,              \
   function<lane_type<std::int32_t>>,  function<lane_type<std::int64_t>>,              \
   function<lane_type<std::uint8_t>>,  function<lane_type<std::uint16_t>>,             \
   function<lane_type<std::uint32_t>>, function<lane_type<std::uint64_t>>,             \
   function<lane_f16>, function<lane_bf16>, function<lane_f32>, function<lane_f64>}
#define WF_INTEGERS(function)                                                          \
  {function<std::int8_t>,  function<std::int16_t>,  function<std::int32_t>,  function<std::int64_t>,  \
   function<std::uint8_t>, function<std::uint16_t>, function<std::uint32_t>, function<std::uint64_t>}
#define WF_WINDOWS(source, fewer, how)                                                    \
  {{extract<source<f, how>, fewer>, extract<source<f, how>, fewer + 1>},                    \
   {extract<source<d, how>, 2>, extract<source<d, how>, 3>}}
#define WF_EXTRACT(how)                                                                    \
  {WF_WINDOWS(value_source, 1, how), WF_WINDOWS(square_source, 2, how),                     \
   WF_WINDOWS(product_source, 2, how), WF_WINDOWS(moment_source, 2, how)}
      .extract = {WF_EXTRACT(taking{}), WF_EXTRACT(only_finite)},
#undef WF_EXTRACT
#undef WF_WINDOWS
      .specials = {{specials<f, false>, specials<d, false>}, {specials<f, true>, specials<d, true>}},
      .bucket = {{float_sums, wide_sums<d, false>}, {wide_sums<f, true>, bucket<d, true>}},
      .fold = {fold_narrow, fold_wide},
#define WF_CERTIFY(type, how)                                                          \
  {certify<type, term::value, false, how>, certify<type, term::square, false, how>,      \
   certify<type, term::product, false, how>, certify<type, term::moments, false, how>,   \
   certify<type, term::value, true, how>}
      .certify = {{WF_CERTIFY(f, adding::plain), WF_CERTIFY(f, adding::anchored)},
                  {WF_CERTIFY(d, adding::anchored), WF_CERTIFY(d, adding::scaled)}},
#undef WF_CERTIFY
      .certify_columns = {{certify_columns<f, false>, certify_columns<f, true>}, {certify_columns<d, false>, certify_columns<d, true>}},
      .sum_columns = {{sum_columns<f, false>, sum_columns<f, true>}, {sum_columns<d, false>, sum_columns<d, true>}},
      .certify_rows = {{{certify_rows<f, false>, certify_rows<f, true>}, {certify_rows<d, false>, certify_rows<d, true>}},
                       {{certify_rows<f, false, 2>, certify_rows<f, true, 2>}, {certify_rows<d, false, 2>, certify_rows<d, true, 2>}}},
      .certify_half_rows = {{certify_rows<lane_f16, false>, certify_rows<lane_f16, true>}, {certify_rows<lane_bf16, false>, certify_rows<lane_bf16, true>}},
      .integer_rows = {WF_INTEGERS(integer_rows),
                       {{}, {}, integer_rows<std::int32_t, 2>, integer_rows<std::int64_t, 2>, {}, {}, integer_rows<std::uint32_t, 2>, integer_rows<std::uint64_t, 2>}},
      .few_sum = {few_sum<f>, few_sum<d>},
      .few_mean = {few_mean<f>, few_mean<d>},
      .few_squares = {{few_squares<f, false>, few_squares<f, true>}, {few_squares<d, false>, few_squares<d, true>}},
      .round_columns = {{round_columns<f, false>, round_columns<f, true>}, {round_columns<d, false>, round_columns<d, true>}},
#define WF_SQUARES(type) {square_columns<type, false>, square_columns<type, true>}
#define WF_WIDE_SQUARES(type) {integer_square_columns<type, false>, integer_square_columns<type, true>}
      .square_columns = {WF_SQUARES(std::int8_t), WF_SQUARES(std::int16_t), WF_WIDE_SQUARES(std::int32_t), {},
                         WF_SQUARES(std::uint8_t), WF_SQUARES(std::uint16_t), WF_WIDE_SQUARES(std::uint32_t), {}, {}, {}, WF_SQUARES(f), WF_SQUARES(d)},
#undef WF_WIDE_SQUARES
#undef WF_SQUARES
#define WF_SQUARE_ROWS(type) {sizeof(type) == 4 ? square_rows<type, false> : nullptr, square_rows<type, true>}
      .square_rows = {WF_SQUARE_ROWS(std::int8_t), WF_SQUARE_ROWS(std::int16_t), WF_SQUARE_ROWS(std::int32_t), {}, WF_SQUARE_ROWS(std::uint8_t), WF_SQUARE_ROWS(std::uint16_t),
                      WF_SQUARE_ROWS(std::uint32_t), {}, {}, {}, {}, {}},
#undef WF_SQUARE_ROWS
      .exact_square_columns = {{square_columns<f, false, true>, square_columns<f, true, true>}, {exact_wide_square_columns<false>, exact_wide_square_columns<true>}},
      .round_squares = {{round_squares<f, false>, round_squares<f, true>}, {round_squares<d, false>, round_squares<d, true>}},
      .extreme_columns = WF_LANES(extreme_columns),
      .extreme_rows = {WF_LANES(extreme_rows),
                       {{}, {}, extreme_rows<lane_type<std::int32_t>, 2>, extreme_rows<lane_type<std::int64_t>, 2>, {}, {}, extreme_rows<lane_type<std::uint32_t>, 2>,
                        extreme_rows<lane_type<std::uint64_t>, 2>, {}, {}, extreme_rows<lane_f32, 2>, extreme_rows<lane_f64, 2>}},
      .elements_of_keys = WF_LANES(elements_of_keys),
      .integer_columns = WF_INTEGERS(integer_columns),
      .widen_half = {widen_half<lane_f16>, widen_half<lane_bf16>},
      .fast_sum = {fast_sum<f>, fast_sum<d>},
      .fast_dot = {fast_dot<f>, fast_dot<d>},
      .fast_moments = {fast_moments<f>, fast_moments<d>},
      .integer_sum = WF_INTEGERS(integer_sum),
      .extremes_of = {extremes_of<lane_type<std::int8_t>>,   extremes_of<lane_type<std::int16_t>>,
                      extremes_of<lane_type<std::int32_t>>,  extremes_of<lane_type<std::int64_t>>,
                      extremes_of<lane_type<std::uint8_t>>,  extremes_of<lane_type<std::uint16_t>>,
                      extremes_of<lane_type<std::uint32_t>>, extremes_of<lane_type<std::uint64_t>>,
                      extremes_of<lane_f16>, extremes_of<lane_bf16>, float_extremes<f>, float_extremes<d>},
      .find = WF_LANES(find),
      .find_nan = WF_LANES(find_nan),
      .count_nonzero = WF_LANES(count_nonzero),
#undef WF_LANES
#undef WF_INTEGERS
      .all_negative_zero = {all_negative_zero<f>, all_negative_zero<d>},
  };
  return kernels;
}

}  // namespace wf::cpu::WF_TARGET
