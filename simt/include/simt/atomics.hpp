// SPDX-License-Identifier: Apache-2.0
/// \file atomics.hpp
/// CUDA's atomic functions, relaxed as there, on shared and global memory, each with its _block and
/// _system form. Plain kernels use the processor's own atomics. Instrumented ones call the runtime, which
/// tells observers of the access and of the line that made it.
#pragma once

#include <cstdint>
#include <type_traits>

#include <simt/device.hpp>

namespace simt {

/// Types that atomicAdd changes as a whole by compare-and-swap: the half types specialise it.
template <class T>
inline constexpr bool atomic_by_exchange = false;

inline namespace SIMT_BUILD {
namespace atomics {

using detail::number;
using detail::rmw;

template <class T>
constexpr number number_of() {
  if constexpr (std::is_same_v<T, float>) return number::f32;
  else if constexpr (std::is_same_v<T, double>) return number::f64;
  else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? number::i32 : number::u32;
  else return std::is_signed_v<T> ? number::i64 : number::u64;
}

template <std::size_t Bytes>
using bits_of = std::conditional_t<Bytes == 8, std::uint64_t,
                                   std::conditional_t<Bytes == 4, std::uint32_t,
                                                      std::conditional_t<Bytes == 2, std::uint16_t, std::uint8_t>>>;

template <class To, class From>
SIMT_INLINE To cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

// A thread that does nothing but atomics may be waiting for another one.
SIMT_INLINE void weigh(std::uint32_t weight) {
  ++detail::meter.count;
  if ((detail::meter.weight += weight) >= detail::spin_limit) detail::spin_yield();
}

template <rmw Op, class T>
SIMT_INLINE constexpr T next(T old, T operand) {
  if constexpr (Op == rmw::add) return static_cast<T>(old + operand);
  else if constexpr (Op == rmw::sub) return static_cast<T>(old - operand);
  else if constexpr (Op == rmw::min) return operand < old ? operand : old;
  else if constexpr (Op == rmw::max) return old < operand ? operand : old;
  else if constexpr (Op == rmw::exch) return operand;
  else if constexpr (Op == rmw::inc) return old >= operand ? T{0} : static_cast<T>(old + 1);
  else if constexpr (Op == rmw::dec) return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
  else if constexpr (Op == rmw::band) return old & operand;
  else if constexpr (Op == rmw::bor) return old | operand;
  else return old ^ operand;
}

/// One read-modify-write of an arithmetic type of 4 or 8 bytes; gives the old value.
template <rmw Op, class T>
SIMT_INLINE T update(T* to, T operand, int order, int scope) {
#if defined(SIMT_LENS)
  using bits = bits_of<sizeof(T)>;
  const std::uint64_t old =
      detail::atomic_update(to, Op, number_of<T>(), cast<bits>(operand), order, scope);
  SIMT_NOT_LAST();
  return cast<T>(static_cast<bits>(old));
#else
  static_cast<void>(scope);
  weigh(1);
  if constexpr (std::is_integral_v<T> && Op == rmw::add) return __atomic_fetch_add(to, operand, order);
  else if constexpr (std::is_integral_v<T> && Op == rmw::sub) return __atomic_fetch_sub(to, operand, order);
  else if constexpr (Op == rmw::band) return __atomic_fetch_and(to, operand, order);
  else if constexpr (Op == rmw::bor) return __atomic_fetch_or(to, operand, order);
  else if constexpr (Op == rmw::bxor) return __atomic_fetch_xor(to, operand, order);
  else {
    T old, desired;
    __atomic_load(to, &old, __ATOMIC_RELAXED);
    do desired = next<Op, T>(old, operand);
    while (!__atomic_compare_exchange(to, &old, &desired, true, order, __ATOMIC_RELAXED));
    return old;
  }
#endif
}

/// Compare-and-swap by bits, of 2, 4, 8 or 16 bytes; the old value goes to `expected`.
template <class T>
SIMT_INLINE bool exchange_if(T* to, T& expected, const T& desired, int order, int scope, bool quiet = false) {
#if defined(SIMT_LENS)
  const bool done = detail::atomic_exchange_if(to, &expected, &desired, sizeof(T), order, scope, quiet);
  SIMT_NOT_LAST();
  return done;
#else
  bool done = false;
  if constexpr (sizeof(T) <= 8) {
    using bits = bits_of<sizeof(T)>;
    auto old = cast<bits>(expected);
    done = __atomic_compare_exchange_n(reinterpret_cast<bits __attribute__((may_alias))*>(to), &old,
                                       cast<bits>(desired), false, order, __ATOMIC_RELAXED);
    expected = cast<T>(old);
  } else {
    done = detail::atomic_exchange_if(to, &expected, &desired, sizeof(T), order, scope, true);
  }
  if (!quiet) weigh(done ? 1 : detail::load_weight);
  return done;
#endif
}

/// Any change of a small trivially copyable type, seen as one update.
template <class T, class Function>
SIMT_INLINE T change(T* to, Function function, int order, int scope) {
  T old{};
  exchange_if(to, old, old, __ATOMIC_RELAXED, scope, true);  // reads, and writes nothing new
  T desired = function(old);
  bool again = false;
  while (!exchange_if(to, old, desired, order, scope, again)) {
    desired = function(old);
    again = true;
  }
  return old;
}

template <class T, class... U>
concept one_of = (std::is_same_v<T, U> || ...);
template <class T>
using same = std::type_identity_t<T>;
using llong = long long;
using ullong = unsigned long long;

}  // namespace atomics

#define SIMT_ATOMIC_SCOPE(name, suffix, scope, op, ...)                          \
  template <atomics::one_of<__VA_ARGS__> T>                                      \
  SIMT_INLINE T name##suffix(T* address, atomics::same<T> value) {               \
    return atomics::update<detail::rmw::op, T>(address, value, __ATOMIC_RELAXED, scope); \
  }
#define SIMT_ATOMIC(name, op, ...)                         \
  SIMT_ATOMIC_SCOPE(name, _block, 0, op, __VA_ARGS__)      \
  SIMT_ATOMIC_SCOPE(name, , 1, op, __VA_ARGS__)            \
  SIMT_ATOMIC_SCOPE(name, _system, 2, op, __VA_ARGS__)

SIMT_ATOMIC(atomicAdd, add, int, unsigned, atomics::ullong, float, double)
SIMT_ATOMIC(atomicSub, sub, int, unsigned)
SIMT_ATOMIC(atomicExch, exch, int, unsigned, atomics::ullong, float)
SIMT_ATOMIC(atomicMin, min, int, unsigned, atomics::llong, atomics::ullong)
SIMT_ATOMIC(atomicMax, max, int, unsigned, atomics::llong, atomics::ullong)
SIMT_ATOMIC(atomicInc, inc, unsigned)
SIMT_ATOMIC(atomicDec, dec, unsigned)
SIMT_ATOMIC(atomicAnd, band, int, unsigned, atomics::ullong)
SIMT_ATOMIC(atomicOr, bor, int, unsigned, atomics::ullong)
SIMT_ATOMIC(atomicXor, bxor, int, unsigned, atomics::ullong)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_SCOPE

#define SIMT_ATOMIC_EXCHANGE(suffix, scope)                                                     \
  template <atomics::one_of<int, unsigned, atomics::ullong, unsigned short> T>                  \
  SIMT_INLINE T atomicCAS##suffix(T* address, atomics::same<T> compare, atomics::same<T> value) { \
    atomics::exchange_if(address, compare, value, __ATOMIC_RELAXED, scope);                     \
    return compare;                                                                             \
  }                                                                                             \
  template <class T>                                                                            \
    requires atomic_by_exchange<T>                                                              \
  SIMT_INLINE T atomicAdd##suffix(T* address, T value) {                                        \
    return atomics::change(                                                                     \
        address, [&](const T& old) { return old + value; }, __ATOMIC_RELAXED, scope);           \
  }
SIMT_ATOMIC_EXCHANGE(_block, 0)
SIMT_ATOMIC_EXCHANGE(, 1)
SIMT_ATOMIC_EXCHANGE(_system, 2)
#undef SIMT_ATOMIC_EXCHANGE

}  // inline namespace SIMT_BUILD
}  // namespace simt
