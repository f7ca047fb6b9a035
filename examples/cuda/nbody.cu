// SPDX-License-Identifier: Apache-2.0
// Bodies that attract each other: tiles of positions in shared memory, float4, operators of float3, memory of both sides.
//   warpfold run examples/cuda/nbody.cu        or: nvcc examples/cuda/nbody.cu && ./a.out
#include <cmath>
#include <cstdio>

__device__ __forceinline__ float3& operator+=(float3& a, const float3& b) {
  a.x += b.x;
  a.y += b.y;
  a.z += b.z;
  return a;
}

__device__ float3 pull(float4 mine, float4 other) {
  const float dx = other.x - mine.x, dy = other.y - mine.y, dz = other.z - mine.z;
  const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), strength = other.w * inverse * inverse * inverse;
  return make_float3(dx * strength, dy * strength, dz * strength);
}

template <int tile>
__global__ __launch_bounds__(tile) void accelerate(const float4* __restrict__ place, float4* speed, float dt, int n) {
  __shared__ float4 others[tile];
  const int i = blockIdx.x * tile + threadIdx.x;
  const float4 mine = i < n ? place[i] : float4{};
  float3 force{0, 0, 0};
  for (int first = 0; first < n; first += tile) {
    const int j = first + threadIdx.x;
    others[threadIdx.x] = j < n ? place[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < tile; ++k) force += pull(mine, others[k]);
    __syncthreads();
  }
  if (i >= n) return;
  speed[i].x += dt * force.x;
  speed[i].y += dt * force.y;
  speed[i].z += dt * force.z;
}

__global__ void move(float4* place, const float4* speed, float dt, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    place[i].x += dt * speed[i].x;
    place[i].y += dt * speed[i].y;
    place[i].z += dt * speed[i].z;
  }
}

int main() {
  constexpr int n = 500, tile = 64;
  float4 *place, *speed;
  cudaMallocManaged(&place, n * sizeof(float4));
  cudaMallocManaged(&speed, n * sizeof(float4));
  for (int i = 0; i < n; ++i) {
    place[i] = make_float4(cosf(i), sinf(2.0f * i), cosf(3.0f * i + 1), 1);
    speed[i] = make_float4(0, 0, 0, 0);
  }
  for (int step = 0; step < 2; ++step) {
    accelerate<tile><<<(n + tile - 1) / tile, tile>>>(place, speed, 0.01f, n);
    move<<<2, 128>>>(place, speed, 0.01f, n);
    cudaDeviceSynchronize();
  }
  double x = 0, y = 0, z = 0, energy = 0;
  for (int i = 0; i < n; ++i) {
    x += speed[i].x;
    y += speed[i].y;
    z += speed[i].z;
    energy += speed[i].x * speed[i].x + speed[i].y * speed[i].y + speed[i].z * speed[i].z;
  }
  std::printf("they move: %s; their momentum stays: %s; %s\n", energy > 1 ? "yes" : "no", std::fabs(x) + std::fabs(y) + std::fabs(z) < 1e-2 * energy ? "yes" : "no",
              cudaGetErrorString(cudaGetLastError()));
  cudaFree(place);
  cudaFree(speed);
}
