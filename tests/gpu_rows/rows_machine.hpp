// SPDX-License-Identifier: Apache-2.0
/// \file rows_machine.hpp
/// What the tests of rows need of a device, the same for GPUs and simt: rows_machine.cuh is compiled for both.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <warpfold/detail/gpu/rows.hpp>

#include "../support/device.hpp"

struct rows_machine : device_functions {
  bool (*takes)(wf::op, wf::dtype, wf::accuracy);
  std::string (*run)(const wf::rows_request&, int times);  ///< one after the other with one workspace
  std::string (*replay)(const wf::rows_request&, int times);  ///< captured once in a graph; simt has none
};
const rows_machine& simt_rows();
const rows_machine& gpu_rows();
/// In sums of f32 on simt, how many rows no certificate accepted; -1 if the launch failed.
int simt_uncertain_rows(const wf::rows_request&);
/// The same of norms and moments of f32.
int simt_uncertain_moments(const wf::rows_request&);
/// The same of sums of rows that many blocks added again.
int simt_shared_uncertain_rows(const wf::rows_request&);
/// In sums of i32 by offsets on simt, how many elements each warp adds; empty if the launch failed.
std::vector<std::uint64_t> simt_elements_of_warps(const wf::rows_request&);
