// SPDX-License-Identifier: Apache-2.0
/// \file text.hpp
/// Numbers as text, and untrusted text in messages. Nothing here throws but std::bad_alloc.
#pragma once

#include <warpfold/half.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace wf::io {

/// The fewest digits that read back as the same value of the same type; of those the nearest to it.
/// Written out from 1e-4 up to 1e16, else with an exponent: 0.1, 100000, 1e+22, -0, inf, -inf, nan.
std::string shortest(double x);
/// The same of a float.
std::string shortest(float x);
namespace detail {
std::string shortest_half(std::uint32_t bits, int exponent_bits, int mantissa_bits);
}  // namespace detail
/// The same of an f16 or a bf16.
template <class Format>
std::string shortest(exact::half_float<Format> x) {
  return detail::shortest_half(x.bits, Format::exponent_bits, Format::mantissa_bits);
}

/// Text from outside on one line: at most `most` bytes in single quotes, anything but printable
/// ASCII as `\xNN`. For what a file holds, so that a file cannot write control sequences to a
/// terminal.
std::string quoted(std::string_view text, std::size_t most = 40);

/// A file's name on one line: UTF-8 as it is, control characters and other bytes as `\xNN`.
std::string printable_name(std::string_view name);

}  // namespace wf::io
