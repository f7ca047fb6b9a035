// SPDX-License-Identifier: Apache-2.0
#include "own_operations.cuh"

const wf::device_library& own_operations_on_simt() {
  static const wf::device_library own = machines::own_operations_of(wf::simt_library());
  return own;
}
int own_states_on_simt(const wf::states_request& r, void* stream) { return machines::own_states(r, stream); }
