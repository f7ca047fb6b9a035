// SPDX-License-Identifier: Apache-2.0
// What the compilers' thread-sanitizer and coverage instrumentation calls, in place of the sanitizer.
// Outside a launch each is a thread-local load and a return.
#include "lens.hpp"

#include <cstring>

namespace simt::detail {

namespace {

void observed(cuda_thread& t, const touch& a, access_kind kind, bool is_volatile) {
  const ground g = check_bounds(t, a);
  if (g == ground::own) return;
  const block& b = *t.in;
  if (b.lock_step) yield_lane();
  if (g == ground::shared) check_written(t, a);
  if (b.watch == nullptr) return;
  b.watch->access(b.linear, t.linear,
                  {a.address, static_cast<std::uint32_t>(a.size), kind, is_volatile, memory_order::relaxed, a.site});
}

// The thread, if it runs an instrumented kernel. A plain kernel may get here too: the linker keeps one
// copy of a standard library's template, and it may be the instrumented one.
inline cuda_thread* watched_thread() {
  cuda_thread* t = this_thread;
  return t != nullptr && t->in->arguments_end != 0 ? t : nullptr;
}

inline void read(const void* p, std::uint64_t size, std::uintptr_t site) {
  if (cuda_thread* t = watched_thread())
    observed(*t, {reinterpret_cast<std::uintptr_t>(p), size, true, false, false, site}, access_kind::read, false);
}

inline void write(const void* p, std::uint64_t size, std::uintptr_t site) {
  if (cuda_thread* t = watched_thread())
    observed(*t, {reinterpret_cast<std::uintptr_t>(p), size, false, true, false, site}, access_kind::write, false);
}

// A loop that waits reads one address again and again; the rest reads on, and should keep its turn.
inline void may_spin(std::uintptr_t address) {
  static thread_local std::uintptr_t last SIMT_INITIAL_EXEC = 0;
  meter.weight += address == last ? load_weight : load_weight / 16;
  last = address;
  if (meter.weight >= spin_limit) spin_yield();
}

inline void volatile_read(const void* p, std::uint64_t size, std::uintptr_t site) {
  cuda_thread* t = watched_thread();
  if (t == nullptr) return;
  may_spin(reinterpret_cast<std::uintptr_t>(p));
  observed(*t, {reinterpret_cast<std::uintptr_t>(p), size, true, false, false, site}, access_kind::read, true);
}

inline void volatile_write(const void* p, std::uint64_t size, std::uintptr_t site) {
  if (cuda_thread* t = watched_thread())
    observed(*t, {reinterpret_cast<std::uintptr_t>(p), size, false, true, false, site}, access_kind::write, true);
}

// A whole object, seen as accesses of up to 16 bytes: what a GPU's vector loads would be.
inline void range(const void* p, std::uint64_t size, bool reads, std::uintptr_t site) {
  cuda_thread* t = watched_thread();
  if (t == nullptr || size == 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  const touch all{address, size, reads, !reads, true, site};
  const ground g = check_bounds(*t, all);
  if (g == ground::own) return;
  const block& b = *t->in;
  if (b.lock_step) yield_lane();
  if (g == ground::shared) check_written(*t, all);
  if (b.watch == nullptr) return;
  for (std::uint64_t at = 0; at < size;) {
    std::uint64_t part = 16;
    while (part > 1 && (part > size - at || (address + at) % part != 0)) part /= 2;
    b.watch->access(b.linear, t->linear,
                    {address + at, static_cast<std::uint32_t>(part), reads ? access_kind::read : access_kind::write,
                     false, memory_order::relaxed, site});
    at += part;
  }
}

memory_order order_of(int o) {
  switch (o) {
    case __ATOMIC_RELAXED: return memory_order::relaxed;
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE: return memory_order::acquire;
    case __ATOMIC_RELEASE: return memory_order::release;
    case __ATOMIC_ACQ_REL: return memory_order::acq_rel;
    default: return memory_order::seq_cst;
  }
}

/// std::atomic and the __atomic built-ins in a kernel; CUDA's own atomics are runtime functions.
inline void atomic(const volatile void* p, std::uint32_t size, access_kind kind, int order, std::uintptr_t site) {
  cuda_thread* t = watched_thread();
  if (t == nullptr) return;
  if (kind != access_kind::atomic_store) may_spin(reinterpret_cast<std::uintptr_t>(p));
  const bool loads = kind != access_kind::atomic_store, stores = kind != access_kind::atomic_load;
  const touch a{reinterpret_cast<std::uintptr_t>(p), size, loads, stores, false, site};
  const ground g = check_bounds(*t, a);
  if (g == ground::own) return;
  const block& b = *t->in;
  if (b.lock_step) yield_lane();
  if (g == ground::shared) check_written(*t, a);
  if (b.watch) b.watch->access(b.linear, t->linear, {a.address, size, kind, false, order_of(order), site});
}

inline void entered(std::uintptr_t site) {
  const cuda_thread* t = this_thread;
  if (t == nullptr || !t->in_kernel) return;
  const block& b = *t->in;
  if (b.watch) b.watch->basic_block(b.linear, t->linear, site);
}

inline void called(std::uintptr_t site) {
  const cuda_thread* t = this_thread;
  if (t == nullptr || !t->in_kernel) return;
  const block& b = *t->in;
  if (b.watch) b.watch->call(b.linear, t->linear, site);
}

inline void left() {
  const cuda_thread* t = this_thread;
  if (t == nullptr || !t->in_kernel) return;
  const block& b = *t->in;
  if (b.watch) b.watch->leave(b.linear, t->linear);
}

}  // namespace

}  // namespace simt::detail

#define SIMT_SITE (reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1)

// The names are the compilers'.
#pragma GCC diagnostic ignored "-Wmissing-declarations"

extern "C" {

void __tsan_init() { simt::detail::instrumentation_present(); }
void __tsan_func_entry(void* back_to) { simt::detail::called(reinterpret_cast<std::uintptr_t>(back_to)); }
void __tsan_func_exit() { simt::detail::left(); }
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}

#define SIMT_ACCESSES(bytes)                                                                            \
  void __tsan_read##bytes(void* p) { simt::detail::read(p, bytes, SIMT_SITE); }                         \
  void __tsan_write##bytes(void* p) { simt::detail::write(p, bytes, SIMT_SITE); }                       \
  void __tsan_unaligned_read##bytes(void* p) { simt::detail::read(p, bytes, SIMT_SITE); }               \
  void __tsan_unaligned_write##bytes(void* p) { simt::detail::write(p, bytes, SIMT_SITE); }             \
  void __tsan_volatile_read##bytes(void* p) { simt::detail::volatile_read(p, bytes, SIMT_SITE); }       \
  void __tsan_volatile_write##bytes(void* p) { simt::detail::volatile_write(p, bytes, SIMT_SITE); }     \
  void __tsan_unaligned_volatile_read##bytes(void* p) {                                                 \
    simt::detail::volatile_read(p, bytes, SIMT_SITE);                                                   \
  }                                                                                                     \
  void __tsan_unaligned_volatile_write##bytes(void* p) {                                                \
    simt::detail::volatile_write(p, bytes, SIMT_SITE);                                                  \
  }                                                                                                     \
  void __tsan_read_write##bytes(void* p) {                                                              \
    simt::detail::read(p, bytes, SIMT_SITE);                                                            \
    simt::detail::write(p, bytes, SIMT_SITE);                                                           \
  }                                                                                                     \
  void __tsan_unaligned_read_write##bytes(void* p) {                                                    \
    simt::detail::read(p, bytes, SIMT_SITE);                                                            \
    simt::detail::write(p, bytes, SIMT_SITE);                                                           \
  }
SIMT_ACCESSES(1)
SIMT_ACCESSES(2)
SIMT_ACCESSES(4)
SIMT_ACCESSES(8)
SIMT_ACCESSES(16)

void __tsan_read_range(void* p, std::size_t n) { simt::detail::range(p, n, true, SIMT_SITE); }
void __tsan_write_range(void* p, std::size_t n) { simt::detail::range(p, n, false, SIMT_SITE); }
void __tsan_vptr_read(void** p) { simt::detail::read(p, sizeof(void*), SIMT_SITE); }
void __tsan_vptr_update(void** p, void*) { simt::detail::write(p, sizeof(void*), SIMT_SITE); }

// Calls of memcpy and friends in instrumented objects: newer compilers emit these names, and the build
// renames the calls of older ones (cmake/simt.cmake).
void* __tsan_memcpy(void* to, const void* from, std::size_t n) {
  simt::detail::range(from, n, true, SIMT_SITE);
  simt::detail::range(to, n, false, SIMT_SITE);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, std::size_t n) {
  simt::detail::range(from, n, true, SIMT_SITE);
  simt::detail::range(to, n, false, SIMT_SITE);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, std::size_t n) {
  simt::detail::range(to, n, false, SIMT_SITE);
  return std::memset(to, value, n);
}

#define SIMT_UPDATE(bits, T, name)                                                                        \
  T __tsan_atomic##bits##_fetch_##name(volatile T* p, T value, int order) {                               \
    simt::detail::atomic(p, sizeof(T), simt::access_kind::atomic_update, order, SIMT_SITE);               \
    return __atomic_fetch_##name(p, value, __ATOMIC_SEQ_CST);                                             \
  }
#define SIMT_ATOMICS(bits, T)                                                                             \
  T __tsan_atomic##bits##_load(const volatile T* p, int order) {                                          \
    simt::detail::atomic(p, sizeof(T), simt::access_kind::atomic_load, order, SIMT_SITE);                 \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                       \
  void __tsan_atomic##bits##_store(volatile T* p, T value, int order) {                                   \
    simt::detail::atomic(p, sizeof(T), simt::access_kind::atomic_store, order, SIMT_SITE);                \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                         \
  }                                                                                                       \
  T __tsan_atomic##bits##_exchange(volatile T* p, T value, int order) {                                   \
    simt::detail::atomic(p, sizeof(T), simt::access_kind::atomic_update, order, SIMT_SITE);               \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                               \
  }                                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T value, int order, int) { \
    simt::detail::atomic(p, sizeof(T), simt::access_kind::atomic_update, order, SIMT_SITE);               \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }                                                                                                       \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T value, int order, int) {  \
    simt::detail::atomic(p, sizeof(T), simt::access_kind::atomic_update, order, SIMT_SITE);               \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }                                                                                                       \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int order, int) {      \
    simt::detail::atomic(p, sizeof(T), simt::access_kind::atomic_update, order, SIMT_SITE);               \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
    return expected;                                                                                      \
  }                                                                                                       \
  SIMT_UPDATE(bits, T, add)                                                                               \
  SIMT_UPDATE(bits, T, sub)                                                                               \
  SIMT_UPDATE(bits, T, and)                                                                               \
  SIMT_UPDATE(bits, T, or)                                                                                \
  SIMT_UPDATE(bits, T, xor)                                                                               \
  SIMT_UPDATE(bits, T, nand)
SIMT_ATOMICS(8, std::uint8_t)
SIMT_ATOMICS(16, std::uint16_t)
SIMT_ATOMICS(32, std::uint32_t)
SIMT_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (simt::detail::this_thread && order != __ATOMIC_RELAXED) simt::detail::fence(2);
}
void __tsan_atomic_signal_fence(int) {}

void __sanitizer_cov_trace_pc() { simt::detail::entered(SIMT_SITE); }
void __sanitizer_cov_trace_pc_guard(std::uint32_t*) { simt::detail::entered(SIMT_SITE); }
void __sanitizer_cov_trace_pc_guard_init(std::uint32_t* begin, std::uint32_t* end) {
  simt::detail::instrumentation_present();
  for (; begin < end; ++begin) *begin = 1;
}

}  // extern "C"
