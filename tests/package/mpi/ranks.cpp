// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <warpfold/detail/mpi/plan.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto form = wf::form_of_states(wf::op::count, wf::dtype::i8);
  std::int64_t state[2] = {5, 5};
  wf::mpi::plan plan(MPI_COMM_WORLD, form);
  plan.all_reduce(std::as_writable_bytes(std::span(state)));
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Finalize();
  return state[0] == 5 * ranks && state[1] == 5 * ranks ? 0 : 1;
}
