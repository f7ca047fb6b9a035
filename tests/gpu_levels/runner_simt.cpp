// SPDX-License-Identifier: Apache-2.0
#include "levels.cuh"

level_answers run_on_simt(const level_request& r) { return levels::run_any(r); }
std::string much_shared_memory_on_simt() { return levels::launches_with_much_shared_memory(true); }
