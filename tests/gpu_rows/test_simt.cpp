// SPDX-License-Identifier: Apache-2.0
// Rows, columns and segments on simt against the CPU, byte for byte: random views, axes, segments, operations and types.
#include <simt/machine.hpp>

#include <algorithm>
#include <span>

#include <cuda_runtime.h>

#include <warpfold/backend.hpp>
#include <warpfold/exact_sum.hpp>
#include <warpfold/gpu.hpp>

#include "../support/effort.hpp"
#include "own_rows.hpp"
#include "row_cases.hpp"

namespace {

constexpr simt::block_order orders[] = {simt::block_order::forward, simt::block_order::reversed, simt::block_order::shuffled};

/// Empty if the states of a case by a place that reads the host's memory are the CPU's; the first element has index `first`.
std::string state_difference(const wf::device_place& place, const row_case& c, std::int64_t first) {
  const wf::state_form form = wf::form_of_states(c.what, c.type);
  wf::request r;
  r.what = c.what;
  r.element = c.type;
  r.first = first;
  r.wanted = wf::output::states;
  std::vector<unsigned char> data[2];
  for (int k = 0; k < c.inputs(); ++k) {
    const auto input = static_cast<std::size_t>(k);
    data[k] = make_bytes(c.type, c.family, static_cast<std::uint64_t>(c.count[k]), c.seed + static_cast<std::uint64_t>(k));
    const std::size_t size = wf::info(c.type).size;
    r.inputs.data[input] = data[k].data() + static_cast<std::size_t>(c.first[k]) * size;
    for (const auto s : c.strides[k]) r.inputs.strides[input].push_back(s * static_cast<std::int64_t>(size));
  }
  r.inputs.shape = c.shape;
  const std::vector<std::int32_t> narrow(c.offsets.begin(), c.offsets.end());
  std::int64_t answers = 1;
  if (!c.offsets.empty()) {
    r.by.kind = wf::partition::kinds::segments;
    r.by.indexes = c.offset_bytes == 4 ? static_cast<const void*>(narrow.data()) : c.offsets.data();
    r.by.index_bytes = static_cast<std::uint8_t>(c.offset_bytes);
    answers = r.by.count = static_cast<std::int64_t>(c.offsets.size()) - 1;
  } else if (c.answers >= 0) {
    r.by.kind = wf::partition::kinds::labels;
    r.by.indexes = c.labels.data();
    answers = r.by.count = c.answers;
  } else {
    r.by.kind = wf::partition::kinds::axes;
    r.by.axes = c.axes;
    for (std::size_t d = 0; d < c.shape.size(); ++d)
      answers *= std::find(c.axes.begin(), c.axes.end(), static_cast<int>(d)) == c.axes.end() ? c.shape[d] : 1;
  }
  std::vector<unsigned char> want(static_cast<std::size_t>(answers) * form.bytes + 8, 0xa5), got = want;
  r.out = want.data();
  wf::cpu_backend().run(r);
  r.out = got.data();
  place.run(r);
  if (cudaDeviceSynchronize() != cudaSuccess) return c.name() + ": the launch failed";
  if (!form.canonical) return "";
  for (std::size_t k = 0; k < want.size(); ++k) {
    if (want[k] != got[k])
      return c.name() + ": word " + std::to_string(k % form.bytes / 8) + " of " + std::to_string(form.bytes / 8) + " of state " + std::to_string(k / form.bytes) +
             " of " + std::to_string(answers) + " differs";
  }
  return "";
}

/// Which of the larger cases are done.
wf::test::some_of_all chosen;

/// Few cases, of every operation and type still.
bool brief() { return number_of_environment("WF_ROWS_CASES", 10) < 5; }

class rows : public ::testing::TestWithParam<wf::dtype> {};

TEST_P(rows, of_random_views) {
  const auto before = simt::current_options();
  const std::uint64_t seed = number_of_environment("WF_ROWS_SEED", 1), cases = number_of_environment("WF_ROWS_CASES", 10);
  std::mt19937_64 g(seed * 100 + static_cast<std::uint64_t>(GetParam()));
  int failures = 0;
  for (std::uint64_t i = 0; i < cases && failures < 3; ++i) {
    for (int o = 0; o < wf::op_count && failures < 3; ++o) {
      const auto what = static_cast<wf::op>(o);
      const bool there = wf::find_builtin(what, GetParam(), wf::accuracy::exact) != nullptr;
      ASSERT_EQ(simt_rows().takes(what, GetParam(), wf::accuracy::exact), there) << wf::op_names[o];
      if (!there) continue;
      const row_case c = random_row_case(g, what, GetParam());
      simt::current_options().order = orders[g() % 3];
      if (difference(simt_rows(), c).empty()) continue;
      ++failures;
      ADD_FAILURE() << "WF_ROWS_SEED=" << seed << ": " << difference(simt_rows(), shrunk(simt_rows(), c)) << "; " << simt::last_fault().text;
      simt::clear_fault();
    }
  }
  simt::current_options() = before;
}

/// Rows of up to 64 bytes one after the other, and columns of few elements, as many as a thread each takes; rows of up to some thousand
/// elements, which certificates of their own decide. Data of every kind: sums of two or four floats are ties as often as not.
TEST_P(rows, so_short_that_a_thread_has_each) {
  const auto before = simt::current_options();
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 97;
  const auto shaped = [&](wf::op what, std::int64_t many, std::int64_t n, bool columns, const std::string& family) {
    if (!chosen()) return;
    row_case c;
    c.what = what;
    c.type = GetParam();
    c.family = family;
    c.seed = ++k;
    c.shape = {columns ? n : many, columns ? many : n};
    c.axes = {columns ? 0 : 1};
    for (int i = 0; i < c.inputs(); ++i) {
      c.strides[i] = {c.shape[1], 1};
      c.count[i] = many * n;
    }
    simt::current_options().order = orders[k % 3];
    EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
  };
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1, wf::op::max, wf::op::argmin, wf::op::mean_var, wf::op::sum_of_squares}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    const bool sums = what == wf::op::sum || what == wf::op::mean || (what == wf::op::norm1 && wf::is_floating(GetParam()));
    for (const auto& family : row_families(GetParam())) {
      if (!sums && family != row_families(GetParam())[k++ % 3]) continue;
      for (const std::int64_t bytes : {1, 2, 4, 8, 16, 32, 48, 64, 80, 256}) {
        if (bytes % size == 0) shaped(what, 20000 / bytes + static_cast<std::int64_t>(k % 5), bytes / size, false, family);
      }
      if (k % 3 == 0) {
        shaped(what, 9, 3000, false, family);
        shaped(what, 4 * 2048 * 16 / std::min<std::int64_t>(size, 4), static_cast<std::int64_t>(1 + k % 7), true, family);
      }
      if (k % 3 == 1) {  // columns of so few elements that threads take them however few they are, and of one more
        for (const std::uint64_t n : {k % 16 + 1, std::uint64_t{16}, std::uint64_t{17}}) shaped(what, static_cast<std::int64_t>(16 + 16 * (k % 90)), static_cast<std::int64_t>(n), true, family);
      }
    }
  }
  simt::current_options() = before;
}

/// So many of them that a block takes several turns, with uncertain ones in some.
TEST_P(rows, so_short_that_blocks_take_turns) {
  if (!wf::is_floating(GetParam()) || wf::info(GetParam()).size > 8 || wf::is_complex(GetParam())) return;
  const auto before = simt::current_options();
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 31;
  const auto shaped = [&](wf::op what, const std::string& family, std::int64_t many, std::int64_t n) {
    row_case c;
    c.what = what;
    c.type = GetParam();
    c.family = family;
    c.seed = ++k;
    c.shape = {many, n};
    c.axes = {1};
    c.strides[0] = {n, 1};
    c.count[0] = many * n;
    simt::current_options().order = orders[k % 3];
    simt::current_options().multiprocessors = 1;
    EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
  };
  constexpr std::int64_t at_once = 64 * 128;  // rows of several packs; and a quarter of the packs
  for (const wf::op what : {wf::op::sum, wf::op::mean}) {
    for (const auto& family : {"bits", "cancelling"}) {
      for (const std::int64_t bytes : {8, 16, 32, 48}) {
        if (chosen()) shaped(what, family, bytes <= 16 ? 9 * at_once * (16 / bytes) + 37 : 2 * at_once + 300, bytes / size);
      }
    }
  }
  simt::current_options() = before;
}

/// Rows of whole packs, so few in all that a thread has one from the start: of a lane, of lanes, of a block, of a cluster; side by side, apart, and one alone.
TEST_P(rows, of_small_batches) {
  const auto before = simt::current_options();
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size), each = 16 / std::min<std::int64_t>(size, 16);
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 83;
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t packs : {1, 2, 3, 4, 5, 8, 16, 31, 64, 100, 127, 128, 129, 257, 1000, 1024, 2048, 2500, 4100, 8300}) {
      for (const std::int64_t many : {1, 3, 33, 200}) {
        if (!chosen() || packs * many > 9000 || (what != wf::op::sum && k++ % 3 != 0)) continue;
        row_case c;
        c.what = what;
        c.type = GetParam();
        c.family = row_families(GetParam())[++k % row_families(GetParam()).size()];
        c.seed = k;
        const std::int64_t n = packs * each, apart = n + (k % 2 == 0 ? 0 : each * static_cast<std::int64_t>(k % 5));
        c.shape = {many, n};
        c.axes = {1};
        c.strides[0] = {apart, 1};
        c.count[0] = many * apart;
        simt::current_options().multiprocessors = k % 2 == 0 ? 4 : 16;
        simt::current_options().order = orders[k % 3];
        EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
      }
    }
  }
  simt::current_options() = before;
}

/// Rows one after the other, enough of them that copies bring a warp's rows: of a few bytes to several tiles, made of packs or not, from any address on.
TEST_P(rows, that_copies_bring) {
  const auto before = simt::current_options();
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 89;
  simt::current_options().multiprocessors = 1;
  const std::int64_t least = 48 * 1024;
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1, wf::op::max, wf::op::mean_var, wf::op::norm2}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t bytes : {3, 12, 24, 32, 48, 64, 96, 128, 160, 200, 256, 384, 512, 1001, 1024, 1920, 2048, 3000, 3712, 3840, 3968, 4096, 5000, 8192, 12289, 33, 46, 78, 134, 1030, 4098, 4110, 4126}) {
      if (!chosen() || (what != wf::op::sum && ++k % 3 != 0)) continue;
      row_case c;
      c.what = what;
      c.type = GetParam();
      c.family = row_families(GetParam())[k % row_families(GetParam()).size()];
      c.seed = ++k;
      const std::int64_t n = std::max<std::int64_t>(1, bytes / size);
      const std::int64_t many = std::max<std::int64_t>(bytes > 4096 ? 81 : 1, least / (n * size)) + static_cast<std::int64_t>(k % 7);
      c.shape = {many, n};
      c.axes = {1};
      c.strides[0] = {n, 1};
      c.first[0] = k % 4 == 0 ? static_cast<std::int64_t>(k % 3) : 0;
      c.count[0] = many * n + c.first[0];
      simt::current_options().order = orders[k % 3];
      EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// Sums of -0 alone are -0, whatever is beside a row in the packs that cover it.
TEST_P(rows, of_minus_zeros_that_copies_bring) {
  const auto before = simt::current_options();
  if (!wf::is_floating(GetParam()) || !simt_rows().takes(wf::op::sum, GetParam(), wf::accuracy::exact)) return;
  simt::current_options().multiprocessors = 1;
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  for (const std::int64_t n : {51, 501, 2501}) {
    row_case c = rows_case(wf::op::sum, GetParam(), std::max<std::int64_t>(n * size > 4096 ? 81 : 1, 50000 / (n * size)), n, 1, 1);
    c.family = "minus_zeros";
    EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
  }
  simt::current_options() = before;
}

/// Rows whose elements lie side by side, from anywhere on and of any length, in one line and in several, alone and between others; of two inputs that
/// begin as far behind multiples of 16 bytes as each other, and not.
TEST_P(rows, that_begin_and_end_anywhere) {
  const auto before = simt::current_options();
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  std::mt19937_64 g(13 * number_of_environment("WF_ROWS_SEED", 1) + static_cast<std::uint64_t>(GetParam()));
  int failures = 0;
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::argmin, wf::op::argmax, wf::op::max, wf::op::mean_var, wf::op::norm1, wf::op::dot}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t bytes : {112, 128, 131, 300, 1001, 2100, 9000, 70000}) {
      if (!chosen() || failures > 2) continue;
      row_case c;
      c.what = what;
      c.type = GetParam();
      c.family = row_families(GetParam())[g() % row_families(GetParam()).size()];
      c.seed = g() % 1000;
      const auto n = bytes / size + static_cast<std::int64_t>(g() % 3), lines = static_cast<std::int64_t>(g() % 3 == 0 ? 3 : 1);
      const auto many = std::max<std::int64_t>(2, 9000 / bytes + static_cast<std::int64_t>(g() % 4));
      c.shape = {many, lines, n};
      c.axes = {1, 2};
      const auto start = static_cast<std::int64_t>(g() % 9), pad = static_cast<std::int64_t>(g() % 5);
      for (int i = 0; i < c.inputs(); ++i) {
        const std::int64_t apart = i == 0 || g() % 2 == 0 ? 0 : 1;
        c.strides[i] = {lines * (n + pad), n + pad, 1};
        c.first[i] = start + apart;
        c.count[i] = start + apart + many * lines * (n + pad);
      }
      simt::current_options().order = orders[g() % 3];
      const std::string trouble = difference(simt_rows(), c);
      failures += trouble.empty() ? 0 : 1;
      EXPECT_EQ(trouble, "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// Few rows and few columns, cut over many blocks whose last one puts them together.
TEST_P(rows, that_many_blocks_share) {
  const auto before = simt::current_options();
  int k = 0;
  for (int o = 0; o < wf::op_count; ++o) {
    const auto what = static_cast<wf::op>(o);
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const bool columns : {false, true}) {
      if (!chosen()) continue;
      row_case c;
      c.what = what;
      c.type = GetParam();
      c.family = row_families(GetParam())[static_cast<std::size_t>(k++) % 3];
      c.seed = static_cast<std::uint64_t>(k);
      const auto n = static_cast<std::int64_t>(200000 / wf::info(GetParam()).size) + 1;
      c.shape = {columns ? n : 2, columns ? 3 : n};
      c.axes = {columns ? 0 : 1};
      for (int i = 0; i < c.inputs(); ++i) {
        c.strides[i] = {c.shape[1], 1};
        c.count[i] = c.shape[0] * c.shape[1];
      }
      simt::current_options().order = orders[k % 3];
      EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// Rows of whole packs that a block takes in rounds of 32 KiB, alone or by turns with others: of whole rounds and of a rest, one behind the other and with something between them, and a few that
/// are not made of packs; of few multiprocessors and of so many that several blocks have a row.
TEST_P(rows, that_blocks_take_turns_at) {
  const auto before = simt::current_options();
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 83;
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1}) {
    if (!wf::is_floating(GetParam()) || !simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t bytes : {65536, 65546, 65552, 98304 - 16, 98304 + 4096, 200000, 270336, 589840, 1 << 20}) {
      for (const std::int64_t many : {1, 2, 3, 7}) {
        if (!chosen() || many * bytes > 1200000 || (what != wf::op::sum && k++ % 3 != 0)) continue;
        row_case c;
        c.what = what;
        c.type = GetParam();
        c.family = row_families(GetParam())[++k % row_families(GetParam()).size()];
        c.seed = k;
        const std::int64_t n = bytes / size, apart = n + (k % 3 == 0 ? 16 : 0);
        c.shape = {many, n};
        c.axes = {1};
        c.strides[0] = {apart, 1};
        c.first[0] = k % 7 == 0 ? 1 : 0;
        c.count[0] = many * apart + c.first[0];
        simt::current_options().order = orders[k % 3];
        simt::current_options().l2_bytes = k % 2 == 0 ? 1u << 15 : before.l2_bytes;  // beyond it shorter rows of 16 bits go this way
        simt::current_options().multiprocessors = bytes > 500000 ? 1 : 1 + static_cast<unsigned>(k % 4);  // one: blocks have a row each, or one so long that its chains are cut
        EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
      }
    }
  }
  simt::current_options() = before;
}

/// Columns whose lines lie evenly, in whole loads and with lanes to spare, that blocks share by turns: of fewer lines than a round, of several rounds and a rest, and
/// beside others.
TEST_P(rows, of_columns_that_blocks_take_turns_at) {
  const auto before = simt::current_options();
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 79;
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1, wf::op::mean_var, wf::op::norm2}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t bytes : {16, 48, 64, 512, 640}) {
      for (const std::int64_t n : {2, 31, 700, 2900}) {
        const std::int64_t columns = bytes / size, apart = columns + (k % 3 == 0 ? 16 : 0), others = k % 4 == 0 ? 3 : 1;
        if (!chosen() || columns < 2 || columns * n > 60000 || (what != wf::op::sum && k++ % 3 != 0)) continue;
        row_case c;
        c.what = what;
        c.type = GetParam();
        c.family = row_families(GetParam())[++k % row_families(GetParam()).size()];
        c.seed = k;
        c.shape = {others, n, columns};
        c.axes = {1};
        c.strides[0] = {n * apart, apart, 1};
        c.count[0] = others * n * apart;
        simt::current_options().order = orders[k % 3];
        EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
      }
    }
  }
  simt::current_options() = before;
}

/// Columns that begin anywhere, whose last ones are not a whole load, with something between lines and without; places among them too.
TEST_P(rows, of_columns_that_begin_anywhere) {
  const auto before = simt::current_options();
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 73;
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1, wf::op::max, wf::op::argmax, wf::op::mean_var, wf::op::sum_of_squares}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t columns : {33, 64, 65, 99, 300, 1001}) {
      for (const std::int64_t n : {1, 2, 3, 31, 66, 700, 1500}) {
        const bool small = wf::info(GetParam()).size == 1;  // more of these, by one multiprocessor: few go by columns_kernel
        if (!chosen() || columns * n > (small ? 150000 : 70000) || (what != wf::op::sum && ++k % 3 != 0)) continue;
        simt::current_options().multiprocessors = n >= 700 ? 1 : before.multiprocessors;
        ++k;
        simt::current_options().order = orders[k % 3];
        EXPECT_EQ(difference(simt_rows(), columns_case(what, GetParam(), n, columns, static_cast<std::int64_t>(k / 2 % 3), static_cast<std::int64_t>(k % 5), k % 4 == 0 ? 3 : 1, k)), "")
            << simt::last_fault().text;
      }
    }
  }
  simt::current_options() = before;
}

/// The least and the greatest elements and the first of them, of every kind of data: of rows made of packs and not, of columns, of few elements and of many, and of both one behind the other.
TEST_P(rows, of_places) {
  const auto before = simt::current_options();
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 71;
  for (const wf::op what : {wf::op::argmin, wf::op::argmax, wf::op::min, wf::op::max, wf::op::minmax, wf::op::norm_inf}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (std::size_t family = 0; family < row_families(GetParam()).size(); ++family) {
      for (const std::int64_t n : {3, 9, 16, 100, 272, 1024, 70000}) {
        for (const bool columns : {false, true}) {
          if (!chosen() || (columns && n > 2000)) continue;
          ++k;
          const auto side = static_cast<std::int64_t>(k % 3 == 0 ? 8 + k % 9 * 8 : 4 + k % 60);
          row_case c = columns ? columns_case(what, GetParam(), n, side, 0, static_cast<std::int64_t>(side % 8 == 0 ? 0 : k % 2), 2, k)
                               : rows_case(what, GetParam(), 1 + static_cast<std::int64_t>(k % 5), n, k % 3 == 0 ? 1 : 0, k);
          c.family = row_families(GetParam())[family];
          simt::current_options().order = orders[k % 3];
          EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
        }
      }
    }
  }
  simt::current_options() = before;
}

/// Extremes and places of rows of 4 packs a lane: a few of them, and so many that a group has several, one after the other or apart.
TEST_P(rows, of_four_packs_a_lane) {
  const auto before = simt::current_options();
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size), each = 16 / std::min<std::int64_t>(size, 16);
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 97;
  for (const wf::op what : {wf::op::argmin, wf::op::argmax, wf::op::min, wf::op::max, wf::op::minmax}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t packs : {8, 16, 32}) {
      for (std::size_t family = 0; family <= row_families(GetParam()).size(); ++family) {
        if (!chosen()) continue;
        ++k;
        const bool several = family == row_families(GetParam()).size();
        const std::int64_t n = packs * each, apart = n + (k % 3 == 0 ? each * static_cast<std::int64_t>(k % 5) : 0);
        row_case c = rows_case(what, GetParam(), several ? 16384 / packs + 5 : 1 + static_cast<std::int64_t>(k % 70), n, 0, k);
        c.strides[0] = {apart, 1};
        c.count[0] = c.shape[0] * apart;
        if (!several) c.family = row_families(GetParam())[family];
        simt::current_options().multiprocessors = 1;
        simt::current_options().order = orders[k % 3];
        EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
      }
    }
  }
  simt::current_options() = before;
}

/// Rows of several lines, each of more packs than a block has threads.
TEST_P(rows, of_several_long_lines) {
  const auto before = simt::current_options();
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size), each = 16 / std::min<std::int64_t>(size, 16);
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 101;
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm2, wf::op::max, wf::op::argmin, wf::op::argmax}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const std::int64_t packs : {130, 257, 300, 512, 1000, 1100}) {
      for (const std::int64_t lines : {2, 7, 140}) {
        if (!chosen() || (lines > 7 && packs != 300)) continue;
        ++k;
        row_case c;
        c.what = what;
        c.type = GetParam();
        c.family = row_families(GetParam())[k % row_families(GetParam()).size()];
        c.seed = k;
        const std::int64_t n = packs * each, apart = n + (k % 2 == 0 ? 3 * each : 0), many = lines > 7 ? 1 : 3;
        c.shape = {lines, many, n};
        c.axes = {0, 2};
        c.strides[0] = {many * apart, apart, 1};
        c.count[0] = lines * many * apart;
        simt::current_options().multiprocessors = k % 2 == 0 ? 4 : 1;
        simt::current_options().order = orders[k % 3];
        EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
      }
    }
  }
  simt::current_options() = before;
}

/// Extremes of 1 and 2 bytes and places of 2 bytes, by so few multiprocessors that threads load 8 bytes of columns.
TEST_P(rows, of_extremes_of_much_to_load) {
  const auto before = simt::current_options();
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 79;
  for (const wf::op what : {wf::op::argmin, wf::op::argmax, wf::op::min, wf::op::max}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact) || wf::info(GetParam()).size > 2) continue;
    for (std::size_t family = 0; family < row_families(GetParam()).size(); ++family) {
      if (!chosen()) continue;
      ++k;
      row_case c = columns_case(what, GetParam(), 4200 + static_cast<std::int64_t>(k % 7), 128, 0, 0, 1, k);
      c.family = row_families(GetParam())[family];
      simt::current_options().multiprocessors = 1;
      simt::current_options().order = orders[k % 3];
      EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// The same by so many blocks that bunches of them put together what they have first; and by so few that chains are cut.
TEST_P(rows, of_columns_that_bunches_of_blocks_share) {
  const auto before = simt::current_options();
  if (!simt_rows().takes(wf::op::sum, GetParam(), wf::accuracy::exact)) return;
  const auto columns = static_cast<std::int64_t>(64 / wf::info(GetParam()).size);
  for (int k = 0; k < 3; ++k) {
    row_case c;
    c.type = GetParam();
    c.family = row_families(GetParam())[static_cast<std::size_t>(k) % 2];
    c.shape = {20011 + 1500 * k, columns};
    simt::current_options().multiprocessors = k == 2 ? 1 : 24;
    c.axes = {0};
    c.strides[0] = {columns, 1};
    c.count[0] = c.shape[0] * columns;
    simt::current_options().order = orders[k];
    EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
  }
  simt::current_options() = before;
}

/// Segments of every kind of lengths, over many blocks.
TEST_P(rows, of_ragged_segments) {
  const auto before = simt::current_options();
  std::mt19937_64 g(31 * number_of_environment("WF_ROWS_SEED", 1) + static_cast<std::uint64_t>(GetParam()));
  int k = static_cast<int>(GetParam()), failures = 0;
  for (int o = 0; o < wf::op_count && failures < 3; ++o) {
    const auto what = static_cast<wf::op>(o);
    if (wf::find_builtin(what, GetParam(), wf::accuracy::exact) == nullptr) continue;
    for (int times = 0; times < (brief() ? 1 : 2); ++times, ++k) {
      if (!chosen()) continue;
      const row_case c = ragged_case(g, what, GetParam(), static_cast<ragged>(k % ragged_kinds), times == 0 ? 2000 : 20000);
      simt::current_options().order = orders[g() % 3];
      const std::string trouble = difference(simt_rows(), c);
      failures += trouble.empty() ? 0 : 1;
      EXPECT_EQ(trouble, "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// Sums of segments side by side that are differences of prefix sums (kernels/rows_prefix.cuh): warps have a tile, several, or parts of two; data whose sums in doubles are exact in no
/// tile, in some, in all; zeros of both signs.
TEST_P(rows, of_ragged_segments_by_prefix_sums) {
  const auto before = simt::current_options();
  std::mt19937_64 g(57 * number_of_environment("WF_ROWS_SEED", 1) + static_cast<std::uint64_t>(GetParam()));
  int k = 0, failures = 0;
  auto families = row_families(GetParam());
  if (wf::is_floating(GetParam())) families.insert(families.end(), {"octaves", "bands", "bands", "grid", "grid_crumbs", "grid_layers", "late_crumb", "late_crumb"});
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1}) {
    if (!simt_rows().takes(what, GetParam(), wf::accuracy::exact)) continue;
    for (const auto& family : families) {
      for (int kind = 0; kind < ragged_kinds && failures < 3; ++kind, ++k) {
        if (!chosen() || (what != wf::op::sum && k % 4 != 0)) continue;
        // The longest ones have several shares a warp.
        row_case c = ragged_case(g, what, GetParam(), static_cast<ragged>(kind), k % 12 == 6 ? 500000 : k % 3 == 0 ? 90000 : 20000);
        c.family = family;
        c.strides[0] = {1};
        c.first[0] = static_cast<std::int64_t>(g() % 9);
        c.count[0] = c.first[0] + c.shape[0];
        simt::current_options().order = orders[g() % 3];
        simt::current_options().multiprocessors = k % 2 == 0 ? 1 : before.multiprocessors;
        const std::string trouble = difference(simt_rows(), c);
        failures += trouble.empty() ? 0 : 1;
        EXPECT_EQ(trouble, "") << simt::last_fault().text;
      }
    }
  }
  simt::current_options() = before;
}

/// Means where each segment begins with a tile and ends with one, and some tiles are exact: the count of one that begins behind a tile that is not.
TEST(prefix_sums, of_whole_tiles) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  for (const wf::dtype t : {wf::dtype::f32, wf::dtype::f64}) {
    const std::int64_t tile = 1024, line = 128 / static_cast<std::int64_t>(wf::info(t).size);
    for (std::int64_t first = 0; first < line; first += line / 8) {  // from one of these on, a tile begins with the array
      row_case c;
      c.what = wf::op::mean;
      c.type = t;
      c.family = "grid_crumbs";
      c.seed = static_cast<std::uint64_t>(first);
      for (std::int64_t k = 0; k <= 16; ++k) c.offsets.push_back(2 * tile * k);
      c.shape = {c.offsets.back()};
      c.axes = {0};
      c.strides[0] = {1};
      c.first[0] = first;
      c.count[0] = first + c.shape[0];
      EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// Sums of f32 and bf16 that two roundings tell (add_near_tile), or do not: what a tile's additions lose decides many answers, and so do zeros' signs. Segments reach over one end of a tile and over two.
TEST(prefix_sums, that_are_near_ties) {
  const auto before = simt::current_options();
  std::uint64_t k = 0;
  for (const wf::op what : {wf::op::sum, wf::op::mean, wf::op::norm1}) {
    for (const wf::dtype type : {wf::dtype::f32, wf::dtype::bf16}) {
      for (int times = 0; times < (what == wf::op::norm1 ? 1 : 3); ++times, ++k) {
        if (times != 0 && !chosen()) continue;
        simt::current_options().order = orders[k % 3];
        simt::current_options().multiprocessors = times == 1 ? before.multiprocessors : 1;
        EXPECT_EQ(difference(simt_rows(), near_case(what, type, times == 2 ? 40000 : 250000, 61 * number_of_environment("WF_ROWS_SEED", 1) + k)), "") << simt::last_fault().text;
      }
    }
  }
  simt::current_options() = before;
}

/// The same where warps take shares of all sizes: one segment of all elements and others, whose parts are put together from many shares.
TEST(prefix_sums, of_many_shares) {
  const auto before = simt::current_options();
  std::mt19937_64 g(58 * number_of_environment("WF_ROWS_SEED", 1));
  simt::current_options().multiprocessors = 1;
  for (int kind = 0; kind < ragged_kinds; ++kind) {
    for (const wf::dtype type : {wf::dtype::bf16, wf::dtype::f32}) {
      if (!chosen()) continue;
      row_case c = ragged_case(g, wf::op::sum, type, static_cast<ragged>(kind), type == wf::dtype::bf16 ? 2200000 : 1700000);  // enough for shares of all sizes
      c.strides[0] = {1};
      c.count[0] = c.first[0] + c.shape[0];
      simt::current_options().order = orders[g() % 3];
      EXPECT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// No warp adds more elements than its share of elements and segments, however they are cut; and together they add each once.
TEST(ragged_segments, are_shared_among_warps) {
  const rows_machine& m = simt_rows();
  std::mt19937_64 g(5);
  constexpr std::int64_t n = 200000;
  for (int kind = 0; kind < ragged_kinds; ++kind) {
    const auto offsets = ragged_offsets(g, static_cast<ragged>(kind), n);
    const auto elements = static_cast<std::uint64_t>(offsets.back() - offsets.front()), segments = offsets.size() - 1;
    void* const data = m.allocate(static_cast<std::size_t>(offsets.back()) * 4 + 4);
    void* const by = m.allocate(offsets.size() * 8);
    void* const out = m.allocate(segments * 8 + 8);
    const std::vector<std::int32_t> ones(static_cast<std::size_t>(offsets.back()) + 1, 1);
    EXPECT_EQ(m.upload(data, ones.data(), ones.size() * 4) + m.upload(by, offsets.data(), offsets.size() * 8), "");
    wf::rows_request r{};
    r.what = wf::op::sum;
    r.element = wf::dtype::i32;
    r.x[0] = data;
    r.reduced = 1;
    r.length[0] = offsets.back();
    r.stride[0][0] = 1;
    r.offsets = by;
    r.offset_bytes = 8;
    r.segments = static_cast<std::int64_t>(segments);
    r.out = out;
    const auto of_warp = simt_elements_of_warps(r);
    ASSERT_FALSE(of_warp.empty());
    std::uint64_t all = 0, most = 0;
    for (const auto x : of_warp) {
      all += x;
      most = std::max(most, x);
    }
    // 4 multiprocessors hold 64 blocks of 4 warps in two waves; each has 256 units to do, or there are fewer. A segment is 8 units.
    const std::uint64_t units = elements + 8 * segments, warps = std::min<std::uint64_t>(256, 4 * ((units + 1023) / 1024 + 1));
    EXPECT_EQ(all, elements) << kind;
    EXPECT_LE(most, units / warps + 256) << kind;
    std::vector<std::int64_t> got(segments);
    EXPECT_EQ(m.download(got.data(), out, segments * 8), "");
    for (std::size_t k = 0; k < segments; ++k) ASSERT_EQ(got[k], offsets[k + 1] - offsets[k]) << kind << ", segment " << k;
    for (void* p : {data, by, out}) m.free(p);
  }
}

/// States of random views, segments and labels: those of the CPU byte for byte, where they are canonical.
TEST_P(rows, states_of_random_views) {
  const auto before = simt::current_options();
  const wf::simulated_gpu place;
  std::mt19937_64 g(77 * number_of_environment("WF_ROWS_SEED", 1) + static_cast<std::uint64_t>(GetParam()));
  int failures = 0;
  for (int o = 0; o < wf::op_count && failures < 3; ++o) {
    const auto what = static_cast<wf::op>(o);
    if (wf::find_builtin(what, GetParam(), wf::accuracy::exact) == nullptr) continue;
    const bool there = place.takes(what, GetParam(), wf::accuracy::exact, wf::partition::kinds::axes, wf::output::states);
    EXPECT_TRUE(there) << wf::op_names[o];
    for (int times = brief() ? 4 : 1; times < 5; ++times) {
      if (!chosen()) continue;
      const row_case c = times == 4 ? ragged_case(g, what, GetParam(), static_cast<ragged>(g() % ragged_kinds), 3000) : random_row_case(g, what, GetParam());
      simt::current_options().order = orders[g() % 3];
      const std::string trouble = state_difference(place, c, static_cast<std::int64_t>(g() % 5));
      failures += trouble.empty() ? 0 : 1;
      EXPECT_EQ(trouble, "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// A matrix cut along its rows at random: states of the pieces, merged, are the CPU's of the whole.
TEST_P(rows, states_of_pieces_merge) {
  const wf::simulated_gpu place;
  std::mt19937_64 g(5 + static_cast<std::uint64_t>(GetParam()));
  constexpr std::int64_t many = 5, n = 90;
  const auto size = static_cast<std::int64_t>(wf::info(GetParam()).size);
  const auto families = row_families(GetParam());
  for (int o = 0; o < wf::op_count; ++o) {
    const auto what = static_cast<wf::op>(o);
    if (!place.takes(what, GetParam(), wf::accuracy::exact, wf::partition::kinds::axes, wf::output::states)) continue;
    const wf::state_form form = wf::form_of_states(what, GetParam());
    if (!form.canonical || !chosen()) continue;
    const auto x = make_bytes(GetParam(), families[g() % families.size()], many * n, g() % 100), y = make_bytes(GetParam(), families[0], many * n, 9);
    const auto piece = [&](const wf::backend& by, std::int64_t from, std::int64_t count) {
      static constexpr int last[] = {1};
      std::vector<std::byte> states(many * form.bytes);
      wf::request r;
      r.what = what;
      r.element = GetParam();
      r.inputs.shape = {many, count};
      r.inputs.strides = {wf::extents{n * size, size}, wf::extents{n * size, size}};
      r.inputs.data = {x.data() + from * size, y.data() + from * size};
      r.by.kind = wf::partition::kinds::axes;
      r.by.axes = last;
      r.first = from;
      r.wanted = wf::output::states;
      r.out = states.data();
      by.run(r);
      return states;
    };
    auto merged = piece(place, 0, 0);
    for (std::int64_t at = 0; at < n;) {
      const std::int64_t count = std::min<std::int64_t>(n - at, static_cast<std::int64_t>(g() % 50));
      const auto next = piece(place, at, count);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      wf::merge_states(form, merged.data(), next.data(), many);
      at += count;
    }
    EXPECT_TRUE(merged == piece(wf::cpu_backend(), 0, n)) << wf::op_names[o];
  }
}

/// Columns and rows by every mode of rounding, of data that certificates do not decide: what is then added exactly is rounded as it is asked for.
TEST_P(rows, of_other_roundings_that_are_uncertain) {
  const auto before = simt::current_options();
  std::uint64_t k = number_of_environment("WF_ROWS_SEED", 1) * 53;
  for (const auto what : {wf::op::sum, wf::op::mean, wf::op::norm1, wf::op::norm2, wf::op::var, wf::op::dot}) {
    if (wf::find_builtin(what, GetParam(), wf::accuracy::exact) == nullptr) continue;
    for (const std::string& family : wf::is_integer(GetParam()) ? std::vector<std::string>{"bits", "huge"} : std::vector<std::string>{"wide", "cancelling", "bits", "finite_bits"}) {
      for (const bool columns : {true, false}) {
        if (!chosen()) continue;
        row_case c = rows_case(what, GetParam(), 37, 40, 0, ++k);
        c.family = family;
        c.options.rounding = static_cast<wf::rounding>(1 + k % 4);
        if (columns) {
          c.shape = {40, 37};
          c.axes = {0};
        }
        for (int i = 0; i < c.inputs(); ++i) {
          c.strides[i] = {c.shape[1], 1};
          c.count[i] = 37 * 40;
        }
        simt::current_options().order = orders[k % 3];
        EXPECT_EQ(difference(simt_rows(), c), "");
      }
    }
  }
  simt::current_options() = before;
}

/// `rows` rows of n elements that lie `between` elements apart, each row `apart` behind the one before; or, with `offsets` of 64 bits, segments side by side.
wf::rows_request laid_out(wf::op what, wf::dtype type, void* data, void* out, void* offsets, std::int64_t rows, std::int64_t n, std::int64_t apart, std::int64_t between) {
  wf::rows_request r{};
  r.what = what;
  r.element = type;
  r.x[0] = data;
  r.out = out;
  r.reduced = 1;
  if (offsets != nullptr) {
    r.length[0] = rows * n;
    r.stride[0][0] = 1;
    r.offsets = offsets;
    r.offset_bytes = 8;
    r.segments = rows;
  } else {
    r.kept = 1;
    r.length[0] = rows;
    r.length[1] = n;
    r.stride[0][0] = apart;
    r.stride[0][1] = between;
  }
  return r;
}

template <class T>
void check_far_apart(wf::dtype type) {
  const rows_machine& m = simt_rows();
  for (const std::int64_t n : {8, 16, 40}) {
    constexpr std::int64_t many = 1000;
    std::vector<T> x(static_cast<std::size_t>(many * n), T(0.0f)), got(static_cast<std::size_t>(many));
    for (std::int64_t r = 0; r < many; ++r) {
      const float terms[] = {0x1p120f, 0x1p60f, static_cast<float>(r % 100 + 1), -0x1p120f, -0x1p60f};
      for (std::int64_t i = 0; i < 5; ++i) x[static_cast<std::size_t>(r * n + (r + i) % n)] = T(terms[i]);
    }
    void* const data = m.allocate(sizeof(T) * x.size());
    void* const out = m.allocate(sizeof(T) * got.size());
    ASSERT_EQ(m.upload(data, x.data(), sizeof(T) * x.size()), "");
    ASSERT_EQ(m.run(laid_out(wf::op::sum, type, data, out, nullptr, many, n, n, 1), 1), "") << simt::last_fault().text;
    ASSERT_EQ(m.download(got.data(), out, sizeof(T) * got.size()), "");
    for (std::int64_t r = 0; r < many; ++r) ASSERT_EQ(static_cast<float>(got[static_cast<std::size_t>(r)]), static_cast<float>(r % 100 + 1)) << "row " << r << " of " << n;
    for (void* p : {data, out}) m.free(p);
  }
}
/// Short rows whose terms lie so far apart that a double and its errors lose the least: lanes go on to their slots.
TEST(short_rows, of_terms_far_apart) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  check_far_apart<float>(wf::dtype::f32);
  check_far_apart<wf::bf16>(wf::dtype::bf16);
  simt::current_options() = before;
}

/// Rows of 16 bf16 in so many turns of a block that the last ones share a bit with the first; uncertain ones in one turn alone. Bounds tell 0 and 2^77 of each of these, whose sum is 1.
TEST(short_rows, in_turns_that_share_a_bit) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  const rows_machine& m = simt_rows();
  constexpr std::int64_t at_once = 256 * 128, many = 67 * at_once - 100, n = 16;  // 16 waves of 16 blocks
  std::vector<wf::bf16> x(static_cast<std::size_t>(many * n), wf::bf16(0.0f)), got(static_cast<std::size_t>(many));
  void* const data = m.allocate(2 * x.size());
  void* const out = m.allocate(2 * got.size());
  for (const std::int64_t turn : {1, 65, 66}) {
    std::fill(x.begin(), x.end(), wf::bf16(0.0f));
    for (std::int64_t r = turn * at_once; r < std::min(many, (turn + 1) * at_once); r += 7) {
      const auto first = static_cast<std::size_t>(r * n);
      x[first + 1] = wf::bf16(0x1p100f);
      x[first + 9] = wf::bf16(1.0f);
      x[first + 12] = wf::bf16(-0x1p100f);
    }
    ASSERT_EQ(m.upload(data, x.data(), 2 * x.size()), "");
    ASSERT_EQ(m.run(laid_out(wf::op::sum, wf::dtype::bf16, data, out, nullptr, many, n, n, 1), 1), "") << simt::last_fault().text;
    ASSERT_EQ(m.download(got.data(), out, 2 * got.size()), "");
    int wrong = 0;
    for (std::int64_t r = 0; r < many && wrong < 3; ++r) {
      const float want = r / at_once == turn && r % at_once % 7 == 0 ? 1.0f : 0.0f;
      if (static_cast<float>(got[static_cast<std::size_t>(r)]) == want) continue;
      ++wrong;
      ADD_FAILURE() << "turn " << turn << ": row " << r << " is " << static_cast<float>(got[static_cast<std::size_t>(r)]) << ", not " << want;
    }
  }
  for (void* p : {data, out}) m.free(p);
  simt::current_options() = before;
}

/// Long rows of ordinary numbers whose sums lie 2^-20 beside the middle of two floats, 2^-14 apart: what a certificate takes to be
/// lost must be less. With the range of all elements in place of each thread's own it would be 2^-14.
TEST(long_rows, of_ordinary_numbers_are_certain) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  constexpr std::int64_t rows = 8;
  const std::int64_t n = std::max<std::int64_t>(static_cast<std::int64_t>((1 << 19) * wf::test::effort()), 4096);
  std::mt19937_64 g(7);
  std::normal_distribution<double> normal;
  std::vector<float> x(static_cast<std::size_t>(rows * n));
  std::vector<float> want(rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::span row(x.data() + r * n, static_cast<std::size_t>(n));
    for (float& v : row.first(row.size() - 3)) v = static_cast<float>(normal(g));
    wf::exact_sum sum;
    sum.add(row);  // three zeros at its end
    // Up to a sum near 700, then to beside a middle.
    row[row.size() - 3] = 700.0f - sum.value<float>();
    sum.add(row[row.size() - 3]);
    const double target = 700 + 0x1p-15 + 0x1p-20;
    for (const std::size_t last : {2u, 1u}) {
      wf::exact_sum rest = sum;
      rest.add(-target);
      row[row.size() - last] = -rest.value<float>();
      sum.add(row[row.size() - last]);
    }
    want[static_cast<std::size_t>(r)] = sum.value<float>();
    ASSERT_EQ(want[static_cast<std::size_t>(r)], 700.0f + 0x1p-14f);
    ASSERT_LT(std::abs(sum.value<double>() - target), 0x1p-40);
  }
  const rows_machine& m = simt_rows();
  void* const data = m.allocate(x.size() * 4);
  void* const out = m.allocate(rows * 4);
  for (const bool columns : {false, true}) {
    std::vector<float> placed = x;
    for (std::int64_t i = 0; columns && i < rows * n; ++i) placed[static_cast<std::size_t>(i % n * rows + i / n)] = x[static_cast<std::size_t>(i)];
    EXPECT_EQ(m.upload(data, placed.data(), placed.size() * 4), "");
    const wf::rows_request r = laid_out(wf::op::sum, wf::dtype::f32, data, out, nullptr, rows, n, columns ? 1 : n, columns ? rows : 1);
    EXPECT_EQ(simt_uncertain_rows(r), 0) << (columns ? "columns" : "rows") << "; " << simt::last_fault().text;
    std::vector<float> got(rows);
    EXPECT_EQ(m.download(got.data(), out, rows * 4), "");
    EXPECT_EQ(got, want);
  }
  for (void* p : {data, out}) m.free(p);
  simt::current_options() = before;
}

/// Norms and moments of ordinary rows, of a few elements and of many, by rows, columns and segments: hardly one is uncertain, and none that is long, so what is told of its sums' errors is not too much.
TEST(moments_of_rows, of_ordinary_numbers_are_certain) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  const rows_machine& m = simt_rows();
  std::mt19937_64 g(11);
  std::normal_distribution<double> normal(0.25, 1);
  std::vector<float> x(1 << 17);
  for (float& v : x) v = static_cast<float>(normal(g));
  void* const data = m.allocate(x.size() * 4);
  void* const out = m.allocate(x.size() * 8);
  EXPECT_EQ(m.upload(data, x.data(), x.size() * 4), "");
  for (const wf::op what : {wf::op::norm2, wf::op::sum_of_squares, wf::op::var, wf::op::mean_var}) {
    for (const std::int64_t n : {8, 16, 100, 1000, 5000, 1 << 16}) {
      for (const bool columns : {false, true}) {
        const std::int64_t many = static_cast<std::int64_t>(x.size()) / n;
        const wf::rows_request r = laid_out(what, wf::dtype::f32, data, out, nullptr, many, n, columns ? 1 : n, columns ? many : 1);
        EXPECT_EQ(simt_uncertain_moments(r), 0) << wf::op_names[static_cast<int>(what)] << " of " << n << (columns ? ", columns; " : "; ") << simt::last_fault().text;
      }
    }
  }
  for (void* p : {data, out}) m.free(p);
  simt::current_options() = before;
}

/// Means, sums of squares and norms that are ties but for one element, which no double beside the others has room for: far from it or beside it, in rows, columns and segments. Rows of zeros
/// but for those.
template <class T>
void check_crumbs(wf::dtype type, int h) {
  const rows_machine& m = simt_rows();
  const auto narrow = [](double v) { return T(static_cast<float>(v)); };
  void* const data = m.allocate(1 << 19);
  void* const out = m.allocate(1 << 18);
  void* const by = m.allocate(1 << 18);
  for (const std::int64_t n : {4, 8, 16, 32, 64, 128, 512, 2048, 16384, 65536}) {
    const auto many = std::max<std::int64_t>(3, 12000 / n);  // so many that copies bring them
    if (static_cast<std::size_t>(many * n) * sizeof(T) > 1 << 19 && n != 65536) continue;
    const std::int64_t rows = n == 65536 ? 2 : many;
    for (const wf::op what : {wf::op::mean_var, wf::op::sum_of_squares, wf::op::norm2}) {
      for (const int crumb : {0, 1, 70, 130}) {
        if (crumb == 1 && what != wf::op::mean_var) continue;
        for (const bool apart : {false, true}) {
          if (!chosen()) continue;
          std::vector<double> row = {1, std::ldexp(1, what == wf::op::mean_var ? -h : -h / 2)};
          if (what == wf::op::norm2) row.insert(row.end(), {row[1], std::ldexp(1, -h)});
          if (crumb == 1) {  // what is left of two that cancel but for a last place, so near that their range is hardly too wide
            const double c = std::ldexp(1, h == 24 ? -35 : -50);
            row.insert(row.end(), {c * (1 + std::ldexp(1, 1 - h)), -c});
          } else if (crumb != 0) {
            row.push_back(std::ldexp(1, what == wf::op::mean_var ? -crumb : -crumb / 2));
          }
          if (static_cast<std::int64_t>(row.size()) > n) continue;
          std::vector<std::int64_t> at;  // in their row
          for (std::size_t k = 0; k < row.size(); ++k) at.push_back(apart ? static_cast<std::int64_t>(k) * (n - 1) / static_cast<std::int64_t>(row.size() - 1) : static_cast<std::int64_t>(k));
          for (const char* const layout : {"rows", "columns", "segments"}) {
            const bool columns = layout[0] == 'c', segments = layout[0] == 's';
            std::vector<T> x(static_cast<std::size_t>(rows * n), narrow(0));
            for (std::int64_t r = 0; r < rows; ++r) {
              for (std::size_t k = 0; k < row.size(); ++k) x[static_cast<std::size_t>(columns ? at[k] * rows + r : r * n + at[k])] = narrow(row[k]);
            }
            std::vector<std::int64_t> offsets;
            for (std::int64_t r = 0; r <= rows; ++r) offsets.push_back(r * n);
            ASSERT_EQ(m.upload(data, x.data(), x.size() * sizeof(T)) + m.upload(by, offsets.data(), offsets.size() * 8), "");
            const wf::rows_request r = laid_out(what, type, data, out, segments ? by : nullptr, rows, n, columns ? 1 : n, columns ? rows : 1);
            const std::size_t each = what == wf::op::mean_var ? 2 : 1;
            std::vector<T> got(static_cast<std::size_t>(rows) * each);
            ASSERT_EQ(m.run(r, 1), "") << simt::last_fault().text;
            ASSERT_EQ(m.download(got.data(), out, got.size() * sizeof(T)), "");
            const double want = (crumb == 0 ? 1 : 1 + std::ldexp(1, 1 - h)) / (what == wf::op::mean_var ? static_cast<double>(n) : 1);
            std::int64_t wrong = 0;
            for (std::int64_t k = 0; k < rows; ++k) wrong += static_cast<double>(static_cast<float>(got[static_cast<std::size_t>(k) * each])) == want ? 0 : 1;
            EXPECT_EQ(wrong, 0) << wf::op_names[static_cast<int>(what)] << " of " << wf::info(type).name << ", " << rows << " " << layout << " of " << n << ", crumb 2^-" << crumb << (apart ? ", apart" : "");
          }
        }
      }
    }
  }
  for (void* p : {data, out, by}) m.free(p);
}
TEST(moments_of_rows, are_decided_by_crumbs) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  check_crumbs<float>(wf::dtype::f32, 24);
  check_crumbs<wf::bf16>(wf::dtype::bf16, 8);
  simt::current_options() = before;
}

/// Means of f16 in the middle of two numbers, and 2^-24 / n beside it: their sums are known, so kernels have no other way to decide them. Subnormal ones, too, and by rows side by side, apart, columns and segments.
TEST(means_of_halves, are_decided_by_their_sums) {
  const auto before = simt::current_options();
  simt::current_options().multiprocessors = 1;
  const rows_machine& m = simt_rows();
  const auto half = [](std::int64_t units) { return wf::f16(static_cast<float>(std::ldexp(static_cast<double>(units), -24))); };
  const auto units_of = [](wf::f16 x) { return static_cast<std::int64_t>(std::ldexp(static_cast<double>(static_cast<float>(x)), 24)); };
  // The greatest half that is not greater.
  const auto below = [&](std::int64_t units) {
    int drop = 0;
    while (units >> drop >= 2048) ++drop;
    return half(units >> drop << drop);
  };
  for (const std::int64_t n : {3, 4, 7, 12, 48, 100, 333, 1000, 4096, 9000, 33000, 300000}) {
    const std::int64_t many = std::max<std::int64_t>(6, 40000 / n);
    const auto count = static_cast<std::size_t>(many * n);
    void* const data = m.allocate(4 * count);
    void* const by = m.allocate(static_cast<std::size_t>(many + 1) * 8);
    void* const out = m.allocate(static_cast<std::size_t>(many) * 2);
    std::vector<std::int64_t> offsets;
    for (std::int64_t r = 0; r <= many; ++r) offsets.push_back(r * n);
    ASSERT_EQ(m.upload(by, offsets.data(), offsets.size() * 8), "");
    for (const int power : {0, 24, 39}) {  // the middles' units: subnormal, about 1, and so great that a double shows no difference of 2^-24 / n
      if (power > 24 && n < 100) continue;
      const std::int64_t last = power > 24 ? 8 : 4, greatest = std::int64_t{65504} << 24;  // elements that have what is left, each 11 bits of it
      // Rows whose means are middles, less 2^-24 / n, and more. In half units: each row another middle.
      std::vector<wf::f16> x(count);
      std::vector<std::int64_t> want;  // units
      for (std::int64_t r = 0; r < many; ++r) {
        const std::int64_t ulp = power == 0 ? 1 : std::int64_t{1} << (power - 10), lower = (std::int64_t{1} << power) + r % 37 * ulp, step = r % 3 - 1;
        const bool negative = r % 2 != 0;
        std::int64_t rest = (n * (2 * lower + ulp) + (n * ulp % 2 != 0 ? (step < 0 ? -1 : 1) : 2 * step)) / 2;  // the sum
        const std::int64_t side = 2 * rest - n * (2 * lower + ulp), even = lower / ulp % 2 == 0 ? lower : lower + ulp;
        want.push_back((negative ? -1 : 1) * (side < 0 ? lower : side > 0 ? lower + ulp : even));
        for (std::int64_t i = 0; i < n; ++i) {
          const wf::f16 v = below(i < n - last ? rest / (n - i) : std::min(rest, greatest));
          rest -= units_of(v);
          x[static_cast<std::size_t>(r * n + (i + r) % n)] = half((negative ? -1 : 1) * units_of(v));
        }
        ASSERT_EQ(rest, 0) << n;
      }
      for (const char* const layout : {"rows", "apart", "columns", "segments"}) {
        const char l = layout[0];
        std::vector<wf::f16> placed(2 * count, wf::f16(7.0f));
        for (std::size_t i = 0; i < count; ++i) {
          const auto row = static_cast<std::int64_t>(i) / n, at = static_cast<std::int64_t>(i) % n;
          placed[static_cast<std::size_t>(l == 'c' ? at * many + row : l == 'a' ? 2 * (row * n + at) : row * n + at)] = x[i];
        }
        std::vector<wf::f16> got(static_cast<std::size_t>(many), wf::f16(-7.0f));
        ASSERT_EQ(m.upload(data, placed.data(), placed.size() * 2) + m.upload(out, got.data(), got.size() * 2), "");
        const wf::rows_request r = laid_out(wf::op::mean, wf::dtype::f16, data, out, l == 's' ? by : nullptr, many, n, l == 'c' ? 1 : l == 'a' ? 2 * n : n, l == 'c' ? many : l == 'a' ? 2 : 1);
        ASSERT_EQ(m.run(r, 1), "") << simt::last_fault().text;
        ASSERT_EQ(m.download(got.data(), out, got.size() * 2), "");
        int wrong = 0;
        for (std::size_t k = 0; k < got.size() && wrong < 3; ++k) {
          if (units_of(got[k]) == want[k]) continue;
          ++wrong;
          ADD_FAILURE() << layout << " of " << n << ", 2^" << power - 24 << ": mean " << k << " is " << units_of(got[k]) << " · 2^-24, not " << want[k];
        }
      }
    }
    for (void* p : {data, by, out}) m.free(p);
  }
  simt::current_options() = before;
}

/// Long rows, and long segments among short ones, that no certificate decides: blocks share them in a second kernel.
TEST(long_rows, that_are_uncertain_are_shared) {
  const auto before = simt::current_options();
  const rows_machine& m = simt_rows();
  constexpr std::int64_t rows = 3, n = 140000;  // more bytes than a block adds alone
  std::vector<float> x(rows * n, 0.0f);
  std::vector<float> want;
  for (std::int64_t r = 0; r < rows; ++r) {  // 1 + 2^-24 and a hair that is far from all else: beside the middle of two floats
    float* const row = x.data() + r * n;
    row[5] = 1;
    row[n / 2] = 0x1p-24f;
    row[n - 7] = r == 1 ? 1e30f : 0;
    row[n - 9] = r == 1 ? -1e30f : 0;
    row[n - 1] = r == 2 ? -0x1p-140f : 0x1p-140f;
    want.push_back(r == 2 ? 1.0f : 1.0f + 0x1p-23f);
  }
  const std::vector<std::int64_t> offsets = {0, n - 1, n - 1, n, 2 * n, 3 * n};
  void* const data = m.allocate(x.size() * 4);
  void* const by = m.allocate(offsets.size() * 8);
  void* const out = m.allocate(64);
  EXPECT_EQ(m.upload(data, x.data(), x.size() * 4) + m.upload(by, offsets.data(), offsets.size() * 8), "");
  for (const bool segments : {false, true}) {
    for (const auto& order : orders) {
      simt::current_options().order = order;
      wf::rows_request r{};
      r.what = wf::op::sum;
      r.element = wf::dtype::f32;
      r.x[0] = data;
      r.out = out;
      if (segments) {
        r.reduced = 1;
        r.length[0] = rows * n;
        r.stride[0][0] = 1;
        r.offsets = by;
        r.offset_bytes = 8;
        r.segments = 5;
      } else {
        r.kept = r.reduced = 1;
        r.length[0] = rows;
        r.length[1] = r.stride[0][0] = n;
        r.stride[0][1] = 1;
      }
      EXPECT_EQ(simt_shared_uncertain_rows(r), segments ? 2 : 3) << segments << "; " << simt::last_fault().text;
      std::vector<float> got(segments ? 5 : 3), right = want;
      if (segments) right = {1.0f, 0.0f, 0x1p-140f, want[1], want[2]};
      EXPECT_EQ(m.download(got.data(), out, got.size() * 4), "");
      EXPECT_EQ(got, right) << segments;
    }
  }
  for (void* p : {data, by, out}) m.free(p);
  simt::current_options() = before;
}

/// One, two and three passes of the sort, by blocks of several tiles, of elements of every size that it takes along and of those that it does not;
/// many answers have no element, and the last one has many.
TEST(labels, of_many_elements) {
  const auto before = simt::current_options();
  using enum wf::dtype;
  using enum wf::op;
  struct sorted {
    std::int64_t answers, n;
    wf::op what;
    wf::dtype type;
    int stride;
  };
  const sorted cases[] = {{1, 20000, sum, i8, 1},        {10, 40000, argmin, f16, 1},   {300, 25000, argmax, f32, 2},  {1023, 40000, sum, f64, 1},
                          {1024, 40000, argmax, i32, 1}, {70001, 20000, sum, c64, 1},   {5000, 17000, dot, f32, 1},    {33, 17000, sum, c128, 1},
                          {1 << 20, 9000, argmax, i16, 1}, {1000, 8192, sum, u64, -1}, {2047, 16385, argmin, f32, 1},
                          // a block alone
                          {10, 1024, sum, f32, 1},       {1, 1, argmax, f64, 1},        {1023, 8191, sum, i8, 1},      {5000, 3000, dot, f32, 1},
                          {70001, 8192, sum, c64, 2},    {2047, 77, argmin, f32, 1},    {1 << 20, 4097, argmax, i16, 1},
                          // these are added where they belong
                          {16384, 30000, sum, i8, 1},    {70001, 20000, sum, i64, 1},   {1 << 20, 9000, sum, i16, -1}, {20000, 12001, sum, u32, 2}};
  int k = 0;
  for (const auto& [answers, n, what, type, stride] : cases) {
    row_case c;
    c.type = type;
    c.what = what;
    c.answers = answers;
    for (std::int64_t i = 0; i < n; ++i) c.labels.push_back(i % 3 == 0 ? answers - 1 : i * 7919 % answers);
    c.shape = {n};
    c.axes = {0};
    for (int i = 0; i < c.inputs(); ++i) {
      c.strides[i] = {stride};
      c.first[i] = stride < 0 ? (n - 1) * -stride : 0;
      c.count[i] = n * std::abs(stride);
    }
    simt::current_options().multiprocessors = 1;
    simt::current_options().order = orders[k++ % 3];
    EXPECT_EQ(difference(simt_rows(), c), "") << c.name() << ": " << simt::last_fault().text;
  }
  simt::current_options() = before;
}

/// Floats that are added where they belong: data of every kind, every rounding; a third of them has one label.
TEST(labels, of_floats_that_are_added) {
  const auto before = simt::current_options();
  std::mt19937_64 g(number_of_environment("WF_ROWS_SEED", 1));
  int k = 0;
  constexpr wf::op asked[] = {wf::op::sum, wf::op::sum, wf::op::norm1, wf::op::mean};
  for (const wf::dtype t : {wf::dtype::f32, wf::dtype::f16, wf::dtype::bf16}) {
    auto families = row_families(t);
    families.push_back("octaves");
    for (const auto& family : families) {
      if (!chosen()) continue;
      row_case c;
      c.type = t;
      c.what = asked[g() % 4];
      c.family = family;
      c.seed = g() % 1000;
      c.options.rounding = static_cast<wf::rounding>(g() % 5);
      c.answers = 16384;
      const auto n = static_cast<std::int64_t>(100000 + g() % 100), stride = static_cast<std::int64_t>(g() % 3) - 1;
      for (std::int64_t i = 0; i < n; ++i) c.labels.push_back(i % 3 == 0 ? 5 : static_cast<std::int64_t>(g() % 16384));
      c.shape = {n};
      c.axes = {0};
      c.strides[0] = {stride == 0 ? 2 : stride};
      c.first[0] = stride < 0 ? n - 1 : 0;
      c.count[0] = n * std::abs(c.strides[0][0]);
      simt::current_options().order = orders[k++ % 3];
      EXPECT_EQ(difference(simt_rows(), c), "") << c.name() << ": " << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

/// So many slots that only those are zeroed which a sample of the elements has; and f64, each of whose elements goes to two words.
TEST(labels, of_floats_whose_slots_are_sampled) {
  const auto before = simt::current_options();
  int k = 0;
  for (const row_case& c : sampled_label_cases(3 * number_of_environment("WF_ROWS_SEED", 1))) {
    if (!chosen()) continue;
    simt::current_options().order = orders[k++ % 3];
    EXPECT_EQ(difference(simt_rows(), c), "") << c.name() << ": " << simt::last_fault().text;
  }
  simt::current_options() = before;
}

/// What is not a whole number of any unit, by label: zeros of both signs beside elements that cancel, infinities, NaNs, and nothing; and sums that need all bits of a slot.
TEST(labels, of_zeros_and_infinities_that_are_added) {
  const rows_machine& m = simt_rows();
  constexpr std::int64_t n = 100000, answers = 16384;
  const float inf = HUGE_VALF, nan = std::nanf("");
  const std::vector<std::vector<float>> groups = {{-0.0f}, {-0.0f, 0.0f}, {1, -0.0f, -1}, {1, -1}, {}, {inf, -0.0f}, {-inf, 3}, {inf, -inf}, {nan, 1}, {0.0f}, {0x1p-149f, -0.0f}, {-0.0f, -0.0f, -0.0f}};
  const std::vector<float> want = {-0.0f, 0, 0, 0, 0, inf, -inf, nan, nan, 0, 0x1p-149f, -0.0f};
  std::vector<float> x;
  std::vector<std::int64_t> labels;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    for (const float v : groups[k]) {
      x.push_back(v);
      labels.push_back(static_cast<std::int64_t>(k));
    }
  }
  x.push_back(3);
  labels.push_back(-1);
  x.push_back(4);
  labels.push_back(answers);
  // Then as much as slots take: thousands of elements of all bits and one sign, of each of 14 exponents.
  constexpr std::size_t first = 20, exponents = 14;
  std::vector<float> full(exponents, 0.0f);
  for (std::size_t k = 0; k < exponents; ++k) full[k] = std::ldexp(0x1.fffffep0f, static_cast<int>(k) + 4);
  std::vector<double> sums(exponents, 0.0);  // 24 and 13 bits: exact
  while (x.size() < n) {
    const std::size_t k = x.size() % exponents;
    x.push_back(full[k]);
    labels.push_back(static_cast<std::int64_t>(first + k));
    sums[k] += full[k];
  }
  void* const data = m.allocate(4 * n);
  void* const by = m.allocate(8 * n);
  void* const out = m.allocate(4 * answers);
  EXPECT_EQ(m.upload(data, x.data(), 4 * n) + m.upload(by, labels.data(), 8 * n), "");
  wf::rows_request r{};
  r.what = wf::op::sum;
  r.element = wf::dtype::f32;
  r.x[0] = data;
  r.reduced = 1;
  r.length[0] = n;
  r.stride[0][0] = 1;
  r.labels = static_cast<const std::int64_t*>(by);
  r.segments = answers;
  r.out = out;
  EXPECT_EQ(m.run(r, 1), "");
  std::vector<float> got(answers);
  EXPECT_EQ(m.download(got.data(), out, 4 * answers), "");
  for (std::size_t k = 0; k < answers; ++k) {
    const float w = k < want.size() ? want[k] : k >= first && k < first + exponents ? static_cast<float>(sums[k - first]) : 0.0f;
    EXPECT_TRUE(std::isnan(w) ? std::isnan(got[k]) : got[k] == w && std::signbit(got[k]) == std::signbit(w)) << k << ": " << got[k];
  }
  for (void* p : {data, by, out}) m.free(p);
}

/// Labels that no answer has are left out; those of more elements than can be sorted are refused.
TEST(labels, that_no_answer_has) {
  const rows_machine& m = simt_rows();
  const std::int64_t some[] = {2, -1, 0, 3, 2, INT64_MIN, INT64_MAX, 0, 4, std::int64_t{1} << 32};
  constexpr std::int64_t n = 9000;  // more than a tile
  std::vector<std::int64_t> labels, values, want(3);
  for (std::int64_t i = 0; i < n; ++i) {
    labels.push_back(some[i % 10]);
    values.push_back(i * i);
    if (labels.back() >= 0 && labels.back() < 3) want[static_cast<std::size_t>(labels.back())] += values.back();
  }
  void* const x = m.allocate(8 * n);
  void* const by = m.allocate(8 * n);
  void* const out = m.allocate(24);
  EXPECT_EQ(m.upload(x, values.data(), 8 * n) + m.upload(by, labels.data(), 8 * n), "");
  wf::rows_request r{};
  r.what = wf::op::sum;
  r.element = wf::dtype::i64;
  r.x[0] = x;
  r.reduced = 1;
  r.length[0] = n;
  r.stride[0][0] = 1;
  r.labels = static_cast<const std::int64_t*>(by);
  r.segments = 3;
  r.out = out;
  EXPECT_EQ(m.run(r, 1), "");
  std::vector<std::int64_t> got(3);
  EXPECT_EQ(m.download(got.data(), out, 24), "");
  EXPECT_EQ(got, want);
  r.length[0] = std::int64_t{1} << 32;
  EXPECT_NE(m.run(r, 1), "");
  for (void* p : {x, by, out}) m.free(p);
}

/// Whether answers overflowed: random views, segments and labels, and few long rows.
TEST_P(rows, that_are_checked) {
  const auto before = simt::current_options();
  std::mt19937_64 g(number_of_environment("WF_ROWS_SEED", 1) * 300 + static_cast<std::uint64_t>(GetParam()));
  for (int o = 0; o < wf::op_count; ++o) {
    const auto what = static_cast<wf::op>(o);
    ASSERT_EQ(wf::is_checked_on_devices(what, GetParam()), wf::find_checked(what, GetParam()) != nullptr) << wf::op_names[o];
    if (!wf::is_checked_on_devices(what, GetParam())) continue;
    for (int k = 0; k < (brief() ? 3 : 12); ++k) {
      row_case c = k % 4 == 3 ? ragged_case(g, what, GetParam(), static_cast<ragged>(k % ragged_kinds), 3000) : random_row_case(g, what, GetParam());
      c.checked = true;
      c.family = k % 3 == 0 ? "ties" : k % 3 == 1 ? "huge" : "bits";
      simt::current_options().order = orders[k % 3];
      ASSERT_EQ(difference(simt_rows(), c), "") << simt::last_fault().text;
    }
  }
  simt::current_options() = before;
}

TEST(runs, of_keys) {
  const auto before = simt::current_options();
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    simt::current_options().order = orders[seed % 3];
    simt::current_options().multiprocessors = seed < 36 ? 0 : 1;  // warps have one tile or several
    EXPECT_EQ(runs_difference(seed, seed < 6 ? 3 : seed < 24 ? 700 : seed < 36 ? 5000 : 60000), "") << "seed " << seed << "; " << simt::last_fault().text;
  }
  simt::current_options() = before;
}

/// Reductions that the caller's compiler knows: short rows and segments, and some that blocks share.
TEST(own_rows, of_random_views) {
  const auto before = simt::current_options();
  const std::uint64_t seed = number_of_environment("WF_ROWS_SEED", 1), cases = 4 * number_of_environment("WF_ROWS_CASES", 10);
  for (std::uint64_t i = 0; i < cases; ++i) {
    simt::current_options().order = orders[i % 3];
    ASSERT_EQ(own_rows_difference(seed * 1000 + i, i % 4 == 3 ? 20000 : i % 4 == 2 ? 3000 : 150), "") << simt::last_fault().text;
  }
  simt::current_options() = before;
}

INSTANTIATE_TEST_SUITE_P(simt, rows,
                         ::testing::Values(wf::dtype::f16, wf::dtype::bf16, wf::dtype::f32, wf::dtype::f64, wf::dtype::i8, wf::dtype::i16,
                                           wf::dtype::i32, wf::dtype::i64, wf::dtype::u8, wf::dtype::u16, wf::dtype::u32, wf::dtype::u64,
                                           wf::dtype::boolean, wf::dtype::c64, wf::dtype::c128),
                         [](const auto& given) { return std::string(wf::info(given.param).name); });

}  // namespace
