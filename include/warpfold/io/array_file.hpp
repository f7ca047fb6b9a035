// SPDX-License-Identifier: Apache-2.0
/// \file array_file.hpp
/// An array in a file: .npy, or raw binary of a type that the caller knows; and .npy files written.
#pragma once

#include <warpfold/io/dtype.hpp>
#include <warpfold/io/input.hpp>
#include <warpfold/io/npy.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace wf::io {

/// What the caller must know of a raw file.
struct raw_format {
  dtype type;                       ///< the elements'
  byte_order order = native_order;  ///< their bytes'
  std::uint64_t offset = 0;         ///< bytes that are skipped; the rest is elements
};

/// Reads elements in the order of the file. Errors are wf::error (bad_input): one line with the
/// file's name, the place in it, and what would be right.
///
///     auto file = wf::io::array_file::open("temperatures.npy");
///     while (true) {
///       const auto bytes = file.next();
///       if (bytes.empty()) break;
///       use(bytes);
///     }
class array_file {
 public:
  /// `path` as for input::open(). A mapped file is checked whole: what the header promises is
  /// there, and nothing more. In a pipe that shows at the end.
  static array_file open(const std::string& path, std::optional<raw_format> raw = {});
  /// The same of an input that is open. Throws wf::error (bad_input).
  static array_file from(input source, std::optional<raw_format> raw = {});

  /// The file's name, as messages show it.
  const std::string& name() const noexcept { return source_.name(); }
  /// In a raw pipe `count` and `shape` are those of what has been read so far.
  const array_layout& layout() const noexcept { return layout_; }
  /// False for a raw pipe until its end.
  bool size_known() const noexcept { return size_known_; }

  /// Whether its bytes are in the address space, so that next() gives them all at once.
  bool mapped() const { return source_.bytes().has_value(); }

  /// The next whole elements as bytes of any alignment, valid until the next call; empty at the
  /// end. All at once if the file is mapped (they are then valid as long as the file is), else
  /// `piece` bytes, and what is left at the end.
  std::span<const std::byte> next();

  /// Bytes that next() reads of a pipe.
  static constexpr std::size_t piece = std::size_t{8} << 20;

 private:
  explicit array_file(input source) : source_(std::move(source)) {}
  void open_npy();
  void open_raw(const raw_format&);
  void check_mapped_size();
  std::span<const std::byte> next_piece();
  void grow_buffer(std::size_t kept);
  [[noreturn]] void refuse(const std::string& text) const;

  input source_;
  array_layout layout_;
  bool size_known_ = true;
  std::uint64_t delivered_ = 0;          // bytes of elements
  std::unique_ptr<std::byte[]> buffer_;  // for pipes; grows with what has come, up to `piece`
  std::size_t capacity_ = 0;
};

/// Writes a C-ordered array of this machine's byte order, format 1.0, by way of a new file beside
/// it that takes its name at the end. Throws wf::error: unsupported (numpy has no bf16), io.
void write_npy(const std::string& path, dtype type, std::span<const std::int64_t> shape,
               std::span<const std::byte> data);

}  // namespace wf::io
