// SPDX-License-Identifier: Apache-2.0
/// \file own.hpp
/// Reductions of your own (reduction.hpp) over ranks: their states go as bytes, so all ranks are the same program on machines
/// of one kind.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <warpfold/detail/mpi/agree.hpp>
#include <warpfold/reduction.hpp>
#include <warpfold/warpfold.hpp>

namespace wf::mpi {

/// The state of a reduction of your own, and the number of elements in it, which finish() takes.
template <class R>
struct own_state {
  state_of<R> state;      ///< what was reduced so far
  std::int64_t elements;  ///< how many elements are in it
};

namespace detail {

/// What travels, at any place that MPI has for it.
template <class R>
struct own_message {
  std::int64_t elements;
  std::int64_t failed;  ///< 0, or an errc with INT32_MAX - rank above its 8 bits
  std::array<std::byte, sizeof(state_of<R>)> state;

  state_of<R> get() const {
    alignas(state_of<R>) std::byte room[sizeof(state_of<R>)];
    std::memcpy(room, state.data(), sizeof room);
    return *std::launder(reinterpret_cast<const state_of<R>*>(room));
  }
  void set(const state_of<R>& s) { std::memcpy(state.data(), &s, sizeof s); }
};

/// inout = in ∘ inout. The datatype's attribute is the reduction. A combine() that throws ends no process: all ranks learn of it.
template <class R>
void merge_own(void* in, void* inout, int* n, MPI_Datatype* type) {
  const auto* earlier = static_cast<const own_message<R>*>(in);
  auto* to = static_cast<own_message<R>*>(inout);
  void* reduction = nullptr;
  int found = 0;
  MPI_Type_get_attr(*type, kept::key_of_types(), static_cast<void*>(&reduction), &found);
  for (int k = 0; k < *n; ++k) {
    if (earlier[k].failed != 0 || to[k].failed != 0) {
      to[k].failed = std::max(earlier[k].failed, to[k].failed);  // that of the first rank, whatever the tree
    } else if (found == 0) {
      to[k].failed = static_cast<std::int64_t>(errc::unsupported);
    } else if (__builtin_add_overflow(earlier[k].elements, to[k].elements, &to[k].elements)) {
      to[k].failed = static_cast<std::int64_t>(errc::capacity);
    } else {
      try {
        to[k].set(static_cast<const R*>(reduction)->combine(earlier[k].get(), to[k].get()));
      } catch (...) {
        to[k].failed = static_cast<std::int64_t>(code_of(std::current_exception()));
      }
    }
  }
}

/// A datatype of one message that knows its reduction.
template <class R>
class own_type {
 public:
  explicit own_type(const R& r) {
    const int key = kept::key_of_types();
    checked(MPI_Type_contiguous(static_cast<int>(sizeof(own_message<R>)), MPI_BYTE, &type_), "MPI_Type_contiguous");
    checked(MPI_Type_commit(&type_), "MPI_Type_commit");
    checked(MPI_Type_set_attr(type_, key, const_cast<R*>(&r)), "MPI_Type_set_attr");
  }
  ~own_type() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  own_type(const own_type&) = delete;
  own_type& operator=(const own_type&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

template <class R>
std::int64_t id_of_own() {
  return (hash() << typeid(R).name() << static_cast<std::int64_t>(sizeof(R)) << static_cast<std::int64_t>(sizeof(state_of<R>))).value() |
         (id_mask + 1);  // no form's
}

inline constexpr const char* own_name = "all_reduce of a reduction of one's own";

template <class R>
void agree_on_own(MPI_Comm comm, const std::exception_ptr& own) {
  static_assert(std::is_trivially_copyable_v<state_of<R>>, "warpfold: the state of a reduction is trivially copyable; this is not");
  agree(comm, {id_of_own<R>(), 1, 0, 0}, 0, own, own_name);
}

/// After agree_on_own. `own` is what this rank failed with since.
template <class R>
void all_reduce_agreed(MPI_Comm comm, const R& r, own_state<R>& s, const std::exception_ptr& own) {
  own_message<R> m{};
  m.elements = s.elements;
  m.failed = own ? (std::int64_t{INT32_MAX} - rank_in(comm)) << 8 | static_cast<std::int64_t>(code_of(own)) : 0;
  m.set(s.state);
  const own_type<R> type(r);
  checked(MPI_Allreduce(MPI_IN_PLACE, &m, 1, type.get(), kept::operation(merge_own<R>, commutes<R>), comm), "MPI_Allreduce");
  if (own) std::rethrow_exception(own);
  if (m.failed >= 256) throw_for_rank(own_name, INT32_MAX - (m.failed >> 8), static_cast<errc>(m.failed & 0xff));
  if (m.failed != 0)
    throw error(static_cast<errc>(m.failed), std::string(own_name) + ": combine() threw on a rank, or there are more than 2^63 - 1 elements");
  s = {m.get(), m.elements};
}

/// R with indexes that begin at `first`, whose answer is its state.
template <class R>
struct told_by_state {
  static constexpr bool commutes = wf::commutes<R>;
  struct answer {
    alignas(state_of<R>) std::array<std::byte, sizeof(state_of<R>)> state;
    std::int64_t elements;
  };
  const R* r;
  std::int64_t first;

  state_of<R> identity() const { return r->identity(); }
  template <class... A>
  state_of<R> lift(const A&... a) const {  // elements, then the index
    return [&]<std::size_t... K>(std::index_sequence<K...>, const auto& all) {
      return state_of<R>(r->lift(std::get<K>(all)..., std::get<sizeof...(K)>(all) + first));
    }(std::make_index_sequence<sizeof...(A) - 1>(), std::tie(a...));
  }
  template <class... A>
    requires requires(const R& f, state_of<R>& s, const A&... a) { f.accumulate(s, a...); }
  void accumulate(state_of<R>& s, const A&... a) const {  // pointers, how many, the index of the first
    [&]<std::size_t... K>(std::index_sequence<K...>, const auto& all) {
      r->accumulate(s, std::get<K>(all)..., std::get<sizeof...(K)>(all) + first);
    }(std::make_index_sequence<sizeof...(A) - 1>(), std::tie(a...));
  }
  state_of<R> combine(const state_of<R>& a, const state_of<R>& b) const { return r->combine(a, b); }
  answer finish(const state_of<R>& s, std::int64_t n) const {
    answer a{};
    std::memcpy(a.state.data(), &s, sizeof s);
    a.elements = n;
    return a;
  }
};

template <class R, class... X>
auto all_reduce_pieces(MPI_Comm comm, const R& r, const context& c, const X&... x) {
  check_communicator(comm);
  std::exception_ptr own;
  std::int64_t n = 0;
  try {
    const auto count = wf::detail::product(wf::detail::operands_of(x...).shape);
    if (!count) throw error(errc::bad_argument, std::string(own_name) + ": more than 2^63 - 1 elements");
    n = *count;
  } catch (...) {
    own = std::current_exception();
  }
  agree_on_own<R>(comm, own);
  const told_by_state<R> piece{&r, before(comm, n)};
  own_state<R> s{r.identity(), 0};
  try {
    const auto told = wf::reduce(x..., piece, c);
    std::memcpy(static_cast<void*>(&s.state), told.state.data(), sizeof s.state);
    s.elements = told.elements;
  } catch (...) {
    own = std::current_exception();
  }
  all_reduce_agreed(comm, r, s, own);
  return r.finish(s.state, s.elements);
}

}  // namespace detail

}  // namespace wf::mpi
