// SPDX-License-Identifier: Apache-2.0
/// \file selection.cuh
/// An array and its mask, for kernels that take the elements that count (src/gpu/selections.cu).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/array_calls.hpp>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Without <algorithm>, which takes nvcc long to read.
template <class T>
constexpr T lesser(T a, T b) {
  return b < a ? b : a;
}

struct wide_element {
  std::uint64_t word[2];
};

/// An array and its mask as warps read them, with their shares; made by the host.
struct selection {
  const unsigned char* x;
  const unsigned char* mask;  ///< null: all count
  int rank;
  std::int64_t length[array_selection::max_rank], step[array_selection::max_rank], mask_step[array_selection::max_rank];
  std::uint64_t n, each, row;  ///< elements, of a warp's share, of an answer
  std::uint64_t infinity;      ///< as bits: what is more is a NaN. All ones: none is looked for
  bool two_parts, is_small;    ///< elements are two floats each; 32 bits number them
  bool by_packs;               ///< 16 bytes of the mask are aligned, wherever a multiple of 16 elements begins
  unsigned char* to;           ///< null: they are counted
  std::int64_t *offsets, *places;
  std::uint64_t answers;
};

/// Where element i and its part of the mask lie, in bytes.
struct two_places {
  std::int64_t x, mask;
};
template <class Number>
__device__ __forceinline__ two_places place_by(const selection& s, Number i) {
  two_places at{0, 0};
#pragma unroll 1
  for (int d = s.rank - 1; d >= 0; --d) {
    const auto length = static_cast<Number>(s.length[d]);
    const Number above = i / length;
    const auto k = static_cast<std::int64_t>(i - above * length);
    at.x += k * s.step[d];
    at.mask += k * s.mask_step[d];
    i = above;
  }
  return at;
}

template <class T>
__device__ __forceinline__ bool is_number(const selection& s, const T& x) {
  if constexpr (sizeof(T) == 1) {
    return true;
  } else if constexpr (sizeof(T) == 2) {
    return (x & 0x7fffu) <= s.infinity;
  } else if constexpr (sizeof(T) == 4) {
    return (x & 0x7fffffffu) <= s.infinity;
  } else if constexpr (sizeof(T) == 8) {
    if (s.two_parts) return (x & 0x7fffffffu) <= s.infinity && (x >> 32 & 0x7fffffffu) <= s.infinity;
    return (x & 0x7fffffffffffffffu) <= s.infinity;
  } else {
    return (x.word[0] & 0x7fffffffffffffffu) <= s.infinity && (x.word[1] & 0x7fffffffffffffffu) <= s.infinity;
  }
}

inline std::uint64_t infinity_of(dtype t) {
  switch (t) {
    case dtype::f16: return 0x7c00;
    case dtype::bf16: return 0x7f80;
    case dtype::f32: case dtype::c64: return 0x7f800000;
    case dtype::f64: case dtype::c128: return 0x7ff0000000000000;
    default: return ~std::uint64_t{0};
  }
}

/// Describes an array to kernels; false: its elements are not aligned, or of a size that kernels do not take.
inline bool read_selection(const array_selection& r, selection& s, bool& flat) {
  s.x = static_cast<const unsigned char*>(r.x);
  s.mask = static_cast<const unsigned char*>(r.mask);
  s.rank = r.rank;
  const auto size = static_cast<std::int64_t>(info(r.element).size), align = lesser<std::int64_t>(size, 8);
  std::int64_t step = 1;
  flat = true;
  for (int d = r.rank - 1; d >= 0; --d) {
    const auto k = static_cast<std::size_t>(d);
    s.length[d] = r.shape[k];
    s.step[d] = r.strides[k];
    s.mask_step[d] = r.mask_strides[k];
    if (r.shape[k] != 1 && r.strides[k] % align != 0) return false;
    flat = flat && (r.shape[k] == 1 || (r.strides[k] == step * size && (r.mask == nullptr || r.mask_strides[k] == step)));
    step *= r.shape[k];
  }
  s.n = static_cast<std::uint64_t>(step);
  s.row = static_cast<std::uint64_t>(r.row);
  s.infinity = r.skip_nans ? infinity_of(r.element) : ~std::uint64_t{0};
  s.two_parts = is_complex(r.element);
  s.is_small = s.n < std::uint64_t{1} << 32;
  s.by_packs = r.mask != nullptr && reinterpret_cast<std::uintptr_t>(r.mask) % 16 == 0;
  s.to = static_cast<unsigned char*>(r.to);
  s.offsets = r.offsets;
  s.places = r.places;
  return reinterpret_cast<std::uintptr_t>(r.x) % static_cast<std::uintptr_t>(align) == 0 && reinterpret_cast<std::uintptr_t>(r.to) % static_cast<std::uintptr_t>(size) == 0;
}

/// f(element, flat) with a type of the elements' size.
template <class F>
cudaError_t for_size(const array_selection& r, F f) {
  switch (info(r.element).size) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    case 16: return f(wide_element{});
    default: return cudaErrorNotSupported;
  }
}

/// Where answers lie side by side in memory and the elements of each far apart, as along axis 0 of a matrix; src/gpu/selections_across.cu. Returns cudaErrorNotSupported for other arrays.
cudaError_t enqueue_select_across(const array_selection&, const selection&, workspace& scratch, cudaStream_t stream);

}  // namespace wf::device::inline WF_BUILD
