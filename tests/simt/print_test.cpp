// SPDX-License-Identifier: Apache-2.0
// What kernels print: built-in variables are numbers to printf, as nvcc has them.
#include "launching.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

enum colour { red = 3 };

__global__ void print_places() {
  if (threadIdx.x != blockDim.x - 1) return;
  const auto t = threadIdx.x;
  printf("%d %d %d, %u %u %u, ", blockIdx.x, blockIdx.y, blockIdx.z, t, threadIdx.y, threadIdx.z);
  std::printf("%d %d %d, ", blockDim.x, blockDim.y, blockDim.z);
  ::printf("%u %u %u of %d\n", gridDim.x, gridDim.y, gridDim.z, warpSize);
}

__global__ void print_other(const char* words, float x, long long large) {
  printf("%s %.3f %lld %d %c %d%%\n", words, x, large, red, 'c', short{7});
  printf("100%%\n");
  const double none = 0.5;
  printf("%g %s\n", none, threadIdx.x == 0 ? "first" : "other");
}

/// What CUDA's printf returns: how many arguments the format names, and not how many characters there are.
__global__ void count_printed(int* counts) {
  const int one = printf("%d", blockIdx.x);
  const int others = printf(" %*.1f %-3s|%lld%%, %+03d, %p ", 5, 0.5, "a", 7LL, -1, static_cast<void*>(nullptr));
  const int no_arguments = printf("ten words\n");
  const int of_std = std::printf("%c\n", 'c');
  counts[0] = one;
  counts[1] = others;
  counts[2] = no_arguments;
  counts[3] = of_std;
  const char* volatile none = nullptr;
  counts[4] = printf(none, 1);
}

template <class... Parameters, class... Arguments>
std::string printed(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments... arguments) {
  const options_for one_after_the_other(simt::block_order::forward, 1);
  testing::internal::CaptureStdout();
  EXPECT_EQ(run(kernel, grid, block, arguments...), cudaSuccess);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(print, built_in_variables_are_numbers) {
  EXPECT_EQ(printed(print_places, dim3(2, 1, 2), dim3(3)),
            "0 0 0, 2 0 0, 3 1 1, 2 1 2 of 32\n1 0 0, 2 0 0, 3 1 1, 2 1 2 of 32\n"
            "0 0 1, 2 0 0, 3 1 1, 2 1 2 of 32\n1 0 1, 2 0 0, 3 1 1, 2 1 2 of 32\n");
}

TEST(print, everything_else_is_as_the_c_librarys) {
  EXPECT_EQ(printed(print_other, 1, 1, "words", 1.0f / 3, 1LL << 40),
            "words 0.333 1099511627776 3 c 7%\n100%\n0.5 first\n");
}

TEST(print, in_a_kernel_it_returns_the_number_of_arguments) {
  int* counts = nullptr;
  ASSERT_EQ(cudaMallocManaged(&counts, 5 * sizeof(int)), cudaSuccess);
  EXPECT_EQ(printed(count_printed, 1, 1, counts), "0   0.5 a  |7%, -01, (nil) ten words\nc\n");
  const int want[] = {1, 6, 0, 1, -1};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(counts[k], want[k]) << k;
  ASSERT_EQ(cudaFree(counts), cudaSuccess);
}

__global__ void print_known(int x) {
  printf("%d %5.2f|%-6d|%06x %% %*d %hd %ld %llu %e %p\n", x, 3.5, 42, 0xbeef, 5, 9, short{4}, 7L, 10ULL, 1.5, static_cast<void*>(nullptr));
}
__global__ void print_unknown(int what) {
  for (int twice = 0; twice < 2; ++twice) {
    if (what == 0) printf("%d a %zu|%d\n", 1, sizeof(int), 2);
    if (what == 1) printf("b %jd\n", std::intmax_t{3});
    if (what == 2) printf("c %td\n", std::ptrdiff_t{4});
    if (what == 3) printf("d %hhd\n", 5);
    if (what == 4) printf("e %.*f\n", 1, 0.5);
    if (what == 5) printf("f %Lf\n", 0.5L);
  }
}

// What an H100 does with each was tried: what follows one of the second kernel's comes out wrong.
TEST(print, conversions_that_cuda_does_not_know_are_told_once_a_format) {
  const auto said = [](auto kernel, int argument) {
    testing::internal::CaptureStderr();
    printed(kernel, 1, 1, argument);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(print_known, 1), "");
  const char* const unknown[] = {"%zu", "%jd", "%td", "%hhd", "%.*f", "%Lf"};
  for (int what = 0; what < 6; ++what) {
    const std::string line = said(print_unknown, what);
    EXPECT_NE(line.find(std::string("CUDA does not know ") + unknown[what] + " "), line.npos) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  }
  EXPECT_EQ(said(print_unknown, 0), "");  // told above
  EXPECT_EQ(printed(print_unknown, 1, 1, 0), "1 a 4|2\n1 a 4|2\n");
}

TEST(print, on_the_host_it_returns_the_number_of_characters) {
  testing::internal::CaptureStdout();
  const int of_number = printf("%d\n", 12345), of_words = printf("%s words\n", "ten");
  EXPECT_EQ(of_number, 6);
  EXPECT_EQ(of_words, 10);
  testing::internal::GetCapturedStdout();
}

// The compiler's refusal itself is seen by `warpfold explain` (own_kernel_test.cpp).
struct pair_of_ints {
  int a, b;
};
union number {
  int i;
  float f;
};
static_assert(simt::builtin::printed<std::remove_cvref_t<decltype(threadIdx.x)>>);
static_assert(simt::builtin::printed<float> && simt::builtin::printed<const char*> && simt::builtin::printed<colour>);
static_assert(!simt::builtin::printed<std::remove_cvref_t<decltype(threadIdx)>> && !simt::builtin::printed<dim3>);
static_assert(!simt::builtin::printed<pair_of_ints> && !simt::builtin::printed<number>);

}  // namespace
