// SPDX-License-Identifier: Apache-2.0
// The same by CUB: the mean is a sum of quotients.
#include <cub/device/device_reduce.cuh>

struct part {
  float n;
  __host__ __device__ float operator()(float x) const { return x / n; }
};

void three(cudaStream_t stream, void* temporary, std::size_t bytes, const float* x, std::size_t n, float* out);
void three(cudaStream_t stream, void* temporary, std::size_t bytes, const float* x, std::size_t n, float* out) {
  cub::DeviceReduce::Sum(temporary, bytes, x, out, n, stream);
  cub::DeviceReduce::Max(temporary, bytes, x, out + 1, n, stream);
  cub::DeviceReduce::TransformReduce(temporary, bytes, x, out + 2, n, cuda::std::plus<>{}, part{static_cast<float>(n)}, 0.0f, stream);
}
int main() {}
