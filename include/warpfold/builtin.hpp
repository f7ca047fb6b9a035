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
#include <warpfold/operations.hpp>
#include <warpfold/types.hpp>

namespace wf {

/// An operation in words.
struct properties {
  std::string_view name;      ///< as in op_names
  std::string_view elements;  ///< the types that it takes
  std::string_view result;    ///< the type of its answer
};
/// The words for an operation; its types declare the rest: find_builtin(…)->declares. Throws nothing.
WF_API const properties& properties_of(op o);
/// The operation of that name, one of op_names or `norm`, which is norm2; nothing for others. Throws nothing.
WF_API std::optional<op> op_named(std::string_view name);

/// What an operation yields for elements of a type that it takes. Throws nothing, even for types that it does not take.
WF_API result_kind result_of_builtin(op o, dtype element);

/// Its functions; `self` is an `options`. Throws wf::error (unsupported) for types that it does not take.
WF_API const cpu::erased& builtin(op o, dtype element, accuracy a);
/// The operation's functions as builtin() gives them, but null where that throws.
WF_API const cpu::erased* find_builtin(op o, dtype element, accuracy a) noexcept;
/// The functions that also say whether the answer overflowed, in a `checked` (results.hpp) of the same type.
/// There are such for integers: sum, prod, sum_of_squares, norm1, dot; else null.
WF_API const cpu::erased* find_checked(op o, dtype element) noexcept;

}  // namespace wf
