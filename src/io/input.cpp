// SPDX-License-Identifier: Apache-2.0
#include <warpfold/io/input.hpp>

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace wf::io {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text, errc code = errc::io) {
  throw error(code, name + ": " + text);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "not a file";
}

}  // namespace

input input::open(const std::string& path) {
  input in;
  in.name_ = path == "-" ? "standard input" : printable_name(path);
  in.owned_ = path != "-";
  struct stat status {};
  // The kind is looked at before opening: opening a device can have effects of its own.
  const auto check = [&](int failed) {
    if (failed) refuse(in.name_, std::string("cannot be opened: ") + std::strerror(errno));
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))
      refuse(in.name_,
             std::string("is ") + kind_of(status.st_mode) + "; a file or a pipe can be read",
             errc::bad_input);
  };
  if (in.owned_) {
    check(::stat(path.c_str(), &status));
    in.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (in.file_ < 0) refuse(in.name_, std::string("cannot be opened: ") + std::strerror(errno));
  } else {
    in.file_ = STDIN_FILENO;
  }
  check(::fstat(in.file_, &status));
  // Files of /proc say that they are empty and are not: a size of 0 is read, not believed.
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return in;

  const off_t position = in.owned_ ? 0 : ::lseek(in.file_, 0, SEEK_CUR);
  if (position < 0 || position >= status.st_size) return in;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* view = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, in.file_, 0);
  if (view == MAP_FAILED) return in;
  ::madvise(view, size, MADV_SEQUENTIAL);
  in.mapped_ = in.present_ = true;
  in.view_ = {static_cast<const std::byte*>(view), size};
  in.bytes_ = in.view_.subspan(static_cast<std::size_t>(position));
  return in;
}

input input::in_memory(std::span<const std::byte> bytes, std::string name) {
  input in;
  in.name_ = std::move(name);
  in.present_ = true;
  in.bytes_ = bytes;
  return in;
}

input::input(input&& other) noexcept { *this = std::move(other); }

input& input::operator=(input&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(file_, other.file_);
  std::swap(owned_, other.owned_);
  std::swap(present_, other.present_);
  std::swap(mapped_, other.mapped_);
  std::swap(view_, other.view_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

input::~input() {
  if (mapped_) ::munmap(const_cast<std::byte*>(view_.data()), view_.size());
  if (owned_ && file_ >= 0) ::close(file_);
}

std::optional<std::span<const std::byte>> input::bytes() const {
  if (!present_) return std::nullopt;
  return bytes_;
}

std::size_t input::read(std::span<std::byte> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t n = ::read(file_, out.data() + filled, out.size() - filled);
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(name_, std::string("cannot be read: ") + std::strerror(errno));
    filled += static_cast<std::size_t>(n);
  }
  return filled;
}

}  // namespace wf::io
