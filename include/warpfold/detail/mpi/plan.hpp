// SPDX-License-Identifier: Apache-2.0
/// \file plan.hpp
/// A reduction over ranks that is done more than once, or while something else is computed.
///
///     wf::mpi::plan p(comm, form);      // collective: ranks agree on the form, once
///     p.all_reduce(state);              // one MPI_Allreduce
///
///     p.start(state);                   // MPI_Iallreduce
///     …
///     p.wait(state);                    // the merged state
///
///     wf::mpi::plan q(comm, form, 1, wf::mpi::persistent);   // start() is MPI_Start: MPI 4
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <warpfold/detail/mpi/message.hpp>

namespace wf::mpi {

/// Whether this MPI has persistent collectives.
inline constexpr bool has_persistent = MPI_VERSION >= 4;
/// How a plan asks MPI.
enum class kind : std::uint8_t {
  plain,      ///< by MPI_Iallreduce
  persistent  ///< by MPI_Start of what MPI_Allreduce_init made: MPI 4
};
/// A short name: `wf::mpi::plan(comm, form, 1, wf::mpi::persistent)`.
inline constexpr kind persistent = kind::persistent;

namespace detail {

/// Elements of a datatype in one call, whose count is an int.
inline constexpr std::int64_t most_at_once = std::int64_t{1} << 30;

/// f(place, count) for each call that a message takes.
template <class F>
void in_calls(message& m, std::int64_t most, F f) {
  const std::int64_t n = m.count();
  const std::size_t size = m.form().adds ? 8 : m.form().bytes + 8;
  for (std::int64_t at = 0; at < n; at += most)
    f(static_cast<std::byte*>(m.data()) + static_cast<std::size_t>(at) * size, static_cast<int>(std::min(most, n - at)));
}

inline void all_reduce(MPI_Comm comm, message& m, std::int64_t most = most_at_once) {
  in_calls(m, most, [&](void* p, int n) { checked(MPI_Allreduce(MPI_IN_PLACE, p, n, m.type(), m.operation(), comm), "MPI_Allreduce"); });
}

}  // namespace detail

/// One reduction of n states at a time; for several under way, several plans. All ranks of the communicator make, start and
/// use their plans in the same order. The communicator must outlive it.
class plan {
 public:
  /// For `states` states of that form. Throws wf::error on all ranks alike where they do not agree; unsupported for a persistent one
  /// before MPI 4. `most` is for tests.
  plan(MPI_Comm comm, const state_form& form, std::int64_t states = 1, kind how = kind::plain, std::int64_t most = detail::most_at_once)
      : comm_((detail::check_communicator(comm), comm)), rank_(detail::rank_in(comm)), most_(most), message_(agreed(comm, form, states, how)) {
    if (how == kind::plain) return;
    is_persistent_ = true;
#if MPI_VERSION >= 4
    detail::in_calls(message_, most_, [&](void* p, int n) {
      requests_.push_back(MPI_REQUEST_NULL);
      detail::checked(MPI_Allreduce_init(MPI_IN_PLACE, p, n, message_.type(), message_.operation(), comm_, MPI_INFO_NULL, &requests_.back()),
                      "MPI_Allreduce_init");
    });
#endif
  }
  /// Waits for what was started.
  ~plan() {
    if (!detail::is_running()) return;
    if (is_under_way_) MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (MPI_Request& r : requests_)
      if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
  }
  plan(const plan&) = delete;
  plan& operator=(const plan&) = delete;

  /// `states`, as many of the form as was said, become those of all ranks. All ranks return, or all throw wf::error.
  void all_reduce(std::span<std::byte> states) {
    if (is_persistent_) {
      start(states);
      wait(states);
      return;
    }
    fill(states);
    detail::all_reduce(comm_, message_, most_);
    finish(states);
  }
  /// `states` are copied. A rank whose states are refused takes part all the same: wait() throws, on all ranks. Throws wf::error
  /// (bad_argument) where one is under way.
  void start(std::span<const std::byte> states) {
    fill(states);
    begin();
  }
  /// In place of start(), on a rank that has failed on the way. Throws as start(); all ranks' wait() throws, this one's what is given here.
  void start_refused(std::exception_ptr why) {
    check_idle();
    own_ = std::move(why);
    message_.refuse(detail::code_of(own_), rank_);
    begin();
  }
  /// Whether wait() would return at once. Throws wf::error (bad_argument) where nothing was started.
  bool test() {
    check_under_way();
    for (MPI_Request& r : requests_) {  // MPI_Testall of MPICH 4.0.2 fails on persistent collectives that are under way
      int done = 0;
      detail::checked(MPI_Test(&r, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) return false;
    }
    return true;
  }
  /// `states` become those of all ranks, which were started. All ranks return, or all throw wf::error; bad_argument where nothing was started.
  void wait(std::span<std::byte> states) {
    check_under_way();
    is_under_way_ = false;
    detail::checked(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    if (!is_persistent_) requests_.clear();
    finish(states);
  }

 private:
  static message agreed(MPI_Comm comm, const state_form& form, std::int64_t states, kind how) {
    const std::string who = "plan of " + detail::text_of(form);
    std::optional<message> made;
    std::exception_ptr own;
    try {
      if (how == kind::persistent && !has_persistent)
        throw error(errc::unsupported, who + ": persistent collectives came with MPI 4, and this is MPI " + std::to_string(MPI_VERSION) + "." +
                                           std::to_string(MPI_SUBVERSION));
      made.emplace(form, states);
    } catch (...) {
      own = std::current_exception();
    }
    detail::agree(comm, {detail::id_of(form), states, 0, static_cast<std::int64_t>(how)}, 0, own, who);
    return std::move(*made);
  }

  void check_idle() const {
    if (is_under_way_) throw error(errc::bad_argument, "plan: started twice; wait() comes between");
  }
  void check_under_way() const {
    if (!is_under_way_) throw error(errc::bad_argument, "plan: nothing was started; start() comes first");
  }
  void fill(std::span<const std::byte> states) {
    check_idle();
    own_ = nullptr;
    try {
      message_.pack(states);
    } catch (...) {
      own_ = std::current_exception();
      message_.refuse(detail::code_of(own_), rank_);
    }
  }
  void begin() {
    if (is_persistent_) {
#if MPI_VERSION >= 4
      detail::checked(MPI_Startall(static_cast<int>(requests_.size()), requests_.data()), "MPI_Startall");
#endif
    } else {
      detail::in_calls(message_, most_, [&](void* p, int n) {
        requests_.push_back(MPI_REQUEST_NULL);
        detail::checked(MPI_Iallreduce(MPI_IN_PLACE, p, n, message_.type(), message_.operation(), comm_, &requests_.back()), "MPI_Iallreduce");
      });
    }
    is_under_way_ = true;
  }
  void finish(std::span<std::byte> states) {
    if (own_) std::rethrow_exception(std::exchange(own_, nullptr));
    message_.unpack(states);
  }

  MPI_Comm comm_;
  int rank_;
  std::int64_t most_;
  message message_;
  std::vector<MPI_Request> requests_;
  std::exception_ptr own_;
  bool is_persistent_ = false;
  bool is_under_way_ = false;
};

}  // namespace wf::mpi
