// SPDX-License-Identifier: Apache-2.0
/// \file registry.cuh
/// Every rung, in the ladder's order, for one element type. Compiled once an element type and
/// build.
#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include "01_cpu.cuh"
#include "02_race.cuh"
#include "03_atomic.cuh"
#include "04_warp_leader.cuh"
#include "05_block_leader.cuh"
#include "06_shared_atomic.cuh"
#include "07_tree_modulo.cuh"
#include "08_tree_strided.cuh"
#include "09_tree_sequential.cuh"
#include "10_first_add.cuh"
#include "11_unroll_warp.cuh"
#include "12_unroll_warp_sync.cuh"
#include "13_unroll_all.cuh"
#include "14_grid_stride.cuh"
#include "15_shuffle.cuh"
#include "16_shuffle_block.cuh"
#include "17_partials_host.cuh"
#include "18_two_pass.cuh"
#include "19_grid_sync.cuh"
#include "20_last_block.cuh"
#include "21_vector_load.cuh"
#include "22_occupancy.cuh"
#include "23_cluster.cuh"
#include "24_record.cuh"
#include "25_exact.cuh"
#include "entry.cuh"

namespace ladder::inline WF_BUILD {

template <class T, auto rung, class Out = sum_t<T>>
cudaError_t erased(const void* x, std::uint64_t n, void* out, run& r) {
  return rung(static_cast<const T*>(x), n, static_cast<Out*>(out), r);
}

/// What is true of a rung, for the rows below.
enum trait : unsigned {
  none = 0,
  host = 1,        // runs on the CPU
  atomics = 2,     // its order, and so its last bits, may differ from run to run
  tree = 4,        // halves the block: a power of two
  wide_tree = 12,  // the same, of at least 64 threads
  waits = 16,      // waits for the device itself
  own_block = 32,  // chooses the block itself
  correct = 64,    // must be the correctly rounded sum
  element = 128,   // gives the element's type
  wrong = 256,     // on purpose
};

inline entry row(entry_function call, std::string_view name, std::string_view variant,
                 std::string_view file, unsigned traits) {
  entry e;
  e.call = call;
  e.info.name = name;
  e.info.variant = variant;
  e.info.file = file;
  e.info.min_block = (traits & wide_tree) == wide_tree ? 64 : 32;
  e.info.power_of_two = (traits & tree) != 0;
  e.info.fixed_block = (traits & own_block) != 0;
  e.info.on_host = (traits & host) != 0;
  e.info.waits = (traits & waits) != 0;
  e.info.any_order = (traits & atomics) != 0;
  e.info.exact = (traits & correct) != 0;
  e.info.element_result = (traits & element) != 0;
  e.info.expected_wrong = (traits & wrong) != 0;
  return e;
}

template <class T>
std::vector<entry> make_entries() {
  using std::string_view;
  std::vector<entry> all;
  const auto add = [&](entry_function call, string_view name, string_view variant, string_view file,
                       unsigned traits) { all.push_back(row(call, name, variant, file, traits)); };

  constexpr string_view cpu = "01_cpu.cuh", leader = "04_warp_leader.cuh",
                        shapes = "22_occupancy.cuh";
  add(erased<T, &cpu_serial<T>>, "cpu", "serial", cpu, host);
  if constexpr (!std::is_integral_v<T>) {
    add(erased<T, &cpu_kahan<T>>, "cpu", "kahan", cpu, host);
    add(erased<T, &cpu_pairwise<T>>, "cpu", "pairwise", cpu, host);
    add(erased<T, &cpu_exact<T>>, "cpu", "exact", cpu, host | correct);
  }
  add(erased<T, &race<T>>, "race", "", "02_race.cuh", atomics | wrong);
  add(erased<T, &atomic<T>>, "atomic", "", "03_atomic.cuh", atomics);
  add(erased<T, &warp_leader<T, false>>, "warp_leader", "nested", leader, atomics);
  add(erased<T, &warp_leader<T, true>>, "warp_leader", "flat", leader, atomics);
  add(erased<T, &block_leader<T>>, "block_leader", "", "05_block_leader.cuh", atomics);
  add(erased<T, &shared_atomic<T>>, "shared_atomic", "", "06_shared_atomic.cuh", atomics);
  add(erased<T, &tree_modulo<T>>, "tree_modulo", "", "07_tree_modulo.cuh", tree | atomics);
  add(erased<T, &tree_strided<T>>, "tree_strided", "", "08_tree_strided.cuh", tree | atomics);
  add(erased<T, &tree_sequential<T>>, "tree_sequential", "", "09_tree_sequential.cuh",
      tree | atomics);
  add(erased<T, &first_add<T>>, "first_add", "", "10_first_add.cuh", tree | atomics);
  add(erased<T, &unroll_warp<T>>, "unroll_warp", "", "11_unroll_warp.cuh",
      wide_tree | atomics | wrong);
  add(erased<T, &unroll_warp_sync<T>>, "unroll_warp_sync", "", "12_unroll_warp_sync.cuh",
      wide_tree | atomics);
  add(erased<T, &unroll_all<T>>, "unroll_all", "", "13_unroll_all.cuh", wide_tree | atomics);
  add(erased<T, &grid_stride<T>>, "grid_stride", "", "14_grid_stride.cuh", tree | atomics);
  add(erased<T, &shuffle<T>>, "shuffle", "", "15_shuffle.cuh", atomics);
  add(erased<T, &shuffle_block<T>>, "shuffle_block", "", "16_shuffle_block.cuh", atomics);
  add(erased<T, &partials_host<T>>, "partials_host", "", "17_partials_host.cuh", waits);
  add(erased<T, &two_pass<T>>, "two_pass", "", "18_two_pass.cuh", none);
  add(erased<T, &grid_sync<T>>, "grid_sync", "", "19_grid_sync.cuh", none);
  add(erased<T, &last_block<T>>, "last_block", "", "20_last_block.cuh", none);
  add(erased<T, &vector_load<T>>, "vector_load", "", "21_vector_load.cuh", atomics);
  add(erased<T, &occupancy<T, 64, 0>>, "occupancy", "64", shapes, atomics | own_block);
  add(erased<T, &occupancy<T, 128, 0>>, "occupancy", "128", shapes, atomics | own_block);
  add(erased<T, &occupancy<T, 256, 0>>, "occupancy", "256", shapes, atomics | own_block);
  add(erased<T, &occupancy<T, 512, 0>>, "occupancy", "512", shapes, atomics | own_block);
  add(erased<T, &occupancy<T, 1024, 0>>, "occupancy", "1024", shapes, atomics | own_block);
  add(erased<T, &occupancy<T, 256, 1>>, "occupancy", "256x1", shapes, atomics | own_block);
  add(erased<T, &occupancy<T, 256, 2>>, "occupancy", "256x2", shapes, atomics | own_block);
  add(erased<T, &occupancy<T, 256, 4>>, "occupancy", "256x4", shapes, atomics | own_block);
  add(erased<T, &cluster<T>>, "cluster", "", "23_cluster.cuh", atomics);
  add(erased<T, &record<T>, record_t<T>>, "record", "", "24_record.cuh", own_block);
  add(erased<T, &exact<T>, T>, "exact", "", "25_exact.cuh", own_block | correct | element);
  return all;
}

template <class T>
std::span<const entry> entries() {
  static const std::vector<entry> all = make_entries<T>();
  return all;
}

}  // namespace ladder::inline WF_BUILD
