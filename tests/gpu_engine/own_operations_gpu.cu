// SPDX-License-Identifier: Apache-2.0
#include "own_operations.cuh"

const wf::device_library& own_operations_on_gpu() {
  static const wf::device_library own = machines::own_operations_of(wf::cuda_library());
  return own;
}
int own_states_on_gpu(const wf::states_request& r, void* stream) { return machines::own_states(r, stream); }
