// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "../cpu/exact_run.hpp"
#include "entry.hpp"

namespace wf {

namespace library {
#define WF_OPERATION(name, ...) extern const row name##_exact, name##_fast;
#include <warpfold/operations.def>
}  // namespace library

namespace {

using library::row;

constexpr std::string_view words_of(answer_kind answer) {
  switch (answer) {
    case answer_kind::same: return "T";
    case answer_kind::two: return "two of T";
    case answer_kind::wide: return "T; i64, u64 of integers";
    case answer_kind::real_wide: return "T; i64, u64 of integers; f32, f64 of complex";
    case answer_kind::magnitude: return "T; u64 of integers";
    case answer_kind::mean: return "T; f64 of integers";
    case answer_kind::real_mean: return "T; f64 of integers; f32, f64 of complex";
    case answer_kind::mean_and_var: return "those of mean and var";
    case answer_kind::index: return "i64";
    case answer_kind::flag: return "bool";
  }
  return "";
}

struct line {
  const row* exact;
  const row* fast;
  properties told;
};
constexpr properties told_of(op o) {
  const operation& of = operation_of(o);
  return {of.name, of.of_complex ? "all" : "real", words_of(of.answer)};
}
constexpr line lines[] = {
#define WF_OPERATION(name, ...) {&library::name##_exact, &library::name##_fast, told_of(op::name)},
#include <warpfold/operations.def>
};

}  // namespace

const properties& properties_of(op o) { return lines[static_cast<int>(o)].told; }

std::optional<op> op_named(std::string_view name) {
  if (name == "norm") return op::norm2;
  for (const operation& o : operations)
    if (o.name == name) return o.what;
  return std::nullopt;
}

namespace {

inline const cpu::erased* found(op o, dtype element, accuracy a) noexcept {
  // An enumeration may hold what is none of its names.
  if (static_cast<std::size_t>(o) >= std::size(lines) || static_cast<std::size_t>(element) >= dtypes.size()) return nullptr;
  const line& l = lines[static_cast<int>(o)];
  return (a == accuracy::exact ? *l.exact : *l.fast)[static_cast<std::size_t>(element)];
}

}  // namespace

const cpu::erased* find_builtin(op o, dtype element, accuracy a) noexcept { return found(o, element, a); }

const cpu::erased& builtin(op o, dtype element, accuracy a) {
  if (const cpu::erased* f = found(o, element, a)) return *f;  // not by way of find_builtin, which a shared library may not inline
  if (static_cast<std::size_t>(o) >= std::size(lines))
    throw error(errc::bad_argument, "operation " + std::to_string(static_cast<int>(o)) + "; they are 0 to " + std::to_string(op_count - 1));
  if (static_cast<std::size_t>(element) >= dtypes.size())
    throw error(errc::bad_argument, "element type " + std::to_string(static_cast<int>(element)) + "; they are 0 to " + std::to_string(dtypes.size() - 1));
  const properties& p = properties_of(o);
  throw error(errc::unsupported, std::string(p.name) + ": elements of type " +
                                     std::string(info(element).name) + "; it takes " +
                                     std::string(p.elements) + " types");
}

result_kind result_of_builtin(op o, dtype element) { return result_of_kind(operation_of(o).answer, element); }

namespace cpu {

window_hint& hint_of(term t, bool is_f64) {
  thread_local window_hint hints[term_count][2];
  return hints[static_cast<int>(t)][is_f64];
}

}  // namespace cpu

}  // namespace wf
