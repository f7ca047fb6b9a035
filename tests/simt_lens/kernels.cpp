// SPDX-License-Identifier: Apache-2.0
// Compiled as instrumented CUDA.
#include "kernels.hpp"

#include <cuda/atomic>
#include <cuda_runtime.h>

#include <cstring>

#include "registry.hpp"

extern __shared__ __align__(16) unsigned char lens_dynamic[];

namespace lens_test {

namespace {

constexpr auto device = cuda::thread_scope_device;

__global__ void racing_add(const float* in, float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) *out += in[i];  // @racing-add
}

template <bool Barrier>
__global__ void tree(const float* in, float* out, unsigned n) {
  auto* s = reinterpret_cast<float*>(lens_dynamic);
  const unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  if (!Barrier) {  // else it would be a fault at once, not a race
    s[tid] = 0;
    __syncthreads();
  }
  s[tid] = i < n ? in[i] : 0.0f;  // @tree-store
  if (Barrier) __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (tid < step) s[tid] += s[tid + step];  // @tree-add
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, s[0]);
}

template <bool Modulo>
__global__ void tree_interleaved(const float* in, float* out, unsigned) {
  auto* s = reinterpret_cast<float*>(lens_dynamic);
  const unsigned tid = threadIdx.x;
  s[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    const unsigned at = Modulo ? tid : 2 * step * tid;
    if (Modulo ? tid % (2 * step) == 0 : at < blockDim.x) s[at] += s[at + step];
    __syncthreads();
  }
  if (tid == 0) atomicAdd(out, s[0]);
}

template <int Order>  // 0 none, 1 __syncwarp, 2 the half mask, 3 shuffle
__global__ void neighbours(const float* in, float* out, unsigned) {
  __shared__ float s[64];
  const unsigned tid = threadIdx.x;
  s[tid] = 0;
  __syncthreads();
  s[tid] = in[tid];  // @neighbour-store
  if (Order == 1) __syncwarp();
  if (Order == 2) __syncwarp(tid % 32 < 16 ? 0x0000FFFFu : 0xFFFF0000u);
  const float moved = Order == 3 ? __shfl_xor_sync(~0u, in[tid], 1) : 0;
  out[tid] = s[tid ^ 1] + moved;  // @neighbour-load
  if (Order == 2) out[64 + tid] = s[tid ^ 16];  // @neighbour-far
}

__global__ void between_warps(const float*, float* out, unsigned) {
  __shared__ float s[64];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[threadIdx.x] = 1;  // @warps-store
  __syncwarp();
  out[threadIdx.x] = s[63 - threadIdx.x];  // @warps-load
}

// Block 0 clears what the others add to: right when it runs first.
__global__ void clear_in_block_0(const float* in, float* out, unsigned) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *out = 0;  // @clear
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, in[0]);  // @clear-add
}

template <class T>
__device__ void last_warp(volatile T* s, unsigned tid) {
  s[tid] = s[tid] + s[tid + 32];  // @unroll-32
  s[tid] = s[tid] + s[tid + 16];  // @unroll-16
  s[tid] = s[tid] + s[tid + 8];   // @unroll-8
  s[tid] = s[tid] + s[tid + 4];   // @unroll-4
  s[tid] = s[tid] + s[tid + 2];   // @unroll-2
  s[tid] = s[tid] + s[tid + 1];   // @unroll-1
}

__device__ void last_warp_sync(float* s, unsigned tid) {
  for (unsigned step = 32; step > 0; step /= 2) {
    const float sum = s[tid] + s[tid + step];
    __syncwarp();
    s[tid] = sum;
    __syncwarp();
  }
}

template <bool Sync>
__global__ void unrolled(const float* in, float* out, unsigned) {
  auto* s = reinterpret_cast<float*>(lens_dynamic);
  const unsigned tid = threadIdx.x;
  s[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 32; step /= 2) {
    if (tid < step) s[tid] += s[tid + step];
    __syncthreads();
  }
  if (tid < 32) {
    if (Sync) last_warp_sync(s, tid);
    else last_warp<float>(s, tid);
  }
  if (tid == 0) out[blockIdx.x] = s[0];
}

__device__ float warp_sum(float x) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(~0u, x, d);
  return x;
}

__global__ void shuffle_block(const float* in, float* out, unsigned n) {
  __shared__ float part[32];
  float x = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x += in[i];
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x < 32) {
    x = warp_sum(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) atomicAdd(out, x);
  }
}

/// Every block adds to out[0] with atomics that only its own threads see as such, or to a word of its own.
template <bool Shares>
__global__ void adds_for_its_block(const float*, float* out, unsigned) {
  atomicAdd_block(out + (Shares ? 0 : blockIdx.x), 1.0f);  // @block-add
}

/// One block's atomics reach the device; the other's do not.
__global__ void adds_by_two_scopes(const float*, float* out, unsigned) {
  if (blockIdx.x == 0)
    atomicAdd(out, 1.0f);  // @device-add
  else
    cuda::atomic_ref<float, cuda::thread_scope_block>(*out).fetch_add(1.0f, cuda::memory_order_relaxed);  // @narrow-add
}

__device__ float partials[4096];
__device__ unsigned arrived = 0;

template <bool Fence>
__global__ void last_block(const float* in, float* out, unsigned n) {
  __shared__ bool is_last;
  const unsigned tid = threadIdx.x;
  if (tid == 0) {
    float x = 0;
    for (unsigned i = blockIdx.x; i < n; i += gridDim.x) x += in[i];
    partials[blockIdx.x] = x;  // @ticket-store
    if (Fence) __threadfence();
    is_last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  float x = 0;
  for (unsigned i = tid; i < gridDim.x; i += blockDim.x) x += partials[i];  // @ticket-load
  atomicAdd(out, x);
}

__device__ unsigned turn = 0;

// A chain: each block waits for the one before it, and adds to a plain word.
template <bool Acquire>
__global__ void mailbox(const float* in, float* out, unsigned) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<unsigned, device> next(turn);
  while (next.load(Acquire ? cuda::memory_order_acquire : cuda::memory_order_relaxed) != blockIdx.x)
    __nanosleep(20);
  *out = *out + in[blockIdx.x];  // @mail
  next.store((blockIdx.x + 1) % gridDim.x, cuda::memory_order_release);
}

__global__ void halves(const float*, float* out, unsigned) {
  __shared__ unsigned short s[64];
  s[threadIdx.x] = static_cast<unsigned short>(threadIdx.x);
  out[threadIdx.x] = s[threadIdx.x];
}

__global__ void vectors(const float* in, float* out, unsigned) {
  const float4 v = reinterpret_cast<const float4*>(in)[threadIdx.x];
  reinterpret_cast<float4*>(out)[threadIdx.x] = v;
}

__global__ void vectors_race(const float*, float* out, unsigned) {
  out[4 * threadIdx.x + 3] = 1;  // @vector-store
  const float4 v = reinterpret_cast<const float4*>(out)[(threadIdx.x + 1) % blockDim.x];  // @vector-load
  if (v.x == -1) out[0] = v.w;
}

// ---- Out of bounds

__global__ void past_static(const float*, float* out, unsigned n) {
  __shared__ float s[64], t[64];
  s[threadIdx.x] = t[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x + n] + t[threadIdx.x];  // @past-static
}

__global__ void past_dynamic(const float*, float* out, unsigned n) {
  auto* s = reinterpret_cast<float*>(lens_dynamic);
  s[threadIdx.x + n] = 1;  // @past-dynamic
  out[threadIdx.x] = s[threadIdx.x + n];
}

__global__ void past_global(const float* in, float* out, unsigned n) {
  const float x = in[threadIdx.x + n];  // @past-global
  out[threadIdx.x] = x;
}

__global__ void across_the_end(const float* in, float* out, unsigned n) {
  const auto* p = reinterpret_cast<const double*>(in + n);
  out[0] = static_cast<float>(*p);  // @across
}

__global__ void atomic_past_global(const float*, float* out, unsigned n) {
  atomicAdd(out + n, 1.0f);  // @atomic-past
}

// ---- Shared memory that nobody wrote

__global__ void unwritten(const float*, float* out, unsigned n) {
  __shared__ float s[64];
  if (threadIdx.x != n) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];  // @unwritten
}

__global__ void unwritten_dynamic(const float*, float* out, unsigned n) {
  auto* s = reinterpret_cast<float*>(lens_dynamic);
  if (threadIdx.x < n) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];  // @unwritten-dynamic
}

__global__ void unwritten_in_block_1(const float*, float* out, unsigned) {
  __shared__ float s[32];
  if (blockIdx.x == 0) s[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x];  // @unwritten-block
}

__global__ void unwritten_half(const float*, float* out, unsigned) {
  __shared__ unsigned short s[64];
  s[2 * threadIdx.x] = 7;
  out[threadIdx.x] = static_cast<float>(*reinterpret_cast<unsigned*>(s + 2 * threadIdx.x));  // @unwritten-half
}

struct padded {
  double value;
  int index;
};

__global__ void copies_with_padding(const float*, float* out, unsigned) {
  __shared__ padded s[64];
  s[threadIdx.x].value = 1;
  s[threadIdx.x].index = 2;
  __syncthreads();
  const padded mine = s[63 - threadIdx.x];
  out[threadIdx.x] = static_cast<float>(mine.value) + static_cast<float>(mine.index);
}

// ---- Static and dynamic shared memory in one kernel, too much of it

__global__ void static_and_dynamic(const float* in, float* out, unsigned n) {
  __shared__ float factors[8];
  auto* s = reinterpret_cast<float*>(lens_dynamic);
  if (threadIdx.x < 8) factors[threadIdx.x] = 2;
  s[threadIdx.x + n] = in[threadIdx.x];  // @both-dynamic
  __syncthreads();
  out[threadIdx.x] = factors[threadIdx.x % 8] * s[threadIdx.x + n];
}

__global__ void only_static(const float*, float* out, unsigned) {
  __shared__ float s[2048];
  s[threadIdx.x] = 3;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}

__global__ void two_large_arrays(const float*, float* out, unsigned n) {
  __shared__ float a[8192], b[8192];
  a[threadIdx.x] = 1;
  if (n != 0) b[threadIdx.x] = a[threadIdx.x];  // @too-much-shared
  out[threadIdx.x] = n != 0 ? b[threadIdx.x] : a[threadIdx.x];
}

// ---- Addresses that are no multiple of a size

template <class T>
__global__ void skewed_read(const float* in, float* out, unsigned n) {
  const auto* bytes = reinterpret_cast<const char*>(in) + n;
  out[threadIdx.x] = static_cast<float>(reinterpret_cast<const T*>(bytes)[threadIdx.x]);  // @skewed-read
}

__global__ void skewed_write(const float*, float* out, unsigned n) {
  auto* bytes = reinterpret_cast<char*>(out) + n;
  *reinterpret_cast<volatile unsigned short*>(bytes) = 1;  // @skewed-write
}

__global__ void skewed_atomic(const float*, float* out, unsigned n) {
  atomicAdd(reinterpret_cast<unsigned long long*>(reinterpret_cast<char*>(out) + n), 1ull);  // @skewed-atomic
}

__global__ void skewed_shared(const float*, float* out, unsigned n) {
  __shared__ unsigned char s[64];
  s[2 * threadIdx.x] = s[2 * threadIdx.x + 1] = 0;
  __syncthreads();
  out[threadIdx.x] = static_cast<float>(*reinterpret_cast<unsigned*>(s + n));  // @skewed-shared
}

__global__ void skewed_vector(const float* in, float* out, unsigned n) {
  const float4 v = *reinterpret_cast<const float4*>(in + n);  // @skewed-vector
  *reinterpret_cast<float4*>(out) = v;
}

struct __attribute__((packed)) packed {
  char tag;
  float value;
};
struct pair {  // 8 bytes, aligned to 4
  float a, b;
};
struct doubles {  // 16 bytes, aligned to 8
  double a, b;
};

__global__ void aligned_as_its_type(const float* in, float* out, unsigned) {
  const unsigned tid = threadIdx.x;
  const auto* bytes = reinterpret_cast<const char*>(in);
  float copied[2];
  std::memcpy(copied, bytes + 8 * tid + 1, sizeof copied);
  const auto* packs = reinterpret_cast<const packed*>(bytes);
  auto* out_packs = reinterpret_cast<packed*>(out);
  out_packs[tid] = packs[tid + 1];
  out_packs[tid].value += packs[tid].value + copied[0] + copied[1];
  reinterpret_cast<pair*>(out + 1025)[tid] = reinterpret_cast<const pair*>(in + 1)[tid];
  reinterpret_cast<doubles*>(out + 2050)[tid] = reinterpret_cast<const doubles*>(in + 2)[tid];
  const double2 d = reinterpret_cast<const double2*>(in)[tid];
  reinterpret_cast<double2*>(out + 4096)[tid].y = d.x + d.y;
}

// ---- What never ends

__global__ void counts_for_ever(const float*, float* out, unsigned) {
  unsigned i = 0;
  while (i != 1) { i += 2; __asm__ volatile("" : "+r"(i)); }  // @endless
  out[0] = static_cast<float>(i);
}

__global__ void waits_for_nobody(const float* in, float* out, unsigned) {
  while (*static_cast<const volatile float*>(in) == 1) {}  // @volatile-spin
  out[0] = 1;
}

__global__ void waits_by_atomics(const float*, float* out, unsigned) {
  while (atomicAdd(out, 0.0f) == 0) {}  // @atomic-spin
}

// ---- What is none of the checks' business

__constant__ float table[4] = {1, 2, 3, 4};

__global__ void constants(const float*, float* out, unsigned) {
  static constexpr float more[] = {5, 6, 7, 8};
  float local[8];
  for (unsigned i = 0; i < 8; ++i) local[(i * 3 + threadIdx.x) % 8] = i < 4 ? table[i] : more[i % 4];
  out[threadIdx.x] = local[threadIdx.x % 8];
}

__device__ __attribute__((noinline)) unsigned descend(unsigned n) {
  volatile unsigned here = n;
  return n == 0 ? 0 : descend(n - 1) + here;  // @descend
}

__global__ void descends(const float*, float* out, unsigned n) { out[threadIdx.x] = static_cast<float>(descend(n)); }

const registered all[] = {
    {"racing_add", racing_add},
    {"tree", tree<true>},
    {"tree_without_barrier", tree<false>},
    {"tree_modulo", tree_interleaved<true>},
    {"tree_strided", tree_interleaved<false>},
    {"neighbours", neighbours<0>},
    {"neighbours_syncwarp", neighbours<1>},
    {"neighbours_half", neighbours<2>},
    {"neighbours_shuffle", neighbours<3>},
    {"between_warps", between_warps},
    {"clear_in_block_0", clear_in_block_0},
    {"unrolled", unrolled<false>},
    {"unrolled_sync", unrolled<true>},
    {"shuffle_block", shuffle_block},
    {"last_block", last_block<true>},
    {"last_block_without_fence", last_block<false>},
    {"adds_for_its_block", adds_for_its_block<false>},
    {"adds_for_all_blocks", adds_for_its_block<true>},
    {"adds_by_two_scopes", adds_by_two_scopes},
    {"mailbox", mailbox<true>},
    {"mailbox_relaxed", mailbox<false>},
    {"halves", halves},
    {"vectors", vectors},
    {"vectors_race", vectors_race},
    {"past_static", past_static},
    {"past_dynamic", past_dynamic},
    {"past_global", past_global},
    {"across_the_end", across_the_end},
    {"atomic_past_global", atomic_past_global},
    {"unwritten", unwritten},
    {"unwritten_dynamic", unwritten_dynamic},
    {"unwritten_in_block_1", unwritten_in_block_1},
    {"unwritten_half", unwritten_half},
    {"copies_with_padding", copies_with_padding},
    {"constants", constants},
    {"static_and_dynamic", static_and_dynamic},
    {"only_static", only_static},
    {"two_large_arrays", two_large_arrays},
    {"skewed_read<float>", skewed_read<float>},
    {"skewed_read<double>", skewed_read<double>},
    {"skewed_write", skewed_write},
    {"skewed_atomic", skewed_atomic},
    {"skewed_shared", skewed_shared},
    {"skewed_vector", skewed_vector},
    {"aligned_as_its_type", aligned_as_its_type},
    {"counts_for_ever", counts_for_ever},
    {"waits_for_nobody", waits_for_nobody},
    {"waits_by_atomics", waits_by_atomics},
    {"descends", descends},
};

}  // namespace

std::span<const registered> plain_kernels() { return all; }

}  // namespace lens_test
