// SPDX-License-Identifier: Apache-2.0
/// \file warp.hpp
/// What the lanes of a warp do together. Every lane of the mask has to make the same call; a mask that
/// lacks its caller or names a lane that has ended is a fault, bad_collective.
#pragma once

#include <cstring>
#include <type_traits>

#include <simt/device.hpp>

namespace simt {
inline namespace SIMT_BUILD {
namespace lanes {

/// A value that travels between lanes: up to 8 bytes at a time, by bits.
template <class T>
concept portable = std::is_trivially_copyable_v<T>;

SIMT_INLINE unsigned own() {
  const unsigned linear = simt_thread_index(0) +
                          simt_block_extent(0) * (simt_thread_index(1) + simt_block_extent(1) * simt_thread_index(2));
  return linear % 32;
}

template <std::size_t Bytes>
SIMT_INLINE std::uint64_t load(const void* from) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, from, Bytes);
  return bits;
}

using builtin::value_t;

template <class T>
SIMT_INLINE T read_bits(unsigned mask, const T& value, unsigned source) {
  T result = value;
  constexpr std::size_t whole = sizeof(T) / 8 * 8, rest = sizeof(T) - whole;
  for (std::size_t i = 0; i < whole; i += 8) {
    const std::uint64_t bits =
        detail::warp_collective(detail::collective::gather, mask,
                                load<8>(reinterpret_cast<const char*>(&value) + i), source);
    __builtin_memcpy(reinterpret_cast<char*>(&result) + i, &bits, 8);
  }
  if constexpr (rest != 0) {
    const std::uint64_t bits =
        detail::warp_collective(detail::collective::gather, mask,
                                load<rest>(reinterpret_cast<const char*>(&value) + whole), source);
    __builtin_memcpy(reinterpret_cast<char*>(&result) + whole, &bits, rest);
  }
  SIMT_NOT_LAST();
  return result;
}

/// `source` is a lane of the warp.
template <portable T>
SIMT_INLINE value_t<T> read(unsigned mask, const T& given, unsigned source) {
  const value_t<T> value = given;
  return read_bits(mask, value, source);
}

SIMT_INLINE std::uint64_t meet(detail::collective what, unsigned mask, std::uint64_t value) {
  const std::uint64_t r = detail::warp_collective(what, mask, value);
  SIMT_NOT_LAST();
  return r;
}

}  // namespace lanes

SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { lanes::meet(detail::collective::sync, mask, 0); }

// Which lane is read is computed without a branch: on a GPU there is none, and the lens would see one.
SIMT_INLINE constexpr unsigned lane_if(bool condition, unsigned value) { return value & (0u - unsigned{condition}); }

// The warp as rows of `width` lanes (a power of two): a source outside of the row gives the own value;
// __shfl_sync wraps around.
template <lanes::portable T>
SIMT_INLINE lanes::value_t<T> __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned row = lanes::own() & ~static_cast<unsigned>(width - 1);
  return lanes::read(mask, value, row + (static_cast<unsigned>(source) & static_cast<unsigned>(width - 1)));
}
template <lanes::portable T>
SIMT_INLINE lanes::value_t<T> __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned own = lanes::own(), in_row = own & static_cast<unsigned>(width - 1);
  return lanes::read(mask, value, own - lane_if(delta <= in_row, delta));
}
template <lanes::portable T>
SIMT_INLINE lanes::value_t<T> __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned own = lanes::own(), in_row = own & static_cast<unsigned>(width - 1);
  return lanes::read(mask, value, own + lane_if(delta < static_cast<unsigned>(width) - in_row, delta));
}
/// A lower row can be read, a higher one not, as on the hardware.
template <lanes::portable T>
SIMT_INLINE lanes::value_t<T> __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const unsigned own = lanes::own(), source = own ^ static_cast<unsigned>(lane_mask);
  const unsigned last = own | static_cast<unsigned>(width - 1);
  const bool there = (source <= last) & (source < 32);
  return lanes::read(mask, value, own ^ lane_if(there, own ^ source));
}

SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(lanes::meet(detail::collective::ballot, mask, predicate != 0));
}
SIMT_INLINE int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
SIMT_INLINE int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <lanes::portable T>
  requires(sizeof(T) <= 8)
SIMT_INLINE unsigned __match_any_sync(unsigned mask, T given) {
  const lanes::value_t<T> value = given;
  return static_cast<unsigned>(lanes::meet(detail::collective::match_any, mask, lanes::load<sizeof value>(&value)));
}
template <lanes::portable T>
  requires(sizeof(T) <= 8)
SIMT_INLINE unsigned __match_all_sync(unsigned mask, T given, int* all) {
  const lanes::value_t<T> value = given;
  const auto r = static_cast<unsigned>(
      lanes::meet(detail::collective::match_all, mask, lanes::load<sizeof value>(&value)));
  *all = r != 0;
  return r;
}

#define SIMT_WARP_REDUCTION(name)                                                       \
  SIMT_INLINE unsigned __reduce_##name##_sync(unsigned mask, unsigned value) {                \
    return static_cast<unsigned>(lanes::meet(detail::collective::name##_u32, mask, value));   \
  }
#define SIMT_SIGNED_WARP_REDUCTION(name)                                                      \
  SIMT_INLINE int __reduce_##name##_sync(unsigned mask, int value) {                          \
    return static_cast<int>(                                                                  \
        lanes::meet(detail::collective::name##_s32, mask, static_cast<unsigned>(value)));     \
  }
SIMT_WARP_REDUCTION(add)
SIMT_WARP_REDUCTION(min)
SIMT_WARP_REDUCTION(max)
SIMT_SIGNED_WARP_REDUCTION(add)
SIMT_SIGNED_WARP_REDUCTION(min)
SIMT_SIGNED_WARP_REDUCTION(max)
#undef SIMT_WARP_REDUCTION
#undef SIMT_SIGNED_WARP_REDUCTION
SIMT_INLINE unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(lanes::meet(detail::collective::and_u32, mask, value));
}
SIMT_INLINE unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(lanes::meet(detail::collective::or_u32, mask, value));
}
SIMT_INLINE unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(lanes::meet(detail::collective::xor_u32, mask, value));
}

/// The lanes that reach this line while the rest of the warp is elsewhere.
SIMT_INLINE unsigned __activemask() {
  const unsigned r = detail::active_mask();
  SIMT_NOT_LAST();
  return r;
}

}  // inline namespace SIMT_BUILD
}  // namespace simt
