// SPDX-License-Identifier: Apache-2.0
// Reductions of mdspans, where they lie: of a matrix in C's order, of one in Fortran's, of a part of it, along an axis, and of two in
// different orders. They are std::mdspan where the standard library has one, else that of CUDA's toolkit, which is for the host, too;
// Kokkos' is taken as well.
//
//     c++ -std=c++23 mdspan.cpp $(pkg-config --cflags --libs warpfold)
#include <cstdio>
#include <vector>

#include <warpfold/warpfold.hpp>

#if __has_include(<mdspan>)
#include <mdspan>
#endif
#if defined(__cpp_lib_mdspan)
#include <array>
namespace md = std;
#define HAS_MDSPAN 1
#elif __has_include(<cuda/std/mdspan>)
#include <cuda/std/array>
#include <cuda/std/mdspan>
namespace md = cuda::std;
#define HAS_MDSPAN 1
#endif

int main() {
#if defined(HAS_MDSPAN)
  using shape = md::dextents<std::int64_t, 2>;
  // 3 rows of 4 numbers. Plain addition would lose the ones beside 1e300.
  const std::vector<double> numbers{1e300, 1, -1e300, 1,  //
                                    2,     3, 4,      5,  //
                                    6,     7, 8,      9};
  const md::mdspan<const double, shape> by_rows(numbers.data(), 3, 4);
  const md::mdspan<const double, shape, md::layout_left> by_columns(numbers.data(), 4, 3);  // the same memory: the transposed matrix
  // Rows 1 and 2, columns 1 and 3: its elements begin at the sixth, and lie 4 and 2 apart.
  const md::layout_stride::mapping<shape> apart(shape(2, 2), md::array<std::int64_t, 2>{4, 2});
  const md::mdspan<const double, shape, md::layout_stride> part(numbers.data() + 5, apart);
  // The second row alone, of a shape that the type knows.
  const md::mdspan<const double, md::extents<std::int64_t, 4>> row(numbers.data() + 4);

  const double all = wf::sum(by_rows), transposed = wf::sum(by_columns), of_part = wf::sum(part);
  const wf::array<double> of_rows = wf::sum(by_rows, wf::axis{1}), of_columns = wf::sum(by_columns, wf::axis{0});
  const double product = wf::dot(part, md::mdspan<const double, shape, md::layout_left>(numbers.data() + 4, 2, 2));
  std::printf("all %g, transposed %g, rows %g %g %g, part %g, dot %g, greatest at %lld\n", all, transposed, of_rows[0], of_rows[1], of_rows[2],
              of_part, product, static_cast<long long>(wf::argmax(row)));
  const bool right = all == 46 && transposed == 46 && of_rows.values == std::vector<double>{2, 14, 30} && of_columns.values == of_rows.values &&
                     of_part == 3 + 5 + 7 + 9 && product == 3 * 2 + 5 * 4 + 7 * 3 + 9 * 5 && wf::argmax(row) == 3;
  return right ? 0 : 1;
#else
  std::puts("no mdspan here: neither this standard library nor CUDA's toolkit has it");
#endif
}
