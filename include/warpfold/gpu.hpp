// SPDX-License-Identifier: Apache-2.0
/// \file gpu.hpp
/// The front door on a GPU: the reductions of warpfold.hpp with a place as first argument.
///
///     wf::gpu place{stream};                                   // keep it: it owns scratch memory
///     wf::sum(place, std::span(device_values, n), device_out); // exact; asynchronous
///     wf::max(place, wf::view<float>(device_values, {n}, {3}), device_out);
///     wf::dot(place, x, y, device_out, wf::fast);
///     wf::mean(place, matrix, device_out, wf::axis{1});        // an answer per row; any axes of any view
///     wf::sum(place, x, device_out, wf::segments_of{16});      // or wf::segments{{device_offsets, n + 1}}
///     float s = wf::sum(place, x);                             // waits, and gives the answer; x may be a std::vector too
///
/// Inputs are spans, views, mdspans or thrust::device_vectors: memory that the device reads; `out` points to memory that it
/// writes (device memory, or pinned host memory). Without `out` the call waits for the stream and gives what it gives on the
/// CPU; then arrays of the host (vector, array …) are copied to the device, with the offsets and labels that go with them.
/// Offsets and labels are the device's too: offsets must rise and stay in
/// the input, and an element whose label is no answer's is left out; nobody looks. The first call allocates
/// 2.1 MiB of scratch memory from the stream's pool, in stream order.
/// Errors of the call are thrown as wf::error with CUDA's own text; those of the kernel come where
/// the stream is waited for. Needs no nvcc: link warpfold::gpu.
#pragma once

#include <warpfold/config.hpp>  // first: it says what a compiler must be set to

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <warpfold/backend.hpp>
#include <warpfold/detail/gpu/library.hpp>
#include <warpfold/warpfold.hpp>

struct CUstream_st;  // CUDA's: a cudaStream_t points to one

namespace wf {

/// Whether a range that is given to a GPU may lie in the GPU's memory: spans and their like, which own nothing. Containers
/// hold memory of the host; specialise it for one of yours that holds the device's.
template <class R>
inline constexpr bool may_lie_on_device = std::ranges::enable_borrowed_range<R> || requires { typename R::element_type; };

namespace detail {

/// thrust::device_vector, and what tells of memory of the device as it does.
template <class X>
concept device_container = requires(const X& x) {
  typename X::value_type;
  { x.data().get() } -> std::convertible_to<const typename X::value_type*>;
  { x.size() } -> std::convertible_to<std::size_t>;
};
template <class X>
concept host_array = host_range<X> && !may_lie_on_device<X>;

/// An input as the front door on the host knows inputs.
template <class X>
decltype(auto) as_input(const X& x) {
  static_assert(input<X> || device_container<X>, "warpfold: an input on a GPU is a std::span, wf::view, mdspan or thrust::device_vector of its "
                                                 "memory, and this is none of them");
  if constexpr (device_container<X>) return std::span<const typename X::value_type>(x.data().get(), x.size());
  else return (x);
}
template <class X>
using as_input_t = std::remove_cvref_t<decltype(as_input(std::declval<const X&>()))>;

/// Inputs of a call that waits: of arrays of the host the bytes that are to be copied, else 0.
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

/// What can be where an answer goes: a pointer, an array, or a thrust::device_ptr.
template <class A>
concept out_like = std::is_pointer_v<std::decay_t<A>> || std::is_null_pointer_v<std::remove_cvref_t<A>> || requires(const A& a) {
  { a.get() } -> std::convertible_to<const void*>;
};
/// It, as a pointer to answers of that type.
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

WF_API const device_library& cuda_library();  ///< in warpfold::gpu
const device_library& simt_library();  ///< in warpfold_simt: for tests, and for machines with no GPU

/// A stream of a device, and the scratch memory of the reductions on it. One host thread at a time may
/// use a place; streams that may run at once need a place each. It must not outlive its stream, and
/// must outlive graphs that captured its reductions. Before a capture, reduce once: that
/// allocates the memory.
class WF_API device_place : public backend {
 public:
  static constexpr bool is_place = true;  ///< told from inputs by this

  /// A stream of the current device, for kernels of that library.
  device_place(const device_library& kernels, void* stream) : kernels_(&kernels), stream_(stream) {}

  /// "cuda" or "simt".
  std::string_view name() const noexcept override { return kernels_->name; }
  /// Whether it carries out such requests, whatever their shapes and pointers.
  bool takes(op what, dtype element, accuracy a, partition::kinds by, output wanted) const noexcept override;
  /// Enqueues a request: what wf::sum and the others call.
  void run(const request& r) const override;

  void* stream() const { return stream_; }                           ///< a cudaStream_t
  const device_library& kernels() const { return *kernels_; }        ///< the compiled kernels
  /// A device::workspace of the build that `kernels` come from.
  void* scratch() const {
    if (!scratch_) scratch_ = {kernels_->make_scratch(), {kernels_, stream_}};
    return scratch_.get();
  }

  /// Operation O: run<O>(x, out, settings…) enqueues it, run<O>(x, settings…) waits and gives the answer.
  template <op O, class X, class... A>
    requires(inputs_of(O) == 1)
  auto run(const X& x, A&&... a) const {
    return ask<O, detail::builtin_element_of<detail::as_input_t<X>>>(std::tie(x), std::forward<A>(a)...);
  }
  /// The same of two inputs.
  template <op O, class X, class Y, class... A>
    requires(inputs_of(O) == 2)
  auto run(const X& x, const Y& y, A&&... a) const {
    using T = detail::builtin_element_of<detail::as_input_t<X>>;
    static_assert(std::same_as<T, detail::builtin_element_of<detail::as_input_t<Y>>>, "dot takes two inputs of one element type");
    return ask<O, T>(std::tie(x, y), std::forward<A>(a)...);
  }

  /// Work that waits: work(self, inputs, out) is called with inputs of the device, those of the host copied there, and room for
  /// `bytes` of answers on the device, which are then copied to `to`. Throws wf::error (bad_argument) of an input that the
  /// device cannot read.
  void fetch(const detail::inputs_anywhere& in, void* to, std::size_t bytes, const char* who, const void* self,
             void (*work)(const void* self, const cpu::operands& in, void* out)) const;

  /// Elements of one stride, in elements: what an n-d view comes to if its dimensions lie in one another
  /// without gaps. Throws wf::error (unsupported) of others.
  static std::int64_t stride_of(const extents& shape, const extents& byte_strides, std::size_t size);

 private:
  struct deleter {
    const device_library* kernels;
    void* stream;
    void operator()(void* scratch) const { kernels->free_scratch(scratch, stream); }
  };

  template <op O, class T, class... X, class... A>
  auto ask(const std::tuple<const X&...>& x, A&&... a) const {
    static_assert(element<T>, "not an element type of warpfold: see warpfold/types.hpp");
    static_assert(wf::takes<O, T>, "this reduction does not take this element type: see docs/reductions.md");
    using first = std::tuple_element_t<0, std::tuple<A..., context>>;
    if constexpr (detail::out_like<first>) {
      static_assert(!(detail::host_array<X> || ...), "warpfold: a GPU cannot read this array of the host: give it a std::span or wf::view of its own "
                                                     "memory, or no place for the answer, as in wf::sum(place, x), and the array is copied");
      enqueue<O, T>(x, std::forward<A>(a)...);
    } else {
      return value<O, T>(x, a...);
    }
  }

  template <op O, class T, class... S>
  static request asked(const cpu::operands& o, const detail::settings& told) {
    static_assert(detail::places<S...> <= 1, "at most one of axis, segments, segments_of and by_label");
    request r;
    r.what = O;
    r.element = dtype_of<T>;
    r.options = told.options;
    r.context = told.context;
    r.inputs = o;
    r.by = told.by;
    return r;
  }
  template <op O, class T, class... X, class Out, class... S>
  void enqueue(const std::tuple<const X&...>& x, Out&& out, const S&... s) const {
    const cpu::operands o = std::apply([](const auto&... one) { return detail::operands_of(detail::as_input(one)...); }, x);
    const detail::settings told(s...);
    if constexpr (detail::places<S...> == 1) detail::shape_of_answers(o, told, op_names[static_cast<int>(O)]);  // labels are as many as elements
    request r = asked<O, T, S...>(o, told);
    r.out = detail::out_of<result<O, T>>(out);
    run(r);
  }
  template <op O, class T, class... X, class... S>
  auto value(const std::tuple<const X&...>& x, const S&... s) const {
    const auto in = std::apply([](const auto&... one) { return detail::inputs_of_call(one...); }, x);
    const detail::settings told(s...);
    const request r = asked<O, T, S...>(in.operands, told);
    if constexpr (detail::places<S...> == 1) {
      array<result<O, T>> out;
      detail::make_room(out, detail::shape_of_answers(in.operands, told, op_names[static_cast<int>(O)]), op_names[static_cast<int>(O)]);
      fetch(r, in, out.values.data(), out.values.size() * sizeof(result<O, T>));
      return out;
    } else {
      result<O, T> out;
      fetch(r, in, &out, sizeof out);
      return out;
    }
  }
  /// A request, its answers in memory of the host.
  void fetch(const request& r, const detail::inputs_anywhere& in, void* to, std::size_t bytes) const;

  void run_whole(const request& r) const;
  bool run_few_long(const request& r, const rows_request& q) const;

  const device_library* kernels_;
  void* stream_;
  mutable std::unique_ptr<void, deleter> scratch_{nullptr, {nullptr, nullptr}};
};

/// A stream of the current CUDA device.
///
///     cudaStream_t stream;
///     cudaStreamCreate(&stream);
///     wf::gpu place{stream};                                    // keep it
///     wf::sum(place, std::span(device_values, n), device_out);  // on the stream; nothing waits
///     float s = wf::sum(place, std::span(device_values, n));    // waits, and gives the answer
///     double m = wf::mean(place, host_vector);                  // copies, waits
class gpu : public device_place {
 public:
  /// A cudaStream_t; none is the default stream.
  explicit gpu(::CUstream_st* stream = nullptr) : device_place(cuda_library(), stream) {}
  /// What owns or names a stream, as cuda::stream_ref does.
  template <class S>
    requires requires(const S& s) { { s.get() } -> std::same_as<::CUstream_st*>; }
  explicit gpu(const S& stream) : gpu(stream.get()) {}
};

/// The same on simt, where kernels run on the CPU and have ended when the call returns.
class simulated_gpu : public device_place {
 public:
  /// A place on simt.
  explicit simulated_gpu(void* stream = nullptr) : device_place(simt_library(), stream) {}
};

}  // namespace wf
