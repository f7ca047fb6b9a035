// SPDX-License-Identifier: Apache-2.0
/// \file shared_place.cuh
/// Values for the last steps of a kernel, where every thread waits: addresses of shared memory and numbers of the launch that were read before.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <warpfold/config.hpp>

namespace wf::device::inline WF_BUILD {

/// A value that the compiler keeps in a register from here on, and does not make again where it is used. In the last steps of a kernel, which wait for one another, a special
/// register costs 50 cycles, and what every launch has in constant memory 35.
template <class V>
__device__ __forceinline__ V in_register(V v) {
#if !defined(__SIMT__)
  static_assert(sizeof v == 4 || sizeof v == 8);
  if constexpr (sizeof v == 4) asm volatile("" : "+r"(v));
  else asm volatile("" : "+l"(v));
#endif
  return v;
}

/// An array of V in shared memory, whose address is made once, where this is: ptxas makes it at each use otherwise, with a special register.
template <class V>
class shared_place {
  static_assert(sizeof(V) % 16 == 0);

 public:
  __device__ __forceinline__ explicit shared_place(V* first)
#if defined(__SIMT__)
      : first_(first) {}
#else
      : address_(in_register(static_cast<std::uint32_t>(__cvta_generic_to_shared(first)))) {}
#endif
  __device__ __forceinline__ void put(int i, const V& v) const {
#if defined(__SIMT__)
    first_[i] = v;
#else
    std::uint64_t w[sizeof(V) / 8];
    __builtin_memcpy(w, &v, sizeof v);
#pragma unroll
    for (int j = 0; j < static_cast<int>(sizeof(V) / 8); j += 2)
      asm volatile("st.shared.v2.b64 [%0], {%1, %2};" ::"r"(address_ + static_cast<std::uint32_t>(i) * std::uint32_t{sizeof(V)} + 8 * j), "l"(w[j]), "l"(w[j + 1]) : "memory");
#endif
  }
  __device__ __forceinline__ V get(int i) const {
#if defined(__SIMT__)
    return first_[i];
#else
    std::uint64_t w[sizeof(V) / 8];
#pragma unroll
    for (int j = 0; j < static_cast<int>(sizeof(V) / 8); j += 2)
      asm volatile("ld.shared.v2.b64 {%0, %1}, [%2];" : "=l"(w[j]), "=l"(w[j + 1]) : "r"(address_ + static_cast<std::uint32_t>(i) * std::uint32_t{sizeof(V)} + 8 * j) : "memory");
    V v;
    __builtin_memcpy(&v, w, sizeof v);
    return v;
#endif
  }

 private:
#if defined(__SIMT__)
  V* first_;
#else
  std::uint32_t address_;
#endif
};

}  // namespace wf::device::inline WF_BUILD
