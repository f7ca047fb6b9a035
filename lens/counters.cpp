// SPDX-License-Identifier: Apache-2.0
#include "counters.hpp"

#include <algorithm>

namespace lens {

memory_counts& memory_counts::operator+=(const memory_counts& o) {
  requests += o.requests;
  lanes += o.lanes;
  bytes += o.bytes;
  sectors += o.sectors;
  useful_bytes += o.useful_bytes;
  wavefronts += o.wavefronts;
  ideal += o.ideal;
  ways = std::max(ways, o.ways);
  turns += o.turns;
  return *this;
}

counters& counters::operator+=(const counters& o) {
  global_load += o.global_load;
  global_store += o.global_store;
  global_atomic += o.global_atomic;
  shared_load += o.shared_load;
  shared_store += o.shared_store;
  shared_atomic += o.shared_atomic;
  barriers += o.barriers;
  outer_barriers += o.outer_barriers;
  warp_syncs += o.warp_syncs;
  shuffles += o.shuffles;
  collectives += o.collectives;
  blocks += o.blocks;
  block_lanes += o.block_lanes;
  divergent += o.divergent;
  flops += o.flops;
  return *this;
}

namespace {

double number(std::uint64_t x) { return static_cast<double>(x); }
double ratio(std::uint64_t a, std::uint64_t b) { return b == 0 ? 0 : number(a) / number(b); }

constexpr hardware_counter table[] = {
    {"shared_load.wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
     [](const counters& c) { return number(c.shared_load.wavefronts); }, true},
    {"shared_store.wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
     [](const counters& c) { return number(c.shared_store.wavefronts); }, true},
    {"shared_load.requests", "smsp__sass_inst_executed_op_shared_ld.sum",
     [](const counters& c) { return number(c.shared_load.requests); }, true},
    {"shared_store.requests", "smsp__sass_inst_executed_op_shared_st.sum",
     [](const counters& c) { return number(c.shared_store.requests); }, true},
    {"global_load.requests", "smsp__sass_inst_executed_op_global_ld.sum",
     [](const counters& c) { return number(c.global_load.requests); }, true},
    {"global_store.requests", "smsp__sass_inst_executed_op_global_st.sum",
     [](const counters& c) { return number(c.global_store.requests); }, true},
    {"global_load.sectors", "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
     [](const counters& c) { return number(c.global_load.sectors); }, true},
    {"global_store.sectors", "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
     [](const counters& c) { return number(c.global_store.sectors); }, true},
    {"global_load.useful_percent",
     "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
     [](const counters& c) {
       return 100 * ratio(c.global_load.useful_bytes, 32 * c.global_load.sectors);
     },
     true},
    {"global_atomic.requests", "smsp__inst_executed_op_global_red.sum",
     [](const counters& c) { return number(c.global_atomic.requests); }, false},
    {"divergent", "smsp__sass_branch_targets_threads_divergent.sum",
     [](const counters& c) { return number(c.divergent); }, false},
    {"lanes_a_block", "smsp__average_thread_inst_executed_per_inst_executed.ratio",
     [](const counters& c) { return ratio(c.block_lanes, c.blocks); }, false},
};

}  // namespace

std::span<const hardware_counter> hardware_counters() { return table; }

}  // namespace lens
