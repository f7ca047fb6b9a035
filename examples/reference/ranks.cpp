// SPDX-License-Identifier: Apache-2.0
// mpi.hpp: states, running sums and reductions of your own over MPI ranks; calls of MPI made with the library's messages. Any number of ranks.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include <warpfold/mpi.hpp>

#include "expect.hpp"

namespace {

/// Counts negative numbers.
struct negatives {
  std::int64_t identity() const { return 0; }
  std::int64_t lift(double x, std::int64_t) const { return x < 0; }
  std::int64_t combine(std::int64_t a, std::int64_t b) const { return a + b; }
  std::int64_t finish(std::int64_t s, std::int64_t) const { return s; }
};

void answers(MPI_Comm comm, int ranks) {
  const std::vector<double> piece{1, -2, 3};               // each rank has one
  expect(wf::mpi::sum(comm, piece) == 2.0 * ranks && wf::mpi::norm(comm, piece) == wf::mpi::norm2(comm, piece));
  expect(wf::all_reduce(comm, piece, negatives{}) == ranks);
  wf::mpi::own_state<negatives> own{1, 3};                 // for a reduction of your own: its state, and how many elements it has
  wf::all_reduce(comm, negatives{}, own);
  expect(own.state == ranks && own.elements == 3 * ranks);
  double greatest = 0;
  wf::request r;
  r.what = wf::op::max;
  r.inputs.data[0] = piece.data();
  r.inputs.shape = {3};
  r.inputs.strides[0] = {sizeof(double)};
  r.out = &greatest;
  wf::all_reduce(comm, r);                                 // anything that can be asked
  expect(greatest == 3);
}

void states(MPI_Comm comm, int rank, int ranks) {
  const wf::state_form form = wf::form_of_states(wf::op::count, wf::dtype::f64);
  std::vector<std::byte> nothing(form.bytes), one(form.bytes);
  wf::clear_states(form, nothing.data(), 1);
  wf::request r;
  const double value = 7;
  r.what = wf::op::count;
  r.inputs.data[0] = &value;
  r.wanted = wf::output::states;
  r.out = one.data();
  wf::cpu_backend().run(r);
  const auto counted = [&](const std::vector<std::byte>& state) {
    std::int64_t n = 0;
    wf::finish_states(form, {}, state.data(), 1, &n);
    return n;
  };

  std::vector<std::byte> all = one;
  wf::all_reduce(comm, form, all);
  expect(counted(all) == ranks);
  std::vector<std::byte> narrow = one;
  const wf::mpi::compact few{.bytes = 16};                 // many states whose numbers are small
  wf::all_reduce(comm, form, narrow, few);
  expect(narrow == all);
  std::vector<std::byte> at_root = one;
  wf::reduce(comm, 0, form, at_root);                      // for one rank alone
  expect(counted(at_root) == (rank == 0 ? ranks : 1));

  // The same often, or while something else is done.
  wf::mpi::plan plan(comm, form, 1, wf::mpi::kind::plain);
  std::vector<std::byte> again = one;
  plan.all_reduce(again);
  expect(again == all);
  plan.start(one);
  while (!plan.test()) {
  }
  plan.wait(again);
  expect(again == all);
  plan.start_refused(std::make_exception_ptr(wf::error(wf::errc::io, "this rank lost its file")));
  expect(thrown_by<wf::error>([&] { plan.wait(again); }).code() == wf::errc::io);  // on all ranks
  if (wf::mpi::has_persistent) wf::mpi::plan(comm, form, 1, wf::mpi::persistent).all_reduce(narrow);

  // A call of MPI's own with the library's datatype and operation.
  wf::mpi::message message(form, 1);
  expect(message.states() == 1 && message.form().bytes == form.bytes && message.commutes());
  message.pack(one);
  MPI_Scan(MPI_IN_PLACE, message.data(), static_cast<int>(message.count()), message.type(), message.operation(), comm);
  message.unpack(again);
  expect(counted(again) == rank + 1);
  message.refuse(wf::errc::io, rank);                      // what a rank that failed sends
  expect(thrown_by<wf::error>([&] { message.unpack(again); }).code() == wf::errc::io);
}

void running_sums(MPI_Comm comm, int rank, int ranks) {
  wf::exact_sum acc, at_root;
  acc.add(0.5);
  at_root.add(0.5);
  wf::all_reduce(comm, acc);
  expect(acc.value() == 0.5 * ranks);
  wf::reduce(comm, 0, at_root);
  expect(at_root.value() == (rank == 0 ? 0.5 * ranks : 0.5));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    answers(MPI_COMM_WORLD, ranks);
    states(MPI_COMM_WORLD, rank, ranks);
    running_sums(MPI_COMM_WORLD, rank, ranks);
  } catch (const wf::mpi::failure& e) {  // the communicator's error handler is MPI_ERRORS_RETURN
    MPI_Abort(MPI_COMM_WORLD, e.mpi_code());
  }
  MPI_Finalize();
}
