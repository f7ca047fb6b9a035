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
#include <warpfold/cpu/engine.hpp>
#include <warpfold/export.h>
#include <warpfold/io/dtype.hpp>
#include <warpfold/reductions/types.hpp>

namespace wf {

enum class op : std::uint8_t {
  sum, mean, prod, var, std_dev, mean_var, sum_of_squares, norm1, norm2, norm_inf, dot,
  min, max, minmax, argmin, argmax, any, all, count, count_nonzero, logsumexp
};
inline constexpr int op_count = 21;
inline constexpr const char* op_names[op_count] = {
  "sum", "mean", "prod", "var", "std", "mean_var", "sum_of_squares", "norm1", "norm2", "norm_inf", "dot",
  "min", "max", "minmax", "argmin", "argmax", "any", "all", "count", "count_nonzero", "logsumexp"
};

struct properties {
  std::string_view name;
  std::string_view elements;  ///< the types that it takes
  std::string_view result;    ///< the type of its answer
};
/// What is told of an operation in words; the rest its types declare: find_builtin(…)->declares.
WF_API const properties& properties_of(op o);
WF_API std::optional<op> op_named(std::string_view name);

/// What an operation yields: `values` numbers of type `type` (2 for mean_var and minmax; 3 for mean_var of
/// complex numbers: re and im of the mean, the variance).
struct result_kind {
  dtype type;
  int values;
};
WF_API result_kind result_of_builtin(op o, dtype element);

/// Its functions; `self` is an `options`. Throws wf::error (unsupported) for types that it does not take.
WF_API const cpu::erased& builtin(op o, dtype element, accuracy a);
/// The same, but null.
WF_API const cpu::erased* find_builtin(op o, dtype element, accuracy a) noexcept;
/// Those that also say whether the answer overflowed, in a `checked` (results.hpp) of the same type.
/// Of integers: sum, prod, sum_of_squares, norm1, dot; else null.
WF_API const cpu::erased* find_checked(op o, dtype element) noexcept;

}  // namespace wf
