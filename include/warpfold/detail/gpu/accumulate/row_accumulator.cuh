// SPDX-License-Identifier: Apache-2.0
/// \file row_accumulator.cuh
/// The protocol of what kernels of rows (rows_kernel.cuh) keep of a row.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/items.cuh>

namespace wf::device::inline WF_BUILD {

/// How many loads a thread adds before its chain of doubles is cut: the shorter the chains, the surer a certificate.
inline constexpr unsigned rounds_of_chain = 128;

/// An accumulator that keeps a certificate: its answer may be uncertain, and exactly(room, …) then adds the row again, by a warp or
/// a block. Its total takes the greatest number of terms that a thread has added one after the other.
template <class A>
concept proving_accumulator = A::proves && requires(const A& acc, const typename A::running& r, std::uint64_t terms) {
  typename A::room;  // shared memory, for exactly()
  { acc.total(r, terms) } -> std::convertible_to<typename A::state>;
};
/// An accumulator that proves, and whose proof never fails: its kernels have no exact way.
template <class A>
concept deciding_accumulator = A::proves && requires { requires A::decides; };
/// Whether an answer may be uncertain.
template <class A>
inline constexpr bool may_doubt = A::proves && !deciding_accumulator<A>;
/// What may be wanted of a row that is added exactly. Each kernel has a copy of the code, without the code for what it is never asked for.
enum class wanted {
  nearest,  ///< answers, rounded to nearest
  answers,  ///< rounded in any mode
  states    ///< or the states of rows
};
/// An accumulator that takes 16 bytes of each input at a time too.
template <class A>
concept packing_accumulator = A::packs && requires(const A& acc, typename A::running& r, const pack (&p)[A::inputs], std::uint64_t first) {
  { A::items } -> std::convertible_to<int>;  // a pack's
  acc.add(r, p, first);                      // `first`: the index of the first element
};
/// An accumulator that loads elements itself, of types that it alone knows, and answers row by row (rows_own.cuh).
template <class A>
concept own_accumulator = requires { requires A::own; };
/// An accumulator that keeps little of a row (rows_quick.cuh).
template <class A>
concept quick_accumulator = requires { requires A::quick; };
/// An accumulator to which an element of these bits changes nothing, for elements of 1 or 2 bytes: in packs that cover a row, such elements stand for its neighbours' (rows_stream.cuh). Wider elements come fast enough one
/// at a time.
template <class A>
concept covering_accumulator = requires(const A& acc) {
  { acc.neutral() } -> std::convertible_to<std::uint32_t>;  // repeated
} && A::fixed_size <= 2;
/// An accumulator that an element changes only once: it may be given the last element again.
template <class A>
concept repeatable_accumulator = requires { requires A::repeatable; };
/// An accumulator that adds rows by four packs per lane, where they have so many (rows_kernel.cuh).
template <class A>
concept quad_accumulator = requires { requires A::quads; };
/// An accumulator with which a lane adds a short row exactly by itself.
template <class A>
concept alone_accumulator = requires { requires A::alone_elements != 0; };
/// An accumulator whose uncertain rows another one settles, which has the same facts.
template <class A>
concept settled_by_another = requires(const A& acc) {
  { acc.settler() } -> std::same_as<typename A::settles>;
};
/// An accumulator that takes a row's elements in any order, and does not ask for their indices (rows_stream.cuh).
template <class A>
concept unordered_accumulator = requires { requires A::any_order; } && packing_accumulator<A> && A::inputs == 1;
/// An accumulator that takes several packs at once, whose first elements are from index i on, `apart` from each other.
template <class A, int Loads>
concept packs_adder = requires(const A& acc, typename A::running& r, const pack (&p)[Loads][1], std::uint64_t i) { acc.add_packs(r, p, i, i); };
/// An accumulator that adds neighbouring columns of several loads at once.
template <class A, int Columns, int Loads>
concept column_adder = requires(const A& acc, typename A::running (&r)[Columns], const pack (&p)[Loads][1]) { acc.add_columns(r, p); };
/// The same for an accumulator that needs the elements' indices: from i on, `step` apart.
template <class A, int Columns, int Loads>
concept placed_column_adder = requires(const A& acc, typename A::running (&r)[Columns], const pack (&p)[Loads][1], std::uint64_t i) { acc.add_columns(r, p, i, i); };
/// The first kind, where the first of two neighbouring columns keeps something of both in its registers until part_columns(r) gives each its own.
template <class A, int Columns>
concept parts_columns = requires(const A& acc, typename A::running (&r)[Columns]) { acc.part_columns(r); };
/// An accumulator whose states a whole warp puts together by a way of its own.
template <class A>
concept merges_by_warp = requires(const A& acc, const typename A::state& s) {
  { acc.warp_together(s) } -> std::convertible_to<typename A::state>;
};
/// The same for the first lanes of a warp.
template <class A>
concept merges_first_lanes = requires(const A& acc, const typename A::state& s) {
  { acc.template first_lanes_together<5>(s) } -> std::convertible_to<typename A::state>;
};
/// An accumulator that keeps rows of several pieces by another one, `streamed`: lengthened() turns its states into states of that.
template <class A>
concept lengthens_rows = requires(const A& acc, const typename A::state& s, std::uint64_t n) {
  { acc.lengthened(s, n) } -> std::convertible_to<typename A::streamed::state>;
};
/// An accumulator that says how many units of work a segment takes beside its elements (rows_ragged.cuh).
template <class A>
concept weighs_segments = requires {
  { A::segment_units } -> std::convertible_to<std::uint64_t>;
};
/// An accumulator that says up to how many bytes a row is a thread's (rows_stream.cuh).
template <class A>
concept weighs_lone_rows = requires {
  { A::lone_bytes } -> std::convertible_to<std::uint64_t>;
};
/// An accumulator that looks at two elements of a word at once, as of bf16.
template <class A>
concept packed_accumulator = requires { requires A::packed; };
/// An accumulator whose bounds decide most rows of so many elements in a pack (rows_thread.cuh); and of several packs.
template <class A, int Elements>
concept bounds_elements = requires { requires A::template has_bounds<Elements>; };
template <class A>
concept bounds_packs = requires { typename A::bounds; } && bounds_elements<A, 1>;
/// An accumulator whose answers all have one size, known at compile time.
template <class A>
concept fixed_answers = requires {
  { A::answer_size } -> std::convertible_to<std::size_t>;
};
/// An accumulator of rows.
template <class A>
concept row_accumulator = requires(const A& acc, typename A::running& r, const typename A::state& s, const pack (&p)[A::inputs], std::uint64_t i,
                                   void* out) {
  requires std::is_trivially_copyable_v<typename A::state>;
  { A::fixed_size } -> std::convertible_to<int>;                     // an element's; 0 where it is known at run time
  { acc.start() } -> std::convertible_to<typename A::running>;       // a thread's registers
  acc.add_item(r, p, i);                                             // an element of each input, of index i
  { acc.identity() } -> std::convertible_to<typename A::state>;      // these two as of a reduction
  { acc.combine(s, s) } -> std::convertible_to<typename A::state>;
  { acc.item_size() } -> std::convertible_to<int>;
  { acc.item_align() } -> std::convertible_to<int>;
  { acc.result_size() } -> std::convertible_to<std::size_t>;
  { acc.answer(s, i, acc.facts(i, i, i), out) } -> std::same_as<bool>;  // for i elements, by one thread; false: uncertain
  requires proving_accumulator<A> || (!A::proves && requires { { acc.total(r) } -> std::convertible_to<typename A::state>; });
  requires packing_accumulator<A> || !A::packs;
};

}  // namespace wf::device::inline WF_BUILD
