// SPDX-License-Identifier: Apache-2.0
/// \file evidence.hpp
/// What the bits of values tell: of which type they are, and which operation made one out of others. A drawing
/// says "add" only where the numbers add up.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "counting.hpp"
#include "whole.hpp"

namespace lens {

/// Up to 16 bytes as they were loaded, stored or sent to another lane.
struct seen_value {
  std::array<std::uint64_t, 2> bits{};
  unsigned size = 0;     ///< bytes; 0: up to 8, how many is not known
  bool is_known = false;
  bool is_zero() const { return is_known && bits[0] == 0 && bits[1] == 0; }
  bool has_bits_of(const seen_value& v) const { return is_known && v.is_known && bits == v.bits; }
};

enum class combination : std::uint8_t { add, greatest, least, product, bit_and, bit_or, bit_xor, other };
enum class number : std::uint8_t { f32, f64, f16, bf16, i32, u32, i64, u64 };

constexpr unsigned size_of(number t) {
  switch (t) {
    case number::f64:
    case number::i64:
    case number::u64: return 8;
    case number::f16:
    case number::bf16: return 2;
    default: return 4;
  }
}

/// What a kernel computes with, and what it loads from global memory: sums of halves are floats.
struct number_types {
  number sum = number::f32, element = number::f32;
  bool operator==(const number_types&) const = default;
};

/// An operand; loads may hold several elements, all of which are.
struct operand_value {
  seen_value seen;
  bool is_load = false;
};

/// How far `result` is from what the operation makes of the operands, 0 if their order of additions gives it to the
/// last bit; none if it is no such thing.
std::optional<double> distance(number_types, combination, std::span<const operand_value>, const seen_value& result);

/// The operands' sum, product, …, as far as a double holds it.
double combined(number_types, combination, std::span<const operand_value>);

/// The operands' sum, exactly; none where one is of another type, or not finite, or 127 bits do not hold it.
std::optional<whole> exact_sum(number_types, std::span<const operand_value>);
/// Whether these are the bits of the number, rounded once to the type of sums, or of elements where that has their size.
bool is_rounded(number_types, const whole&, const seen_value& result);

/// Votes of all values that were seen to be made of others. A single one is a load that went on as it was.
class evidence {
 public:
  /// The types are known, or not.
  explicit evidence(std::optional<number_types> known = {});
  void vote(const source_place&, std::span<const operand_value>, const seen_value& result);
  /// Lanes reduce words: where whole numbers and floats have as many votes, they are whole.
  void have_reduced_words() { prefers_wholes_ = true; }
  /// The types of most votes are taken, operations are chosen line by line.
  void decide();
  number_types types() const;
  /// `add` where nothing was seen, `other` where nothing explains what was.
  combination at(const source_place&) const;

 private:
  struct score {
    unsigned asked = 0;
    std::array<std::array<unsigned, 7>, 13> votes{}, kept{};  // the votes where the result is the first operand
  };
  bool is_known_, prefers_wholes_ = false;
  std::map<source_place, score> scores_;
  std::array<std::uint64_t, 13> copies_{};
  std::size_t best_ = 0;
};

}  // namespace lens
