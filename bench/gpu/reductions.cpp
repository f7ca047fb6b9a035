// SPDX-License-Identifier: Apache-2.0
/// \file reductions.cpp
/// Every operation and type of the GPU library, and a fused reduction, beside CUB and a kernel that only reads, in one run.
///
///   bench_gpu_reductions [--json FILE] [--only OP,…] [--types T,…] [--data normal|bits|nan|undecided] [--accuracy exact|fast]
///                        [--min K] [--max K] [--brief 1]
/// --data nan: normal numbers behind a NaN, --data undecided: of f32 and f64, ±x of 100 and 200 powers of 2: the time of exact answers that no certificate
/// gives; only if asked for.
///
/// Arrays of 2^k elements: k = 0, 10, 14, 16 … 30 (the fast and exact sums of f32: every k), at most
/// 8 GiB an input (less with --max). Hot: all launches read one array. Flushed, for 2^14 … 2^23: each launch of a replay
/// reads an array of its own, and the L2 is overwritten before. Median of 7.
///
/// An answer is checked before it is timed: up to 64 MiB against the CPU, byte for byte where it is
/// exact; beyond that the array repeats itself, so that exact answers must double or stay as they are;
/// and every one a second time, for the same bytes. CUB's answers are compared with the library's.
/// --brief 1: what the bars of docs/log/gpu.md need, no more.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include <warpfold/gpu.hpp>

#include "fill.hpp"
#include "fused.hpp"
#include "json_file.hpp"
#include "measure.hpp"
#include "peers.hpp"

namespace {

constexpr std::size_t tile_bytes = std::size_t{16} << 20, checked_bytes = std::size_t{64} << 20;

struct settings {
  std::string only, types, json, data, accuracy;
  int least = 0, most = 30;
  bool brief = false;
};

bool listed(const std::string& list, std::string_view name) {
  return list.empty() || ("," + list + ",").find("," + std::string(name) + ",") != std::string::npos;
}

/// How an exact answer changes when the array is repeated.
enum class repeated { doubled, same, unknown };
repeated repetition_of(wf::op o) {
  switch (o) {
    case wf::op::sum: case wf::op::norm1: case wf::op::sum_of_squares: case wf::op::dot: case wf::op::count_nonzero:
      return repeated::doubled;
    case wf::op::prod: case wf::op::norm2: case wf::op::logsumexp: case wf::op::count: return repeated::unknown;
    default: return repeated::same;
  }
}

bool is_native(wf::op o, wf::dtype t, wf::accuracy a) {
  if (o == wf::op::logsumexp || (o == wf::op::prod && !wf::is_integer(t))) return true;
  if (a == wf::accuracy::exact) return false;
  switch (o) {
    case wf::op::mean: case wf::op::var: case wf::op::std_dev: case wf::op::mean_var: case wf::op::norm2: return true;
    case wf::op::sum: case wf::op::norm1: case wf::op::sum_of_squares: case wf::op::dot: return !wf::is_integer(t);
    default: return false;
  }
}

/// Some operations differ in their last step alone: one of them is timed.
bool stands_for_itself(wf::op o) {
  return o != wf::op::count && o != wf::op::all && o != wf::op::any && o != wf::op::std_dev && o != wf::op::minmax &&
         o != wf::op::norm_inf;
}

class table {
 public:
  explicit table(const settings& s)
      : s_(s), file_("bench_gpu_reductions", s.json), most_bytes_(std::max(checked_bytes, std::max(std::size_t{8} << s.most, std::size_t{128} << std::min(s.most, 23)))),
        place_(meter_.stream()) {
    WF_CHECK(cudaMalloc(&x_, 2 * most_bytes_));  // side by side: to read both inputs of dot is to read one array
    y_ = x_ + most_bytes_;
    WF_CHECK(cudaMalloc(&out_, 256));
    WF_CHECK(cudaMalloc(&scratch_, scratch_bytes));
    cudaDeviceProp p;
    WF_CHECK(cudaGetDeviceProperties(&p, 0));
    file_.figures = {{"device", p.name}, {"brief", s.brief ? 1 : 0}, {"rows", nlohmann::ordered_json::array()}};
  }
  int finish() {
    file_.figures["wrong"] = wrong_;
    return wrong_ == 0 ? 0 : 1;
  }

  void type(wf::dtype t) {
    t_ = t;
    size_ = wf::info(t).size;
    for (const char* data : {"normal", "bits", "nan", "undecided"}) {
      const bool bits = data[0] == 'b', undecided = data[0] == 'u', nan = data[0] == 'n' && data[1] == 'a', asked_for = nan || undecided;
      if (!listed(s_.data, data) || ((bits || asked_for) && wf::is_integer(t)) || (asked_for && s_.data.empty())) continue;
      if (undecided && t != wf::dtype::f32 && t != wf::dtype::f64) continue;
      data_ = data;
      host_x_ = bench::fill(t, bits, tile_bytes, checked_bytes, 1);
      host_y_ = bench::fill(t, bits, tile_bytes, checked_bytes, 2);
      if (nan) std::memset(host_x_.data(), 0xff, size_);
      if (undecided) {
        bench::make_undecided(t, host_x_, t == wf::dtype::f32 ? 100 : 200, 3);
        for (std::size_t at = tile_bytes; at < host_x_.size(); at += tile_bytes) std::memcpy(&host_x_[at], host_x_.data(), tile_bytes);
      }
      upload(x_, host_x_);
      upload(y_, host_y_);
      for (int k = 0; k < wf::op_count; ++k) {
        const auto o = static_cast<wf::op>(k);
        if (!listed(s_.only, wf::properties_of(o).name)) continue;
        if (s_.only.empty() && !stands_for_itself(o)) continue;
        if (undecided && o == wf::op::prod) continue;  // these products overflow or not as they are ordered
        for (const auto a : {wf::accuracy::exact, wf::accuracy::fast}) {
          if (!listed(s_.accuracy, a == wf::accuracy::exact ? "exact" : "fast") || !place_.kernels().takes(o, t, a)) continue;
          if ((bits && o != wf::op::sum) || ((bits || asked_for) && a != wf::accuracy::exact)) continue;
          if (a == wf::accuracy::fast && is_native(o, t, a) == is_native(o, t, wf::accuracy::exact)) continue;
          if (s_.brief && !in_bars(o, a)) continue;
          row(o, a);
        }
      }
      if ((t == wf::dtype::f32 || t == wf::dtype::f64) && listed(s_.only, fused_name) && listed(s_.accuracy, "exact") &&
          !(bits && s_.only.empty()) && !s_.brief) {
        fused_row();
      }
    }
  }

 private:
  static constexpr const char* fused_name = "fused_mean_std_min_max";
  static constexpr std::size_t scratch_bytes = std::size_t{64} << 20;

  static bool has_bar(wf::op o) { return o == wf::op::max || o == wf::op::argmax; }
  bool in_bars(wf::op o, wf::accuracy a) const {
    const bool fast = a == wf::accuracy::fast;
    if (o == wf::op::sum) return t_ == wf::dtype::f32 || (!fast && t_ != wf::dtype::i64 && size_ <= 8 && !wf::is_complex(t_));
    if (t_ != wf::dtype::f32 && t_ != wf::dtype::f64 && t_ != wf::dtype::i32 && t_ != wf::dtype::f16) return false;
    return !fast && (has_bar(o) || o == wf::op::min || o == wf::op::argmin || o == wf::op::mean_var || o == wf::op::norm2 || o == wf::op::dot);
  }

  void upload(unsigned char* to, const std::vector<unsigned char>& from) const {
    WF_CHECK(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice));
    for (std::size_t at = from.size(); at < most_bytes_; at *= 2) {
      WF_CHECK(cudaMemcpy(to + at, to, at, cudaMemcpyDeviceToDevice));
    }
  }

  std::vector<int> sizes(wf::op o) const {
    std::vector<int> k = {0, 10, 14, 16, 18, 20, 22, 24, 26, 28, 30};
    if (o == wf::op::sum && t_ == wf::dtype::f32) {
      for (k.clear(); k.size() < 31;) k.push_back(static_cast<int>(k.size()));
    } else if (s_.brief && o != wf::op::sum) {
      k = {14, 20, 22, 24, 26, 28};  // 22 and 24: answers of more than checked_bytes follow from one of a whole tile or more
    }
    std::erase_if(k, [&](int e) { return e < s_.least || e > s_.most || (size_ << e) > most_bytes_; });
    return k;
  }

  wf::device_request request(wf::op o, wf::accuracy a, std::int64_t n, std::size_t skipped = 0) const {
    return {o, t_, a, {}, {x_ + skipped, y_ + skipped}, {1, 1}, n, out_};
  }
  std::vector<unsigned char> answer(const wf::device_request& r, std::size_t size) {
    WF_CHECK(cudaMemset(out_, 0xa5, 64));
    place_.kernels().run(r, place_.scratch(), meter_.stream());
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    std::vector<unsigned char> got(size);
    WF_CHECK(cudaMemcpy(got.data(), out_, size, cudaMemcpyDeviceToHost));
    return got;
  }

  void row(wf::op o, wf::accuracy a) {
    const std::string name(wf::properties_of(o).name), mode = a == wf::accuracy::exact ? "exact" : "fast";
    std::vector<unsigned char> last;  // the answer for the size before
    int last_k = -1;
    std::printf("%-14s %-5s %-5s %-6s", name.c_str(), std::string(wf::info(t_).name).c_str(), mode.c_str(), data_);
    for (const int k : sizes(o)) {
      const std::int64_t n = std::int64_t{1} << k;
      const auto got = verified(o, a, n, last, k - last_k);
      if (got.empty()) {
        std::printf(" %d:WRONG", k);
        ++wrong_;
        break;
      }
      last = got;
      last_k = k;
      time(o, a, k, false);
      if (k >= 14 && k <= 23 && !s_.brief) time(o, a, k, true);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  /// The answer, or nothing if it is not right.
  std::vector<unsigned char> verified(wf::op o, wf::accuracy a, std::int64_t n, const std::vector<unsigned char>& last, int doublings) {
    const wf::cpu::erased& cpu = wf::builtin(o, t_, a);
    const auto r = request(o, a, n);
    auto got = answer(r, cpu.result_size);
    if (got != answer(r, cpu.result_size)) return {};
    const bool native = is_native(o, t_, a);
    const std::size_t bytes = static_cast<std::size_t>(n) * size_;
    if (bytes <= checked_bytes) {
      wf::context c;
      const void* const inputs[] = {host_x_.data(), host_y_.data()};
      std::vector<unsigned char> want(cpu.result_size);
      wf::cpu::reduce_run(wf::builtin(o, t_, wf::accuracy::exact), &r.options, inputs, n, c, want.data());
      if (native ? !close(o, got, want, n) : got != want) return {};
    } else if (!native && !last.empty()) {
      const repeated how = repetition_of(o);
      auto want = last;
      if (how == repeated::doubled) {
        for (int i = 0; i < doublings; ++i) bench::twice(wf::result_of_builtin(o, t_).type, want);
      }
      if (how != repeated::unknown && got != want) return {};
    }
    if (bench::has_peer(o, t_)) check_peer(o, a, n, got);
    return got;
  }

  /// Native answers: the rounding of n terms near 1 is some 2^-24·√n; one element missed is about 1.
  bool close(wf::op o, const std::vector<unsigned char>& got, const std::vector<unsigned char>& want, std::int64_t n) const {
    const wf::dtype kind = wf::result_of_builtin(o, t_).type;
    const double places = kind == wf::dtype::f16 ? 0x1p-9 : kind == wf::dtype::bf16 ? 0x1p-6 : 1e-5;
    const bool cancels = o == wf::op::sum || o == wf::op::dot;
    const auto g = bench::numbers(kind, got), w = bench::numbers(kind, want);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double slack = cancels ? 1e-4 * std::sqrt(static_cast<double>(n)) : o == wf::op::mean || o == wf::op::mean_var ? 1e-5 : 1e-30;
      if (!std::isfinite(g[i]) && !std::isfinite(w[i])) continue;  // products that overflow: where, the order decides
      if (!(std::fabs(g[i] - w[i]) <= places * std::fabs(w[i]) + slack) && !(g[i] == w[i])) return false;
    }
    return true;
  }

  void check_peer(wf::op o, wf::accuracy, std::int64_t n, const std::vector<unsigned char>& got) {
    if (std::string_view(data_) != "normal") return;  // sums of bits overflow
    run_peer(o, n, 0);
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    unsigned char raw[64];
    WF_CHECK(cudaMemcpy(raw, out_, sizeof raw, cudaMemcpyDeviceToHost));
    double peer = bench::peer_answer(o, t_, raw), ours = bench::numbers(wf::result_of_builtin(o, t_).type, got)[0];
    if (o == wf::op::norm2) peer = std::sqrt(peer);
    if (o == wf::op::mean_var) peer /= static_cast<double>(n);
    const bool whole = wf::is_integer(t_) || o == wf::op::argmin || o == wf::op::argmax || o == wf::op::min || o == wf::op::max;
    const bool overflows = t_ == wf::dtype::f16 && std::isinf(ours);
    const double slack = whole ? 0 : o == wf::op::mean_var ? 1e-4 : 1e-3 * std::sqrt(static_cast<double>(n)) + 1e-2 * std::fabs(ours);
    if (!overflows && !(std::fabs(peer - ours) <= slack)) {
      std::printf(" CUB: %.9g, ours %.9g", peer, ours);
      ++wrong_;
    }
  }
  void run_peer(wf::op o, std::int64_t n, std::size_t skipped) const {
    bench::run_peer({o, t_, x_ + skipped, y_ + skipped, n, out_, scratch_, scratch_bytes, meter_.stream()});
  }

  void time(wf::op o, wf::accuracy a, int k, bool cold) {
    const std::int64_t n = std::int64_t{1} << k;
    const auto ours = [&](std::size_t skipped) {
      place_.kernels().run(request(o, a, n, skipped), place_.scratch(), meter_.stream());
    };
    const auto peer = [&](std::size_t skipped) { run_peer(o, n, skipped); };
    time(wf::properties_of(o).name, a, k, cold, o == wf::op::dot ? 2 : 1, ours, bench::has_peer(o, t_) ? peer : launcher());
  }

  /// Launches on the array that begins so many bytes later.
  using launcher = std::function<void(std::size_t)>;
  void time(std::string_view name, wf::accuracy a, int k, bool cold, std::size_t inputs, const launcher& run, const launcher& peer) {
    const std::size_t one = size_ << k, bytes = one * inputs;
    const int launches = cold ? 8 : bytes <= (1 << 22) ? 24 : bytes <= (1 << 28) ? 8 : 4;
    const auto timed = [&](const launcher& f) {
      return meter_.time([&](int i) { f(cold ? static_cast<std::size_t>(i) * one : 0); }, launches, cold);
    };
    const auto ours = timed(run);
    bench::spread cub{0, 0, 0};
    if (peer) cub = timed(peer);
    const double read = read_us(bytes, launches, cold);
    std::printf(" %d%s:%.2f", k, cold ? "c" : "", static_cast<double>(ours.median));
    if (cub.median > 0) std::printf("(%.2f)", static_cast<double>(ours.median / cub.median));
    if (bytes >= std::size_t{64} << 20) std::printf("[%.3f]", read / static_cast<double>(ours.median));
    file_.figures["rows"].push_back({{"op", name}, {"dtype", wf::info(t_).name}, {"accuracy", a == wf::accuracy::exact ? "exact" : "fast"},
                                     {"data", data_}, {"log2n", k}, {"cold", cold ? 1 : 0}, {"bytes", bytes}, {"us", rounded(static_cast<double>(ours.median), 3)},
                                     {"least_us", rounded(static_cast<double>(ours.least), 3)}, {"most_us", rounded(static_cast<double>(ours.greatest), 3)},
                                     {"read_us", rounded(read, 3)}, {"cub_us", rounded(static_cast<double>(cub.median), 3)}});
  }

  /// A fused reduction, which must give the bytes of its parts alone.
  void fused_row() {
    std::printf("%-14s %-5s exact %-6s", fused_name, std::string(wf::info(t_).name).c_str(), data_);
    for (const int k : sizes(wf::op::mean_var)) {
      const std::int64_t n = std::int64_t{1} << k;
      std::vector<unsigned char> want;
      for (const wf::op o : bench::fused_ops) {
        const auto part = answer(request(o, wf::accuracy::exact, n), size_);
        want.insert(want.end(), part.begin(), part.end());
      }
      const auto launch = [&](std::size_t skipped) { bench::run_fused(place_, t_, x_ + skipped, n, out_); };
      launch(0);
      WF_CHECK(cudaStreamSynchronize(meter_.stream()));
      std::vector<unsigned char> got(want.size());
      WF_CHECK(cudaMemcpy(got.data(), out_, got.size(), cudaMemcpyDeviceToHost));
      if (got != want) {
        std::printf(" %d:WRONG", k);
        ++wrong_;
        break;
      }
      time(fused_name, wf::accuracy::exact, k, false, 1, launch, {});
      if (k >= 14 && k <= 23) time(fused_name, wf::accuracy::exact, k, true, 1, launch, {});
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  /// The fastest way to read so many bytes; measured once for each size.
  double read_us(std::size_t bytes, int launches, bool cold) {
    double& us = read_[{bytes, cold}];
    if (us != 0) return us;
    us = HUGE_VAL;
    for (int way = 0; way < bench::read_ways(); ++way)
      us = std::min<double>(us, meter_.time([&](int i) {
        bench::run_read(way, x_ + (cold ? static_cast<std::size_t>(i) * bytes : 0), bytes, reinterpret_cast<unsigned*>(out_), meter_.stream());
      }, launches, cold).median);
    return us;
  }

  settings s_;
  json_file file_;
  std::size_t most_bytes_;  ///< an input's
  bench::meter meter_;
  wf::gpu place_;
  unsigned char *x_ = nullptr, *y_ = nullptr, *out_ = nullptr;
  void* scratch_ = nullptr;
  int wrong_ = 0;
  wf::dtype t_ = wf::dtype::f32;
  std::size_t size_ = 4;
  const char* data_ = "";
  std::vector<unsigned char> host_x_, host_y_;
  std::map<std::pair<std::size_t, bool>, double> read_;
};

}  // namespace

int main(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; i += 2) {
    const std::string a = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (a == "--json") s.json = value;
    else if (a == "--only") s.only = value;
    else if (a == "--types") s.types = value;
    else if (a == "--data") s.data = value;
    else if (a == "--accuracy") s.accuracy = value;
    else if (a == "--min") s.least = std::atoi(value);
    else if (a == "--max") s.most = std::atoi(value);
    else if (a == "--brief") s.brief = std::atoi(value) != 0;
    else {
      std::fprintf(stderr, "bench_gpu_reductions: %s: no such option; --json --only --types --data --accuracy --min --max --brief\n", a.c_str());
      return 2;
    }
  }
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::fprintf(stderr, "bench_gpu_reductions: no GPU\n");
    return 3;
  }
  std::printf("microseconds for 2^k elements (over CUB's) [of the speed of only reading]; c: L2 flushed\n");
  table t(s);
  for (const wf::dtype e : {wf::dtype::f32, wf::dtype::f64, wf::dtype::f16, wf::dtype::bf16, wf::dtype::i8, wf::dtype::i16, wf::dtype::i32,
                            wf::dtype::i64, wf::dtype::u8, wf::dtype::u16, wf::dtype::u32, wf::dtype::u64, wf::dtype::boolean,
                            wf::dtype::c64, wf::dtype::c128}) {
    if (listed(s.types, wf::info(e).name)) t.type(e);
  }
  return t.finish();
}
