// SPDX-License-Identifier: Apache-2.0
// mean, var, std, mean_var and norm2 of integers: exact under either accuracy.
#include <warpfold/gpu/exact_reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

/// Two blocks a multiprocessor: with more threads there are too few registers for what is on its way.
template <class T, bool Squares>
cudaError_t enqueue(const device_request& r, workspace& w, cudaStream_t stream) {
  using rows = std::conditional_t<sizeof(T) == 8, long_rows<T, 512, Squares>, integer_rows<T, 512, Squares>>;
  return exact_reduce<rows, double, 512, T>({r.what, r.options.rounding, r.options.correction}, r.x.data(),
                                            r.stride.data(), static_cast<std::uint64_t>(r.n), r.out, w, stream);
}

}  // namespace

enqueue_function find_integer_moments(op o, dtype t, accuracy) {
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (integer<T>) {
      if (o == op::mean) return enqueue<T, false>;
      if (o == op::var || o == op::std_dev || o == op::mean_var || o == op::norm2) return enqueue<T, true>;
    }
    return nullptr;
  });
}

}  // namespace wf::device::inline WF_BUILD
