// SPDX-License-Identifier: Apache-2.0
// How much stack a thread that calls the library needs: docs/cpu.md and docs/exact.md say it, and threads with just
// that much run everything here. A byte more than they have ends the program.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <warpfold/builtin.hpp>
#include <warpfold/compact_state.hpp>
#include <warpfold/exact_moments.hpp>
#include <warpfold/warpfold.h>

#include "../support/exact_families.hpp"
#include "targets.hpp"

namespace wf::test {
namespace {

constexpr std::size_t stated = 256 << 10;
constexpr std::size_t of_the_thread = 16 << 10;  // the part of `stated` left to the caller and to the start of a thread

/// Bytes of stack that f used, on a thread with the stated size.
std::size_t stack_used(const std::function<void()>& f) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* whole = static_cast<unsigned char*>(
      mmap(nullptr, stated + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (whole == MAP_FAILED || mprotect(whole, page, PROT_NONE) != 0) return 0;
  unsigned char* const stack = whole + page;
  std::memset(stack, 0xa5, stated);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, stated);
  pthread_t thread;
  const int started = pthread_create(&thread, &attributes, [](void* what) -> void* {
    (*static_cast<const std::function<void()>*>(what))();
    return nullptr;
  }, const_cast<std::function<void()>*>(&f));
  pthread_attr_destroy(&attributes);
  std::size_t untouched = 0;
  if (started == 0) {
    pthread_join(thread, nullptr);
    while (untouched < stated && stack[untouched] == 0xa5) ++untouched;
  }
  munmap(whole, stated + page);
  return started == 0 ? stated - untouched : 0;
}

class stack : public testing::Test {
 protected:
  void SetUp() override {
#if defined(WARPFOLD_SANITIZED)
    GTEST_SKIP() << "sanitizers take stack of their own";
#endif
  }
  void measure(const std::string& what, const std::function<void()>& f) {
    const std::size_t used = stack_used(f);
    EXPECT_GT(used, 0u) << what << ": no thread";
    EXPECT_LE(used, stated - of_the_thread) << what;
    if (used > most_) {
      most_ = used;
      which_ = what;
    }
  }
  void TearDown() override {
    if (most_ != 0) std::cout << "most: " << most_ << " bytes, " << which_ << '\n';
  }

 private:
  std::size_t most_ = 0;
  std::string which_;
};

TEST_F(stack, of_the_stated_size_is_enough_for_every_reduction) {
  std::vector<std::byte> x(std::size_t{1} << 22), y(x.size());
  generator random(seed());
  for (auto* v : {&x, &y})
    for (std::byte& b : *v) b = static_cast<std::byte>(random());
  std::vector<std::int64_t> labels(3000);
  for (std::size_t k = 0; k < labels.size(); ++k) labels[k] = static_cast<std::int64_t>(k * k % 3);
  for_each_target([&] {
    for (const int threads : {1, 0}) {
      for (int dtype = 0; dtype <= WF_C128; ++dtype) {
        for (int o = 0; o < op_count; ++o) {
          for (int accuracy = 0; accuracy < 2; ++accuracy) {
            if (find_builtin(static_cast<op>(o), static_cast<wf::dtype>(dtype), static_cast<wf::accuracy>(accuracy)) == nullptr)
              continue;
            const std::string what = std::string(op_names[o]) + (accuracy != 0 ? ", fast" : "") + " of type " + std::to_string(dtype);
            for (const std::int64_t n : {std::int64_t{20}, std::int64_t{5000}, std::int64_t{150000}}) {
              measure(what, [&] {
                const wf_array ax{x.data(), dtype, 1, &n, nullptr}, ay{y.data(), dtype, 1, &n, nullptr};
                const wf_options options{accuracy, WF_ROUND_NEAREST, 0, threads};
                char out[64];
                EXPECT_EQ(wf_reduce(o, &ax, o == WF_DOT ? &ay : nullptr, &options, out), WF_OK) << wf_last_error();
              });
            }
            measure(what + ", axes", [&] {
              const std::int64_t shape[] = {50, 40};
              const wf_array ax{x.data(), dtype, 2, shape, nullptr}, ay{y.data(), dtype, 2, shape, nullptr};
              const wf_options options{accuracy, WF_ROUND_NEAREST, 0, threads};
              char out[64 * 50];
              for (const int axis : {0, 1})
                EXPECT_EQ(wf_reduce_axes(o, &ax, o == WF_DOT ? &ay : nullptr, &axis, 1, &options, out), WF_OK);
            });
            if (threads != 1) continue;  // the pool's threads have stacks of their own
            measure(what + ", segments and labels", [&] {
              const std::int64_t n = 3000, offsets[] = {0, 1, 1500, n};
              const wf_array ax{x.data(), dtype, 1, &n, nullptr}, ay{y.data(), dtype, 1, &n, nullptr};
              const wf_options options{accuracy, WF_ROUND_NEAREST, 0, threads};
              char out[64 * 3];
              EXPECT_EQ(wf_reduce_segments(o, &ax, o == WF_DOT ? &ay : nullptr, offsets, 3, &options, out), WF_OK);
              EXPECT_EQ(wf_reduce_by_label(o, &ax, o == WF_DOT ? &ay : nullptr, labels.data(), 3, &options, out), WF_OK);
              unsigned char overflow = 0;
              const int status = wf_reduce_checked(o, &ax, o == WF_DOT ? &ay : nullptr, nullptr, 0, &options, out, &overflow);
              EXPECT_TRUE(status == WF_OK || status == WF_UNSUPPORTED);
              if (o == WF_DOT) return;
              const int ops[] = {o, WF_COUNT, o};
              void* const to[] = {out, out + 64, out + 128};
              EXPECT_EQ(wf_reduce_many(ops, 3, &ax, &options, to), WF_OK);
            });
            std::size_t bytes = 0;
            int adds = 0;
            ASSERT_EQ(wf_state_size(o, dtype, accuracy, &bytes, &adds), WF_OK);
            std::vector<std::byte> held(2 * bytes);
            measure(what + ", states", [&] {
              const std::int64_t n = 9000;
              const wf_array ax{x.data(), dtype, 1, &n, nullptr}, ay{y.data(), dtype, 1, &n, nullptr};
              wf_request q{};
              q.size = sizeof q;
              q.version = WF_REQUEST_VERSION;
              q.op = o;
              q.x = &ax;
              q.y = o == WF_DOT ? &ay : nullptr;
              q.output = WF_STATES;
              q.options = {accuracy, WF_ROUND_NEAREST, 0, threads};
              for (const std::size_t k : {0, 1}) {
                q.out = held.data() + k * bytes;
                EXPECT_EQ(wf_run(&q), WF_OK);
              }
              char out[64];
              const wf_states s{sizeof(wf_states), WF_STATES_VERSION, o, dtype, held.data(), 1, q.options, nullptr};
              EXPECT_EQ(wf_merge(&s, held.data() + bytes), WF_OK);
              EXPECT_EQ(wf_finish(&s, out), WF_OK);
              EXPECT_EQ(wf_unmerge(&s, held.data() + bytes), adds != 0 ? WF_OK : WF_UNSUPPORTED);
              const state_form form = form_of_states(static_cast<op>(o), static_cast<wf::dtype>(dtype), static_cast<wf::accuracy>(accuracy));
              const std::span<const std::byte> one(held.data() + bytes, bytes);
              EXPECT_TRUE(std::ranges::equal(expand_states(form, compact_states(form, one)), one));
            });
          }
        }
      }
    }
  });
}

template <class T>
void states(const std::function<void(const std::string&, const std::function<void()>&)>& measure) {
  generator random(seed());
  const auto x = make<T>(family::random_bits, 70000, random);
  const std::string of = " of " + std::to_string(sizeof(T)) + " bytes";
  measure("exact_sum" + of, [&] {
    exact_sum s;
    s.add(x);
    exact_sum t = exact_sum::from_bytes(s.to_bytes());
    t.merge(s);
    static_cast<void>(t.mean());
    static_cast<void>(t.value_pair());
  });
  measure("exact_dot" + of, [&] {
    exact_dot s;
    s.add(x, x);
    exact_dot t = exact_dot::from_bytes(s.to_bytes());
    t.merge(s);
    static_cast<void>(t.value());
  });
  measure("exact_moments" + of, [&] {
    exact_moments s;
    s.add(x);
    exact_moments t = exact_moments::from_bytes(s.to_bytes());
    t.merge(s);
    static_cast<void>(t.std_dev(1));
    static_cast<void>(t.norm());
  });
}

TEST_F(stack, of_the_stated_size_is_enough_for_every_state) {
  const auto f = [this](const std::string& what, const std::function<void()>& g) { measure(what, g); };
  states<f16>(f);
  states<bf16>(f);
  states<float>(f);
  states<double>(f);
}

}  // namespace
}  // namespace wf::test
