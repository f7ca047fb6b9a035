// SPDX-License-Identifier: Apache-2.0
#include "entries.hpp"
#include "promises.hpp"

#include <warpfold/error.hpp>
#include <warpfold/io/array_file.hpp>
#include <warpfold/io/reduce.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace {

namespace io = wf::io;

using fuzz::require;

void require_one_line(const wf::error& e) {
  require(e.code() == wf::errc::bad_input, "an error that is not bad_input");
  fuzz::require_one_line(e.what());
}

void require_consistent(const io::array_layout& layout, std::size_t file_size) {
  std::uint64_t product = 1;
  for (const std::uint64_t n : layout.shape) product *= n;
  require(product == layout.count, "the count is not the product of the shape");
  require(layout.offset + layout.data_bytes() == file_size, "the data does not fill the file");
}

io::reduced reduce(wf::op o, io::array_file file, bool along_the_first_axis) {
  io::reduce_options options;
  options.context.threads = 1;
  options.check_overflow = true;
  if (along_the_first_axis) options.axes = wf::axis{0};
  return io::reduce(o, file, options);
}

template <class Open>
std::optional<io::reduced> sum_of(Open open, std::size_t file_size) {
  std::optional<io::reduced> result;
  try {
    io::array_file file = open();
    io::reduce_options options;
    options.context.threads = 1;
    options.check_overflow = true;
    result = io::reduce(wf::op::sum, file, options);
    require_consistent(file.layout(), file_size);
    require(result->count == file.layout().count, "not every element was summed");
    require(!io::value_text(result->kind.type, result->value(0)).empty(), "no text");
  } catch (const wf::error& e) {
    require_one_line(e);
    return std::nullopt;
  }
  return result;
}

/// Every other way through the reader: in the order of a Fortran file, along an axis.
void reduce_otherwise(std::span<const std::byte> content, std::optional<io::raw_format> raw) {
  for (const wf::op o : {wf::op::argmax, wf::op::sum}) {
    for (const bool along_axis : {false, true}) {
      try {
        const auto r = reduce(o, io::array_file::from(io::input::in_memory(content, "input"), raw), along_axis);
        require(r.answers() <= content.size() + (std::size_t{1} << 24), "more answers than there can be");
      } catch (const wf::error& e) {
        require(e.code() == wf::errc::bad_argument || e.code() == wf::errc::unsupported,
                "a file that was read is refused");
      }
    }
  }
}

/// The content in a pipe, which must hold it: at most 64 KiB.
std::optional<io::reduced> sum_of_pipe(std::span<const std::byte> content,
                                          std::optional<io::raw_format> raw) {
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC) == 0, "no pipe");
  const ssize_t written = ::write(ends[1], content.data(), content.size());
  require(written == static_cast<ssize_t>(content.size()), "the pipe does not hold the input");
  ::close(ends[1]);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
  const auto result = sum_of([&] { return io::array_file::open(path, raw); }, content.size());
  ::close(ends[0]);
  return result;
}

void check(std::span<const std::byte> content, std::optional<io::raw_format> raw) {
  const auto in_memory = [&] {
    return io::array_file::from(io::input::in_memory(content, "input"), raw);
  };
  const auto mapped = sum_of(in_memory, content.size());
  if (content.size() > 65536) return;
  const auto piped = sum_of_pipe(content, raw);
  require(mapped.has_value() == piped.has_value(), "read one way and refused the other");
  if (!mapped) return;
  require(mapped->values == piped->values && mapped->overflows() == piped->overflows(), "two sums");
  reduce_otherwise(content, raw);
}

}  // namespace

void check_npy(std::span<const std::byte> content) {
  check(content, std::nullopt);
  if (content.empty()) return;
  // The last byte chooses the type and order of the same bytes as raw binary, the one before the
  // offset.
  const auto last = std::to_integer<std::uint64_t>(content.back());
  const auto rest = content.first(content.size() - 1);
  const io::raw_format raw{
      static_cast<wf::dtype>(last % wf::dtypes.size()),
      last & 0x80 ? wf::byte_order::big : wf::byte_order::little,
      1 + (rest.empty() ? 0 : std::to_integer<std::uint64_t>(rest.back()) % 16)};
  check(rest, raw);
}
