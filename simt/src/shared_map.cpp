// SPDX-License-Identifier: Apache-2.0
#include "shared_map.hpp"

#include "tls_symbols.hpp"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

namespace simt::detail {

namespace {

std::mutex guard;                // for both below
std::vector<shared_map*> homes;  // one an OS thread

const std::vector<tls_symbol>& symbols_of(const char* file) {
  static std::map<std::string, std::vector<tls_symbol>> known;
  const std::string path = file == nullptr || *file == 0 ? "/proc/self/exe" : file;
  const std::lock_guard lock(guard);
  auto it = known.find(path);
  if (it == known.end()) it = known.emplace(path, read_tls_symbols(path)).first;
  return it->second;
}

template <class T>
auto upper(T& sorted, std::uintptr_t address) {
  return std::upper_bound(sorted.begin(), sorted.end(), address,
                          [](std::uintptr_t a, const auto& x) { return a < x.begin; });
}

}  // namespace

shared_map::shared_map() {
  find_variables();
  const std::lock_guard lock(guard);
  homes.push_back(this);
}

shared_map::~shared_map() {
  {
    const std::lock_guard lock(guard);
    std::erase(homes, this);
  }
  for (const area& a : areas_) munmap(a.written, a.bytes.end - a.bytes.begin);
}

shared_map& shared_map::mine() {
  static thread_local shared_map map;
  return map;
}

shared_map* shared_map::of(std::uintptr_t address) {
  const std::lock_guard lock(guard);
  for (shared_map* m : homes)
    if (m->covers(address)) return m;
  return nullptr;
}

void shared_map::add_object(const char* file, std::uintptr_t begin, std::uintptr_t bytes) {
  for (const area& a : areas_)
    if (a.bytes.begin == begin) return;
  // A word for each 4 bytes; only what is touched takes memory.
  void* words = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (words == MAP_FAILED) throw std::bad_alloc();
  const auto& symbols = symbols_of(file);
  bool shares = false;
  for (const tls_symbol& s : symbols) {
    const std::uintptr_t at = begin + s.offset;
    if (at % shared_alignment == 0) {
      shared_variable v;
      v.begin = at;
      v.end = at + s.size;
      v.written = static_cast<std::uint32_t*>(words) + s.offset / 4;
      v.name = s.name;
      shared_.push_back(std::move(v));
      shares = true;
    }
  }
  areas_.push_back({{begin, begin + bytes}, static_cast<std::uint32_t*>(words), shares});
}

void shared_map::find_variables() {
  auto each = [](dl_phdr_info* info, std::size_t, void* self) {
    if (info->dlpi_tls_data == nullptr) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i)
      if (info->dlpi_phdr[i].p_type == PT_TLS)
        static_cast<shared_map*>(self)->add_object(
            info->dlpi_name, reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data), info->dlpi_phdr[i].p_memsz);
    return 0;
  };
  dl_iterate_phdr(each, this);
  auto by_address = [](const auto& a, const auto& b) { return a.begin < b.begin; };
  std::sort(shared_.begin(), shared_.end(), by_address);
  for (const byte_range& r : dynamic_shared_arrays())
    for (shared_variable& v : shared_)
      if (v.begin == r.begin) v.dynamic = true;
}

void shared_map::begin_block(std::uint64_t linear, std::uint64_t run, std::uint64_t shared_bytes) {
  block_.store(linear, std::memory_order_relaxed);
  epoch_.store(static_cast<std::uint32_t>(run) & 0xFFFFFFFu, std::memory_order_relaxed);
  static_bytes_ = 0;
  for (shared_variable& v : shared_) {
    if (v.dynamic) v.end = v.begin + shared_bytes;
    v.used = false;
  }
}

std::uint64_t shared_map::use(const shared_variable& which) {
  shared_variable& v = shared_[static_cast<std::size_t>(&which - shared_.data())];
  if (!v.dynamic && !v.used) static_bytes_ += v.end - v.begin;
  v.used = true;
  return static_bytes_;
}

bool shared_map::covers(std::uintptr_t address) const {
  return std::any_of(areas_.begin(), areas_.end(), [&](const area& a) {
    return address - a.bytes.begin < a.bytes.end - a.bytes.begin;
  });
}

const shared_variable* shared_map::before(std::uintptr_t address) const {
  auto next = upper(shared_, address);
  return next == shared_.begin() ? nullptr : &*std::prev(next);
}

const shared_variable* shared_map::find(std::uintptr_t address) const {
  const shared_variable* v = before(address);
  return v != nullptr && v->has(address) ? v : nullptr;
}

bool shared_map::is_ordinary(std::uintptr_t address) const {
  return std::any_of(areas_.begin(), areas_.end(), [&](const area& a) {
    return !a.shares && address - a.bytes.begin < a.bytes.end - a.bytes.begin;
  });
}

}  // namespace simt::detail
