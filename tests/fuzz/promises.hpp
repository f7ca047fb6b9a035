// SPDX-License-Identifier: Apache-2.0
// What every entry holds the library to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

/// Errors are one line that a terminal can show. Names may be UTF-8.
inline void require_one_line(std::string_view text, bool ascii = true, std::size_t most = 700) {
  const auto printable = [&](char c) {
    const auto b = static_cast<unsigned char>(c);
    return b >= 0x20 && b != 0x7f && (!ascii || b < 0x7f);
  };
  require(!text.empty() && text.size() < most, "an error of no or of many words");
  require(std::all_of(text.begin(), text.end(), printable), "an error that is not one printable line");
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Takes bytes from the front; zeros when there are none left.
class taker {
 public:
  explicit taker(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint8_t byte() { return take<std::uint8_t>(); }
  /// Mostly small.
  std::int64_t number() {
    constexpr std::int64_t most = INT64_MAX;
    constexpr std::int64_t edges[] = {most,         -most - 1,   most / 2,   most / 3, -(most / 2), most / 8,
                                      1ll << 31,    1ll << 32,   1ll << 40,  1ll << 60, -(1ll << 40), (1ll << 53) + 1};
    const std::uint8_t kind = byte();
    if (kind < 200) return static_cast<std::int8_t>(byte());
    if (kind < 230) return edges[kind % std::size(edges)];
    return take<std::int64_t>();
  }
  template <class T>
  T take() {
    T x{};
    const std::size_t n = std::min(sizeof x, rest_.size());
    std::memcpy(&x, rest_.data(), n);
    rest_ = rest_.subspan(n);
    return x;
  }
  bool empty() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace fuzz
