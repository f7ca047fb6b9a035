// SPDX-License-Identifier: Apache-2.0
/// \file serial.hpp
/// States as bytes that any machine reads: fixed size, versioned, canonical, checked.
///
/// All little-endian, N digits:
///
///     0        "WFXS"
///     4        u16 version, 1
///     6        u16 N
///     8        i32 exponent of the least digit's unit
///     12       N times u32: the sum in two's complement, least digit first
///     12 + 4N  i64 count, nan, pos_inf, neg_inf, neg_zero
///     52 + 4N  u32 CRC-32 (IEEE 802.3) of all bytes before
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <warpfold/detail/exact/sum_state.hpp>
#include <warpfold/error.hpp>

namespace wf::exact {

inline constexpr int serial_version = 1;

template <int Count, int MinExponent>
inline constexpr std::size_t serial_size = 56 + 4 * std::size_t{Count};

/// CRC-32 of IEEE 802.3, four bits a step.
inline std::uint32_t crc32(std::span<const std::byte> bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 16> t{};
    for (std::uint32_t i = 0; i < 16; ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 4; ++bit) c = (c & 1) != 0 ? c >> 1 ^ 0xedb88320u : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t c = 0xffffffffu;
  for (const std::byte b : bytes) {
    c ^= std::to_integer<std::uint32_t>(b);
    c = c >> 4 ^ table[c & 15];
    c = c >> 4 ^ table[c & 15];
  }
  return ~c;
}

namespace detail {

inline constexpr std::array<char, 4> magic = {'W', 'F', 'X', 'S'};

struct writer {
  std::byte* at;
  void put(std::uint64_t value, int bytes) {
    for (int k = 0; k < bytes; ++k) *at++ = static_cast<std::byte>(value >> (8 * k) & 0xff);
  }
};
struct reader {
  const std::byte* at;
  std::uint64_t get(int bytes) {
    std::uint64_t value = 0;
    for (int k = 0; k < bytes; ++k) value |= std::to_integer<std::uint64_t>(*at++) << (8 * k);
    return value;
  }
};

[[noreturn]] inline void refuse(errc code, const std::string& why) {
  throw error(code, "stored exact sum: " + why);
}

inline bool same_counters(const counters& a, const counters& b) {
  return a.count == b.count && a.nan == b.nan && a.pos_inf == b.pos_inf && a.neg_inf == b.neg_inf &&
         a.neg_zero == b.neg_zero;
}

/// False for what breaks the rules below, which no sequence of adds does, though the checksum may fit. Not
/// all else are sums: a single element of 60 bits is let through.
template <int Count, int MinExponent>
inline bool plausible(const state<Count, MinExponent>& s) {
  const counters& c = s.seen;
  std::uint64_t others = 0;  // at most four times 2^63 - 1, one at a time against count
  const std::int64_t parts[] = {c.nan, c.pos_inf, c.neg_inf, c.neg_zero};
  for (const std::int64_t part : parts) {
    if (part < 0 || part > c.count) return false;
    others += static_cast<std::uint64_t>(part);
    if (others > static_cast<std::uint64_t>(c.count)) return false;
  }
  if (c.neg_zero != 0 && c.neg_zero != c.count) return false;  // not canonical
  if (s.sum.is_zero()) return true;
  const std::uint64_t finite = static_cast<std::uint64_t>(c.count) - others;
  if (finite == 0) return false;
  // A sum of n elements has at most bit_length(n) bits more than the largest element. Two bits to
  // spare, so that whatever passes can be merged up to 2^63 - 1 elements.
  const scaled lead = leading_bits(s.sum);
  const int bits = lead.exponent + 64 - MinExponent;
  return bits <= 32 * Count - 2 - leading_zeros(finite);
}

}  // namespace detail

/// Equal sums of equally many elements have equal bytes.
template <int Count, int MinExponent>
inline std::array<std::byte, serial_size<Count, MinExponent>> to_bytes(
    state<Count, MinExponent> s) {
  s.normalise();
  std::array<std::byte, serial_size<Count, MinExponent>> bytes;
  detail::writer out{bytes.data()};
  for (const char c : detail::magic) out.put(static_cast<unsigned char>(c), 1);
  out.put(serial_version, 2);
  out.put(Count, 2);
  out.put(static_cast<std::uint32_t>(MinExponent), 4);
  for (int k = 0; k < Count; ++k) out.put(s.sum.word(k), 4);
  for (int k = Count; k < s.words; ++k) out.put(static_cast<std::uint64_t>(s.data()[k]), 8);
  out.put(crc32(std::span(bytes).first(bytes.size() - 4)), 4);
  return bytes;
}

/// Throws wf::error: `bad_input` for what is no such state, `unsupported` for another version.
template <int Count, int MinExponent>
inline state<Count, MinExponent> from_bytes(std::span<const std::byte> bytes) {
  using detail::refuse;
  constexpr std::size_t size = serial_size<Count, MinExponent>;
  if (bytes.size() < 12) {
    refuse(errc::bad_input, std::to_string(bytes.size()) + " bytes, expected " +
                                std::to_string(size));
  }
  detail::reader in{bytes.data()};
  for (const char c : detail::magic) {
    if (in.get(1) != static_cast<unsigned char>(c)) {
      refuse(errc::bad_input, "does not begin with \"WFXS\"");
    }
  }
  if (const auto version = in.get(2); version != serial_version) {
    refuse(errc::unsupported, "version " + std::to_string(version) + ", expected version " +
                                  std::to_string(serial_version));
  }
  const auto count = static_cast<int>(in.get(2));
  const auto min_exponent = static_cast<std::int32_t>(static_cast<std::uint32_t>(in.get(4)));
  if (count != Count || min_exponent != MinExponent) {
    refuse(errc::bad_input, std::to_string(count) + " digits from 2^" +
                                std::to_string(min_exponent) + ", expected " +
                                std::to_string(Count) + " from 2^" + std::to_string(MinExponent));
  }
  if (bytes.size() != size) {
    refuse(errc::bad_input, std::to_string(bytes.size()) + " bytes, expected " +
                                std::to_string(size));
  }
  state<Count, MinExponent> s;
  for (int k = 0; k < Count; ++k) s.sum.d[k] = static_cast<std::int64_t>(in.get(4));
  s.sum.d[Count - 1] = static_cast<std::int32_t>(static_cast<std::uint32_t>(s.sum.d[Count - 1]));
  for (int k = Count; k < s.words; ++k) s.data()[k] = static_cast<std::int64_t>(in.get(8));
  if (in.get(4) != crc32(bytes.first(size - 4))) refuse(errc::bad_input, "the checksum differs");
  if (!detail::plausible(s)) refuse(errc::bad_input, "digits and counters contradict each other");
  return s;
}

}  // namespace wf::exact
