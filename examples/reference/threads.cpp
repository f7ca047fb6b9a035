// SPDX-License-Identifier: Apache-2.0
// executor.hpp, target.hpp: who runs the tasks of a reduction, and by which instructions. Answers depend on neither.
#include <atomic>
#include <cstdint>
#include <vector>

#include <warpfold/warpfold.hpp>

#include "expect.hpp"

namespace {

/// A program's own pool; this one counts the tasks and runs them where it is called.
struct counting_executor final : wf::cpu::executor {
  int concurrency() const noexcept override { return 4; }
  void run(std::int64_t tasks, int, void (*task)(void*, std::int64_t), void* argument) override {
    for (std::int64_t k = 0; k < tasks; ++k) task(argument, k);
    seen += tasks;
  }
  std::int64_t seen = 0;
};

}  // namespace

int main() {
  const std::vector<double> values(1'000'000, 0.1);
  const double right = wf::sum(values);

  counting_executor mine;
  wf::context c;
  c.executor = &mine;
  expect(wf::sum(values, c) == right && mine.seen > 0);

  wf::cpu::thread_pool two(2);             // a pool of its own; 0 would mean as many as the process may use
  expect(two.concurrency() >= 1);
  std::atomic<int> done = 0;
  two.run(10, 2, [](void* d, std::int64_t) { ++*static_cast<std::atomic<int>*>(d); }, &done);
  c.executor = &two;
  expect(done == 10 && wf::sum(values, c) == right);

  c.executor = nullptr;
  c.threads = 1;                           // all on the caller's thread
  expect(wf::sum(values, c) == right);
  wf::cpu::executor& usual = wf::cpu::default_executor();
  expect(usual.concurrency() >= 1);

  const wf::cpu::target before = wf::cpu::active_target();
  for (const wf::cpu::target t : wf::cpu::available_targets()) {
    wf::cpu::force_target(t);              // for tests and comparisons
    expect(wf::sum(values) == right && wf::cpu::target_named(wf::cpu::name(t)) == t);
  }
  wf::cpu::force_target(before);
  expect(!wf::cpu::target_named("sse9"));
}
