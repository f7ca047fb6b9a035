// SPDX-License-Identifier: Apache-2.0
/// \file npy.hpp
/// The header of a .npy file, formats 1.0, 2.0 and 3.0, as numpy's `lib.format` describes them.
///
/// The header is a Python dictionary in text. It is parsed strictly, never evaluated, and nothing
/// in it sets the size of an allocation: lengths are compared with what the file holds.
#pragma once

#include <warpfold/io/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wf::io {

/// Where an array lies in its file and what it is.
struct array_layout {
  dtype type = dtype::f64;           ///< the elements'
  byte_order order = native_order;   ///< their bytes'
  bool fortran = false;              ///< the first index varies fastest
  std::vector<std::uint64_t> shape;  ///< empty for a single element; `count` is its product
  std::uint64_t count = 0;           ///< elements
  std::uint64_t offset = 0;          ///< the first element's, in bytes from the file's start

  /// Bytes of all elements.
  std::uint64_t data_bytes() const noexcept { return count * info(type).size; }
};

/// A shape as Python writes a tuple: (3, 4), (3,), (). Throws nothing but std::bad_alloc.
std::string shape_text(std::span<const std::uint64_t> shape);

namespace npy {

/// The bytes that tell how long a header is: magic, version, and 2 or 4 bytes of length.
inline constexpr std::size_t prefix_size = 12;
/// A header of one of our types takes under 2 KiB even with 64 dimensions; more is not believed.
inline constexpr std::size_t max_header = std::size_t{1} << 20;
/// More dimensions are refused.
inline constexpr std::size_t max_dimensions = 64;

/// Whether a file that begins with these bytes is a .npy file. Throws nothing.
bool has_magic(std::span<const std::byte> file_start);

/// Bytes before the data. `file_start` holds the first `prefix_size` bytes of the file, fewer only
/// if the file ends there. Throws wf::error (bad_input): not a .npy file, unknown version, too
/// long.
std::size_t header_size(std::span<const std::byte> file_start);

/// Parses a whole header: `header_size()` bytes from the file's start. Throws wf::error (bad_input)
/// with the byte where it went wrong and what would be right there. count · size fits 63 bits.
array_layout parse_header(std::span<const std::byte> header);

}  // namespace npy
}  // namespace wf::io
