// SPDX-License-Identifier: Apache-2.0
// Writes .npy files for tests; shares no code with the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace npy_writer {

using bytes = std::vector<std::byte>;

inline void append(bytes& to, const void* from, std::size_t n) {
  const auto* p = static_cast<const std::byte*>(from);
  to.insert(to.end(), p, p + n);
}

inline bytes file(int version, const std::string& descr, bool fortran, const std::string& shape,
                  const bytes& data) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  const std::size_t width = version == 1 ? 2 : 4;
  while ((8 + width + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  bytes out;
  append(out, "\x93NUMPY", 6);
  out.push_back(static_cast<std::byte>(version));
  out.push_back(std::byte{0});
  for (std::size_t k = 0; k < width; ++k)
    out.push_back(static_cast<std::byte>(header.size() >> (8 * k)));
  append(out, header.data(), header.size());
  append(out, data.data(), data.size());
  return out;
}

/// The low `size` bytes of `word`, most or least significant first.
inline void append_word(bytes& to, std::uint64_t word, std::size_t size, bool big) {
  for (std::size_t k = 0; k < size; ++k)
    to.push_back(static_cast<std::byte>(word >> (8 * (big ? size - 1 - k : k))));
}

/// A pipe that holds `content` (at most 64 KiB) and ends there; `path` opens it.
struct pipe_of {
  explicit pipe_of(std::span<const std::byte> content) {
    int ends[2] = {-1, -1};
    ok = ::pipe2(ends, O_CLOEXEC) == 0 &&
         ::write(ends[1], content.data(), content.size()) == static_cast<ssize_t>(content.size());
    ::close(ends[1]);
    read_end = ends[0];
    path = "/proc/self/fd/" + std::to_string(read_end);
  }
  ~pipe_of() { ::close(read_end); }
  pipe_of(const pipe_of&) = delete;
  pipe_of& operator=(const pipe_of&) = delete;

  bool ok;
  int read_end;
  std::string path;
};

}  // namespace npy_writer
