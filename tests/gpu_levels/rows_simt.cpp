// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/gpu/kernels/exact_reduce.cuh>

#include "rows.hpp"

namespace {

using namespace wf::device;

template <class Rows, class Out, int Threads, class... T>
rows_answer reduce(wf::op o, const std::vector<unsigned char>& x, const std::vector<unsigned char>& y, std::int64_t n,
                   unsigned blocks) {
  rows_answer a{"", std::vector<unsigned char>(32)};
  void *dx = nullptr, *dy = nullptr, *out = nullptr;
  cudaMalloc(&dx, x.size() + 16);
  cudaMalloc(&dy, y.size() + 16);
  cudaMalloc(&out, 32);
  cudaMemcpy(dx, x.data(), x.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y.data(), y.size(), cudaMemcpyHostToDevice);
  const void* inputs[] = {dx, dy};
  const std::int64_t strides[] = {1, 1};
  workspace w;
  cudaError_t e = exact_reduce<Rows, Out, Threads, T...>({o, wf::rounding::nearest, 0}, inputs, strides,
                                                         static_cast<std::uint64_t>(n), out, w, nullptr, blocks);
  if (e == cudaSuccess) e = cudaDeviceSynchronize();
  if (e == cudaSuccess) e = cudaMemcpy(a.bytes.data(), out, 32, cudaMemcpyDeviceToHost);
  if (e != cudaSuccess) a.error = cudaGetErrorString(e);
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(out);
  return a;
}

/// Columns of f64 are shared, as the library's are.
template <class T, int Levels = levels_of_products<T>>
rows_answer reduce_typed(wf::op o, const std::vector<unsigned char>& x, const std::vector<unsigned char>& y, std::int64_t n,
                         unsigned blocks) {
  constexpr int two = sizeof(T) == 8 ? 2 : 1, four = two * two;
  switch (o) {
    case wf::op::mean: case wf::op::norm1:
      return reduce<anchored_rows<sum_rows<T, 64>, T, terms::sum, 64, 4, 0, true>, T, 64, T>(o, x, y, n, blocks);
    case wf::op::norm2:
      return reduce<anchored_rows<product_rows<T, 64, 1, two>, T, terms::squares, 64, 4, Levels>, T, 64, T>(o, x, y, n, blocks);
    case wf::op::mean_var:
      return reduce<anchored_rows<moment_rows<T, 128, four>, T, terms::moments, 128, 4, Levels, true>, T, 128, T>(o, x, y, n,
                                                                                                                  blocks);
    default:
      return reduce<anchored_rows<product_rows<T, 64, 2, two>, T, terms::products, 64, 2, Levels, true>, T, 64, T, T>(o, x, y, n,
                                                                                                                      blocks);
  }
}

/// For complex numbers with parts of P.
template <class P>
rows_answer reduce_parts(wf::op o, const std::vector<unsigned char>& x, const std::vector<unsigned char>& y, std::int64_t n,
                         unsigned blocks) {
  using T = parts<P>;
  constexpr int levels = levels_of_products<P>, two = sizeof(P) == 8 ? 2 : 1, four = two * two;
  switch (o) {
    case wf::op::mean:
      return reduce<complex_rows<P, 64, anchored_rows<sum_rows<P, 64>, P, terms::sum, 64, 4, 0, true>>, P, 64, T>(o, x, y, n,
                                                                                                                 blocks);
    case wf::op::norm2:
      return reduce<anchored_rows<complex_square_rows<P, 64, two>, P, terms::squares, 64, 4, levels>, P, 64, T>(o, x, y, n,
                                                                                                               blocks);
    case wf::op::mean_var:
      return reduce<anchored_rows<complex_moment_rows<P, 128, four>, P, terms::moments, 128, 4, levels, true>, P, 128, T>(
          o, x, y, n, blocks);
    default:
      return reduce<anchored_rows<complex_product_rows<P, 128, four>, P, terms::products, 128, 2, levels, true>, P, 128, T, T>(
          o, x, y, n, blocks);
  }
}

}  // namespace

rows_answer reduce_rows(wf::op o, wf::dtype t, const std::vector<unsigned char>& x, const std::vector<unsigned char>& y,
                        std::int64_t n, unsigned blocks) {
  switch (t) {
    case wf::dtype::f16: return reduce_typed<wf::f16>(o, x, y, n, blocks);
    case wf::dtype::bf16: return reduce_typed<wf::bf16>(o, x, y, n, blocks);
    case wf::dtype::f32: return reduce_typed<float>(o, x, y, n, blocks);
    case wf::dtype::c64: return reduce_parts<float>(o, x, y, n, blocks);
    case wf::dtype::c128: return reduce_parts<double>(o, x, y, n, blocks);
    default: return reduce_typed<double>(o, x, y, n, blocks);
  }
}
