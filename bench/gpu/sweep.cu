// SPDX-License-Identifier: Apache-2.0
/// \file sweep.cu
/// Launch shapes of the sum kernels against CUB and against a kernel that only reads, in one run:
/// what the table in launch_table.hpp is chosen from.
///
///   sweep [--library 1]     only what the library chooses, beside CUB
///         [--only f32,x32,f64,x64,f16,x16,b16] [--max LOG2N] [--min LOG2N] [--json FILE] [--top K]
///
/// A contender's answer is checked before it is timed: exact ones bit for bit against the host's exact
/// state, fast ones against an error bound. Times are device times of CUDA-graph replays, a graph
/// holding several launches; median of 7. `hot`: every launch reads the same array; before all of them
/// the L2 is overwritten, so that an array that finds no place there among what others left shows. `cold`:
/// each launch of a replay reads an array of its own, and the L2 is overwritten before each replay.
#include <cub/device/device_reduce.cuh>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <warpfold/detail/exact/sum_state.hpp>
#include <warpfold/detail/gpu/kernels/exact_sum.cuh>
#include <warpfold/detail/gpu/kernels/fast_sum.cuh>

#include "../../src/measure/read.cuh"
#include "../../src/measure/timer.cuh"
#include "json_file.hpp"

namespace {

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "sweep: %s: %s\n", what, cudaGetErrorString(e));
  std::exit(3);
}
#define CHECK(call) check(call, #call)

using wf::device::array_part;
using wf::device::pack;
using wf::device::workspace;

__global__ void empty_kernel() {}

struct add_floats {
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct setting {
  cudaStream_t stream;
  unsigned sm;
  std::uint64_t l2_bytes;
  void* scratch;  // CUB's
  std::size_t scratch_bytes;
  workspace* ws;
  char* flush;
  std::size_t flush_bytes;
  int top = 5;
  bool library = false;
  nlohmann::ordered_json* rows = nullptr;
};

template <class F>
float time_graph(setting& s, F&& enqueue, int launches, bool cold) {
  const wf::measure::replay graph(s.stream, launches, enqueue);
  const wf::measure::stopwatch watch;
  std::vector<double> us;
  for (int r = 0; r < 8; ++r) {
    if (cold || r == 0) CHECK(cudaMemsetAsync(s.flush, r, s.flush_bytes, s.stream));
    const double seconds = watch.seconds(s.stream, [&] { graph.launch(s.stream); });
    if (r > 0) us.push_back(1e6 * seconds / launches);
  }
  return static_cast<float>(wf::measure::spread_of(std::move(us)).median);
}

template <class T>
using out_of = wf::device::fast_t<T>;

template <class T>
struct contender {
  std::string name;
  std::function<cudaError_t(const T*, std::uint64_t, void*)> run;
  bool exact = false;
  bool verify = true;
};

template <class T>
T make(std::mt19937_64& g, const std::string& data) {
  using f = wf::exact::format<T>;
  if (data == "bits") {
    for (;;) {
      const auto b = static_cast<typename f::bits>(g());
      if (f::is_finite(b)) return f::from_bits(b);
    }
  }
  static std::normal_distribution<float> normal;
  return T(normal(g));
}

template <class T>
double as_double(T x) {
  return double(x);
}
template <>
double as_double(__half x) {
  return double(__half2float(x));
}
template <>
double as_double(__nv_bfloat16 x) {
  return double(__bfloat162float(x));
}

/// All sizes of one element type and data family.
template <class T>
void sweep(setting& s, const char* kind, const std::string& data, bool exact, int least, int most,
           bool cold, std::function<std::vector<contender<T>>(std::uint64_t)> contenders_for) {
  using state = wf::exact::sum_state<T>;
  const int tile_log = std::min(most, 22);
  const std::uint64_t tile = std::uint64_t{1} << tile_log;
  std::vector<T> host(tile);
  std::mt19937_64 g(12345);
  for (auto& x : host) x = make<T>(g, data);
  const std::uint64_t all = std::uint64_t{1} << most;
  T* x;
  const std::uint64_t room = std::max<std::uint64_t>(all, cold ? (std::uint64_t{256} << 20) / sizeof(T) : 0);
  CHECK(cudaMalloc(&x, room * sizeof(T) + 64));
  CHECK(cudaMemcpy(x, host.data(), tile * sizeof(T), cudaMemcpyHostToDevice));
  for (std::uint64_t at = tile; at < room; at *= 2) {
    CHECK(cudaMemcpy(x + at, x, std::min(at, room - at) * sizeof(T), cudaMemcpyDeviceToDevice));
  }
  double* out;
  CHECK(cudaMalloc(&out, 64));
  state sum = state::identity();
  double magnitude = 0;
  std::uint64_t have = 0;
  std::printf("\n== %s %s%s: log2n | CUB us, read us, GB/s of the best | best contenders: time / CUB's\n", kind,
              data.c_str(), cold ? " cold" : " hot");
  for (int k = 0; k <= most; ++k) {
    const std::uint64_t n = std::uint64_t{1} << k;
    if (n <= tile) {
      for (; have < n; ++have) {
        sum.add(host[have]);
        magnitude += std::fabs(as_double(host[have]));
      }
    } else {
      sum.normalise();
      sum.merge(sum);  // the array repeats its first tile
      magnitude *= 2;
    }
    if (k < least) continue;
    const T want = sum.value();
    const double want_double = sum.template value<double>();
    const int launches = cold ? static_cast<int>(std::min<std::uint64_t>(room / n, 64))
                              : k <= 22 ? 32 : k <= 26 ? 8 : 2;
    struct row {
      std::string name;
      float us;
    };
    std::vector<row> rows;
    float cub = 0, read = 0;
    for (auto& c : contenders_for(n)) {
      CHECK(cudaMemset(out, 0xff, 64));
      for (int repeat = 0; repeat < (c.verify ? 2 : 1); ++repeat) CHECK(c.run(x, n, out));
      CHECK(cudaDeviceSynchronize());
      bool right = true;
      if (c.verify && c.exact) {
        T got;
        CHECK(cudaMemcpy(&got, out, sizeof(T), cudaMemcpyDeviceToHost));
        right = std::memcmp(&got, &want, sizeof(T)) == 0;
        if (!right) {
          std::printf("WRONG %s %s n=2^%d: got %.17g want %.17g\n", kind, c.name.c_str(), k, as_double(got),
                      as_double(want));
        }
      } else if (c.verify && data != "bits") {
        out_of<T> got;
        CHECK(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
        const double unit = sizeof(got) == 8 ? 1.2e-16 : 6e-8;
        // Chains of n / (64 threads) additions at the most, and trees.
        const double bound = unit * magnitude * (64 + double(n) / 4096) ;
        right = std::fabs(double(got) - want_double) <= bound;
        if (!right) std::printf("WRONG %s %s n=2^%d: got %.17g want %.17g\n", kind, c.name.c_str(), k, double(got), want_double);
      }
      if (!right) continue;
      const float us = time_graph(s, [&](int i) { CHECK(c.run(cold ? x + n * i : x, n, out)); }, launches, cold);
      if (c.name == "CUB") cub = us;
      if (c.name == "read") read = read == 0 ? us : std::min(read, us);
      rows.push_back({c.name, us});
      if (s.rows) s.rows->push_back({{"kind", kind}, {"data", data}, {"cold", cold ? 1 : 0}, {"log2n", k}, {"name", c.name}, {"us", rounded(us, 4)}});
    }
    std::sort(rows.begin(), rows.end(), [](const row& a, const row& b) { return a.us < b.us; });
    std::string line;
    float best = 0;
    int shown = 0;
    char text[96];
    for (auto& r : rows) {
      if (r.name == "CUB" || r.name == "read") continue;
      if (best == 0) best = r.us;
      if (shown++ < s.top) {
        std::snprintf(text, sizeof text, "  %s %.3f", r.name.c_str(), cub > 0 ? r.us / cub : r.us);
        line += text;
      }
    }
    std::printf("%2d | %.2f %.2f %.0f |%s\n", k, cub, read, best > 0 ? double(n) * sizeof(T) / best / 1000 : 0.0,
                line.c_str());
    std::fflush(stdout);
  }
  (void)exact;
  CHECK(cudaFree(x));
  CHECK(cudaFree(out));
}

template <class T>
void add_references(std::vector<contender<T>>& v, setting& s, bool exact) {
  v.push_back({"CUB", [&s](const T* x, std::uint64_t n, void* out) {
                 std::size_t bytes = s.scratch_bytes;
                 if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
                   return cub::DeviceReduce::Sum(s.scratch, bytes, x, static_cast<T*>(out),
                                                 static_cast<std::int64_t>(n), s.stream);
                 } else {
                   return cub::DeviceReduce::Reduce(s.scratch, bytes, x, static_cast<float*>(out),
                                                    static_cast<std::int64_t>(n), add_floats{}, 0.0f,
                                                    s.stream);
                 }
               }});
  v.push_back({"library",
               [&s, exact](const T* x, std::uint64_t n, void* out) {
                 return exact ? wf::device::exact_sum(x, n, static_cast<T*>(out), *s.ws, s.stream)
                              : wf::device::fast_sum(x, n, static_cast<out_of<T>*>(out), *s.ws, s.stream);
               },
               exact});
  for (const wf::measure::read_way& way : wf::measure::read_ways)
    v.push_back({"read", [&s, &way](const T* x, std::uint64_t n, void* out) {
                   return wf::measure::enqueue_read(way, x, n * sizeof(T), static_cast<unsigned*>(out), {s.sm, s.l2_bytes}, s.stream);
                 }, false, false});
}

/// Grids worth a try: sm·k blocks with at least `packs` packs a thread, and one block for small arrays.
template <class T, class Run>
void add_shapes(std::vector<contender<T>>& v, setting& s, std::uint64_t n, const std::string& prefix, int threads,
                int most_a_sm, int single_to, bool exact, Run run) {
  const std::uint64_t packs = n * sizeof(T) / 16 + 1;
  char name[64];
  std::vector<std::uint32_t> tried;
  const auto add = [&](std::uint32_t workers, bool collector) {
    const std::uint32_t key = 2 * workers + (collector ? 1 : 0);
    if (std::find(tried.begin(), tried.end(), key) != tried.end()) return;
    tried.push_back(key);
    std::snprintf(name, sizeof name, "%s x%u%s", prefix.c_str(), workers, collector ? "+" : "");
    v.push_back({name,
                 [run, workers, collector](const T* x, std::uint64_t m, void* out) {
                   return run(x, m, out, workers, collector);
                 },
                 exact});
  };
  const std::uint64_t whole = n * sizeof(T) / 16;
  if (packs <= static_cast<std::uint64_t>(threads) * single_to) add(1, false);
  if (whole <= static_cast<std::uint64_t>(threads)) return;
  const auto most = s.sm * static_cast<unsigned>(most_a_sm);
  for (int each : {1, 2, 4, 8, 16}) {
    const std::uint64_t wanted = (whole + static_cast<std::uint64_t>(threads) * each - 1) / (static_cast<std::uint64_t>(threads) * each);
    if (wanted > 1 && wanted < most) add(static_cast<std::uint32_t>(wanted), true);
  }
  for (int a_sm = most_a_sm; a_sm >= 1; a_sm -= a_sm > 4 ? 2 : 1) {
    if (static_cast<std::uint64_t>(threads) * s.sm * a_sm > whole) continue;
    if (n * sizeof(T) <= std::uint64_t{48} << 20) add(s.sm * a_sm - s.sm / 8, true);
    add(s.sm * a_sm, false);
  }
}

/// Kept: megabytes that share loads leave in L2; 0 with other loads.
template <class Walk>
std::string walk_name(int threads, double megabytes) {
  char name[48];
  const char* mode = Walk::mode == wf::device::cache::keep ? "k" : Walk::mode == wf::device::cache::stream ? "s" : "f";
  std::snprintf(name, sizeof name, "%d/%d%s%s", threads, Walk::loads, Walk::ahead ? "a" : "", mode);
  std::string text = name;
  if (Walk::mode == wf::device::cache::share) text += std::to_string(int(megabytes));
  return text;
}

template <class T, int Threads, class Walk, int Readers>
void add_fast(std::vector<contender<T>>& v, setting& s, std::uint64_t n, int most_a_sm, int single_to,
              double megabytes = 0) {
  const float kept = megabytes == 0 ? 1.0f : float(std::min(1.0, megabytes * 1048576 / double(n * sizeof(T))));
  add_shapes<T>(v, s, n, (Readers == 32 ? "w" : "a") + walk_name<Walk>(Threads, megabytes), Threads, most_a_sm, single_to, false,
                [&s, kept](const T* x, std::uint64_t m, void* out, std::uint32_t workers, bool collector) {
                  return wf::device::fast_sum_shaped<T, Threads, Walk, Readers>(x, m, static_cast<out_of<T>*>(out), *s.ws,
                                                                             s.stream, workers, collector, kept);
                });
}
template <class T, int Threads, int Loads, bool Exact>
void add_small(std::vector<contender<T>>& v, setting& s, std::uint64_t n) {
  const std::uint64_t packs = n * sizeof(T) / 16;
  if (packs > Threads * Loads || (Threads > 64 && packs * 8 < Threads * Loads)) return;
  v.push_back({"one" + std::to_string(Threads) + "/" + std::to_string(Loads),
               [&s](const T* x, std::uint64_t m, void* out) {
                 if constexpr (Exact) {
                   return wf::device::exact_sum_small<T, Threads, Loads>(x, m, static_cast<T*>(out), *s.ws, s.stream);
                 } else {
                   return wf::device::fast_sum_small<T, Threads, Loads>(x, m, static_cast<out_of<T>*>(out), *s.ws, s.stream);
                 }
               },
               Exact});
}
template <class T, class Accumulator, int Threads, class Walk, int MinBlocks>
void add_exact(std::vector<contender<T>>& v, setting& s, std::uint64_t n, int single_to, double megabytes = 0) {
  const float kept = megabytes == 0 ? 1.0f : float(std::min(1.0, megabytes * 1048576 / double(n * sizeof(T))));
  add_shapes<T>(v, s, n, walk_name<Walk>(Threads, megabytes) + "/" + std::to_string(MinBlocks), Threads, MinBlocks, single_to, true,
                [&s, kept](const T* x, std::uint64_t m, void* out, std::uint32_t workers, bool collector) {
                  return wf::device::exact_sum_shaped<T, Accumulator, Threads, Walk, MinBlocks>(
                      x, m, static_cast<T*>(out), *s.ws, s.stream, workers, collector, kept);
                });
}

template <class T, int Threads, int Stages, int MinBlocks>
void add_bulk(std::vector<contender<T>>& v, setting& s, std::uint64_t n, double megabytes = 0) {
  const float kept = megabytes == 0 ? 1.0f : float(std::min(1.0, megabytes * 1048576 / double(n * sizeof(T))));
  const std::uint32_t blocks = MinBlocks * s.sm;
  char name[48];
  std::snprintf(name, sizeof name, "bulk %d/%d x%u f%d", Threads, Stages, blocks, int(megabytes));
  v.push_back({name, [&s, blocks, kept](const T* x, std::uint64_t m, void* out) {
                 return wf::device::fast_sum_bulk<T, Threads, Stages>(x, m, static_cast<out_of<T>*>(out), *s.ws, s.stream,
                                                                   blocks, kept);
               }});
}
template <class Rest, int Threads, int MinBlocks = 1, int Loads = 4>
void add_doubles(std::vector<contender<double>>& v, setting& s, std::uint64_t n) {
  const std::uint64_t packs = n / 2 + 1, threads = Threads;
  std::vector<std::uint64_t> tried;
  for (const std::uint64_t each : {1, 2, 4, 8, 16, 1 << 20}) {
    const std::uint64_t workers = std::min<std::uint64_t>((packs + threads * each - 1) / (threads * each), s.sm * MinBlocks);
    if (std::find(tried.begin(), tried.end(), workers) != tried.end() || (each == 1 << 20 && packs < threads * s.sm)) continue;
    if constexpr (requires { Rest::most_items; }) {
      if ((packs + threads * workers - 1) / (threads * workers) * 2 * threads > Rest::most_items) continue;
    }
    tried.push_back(workers);
    const auto blocks = static_cast<std::uint32_t>(workers);
    char name[48];
    std::snprintf(name, sizeof name, "%s %d/%d x%u", requires { Rest::most_items; } ? "bins" : "buckets", Threads, Loads, blocks);
    v.push_back({name,
                 [&s, blocks](const double* x, std::uint64_t m, void* out) {
                   return wf::device::exact_doubles_shaped<Rest, Threads, Loads>(x, m, static_cast<double*>(out), *s.ws,
                                                                                  s.stream, blocks);
                 },
                 true});
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string only = "f32,x32,f64,x64,f16,x16,b16";
  int most = 30, least = 0, top = 5;
  bool library = false;
  std::string json;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string a = argv[i];
    if (a == "--only") only = argv[i + 1];
    else if (a == "--max") most = std::atoi(argv[i + 1]);
    else if (a == "--min") least = std::atoi(argv[i + 1]);
    else if (a == "--json") json = argv[i + 1];
    else if (a == "--top") top = std::atoi(argv[i + 1]);
    else if (a == "--library") library = std::atoi(argv[i + 1]) != 0;
    else {
      std::fprintf(stderr, "sweep: unknown option %s; known: --library --only --min --max --json --top\n", a.c_str());
      return 2;
    }
  }
  setting s{};
  s.top = top;
  s.library = library;
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  int driver = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaStreamCreate(&s.stream));
  s.sm = static_cast<unsigned>(prop.multiProcessorCount);
  s.l2_bytes = static_cast<std::uint64_t>(prop.l2CacheSize);
  s.scratch_bytes = 64 << 20;
  CHECK(cudaMalloc(&s.scratch, s.scratch_bytes));
  s.flush_bytes = std::size_t{3} * static_cast<std::size_t>(prop.l2CacheSize);
  CHECK(cudaMalloc(&s.flush, s.flush_bytes));
  workspace ws;
  CHECK(ws.prepare(s.stream));
  s.ws = &ws;
  json_file file("sweep", json);
  file.figures = {{"device", prop.name}, {"driver", driver}, {"cub", CUB_VERSION}, {"rows", nlohmann::ordered_json::array()}};
  s.rows = json.empty() ? nullptr : &file.figures["rows"];
  std::printf("%s, %u SMs, L2 %d MB, driver %d, CUB %d\n", prop.name, s.sm, prop.l2CacheSize >> 20, driver, CUB_VERSION);
  std::printf("an empty kernel in a graph: %.2f us\n",
              time_graph(s, [&](int) { CHECK(wf::device::launch(empty_kernel, {1, 32, 0, s.stream})); }, 32, false));
  const auto wants = [&](const char* k) { return ("," + only + ",").find("," + std::string(k) + ",") != std::string::npos; };
  using namespace wf::device;

  using keep2 = walk<2, false, cache::keep>;
  using keep4 = walk<4, false, cache::keep>;
  using keep8 = walk<8, false, cache::keep>;
  using share4 = walk<4, false, cache::share>;
  if (wants("f32")) {
    const auto shapes = [&](std::uint64_t n) {
      std::vector<contender<float>> v;
      add_references(v, s, false);
      if (s.library) return v;
      if (n <= 1 << 14) {
        add_small<float, 32, 1, false>(v, s, n);
        add_small<float, 32, 4, false>(v, s, n);
        add_small<float, 64, 4, false>(v, s, n);
        add_small<float, 128, 4, false>(v, s, n);
        add_small<float, 128, 8, false>(v, s, n);
        add_small<float, 256, 4, false>(v, s, n);
        add_small<float, 512, 4, false>(v, s, n);
        add_small<float, 1024, 4, false>(v, s, n);
      }
      if (n >= 1 << 12 && n <= 1 << 24) {
        add_fast<float, 256, keep4, 32>(v, s, n, 4, 0);
        add_fast<float, 512, keep4, 32>(v, s, n, 4, 0);
        add_fast<float, 1024, keep4, 32>(v, s, n, 1, 0);
        add_fast<float, 128, walk<4>, 32>(v, s, n, 4, 0);
        add_fast<float, 256, walk<4>, 32>(v, s, n, 4, 0);
      }
      if (n > 1 << 24) add_fast<float, 512, keep4, 32>(v, s, n, 2, 0);
      if (n >= 1 << 20) {
        add_fast<float, 512, walk<4>, 32>(v, s, n, 2, 0);
        add_fast<float, 1024, keep4, 1024>(v, s, n, 2, 0);
        add_fast<float, 1024, walk<4>, 1024>(v, s, n, 2, 0);
      }
      if (n >= 1 << 22) {
        for (double mb : {16, 24}) {
          add_fast<float, 1024, share4, 1024>(v, s, n, 2, 0, mb);
          add_fast<float, 512, share4, 32>(v, s, n, 2, 0, mb);
        }
      }
      return v;
    };
    sweep<float>(s, "fast f32", "normal", false, least, most, false, shapes);
    sweep<float>(s, "fast f32", "normal", false, std::max(least, 16), std::min(most, 24), true, shapes);
  }
  if (wants("x32")) {
    const auto shapes = [&](std::uint64_t n) {
      std::vector<contender<float>> v;
      add_references(v, s, true);
      if (s.library) return v;
      if (n <= 1 << 14) {
        add_small<float, 32, 1, true>(v, s, n);
        add_small<float, 32, 4, true>(v, s, n);
        add_small<float, 128, 4, true>(v, s, n);
        add_small<float, 256, 4, true>(v, s, n);
        add_small<float, 512, 2, true>(v, s, n);
        add_small<float, 512, 4, true>(v, s, n);
        add_exact<float, float_buckets<256>, 256, keep2, 1>(v, s, n, 8);
      }
      if (n >= 1 << 12 && n <= 1 << 24) {
        add_exact<float, float_buckets<128>, 128, keep4, 8>(v, s, n, 0);
        add_exact<float, float_buckets<256>, 256, keep4, 4>(v, s, n, 0);
        add_exact<float, float_buckets<256>, 256, keep2, 6>(v, s, n, 0);
        add_exact<float, float_buckets<512>, 512, keep2, 3>(v, s, n, 0);
      }
      if (n >= 1 << 18) {
        add_exact<float, float_buckets<256>, 256, walk<4>, 6>(v, s, n, 0);
        add_exact<float, float_buckets<256>, 256, walk<2, true>, 6>(v, s, n, 0);
        add_exact<float, float_buckets<256>, 256, walk<4, true>, 4>(v, s, n, 0);
        add_exact<float, float_buckets<512>, 512, walk<4>, 3>(v, s, n, 0);
        add_exact<float, float_buckets<512>, 512, walk<2, true>, 3>(v, s, n, 0);
      }
      if (n >= 1 << 22) {
        for (double mb : {16, 26, 32}) {
          add_exact<float, float_buckets<256>, 256, share4, 6>(v, s, n, 0, mb);
        }
      }
      return v;
    };
    sweep<float>(s, "exact f32", "normal", true, least, most, false, shapes);
    sweep<float>(s, "exact f32", "bits", true, std::max(least, 18), std::min(most, 28), false, shapes);
    sweep<float>(s, "exact f32", "normal", true, std::max(least, 16), std::min(most, 24), true, shapes);
  }
  if (wants("f64")) {
    const auto shapes = [&](std::uint64_t n) {
      std::vector<contender<double>> v;
      add_references(v, s, false);
      if (s.library) return v;
      if (n <= 1 << 13) add_small<double, 256, 4, false>(v, s, n);
      if (n >= 1 << 11 && n <= 1 << 23) {
        add_fast<double, 256, keep4, 32>(v, s, n, 4, 0);
        add_fast<double, 512, keep4, 32>(v, s, n, 2, 0);
        add_fast<double, 512, keep8, 512>(v, s, n, 2, 0);
      }
      if (n >= 1 << 20) {
        add_fast<double, 512, walk<4>, 32>(v, s, n, 2, 0);
        add_fast<double, 512, walk<8>, 512>(v, s, n, 2, 0);
        for (double mb : {20, 32}) add_fast<double, 512, share4, 32>(v, s, n, 2, 0, mb);
      }
      return v;
    };
    sweep<double>(s, "fast f64", "normal", false, std::max(least, 0), std::min(most, 28), false, shapes);
  }
  if (wants("x64")) {
    const auto shapes = [&](std::uint64_t n) {
      std::vector<contender<double>> v;
      add_references(v, s, true);
      if (s.library) return v;
      if (n <= 1 << 19) {
        add_doubles<bin_rows<128>, 128, 1, 1>(v, s, n);
        add_doubles<bin_rows<256>, 256, 1, 1>(v, s, n);
        add_doubles<bin_rows<256>, 256, 1, 2>(v, s, n);
        add_doubles<bin_rows<256>, 256>(v, s, n);
        add_doubles<bin_rows<512>, 512>(v, s, n);
      }
      if (n >= 1 << 14) {
        add_doubles<doubles_in_buckets<256>, 256, 2>(v, s, n);
        add_doubles<doubles_in_buckets<608>, 608>(v, s, n);
      }
      return v;
    };
    sweep<double>(s, "exact f64", "normal", true, std::max(least, 0), std::min(most, 28), false, shapes);
    sweep<double>(s, "exact f64", "bits", true, std::max(least, 0), std::min(most, 28), false, shapes);
  }
  if (wants("f16")) {
    const auto shapes = [&](std::uint64_t n) {
      std::vector<contender<__half>> v;
      add_references(v, s, false);
      if (s.library) return v;
      if (n <= 1 << 15) add_small<__half, 256, 4, false>(v, s, n);
      if (n >= 1 << 13) {
        add_fast<__half, 256, keep4, 32>(v, s, n, 4, 0);
        add_fast<__half, 512, walk<4>, 32>(v, s, n, 2, 0);
        add_fast<__half, 512, walk<4>, 512>(v, s, n, 4, 0);
      }
      return v;
    };
    sweep<__half>(s, "fast f16", "normal", false, std::max(least, 0), std::min(most, 29), false, shapes);
  }
  if (wants("x16")) {
    const auto shapes = [&](std::uint64_t n) {
      std::vector<contender<__half>> v;
      add_references(v, s, true);
      if (s.library) return v;
      add_exact<__half, half_registers<128>, 128, keep4, 4>(v, s, n, 8);
      add_exact<__half, half_registers<256>, 256, keep4, 4>(v, s, n, 8);
      add_exact<__half, half_registers<256>, 256, walk<4>, 6>(v, s, n, 8);
      add_exact<__half, half_registers<512>, 512, walk<4>, 3>(v, s, n, 8);
      return v;
    };
    sweep<__half>(s, "exact f16", "bits", true, std::max(least, 0), std::min(most, 29), false, shapes);
  }
  if (wants("b16")) {
    const auto shapes = [&](std::uint64_t n) {
      std::vector<contender<__nv_bfloat16>> v;
      add_references(v, s, true);
      if (s.library) return v;
      using t = __nv_bfloat16;
      add_exact<t, bf16_buckets<128>, 128, keep4, 12>(v, s, n, 4);
      add_exact<t, bf16_buckets<256>, 256, keep2, 6>(v, s, n, 4);
      add_exact<t, bf16_buckets<256>, 256, keep4, 4>(v, s, n, 4);
      add_exact<t, bf16_buckets<256>, 256, walk<4>, 6>(v, s, n, 4);
      add_exact<t, bf16_buckets<256>, 256, walk<2, true>, 6>(v, s, n, 4);
      add_exact<t, bf16_buckets<256>, 256, walk<4, true>, 4>(v, s, n, 4);
      add_exact<t, bf16_buckets<512>, 512, walk<4>, 3>(v, s, n, 4);
      add_exact<t, bf16_buckets<1024>, 1024, walk<4>, 1>(v, s, n, 4);
      return v;
    };
    sweep<__nv_bfloat16>(s, "exact bf16", "normal", true, std::max(least, 10), std::min(most, 29), false, shapes);
    sweep<__nv_bfloat16>(s, "exact bf16", "bits", true, std::max(least, 20), std::min(most, 29), false, shapes);
  }
  return 0;
}
