// SPDX-License-Identifier: Apache-2.0
// Every exact reduction of floats against MPFR: types × families of data × sizes × targets × layouts.
#include <gtest/gtest.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../support/effort.hpp"
#include "targets.hpp"
#include "typeless.hpp"

namespace wf::test {
namespace {

// `call` gives the answer of an operation.
template <class F>
void check(F call, const verdict& v) {
  for (const op o : exact_ops) {
    const answer a = call(o);
    for (int part = 0; part < a.kind.values; ++part)
      EXPECT_PRED2(same_number, a.number(part), verdict_on(o, v, part)) << properties_of(o).name;
  }
}

void check(const numbers& x, const numbers& y, const verdict& v, rounding mode) {
  how h;
  h.c.rounding = mode;
  h.correction = 1;
  check([&](op o) { return reduce(o, x, y, h); }, v);
}

class exact_reductions : public testing::TestWithParam<dtype> {
 protected:
  dtype type = GetParam();
  std::int64_t size = static_cast<std::int64_t>(info(type).size);
};
INSTANTIATE_TEST_SUITE_P(of, exact_reductions, testing::ValuesIn(float_types),
                         [](const auto& p) { return name(p.param); });

TEST_P(exact_reductions, agree_with_mpfr_for_every_size_family_and_target) {
  generator random(seed());
  static some_of_all chosen;
  for (const family k : all_families) {
    for (const int n : {0, 1, 2, 3, 5, 8, 17, 24, 25, 33, 63, 65, 200, 1023, 4095, 4097, 9001}) {
      if (n > 200 && !chosen()) continue;
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n));
      const numbers x = make(type, k, n, random);
      const numbers y = make(type, k == family::one_nan ? family::normal : k, n, random);
      const verdict v = judge(x, y, rounding::nearest, 1);
      for_each_target([&] { check(x, y, v, rounding::nearest); });
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(exact_reductions, agree_with_mpfr_in_every_rounding_mode) {
  generator random(seed() + 1);
  for (const family k : {family::normal, family::ill_conditioned, family::finite_bits, family::greatest}) {
    for (const int n : {1, 7, 24, 300, 5000}) {
      const numbers x = make(type, k, n, random), y = make(type, k, n, random);
      for (const rounding mode : {rounding::nearest, rounding::zero, rounding::away, rounding::up, rounding::down}) {
        SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n) + ", mode " +
                     std::to_string(static_cast<int>(mode)));
        const verdict v = judge(x, y, mode, 1);
        for_each_target([&] { check(x, y, v, mode); });
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// The elements of x from a place in memory on, `stride` elements apart; its first is at `first`.
struct laid_out {
  std::vector<std::byte> memory;
  const void* first;

  laid_out(const numbers& x, std::int64_t stride, std::size_t misaligned) {
    const std::int64_t n = x.size(), size = static_cast<std::int64_t>(info(x.type).size), step = std::abs(stride) * size;
    memory.resize(static_cast<std::size_t>((n + 1) * step) + misaligned);
    std::byte* p = memory.data() + misaligned + (stride < 0 ? step * (n - (n > 0)) : 0);
    first = p;
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(p + i * stride * size, x.at(i), static_cast<std::size_t>(size));
  }
};

TEST_P(exact_reductions, do_not_depend_on_strides_or_alignment) {
  generator random(seed() + 2);
  how h;
  h.correction = 1;
  static some_of_all chosen;
  for (const family k : {family::normal, family::finite_bits, family::random_bits, family::all_neg_zero}) {
    for (const int n : {1, 10, 777, 9001}) {
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n));
      const numbers x = make(type, k, n, random), y = make(type, k, n, random);
      const verdict v = judge(x, y, rounding::nearest, 1);
      for_each_target([&] {
        for (const int stride : {1, 2, 3, -1, -2}) {
          for (const std::size_t misaligned : {0u, 1u}) {
            if (n >= 777 && !chosen()) continue;
            SCOPED_TRACE("stride " + std::to_string(stride) + (misaligned != 0 ? ", misaligned" : ""));
            const laid_out a(x, stride, misaligned), b(y, stride, misaligned);
            check([&](op o) { return reduce(o, type, a.first, b.first, n, stride * size, h); }, v);
          }
        }
      });
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(exact_reductions, do_not_depend_on_threads_when_there_are_many_chunks) {
  generator random(seed() + 3);
  cpu::thread_pool pool(4);
  static some_of_all chosen;
  for (const family k : {family::normal, family::finite_bits, family::ill_conditioned}) {
    if (!chosen()) continue;
    SCOPED_TRACE(name(k));
    const numbers x = make(type, k, 400'003, random), y = make(type, k, 400'003, random);
    const verdict v = judge_by_core(x, y, 1);
    for_each_target([&] {
      for (const int threads : {1, 3, 4}) {
        how h;
        h.correction = 1;
        h.c.executor = &pool;
        h.c.threads = threads;
        for (const op o : {op::sum, op::dot, op::var})
          EXPECT_PRED2(same_number, reduce(o, x, y, h).number(), verdict_on(o, v)) << properties_of(o).name;
      }
    });
  }
}

// A window that fits at first and no longer does, and back: every level of the kernels, in one run.
TEST_P(exact_reductions, agree_when_the_range_changes_from_tile_to_tile) {
  generator random(seed() + 4);
  numbers x{type, {}}, y{type, {}};
  for (int piece = 0; piece < 24; ++piece) {
    const family k = all_families[random() % 13];
    if (k == family::one_nan || k == family::infinities || k == family::random_bits) continue;
    const auto n = static_cast<std::int64_t>(random() % 6000);
    append(x, make(type, k, n, random));
    append(y, make(type, k, n, random));
  }
  const verdict v = judge(x, y, rounding::nearest, 1);
  for_each_target([&] { check(x, y, v, rounding::nearest); });
}

// A dozen exponents far apart, the least and the infinities' among them: words of the bucket kernels
// overflow, zeros and subnormals have no leading one, and what is not finite must not be carried. All
// above the lowest `kept` exponents cancel, so that an error of any of them is seen.
TEST_P(exact_reductions, agree_with_the_core_where_few_exponents_are_far_apart) {
  generator random(seed() + 6);
  const int significand = type == dtype::f16 ? 10 : type == dtype::bf16 ? 7 : type == dtype::f32 ? 23 : 52;
  const std::uint64_t fields = (std::uint64_t{1} << (8 * size - 1 - significand)) - 1;  // the field of infinities
  const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1), all = (std::uint64_t{1} << significand) - 1;
  const auto few = [&](std::int64_t n, std::uint64_t kept, bool negative, bool specials) {
    numbers x = make(type, family::zeros, n, random);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t k = random() % (specials ? 12 : 11), field = k == 11 ? fields : k * (fields / 11);
      std::uint64_t bits = field << significand;
      if (field != fields) bits |= random() % 3 == 0 ? random() & all : all;
      if (negative) bits |= sign;
      std::memcpy(x.bytes.data() + i * size, &bits, static_cast<std::size_t>(size));
      if (k < kept || k == 11 || i + 1 == n) continue;
      bits ^= sign;
      std::memcpy(x.bytes.data() + ++i * size, &bits, static_cast<std::size_t>(size));
    }
    return x;
  };
  static some_of_all chosen;
  for (const std::uint64_t kept : {1, 2, 6, 12}) {
    for (const bool specials : {false, true}) {
      if (!chosen()) continue;
      SCOPED_TRACE("kept " + std::to_string(kept) + (specials ? ", with infinities" : ""));
      const numbers x = few(130'000, kept, kept == 2, specials), ones = make(type, family::constant, x.size(), random);
      const verdict v = judge_by_core(x, ones, 1);
      for_each_target([&] {
        how h;
        h.correction = 1;
        for (const op o : {op::sum, op::dot, op::var})
          EXPECT_PRED2(same_number, reduce(o, x, ones, h).number(), verdict_on(o, v)) << properties_of(o).name;
      });
    }
  }
}

// Two exponents far apart, by turns and in runs: every word of a table gets as much as it ever can.
TEST_P(exact_reductions, agree_with_the_core_where_two_exponents_take_turns) {
  generator random(seed() + 7);
  const numbers ends = make(type, family::greatest, 64, random);
  static some_of_all chosen;
  for (const std::int64_t turn : {1, 16384, 131072}) {
    if (!chosen()) continue;
    SCOPED_TRACE("turn " + std::to_string(turn));
    numbers x = make(type, family::greatest, 200'000, random);
    std::int64_t wanted = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const bool large = i / turn % 2 == 0;
      while ((std::fabs(number(ends, wanted % 64)) > 1) != large || number(ends, wanted % 64) < 0) ++wanted;
      std::memcpy(x.bytes.data() + i * size, ends.at(wanted % 64), static_cast<std::size_t>(size));
    }
    const verdict v = judge_by_core(x, x, 1);
    for_each_target([&] {
      how h;
      h.correction = 1;
      for (const op o : {op::sum, op::dot, op::var})
        EXPECT_PRED2(same_number, reduce(o, x, x, h).number(), verdict_on(o, v)) << properties_of(o).name;
    });
  }
}

#if defined(__SSE2__)
TEST_P(exact_reductions, do_not_depend_on_the_callers_floating_point_environment) {
  generator random(seed() + 5);
  cpu::thread_pool pool(2);
  how h;
  h.c.executor = &pool;
  for (const family k : {family::subnormals, family::finite_bits, family::normal}) {
    for (const int n : {3, 100, 9001, 200'000}) {
      SCOPED_TRACE(std::string(name(k)) + ", n = " + std::to_string(n));
      const numbers x = make(type, k, n, random), y = make(type, k, n, random);
      const op ops[] = {op::sum, op::dot, op::std_dev};
      std::vector<answer> want;
      for (const op o : ops) want.push_back(reduce(o, x, y));
      for_each_target([&] {
        std::vector<answer> got;
        const unsigned before = _mm_getcsr();
        const unsigned changed = (before & ~0x6000u) | 0x8040 | 0x4000;  // FTZ, DAZ, rounding up
        _mm_setcsr(changed);
        for (const op o : ops) got.push_back(reduce(o, x, y, h));
        const unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        EXPECT_EQ(after & 0xffc0, changed & 0xffc0) << "the caller's environment was not given back";
        for (std::size_t k2 = 0; k2 < got.size(); ++k2) EXPECT_EQ(got[k2], want[k2]) << properties_of(ops[k2]).name;
      });
    }
  }
}
#endif

}  // namespace
}  // namespace wf::test
