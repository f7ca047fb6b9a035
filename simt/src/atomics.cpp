// SPDX-License-Identifier: Apache-2.0
// Atomics of instrumented kernels, fences, and the 16-byte ones of all kernels.
#include "lens.hpp"

#include <simt/atomics.hpp>

#include <bit>
#include <chrono>
#include <cstring>
#include <mutex>

namespace simt::detail {

namespace {

memory_order order_of(int order) {
  switch (order) {
    case __ATOMIC_RELAXED: return memory_order::relaxed;
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE: return memory_order::acquire;
    case __ATOMIC_RELEASE: return memory_order::release;
    case __ATOMIC_ACQ_REL: return memory_order::acq_rel;
    default: return memory_order::seq_cst;
  }
}

update_kind kind_of(rmw op) {
  switch (op) {
    case rmw::add: return update_kind::add;
    case rmw::sub: return update_kind::sub;
    case rmw::min: return update_kind::min;
    case rmw::max: return update_kind::max;
    case rmw::exch: return update_kind::exchange;
    case rmw::inc:
    case rmw::dec: return update_kind::count;
    case rmw::band: return update_kind::bit_and;
    case rmw::bor: return update_kind::bit_or;
    case rmw::bxor: return update_kind::bit_xor;
  }
  return update_kind::unknown;
}

// Spinning, schedule, checks, report: what comes before the access itself.
void before(const void* address, unsigned size, access_kind kind, int order, int reach, std::uintptr_t site,
            std::uint32_t weight, std::uint8_t operations = 0,
            update_kind update = update_kind::unknown, std::uint64_t operand = 0) {
  cuda_thread* t = this_thread;
  if (!t) return;
  ++meter.count;
  if ((meter.weight += weight) >= spin_limit) spin_at(site);
  const touch a{reinterpret_cast<std::uintptr_t>(address), size, kind != access_kind::atomic_store,
                kind != access_kind::atomic_load, false, size, site};
  const ground g = check_bounds(*t, a);
  if (g == ground::own) return;
  check_alignment(a);
  block& b = *t->in;
  if (b.lock_step) yield_lane();
  if (g == ground::shared) check_written(*t, a);
  to_observer(*t, [&](observer& o) {
    o.access(b.linear, t->linear,
             {a.address, size, kind, false, order_of(order), site, static_cast<scope>(reach), operations, update,
              operand});
  });
}

std::mutex& lock_of(const void* address) {
  static std::mutex locks[64];
  return locks[reinterpret_cast<std::uintptr_t>(address) / 16 % 64];
}

template <class T, rmw Op>
std::uint64_t apply(void* to, std::uint64_t operand) {
  using bits = atomics::bits_of<sizeof(T)>;
  auto* cell = static_cast<bits*>(to);
  bits old = __atomic_load_n(cell, __ATOMIC_RELAXED), desired;
  do desired = std::bit_cast<bits>(atomics::next<Op, T>(std::bit_cast<T>(old), std::bit_cast<T>(static_cast<bits>(operand))));
  while (!__atomic_compare_exchange_n(cell, &old, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  return old;
}

template <class T>
std::uint64_t apply(void* to, rmw op, std::uint64_t operand) {
  switch (op) {
    case rmw::add: return apply<T, rmw::add>(to, operand);
    case rmw::sub: return apply<T, rmw::sub>(to, operand);
    case rmw::min: return apply<T, rmw::min>(to, operand);
    case rmw::max: return apply<T, rmw::max>(to, operand);
    case rmw::exch: return apply<T, rmw::exch>(to, operand);
    case rmw::inc: return apply<T, rmw::inc>(to, operand);
    case rmw::dec: return apply<T, rmw::dec>(to, operand);
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == rmw::band) return apply<T, rmw::band>(to, operand);
    if (op == rmw::bor) return apply<T, rmw::bor>(to, operand);
    return apply<T, rmw::bxor>(to, operand);
  }
  return 0;
}

template <class Bits>
bool exchange(void* to, void* expected, const void* desired) {
  Bits old, wanted;
  std::memcpy(&old, expected, sizeof old);
  std::memcpy(&wanted, desired, sizeof wanted);
  const bool done = __atomic_compare_exchange_n(static_cast<Bits*>(to), &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  std::memcpy(expected, &old, sizeof old);
  return done;
}

template <class Bits>
void load(void* to, const void* from) {
  const Bits value = __atomic_load_n(static_cast<const Bits*>(from), __ATOMIC_SEQ_CST);
  std::memcpy(to, &value, sizeof value);
}

template <class Bits>
void store(void* to, const void* from) {
  Bits value;
  std::memcpy(&value, from, sizeof value);
  __atomic_store_n(static_cast<Bits*>(to), value, __ATOMIC_SEQ_CST);
}

#define SIMT_SITE (reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1)

}  // namespace

void atomic_load(void* to, const void* from, unsigned size, int order, int reach, bool quiet) {
  if (!quiet) before(from, size, access_kind::atomic_load, order, reach, SIMT_SITE, load_weight);
  switch (size) {
    case 1: return load<std::uint8_t>(to, from);
    case 2: return load<std::uint16_t>(to, from);
    case 4: return load<std::uint32_t>(to, from);
    case 8: return load<std::uint64_t>(to, from);
    default: {
      const std::lock_guard lock(lock_of(from));
      std::memcpy(to, from, size);
    }
  }
}

void atomic_store(void* to, const void* from, unsigned size, int order, int reach, bool quiet) {
  if (!quiet) before(to, size, access_kind::atomic_store, order, reach, SIMT_SITE, 1);
  switch (size) {
    case 1: return store<std::uint8_t>(to, from);
    case 2: return store<std::uint16_t>(to, from);
    case 4: return store<std::uint32_t>(to, from);
    case 8: return store<std::uint64_t>(to, from);
    default: {
      const std::lock_guard lock(lock_of(to));
      std::memcpy(to, from, size);
    }
  }
}

std::uint64_t atomic_update(void* to, rmw op, number type, std::uint64_t operand, int order, int reach) {
  const bool adds_floats = (op == rmw::add || op == rmw::sub) && (type == number::f32 || type == number::f64);
  before(to, type == number::i32 || type == number::u32 || type == number::f32 ? 4 : 8, access_kind::atomic_update,
         order, reach, SIMT_SITE, 1, adds_floats, kind_of(op), operand);
  switch (type) {
    case number::i32: return apply<std::int32_t>(to, op, operand);
    case number::u32: return apply<std::uint32_t>(to, op, operand);
    case number::i64: return apply<std::int64_t>(to, op, operand);
    case number::u64: return apply<std::uint64_t>(to, op, operand);
    case number::f32: return apply<float>(to, op, operand);
    case number::f64: return apply<double>(to, op, operand);
  }
  return 0;
}

bool atomic_exchange_if(void* to, void* expected, const void* desired, unsigned size, int order, int reach,
                        bool quiet) {
  if (!quiet) before(to, size, access_kind::atomic_update, order, reach, SIMT_SITE, 1);
  bool done = false;
  switch (size) {
    case 1: done = exchange<std::uint8_t>(to, expected, desired); break;
    case 2: done = exchange<std::uint16_t>(to, expected, desired); break;
    case 4: done = exchange<std::uint32_t>(to, expected, desired); break;
    case 8: done = exchange<std::uint64_t>(to, expected, desired); break;
    default: {
      const std::lock_guard lock(lock_of(to));
      done = std::memcmp(to, expected, size) == 0;
      if (done) std::memcpy(to, desired, size);
      else std::memcpy(expected, to, size);
    }
  }
  if (!done && !quiet) meter.weight += load_weight;
  return done;
}

void fence(int which) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  cuda_thread* t = this_thread;
  if (t) to_observer(*t, [&](observer& o) { o.fence(t->in->linear, t->linear, static_cast<scope>(which)); });
}

std::uint64_t nanoseconds() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

// As if the device ran at 1 GHz.
long long clock() { return static_cast<long long>(nanoseconds()); }

}  // namespace simt::detail
