// SPDX-License-Identifier: Apache-2.0
// Native floating point: accuracy::fast, and prod and logsumexp under either.
#include <warpfold/detail/gpu/accumulate/logsumexp.cuh>
#include <warpfold/detail/gpu/accumulate/native_folds.cuh>
#include <warpfold/detail/gpu/domain/same_size.cuh>
#include <warpfold/detail/gpu/kernels/fast_sum.cuh>
#include <warpfold/detail/gpu/kernels/reduce.cuh>

#include "table.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

template <class Fold, class... T>
cudaError_t enqueue_native(const Fold& fold, const device_request& r, workspace& w, cudaStream_t stream) {
  return reduce_with<Fold, T...>(fold, r.x.data(), r.stride.data(), static_cast<std::uint64_t>(r.n), r.out,
                                 w, stream, {0, 0}, {r.states, r.first});
}

/// Sums of f32 and f64 without gaps have a kernel of their own.
template <class T>
cudaError_t enqueue_fast_sum(const device_request& r, workspace& w, cudaStream_t stream) {
  if constexpr (sizeof(T) >= 4) {
    if (!r.states && (r.stride[0] == 1 || r.n <= 1)) {
      return fast_sum(static_cast<const T*>(r.x[0]), static_cast<std::uint64_t>(r.n), static_cast<T*>(r.out),
                      w, stream);
    }
  }
  return enqueue_native<native_sum_fold<T, op::sum>, T>({r.what}, r, w, stream);
}

template <class P>
cudaError_t enqueue_complex(const device_request& r, workspace& w, cudaStream_t stream) {
  return enqueue_native<plain_fold<native_complex<P>, parts<P>>, parts<P>>({{r.what}}, r, w, stream);
}

enqueue_function find_native(op o, dtype t, accuracy a) {
  return for_dtype(t, [o, a]<class T>() -> enqueue_function {
    const bool fast = a == accuracy::fast;
    const state_kind state = operation_of(o).state;
    if constexpr (complex_number<T>) {
      if (state == state_kind::product || (fast && (o == op::sum || o == op::mean)))
        return enqueue_complex<typename T::value_type>;
    } else if (state == state_kind::logsumexp) {
      return [](const device_request& r, workspace& w, cudaStream_t stream) {
        using same = same_size<T>;
        logsumexp_fold<same> fold{};
        if constexpr (requires { fold.flips; }) fold.flips = !has_sign(r.element);
        return enqueue_native<logsumexp_fold<same>, same>(fold, r, w, stream);
      };
    } else if constexpr (floating<T>) {
      if (state == state_kind::product) {
        return [](const device_request& r, workspace& w, cudaStream_t stream) {
          return enqueue_native<native_product_fold<T>, T>({}, r, w, stream);
        };
      }
      if (!fast) return nullptr;
      switch (o) {
        case op::sum: return enqueue_fast_sum<T>;
        case op::mean:
          return [](const device_request& r, workspace& w, cudaStream_t stream) {
            return enqueue_native<native_sum_fold<T, op::sum>, T>({r.what}, r, w, stream);
          };
        case op::norm1:
          return [](const device_request& r, workspace& w, cudaStream_t stream) {
            return enqueue_native<native_sum_fold<T, op::norm1>, T>({r.what}, r, w, stream);
          };
        case op::dot:
          return [](const device_request& r, workspace& w, cudaStream_t stream) {
            return enqueue_native<native_sum_fold<T, op::dot>, T, T>({r.what}, r, w, stream);
          };
        case op::sum_of_squares: case op::norm2:
          return [](const device_request& r, workspace& w, cudaStream_t stream) {
            return enqueue_native<native_squares_fold<T>, T>({{r.what}}, r, w, stream);
          };
        case op::var: case op::std_dev: case op::mean_var:
          return [](const device_request& r, workspace& w, cudaStream_t stream) {
            return enqueue_native<native_moments_fold<T>, T>({r.what, r.options.correction}, r, w, stream);
          };
        default: break;
      }
    }
    return nullptr;
  });
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(native, find_native)
