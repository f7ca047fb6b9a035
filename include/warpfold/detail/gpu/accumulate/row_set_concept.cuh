// SPDX-License-Identifier: Apache-2.0
/// \file row_set_concept.cuh
/// The protocol of a row set: what the threads of a block add up as rows of exact digits.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/domain/items.cuh>
#include <warpfold/detail/gpu/epilogue/digit_rows.cuh>

namespace wf::device::inline WF_BUILD {

/// What every row set has.
template <class R>
concept rows_of_block = digit_rows<R> && requires(const R& rows, int watch) {
  { R::inputs } -> std::convertible_to<int>;
  { R::loads } -> std::convertible_to<int>;                 // packs of an input that are added as one batch, at most
  { R::item_size } -> std::convertible_to<int>;             // an element's
  { R::shared_bytes } -> std::convertible_to<std::size_t>;  // dynamic shared memory
  typename R::room;                                         // static shared memory, for sum_over_block()
  { rows.kinds(watch) } -> std::same_as<std::uint32_t>;     // what this thread saw, as bits of `special`
};
/// sum_over_block(room, digits) is called by all threads: the carry-save digits of all rows, one after the other, each within
/// ±2^46; they are complete after a barrier.
template <class R>
concept sums_over_block = requires(R& rows, typename R::room& room, std::int64_t* digits) { rows.sum_over_block(room, digits); };

/// start(), then packs and after each batch of them after_batch(). What an array is fed to also takes single elements by add_item(x…), and has
/// finish() and `resident_threads`: those of a multiprocessor, as far as shared memory allows.
template <class R>
concept plain_row_set = rows_of_block<R> && requires(R& rows, const pack (&p)[R::inputs], op what) {
  rows.start(what);
  rows.add(p);
  rows.after_batch();
};
/// Which also takes v·2^place more in a row, in units of the row; v within ±2^62 (anchored_doubles.cuh).
template <class R>
concept rest_rows = plain_row_set<R> && sums_over_block<R> && requires(R& rows, int row, std::int64_t v, int place) {
  rows.add_scaled(row, v, place);
};

/// Which all threads clear together, before a barrier behind which start() may be called.
template <class R>
concept cleared_together = requires { R::clear(); };
/// Which take so many elements of a block and no more.
template <class R>
concept bounded_rows = requires { { R::most_items } -> std::convertible_to<std::uint64_t>; };

}  // namespace wf::device::inline WF_BUILD
