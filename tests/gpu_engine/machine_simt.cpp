// SPDX-License-Identifier: Apache-2.0
#include "machine.cuh"

const machine& simt_machine() {
  static const machine m = machines::machine_of(wf::simt_library());
  return m;
}
