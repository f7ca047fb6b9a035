// SPDX-License-Identifier: Apache-2.0
/// \file kernel_runner.hpp
/// The sum kernels behind one function a machine: the same file kernel_runner.cuh, compiled by nvcc for
/// GPUs and by the host compiler against simt, plain and instrumented.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

enum class element { f16, bf16, f32, f64, i32 };

constexpr std::size_t size_of(element e) {
  return e == element::f64 ? 8 : e == element::f32 || e == element::i32 ? 4 : 2;
}

/// How a sum is launched: as the library chooses, or by a grid that small arrays reach too.
enum class shape { library, one_block, three_blocks, nine_blocks, side_by_side };  // the last one of f32 alone

struct sum_request {
  element type = element::f32;
  bool exact = true;
  shape launch = shape::library;
  const void* data = nullptr;    ///< on the host
  std::uint64_t n = 0;
  std::size_t skipped = 0;       ///< elements between a 256-byte boundary and the first one
  std::size_t odd_bytes = 0;     ///< and bytes: an address that no element may have
  int runs = 1;                  ///< one after the other, with one scratch: the last answer counts
  bool graph = false;            ///< the runs are replays of one captured graph
};

/// The answer's bits (low bytes first), or what failed.
struct sum_answer {
  std::uint64_t bits = 0;
  std::string error;
};

sum_answer run_on_simt(const sum_request&);
sum_answer run_on_lens(const sum_request&);
sum_answer run_on_gpu(const sum_request&);

/// n copies of 1 of the type at 0 and -1 elsewhere by 2^16 turns: n > 2^31 without host memory. GPU only.
sum_answer run_large_on_gpu(element type, bool exact, std::uint64_t n, std::size_t skipped);
/// `streams` streams by `threads` host threads, each sum checked against `expected` bits; the text tells
/// the first failure. GPU only.
std::string run_streams_on_gpu(const sum_request&, std::uint64_t expected, int threads, int streams,
                               int rounds);
/// Empty if there is a GPU, else why there is none.
std::string why_no_gpu();
