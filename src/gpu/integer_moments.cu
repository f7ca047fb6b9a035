// SPDX-License-Identifier: Apache-2.0
// mean, var, std, mean_var and norm2 of integers: exact under either accuracy.
#include <warpfold/detail/gpu/accumulate/row_sets.cuh>
#include <warpfold/detail/gpu/kernels/exact_reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class T, terms Terms>
cudaError_t enqueue_integer_moments(const device_request& r, workspace& w, cudaStream_t stream) {
  constexpr int threads = 512;  // two blocks a multiprocessor: with more there are too few registers for what is on its way
  exact_question q{r.what, r.options.rounding, r.options.correction};
  q.states = r.states;
  return exact_reduce<row_set<T, Terms, threads>, double, threads, T>(
      q, r.x[0], r.stride[0], static_cast<std::uint64_t>(r.n), r.out, w, stream);
}

enqueue_function find_integer_moments(op o, dtype t, accuracy) {
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (integer<T>) {
      if (o == op::mean) return enqueue_integer_moments<T, terms::sum>;
      if (operation_of(o).state == state_kind::moments || o == op::norm2) return enqueue_integer_moments<T, terms::moments>;
    }
    return nullptr;
  });
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(integer_moments, find_integer_moments)
