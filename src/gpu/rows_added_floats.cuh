// SPDX-License-Identifier: Apache-2.0
/// \file rows_added_floats.cuh
/// Exact sums and means of floats by label, of many answers. An answer has slots: 64-bit whole numbers, whose units lie `spacing` powers of 2 apart. An element is added to
/// the slot in whose units it is whole, by one atomic operation; an f64 to two. That is exact in any order, so nothing is sorted and nothing is uncertain.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/certified.cuh>

#include "rows_added.cuh"

namespace wf::device::inline WF_BUILD {

/// Where the slots of answers lie: slot j of answer k is word j · answers + k, as elements of one array have few slots, which so lie together.
template <class T>
struct label_slots {
  using format = exact::format<T>;
  using bits = typename format::bits;
  static constexpr int mantissa = format::mantissa_bits + 1, greatest_place = (1 << format::exponent_bits) - 3;
  static constexpr int most_spacing = 28;
  /// An element of f64 has too many bits for a slot: those from the third slot on above its own go there.
  static constexpr int pieces = mantissa > 24 ? 2 : 1, apart = 3;

  std::uint32_t answers, n;
  int spacing, count;     ///< of slots
  std::uint32_t divisor;  ///< place · divisor / 2^16 is a place's slot
  bool magnitudes;        ///< norm1
  wf::rounding mode;
  std::uint64_t* slots;
  std::uint64_t* used;    ///< which slots have elements, of any answer; behind it, whether any answer is in doubt
  std::uint32_t* kinds;   ///< of each answer what slots do not tell: kind_bits
  std::uint32_t* others;  ///< of an answer in doubt: whether it has an element that is not -0
  std::uint32_t* counts;  ///< of elements; null where nobody asks

  /// n elements below 2^mantissa units, moved up by less than `spacing`, in one piece or two: sums of pieces are below 2^62. Spacing 0: pieces are too large.
  static label_slots of(std::int64_t elements, std::int64_t many) {
    label_slots s{};
    s.n = static_cast<std::uint32_t>(elements);
    s.answers = static_cast<std::uint32_t>(many);
    const int room = 62 - std::bit_width(static_cast<std::uint32_t>(elements));  // bits of a piece
    if constexpr (pieces == 1) {
      s.spacing = room - mantissa + 1;
      if (s.spacing > most_spacing) s.spacing = most_spacing;
    } else {
      s.spacing = room / apart;
      if (mantissa - 1 - (apart - 1) * s.spacing > room) return s = {};
    }
    s.count = greatest_place / s.spacing + 1 + (pieces - 1) * apart;
    s.divisor = 65536u / static_cast<unsigned>(s.spacing) + 1;
    return s;
  }
  /// Neighbouring slots that one bit of `used` tells of.
  static constexpr int used_log2 = pieces == 1 ? 0 : 2;
};
enum kind_bits : std::uint32_t { kind_nan = 1, kind_above = 2, kind_below = 4, kind_minus_zero = 8, kind_doubt = 16 };

/// The elements of `each` lanes' loads, and their labels; of those that no answer has, `answers`.
template <class T>
__device__ __forceinline__ void load_labelled(const label_slots<T>& s, const unsigned char* x, std::int64_t stride, const std::int64_t* labels, std::uint64_t at,
                                              typename exact::format<T>::bits (&value)[adder_loads], std::uint32_t (&label)[adder_loads]) {
#pragma unroll
  for (std::uint32_t j = 0; j < adder_loads; ++j) {
    const std::uint64_t i = at + j * warp_lanes + static_cast<std::uint32_t>(lane_index());
    const std::uint64_t given = i < s.n ? static_cast<std::uint64_t>(__ldcs(reinterpret_cast<const long long*>(labels) + i)) : ~std::uint64_t{0};
    label[j] = given < s.answers ? static_cast<std::uint32_t>(given) : s.answers;
    value[j] = 0;
    if (i < s.n) value[j] = __ldcs(reinterpret_cast<const typename exact::format<T>::bits*>(x + static_cast<std::int64_t>(i) * stride));  // slots are to stay in L2
  }
}

/// Each element onto a slot or two of its answer.
template <class T>
__global__ void __launch_bounds__(adder_threads) add_labelled_floats_kernel(label_slots<T> s, const unsigned char* x, std::int64_t stride, const std::int64_t* labels) {
  using format = exact::format<T>;
  using slots = label_slots<T>;
  using bits = typename format::bits;
  const auto lane = static_cast<std::uint32_t>(lane_index());
  constexpr std::uint32_t warp_elements = warp_lanes * adder_loads, none = no_word;
  auto* const words = reinterpret_cast<unsigned long long*>(s.slots);
  std::uint64_t used = 0;
  for (std::uint64_t at = (blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x) / warp_lanes * warp_elements; at < s.n; at += std::uint64_t{gridDim.x} * adder_threads * adder_loads) {
    bits value[adder_loads];
    std::uint32_t label[adder_loads];
    load_labelled(s, x, stride, labels, at, value, label);
#pragma unroll
    for (std::uint32_t j = 0; j < adder_loads; ++j) {
      const bits b = value[j], below = b & ((bits{1} << format::mantissa_bits) - 1);
      const auto e = static_cast<std::uint32_t>(b >> format::mantissa_bits) & format::exponent_field_max;
      const bool negative = !s.magnitudes && (b & format::sign_mask) != 0, there = label[j] != s.answers;
      std::uint32_t word = none;
      std::int64_t sum = 0;
      [[maybe_unused]] std::int64_t high = 0;
      if (e == format::exponent_field_max) {
        if (there) atomicOr(s.kinds + label[j], below != 0 ? kind_nan : negative ? kind_below : kind_above);
      } else if ((e | below) != 0) {
        const std::uint32_t place = e == 0 ? 0 : e - 1, slot = place * s.divisor >> 16;
        const int up = static_cast<int>(place) - static_cast<int>(slot) * s.spacing;
        const std::uint64_t m = e == 0 ? std::uint64_t{below} : below | std::uint64_t{1} << format::mantissa_bits;
        sum = static_cast<std::int64_t>(m << up);
        if constexpr (slots::pieces == 2) {
          const int low = slots::apart * s.spacing;  // bits of the lower piece
          sum &= (std::int64_t{1} << low) - 1;
          high = static_cast<std::int64_t>(m >> (low - up));
          if (negative) high = -high;
        }
        if (negative) sum = -sum;
        if (there) {
          word = slot * s.answers + label[j];
          used |= std::uint64_t{1} << (slot >> slots::used_log2);
          if constexpr (slots::pieces == 2) used |= std::uint64_t{1} << ((slot + slots::apart) >> slots::used_log2);
        }
      } else if (negative && there) {
        atomicOr(s.kinds + label[j], static_cast<std::uint32_t>(kind_minus_zero));
      }
      __syncwarp();
      add_to_words(words, sum == 0 ? none : word, static_cast<std::uint64_t>(sum));
      if constexpr (slots::pieces == 2) add_to_words(words, high == 0 || word == none ? none : word + slots::apart * s.answers, static_cast<std::uint64_t>(high));
      if (s.counts != nullptr) {
        const unsigned peers = __match_any_sync(all_lanes, label[j]);
        if (there && (peers & ((1u << lane) - 1)) == 0) atomicAdd(s.counts + label[j], static_cast<std::uint32_t>(__popc(peers)));
      }
    }
  }
  __syncwarp();
  const std::uint32_t low = warp_or(static_cast<std::uint32_t>(used)), high = warp_or(static_cast<std::uint32_t>(used >> 32));
  if (lane == 0 && (low | high) != 0) atomicOr(reinterpret_cast<unsigned long long*>(s.used), (static_cast<unsigned long long>(high) << 32) | low);
}

/// The leading 64 bits of a whole number that is given from its highest digits on, and whether there are others below them.
struct leading_window {
  std::uint64_t bits = 0;
  int below = 0;  ///< bits that were given and are not in `bits`
  bool sticky = false;

  __device__ __forceinline__ int room() const { return bits == 0 ? 64 : __clzll(static_cast<long long>(bits)); }
  __device__ __forceinline__ void put(std::uint64_t digit, int width) {
    const int free = room(), here = free < width ? free : width, rest = width - here;
    bits = bits << here | digit >> rest;
    sticky = sticky || (digit & ((std::uint64_t{1} << rest) - 1)) != 0;
    below += rest;
  }
};

/// The answers of slots, a thread each. Slots become digits.
template <class T>
__global__ void __launch_bounds__(adder_threads) answer_labelled_floats_kernel(label_slots<T> s, typename exact::format<T>::bits* out) {
  using format = exact::format<T>;
  using bits = typename format::bits;
  const std::uint64_t used = *s.used, mask = (std::uint64_t{1} << s.spacing) - 1;
  constexpr int log2 = label_slots<T>::used_log2;
  int first = 0, end = 0;  // slots that have elements
  if (used != 0) {
    first = (__ffsll(static_cast<long long>(used)) - 1) << log2;
    end = min((64 - __clzll(static_cast<long long>(used))) << log2, s.count);
  }
  for (std::uint64_t k = blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x; k < s.answers; k += std::uint64_t{gridDim.x} * adder_threads) {
    const std::uint32_t kinds = s.kinds[k], n = s.counts != nullptr ? s.counts[k] : 1;
    if (n == 0 || (kinds & kind_nan) != 0 || (kinds & (kind_above | kind_below)) == (kind_above | kind_below)) {
      out[k] = format::quiet_nan;
      continue;
    }
    if ((kinds & (kind_above | kind_below)) != 0) {
      out[k] = static_cast<bits>((kinds & kind_above) != 0 ? format::infinity : format::infinity | format::sign_mask);
      continue;
    }
    const auto is_used = [&](int j) { return (used >> (j >> log2) & 1) != 0; };
    std::uint64_t* const mine = s.slots + k;
    const auto slot = [&](int j) { return is_used(j) ? static_cast<std::int64_t>(mine[std::uint64_t{static_cast<unsigned>(j)} * s.answers]) : 0; };
    std::int64_t carry = 0;
#pragma unroll 4
    for (int j = first; j < end; ++j) carry = (slot(j) + carry) >> s.spacing;
    const bool negative = carry < 0;
    carry = 0;
#pragma unroll 1
    for (int j = first; j < end; ++j) {
      const std::int64_t v = (negative ? -slot(j) : slot(j)) + carry;
      mine[std::uint64_t{static_cast<unsigned>(j)} * s.answers] = static_cast<std::uint64_t>(v) & mask;
      carry = v >> s.spacing;
    }
    leading_window w;
    std::uint64_t rest = static_cast<std::uint64_t>(carry);
    int exponent = format::min_exponent + first * s.spacing;
    if (s.counts == nullptr) {
      w.bits = rest;
#pragma unroll 1
      for (int j = end - 1; j >= first; --j) w.put(mine[std::uint64_t{static_cast<unsigned>(j)} * s.answers], s.spacing);
    } else {  // a long division
      w.bits = rest / n;
      rest %= n;
      const auto divide = [&](std::uint64_t digit) {
        rest = rest << s.spacing | digit;
        w.put(rest / n, s.spacing);
        rest %= n;
      };
#pragma unroll 1
      for (int j = end - 1; j >= first; --j) divide(mine[std::uint64_t{static_cast<unsigned>(j)} * s.answers]);
#pragma unroll 1
      for (; rest != 0 && w.room() != 0; exponent -= s.spacing) divide(0);
      w.sticky = w.sticky || rest != 0;
    }
    if (w.bits != 0) {
      out[k] = exact::pack<typename format::layout>(exact::leading_bits(w.bits, exponent + w.below, w.sticky, negative), s.mode);
    } else if ((kinds & kind_minus_zero) != 0) {  // other elements may have cancelled
      s.kinds[k] = kind_doubt;
      atomicOr(reinterpret_cast<unsigned long long*>(s.used) + 1, 1ull);
    } else {
      out[k] = 0;
    }
  }
}

/// Whether answers in doubt have an element that is not -0. Leaves at once where none is.
template <class T>
__global__ void __launch_bounds__(adder_threads) doubt_labelled_floats_kernel(label_slots<T> s, const unsigned char* x, std::int64_t stride, const std::int64_t* labels) {
  if (s.used[1] == 0) return;
  constexpr std::uint32_t warp_elements = warp_lanes * adder_loads;
  for (std::uint64_t at = (blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x) / warp_lanes * warp_elements; at < s.n; at += std::uint64_t{gridDim.x} * adder_threads * adder_loads) {
    typename exact::format<T>::bits value[adder_loads];
    std::uint32_t label[adder_loads];
    load_labelled(s, x, stride, labels, at, value, label);
#pragma unroll
    for (std::uint32_t j = 0; j < adder_loads; ++j) {
      if (label[j] != s.answers && value[j] != exact::format<T>::sign_mask && (s.kinds[label[j]] & kind_doubt) != 0) atomicOr(s.others + label[j], 1u);
    }
  }
}
template <class T>
__global__ void __launch_bounds__(adder_threads) zero_labelled_floats_kernel(label_slots<T> s, typename exact::format<T>::bits* out) {
  if (s.used[1] == 0) return;
  for (std::uint64_t k = blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x; k < s.answers; k += std::uint64_t{gridDim.x} * adder_threads) {
    if ((s.kinds[k] & kind_doubt) != 0) out[k] = s.others[k] != 0 ? typename exact::format<T>::bits{0} : exact::format<T>::sign_mask;
  }
}

/// Whether labels go this way: where slots take no more memory than a sort would.
template <class T>
bool adds_float_labels(const rows_request& r) {
  if ((r.what != op::sum && r.what != op::norm1 && r.what != op::mean) || r.accuracy != accuracy::exact || r.state_bytes != 0 || r.segments < added_answers || r.segments >= UINT32_MAX || r.length[0] >= UINT32_MAX) return false;
  const auto s = label_slots<T>::of(r.length[0], r.segments);
  const std::uint64_t words = static_cast<std::uint64_t>(s.count) * s.answers;
  return s.spacing != 0 && words <= 2 * std::uint64_t{s.n} && words < UINT32_MAX && r.segments <= r.length[0];
}

template <class T>
cudaError_t enqueue_added_float_labels(const rows_request& r, workspace& scratch, cudaStream_t stream) {
  auto s = label_slots<T>::of(r.length[0], r.segments);
  s.magnitudes = r.what == op::norm1;
  s.mode = r.options.rounding;
  const std::size_t words = static_cast<std::size_t>(s.count) * s.answers, bytes = (words + 2 + s.answers) * 8 + (r.what == op::mean ? std::size_t{s.answers} * 4 : 0);
  void* memory = nullptr;
  cudaError_t e = cudaMallocAsync(&memory, bytes, stream);
  if (e != cudaSuccess) return e;
  s.slots = static_cast<std::uint64_t*>(memory);
  s.used = s.slots + words;
  s.kinds = reinterpret_cast<std::uint32_t*>(s.used + 2);
  s.others = s.kinds + s.answers;
  if (r.what == op::mean) s.counts = s.others + s.answers;
  const auto* const x = static_cast<const unsigned char*>(r.x[0]);
  const std::int64_t stride = r.stride[0][0] * static_cast<std::int64_t>(sizeof(T));
  auto* const out = static_cast<typename exact::format<T>::bits*>(r.out);
  const std::uint32_t most = 8 * scratch.multiprocessors();
  const launch_config elements{at_most(divide_up(s.n, adder_threads * adder_loads), most), adder_threads, 0, stream, false}, of_answers{at_most(divide_up(s.answers, adder_threads), 2 * most), adder_threads, 0, stream, false};
  e = cudaMemsetAsync(memory, 0, bytes, stream);
  if (e == cudaSuccess) e = launch(add_labelled_floats_kernel<T>, elements, s, x, stride, r.labels);
  if (e == cudaSuccess) e = launch(answer_labelled_floats_kernel<T>, of_answers, s, out);
  if (e == cudaSuccess && !s.magnitudes) e = launch(doubt_labelled_floats_kernel<T>, elements, s, x, stride, r.labels);
  if (e == cudaSuccess && !s.magnitudes) e = launch(zero_labelled_floats_kernel<T>, of_answers, s, out);
  const cudaError_t freed = cudaFreeAsync(memory, stream);
  return e != cudaSuccess ? e : freed;
}

}  // namespace wf::device::inline WF_BUILD
