// SPDX-License-Identifier: Apache-2.0
// Where `__shared__` variables lie. They are thread-local: each OS thread that runs blocks has its
// own, found by the thread-local symbols of the loaded objects. Instrumented code aligns shared variables
// to 32 KiB, which tells them from other thread-local variables, and leaves room between them for
// indexes that run away.
#pragma once

#include "thread.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace simt::detail {

inline constexpr std::uintptr_t shared_alignment = 32768;

struct shared_variable {
  std::uintptr_t begin = 0, end = 0;
  std::uint32_t* written = nullptr;  ///< a word for each 4 bytes: (epoch << 4) | bytes
  bool dynamic = false;
  bool used = false;  ///< by the running block
  std::string name;
  bool has(std::uintptr_t a) const { return a - begin < end - begin; }
};

/// The shared memory of one OS thread.
class shared_map {
 public:
  shared_map();
  ~shared_map();
  shared_map(const shared_map&) = delete;
  shared_map& operator=(const shared_map&) = delete;

  /// The calling OS thread's.
  static shared_map& mine();
  /// The one of another OS thread in which the address lies; null if none.
  static shared_map* of(std::uintptr_t address);

  void begin_block(std::uint64_t linear, std::uint64_t run, std::uint64_t shared_bytes);
  /// Again, for libraries loaded since. Only by the OS thread itself.
  void find_variables();

  /// The running block uses this variable of the map; the bytes of all static ones that it used so far.
  std::uint64_t use(const shared_variable&);

  bool covers(std::uintptr_t address) const;
  const shared_variable* find(std::uintptr_t address) const;
  /// The last shared variable that begins at or below the address.
  const shared_variable* before(std::uintptr_t address) const;
  /// In a thread-local variable of an object without shared variables. In other objects it is what lies behind the end
  /// of a shared variable: kernels have no thread-local variables, and the runtime's are none of theirs.
  bool is_ordinary(std::uintptr_t address) const;

  std::uint64_t block() const { return block_.load(std::memory_order_relaxed); }
  std::uint32_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

 private:
  struct area {
    byte_range bytes;
    std::uint32_t* written;
    bool shares;  ///< the object has shared variables
  };
  void add_object(const char* file, std::uintptr_t begin, std::uintptr_t bytes);

  std::vector<area> areas_;
  std::vector<shared_variable> shared_;  // by address
  std::uint64_t static_bytes_ = 0;
  std::atomic<std::uint64_t> block_{0};
  std::atomic<std::uint32_t> epoch_{0};
};

}  // namespace simt::detail
