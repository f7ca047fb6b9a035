// SPDX-License-Identifier: Apache-2.0
#include "../place.cuh"

#if defined(__CUDACC__)
std::unique_ptr<ladder::place> ladder::open_cuda() { return std::make_unique<device_place>("gpu"); }
#elif defined(SIMT_LENS)
std::unique_ptr<ladder::place> ladder::open_lens() {
  return std::make_unique<device_place>("lens");
}
#else
std::unique_ptr<ladder::place> ladder::open_simt() {
  return std::make_unique<device_place>("simt");
}
#endif
