// SPDX-License-Identifier: Apache-2.0
#include "machine.cuh"

const machine& gpu_machine() {
  static const machine m = machines::machine_of(wf::cuda_library());
  return m;
}
