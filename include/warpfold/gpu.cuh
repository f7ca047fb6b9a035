// SPDX-License-Identifier: Apache-2.0
/// \file gpu.cuh
/// The front door on a GPU for reductions of your own, and for fused ones. Needs nvcc (or simt).
///
///     struct my_reduction { … members marked WF_HD … };
///     wf::gpu place{stream};
///     wf::reduce(place, std::span(device_values, n), device_out, my_reduction{});
///     wf::fuse(wf::sum, wf::max, my_reduction{})(place, values, sum_out, max_out, mine_out);
///
/// One kernel reads the values once. Places, memory, errors: gpu.hpp.
#pragma once

#include <cuda_runtime.h>

#include <tuple>
#include <utility>

#include <warpfold/gpu.hpp>
#include <warpfold/gpu/fused_folds.cuh>
#include <warpfold/gpu/reduce.cuh>

namespace wf {

namespace device::inline WF_BUILD {

/// Where one-dimensional inputs lie; throws wf::error of what is not like one dimension.
template <class T, class X>
void enqueue_fold(const device_place& place, const X& x, void* out, const auto& fold, const char* who) {
  const cpu::operands o = wf::detail::operands_of(x);
  std::uint64_t n = 1;
  for (const std::int64_t d : o.shape) n *= static_cast<std::uint64_t>(d);
  const std::int64_t stride = device_place::stride_of(o.shape, o.strides[0], sizeof(T));
  const void* const inputs[] = {o.data[0]};
  const cudaError_t e = reduce_with<std::remove_cvref_t<decltype(fold)>, T>(
      fold, inputs, &stride, n, out, *static_cast<workspace*>(place.scratch()),
      static_cast<cudaStream_t>(place.stream()));
  place.kernels().fail(static_cast<int>(e), who);
}

}  // namespace device::inline WF_BUILD

/// *out = r over all elements, in their order unless it commutes.
template <class P, detail::input X, class R>
  requires(P::is_place && reduction<R, detail::element_of<X>>)
void reduce(const P& place, const X& x, result_of<R>* out, const R& r) {
  using T = detail::element_of<X>;
  device::enqueue_fold<T>(place, x, out, device::plain_fold<R, T>{r}, "reduce on a GPU");
}

template <class... F>
template <class P, detail::input X, class... Out>
  requires(P::is_place && sizeof...(Out) == sizeof...(F))
void fused<F...>::operator()(const P& place, const X& x, Out*... out) const {
  using T = device::kernel_element<detail::element_of<X>>;
  std::apply(
      [&](const F&... f) {
        const auto fold = device::fused_folds<T>(device::placed<T>(f, out)...);
        device::enqueue_fold<T>(place, x, nullptr, fold, "fuse on a GPU");
      },
      parts_);
}

}  // namespace wf
