// SPDX-License-Identifier: Apache-2.0
// The same by Thrust.
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/reduce.h>
#include <thrust/transform_reduce.h>

struct part {
  float n;
  __host__ __device__ float operator()(float x) const { return x / n; }
};

void three(cudaStream_t stream, const float* x, std::size_t n, float* out);
void three(cudaStream_t stream, const float* x, std::size_t n, float* out) {
  const auto on = thrust::cuda::par.on(stream);
  out[0] = thrust::reduce(on, x, x + n);
  out[1] = thrust::reduce(on, x, x + n, -INFINITY, cuda::maximum<float>{});
  out[2] = thrust::transform_reduce(on, x, x + n, part{static_cast<float>(n)}, 0.0f, cuda::std::plus<float>{});
}
int main() {}
