// SPDX-License-Identifier: Apache-2.0
#include "fused.hpp"

#include <span>

#include <warpfold/gpu.cuh>

namespace bench {

namespace {

template <class T>
void run(const wf::device_place& place, const void* x, std::int64_t n, void* out) {
  const std::span values(static_cast<const T*>(x), static_cast<std::size_t>(n));
  auto* to = static_cast<T*>(out);
  wf::fuse(wf::mean, wf::std_dev, wf::min, wf::max)(place, values, to, to + 1, to + 2, to + 3);
}

}  // namespace

void run_fused(const wf::device_place& place, wf::dtype t, const void* x, std::int64_t n, void* out) {
  if (t == wf::dtype::f32) run<float>(place, x, n, out);
  else run<double>(place, x, n, out);
}

}  // namespace bench
