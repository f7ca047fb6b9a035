// SPDX-License-Identifier: Apache-2.0
// Every device function of CUDA's headers can be called as they declare it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace {

using std::invoke_result_t;
using std::is_same_v;

template <class Answer, class... Given, class Function>
constexpr bool gives(Function) {
  return is_same_v<invoke_result_t<Function, Given...>, Answer>;
}

#define HAS(name, ...) static_assert(gives<__VA_ARGS__>([](auto... x) -> decltype(name(x...)) { return name(x...); }), #name);
#include "cuda_functions.inc"
#undef HAS

TEST(functions, all_that_cuda_declares_compiles) { SUCCEED(); }

}  // namespace
