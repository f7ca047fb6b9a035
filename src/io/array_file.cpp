// SPDX-License-Identifier: Apache-2.0
#include <warpfold/io/array_file.hpp>

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace wf::io {
namespace {

std::string plural(std::uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// "(3, 4) of f64": at most `npy::max_dimensions` sizes, so one line.
std::string describe(const array_layout& layout) {
  return shape_text(layout.shape) + " of " + std::string(info(layout.type).name);
}

}  // namespace

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "(";
  for (const std::uint64_t n : shape) text += std::to_string(n) + ", ";
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();
  return text + ")";
}

array_file array_file::open(const std::string& path, std::optional<raw_format> raw) {
  return from(input::open(path), raw);
}

array_file array_file::from(input source, std::optional<raw_format> raw) {
  array_file file(std::move(source));
  raw ? file.open_raw(*raw) : file.open_npy();
  return file;
}

void array_file::refuse(const std::string& text) const {
  throw error(errc::bad_input, name() + ": " + text);
}

void array_file::open_npy() {
  const auto named = [this](auto parse, std::span<const std::byte> bytes) {
    try {
      return parse(bytes);
    } catch (const error& e) {
      refuse(e.what());
    }
  };
  if (const auto bytes = source_.bytes()) {
    const std::size_t header =
        named(npy::header_size, bytes->first(std::min(bytes->size(), npy::prefix_size)));
    layout_ = named(npy::parse_header, bytes->first(std::min(bytes->size(), header)));
    check_mapped_size();
    return;
  }
  // A pipe: a byte taken beyond the header would be lost to next(). The prefix never reaches
  // beyond: a header that ends within it has no room for a dictionary and is refused.
  std::array<std::byte, npy::prefix_size> prefix;
  const std::size_t got = source_.read(prefix);
  const std::size_t header = named(npy::header_size, std::span(prefix).first(got));
  // header <= max_header + 12 bytes, and no more is allocated than has come.
  std::vector<std::byte> text(prefix.begin(),
                              prefix.begin() + static_cast<std::ptrdiff_t>(std::min(got, header)));
  while (text.size() < header) {
    const std::size_t before = text.size();
    const std::size_t wanted = std::min<std::size_t>(header - before, 4096);
    text.resize(before + wanted);
    const std::size_t came = source_.read(std::span(text).subspan(before));
    text.resize(before + came);
    if (came < wanted) break;
  }
  layout_ = named(npy::parse_header, text);
}

void array_file::open_raw(const raw_format& raw) {
  layout_.type = raw.type;
  layout_.order = raw.order;
  layout_.offset = raw.offset;
  const std::size_t size = info(raw.type).size;
  if (const auto bytes = source_.bytes()) {
    if (raw.offset == 0 && npy::has_magic(*bytes))
      refuse(
          "is a .npy file, which names its own type; leave --dtype out (or skip its header with "
          "--offset)");
    if (raw.offset > bytes->size())
      refuse("the offset " + std::to_string(raw.offset) + " is past the end; the file has " +
             plural(bytes->size(), "byte"));
    const std::uint64_t left = bytes->size() - raw.offset;
    if (left % size != 0)
      refuse(plural(left, "byte") + (raw.offset ? " after the offset" : "") +
             " are not a multiple of " + std::to_string(size) + ", the size of " +
             std::string(info(raw.type).name));
    layout_.count = left / size;
    layout_.shape = {layout_.count};
    return;
  }
  size_known_ = false;
  layout_.shape = {0};
  grow_buffer(0);
  for (std::uint64_t left = raw.offset; left > 0;) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, capacity_));
    const std::size_t came = source_.read({buffer_.get(), wanted});
    left -= came;
    if (came < wanted)
      refuse("the offset " + std::to_string(raw.offset) + " is past the end; the input has " +
             plural(raw.offset - left, "byte"));
  }
}

void array_file::check_mapped_size() {
  const std::uint64_t there = source_.bytes()->size() - layout_.offset;
  const std::uint64_t promised = layout_.data_bytes();
  if (there == promised) return;
  const std::string rule = "; the shape " + describe(layout_) + " takes " +
                           plural(promised, "byte") + " from byte " +
                           std::to_string(layout_.offset);
  if (there < promised)
    refuse("byte " + std::to_string(source_.bytes()->size()) + ": the data ends after " +
           plural(there, "byte") + rule);
  refuse("byte " + std::to_string(layout_.offset + promised) + ": " +
         plural(there - promised, "byte") + " too many at the end" + rule);
}

std::span<const std::byte> array_file::next() {
  const auto bytes = source_.bytes();
  if (!bytes) return next_piece();
  if (delivered_ != 0) return {};
  delivered_ = layout_.data_bytes();
  return bytes->subspan(static_cast<std::size_t>(layout_.offset),
                        static_cast<std::size_t>(delivered_));
}

/// Small inputs, of which there may be many, should not pay for a large buffer.
void array_file::grow_buffer(std::size_t kept) {
  capacity_ = capacity_ == 0 ? std::size_t{64} << 10 : std::min(piece, 4 * capacity_);
  auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  if (kept != 0) std::memcpy(larger.get(), buffer_.get(), kept);
  buffer_ = std::move(larger);
}

std::span<const std::byte> array_file::next_piece() {
  const std::size_t size = info(layout_.type).size;
  const std::uint64_t left =
      size_known_ ? layout_.data_bytes() - delivered_ : std::numeric_limits<std::uint64_t>::max();
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece));
  std::size_t came = 0;
  for (bool ended = false; came < wanted && !ended;) {
    if (came == capacity_) grow_buffer(came);
    const std::size_t room = std::min(wanted, capacity_) - came;
    const std::size_t more = source_.read({buffer_.get() + came, room});
    came += more;
    ended = more < room;
  }
  delivered_ += came;
  if (size_known_ && came < wanted)
    refuse("the data ends after " + plural(delivered_, "byte") + "; the shape " +
           describe(layout_) + " takes " + plural(layout_.data_bytes(), "byte") + " from byte " +
           std::to_string(layout_.offset));
  if (size_known_ && wanted == 0) {
    std::byte more;
    if (source_.read({&more, 1}) != 0)
      refuse("too many bytes at the end; the shape " + describe(layout_) + " takes " +
             plural(layout_.data_bytes(), "byte") + " from byte " + std::to_string(layout_.offset));
  }
  if (!size_known_) {
    if (came % size != 0)
      refuse(plural(delivered_, "byte") + (layout_.offset ? " after the offset" : "") +
             " are not a multiple of " + std::to_string(size) + ", the size of " +
             std::string(info(layout_.type).name));
    layout_.count = delivered_ / size;
    layout_.shape = {layout_.count};
    size_known_ = came < wanted;
  }
  return {buffer_.get(), came};
}

}  // namespace wf::io
