// SPDX-License-Identifier: Apache-2.0
// The C interface's way to the kernels of this library: a GPU's or simt's.
#include <warpfold/gpu.hpp>

#include "../place.hpp"

#if WF_LIBRARY_IS_SIMT
int wf_open_simt(wf_place** place) {
  return wf::open_place(place, [](void*) -> std::unique_ptr<wf::backend> { return std::make_unique<wf::device_place>(wf::simt_library(), nullptr); }, nullptr);
}
#else
int wf_open_gpu(void* stream, wf_place** place) {
  return wf::open_place(place, [](void* s) -> std::unique_ptr<wf::backend> { return std::make_unique<wf::device_place>(wf::cuda_library(), s); }, stream);
}
#endif
