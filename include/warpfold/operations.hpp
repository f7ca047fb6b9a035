// SPDX-License-Identifier: Apache-2.0
/// \file operations.hpp
/// The operations, and what the table of them (operations.def) says, at compile time.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <warpfold/io/dtype.hpp>

namespace wf {

#define WF_OPERATION(name, ...) name,
/// The operations: `wf::op::NAME` for each row of operations.def, which has the formulas. docs/reductions.md says what
/// each takes, and what it answers for no elements and for NaN.
enum class op : std::uint8_t {
#include <warpfold/operations.def>
};

namespace detail {
/// A function of the library, such as wf::sum, whose type names its operation.
template <class F>
concept names_operation = requires { F::operation; };
}  // namespace detail

/// What the states of an operation are. It decides which kernels, checks of states and messages are used.
enum class state_kind : std::uint8_t {
  sums,       ///< Σx or Σ|x|
  dots,       ///< Σxy or Σ|x|²
  moments,    ///< Σx and Σ|x|²
  product,    ///< Πx
  extremes,   ///< the least and the greatest key
  places,     ///< a key and the index of the first that has it
  nonzeros,   ///< the number of elements that are not zero
  count,      ///< n
  logsumexp,  ///< the greatest x, and Σexp of the differences from it
  own         ///< any other: GPUs use the CPU's arithmetic for it
};

/// The type of an operation's answer for elements of T.
enum class answer_kind : std::uint8_t {
  same,          ///< T
  two,           ///< two of T
  wide,          ///< T; i64 or u64 for integers
  real_wide,     ///< as wide, but real for complex T
  magnitude,     ///< T; u64 for integers
  mean,          ///< T; f64 for integers
  real_mean,     ///< as mean, but real for complex T
  mean_and_var,  ///< mean and real_mean
  index,         ///< i64
  flag           ///< bool
};

/// A row of the table of operations.
struct operation {
  op what;                ///< which
  std::string_view name;     ///< its name on the command line and in Python
  std::string_view summary;  ///< one line that says what it answers
  int inputs;             ///< 1, or 2 of one shape and type
  bool of_complex;        ///< takes complex numbers too
  state_kind state;       ///< what its states are
  answer_kind answer;     ///< the type of its answers
  bool wraps;             ///< answers of integers are taken mod 2^64
};

namespace detail {

// The words of a row.
namespace words {
inline constexpr bool real = false, element = true, fits = false, wraps = true;
}

}  // namespace detail

/// The table of operations, in the order of `op`.
inline constexpr operation operations[] = {
#define WF_OPERATION(name, c, text, summary, inputs, elements, state, answer, overflow, ...) \
  {op::name, text, summary, inputs, detail::words::elements, state_kind::state, answer_kind::answer, detail::words::overflow},
#include <warpfold/operations.def>
};
/// How many operations there are.
inline constexpr int op_count = sizeof operations / sizeof operations[0];

namespace detail {

/// What an enumeration may hold that is none of its names.
inline constexpr operation no_operation{static_cast<op>(255), "no operation", "", 1, false, state_kind::own, answer_kind::index, false};

}  // namespace detail

/// The row of an operation.
constexpr const operation& operation_of(op o) noexcept {
  return static_cast<int>(o) < op_count ? operations[static_cast<int>(o)] : detail::no_operation;
}

/// The operations' names, in the order of `op`: those of the command line and of Python. `std_dev` is "std".
inline constexpr const char* op_names[op_count] = {
#define WF_OPERATION(name, c, text, ...) text,
#include <warpfold/operations.def>
};

/// Inputs that the operation takes: 2 for dot, else 1.
constexpr int inputs_of(op what) noexcept { return operation_of(what).inputs; }

/// What an operation yields: `values` numbers of type `type` (2 for mean_var and minmax; 3 for mean_var of
/// complex numbers: the mean's real and imaginary part, and the variance).
struct result_kind {
  dtype type;  ///< each number's
  int values;  ///< numbers of an answer: 1, 2 or 3
};
/// The type of an answer of that kind for elements of a type.
constexpr result_kind result_of_kind(answer_kind answer, dtype element) noexcept {
  const bool whole = is_integer(element), with_sign = (element >= dtype::i8 && element <= dtype::i64) || element == dtype::boolean;
  const dtype wide = !whole ? element : with_sign ? dtype::i64 : dtype::u64;
  const dtype part = element == dtype::c64 ? dtype::f32 : element == dtype::c128 ? dtype::f64 : element;
  switch (answer) {
    case answer_kind::same: return {element, 1};
    case answer_kind::two: return {element, 2};
    case answer_kind::wide: return {wide, 1};
    case answer_kind::real_wide: return {whole ? wide : part, 1};
    case answer_kind::magnitude: return {whole ? dtype::u64 : element, 1};
    case answer_kind::mean: return {whole ? dtype::f64 : element, 1};
    case answer_kind::real_mean: return {whole ? dtype::f64 : part, 1};
    case answer_kind::mean_and_var: return {whole ? dtype::f64 : part, is_complex(element) ? 3 : 2};
    case answer_kind::flag: return {dtype::boolean, 1};
    case answer_kind::index: break;
  }
  return {dtype::i64, 1};
}

}  // namespace wf
