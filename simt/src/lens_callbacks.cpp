// SPDX-License-Identifier: Apache-2.0
// What the compilers' thread-sanitizer and coverage instrumentation calls, in place of the sanitizer.
// Outside a launch each is a thread-local load and a return.
#include "lens.hpp"
#include "stacks.hpp"

#include <cstring>
#include <string>

namespace simt::detail {

namespace {

// What the processor then refuses is told by on_signal().
inline void note_half_aligned(cuda_thread& t, const touch& a) {
  if (a.address % 16 != 0) t.half_aligned = a.address;
}

void observed(cuda_thread& t, const touch& a, access_kind kind, bool is_volatile) {
  const ground g = check_bounds(t, a);
  if (g == ground::own) return;
  check_alignment(a);
  if (a.size == 16) note_half_aligned(t, a);
  const block& b = *t.in;
  if (b.lock_step) yield_lane();
  if (g == ground::shared) check_written(t, a);
  to_observer(t, [&](observer& o) {
    o.access(b.linear, t.linear,
             {a.address, static_cast<std::uint32_t>(a.size), kind, is_volatile, memory_order::relaxed, a.site});
  });
}

// The thread, if it runs an instrumented kernel. A plain kernel may get here too: the linker keeps one
// copy of a standard library's template, and it may be the instrumented one.
inline cuda_thread* watched_thread() {
  cuda_thread* t = this_thread;
  return t != nullptr && t->in->arguments_end != 0 && !t->telling ? t : nullptr;
}

/// What the compilers' callbacks without "unaligned" in their names promise: 16 bytes are aligned to 8 in a
/// struct of two doubles, and to 16 in a float4, and the callback does not tell which. g++ tells objects of
/// less alignment than that, and all that memcpy became, as ranges.
constexpr std::uint32_t natural(std::uint32_t size) { return size < 8 ? size : 8; }

inline void read(const void* p, std::uint32_t size, std::uint32_t alignment, std::uintptr_t site) {
  if (cuda_thread* t = watched_thread())
    observed(*t, {reinterpret_cast<std::uintptr_t>(p), size, true, false, false, alignment, site}, access_kind::read, false);
}

inline void write(const void* p, std::uint32_t size, std::uint32_t alignment, std::uintptr_t site) {
  if (cuda_thread* t = watched_thread())
    observed(*t, {reinterpret_cast<std::uintptr_t>(p), size, false, true, false, alignment, site}, access_kind::write, false);
}

// A loop that waits reads one address again and again; the rest reads on, and should keep its turn.
inline void may_spin(std::uintptr_t address, std::uintptr_t site) {
  static thread_local std::uintptr_t last SIMT_INITIAL_EXEC = 0;
  meter.weight += address == last ? load_weight : load_weight / 16;
  last = address;
  if (meter.weight >= spin_limit) spin_at(site);
}

inline void volatile_read(const void* p, std::uint32_t size, std::uint32_t alignment, std::uintptr_t site) {
  cuda_thread* t = watched_thread();
  if (t == nullptr) return;
  may_spin(reinterpret_cast<std::uintptr_t>(p), site);
  observed(*t, {reinterpret_cast<std::uintptr_t>(p), size, true, false, false, alignment, site}, access_kind::read, true);
}

inline void volatile_write(const void* p, std::uint32_t size, std::uint32_t alignment, std::uintptr_t site) {
  if (cuda_thread* t = watched_thread())
    observed(*t, {reinterpret_cast<std::uintptr_t>(p), size, false, true, false, alignment, site}, access_kind::write, true);
}

// A whole object, seen as accesses of up to 16 bytes: what a GPU's vector loads would be.
inline void range(const void* p, std::uint64_t size, bool reads, std::uintptr_t site) {
  cuda_thread* t = watched_thread();
  if (t == nullptr || size == 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  const touch all{address, size, reads, !reads, true, 1, site};
  const ground g = check_bounds(*t, all);
  if (g == ground::own) return;
  if (size >= 16) note_half_aligned(*t, all);
  const block& b = *t->in;
  if (b.lock_step) yield_lane();
  if (g == ground::shared) check_written(*t, all);
  to_observer(*t, [&](observer& o) {
    for (std::uint64_t at = 0; at < size;) {
      std::uint64_t part = 16;
      while (part > 1 && (part > size - at || (address + at) % part != 0)) part /= 2;
      o.access(b.linear, t->linear,
               {address + at, static_cast<std::uint32_t>(part), reads ? access_kind::read : access_kind::write,
                false, memory_order::relaxed, site});
      at += part;
    }
  });
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
  if (kind != access_kind::atomic_store) may_spin(reinterpret_cast<std::uintptr_t>(p), site);
  const bool loads = kind != access_kind::atomic_store, stores = kind != access_kind::atomic_load;
  const touch a{reinterpret_cast<std::uintptr_t>(p), size, loads, stores, false, size, site};
  const ground g = check_bounds(*t, a);
  if (g == ground::own) return;
  check_alignment(a);
  const block& b = *t->in;
  if (b.lock_step) yield_lane();
  if (g == ground::shared) check_written(*t, a);
  to_observer(*t, [&](observer& o) {
    o.access(b.linear, t->linear, {a.address, size, kind, false, order_of(order), site});
  });
}

/// The thread, if it is in the code of an instrumented kernel.
inline cuda_thread* kernel_thread() {
  cuda_thread* t = this_thread;
  return t != nullptr && t->in_kernel && !t->telling ? t : nullptr;
}

inline void entered(std::uintptr_t site) {
  cuda_thread* t = kernel_thread();
  if (t == nullptr) return;
  block& b = *t->in;
  if (const fault ending = b.ending.load(std::memory_order_relaxed); ending != fault::none) [[unlikely]]
    fail_with(ending, 0, site, std::move(b.why_ending));
  to_observer(*t, [&](observer& o) { o.basic_block(b.linear, t->linear, site); });
}

/// Observers and what is below run on the thread's stack. Were it to end there, it might end with a lock held,
/// and the kernel's own line would not be told.
constexpr std::uintptr_t room_below = 16 * 1024;

inline void called(std::uintptr_t site) {
  cuda_thread* t = kernel_thread();
  if (t == nullptr) return;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here - reinterpret_cast<std::uintptr_t>(t->stack) < room_below) [[unlikely]]
    fail_with(fault::out_of_bounds, here, site, "its stack of " + std::to_string(stack_bytes / 1024) + " KiB is full");
  to_observer(*t, [&](observer& o) { o.call(t->in->linear, t->linear, site); });
}

inline void left() {
  cuda_thread* t = kernel_thread();
  if (t == nullptr) return;
  to_observer(*t, [&](observer& o) { o.leave(t->in->linear, t->linear); });
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

#define SIMT_ACCESS_KINDS(bytes, un, alignment)                                                                        \
  void __tsan_##un##read##bytes(void* p) { simt::detail::read(p, bytes, alignment, SIMT_SITE); }                       \
  void __tsan_##un##write##bytes(void* p) { simt::detail::write(p, bytes, alignment, SIMT_SITE); }                     \
  void __tsan_##un##volatile_read##bytes(void* p) { simt::detail::volatile_read(p, bytes, alignment, SIMT_SITE); }     \
  void __tsan_##un##volatile_write##bytes(void* p) { simt::detail::volatile_write(p, bytes, alignment, SIMT_SITE); }   \
  void __tsan_##un##read_write##bytes(void* p) {                                                                       \
    simt::detail::read(p, bytes, alignment, SIMT_SITE);                                                                \
    simt::detail::write(p, bytes, alignment, SIMT_SITE);                                                               \
  }
#define SIMT_ACCESSES(bytes)                                   \
  SIMT_ACCESS_KINDS(bytes, , simt::detail::natural(bytes))     \
  SIMT_ACCESS_KINDS(bytes, unaligned_, 1)
SIMT_ACCESSES(1)
SIMT_ACCESSES(2)
SIMT_ACCESSES(4)
SIMT_ACCESSES(8)
SIMT_ACCESSES(16)

void __tsan_read_range(void* p, std::size_t n) { simt::detail::range(p, n, true, SIMT_SITE); }
void __tsan_write_range(void* p, std::size_t n) { simt::detail::range(p, n, false, SIMT_SITE); }
void __tsan_vptr_read(void** p) { simt::detail::read(p, sizeof(void*), sizeof(void*), SIMT_SITE); }
void __tsan_vptr_update(void** p, void*) { simt::detail::write(p, sizeof(void*), sizeof(void*), SIMT_SITE); }

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
