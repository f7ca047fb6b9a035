// SPDX-License-Identifier: Apache-2.0
/// \file program.hpp
/// What `kernel<<<…>>>(…)` becomes in a whole program (simt/translate/translate.cpp), and launches by pointers that have
/// forgotten their type.
#pragma once

#include <exception>
#include <new>  // whose functions clang declares itself, for the host

// For clang's parser alone: any function may be called by any other, as on simt.
#if defined(SIMT_TRANSLATED)
#pragma clang force_cuda_host_device begin
#endif

#include <cuda_runtime.h>

#include <type_traits>
#include <utility>

#include <simt/launch.hpp>
#include <simt/program_api.hpp>

namespace simt {
namespace detail {

/// Makes a launch's body from a kernel's address and pointers to its arguments.
using body_maker = std::function<void()> (*)(const void* kernel, void** arguments);
void remember_kernel(const void* kernel, body_maker);
/// Null for an address that was not remembered.
body_maker maker_of(const void* kernel);

/// On standard error, once, what the launch's kernel died of; and that the program then does not exit with 0.
void tell_fault(cudaError_t);

[[noreturn]] void inline_ptx();
/// A kernel that launches another dies of it.
void refuse_launch_in_kernel();

}  // namespace detail

inline namespace SIMT_BUILD {
namespace launching {

/// What stands between `<<<` and `>>>`.
struct configuration {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  configuration(dim3 g, dim3 b, std::size_t bytes = 0, cudaStream_t s = nullptr) : grid(g), block(b), shared_bytes(bytes), stream(s) {}
  detail::launch_shape shape() const { return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, {1, 1, 1}, shared_bytes, false}; }
};

/// The kernel's parameter types are given, so of several kernels of the name the right one is taken.
template <class... Parameters>
SIMT_INLINE void launch(const configuration& c, void (*kernel)(std::type_identity_t<Parameters>...), Parameters... values) {
  detail::refuse_launch_in_kernel();
  detail::tell_fault(detail::launch(c.shape(), reinterpret_cast<const void*>(kernel), c.stream, body_of(kernel, std::move(values)...)));
}

/// A kernel behind a pointer.
template <class... Parameters>
auto by_pointer(void (*kernel)(Parameters...)) {
  return [kernel](const configuration& c, std::type_identity_t<Parameters>... values) {
    launch<std::remove_cv_t<Parameters>...>(c, kernel, std::move(values)...);
  };
}

template <class... Parameters>
std::function<void()> remade_body(const void* kernel, void** arguments) {
  return body_from(reinterpret_cast<void (*)(Parameters...)>(reinterpret_cast<std::uintptr_t>(kernel)), arguments,
                   std::index_sequence_for<Parameters...>());
}

/// Stands where a program has inline PTX: the launch that comes to it fails, with cudaErrorNotSupported.
[[noreturn]] SIMT_INLINE void inline_ptx() { detail::inline_ptx(); }

/// For a kernel that is about to become a void*.
template <class... Parameters>
constexpr auto known(void (*kernel)(Parameters...)) {
  if (!std::is_constant_evaluated()) detail::remember_kernel(reinterpret_cast<const void*>(kernel), remade_body<Parameters...>);
  return kernel;
}

}  // namespace launching

inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes = 0,
                                    cudaStream_t stream = nullptr) {
  const detail::body_maker make = detail::maker_of(kernel);
  if (make == nullptr) return detail::set_last_error(cudaErrorInvalidDeviceFunction);
  return detail::launch(launching::configuration(grid, block, shared_bytes).shape(), kernel, stream, make(kernel, arguments));
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               std::size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  const detail::body_maker make = detail::maker_of(kernel);
  if (make == nullptr) return detail::set_last_error(cudaErrorInvalidDeviceFunction);
  detail::launch_shape shape = launching::configuration(grid, block, shared_bytes).shape();
  shape.cooperative = true;
  return detail::launch(shape, kernel, stream, make(kernel, arguments));
}

}  // inline namespace SIMT_BUILD
}  // namespace simt

// clang's parser looks for one of these, by the version of CUDA that it takes the file for; nobody defines them.
unsigned cudaConfigureCall(simt::dim3, simt::dim3, std::size_t = 0, simt::cudaStream_t = nullptr);
unsigned __cudaPushCallConfiguration(simt::dim3, simt::dim3, std::size_t = 0, simt::cudaStream_t = nullptr);
