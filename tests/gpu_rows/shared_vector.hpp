// SPDX-License-Identifier: Apache-2.0
/// \file shared_vector.hpp
/// Arrays that simt's kernels may read and write, and the tests too.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <new>
#include <vector>

/// Memory of the device, which simt's host can read too.
template <class T>
struct device_memory {
  using value_type = T;
  device_memory() = default;
  template <class U>
  device_memory(const device_memory<U>&) {}
  T* allocate(std::size_t n) {
    void* p = nullptr;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) throw std::bad_alloc();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) { static_cast<void>(cudaFree(p)); }
  friend bool operator==(const device_memory&, const device_memory&) { return true; }
};
template <class T>
using shared_vector = std::vector<T, device_memory<T>>;
