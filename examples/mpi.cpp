// SPDX-License-Identifier: Apache-2.0
// Reductions over ranks: each holds a piece of an array, and all get the answer of the whole, with the same bits for any number
// of them. Run it with 1, 2 or 7: what it prints stays the same.
//
//     mpicxx -std=c++20 mpi.cpp $(pkg-config --cflags --libs warpfold)
//     mpiexec -n 4 ./a.out
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

// [answers]
#include <warpfold/mpi.hpp>

// [/answers]

namespace {

/// Elements first … first + n of an array whose sum no order of f64 additions gets right.
std::vector<double> piece(std::int64_t first, std::int64_t n) {
  std::vector<double> x;
  for (std::int64_t i = first; i < first + n; ++i) x.push_back(i % 3 == 0 ? 1e16 : i % 3 == 1 ? 3.0 : -1e16);
  return x;
}

/// How often an element is greater than the one before it: where pieces meet, the order of the ranks is kept.
struct count_rises {
  struct state {
    double first, last;
    std::int64_t rises;
  };
  state identity() const { return {0, 0, -1}; }
  state lift(double x, std::int64_t) const { return {x, x, 0}; }
  state combine(const state& a, const state& b) const {
    if (a.rises < 0 || b.rises < 0) return a.rises < 0 ? b : a;
    return {a.first, b.last, a.rises + b.rises + (b.first > a.last)};
  }
  std::int64_t finish(const state& s, std::int64_t) const { return s.rises; }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, ranks = 1, status = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  try {
    constexpr std::int64_t n = 3'000'000;
    const std::int64_t first = n * rank / ranks, last = n * (rank + 1) / ranks;
    const std::vector<double> x = piece(first, last - first);

    // [answers]
    // From the pieces to the answer.
    double sum = wf::mpi::sum(comm, x);               // exact: rounded once
    auto [mean, var] = wf::mpi::mean_var(comm, x);
    std::int64_t at = wf::mpi::argmin(comm, x);       // the place in the whole array
    auto rises = wf::all_reduce(comm, x, count_rises{});
    // [/answers]

    // [built up]
    // A sum that was built up step by step.
    wf::exact_sum acc;
    for (double v : x) acc.add(v);
    wf::all_reduce(comm, acc);
    // [/built up]

    // [states]
    // States of any origin.
    wf::state_form form = wf::form_of_states(wf::op::norm2, wf::dtype::f64);
    std::vector<std::byte> state(form.bytes);
    // [/states]
    wf::request r;
    r.what = wf::op::norm2;
    r.inputs.data[0] = x.data();
    r.inputs.shape = {static_cast<std::int64_t>(x.size())};
    r.inputs.strides[0] = {sizeof(double)};
    r.wanted = wf::output::states;
    r.out = state.data();
    wf::cpu_backend().run(r);
    std::vector<std::byte> again = state;
    // [states]
    wf::all_reduce(comm, form, state);                // or wf::reduce(comm, root, form, state)

    // The same all-reduce many times, or while other work is done.
    wf::mpi::plan plan(comm, form);                   // ranks agree on the form, once
    plan.start(again);                                // MPI_Iallreduce
    // [/states]
    double other_work = wf::sum(x);
    // [states]
    plan.wait(again);
    // [/states]
    double norm = 0;
    wf::finish_states(form, {}, again.data(), 1, &norm);

    if (rank == 0)
      std::printf("sum %.17g, mean %.17g, var %.17g, least at %lld, %lld rises, norm %.17g\n", sum, mean, var, static_cast<long long>(at),
                  static_cast<long long>(rises), norm);
    const bool own_part = ranks > 1 || other_work == sum;
    status = sum == 3e6 && acc.value() == sum && at == 2 && rises == 999'999 && state == again && own_part ? 0 : 1;
  } catch (const wf::error& e) {  // on all ranks, so that all come to MPI_Finalize
    std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
  }
  MPI_Finalize();
  return status;
}
