// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "../cpu/exact_run.hpp"
#include "entry.hpp"

namespace wf {

namespace library {
extern const row sum_exact, sum_fast, mean_exact, mean_fast, norm1_exact, norm1_fast, prod_any,
    var_exact, var_fast, std_exact, std_fast, mean_var_exact, mean_var_fast, squares_exact,
    squares_fast, norm2_exact, norm2_fast, dot_exact, dot_fast, min_any, max_any, minmax_any,
    norm_inf_any, argmin_any, argmax_any, any_any, all_any, count_any, count_nonzero_any, logsumexp_any;
}  // namespace library

namespace {

using library::row;

struct line {
  op o;
  const row* exact;
  const row* fast;
  properties told;

  constexpr line(op which, const row* of_exact, const row* of_fast, std::string_view elements, std::string_view result)
      : o(which), exact(of_exact), fast(of_fast), told{op_names[static_cast<int>(which)], elements, result} {}
};

constexpr std::string_view all_types = "all", reals = "real";
constexpr std::string_view same_or_64 = "T; i64, u64 of integers", same_or_f64 = "T; f64 of integers";
constexpr std::string_view var_types = "T; f64 of integers; f32, f64 of complex";
constexpr std::string_view square_types = "T; i64, u64 of integers; f32, f64 of complex";

const line lines[] = {
    {op::sum, &library::sum_exact, &library::sum_fast, all_types, same_or_64},
    {op::mean, &library::mean_exact, &library::mean_fast, all_types, same_or_f64},
    {op::prod, &library::prod_any, &library::prod_any, all_types, same_or_64},
    {op::var, &library::var_exact, &library::var_fast, all_types, var_types},
    {op::std_dev, &library::std_exact, &library::std_fast, all_types, var_types},
    {op::mean_var, &library::mean_var_exact, &library::mean_var_fast, all_types, "those of mean and var"},
    {op::sum_of_squares, &library::squares_exact, &library::squares_fast, all_types, square_types},
    {op::norm1, &library::norm1_exact, &library::norm1_fast, reals, "T; u64 of integers"},
    {op::norm2, &library::norm2_exact, &library::norm2_fast, all_types, var_types},
    {op::norm_inf, &library::norm_inf_any, &library::norm_inf_any, reals, "T; u64 of integers"},
    {op::dot, &library::dot_exact, &library::dot_fast, all_types, same_or_64},
    {op::min, &library::min_any, &library::min_any, reals, "T"},
    {op::max, &library::max_any, &library::max_any, reals, "T"},
    {op::minmax, &library::minmax_any, &library::minmax_any, reals, "two of T"},
    {op::argmin, &library::argmin_any, &library::argmin_any, reals, "i64"},
    {op::argmax, &library::argmax_any, &library::argmax_any, reals, "i64"},
    {op::any, &library::any_any, &library::any_any, all_types, "bool"},
    {op::all, &library::all_any, &library::all_any, all_types, "bool"},
    {op::count, &library::count_any, &library::count_any, all_types, "i64"},
    {op::count_nonzero, &library::count_nonzero_any, &library::count_nonzero_any, all_types, "i64"},
    {op::logsumexp, &library::logsumexp_any, &library::logsumexp_any, reals, same_or_f64},
};
static_assert(std::size(lines) == op_count);

}  // namespace

const properties& properties_of(op o) { return lines[static_cast<int>(o)].told; }

std::optional<op> op_named(std::string_view name) {
  if (name == "norm") return op::norm2;
  for (const line& l : lines)
    if (l.told.name == name) return l.o;
  return std::nullopt;
}

const cpu::erased* find_builtin(op o, dtype element, accuracy a) noexcept {
  // An enumeration may hold what is none of its names.
  if (static_cast<std::size_t>(o) >= std::size(lines) || static_cast<std::size_t>(element) >= dtypes.size()) return nullptr;
  const line& l = lines[static_cast<int>(o)];
  return (a == accuracy::exact ? *l.exact : *l.fast)[static_cast<std::size_t>(element)];
}

const cpu::erased& builtin(op o, dtype element, accuracy a) {
  if (const cpu::erased* found = find_builtin(o, element, a)) return *found;
  if (static_cast<std::size_t>(o) >= std::size(lines))
    throw error(errc::bad_argument, "operation " + std::to_string(static_cast<int>(o)) + "; they are 0 to " + std::to_string(op_count - 1));
  if (static_cast<std::size_t>(element) >= dtypes.size())
    throw error(errc::bad_argument, "element type " + std::to_string(static_cast<int>(element)) + "; they are 0 to " + std::to_string(dtypes.size() - 1));
  const properties& p = properties_of(o);
  throw error(errc::unsupported, std::string(p.name) + ": elements of type " +
                                     std::string(info(element).name) + "; it takes " +
                                     std::string(p.elements) + " types");
}

result_kind result_of_builtin(op o, dtype element) {
  const bool whole = is_integer(element);
  const bool is_signed = element >= dtype::i8 && element <= dtype::i64;
  const dtype wide = is_signed || element == dtype::boolean ? dtype::i64 : dtype::u64;
  const dtype part = element == dtype::c64 ? dtype::f32 : element == dtype::c128 ? dtype::f64 : element;
  switch (o) {
    case op::sum: case op::prod: case op::dot: return {whole ? wide : element, 1};
    case op::sum_of_squares: return {whole ? wide : part, 1};
    case op::norm1: case op::norm_inf: return {whole ? dtype::u64 : element, 1};
    case op::var: case op::std_dev: case op::norm2: return {whole ? dtype::f64 : part, 1};
    case op::mean: case op::logsumexp: return {whole ? dtype::f64 : element, 1};
    case op::mean_var: return {whole ? dtype::f64 : part, is_complex(element) ? 3 : 2};
    case op::minmax: return {element, 2};
    case op::min: case op::max: return {element, 1};
    case op::any: case op::all: return {dtype::boolean, 1};
    case op::argmin: case op::argmax: case op::count: case op::count_nonzero: break;
  }
  return {dtype::i64, 1};
}

namespace cpu {

window_hint& hint_of(term t, bool is_f64) {
  thread_local window_hint hints[term_count][2];
  return hints[static_cast<int>(t)][is_f64];
}

}  // namespace cpu

}  // namespace wf
