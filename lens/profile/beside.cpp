// SPDX-License-Identifier: Apache-2.0
#include "beside.hpp"

#include <algorithm>
#include <cmath>

#include "causes.hpp"

namespace lens::profile {
namespace {

double number_of(std::uint64_t x) { return static_cast<double>(x); }

const std::vector<shared_counter>& table() {
  static const std::vector<shared_counter> all = {
      {"global_load.requests",
       {"smsp__sass_inst_executed_op_global_ld.sum"},
       [](const counters& c) { return number_of(c.global_load.requests); },
       true},
      {"global_load.sectors",
       {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum"},
       [](const counters& c) { return number_of(c.global_load.sectors); },
       true},
      {"global_store.requests",
       {"smsp__sass_inst_executed_op_global_st.sum"},
       [](const counters& c) { return number_of(c.global_store.requests); },
       true},
      {"global_store.sectors",
       {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum"},
       [](const counters& c) { return number_of(c.global_store.sectors); },
       true},
      {"global_atomic.requests",
       {"smsp__sass_inst_executed_op_global_red.sum", "smsp__sass_inst_executed_op_global_atom.sum"},
       [](const counters& c) { return number_of(c.global_atomic.requests); },
       true},
      {"shared_load.requests",
       {"smsp__sass_inst_executed_op_shared_ld.sum"},
       [](const counters& c) { return number_of(c.shared_load.requests); },
       true},
      {"shared_load.wavefronts",
       {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
       [](const counters& c) { return number_of(c.shared_load.wavefronts); },
       true},
      {"shared_store.requests",
       {"smsp__sass_inst_executed_op_shared_st.sum"},
       [](const counters& c) { return number_of(c.shared_store.requests); },
       true},
      {"shared_store.wavefronts",
       {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
       [](const counters& c) { return number_of(c.shared_store.wavefronts); },
       true},
      {"shared_atomic.requests",
       {"smsp__sass_inst_executed_op_shared_atom.sum"},
       [](const counters& c) { return number_of(c.shared_atomic.requests); },
       true},
      {"divergent",
       {"smsp__sass_branch_targets_threads_divergent.sum"},
       [](const counters& c) { return number_of(c.divergent); },
       false},
  };
  return all;
}

}  // namespace

std::span<const shared_counter> shared_counters() { return table(); }

bool beside_row::equal() const { return std::abs(difference()) < 0.5; }

bool beside::explained() const {
  return std::all_of(kernels.begin(), kernels.end(), [](const beside_kernel& k) {
    return std::all_of(k.rows.begin(), k.rows.end(), [](const beside_row& r) { return r.explained(); });
  });
}

beside_kernel set_beside(const std::string& rung, const std::string& dtype, const std::string& kernel,
                         const counters& simt, const counted_kernel& gpu) {
  beside_kernel k;
  k.name = kernel;
  for (const shared_counter& c : table()) {
    beside_row row;
    row.counter = c.name;
    row.to_the_unit = c.to_the_unit;
    row.simt = c.simt(simt);
    for (const std::string_view m : c.metrics) row.gpu += gpu.of(m);
    if (row.simt == 0 && row.gpu == 0) continue;
    if (!row.equal()) row.why = cause_of(rung, dtype, c.name, row.simt, row.gpu);
    k.rows.push_back(row);
  }
  return k;
}

}  // namespace lens::profile
