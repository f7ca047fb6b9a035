// SPDX-License-Identifier: Apache-2.0
// Elements, answers and MPFR's verdicts of types known at run time only, so that a test of every type is
// compiled once.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <warpfold/builtin.hpp>

#include "../support/exact_families.hpp"

namespace wf::test {

/// The element types of some kinds, in their order.
template <number_kind... Kinds>
constexpr auto types_of() {
  constexpr auto is_one = [](std::size_t k) { return ((dtypes[k].kind == Kinds) || ...); };
  constexpr std::size_t count = [is_one] {
    std::size_t n = 0;
    for (std::size_t k = 0; k < dtypes.size(); ++k) n += is_one(k) ? 1 : 0;
    return n;
  }();
  std::array<dtype, count> all{};
  for (std::size_t k = 0, at = 0; k < dtypes.size(); ++k)
    if (is_one(k)) all[at++] = static_cast<dtype>(k);
  return all;
}
inline constexpr auto float_types = types_of<number_kind::floating>();
inline constexpr auto real_types = types_of<number_kind::floating, number_kind::integer>();

inline std::string name(dtype t) { return std::string(info(t).name); }

/// f.template operator()<T>() of a float type; of others that of double.
template <class F>
auto with_float(dtype t, F f) {
  return detail::with_type(t, [&f]<class T>() { return f.template operator()<std::conditional_t<floating<T>, T, double>>(); });
}

/// The type of a complex number's parts; any other type itself.
constexpr dtype part_of(dtype t) { return t == dtype::c64 ? dtype::f32 : t == dtype::c128 ? dtype::f64 : t; }

struct numbers {
  dtype type;
  std::vector<std::byte> bytes;

  std::int64_t size() const { return static_cast<std::int64_t>(bytes.size() / info(type).size); }
  const void* at(std::int64_t i) const { return bytes.data() + static_cast<std::size_t>(i) * info(type).size; }
};

/// Floats of a family; complex numbers of two such.
numbers make(dtype type, family k, std::int64_t n, generator& random);
/// Random bits of any type, or few different values (kind 1).
numbers random_elements(dtype type, std::int64_t n, generator& random, int kind = 0);
void append(numbers& to, const numbers& more);

/// A float, exactly.
double as_double(dtype type, const void* p);
inline double number(const numbers& x, std::int64_t i) { return as_double(x.type, x.at(i)); }

__extension__ typedef __int128 i128;
/// An integer.
i128 whole(const numbers& x, std::int64_t i);

struct answer {
  result_kind kind;
  std::vector<std::byte> bytes;

  const void* part(int k = 0) const { return bytes.data() + static_cast<std::size_t>(k) * info(kind.type).size; }
  double number(int k = 0) const { return as_double(kind.type, part(k)); }
  i128 whole(int k = 0) const;
  bool operator==(const answer& o) const { return bytes == o.bytes; }
};

struct how {
  context c;
  std::int64_t correction = 0;
};

answer reduce(op o, const numbers& x, const how& h = {});
answer reduce(op o, const numbers& x, const numbers& y, const how& h = {});
/// For n elements wherever they lie; stride in bytes.
answer reduce(op o, dtype type, const void* x, const void* y, std::int64_t n, std::int64_t stride, const how& h);

/// MPFR's answers, as doubles, which hold every float type.
struct verdict {
  double sum, mean, norm1, squares, norm, dot, var, std;
};
verdict judge(const numbers& x, const numbers& y, rounding mode, std::int64_t correction);
/// For complex numbers, part by part.
struct complex_verdict {
  std::complex<double> sum, mean, dot;
  double squares, norm, var, std;
};
complex_verdict judge_complex(const numbers& x, const numbers& y, rounding mode, std::int64_t correction);
/// Part 0 or 1 of each complex number, its sign flipped or not.
numbers parts_of(const numbers& x, int which, bool flipped = false);
/// Sum, dot and variance by the exact core, an element at a time; its own tests hold it against MPFR, which
/// takes too long for many elements.
verdict judge_by_core(const numbers& x, const numbers& y, std::int64_t correction);
double verdict_on(op o, const verdict& v, int part = 0);
inline constexpr op exact_ops[] = {op::sum, op::mean, op::norm1, op::sum_of_squares, op::norm2, op::dot,
                                   op::var, op::std_dev, op::mean_var};

/// Bit for bit; any NaN must be the canonical one.
bool same_number(double got, double want);

}  // namespace wf::test
