// SPDX-License-Identifier: Apache-2.0
/// \file builtin.hpp
/// The compiled library's one table: operation × element type × accuracy. For code that learns these
/// at run time; `wf::sum` and its like (warpfold.hpp) are the front door.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <warpfold/context.hpp>
#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/export.h>
#include <warpfold/io/dtype.hpp>
#include <warpfold/types.hpp>

namespace wf {

/// The operations. docs/reductions.md says what each takes, and what it answers for no elements and for NaN.
enum class op : std::uint8_t {
  sum,             ///< Σx
  mean,            ///< Σx / n
  prod,            ///< Πx
  var,             ///< Σ|x - mean|² / (n - correction)
  std_dev,         ///< √var
  mean_var,        ///< mean and var
  sum_of_squares,  ///< Σ|x|²
  norm1,           ///< Σ|x|
  norm2,           ///< √Σ|x|²
  norm_inf,        ///< the greatest |x|
  dot,             ///< Σxy, of two inputs
  min,             ///< the least element
  max,             ///< the greatest element
  minmax,          ///< both
  argmin,          ///< the index of the first least element
  argmax,          ///< the index of the first greatest element
  any,             ///< whether an element is not zero
  all,             ///< whether none is zero
  count,           ///< n
  count_nonzero,   ///< elements that are not zero
  logsumexp        ///< log Σexp(x)
};
/// How many operations there are.
inline constexpr int op_count = 21;
/// Their names, in the order of `op`: those of the command line and of Python. `std_dev` is "std".
inline constexpr const char* op_names[op_count] = {
  "sum", "mean", "prod", "var", "std", "mean_var", "sum_of_squares", "norm1", "norm2", "norm_inf", "dot",
  "min", "max", "minmax", "argmin", "argmax", "any", "all", "count", "count_nonzero", "logsumexp"
};

/// What is told of an operation in words.
struct properties {
  std::string_view name;      ///< as in op_names
  std::string_view elements;  ///< the types that it takes
  std::string_view result;    ///< the type of its answer
};
/// The words for an operation; the rest its types declare: find_builtin(…)->declares.
WF_API const properties& properties_of(op o);
/// The operation of that name, one of op_names or `norm`, which is norm2; nothing for others.
WF_API std::optional<op> op_named(std::string_view name);

/// What an operation yields: `values` numbers of type `type` (2 for mean_var and minmax; 3 for mean_var of
/// complex numbers: re and im of the mean, the variance).
struct result_kind {
  dtype type;  ///< of each number
  int values;  ///< 1, 2 or 3
};
/// Throws wf::error (unsupported) for element types that the operation does not take.
WF_API result_kind result_of_builtin(op o, dtype element);

/// Its functions; `self` is an `options`. Throws wf::error (unsupported) for types that it does not take.
WF_API const cpu::erased& builtin(op o, dtype element, accuracy a);
/// As builtin(), but null where that throws.
WF_API const cpu::erased* find_builtin(op o, dtype element, accuracy a) noexcept;
/// The functions that also say whether the answer overflowed, in a `checked` (results.hpp) of the same type.
/// Of integers: sum, prod, sum_of_squares, norm1, dot; else null.
WF_API const cpu::erased* find_checked(op o, dtype element) noexcept;

}  // namespace wf
