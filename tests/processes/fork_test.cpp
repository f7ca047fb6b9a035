// SPDX-License-Identifier: Apache-2.0
// fork() before, while and after the pools have threads at work: parent and child go on reducing, and both end.
// Each case is a process of its own, which has no pool at first, and has failed if it is not over in time.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <warpfold/warpfold.hpp>

#include "processes.hpp"

namespace wf::test {
namespace {

constexpr int threads = 4;
enum class leave { by_exit, by_quick_exit, by_exec };
constexpr leave all_leaves[] = {leave::by_exit, leave::by_quick_exit, leave::by_exec};
const char* name(leave l) {
  constexpr const char* names[] = {"exit", "_exit", "exec"};
  return names[static_cast<int>(l)];
}

[[noreturn]] void end(leave how, int status) {
  if (how == leave::by_exit) std::exit(status);
  if (how == leave::by_exec && status == 0) execl("/bin/true", "true", static_cast<char*>(nullptr));
  _exit(status);
}

constexpr std::size_t length = (std::size_t{1} << 20) + 17;
const std::vector<float>& values() {
  static const std::vector<float>& x = *new std::vector<float>(length, 0.1f);
  return x;
}
bool sums(const context& c = {}) {
  static const float want = static_cast<float>(static_cast<double>(length) * static_cast<double>(0.1f));
  return wf::sum(values(), c) == want;
}

/// Runs f in a child; true if that ended by itself, with status 0, in time. It is killed where not.
template <class F>
bool in_child(F f, std::string& why) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    f();
    _exit(3);  // f leaves by itself
  }
  return ended_well(child, why);
}

/// One generation of a process: reduces, forks, and waits; so does its child, `deep` times.
[[noreturn]] void generation(int deep, bool reduces, leave how, const context& c) {
  if (reduces && !sums(c)) _exit(4);
  if (deep == 0) end(how, 0);
  std::string why;
  const bool well = in_child([&] { generation(deep - 1, reduces, how, c); }, why);
  if (!well) std::fprintf(stderr, "generation %d: %s\n", deep, why.c_str());
  if (!sums(c)) _exit(5);  // the parent's threads are there still
  end(how, well ? 0 : 6);
}

void expect_well(const std::string& what, auto f) {
  std::string why;
  EXPECT_TRUE(in_child(f, why)) << what << ": " << why;
}

class fork_of_a_process : public testing::Test {
 protected:
  void SetUp() override { setenv("WARPFOLD_THREADS", std::to_string(threads).c_str(), 1); }
};

TEST_F(fork_of_a_process, before_and_after_it_reduces) {
  for (const leave how : all_leaves) {
    for (const bool before : {false, true}) {
      for (const bool reduces : {false, true}) {
        expect_well(std::string(before ? "before" : "after") + ", the child " + (reduces ? "reduces, " : "does not, ") +
                        name(how),
                    [&] {
                      if (!before && !sums()) _exit(7);
                      generation(3, reduces, how, {});
                    });
      }
    }
  }
}

TEST_F(fork_of_a_process, with_pools_of_its_own) {
  for (const leave how : all_leaves) {
    expect_well(name(how), [&] {
      static cpu::thread_pool pool(threads), idle(threads);  // destroyed at exit, in each generation
      context c;
      c.executor = &pool;
      generation(3, true, how, c);
    });
    expect_well(std::string(name(how)) + ", a pool destroyed in the child", [&] {
      cpu::thread_pool pool(threads);
      context c;
      c.executor = &pool;
      if (!sums(c)) _exit(7);
      std::string why;
      const bool well = in_child([&] {
        {
          cpu::thread_pool another(2);
          c.executor = &another;
          if (!sums(c)) _exit(8);
        }
        pool.~thread_pool();
        end(how, sums() ? 0 : 9);
      }, why);
      if (!well) std::fprintf(stderr, "%s\n", why.c_str());
      end(how, well && sums(c) ? 0 : 10);
    });
  }
}

// Another thread reduces all the while, and one starts and ends pools: fork() meets them anywhere.
TEST_F(fork_of_a_process, while_other_threads_reduce) {
  for (const leave how : all_leaves) {
    for (const bool reduces : {false, true}) {
      expect_well(std::string("the child ") + (reduces ? "reduces, " : "does not, ") + name(how), [&] {
        values();  // a child of a fork() in the midst of making it would wait for it for ever
        std::atomic<bool> over{false}, right{true};
        std::vector<std::thread> others;
        for (int k = 0; k < 2; ++k)
          others.emplace_back([&] {
            while (!over) {
              if (!sums()) right = false;
            }
          });
        others.emplace_back([&] {
          while (!over) {
            cpu::thread_pool pool(3);
            context c;
            c.executor = &pool;
            if (!sums(c)) right = false;
          }
        });
        int failures = 0;
        for (int k = 0; k < 12; ++k) {
          std::string why;
          if (in_child([&] { generation(k % 2, reduces, how, {}); }, why)) continue;
          std::fprintf(stderr, "fork %d: %s\n", k, why.c_str());
          ++failures;
          break;
        }
        over = true;
        for (std::thread& t : others) t.join();
        _exit(failures == 0 && right ? 0 : 11);
      });
    }
  }
}

// The first reduction of a process starts the pool: fork() by another thread in the midst of that.
TEST_F(fork_of_a_process, while_the_default_pool_starts) {
  for (int trial = 0; trial < 30; ++trial) {
    expect_well("trial " + std::to_string(trial), [&] {
      values();
      std::thread first([] { static_cast<void>(sums()); });
      std::this_thread::sleep_for(std::chrono::microseconds(20 * trial));
      std::string why;
      const bool well = in_child([] { end(leave::by_exit, sums() ? 0 : 12); }, why);
      first.join();
      if (!well) std::fprintf(stderr, "%s\n", why.c_str());
      _exit(well ? 0 : 13);
    });
  }
}

/// A reduction that forks in the task that has element 0.
struct forking {
  leave how;
  bool* well;
  std::int64_t identity() const { return 0; }
  std::int64_t lift(std::uint8_t x, std::int64_t i) const {
    if (i == 0) {
      std::string why;
      *well = in_child([&] { end(how == leave::by_exit ? leave::by_quick_exit : how, sums() ? 0 : 14); }, why);
      if (!*well) std::fprintf(stderr, "%s\n", why.c_str());
    }
    return x;
  }
  std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
  std::int64_t finish(std::int64_t s, std::int64_t) const { return s; }
};

TEST_F(fork_of_a_process, in_a_task) {
  for (const leave how : {leave::by_quick_exit, leave::by_exec}) {
    expect_well(name(how), [&] {
      const std::vector<std::uint8_t> x(std::size_t{1} << 22, 1);
      for (int k = 0; k < 10; ++k) {
        bool well = false;
        if (wf::reduce(x, forking{how, &well}) != 1 << 22 || !well) _exit(15);
      }
      _exit(0);
    });
  }
}

// A child that goes on with the tasks of threads that it does not have: it says so and ends, and gives no answer.
TEST_F(fork_of_a_process, in_a_task_cannot_finish_the_run_in_the_child) {
  expect_well("the tasks", [&] {
    cpu::thread_pool pool(2);
    struct {
      pid_t parent = getpid(), child = 0;
      std::atomic<int> begun{0}, done{0};
    } seen;
    pool.run(2, 2, [](void* p, std::int64_t) {
      auto& s = *static_cast<decltype(seen)*>(p);
      const int which = s.begun++;
      while (s.begun < 2) std::this_thread::yield();  // both threads have one
      if (which == 0) {
        s.child = fork();
      } else {
        while (s.child == 0) std::this_thread::yield();
      }
      ++s.done;
    }, &seen);
    if (getpid() != seen.parent) _exit(0);  // the run ended in the child
    int status = 0;
    waitpid(seen.child, &status, 0);
    _exit(seen.done == 2 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 0 : 16);
  });
}

}  // namespace
}  // namespace wf::test
