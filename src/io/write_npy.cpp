// SPDX-License-Identifier: Apache-2.0
#include <warpfold/io/array_file.hpp>

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace wf::io {
namespace {

/// Where a link leads, so that what it names is replaced, and not the link.
std::string without_link(const std::string& path) {
  std::error_code e;
  if (!std::filesystem::is_symlink(path, e)) return path;
  const std::filesystem::path leads = std::filesystem::canonical(path, e);
  return e ? path : leads.string();
}

/// A pipe or a device is written to as it is: renaming a file to its name would remove it.
bool written_in_place(const std::string& path) {
  struct stat found;
  return ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

/// A file that is removed unless it is kept.
class new_file {
 public:
  explicit new_file(const std::string& path)
      : path_(without_link(path)), in_place_(written_in_place(path)), temporary_(in_place_ ? path : path_ + ".part"),
        file_(::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC | (in_place_ ? 0 : O_CREAT | O_EXCL), 0666)) {
    if (file_ < 0) fail(in_place_ ? "cannot be written" : "cannot be created", temporary_);
  }
  ~new_file() {
    if (file_ >= 0) ::close(file_);
    if (!kept_ && !in_place_) ::unlink(temporary_.c_str());
  }
  new_file(const new_file&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("cannot be written", temporary_);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
  void keep() {
    const int file = file_;
    file_ = -1;
    if (::close(file) != 0) fail("cannot be written", temporary_);
    if (!in_place_ && std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be written", path_);
    kept_ = true;
  }

 private:
  [[noreturn]] void fail(const char* what, const std::string& where) const {
    throw error(errc::io, printable_name(where) + ": " + what + ": " + std::strerror(errno));
  }

  std::string path_;
  bool in_place_;
  std::string temporary_;
  int file_;
  bool kept_ = false;
};

}  // namespace

void write_npy(const std::string& path, dtype type, std::span<const std::int64_t> shape,
               std::span<const std::byte> data) {
  const dtype_info& i = info(type);
  if (i.npy.empty())
    throw error(errc::unsupported, printable_name(path) + ": .npy files have no type for " +
                                       std::string(i.name) + "; print it, or ask for --json");
  const char order = i.part == 1 ? '|' : native_order == byte_order::little ? '<' : '>';
  std::string header = std::string("{'descr': '") + order + std::string(i.npy) +
                       "', 'fortran_order': False, 'shape': " +
                       shape_text(std::vector<std::uint64_t>(shape.begin(), shape.end())) + ", }";
  constexpr std::size_t before = 10;  // magic, version, length
  header.resize((before + header.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  header += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);

  new_file file(path);
  file.write(std::as_bytes(std::span(start)));
  file.write(std::as_bytes(std::span(header)));
  file.write(data);
  file.keep();
}

}  // namespace wf::io
