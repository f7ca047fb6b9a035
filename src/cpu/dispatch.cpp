// SPDX-License-Identifier: Apache-2.0
#include "dispatch.hpp"

#include <array>
#include <cstdlib>
#include <iterator>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <warpfold/error.hpp>
#include <warpfold/target.hpp>

namespace wf::cpu {

namespace target_scalar { const kernel_table& table(); }
#if defined(__x86_64__)
namespace target_avx2 { const kernel_table& table(); }
namespace target_avx512 { const kernel_table& table(); }
#elif defined(__aarch64__)
namespace target_neon { const kernel_table& table(); }
#endif

std::atomic<const kernel_table*> active_kernels{nullptr};

namespace {

#if defined(__x86_64__)
struct features {
  bool avx2 = false, avx512 = false;
};
/// What the processor has and the operating system keeps. __builtin_cpu_supports would say the same, but that it denies everything
/// where the compiler's runtime library does not fill its table in, as zig's.
features found() {
  unsigned a = 0, b = 0, c = 0, d = 0, kept = 0, high = 0;
  constexpr unsigned first = bit_OSXSAVE | bit_FMA | bit_F16C, ymm = 0x6, zmm = 0xe6;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & first) != first) return {};
  __asm__ volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return {};
  constexpr unsigned wide = bit_AVX2 | bit_BMI2, widest = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  const bool avx2 = (kept & ymm) == ymm && (b & wide) == wide;
  return {avx2, avx2 && (kept & zmm) == zmm && (b & widest) == widest};
}
#endif

struct built {
  target which;
  std::string_view name;
  const kernel_table& (*table)();
  bool (*runs_here)();
};

constexpr built all_built[] = {
    {target::scalar, "scalar", target_scalar::table, [] { return true; }},
#if defined(__x86_64__)
    {target::avx2, "avx2", target_avx2::table, [] { return found().avx2; }},
    {target::avx512, "avx512", target_avx512::table, [] { return found().avx512; }},
#elif defined(__aarch64__)
    {target::neon, "neon", target_neon::table, [] { return true; }},
#endif
};

const built& of(target t) {
  for (const built& b : all_built)
    if (b.which == t && b.runs_here()) return b;
  std::string here;
  for (const target a : available_targets()) (here += ' ') += name(a);
  throw error(errc::unsupported, "CPU target " + std::string(name(t)) +
                                     " is not available here; there is" + here);
}

}  // namespace

std::string_view name(target t) {
  constexpr std::string_view names[] = {"scalar", "neon", "avx2", "avx512"};
  return names[static_cast<int>(t)];
}

std::optional<target> target_named(std::string_view text) {
  for (target t : {target::scalar, target::neon, target::avx2, target::avx512})
    if (name(t) == text) return t;
  return std::nullopt;
}

// No static local: it would be destroyed at exit() while others reduce, and a child of a fork() in the midst
// of its first call would wait for it for ever. What is here comes before what is not.
std::span<const target> available_targets() {
  static constexpr auto all = [] {
    std::array<target, std::size(all_built)> which{};
    for (std::size_t k = 0; k < which.size(); ++k) which[k] = all_built[k].which;
    return which;
  }();
  std::size_t n = 0;
  while (n < all.size() && all_built[n].runs_here()) ++n;
  return std::span(all).first(n);
}

target active_target() {
  const kernel_table* active = &kernels();
  for (const built& b : all_built)
    if (&b.table() == active) return b.which;
  return target::scalar;
}

void force_target(target t) {
  active_kernels.store(&of(t).table(), std::memory_order_release);
}

const kernel_table* choose_kernels() {
  target best = available_targets().back();
  if (const char* wanted = std::getenv("WARPFOLD_CPU_TARGET"); wanted != nullptr && *wanted != '\0') {
    const auto named = target_named(wanted);
    if (!named)
      throw error(errc::bad_argument, "WARPFOLD_CPU_TARGET is '" + std::string(wanted) +
                                          "'; it may be scalar, neon, avx2 or avx512");
    best = *named;
  }
  const kernel_table* chosen = &of(best).table();
  active_kernels.store(chosen, std::memory_order_release);
  return chosen;
}

}  // namespace wf::cpu
