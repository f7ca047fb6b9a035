// SPDX-License-Identifier: Apache-2.0
/// \file message.hpp
/// How states travel: as what a datatype and an operation of MPI merge.
///
/// States that are merged by addition (state_form::adds) go as words of MPI_UINT64_T under MPI_SUM, which every MPI adds in
/// its own way, on the network's adapters too. (int64 addition in two's complement; unsigned, so that C defines its overflow,
/// which sums of integers mod 2^64 have.) The number of elements goes as two digits of 32 and 31 bits, which 2^31 ranks
/// cannot overflow, so more than 2^63 - 1 elements are found by all ranks:
///
///     word 0          2^32 + rank of each rank that has failed
///     word 1          its error code
///     word 2 … 1 + n  the number of elements of each state, from bit 32 on
///     then            the n states; word 0 of each has the low 32 bits of its number of elements
///
/// Others go as n elements of a contiguous datatype, under an operation of ours. An operation cannot throw: what goes wrong
/// is written into the head and travels on.
///
///     word 0          the form (28 bits), an error code (4), the rank that failed (31), "found while merging" (1)
///     then            the state
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <warpfold/detail/mpi/agree.hpp>
#include <warpfold/state_check.hpp>

namespace wf::mpi {

namespace detail {

/// The first word of a message that is merged by an operation of ours.
struct head {
  static constexpr int code_at = 28, rank_at = 32;
  static constexpr std::uint64_t while_merging = std::uint64_t{1} << 63;

  static std::uint64_t of(std::int64_t form) { return static_cast<std::uint64_t>(form); }
  static std::uint64_t failed(std::int64_t form, errc code, int rank) {
    return of(form) | static_cast<std::uint64_t>(code) << code_at | static_cast<std::uint64_t>(rank) << rank_at;
  }
  static std::uint64_t failed_merging(std::uint64_t h, errc code) {
    return (h & static_cast<std::uint64_t>(id_mask)) | static_cast<std::uint64_t>(code) << code_at | while_merging;
  }
  static std::int64_t form(std::uint64_t h) { return static_cast<std::int64_t>(h & static_cast<std::uint64_t>(id_mask)); }
  static auto code(std::uint64_t h) { return static_cast<errc>(h >> code_at & 0xf); }
  static bool has_failed(std::uint64_t h) { return (h >> code_at & 0xf) != 0; }
  static std::int64_t rank(std::uint64_t h) { return static_cast<std::int64_t>(h >> rank_at & 0x7fffffff); }
  /// The first rank's failure of two is kept, whatever the tree.
  static std::uint64_t both(std::uint64_t a, std::uint64_t b) {
    if (!has_failed(a) || !has_failed(b)) return has_failed(a) ? a : b;
    return std::min(a, b);
  }
};

/// inout = in ∘ inout, of `bytes` each; `in` is that of lower ranks. Nothing is thrown: see head.
inline void merge_message(const std::byte* in, std::byte* inout, std::size_t bytes) noexcept {
  std::uint64_t a = 0, b = 0;
  std::memcpy(&a, in, 8);
  std::memcpy(&b, inout, 8);
  const auto leave = [&](std::uint64_t h) { std::memcpy(inout, &h, 8); };
  if (head::has_failed(a) || head::has_failed(b)) return leave(head::both(a, b));
  try {
    state_form form;
    if (a != b || !form_of_id(head::form(a), form) || form.bytes + 8 != bytes) return leave(head::failed_merging(a, errc::bad_argument));
    thread_local std::vector<std::byte> earlier;
    earlier.assign(in + 8, in + bytes);
    merge_states(form, earlier.data(), inout + 8, 1);
    std::copy(earlier.begin(), earlier.end(), inout + 8);
  } catch (const error& told) {
    leave(head::failed_merging(a, told.code()));
  } catch (...) {
    leave(head::failed_merging(a, errc::capacity));
  }
}

/// The MPI_User_function of all forms: the messages say which.
inline void merge_messages(void* in, void* inout, int* n, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  for (std::int64_t k = 0; k < *n; ++k)
    merge_message(static_cast<const std::byte*>(in) + k * bytes, static_cast<std::byte*>(inout) + k * bytes, static_cast<std::size_t>(bytes));
}

}  // namespace detail

/// n states of one form as a message: memory, count, datatype and operation for any reduction of MPI, one of yours too
/// (MPI_Scan, MPI_Reduce_scatter_block …). Ranks must have agreed on form and n, as all_reduce() does by itself.
class message {
 public:
  /// Room for `states` states of that form. Throws wf::error (unsupported) of no form, std::bad_alloc.
  message(const state_form& form, std::int64_t states)
      : form_(known_form(form.what, form.element, form.accuracy)), states_(states), stride_(form_.bytes / 8),
        words_(static_cast<std::size_t>(words_of(form_, states))) {}

  /// The memory to pass to MPI.
  void* data() noexcept { return words_.data(); }
  /// The datatype to pass to MPI. This and operation() throw wf::error where MPI refuses to make one.
  MPI_Datatype type() const { return form_.adds ? MPI_UINT64_T : detail::kept::words(static_cast<int>(stride_ + 1)); }
  /// The operation to pass to MPI. Throws as type().
  MPI_Op operation() const { return form_.adds ? MPI_SUM : detail::kept::operation(detail::merge_messages, commutes()); }
  /// The count to pass to MPI, in elements of type().
  std::int64_t count() const noexcept { return form_.adds ? static_cast<std::int64_t>(words_.size()) : carried(states_); }
  /// Whether MPI may merge in any order: not places, whose order decides between equals, nor native floating point. Throws nothing.
  bool commutes() const { return form_.canonical && builtin(form_.what, form_.element, form_.accuracy).commutes; }

  const state_form& form() const noexcept { return form_; }  ///< the states'
  std::int64_t states() const noexcept { return states_; }   ///< how many states it has

  /// The states to be sent. Throws wf::error (bad_input) for what check_states() refuses; the message is then what it was.
  void pack(std::span<const std::byte> states) {
    check_states(form_, states, states_, "states to be reduced");
    if (!form_.adds || states_ == 0) clear();
    else words_[0] = words_[1] = 0;  // all others are written
    for (std::size_t k = 0; k < static_cast<std::size_t>(states_); ++k) {
      std::uint64_t* const to = state(k);
      std::memcpy(to, states.data() + k * form_.bytes, form_.bytes);
      if (!form_.adds) continue;
      words_[2 + k] = to[0] >> 32;
      to[0] &= 0xffffffff;
    }
  }
  /// The message of a rank that has failed: unpack() throws on every rank that it reaches. Throws nothing itself.
  void refuse(errc code, int rank) {
    clear();
    if (form_.adds) {
      words_[0] = (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(rank);
      words_[1] = static_cast<std::uint64_t>(code);
    } else {
      for (std::size_t k = 0; k < static_cast<std::size_t>(count()); ++k) state(k)[-1] = detail::head::failed(detail::id_of(form_), code, rank);
    }
  }
  /// The merged states, in canonical form. Throws wf::error: capacity for more than 2^63 - 1 elements, or what a rank has
  /// refused with. All ranks throw the same that have the same message.
  void unpack(std::span<std::byte> states) {
    if (states.size() != static_cast<std::size_t>(states_) * form_.bytes)
      throw error(errc::bad_argument, who() + ": room for " + std::to_string(states.size()) + " bytes; " + std::to_string(states_) +
                                          " states have " + std::to_string(static_cast<std::size_t>(states_) * form_.bytes));
    if (form_.adds) throw_for_sums();
    else throw_for_merged();
    for (std::size_t k = 0; k < static_cast<std::size_t>(states_); ++k) {
      std::uint64_t* const from = state(k);
      if (form_.adds) from[0] += words_[2 + k] << 32;
      std::memcpy(states.data() + k * form_.bytes, from, form_.bytes);
    }
    if (!form_.adds) return;
    const std::vector<std::byte> nothing(form_.bytes);
    for (std::size_t k = 0; k < static_cast<std::size_t>(states_); ++k)
      unmerge_states(form_, states.data() + k * form_.bytes, nothing.data(), 1);  // carries: less words of zero than a merge with no elements
  }

 private:
  /// A message of no states carries one, so that a failure has where to be.
  static std::int64_t carried(std::int64_t states) { return std::max<std::int64_t>(states, 1); }
  static std::int64_t words_of(const state_form& form, std::int64_t states) {
    const auto stride = static_cast<std::int64_t>(form.bytes / 8) + 1;
    std::int64_t words = 0;
    if (states < 0 || __builtin_mul_overflow(carried(states), stride, &words) || words > std::numeric_limits<std::int64_t>::max() / 8 - 2) throw std::bad_alloc();
    return form.adds ? 2 + carried(states) * stride : words;
  }
  std::uint64_t* state(std::size_t k) {
    return words_.data() + (form_.adds ? 2 + static_cast<std::size_t>(carried(states_)) + k * stride_ : k * (stride_ + 1) + 1);
  }
  void clear() {
    std::ranges::fill(words_, 0);
    for (std::size_t k = 0; k < static_cast<std::size_t>(carried(states_)); ++k) {
      clear_states(form_, state(k), 1);
      if (!form_.adds) state(k)[-1] = detail::head::of(detail::id_of(form_));
    }
  }

  std::string who() const { return detail::text_of(form_); }
  void throw_for_sums() const {
    const std::uint64_t failed = words_[0] >> 32;  // 1 says that it was one rank; with more, ranks may have carried into it
    if (failed == 1) detail::throw_for_rank(who(), static_cast<std::int64_t>(words_[0] & 0xffffffff), static_cast<errc>(words_[1]));
    if (failed != 0) throw error(errc::bad_argument, who() + ": several ranks could not take part; their own errors say why, and no rank has an answer");
    const auto terms = static_cast<std::uint64_t>(wf::detail::rows_of(form_).terms);
    for (std::size_t k = 0; k < static_cast<std::size_t>(states_); ++k) {
      const std::size_t at = 2 + static_cast<std::size_t>(carried(states_)) + k * stride_;
      if (words_[2 + k] + (words_[at] >> 32) >= (std::uint64_t{1} << 31) / terms) refuse_capacity(terms);
    }
  }
  void throw_for_merged() const {
    for (std::size_t k = 0; k < static_cast<std::size_t>(count()); ++k) {
      const std::uint64_t h = words_[k * (stride_ + 1)];
      if (!detail::head::has_failed(h)) continue;
      if ((h & detail::head::while_merging) == 0) detail::throw_for_rank(who(), detail::head::rank(h), detail::head::code(h));
      if (detail::head::code(h) == errc::capacity) refuse_capacity(1);
      throw error(detail::head::code(h), who() + ": ranks sent messages of different forms; they must reduce alike");
    }
  }
  [[noreturn]] void refuse_capacity(std::uint64_t terms) const {
    throw error(errc::capacity, who() + ": all ranks together have more than " + (terms == 1 ? "2^63 - 1" : "2^62 - 1") + " elements");
  }

  state_form form_;
  std::int64_t states_;
  std::size_t stride_;  ///< words of a state
  std::vector<std::uint64_t> words_;
};

}  // namespace wf::mpi
