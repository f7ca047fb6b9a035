// SPDX-License-Identifier: Apache-2.0
/// \file thread_sum.cuh
/// The protocol of the level of a thread for exact sums of up to 32 bits: where one thread keeps the elements that it has added.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <warpfold/config.hpp>
#include <warpfold/device/thread.cuh>

namespace wf::device::inline WF_BUILD {

/// What the kernels of exact_sum.cuh add with.
template <class A>
concept thread_sum = requires(A& a, const pack& p, int packs, typename A::room& room, std::int64_t (&digit)[1]) {
  { A::unit } -> std::convertible_to<int>;                  // the exponent of the weight of digit 0
  { A::digits } -> std::convertible_to<int>;                // how many digits of 32 bits its sums take: at most a warp's lanes
  { A::shared_bytes } -> std::convertible_to<std::size_t>;  // dynamic shared memory; `room` is static
  a.start();
  a.add(p);
  a.after_batch(packs);
  a.finish();
  a.sum_over_block(room, digit);                            // by all threads: a carry-save digit a lane, in warp 0
  { a.kinds() } -> std::same_as<std::uint32_t>;             // special values that it saw, as bits of `special`
};

}  // namespace wf::device::inline WF_BUILD
