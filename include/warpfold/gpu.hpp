// SPDX-License-Identifier: Apache-2.0
/// \file gpu.hpp
/// The front door on a GPU: the reductions of reductions.hpp with a place as first argument.
///
///     wf::gpu place{stream};                                   // keep it: it owns scratch memory
///     wf::sum(place, std::span(device_values, n), device_out); // exact; asynchronous
///     wf::max(place, wf::view<float>(device_values, {n}, {3}), device_out);
///     wf::dot(place, x, y, device_out, wf::fast);
///     wf::mean(place, matrix, device_out, wf::axis{1});        // an answer per row; any axes of any view
///     wf::sum(place, x, device_out, wf::segments_of{16});      // or wf::segments{{device_offsets, n + 1}}
///     float s = wf::sum(place, x);                             // waits, and gives the answer; x may be a std::vector too
///
/// Inputs are spans, views, mdspans or thrust::device_vectors in memory that the device reads; `out` points to memory that it
/// writes (device memory, or pinned host memory). Without `out` the call waits for the stream and returns what it returns on the
/// CPU. Such a call also takes arrays of the host (vector, array …), and copies them to the device with their offsets and labels,
/// large ones by way of pinned memory.
/// Offsets and labels lie on the device, too, and are not checked there: offsets must rise and stay in the input; an element whose
/// label belongs to no answer is left out. The first call allocates 2.2 MiB of scratch memory from the stream's pool, in stream order.
/// A call throws its errors as wf::error, with CUDA's own text; errors of a kernel are reported where the host waits for the stream.
/// Without NDEBUG a call refuses pointers that the device cannot reach (check_pointers). No nvcc is needed: link warpfold::gpu. From its
/// archive a program gets the kernels that its calls name.
#pragma once

#include <warpfold/config.hpp>  // first: it says what a compiler must be set to

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <warpfold/backend.hpp>
#include <warpfold/detail/gpu/library.hpp>
#include <warpfold/reductions.hpp>
#include <warpfold/runs.hpp>

struct CUstream_st;  // CUDA's: a cudaStream_t points to one

namespace wf {

/// Whether a range that is given to a GPU may lie in the GPU's memory. Spans and other ranges that own nothing may; containers
/// hold memory of the host. Specialise it for a container of yours that holds memory of the device.
template <class R>
inline constexpr bool may_lie_on_device = std::ranges::enable_borrowed_range<R> || requires { typename R::element_type; };

namespace detail {

/// thrust::device_vector, and types that show memory of the device in the same way.
template <class X>
concept device_container = requires(const X& x) {
  typename X::value_type;
  { x.data().get() } -> std::convertible_to<const typename X::value_type*>;
  { x.size() } -> std::convertible_to<std::size_t>;
};
template <class X>
concept host_array = host_range<X> && !may_lie_on_device<X>;

/// An input of a type that the front door on the host takes.
template <class X>
decltype(auto) as_input(const X& x) {
  static_assert(input<X> || device_container<X>, "warpfold: an input on a GPU is a std::span, wf::view, mdspan or thrust::device_vector of its "
                                                 "memory, and this is none of them");
  if constexpr (device_container<X>) return std::span<const typename X::value_type>(x.data().get(), x.size());
  else return (x);
}
template <class X>
using as_input_t = std::remove_cvref_t<decltype(as_input(std::declval<const X&>()))>;

/// The bytes that a call that waits must copy: those of arrays of the host, else 0.
struct inputs_anywhere {
  cpu::operands operands;
  std::array<std::size_t, cpu::max_inputs> host_bytes{};
};
template <class... X>
inputs_anywhere inputs_of_call(const X&... x) {
  inputs_anywhere in{operands_of(as_input(x)...), {}};
  std::size_t k = 0;
  const auto note = [&](const auto& one) {
    if constexpr (host_array<std::remove_cvref_t<decltype(one)>>)
      in.host_bytes[k] = std::ranges::size(one) * sizeof(std::ranges::range_value_t<decltype(one)>);
    ++k;
  };
  (note(x), ...);
  return in;
}

/// What may say where an answer goes: a pointer, an array, or a thrust::device_ptr.
template <class A>
concept out_like = std::is_pointer_v<std::decay_t<A>> || std::is_null_pointer_v<std::remove_cvref_t<A>> || requires(const A& a) {
  { a.get() } -> std::convertible_to<const void*>;
};
/// The place for an answer, as a pointer to answers of that type.
template <class Result, class A>
void* out_of(A&& a) {
  if constexpr (std::is_null_pointer_v<std::remove_cvref_t<A>>) {
    return nullptr;
  } else if constexpr (!std::is_pointer_v<std::decay_t<A>>) {
    return out_of<Result>(a.get());
  } else {
    using to = std::remove_pointer_t<std::decay_t<A>>;
    static_assert(!std::is_const_v<to>, "warpfold: the answer is written, and this points to const");
    static_assert(std::is_same_v<typename stands_for<std::remove_cv_t<to>>::type, Result>,
                  "warpfold: where the answer goes points to its type, wf::result<operation, element>, and this points to another");
    return const_cast<void*>(static_cast<const void*>(a));
  }
}

}  // namespace detail

/// All kernels of warpfold::gpu, for code that learns operations and types at run time. Throws nothing: only a reduction calls CUDA.
inline const device_library& cuda_library() { return cuda_kernels::library(); }
/// The same of warpfold_simt: for tests, and for machines with no GPU. Throws nothing.
inline const device_library& simt_library() { return simt_kernels::library(); }

/// What was wrong with the file of tuned launches (docs/gpu.md) when a place last read it, in one line; an empty text if nothing was. No
/// reduction fails because of that file. Throws nothing but std::bad_alloc.
///
///     if (const std::string why = wf::tuning_problem(); !why.empty()) std::puts(why.c_str());
WF_API std::string tuning_problem();

class device_place;

/// A stream of a device, and the scratch memory of the reductions on it, which the first one allocates. One host thread at a time may
/// use a place; streams that may run at once need a place each. It must not outlive its stream, and
/// must outlive graphs that captured its reductions. Even the first reduction may be captured: the memory is the place's, not the graph's. So
/// a place's graphs and its other reductions run one at a time.
class WF_API device_stream {
 public:
  static constexpr bool is_place = true;  ///< distinguishes places from inputs

  /// "cuda" or "simt".
  std::string_view name() const noexcept { return memory_->machine->name; }
  void* stream() const noexcept { return memory_->stream; }                    ///< its stream, a cudaStream_t
  const device_machine& machine() const noexcept { return *memory_->machine; } ///< the kind of device
  /// The scratch memory of 2.2 MiB, a device::workspace of the build that the kernels come from. The first call allocates it. Throws
  /// wf::error (device, no_device).
  void* scratch() const { return memory_->get(); }

  /// \cond
  /// Runs work and waits: calls work(self, inputs, out) with inputs on the device, to which those of the host have been copied, and room for
  /// `bytes` of answers on the device, which it then copies to `to`. Throws wf::error (bad_argument) for an input that the
  /// device cannot read.
  void fetch(const detail::inputs_anywhere& in, void* to, std::size_t bytes, const char* who, const void* self,
             void (*work)(const void* self, const cpu::operands& in, void* out)) const;

  /// The same for a request: calls work(self, there) with its inputs, its offsets or labels and its answers on the device. Where the inputs lie on the
  /// host, it copies and checks offsets and labels. Throws wf::error (bad_argument) for those that do not fit.
  void fetch(const request& r, const detail::inputs_anywhere& in, void* to, std::size_t bytes, const void* self,
             void (*work)(const void* self, const request& there)) const;

  /// Enqueues a request whose own_reduction has kernels. out: where its answers go, or those of its parts. Throws wf::error as
  /// wf::backend says.
  void run_own(const request& r, std::span<void* const> out) const;
  /// \endcond

  /// Sets whether each call asks CUDA which memory its pointers point to, and throws wf::error (bad_argument) for those that the GPU cannot
  /// reach, so that no kernel faults later. That takes about a microsecond per pointer. By default a wf::gpu does so unless NDEBUG is defined.
  void check_pointers(bool yes) const { memory_->checks = yes; }
  /// \cond
  /// Does that check, if it is asked for: of inputs of `n` elements and of the memory for answers.
  void look_at(const cpu::operands& in, std::int64_t n, const void* out, const char* who) const {
    if (memory_->checks) refuse_unreachable(in, n, out, who);
  }
  /// \endcond

 protected:
  device_stream(const device_machine& machine, void* stream) : memory_(std::make_shared<memory>(&machine, stream)) {}
  struct same {  ///< the stream and memory of another place
    const device_stream& as;
  };
  explicit device_stream(const same& other) : memory_(other.as.memory_) {}
  device_stream(device_stream&&) = default;
  device_stream& operator=(device_stream&&) = default;
  ~device_stream() = default;

  /// Enqueues a request, by kernels that it may need. state_bytes: where states of rows are wanted, those of each.
  void run(const request& r, const call_kernels& kernels, std::size_t state_bytes = 0) const;
  /// Carries out a request whose answers go to memory of the host.
  void fetch(const request& r, const call_kernels& kernels, const detail::inputs_anywhere& in, void* to, std::size_t bytes) const;
  /// This place as one that takes any request.
  const device_place& with_all(const device_library& library) const;

 private:
  struct memory {
    memory(const device_machine* m, void* s) : machine(m), stream(s) {}
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory() {
      if (scratch != nullptr) machine->free_scratch(scratch, stream);
    }
    void* get() {
      if (scratch == nullptr) scratch = machine->make_scratch();
      return scratch;
    }
    const device_machine* machine;
    void* stream;
    void* scratch = nullptr;
    bool checks = false;
  };

  void refuse_unreachable(const cpu::operands& in, std::int64_t n, const void* out, const char* who) const;
  void run_whole(const request& r, const call_kernels& kernels) const;
  bool run_few_long(const request& r, const rows_request& q, const call_kernels& kernels) const;

  std::shared_ptr<memory> memory_;
  mutable std::shared_ptr<const device_place> all_;  ///< made by with_all()
};

namespace detail {

/// Whether an input may have dimensions that do not lie in one another.
template <class X>
inline constexpr bool may_have_rows = !host_range<as_input_t<X>>;

template <class First, class...>
struct first_type { using type = First; };
template <class... A>
using first_of = typename first_type<A...>::type;

/// The calls of a place. Self::kernels_for<operation, element, checked, native, rows>() names the kernels: `native` and `rows` say
/// whether a call may need such kernels.
template <class Self>
class device_calls : public device_stream {
 public:
  /// Operation O: run<O>(x, out, settings…) enqueues it; run<O>(x, settings…) waits and returns the answer, in a wf::checked if Checked.
  template <op O, bool Checked = false, class X, class... A>
    requires(inputs_of(O) == 1)
  auto run(const X& x, A&&... a) const {
    return ask<O, Checked, builtin_element_of<as_input_t<X>>, host_array<X>, may_have_rows<X>>(inputs_of_call(x), std::forward<A>(a)...);
  }
  /// The same of two inputs.
  template <op O, bool Checked = false, class X, class Y, class... A>
    requires(inputs_of(O) == 2)
  auto run(const X& x, const Y& y, A&&... a) const {
    using T = builtin_element_of<as_input_t<X>>;
    static_assert(std::same_as<T, builtin_element_of<as_input_t<Y>>>, "dot takes two inputs of one element type");
    return ask<O, Checked, T, host_array<X> || host_array<Y>, may_have_rows<X> || may_have_rows<Y>>(inputs_of_call(x, y), std::forward<A>(a)...);
  }

 protected:
  using device_stream::device_stream;

 private:
  template <op O, class T, bool Checked>
  struct answer_type { using type = result<O, T>; };
  template <op O, class T>
  struct answer_type<O, T, true> { using type = checked<result<O, T>>; };

  /// Host: an input is an array of the host. Rows: an input may have gaps.
  template <op O, bool Checked, class T, bool Host, bool Rows, class... A>
  auto ask(const inputs_anywhere& in, A&&... a) const {
    static_assert(element<T>, "not an element type of warpfold: see warpfold/types.hpp");
    static_assert(wf::takes<O, T>, "this reduction does not take this element type: see docs/reductions.md");
    static_assert(!Checked || integer<T>, "only reductions of integers can overflow");
    if constexpr (out_like<first_of<A..., context>>) {
      static_assert(!Host, "warpfold: a GPU cannot read this array of the host: give it a std::span or wf::view of its own "
                           "memory, or no place for the answer, as in wf::sum(place, x), and the array is copied");
      enqueue<O, Checked, T, Rows>(in.operands, std::forward<A>(a)...);
    } else {
      return value<O, Checked, T, Rows>(in, a...);
    }
  }

  /// The kernels that a call may need: native ones where a setting may ask for them, those of rows where there may be several answers, or gaps.
  template <op O, bool Checked, class T, bool Rows, class... S>
  call_kernels kernels_of_call() const {
    constexpr bool native = ((std::same_as<S, context> || std::same_as<S, wf::accuracy>) || ...);
    static_assert(partitions<S...> <= 1, "at most one of axis, segments, segments_of and by_label");
    return static_cast<const Self&>(*this).template kernels_for<O, T, Checked, native, partitions<S...> != 0 || Rows>();
  }
  template <op O, bool Checked, class T, bool Rows, class Out, class... S>
  void enqueue(const cpu::operands& o, Out&& out, const S&... s) const {
    const settings told(s...);
    if constexpr (partitions<S...> == 1) shape_of_answers(o, told, op_names[static_cast<int>(O)]);  // labels are as many as elements
    request r = asked(O, dtype_of<T>, o, told, Checked);
    r.out = out_of<typename answer_type<O, T, Checked>::type>(out);
    device_stream::run(r, kernels_of_call<O, Checked, T, Rows, S...>());
  }
  template <op O, bool Checked, class T, bool Rows, class... S>
  auto value(const inputs_anywhere& in, const S&... s) const {
    const settings told(s...);
    const request r = asked(O, dtype_of<T>, in.operands, told, Checked);
    const call_kernels kernels = kernels_of_call<O, Checked, T, Rows, S...>();
    using answer = typename answer_type<O, T, Checked>::type;
    if constexpr (partitions<S...> == 1) {
      array<answer> out;
      make_room(out, shape_of_answers(in.operands, told, op_names[static_cast<int>(O)]), op_names[static_cast<int>(O)]);
      device_stream::fetch(r, kernels, in, out.values.data(), out.values.size() * sizeof(answer));
      return out;
    } else {
      answer out;
      device_stream::fetch(r, kernels, in, &out, sizeof out);
      return out;
    }
  }
};

/// A place whose kernels are those of Kernels; each call names the kernels that it needs.
template <class Self, class Kernels>
class place_on : public device_calls<Self> {
 public:
  /// This place as a backend, which takes requests that are made at run time: it links all kernels.
  operator const device_place&() const { return this->with_all(Kernels::library()); }
  /// All kernels.
  const device_library& kernels() const { return Kernels::library(); }
  /// Merges and answers states in the device's memory, on the stream. Throws wf::error.
  void run_states(const states_request& r, const char* who) const { this->machine().fail(Kernels::states(r, this->stream()), who); }
  /// The kernels that sort labels.
  order_labels_kernel order_labels() const { return Kernels::order_labels; }
  /// Those that find runs.
  wf::find_runs_kernel find_runs_kernel() const { return Kernels::find_runs; }
  using device_calls<Self>::run;
  /// Enqueues a request. Throws wf::error as wf::backend does.
  void run(const request& r) const;
  /// What wf::backend does with states, in the device's memory.
  void clear(const state_form& form, void* states, std::int64_t n) const;
  void merge(const state_form& form, void* to, const void* later, std::int64_t n) const;                         ///< the same
  void unmerge(const state_form& form, void* to, const void* later, std::int64_t n) const;                       ///< the same
  void finish(const state_form& form, const options& o, const void* states, std::int64_t n, void* out) const;  ///< the same
  /// Whether it carries out such requests, whatever their shapes and pointers.
  bool takes(op what, dtype element, accuracy a, partition::kinds by, output wanted) const noexcept;

 protected:
  explicit place_on(void* stream) : device_calls<Self>(Kernels::machine(), stream) {}

 private:
  friend device_calls<Self>;
  template <op O, class T, bool Checked, bool Native, bool Rows>
  static constexpr call_kernels kernels_for() {
    constexpr auto family = [](accuracy a) { return family_of(O, dtype_of<T>, a); };
    call_kernels k{};
    if constexpr (Checked) {
      k.checked = kernel_of<Kernels, kernel_family::checked>();
    } else {
      k.whole[0] = kernel_of<Kernels, family(accuracy::exact)>();
      if constexpr (Native) k.whole[1] = kernel_of<Kernels, family(accuracy::fast)>();
    }
    if constexpr (Rows) k.rows = Kernels::rows;
    return k;
  }
};

}  // namespace detail

/// A place that carries out any request: what a wf::gpu is as a wf::backend.
class WF_API device_place : public backend, public detail::device_calls<device_place> {
 public:
  /// A stream of the current device, for kernels of that library. Throws nothing but std::bad_alloc: only a reduction calls CUDA.
  device_place(const device_library& kernels, void* stream) : device_calls(kernels, stream), kernels_(&kernels) {}

  std::string_view name() const noexcept override { return device_stream::name(); }
  bool takes(op what, dtype element, accuracy a, partition::kinds by, output wanted) const noexcept override;
  /// Enqueues a request, as wf::sum and the others do. Throws wf::error as wf::backend says, and where a CUDA call fails (device).
  void run(const request& r) const override;
  using device_calls::run;
  void clear(const state_form& form, void* states, std::int64_t n) const override;                        ///< wf::backend's
  void merge(const state_form& form, void* to, const void* later, std::int64_t n) const override;         ///< wf::backend's
  void unmerge(const state_form& form, void* to, const void* later, std::int64_t n) const override;       ///< wf::backend's
  void finish(const state_form& form, const options& o, const void* states, std::int64_t n, void* out) const override;  ///< wf::backend's
  const device_library& kernels() const noexcept { return *kernels_; }  ///< the compiled kernels
  /// \cond
  order_labels_kernel order_labels() const { return kernels_->order_labels; }  ///< those that sort labels
  wf::find_runs_kernel find_runs_kernel() const { return kernels_->find_runs; }  ///< those that find runs
  /// \endcond

 private:
  friend device_stream;
  friend detail::device_calls<device_place>;
  device_place(const device_library& kernels, const same& other) : device_calls(other), kernels_(&kernels) {}
  void fold(const state_form& form, void* to, const void* later, std::int64_t n, bool take_out) const;
  template <op, class, bool, bool, bool>
  const call_kernels& kernels_for() const { return kernels_->kernels; }

  const device_library* kernels_;
};

namespace detail {

template <class Self, class Kernels>
void place_on<Self, Kernels>::run(const request& r) const { this->with_all(Kernels::library()).run(r); }
template <class Self, class Kernels>
bool place_on<Self, Kernels>::takes(op what, dtype element, accuracy a, partition::kinds by, output wanted) const noexcept {
  return this->with_all(Kernels::library()).takes(what, element, a, by, wanted);
}
template <class Self, class Kernels>
void place_on<Self, Kernels>::clear(const state_form& form, void* states, std::int64_t n) const {
  this->with_all(Kernels::library()).clear(form, states, n);
}
template <class Self, class Kernels>
void place_on<Self, Kernels>::merge(const state_form& form, void* to, const void* later, std::int64_t n) const {
  this->with_all(Kernels::library()).merge(form, to, later, n);
}
template <class Self, class Kernels>
void place_on<Self, Kernels>::unmerge(const state_form& form, void* to, const void* later, std::int64_t n) const {
  this->with_all(Kernels::library()).unmerge(form, to, later, n);
}
template <class Self, class Kernels>
void place_on<Self, Kernels>::finish(const state_form& form, const options& o, const void* states, std::int64_t n, void* out) const {
  this->with_all(Kernels::library()).finish(form, o, states, n, out);
}

}  // namespace detail

/// A stream of the current CUDA device. A program links the kernels that its calls name; as a wf::backend, all of them.
///
///     cudaStream_t stream;
///     cudaStreamCreate(&stream);
///     wf::gpu place{stream};                                    // keep it
///     wf::sum(place, std::span(device_values, n), device_out);  // on the stream; nothing waits
///     float s = wf::sum(place, std::span(device_values, n));    // waits, and gives the answer
///     double m = wf::mean(place, host_vector);                  // copies, waits
///     const wf::backend& any = place;                           // what is known at run time
class gpu : public detail::place_on<gpu, cuda_kernels> {
 public:
  /// A place on a cudaStream_t; null is the default stream. Throws nothing but std::bad_alloc: only a reduction calls CUDA.
  explicit gpu(::CUstream_st* stream = nullptr) : place_on(stream) {
#ifndef NDEBUG
    check_pointers(true);
#endif
  }
  /// A place on the stream of an object that owns or names one, as cuda::stream_ref does. Throws as the constructor above.
  template <class S>
    requires requires(const S& s) { { s.get() } -> std::same_as<::CUstream_st*>; }
  explicit gpu(const S& stream) : gpu(stream.get()) {}
};

/// A place on simt, where kernels run on the CPU and have ended when the call returns.
class simulated_gpu : public detail::place_on<simulated_gpu, simt_kernels> {
 public:
  /// A place on simt. Throws nothing but std::bad_alloc.
  explicit simulated_gpu(void* stream = nullptr) : place_on(stream) {}
};

namespace detail {

/// Enqueues a search for runs of keys, in one dimension, on the device. Throws wf::error.
template <class K>
runs_request runs_asked(const cpu::operands& o, void* unique, std::int64_t* offsets, std::int64_t room, std::int64_t* found) {
  constexpr const char* who = "find_runs on a GPU: ";
  if (o.shape.size() != 1) throw error(errc::bad_argument, std::string(who) + "keys in " + std::to_string(o.shape.size()) + " dimensions; they must be in 1");
  if (room < 0) throw error(errc::bad_argument, std::string(who) + "room for " + std::to_string(room) + " runs; 0 or more is right");
  if (offsets == nullptr || found == nullptr || (room != 0 && unique == nullptr))
    throw error(errc::bad_argument, std::string(who) + "nowhere to put keys, offsets or the number of runs");
  if (o.strides[0][0] % static_cast<std::int64_t>(alignof(K)) != 0)
    throw error(errc::unsupported, std::string(who) + "keys that are " + std::to_string(o.strides[0][0]) + " bytes apart; a multiple of their alignment, " +
                                       std::to_string(alignof(K)) + ", is needed");
  return {o.data[0], o.shape[0], o.strides[0][0], static_cast<int>(sizeof(K)), static_cast<int>(alignof(K) < 8 ? alignof(K) : 8),
          unique, offsets, room, found};
}

}  // namespace detail

/// Enqueues a search for runs of equal neighbours among keys on the device (runs.hpp). It writes the key of each of the first `room` runs
/// to `unique`, where each begins to `offsets`, which have room for one more, and to `found` how many runs there are, even if more than `room`.
/// Offsets behind the end of the last run are the number of keys, so that all `room` segments can be reduced without waiting: the segments beyond
/// are empty. Throws wf::error as reductions do.
///
///     wf::find_runs(place, keys, unique, offsets, room, found);              // 7 7 7 9 2 2: 7 9 2, 0 3 4 6 6 …, 3
///     wf::sum(place, values, sums, wf::segments{{offsets, room + 1}});       // an answer for each run
template <class P, class X>
  requires(P::is_place)
void find_runs(const P& place, const X& keys, typename detail::element_of<detail::as_input_t<X>>* unique, std::int64_t* offsets, std::int64_t room,
               std::int64_t* found) {
  using K = detail::element_of<detail::as_input_t<X>>;
  static_assert(run_key<K>, "warpfold: keys are integers, enumerations or structs of them without padding, of 1, 2, 4, 8 or 16 bytes");
  static_assert(!detail::host_array<X>, "warpfold: a GPU cannot read this array of the host: give it a std::span or wf::view of its own memory, or "
                                        "no places for what is found, as in wf::find_runs(place, keys), and the array is copied");
  const cpu::operands o = detail::operands_of(detail::as_input(keys));
  const runs_request r = detail::runs_asked<K>(o, unique, offsets, room, found);
  place.look_at(o, r.n, offsets, "find_runs on a GPU");
  place.machine().fail(place.find_runs_kernel()(r, place.scratch(), place.stream()), "find_runs on a GPU");
}

/// Finds all runs and copies them to the host: it waits, and copies as many bytes as the keys and their offsets could take. Keys of the host are
/// copied to the device first. Throws wf::error as reductions do.
///
///     wf::runs<int> groups = wf::find_runs(place, keys);
template <class P, class X>
  requires(P::is_place)
auto find_runs(const P& place, const X& keys) {
  using K = detail::element_of<detail::as_input_t<X>>;
  static_assert(run_key<K>, "warpfold: keys are integers, enumerations or structs of them without padding, of 1, 2, 4, 8 or 16 bytes");
  const auto in = detail::inputs_of_call(keys);
  const auto n = static_cast<std::size_t>(*detail::product(in.operands.shape));
  // On the device: the keys, aligned as memory is; their offsets; how many there are.
  const std::size_t keys_bytes = (n * sizeof(K) + 7) / 8 * 8;
  std::vector<std::int64_t> words(keys_bytes / 8 + n + 2);
  const auto enqueue = [&](const cpu::operands& o, void* out) {
    auto* const offsets = static_cast<std::int64_t*>(out) + keys_bytes / 8;
    const runs_request r = detail::runs_asked<K>(o, out, offsets, static_cast<std::int64_t>(n), offsets + n + 1);
    place.machine().fail(place.find_runs_kernel()(r, place.scratch(), place.stream()), "find_runs on a GPU");
  };
  place.fetch(in, words.data(), words.size() * 8, "find_runs on a GPU", &enqueue, [](const void* self, const cpu::operands& o, void* out) {
    (*static_cast<decltype(&enqueue)>(self))(o, out);
  });
  const auto found = static_cast<std::size_t>(words.back());
  runs<K> r;
  r.keys.resize(found);
  if (found != 0) __builtin_memcpy(r.keys.data(), words.data(), found * sizeof(K));
  const auto offsets = words.begin() + static_cast<std::ptrdiff_t>(keys_bytes / 8);
  r.offsets.assign(offsets, offsets + static_cast<std::ptrdiff_t>(found) + 1);
  return r;
}

}  // namespace wf
