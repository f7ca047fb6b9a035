// SPDX-License-Identifier: Apache-2.0
/// \file own_kernel.hpp
/// What `warpfold explain FILE:KERNEL` compiles a user's file with: describes the kernel's parameters, and
/// hands it to the lens. Needs simt's headers and nothing else.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace lens::own {

/// `const float*` is a pointer to a constant f32. Elements of no known type have no name.
struct parameter {
  bool is_pointer = false, is_constant = false, is_known = true;
  const char* element = "";
  std::size_t size = 0;  ///< an element's, or the value's
};

template <class T>
constexpr const char* element_name() {
  using std::is_same_v;
  if constexpr (is_same_v<T, float>) return "f32";
  else if constexpr (is_same_v<T, double>) return "f64";
  else if constexpr (is_same_v<T, __half>) return "f16";
  else if constexpr (is_same_v<T, __nv_bfloat16>) return "bf16";
  else if constexpr (is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_integral_v<T>) {
    constexpr const char* names[2][4] = {{"u8", "u16", "u32", "u64"}, {"i8", "i16", "i32", "i64"}};
    return names[std::is_signed_v<T>][sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
  } else return "";
}

template <class P>
parameter describe() {
  parameter p;
  if constexpr (std::is_pointer_v<P>) {
    using target = std::remove_pointer_t<P>;
    using plain = std::remove_cv_t<target>;
    p.is_pointer = true;
    p.is_constant = std::is_const_v<target>;
    p.is_known = !std::is_pointer_v<plain>;
    p.element = element_name<plain>();
    if constexpr (!std::is_void_v<plain> && !std::is_function_v<plain>) p.size = sizeof(plain);
  } else {
    p.element = element_name<P>();
    p.is_known = *p.element != '\0';
    p.size = sizeof(P);
  }
  return p;
}

struct kernel {
  std::vector<parameter> parameters;
  /// values[i] points to the i-th argument.
  std::function<cudaError_t(const cudaLaunchConfig_t&, void** values)> launch;
};

template <class... P>
kernel kernel_of(void (*function)(P...)) {
  return {{describe<std::remove_cv_t<P>>()...}, [function](const cudaLaunchConfig_t& config, void** values) {
            cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(config.dynamicSmemBytes));
            cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
              return cudaLaunchKernelEx(&config, function, *static_cast<std::remove_cv_t<P>*>(values[I])...);
            }(std::index_sequence_for<P...>{});
          }};
}

/// The program's main: reads the command that `warpfold explain` wrote, runs, counts and prints. The exit
/// status is the command's.
int run(int argc, char** argv, const kernel&);

}  // namespace lens::own
