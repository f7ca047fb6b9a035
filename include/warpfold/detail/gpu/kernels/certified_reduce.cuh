// SPDX-License-Identifier: Apache-2.0
/// \file certified_reduce.cuh
/// Exact reductions by certificate: a kernel that adds in doubles and answers if the rounding is certain. Where it is not, a small array is
/// added again by its block, and an array beyond L2 by a kernel that is enqueued behind and leaves at once otherwise (binned_reduce.cuh, or one of its own).
/// An array in L2 has one kernel: blocks whose sums lost nothing have sent all that is needed, and their sums give the exact answer;
/// the others stay until they know whether they must add again. Where many launches have not needed them, they leave too (launch_word).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/accumulate/anchored_moments.cuh>
#include <warpfold/detail/gpu/accumulate/certified.cuh>
#include <warpfold/detail/gpu/domain/bulk.cuh>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/domain/shared_place.cuh>
#include <warpfold/detail/gpu/kernels/anchored_again.cuh>
#include <warpfold/detail/gpu/kernels/binned_reduce.cuh>
#include <warpfold/device/grid.cuh>
#include <warpfold/device/launch.cuh>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Threads of a block at most, and what they need of shared memory: a state a warp.
inline constexpr int certified_threads = 512;
template <class T, terms Terms>
using certified_room = shared_place<certified_state<certified_traits<T, Terms>>>;

/// Adds this thread's share of the arrays by loads, for a thread of the blocks 0 … workers - 1.
template <int Ahead, terms Terms, class T, class... Ts>
__device__ __forceinline__ certified_state<certified_traits<T, Terms>> certified_share(const arrays<1 + sizeof...(Ts)>& a, const certified_question& q,
                                                                                       std::uint32_t workers) {
  certified_running<T, Terms> running;
  running.start(q.q.what);
  for_each_share<4, static_cast<int>(sizeof(T)), true, Ahead>(
      a, [&](const pack(&p)[1 + sizeof...(Ts)], std::uint64_t) { running.add(p); },
      [&](std::uint64_t i) { with_elements<T, Ts...>(a, i, [&](const auto&... x) { running.add_item(x...); }); }, [] {}, workers);
  return running.total(q.length);
}

/// Whether moments are anchored, except where packs come by bulk copies.
template <class T, terms Terms>
inline constexpr bool has_anchored_moments = std::is_same_v<T, double> && Terms == terms::moments;

/// How many packs one block takes, so that bins do not overflow, and how many a thread: the fewer warps the better, since one alone waits for no other, and a second one costs 0.15 µs.
inline constexpr std::uint64_t certified_small_packs = 2048;
inline constexpr int certified_small_packs_each = 4;
/// How many threads one block has. Those of anchored moments hold all packs at once: an array of 2^12 elements takes 2.36 µs, with half of the threads and two rounds 2.9.
template <class T, terms Terms>
inline constexpr int certified_small_threads = has_anchored_moments<T, Terms> ? static_cast<int>(certified_small_packs) / certified_small_packs_each : 256;

/// The range of a state as a word, for blocks that add again.
template <class T, terms Terms>
__device__ __forceinline__ std::uint32_t range_word_of(const certified_state<certified_traits<T, Terms>>& s) {
  if constexpr (anchored_terms<T, Terms>::serves) return word_of_range(certified_traits<T, Terms>::range_of(s.extent));
  else return 0;
}

/// Adds the array once more, in anchored sums, or in bins where its range needs them. All threads of the one block call it, thread 0 with the extent of all elements.
template <terms Terms, class Out, class T, class... Ts>
__device__ __attribute__((noinline)) void add_small_again(const arrays<1 + sizeof...(Ts)>& a, const certified_question& asked, certified::extent extent, Out* out) {
  const exact_question q{asked.q.what, asked.q.rounding, asked.q.correction};
  constexpr int inputs = 1 + sizeof...(Ts);
  const bool magnitudes = q.what == op::norm1;
  const auto answer = [&](std::int64_t* digits, const std::uint32_t* kinds) { answer_of_digits<Terms, Out, T>(digits, kinds, a.n, q, out); };
  if constexpr (anchored_terms<T, Terms>::serves) {
    const certified::range range = range_of_word(word_of_block(word_of_range(certified_traits<T, Terms>::range_of(extent))));
    if (anchored_terms<T, Terms>::serve(range)) {
      add_few_again<Terms, T>(a, magnitudes, range, answer);
      return;
    }
  }
  add_few_by_bins<Terms, T, inputs>(
      a.n, magnitudes,
      [&](std::uint64_t i, T(&x)[inputs]) {
        with_elements<T, Ts...>(a, i, [&](const T& v, const Ts&... w) {
          x[0] = v;
          ((x[inputs - 1] = w), ...);
        });
      },
      answer);
}

/// One block.
template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(certified_small_threads<T, Terms>)
    certified_small_kernel(const __grid_constant__ arrays<1 + sizeof...(Ts)> a, const __grid_constant__ certified_question q, Out* out) {
  await_stream();
  using state = certified_state<certified_traits<T, Terms>>;
  constexpr int threads = certified_small_threads<T, Terms>;
  constexpr bool anchored = has_anchored_moments<T, Terms>;
  __shared__ __align__(16) state of_warp[threads / warp_lanes];
  const certified_room<T, Terms> room(of_warp);
  const int warps = in_register(static_cast<int>(blockDim.x / warp_lanes));
  state s = [&] {
    if constexpr (anchored) return anchored_array<certified_small_packs_each>(a);
    else return certified_share<4, Terms, T, Ts...>(a, q, 1);
  }();
  bool pairs = false;
  s.template merge_block<threads>(room, warps, [&](const certified::extent& e) { pairs = pairs_lose_nothing<T, Terms>(e, q.loss); }, anchored);
  bool doubt = false;
  if (threadIdx.x == 0) {
    bool hopeless;
    doubt = !certified_quickly<T, Terms>(s, q, a.n, pairs, out, hopeless) && (hopeless || !certified_slowly<T, Terms>(s, q, a.n, out));
  }
  if (__syncthreads_or(doubt ? 1 : 0) == 0) return;
  add_small_again<Terms, Out, T, Ts...>(a, q, s.extent, out);
}

/// Where blocks leave their states for those that decide: words that are never zero, `stride` of each kind side by side.
template <class State>
struct certified_mailbox {
  static constexpr int words = State::words;
  static constexpr std::uint32_t most_blocks = workspace::mailbox_words / words / 64 * 64;
  static_assert(words * workspace::near_blocks <= workspace::near_words);

  std::uint64_t* boxes;
  std::uint32_t stride;

  __device__ __forceinline__ std::uint64_t* box(std::uint32_t block, int word) const { return boxes + word * stride + block; }
  __device__ __forceinline__ void post(const State& s, bool lost_nothing) const {
    std::uint64_t w[words];
    s.to_words(w, lost_nothing);
#pragma unroll
    for (int j = 0; j < words; ++j) store_word(box(blockIdx.x, j), w[j]);
  }
  enum class found { all_lost_nothing, some_lost, too_late };
  static constexpr std::uint32_t always = ~0u;
  /// Merges boxes first + lane, first + step + lane, … below `count` into s, and empties them if `empties`. All lanes of a warp call it. It looks once at
  /// least, so that a rehearsal does. told(box, state) is called for each state that has arrived. After `looks` more than one the warp gives up, unless that is
  /// `always`. Returns what this lane found.
  template <class Told>
  __device__ __forceinline__ found collect(std::uint32_t first, std::uint32_t step, std::uint32_t count, bool empties, std::uint32_t looks, State& s, Told told) const {
    found what = found::all_lost_nothing;
    std::uint32_t looked = 0;
#pragma unroll 1
    do {
      const std::uint32_t b = first + lane_index();
      std::uint64_t seen[words];
      for (bool wait = true; wait;) {
        bool full = true;
#pragma unroll
        for (int j = 0; j < words; ++j) {
          seen[j] = b < count ? load_word(box(b, j)) : 1;
          full &= seen[j] != 0;
        }
        wait = __any_sync(all_lanes, !full) != 0;
        if (wait) {
          if (looked++ == looks && looks != always) return found::too_late;
          __nanosleep(0);
        }
      }
      if (b < count) {
        if (empties) {
#pragma unroll
          for (int j = 0; j < words; ++j) store_word(box(b, j), 0);
        }
        const State other = State::from_words(seen);
        if (!State::marked(seen)) what = found::some_lost;
        told(b, other);
        s.merge(other);
      }
      first += step;
    } while (first < count);
    return what;
  }
};

/// Where a block of a kernel of certificates tells others what they must know.
struct certified_desk {
  std::uint64_t* boxes;
  std::uint32_t* verdict;  ///< 1 if *out is the answer, else 0: to the kernel behind
  std::uint64_t* launches; ///< a launch_word of kernels of arrays in L2. They take turns with two rooms of `boxes`. nullptr: the array is not in L2
  binned_board board;      ///< in L2: of every other launch; the others have `next` two further
  std::uint64_t* spare;    ///< room for an answer a block
  std::uint32_t looks;     ///< a block that may have to add again looks so often for others' sums, and leaves
  std::uint32_t trust;     ///< launch_word
};

/// What kernels of arrays in L2 know of earlier kernels on the same scratch memory. Bit 0: the last one's array was added again; bits 1 to 31: how many kernels there were. The upper half
/// has the range of what is to be added again, or else: bit 32, whether blocks that lose something may leave; bits 33 to 63, how many launches lost something
/// since one was added again.
///
/// A block that lost something stays for nothing in nearly all launches, and the next kernel waits for it. But a launch that needs blocks which left is added
/// again by its last block alone, which takes a hundred times as long. So they leave only after `trust` launches that did not need them.
struct launch_word {
  std::uint64_t word;

  __device__ __forceinline__ std::uint32_t turn() const { return static_cast<std::uint32_t>(word) >> 1 & 1; }
  __device__ __forceinline__ bool again() const { return (word & 1) != 0; }
  __device__ __forceinline__ std::uint32_t range() const { return static_cast<std::uint32_t>(word >> 32); }
  __device__ __forceinline__ bool trusts() const { return (word & 1) == 0 && (word >> 32 & 1) != 0; }
  /// The word for the launch behind this one: whether this one's array is added again, and in which range, or whether it lost something.
  __device__ __forceinline__ launch_word next(bool added_again, std::uint32_t range_of_it, bool lost_something, std::uint32_t trust) const {
    const std::uint32_t count = (static_cast<std::uint32_t>(word) + 2) & ~1u;
    std::uint32_t in_vain = again() ? 0 : range() >> 1;
    if (lost_something && in_vain < ~0u >> 1) ++in_vain;
    const std::uint32_t calm = in_vain << 1 | (in_vain >= trust ? 1u : 0u);
    return {std::uint64_t{added_again ? range_of_it : calm} << 32 | count | (added_again ? 1u : 0u)};
  }
};

/// Adds v·2^scale, a multiple of 2^unit, to carry-save digits, the first of which has the unit 2^unit.
__device__ inline void add_to_digits(std::int64_t* digits, int unit, double v, int scale) {
  const auto b = __builtin_bit_cast(std::uint64_t, v);
  const int field = static_cast<int>(b >> 52 & 0x7ff);
  std::uint64_t m = (b & ((std::uint64_t{1} << 52) - 1)) | (field != 0 ? std::uint64_t{1} << 52 : 0);
  if (m == 0) return;
  int place = (field != 0 ? field : 1) - 1075 + scale - unit;
  if (place < 0) {  // zeros below the unit
    m >>= -place;
    place = 0;
  }
  add_at(digits, place, m, b >> 63 != 0);
}

/// Writes the answer from the states of `count` blocks that lost nothing: only the rounding of their sum was uncertain. All threads of a block call it.
/// The digits are in shared memory behind `told`.
template <class T, terms Terms, class Out>
__device__ __attribute__((noinline)) void answer_of_told(const certified::pair* told, std::uint32_t count, const exact_question& q, std::uint64_t n, Out* out) {
  using traits = certified_traits<T, Terms>;
  using rows = binned_layout<T, Terms>;
  auto* const digits = reinterpret_cast<std::int64_t*>(wf_dynamic_shared) + 2 * traits::parts * count;
  __shared__ std::uint32_t kinds[rows::watches];
  for (int k = static_cast<int>(threadIdx.x); k < rows::digits; k += static_cast<int>(blockDim.x)) digits[k] = 0;
  if (threadIdx.x < rows::watches) kinds[threadIdx.x] = special::ordinary;
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < traits::parts * count; k += blockDim.x) {
    const int part = static_cast<int>(k % traits::parts);
    add_to_digits(digits + (part == 0 ? 0 : rows::digits0), part == 0 ? rows::unit0 : rows::unit1, told[k].s, traits::scale);
    add_to_digits(digits + (part == 0 ? 0 : rows::digits0), part == 0 ? rows::unit0 : rows::unit1, told[k].c, traits::scale);
  }
  __syncthreads();
  if (warp_index() == 0) answer_of_digits<Terms, Out, T>(digits, kinds, n, q, out);
}

/// The largest grid whose blocks all look at all messages: so many looks at so few lines of L2 take 1 µs where there are twice as many blocks.
inline constexpr std::uint32_t certified_seeing_blocks = 132;

/// Whether the last block says that the array is to be added again, and in which range. Thread 0 of a block that has sent its state calls it, in larger grids.
__device__ __forceinline__ bool await_verdict(std::uint64_t* launches, const launch_word& before, std::uint32_t looks, std::uint32_t& range) {
  for (std::uint32_t i = 0; i < looks; ++i) {
    const launch_word seen{load_word(launches)};
    if (seen.word != before.word) {
      range = seen.range();
      return seen.again();
    }
    __nanosleep(0);
  }
  return false;
}

/// All threads of a block call it: some of its warps collect the blocks' states, and thread 0 decides whether the answer is certain. The last block, which has added
/// nothing itself, writes it. The others that call it lost something, and would have to add again: they come to the same decision at the same time, where
/// waiting for the last block's word would take 0.3 µs more. True, if the array is to be added again; thread 0 has its range.
///
/// The last block has nothing to do until the first states come. It answers a question of its own in the meantime, so that the instructions are there
/// when they are needed: an f64 sum of 2^14 took 0.2 µs longer without.
template <int Threads, bool Near, class T, terms Terms, class Out>
__device__ __forceinline__ bool certified_decision(const certified_room<T, Terms>& room, const certified_question& q, std::uint64_t n, Out* out,
                                                   const certified_desk& desk, const certified_mailbox<certified_state<certified_traits<T, Terms>>>& mail, const launch_word& before, std::uint32_t& range) {
  using traits = certified_traits<T, Terms>;
  using state = certified_state<traits>;
  using found = typename certified_mailbox<state>::found;
  constexpr bool tells = Near && may_lose_nothing<T, Terms>;
  static_assert(sizeof(Out) * (traits::parts + 1) <= 8 * (workspace::spare_words - 1));
  const bool last = is_last_block(), near = Near && desk.launches != nullptr;
  // Not in shared memory: a pointer that may be to either is dear to make.
  auto* const spare_word = in_register(desk.spare + workspace::spare_words * blockIdx.x);
  auto* const spare = reinterpret_cast<Out*>(spare_word);
  [[maybe_unused]] auto* const told = reinterpret_cast<certified::pair*>(wf_dynamic_shared);
  const shared_place<certified::pair> tell(told);
  if (near && !last && gridDim.x > certified_seeing_blocks) {
    bool again = false;
    if (threadIdx.x == 0) again = await_verdict(desk.launches, before, desk.looks, range);
    return __syncthreads_or(again ? 1 : 0) != 0;
  }
  const auto warps = in_register(static_cast<int>(min((gridDim.x + warp_lanes - 2) / warp_lanes, blockDim.x / warp_lanes)));
  [[maybe_unused]] found what = found::all_lost_nothing;
  bool doubt = false;
#pragma unroll 1
  for (int pass = last ? 0 : 1; pass < 2; ++pass) {
    const bool rehearsal = pass == 0;
    state s = state::nothing();
    bool pairs = false;
    const auto see = [&](const certified::extent& e) { pairs = pairs_lose_nothing<T, Terms>(e, q.loss); };
    if (warp_index() < warps) {
      what = mail.collect(warp_index() * warp_lanes, warps * warp_lanes, rehearsal ? 0 : gridDim.x - 1, !near, last ? mail.always : desk.looks, s, [&](std::uint32_t b, const state& x) {
        if constexpr (tells) {
          if (near && last) {
#pragma unroll
            for (int i = 0; i < traits::parts; ++i) tell.put(static_cast<int>(b * traits::parts + i), x.pair[i]);
          }
        }
      });
      if (warps > 1) s.merge_warp();
      else s.merge_warp(see);
    }
    if (warps > 1) {
      if (warp_index() < warps && lane_index() == 0) room.put(warp_index(), s);
      __syncthreads();
      if (warp_index() == 0) s.template merge_warps<Threads>(room, warps, see);
      if (rehearsal) __syncthreads();  // the room has been read
    }
    if (threadIdx.x != 0) continue;
    if (rehearsal) s.rehearse();
    Out* const to = last && !rehearsal ? out : spare;
    bool hopeless, sure = certified_quickly<T, Terms>(s, q, n, pairs, to, hopeless);
    if (!rehearsal && !sure) {
      if (!hopeless) sure = certified_slowly<T, Terms>(s, q, n, to);
      doubt = !sure;
      if (doubt) range = range_word_of<T, Terms>(s);
    }
    // All blocks have sent their states, so all have read the word. A rehearsal writes too, elsewhere: what follows an answer takes 100 cycles longer the first time.
    if (!near) *desk.verdict = doubt ? 0u : 1u;
    else if (last) store_word(rehearsal ? spare_word + workspace::spare_words - 1 : desk.launches, before.next(doubt, range, gridDim.x > certified_seeing_blocks && !loses_nothing<T, Terms>(s, pairs), desk.trust).word);
  }
  if constexpr (Near) {
    if (near) {
      if (__syncthreads_or(doubt ? 1 : 0) == 0) return false;
      if (!last) return __syncthreads_or(what == found::too_late ? 1 : 0) == 0;
      if constexpr (tells) {
        if (__syncthreads_and(what == found::all_lost_nothing ? 1 : 0) != 0) {
          answer_of_told<T, Terms>(told, gridDim.x - 1, {q.q.what, q.q.rounding, q.q.correction}, n, out);
          return false;  // the other blocks have left
        }
      }
      return true;
    }
  }
  return false;
}

/// Adds the array once more, in anchored sums. The blocks that are still there, the last one among them, call it with all their threads.
template <terms Terms, class Out, class T>
__device__ __attribute__((noinline)) void add_again(const arrays<1>& a, const exact_question& q, const certified::range& range, const anchored_board& board, Out* out) {
  add_again_of<Terms, T>(a, q.what == op::norm1, range, board,
                         [&](std::int64_t* digits, const std::uint32_t* kinds) { answer_of_digits<Terms, Out, T>(digits, kinds, a.n, q, out); });
}

/// Whether a block leaves even if it lost something: two blocks of so many threads fill a multiprocessor, and the next kernel finds no room while both stay.
/// (It asks values that are in registers: a parameter that nobody has read yet would be loaded before the post.)
__device__ __forceinline__ bool leaves_room() { return blockDim.x == certified_threads && 2 * blockIdx.x >= gridDim.x; }

/// All threads of each block call it: `add` gives a worker's state, in thread 0, and there what pairs_lose_nothing() says. A worker that lost nothing has sent all that is needed, and leaves; of arrays in L2
/// the others stay until they know whether they must add again. A block that waits for others in vain leaves as well, and others do its part: so it is never in the
/// way of one that it waits for.
///
/// The block that reads messages in L2 does not empty them, since many blocks read them; the next launch's last block does: two launches take turns with two rooms.
template <int Threads, bool Near, terms Terms, class Out, class T, class... Ts, class Add>
__device__ __forceinline__ void certified_answer_of_blocks(const certified_room<T, Terms>& room, const arrays<1 + sizeof...(Ts)>& a, const certified_question& q, Out* out,
                                                           const certified_desk& desk, Add add) {
  using state = certified_state<certified_traits<T, Terms>>;
  using mailbox_type = certified_mailbox<state>;
  const bool near = Near && desk.launches != nullptr;
  mailbox_type mail{desk.boxes, near ? workspace::near_blocks : mailbox_type::most_blocks};
  launch_word before{0};  // thread 0 knows it; its block votes for the room, since the address of a shared word would be made before the post
  std::uint32_t turn = 0;
  if (near && threadIdx.x == 0) before.word = load_word(desk.launches);
  if (is_last_block()) {
    if (near) {
      turn = __syncthreads_or(static_cast<int>(before.turn())) != 0 ? 1 : 0;
      const std::uint32_t other = 1 - turn;
      for (std::uint32_t i = threadIdx.x; i < workspace::near_words; i += blockDim.x) store_word(desk.boxes + other * workspace::near_words + i, 0);
      if (threadIdx.x == 0) desk.board.next[2 * other] = 0;
    }
  } else {
    bool pairs = false;
    const state s = add(pairs);
    bool stays = false;
    if (threadIdx.x == 0) {
      const bool lost_nothing = near && loses_nothing<T, Terms>(s, pairs);
      mailbox_type to = mail;
      to.boxes += before.turn() * workspace::near_words;
      to.post(s, lost_nothing);
      stays = !lost_nothing && !leaves_room() && !(before.trusts() && gridDim.x > certified_seeing_blocks);
    }
    if (!near) return;
    let_others_come();
    if (__syncthreads_or(stays ? 1 : 0) == 0) return;
    turn = __syncthreads_or(static_cast<int>(before.turn())) != 0 ? 1 : 0;
  }
  if (near) mail.boxes += turn * workspace::near_words;
  std::uint32_t range = 0;
  const bool again = certified_decision<Threads, Near, T, Terms>(room, q, a.n, out, desk, mail, before, range);
  if constexpr (Near) {
    if (!again) return;
    binned_board board = desk.board;
    board.next += 2 * turn;
    if constexpr (anchored_terms<T, Terms>::serves) {
      const certified::range r = range_of_word(word_of_block(range));
      if (anchored_terms<T, Terms>::serve(r)) {
        add_again<Terms, Out, T>(a, {q.q.what, q.q.rounding, q.q.correction}, r, {desk.board.digits, board.next}, out);
        return;
      }
    }
    std::uint32_t chunks;
    add_by_bins<Terms, Out, T, Ts...>(a, {q.q.what, q.q.rounding, q.q.correction}, out, board, true, nullptr, chunks);
  }
}

/// How many blocks of half the threads a multiprocessor is to hold, for arrays beyond L2: more where loads wait for arithmetic of two arrays, and where memory is fast. (An H200 reads products of
/// f64 at 0.99 of its speed with four, at 0.945 with two, and those of f16 at 0.98, with three at 0.96.)
template <class T, terms Terms>
constexpr std::uint32_t certified_blocks(bool fast_memory) {
  using traits = certified_traits<T, Terms>;
  return !traits::products ? 2 : fast_memory ? 4 : traits::wide ? 2 : 3;
}

template <terms Terms, class Out, class T, class... Ts>
__global__ void __launch_bounds__(certified_threads, resident_blocks(certified_threads, 2))
    certified_kernel(const __grid_constant__ arrays<1 + sizeof...(Ts)> a, const __grid_constant__ certified_question q, Out* out,
                     const __grid_constant__ certified_desk desk) {
  await_stream();
  __shared__ __align__(16) certified_state<certified_traits<T, Terms>> of_warp[certified_threads / warp_lanes];
  const certified_room<T, Terms> room(of_warp);
  const int warps = in_register(static_cast<int>(blockDim.x / warp_lanes));
  certified_answer_of_blocks<certified_threads, true, Terms, Out, T, Ts...>(
      room, a, q, out, desk, [&](bool& pairs) {
        const auto see = [&](const certified::extent& e) { pairs = pairs_lose_nothing<T, Terms>(e, q.loss); };
        constexpr bool anchored = has_anchored_moments<T, Terms>;
        auto s = [&] {
          if constexpr (anchored) return anchored_share(a, q.bits, gridDim.x - 1);
          else return certified_share<2, Terms, T, Ts...>(a, q, gridDim.x - 1);
        }();
        s.template merge_block<certified_threads>(room, warps, see, anchored);
        return s;
      });
}

/// The same by way of shared memory (bulk.cuh) of whole packs at multiples of 16: the copies go on while FP64 works.
inline constexpr int certified_stages = 3, certified_bulk_threads = certified_threads;
template <terms Terms, class Out, class T>
__global__ void __launch_bounds__(certified_bulk_threads, resident_blocks(certified_bulk_threads, 2))
    certified_bulk_kernel(const __grid_constant__ arrays<1> a, const __grid_constant__ array_part<T> part, const __grid_constant__ certified_question q,
                          Out* out, const __grid_constant__ certified_desk desk) {
  if constexpr (!has_bulk_copies) return;
  await_stream();
  using ring = bulk_ring<bulk_chunk<certified_bulk_threads, 4>, certified_stages>;
  __shared__ typename ring::barriers barriers;
  __shared__ __align__(16) certified_state<certified_traits<T, Terms>> of_warp[certified_bulk_threads / warp_lanes];
  const certified_room<T, Terms> room(of_warp);
  certified_answer_of_blocks<certified_bulk_threads, false, Terms, Out, T>(room, a, q, out, desk, [&](bool& pairs) {
    const std::uint32_t workers = gridDim.x - 1;
    certified_running<T, Terms> running;
    for_each_pack_bulk<certified_bulk_threads, 4, certified_stages, true, std::uint32_t>(
        part, ring(wf_dynamic_shared, barriers), [&] { running.start(q.q.what); },
        [&](const pack(&p)[4], int count) {
#pragma unroll
          for (int u = 0; u < 4; ++u) {
            if (u < count) {
              const pack one[1] = {p[u]};
              running.add(one);
            }
          }
        },
        workers);
    const std::uint64_t i = part.last * (16 / sizeof(T)) + threadIdx.x;
    if (blockIdx.x == workers - 1 && i < a.n) with_elements<T>(a, i, [&](const auto& x) { running.add_item(x); });
    auto s = running.total(q.length);
    s.template merge_block<certified_bulk_threads>(room, certified_bulk_threads / warp_lanes, [&](const certified::extent& e) { pairs = pairs_lose_nothing<T, Terms>(e, q.loss); });
    return s;
  });
}

/// How an array is cut: `workers` blocks of `threads`, and where there are several one more, which collects.
struct certified_shape {
  bool small, bulk;  ///< one block that answers itself; bulk copies, in blocks of certified_bulk_threads
  std::uint32_t workers, threads;
};

/// Products of f32 are pairs of terms that are converted first: they want more threads per pack.
template <class T, terms Terms>
inline constexpr bool certified_pairs = certified_traits<T, Terms>::products && !certified_traits<T, Terms>::wide && !certified_traits<T, Terms>::chains;

/// How many blocks and threads an array of several blocks has. In L2 (`near`): few blocks of few threads while messages take most of the time, at most two blocks
/// per multiprocessor. Beyond L2: `far` blocks per multiprocessor, of half the threads; of bulk copies `bulk`, or none.
constexpr certified_shape certified_shape_for(std::uint64_t work, bool pairs, bool near, std::uint32_t bulk, std::uint32_t far, std::uint32_t sm) {
  if (bulk != 0) return {false, true, bulk * sm - 1, certified_bulk_threads};
  if (!near) return {false, false, at_most(divide_up(work, certified_threads / 2), far * sm - 1), certified_threads / 2};
  const std::uint32_t threads = work <= 8192 ? 128 : work <= (pairs ? 131072u : 1048576u) ? 256 : 512;
  const std::uint32_t few = pairs ? 131072 : 262144;
  const std::uint32_t each = pairs || work <= 16384 ? 2 : 4, most = at_most(work <= few ? 128 : 256, 2 * sm - 1);
  // No more rounds than with `most`, and as even as can be.
  const std::uint32_t rounds = divide_up(work, std::uint64_t{threads} * most);
  return {false, false, divide_up(work, std::uint64_t{threads} * (rounds > each ? rounds : each)), threads};
}

/// Whether elements of f64, f16 or bf16 without gaps, so many bytes of them, are beyond L2 and come by bulk copies faster than all their digits can be added, but no faster than doubles.
inline bool certified_streams(const void* x, std::uint64_t bytes, const workspace& scratch) {
  return bytes > scratch.l2_bytes() / 4 * 3 && reinterpret_cast<std::uintptr_t>(x) % 16 == 0 && scratch.bulk_copies() && scratch.fast_doubles() &&
         scratch.fast_memory() && scratch.block_shared_bytes() >= 227 * 1024;
}

/// Enqueues the kernel, and where the array is not small nor in L2 what `behind` enqueues: a kernel that leaves at once if scratch.verdict() says that the answer is there.
template <terms Terms, class Out, class T, class... Ts, class Behind>
cudaError_t certified_reduce_before(const certified::question& q, const void* const* x, const std::int64_t* stride, std::uint64_t n,
                                    void* out, workspace& scratch, cudaStream_t stream, Behind behind) {
  using traits = certified_traits<T, Terms>;
  using mailbox_type = certified_mailbox<certified_state<traits>>;
  cudaError_t e = scratch.prepare(stream);
  if (e != cudaSuccess) return e;
  arrays<1 + sizeof...(Ts)> a;
  if (!make_arrays<T, Ts...>(a, x, stride, n, scratch.l2_bytes())) return cudaErrorMisalignedAddress;
  const std::uint64_t rest = n - a.packs * traits::items, work = a.packs + rest;
  const bool near = (a.packs != 0 ? a.packs * 16 : n * 32) * traits::inputs <= scratch.l2_bytes() / 4 * 3;  // elements apart: a sector each
  // Where an array fills more than half of L2, a fifth of it may go first, and so the rest stays: 0.97 to 0.99 of the time.
  if (near && a.packs * 16 * traits::inputs > scratch.l2_bytes() / 2) a.kept = 0.8f;
  const bool bulk = !near && traits::inputs == 1 && a.aligned && a.packs > 262144 && rest < traits::items && scratch.bulk_copies();
  // From 1 GiB on what a second block adds to the end does not count.
  const std::uint32_t bulk_blocks = !bulk ? 0 : scratch.fast_memory() && a.packs >> 26 != 0 ? 2 : 1;
  certified_shape shape = certified_shape_for(work, certified_pairs<T, Terms>, near, bulk_blocks, certified_blocks<T, Terms>(scratch.fast_memory()), scratch.multiprocessors());
  if (work <= certified_small_packs && n <= static_cast<std::uint64_t>(binned_rows<T, Terms, 1>::most_elements)) {
    const std::uint32_t warps = divide_up(work, certified_small_packs_each * warp_lanes);
    shape = {true, false, 1, warp_lanes * (warps == 0 ? 1 : at_most(warps, certified_small_threads<T, Terms> / warp_lanes))};
  }
  shape.workers = at_most(shape.workers, near ? workspace::near_blocks : mailbox_type::most_blocks);
  const std::uint64_t threads = std::uint64_t{shape.workers} * shape.threads;
  const std::uint64_t chunk = 4 * certified_bulk_threads;
  const std::uint64_t packs_each = shape.bulk ? 4 * (a.packs / chunk / shape.workers + 2) : (a.packs + threads - 1) / threads;
  const std::uint64_t length = packs_each * traits::adds_of_pack + (rest + threads - 1) / threads * (traits::numbers * traits::numbers) + 4;
  certified_question asked{q, length, reciprocals::of(n, q.correction), loss_factors::of<traits::wide>(n * traits::numbers, length, traits::chains)};
  if constexpr (has_anchored_moments<T, Terms>) {
    if (!shape.bulk) {
      const std::uint64_t batch = 2 * (shape.small ? certified_small_packs_each : anchored_packs), batches = (n + threads * batch - 1) / (threads * batch), each = batches * batch;
      const int log2 = certified::log2_of(each);
      asked.bits = log2 < most_anchored_bits ? log2 : most_anchored_bits;
      asked.loss = loss_factors::of_anchored(n, batches, threads * each, asked.bits);
    }
  }
  launch_config config{shape.small ? 1 : shape.workers + 1, shape.threads, 0, stream, scratch.overlaps()};
  auto* const to = static_cast<Out*>(out);
  if (shape.small) return launch(certified_small_kernel<Terms, Out, T, Ts...>, config, a, asked, to);
  const certified_desk desk{near ? scratch.near_boxes() : scratch.mailbox(), scratch.verdict(), near ? scratch.near_launches() : nullptr, binned_board::of(scratch, false),
                            scratch.spare_answers(), scratch.choices().looks, scratch.choices().trust};
  if (near) {
    const std::size_t bins = sizeof(binned_rows<T, Terms, bin_copies<T, Terms>>);
    const std::size_t told = 8 * (2 * traits::parts * std::size_t{shape.workers} + binned_layout<T, Terms>::digits);
    config.shared_bytes = bins > told ? bins : told;
  }
  bool launched = false;
  if constexpr (traits::inputs == 1) {
    if (shape.bulk) {
      config.shared_bytes = bulk_ring<bulk_chunk<certified_bulk_threads, 4>, certified_stages>::shared_bytes;
      auto part = cut_array(static_cast<const T*>(x[0]), n - rest, shape.workers * certified_bulk_threads, a.kept);
      e = launch(certified_bulk_kernel<Terms, Out, T>, config, a, part, asked, to, desk);
      launched = true;
    }
  }
  if (!launched) e = launch(certified_kernel<Terms, Out, T, Ts...>, config, a, asked, to, desk);
  if (e != cudaSuccess || near) return e;
  return behind();
}

/// The same with the kernel that adds in bins behind it.
template <terms Terms, class Out, class T, class... Ts>
cudaError_t certified_reduce(const certified::question& q, const void* const* x, const std::int64_t* stride, std::uint64_t n,
                             void* out, workspace& scratch, cudaStream_t stream) {
  return certified_reduce_before<Terms, Out, T, Ts...>(q, x, stride, n, out, scratch, stream, [&] {
    return binned_reduce<Terms, Out, T, Ts...>({q.what, q.rounding, q.correction}, x, stride, n, out, scratch, stream, scratch.verdict());
  });
}

}  // namespace wf::device::inline WF_BUILD
