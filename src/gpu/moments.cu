// SPDX-License-Identifier: Apache-2.0
// Exact var, std and mean_var of floats and of complex numbers.
#include "products.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

/// Complex numbers have these under either accuracy: there are no faster ones.
enqueue_function find_moments(op o, dtype t, accuracy a) {
  if (a != accuracy::exact && !is_complex(t)) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (floating<T> || complex_number<T>) {
      if (operation_of(o).state == state_kind::moments) return enqueue_products<T, terms::moments>;
    }
    return nullptr;
  });
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(moments, find_moments)
