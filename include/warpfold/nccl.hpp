// SPDX-License-Identifier: Apache-2.0
/// \file nccl.hpp
/// Reductions over the ranks of an NCCL communicator, each with a GPU: states are reduced, merged and answered on the devices, on a stream.
/// Nothing waits for the host, so the calls can be captured into a graph. Headers alone; needs nccl.h, links warpfold::nccl.
///
///     wf::gpu place{stream};
///     wf::nccl::sum(place, comm, std::span(device_values, n), device_out);   // all ranks' values; on each rank
///     wf::nccl::mean(place, comm, matrix, device_out, wf::axis{0});          // a matrix whose rows are spread
///     wf::nccl::all_reduce(place, comm, request);                            // anything else that can be asked (request.hpp)
///     wf::nccl::all_reduce(place, comm, form, device_states, n);         // states (backend.hpp), in place
///     wf::nccl::sum_elements(place, comm, std::span(device_values, n), device_values);   // a tensor, element by element
///     wf::nccl::wait(place, comm, std::chrono::seconds(30));             // a rank that is lost is an error, and no hang
///
/// Where states are added (state_form::adds), they go as they are into one ncclAllReduce of 64-bit words, whose sums a kernel brings to
/// canonical form; others are gathered and merged by every rank, in the order of the ranks. The bits are those of one device and of
/// the CPU. All ranks must make the same calls, for the same number of answers; this is not checked, as NCCL does not check it either. All ranks
/// together have at most 2^63 - 1 elements. Docs: docs/ranks.md.
#pragma once

#include <nccl.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include <warpfold/detail/gpu/states.hpp>
#include <warpfold/gpu.hpp>

namespace wf::nccl {

/// An NCCL call returned an error, as where a communicator was aborted or its ranks are lost. The device stays usable.
class failure : public wf::error {
 public:
  /// The error that an NCCL call returned. Throws nothing but std::bad_alloc.
  failure(ncclResult_t code, const char* call) : error(errc::device, std::string(call) + " failed: " + ncclGetErrorString(code)), code_(code) {}
  /// What went wrong, in words, and what stands for it. Throws nothing but std::bad_alloc.
  failure(const std::string& what, ncclResult_t code) : error(errc::device, what), code_(code) {}
  ncclResult_t nccl_code() const noexcept { return code_; }  ///< NCCL's own

 private:
  ncclResult_t code_;
};

namespace detail {

inline void checked(ncclResult_t code, const char* call) {
  if (code != ncclSuccess && code != ncclInProgress) throw failure(code, call);
}

inline int ranks_of(ncclComm_t comm, const char* who) {
  if (comm == nullptr) throw error(errc::bad_argument, std::string(who) + ": no communicator; ncclCommInitRank makes one");
  int ranks = 0;
  checked(ncclCommCount(comm, &ranks), "ncclCommCount");
  return ranks;
}

/// Memory of a place's device, in its stream's order.
template <class Place>
class lent {
 public:
  lent(const Place& place, std::size_t size) : place_(&place), p_(size == 0 ? nullptr : place.machine().take(size, place.stream())) {}
  ~lent() {
    if (p_ != nullptr) place_->machine().give_back(p_, place_->stream());
  }
  lent(const lent&) = delete;
  lent& operator=(const lent&) = delete;
  void* get() const { return p_; }

 private:
  const Place* place_;
  void* p_;
};

}  // namespace detail

/// Throws nccl::failure where the communicator has failed since the last such call, as after ncclCommAbort() on another rank: only this function
/// reports errors of a collective that is under way.
inline void check(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  detail::checked(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  detail::checked(state, "a collective of NCCL");
}

/// Waits until the place's stream has done all that was enqueued. Throws nccl::failure where a collective of the communicator fails, or where the
/// stream is not done in time, as when a rank is lost. The communicator has then been aborted, and comm is null. Nothing that the stream was asked for
/// since may be used; the place and the device stay usable. The first collectives of a communicator connect its ranks: those calls themselves wait for all.
template <class Place>
  requires(Place::is_place)
void wait(const Place& place, ncclComm_t& comm, std::chrono::nanoseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  const auto stream = static_cast<cudaStream_t>(place.stream());
  const auto give_up = [&](const failure& why) {
    const ncclComm_t failed = std::exchange(comm, nullptr);
    ncclCommAbort(failed);
    cudaStreamSynchronize(stream);  // what waited for other ranks waits no longer
    throw why;
  };
  for (long tries = 0;; ++tries) {
    ncclResult_t state = ncclSuccess;
    detail::checked(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
    if (state != ncclSuccess && state != ncclInProgress) give_up({state, "a collective of NCCL"});
    const cudaError_t done = cudaStreamQuery(stream);
    if (done == cudaSuccess) return;
    if (done != cudaErrorNotReady) place.machine().fail(static_cast<int>(done), "over ranks");
    if (std::chrono::steady_clock::now() >= until)
      give_up({"over ranks: nothing came for " + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(most).count()) +
                   " ms, so not all ranks take part; the communicator was aborted",
               ncclRemoteError});
    if (tries > 1000) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// n states in the device's memory become those of all ranks, on the place's stream. Throws wf::error: unsupported for native floating
/// point (accuracy::fast, logsumexp, products of floats), whose states depend on the order of additions.
template <class Place>
  requires(Place::is_place)
void all_reduce(const Place& place, ncclComm_t comm, const state_form& form, void* states, std::int64_t n = 1) {
  states_request r = wf::detail::states_of(form, {}, n);
  const char* const who = op_names[static_cast<int>(form.what)];
  if (states == nullptr && n != 0) throw error(errc::bad_argument, std::string(who) + " over ranks: no memory for its states");
  const int ranks = detail::ranks_of(comm, who);
  if (n == 0) return;
  const auto stream = static_cast<cudaStream_t>(place.stream());
  const auto words = static_cast<std::size_t>(r.words * n);
  r.states = static_cast<std::int64_t*>(states);
  if (form.adds) {
    detail::checked(ncclAllReduce(states, states, words, ncclUint64, ncclSum, comm, stream), "ncclAllReduce");
    place.run_states(r, who);
    return;
  }
  const detail::lent all(place, words * 8 * static_cast<std::size_t>(ranks));
  detail::checked(ncclAllGather(states, all.get(), words, ncclUint64, comm, stream), "ncclAllGather");
  r.from = static_cast<const std::int64_t*>(all.get());
  r.sets = ranks;
  place.run_states(r, who);
}

/// A request of this rank's piece; the answers, or the states, of all pieces are written to r.out, which is the device's, on the place's stream.
/// Pieces of axes are cut along those that are reduced; segments and labels are joined with those of the same number. argmin and argmax want
/// request::first, the index of the piece's first element in the whole, which ranks do not tell each other. Throws wf::error:
/// unsupported too for wf::checked.
template <class Place>
  requires(Place::is_place)
void all_reduce(const Place& place, ncclComm_t comm, const request& r) {
  const std::string who = static_cast<int>(r.what) < op_count ? op_names[static_cast<int>(r.what)] : "an unknown operation";
  if (wf::detail::is_own(r)) throw error(errc::unsupported, std::string(r.own.name) + " over ranks: a request names an operation there");
  if (r.wanted == output::checked)
    throw error(errc::unsupported, who + " over ranks: states hold integers mod 2^64, so they cannot say whether the true answer fits");
  const state_form form = known_form(r.what, r.element, r.context.accuracy);
  states_request q = wf::detail::states_of(form, r.options, *wf::detail::product(wf::check(r)));
  const bool places = q.kind == state_kind::places;
  if (places && r.by.kind != partition::kinds::whole && r.by.kind != partition::kinds::axes)
    throw error(errc::unsupported, who + " over ranks by segments or labels: an index in one rank's segment is no index in the whole one");
  const detail::lent room(place, r.wanted == output::answers ? static_cast<std::size_t>(q.count) * form.bytes : 0);
  request piece = r;
  piece.wanted = output::states;
  if (r.wanted == output::answers) piece.out = room.get();
  if (q.count != 0) place.run(piece);
  all_reduce(place, comm, form, piece.out, q.count);
  if (r.wanted != output::answers || q.count == 0) return;
  q.states = static_cast<std::int64_t*>(piece.out);
  q.sets = -1;
  q.out = r.out;
  place.run_states(q, who.c_str());
}

namespace detail {

/// For tensors of up to so many bytes every rank gets those of all others and computes all answers: one message instead of two, which pays while the extra
/// work takes less time than a message. Tuned on two H100s; of more ranks each has more to take in.
constexpr std::size_t gathered_bytes(std::size_t ranks) {
  if (ranks <= 2) return std::size_t{1} << 24;
  const std::size_t times = ranks * ranks * ranks / 8;
  return times > 256 ? std::size_t{1} << 16 : (std::size_t{1} << 24) / times;
}
/// Between two ranks so many bytes, or more, are sent and received rather than gathered: on two H100s ncclAllGather (2.28) and the sums of 512 KiB
/// took 13 µs and
/// sending 15, of 2 MiB 30 and 25.
inline constexpr std::size_t sent_bytes = std::size_t{1} << 20;
/// So many bytes of a tensor are sent at a time, so no more memory is needed.
inline constexpr std::size_t bytes_under_way = std::size_t{1} << 28;

/// Operation O of each element over the ranks.
template <op O, class Place, class T, class... S>
class elements_over_ranks {
 public:
  elements_over_ranks(const Place& place, ncclComm_t comm, const S&... s)
      : place_(place), comm_(comm), stream_(static_cast<cudaStream_t>(place.stream())), ranks_(static_cast<std::size_t>(ranks_of(comm, who))), settings_(s...) {}

  /// Adds n elements; those of up to `gathered` bytes go by one message. Shares are of whole 16 elements, for aligned loads; what is left over is
  /// gathered. Between two
  /// ranks `sent` bytes and more are sent and received.
  void run(const T* x, std::size_t n, T* out, std::size_t gathered, std::size_t sent = sent_bytes) const {
    if ((x == nullptr || out == nullptr) && n != 0) throw error(errc::bad_argument, std::string(who) + " of elements over ranks: no memory");
    constexpr std::size_t most = bytes_under_way / sizeof(T);
    for (std::size_t at = 0; at < n; at += most) {
      const std::size_t count = n - at < most ? n - at : most;
      const std::size_t share = count * sizeof(T) <= gathered || ranks_ == 1 ? 0 : count / (16 * ranks_) * 16, shared = share * ranks_;
      if (share != 0) by_shares(x + at, share, out + at, sent);
      if (count != shared) by_gathering(x + at + shared, count - shared, out + at + shared, sent);
    }
  }
  std::size_t gathered() const { return gathered_bytes(ranks_); }

 private:
  static constexpr const char* who = op_names[static_cast<int>(O)];

  void by_gathering(const T* x, std::size_t n, T* out, std::size_t sent) const {
    const lent all(place_, n * sizeof(T) * ranks_);
    T* const received = static_cast<T*>(all.get());
    if (n * sizeof(T) >= sent && !overlap(x, out, n) && beside(x, received)) {
      exchange(x, received, n);
      answer_beside(x, received, n, out);
      return;
    }
    checked(ncclAllGather(x, received, n * sizeof(T), ncclUint8, comm_, stream_), "ncclAllGather");
    answer(received, static_cast<std::int64_t>(n), n, out);
  }

  /// Each rank gets its share of all ranks', reduces it, and sends the answers to all: as many bytes as a ring.
  void by_shares(const T* x, std::size_t share, T* out, std::size_t sent) const {
    int rank = 0;
    checked(ncclCommUserRank(comm_, &rank), "ncclCommUserRank");
    const auto me = static_cast<std::size_t>(rank);
    const T* const own = x + me * share;
    T* mine = out + me * share;
    const lent room(place_, share * ranks_ * sizeof(T));
    T* const received = static_cast<T*>(room.get());
    bool there = true;  // the answers, where they belong
    if (beside(own, received)) {
      exchange(x + (1 - me) * share, received, share);
      there = !overlap(x, out, share * ranks_);
      if (!there) mine = received + share;
      answer_beside(own, received, share, mine);
    } else {
      checked(ncclGroupStart(), "ncclGroupStart");
      ncclResult_t answered = ncclSuccess;
      for (std::size_t k = 0; k < ranks_ && answered == ncclSuccess; ++k) {
        answered = ncclSend(x + k * share, share * sizeof(T), ncclUint8, static_cast<int>(k), comm_, stream_);
        if (answered == ncclSuccess) answered = ncclRecv(received + k * share, share * sizeof(T), ncclUint8, static_cast<int>(k), comm_, stream_);
      }
      ended(answered);
      answer(received, static_cast<std::int64_t>(share), share, mine);
    }
    if (there && ranks_ == 2 && share * sizeof(T) >= sent) exchange(mine, out + (1 - me) * share, share);
    else checked(ncclAllGather(mine, out, share * sizeof(T), ncclUint8, comm_, stream_), "ncclAllGather");
  }

  static bool overlap(const T* x, const T* out, std::size_t n) {
    const auto from = reinterpret_cast<std::uintptr_t>(x), to = reinterpret_cast<std::uintptr_t>(out), size = n * sizeof(T);
    return from < to + size && to < from + size;
  }
  /// From one to the other, in bytes.
  static std::intptr_t between(const T* a, const T* b) { return static_cast<std::intptr_t>(reinterpret_cast<std::uintptr_t>(b) - reinterpret_cast<std::uintptr_t>(a)); }

  /// Whether a rank's elements can stay where they are, and need not be sent to itself: two rows are at one stride wherever they lie.
  bool beside(const T* own, const T* other) const { return ranks_ == 2 && between(own, other) % static_cast<std::intptr_t>(sizeof(T)) == 0; }
  void answer_beside(const T* own, const T* other, std::size_t n, T* to) const {
    const auto stride = static_cast<std::int64_t>(between(own, other) / static_cast<std::intptr_t>(sizeof(T)));
    answer(stride < 0 ? other : own, stride < 0 ? -stride : stride, n, to);
  }

  /// What each of two ranks sends to the other.
  void exchange(const T* x, T* to, std::size_t n) const {
    int me = 0;
    checked(ncclCommUserRank(comm_, &me), "ncclCommUserRank");
    checked(ncclGroupStart(), "ncclGroupStart");
    ncclResult_t sent = ncclSend(x, n * sizeof(T), ncclUint8, 1 - me, comm_, stream_);
    if (sent == ncclSuccess) sent = ncclRecv(to, n * sizeof(T), ncclUint8, 1 - me, comm_, stream_);
    ended(sent);
  }
  /// Whatever failed: a group that is open would keep what comes next.
  static void ended(ncclResult_t sent) {
    const ncclResult_t end = ncclGroupEnd();
    checked(sent, "ncclSend");
    checked(end, "ncclGroupEnd");
  }

  /// The answers of n elements of all ranks', each rank's `stride` elements behind the one's before.
  void answer(const T* all, std::int64_t stride, std::size_t n, T* to) const {
    const view<const T> rows(all, {static_cast<std::int64_t>(ranks_), static_cast<std::int64_t>(n)}, {stride, 1});
    std::apply([&](const S&... s) { place_.template run<O>(rows, to, axis{0}, s...); }, settings_);
  }

  const Place& place_;
  ncclComm_t comm_;
  cudaStream_t stream_;
  std::size_t ranks_;
  std::tuple<const S&...> settings_;
};

template <op O, class Place, class T, class... S>
void each_element(const Place& place, ncclComm_t comm, const T* x, std::size_t n, T* out, const S&... s) {
  const elements_over_ranks<O, Place, T, S...> over(place, comm, s...);
  over.run(x, n, out, over.gathered());
}

}  // namespace detail

/// Each element of a tensor that every rank has, summed over the ranks: out[i] becomes the true sum of all ranks' x[i], rounded once, so its bits do not
/// depend on the order of the ranks. x and out are the device's memory, and may be the same; a rounding may follow. All ranks bring as many elements.
/// Throws failure where NCCL does, wf::error (device) where CUDA does, and wf::error (bad_argument) without memory of n elements.
template <class Place, class X, class T, class... S>
  requires(Place::is_place)
void sum_elements(const Place& place, ncclComm_t comm, const X& x, T* out, const S&... s) {
  static_assert(std::same_as<result<op::sum, T>, T>, "warpfold: the sum of an element has its type: floats, complex numbers and 64-bit integers");
  const std::span<const T> in(x);
  detail::each_element<op::sum>(place, comm, in.data(), in.size(), out, s...);
}
/// The same of true means over the ranks, each rounded once: out[i] of the elements x[i]. Throws as sum_elements does.
///
///     wf::nccl::mean_elements(place, comm, std::span(device_gradients, n), device_gradients);   // data-parallel training: the same bits for any order of ranks
template <class Place, class X, class T, class... S>
  requires(Place::is_place)
void mean_elements(const Place& place, ncclComm_t comm, const X& x, T* out, const S&... s) {
  static_assert(std::same_as<result<op::mean, T>, T>, "warpfold: the mean of an element has its type: floats and complex numbers");
  const std::span<const T> in(x);
  detail::each_element<op::mean>(place, comm, in.data(), in.size(), out, s...);
}

namespace detail {

template <op O>
struct function {
  template <class Place, class X, class Out, class... S>
    requires(Place::is_place && inputs_of(O) == 1)
  void operator()(const Place& place, ncclComm_t comm, const X& x, Out* out, const S&... s) const {
    ask<X>(place, comm, wf::detail::operands_of(wf::detail::as_input(x)), out, s...);
  }
  template <class Place, class X, class Y, class Out, class... S>
    requires(Place::is_place && inputs_of(O) == 2)
  void operator()(const Place& place, ncclComm_t comm, const X& x, const Y& y, Out* out, const S&... s) const {
    static_assert(std::same_as<element<X>, element<Y>>, "dot takes two inputs of one element type");
    ask<X>(place, comm, wf::detail::operands_of(wf::detail::as_input(x), wf::detail::as_input(y)), out, s...);
  }

 private:
  template <class X>
  using element = wf::detail::builtin_element_of<wf::detail::as_input_t<X>>;

  template <class X, class Place, class Out, class... S>
  static void ask(const Place& place, ncclComm_t comm, const cpu::operands& inputs, Out* out, const S&... s) {
    using T = element<X>;
    static_assert(!wf::detail::host_array<X>, "warpfold: a GPU cannot read this array of the host: give it a std::span or wf::view of its own memory");
    static_assert(wf::takes<O, T>, "this reduction does not take this element type: see docs/reductions.md");
    static_assert(operation_of(O).state != state_kind::places, "warpfold: over NCCL a place needs request::first: see wf::nccl::all_reduce of a request");
    static_assert(wf::detail::partitions<S...> <= 1, "at most one of axis, segments, segments_of and by_label");
    const wf::detail::settings told(s...);
    if constexpr (wf::detail::partitions<S...> == 1) wf::detail::shape_of_answers(inputs, told, op_names[static_cast<int>(O)]);
    request r = wf::detail::asked(O, dtype_of<T>, inputs, told, false);
    r.out = wf::detail::out_of<result<O, T>>(out);
    all_reduce(place, comm, r);
  }
};

}  // namespace detail

/// \name Reductions over ranks
/// `wf::nccl::sum` and so on, one for each operation of the front door but argmin and argmax: the place, the communicator, this rank's
/// piece in its device's memory (two for dot), where the answers go there, and the settings of the front door. Source: docs/ranks.md.
/// \{

#define WF_OPERATION(name, ...) inline constexpr detail::function<op::name> name;
#include <warpfold/operations.def>
inline constexpr detail::function<op::norm2> norm;  ///< the usual name of norm2

/// \}

}  // namespace wf::nccl
