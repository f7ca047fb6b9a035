// SPDX-License-Identifier: Apache-2.0
/// \file items.cuh
/// The level of one thread for any element type: which elements of one or two arrays are its own, and
/// how they are loaded. (thread.cuh is the narrower twin that the hottest sums use.)
///
/// Arrays without gaps are cut into packs of 16 bytes from their first element on, whatever its
/// address; pack v belongs to thread v mod threads of the grid, and so do the elements after the last
/// pack. So which thread adds which elements depends on n and the launch alone, and with it the bits of a native sum.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/launch_table.hpp>
#include <warpfold/device/thread.cuh>

namespace wf::device::inline WF_BUILD {

/// Inputs of one launch, made by the host, passed by value. Elements are aligned to their type.
template <int Inputs>
struct arrays {
  const unsigned char* x[Inputs];
  std::int64_t stride[Inputs];  ///< bytes from one element to the next
  std::uint64_t n;
  std::uint64_t packs;  ///< whole packs; 0 where elements lie apart
  float kept;           ///< the share that is to stay in L2, in (0, 1]
  bool aligned;         ///< every input to 16 bytes
};

/// The number of elements that packs hold.
template <class T>
inline constexpr bool packable =
    sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;

/// Packs of T, and of as large a U.
template <class... T>
inline constexpr bool all_packable = [] {
  constexpr std::size_t sizes[] = {sizeof(T)...};
  return (packable<T> && ...) && ((sizeof(T) == sizes[0]) && ...);
}();

template <class T>
__device__ __forceinline__ T from_byte(std::uint8_t b) {
  if constexpr (std::is_same_v<T, bool>) return b != 0;  // any byte that is not zero
  else return __builtin_bit_cast(T, b);
}

/// Element i of a pack; i is known when the loop around it is unrolled.
template <class T>
__device__ __forceinline__ T item_of(const pack& p, int i) {
  if constexpr (sizeof(T) == 1) {
    return from_byte<T>(static_cast<std::uint8_t>(p.word[i / 4] >> (8 * (i % 4))));
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, static_cast<std::uint16_t>(p.word[i / 2] >> (16 * (i % 2))));
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, p.word[i]);
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, std::uint64_t{p.word[2 * i + 1]} << 32 | p.word[2 * i]);
  } else {
    return __builtin_bit_cast(T, p);
  }
}

template <class T>
__device__ __forceinline__ T load_item(const unsigned char* p) {
  if constexpr (sizeof(T) == 1) return from_byte<T>(*p);
  else return *reinterpret_cast<const T*>(p);
}

/// Calls f(elements…) with element i of each input.
template <class... T, class F>
__device__ __forceinline__ void with_elements(const arrays<sizeof...(T)>& a, std::uint64_t i, F f) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    f(load_item<T>(a.x[K] + static_cast<std::int64_t>(i) * a.stride[K])...);
  }(std::index_sequence_for<T...>());
}

/// A pack element by element: for the first and the last one of an array that is not aligned.
template <int Size>
__device__ __forceinline__ pack load_piecewise(const unsigned char* q) {
  pack p;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if constexpr (Size == 1) {
      p.word[j] = q[4 * j] | static_cast<std::uint32_t>(q[4 * j + 1]) << 8 |
                  static_cast<std::uint32_t>(q[4 * j + 2]) << 16 |
                  static_cast<std::uint32_t>(q[4 * j + 3]) << 24;
    } else if constexpr (Size == 2) {
      const auto* h = reinterpret_cast<const std::uint16_t*>(q) + 2 * j;
      p.word[j] = h[0] | static_cast<std::uint32_t>(h[1]) << 16;
    } else {
      p.word[j] = reinterpret_cast<const std::uint32_t*>(q)[j];
    }
  }
  return p;
}

/// A pack between two others, at any address: the two aligned 16 bytes around it and a shift.
__device__ __forceinline__ pack load_across(const unsigned char* q) {
  const auto address = reinterpret_cast<std::uintptr_t>(q);
  const auto* base = reinterpret_cast<const uint4*>(address & ~std::uintptr_t{15});
  const uint4 a = *base;  // not a streaming load: the neighbour wants the line too
  const uint4 b = base[1];
  std::uint32_t w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  if ((address & 8) != 0) {
#pragma unroll
    for (int j = 0; j < 6; ++j) w[j] = w[j + 2];
  }
  if ((address & 4) != 0) {
#pragma unroll
    for (int j = 0; j < 5; ++j) w[j] = w[j + 1];
  }
  const unsigned shift = 8 * static_cast<unsigned>(address & 3);
  return {{__funnelshift_r(w[0], w[1], shift), __funnelshift_r(w[1], w[2], shift),
           __funnelshift_r(w[2], w[3], shift), __funnelshift_r(w[3], w[4], shift)}};
}

template <int Size, int Inputs, cache Mode>
__device__ __forceinline__ pack load_pack_of(const arrays<Inputs>& a, int k, std::uint64_t v,
                                             const loader<Mode>& load) {
  const unsigned char* q = a.x[k] + 16 * v;
  if (a.aligned) return load(q);
  if (v == 0 || v + 1 == a.packs) return load_piecewise<Size>(q);
  return load_across(q);
}

/// Feeds this thread's share of aligned packs to add(packs, v): the next ones are on their way while those before are added. Returns the first pack
/// that is left where there is no whole round of Loads packs per thread.
template <int Loads, int Inputs, class Add>
__device__ __forceinline__ std::uint64_t for_each_aligned(const arrays<Inputs>& a, std::uint64_t v, std::uint64_t threads, Add add) {
  const loader<cache::share> load(a.kept);
  const std::uint64_t step = threads * Loads, reach = threads * (Loads - 1);
  if (v + reach >= a.packs) return v;
  pack p[Loads][Inputs];
  const auto fetch = [&](pack(&to)[Loads][Inputs]) {
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
#pragma unroll
      for (int k = 0; k < Inputs; ++k) to[u][k] = load(a.x[k] + 16 * (v + threads * u));
    }
  };
  fetch(p);
#pragma unroll 1
  for (;;) {
    const std::uint64_t here = v;
    v += step;
    pack next[Loads][Inputs];
    const bool more = v + reach < a.packs;
    if (more) fetch(next);
#pragma unroll
    for (int u = 0; u < Loads; ++u) add(p[u], here + threads * u);
    if (!more) return v;
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
#pragma unroll
      for (int k = 0; k < Inputs; ++k) p[u][k] = next[u][k];
    }
  }
}

/// Packs that are on their way beside those that an accumulator adds, where it says so: where threads wait for memory between batches of loads. On an H200, which reads 1.45 times as
/// fast as an H100, places of f64 are found at 0.98 of reading so, and at 0.88 without.
template <class Accumulator>
inline constexpr int packs_ahead = 0;
template <class Accumulator>
concept reads_ahead = requires {
  { Accumulator::ahead } -> std::convertible_to<int>;
};
template <reads_ahead Accumulator>
inline constexpr int packs_ahead<Accumulator> = Accumulator::ahead;

/// Feeds this thread's share to add(packs, v) and add_item(i): Loads packs of each input in flight. The blocks 0 … workers - 1 call it.
/// Ahead: packs of aligned arrays that are on their way beside those that are added (for_each_aligned), 0: none; after_batch() comes once behind all of these.
template <int Loads, int Size, bool Packs, int Ahead = 0, int Inputs, class Add, class AddItem, class AfterBatch>
__device__ __forceinline__ void for_each_share(const arrays<Inputs>& a, Add add, AddItem add_item,
                                               AfterBatch after_batch, std::uint32_t workers = gridDim.x) {
  const std::uint64_t threads = std::uint64_t{workers} * blockDim.x;
  const std::uint64_t first = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  std::uint64_t i = first;
  if constexpr (Packs) {
    const loader<cache::share> load(a.kept);
    std::uint64_t v = first;
    if constexpr (Ahead > 0) {
      if (a.aligned) {
        v = for_each_aligned<Ahead>(a, v, threads, add);
        after_batch();
      }
    }
#pragma unroll 1
    for (; v < a.packs; v += threads * Loads) {
      pack p[Loads][Inputs];
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        if (v + threads * u < a.packs) {
#pragma unroll
          for (int k = 0; k < Inputs; ++k) p[u][k] = load_pack_of<Size>(a, k, v + threads * u, load);
        }
      }
#pragma unroll
      for (int u = 0; u < Loads; ++u) {
        if (v + threads * u < a.packs) add(p[u], v + threads * u);
      }
      after_batch();
    }
    i += a.packs * (16 / Size);
  }
#pragma unroll 1
  for (; i < a.n; i += threads) {
    add_item(i);
    after_batch();
  }
}

/// The share of an array that is to stay in L2.
inline float array_kept(std::uint64_t bytes, std::uint64_t l2_bytes) {
  if (bytes <= l2_bytes / 4 * 3) return 1;
  const int sixteenths = kept_sixteenths(bytes, l2_bytes);
  return sixteenths > 0 ? static_cast<float>(sixteenths) / 16 : 1.0f / 64;
}

/// The host's part: n elements of each input, strides in elements. False if an address is not a
/// multiple of its element's alignment.
template <class... T>
bool make_arrays(arrays<sizeof...(T)>& a, const void* const* x, const std::int64_t* stride,
                 std::uint64_t n, std::uint64_t l2_bytes) {
  constexpr int inputs = sizeof...(T);
  constexpr std::size_t sizes[] = {sizeof(T)...}, aligns[] = {alignof(T)...};
  a.n = n;
  a.aligned = true;
  bool gapless = all_packable<T...>;
  for (int k = 0; k < inputs; ++k) {
    a.x[k] = static_cast<const unsigned char*>(x[k]);
    a.stride[k] = stride[k] * static_cast<std::int64_t>(sizes[k]);
    const auto address = reinterpret_cast<std::uintptr_t>(x[k]);
    if (n != 0 && address % aligns[k] != 0) return false;
    a.aligned = a.aligned && address % 16 == 0;
    gapless = gapless && (stride[k] == 1 || n <= 1);
  }
  a.packs = gapless ? n / (16 / sizes[0]) : 0;
  a.kept = array_kept(n * sizes[0] * inputs, l2_bytes);
  return true;
}

}  // namespace wf::device::inline WF_BUILD
