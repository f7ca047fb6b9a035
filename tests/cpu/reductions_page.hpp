// SPDX-License-Identifier: Apache-2.0
// docs/reductions.md, made from what the library's types declare of floats.
#pragma once

#include <string>

#include <warpfold/builtin.hpp>

namespace wf::test {

inline std::string elements_of(op o) {
  const auto takes = [o](dtype d) { return find_builtin(o, d, accuracy::exact) != nullptr; };
  if (takes(dtype::c64)) return "all";
  return takes(dtype::i8) ? "real" : "none";
}

/// For no elements of floats and of integers.
inline std::string words(declaration::nothing empty, std::string_view answer) {
  using enum declaration::nothing;
  const bool of_integers_too = answer == "T";
  switch (empty) {
    case zero: return answer == "bool" ? "false" : answer == "i64" ? "0" : "+0";
    case one: return answer == "bool" ? "true" : "1";
    case minus_one: return "-1";
    case nan: return "NaN";
    case least: return of_integers_too ? "-inf; the least integer" : "-inf";
    case greatest: return of_integers_too ? "+inf; the greatest integer" : "+inf";
    case greatest_and_least: return "those of min and max";
  }
  return "";
}

inline std::string words(declaration::nans nan) {
  using enum declaration::nans;
  switch (nan) {
    case none: return "";
    case win: return "NaN";
    case are_found: return "the first NaN's index";
    case are_not_zero: return "not zero";
    case are_counted: return "counts";
  }
  return "";
}

inline std::string words(declaration::rounds rounding) {
  using enum declaration::rounds;
  return rounding == never ? "exact" : rounding == once ? "rounded once" : "native";
}

inline std::string reductions_page() {
  std::string page =
      "<!-- Made by tests/cpu/reductions_page from what the library's types declare; a test compares them. -->\n"
      "# Reductions\n\n"
      "| reduction | elements | answer | of nothing | a NaN | `accuracy::exact` | commutes |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (int k = 0; k < op_count; ++k) {
    const op o = static_cast<op>(k);
    const properties& p = properties_of(o);
    const cpu::erased& of_f64 = builtin(o, dtype::f64, accuracy::exact);
    const declaration& told = *of_f64.declares;
    page += "| `" + std::string(p.name) + "` | " + elements_of(o) + " | " + std::string(p.result) + " | " +
            words(told.empty, p.result) + " | " + words(told.nan) + " | " + words(told.rounding) + " | " +
            (of_f64.commutes ? "yes" : "no") + " |\n";
  }
  page +=
      "\n"
      "- **elements**: `real` is f16, bf16, f32, f64, i8 … i64, u8 … u64 and bool; `all` adds c64 and c128, whose parts\n"
      "  are summed apart; their `var` is E|x - E x|², `sum_of_squares` Σ|x|² and `dot` Σxy, as NumPy has them: nothing is\n"
      "  conjugated. T is the element type.\n"
      "- **answer**: sums of integers are taken mod 2^64; bool counts in i64. In C++, `norm2` is `wf::norm` and `std`\n"
      "  is `wf::std_dev`.\n"
      "- **of nothing**: what a reduction begins with, so that parts can be put together and one may be empty. The program\n"
      "  `warpfold` refuses `min`, `max`, `minmax`, `argmin` and `argmax` of nothing ([cli.md](cli.md)), as NumPy does.\n"
      "- **a NaN**: `NaN`: the answer is NaN, the one canonical quiet NaN. `not zero`: it counts as a value other than\n"
      "  zero. Infinities follow IEEE 754.\n"
      "- **exact**: `rounded once`: the true value of the formula, rounded once to T; of integers, the value itself\n"
      "  (mod 2^64) or that rounded once to f64. `native`: computed in f64 in a fixed order; not exact under\n"
      "  either accuracy. `exact`: nothing is rounded.\n"
      "- **commutes**: the order of elements cannot change the answer. Where it can, elements keep their order at\n"
      "  every level, for any number of threads.\n"
      "- Zeros: sums of nothing but -0 are -0; `min` and `max` hold -0 to be below +0, so their answer does not depend\n"
      "  on the order; `argmin` and `argmax` take zeros as equal and answer with the first.\n"
      "- Overflow: sums, products, dots, `sum_of_squares` and `norm1` of integers are answered mod 2^64. `wf::checked_sum`,\n"
      "  `checked_prod`, `checked_dot`, `checked_sum_of_squares` and `checked_norm1` (in C `wf_reduce_checked`) also say\n"
      "  whether the true answer fits 64 bits. `norm2` of integers cannot overflow.\n"
      "- `var` and `std` divide by n less the correction, 0 unless told; they are NaN where that is not positive, and\n"
      "  where an element is infinite.\n"
      "- `fast` and `native` give the same bits on every run, for any number of threads, with every CPU instruction set,\n"
      "  and whatever rounding mode the caller's thread has.\n";
  return page;
}

}  // namespace wf::test
