// SPDX-License-Identifier: Apache-2.0
#include <warpfold/io/text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace wf::io {
namespace {

/// digits · 10^(exponent − (number of digits − 1)): `exponent` is that of the first digit.
struct decimal {
  std::string digits;
  int exponent;
};

decimal split(std::string_view scientific) {
  const std::size_t e = scientific.find('e');
  decimal d{{}, 0};
  for (const char c : scientific.substr(0, e))
    if (c != '.') d.digits += c;
  std::string_view exponent = scientific.substr(e + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), d.exponent);
  return d;
}

template <class T>
decimal shortest_digits(T positive) {
  std::array<char, 64> buffer;
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), positive,
                                         std::chars_format::scientific);
  return split({buffer.data(), end});
}

/// Whether `d` rounds to the 16-bit float whose neighbours half-way down and up are `low` and
/// `high`. Both are exact in f64, and no decimal of at most five digits lies within an f64 rounding
/// of one without being it, so comparing in f64 is exact.
struct interval {
  double low, high;
  bool ends_belong;  // ties go to the even neighbour

  bool holds(std::uint64_t digits, int exponent) const {
    const std::string text = std::to_string(digits) + "e" + std::to_string(exponent);
    const double x = std::strtod(text.c_str(), nullptr);
    return (low < x && x < high) || (ends_belong && (x == low || x == high));
  }
};

/// to_chars knows no 16-bit floats. Tries 1, 2, … digits: the nearest decimal of that length first,
/// then its neighbours, since below a power of two the interval reaches half as far as above.
decimal shortest_digits(double positive, const interval& wanted) {
  for (int digits = 1;; ++digits) {
    std::array<char, 64> buffer;
    const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), positive,
                                           std::chars_format::scientific, digits - 1);
    const decimal nearest = split({buffer.data(), end});
    const std::uint64_t n = std::stoull(nearest.digits);
    const int exponent = nearest.exponent - (digits - 1);
    for (const std::uint64_t candidate : {n, n + 1, n - 1}) {
      if (candidate == 0 || !wanted.holds(candidate, exponent)) continue;
      std::string text = std::to_string(candidate);
      const int first = exponent + static_cast<int>(text.size()) - 1;
      return {std::move(text), first};
    }
  }
}

/// Appends, where `"0." + text` reads better: g++ 12 warns falsely of that at -O3.
std::string lay_out(bool negative, std::string_view digits, int exponent) {
  while (digits.size() > 1 && digits.back() == '0') digits.remove_suffix(1);
  std::string out;
  if (negative) out += '-';
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out.append(1, '.').append(digits.substr(1));
    const int size = std::abs(exponent);
    out.append(exponent < 0 ? "e-" : "e+").append(size < 10 ? 1 : 0, '0');
    return out.append(std::to_string(size));
  }
  if (exponent < 0)
    return out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return out.append(digits).append(whole - digits.size(), '0');
  return out.append(digits.substr(0, whole)).append(1, '.').append(digits.substr(whole));
}

std::string lay_out(bool negative, const decimal& d) {
  return lay_out(negative, d.digits, d.exponent);
}

template <class T>
std::string shortest_native(T x) {
  if (std::isnan(x)) return "nan";
  const std::string sign = std::signbit(x) ? "-" : "";
  if (std::isinf(x)) return sign + "inf";
  if (x == 0) return sign + "0";
  return lay_out(std::signbit(x), shortest_digits(std::fabs(x)));
}

}  // namespace

/// `mantissa_bits` counts stored bits: 10 in f16, 7 in bf16.
std::string detail::shortest_half(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int special = (1 << exponent_bits) - 1;
  const int biased = static_cast<int>(bits >> mantissa_bits) & special;
  const int stored = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const bool negative = (bits >> (exponent_bits + mantissa_bits) & 1) != 0;
  const std::string sign = negative ? "-" : "";
  if (biased == special) return stored ? "nan" : sign + "inf";
  if (biased == 0 && stored == 0) return sign + "0";

  const int mantissa = biased ? stored | (1 << mantissa_bits) : stored;
  const int exponent = (biased ? biased : 1) - bias - mantissa_bits;
  const bool near_below = stored == 0 && biased > 1;
  const interval wanted{std::ldexp(mantissa - (near_below ? 0.25 : 0.5), exponent),
                        std::ldexp(mantissa + 0.5, exponent), mantissa % 2 == 0};
  return lay_out(negative, shortest_digits(std::ldexp(mantissa, exponent), wanted));
}

namespace {

constexpr char hex[] = "0123456789abcdef";

/// Bytes of the character that `text` starts with; 0 if it is a control character or no UTF-8.
std::size_t printable_character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t k = 1; k < size; ++k)
    if ((byte(k) & 0xc0) != 0x80) return 0;
  // c2 80 to c2 9f are control characters; the others that are left out are overlong, surrogates
  // or beyond U+10FFFF.
  const unsigned char second = byte(1);
  const bool refused = (first == 0xc2 && second < 0xa0) || (first == 0xe0 && second < 0xa0) ||
                       (first == 0xed && second >= 0xa0) || (first == 0xf0 && second < 0x90) ||
                       (first == 0xf4 && second >= 0x90);
  return refused ? 0 : size;
}

void append_escaped(std::string& out, unsigned char c) {
  out += "\\x";
  out += hex[c >> 4];
  out += hex[c & 15];
}

}  // namespace

std::string shortest(double x) { return shortest_native(x); }
std::string shortest(float x) { return shortest_native(x); }

std::string quoted(std::string_view text, std::size_t most) {
  std::string out = "'";
  for (const char c : text.substr(0, most)) {
    if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      append_escaped(out, static_cast<unsigned char>(c));
  }
  return out + (text.size() > most ? "'..." : "'");
}

std::string printable_name(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t size = printable_character(name);
    if (size == 0)
      append_escaped(out, static_cast<unsigned char>(name.front()));
    else
      out += name.substr(0, size);
    name.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

}  // namespace wf::io
