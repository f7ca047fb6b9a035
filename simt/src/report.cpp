// SPDX-License-Identifier: Apache-2.0
// What went wrong, in words.
#include "grid.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <map>

namespace simt {

const char* to_string(fault what) {
  switch (what) {
    case fault::none: return "none";
    case fault::deadlock: return "deadlock";
    case fault::divergent_barrier: return "divergent barrier";
    case fault::out_of_bounds: return "out of bounds";
    case fault::uninitialised_read: return "uninitialised read";
    case fault::hung: return "hung";
    case fault::bad_collective: return "bad collective";
    case fault::trap: return "trap";
    case fault::misaligned: return "misaligned";
    case fault::too_much_shared: return "too much shared memory";
    case fault::too_long: return "too long to record";
    case fault::unsupported: return "not supported";
  }
  return "?";
}

namespace detail {

namespace {

std::string line_of(std::uintptr_t site) {
  const source_line where = locate_next(site);
  if (where.file.empty()) return "an unknown line";
  return where.file + ":" + std::to_string(where.line);
}

std::uint32_t count(const block& b, waits state) {
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < b.size; ++i) n += b.threads[i].state == state;
  return n;
}

// The first thread in `state`; one there is.
const cuda_thread& first(const block& b, waits state) {
  std::uint32_t i = 0;
  while (b.threads[i].state != state && i + 1 < b.size) ++i;
  return b.threads[i];
}

std::string doing(const cuda_thread& t) {
  const std::string who = "thread " + std::to_string(t.linear);
  switch (t.state) {
    case waits::barrier: return who + " waits at a barrier of the block at " + line_of(t.site);
    case waits::collective:
    case waits::active_mask: return who + " waits in a warp's collective at " + line_of(t.site);
    case waits::outside:
      return who + " waits at a barrier of the " + (t.outside->whole_grid ? "grid" : "cluster") + " at " + line_of(t.site);
    case waits::spin: return who + " spins at " + line_of(t.site);
    case waits::ended: return who + " has ended";
    case waits::nothing: return who + " runs";
  }
  return who;
}

std::string of_threads(std::uint32_t n, const block& b) {
  return std::to_string(n) + " of " + std::to_string(b.size) + " threads wait here";
}

// Somebody who is not where the waiting ones are.
std::string somebody_else(const block& b, waits state) {
  for (std::uint32_t i = 0; i < b.size; ++i)
    if (b.threads[i].state != state) return ", " + doing(b.threads[i]);
  return {};
}

failure about(fault what, const cuda_thread& t, std::string text) { return {what, t.linear, 0, t.site, std::move(text)}; }

}  // namespace

failure why_stuck(const block& b) {
  if (const auto n = count(b, waits::barrier))
    return about(fault::divergent_barrier, first(b, waits::barrier), of_threads(n, b) + somebody_else(b, waits::barrier));
  if (count(b, waits::collective) != 0) {
    const cuda_thread& t = first(b, waits::collective);
    const std::uint32_t base = t.linear / 32 * 32;
    for (std::uint32_t lane = 0; lane < 32 && base + lane < b.size; ++lane) {
      const cuda_thread& other = b.threads[base + lane];
      if ((t.mask >> lane & 1u) == 0 || (other.state == waits::collective && other.mask == t.mask)) continue;
      char mask[16];
      std::snprintf(mask, sizeof mask, "0x%08x", t.mask);
      return about(fault::bad_collective, t, std::string("the lanes of the mask ") + mask + " never meet: " + doing(other));
    }
  }
  if (const auto n = count(b, waits::outside))
    return about(fault::divergent_barrier, first(b, waits::outside),
                 n < b.size ? of_threads(n, b) + somebody_else(b, waits::outside)
                            : "other blocks have ended, or wait for something else");
  return about(fault::deadlock, first(b, waits::ended), "nothing can wake a thread");
}

failure why_standing(const block& b) {
  for (std::uint32_t i = 0; i < b.size; ++i)
    if (b.threads[i].state == waits::spin || b.threads[i].state == waits::nothing)
      return about(fault::deadlock, b.threads[i], "it waits in a loop for what no thread writes");
  return why_stuck(b);
}

std::string kernel_name(std::uintptr_t kernel) {
  static std::mutex mutex;
  static auto* names = new std::map<std::uintptr_t, std::string>;
  const std::lock_guard lock(mutex);
  std::string& name = (*names)[kernel];
  if (!name.empty()) return name;
  name = locate(kernel).function;
  Dl_info info{};
  if (name.empty() && dladdr(reinterpret_cast<void*>(kernel), &info) != 0 && info.dli_sname) name = info.dli_sname;
  int status = -1;
  char* readable = !name.starts_with("_Z") ? nullptr : abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (status == 0) name = readable;
  std::free(readable);
  if (name.empty()) name = "kernel";
  return name;
}

fault_report report_of(const grid& g) {
  fault_report r;
  r.what = g.why.what;
  r.kernel = kernel_name(g.kernel);
  r.block = g.failed_block;
  r.thread = g.why.thread;
  r.address = g.why.address;
  if (g.why.site != 0) r.where = locate_next(g.why.site);
  r.text = r.kernel + ", block " + std::to_string(r.block) + ", thread " + std::to_string(r.thread);
  if (!r.where.file.empty()) r.text += ", " + r.where.file + ":" + std::to_string(r.where.line);
  r.text += std::string(": ") + to_string(r.what);
  if (r.address != 0) {
    char text[32];
    std::snprintf(text, sizeof text, " at address 0x%llx", static_cast<unsigned long long>(r.address));
    r.text += text;
  }
  if (!g.why.text.empty()) r.text += ": " + g.why.text;
  return r;
}

}  // namespace detail
}  // namespace simt
