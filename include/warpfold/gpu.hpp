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
///
/// Inputs are spans or views of memory that the device reads, `out` points to memory that it writes
/// (device memory, or pinned host memory). Offsets and labels are the device's too: offsets must rise and stay in
/// the input, and an element whose label is no answer's is left out; nobody looks. The first call allocates
/// 2.1 MiB of scratch memory from the stream's pool, in stream order.
/// Errors of the call are thrown as wf::error with CUDA's own text; those of the kernel come where
/// the stream is waited for. Needs no nvcc: link warpfold::gpu.
#pragma once

#include <warpfold/config.hpp>  // first: it says what a compiler must be set to

#include <cstdint>
#include <memory>

#include <warpfold/backend.hpp>
#include <warpfold/gpu/library.hpp>
#include <warpfold/warpfold.hpp>

namespace wf {

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

  /// Enqueues operation O.
  template <op O, detail::input X, class... S>
    requires(O != op::dot)
  void run(const X& x, result<O, detail::element_of<X>>* out, const S&... s) const {
    enqueue<O, detail::element_of<X>>(detail::operands_of(x), out, s...);
  }
  /// The same of two inputs.
  template <op O, detail::input X, detail::input Y, class... S>
    requires(O == op::dot)
  void run(const X& x, const Y& y, result<O, detail::element_of<X>>* out, const S&... s) const {
    static_assert(std::same_as<detail::element_of<X>, detail::element_of<Y>>, "dot takes two inputs of one element type");
    enqueue<O, detail::element_of<X>>(detail::operands_of(x, y), out, s...);
  }

  /// Elements of one stride, in elements: what an n-d view comes to if its dimensions lie in one another
  /// without gaps. Throws wf::error (unsupported) of others.
  static std::int64_t stride_of(const extents& shape, const extents& byte_strides, std::size_t size);

 private:
  struct deleter {
    const device_library* kernels;
    void* stream;
    void operator()(void* scratch) const { kernels->free_scratch(scratch, stream); }
  };

  template <op O, class T, class... S>
  void enqueue(const cpu::operands& o, void* out, const S&... s) const {
    static_assert(wf::takes<O, T>, "this reduction does not take this element type: see docs/reductions.md");
    static_assert(detail::places<S...> <= 1, "at most one of axis, segments, segments_of and by_label");
    const detail::settings told(s...);
    if constexpr (detail::places<S...> == 1) detail::shape_of_answers(o, told, op_names[static_cast<int>(O)]);  // labels are as many as elements
    request r;
    r.what = O;
    r.element = dtype_of<T>;
    r.options = told.options;
    r.context = told.context;
    r.inputs = o;
    r.by = told.by;
    r.out = out;
    run(r);
  }

  void run_whole(const request& r) const;
  bool run_few_long(const request& r, const rows_request& q) const;

  const device_library* kernels_;
  void* stream_;
  mutable std::unique_ptr<void, deleter> scratch_{nullptr, {nullptr, nullptr}};
};

/// A stream (a cudaStream_t; none is the default one) of the current CUDA device.
class gpu : public device_place {
 public:
  /// That stream.
  explicit gpu(void* stream = nullptr) : device_place(cuda_library(), stream) {}
};

/// The same on simt, where kernels run on the CPU and have ended when the call returns.
class simulated_gpu : public device_place {
 public:
  /// A place on simt.
  explicit simulated_gpu(void* stream = nullptr) : device_place(simt_library(), stream) {}
};

}  // namespace wf
