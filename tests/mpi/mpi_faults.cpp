// SPDX-License-Identifier: Apache-2.0
// One rank, the second, does what it must not: mpi_test.py looks at what the others then do.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <warpfold/mpi.hpp>

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool odd = rank == 1;
  int status = 0;
  try {
    const std::vector<double> x(100, 0.5);
    auto form = wf::form_of_states(wf::op::sum, odd && what == "other" ? wf::dtype::f32 : wf::dtype::f64);
    std::vector<std::byte> state(form.bytes);
    wf::clear_states(form, state.data(), 1);
    if (odd && what == "damaged") state[100] = std::byte{1};
    if (odd && what == "killed") std::raise(SIGKILL);
    if (odd && what == "exits") std::_Exit(0);
    if (what == "killed_and_returned") {  // MPI answers errors, if it still can
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      if (odd) std::raise(SIGKILL);
    }
    wf::all_reduce(MPI_COMM_WORLD, form, state);
    std::printf("rank %d has an answer\n", rank);
  } catch (const wf::error& e) {
    std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
