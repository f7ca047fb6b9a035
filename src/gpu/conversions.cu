// SPDX-License-Identifier: Apache-2.0
// Elements as those of another type, labels as int64, and pairs as two arrays. A thread has one at a time.
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/array_calls.hpp>
#include <warpfold/detail/gpu/launch_table.hpp>
#include <warpfold/device/launch.cuh>
#include <warpfold/half.hpp>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

constexpr unsigned convert_threads = 256, convert_blocks = 128, part_blocks = 512, widen_blocks = 1024;

template <class From, class To>
__global__ void __launch_bounds__(convert_threads) convert_kernel(const From* from, To* to, std::uint64_t n) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{convert_threads} + threadIdx.x; i < n; i += std::uint64_t{gridDim.x} * convert_threads) {
    if constexpr (std::is_same_v<From, f16> || std::is_same_v<From, bf16>) to[i] = static_cast<To>(static_cast<float>(from[i]));
    else to[i] = static_cast<To>(from[i]);
  }
}

template <class From, class To>
cudaError_t enqueue_convert(const void* from, void* to, std::uint64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  if (reinterpret_cast<std::uintptr_t>(from) % alignof(From) != 0 || reinterpret_cast<std::uintptr_t>(to) % alignof(To) != 0) return cudaErrorMisalignedAddress;
  return launch(convert_kernel<From, To>, {at_most(divide_up(n, convert_threads), convert_blocks), convert_threads, 0, stream, false}, static_cast<const From*>(from), static_cast<To*>(to), n);
}

using convert_function = cudaError_t (*)(const void* from, void* to, std::uint64_t n, cudaStream_t);

template <class To>
convert_function find_float_conversion(dtype element) {
  constexpr bool wide = sizeof(To) == 8;
  switch (element) {
    case dtype::f16: return enqueue_convert<f16, To>;
    case dtype::bf16: return enqueue_convert<bf16, To>;
    case dtype::i8: return enqueue_convert<std::int8_t, To>;
    case dtype::i16: return enqueue_convert<std::int16_t, To>;
    case dtype::u8: return enqueue_convert<std::uint8_t, To>;
    case dtype::u16: return enqueue_convert<std::uint16_t, To>;
    default: break;
  }
  if constexpr (wide) {
    switch (element) {
      case dtype::f32: return enqueue_convert<float, To>;
      case dtype::i32: return enqueue_convert<std::int32_t, To>;
      case dtype::u32: return enqueue_convert<std::uint32_t, To>;
      default: break;
    }
  }
  return nullptr;
}

convert_function find_conversion(dtype element, dtype wanted) {
  if (wanted == dtype::f64) return find_float_conversion<double>(element);
  if (wanted == dtype::f32) return find_float_conversion<float>(element);
  if (!is_integer(wanted) || wanted == dtype::boolean || (element != dtype::i64 && element != dtype::u64)) return nullptr;
  switch (info(wanted).size) {  // the low bits, whatever the sign
    case 1: return enqueue_convert<std::uint64_t, std::uint8_t>;
    case 2: return enqueue_convert<std::uint64_t, std::uint16_t>;
    case 4: return enqueue_convert<std::uint64_t, std::uint32_t>;
    default: return nullptr;
  }
}

/// One kernel for all types: labels come from memory once, beside a sort or atomic operations that take many times as long.
__global__ void __launch_bounds__(convert_threads) widen_labels_kernel(const unsigned char* from, int bytes, bool has_sign, std::int64_t stride, std::int64_t* to, std::uint64_t n) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{convert_threads} + threadIdx.x; i < n; i += std::uint64_t{gridDim.x} * convert_threads) {
    const unsigned char* const at = from + static_cast<std::int64_t>(i) * stride;
    std::uint64_t bits;
    switch (bytes) {
      case 1: bits = *at; break;
      case 2: bits = *reinterpret_cast<const std::uint16_t*>(at); break;
      case 4: bits = *reinterpret_cast<const std::uint32_t*>(at); break;
      default: bits = *reinterpret_cast<const std::uint64_t*>(at); break;
    }
    const int above = has_sign ? 64 - 8 * bytes : 0;
    to[i] = static_cast<std::int64_t>(bits << above) >> above;
  }
}

cudaError_t enqueue_widen_labels(const void* from, dtype element, std::int64_t stride, std::uint64_t n, std::int64_t* to, cudaStream_t stream) {
  if (!is_integer(element) || element == dtype::boolean) return cudaErrorNotSupported;
  if (n == 0) return cudaSuccess;
  const auto bytes = static_cast<int>(info(element).size);
  if (reinterpret_cast<std::uintptr_t>(from) % static_cast<unsigned>(bytes) != 0 || stride % bytes != 0) return cudaErrorMisalignedAddress;
  const bool has_sign = element < dtype::u8;
  return launch(widen_labels_kernel, {at_most(divide_up(n, convert_threads), widen_blocks), convert_threads, 0, stream, false}, static_cast<const unsigned char*>(from), bytes, has_sign, stride, to, n);
}

template <class T>
struct alignas(2 * sizeof(T)) pair_of {
  T first, second;
};
template <class T>
__global__ void __launch_bounds__(convert_threads) part_kernel(const pair_of<T>* pairs, T* first, T* second, std::uint64_t n) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{convert_threads} + threadIdx.x; i < n; i += std::uint64_t{gridDim.x} * convert_threads) {
    const pair_of<T> one = pairs[i];
    first[i] = one.first;
    second[i] = one.second;
  }
}

template <class T>
cudaError_t enqueue_part(const void* pairs, void* first, void* second, std::uint64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  if (reinterpret_cast<std::uintptr_t>(pairs) % sizeof(pair_of<T>) != 0 || (reinterpret_cast<std::uintptr_t>(first) | reinterpret_cast<std::uintptr_t>(second)) % sizeof(T) != 0)
    return cudaErrorMisalignedAddress;
  return launch(part_kernel<T>, {at_most(divide_up(n, convert_threads), part_blocks), convert_threads, 0, stream, false}, static_cast<const pair_of<T>*>(pairs), static_cast<T*>(first),
                static_cast<T*>(second), n);
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

int wf::array_calls::convert(const void* from, dtype element, void* to, dtype wanted, std::int64_t n, void* stream) {
  const auto f = device::find_conversion(element, wanted);
  if (f == nullptr) return cudaErrorNotSupported;
  return f(from, to, static_cast<std::uint64_t>(n), static_cast<cudaStream_t>(stream));
}

int wf::array_calls::widen_labels(const void* from, dtype element, std::int64_t stride, std::int64_t n, std::int64_t* to, void* stream) {
  return device::enqueue_widen_labels(from, element, stride, static_cast<std::uint64_t>(n), to, static_cast<cudaStream_t>(stream));
}

int wf::array_calls::part(const void* pairs, std::size_t size, void* first, void* second, std::int64_t n, void* stream) {
  const auto of = [&]<class T>(T) { return device::enqueue_part<T>(pairs, first, second, static_cast<std::uint64_t>(n), static_cast<cudaStream_t>(stream)); };
  switch (size) {
    case 1: return of(std::uint8_t{});
    case 2: return of(std::uint16_t{});
    case 4: return of(std::uint32_t{});
    case 8: return of(std::uint64_t{});
    default: return cudaErrorNotSupported;
  }
}
