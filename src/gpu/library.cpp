// SPDX-License-Identifier: Apache-2.0
// All kernels of this build: what requests are made of whose operation and type are known at run time.
#include <warpfold/detail/gpu/library.hpp>

namespace wf {

namespace {

#if WF_LIBRARY_IS_SIMT
using built = simt_kernels;
#else
using built = cuda_kernels;
#endif

int run_any(const device_request& r, void* scratch, void* stream) {
  static constexpr run_kernel families[] = {nullptr,      built::order, built::integers, built::integer_moments,
                                            built::native, built::sums,  built::products, built::moments,
                                            built::checked, built::own};
  const run_kernel run = families[static_cast<std::size_t>(family_of(r.what, r.element, r.accuracy))];
  return run == nullptr ? no_such_kernel : run(r, scratch, stream);
}

}  // namespace

const device_library& built::library() {
  static const device_library it{built::machine(), {{run_any, run_any}, built::checked, built::rows}, built::order_labels, built::find_runs, built::states, &built::trials()};
  return it;
}

}  // namespace wf
