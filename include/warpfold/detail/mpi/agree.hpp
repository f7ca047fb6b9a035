// SPDX-License-Identifier: Apache-2.0
/// \file agree.hpp
/// Before states travel, ranks agree on what they are, in one small MPI_MAX: a rank that asks for something else, or has
/// failed, is found by all ranks at once, and all of them throw. Nobody is left waiting for messages of another length.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>

#include <warpfold/backend.hpp>
#include <warpfold/detail/mpi/calls.hpp>

namespace wf::mpi::detail {

/// What every rank must say alike; all of it is positive or 0.
struct claim {
  std::int64_t form = 0;    ///< id_of(form), or a hash of a reduction of one's own
  std::int64_t states = 0;  ///< how many
  std::int64_t shape = 0;   ///< a hash of the answers' shape
  std::int64_t told = 0;    ///< a hash of rounding, correction and the like
};

/// 28 bits that name a form and its version.
inline std::int64_t id_of(const state_form& f) {
  return std::int64_t{state_version} << 20 | static_cast<std::int64_t>(f.accuracy) << 16 | static_cast<std::int64_t>(f.element) << 8 |
         static_cast<std::int64_t>(f.what);
}
inline constexpr std::int64_t id_mask = (std::int64_t{1} << 28) - 1;

/// False where an id names no form of this version.
inline bool form_of_id(std::int64_t id, state_form& f) {
  const auto what = static_cast<op>(id & 0xff);
  const auto element = static_cast<dtype>(id >> 8 & 0xff);
  const auto how = static_cast<accuracy>(id >> 16 & 0xf);
  if (id < 0 || (id & ~id_mask) != 0 || id >> 20 != state_version || static_cast<int>(what) >= op_count ||
      static_cast<std::size_t>(element) >= dtypes.size() || (how != accuracy::exact && how != accuracy::fast) ||
      find_builtin(what, element, how) == nullptr)
    return false;
  f = form_of_states(what, element, how);
  return true;
}

inline std::string text_of(const state_form& f) {
  if (static_cast<int>(f.what) >= op_count || static_cast<std::size_t>(f.element) >= dtypes.size()) return "an unknown operation";
  return std::string(op_names[static_cast<int>(f.what)]) + " of " + std::string(info(f.element).name) +
         (f.accuracy == accuracy::fast ? " (fast)" : "");
}
inline std::string text_of_id(std::int64_t id) {
  state_form f;
  if (form_of_id(id, f)) return text_of(f);
  if (id <= id_mask && id >> 20 != state_version)
    return "states of version " + std::to_string(id >> 20) + ", here it is " + std::to_string(state_version);
  return "a reduction of its own";
}

/// FNV-1a, 62 bits of it.
class hash {
 public:
  hash& operator<<(std::int64_t v) {
    for (int k = 0; k < 8; ++k) h_ = (h_ ^ (static_cast<std::uint64_t>(v) >> (8 * k) & 0xff)) * 0x100000001b3u;
    return *this;
  }
  hash& operator<<(const char* text) {
    for (; *text != '\0'; ++text) *this << *text;
    return *this;
  }
  std::int64_t value() const { return static_cast<std::int64_t>(h_ >> 2); }

 private:
  std::uint64_t h_ = 0xcbf29ce484222325u;
};

inline errc code_of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const error& told) {
    return told.code();
  } catch (...) {
    return errc::capacity;  // memory, as a rule
  }
}

inline const char* name_of(errc code) {
  switch (code) {
    case errc::bad_argument: return "a bad argument";
    case errc::bad_input: return "bad input";
    case errc::unsupported: return "it is not supported";
    case errc::capacity: return "no room";
    case errc::io: return "input or output";
    case errc::no_device: return "no device";
    case errc::device: return "a device";
  }
  return "unknown";
}

/// What all other ranks throw where one has failed, which throws its own error.
[[noreturn]] inline void throw_for_rank(const std::string& who, std::int64_t rank, errc code) {
  throw error(code, who + ": rank " + std::to_string(rank) + " could not take part (" + name_of(code) +
                        "); its own error says why, and no rank has an answer");
}

/// Collective. `own` is what this rank failed with, if it did; `count` the most elements of a state of it. All ranks return, or
/// all throw. True if all states together have at most 2^62 - 1 elements, whatever their numbers, which every form can count.
inline bool agree(MPI_Comm comm, const claim& mine, std::int64_t count, const std::exception_ptr& own, const std::string& who) {
  const int rank = rank_in(comm), size = size_of(comm);
  constexpr int said = 4;
  const std::array<std::int64_t, said> own_words{mine.form, mine.states, mine.shape, mine.told};
  std::array<std::int64_t, 2 * said + 2> words{};
  for (std::size_t k = 0; k < said; ++k) {
    words[2 * k] = own ? 0 : own_words[k];  // the least possible, twice: who failed says nothing
    words[2 * k + 1] = own ? INT64_MIN : ~own_words[k];
  }
  // The error names the first of the ranks that failed.
  words[2 * said] = own ? (std::int64_t{INT32_MAX} - rank) << 8 | static_cast<std::int64_t>(code_of(own)) : 0;
  words[2 * said + 1] = own ? 0 : count;
  checked(MPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_INT64_T, MPI_MAX, comm), "MPI_Allreduce");
  if (own) std::rethrow_exception(own);
  if (words[2 * said] != 0) throw_for_rank(who, INT32_MAX - (words[2 * said] >> 8), static_cast<errc>(words[2 * said] & 0xff));
  for (std::size_t k = 0; k < said; ++k) {
    const std::int64_t most = words[2 * k], least = ~words[2 * k + 1];
    if (most == least) continue;
    std::array<int, 2> first{own_words[k] == least ? rank : INT32_MAX, own_words[k] == most ? rank : INT32_MAX};
    checked(MPI_Allreduce(MPI_IN_PLACE, first.data(), 2, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    const auto said_by = [&](int r, std::int64_t v) {
      return "rank " + std::to_string(r) + (k >= 2 ? "" : " has " + (k == 0 ? text_of_id(v) : std::to_string(v) + " states"));
    };
    throw error(errc::bad_argument, who + ": ranks must ask alike, but " + said_by(first[0], least) + (k < 2 ? ", " : " and ") + said_by(first[1], most) +
                                        (k < 2 ? "" : k == 2 ? " differ in the shape of the answers" : " differ in rounding, correction, root, kind or length"));
  }
  return words[2 * said + 1] <= ((std::int64_t{1} << 62) - 1) / size;
}

/// The sum of `mine` over the ranks before this one. More than 2^63 - 1 in all are refused with the states.
inline std::int64_t before(MPI_Comm comm, std::int64_t mine) {
  std::uint64_t own = static_cast<std::uint64_t>(mine), first = 0;
  checked(MPI_Exscan(&own, &first, 1, MPI_UINT64_T, MPI_SUM, comm), "MPI_Exscan");
  return rank_in(comm) == 0 ? 0 : static_cast<std::int64_t>(first & INT64_MAX);
}

}  // namespace wf::mpi::detail
