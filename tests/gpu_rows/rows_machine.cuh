// SPDX-License-Identifier: Apache-2.0
// The body of rows_machine.hpp for the device that this is compiled for.
#pragma once

#include <cuda_runtime.h>

#include "../../src/gpu/rows.cuh"
#include "../support/device.cuh"
#include "rows_machine.hpp"

namespace machines::inline WF_BUILD {

inline std::string replay_rows([[maybe_unused]] const wf::rows_request& r, [[maybe_unused]] int times) {
#if defined(__CUDACC__)
  const wf::device::rows_function f = wf::device::find_rows(r.what, r.element, r.accuracy);
  if (f == nullptr) return "no such reduction";
  cudaStream_t s = nullptr;
  wf::device::workspace w;
  cudaError_t e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  if (e != cudaSuccess) return devices::text(e);
  e = w.prepare(s);
  if (e == cudaSuccess) e = devices::replay_graph(s, times, [&] { return f(r, w, s); });
  cudaStreamDestroy(s);
  return devices::text(e);
#else
  return "no graphs";
#endif
}

inline rows_machine rows_machine_here() {
  using namespace wf::device;
  return {
      devices::device_here(),
      [](wf::op o, wf::dtype t, wf::accuracy a) { return find_rows(o, t, a) != nullptr; },
      [](const wf::rows_request& r, int times) {
        const rows_function f = r.checked ? find_checked_rows(r.what, r.element) : find_rows(r.what, r.element, r.accuracy);
        if (f == nullptr) return std::string("no such reduction");
        workspace w;
        cudaError_t e = cudaSuccess;
        for (int k = 0; k < times && e == cudaSuccess; ++k) e = f(r, w, nullptr);
        if (e == cudaSuccess) e = cudaDeviceSynchronize();
        return devices::text(e);
      },
      replay_rows};
}

}  // namespace machines::inline WF_BUILD
