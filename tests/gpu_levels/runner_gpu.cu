// SPDX-License-Identifier: Apache-2.0
#include "levels.cuh"

level_answers run_on_gpu(const level_request& r) { return levels::run_any(r); }
std::string much_shared_memory_on_gpu() { return levels::launches_with_much_shared_memory(false); }
std::string why_no_gpu() { return devices::why_not(); }
