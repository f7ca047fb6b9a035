// SPDX-License-Identifier: Apache-2.0
#include "metrics.hpp"

#include <limits>

namespace lens::profile {
namespace {

constexpr metric table[] = {
    {"smsp__sass_inst_executed.sum", "instructions", "", source::sass},
    {"smsp__sass_inst_executed_op_global_ld.sum", "global load requests", "", source::sass},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", "global load sectors", "", source::sass},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", "useful bytes of loaded sectors",
     "%", source::sass},
    {"smsp__sass_inst_executed_op_global_st.sum", "global store requests", "", source::sass},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", "global store sectors", "",
     source::sass},
    {"smsp__sass_inst_executed_op_global_red.sum", "global reductions", "", source::sass},
    {"smsp__sass_inst_executed_op_global_atom.sum", "global atomics with a result", "", source::sass},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_red.sum", "sectors of global reductions", "",
     source::sass},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_atom.sum", "sectors of global atomics", "",
     source::sass},
    {"smsp__sass_inst_executed_op_ld.sum", "loads of every kind", "", source::sass},
    {"smsp__sass_inst_executed_op_st.sum", "stores of every kind", "", source::sass},
    {"smsp__sass_inst_executed_op_atom.sum", "atomics of every kind", "", source::sass},
    {"smsp__sass_inst_executed_op_dshared_ld.sum", "loads from the cluster", "", source::sass},
    {"smsp__sass_inst_executed_op_dshared_st.sum", "stores to the cluster", "", source::sass},
    {"smsp__sass_inst_executed_op_shared_ld.sum", "shared load requests", "", source::sass},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "shared load wavefronts", "",
     source::sass},
    {"smsp__sass_inst_executed_op_shared_st.sum", "shared store requests", "", source::sass},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "shared store wavefronts", "",
     source::sass},
    {"smsp__sass_inst_executed_op_shared_atom.sum", "shared atomics", "", source::sass},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", "wavefronts of shared atomics",
     "", source::sass},
    {"smsp__sass_branch_targets_threads_divergent.sum", "divergent branches", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "f32 additions", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "f32 products", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "f32 fused", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", "f64 additions", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", "f64 products", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "f64 fused", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", "f16 pipe: additions, widening", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", "f16 pipe: products", "", source::sass},
    {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", "f16 pipe: fused, constants", "", source::sass},

    {"smsp__average_thread_inst_executed_per_inst_executed.ratio", "lanes active an instruction",
     "lanes", source::hardware},
    {"smsp__average_thread_inst_executed_pred_on_per_inst_executed.ratio",
     "lanes active and not predicated off", "lanes", source::hardware},
    {"smsp__inst_executed_op_global_red.sum", "global reductions, as the units saw them", "",
     source::hardware},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
     "shared load conflicts and lost arbitration", "", source::hardware},
    {"dram__bytes_read.sum", "read from memory", "B", source::hardware},
    {"dram__bytes_write.sum", "written to memory", "B", source::hardware},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", "memory throughput of its peak", "%",
     source::hardware},
    {"lts__t_sector_hit_rate.pct", "L2 hits", "%", source::hardware},
    {"l1tex__t_sector_hit_rate.pct", "L1 hits", "%", source::hardware},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy: warps active of the most", "%",
     source::hardware},
    {"smsp__issue_active.avg.pct_of_peak_sustained_active", "cycles in which a scheduler issues", "%",
     source::hardware},
    {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
     "warps that wait for global memory, an issue", "warps", source::hardware},
    {"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
     "warps that wait for shared memory, an issue", "warps", source::hardware},
    {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
     "warps that wait at a barrier, an issue", "warps", source::hardware},
    {"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
     "warps that wait to ask global memory, an issue", "warps", source::hardware},
    {"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
     "warps that wait to ask shared memory, an issue", "warps", source::hardware},
};

}  // namespace

std::span<const metric> metrics() { return table; }

double counted_kernel::of(std::string_view name) const {
  for (std::size_t k = 0; k < std::size(table) && k < values.size(); ++k)
    if (table[k].name == name) return values[k];
  return std::numeric_limits<double>::quiet_NaN();
}

double counted_kernel::flops() const {
  double sum = 0;
  for (const char* kind : {"f", "d"}) {
    const auto executed = [&](const char* op) {
      return of("smsp__sass_thread_inst_executed_op_" + std::string(kind) + op + "_pred_on.sum");
    };
    sum += executed("add") + executed("mul") + 2 * executed("fma");
  }
  return sum;
}

double counted_kernel::sector_bytes() const {
  double sectors = 0;
  for (const char* op : {"ld", "st", "red", "atom"})
    sectors += of("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_" + std::string(op) + ".sum");
  return 32 * sectors;
}

}  // namespace lens::profile
