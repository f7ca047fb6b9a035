// SPDX-License-Identifier: Apache-2.0
/// \file rows_ragged.cuh
/// Segments of any lengths, and long rows, balanced. Work is counted in units: one for each element, and `segment_units` for each segment. Each warp takes
/// as many units as any other, wherever segments begin and end (Merrill and Garland, "Merge-based parallel sparse matrix-vector multiplication",
/// SC 2016). A warp finds its first segment by a search of the offsets. Segments that it has whole are answered by a lane, by a group
/// of 8 lanes or by the whole warp, depending on their length. The parts of a segment that is cut are put together in order: by the block, in
/// shared memory; where blocks share the segment, by the last of them that is done.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/rows_quick.cuh>
#include <warpfold/detail/gpu/accumulate/rows_quick_moments.cuh>
#include <warpfold/detail/gpu/kernels/rows_again.cuh>
#include <warpfold/detail/gpu/kernels/rows_thread.cuh>

namespace wf::device::inline WF_BUILD {

inline constexpr int ragged_threads = 128, ragged_warps_log2 = 2, ragged_warps = 1 << ragged_warps_log2;
/// How many units a segment counts beside its elements, for an offset that is read and an answer that is made and written. An accumulator may have its own number.
template <class Acc>
inline constexpr std::uint64_t segment_units = 8;
template <weighs_segments Acc>
inline constexpr std::uint64_t segment_units<Acc> = Acc::segment_units;
/// How many elements of a segment a lane adds alone, and how many 8 lanes add.
inline constexpr std::uint64_t lane_elements = 8, group_elements = 64;
/// How many elements of a whole segment a lane loads by packs, where they lie side by side.
inline constexpr std::uint64_t lone_elements = 48;
/// How many elements of such a segment 8 lanes add.
inline constexpr std::uint64_t group_most = 512;

/// Whether long rows have kernels of their own (rows_long.cuh); else those of segments have them, too (rows_plan.cuh), but for what is quick.
template <class Acc>
inline constexpr bool has_long_rows = Acc::packs && !quick_of<Acc>::there;

/// How segments are walked; made by the host.
struct ragged_walk {
  std::uint64_t segments;
  bool skip;   ///< nothing is added on the way, as in row_walk
  bool packs;  ///< elements lie side by side, so that 16 bytes can be loaded at once
  bool quick;  ///< whole short segments go by what is quick for the accumulator
  std::int64_t step_bytes[2];
  std::size_t answer_bytes;
};

/// Where segments lie among the units: first their elements, then the units of the segment itself.
template <class Acc>
struct unit_line {
  const row_view<Acc::inputs>& v;
  std::uint64_t segments, base, all, each;  ///< `each`: of a warp

  __device__ __forceinline__ unit_line(const row_view<Acc::inputs>& view, std::uint64_t many)
      : v(view), segments(many), base(view.first_of(0)), all(view.first_of(many) - base + many * segment_units<Acc>) {
    const std::uint64_t warps = std::uint64_t{gridDim.x} * ragged_warps;
    each = (all + warps - 1) / warps;
  }
  /// The first unit of a segment.
  __device__ __forceinline__ std::uint64_t begin(std::uint64_t k) const { return v.first_of(k) - base + k * segment_units<Acc>; }
  __device__ __forceinline__ std::uint64_t of_warp(std::uint64_t warp) const { return min(all, warp * each); }
  /// Segments that end at each of these units or before: by all lanes, 32 offsets at once.
  template <int Many>
  __device__ __forceinline__ void ended(const std::uint64_t (&at)[Many], std::uint64_t (&low)[Many]) const {
    std::uint64_t high[Many];
#pragma unroll
    for (int i = 0; i < Many; ++i) {
      low[i] = 0;
      high[i] = segments;
    }
    const auto left = [&] {
      bool more = false;
#pragma unroll
      for (int i = 0; i < Many; ++i) more = more || low[i] < high[i];
      return more;
    };
    while (left()) {
      std::uint64_t step[Many];
      bool before[Many];
#pragma unroll
      for (int i = 0; i < Many; ++i) {
        step[i] = (high[i] - low[i] + warp_lanes - 1) / warp_lanes;
        const std::uint64_t k = low[i] + (static_cast<unsigned>(lane_index()) + 1) * step[i];
        before[i] = low[i] < high[i] && k <= high[i] && begin(k) <= at[i];
      }
#pragma unroll
      for (int i = 0; i < Many; ++i) {
        low[i] += static_cast<unsigned>(__popc(__ballot_sync(all_lanes, before[i]))) * step[i];
        if (step[i] != 0) high[i] = min(high[i], low[i] + step[i] - 1);
      }
    }
  }
  __device__ __forceinline__ std::uint64_t ended(std::uint64_t d) const {
    std::uint64_t many[1];
    ended<1>({d}, many);
    return many[0];
  }
};

/// How many terms a lane adds one after the other to a segment of n elements, of which it gets `here` at most: before its chain is cut, and how often
/// that is.
template <class Acc>
__device__ __forceinline__ void ragged_chain(std::uint64_t n, std::uint64_t here, std::uint64_t& length, std::uint64_t& cuts) {
  constexpr unsigned items = Acc::packs ? 16 / static_cast<unsigned>(Acc::fixed_size == 0 ? 16 : Acc::fixed_size) : 1;
  const std::uint64_t most = rounds_of_chain * items + 2, all = n <= group_elements ? lane_elements : min(n, here) / warp_lanes + items + lane_elements;
  length = min(most, all);
  cuts = all / rounds_of_chain + 1;
}

/// One thread's answer; `parts`: blocks that share the segment. Here: inlined, where most answers are found without a call then: of dot products.
template <bool Here = false, class Acc>
__device__ __forceinline__ bool ragged_answer(const Acc& acc, const row_view<Acc::inputs>& v, const typename Acc::state& s, std::uint64_t row,
                                              std::uint64_t n, std::uint64_t here, std::uint64_t parts, unsigned char* to) {
  if constexpr (own_accumulator<Acc>) {
    return acc.answer_row(s, n, min(n, here) / Acc::tile + parts, row);
  } else if constexpr (Acc::proves) {
    std::uint64_t length, cuts;
    ragged_chain<Acc>(n, here, length, cuts);
    if (!has_long_rows<Acc> && v.offsets == nullptr && v.dims - v.kept > 1) cuts += min(n, here) / v.dim[v.dims - 1].length + 2;  // a line at a time
    if constexpr (Here && Acc::inputs == 2) return acc.answer(s, n, acc.facts(n, length, cuts + parts), to);
    else return acc.answer_here(s, n, length, cuts + parts, to);
  } else {
    return acc.answer(s, n, facts_of<Acc>{}, to);
  }
}

/// `elements` elements from `from` on, by 2^log2 lanes of which this is number `member`; the first has this index in its segment. The
/// lane's own sum of them.
template <class Acc>
__device__ __forceinline__ typename Acc::state add_piece(const Acc& acc, const ragged_walk& w, const unsigned char* const (&from)[Acc::inputs],
                                                         std::uint64_t elements, std::uint64_t index, unsigned member, int log2) {
  typename Acc::running r = acc.start();
  typename Acc::state s = acc.identity();
  const unsigned lanes = 1u << log2;
  std::uint64_t at = 0, terms = 0;
  const auto total = [&] {
    if constexpr (Acc::proves) return acc.total(r, acc.chain_of(terms));
    else return acc.total(r);
  };
  // Rounds up to `end`; a chain that is long enough is cut.
  const auto walk = [&]<bool Whole>(const unsigned char* const (&p)[Acc::inputs], std::uint64_t begin, std::uint64_t end, std::uint64_t first) {
    const std::uint64_t most = std::uint64_t{rounds_of_chain} << log2;
#pragma unroll 1
    for (std::uint64_t u = begin; u < end; u += most) {
      const std::uint64_t until = min(end, u + most);
      add_line<Whole>(acc, r, p, w.step_bytes, u + member, lanes, until, first);
      if constexpr (Acc::proves) {
        terms += (((until - u - 1) >> log2) + 1) * (Whole ? Acc::items : 1);
        if (until - u == most) {
          s = acc.combine(s, total());
          r = acc.start();
          terms = 0;
        }
      }
    }
  };
  if constexpr (Acc::packs) {
    constexpr unsigned size = Acc::fixed_size;
    bool packs = w.packs && elements > group_elements;
    if constexpr (Acc::inputs == 2) packs = packs && (reinterpret_cast<std::uintptr_t>(from[0]) ^ reinterpret_cast<std::uintptr_t>(from[1])) % 16 == 0;
    if (packs) {  // and first what is before a multiple of 16: of floats less than an element a lane
      const unsigned before = static_cast<unsigned>(-reinterpret_cast<std::uintptr_t>(from[0]) % 16) / size;
      const std::uint64_t whole = (elements - before) / Acc::items;
      const unsigned char* p[Acc::inputs];
#pragma unroll
      for (int k = 0; k < Acc::inputs; ++k) p[k] = from[k] + before * size;
#pragma unroll 1
      for (unsigned first = member; first < before; first += lanes) {
        pack one[Acc::inputs];
#pragma unroll
        for (int k = 0; k < Acc::inputs; ++k) one[k] = load_unit<false>(acc, from[k] + first * size);
        acc.add_item(r, one, index + first);
      }
      terms = 1;
      walk.template operator()<true>(p, 0, whole, index + before);
      at = before + whole * Acc::items;
    }
  }
  walk.template operator()<false>(from, at, elements, index);
  return acc.combine(s, total());
}

/// The same for elements of a segment, which begins behind `before` others, from its element `index` on.
template <class Acc>
__device__ __forceinline__ typename Acc::state add_part_of_segment(const Acc& acc, const row_view<Acc::inputs>& v, const ragged_walk& w, std::uint64_t before, std::uint64_t elements,
                                                                   std::uint64_t index, unsigned member, int log2) {
  const unsigned char* p[Acc::inputs];
#pragma unroll
  for (int k = 0; k < Acc::inputs; ++k) p[k] = v.x[k] + static_cast<std::int64_t>(before + index) * w.step_bytes[k];
  return add_piece(acc, w, p, elements, index, member, log2);
}

/// The same for a row, or for a segment.
template <class Acc>
__device__ __forceinline__ typename Acc::state add_part(const Acc& acc, const row_view<Acc::inputs>& v, const ragged_walk& w, std::uint64_t row,
                                                        std::uint64_t before, std::uint64_t elements, std::uint64_t index, unsigned member, int log2) {
  if constexpr (own_accumulator<Acc>) {
    return acc.add_part(v, row, elements, index, member, log2);
  } else if constexpr (has_long_rows<Acc>) {
    return add_part_of_segment(acc, v, w, before, elements, index, member, log2);
  } else {
    constexpr int inputs = Acc::inputs;
    const unsigned char* begin[inputs];
    std::uint64_t line = ~std::uint64_t{0}, done = 0;  // elements of a line
    if (v.offsets == nullptr) {
      v.begin(row, begin);
      if (v.dims - v.kept > 1) line = v.dim[v.dims - 1].length;
    } else {
#pragma unroll
      for (int k = 0; k < inputs; ++k) begin[k] = v.x[k] + static_cast<std::int64_t>(before) * w.step_bytes[k];
    }
    typename Acc::state s = acc.identity();
#pragma unroll 1
    do {
      std::uint64_t at = index + done, here = elements - done, lines = 0;
      if (line != ~std::uint64_t{0}) {
        lines = index + done;
        at = take_index(lines, line);
        here = min(here, line - at);
      }
      const unsigned char* p[inputs];
#pragma unroll
      for (int k = 0; k < inputs; ++k) p[k] = begin[k] + v.line(lines, k) + static_cast<std::int64_t>(at) * w.step_bytes[k];
      s = acc.combine(s, add_piece(acc, w, p, here, index + done, member, log2));
      done += here;
    } while (done < elements);
    return s;
  }
}

/// What reduces segments that a warp has whole: quick_of, or the accumulator itself where it proves nothing.
template <class Acc>
struct lone_of {
  static constexpr bool there = !Acc::proves && Acc::packs && Acc::inputs == 1 && !own_accumulator<Acc>;
  using type = Acc;
  static __device__ __forceinline__ const Acc& of(const Acc& a) { return a; }
};
template <class Acc>
  requires(quick_of<Acc>::there)
struct lone_of<Acc> {
  static constexpr bool there = true;
  using type = typename quick_of<Acc>::by_items;
  static __device__ __forceinline__ type of(const Acc& a) { return quick_of<Acc>::items_of(a); }
};

/// Loads those of the 16 bytes from `at` on that lie in [begin, end). Not inlined: only an array's ends need it.
template <int Size>
__device__ __attribute__((noinline)) pack load_within(const unsigned char* at, const unsigned char* begin, const unsigned char* end) {
  pack p{};
#pragma unroll
  for (int j = 0; j < 16 / Size; ++j) {
    if (at + j * Size >= begin && at + j * Size < end) put_item<Size>(p, j, load_bytes(at + j * Size, Size));
  }
  return p;
}

/// Adds `elements` elements that lie side by side, by one lane: by packs of 16 bytes, except where these reach beyond [begin, end).
template <class Acc>
__device__ __forceinline__ typename Acc::running add_lone(const Acc& acc, const unsigned char* from, unsigned elements, const unsigned char* begin,
                                                          const unsigned char* end) {
  constexpr unsigned size = Acc::fixed_size;
  typename Acc::running r = acc.start();
  const auto skip = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16) / size;  // items of the first pack that are another's
  const unsigned char* const first = from - skip * size;
  const unsigned packs = (skip + elements + Acc::items - 1) / Acc::items;
  const auto load = [&](unsigned k) {
    const unsigned char* const at = first + 16 * k;
    return at >= begin && at + 16 <= end ? load_bytes(at, 16) : load_within<static_cast<int>(size)>(at, begin, end);
  };
#pragma unroll 1
  for (unsigned k = 0; k < packs; k += 2) {
    pack p = load(k), other{};
    if (k + 1 < packs) other = load(k + 1);
#pragma unroll 1
    for (unsigned half = k; half < min(packs, k + 2); ++half) {
#pragma unroll
      for (int j = 0; j < Acc::items; ++j) {
        const unsigned i = half * Acc::items + static_cast<unsigned>(j) - skip;  // wraps where it is another's
        if (i < elements) acc.add_item(r, {lone_item<static_cast<int>(size)>(p, j)}, i);
      }
      p = other;
    }
  }
  return r;
}

/// Segments batch + lane that are `whole`, from element `from` on, by lanes, and where another accumulator has them by groups of 8 and all of the warp: those of up to quick_elements. Which lanes'
/// segments are `done`, and of these which answers are `sure`; of the others `elements` stays as it is.
template <class Acc>
__device__ __forceinline__ void add_whole_segments(const Acc& acc, const row_view<Acc::inputs>& v, const ragged_walk& w, std::uint64_t first_element,
                                                   std::uint64_t end_element, std::uint64_t batch, bool whole, std::uint64_t from, std::uint64_t length,
                                                   std::uint64_t& elements, bool& sure, bool& done, unsigned char* out) {
  const auto lane = static_cast<unsigned>(lane_index());
  const std::uint64_t segment = batch + lane;
  using lone = typename lone_of<Acc>::type;
  const lone a = lone_of<Acc>::of(acc);
  if (whole && length <= lone_elements) {
    const unsigned char* const data = v.x[0] + static_cast<std::int64_t>(first_element) * w.step_bytes[0];
    const typename lone::running r = add_lone(a, v.x[0] + static_cast<std::int64_t>(from) * w.step_bytes[0], static_cast<unsigned>(length), data,
                                              data + (end_element - first_element) * lone::fixed_size);
    const auto facts = a.facts(length, length, 0);
    sure = a.answer(total_of(a, r, facts), length, facts, out + segment * w.answer_bytes);
    done = true;
    elements = 0;
  }
  __syncwarp();
  // Longer ones go the way of those that are not whole, so that the code is there once; or where another accumulator has them by 8 lanes, then by all.
  if constexpr (!std::is_same_v<lone, Acc>) {
#pragma unroll 1
    for (int log2 = 3; log2 <= 5; log2 += 2) {
      unsigned todo = __ballot_sync(all_lanes, whole && elements != 0 && length <= (log2 == 3 ? group_most : quick_elements));
      const unsigned member = lane & ((1u << log2) - 1), group = lane >> log2;
#pragma unroll 1
      while (todo != 0) {
        unsigned mine = 0;
        const unsigned before = todo;
        for (unsigned g = 0; g < 32u >> log2; ++g) {
          if (g == group) mine = todo;
          todo &= todo - 1;
        }
        const int pick = mine != 0 ? __ffs(static_cast<int>(mine)) - 1 : 0;
        std::uint64_t many = __shfl_sync(all_lanes, length, pick);
        const unsigned char* const p[1] = {v.x[0] + static_cast<std::int64_t>(__shfl_sync(all_lanes, from, pick)) * w.step_bytes[0]};
        if (mine == 0) many = 0;
        typename lone::state s = add_piece(a, w, p, many, 0, member, log2);
        __syncwarp();
        s = lanes_total(a, s, log2);
        bool certain = true;
        if (mine != 0 && member == 0) {
          const auto facts = a.facts(many, (many >> log2) + lone::items + lane_elements, 0);
          certain = a.answer(s, many, facts, out + (batch + static_cast<unsigned>(pick)) * w.answer_bytes);
        }
        const unsigned failed = __ballot_sync(all_lanes, !certain), taken = before & ~todo;
        if ((taken >> lane & 1) != 0) {
          const int by = __popc(taken & ((1u << lane) - 1));  // the group that had it
          sure = (failed >> (by << log2) & 1) == 0;
          done = true;
          elements = 0;
        }
      }
    }
  }
}

/// Puts together the segments that warps and blocks share; all threads call it. `heads` has what each warp added of its first segment, `tails` what it added of the one
/// that it does not end. `firsts` and `nexts` say which segments these are; where a warp ends none, both are the same. `merges`: how many states a warp merged one after another, at most.
template <class Acc, class Room>
__device__ __forceinline__ void join_segments(const Acc& acc, const row_view<Acc::inputs>& v, const ragged_walk& w, const unit_line<Acc>& line,
                                              typename Acc::state (&heads)[ragged_warps], const typename Acc::state (&tails)[ragged_warps],
                                              const std::uint64_t (&firsts)[ragged_warps], const std::uint64_t (&nexts)[ragged_warps],
                                              Room& room, std::uint64_t merges, unsigned char* out, unsigned char* partials,
                                              std::uint32_t* tickets, std::uint64_t* verdicts) {
  using state = typename Acc::state;
  // A lane of the first warp for each warp's first segment: it puts together the parts that the block's earlier warps have of it.
  __shared__ state cut[2];                // the segment that began in an earlier block, and the one that begins here and does not end here
  __shared__ std::uint64_t cut_segment[2];
  __shared__ std::uint64_t again[ragged_warps];
  constexpr std::uint64_t none = ~std::uint64_t{0};
  const std::uint64_t share = blockIdx.x * std::uint64_t{ragged_warps} * line.each, share_end = line.of_warp((blockIdx.x + 1) * std::uint64_t{ragged_warps});
  if (threadIdx.x < 2) cut_segment[threadIdx.x] = none;
  if (threadIdx.x < ragged_warps) again[threadIdx.x] = none;
  __syncthreads();
  if (threadIdx.x <= ragged_warps) {
    const unsigned me = threadIdx.x;
    // The state of what is before the first end in warp `me`, since the last end before it; of the last lane, of what is behind all ends.
    unsigned since = me;
    while (since > 0 && nexts[since - 1] == firsts[since - 1]) --since;
    state s = since > 0 ? tails[since - 1] : acc.identity();
    for (unsigned k = since; k <= me && k < ragged_warps; ++k) s = acc.combine(s, heads[k]);
    const bool ends = me < ragged_warps ? nexts[me] != firsts[me] : false;
    const std::uint64_t segment = me < ragged_warps ? firsts[me] : nexts[ragged_warps - 1];
    const bool last = me == ragged_warps;
    if (segment < w.segments && (ends || last)) {
      const std::uint64_t unit = line.begin(segment);
      if (unit < share_end) {
        if (unit < share || last) {
          const int which = unit < share ? 0 : 1;
          cut[which] = s;
          cut_segment[which] = segment;
        } else if (!ragged_answer(acc, v, s, segment, v.first_of(segment + 1) - v.first_of(segment), line.each, ragged_warps + merges,
                                  out + segment * w.answer_bytes)) {
          again[me] = segment;
        }
      }
    }
  }
  __syncthreads();
  if constexpr (Acc::proves) {
#pragma unroll 1
    for (int k = 0; k < ragged_warps; ++k) {
      if (again[k] != none) acc.exactly(room, v, again[k], true, out + again[k] * w.answer_bytes);
    }
  }
  if (Acc::proves && verdicts != nullptr && threadIdx.x == 0 && cut_segment[1] == none) verdicts[blockIdx.x] = 0;
  // Segments that blocks share: each has a box in its first block for the beginning, and one in each later block.
  auto* const box = reinterpret_cast<state*>(partials);
#pragma unroll 1
  for (int which = 0; which < 2; ++which) {
    const std::uint64_t segment = cut_segment[which];
    if (segment == none) continue;
    const std::uint64_t of_block = line.each * ragged_warps;
    const auto from = static_cast<std::uint32_t>(line.begin(segment) / of_block);
    const auto parts = static_cast<std::uint32_t>((line.begin(segment + 1) - 1) / of_block) - from + 1;
    if (threadIdx.x == 0) box[2 * blockIdx.x + static_cast<unsigned>(which)] = cut[which];
    if (!last_to_come(tickets + from, parts)) continue;
    state s = acc.identity();
    const std::uint32_t many = (parts + ragged_threads - 1) / ragged_threads;
#pragma unroll 1
    for (std::uint32_t j = threadIdx.x * many; j < min(parts, (threadIdx.x + 1) * many); ++j) {
      s = acc.combine(s, box[j == 0 ? 2 * from + 1 : 2 * (from + j)]);
    }
    s = block_total(acc, s, heads, ragged_warps_log2);
    unsigned char* const to = out + segment * w.answer_bytes;
    const std::uint64_t n = v.first_of(segment + 1) - v.first_of(segment);
    if constexpr (Acc::proves) {
      __shared__ bool sure;
      if (threadIdx.x == 0) {
        sure = ragged_answer(acc, v, s, segment, n, line.each, many + ragged_warps + merges, to);
        if (verdicts != nullptr) {  // rows_again.cuh adds it
          verdicts[from] = sure ? 0 : segment + 1;
          sure = true;
        }
      }
      __syncthreads();
      if (!sure) acc.exactly(room, v, segment, true, to);
    } else if (threadIdx.x == 0) {
      ragged_answer(acc, v, s, segment, n, line.each, many + ragged_warps + merges, to);
    }
    __syncthreads();
  }
}

template <class Acc>
__global__ void __launch_bounds__(ragged_threads, resident_blocks(ragged_threads, 8))
    ragged_kernel(const __grid_constant__ row_view<Acc::inputs> v, const __grid_constant__ ragged_walk w, const __grid_constant__ Acc acc,
                  unsigned char* out, unsigned char* partials, std::uint32_t* tickets, std::uint64_t* verdicts) {
  await_stream();
  using state = typename Acc::state;
  __shared__ state slots[ragged_warps][warp_lanes];
  __shared__ state heads[ragged_warps], tails[ragged_warps];  // a warp's first segment, and the one that it does not end
  __shared__ std::uint64_t firsts[ragged_warps], nexts[ragged_warps];  // the first segment, and the first that it does not end
  __shared__ typename room_of<Acc>::type rooms[ragged_warps];
  const auto lane = static_cast<unsigned>(lane_index()), warp = static_cast<unsigned>(warp_index());
  const unit_line<Acc> line(v, w.segments);
  const std::uint64_t my_warp = blockIdx.x * std::uint64_t{ragged_warps} + warp;
  const std::uint64_t begin = line.of_warp(my_warp), end = line.of_warp(my_warp + 1);
  const std::uint64_t first = begin < line.all ? line.ended(begin) : w.segments;
  if (lane == 0) {
    heads[warp] = tails[warp] = acc.identity();
    firsts[warp] = nexts[warp] = first;
  }
  __syncwarp();
  std::uint64_t by_group = group_elements;
  if constexpr (lone_of<Acc>::there && !Acc::proves) by_group = w.quick ? group_most : group_elements;
#pragma unroll 1
  for (std::uint64_t batch = first; batch < w.segments; batch += warp_lanes) {
    // Each lane has a segment: where it begins and ends, here and as a whole.
    const std::uint64_t segment = batch + lane;
    std::uint64_t from = 0, length = 0, elements = 0, skipped = 0;
    bool there = segment < w.segments, ends = false;
    if (there) {
      from = v.first_of(segment);
      length = elements = v.first_of(segment + 1) - from;
      const std::uint64_t unit = from - line.base + segment * segment_units<Acc>;
      there = unit < end;
      ends = there && unit + length + segment_units<Acc> <= end;
      if (!there) elements = 0;
      else if (!ends) elements = min(length, end - unit);
      if (unit < begin) skipped = min(elements, begin - unit);
      elements = w.skip ? 0 : elements - skipped;
    }
    const bool is_first = segment == first;
    bool sure = true, done = false;
    if constexpr (lone_of<Acc>::there) {
      if (w.quick) add_whole_segments(acc, v, w, line.base, line.base + line.all - w.segments * segment_units<Acc>, batch, ends && !is_first, from, length, elements, sure, done, out);
    }
    if (elements == 0) slots[warp][lane] = acc.identity();
    __syncwarp();
#pragma unroll 1
    for (int log2 = 0; log2 <= 5; log2 = log2 == 0 ? 3 : log2 + 2) {  // by a lane, 8 lanes, 32
      unsigned todo = __ballot_sync(all_lanes, elements != 0 && (log2 == 0   ? elements <= lane_elements
                                                                : log2 == 3 ? elements > lane_elements && elements <= by_group
                                                                            : elements > by_group));
      const unsigned member = lane & ((1u << log2) - 1), group = lane >> log2;
#pragma unroll 1
      while (todo != 0) {
        unsigned mine = todo;
        if (log2 == 0) {
          mine = todo >> lane << lane;  // its own, if at all
          if ((todo >> lane & 1) == 0) mine = 0;
          todo = 0;
        } else {
          for (unsigned g = 0; g < 32u >> log2; ++g) {
            if (g == group) mine = todo;
            todo &= todo - 1;
          }
        }
        const int pick = mine != 0 ? __ffs(static_cast<int>(mine)) - 1 : 0;
        const std::uint64_t before = __shfl_sync(all_lanes, from, pick), index = __shfl_sync(all_lanes, skipped, pick);
        std::uint64_t many = __shfl_sync(all_lanes, elements, pick);
        if (mine == 0) many = 0;
        state s = add_part(acc, v, w, batch + static_cast<unsigned>(pick), before, many, index, member, log2);
        __syncwarp();
        s = lanes_total(acc, s, log2);
        if (mine != 0 && member == 0) slots[warp][pick] = s;
      }
    }
    __syncwarp();
    if (is_first) heads[warp] = slots[warp][lane];
    else if (ends && !done) sure = ragged_answer<true>(acc, v, slots[warp][lane], segment, length, line.each, 0, out + segment * w.answer_bytes);
    else if (there && !ends) tails[warp] = slots[warp][lane];
    if constexpr (Acc::proves) {
      for (unsigned todo = __ballot_sync(all_lanes, !sure); todo != 0; todo &= todo - 1) {
        const std::uint64_t uncertain = batch + static_cast<unsigned>(__ffs(static_cast<int>(todo)) - 1);
        acc.exactly(rooms[warp], v, uncertain, false, out + uncertain * w.answer_bytes);
      }
    }
    const unsigned all_end = __ballot_sync(all_lanes, ends);
    if (lane == 0) nexts[warp] = batch + static_cast<unsigned>(__popc(all_end));
    __syncwarp();
    if (all_end != all_lanes) break;
  }
  __syncthreads();

  join_segments(acc, v, w, line, heads, tails, firsts, nexts, rooms[0], 0, out, partials, tickets, verdicts);
}

struct ragged_plan {
  ragged_walk walk;
  std::uint32_t blocks;
  bool again;  ///< a segment that blocks share may be long
};

/// How segments are walked, and by how many blocks: `of_processor` for each multiprocessor at most, each warp with `least` units to do. `state_bytes`: of a part of a segment.
template <class Acc>
ragged_plan plan_segments(const Acc& acc, const row_view<Acc::inputs>& v, const workspace& scratch, std::uint64_t least, std::uint64_t of_processor,
                          std::size_t state_bytes = sizeof(typename Acc::state)) {
  ragged_plan plan{{v.rows, false, true, false, {0, 0}, acc.result_size()}, 0, false};
  ragged_walk& w = plan.walk;
  if constexpr (Acc::proves && !own_accumulator<Acc>) w.skip = acc.states;
  for (int k = 0; k < Acc::inputs; ++k) {
    w.step_bytes[k] = v.dims > v.kept ? v.dim[v.dims - 1].stride[k] : 0;
    w.packs = w.packs && w.step_bytes[k] == acc.item_size();
  }
  w.quick = w.packs && (v.offsets != nullptr || v.dims == v.kept + 1);
  if constexpr (quick_of<Acc>::there) w.quick = w.quick && quick_of<Acc>::fits(acc);
  std::uint64_t blocks = std::uint64_t{scratch.multiprocessors()} * of_processor;
  const std::uint64_t of_block = least * ragged_warps;
  const std::uint64_t most = workspace::row_bytes / (2 * state_bytes), fit = (v.all + v.rows * segment_units<Acc> + of_block - 1) / of_block;
  for (const std::uint64_t limit : {std::uint64_t{workspace::row_tickets}, most, fit}) {
    if (blocks > limit) blocks = limit;
  }
  plan.blocks = static_cast<std::uint32_t>(blocks);
  if constexpr (Acc::proves && !own_accumulator<Acc>) plan.again = blocks > 1 && v.n * static_cast<unsigned>(acc.item_size()) >= 1 << 18;
  return plan;
}

/// Enqueues `kernel` for segments, and behind it the kernel for what that leaves.
template <class Acc, class Kernel>
cudaError_t enqueue_segments(Kernel kernel, std::size_t shared_bytes, const ragged_plan& plan, const Acc& acc, const row_view<Acc::inputs>& v, const rows_request& r,
                             workspace& scratch, cudaStream_t stream) {
  const cudaError_t e = launch(kernel, {plan.blocks, ragged_threads, shared_bytes, stream, scratch.overlaps()}, v, plan.walk, acc, static_cast<unsigned char*>(r.out),
                               scratch.row_states(), scratch.row_counters(), plan.again ? scratch.row_verdicts() : static_cast<std::uint64_t*>(nullptr));
  if constexpr (Acc::proves && !own_accumulator<Acc>) {
    if (e == cudaSuccess && plan.again) return enqueue_again(acc, v, plan.blocks, r, scratch, stream);
  }
  return e;
}

template <class Acc>
cudaError_t enqueue_ragged(const Acc& acc, const row_view<Acc::inputs>& v, const rows_request& r, workspace& scratch, cudaStream_t stream) {
  return enqueue_segments(ragged_kernel<Acc>, 0, plan_segments(acc, v, scratch, 256, 2 * (1024 / ragged_threads)), acc, v, r, scratch, stream);
}

}  // namespace wf::device::inline WF_BUILD
