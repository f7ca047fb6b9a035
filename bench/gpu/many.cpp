// SPDX-License-Identifier: Apache-2.0
// Reductions over all GPUs of this machine beside what NCCL itself takes, as JSON: an exact sum of one array on one GPU and on all of them (wf::gpus),
// all-reduces of states beside one of 8 bytes, and tensors added element by element beside ncclAllReduce.
//
//     bench_gpu_many [--json FILE] [--log2 N] [--parts PART,…]      2^N floats over all GPUs, 32 unless told; parts, all unless told: gpus, states, tensors, sums
//
// Ranks are threads of this process, with a GPU each. Each answer is verified against the CPU before it is timed. A time is the slowest
// rank's, of calls one after the other on a stream, or in a graph that is replayed.
#include <nccl.h>

#include <algorithm>
#include <barrier>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <warpfold/gpus.hpp>
#include <warpfold/nccl.hpp>

#include "fill.hpp"
#include "json_file.hpp"
#include "measure.hpp"

namespace {

constexpr std::size_t period = std::size_t{1} << 20;  // elements that are repeated

void nccl_checked(ncclResult_t r, const char* call) {
  if (r == ncclSuccess) return;
  std::fprintf(stderr, "bench_gpu_many: %s: %s\n", call, ncclGetErrorString(r));
  std::exit(3);
}
#define NCCL_CHECK(call) nccl_checked(call, #call)

void verify(bool right, const std::string& what) {
  if (right) return;
  std::fprintf(stderr, "bench_gpu_many: a wrong answer: %s\n", what.c_str());
  std::exit(1);
}

struct line {
  std::string name;
  std::size_t bytes;   ///< that a rank brings
  double median, least;  ///< microseconds
};
std::vector<line> lines;
nlohmann::ordered_json figures;

double middle(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

std::vector<float> pattern_of(int rank) {
  const auto raw = bench::fill(wf::dtype::f32, false, period * 4, period * 4, static_cast<std::uint64_t>(rank) + 3);
  std::vector<float> x(period);
  std::memcpy(x.data(), raw.data(), raw.size());
  return x;
}

/// The state of a pattern that comes `times` times.
std::vector<std::byte> state_of(const wf::state_form& f, const std::vector<float>& x, std::size_t times) {
  std::vector<std::byte> one(f.bytes), all(f.bytes);
  wf::request r;
  r.what = f.what;
  r.element = f.element;
  r.inputs.shape = {static_cast<std::int64_t>(x.size())};
  r.inputs.strides = {wf::extents{4}, wf::extents{4}};
  r.inputs.data = {x.data(), x.data()};
  r.wanted = wf::output::states;
  r.out = one.data();
  wf::cpu_backend().run(r);
  wf::clear_states(f, all.data(), 1);
  for (std::size_t k = 0; k < times; ++k) wf::merge_states(f, all.data(), one.data(), 1);
  return all;
}
float answer_of(const wf::state_form& f, const std::vector<std::byte>& state) {
  float a = 0;
  wf::finish_states(f, {}, state.data(), 1, &a);
  return a;
}

// ---- One process, several GPUs, one call.

void several_gpus(int devices, std::size_t n) {
  const auto f = wf::form_of_states(wf::op::sum, wf::dtype::f32);
  const auto pattern = pattern_of(0);
  const float want = answer_of(f, state_of(f, pattern, n / period));
  const auto& library = wf::cuda_library();
  const auto time = [&](const std::vector<int>& on) {
    std::vector<std::span<const float>> spans;
    for (const int d : on) {
      library.use(d);
      spans.emplace_back(static_cast<const float*>(library.trials->allocate(n / on.size() * 4, pattern.data(), period * 4)), n / on.size());
    }
    const wf::gpus all{on};
    const auto pieces = wf::pieces(spans);
    std::vector<double> us;
    for (int k = -3; k < 15; ++k) {
      const auto from = std::chrono::steady_clock::now();
      const float got = wf::sum(all, pieces);
      const double took = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count();
      verify(std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(want), "sum over " + std::to_string(on.size()) + " GPUs");
      if (k >= 0) us.push_back(took);
    }
    for (std::size_t k = 0; k < on.size(); ++k) {
      library.use(on[k]);
      library.trials->release(const_cast<float*>(spans[k].data()));
    }
    library.use(0);
    return middle(us);
  };
  // What one GPU takes for the answer, without wf::gpus: the measure of what is linear.
  const auto alone = [&] {
    const std::span<const float> x(static_cast<const float*>(library.trials->allocate(n * 4, pattern.data(), period * 4)), n);
    double us = 0;
    {
      const wf::gpu place;
      std::vector<double> all;
      for (int k = -3; k < 15; ++k) {
        const auto from = std::chrono::steady_clock::now();
        const float got = wf::sum(place, x);
        const double took = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count();
        verify(std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(want), "sum on a GPU");
        if (k >= 0) all.push_back(took);
      }
      us = middle(all);
    }
    library.trials->release(const_cast<float*>(x.data()));
    return us;
  };
  const double by_place = alone(), one = time({0});
  auto& gpus = figures["gpus"];
  gpus.push_back({{"elements", n}, {"devices", 1}, {"by", "wf::gpu"}, {"us", rounded(by_place, 1)}});
  gpus.push_back({{"elements", n}, {"devices", 1}, {"us", rounded(one, 1)}, {"of linear", rounded(by_place / one, 4)}});
  std::printf("exact sum of %zu f32 on 1 GPU: by wf::gpu %.1f us, by wf::gpus %.1f\n", n, by_place, one);
  for (int d = 2; d <= devices; d *= 2) {
    std::vector<int> on;
    for (int k = 0; k < d; ++k) on.push_back(k);
    const double us = time(on);
    gpus.push_back({{"elements", n}, {"devices", d}, {"us", rounded(us, 1)}, {"of linear", rounded(by_place / us / d, 4)}});
    std::printf("exact sum of %zu f32 on %d GPUs: %.1f us, %.4f of linear\n", n, d, us, by_place / us / d);
  }
}

// ---- Ranks.

struct rank {
  int index, ranks;
  ncclComm_t comm;
  cudaStream_t stream;
  const wf::gpu* place;
  std::barrier<>* meet;
  std::vector<double>* times;  ///< each rank's, for the slowest
};

/// Times `work`, calls times one after the other; on each rank alike. In a graph: captured once, replayed.
void time(const rank& me, const std::string& name, std::size_t bytes, int calls, int samples, bool graph, const std::function<void()>& work) {
  const wf::measure::stopwatch watch;
  work();  // what is allocated at the first call
  WF_CHECK(cudaStreamSynchronize(me.stream));
  std::optional<wf::measure::replay> captured;
  if (graph) {
    me.meet->arrive_and_wait();
    captured.emplace(me.stream, calls, [&](int) { work(); });
  }
  std::vector<double> us;
  for (int s = -2; s < samples; ++s) {
    WF_CHECK(cudaStreamSynchronize(me.stream));
    me.meet->arrive_and_wait();
    const double seconds = watch.seconds(me.stream, [&] {
      if (captured) captured->launch(me.stream);
      else for (int k = 0; k < calls; ++k) work();
    });
    (*me.times)[static_cast<std::size_t>(me.index)] = 1e6 * seconds / calls;
    me.meet->arrive_and_wait();
    const double slowest = *std::max_element(me.times->begin(), me.times->end());
    if (s >= 0) us.push_back(slowest);
    me.meet->arrive_and_wait();
  }
  if (me.index == 0) {
    lines.push_back({name + (graph ? ", graph" : ""), bytes, middle(us), *std::min_element(us.begin(), us.end())});
    std::printf("%-52s %12zu bytes  median %9.2f us  least %9.2f us\n", lines.back().name.c_str(), bytes, lines.back().median, lines.back().least);
    std::fflush(stdout);
  }
}

void latencies(const rank& me) {
  double* eight = nullptr;
  WF_CHECK(cudaMalloc(&eight, 4096));
  WF_CHECK(cudaMemset(eight, 0, 4096));
  const auto bare = [&](std::size_t bytes) {
    return [&me, eight, bytes] { NCCL_CHECK(ncclAllReduce(eight, eight, bytes / 8, ncclUint64, ncclSum, me.comm, me.stream)); };
  };
  for (const bool graph : {false, true}) {
    time(me, "ncclAllReduce", 8, 50, 21, graph, bare(8));
    for (const std::size_t bytes : {144u, 592u, 1664u}) time(me, "ncclAllReduce", bytes, 50, 21, graph, bare(bytes));
    for (const auto& [what, element] : {std::pair{wf::op::sum, wf::dtype::f32}, {wf::op::sum, wf::dtype::f64}, {wf::op::dot, wf::dtype::f64},
                                        {wf::op::mean_var, wf::dtype::f64}, {wf::op::max, wf::dtype::f32}}) {
      const auto f = wf::form_of_states(what, element);
      std::vector<std::byte> nothing(f.bytes);
      wf::clear_states(f, nothing.data(), 1);
      void* state = nullptr;
      WF_CHECK(cudaMalloc(&state, f.bytes));
      WF_CHECK(cudaMemcpy(state, nothing.data(), f.bytes, cudaMemcpyHostToDevice));
      time(me, "states, " + std::string(wf::op_names[static_cast<int>(what)]) + " of " + std::string(wf::info(element).name), f.bytes, 50, 21, graph,
           [&] { wf::nccl::all_reduce(*me.place, me.comm, f, state); });
      std::vector<std::byte> back(f.bytes);
      WF_CHECK(cudaMemcpy(back.data(), state, f.bytes, cudaMemcpyDeviceToHost));
      verify(back == nothing, "states of nothing");
      WF_CHECK(cudaFree(state));
    }
  }
  WF_CHECK(cudaFree(eight));
}

/// From values to the answer: what NCCL adds to a sum on each GPU.
void whole_sums(const rank& me) {
  const auto f = wf::form_of_states(wf::op::sum, wf::dtype::f32);
  const auto& library = wf::cuda_library();
  float* out = nullptr;
  double* eight = nullptr;
  WF_CHECK(cudaMalloc(&out, 64));
  WF_CHECK(cudaMalloc(&eight, 64));
  WF_CHECK(cudaMemset(eight, 0, 64));
  for (const std::size_t n : {std::size_t{1} << 20, std::size_t{1} << 30}) {
    const auto mine = pattern_of(me.index);
    auto* x = static_cast<float*>(library.trials->allocate(n * 4, mine.data(), period * 4));
    const std::span<const float> values(x, n);
    auto want = state_of(f, mine, n / period);
    for (int k = 0; k < me.ranks; ++k)
      if (k != me.index) wf::merge_states(f, want.data(), state_of(f, pattern_of(k), n / period).data(), 1);
    wf::nccl::sum(*me.place, me.comm, values, out);
    WF_CHECK(cudaStreamSynchronize(me.stream));
    float got = 0;
    WF_CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
    verify(std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(answer_of(f, want)), "sum over ranks");
    const int calls = n > (1u << 20) ? 4 : 20;
    for (const bool graph : {false, true}) {
      time(me, "sum of each GPU", n * 4, calls, 15, graph, [&] { wf::sum(*me.place, values, out); });
      time(me, "sum of each GPU, ncclAllReduce of 8 bytes", n * 4, calls, 15, graph, [&] {
        wf::sum(*me.place, values, out);
        NCCL_CHECK(ncclAllReduce(eight, eight, 1, ncclDouble, ncclSum, me.comm, me.stream));
      });
      time(me, "wf::nccl::sum", n * 4, calls, 15, graph, [&] { wf::nccl::sum(*me.place, me.comm, values, out); });
    }
    library.trials->release(x);
  }
  WF_CHECK(cudaFree(out));
  WF_CHECK(cudaFree(eight));
}

/// Tensors, element by element.
void tensors(const rank& me) {
  const auto& library = wf::cuda_library();
  const std::size_t most = std::size_t{1} << 26;
  const auto mine = pattern_of(me.index);
  auto* x = static_cast<float*>(library.trials->allocate(most * 4, mine.data(), period * 4));
  auto* out = static_cast<float*>(library.trials->allocate(most * 4, mine.data(), period * 4));
  std::vector<float> all;
  for (int k = 0; k < me.ranks; ++k) {
    const auto one = pattern_of(k);
    all.insert(all.end(), one.begin(), one.end());
  }
  const auto want = wf::sum(wf::view<float>(all.data(), {me.ranks, static_cast<std::int64_t>(period)}), wf::axis{0}).values;
  std::vector<float> back(most);
  const wf::nccl::detail::elements_over_ranks<wf::op::sum, wf::gpu, float> over(*me.place, me.comm);
  constexpr std::size_t never = ~std::size_t{0};
  const auto apart = static_cast<std::int64_t>(most) / me.ranks;
  for (std::size_t n = std::size_t{1} << 10; n <= most; n *= n >= std::size_t{1} << 14 && n < std::size_t{1} << 20 ? 2 : 4) {
    wf::nccl::sum_elements(*me.place, me.comm, std::span<const float>(x, n), out);
    WF_CHECK(cudaStreamSynchronize(me.stream));
    WF_CHECK(cudaMemcpy(back.data(), out, n * 4, cudaMemcpyDeviceToHost));
    for (std::size_t at = 0; at < n; at += period)
      verify(std::memcmp(&back[at], want.data(), std::min(period, n - at) * 4) == 0, "tensor of " + std::to_string(n) + " elements");
    const int calls = n > (1u << 20) ? 5 : 20;
    for (const bool graph : {false, true}) {
      time(me, "tensor, ncclAllReduce", n * 4, calls, 15, graph, [&] { NCCL_CHECK(ncclAllReduce(x, out, n, ncclFloat, ncclSum, me.comm, me.stream)); });
      time(me, "tensor, wf::nccl::sum_elements", n * 4, calls, 15, graph, [&] { wf::nccl::sum_elements(*me.place, me.comm, std::span<const float>(x, n), out); });
      if (n < std::size_t{1} << 14) continue;
      if (!graph && n < std::size_t{1} << 24) continue;
      for (const auto& [how, sent] : {std::pair{"sent", std::size_t{0}}, {"by ncclAllGather", never}}) {
        time(me, std::string("tensor, by shares, ") + how, n * 4, calls, 15, graph, [&, sent = sent] { over.run(x, n, out, 0, sent); });
        time(me, std::string("tensor, gathered, ") + how, n * 4, calls, 15, graph, [&, sent = sent] { over.run(x, n, out, never, sent); });
      }
      if (!graph || n > std::size_t{1} << 20) continue;
      const wf::view<const float> rows(x, {me.ranks, static_cast<std::int64_t>(n)}, {apart, 1});
      time(me, "tensor, sums of a gathered one alone", n * 4, calls, 15, graph, [&] { wf::sum(*me.place, rows, out, wf::axis{0}); });
    }
  }
  time(me, "tensor, wf::nccl::sum_elements, in place", most * 4, 5, 15, false, [&] { wf::nccl::sum_elements(*me.place, me.comm, std::span<const float>(out, most), out); });
  // What the parts of the longest take.
  const std::size_t share = most / static_cast<std::size_t>(me.ranks);
  time(me, "tensor, its exchange", most * 4, 5, 15, false, [&] {
    NCCL_CHECK(ncclGroupStart());
    for (int k = 0; k < me.ranks; ++k) {
      NCCL_CHECK(ncclSend(x + static_cast<std::size_t>(k) * share, share * 4, ncclUint8, k, me.comm, me.stream));
      NCCL_CHECK(ncclRecv(out + static_cast<std::size_t>(k) * share, share * 4, ncclUint8, k, me.comm, me.stream));
    }
    NCCL_CHECK(ncclGroupEnd());
  });
  time(me, "tensor, its exchange without a rank's own share", most * 4, 5, 15, false, [&] {
    NCCL_CHECK(ncclGroupStart());
    for (int k = 0; k < me.ranks; ++k) {
      if (k == me.index) continue;
      NCCL_CHECK(ncclSend(x + static_cast<std::size_t>(k) * share, share * 4, ncclUint8, k, me.comm, me.stream));
      NCCL_CHECK(ncclRecv(out + static_cast<std::size_t>(k) * share, share * 4, ncclUint8, k, me.comm, me.stream));
    }
    NCCL_CHECK(ncclGroupEnd());
  });
  const wf::view<const float> rows(x, {me.ranks, static_cast<std::int64_t>(share)});
  time(me, "tensor, its sums", most * 4, 5, 15, false, [&] { wf::sum(*me.place, rows, out, wf::axis{0}); });
  time(me, "tensor, its gathering", most * 4, 5, 15, false,
       [&] { NCCL_CHECK(ncclAllGather(out + static_cast<std::size_t>(me.index) * share, out, share * 4, ncclUint8, me.comm, me.stream)); });
  library.trials->release(x);
  library.trials->release(out);
}

void over_ranks(int devices, const std::string& parts) {
  const auto wanted = [&parts](const char* part) { return parts.find(part) != std::string::npos; };
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(devices));
  NCCL_CHECK(ncclCommInitAll(comms.data(), devices, nullptr));
  std::barrier<> meet(devices);
  std::vector<double> times(comms.size());
  std::vector<std::thread> threads;
  for (int k = 0; k < devices; ++k)
    threads.emplace_back([&, k] {
      try {
        WF_CHECK(cudaSetDevice(k));
        cudaStream_t stream = nullptr;
        WF_CHECK(cudaStreamCreate(&stream));
        {
          const wf::gpu place{stream};
          const rank me{k, devices, comms[static_cast<std::size_t>(k)], stream, &place, &meet, &times};
          if (wanted("states")) latencies(me);
          if (wanted("tensors")) tensors(me);
          if (wanted("sums")) whole_sums(me);
        }
        WF_CHECK(cudaStreamDestroy(stream));
      } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_gpu_many: rank %d: %s\n", k, e.what());
        std::exit(3);
      }
    });
  for (std::thread& t : threads) t.join();
  for (const ncclComm_t c : comms) NCCL_CHECK(ncclCommDestroy(c));
}

int usage(const char* what) {
  std::fprintf(stderr, "bench_gpu_many: %s; there are --json FILE, --parts PART,... and --log2 N, from 20 to 34\n", what);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const char* json = nullptr;
  std::string parts = "gpus,states,tensors,sums";
  long log2 = 32;
  for (int k = 1; k < argc; k += 2) {
    if (k + 1 == argc) return usage("an option without a value");
    if (std::strcmp(argv[k], "--json") == 0) json = argv[k + 1];
    else if (std::strcmp(argv[k], "--log2") == 0) log2 = std::strtol(argv[k + 1], nullptr, 10);
    else if (std::strcmp(argv[k], "--parts") == 0) parts = argv[k + 1];
    else return usage("an unknown option");
  }
  if (log2 < 20 || log2 > 34) return usage("a size out of range");
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "bench_gpu_many: no GPU here\n");
    return 3;
  }
  try {
    int nccl = 0;
    NCCL_CHECK(ncclGetVersion(&nccl));
    figures = {{"benchmark", "many GPUs"}, {"warpfold", wf::version()}, {"device", wf::cuda_library().trials->name()}, {"devices", devices}, {"nccl", nccl}};
    if (parts.find("gpus") != std::string::npos) several_gpus(devices, std::size_t{1} << log2);
    over_ranks(devices, parts);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_gpu_many: %s\n", e.what());
    return 3;
  }
  auto& results = figures["results"] = nlohmann::ordered_json::array();
  for (const line& l : lines) results.push_back({{"name", l.name}, {"bytes", l.bytes}, {"median us", rounded(l.median, 2)}, {"least us", rounded(l.least, 2)}});
  if (json == nullptr) {
    std::puts(figures.dump(1).c_str());
  } else if (!write_json(json, figures)) {
    std::fprintf(stderr, "bench_gpu_many: cannot write %s\n", json);
    return 3;
  }
}
