// SPDX-License-Identifier: Apache-2.0
/// \file vector_types.hpp
/// CUDA's vector types: char1 … double4, their make_ functions, uint3 and dim3, with CUDA's
/// alignment.
///
/// The types of two and four elements are one access wide on a GPU. Instrumented host code would
/// split them into one access an element, so in the instrumented build a copy from or to memory
/// goes through one register. They are trivially copyable and trivially default constructible all
/// the same. Two things that CUDA allows are not possible here: designated initialisers, and
/// copying a *union* that has such a member (assign the member instead).
///
/// g++ wants `constinit thread_local` for arrays of these (clang++ refuses it): a class with a
/// constructor of its own would get a guard variable, which is one more access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <simt/build.hpp>

namespace simt {

struct uint3 {
  unsigned int x, y, z;
};

struct dim3 {
  unsigned int x, y, z;
  SIMT_INLINE constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
      : x(x_), y(y_), z(z_) {}
  SIMT_INLINE constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  SIMT_INLINE constexpr operator uint3() const { return {x, y, z}; }
};

SIMT_INLINE constexpr uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) {
  return {x, y, z};
}

inline namespace SIMT_BUILD {

#if defined(__x86_64__) || defined(__i386__)
#define SIMT_VECTOR_REGISTER "+x"
#else
#define SIMT_VECTOR_REGISTER "+w"
#endif

// The empty asm keeps the compiler from seeing the elements, so it cannot load them one by one.
template <std::size_t Bytes>
SIMT_INLINE void wide_copy(void* to, const void* from) {
  if constexpr (Bytes > 16) {
    wide_copy<16>(to, from);
    wide_copy<Bytes - 16>(static_cast<char*>(to) + 16, static_cast<const char*>(from) + 16);
  } else if constexpr (Bytes == 16) {
    typedef float word __attribute__((vector_size(16), may_alias));
    word v = *static_cast<const word*>(from);
    __asm__("" : SIMT_VECTOR_REGISTER(v));
    *static_cast<word*>(to) = v;
  } else {
    using bits = std::conditional_t<Bytes == 8, std::uint64_t,
                                    std::conditional_t<Bytes == 4, std::uint32_t, std::uint16_t>>;
    typedef bits word __attribute__((may_alias));
    word v = *static_cast<const word*>(from);
    __asm__("" : "+r"(v));
    *static_cast<word*>(to) = v;
  }
}

// For class templates with a parameter T. Templates are never copy constructors or copy
// assignments, so these leave the type trivially copyable; the true ones are declared away by a
// condition that never holds (clang 14 counts them as trivial because they are deleted, newer
// g++ because they are not eligible). To clang++ 16 and later such types are not trivially copyable, and so these copy as it copies,
// mostly an element at a time: SIMT_WIDE_ACCESSES is 0.
#if !defined(__clang__) || __clang_major__ < 16
#define SIMT_WIDE_ACCESSES 1
#else
#define SIMT_WIDE_ACCESSES 0
#endif
#if defined(SIMT_LENS) && SIMT_WIDE_ACCESSES
#define SIMT_WIDE_COPIES(self, copy_elements)                                          \
  constexpr self(self&&) = default;                                                    \
  self(const self&) requires(sizeof(T) == 0) = delete;                                 \
  self& operator=(const self&) requires(sizeof(T) == 0) = delete;                      \
  self& operator=(self&&) requires(sizeof(T) == 0) = delete;                           \
  template <class U = self>                                                            \
  requires std::is_same_v<U, self> SIMT_INLINE constexpr self(const U& o) {            \
    if (std::is_constant_evaluated())                                                  \
      copy_elements;                                                                   \
    else                                                                               \
      wide_copy<sizeof(self)>(this, &o);                                               \
  }                                                                                    \
  template <class U = self>                                                            \
  requires std::is_same_v<U, self> SIMT_INLINE constexpr self& operator=(const U& o) { \
    if (std::is_constant_evaluated())                                                  \
      copy_elements;                                                                   \
    else                                                                               \
      wide_copy<sizeof(self)>(this, &o);                                               \
    return *this;                                                                      \
  }
#else
#define SIMT_WIDE_COPIES(self, copy_elements)
#endif

template <class T>
struct vector1 {
  T x;
};

template <class T, std::size_t Alignment = 2 * sizeof(T)>
struct alignas(Alignment) vector2 {
  T x, y;
  vector2() = default;
  SIMT_INLINE constexpr explicit vector2(T x_) : x(x_), y() {}
  SIMT_INLINE constexpr vector2(T x_, T y_) : x(x_), y(y_) {}
  SIMT_WIDE_COPIES(vector2, (x = o.x, y = o.y))
};

template <class T>
struct vector3 {
  T x, y, z;
};

template <class T, std::size_t Alignment = (4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16)>
struct alignas(Alignment) vector4 {
  T x, y, z, w;
  vector4() = default;
  SIMT_INLINE constexpr explicit vector4(T x_) : x(x_), y(), z(), w() {}
  SIMT_INLINE constexpr vector4(T x_, T y_, T z_ = T(), T w_ = T()) : x(x_), y(y_), z(z_), w(w_) {}
  SIMT_WIDE_COPIES(vector4, (x = o.x, y = o.y, z = o.z, w = o.w))
};

#undef SIMT_VECTOR_REGISTER

#define SIMT_VECTOR_TYPES(name, element)                                                     \
  using name##1 = vector1<element>;                                                          \
  using name##2 = vector2<element>;                                                          \
  using name##4 = vector4<element>;                                                          \
  SIMT_INLINE constexpr name##1 make_##name##1(element x) { return {x}; }                    \
  SIMT_INLINE constexpr name##2 make_##name##2(element x, element y) { return {x, y}; }      \
  SIMT_INLINE constexpr name##4 make_##name##4(element x, element y, element z, element w) { \
    return {x, y, z, w};                                                                     \
  }
#define SIMT_VECTOR_TYPE3(name, element)                                          \
  using name##3 = vector3<element>;                                               \
  SIMT_INLINE constexpr name##3 make_##name##3(element x, element y, element z) { \
    return {x, y, z};                                                             \
  }
#define SIMT_ALL_VECTOR_TYPES(name, element) \
  SIMT_VECTOR_TYPES(name, element)           \
  SIMT_VECTOR_TYPE3(name, element)

SIMT_ALL_VECTOR_TYPES(char, signed char)
SIMT_ALL_VECTOR_TYPES(uchar, unsigned char)
SIMT_ALL_VECTOR_TYPES(short, short)
SIMT_ALL_VECTOR_TYPES(ushort, unsigned short)
SIMT_ALL_VECTOR_TYPES(int, int)
SIMT_VECTOR_TYPES(uint, unsigned int)  // uint3 is above: it crosses into the runtime
SIMT_ALL_VECTOR_TYPES(long, long)
SIMT_ALL_VECTOR_TYPES(ulong, unsigned long)
SIMT_ALL_VECTOR_TYPES(longlong, long long)
SIMT_ALL_VECTOR_TYPES(ulonglong, unsigned long long)
SIMT_ALL_VECTOR_TYPES(float, float)
SIMT_ALL_VECTOR_TYPES(double, double)

#undef SIMT_ALL_VECTOR_TYPES
#undef SIMT_VECTOR_TYPE3
#undef SIMT_VECTOR_TYPES

/// The names CUDA 13 has for four wide elements, by their alignment; the plain names mean 16 bytes.
using double4_16a = double4;
using double4_32a = vector4<double, 32>;
using long4_16a = long4;
using long4_32a = vector4<long, 32>;
using ulong4_16a = ulong4;
using ulong4_32a = vector4<unsigned long, 32>;
using longlong4_16a = longlong4;
using longlong4_32a = vector4<long long, 32>;
using ulonglong4_16a = ulonglong4;
using ulonglong4_32a = vector4<unsigned long long, 32>;

}  // namespace SIMT_BUILD
}  // namespace simt
