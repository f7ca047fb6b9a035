// SPDX-License-Identifier: Apache-2.0
#include "entries.hpp"
#include "promises.hpp"

#include <warpfold/io/text.hpp>

#include <bit>
#include <charconv>
#include <cmath>

namespace {

using fuzz::require;

/// The value nearest to the text, ties to even.
template <class T>
T read_back(const std::string& text) {
  T x{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), x);
  require(code == std::errc{} && end == text.data() + text.size(), "a number that is none");
  return x;
}

template <class Bits, class T>
void check_number(Bits bits, T value) {
  const std::string text = wf::io::shortest(value);
  require(text.size() <= 24, "a number of many digits");
  for (const char c : text) require(std::strchr("0123456789+-.einfa", c) != nullptr, "a number of other characters");
  if constexpr (sizeof(T) >= 4) {
    const T back = read_back<T>(text);
    require(std::isnan(value) ? std::isnan(back) : std::bit_cast<Bits>(back) == bits, "a number reads back as another");
  } else {
    // A 16-bit float is the nearest to its text among itself and its neighbours.
    const auto as_double = [](Bits b) { return static_cast<double>(static_cast<float>(std::bit_cast<T>(b))); };
    const double x = as_double(bits), told = read_back<double>(text);
    if (std::isnan(x) || std::isinf(x) || x == 0) {
      require(std::isnan(x) ? std::isnan(told) : told == x && std::signbit(told) == std::signbit(x), "a number reads back as another");
      return;
    }
    for (const int step : {-1, 1}) {
      const double near = as_double(static_cast<Bits>(bits + step));
      if (std::isfinite(near)) require(std::fabs(told - x) <= std::fabs(told - near), "a number is nearer to another");
    }
  }
}

}  // namespace

void check_text(std::span<const std::byte> content) {
  fuzz::taker in(content);
  const auto text = fuzz::text_of(content);
  for (int k = 0; k < 8 && !in.empty(); ++k) {
    const auto wide = in.take<std::uint64_t>();
    const auto word = static_cast<std::uint32_t>(wide ^ wide >> 32);
    const auto half = static_cast<std::uint16_t>(word ^ word >> 16);
    check_number(wide, std::bit_cast<double>(wide));
    check_number(word, std::bit_cast<float>(word));
    check_number(half, std::bit_cast<wf::f16>(half));
    check_number(half, std::bit_cast<wf::bf16>(half));
  }
  for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{40}, text.size()})
    fuzz::require_one_line(wf::io::quoted(text, most), true, 4 * std::min(most, text.size()) + 10);
  const std::string name = wf::io::printable_name(text);
  if (!text.empty()) fuzz::require_one_line(name, false, 4 * text.size() + 1);
  require(wf::io::printable_name(name) == name, "a name that is printable is changed");
}
