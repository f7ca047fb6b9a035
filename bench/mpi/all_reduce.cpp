// SPDX-License-Identifier: Apache-2.0
// What an exact all-reduce costs beside MPI_Allreduce of one double, in one run, as JSON:
//
//     cmake --preset release && cmake --build --preset release --target bench_mpi
//     mpiexec -n 2 build/release/bench/mpi/bench_mpi [SAMPLES] > all-reduce.json
//
// with a core for each rank. Contenders take turns; a sample is the mean of 20 calls, the time of the slowest rank. The least of many samples
// is one that nothing else on the machine disturbed; the median says what a machine that does nothing else gives. Every answer is verified
// before any is timed.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <warpfold/mpi.hpp>

#include "../gpu/json_file.hpp"

namespace {

int rank = 0, ranks = 1;

struct contender {
  std::string name;
  std::size_t bytes;           ///< a message's
  std::function<void()> call;  ///< one all-reduce
  std::vector<double> us;
};

std::vector<std::byte> state_of(const wf::state_form& form) {
  const std::array<double, 3> x{1e16, 1.0 + rank, -1e16};
  std::array<float, 3> narrow{1e8f, static_cast<float>(1 + rank), -1e8f};
  std::vector<std::byte> state(form.bytes);
  wf::request r;
  r.what = form.what;
  r.element = form.element;
  const bool is_narrow = form.element == wf::dtype::f32;
  r.inputs.data = {is_narrow ? static_cast<const void*>(narrow.data()) : x.data(), is_narrow ? static_cast<const void*>(narrow.data()) : x.data()};
  r.inputs.shape = {3};
  const std::int64_t size = is_narrow ? 4 : 8;
  r.inputs.strides = {wf::extents{size}, wf::extents{size}};
  r.wanted = wf::output::states;
  r.out = state.data();
  wf::cpu_backend().run(r);
  return state;
}

/// The state of all ranks' elements, without MPI.
std::vector<std::byte> expected(const wf::state_form& form) {
  std::vector<std::byte> all(form.bytes);
  wf::clear_states(form, all.data(), 1);
  const int own = rank;
  for (rank = 0; rank < ranks; ++rank) wf::merge_states(form, all.data(), state_of(form).data(), 1);
  rank = own;
  return all;
}

double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const MPI_Comm comm = MPI_COMM_WORLD;
  char* end = nullptr;
  const long samples = argc > 1 ? std::strtol(argv[1], &end, 10) : 1001;
  if (argc > 2 || samples < 1 || (end != nullptr && *end != '\0')) {
    if (rank == 0) std::fprintf(stderr, "bench_mpi: '%s' samples; a number from 1 on is wanted\n", argv[1]);
    MPI_Finalize();
    return 2;
  }

  std::vector<contender> all;
  double one = 1;
  all.push_back({"MPI_Allreduce of a double", sizeof one, [&] {
                   one = 1;
                   MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_DOUBLE, MPI_SUM, comm);
                 }, {}});
  struct subject {
    wf::state_form form;
    std::vector<std::byte> own, got;
    std::unique_ptr<wf::mpi::plan> plan;
    double answer[2];
  };
  std::vector<std::unique_ptr<subject>> subjects;
  bool right = true;
  for (const auto& [what, element] : {std::pair{wf::op::sum, wf::dtype::f32}, {wf::op::sum, wf::dtype::f64}, {wf::op::mean_var, wf::dtype::f64},
                                      {wf::op::dot, wf::dtype::f64}, {wf::op::argmin, wf::dtype::f64}}) {
    subjects.push_back(std::make_unique<subject>());
    subject& s = *subjects.back();
    s.form = wf::form_of_states(what, element);
    s.own = s.got = state_of(s.form);
    s.plan = std::make_unique<wf::mpi::plan>(comm, s.form);
    const std::string name = std::string(wf::op_names[static_cast<int>(what)]) + " of " + std::string(wf::info(element).name);
    all.push_back({"plan, " + name, s.form.bytes, [&s] {
                     s.got = s.own;
                     s.plan->all_reduce(s.got);
                     wf::finish_states(s.form, {}, s.got.data(), 1, s.answer);
                   }, {}});
    all.push_back({"all_reduce, " + name, s.form.bytes, [&s, comm] {
                     s.got = s.own;
                     wf::all_reduce(comm, s.form, s.got);
                     wf::finish_states(s.form, {}, s.got.data(), 1, s.answer);
                   }, {}});
    const auto want = expected(s.form);
    for (const std::size_t k : {all.size() - 2, all.size() - 1}) {
      all[k].call();
      right = right && s.got == want;
    }
  }
  // A thousand sums at a time: whole states, and compact ones.
  constexpr std::size_t many = 1000;
  const wf::state_form form = wf::form_of_states(wf::op::sum, wf::dtype::f32);
  std::vector<std::byte> own_many, got_many, want_many;
  for (std::size_t k = 0; k < many; ++k) {
    const auto own = state_of(form), want = expected(form);
    own_many.insert(own_many.end(), own.begin(), own.end());
    want_many.insert(want_many.end(), want.begin(), want.end());
  }
  std::vector<double> doubles(many, 1.0);
  all.push_back({"MPI_Allreduce of 1000 doubles", many * sizeof(double), [&] { MPI_Allreduce(MPI_IN_PLACE, doubles.data(), many, MPI_DOUBLE, MPI_SUM, comm); }, {}});
  all.push_back({"all_reduce, 1000 sums of f32", own_many.size(), [&] {
                   got_many = own_many;
                   wf::all_reduce(comm, form, got_many);
                 }, {}});
  all.push_back({"all_reduce, 1000 sums of f32, compact{24}", many * 29, [&] {
                   got_many = own_many;
                   wf::all_reduce(comm, form, got_many, wf::mpi::compact{24});
                 }, {}});
  for (const std::size_t k : {all.size() - 2, all.size() - 1}) {
    all[k].call();
    right = right && got_many == want_many;
  }
  int good = right ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
  if (good == 0) {
    std::fprintf(stderr, "bench_mpi: rank %d: a wrong answer\n", rank);
    MPI_Finalize();
    return 1;
  }

  constexpr int calls = 20;
  for (long sample = -3; sample < samples; ++sample) {  // three to warm up
    for (contender& c : all) {
      MPI_Barrier(comm);
      const double from = MPI_Wtime();
      for (int k = 0; k < calls; ++k) c.call();
      double us = (MPI_Wtime() - from) * 1e6 / calls;
      MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, comm);
      if (sample >= 0) c.us.push_back(us);
    }
  }
  if (rank == 0) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    const double least = quantile(all[0].us, 0), middle = quantile(all[0].us, 0.5);
    for (const contender& c : all) {
      const double median = quantile(c.us, 0.5);
      results.push_back({{"name", c.name}, {"bytes", c.bytes}, {"least us", rounded(quantile(c.us, 0), 3)}, {"median us", rounded(median, 3)},
                         {"10% us", rounded(quantile(c.us, 0.1), 3)}, {"90% us", rounded(quantile(c.us, 0.9), 3)}, {"over a double us", rounded(median - middle, 3)},
                         {"least over a double us", rounded(quantile(c.us, 0) - least, 3)}});
    }
    const nlohmann::ordered_json figures = {{"benchmark", "all_reduce"}, {"warpfold", wf::version()}, {"mpi", std::string(version, static_cast<std::size_t>(length))},
                                            {"ranks", ranks}, {"samples", samples}, {"calls per sample", calls}, {"results", results}};
    std::printf("%s\n", figures.dump(1, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
  }
  subjects.clear();
  MPI_Finalize();
  return 0;
}
