// SPDX-License-Identifier: Apache-2.0
// Exact rows over long stretches a thread: anchors that move, registers that are emptied, what is spilled
// into columns and what only columns take. The CPU's bits.
#include <gtest/gtest.h>

#include "../effort.hpp"
#include "rows.hpp"

class rows_on_simt : public ::testing::TestWithParam<wf::dtype> {};

TEST_P(rows_on_simt, are_the_cpus_over_long_stretches) {
  static wf::test::some_of_all chosen;
  for (const std::string& family : family_names()) {
    const std::int64_t n = wf::is_complex(GetParam()) ? 50002 : 100003;
    const auto x = make_bytes(GetParam(), family, n, 5), y = make_bytes(GetParam(), family, n, 6);
    for (const wf::op o : {wf::op::mean, wf::op::norm1, wf::op::norm2, wf::op::mean_var, wf::op::dot}) {
      if (o == wf::op::norm1 && wf::is_complex(GetParam())) continue;  // of real numbers only
      if (!chosen()) continue;
      const auto want = cpu_answer(o, GetParam(), wf::accuracy::exact, {}, {x.data(), n, 1}, {y.data(), n, 1});
      for (const unsigned blocks : {1u, 3u}) {
        const rows_answer a = reduce_rows(o, GetParam(), x, y, n, blocks);
        ASSERT_EQ(a.error, "");
        ASSERT_EQ(hex(a.bytes).substr(hex(a.bytes).size() - 2 * want.size()), hex(want))
            << wf::properties_of(o).name << " of " << wf::info(GetParam()).name << ", " << family << ", " << blocks << " blocks";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(simt, rows_on_simt, ::testing::Values(wf::dtype::f16, wf::dtype::bf16, wf::dtype::f32, wf::dtype::f64,
                                                               wf::dtype::c64, wf::dtype::c128),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });
