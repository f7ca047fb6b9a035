// SPDX-License-Identifier: Apache-2.0
/// \file mpi.hpp
/// Reductions over the ranks of an MPI communicator: the answer of all elements together, with the same bits however they are
/// spread and however many ranks there are (docs/ranks.md). Headers alone; needs MPI 3.0 and links warpfold::mpi.
///
///     double s = wf::mpi::sum(comm, values);                    // the whole array, whose pieces ranks hold in their order
///     auto [m, v] = wf::mpi::mean_var(comm, values, wf::correction{1});
///     auto at  = wf::mpi::argmin(comm, values);                 // the place in the whole array
///     auto col = wf::mpi::sum(comm, rows, wf::axis{0});         // a matrix whose rows are spread
///     auto own = wf::all_reduce(comm, values, my_reduction{});  // see reduction.hpp
///
///     wf::all_reduce(comm, request);                            // anything else that can be asked (request.hpp)
///     wf::all_reduce(comm, form, states);                       // states (backend.hpp), of any backend, in place
///     wf::all_reduce(comm, form, states, wf::mpi::compact{});   // many of them, whose numbers are narrow, in fewer bytes
///     wf::reduce(comm, root, form, states);                     // for one rank alone
///     wf::all_reduce(comm, acc);                                // wf::exact_sum, exact_dot, exact_moments
///
///     wf::mpi::plan p(comm, form);                              // repeated, non-blocking, persistent: detail/mpi/plan.hpp
///     wf::mpi::message m(form, 1);                              // datatype and operation for other calls of MPI
///
/// All are collective. What a rank refuses (bad arguments, damaged states, another operation than the others) is thrown as
/// wf::error on all ranks: the rank's own error there, elsewhere one that names the rank. None is left waiting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <warpfold/detail/mpi/compact.hpp>
#include <warpfold/detail/mpi/message.hpp>
#include <warpfold/detail/mpi/own.hpp>
#include <warpfold/detail/mpi/plan.hpp>
#include <warpfold/warpfold.hpp>

namespace wf {

namespace mpi::detail {

/// The most elements of one of these states.
inline std::int64_t most_elements(const state_form& form, std::span<const std::byte> states) {
  std::int64_t most = 0;
  for (std::size_t at = 0; at + form.bytes <= states.size(); at += form.bytes) {
    std::int64_t n = 0;
    std::memcpy(&n, states.data() + at, sizeof n);
    most = std::max(most, n);
  }
  return most;
}

/// Packed and agreed upon by all ranks; `fits`: no state can have too many elements.
struct packed {
  message m;
  bool fits;
};
inline packed pack(MPI_Comm comm, const state_form& form, std::span<const std::byte> states, const char* name, int root = 0,
                   std::optional<int> slot = {}) {
  check_communicator(comm);
  const std::string who = std::string(name) + ": " + text_of(form);
  std::optional<message> m;
  std::exception_ptr own;
  std::int64_t n = 0;
  try {
    const int size = size_of(comm);
    if (root < 0 || root >= size)
      throw error(errc::bad_argument, who + ": root " + std::to_string(root) + " of " + std::to_string(size) + " ranks, which count from 0");
    if (slot && (*slot < 1 || *slot > most_slot))
      throw error(errc::bad_argument, who + ": compact states of " + std::to_string(*slot) + " bytes; they have 1 to " + std::to_string(most_slot));
    const std::size_t bytes = known_form(form.what, form.element, form.accuracy).bytes;
    n = static_cast<std::int64_t>(states.size() / bytes + (states.size() % bytes != 0 ? 1 : 0));
    m.emplace(form, n);
    m->pack(states);
  } catch (...) {
    own = std::current_exception();
  }
  const bool fits = agree(comm, {id_of(form), n, 0, std::int64_t{own ? 0 : slot.value_or(0)} << 32 | root}, own ? 0 : most_elements(form, states), own, who);
  return {std::move(*m), fits};
}

}  // namespace mpi::detail

/// `states` become those of all ranks; each has as many, of one form. Throws wf::error on all ranks: bad_input
/// where bytes are no states of that form (check_states), bad_argument where ranks differ in form or number, capacity.
inline void all_reduce(MPI_Comm comm, const state_form& form, std::span<std::byte> states) {
  mpi::detail::packed sent = mpi::detail::pack(comm, form, states, "all_reduce");
  mpi::detail::all_reduce(comm, sent.m);
  sent.m.unpack(states);
}

/// The same where states are many and their numbers narrow: each travels in `how.bytes`, merged by an operation of warpfold. Where one
/// does not fit, all ranks send whole states after all. All ranks name the same number. Throws as that.
inline void all_reduce(MPI_Comm comm, const state_form& form, std::span<std::byte> states, mpi::compact how) {
  mpi::detail::packed sent = mpi::detail::pack(comm, form, states, "all_reduce", 0, how.bytes);
  if (mpi::detail::all_reduce_slots(comm, sent.m.form(), sent.m.commutes(), states, how.bytes)) return;
  mpi::detail::all_reduce(comm, sent.m);
  sent.m.unpack(states);
}

/// The same for rank `root` alone; the others' states stay as they are. All ranks name the same root. Throws as all_reduce().
inline void reduce(MPI_Comm comm, int root, const state_form& form, std::span<std::byte> states) {
  mpi::detail::packed sent = mpi::detail::pack(comm, form, states, "reduce", root);
  const bool is_root = mpi::detail::rank_in(comm) == root;
  if (sent.fits) {
    mpi::detail::in_calls(sent.m, mpi::detail::most_at_once, [&](void* p, int n) {
      mpi::detail::checked(MPI_Reduce(is_root ? MPI_IN_PLACE : p, is_root ? p : nullptr, n, sent.m.type(), sent.m.operation(), root, comm), "MPI_Reduce");
    });
    if (is_root) sent.m.unpack(states);
  } else {  // perhaps too many elements, which all ranks must see
    mpi::detail::all_reduce(comm, sent.m);
    std::vector<std::byte> merged(states.size());
    sent.m.unpack(merged);
    if (is_root) std::ranges::copy(merged, states.begin());
  }
}

namespace mpi::detail {

/// The running sums of the front door as states of f64, and back.
template <class S>
struct running;
template <>
struct running<exact_sum> {
  static constexpr op what = op::sum;
  static exact_sum back(const std::int64_t* words) {
    exact::sum_state<double> s;
    std::memcpy(s.data(), words, sizeof s);
    exact_sum out;
    out.merge(s);
    return out;
  }
};
template <>
struct running<exact_dot> {
  static constexpr op what = op::dot;
  static exact_dot back(const std::int64_t* words) {
    exact_dot::state_type s;
    std::memcpy(s.data(), words, sizeof s);
    return exact_dot::from_bytes(exact::to_bytes<exact_dot::state_type::digits_type::count, exact_dot::state_type::digits_type::min_exponent>(s));
  }
};
template <>
struct running<exact_moments> {
  static constexpr op what = op::mean_var;
  static exact_moments back(const std::int64_t* words) {
    exact_moments::state_type s;
    std::memcpy(s.data(), words, sizeof s);
    auto squares = exact_moments::squares_type::identity();
    squares.sum = s.second;
    const exact::counters& c = s.first.seen;
    squares.seen = {c.count, c.nan, c.pos_inf + c.neg_inf, 0, 0};
    std::array<std::byte, exact_moments::byte_size> bytes;
    using of_sum = decltype(s.first)::digits_type;
    using of_squares = exact_moments::squares_type::digits_type;
    std::ranges::copy(exact::to_bytes<of_sum::count, of_sum::min_exponent>(s.first), bytes.begin());
    std::ranges::copy(exact::to_bytes<of_squares::count, of_squares::min_exponent>(squares), bytes.begin() + exact_sum::byte_size);
    return exact_moments::from_bytes(bytes);
  }
};

template <class S>
concept runs = requires { running<S>::what; };

template <runs S, class Reduce>
void reduce_running(S& acc, Reduce reduce) {
  const auto s = acc.state();
  std::array<std::int64_t, 1 + sizeof s / 8> words;
  words[0] = acc.count();
  std::memcpy(words.data() + 1, s.data(), sizeof s);
  const state_form form = form_of_states(running<S>::what, dtype::f64);
  if (!reduce(form, std::as_writable_bytes(std::span(words)))) return;
  acc = running<S>::back(words.data() + 1);
}

}  // namespace mpi::detail

/// A running sum, dot product or moments become those of all ranks. Throws wf::error on all ranks: capacity.
template <mpi::detail::runs S>
void all_reduce(MPI_Comm comm, S& acc) {
  mpi::detail::reduce_running(acc, [&](const state_form& form, std::span<std::byte> words) {
    all_reduce(comm, form, words);
    return true;
  });
}
/// The same for rank `root` alone; the others' stay as they are. Throws as all_reduce().
template <mpi::detail::runs S>
void reduce(MPI_Comm comm, int root, S& acc) {
  mpi::detail::reduce_running(acc, [&](const state_form& form, std::span<std::byte> words) {
    reduce(comm, root, form, words);
    return mpi::detail::rank_in(comm) == root;
  });
}

namespace mpi::detail {

inline bool asks_for_places(op what) { return operation_of(what).state == state_kind::places; }

/// What ranks cannot ask for, though one process can.
inline void check_spread(const request& r) {
  const std::string who = op_names[static_cast<int>(r.what)];
  if (r.wanted == output::checked)
    throw error(errc::unsupported, who + " over ranks: states hold integers mod 2^64, so they cannot say whether the true answer fits");
  if (r.first != 0) throw error(errc::bad_argument, who + " over ranks: request::first is " + std::to_string(r.first) + "; ranks count it by themselves from 0");
  if (asks_for_places(r.what) && r.by.kind != partition::kinds::whole && r.by.kind != partition::kinds::axes)
    throw error(errc::unsupported, who + " over ranks by segments or labels: an index in one rank's segment is no index in the whole one");
}

/// The request that make() gives, on all ranks; make() may throw.
template <class Make>
void together(MPI_Comm comm, const backend& where, const char* name, Make make) {
  check_communicator(comm);
  const std::string who = std::string(name) + " over ranks";
  request r;
  state_form form{};
  std::optional<message> m;
  std::vector<std::byte> states;
  std::int64_t n = 0, per_answer = 0;
  claim mine;
  std::exception_ptr own;
  try {
    r = make();
    if (wf::detail::is_own(r))
      throw error(errc::unsupported, std::string(r.own.name) + " over ranks: a request names an operation; a reduction of your own is given to all_reduce itself");
    form = known_form(r.what, r.element, r.context.accuracy);
    check_spread(r);
    const extents shape = check(r);
    n = *wf::detail::product(shape);
    m.emplace(form, n);
    states.resize(static_cast<std::size_t>(n) * form.bytes);
    per_answer = n == 0 ? 0 : *wf::detail::product(r.inputs.shape) / n;
    hash h, told;
    for (const std::int64_t length : shape) h << length;
    told << static_cast<std::int64_t>(r.options.rounding) << r.options.correction << static_cast<std::int64_t>(r.wanted);
    mine = {id_of(form), n, h.value(), told.value()};
  } catch (...) {
    own = std::current_exception();
  }
  agree(comm, mine, 0, own, who);
  // From here on all ranks make the same calls.
  if (asks_for_places(r.what)) r.first = before(comm, per_answer);
  try {
    request piece = r;
    piece.wanted = output::states;
    piece.out = states.data();
    if (n != 0) where.run(piece);
    m->pack(states);
  } catch (...) {
    own = std::current_exception();
    m->refuse(code_of(own), rank_in(comm));
  }
  all_reduce(comm, *m);
  if (own) std::rethrow_exception(own);
  m->unpack(states);
  if (r.wanted == output::states) std::memcpy(r.out, states.data(), states.size());
  else finish_states(form, r.options, states.data(), n, r.out);
}

template <op O>
struct function {
  template <wf::detail::input X, class... S>
    requires(inputs_of(O) == 1)
  auto operator()(MPI_Comm comm, const X& x, const S&... s) const {
    return call<S...>(comm, wf::detail::settings(s...), x);
  }
  template <wf::detail::input X, wf::detail::input Y, class... S>
    requires(inputs_of(O) == 2)
  auto operator()(MPI_Comm comm, const X& x, const Y& y, const S&... s) const {
    static_assert(std::same_as<wf::detail::element_of<X>, wf::detail::element_of<Y>>, "dot takes two inputs of one element type");
    return call<S...>(comm, wf::detail::settings(s...), x, y);
  }

 private:
  template <class... S, class X, class... Y>
  static auto call(MPI_Comm comm, const wf::detail::settings& s, const X& x, const Y&... y) {
    using T = wf::detail::element_of<X>;
    static_assert(element<T>, "not an element type of warpfold: see warpfold/types.hpp");
    static_assert(takes<O, T>, "this reduction does not take this element type: see docs/reductions.md");
    static_assert(wf::detail::partitions<S...> <= 1, "at most one of axis, segments, segments_of and by_label");
    const char* const who = op_names[static_cast<int>(O)];
    constexpr bool many = wf::detail::partitions<S...> == 1;
    std::conditional_t<many, array<result<O, T>>, result<O, T>> out;
    together(comm, cpu_backend(), who, [&] {
      request r;
      r.what = O;
      r.element = dtype_of<T>;
      r.options = s.options;
      r.context = s.context;
      r.by = s.by;
      r.inputs = wf::detail::operands_of(x, y...);
      if constexpr (many) {
        wf::detail::make_room(out, wf::detail::shape_of_answers(r.inputs, s, who), who);
        r.out = out.data();
      } else {
        r.out = &out;
      }
      return r;
    });
    return out;
  }
};

}  // namespace mpi::detail

/// A request of this rank's piece; the answers, or the states, of all pieces are written. Pieces follow each other in the order of
/// the ranks, by axes along those that are reduced; segments and labels are joined with those of the same number. The answers'
/// shape is the same on all ranks. `where` writes states to the host's memory before it returns, as the CPU and simt do. Throws wf::error on
/// all ranks: what a rank's check() refuses, and bad_argument where ranks ask for different things.
inline void all_reduce(MPI_Comm comm, const request& r, const backend& where = cpu_backend()) {
  mpi::detail::together(comm, where, static_cast<int>(r.what) < op_count ? op_names[static_cast<int>(r.what)] : "an unknown operation", [&] { return r; });
}

/// A state of a reduction of your own becomes that of all ranks, in their order. Throws wf::error on all ranks where they differ in its type.
template <class R>
void all_reduce(MPI_Comm comm, const R& r, mpi::own_state<R>& s) {
  mpi::detail::check_communicator(comm);
  mpi::detail::agree_on_own<R>(comm, {});
  mpi::detail::all_reduce_agreed(comm, r, s, {});
}

/// The answer of a reduction of your own, of the pieces of all ranks. Indexes are those of the whole array. Throws wf::error on all
/// ranks where they differ in its type, or one refuses its piece.
template <wf::detail::input X, class R>
  requires(!wf::detail::input<R>)
auto all_reduce(MPI_Comm comm, const X& x, const R& r, const context& c = {}) {
  static_assert(wf::detail::require_reduction<R, wf::detail::element_of<X>>());
  return mpi::detail::all_reduce_pieces(comm, r, c, x);
}
/// The same of two inputs. Throws as that, also where their lengths differ.
template <wf::detail::input X, wf::detail::input Y, class R>
auto all_reduce(MPI_Comm comm, const X& x, const Y& y, const R& r, const context& c = {}) {
  static_assert(wf::detail::require_reduction<R, wf::detail::element_of<X>, wf::detail::element_of<Y>>());
  return mpi::detail::all_reduce_pieces(comm, r, c, x, y);
}

namespace mpi {

/// \name Reductions over ranks
/// `wf::mpi::sum` and so on, one for each operation of the front door (warpfold.hpp). Each takes the communicator, this rank's
/// piece (two for dot) and the settings of the front door, and gives every rank the answer of all pieces, in the order of the ranks: a number, or a
/// wf::array of them along axes, by segments or labels. Exact ones
/// have the same bits for any number of ranks and any split. Collective. What one rank refuses (bad_argument, unsupported, capacity) is
/// thrown as wf::error on all. Source: docs/ranks.md.
/// \{

// A function for each row of operations.def; docs/ranks.md says of them what differs from those of one process.
#define WF_OPERATION(name, ...) inline constexpr detail::function<op::name> name;
#include <warpfold/operations.def>
inline constexpr detail::function<op::norm2> norm;  ///< the usual name of norm2

/// \}

}  // namespace mpi

}  // namespace wf
