// SPDX-License-Identifier: Apache-2.0
/// \file rows_added_floats.cuh
/// Exact sums and means of floats by label, of many answers. An answer has slots: 64-bit whole numbers, whose units lie `spacing` powers of 2 apart. An element is added to
/// the slot in whose units it is whole, by one atomic operation. That is exact in any order, so nothing is sorted and nothing is uncertain.
///
/// What limits it is how many requests L2 looks up, whatever they hold: 1.5 for an atomic operation of a lane (those that come to the other half of L2 are looked up twice). So a slot has two words
/// side by side where an element has two things to add, as an f64 has and an element of a mean, and two lanes add them by one request. And only slots that a sample of the elements
/// has are zeroed first: where others turn up, their elements are listed, and added by a second launch of the same kernel, which leaves at once where there are none.
///
/// From CC 9.0 on an f64 is one request of one lane where answers have so few elements each that sums of its four digits stay below 2^24: a slot is four floats then, which one vector reduction
/// adds. The lowest digit tells whether they did; if not, all is added again by words.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/certified.cuh>
#include <warpfold/detail/gpu/domain/bulk.cuh>
#include <warpfold/detail/gpu/kernels/many_blocks.cuh>

#include "rows_added.cuh"

namespace wf::device::inline WF_BUILD {

/// Some slots, or places of exponents, that follow each other; zeros: none.
struct slot_range {
  std::uint32_t below;  ///< from the first one of it to the last of all
  std::uint32_t end;

  __device__ __forceinline__ std::uint32_t begin(std::uint32_t count) const { return count - below; }
  __device__ __forceinline__ void take(std::uint32_t first, std::uint32_t last, std::uint32_t count) {
    below = max(below, count - first);
    end = max(end, last + 1);
  }
  /// Tells the ranges of all lanes to `to`.
  __device__ __forceinline__ void tell(slot_range& to) const {
    __syncwarp();
    const std::uint32_t all_below = warp_max(below), all_end = warp_max(end);
    if (lane_index() != 0 || all_end == 0) return;
    atomicMax(&to.below, all_below);
    atomicMax(&to.end, all_end);
  }
};
/// What blocks tell each other.
struct label_notes {
  slot_range used, seen;    ///< slots from the first to the last that have elements, of any answer; places that the sample has
  std::uint64_t doubt;      ///< whether any answer is in doubt
  std::uint64_t missed;     ///< elements of slots that are not zeroed at first
  std::uint64_t full;       ///< whether a float had no room for a sum
};
/// How many elements are listed, at most, where their slots were not zeroed; if there are more, all elements are looked at again.
inline constexpr std::uint32_t most_missed = 1 << 20;
/// How many elements the sample has; and how many words all slots must have for it to be taken.
inline constexpr std::uint32_t label_sample = 1 << 16;
inline constexpr std::uint64_t sampled_words = 1 << 20;
/// What a slot is: one word of the sum; two words of it, or one and a count; or floats.
enum class slot_kind { word, words, floats };
/// Blocks of a multiprocessor.
template <slot_kind Kind>
inline constexpr int adder_blocks = Kind == slot_kind::word ? 8 : 5;

/// How an f64 becomes four whole numbers, the least of `low` bits and three of `each`: all but the lowest are at most 2^(each - 1) of either sign, and the lowest is 2^(each - 1) more than its bits.
/// So a sum of lowest ones below 2^24 says that there were fewer than 2^(25 - each) of them, and then no other sum is above 2^24.
struct float_digits {
  int low, each;

  int bits() const { return low + 3 * each; }
  /// Digits with room for most groups of so many elements on average, whose labels come in no order, with bits for numbers as wide as 64.
  static float_digits of(std::uint64_t average) {
    std::uint64_t root = 0;
    while (root * root < average) ++root;
    const std::uint64_t most = average + 6 * root + 8;
    float_digits d{0, 17};
    while (d.each > 1 && most << (d.each - 1) >= 1 << 24) --d.each;
    while (d.bits() < 64 && d.low < d.each - 1 && most * ((1u << (d.each - 1)) + (2u << d.low)) <= 1 << 24) ++d.low;
    return d;
  }
};

/// Where the slots of answers lie: slot j of answer k is word (j · answers + k) · width. Elements of one array use few slots, which lie together in this way.
template <class T>
struct label_slots {
  using format = exact::format<T>;
  using bits = typename format::bits;
  static constexpr int mantissa = format::mantissa_bits + 1, greatest_place = (1 << format::exponent_bits) - 3;
  static constexpr int most_spacing = 28;
  /// An element of f64 has too many bits for a word: its lower `low` bits go to the first one of its slot, the others to the second.
  static constexpr int pieces = mantissa > 24 ? 2 : 1;
  /// Units of neighbouring slots of floats are at least this many powers of 2 apart.
  static constexpr int least_spacing = 8;

  std::uint32_t answers, n;
  int spacing, count;     ///< the slots'
  int low;                ///< bits of a piece; of two, of the lower one
  int width;              ///< words of a slot: 2 of two pieces, or where a count lies beside the sum
  std::uint32_t divisor;  ///< place · divisor / 2^16 is a place's slot
  bool magnitudes;        ///< norm1
  bool sampled;           ///< whether not all slots are zeroed first
  bool again;             ///< all by words, where floats had no room
  float_digits digits;    ///< slots of floats have these
  wf::rounding mode;
  std::uint64_t* slots;
  label_notes* notes;
  std::uint32_t* kinds;   ///< for each answer what slots do not tell: kind_bits
  std::uint32_t* others;  ///< for an answer in doubt: whether it has an element that is not -0
  std::uint32_t* counts;  ///< for elements that are in no slot's count; null where nobody asks
  std::uint32_t* missed;  ///< elements whose slots were not zeroed, up to most_missed

  /// Slots for n elements below 2^mantissa units, moved up by less than `spacing`, in one piece or two: sums of pieces are below 2^62. Or digits of floats, where they have room.
  static label_slots of(std::int64_t elements, std::int64_t many, bool counted, bool floats) {
    label_slots s{};
    s.n = static_cast<std::uint32_t>(elements);
    s.answers = static_cast<std::uint32_t>(many);
    s.low = 62 - std::bit_width(static_cast<std::uint32_t>(elements));  // bits of a piece
    s.spacing = pieces * s.low - mantissa + 1;
    if (s.spacing > most_spacing) s.spacing = most_spacing;
    s.width = pieces == 2 || counted ? 2 : 1;
    s.space();
    if (pieces == 2 && floats && !counted && s.answers != 0) {
      label_slots by_floats = s;
      by_floats.digits = float_digits::of(s.n / s.answers);
      by_floats.spacing = by_floats.digits.bits() - mantissa;
      if (by_floats.spacing >= least_spacing && by_floats.spacing <= s.spacing) {
        by_floats.space();
        if (by_floats.fits()) return by_floats;
      }
    }
    return s;
  }
  std::uint64_t words() const { return static_cast<std::uint64_t>(count) * answers * static_cast<unsigned>(width); }
  bool fits() const { return words() <= (sizeof(T) < 8 ? 2 : 3) * std::uint64_t{n} && words() < UINT32_MAX; }
  /// Slots beyond the greatest place are for what comes to more than a slot.
  WF_HD int digits_beyond() const { return pieces == 2 ? low / spacing + 1 : 0; }

 private:
  void space() {
    count = (greatest_place + spacing - 1) / spacing + 1 + digits_beyond();
    divisor = 65536u / static_cast<unsigned>(spacing) + 1;
  }
};
/// Tells from the sample where slots begin: a slot ends with the sample's greatest place, so that as many elements as possible share one slot, and L2 has room for it. It also tells which slots are zeroed before
/// elements are added: those of places that the sample has and of a few below, as the least elements are seldom in it.
struct slot_frame {
  std::uint32_t offset;
  slot_range zeroed;

  template <class T>
  static __device__ __forceinline__ slot_frame of(const label_slots<T>& s) {
    constexpr std::uint32_t places = label_slots<T>::greatest_place + 1, below = 12;
    const auto count = static_cast<std::uint32_t>(s.count), spacing = static_cast<std::uint32_t>(s.spacing);
    slot_frame f{0, {count, count}};
    if (!s.sampled) return f;
    f.zeroed = {0, 0};
    const slot_range seen = s.notes->seen;
    if (seen.end == 0) return f;
    const std::uint32_t top = seen.end - 1;
    f.offset = spacing - 1 - top % spacing;
    f.zeroed.take((max(seen.begin(places), below) - below + f.offset) * s.divisor >> 16, (top + f.offset) * s.divisor >> 16, count);
    return f;
  }
};
enum kind_bits : std::uint32_t { kind_nan = 1, kind_above = 2, kind_below = 4, kind_minus_zero = 8, kind_doubt = 16 };

/// Loads `each` elements and their labels, `answers` where no answer has the label: among the first `n` of all elements, or of a list.
template <class T>
__device__ __forceinline__ void load_labelled(const label_slots<T>& s, const unsigned char* x, std::int64_t stride, const std::int64_t* labels, std::uint64_t at, std::uint32_t n,
                                              const std::uint32_t* list, typename exact::format<T>::bits (&value)[adder_loads], std::uint32_t (&label)[adder_loads]) {
#pragma unroll
  for (std::uint32_t j = 0; j < adder_loads; ++j) {
    std::uint64_t i = at + j * warp_lanes + static_cast<std::uint32_t>(lane_index());
    const bool there = i < n;
    if (list != nullptr && there) i = list[i];
    const std::uint64_t given = there ? static_cast<std::uint64_t>(__ldcs(reinterpret_cast<const long long*>(labels) + i)) : ~std::uint64_t{0};
    label[j] = given < s.answers ? static_cast<std::uint32_t>(given) : s.answers;
    value[j] = 0;
    if (there) value[j] = __ldcs(reinterpret_cast<const typename exact::format<T>::bits*>(x + static_cast<std::int64_t>(i) * stride));  // slots are to stay in L2
  }
}

/// The places of some elements.
template <class T>
__global__ void __launch_bounds__(adder_threads) sample_labelled_floats_kernel(label_slots<T> s, const unsigned char* x, std::int64_t stride) {
  using format = exact::format<T>;
  slot_range seen{0, 0};
  const std::uint32_t threads = gridDim.x * adder_threads, step = s.n > label_sample ? s.n / label_sample : 1;
#pragma unroll 8
  for (std::uint32_t k = blockIdx.x * adder_threads + threadIdx.x; k < min(s.n, label_sample); k += threads) {
    const auto b = *reinterpret_cast<const typename format::bits*>(x + std::int64_t{k} * step * stride);
    const auto e = static_cast<std::uint32_t>(b >> format::mantissa_bits) & format::exponent_field_max;
    if (e == format::exponent_field_max || e == 0) continue;
    seen.take(e - 1, e - 1, label_slots<T>::greatest_place + 1);
  }
  seen.tell(s.notes->seen);
}

/// Zeroes the slots of the sample; in a second launch the others that have elements; and where all is added again, all that have elements.
template <class T>
__global__ void __launch_bounds__(adder_threads) clear_labelled_floats_kernel(label_slots<T> s, bool second) {
  const auto count = static_cast<std::uint32_t>(s.count);
  const slot_range used = s.notes->used, zeroed = slot_frame::of(s).zeroed;
  const std::uint32_t from = zeroed.begin(count);
  const auto clear = [&](std::uint32_t begin, std::uint32_t end) {
    const std::uint64_t each = std::uint64_t{s.answers} * static_cast<unsigned>(s.width);
    for (std::uint64_t k = begin * each + blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x; k < end * each; k += std::uint64_t{gridDim.x} * adder_threads) s.slots[k] = 0;
  };
  if (s.again) {
    if (s.notes->full != 0) clear(used.begin(count), used.end);
  } else if (!second) {
    clear(from, zeroed.end);
  } else {
    clear(used.begin(count), min(used.end, from));
    clear(max(used.begin(count), zeroed.end), used.end);
  }
}

/// Lists the elements first + 32 j for the bits j in `missed`. Returns whether the list had room.
__device__ __attribute__((noinline)) inline bool list_missed(label_notes* notes, std::uint32_t* list, std::uint32_t first, std::uint32_t missed) {
  bool room = true;
  for (unsigned j = 0; j < adder_loads; ++j, missed >>= 1) {
    const unsigned some = __ballot_sync(all_lanes, (missed & 1) != 0);
    if (some == 0 || !room) continue;
    const auto lane = static_cast<std::uint32_t>(lane_index());
    unsigned long long before = 0;
    if (lane == 0) before = atomicAdd(reinterpret_cast<unsigned long long*>(&notes->missed), static_cast<unsigned long long>(__popc(some)));
    before = __shfl_sync(all_lanes, before, 0);
    const std::uint64_t mine = before + static_cast<unsigned>(__popc(some & ((1u << lane) - 1)));
    if ((missed & 1) != 0 && mine < most_missed) list[mine] = first + j * warp_lanes;
    room = before + static_cast<unsigned>(__popc(some)) <= most_missed;
  }
  return room;
}

/// Adds four floats to four others; all are whole numbers below 2^24.
__device__ __forceinline__ void add_floats(float* to, const float (&v)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(to), make_float4(v[0], v[1], v[2], v[3]));
#else
  for (int k = 0; k < 4; ++k) atomicAdd(to + k, v[k]);
#endif
}

/// Adds each element to its answer's slot; a second launch adds those whose slots were not zeroed before the first one.
template <class T, slot_kind Kind>
__global__ void WF_MANY_BLOCKS(adder_threads, adder_blocks<Kind>) add_labelled_floats_kernel(label_slots<T> s, const unsigned char* x, std::int64_t stride, const std::int64_t* labels, bool second) {
  if constexpr (Kind == slot_kind::floats && !has_bulk_copies) return;  // nor vector reductions
  constexpr bool two = Kind != slot_kind::word;
  using format = exact::format<T>;
  using slots = label_slots<T>;
  using bits = typename format::bits;
  const auto lane = static_cast<std::uint32_t>(lane_index());
  constexpr std::uint32_t warp_elements = warp_lanes * adder_loads, none = no_word;
  auto* const words = reinterpret_cast<unsigned long long*>(s.slots);
  const auto count = static_cast<std::uint32_t>(s.count);
  slot_range used{0, 0};
  const slot_frame frame = slot_frame::of(s);
  const slot_range zeroed = frame.zeroed;
  const std::uint32_t from = zeroed.begin(count), many = zeroed.end == 0 ? 0 : zeroed.end - from;
  std::uint32_t n = s.n;
  const std::uint32_t* list = nullptr;
  const bool again = slots::pieces == 2 && s.again;
  if (again) {
    if (s.notes->full == 0) return;
  } else if (second) {
    const std::uint64_t missed = s.notes->missed;
    if (missed == 0) return;
    if (missed <= most_missed) {
      n = static_cast<std::uint32_t>(missed);
      list = s.missed;
    }
  }
  bool listing = !second;
  for (std::uint64_t at = (blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x) / warp_lanes * warp_elements; at < n; at += std::uint64_t{gridDim.x} * adder_threads * adder_loads) {
    bits value[adder_loads];
    std::uint32_t label[adder_loads];
    load_labelled(s, x, stride, labels, at, n, list, value, label);
    std::uint32_t missed = 0;  // a bit each
#pragma unroll
    for (std::uint32_t j = 0; j < adder_loads; ++j) {
      const bits b = value[j], below = b & ((bits{1} << format::mantissa_bits) - 1);
      const auto e = static_cast<std::uint32_t>(b >> format::mantissa_bits) & format::exponent_field_max;
      const bool negative = !s.magnitudes && (b & format::sign_mask) != 0, there = label[j] != s.answers;
      std::uint32_t word = none;
      std::int64_t sum = 0, beside = 1;
      [[maybe_unused]] float digit[4] = {};
      bool counts = false;  // by itself
      if (e == format::exponent_field_max) {
        if (there && !second) atomicOr(s.kinds + label[j], below != 0 ? kind_nan : negative ? kind_below : kind_above);
      } else if ((e | below) != 0) {
        const std::uint32_t place = (e == 0 ? 0 : e - 1) + frame.offset, slot = place * s.divisor >> 16;
        const int up = static_cast<int>(place) - static_cast<int>(slot) * s.spacing;
        const std::uint64_t m = e == 0 ? std::uint64_t{below} : below | std::uint64_t{1} << format::mantissa_bits;
        sum = static_cast<std::int64_t>(m << up);
        if constexpr (Kind == slot_kind::floats) {
          if (negative) sum = -sum;
          // Digits have either sign: the difference between a digit and its bits is added to all of them first.
          const int low = s.digits.low, each = s.digits.each, top = low + 2 * each;
          const std::int64_t half = std::int64_t{1} << (each - 1);
          const std::int64_t lower = (sum & ((std::int64_t{1} << top) - 1)) + (half << low) + (half << (low + each)) - half;
          const auto of_each = [&](int begin) { return static_cast<float>(static_cast<int>(lower >> begin & (2 * half - 1)) - static_cast<int>(half)); };
          digit[0] = static_cast<float>(static_cast<int>(lower & ((std::int64_t{1} << low) - 1)) + static_cast<int>(half));
          digit[1] = of_each(low);
          digit[2] = of_each(low + each);
          digit[3] = static_cast<float>(static_cast<int>(sum >> top) + static_cast<int>(lower >> top));
        } else if constexpr (slots::pieces == 2) {
          sum &= (std::int64_t{1} << s.low) - 1;
          beside = static_cast<std::int64_t>(m >> (s.low - up));
          if (negative) beside = -beside;
        }
        if (Kind != slot_kind::floats && negative) sum = -sum;
        if (there) {
          used.take(slot, slot, count);
          const bool misses = again || slot - from >= many;
          missed |= (misses ? 1u : 0u) << j;
          if (misses == second) word = (slot * s.answers + label[j]) * (two ? 2 : 1);
        }
        counts = slots::pieces == 2 && there && !second;
      } else {
        counts = there && !second;
        if (negative && there) atomicOr(s.kinds + label[j], static_cast<std::uint32_t>(kind_minus_zero));
      }
      __syncwarp();
      if constexpr (Kind == slot_kind::floats) {
        if (sum_of_peers(word, digit)) add_floats(reinterpret_cast<float*>(s.slots + word), digit);
      } else {
        add_to_words<two>(words, word, sum, beside);
      }
      if (Kind == slot_kind::words && s.counts != nullptr && __any_sync(all_lanes, counts)) {
        const std::uint32_t of = counts ? label[j] : s.answers;
        const unsigned peers = __match_any_sync(all_lanes, of);
        if (counts && (peers & ((1u << lane) - 1)) == 0) atomicAdd(s.counts + of, static_cast<std::uint32_t>(__popc(peers)));
      }
    }
    if (listing && __any_sync(all_lanes, missed != 0)) listing = list_missed(s.notes, s.missed, static_cast<std::uint32_t>(at) + lane, missed);
  }
  if (!second) used.tell(s.notes->used);
}

/// The leading 64 bits of a whole number whose digits are given from the highest on, and whether there are bits below them.
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

/// The answers of slots, a thread each. Slots are added up in one number, or become digits where that has no room.
__extension__ typedef __int128 wide_whole;
template <class T>
__global__ void __launch_bounds__(adder_threads) answer_labelled_floats_kernel(label_slots<T> s, typename exact::format<T>::bits* out) {
  using format = exact::format<T>;
  using bits = typename format::bits;
  using slots = label_slots<T>;
  using number = std::conditional_t<slots::pieces == 2, wide_whole, std::int64_t>;
  if (s.again && s.notes->full == 0) return;
  const slot_range used = s.notes->used;
  const std::uint64_t mask = (std::uint64_t{1} << s.spacing) - 1;
  const auto offset = static_cast<int>(slot_frame::of(s).offset);
  // Which slots have elements, and which digits their sums take.
  const int last = static_cast<int>(used.end), first = last == 0 ? 0 : static_cast<int>(used.begin(static_cast<std::uint32_t>(s.count)));
  const int end = last == 0 ? 0 : last + s.digits_beyond();
  // Sums of slots in one number, where it has room for all of them.
  const bool at_once = slots::pieces == 2 && s.counts == nullptr && (last - first - 1) * s.spacing + (s.digits.each == 0 ? 64 + s.low : 72) <= 126;
  for (std::uint64_t k = blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x; k < s.answers; k += std::uint64_t{gridDim.x} * adder_threads) {
    const std::uint32_t kinds = s.kinds[k];
    std::uint64_t* const mine = s.slots + k * static_cast<unsigned>(s.width);
    const std::uint64_t apart = std::uint64_t{s.answers} * static_cast<unsigned>(s.width);
    std::uint32_t n = s.counts != nullptr ? s.counts[k] : 1;
    if constexpr (slots::pieces == 1) {
      if (s.counts != nullptr) {
#pragma unroll 4
        for (int j = first; j < last; ++j) n += static_cast<std::uint32_t>(mine[static_cast<unsigned>(j) * apart + 1]);
      }
    }
    if ((n == 0 && kinds == 0) || (kinds & kind_nan) != 0 || (kinds & (kind_above | kind_below)) == (kind_above | kind_below)) {
      out[k] = format::quiet_nan;
      continue;
    }
    if ((kinds & (kind_above | kind_below)) != 0) {
      out[k] = static_cast<bits>((kinds & kind_above) != 0 ? format::infinity : format::infinity | format::sign_mask);
      continue;
    }
    // What slot j has; below 2^98.
    bool full = false;
    const auto slot = [&](int j) {
      number v = 0;
      if (j >= last) return v;
      const std::uint64_t* at = mine + static_cast<unsigned>(j) * apart;
      if constexpr (slots::pieces == 1) {
        v = static_cast<std::int64_t>(at[0]);
      } else if (s.digits.each == 0) {
        v = static_cast<std::int64_t>(at[0]) + (number{static_cast<std::int64_t>(at[1])} << s.low);
      } else {
        const auto of = *reinterpret_cast<const float4*>(at);
        full = full || !(of.x < 0x1p24f);
        v = ((std::int64_t{static_cast<int>(of.z)} << s.digits.each) + static_cast<int>(of.y)) << s.digits.low;
        v += (number{static_cast<int>(of.w)} << (s.digits.low + 2 * s.digits.each)) + static_cast<int>(of.x);
      }
      return v;
    };
    number carry = 0;
    if (at_once) {
      for (int j = last - 1; j >= first; --j) carry = (carry << s.spacing) + slot(j);
    } else {
#pragma unroll 4
      for (int j = first; j < end; ++j) carry = (slot(j) + carry) >> s.spacing;
    }
    if (full) {
      atomicOr(reinterpret_cast<unsigned long long*>(&s.notes->full), 1ull);
      continue;
    }
    const bool negative = carry < 0;
    exact::u128 all = 0;
    bool sticky = false;
    int exponent = format::min_exponent - offset + first * s.spacing;
    if (at_once) {
      all = static_cast<exact::u128>(negative ? -carry : carry);
    } else {
      carry = 0;
#pragma unroll 1
      for (int j = first; j < end; ++j) {
        const number has = slot(j), v = (negative ? -has : has) + carry;
        mine[static_cast<unsigned>(j) * apart] = static_cast<std::uint64_t>(v) & mask;
        carry = v >> s.spacing;
      }
      leading_window w;
      std::uint64_t rest = static_cast<std::uint64_t>(carry);
      if (s.counts == nullptr) {
        w.bits = rest;
#pragma unroll 1
        for (int j = end - 1; j >= first; --j) w.put(mine[static_cast<unsigned>(j) * apart], s.spacing);
      } else {  // a long division
        w.bits = rest / n;
        rest %= n;
        const auto divide = [&](std::uint64_t digit) {
          rest = rest << s.spacing | digit;
          w.put(rest / n, s.spacing);
          rest %= n;
        };
#pragma unroll 1
        for (int j = end - 1; j >= first; --j) divide(mine[static_cast<unsigned>(j) * apart]);
#pragma unroll 1
        for (; rest != 0 && w.room() != 0; exponent -= s.spacing) divide(0);
        w.sticky = w.sticky || rest != 0;
      }
      all = w.bits;
      sticky = w.sticky;
      exponent += w.below;
    }
    if (all != 0) {
      out[k] = exact::pack<typename format::layout>(exact::leading_bits(all, exponent, sticky, negative), s.mode);
    } else if ((kinds & kind_minus_zero) != 0) {  // other elements may have cancelled
      s.kinds[k] = kind_doubt;
      atomicOr(reinterpret_cast<unsigned long long*>(&s.notes->doubt), 1ull);
    } else {
      out[k] = 0;
    }
  }
}

/// Whether answers in doubt have an element that is not -0. Leaves at once where none is.
template <class T>
__global__ void __launch_bounds__(adder_threads) doubt_labelled_floats_kernel(label_slots<T> s, const unsigned char* x, std::int64_t stride, const std::int64_t* labels) {
  if (s.notes->doubt == 0) return;
  constexpr std::uint32_t warp_elements = warp_lanes * adder_loads;
  for (std::uint64_t at = (blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x) / warp_lanes * warp_elements; at < s.n; at += std::uint64_t{gridDim.x} * adder_threads * adder_loads) {
    typename exact::format<T>::bits value[adder_loads];
    std::uint32_t label[adder_loads];
    load_labelled(s, x, stride, labels, at, s.n, nullptr, value, label);
#pragma unroll
    for (std::uint32_t j = 0; j < adder_loads; ++j) {
      if (label[j] != s.answers && value[j] != exact::format<T>::sign_mask && (s.kinds[label[j]] & kind_doubt) != 0) atomicOr(s.others + label[j], 1u);
    }
  }
}
template <class T>
__global__ void __launch_bounds__(adder_threads) zero_labelled_floats_kernel(label_slots<T> s, typename exact::format<T>::bits* out) {
  if (s.notes->doubt == 0) return;
  for (std::uint64_t k = blockIdx.x * std::uint64_t{adder_threads} + threadIdx.x; k < s.answers; k += std::uint64_t{gridDim.x} * adder_threads) {
    if ((s.kinds[k] & kind_doubt) != 0) out[k] = s.others[k] != 0 ? typename exact::format<T>::bits{0} : exact::format<T>::sign_mask;
  }
}

/// Whether labels go this way: where slots take no more memory than a sort would.
template <class T>
bool adds_float_labels(const rows_request& r) {
  if ((r.what != op::sum && r.what != op::norm1 && r.what != op::mean) || r.accuracy != accuracy::exact || r.state_bytes != 0 || r.segments < added_answers || r.segments >= UINT32_MAX || r.length[0] >= UINT32_MAX) return false;
  return r.segments <= r.length[0] && label_slots<T>::of(r.length[0], r.segments, r.what == op::mean, false).fits();
}

template <class T>
cudaError_t enqueue_added_float_labels(const rows_request& r, workspace& scratch, cudaStream_t stream) {
  const bool counted = r.what == op::mean;
  auto s = label_slots<T>::of(r.length[0], r.segments, counted, scratch.bulk_copies());
  s.magnitudes = r.what == op::norm1;
  s.mode = r.options.rounding;
  // What is zeroed by its bytes comes first: all, where slots are few.
  s.sampled = s.words() > sampled_words;
  const std::size_t cleared = (sizeof(label_notes) + std::size_t{s.answers} * (counted ? 12 : 8) + 127) / 128 * 128, slots_bytes = static_cast<std::size_t>(s.words()) * 8;
  const std::size_t bytes = cleared + slots_bytes + (s.sampled ? std::size_t{most_missed} * 4 : 0);
  void* memory = nullptr;
  cudaError_t e = cudaMallocAsync(&memory, bytes, stream);
  if (e != cudaSuccess) return e;
  s.notes = static_cast<label_notes*>(memory);
  s.kinds = reinterpret_cast<std::uint32_t*>(s.notes + 1);
  s.others = s.kinds + s.answers;
  if (counted) s.counts = s.others + s.answers;
  s.slots = reinterpret_cast<std::uint64_t*>(static_cast<unsigned char*>(memory) + cleared);
  s.missed = reinterpret_cast<std::uint32_t*>(s.slots + s.words());
  const auto* const x = static_cast<const unsigned char*>(r.x[0]);
  const std::int64_t stride = r.stride[0][0] * static_cast<std::int64_t>(sizeof(T));
  auto* const out = static_cast<typename exact::format<T>::bits*>(r.out);
  const bool two = s.width == 2, floats = s.digits.each != 0;
  const std::uint32_t most = static_cast<unsigned>(two ? adder_blocks<slot_kind::words> : adder_blocks<slot_kind::word>) * scratch.multiprocessors();
  const launch_config sample{at_most(divide_up(s.n, adder_threads), label_sample / adder_threads / 8), adder_threads, 0, stream, false};
  const launch_config elements{at_most(divide_up(s.n, adder_threads * adder_loads), most), adder_threads, 0, stream, false}, of_answers{at_most(divide_up(s.answers, adder_threads), 2 * most), adder_threads, 0, stream, false};
  e = cudaMemsetAsync(memory, 0, cleared + (s.sampled ? 0 : slots_bytes), stream);
  if (s.sampled) {
    if (e == cudaSuccess) e = launch(sample_labelled_floats_kernel<T>, sample, s, x, stride);
    if (e == cudaSuccess) e = launch(clear_labelled_floats_kernel<T>, elements, s, false);
  }
  const auto add = [&](bool second) {
    if constexpr (label_slots<T>::pieces == 1) {
      if (!two) return launch(add_labelled_floats_kernel<T, slot_kind::word>, elements, s, x, stride, r.labels, second);
    } else {
      if (floats && !s.again) return launch(add_labelled_floats_kernel<T, slot_kind::floats>, elements, s, x, stride, r.labels, second);
    }
    return launch(add_labelled_floats_kernel<T, slot_kind::words>, elements, s, x, stride, r.labels, second);
  };
  if (e == cudaSuccess) e = add(false);
  const auto rest = [&] {
    if (e == cudaSuccess) e = launch(clear_labelled_floats_kernel<T>, elements, s, true);
    if (e == cudaSuccess) e = add(true);
  };
  if (s.sampled) rest();
  if (e == cudaSuccess) e = launch(answer_labelled_floats_kernel<T>, of_answers, s, out);
  if (floats) {
    s.again = true;
    rest();
    s.digits = {};
    if (e == cudaSuccess) e = launch(answer_labelled_floats_kernel<T>, of_answers, s, out);
  }
  if (e == cudaSuccess && !s.magnitudes) e = launch(doubt_labelled_floats_kernel<T>, elements, s, x, stride, r.labels);
  if (e == cudaSuccess && !s.magnitudes) e = launch(zero_labelled_floats_kernel<T>, of_answers, s, out);
  const cudaError_t freed = cudaFreeAsync(memory, stream);
  return e != cudaSuccess ? e : freed;
}

}  // namespace wf::device::inline WF_BUILD
