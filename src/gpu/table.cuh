// SPDX-License-Identifier: Apache-2.0
/// \file table.cuh
/// The compiled kernels, one translation unit a family, behind functions that look them up: family_of() says in which a
/// reduction is, and WF_KERNEL_FAMILY what programs link of it.
#pragma once

#include <cuda_runtime.h>

#include <warpfold/config.hpp>
#include <warpfold/detail/gpu/library.hpp>
#include <warpfold/device/workspace.cuh>

namespace wf::device::inline WF_BUILD {

/// Enqueues a request whose operation and type are those that it was looked up for.
using enqueue_function = cudaError_t (*)(const device_request&, workspace&, cudaStream_t);

/// The library that this is a part of.
#if WF_LIBRARY_IS_SIMT
using built_kernels = simt_kernels;
#else
using built_kernels = cuda_kernels;
#endif

/// WF_KERNEL_FAMILY(name, find): the family of that name. find(request) is an enqueue_function, or null where there is none.
#define WF_KERNEL_FAMILY(name, find)                                                                               \
  int wf::device::built_kernels::name(const device_request& r, void* scratch, void* stream) {                      \
    const device::enqueue_function f = device::find(r.what, r.element, r.accuracy);                                \
    if (f == nullptr) return cudaErrorNotSupported;                                                                \
    return f(r, *static_cast<device::workspace*>(scratch), static_cast<cudaStream_t>(stream));                     \
  }

/// f.template operator()<T>() for the element type: an enqueue_function, or null for types that kernels do not take (has_kernels()).
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
    default: return nullptr;
  }
}

}  // namespace wf::device::inline WF_BUILD
