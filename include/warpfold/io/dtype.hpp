// SPDX-License-Identifier: Apache-2.0
/// \file dtype.hpp
/// The element types, for code that learns the type at run time: from a file or a command line.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wf {

// g++ takes the enumerators f16 and bf16 to shadow the types of those names, which they cannot.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// The element types, for code that learns them at run time.
enum class dtype : std::uint8_t {
  f16,      ///< IEEE binary16
  bf16,     ///< the upper half of binary32
  f32,      ///< float
  f64,      ///< double
  i8,       ///< std::int8_t
  i16,      ///< std::int16_t
  i32,      ///< std::int32_t
  i64,      ///< std::int64_t
  u8,       ///< std::uint8_t
  u16,      ///< std::uint16_t
  u32,      ///< std::uint32_t
  u64,      ///< std::uint64_t
  boolean,  ///< a byte; any that is not 0 is true
  c64,      ///< two f32: re, im
  c128      ///< two f64: re, im
};
#pragma GCC diagnostic pop

/// What kind of number an element is.
enum class number_kind : std::uint8_t {
  floating,  ///< f16, bf16, f32, f64
  integer,   ///< i8 to u64, and bool: it counts
  complex    ///< c64, c128
};

/// The properties of an element type.
struct dtype_info {
  std::string_view name;  ///< as on the command line and in JSON
  std::string_view npy;   ///< kind and size in a .npy header, empty where numpy has no such type
  std::size_t size;       ///< bytes of an element
  std::size_t part;       ///< bytes of the unit that is swapped when byte orders differ: half an element if complex
  number_kind kind;       ///< floating, integer or complex
};

/// The properties of each element type, in the order of `dtype`.
inline constexpr auto dtypes = std::to_array<dtype_info>({
    {"f16", "f2", 2, 2, number_kind::floating},
    {"bf16", "", 2, 2, number_kind::floating},
    {"f32", "f4", 4, 4, number_kind::floating},
    {"f64", "f8", 8, 8, number_kind::floating},
    {"i8", "i1", 1, 1, number_kind::integer},
    {"i16", "i2", 2, 2, number_kind::integer},
    {"i32", "i4", 4, 4, number_kind::integer},
    {"i64", "i8", 8, 8, number_kind::integer},
    {"u8", "u1", 1, 1, number_kind::integer},
    {"u16", "u2", 2, 2, number_kind::integer},
    {"u32", "u4", 4, 4, number_kind::integer},
    {"u64", "u8", 8, 8, number_kind::integer},
    {"bool", "b1", 1, 1, number_kind::integer},
    {"c64", "c8", 8, 4, number_kind::complex},
    {"c128", "c16", 16, 8, number_kind::complex},
});

/// The properties of an element type: `info(dtype::f32).size` is 4.
constexpr const dtype_info& info(dtype type) noexcept { return dtypes[static_cast<std::size_t>(type)]; }

/// Bytes of an element; 0 for a value that is no element type.
constexpr std::size_t element_size(dtype type) noexcept { return static_cast<std::size_t>(type) < dtypes.size() ? info(type).size : 0; }

/// What kind of number it is; `integer` for a value that is no element type.
constexpr number_kind kind_of(dtype type) noexcept {
  return static_cast<std::size_t>(type) < dtypes.size() ? info(type).kind : number_kind::integer;
}

/// The type of that name (`f64`, not `f8`: numpy's codes are ambiguous with `i8`), or nothing.
constexpr std::optional<dtype> dtype_named(std::string_view name) noexcept {
  for (std::size_t k = 0; k < dtypes.size(); ++k)
    if (dtypes[k].name == name) return static_cast<dtype>(k);
  return std::nullopt;
}

/// Whether it is c64 or c128.
constexpr bool is_complex(dtype type) noexcept { return kind_of(type) == number_kind::complex; }
/// Whether it is f16, bf16, f32 or f64.
constexpr bool is_floating(dtype type) noexcept { return kind_of(type) == number_kind::floating; }
/// Whether it is one of i8 to u64, or bool: it counts.
constexpr bool is_integer(dtype type) noexcept { return kind_of(type) == number_kind::integer; }

/// The order of the bytes of a number.
enum class byte_order : std::uint8_t {
  little,  ///< the least significant first
  big      ///< the most significant first
};

/// The byte order of this machine.
inline constexpr byte_order native_order =
    std::endian::native == std::endian::little ? byte_order::little : byte_order::big;

}  // namespace wf
