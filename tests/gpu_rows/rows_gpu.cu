// SPDX-License-Identifier: Apache-2.0
#include "rows_machine.cuh"

const rows_machine& gpu_rows() {
  static const rows_machine m = machines::rows_machine_here();
  return m;
}
