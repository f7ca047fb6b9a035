// SPDX-License-Identifier: Apache-2.0
// The caller's floating-point environment after a call is the one before it, status flags included, and it has no
// say in the answer: every operation, type, accuracy and length that takes another path, on every target.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <warpfold/builtin.hpp>
#include <warpfold/warpfold.h>

#include "../support/effort.hpp"
#include "../support/exact_families.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

constexpr int dtype_count = WF_C128 + 1;
constexpr std::int64_t sizes[dtype_count] = {2, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 8, 16};

/// How a caller may have set the processor.
struct setting {
  const char* name;
  int flags, rounding;
  bool traps;
};
constexpr setting settings[] = {{"no flag", 0, FE_TONEAREST, false},
                                {"every flag", FE_ALL_EXCEPT, FE_TONEAREST, false},
                                {"one flag, upward", FE_UNDERFLOW, FE_UPWARD, false},
#if defined(__GLIBC__) && defined(__x86_64__)
                                {"traps", 0, FE_TONEAREST, true},
#endif
};

/// Calls f under each setting: it leaves all as it was, and says the same.
template <class F>
void expect_kept(const std::string& what, F f) {
  std::string first;
  for (const setting& s : settings) {
    std::fesetround(s.rounding);
    std::feclearexcept(FE_ALL_EXCEPT);
    if (s.flags != 0) std::feraiseexcept(s.flags);
#if defined(__GLIBC__) && defined(__x86_64__)
    if (s.traps) feenableexcept(FE_ALL_EXCEPT);
#endif
    const int raised = std::fetestexcept(FE_ALL_EXCEPT);  // some machines raise more than they are asked
    const std::string answer = f();
    const int flags = std::fetestexcept(FE_ALL_EXCEPT), rounding = std::fegetround();
#if defined(__GLIBC__) && defined(__x86_64__)
    const int traps = fegetexcept();
    fedisableexcept(FE_ALL_EXCEPT);
    EXPECT_EQ(traps, s.traps ? FE_ALL_EXCEPT : 0) << what << ", " << s.name;
#endif
    std::fesetround(FE_TONEAREST);
    std::feclearexcept(FE_ALL_EXCEPT);
    EXPECT_EQ(flags, raised) << what << ", " << s.name;
    EXPECT_EQ(rounding, s.rounding) << what << ", " << s.name;
    if (&s == settings) first = answer;
    EXPECT_TRUE(answer == first) << what << ", " << s.name << ": another answer";
  }
}

/// Elements of a type: of random bits, among them infinities, NaNs that signal and subnormals; or numbers
/// whose sums and products round.
std::vector<std::byte> elements(int dtype, std::int64_t n, bool any_bits, generator& random) {
  std::vector<std::byte> out(static_cast<std::size_t>((n + 1) * sizes[dtype]));
  for (std::size_t i = 0; i < out.size(); i += 8) {
    std::uint64_t bits = random();
    if (!any_bits) {  // exponents a little below 1 in each type
      const auto narrow = [&](std::uint64_t x, std::uint64_t one, std::uint64_t below) { return (x & below) | one; };
      switch (dtype) {
        case WF_F16: bits = narrow(bits, 0x3400340034003400, 0x8bff8bff8bff8bff); break;
        case WF_BF16: bits = narrow(bits, 0x3f003f003f003f00, 0x80ff80ff80ff80ff); break;
        case WF_F32: case WF_C64: bits = narrow(bits, 0x3e0000003e000000, 0x80ffffff80ffffff); break;
        case WF_F64: case WF_C128: bits = narrow(bits, 0x3fc0000000000000, 0x803fffffffffffff); break;
        default: break;
      }
    }
    std::memcpy(out.data() + i, &bits, std::min<std::size_t>(8, out.size() - i));
  }
  return out;
}

class environment_of_the_caller : public testing::Test {
 protected:
  static constexpr std::int64_t lengths[] = {0, 1, 2, 3, 28, 29, 300, 4096, 4100, 140000};

  /// f(array x, array y or null, op, accuracy, name) for all that there is.
  template <class F>
  void for_all(std::int64_t n, bool any_bits, F f) {
    generator random(seed() + static_cast<std::uint64_t>(n));
    for (int dtype = 0; dtype < dtype_count; ++dtype) {
      const auto x = elements(dtype, n, any_bits, random), y = elements(dtype, n, any_bits, random);
      const wf_array ax{x.data(), dtype, 1, &n, nullptr}, ay{y.data(), dtype, 1, &n, nullptr};
      for (int o = 0; o < op_count; ++o) {
        for (int accuracy = 0; accuracy < 2; ++accuracy) {
          if (find_builtin(static_cast<op>(o), static_cast<wf::dtype>(dtype), static_cast<wf::accuracy>(accuracy)) == nullptr)
            continue;
          if (n > 300 && !chosen_()) continue;
          f(ax, o == WF_DOT ? &ay : nullptr, o, accuracy,
            std::string(op_names[o]) + (accuracy != 0 ? ", fast" : "") + " of type " + std::to_string(dtype) + ", n = " +
                std::to_string(n) + (any_bits ? ", any bits" : ""));
        }
      }
    }
  }

 private:
  some_of_all chosen_;
};

TEST_F(environment_of_the_caller, is_kept_by_every_reduction) {
  for_each_target([&] {
    for (const std::int64_t n : lengths) {
      for (const bool any_bits : {false, true}) {
        if (n > 100000 && !any_bits) continue;  // it takes a while
        for_all(n, any_bits, [&](const wf_array& x, const wf_array* y, int o, int accuracy, const std::string& what) {
          expect_kept(what, [&] {
            const wf_options options{accuracy, WF_ROUND_NEAREST, 0, 0};
            std::string out(64, '\0');
            EXPECT_EQ(wf_reduce(o, &x, y, &options, out.data()), WF_OK) << what;
            return out;
          });
        });
      }
    }
  });
}

TEST_F(environment_of_the_caller, is_kept_by_axes_segments_labels_and_many) {
  constexpr std::int64_t n = 6000, rows = 20, columns = n / rows;
  const std::int64_t shape[] = {rows, columns};
  const std::vector<std::int64_t> offsets{0, 0, 1, 40, 5000, n};
  std::vector<std::int64_t> labels(n);
  for (std::int64_t i = 0; i < n; ++i) labels[static_cast<std::size_t>(i)] = i * i % 7;
  for_each_target([&] {
    for_all(n, true, [&](const wf_array& x, const wf_array* y, int o, int accuracy, const std::string& what) {
      const wf_options options{accuracy, WF_ROUND_UP, 1, 2};
      wf_array x2 = x, y2 = y != nullptr ? *y : x;
      x2.rank = y2.rank = 2;
      x2.shape = y2.shape = shape;
      for (const int axis : {0, 1}) {
        expect_kept("axis " + std::to_string(axis) + ", " + what, [&] {
          std::string out(static_cast<std::size_t>(64 * shape[1 - axis]), '\0');
          EXPECT_EQ(wf_reduce_axes(o, &x2, y != nullptr ? &y2 : nullptr, &axis, 1, &options, out.data()), WF_OK);
          return out;
        });
      }
      expect_kept("segments, " + what, [&] {
        std::string out(64 * 5, '\0');
        EXPECT_EQ(wf_reduce_segments(o, &x, y, offsets.data(), 5, &options, out.data()), WF_OK);
        return out;
      });
      expect_kept("labels, " + what, [&] {
        std::string out(64 * 7, '\0');
        EXPECT_EQ(wf_reduce_by_label(o, &x, y, labels.data(), 7, &options, out.data()), WF_OK);
        return out;
      });
      if (y != nullptr) return;
      expect_kept("many, " + what, [&] {
        std::string out(192, '\0');
        const int ops[] = {o, WF_COUNT, o};
        void* to[] = {out.data(), out.data() + 64, out.data() + 128};
        EXPECT_EQ(wf_reduce_many(ops, 3, &x, &options, to), WF_OK);
        return out;
      });
    });
  });
}

TEST_F(environment_of_the_caller, is_kept_by_states_and_by_checked_answers) {
  for_each_target([&] {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{300}, std::int64_t{6000}}) {
      for_all(n, true, [&](const wf_array& x, const wf_array* y, int o, int accuracy, const std::string& what) {
        std::size_t bytes = 0;
        int adds = 0;
        ASSERT_EQ(wf_state_size(o, x.dtype, accuracy, &bytes, &adds), WF_OK);
        wf_request q{};
        q.size = sizeof q;
        q.version = WF_REQUEST_VERSION;
        q.op = o;
        q.x = &x;
        q.y = y;
        q.output = WF_STATES;
        q.options = {accuracy, WF_ROUND_UP, 1, 2};
        expect_kept("states, " + what, [&] {
          std::string states(3 * bytes, '\0'), answer(64, '\0');
          wf_states s{sizeof(wf_states), WF_STATES_VERSION, o, x.dtype, states.data(), 3, q.options, nullptr};
          EXPECT_EQ(wf_clear(&s), WF_OK);
          s.count = 2;
          for (const std::size_t k : {0, 1}) {
            q.out = states.data() + k * bytes;
            EXPECT_EQ(wf_run(&q), WF_OK) << what;
          }
          EXPECT_EQ(wf_merge(&s, states.data() + bytes), WF_OK);
          s.count = 1;
          EXPECT_EQ(wf_finish(&s, answer.data()), WF_OK);
          EXPECT_EQ(wf_unmerge(&s, states.data() + bytes), adds != 0 ? WF_OK : WF_UNSUPPORTED);
          return states + answer;
        });
        if (x.dtype < WF_I8 || x.dtype > WF_U64) return;
        expect_kept("checked, " + what, [&] {
          std::string out(9, '\0');
          const int status = wf_reduce_checked(o, &x, y, nullptr, 0, &q.options, out.data(), reinterpret_cast<unsigned char*>(out.data() + 8));
          EXPECT_TRUE(status == WF_OK || status == WF_UNSUPPORTED) << what;
          return out;
        });
      });
    }
  });
}

/// A user's own: it divides by zero, in every task of every thread.
struct dividing {
  double identity() const { return 0; }
  double lift(double x, std::int64_t) const {
    volatile double zero = 0;
    return x / zero;
  }
  double combine(double a, double b) const { return a < b ? b : a; }
  double finish(double s, std::int64_t) const { return s; }
};

TEST_F(environment_of_the_caller, is_kept_by_users_own_reductions) {
  const std::vector<double> x(1 << 19, 1.0);
  for (const std::size_t n : {std::size_t{1}, std::size_t{5000}, x.size()}) {
    expect_kept(std::to_string(n) + " elements", [&] {
      constexpr cpu::erased functions = cpu::erase<dividing, double>();
      const dividing d;
      const void* at[] = {x.data()};
      double answer = 0;
      cpu::reduce_run(functions, &d, at, static_cast<std::int64_t>(n), {}, &answer);
      return std::to_string(answer);
    });
  }
}

}  // namespace
}  // namespace wf::test
