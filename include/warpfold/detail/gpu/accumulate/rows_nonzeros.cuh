// SPDX-License-Identifier: Apache-2.0
/// \file rows_nonzeros.cuh
/// An accumulator of rows (rows_kernel.cuh) that counts elements that are not 0, and knows of an element its size alone: any, all, count_nonzero, and sums of bool.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_words.cuh>

namespace wf::device::inline WF_BUILD {

template <int Size>
struct nonzero_rows : word_rows<Size> {
  using base = word_rows<Size>;
  using state = std::uint64_t;
  using running = std::uint64_t;
  using typename base::word;
  static constexpr bool wide_columns = true;
  std::uint64_t mask;  ///< bits that a 0 has not, repeated: of floats all but the sign
  op what;

  std::size_t result_size() const { return what == op::any || what == op::all ? 1 : 8; }
  static nonzero_rows of(const rows_request& r) {
    constexpr auto each = static_cast<std::uint64_t>(static_cast<word>(~word{0}));
    const std::uint64_t bits = is_floating(r.element) ? each >> 1 : each;
    return {{}, ~std::uint64_t{0} / each * bits, r.what};
  }
  __device__ __forceinline__ state identity() const { return 0; }
  __device__ __forceinline__ running start() const { return 0; }
  __device__ __forceinline__ state combine(state a, state b) const { return a + b; }
  __device__ __forceinline__ state total(running r) const { return r; }
  __device__ __forceinline__ void add(running& r, const pack (&p)[1], std::uint64_t) const {
    if constexpr (Size <= 2) {
      std::uint32_t part = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) part += ones(p[0].word[j]);
      r += Size == 1 ? __dp4a(part, 0x01010101u, 0u) : (part & 0xffffu) + (part >> 16);
    } else {
      std::uint32_t part = 0;
#pragma unroll
      for (int i = 0; i < base::items; ++i) part += counts(item_of<word>(p[0], i));
      r += part;
    }
  }
  __device__ __forceinline__ void add_item(running& r, const pack (&p)[1], std::uint64_t) const { r += counts(item_of<word>(p[0], 0)); }
  /// Neighbouring columns, 8 bytes of each load: a byte or two of a word count for each.
  template <int Columns, int Loads>
  __device__ __forceinline__ void add_columns(running (&r)[Columns], const pack (&p)[Loads][1]) const
    requires(Size <= 2 && Columns * Size == 8)
  {
    static_assert(Loads < 256);
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      std::uint32_t part = 0;
#pragma unroll
      for (int j = 0; j < Loads; ++j) part += ones(p[j][0].word[w]);
#pragma unroll
      for (int c = 0; c < 4 / Size; ++c) r[4 / Size * w + c] += part >> (8 * Size * c) & (Size == 1 ? 0xffu : 0xffffu);
    }
  }
  __device__ __forceinline__ bool answer(state s, std::uint64_t n, const typename base::facts_type&, void* out) const {
    if (what == op::any) write_as<bool>(out, s != 0);
    else if (what == op::all) write_as<bool>(out, s == n);
    else write_as<std::uint64_t>(out, s);
    return true;
  }

 private:
  __device__ __forceinline__ std::uint32_t counts(word w) const { return (w & static_cast<word>(mask)) != 0 ? 1 : 0; }
  /// 1 for each of four bytes, or two halves, that is not 0: a carry out of the lower bits, or the highest one.
  __device__ __forceinline__ std::uint32_t ones(std::uint32_t four) const {
    constexpr std::uint32_t lower = Size == 1 ? 0x7f7f7f7fu : 0x7fff7fffu, one = Size == 1 ? 0x01010101u : 0x00010001u;
    const std::uint32_t x = four & static_cast<std::uint32_t>(mask);
    return (((x & lower) + lower) | x) >> (8 * Size - 1) & one;
  }
};

}  // namespace wf::device::inline WF_BUILD
