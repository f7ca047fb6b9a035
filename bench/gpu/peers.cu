// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"

#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>

#include <cstring>
#include <iterator>

#include "../../src/measure/read.cuh"
#include "measure.hpp"

namespace bench {

namespace {

struct add_floats {  // halves, accumulated in float
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct square {
  __device__ float operator()(float x) const { return x * x; }
};
struct product {
  const float *x, *y;
  __device__ float operator()(std::int64_t i) const { return x[i] * y[i]; }
};
struct moments {
  float sum, squares;
};
struct to_moments {
  __device__ moments operator()(float x) const { return {x, x * x}; }
};
struct add_moments {
  __device__ moments operator()(moments a, moments b) const {
    return {a.sum + b.sum, a.squares + b.squares};
  }
};

using wf::dtype;
using wf::op;

template <class T>
constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
using sum_of = std::conditional_t<std::is_integral_v<T>, std::int64_t, std::conditional_t<is_half<T>, float, T>>;

/// Min, max and their places, of T.
template <class T>
cudaError_t order(const peer_request& r, std::size_t bytes) {
  const auto* x = static_cast<const T*>(r.x);
  auto* out = static_cast<T*>(r.out);
  auto* index = static_cast<std::int64_t*>(r.out) + 1;
  using cub::DeviceReduce;
  switch (r.what) {
    case op::min: return DeviceReduce::Min(r.scratch, bytes, x, out, r.n, r.stream);
    case op::max: return DeviceReduce::Max(r.scratch, bytes, x, out, r.n, r.stream);
    case op::argmin: return DeviceReduce::ArgMin(r.scratch, bytes, x, out, index, r.n, r.stream);
    case op::argmax: return DeviceReduce::ArgMax(r.scratch, bytes, x, out, index, r.n, r.stream);
    default: return cudaErrorNotSupported;
  }
}

template <class T>
cudaError_t sum(const peer_request& r, std::size_t bytes) {
  const auto* x = static_cast<const T*>(r.x);
  auto* out = static_cast<sum_of<T>*>(r.out);
  if constexpr (is_half<T>) {
    return cub::DeviceReduce::Reduce(r.scratch, bytes, x, out, r.n, add_floats{}, 0.0f, r.stream);
  } else if constexpr (std::is_same_v<T, sum_of<T>>) {
    return cub::DeviceReduce::Sum(r.scratch, bytes, x, out, r.n, r.stream);
  } else {
    return cub::DeviceReduce::Reduce(r.scratch, bytes, x, out, r.n, cuda::std::plus<>{}, std::int64_t{0}, r.stream);
  }
}

/// Squares, products, moments, of float.
cudaError_t transformed(const peer_request& r, std::size_t bytes) {
  const auto* x = static_cast<const float*>(r.x);
  auto* out = static_cast<float*>(r.out);
  switch (r.what) {
    case op::norm2:
      return cub::DeviceReduce::TransformReduce(r.scratch, bytes, x, out, r.n, add_floats{}, square{}, 0.0f, r.stream);
    case op::dot:
      return cub::DeviceReduce::TransformReduce(r.scratch, bytes, thrust::counting_iterator<std::int64_t>(0), out, r.n,
                                                add_floats{}, product{x, static_cast<const float*>(r.y)}, 0.0f, r.stream);
    case op::mean_var:
      return cub::DeviceReduce::TransformReduce(r.scratch, bytes, x, static_cast<moments*>(r.out), r.n, add_moments{},
                                                to_moments{}, moments{0, 0}, r.stream);
    default: return cudaErrorNotSupported;
  }
}

bool is_order(op o) { return o == op::min || o == op::max || o == op::argmin || o == op::argmax; }

}  // namespace

bool has_peer(op o, dtype t) {
  if (o == op::sum) {
    return t == dtype::f32 || t == dtype::f64 || t == dtype::f16 || t == dtype::bf16 || t == dtype::i8 ||
           t == dtype::i16 || t == dtype::i32 || t == dtype::i64;
  }
  if (is_order(o)) return t == dtype::f32 || t == dtype::i32;
  return t == dtype::f32 && (o == op::norm2 || o == op::dot || o == op::mean_var);
}

void run_peer(const peer_request& r) {
  const std::size_t b = r.scratch_bytes;
  const auto call = [&]() -> cudaError_t {
    if (is_order(r.what)) return r.element == dtype::f32 ? order<float>(r, b) : order<std::int32_t>(r, b);
    if (r.what != op::sum) return transformed(r, b);
    switch (r.element) {
      case dtype::f32: return sum<float>(r, b);
      case dtype::f64: return sum<double>(r, b);
      case dtype::f16: return sum<__half>(r, b);
      case dtype::bf16: return sum<__nv_bfloat16>(r, b);
      case dtype::i8: return sum<std::int8_t>(r, b);
      case dtype::i16: return sum<std::int16_t>(r, b);
      case dtype::i32: return sum<std::int32_t>(r, b);
      case dtype::i64: return sum<std::int64_t>(r, b);
      default: return cudaErrorNotSupported;
    }
  };
  WF_CHECK(call());
}

double peer_answer(op o, dtype t, const void* out) {
  const auto as = [&]<class T>(T x, std::size_t at) {
    std::memcpy(&x, static_cast<const char*>(out) + at, sizeof x);
    return static_cast<double>(x);
  };
  if (o == op::argmin || o == op::argmax) return as(std::int64_t{}, 8);
  if (o == op::sum && wf::is_integer(t)) return as(std::int64_t{}, 0);
  if (t == dtype::i32) return as(std::int32_t{}, 0);
  return t == dtype::f64 ? as(double{}, 0) : as(float{}, 0);
}

int read_ways() { return static_cast<int>(std::size(wf::measure::read_ways)); }

void run_read(int way, const void* x, std::size_t bytes, unsigned* out, cudaStream_t stream) {
  int sm = 0, l2 = 0;
  WF_CHECK(cudaDeviceGetAttribute(&sm, cudaDevAttrMultiProcessorCount, 0));
  WF_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
  WF_CHECK(wf::measure::enqueue_read(wf::measure::read_ways[way], x, bytes, out, {static_cast<unsigned>(sm), static_cast<std::uint64_t>(l2)}, stream));
}

}  // namespace bench
