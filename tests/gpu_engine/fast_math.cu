// SPDX-License-Identifier: Apache-2.0
// Exact sums that the caller's compiler makes, for fast_math_test.py: of floats, whole and in rows.
#include <warpfold/gpu.cuh>

namespace {

struct same {
  template <class T>
  WF_HD T operator()(T x) const { return x; }
};

}  // namespace

void all_sums(const wf::gpu& place, wf::view<const float> x, float* out) {
  wf::fuse(wf::sum, wf::var, wf::norm1)(place, x, out, out, out);
  wf::fuse(wf::sum, wf::norm1)(place, x, out, out, wf::axis{1});
  wf::reduce(place, x, out, wf::transform(same{}), wf::sum);
}
