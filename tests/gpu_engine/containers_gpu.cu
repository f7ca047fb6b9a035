// SPDX-License-Identifier: Apache-2.0
#include "containers.hpp"

#include <cuda/std/mdspan>
#include <cuda/std/span>
#include <cuda/stream_ref>
#include <thrust/device_vector.h>

#include <string>
#include <vector>

#include <warpfold/gpu.hpp>

std::string containers_on_gpu() {
  const std::vector<float> numbers{0.5f, 1e30f, -2, -1e30f};
  const thrust::device_vector<float> x(numbers.begin(), numbers.end());
  thrust::device_vector<float> out(3);
  cudaStream_t stream = nullptr;
  const wf::gpu place{cuda::stream_ref(stream)};
  const cuda::std::span<const float> as_span(thrust::raw_pointer_cast(x.data()), x.size());
  const cuda::std::span<float> writable(thrust::raw_pointer_cast(out.data()), out.size());
  wf::sum(place, x, out.data());
  wf::max(place, as_span, out.data() + 1);
  wf::dot(place, x, as_span, writable.data() + 2, wf::fast);
  if (out[0] != -1.5f) return "the sum of a thrust::device_vector";
  if (out[1] != 1e30f) return "the maximum of a cuda::std::span";
  if (wf::sum(place, x) != -1.5f || wf::argmin(place, as_span) != 3) return "answers that are waited for";
  if (wf::sum(place, writable) != out[0] + out[1] + out[2]) return "the sum of a cuda::std::span";
  // The rows of the matrix that these four are in Fortran's order: 0.5 and -2, 1e30 and -1e30.
  const cuda::std::mdspan<const float, cuda::std::dextents<int, 2>, cuda::std::layout_left> matrix(thrust::raw_pointer_cast(x.data()), 2, 2);
  wf::sum(place, matrix, out.data(), wf::axis{1});
  if (out[0] != -1.5f || out[1] != 0) return "the sums of rows of a cuda::std::mdspan";
  if (wf::sum(place, matrix) != -1.5f) return "the sum of a cuda::std::mdspan";
  return "";
}
