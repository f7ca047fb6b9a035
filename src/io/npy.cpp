// SPDX-License-Identifier: Apache-2.0
#include <warpfold/io/npy.hpp>

#include <warpfold/error.hpp>
#include <warpfold/io/text.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace wf::io::npy {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t magic_and_version = 8;

[[noreturn]] void refuse(std::size_t at, const std::string& text) {
  throw error(errc::bad_input, "byte " + std::to_string(at) + ": " + text);
}

std::string_view characters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

unsigned value(std::byte b) { return std::to_integer<unsigned>(b); }

/// A cursor over the dictionary. Positions in messages count from the start of the file.
class dictionary {
 public:
  dictionary(std::string_view text, std::size_t start, bool python2)
      : text_(text), start_(start), python2_(python2) {}

  array_layout parse() {
    expect('{', "the header must be a dictionary");
    while (!take('}')) {
      const std::size_t key_at = here();
      const std::string_view key = string("a key: 'descr', 'fortran_order' or 'shape'");
      expect(':', "after a key comes ':'");
      if (key == "descr") {
        once(seen_descr_, key, key_at);
        descr();
      } else if (key == "fortran_order") {
        once(seen_order_, key, key_at);
        fortran_order();
      } else if (key == "shape") {
        once(seen_shape_, key, key_at);
        shape();
      } else
        refuse(key_at, "unknown key " + quoted(key) +
                           "; the keys are 'descr', 'fortran_order' and 'shape'");
      if (take(',')) continue;
      expect('}', "after a value comes ',' or '}'");
      break;
    }
    skip_space();
    if (at_ != text_.size())
      refuse(here(), "something follows the header's dictionary: " + quoted(text_.substr(at_)) +
                         "; only spaces and a newline may");
    if (!seen_descr_) missing("descr");
    if (!seen_order_) missing("fortran_order");
    if (!seen_shape_) missing("shape");
    check_size();
    return layout_;
  }

 private:
  std::size_t here() const { return start_ + at_; }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c, const char* rule) {
    if (!take(c)) refuse(here(), "found " + found() + "; " + rule);
  }

  std::string found() const {
    return at_ == text_.size() ? std::string("the header's end") : quoted(text_.substr(at_, 16));
  }

  void once(bool& seen, std::string_view key, std::size_t key_at) {
    if (seen) refuse(key_at, "key " + quoted(key) + " is there twice; it must be there once");
    seen = true;
  }

  void missing(const char* key) {
    refuse(start_, std::string("the header lacks '") + key +
                       "'; it must have 'descr', 'fortran_order' and 'shape'");
  }

  /// No escapes: no key and no numeric type needs one.
  std::string_view string(const char* wanted) {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse(here(), "found " + found() + "; expected " + wanted);
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) refuse(here(), "a string is not closed: " + found());
    const std::string_view body = text_.substr(at_ + 1, end - at_ - 1);
    if (body.find('\\') != body.npos)
      refuse(here(), "a backslash in " + quoted(body) + "; no key or type has one");
    at_ = end + 1;
    return body;
  }

  bool word(std::string_view expected) {
    skip_space();
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }

  void fortran_order() {
    if (word("True"))
      layout_.fortran = true;
    else if (!word("False"))
      refuse(here(), "found " + found() + "; 'fortran_order' must be True or False");
  }

  void descr() {
    skip_space();
    descr_at_ = here();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      refuse(descr_at_,
             "the elements are records (a structured dtype); save one field, a numeric array, "
             "instead");
    const std::string_view text = string("a type such as '<f8'");
    const auto wrong = [&](const std::string& why) {
      refuse(descr_at_, "type " + quoted(text) + " " + why);
    };
    if (text.size() < 2) wrong("is not one; a type looks like '<f8'");
    const char mark = text[0];
    if (mark != '<' && mark != '>' && mark != '=' && mark != '|')
      wrong("has no byte order; '<', '>', '=' or '|' must come first");
    const std::string_view code = text.substr(1);
    if (code[0] == 'O') wrong("means Python objects; save the array with a numeric dtype");
    if (code == "V2")
      wrong(
          "is 2 bytes of no known meaning; if they are bf16, save the bytes alone and give --dtype "
          "bf16");
    for (std::size_t k = 0; k < dtypes.size(); ++k) {
      if (dtypes[k].npy != code) continue;  // bf16's empty code equals none: code is not empty
      layout_.type = static_cast<dtype>(k);
      layout_.order = mark == '<'   ? byte_order::little
                      : mark == '>' ? byte_order::big
                                    : native_order;
      return;
    }
    wrong("cannot be reduced; b1, i1 to i8, u1 to u8, f2, f4, f8, c8 and c16 can");
  }

  void shape() {
    skip_space();
    shape_at_ = here();
    const char* rule = "'shape' must be a tuple of sizes such as (), (3,) or (3, 4)";
    expect('(', rule);
    bool comma = true;
    while (!take(')')) {
      if (!comma) refuse(here(), "found " + found() + "; " + rule);
      if (layout_.shape.size() == max_dimensions)
        refuse(here(), "the shape has more than " + std::to_string(max_dimensions) + " dimensions");
      layout_.shape.push_back(size());
      comma = take(',');
    }
    if (layout_.shape.size() == 1 && !comma)
      refuse(shape_at_, std::string("(n) is no tuple in Python; ") + rule);
  }

  std::uint64_t size() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '-')
      refuse(here(), "a size in the shape is negative: " + found() + "; sizes are 0 or more");
    const std::size_t first = at_;
    std::uint64_t n = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const unsigned digit = static_cast<unsigned>(text_[at_] - '0');
      if (n > (limit - digit) / 10)
        refuse(start_ + first, "a size in the shape does not fit 63 bits");
      n = n * 10 + digit;
      ++at_;
    }
    if (at_ == first) refuse(here(), "found " + found() + "; a size is a decimal number");
    if (text_[first] == '0' && at_ - first > 1)
      refuse(start_ + first, "a size in the shape starts with 0; write it without");
    // Python 2 wrote its long integers so.
    if (python2_ && at_ < text_.size() && text_[at_] == 'L') ++at_;
    return n;
  }

  /// Zeros do not hide an overflow: strides are products of the other sizes.
  void check_size() {
    std::uint64_t bytes = info(layout_.type).size;
    bool empty = false;
    for (const std::uint64_t n : layout_.shape) {
      if (n == 0) {
        empty = true;
        continue;
      }
      if (bytes > limit / n)
        refuse(shape_at_, "the shape's sizes multiplied do not fit 63 bits: no file holds so much");
      bytes *= n;
    }
    layout_.count = empty ? 0 : bytes / info(layout_.type).size;
  }

  static constexpr std::uint64_t limit = std::numeric_limits<std::int64_t>::max();

  std::string_view text_;
  std::size_t start_;
  bool python2_;
  std::size_t at_ = 0;
  std::size_t descr_at_ = 0, shape_at_ = 0;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
  array_layout layout_;
};

/// What the first bytes are known to begin, or text; else empty. Of none of these is --dtype the cure.
std::string kind_of_file(std::span<const std::byte> file_start) {
  const std::string_view start = characters(file_start);
  using namespace std::string_view_literals;
  static constexpr std::pair<std::string_view, const char*> known[] = {
      {"\x1f\x8b"sv, "a file compressed by gzip"}, {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"}, {"PAR1"sv, "a Parquet file"},
      {"\x28\xb5\x2f\xfd"sv, "a file compressed by zstd"}, {"BZh"sv, "a file compressed by bzip2"}, {"\xfd" "7zXZ"sv, "a file compressed by xz"},
      {"ARROW1"sv, "an Arrow file"}, {"%PDF"sv, "a PDF document"}, {"\x7f" "ELF"sv, "a program"}};
  for (const auto& [begin, kind] : known)
    if (start.starts_with(begin)) return kind;
  const bool is_text = std::all_of(start.begin(), start.end(), [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t'; });
  return is_text ? "text" : "";
}

}  // namespace

bool has_magic(std::span<const std::byte> file_start) {
  return characters(file_start).starts_with(magic);
}

std::size_t header_size(std::span<const std::byte> file_start) {
  if (file_start.empty()) refuse(0, "the file is empty; a .npy file starts with \\x93NUMPY");
  if (!has_magic(file_start)) {
    const std::string_view start = characters(file_start).substr(0, magic.size());
    if (start.starts_with("PK"))
      refuse(0, "a zip archive, as .npz is; unpack it and give its .npy members");
    if (magic.starts_with(start))
      refuse(file_start.size(), "the file ends in the magic \\x93NUMPY");
    if (const std::string kind = kind_of_file(file_start); !kind.empty())
      refuse(0, kind + ", and no .npy file; numpy.save() writes its numbers as one");
    refuse(0, "found " + quoted(start) +
                  " where a .npy file has \\x93NUMPY; for raw binary give --dtype");
  }
  if (file_start.size() < magic_and_version)
    refuse(file_start.size(), "the file ends before its format version");
  const unsigned major = value(file_start[6]), minor = value(file_start[7]);
  if (major < 1 || major > 3 || minor != 0)
    refuse(6, "format version " + std::to_string(major) + "." + std::to_string(minor) +
                  " is not known; 1.0, 2.0 and 3.0 are");
  const std::size_t width = major == 1 ? 2 : 4;
  if (file_start.size() < magic_and_version + width)
    refuse(file_start.size(), "the file ends in its header's length");
  std::size_t length = 0;
  for (std::size_t k = 0; k < width; ++k)
    length |= std::size_t{value(file_start[magic_and_version + k])} << (8 * k);
  if (length > max_header)
    refuse(magic_and_version, "a header of " + std::to_string(length) + " bytes; more than " +
                                  std::to_string(max_header) + " describes no numeric array");
  return magic_and_version + width + length;
}

array_layout parse_header(std::span<const std::byte> header) {
  const std::size_t size = header_size(header.first(std::min(header.size(), prefix_size)));
  if (header.size() < size)
    refuse(header.size(),
           "the file ends in its header, which takes " + std::to_string(size) + " bytes");
  const std::size_t start = magic_and_version + (value(header[6]) == 1 ? 2 : 4);
  const std::string_view text = characters(header.subspan(start, size - start));
  for (std::size_t k = 0; k < text.size(); ++k) {
    const auto c = static_cast<unsigned char>(text[k]);
    if (c >= 0x80 || (c < 0x20 && c != '\n' && c != '\t' && c != '\r'))
      refuse(start + k, "found " + quoted(text.substr(k, 1)) +
                            "; the header of a numeric array is printable ASCII");
  }
  array_layout layout = dictionary(text, start, value(header[6]) < 3).parse();
  layout.offset = size;
  return layout;
}

}  // namespace wf::io::npy
