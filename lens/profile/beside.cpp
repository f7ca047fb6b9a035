// SPDX-License-Identifier: Apache-2.0
#include "beside.hpp"

#include <algorithm>
#include <cmath>

#include <lens/counting.hpp>

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

/// A kernel's launches as one: what is counted by instruction adds up.
std::vector<counted_launch> merged(const std::vector<counted_launch>& launches) {
  std::vector<counted_launch> all;
  for (const counted_launch& l : launches) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const counted_launch& k) { return k.name == l.name; });
    if (same == all.end()) {
      all.push_back(l);
      continue;
    }
    for (std::size_t k = 0; k < l.counted.values.size(); ++k) same->counted.values[k] += l.counted.values[k];
  }
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

void set_beside(beside& b, const std::vector<kernel_counts>& simt, const std::vector<counted_launch>& launches) {
  const auto gpu = merged(launches);
  if (gpu.size() != simt.size()) {
    b.refused = "simt ran " + std::to_string(simt.size()) + " kernels and the GPU " + std::to_string(gpu.size());
    return;
  }
  for (std::size_t at = 0; at < gpu.size(); ++at) {
    const auto same = std::find_if(simt.begin(), simt.end(), [&](const auto& s) { return s.name == gpu[at].name; });
    const counters& ours = (same != simt.end() ? *same : simt[at]).total;  // else by order
    beside_kernel k{gpu[at].name, {}, gpu[at].counted};
    for (const shared_counter& c : table()) {
      beside_row row{c.name, c.simt(ours), 0, c.to_the_unit, nullptr};
      for (const std::string_view m : c.metrics) row.gpu += k.gpu.of(m);
      if (row.simt == 0 && row.gpu == 0) continue;
      if (!row.equal()) row.why = cause_of(b.rung, b.dtype, c.name, row.simt, row.gpu);
      k.rows.push_back(row);
    }
    b.kernels.push_back(std::move(k));
  }
}

}  // namespace lens::profile
