// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simt/machine.hpp>

#include <initializer_list>
#include <vector>

namespace simt {

/// Several observers of one launch, told in the order given. They must outlive it.
class composite_observer : public observer {
 public:
  composite_observer(std::initializer_list<observer*> parts) : parts_(parts) {}

  void launch_begin(const launch_info& i) override { each(&observer::launch_begin, i); }
  void launch_end() override { each(&observer::launch_end); }
  void block_begin(std::uint64_t b) override { each(&observer::block_begin, b); }
  void block_end(std::uint64_t b) override { each(&observer::block_end, b); }
  void thread_end(std::uint64_t b, std::uint32_t t) override { each(&observer::thread_end, b, t); }
  void block_barrier(std::uint64_t b) override { each(&observer::block_barrier, b); }
  void warp_sync(std::uint64_t b, std::uint32_t w, std::uint32_t mask) override {
    each(&observer::warp_sync, b, w, mask);
  }
  void reduced(std::uint64_t b, std::uint32_t w, std::uint32_t mask, update_kind what, std::uint64_t result) override {
    each(&observer::reduced, b, w, mask, what, result);
  }
  void blocks_barrier(std::uint64_t first, std::uint64_t count) override {
    each(&observer::blocks_barrier, first, count);
  }
  void fence(std::uint64_t b, std::uint32_t t, scope s) override { each(&observer::fence, b, t, s); }
  void arrive(std::uint64_t b, std::uint32_t t, const arrival& a) override {
    for (observer* o : parts_) o->arrive(b, t, a);
  }
  void access(std::uint64_t b, std::uint32_t t, const memory_access& a) override {
    for (observer* o : parts_) o->access(b, t, a);
  }
  void call(std::uint64_t b, std::uint32_t t, std::uintptr_t site) override {
    for (observer* o : parts_) o->call(b, t, site);
  }
  void leave(std::uint64_t b, std::uint32_t t) override {
    for (observer* o : parts_) o->leave(b, t);
  }
  void basic_block(std::uint64_t b, std::uint32_t t, std::uintptr_t site) override {
    for (observer* o : parts_) o->basic_block(b, t, site);
  }

 private:
  template <class Method, class... Values>
  void each(Method method, const Values&... values) {
    for (observer* o : parts_) (o->*method)(values...);
  }
  std::vector<observer*> parts_;
};

}  // namespace simt
