// SPDX-License-Identifier: Apache-2.0
// A vector type is one access of its width, by g++ and by clang++ before 16. The callbacks of the
// instrumentation are this test's own: it does not link the runtime's.
#include "wide.hpp"

#include <gtest/gtest.h>
#include <simt/vector_types.hpp>

#include <cstdint>
#include <cstring>
#include <string>

namespace {
std::string seen;  // r16 w4 …
bool recording = false;

void note(char kind, int size, const void* address) {
  if (!recording) return;
  static_cast<void>(address);
  seen += (seen.empty() ? "" : " ") + std::string(1, kind) + std::to_string(size);
}
}  // namespace

#define CALLBACKS(size)                                              \
  void __tsan_read##size(void* p) { note('r', size, p); }            \
  void __tsan_write##size(void* p) { note('w', size, p); }           \
  void __tsan_unaligned_read##size(void* p) { note('r', size, p); }  \
  void __tsan_unaligned_write##size(void* p) { note('w', size, p); } \
  void __tsan_volatile_read##size(void* p) { note('r', size, p); }   \
  void __tsan_volatile_write##size(void* p) { note('w', size, p); }  \
  void __tsan_read_write##size(void* p) { note('r', size, p), note('w', size, p); }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __sanitizer_cov_trace_pc() {}
void __sanitizer_cov_trace_pc_guard(std::uint32_t*) {}
void __sanitizer_cov_trace_pc_guard_init(std::uint32_t*, std::uint32_t*) {}
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)
// What an object's calls of these are renamed to.
void* __tsan_memcpy(void* to, const void* from, unsigned long size) {
  note('R', static_cast<int>(size), from), note('W', static_cast<int>(size), to);
  return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, unsigned long size) {
  note('R', static_cast<int>(size), from), note('W', static_cast<int>(size), to);
  return std::memmove(to, from, size);
}
void* __tsan_memset(void* to, int byte, unsigned long size) {
  note('W', static_cast<int>(size), to);
  return std::memset(to, byte, size);
}
void __tsan_read_range(void* p, unsigned long size) { note('R', static_cast<int>(size), p); }
void __tsan_write_range(void* p, unsigned long size) { note('W', static_cast<int>(size), p); }
}

namespace {

alignas(32) unsigned char source[4096], target[4096];

constexpr const char* by_elements = "clang++ 16 and later copy instrumented vectors an element at a time (simt/vector_types.hpp)";

std::string accesses(wide_case which) {
  seen.clear();
  recording = true;
  run_wide(which, source, target, 3);
  recording = false;
  return seen;
}

TEST(VectorTypes, AreOneAccessOfTheirWidth) {
  if (!SIMT_WIDE_ACCESSES) GTEST_SKIP() << by_elements;
  EXPECT_EQ(accesses(wide_case::load_float4), "r16");
  EXPECT_EQ(accesses(wide_case::store_float4), "w16");
  EXPECT_EQ(accesses(wide_case::store_made_float4), "w16");
  EXPECT_EQ(accesses(wide_case::store_braced_float4), "w16");
  EXPECT_EQ(accesses(wide_case::copy_float4), "r16 w16");
  EXPECT_EQ(accesses(wide_case::copy_float4_of_struct), "r16 w16");
  EXPECT_EQ(accesses(wide_case::load_double2), "r16");
  EXPECT_EQ(accesses(wide_case::load_int4), "r16");
  EXPECT_EQ(accesses(wide_case::load_longlong2), "r16");
  EXPECT_EQ(accesses(wide_case::load_float2), "r8");
  EXPECT_EQ(accesses(wide_case::load_short4), "r8");
  EXPECT_EQ(accesses(wide_case::load_uchar4), "r4");
  EXPECT_EQ(accesses(wide_case::load_char2), "r2");
  EXPECT_EQ(accesses(wide_case::load_double4), "r16 r16");
}

TEST(VectorTypes, HalvesAreOneAccessAndTheirEmulationNone) {
  EXPECT_EQ(accesses(wide_case::load_half), "r2");
  EXPECT_EQ(accesses(wide_case::load_half2), "r4");
  EXPECT_EQ(accesses(wide_case::add_half2), "r4 r4 w4");
}

TEST(VectorTypes, SharedArraysHaveNoGuard) {
  if (!SIMT_WIDE_ACCESSES) GTEST_SKIP() << by_elements;
  EXPECT_EQ(accesses(wide_case::shared_float4), "r16 w16 r4");
  // g++ tells of a plain copy's two sides in the other order.
  const std::string half = accesses(wide_case::shared_half);
  EXPECT_TRUE(half == "r2 w2 r2" || half == "w2 r2 r2") << half;
}

TEST(VectorTypes, LiveInUnions) {
  if (!SIMT_WIDE_ACCESSES) GTEST_SKIP() << by_elements;
  EXPECT_EQ(accesses(wide_case::union_float4), "r16");
}

}  // namespace
