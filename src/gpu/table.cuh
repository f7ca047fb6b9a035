// SPDX-License-Identifier: Apache-2.0
/// \file table.cuh
/// The compiled kernels, one translation unit a family, behind functions that look them up.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/library.hpp>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Enqueues a request whose operation and type are those that it was looked up for.
using enqueue_function = cudaError_t (*)(const device_request&, workspace&, cudaStream_t);

// Null where a family has no such reduction.
enqueue_function find_order(op, dtype, accuracy);
enqueue_function find_integers(op, dtype, accuracy);
enqueue_function find_integer_moments(op, dtype, accuracy);
enqueue_function find_native(op, dtype, accuracy);
enqueue_function find_sums(op, dtype, accuracy);
enqueue_function find_products(op, dtype, accuracy);

/// f.template operator()<T>() for the element type: an enqueue_function or null.
template <class F>
enqueue_function for_dtype(dtype t, F f) {
  switch (t) {
    case dtype::f16: return f.template operator()<f16>();
    case dtype::bf16: return f.template operator()<bf16>();
    case dtype::f32: return f.template operator()<float>();
    case dtype::f64: return f.template operator()<double>();
    case dtype::i8: return f.template operator()<std::int8_t>();
    case dtype::i16: return f.template operator()<std::int16_t>();
    case dtype::i32: return f.template operator()<std::int32_t>();
    case dtype::i64: return f.template operator()<std::int64_t>();
    case dtype::u8: return f.template operator()<std::uint8_t>();
    case dtype::u16: return f.template operator()<std::uint16_t>();
    case dtype::u32: return f.template operator()<std::uint32_t>();
    case dtype::u64: return f.template operator()<std::uint64_t>();
    case dtype::boolean: return f.template operator()<bool>();
    case dtype::c64: return f.template operator()<c64>();
    case dtype::c128: return f.template operator()<c128>();
  }
  return nullptr;
}

}  // namespace wf::device::inline WF_BUILD
