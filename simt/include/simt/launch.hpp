// SPDX-License-Identifier: Apache-2.0
/// \file launch.hpp
/// Launches as the CUDA runtime has them: cudaLaunchKernelEx, cudaLaunchKernel, cudaLaunchCooperativeKernel.
/// A launch has ended when it returns (or was recorded in a graph), and gives back its kernel's fault.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <simt/dynamic_shared.hpp>
#include <simt/entry.hpp>

namespace simt {

enum cudaLaunchAttributeID : int {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8,
};

union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned int x, y, z;
  } clusterDim;
  int clusterSchedulingPolicyPreference;
  int programmaticStreamSerializationAllowed;
  int priority;
};

struct cudaLaunchAttribute_st {
  cudaLaunchAttributeID id;
  char pad[8 - sizeof(cudaLaunchAttributeID)];
  cudaLaunchAttributeValue val;
};
using cudaLaunchAttribute = cudaLaunchAttribute_st;

struct cudaLaunchConfig_st {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
};

namespace detail {
/// The shape that a configuration asks for; attributes that mean nothing here are passed over.
launch_shape shape_of(const cudaLaunchConfig_t&);
}  // namespace detail

inline namespace SIMT_BUILD {
namespace launching {

template <class... Parameters>
struct body {
  void (*kernel)(Parameters...);
  std::tuple<std::remove_cv_t<Parameters>...> all;
#if defined(SIMT_LENS)
  // The basic blocks of what leads to a kernel are not its own, nor are those of what follows.
  void operator()() const {
    std::apply([this](const auto&... argument) SIMT_NOT_OBSERVED {
      detail::instrumented_kernel(this, sizeof *this);
      kernel(argument...);
      detail::kernel_returned();
    }, all);
  }
#else
  void operator()() const { std::apply(kernel, all); }
#endif
};

template <class... Parameters, class... Arguments>
std::function<void()> body_of(void (*kernel)(Parameters...), Arguments&&... arguments) {
  // Converted once, as at a real launch; each CUDA thread gets copies.
  return body<Parameters...>{kernel, {std::forward<Arguments>(arguments)...}};
}

template <class... Parameters, std::size_t... I>
std::function<void()> body_from(void (*kernel)(Parameters...), void** arguments, std::index_sequence<I...>) {
  return body_of(kernel, *static_cast<std::remove_cv_t<Parameters>*>(arguments[I])...);
}

}  // namespace launching

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "as many arguments as the kernel has parameters");
  static_assert((!std::is_reference_v<Parameters> && ...), "a kernel's parameters cannot be references");
  return detail::launch(detail::shape_of(*config), reinterpret_cast<const void*>(kernel), config->stream,
                        launching::body_of(kernel, std::forward<Arguments>(arguments)...));
}

/// `arguments[i]` points to the i-th argument. The kernel's type must be known: a void* will not do here.
template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  const cudaLaunchConfig_t config{grid, block, shared_bytes, stream, nullptr, 0};
  return detail::launch(detail::shape_of(config), reinterpret_cast<const void*>(kernel), stream,
                        launching::body_from(kernel, arguments, std::index_sequence_for<Parameters...>()));
}

template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  cudaLaunchAttribute whole{};
  whole.id = cudaLaunchAttributeCooperative;
  whole.val.cooperative = 1;
  const cudaLaunchConfig_t config{grid, block, shared_bytes, stream, &whole, 1};
  return detail::launch(detail::shape_of(config), reinterpret_cast<const void*>(kernel), stream,
                        launching::body_from(kernel, arguments, std::index_sequence_for<Parameters...>()));
}

}  // inline namespace SIMT_BUILD
}  // namespace simt
