// SPDX-License-Identifier: Apache-2.0
#include "grid.hpp"
#include "lens.hpp"
#include "memory.hpp"
#include "shared_map.hpp"

#include <simt/machine.hpp>

#include <link.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace simt {

namespace detail {

namespace {

std::atomic<bool> instrumented{false};

struct segment {
  std::uintptr_t begin, end;
  bool writable;
};

std::vector<segment> loaded_segments() {
  std::vector<segment> all;
  auto each = [](dl_phdr_info* info, std::size_t, void* out) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& h = info->dlpi_phdr[i];
      if (h.p_type != PT_LOAD) continue;
      const std::uintptr_t begin = info->dlpi_addr + h.p_vaddr;
      static_cast<std::vector<segment>*>(out)->push_back({begin, begin + h.p_memsz, (h.p_flags & PF_W) != 0});
    }
    return 0;
  };
  dl_iterate_phdr(each, &all);
  return all;
}

region find_segment(std::uintptr_t address) {
  static std::mutex guard;
  static std::vector<segment> segments;
  const std::lock_guard lock(guard);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const segment& s : segments)
      if (address - s.begin < s.end - s.begin)
        return {s.writable ? space::global : space::constant, s.begin, s.end, 0};
    segments = loaded_segments();  // a library may have come since
  }
  return {};
}

/// What the last accesses of this OS thread's block found: most accesses end here.
struct recent {
  shared_variable shared;
  std::array<byte_range, 4> global{};
  std::uint32_t next = 0;
  bool searched = false;  // for new variables, in this block
};
recent& quick() {
  static thread_local recent r;
  return r;
}

[[noreturn]] void too_much_shared(const touch&, std::uint64_t used);

const shared_variable* find_shared(const touch& a) {
  recent& r = quick();
  if (r.shared.has(a.address)) return &r.shared;
  shared_map& mine = shared_map::mine();
  if (const shared_variable* v = mine.find(a.address)) {
    if (const auto used = mine.use(*v); used > device_limits.shared_per_block) too_much_shared(a, used);
    r.shared.begin = v->begin;
    r.shared.end = v->end;
    r.shared.written = v->written;
    r.shared.dynamic = v->dynamic;
    return &r.shared;
  }
  return nullptr;
}

void remember(const region& found) {
  recent& r = quick();
  r.global[r.next++ % r.global.size()] = {found.begin, found.end};
}

struct amount {
  char text[32];
};
amount bytes(std::uint64_t n) {
  amount a;
  std::snprintf(a.text, sizeof a.text, "%llu byte%s", static_cast<unsigned long long>(n), n == 1 ? "" : "s");
  return a;
}

// A failing thread's stack is left, not unwound: what it holds must not need a destructor, so no
// strings here.
[[noreturn, gnu::format(printf, 2, 3)]] void out_of_bounds(const touch& a, const char* format, ...) {
  char text[256];
  const int size = std::snprintf(text, sizeof text, "%s of %s, ", a.writes ? "write" : "read", bytes(a.size).text);
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text + size, sizeof text - static_cast<std::size_t>(size), format, arguments);
  va_end(arguments);
  fail_with(fault::out_of_bounds, a.address, a.site, text);
}

[[noreturn]] void outside_shared(const touch& a, const shared_map& map) {
  const shared_variable* v = map.before(a.address);
  if (v == nullptr) out_of_bounds(a, "below every shared variable");
  out_of_bounds(a, "byte %zu of %s of %s", a.address - v->begin,
                v->dynamic ? "dynamic shared memory" : "a shared variable", bytes(v->end - v->begin).text);
}

[[noreturn]] void unwritten(const touch& a, const shared_variable& v) {
  char text[256];
  std::snprintf(text, sizeof text, "read of %s at byte %zu of %s of %s that no thread of the block wrote",
                bytes(a.size).text, a.address - v.begin, v.dynamic ? "dynamic shared memory" : "a shared variable",
                bytes(v.end - v.begin).text);
  fail_with(fault::uninitialised_read, a.address, a.site, text);
}

void too_much_shared(const touch& a, std::uint64_t used) {
  char text[256];
  std::snprintf(text, sizeof text, "%s of static shared variables, of which a kernel may have %s", bytes(used).text,
                bytes(device_limits.shared_per_block).text);
  fail_with(fault::too_much_shared, 0, a.site, text);
}

// Arguments, and the std::function in which the launch holds them.
bool is_argument(const block& b, std::uintptr_t address) {
  return address - b.arguments_begin < b.arguments_end - b.arguments_begin ||
         address - reinterpret_cast<std::uintptr_t>(b.body) < sizeof *b.body;
}

ground slow_bounds(const cuda_thread& t, const touch& a) {
  if (!a.writes && is_argument(*t.in, a.address)) return ground::own;
  shared_map& mine = shared_map::mine();
  if (mine.covers(a.address)) {
    if (mine.is_ordinary(a.address)) return ground::own;
    outside_shared(a, mine);
  }
  region r = find_region(a.address);
  if (r.where == space::unknown && !quick().searched) {
    quick().searched = true;
    mine.find_variables();
    mine.begin_block(t.in->linear, t.in->run, shared_bytes_of(*t.in));
    if (find_shared(a) != nullptr) return check_bounds(t, a);
  }
  switch (r.where) {
    case space::shared:
      if (a.address + a.size > r.end) out_of_bounds(a, "across the end of another block's shared variable");
      return ground::shared;
    case space::global:
    case space::constant:
      if (a.address + a.size > r.end)
        out_of_bounds(a, "byte %zu of an allocation of %s", a.address - r.begin, bytes(r.end - r.begin).text);
      remember(r);
      return ground::global;
    default: break;
  }
  if (shared_map* other = shared_map::of(a.address)) outside_shared(a, *other);
  for (std::uintptr_t d = 1; d < 1u << 20 && d < a.address; d *= 2)
    if (const allocation below = find_allocation(a.address - d))
      out_of_bounds(a, "%s past the end of an allocation of %s", bytes(a.address - below.end).text,
                    bytes(below.end - below.begin).text);
  out_of_bounds(a, "%s", a.address < 4096 ? "a null pointer" : "not in any allocation of the device");
}

}  // namespace

void instrumentation_present() { instrumented.store(true, std::memory_order_relaxed); }

void instrumented_kernel(const void* arguments, std::size_t bytes) {
  this_thread->in_kernel = true;
  this_thread->half_aligned = 0;
  block& b = *this_thread->in;
  b.arguments_begin = reinterpret_cast<std::uintptr_t>(arguments);
  b.arguments_end = b.arguments_begin + bytes;
}

void kernel_returned() { this_thread->in_kernel = false; }

void own_shared_memory(const block& b) {
  if (!instrumented.load(std::memory_order_relaxed)) return;
  shared_map::mine().begin_block(b.linear, b.run, shared_bytes_of(b));
  quick() = {};
}

ground check_bounds(const cuda_thread& t, const touch& a) {
  const byte_range stack = stack_range(t);
  if (a.address - stack.begin < stack.end - stack.begin) return ground::own;
  if (a.size == 0) return ground::own;
  if (const shared_variable* v = find_shared(a)) {
    if (a.address + a.size > v->end) outside_shared(a, shared_map::mine());
    return ground::shared;
  }
  for (const byte_range& r : quick().global)
    if (a.address - r.begin < r.end - r.begin && a.size <= r.end - a.address) return ground::global;
  return slow_bounds(t, a);
}

void misaligned(const touch& a) {
  char text[256];
  std::snprintf(text, sizeof text, "%s of %s, whose address must be a multiple of %u", a.writes ? "write" : "read",
                bytes(a.size).text, a.alignment);
  fail_with(fault::misaligned, a.address, a.site, text);
}

void check_written(const cuda_thread& t, const touch& a) {
  const shared_variable* v = find_shared(a);
  const shared_map* map = &shared_map::mine();
  if (v == nullptr) {
    map = shared_map::of(a.address);
    v = map != nullptr ? map->find(a.address) : nullptr;
    if (v == nullptr) return;
  }
  const std::uint32_t epoch = map->epoch() << 4;
  const std::uintptr_t end = a.address + a.size;
  for (std::uintptr_t word = a.address & ~std::uintptr_t{3}; word < end; word += 4) {
    std::uint32_t need = 15;
    if (word < a.address) need &= 15u << (a.address - word);
    if (end < word + 4) need &= 15u >> (word + 4 - end);
    std::uint32_t want = need;
    if (a.size > 4 || a.aggregate) {
      // Objects with padding are copied whole: the first byte of each 8, or of the copy, tells.
      const std::uintptr_t at = std::max(word, a.address) - a.address;
      want = (a.aggregate ? at == 0 : at % 8 == 0) ? need & -need : 0;
    }
    // Blocks of a cluster may be on other OS threads: plain loads and stores, but atomic ones.
    std::uint32_t& cell = v->written[(word - v->begin) / 4];
    const std::uint32_t old = __atomic_load_n(&cell, __ATOMIC_RELAXED);
    const std::uint32_t written = (old & ~15u) == epoch ? old & 15u : 0;
    if (a.reads && (written & want) != want && !t.in->grid->chosen.unwritten_reads) unwritten(a, *v);
    if (a.writes) __atomic_store_n(&cell, epoch | written | need, __ATOMIC_RELAXED);
  }
}

}  // namespace detail

region find_region(std::uintptr_t address) {
  using namespace detail;
  if (const cuda_thread* t = this_thread) {
    const byte_range stack = stack_range(*t);
    if (address - stack.begin < stack.end - stack.begin) return {space::local, stack.begin, stack.end, t->in->linear};
    shared_map& mine = shared_map::mine();
    if (const shared_variable* v = mine.find(address)) return {space::shared, v->begin, v->end, mine.block()};
    if (mine.is_ordinary(address)) return {space::local, address, address + 1, t->in->linear};
    if (mine.covers(address)) return {};
  }
  if (const allocation r = find_allocation(address)) return {space::global, r.begin, r.end, 0};
  if (this_thread != nullptr) {  // last of these: it asks every OS thread
    if (shared_map* other = shared_map::of(address)) {
      const shared_variable* v = other->find(address);
      return v != nullptr ? region{space::shared, v->begin, v->end, other->block()} : region{};
    }
  }
  return find_segment(address);
}

}  // namespace simt
