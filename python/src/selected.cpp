// SPDX-License-Identifier: Apache-2.0
#include "selected.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <warpfold/error.hpp>

#include "../../src/library/adapted.hpp"

namespace wfpy {

namespace {

constexpr std::int64_t tile = 1024, together = 8 * tile;  // that are copied, that are looked at

template <std::size_t Size>
struct element {
  std::array<unsigned char, Size> bytes;
};

/// Without branches: each element is copied, and the next overwrites one that does not count.
template <std::size_t Size>
std::int64_t keep_masked(const void* x, const void* mask, std::int64_t n, void* kept) {
  const auto* from = static_cast<const element<Size>*>(x);
  const auto* counts = static_cast<const unsigned char*>(mask);
  auto* to = static_cast<element<Size>*>(kept);
  std::int64_t m = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    to[m] = from[i];
    m += counts[i] != 0;
  }
  return m;
}

/// NaN by bits: the exponent's all ones and a fraction.
template <class Bits, Bits Infinity, int Parts>
std::int64_t keep_numbers(const void* x, const void*, std::int64_t n, void* kept) {
  const auto* from = static_cast<const element<sizeof(Bits) * Parts>*>(x);
  auto* to = static_cast<element<sizeof(Bits) * Parts>*>(kept);
  std::int64_t m = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::array<Bits, Parts> b;
    std::memcpy(b.data(), from + i, sizeof b);
    bool number = true;
    for (const Bits one : b) number = number && static_cast<Bits>(one << 1) <= static_cast<Bits>(Infinity << 1);
    to[m] = from[i];
    m += number;
  }
  return m;
}

/// The same of parts, which a compiler makes vectors of.
template <class Bits, Bits Infinity, int Parts>
bool all_numbers(const void* x, const void*, std::int64_t n) {
  Bits found = 0;
  for (std::int64_t i = 0; i < n * Parts; ++i) {
    Bits b;
    std::memcpy(&b, static_cast<const unsigned char*>(x) + static_cast<std::size_t>(i) * sizeof b, sizeof b);
    found |= static_cast<Bits>(static_cast<Bits>(b << 1) > static_cast<Bits>(Infinity << 1));
  }
  return found == 0;
}
bool all_named(const void*, const void* mask, std::int64_t n) { return std::memchr(mask, 0, static_cast<std::size_t>(n)) == nullptr; }

std::int64_t keep_all(const void*, const void*, std::int64_t n, void*) { return n; }
bool all_there(const void*, const void*, std::int64_t) { return true; }

template <class Bits, Bits Infinity, int Parts = 1>
constexpr std::pair numbers{&keep_numbers<Bits, Infinity, Parts>, &all_numbers<Bits, Infinity, Parts>};

}  // namespace

selected::selected(const wf::cpu::erased& inner, const void* self, wf::dtype type, bool masked)
    : inner_(inner), self_(self) {
  if (inner.inputs != 1)
    throw wf::error(wf::errc::unsupported, "elements of two arrays cannot be left out; a reduction of one array takes where=");
  const std::size_t size = inner.element_sizes[0];
  if (masked) {
    all_ = all_named;
    keep_ = size == 1 ? keep_masked<1> : size == 2 ? keep_masked<2> : size == 4 ? keep_masked<4> : size == 8 ? keep_masked<8>
                                                                                                     : keep_masked<16>;
  } else {
    const auto of_type = [type] {
      switch (type) {
        case wf::dtype::f16: return numbers<std::uint16_t, 0x7c00>;
        case wf::dtype::bf16: return numbers<std::uint16_t, 0x7f80>;
        case wf::dtype::f32: return numbers<std::uint32_t, 0x7f800000>;
        case wf::dtype::c64: return numbers<std::uint32_t, 0x7f800000, 2>;
        case wf::dtype::f64: return numbers<std::uint64_t, 0x7ff0000000000000>;
        case wf::dtype::c128: return numbers<std::uint64_t, 0x7ff0000000000000, 2>;
        default: return std::pair{&keep_all, &all_there};
      }
    };
    std::tie(keep_, all_) = of_type();
  }
  const std::size_t align = std::max(inner.state_align, alignof(std::int64_t));
  offset_ = align;
  functions_.state_size = offset_ + (inner.state_size + align - 1) / align * align;
  functions_.state_align = align;
  functions_.result_size = inner.result_size;
  functions_.inputs = masked ? 2 : 1;
  functions_.element_sizes = {size, masked ? std::size_t{1} : 0};
  functions_.commutes = inner.commutes;
  // Without NaNs all elements count.
  if (!masked && wf::library::has_columns_of_numbers(inner)) functions_.columns = inner.columns;

  functions_.identity = [](const void* s, void* state) {
    const auto& me = *static_cast<const selected*>(s);
    std::memset(state, 0, sizeof(std::int64_t));
    me.inner_.identity(me.self_, static_cast<std::byte*>(state) + me.offset_);
  };
  functions_.accumulate = [](const void* s, void* state, const void* const* x, std::int64_t n, std::int64_t) {
    const auto& me = *static_cast<const selected*>(s);
    auto* count = static_cast<std::int64_t*>(state);
    void* to = static_cast<std::byte*>(state) + me.offset_;
    const std::size_t bytes = me.inner_.element_sizes[0];
    alignas(64) std::array<std::byte, tile * 16> kept;
    const auto add = [&](const void* run, std::int64_t m) {
      const void* of_one[wf::cpu::max_inputs] = {run, nullptr};
      if (m > 0) me.inner_.accumulate(me.self_, to, of_one, m, *count);
      *count += m;
    };
    for (std::int64_t i = 0; i < n; i += together) {
      const std::int64_t end = std::min(n, i + together);
      const auto from = [&](std::int64_t j) { return static_cast<const std::byte*>(x[0]) + static_cast<std::size_t>(j) * bytes; };
      const auto mask = [&](std::int64_t j) { return x[1] == nullptr ? nullptr : static_cast<const std::byte*>(x[1]) + j; };
      if (me.all_(from(i), mask(i), end - i)) {
        add(from(i), end - i);
        continue;
      }
      for (std::int64_t j = i; j < end; j += tile) add(kept.data(), me.keep_(from(j), mask(j), std::min(tile, end - j), kept.data()));
    }
  };
  functions_.combine = [](const void* s, void* state, const void* later) {
    const auto& me = *static_cast<const selected*>(s);
    *static_cast<std::int64_t*>(state) += *static_cast<const std::int64_t*>(later);
    me.inner_.combine(me.self_, static_cast<std::byte*>(state) + me.offset_, static_cast<const std::byte*>(later) + me.offset_);
  };
  functions_.finish = [](const void* s, const void* state, std::int64_t, void* out) {
    const auto& me = *static_cast<const selected*>(s);
    me.inner_.finish(me.self_, static_cast<const std::byte*>(state) + me.offset_, *static_cast<const std::int64_t*>(state), out);
  };
}

}  // namespace wfpy
