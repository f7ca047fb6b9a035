// SPDX-License-Identifier: Apache-2.0
/// \file rows_view.cuh
/// Which elements belong to which row of a strided view, for kernels, and the host's part: dimensions merged, sorted, cut.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/rows.hpp>

namespace wf::device::inline WF_BUILD {

/// A domain of rows, which a kernel takes by value.
template <class D, int Inputs>
concept row_domain = std::is_trivially_copyable_v<D> && requires(const D& d, const unsigned char* (&p)[Inputs], std::uint64_t i, int input) {
  { d.rows } -> std::convertible_to<std::uint64_t>;
  { d.begin(i, p) } -> std::same_as<std::uint64_t>;          // where row i of each input begins, and how many elements it has
  { d.element(i, input) } -> std::same_as<std::int64_t>;     // how far element i of a row lies behind that, in bytes
  { d.first_of(i) } -> std::same_as<std::uint64_t>;          // elements that come before row i
};

/// Divides i by `length`, and returns the remainder. nvcc's code looks whether 32 bits are enough.
__device__ __forceinline__ std::uint64_t take_index(std::uint64_t& i, std::uint64_t length) {
  const std::uint64_t q = i / length, rest = i - q * length;
  i = q;
  return rest;
}

template <int Inputs>
struct row_dimension {
  std::uint64_t length;
  std::int64_t stride[Inputs];  ///< bytes
};

/// Rows of one or two inputs of one shape; made by the host, passed by value. What every kernel reads comes first, so that it lies in few
/// lines of the cache of parameters.
template <int Inputs>
struct row_view {
  const unsigned char* x[Inputs];
  int kept, dims;         ///< dimensions: `kept` ones, then the reduced ones
  std::uint64_t rows, n;  ///< elements of a row; of segments of all
  std::uint64_t all;      ///< elements of all rows
  const void* offsets;    ///< for segments
  int offset_bytes;
  row_dimension<Inputs> dim[32];

  __device__ __forceinline__ std::uint64_t offset(std::uint64_t k) const {
    if (offset_bytes == 4) return static_cast<const std::uint32_t*>(offsets)[k];
    return static_cast<const std::uint64_t*>(offsets)[k];
  }
  /// Elements that come before a row, where rows are one after the other as segments are.
  __device__ __forceinline__ std::uint64_t first_of(std::uint64_t row) const { return offsets != nullptr ? offset(row) : min(all, row * n); }
  /// Where a row begins, and how many elements it has.
  __device__ __forceinline__ std::uint64_t begin(std::uint64_t row, const unsigned char* (&p)[Inputs]) const {
    std::uint64_t elements = n;
#pragma unroll
    for (int k = 0; k < Inputs; ++k) p[k] = x[k];
    if (offsets != nullptr) {
      const std::uint64_t first = offset(row);
      elements = offset(row + 1) - first;
#pragma unroll
      for (int k = 0; k < Inputs; ++k) p[k] += static_cast<std::int64_t>(first) * dim[0].stride[k];
      return elements;
    }
#pragma unroll
    for (int k = 0; k < Inputs; ++k) {
      if (kept > 1) p[k] += far(row, k, kept, 0);
      else if (kept == 1) p[k] += static_cast<std::int64_t>(row) * dim[0].stride[k];
    }
    return elements;
  }
  /// How many bytes element i of a row lies behind the row's first.
  __device__ __forceinline__ std::int64_t element(std::uint64_t i, int k) const {
    return dims - kept > 1 ? far(i, k, dims, kept) : dims > kept ? static_cast<std::int64_t>(i) * dim[kept].stride[k] : 0;
  }
  /// The same for a row's line i of the innermost dimension.
  __device__ __forceinline__ std::int64_t line(std::uint64_t i, int k) const { return i == 0 ? 0 : far(i, k, dims - 1, kept); }

 private:
  // Several dimensions, from `first` to the one before `last`. Not inlined, since divisions take many registers; one function, since each kernel has a copy of its own.
  __device__ __attribute__((noinline)) std::int64_t far(std::uint64_t i, int k, int last, int first) const {
    std::int64_t bytes = 0;
#pragma unroll 1
    for (int d = last - 1; d > first; --d) bytes += static_cast<std::int64_t>(take_index(i, dim[d].length)) * dim[d].stride[k];
    return bytes + static_cast<std::int64_t>(i) * dim[first].stride[k];
  }
};

/// `bytes` bytes, 1 … 16, at a multiple of as many.
__device__ __forceinline__ pack load_bytes(const unsigned char* p, int bytes) {
  pack v{};
  if (bytes == 16) {
    const uint4 w = *reinterpret_cast<const uint4*>(p);
    v = {{w.x, w.y, w.z, w.w}};
  } else if (bytes == 8) {
    const uint2 w = *reinterpret_cast<const uint2*>(p);
    v.word[0] = w.x;
    v.word[1] = w.y;
  } else if (bytes == 4) {
    v.word[0] = *reinterpret_cast<const std::uint32_t*>(p);
  } else if (bytes == 2) {
    v.word[0] = *reinterpret_cast<const std::uint16_t*>(p);
  } else {
    v.word[0] = *p;
  }
  return v;
}
/// An element of 16 bytes may be aligned to 8, one of 8 to 4 alone: they are complex numbers.
__device__ __forceinline__ pack load_element(const unsigned char* p, int bytes, int align) {
  if (bytes == align) return load_bytes(p, bytes);
  pack v = load_bytes(p, align);
  const pack w = load_bytes(p + align, align);
  if (align == 8) {
    v.word[2] = w.word[0];
    v.word[3] = w.word[1];
  } else {
    v.word[1] = w.word[0];
  }
  return v;
}

/// The view of a request in as few dimensions as possible: those of length 1 are dropped, neighbours that are one are
/// merged. Reduced dimensions come in the order of memory where the order of elements does not matter. False if an address is not a multiple of
/// `align`.
template <int Inputs>
bool make_row_view(row_view<Inputs>& v, const rows_request& r, int item_size, int align, bool any_order) {
  v.rows = 1;
  v.n = 1;
  v.offsets = r.offsets;
  v.offset_bytes = r.offset_bytes;
  for (int d = 0; d < r.kept + r.reduced; ++d) {
    const auto length = static_cast<std::uint64_t>(r.length[static_cast<std::size_t>(d)]);
    (d < r.kept ? v.rows : v.n) *= length;
  }
  v.all = v.rows * v.n;
  if (r.offsets != nullptr) v.rows = static_cast<std::uint64_t>(r.segments);
  bool aligned = true;
  for (int k = 0; k < Inputs; ++k) {
    v.x[k] = static_cast<const unsigned char*>(r.x[static_cast<std::size_t>(k)]);
    aligned = aligned && (v.rows == 0 || v.n == 0 || reinterpret_cast<std::uintptr_t>(v.x[k]) % static_cast<std::uintptr_t>(align) == 0);
  }
  row_dimension<Inputs> dims[2][32];
  int count[2] = {0, 0};
  const bool empty = v.rows == 0 || v.n == 0;
  for (int d = 0; d < r.kept + r.reduced && !empty; ++d) {
    row_dimension<Inputs> one{static_cast<std::uint64_t>(r.length[static_cast<std::size_t>(d)]), {}};
    if (one.length == 1 && r.offsets == nullptr) continue;
    for (int k = 0; k < Inputs; ++k) {
      one.stride[k] = r.stride[static_cast<std::size_t>(k)][static_cast<std::size_t>(d)] * item_size;
    }
    const int which = d < r.kept ? 0 : 1;
    dims[which][count[which]++] = one;
  }
  if (any_order && r.offsets == nullptr) {
    for (int d = 0; d < count[1]; ++d) {
      row_dimension<Inputs>& one = dims[1][d];
      bool down = true;
      for (int k = 0; k < Inputs; ++k) down = down && one.stride[k] < 0;
      for (int k = 0; k < Inputs && down; ++k) {
        v.x[k] += one.stride[k] * static_cast<std::int64_t>(one.length - 1);
        one.stride[k] = -one.stride[k];
      }
    }
    const auto size = [](const row_dimension<Inputs>& d) { return d.stride[0] < 0 ? -d.stride[0] : d.stride[0]; };
    for (int d = 1; d < count[1]; ++d) {  // by insertion: there are few
      const row_dimension<Inputs> one = dims[1][d];
      int at = d;
      for (; at > 0 && size(dims[1][at - 1]) < size(one); --at) dims[1][at] = dims[1][at - 1];
      dims[1][at] = one;
    }
  }
  v.dims = 0;
  for (int k = 0; k < Inputs; ++k) v.dim[0].stride[k] = 0;
  for (int which = 0; which < 2; ++which) {
    const int first = v.dims;
    for (int d = 0; d < count[which]; ++d) {
      const row_dimension<Inputs>& one = dims[which][d];
      bool merges = v.dims > first;
      for (int k = 0; k < Inputs; ++k) {
        merges = merges && v.dim[v.dims - 1].stride[k] == one.stride[k] * static_cast<std::int64_t>(one.length);
      }
      if (!merges) v.dim[v.dims++].length = 1;
      v.dim[v.dims - 1].length *= one.length;
      for (int k = 0; k < Inputs; ++k) v.dim[v.dims - 1].stride[k] = one.stride[k];
    }
    if (which == 0) v.kept = v.dims;
  }
  return aligned;
}

/// Whether lines are side by side in memory, and all of them whole multiples of 16 bytes at multiples of 16.
template <int Inputs>
bool are_whole(const row_view<Inputs>& v, int item_size) {
  if (v.dims == v.kept) return false;
  std::uintptr_t all = v.dim[v.dims - 1].length * static_cast<unsigned>(item_size);
  for (int k = 0; k < Inputs; ++k) {
    if (v.dim[v.dims - 1].stride[k] != item_size) return false;
    all |= reinterpret_cast<std::uintptr_t>(v.x[k]);
    for (int d = 0; d < v.dims - 1; ++d) all |= static_cast<std::uintptr_t>(v.dim[d].stride[k]);
  }
  return all % 16 == 0;
}

}  // namespace wf::device::inline WF_BUILD
