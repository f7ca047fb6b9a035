// SPDX-License-Identifier: Apache-2.0
/// \file compact.hpp
/// Arrays of states whose numbers are narrow, in fewer bytes: compact states (compact_state.hpp) in slots of one length, under an
/// operation of ours. Where one that was merged no longer fits its slot, all ranks see it, and whole states travel after all.
///
///     bytes 0 … 3     the form (28 bits), the lowest first
///     byte 4          0, or 1 where the state does not fit
///     then            the compact state, and zeros
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <warpfold/compact_state.hpp>
#include <warpfold/detail/mpi/plan.hpp>

namespace wf::mpi {

/// A setting of all_reduce(): states take so many bytes each, where they fit, and as many messages more where one does not. For slow links, and
/// many states at a time: where ranks share memory, whole states are faster.
struct compact {
  int bytes = 64;  ///< a state's in a message
};

namespace detail {

inline constexpr std::size_t slot_head = 4;
inline constexpr int most_slot = 1 << 16;

/// The MPI_User_function of slots.
inline void merge_slots(void* in, void* inout, int* n, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const auto size = static_cast<std::size_t>(bytes);
  for (std::size_t k = 0; k < static_cast<std::size_t>(*n); ++k) {
    const std::span<const std::byte> from(static_cast<const std::byte*>(in) + k * size, size);
    const std::span<std::byte> to(static_cast<std::byte*>(inout) + k * size, size);
    std::int64_t id = 0;
    for (std::size_t b = 0; b < slot_head; ++b) id |= std::to_integer<std::int64_t>(to[b]) << (8 * b);
    state_form form;
    if (!std::ranges::equal(from.first(slot_head), to.first(slot_head)) || !form_of_id(id, form)) to[slot_head] = wf::detail::slot::too_wide;
    else wf::detail::slot::merge(form, from.subspan(slot_head), to.subspan(slot_head));
  }
}

/// True, and `states`, which have been checked and agreed upon, are merged; or false on all ranks, and they are as before.
inline bool all_reduce_slots(MPI_Comm comm, const state_form& form, bool commutes, std::span<std::byte> states, int bytes) {
  const std::size_t size = slot_head + 1 + static_cast<std::size_t>(bytes), n = states.size() / form.bytes;
  const std::int64_t id = id_of(form);
  std::vector<std::byte> slots(n * size), merged(states.size());
  for (std::size_t k = 0; k < n; ++k) {
    const auto to = std::span(slots).subspan(k * size, size);
    for (std::size_t b = 0; b < slot_head; ++b) to[b] = static_cast<std::byte>(id >> (8 * b) & 0xff);
    wf::detail::slot::write(form, states.data() + k * form.bytes, to.subspan(slot_head));
  }
  const MPI_Datatype type = kept::bytes(static_cast<int>(size));
  const MPI_Op operation = kept::operation(merge_slots, commutes);
  for (std::size_t at = 0; at < n; at += most_at_once)
    checked(MPI_Allreduce(MPI_IN_PLACE, slots.data() + at * size, static_cast<int>(std::min<std::size_t>(most_at_once, n - at)), type, operation, comm), "MPI_Allreduce");
  for (std::size_t k = 0; k < n; ++k)
    if (!wf::detail::slot::read(form, std::span(slots).subspan(k * size + slot_head, size - slot_head), merged.data() + k * form.bytes)) return false;
  std::ranges::copy(merged, states.begin());
  return true;
}

}  // namespace detail

}  // namespace wf::mpi
