// SPDX-License-Identifier: Apache-2.0
/// \file fused_table.hpp
/// Fused reductions on any machine against each of their parts alone on the CPU.
#pragma once

#include "table.hpp"

/// One kind of fused reductions of a type on the bytes of one layout.
inline void check_fused(const machine& m, const wf::device_place& place, fused_kind kind, wf::dtype t, const std::string& family,
                        const layout& s, const std::vector<unsigned char>& x) {
  const auto ops = m.fused_ops(kind, t);
  if (ops.empty()) return;
  const auto size = static_cast<std::int64_t>(wf::info(t).size);
  const std::int64_t first = s.skipped + (s.stride < 0 ? -s.stride * std::max<std::int64_t>(s.n - 1, 0) : 0);
  const strided host{x.data() + first * size, s.n, s.stride};
  wf::options options;
  if (s.n % 2 == 1) options = {static_cast<wf::rounding>(s.n / 2 % 5), s.n % 3};

  const std::size_t room = 32 * (ops.size() + 1);
  void *dx = m.allocate(x.size() + 1), *out = m.allocate(room);
  std::vector<unsigned char> got(room, 0xa5);
  EXPECT_EQ(m.upload(dx, x.data(), x.size()), "");
  EXPECT_EQ(m.upload(out, got.data(), room), "");
  EXPECT_EQ(m.fuse(place, {kind, t, static_cast<unsigned char*>(dx) + first * size, s.n, s.stride, options,
                           static_cast<unsigned char*>(out)}), "");
  EXPECT_EQ(m.download(got.data(), out, room), "");
  m.free(dx);
  m.free(out);

  for (std::size_t k = 0; k <= ops.size(); ++k) {
    std::vector<unsigned char> one(&got[32 * k], &got[32 * k] + 32), want(32, 0xa5);
    std::string what = "a user's beside, n = " + std::to_string(s.n);
    if (k < ops.size()) {
      const wf::op o = ops[k];
      what = "fused " + name_of(o, t, wf::accuracy::exact, family, s);
      const auto answer = cpu_answer(o, t, wf::accuracy::exact, options, host, host);
      std::memcpy(want.data(), answer.data(), answer.size());
      if (is_native(o, t, wf::accuracy::exact)) {  // as in check_row
        const bool ordinary = family == "normal" || family == "one_nan" || wf::is_integer(t);
        one.resize(answer.size());
        if (ordinary && (o != wf::op::prod || s.n <= 40)) check_native(o, t, family, host, host, options, one, what);
        if (::testing::Test::HasFatalFailure()) return;
        continue;
      }
    } else if (kind == fused_kind::own) {
      const std::int64_t answer = s.n == 0 ? -1 : 1;
      std::memcpy(want.data(), &answer, sizeof answer);
    }
    ASSERT_EQ(hex(one), hex(want)) << what;
  }
}

/// All kinds of a type on one family.
inline void check_fused(const machine& m, const wf::device_place& place, wf::dtype t, const std::string& family, const layout& s,
                        std::uint64_t seed) {
  const std::int64_t reach = s.skipped + std::max<std::int64_t>(s.n, 1) * std::max<std::int64_t>(std::abs(s.stride), 1);
  const auto x = make_bytes(t, family, static_cast<std::uint64_t>(reach), seed);
  for (const fused_kind kind : fused_kinds) {
    check_fused(m, place, kind, t, family, s, x);
    if (::testing::Test::HasFatalFailure()) return;
  }
}
