// SPDX-License-Identifier: Apache-2.0
// Exact sum_of_squares, norm2 and dot of floats and of complex numbers.
#include "products.cuh"

namespace wf::device::inline WF_BUILD {

namespace {

/// Complex numbers have these under either accuracy: there are no faster ones.
enqueue_function find_products(op o, dtype t, accuracy a) {
  if (a != accuracy::exact && !is_complex(t)) return nullptr;
  return for_dtype(t, [o]<class T>() -> enqueue_function {
    if constexpr (floating<T> || complex_number<T>) {
      if (o == op::dot) return enqueue_products<T, terms::products>;
      if (o == op::sum_of_squares || o == op::norm2) return enqueue_products<T, terms::squares>;
    }
    return nullptr;
  });
}

}  // namespace

}  // namespace wf::device::inline WF_BUILD

WF_KERNEL_FAMILY(products, find_products)
