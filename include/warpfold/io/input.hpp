// SPDX-License-Identifier: Apache-2.0
/// \file input.hpp
/// A file, a pipe or bytes in memory: mapped where that can be, else read in bounded pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace wf::io {

/// The bytes of a file, mapped, or of a pipe, read as they come.
class input {
 public:
  /// `-` is standard input. A regular file is mapped. A pipe or socket is read as it comes; so is a
  /// file that cannot be mapped. Anything else (directory, device) throws wf::error (bad_input),
  /// and so does what the system refuses (io).
  static input open(const std::string& path);
  /// Bytes that outlive the input, under a name for messages. Throws nothing.
  static input in_memory(std::span<const std::byte> bytes, std::string name);

  /// The source is then empty.
  input(input&&) noexcept;
  /// The source is then empty.
  input& operator=(input&&) noexcept;
  ~input();

  /// As messages show it: one line, printable.
  const std::string& name() const noexcept { return name_; }

  /// The whole content, if it is in the address space. Throws nothing; reading a mapped file that another process
  /// cuts short raises SIGBUS.
  std::optional<std::span<const std::byte>> bytes() const;

  /// Fills `out`, less only at the end; the bytes that it got. For inputs without `bytes()`. Throws wf::error (io) where the
  /// system refuses.
  std::size_t read(std::span<std::byte> out);

 private:
  input() = default;

  std::string name_;
  int file_ = -1;  // read from if >= 0, and closed if owned
  bool owned_ = false;
  bool present_ = false;                     // bytes_ is the content
  bool mapped_ = false;                      // unmap view_
  std::span<const std::byte> view_, bytes_;  // the mapping, and the part of it that is the content
};

}  // namespace wf::io
