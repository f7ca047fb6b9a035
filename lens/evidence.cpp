// SPDX-License-Identifier: Apache-2.0
#include "evidence.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace lens {
namespace {

constexpr number_types candidates[] = {
    {number::f32, number::f32}, {number::f64, number::f64},   {number::i32, number::i32}, {number::u32, number::u32},
    {number::i64, number::i64}, {number::u64, number::u64},   {number::f16, number::f16}, {number::bf16, number::bf16},
    {number::f32, number::f16}, {number::f32, number::bf16},  {number::f64, number::f32}, {number::i64, number::i32},
    {number::u64, number::u32},
};
constexpr std::size_t operations = 7;

/// Each is looked at under every type and operation.
constexpr std::size_t most_operands = 64;

constexpr bool is_float(number t) { return t <= number::bf16; }

/// The distance between numbers around 1.
constexpr double unit_of(number t) {
  switch (t) {
    case number::f64: return 0x1p-52;
    case number::f16: return 0x1p-10;
    case number::bf16: return 0x1p-7;
    default: return 0x1p-23;
  }
}

double half_value(std::uint64_t bits) {
  const double sign = bits >> 15 & 1u ? -1 : 1;
  const auto exponent = static_cast<int>(bits >> 10 & 31u), digits = static_cast<int>(bits & 1023u);
  if (exponent == 31) return digits != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(1024 + digits, exponent - 25));
}

double float_value(number t, std::uint64_t bits) {
  switch (t) {
    case number::f64: return std::bit_cast<double>(bits);
    case number::f16: return half_value(bits & 0xFFFFu);
    case number::bf16: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0xFFFFu) << 16));
    default: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
}

std::uint64_t whole_value(number t, std::uint64_t bits) {
  switch (t) {
    case number::i32: return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))));
    case number::u32: return bits & 0xFFFFFFFFu;
    default: return bits;
  }
}

/// As stored in the type. Of bf16 not ties' even one, which the tolerance has room for.
double rounded(number t, double x) {
  if (t == number::f64 || !std::isfinite(x) || x == 0) return x;
  if (t == number::f32) return static_cast<double>(static_cast<float>(x));
  const int least = t == number::f16 ? -24 : -133, digits = t == number::f16 ? 11 : 8;
  const int step = std::max(std::ilogb(x) - digits + 1, least);
  return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
}

template <class T>
T applied(combination how, T a, T b) {
  switch (how) {
    case combination::greatest: return a < b ? b : a;
    case combination::least: return b < a ? b : a;
    case combination::product: return a * b;
    default: return a + b;
  }
}

std::uint64_t applied_to_bits(combination how, number t, std::uint64_t a, std::uint64_t b) {
  if (how == combination::bit_and) return a & b;
  if (how == combination::bit_or) return a | b;
  if (how == combination::bit_xor) return a ^ b;
  if (t == number::i32 || t == number::i64)
    if (how == combination::greatest || how == combination::least)
      return static_cast<std::uint64_t>(applied(how, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
  return applied(how, a, b);
}

bool fits(number t, const seen_value& v) {
  if (!v.is_known) return false;
  if (v.size != 0) return v.size == size_of(t);
  return size_of(t) == 8 || v.bits[0] >> (8 * size_of(t)) == 0;  // other lanes' values come as 8 bytes
}

/// Calls each(number, bits) for the operands' elements; false if one is of another type.
template <class Each>
bool each_element(number_types types, std::span<const operand_value> operands, const Each& each) {
  for (const operand_value& o : operands) {
    if (!o.is_load) {
      if (!fits(types.sum, o.seen)) return false;
      each(types.sum, o.seen.bits[0]);
      continue;
    }
    const unsigned size = size_of(types.element);
    if (!o.seen.is_known || o.seen.size % size != 0) return false;
    for (unsigned at = 0; at < o.seen.size; at += size) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, reinterpret_cast<const char*>(o.seen.bits.data()) + at, size);
      each(types.element, bits);
    }
  }
  return true;
}

std::optional<double> distance_of_floats(number_types types, combination how, std::span<const operand_value> operands, const seen_value& result) {
  if (how > combination::product) return {};
  double exact = 0, in_order = 0, magnitude = 0;
  unsigned count = 0;
  const bool known = each_element(types, operands, [&](number t, std::uint64_t bits) {
    const double x = float_value(t, bits);
    magnitude = how == combination::product ? std::abs(count == 0 ? x : magnitude * x) : magnitude + std::abs(x);
    exact = count == 0 ? x : applied(how, exact, x);
    in_order = count == 0 ? x : rounded(types.sum, applied(how, in_order, x));
    ++count;
  });
  if (!known || count == 0) return {};
  const double there = float_value(types.sum, result.bits[0]);
  if (there == in_order || (std::isnan(there) && std::isnan(in_order))) return 0;
  if (how == combination::greatest || how == combination::least) return {};
  const double off = std::abs(there - exact);
  // Each of the additions rounds by half a unit of what is added up at most.
  return off <= count * unit_of(types.sum) * magnitude ? std::optional(off) : std::nullopt;
}

std::optional<double> distance_of_wholes(number_types types, combination how, std::span<const operand_value> operands, const seen_value& result) {
  std::uint64_t all = 0;
  unsigned count = 0;
  const bool known = each_element(types, operands, [&](number t, std::uint64_t bits) {
    const std::uint64_t x = whole_value(t, bits);
    all = count++ == 0 ? x : applied_to_bits(how, types.sum, all, x);
  });
  if (!known || count == 0) return {};
  return whole_value(types.sum, all) == whole_value(types.sum, result.bits[0]) ? std::optional(0.0) : std::nullopt;
}

}  // namespace

std::optional<double> distance(number_types types, combination how, std::span<const operand_value> operands, const seen_value& result) {
  if (how == combination::other || !fits(types.sum, result)) return {};
  return is_float(types.sum) ? distance_of_floats(types, how, operands, result) : distance_of_wholes(types, how, operands, result);
}

double combined(number_types types, combination how, std::span<const operand_value> operands) {
  double all = 0;
  bool is_first = true;
  each_element(types, operands, [&](number t, std::uint64_t bits) {
    const double x = is_float(t) ? float_value(t, bits) : static_cast<double>(static_cast<std::int64_t>(whole_value(t, bits)));
    all = std::exchange(is_first, false) ? x : applied(how, all, x);
  });
  return all;
}

std::optional<whole> exact_sum(number_types types, std::span<const operand_value> operands) {
  std::optional<whole> all = whole();
  const bool known = each_element(types, operands, [&](number t, std::uint64_t bits) {
    const auto x = is_float(t) ? whole::of(float_value(t, bits)) : whole(static_cast<std::int64_t>(whole_value(t, bits)), 0);
    all = all && x ? all->plus(*x) : std::nullopt;
  });
  return known ? all : std::nullopt;
}

bool is_rounded(number_types types, const whole& x, const seen_value& result) {
  const number t = result.size == size_of(types.sum) ? types.sum : types.element;
  if (!result.is_known || result.size != size_of(t)) return false;
  if (!is_float(t)) {
    const auto units = x.in_units_of(0);
    return units && whole_value(t, static_cast<std::uint64_t>(*units)) == whole_value(t, result.bits[0]);
  }
  const int digits = 1 - std::ilogb(unit_of(t));
  constexpr int least_exponent[] = {-149, -1074, -24, -133};  // as number has the floats
  return x.rounded(digits, least_exponent[static_cast<std::size_t>(t)]) == float_value(t, result.bits[0]);
}

evidence::evidence(std::optional<number_types> known) : is_known_(known.has_value()) {
  if (known) best_ = static_cast<std::size_t>(std::find(std::begin(candidates), std::end(candidates), *known) - std::begin(candidates));
}

void evidence::vote(const source_place& where, std::span<const operand_value> operands, const seen_value& result) {
  if (operands.size() > most_operands) return;
  if (operands.size() == 1) {  // which tells of types alone
    for (std::size_t k = 0; k < std::size(candidates); ++k) copies_[k] += distance(candidates[k], combination::add, operands, result).has_value();
    return;
  }
  score& s = scores_[where];
  ++s.asked;
  for (std::size_t k = 0; k < std::size(candidates); ++k)
    for (std::size_t how = 0; how < operations; ++how) {
      if (!distance(candidates[k], static_cast<combination>(how), operands, result)) continue;
      ++s.votes[k][how];
      s.kept[k][how] += operands[0].seen.has_bits_of(result);
    }
}

void evidence::decide() {
  std::array<std::uint64_t, std::size(candidates)> sums = copies_;
  for (const auto& [where, s] : scores_)
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += *std::max_element(s.votes[k].begin(), s.votes[k].end());
  if (is_known_) return;
  best_ = static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  for (std::size_t k = 0; prefers_wholes_ && is_float(candidates[best_].sum) && k < sums.size(); ++k)
    if (sums[k] == sums[best_] && !is_float(candidates[k].sum)) best_ = k;
}

number_types evidence::types() const { return candidates[best_]; }

combination evidence::at(const source_place& where) const {
  const auto found = scores_.find(where);
  if (found == scores_.end()) return combination::add;
  auto votes = found->second.votes[best_];
  // The greater of two is one of them: what is always the same one was perhaps not compared at all.
  for (const combination how : {combination::greatest, combination::least, combination::bit_and, combination::bit_or}) {
    const auto k = static_cast<std::size_t>(how);
    const unsigned kept = found->second.kept[best_][k];
    if (kept == 0 || kept == votes[k]) votes[k] = 0;
  }
  const auto most = std::max_element(votes.begin(), votes.end());
  // Lanes that part take some, but not all, of what they are sent.
  return *most * 8 < found->second.asked ? combination::other : static_cast<combination>(most - votes.begin());
}

}  // namespace lens
