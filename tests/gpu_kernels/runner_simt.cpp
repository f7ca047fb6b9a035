// SPDX-License-Identifier: Apache-2.0
#include "kernel_runner.cuh"

sum_answer run_on_simt(const sum_request& r) { return runner::run(r); }
