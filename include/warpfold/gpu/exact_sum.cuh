// SPDX-License-Identifier: Apache-2.0
/// \file exact_sum.cuh
/// The exact sum: the true sum of all elements, rounded once to their type, ties to even; the bits of
/// wf::exact::sum_state on the host, whatever the launch. NaN, infinities, signed zeros, subnormals
/// and sums that overflow on their way included.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/exact/ieee.hpp>
#include <warpfold/gpu/exact_anchored.cuh>
#include <warpfold/gpu/exact_thread.cuh>
#include <warpfold/gpu/fast_sum.cuh>
#include <warpfold/gpu/grid.cuh>
#include <warpfold/gpu/launch.cuh>
#include <warpfold/gpu/thread.cuh>
#include <warpfold/gpu/warp.cuh>
#include <warpfold/gpu/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// How the digits of a sum of T lie on a warp.
template <class Accumulator>
inline constexpr int digits_a_lane = Accumulator::digits > 32 ? 3 : 1;
template <class Accumulator>
inline constexpr int digit_lanes =
    (Accumulator::digits + digits_a_lane<Accumulator> - 1) / digits_a_lane<Accumulator>;

/// Four rows: at a thousand blocks each word takes 250 additions, and the reader loads four words.
template <class Accumulator>
using digit_tally = tally<digit_lanes<Accumulator> * digits_a_lane<Accumulator> + 1, 4>;

/// Blocks that saw each kind of special value, in fields of 12 bits: at most 4095 blocks.
__device__ __forceinline__ std::int64_t spread_kinds(std::uint32_t kinds) {
  std::int64_t fields = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) fields |= std::int64_t{kinds >> i & 1} << (12 * i);
  return fields;
}
__device__ __forceinline__ std::uint32_t gather_kinds(std::int64_t fields) {
  std::uint32_t kinds = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) kinds |= (fields >> (12 * i) & 0xfff) != 0 ? 1u << i : 0u;
  return kinds;
}

/// By a whole warp: digits and kinds to the answer.
template <class T, int PerLane>
__device__ __forceinline__ T round_by_warp(const std::int64_t (&v)[PerLane], std::uint32_t kinds,
                                           int unit) {
  using f = exact::format<T>;
  if ((kinds & special::nan) != 0 ||
      (kinds & (special::pos_inf | special::neg_inf)) == (special::pos_inf | special::neg_inf)) {
    return f::from_bits(f::quiet_nan);
  }
  if ((kinds & special::pos_inf) != 0) return f::from_bits(f::infinity);
  using bits = typename f::bits;
  if ((kinds & special::neg_inf) != 0) {
    return f::from_bits(static_cast<bits>(f::infinity | f::sign_mask));
  }
  if (kinds == 0) return f::from_bits(f::sign_mask);
  const exact::scaled x = warp_number<PerLane>::from(v).leading_bits(unit);
  // The bulk of wf::exact::pack, with shifts that the compiler knows: a normal number that is finite.
  constexpr int drop = 63 - f::mantissa_bits;
  const int place = x.exponent + drop - f::min_exponent;
  if (x.significand == 0 || place < 0 || place >= f::max_shift) {
    return f::from_bits(exact::pack<typename f::layout>(x, rounding::nearest));
  }
  const std::uint64_t kept = x.significand >> drop;
  const auto half = static_cast<std::uint32_t>(x.significand >> (drop - 1)) & 1;
  const bool rest = x.sticky || (x.significand & ((std::uint64_t{1} << (drop - 1)) - 1)) != 0;
  const std::uint64_t up = half & (rest ? 1u : static_cast<std::uint32_t>(kept));
  const auto field = static_cast<std::uint64_t>(place) << f::mantissa_bits;
  const auto sign = x.negative ? f::sign_mask : bits{0};
  return f::from_bits(static_cast<bits>(sign | static_cast<bits>(field + kept + (up & 1))));
}

template <class T, class Accumulator, int Threads, class Walk, bool Aligned, int MinBlocks>
__global__ void __launch_bounds__(Threads, resident_blocks(Threads, MinBlocks))
    exact_sum_kernel(array_part<T> part, T* out, std::uint64_t* rows) {
  constexpr int per_lane = digits_a_lane<Accumulator>;
  constexpr int lanes = digit_lanes<Accumulator>;
  using message = digit_tally<Accumulator>;
  __shared__ struct {
    typename Accumulator::room room;
    std::uint32_t kinds_of_warp[Threads / 32];
  } shared;
  auto& room = shared.room;
  auto& kinds_of_warp = shared.kinds_of_warp;
  Accumulator a;
  const auto add = [&](const pack& p) { a.add(p); };
  const auto after = [&] { a.after_batch(Walk::loads); };
  const std::uint32_t thread = blockIdx.x * Threads + threadIdx.x;
  if constexpr (requires { Accumulator::looks_ahead; }) {
    for_each_pack<Walk, Aligned>(
        part, thread, [&](const pack(&p)[Walk::loads], int count) { a.start(room, p, count); }, add, after);
  } else {
    for_each_pack<Walk, Aligned>(part, thread, [&] { a.start(); }, add, after);
  }
  a.finish();
  std::uint32_t kinds = warp_or(a.kinds());
  if (lane_index() == 0) kinds_of_warp[warp_index()] = kinds;
  std::int64_t v[per_lane];
  a.sum_over_block(room, v);
  if (warp_index() != 0) return;
  kinds = warp_or(lane_index() < Threads / 32 ? kinds_of_warp[lane_index()] : 0u);
  if (part.last == 0 && part.rest == 0) kinds = special::ordinary;  // the empty sum is +0
  if (gridDim.x > 1) {
    const int first = lane_index() * per_lane;
    if (!is_last_block()) {
      settle(v);
      if (lane_index() < lanes) {
#pragma unroll
        for (int j = 0; j < per_lane; ++j) message::post(rows, first + j, v[j]);
      } else if (lane_index() == lanes) {
        message::post(rows, first, spread_kinds(kinds));
      }
      return;
    }
    std::int64_t others[per_lane];
    message::template collect<per_lane>(rows, first, gridDim.x - 1, others);
    kinds |= gather_kinds(__shfl_sync(all_lanes, others[0], lanes));
    if (lane_index() < lanes) {
#pragma unroll
      for (int j = 0; j < per_lane; ++j) v[j] += others[j];
    }
  }
  const T answer = round_by_warp<T>(v, kinds, Accumulator::unit);
  if (lane_index() == 0) *out = answer;
}

/// With a launch of one's own choosing, for tuning: `workers` blocks, and if `collector` one more that
/// only collects; fewer than workspace::most_blocks blocks. `kept` is array_part's.
template <class T, class Accumulator, int Threads, class Walk, int MinBlocks>
cudaError_t exact_sum_shaped(const T* x, std::uint64_t n, T* out, workspace& scratch,
                             cudaStream_t stream, std::uint32_t workers, bool collector = false,
                             float kept = 1) {
  if (workers >= workspace::most_blocks) return cudaErrorInvalidValue;
  const auto part = cut_array(x, n, workers * Threads, kept);
  const auto kernel =
      reinterpret_cast<std::uintptr_t>(x) % 16 == 0
          ? exact_sum_kernel<T, Accumulator, Threads, Walk, true, MinBlocks>
          : exact_sum_kernel<T, Accumulator, Threads, Walk, false, MinBlocks>;
  return launch(kernel, {workers + (collector ? 1u : 0u), Threads, Accumulator::shared_bytes, stream},
                part, out, scratch.tally());
}

/// One double after another into the answer, where the sum is known to be exact: rounds once.
template <class T>
__device__ __forceinline__ T round_double(double d) {
  using f = exact::format<T>;
  return f::from_bits(exact::convert<typename f::layout, exact::ieee_f64>(
      __builtin_bit_cast(std::uint64_t, d)));
}
template <>
__device__ __forceinline__ float round_double<float>(double d) {
  return static_cast<float>(d);  // 0 or normal here, so no flush to zero can touch it
}
template <>
__device__ __forceinline__ __half round_double<__half>(double d) {
  return d != d ? __ushort_as_half(0x7e00) : __double2half(d);
}

/// to + x, of the bits of a float, without the conversion that a multiprocessor does for 16 floats a
/// clock: the bits in a double's fields are x·2^-896, subnormals and zeros too (not infinities and NaNs).
__device__ __forceinline__ double add_by_fields(double to, std::uint32_t bits) {
  const auto high = static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 3) & 0x8fffffffu;
  return fma(__builtin_bit_cast(double, std::uint64_t{high} << 32 | bits << 29), 0x1p896, to);
}

/// One block, at most Loads packs a thread. Where the elements lie so close together that doubles sum
/// them without rounding, they are summed so, and the answer comes half a microsecond sooner; that is
/// most data, and every array of f16. Else the accumulator's way, from the start.
template <class T, class Accumulator, int Threads, int Loads, bool Aligned>
__global__ void __launch_bounds__(Threads) exact_sum_small_kernel(array_part<T> part, T* out) {
  constexpr int warps = Threads / 32;
  constexpr bool always = std::is_same_v<T, __half>;  // 40 bits, and 14 of count
  static_assert(Threads * Loads * pack_items<T> < 1 << 15);
  __shared__ struct {
    double sum_of_warp[warps];
    float size_of_warp[warps];
    std::uint32_t least_of_warp[warps];
    typename Accumulator::room room;
    std::uint32_t kinds_of_warp[warps];
  } shared;
  auto& sum_of_warp = shared.sum_of_warp;
  auto& size_of_warp = shared.size_of_warp;
  auto& least_of_warp = shared.least_of_warp;
  double chain[4] = {-0.0, -0.0, -0.0, -0.0};
  float size = 0;              // sum of |x|
  std::uint32_t least = ~0u;  // of 2·|x| as bits of f32, less 2, modulo 2^32: zeros are above all
  for_each_pack_small<Loads, Aligned>(part, [&](const pack& p) {
#pragma unroll
    for (int i = 0; i < pack_items<T>; ++i) {
      const float v = fast_fold<T>::item(p, i);
      const auto bits = __builtin_bit_cast(std::uint32_t, v);
      double& to = chain[i % 4];  // half of them by each of two units
      to = !always && i % 2 == 1 ? add_by_fields(to, bits) : to + static_cast<double>(v);
      if constexpr (!always) {
        least = min(least, 2 * bits - 2);
        size += fabsf(v);
      }
    }
  });
  double sum = warp_sum((chain[0] + chain[1]) + (chain[2] + chain[3]));
  if constexpr (!always) {
    size = warp_sum(size);
    least = warp_min(least);
  }
  if (lane_index() == 0) {
    sum_of_warp[warp_index()] = sum;
    size_of_warp[warp_index()] = size;
    least_of_warp[warp_index()] = least;
  }
  __syncthreads();
  bool fits = always;
  if constexpr (!always) {
    size = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      size += size_of_warp[w];
      least = min(least, least_of_warp[w]);
    }
    least = least >= 0xfffffffeu ? 255 : (least + 2) >> 24;  // the exponent's field
    // Multiples of 2^(least - 150) whose partial sums stay below 2^(least - 97): 53 bits. `size` is
    // right to 2^-9 of itself; an infinity or a NaN in it does not compare as less. From 24 on, what
    // is not zero is not subnormal either, so that no flush to zero, wherever set, can touch it.
    const float limit = __builtin_bit_cast(float, (least + 30) << 23);
    fits = (least >= 24 && least <= 200 && size * 1.01f < limit) || (least == 255 && size == 0);
  }
  if (fits) {
    if (threadIdx.x == 0) {
      double all[warps];
#pragma unroll
      for (int w = 0; w < warps; ++w) all[w] = sum_of_warp[w];
#pragma unroll
      for (int step = 1; step < warps; step *= 2) {
#pragma unroll
        for (int w = 0; w + step < warps; w += 2 * step) all[w] += all[w + step];
      }
      sum = all[0];
      *out = part.last == 0 && part.rest == 0 ? exact::format<T>::from_bits(0) : round_double<T>(sum);
    }
    return;
  }
  if constexpr (!always) {
    auto& kinds_of_warp = shared.kinds_of_warp;
    Accumulator a;
    a.start();
    for_each_pack_small<Loads, Aligned>(part, [&](const pack& p) { a.add(p); });
    std::uint32_t kinds = warp_or(a.kinds());
    if (lane_index() == 0) kinds_of_warp[warp_index()] = kinds;
    std::int64_t v[1];
    a.sum_over_block(shared.room, v);
    if (warp_index() != 0) return;
    kinds = warp_or(lane_index() < warps ? kinds_of_warp[lane_index()] : 0u);
    const T answer = round_by_warp<T>(v, kinds, Accumulator::unit);
    if (lane_index() == 0) *out = answer;
  }
}

template <class T, int Threads, int Loads>
cudaError_t exact_sum_small(const T* x, std::uint64_t n, T* out, cudaStream_t stream) {
  using accumulator =
      std::conditional_t<std::is_same_v<T, __half>, half_registers<Threads>, float_column<T, Threads>>;
  const auto kernel = reinterpret_cast<std::uintptr_t>(x) % 16 == 0
                          ? exact_sum_small_kernel<T, accumulator, Threads, Loads, true>
                          : exact_sum_small_kernel<T, accumulator, Threads, Loads, false>;
  return launch(kernel, {1, Threads, accumulator::shared_bytes, stream}, cut_array(x, n, Threads), out);
}

/// Few blocks and a collector as long as the answer's latency counts, then as many columns as a
/// multiprocessor has room for: 704 on CC 9.0, 256 where a block may have 99 KiB, else 128.
inline cudaError_t exact_sum_of_doubles(const double* x, std::uint64_t n, double* out,
                                        workspace& scratch, cudaStream_t stream) {
  const std::uint64_t bytes = n * sizeof(double);
  const std::uint64_t packs = bytes / 16;
  const std::uint32_t sm = scratch.multiprocessors();
  const std::uint64_t l2 = scratch.l2_bytes();
  using near = walk<4, false, cache::keep>;
  using near2 = walk<2, false, cache::keep>;
  using far = walk<4, false, cache::share>;
  using ahead = walk<4, true>;
  constexpr std::size_t other = sizeof(anchored_doubles<704>::room) + 2048;
  const auto resident = [&](std::size_t columns) {
    return static_cast<std::uint32_t>((scratch.block_shared_bytes() - other) / columns);
  };
  const auto sum = [&]<int Threads, class Walk, int MinBlocks>(std::uint32_t workers, bool collector,
                                                               float kept) {
    return exact_sum_shaped<double, anchored_doubles<Threads>, Threads, Walk, MinBlocks>(
        x, n, out, scratch, stream, workers, collector, kept);
  };
  if (packs <= 512) return sum.template operator()<128, near, 1>(1, false, 1);
  if (packs <= 8192) return sum.template operator()<128, near, 1>(divide_up(packs, 256), true, 1);
  if (resident(double_column<704>::shared_bytes) > 0) {
    if (packs <= 32768) return sum.template operator()<256, near2, 1>(divide_up(packs, 512), true, 1);
    if (bytes <= std::uint64_t{10} << 20) {
      return sum.template operator()<352, ahead, 2>(at_most(divide_up(packs, 704), sm - sm / 8), true, 1);
    }
    if (bytes <= std::uint64_t{24} << 20) return sum.template operator()<352, ahead, 2>(sm, false, 1);
    const int kept = bytes > l2 / 4 * 3 ? kept_sixteenths(bytes, l2) : 0;
    if (kept > 0) return sum.template operator()<704, far, 1>(sm, false, static_cast<float>(kept) / 16);
    return sum.template operator()<704, ahead, 1>(sm, false, 1);
  }
  if (const auto r = resident(double_column<256>::shared_bytes); r > 0) {
    return sum.template operator()<256, near2, 1>(exact_shape_for(bytes, 256, 4, r, sm, l2).workers, false, 1);
  }
  const auto r = resident(double_column<128>::shared_bytes);
  return sum.template operator()<128, near, 1>(exact_shape_for(bytes, 128, 8, r, sm, l2).workers, false, 1);
}

/// What an exact sum of T is answered as: T, and 64 bits for int (modulo 2^64).
template <class T>
using exact_t = std::conditional_t<std::is_same_v<T, int>, std::int64_t, T>;

/// *out = the exact sum of x[0 … n), rounded once. Memory, addresses, stream and errors as fast_sum.
template <class T>
cudaError_t exact_sum(const T* x, std::uint64_t n, exact_t<T>* out, workspace& scratch,
                      cudaStream_t stream) {
  if (reinterpret_cast<std::uintptr_t>(x) % sizeof(T) != 0) return cudaErrorInvalidValue;
  const cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  const std::uint64_t bytes = n * sizeof(T);
  const std::uint64_t packs = bytes / 16;
  const std::uint32_t sm = scratch.multiprocessors();
  const std::uint64_t l2 = scratch.l2_bytes();
  using near = walk<4, false, cache::keep>;
  using far = walk<4, false, cache::share>;
  if constexpr (std::is_same_v<T, int>) {
    return fast_sum(x, n, out, scratch, stream);
  } else if constexpr (std::is_same_v<T, double>) {
    return exact_sum_of_doubles(x, n, out, scratch, stream);
  } else {
    if (packs <= 32) return exact_sum_small<T, 32, 1>(x, n, out, stream);
    if (packs <= 128) return exact_sum_small<T, 32, 4>(x, n, out, stream);
    if (packs <= 512) return exact_sum_small<T, 128, 4>(x, n, out, stream);
    if (packs <= 1024) return exact_sum_small<T, 256, 4>(x, n, out, stream);
    if (packs <= 2048) return exact_sum_small<T, 512, 4>(x, n, out, stream);
    constexpr bool columns = !std::is_same_v<T, __half>;
    using accumulator_256 = std::conditional_t<columns, float_column<T, 256>, half_registers<256>>;
    if constexpr (columns) {
      if (packs <= 1 << 18) {
        const exact_shape s = exact_shape_for(bytes, 256, 2, 2, sm, l2);
        return exact_sum_shaped<T, accumulator_256, 256, walk<2, false, cache::keep>, 6>(
            x, n, out, scratch, stream, at_most(s.workers, 256), true);
      }
    } else if (packs <= 32768) {
      // Small blocks: their way from the last load to the answer is shorter.
      const exact_shape s = exact_shape_for(bytes, 128, 1, 8, sm, l2);
      return exact_sum_shaped<T, half_registers<128>, 128, near, 8>(x, n, out, scratch, stream,
                                                                    s.workers, true);
    }
    if (bytes <= l2 / 4 * 3) {
      const exact_shape s = exact_shape_for(bytes, 256, columns ? 2 : 1, 4, sm, l2);
      return exact_sum_shaped<T, accumulator_256, 256, near, 4>(x, n, out, scratch, stream, s.workers);
    }
    // Twice as many bf16 a byte are more than the column's way keeps up with.
    constexpr bool narrow = std::is_same_v<T, __nv_bfloat16>;
    using large = std::conditional_t<narrow, anchored_bf16<256>, accumulator_256>;
    constexpr int resident = columns && !narrow ? 6 : 4;
    const exact_shape s = exact_shape_for(bytes, 256, 1, resident, sm, l2);
    if (s.kept > 0) {
      return exact_sum_shaped<T, large, 256, far, resident>(x, n, out, scratch, stream, s.workers, false,
                                                            s.kept);
    }
    return exact_sum_shaped<T, large, 256, walk<4>, resident>(x, n, out, scratch, stream, s.workers);
  }
}

}  // namespace wf::device::inline WF_BUILD
