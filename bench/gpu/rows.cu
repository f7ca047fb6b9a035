// SPDX-License-Identifier: Apache-2.0
/// \file rows.cu
/// Rows, columns and segments by the GPU library, in GB/s of what is read and written, beside a kernel that only reads and, where
/// it has the like, CUB's DeviceSegmentedReduce; of labels, a kernel that adds each element to its answer by an atomic operation, as scatter_add of frameworks does.
///
///   bench_gpu_rows [--only segments,axes,ragged,small,labels,uncertain] [--types f32,i8] [--op sum] [--name "4096;power law"] [--log2 N] [--times 0] [--json FILE]
///
/// --name takes several names with semicolons between them; with --times 0 every case is verified and none is timed.
///
/// Before it is timed, every case is verified: up to 256 of its answers, the first and the last among them, byte for byte against
/// the CPU library; of segments by offsets and of labels all of them. Times are device times of CUDA-graph replays, the median of 7, one launch after another on the same data.
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <warpfold/builtin.hpp>
#include <warpfold/device/thread.cuh>
#include <warpfold/device/workspace.cuh>

#include "../../src/gpu/rows.cuh"
#include "../../src/measure/read.cuh"
#include "json_file.hpp"
#include "measure.hpp"

namespace {

using wf::dtype;
using wf::op;
using wf::device::workspace;

/// What is asked for: an array's axes, or segments.
struct question {
  std::string family, name;
  std::vector<std::int64_t> shape;
  std::vector<int> axes;
  std::vector<std::int64_t> offsets;  ///< for segments
  op what = op::sum;
};

struct settings {
  std::string only = "segments,axes,ragged,small,labels,uncertain", types = "f32,f64,f16,bf16,i32,i8", name, json;
  std::optional<op> what;
  int log2_elements = 28;
  bool times = true;
};

bool listed(const std::string& list, const std::string& name, const std::string& between = ",") {
  return (between + list + between).find(between + name + between) != std::string::npos;
}

__device__ std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

enum class data { normal, uncertain };

/// Integers of any bits. Floats: sums of four uniform numbers in (-1, 1); or pairs of any finite bits that cancel, each row's sum so
/// being zero or next to nothing, which no certificate tells.
__global__ void fill_kernel(unsigned char* p, std::uint64_t n, dtype t, data kind) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n; i += threads) {
    const std::uint64_t r = mixed(kind == data::uncertain ? i / 2 : i);
    double x = 0;
    for (int k = 0; k < 4; ++k) x += static_cast<double>(r >> (16 * k) & 0xffff) * 0x1p-15 - 1;
    x += static_cast<double>(mixed(r) >> 40) * 0x1p-48;
    if (kind == data::uncertain) {
      x = ldexp(x, static_cast<int>(r % 200) - 100);
      if (i % 2 == 1) x = -x;
    }
    switch (t) {
      case dtype::f16: reinterpret_cast<wf::f16*>(p)[i] = wf::f16(x); break;
      case dtype::bf16: reinterpret_cast<wf::bf16*>(p)[i] = wf::bf16(x); break;
      case dtype::f32: reinterpret_cast<float*>(p)[i] = static_cast<float>(x); break;
      case dtype::f64: reinterpret_cast<double*>(p)[i] = x; break;
      case dtype::i16: reinterpret_cast<std::uint16_t*>(p)[i] = static_cast<std::uint16_t>(r); break;
      case dtype::i32: reinterpret_cast<std::uint32_t*>(p)[i] = static_cast<std::uint32_t>(r); break;
      case dtype::i64: reinterpret_cast<std::uint64_t*>(p)[i] = r; break;
      default: p[i] = static_cast<unsigned char>(r);
    }
  }
}

/// Where segments of one length begin.
struct begin_of {
  std::int64_t each;
  __host__ __device__ std::int64_t operator()(std::int64_t k) const { return k * each; }
};

/// Labels below `groups`, in no order.
__global__ void label_kernel(std::int64_t* to, std::uint64_t n, std::uint64_t groups) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n; i += threads) to[i] = static_cast<std::int64_t>(mixed(~i) % groups);
}
template <class T>
__global__ void scatter_kernel(const T* x, const std::int64_t* labels, std::uint64_t n, T* out) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n; i += threads) atomicAdd(out + labels[i], x[i]);
}

class rows_bench {
 public:
  explicit rows_bench(const settings& s) : s_(s) {
    int sm = 0;
    WF_CHECK(cudaDeviceGetAttribute(&sm, cudaDevAttrMultiProcessorCount, 0));
    sm_ = static_cast<unsigned>(sm);
    int l2 = 0;
    WF_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    l2_ = static_cast<std::uint64_t>(l2);
    input_bytes_ = std::size_t{4} << s_.log2_elements;
    output_bytes_ = std::size_t{4} << s_.log2_elements;
    WF_CHECK(cudaMalloc(&in_, input_bytes_));
    WF_CHECK(cudaMalloc(&out_, output_bytes_ + 64));
    WF_CHECK(cudaMalloc(&offsets_, (std::size_t{1} << 23) * 8));
    WF_CHECK(workspace_.prepare(meter_.stream()));
    host_.resize(input_bytes_);
    cudaDeviceProp p{};
    WF_CHECK(cudaGetDeviceProperties(&p, 0));
    file_.figures = {{"device", p.name}, {"cub", CUB_VERSION}, {"rows", nlohmann::ordered_json::array()}};
  }
  int failures() const { return failures_; }

  void fill(dtype t, data kind) {
    type_ = t;
    kind_ = kind;
    if (wf::is_complex(t)) t = t == dtype::c64 ? dtype::f32 : dtype::f64;  // part by part
    const std::size_t n = input_bytes_ / wf::info(t).size;
    fill_kernel<<<4 * sm_, 512, 0, meter_.stream()>>>(static_cast<unsigned char*>(in_), n, t, kind);
    WF_CHECK(cudaGetLastError());
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    WF_CHECK(cudaMemcpy(host_.data(), in_, input_bytes_, cudaMemcpyDeviceToHost));
  }

  std::int64_t most_elements() const { return static_cast<std::int64_t>(std::min(input_bytes_ / wf::info(type_).size, std::size_t{1} << s_.log2_elements)); }

  void run(question q) {
    if (s_.what) q.what = *s_.what;
    if (!named(q.name) || std::find(q.shape.begin(), q.shape.end(), 0) != q.shape.end()) return;
    const std::size_t size = wf::info(type_).size;
    wf::rows_request r{};
    r.what = q.what;
    r.element = type_;
    r.x = {in_, in_};
    r.out = out_;
    std::vector<std::int64_t> strides(q.shape.size());
    std::int64_t n = 1, answers = 1;
    for (std::size_t d = q.shape.size(); d-- > 0;) {
      strides[d] = n;
      n *= q.shape[d];
    }
    for (int pass = 0; pass < 2; ++pass) {
      for (int d = 0; d < static_cast<int>(q.shape.size()); ++d) {
        const bool reduced = std::find(q.axes.begin(), q.axes.end(), d) != q.axes.end();
        if (reduced != (pass == 1)) continue;
        const auto at = static_cast<std::size_t>(r.kept + r.reduced);
        r.length[at] = q.shape[static_cast<std::size_t>(d)];
        r.stride[0][at] = r.stride[1][at] = strides[static_cast<std::size_t>(d)];
        if (!reduced) answers *= q.shape[static_cast<std::size_t>(d)];
        ++(reduced ? r.reduced : r.kept);
      }
    }
    std::size_t more_bytes = 0;
    if (!q.offsets.empty()) {
      answers = r.segments = static_cast<std::int64_t>(q.offsets.size()) - 1;
      r.offsets = offsets_;
      r.offset_bytes = 8;
      more_bytes = q.offsets.size() * 8;
      WF_CHECK(cudaMemcpy(offsets_, q.offsets.data(), more_bytes, cudaMemcpyHostToDevice));
    }
    const wf::cpu::erased* cpu = wf::find_builtin(q.what, type_, wf::accuracy::exact);
    if (cpu == nullptr) return;
    const std::size_t answer_bytes = cpu->result_size;
    if (static_cast<std::size_t>(answers) * answer_bytes > output_bytes_ || static_cast<std::size_t>(n) * size > input_bytes_) return;
    const auto f = wf::device::find_rows(q.what, type_, wf::accuracy::exact);
    if (f == nullptr) return;
    WF_CHECK(cudaMemset(out_, 0xa5, static_cast<std::size_t>(answers) * answer_bytes));
    const cudaError_t e = f(r, workspace_, meter_.stream());
    if (e != cudaSuccess) {
      std::printf("%-9s %-22s %-5s %s: %s\n", q.family.c_str(), q.name.c_str(), wf::info(type_).name.data(), wf::op_names[static_cast<int>(q.what)], cudaGetErrorString(e));
      ++failures_;
      return;
    }
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    const bool right = verify(q, r, *cpu, strides, answers);
    failures_ += right ? 0 : 1;
    if (only_verified(q.family, q.name, q.what, right)) return;
    // The two inputs of dot are one array, which comes from memory once.
    const std::size_t bytes = static_cast<std::size_t>(n) * size + static_cast<std::size_t>(answers) * answer_bytes + more_bytes;
    const int launches = bytes > (std::size_t{1} << 26) ? 2 : 20;
    const double us = meter_.time([&](int) { WF_CHECK(f(r, workspace_, meter_.stream())); }, launches, false).median;
    const double floor = read_time(bytes);
    const double cub = cub_time(q, n, answers, launches);
    std::printf("%-9s %-22s %-5s %-10s %10.2f us %8.0f GB/s %6.3f of reading", q.family.c_str(), q.name.c_str(), wf::info(type_).name.data(),
                wf::op_names[static_cast<int>(q.what)], us, static_cast<double>(bytes) / us / 1e3, floor / us);
    if (cub > 0) std::printf("   CUB %8.0f GB/s", static_cast<double>(bytes) / cub / 1e3);
    std::printf("%s\n", right ? "" : "   WRONG");
    std::fflush(stdout);
    file_.figures["rows"].push_back({{"family", q.family}, {"name", q.name}, {"type", wf::info(type_).name}, {"op", wf::op_names[static_cast<int>(q.what)]},
                                     {"data", kind_ == data::normal ? "normal" : "uncertain"}, {"bytes", bytes}, {"us", rounded(us, 3)},
                                     {"read_us", rounded(floor, 3)}, {"cub_us", rounded(cub, 3)}, {"right", right}});
  }

  /// Sums, or what --op asks for, by label; everything is verified.
  void run_labels(std::int64_t groups) {
    const std::string name = std::to_string(groups);
    const op what = s_.what.value_or(op::sum);
    if (!named(name)) return;
    const auto f = wf::device::find_rows(what, type_, wf::accuracy::exact);
    const wf::cpu::erased* cpu = wf::find_builtin(what, type_, wf::accuracy::exact);
    if (f == nullptr || cpu == nullptr || cpu->inputs != 1) return;
    const std::int64_t n = most_elements();
    if (groups > n || static_cast<std::size_t>(groups) * cpu->result_size > output_bytes_) return;
    if (labels_ == nullptr) WF_CHECK(cudaMalloc(&labels_, std::size_t{8} << s_.log2_elements));
    auto* const labels = static_cast<std::int64_t*>(labels_);
    label_kernel<<<4 * sm_, 512, 0, meter_.stream()>>>(labels, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(groups));
    WF_CHECK(cudaGetLastError());
    const std::size_t answer_bytes = static_cast<std::size_t>(groups) * cpu->result_size;
    WF_CHECK(cudaMemsetAsync(out_, 0xa5, answer_bytes, meter_.stream()));
    wf::rows_request r{};
    r.what = what;
    r.element = type_;
    r.x = {in_, in_};
    r.out = out_;
    r.reduced = 1;
    r.length[0] = n;
    r.stride[0][0] = 1;
    r.labels = labels;
    r.segments = groups;
    WF_CHECK(f(r, workspace_, meter_.stream()));
    std::vector<unsigned char> got(answer_bytes), want(answer_bytes);
    std::vector<std::int64_t> of_host(static_cast<std::size_t>(n));
    WF_CHECK(cudaMemcpyAsync(got.data(), out_, answer_bytes, cudaMemcpyDeviceToHost, meter_.stream()));
    WF_CHECK(cudaMemcpyAsync(of_host.data(), labels, of_host.size() * 8, cudaMemcpyDeviceToHost, meter_.stream()));
    WF_CHECK(cudaStreamSynchronize(meter_.stream()));
    wf::cpu::operands x;
    x.shape = {n};
    x.data[0] = host_.data();
    x.strides[0] = {static_cast<std::int64_t>(wf::info(type_).size)};
    wf::cpu::reduce_labels(*cpu, &r.options, x, of_host, groups, wf::context{}, want.data());
    const bool right = all_right(got, want, r, cpu->result_size);
    failures_ += right ? 0 : 1;
    if (only_verified("labels", name, op::sum, right)) return;
    const std::size_t bytes = static_cast<std::size_t>(n) * (wf::info(type_).size + 8) + answer_bytes;
    const double us = meter_.time([&](int) { WF_CHECK(f(r, workspace_, meter_.stream())); }, 1, false).median, floor = read_time(bytes);
    double peer = 0;
    const auto scatter = [&]<class T>(T) {
      peer = meter_.time([&](int) { scatter_kernel<<<16 * sm_, 256, 0, meter_.stream()>>>(static_cast<const T*>(in_), labels, static_cast<std::uint64_t>(n), static_cast<T*>(out_)); }, 1, false).median;
    };
    if (type_ == dtype::f32) scatter(float{});
    if (type_ == dtype::f64) scatter(double{});
    if (type_ == dtype::i32) scatter(int{});
    std::printf("%-9s %-22s %-5s %-10s %10.2f us %8.0f GB/s %6.3f of reading", "labels", name.c_str(), wf::info(type_).name.data(), wf::op_names[static_cast<int>(what)], us, static_cast<double>(bytes) / us / 1e3, floor / us);
    if (peer > 0) std::printf("   by atomics %10.2f us", peer);
    std::printf("%s\n", right ? "" : "   WRONG");
    std::fflush(stdout);
    file_.figures["rows"].push_back({{"family", "labels"}, {"name", name}, {"type", wf::info(type_).name}, {"op", wf::op_names[static_cast<int>(what)]}, {"data", kind_ == data::normal ? "normal" : "uncertain"}, {"bytes", bytes},
                                     {"us", rounded(us, 3)}, {"read_us", rounded(floor, 3)}, {"atomics_us", rounded(peer, 3)}, {"right", right}});
  }

 private:
  bool named(const std::string& name) const { return s_.name.empty() || listed(s_.name, name, ";"); }
  /// What is not exact may differ in its last bits.
  static bool is_near(const void* a, const void* b, dtype t) {
    const auto number = [t](const void* p) -> double {
      const auto as = [p]<class T>(T v) {
        std::memcpy(&v, p, sizeof v);
        return static_cast<double>(v);
      };
      switch (t) {
        case dtype::f16: return static_cast<double>(static_cast<float>(std::bit_cast<wf::f16>(static_cast<std::uint16_t>(as(std::uint16_t{})))));
        case dtype::bf16: return static_cast<double>(static_cast<float>(std::bit_cast<wf::bf16>(static_cast<std::uint16_t>(as(std::uint16_t{})))));
        case dtype::f32: return as(float{});
        default: return as(double{});
      }
    };
    const double x = number(a), y = number(b), unit = t == dtype::f16 ? 0x1p-9 : t == dtype::bf16 ? 0x1p-6 : t == dtype::f32 ? 0x1p-22 : 0x1p-40;
    return x == y || (x != x && y != y) || std::fabs(x - y) <= unit * std::max(1.0, std::fabs(x));
  }
  static bool is_right(const unsigned char* got, const unsigned char* want, const wf::rows_request& r, std::size_t bytes) {
    const bool native = r.what == op::logsumexp || (r.what == op::prod && wf::is_floating(r.element));
    return std::memcmp(got, want, bytes) == 0 || (native && is_near(got, want, r.element));
  }
  static bool all_right(const std::vector<unsigned char>& got, const std::vector<unsigned char>& want, const wf::rows_request& r, std::size_t bytes) {
    for (std::size_t at = 0; at < want.size(); at += bytes) {
      if (!is_right(&got[at], &want[at], r, bytes)) return false;
    }
    return true;
  }
  /// Says how a case is, where it is not to be timed.
  bool only_verified(const std::string& family, const std::string& name, op what, bool right) const {
    if (s_.times) return false;
    std::printf("%-9s %-22s %-5s %-10s %s\n", family.c_str(), name.c_str(), wf::info(type_).name.data(), wf::op_names[static_cast<int>(what)], right ? "right" : "WRONG");
    return true;
  }
  bool verify(const question& q, const wf::rows_request& r, const wf::cpu::erased& cpu, const std::vector<std::int64_t>&, std::int64_t answers) {
    const std::size_t size = wf::info(type_).size;
    std::vector<unsigned char> got(static_cast<std::size_t>(answers) * cpu.result_size), want(cpu.result_size), row;
    WF_CHECK(cudaMemcpy(got.data(), out_, got.size(), cudaMemcpyDeviceToHost));
    if (!q.offsets.empty()) {  // all of them
      wf::cpu::operands x;
      x.shape = {static_cast<std::int64_t>(input_bytes_ / size)};
      x.data[0] = host_.data();
      x.strides[0] = {static_cast<std::int64_t>(size)};
      if (cpu.inputs == 2) {
        x.data[1] = x.data[0];
        x.strides[1] = x.strides[0];
      }
      std::vector<unsigned char> all(got.size());
      wf::cpu::reduce_segments(cpu, &r.options, x, q.offsets, wf::context{}, all.data());
      return all_right(got, all, r, cpu.result_size);
    }
    std::mt19937_64 g(7);
    std::int64_t work = 0;
    for (int k = 0; k < 256 && k < answers && work < (std::int64_t{1} << 28); ++k) {
      const std::int64_t a = k == 0 ? 0 : k == 1 ? answers - 1 : static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(answers));
      std::int64_t first = 0, n = 1;
      row.clear();
      const unsigned char* from = host_.data();
      {
        std::int64_t left = a;
        for (int d = r.kept - 1; d >= 0; --d) {
          first += left % r.length[static_cast<std::size_t>(d)] * r.stride[0][static_cast<std::size_t>(d)];
          left /= r.length[static_cast<std::size_t>(d)];
        }
        for (int d = r.kept; d < r.kept + r.reduced; ++d) n *= r.length[static_cast<std::size_t>(d)];
        row.resize(static_cast<std::size_t>(n) * size);
        for (std::int64_t i = 0; i < n; ++i) {
          std::int64_t at = first, rest = i;
          for (int d = r.kept + r.reduced - 1; d >= r.kept; --d) {
            at += rest % r.length[static_cast<std::size_t>(d)] * r.stride[0][static_cast<std::size_t>(d)];
            rest /= r.length[static_cast<std::size_t>(d)];
          }
          std::memcpy(&row[static_cast<std::size_t>(i) * size], host_.data() + static_cast<std::size_t>(at) * size, size);
        }
        from = row.data();
      }
      work += n;
      const void* x[2] = {from, from};
      wf::context c;
      wf::cpu::reduce_run(cpu, &r.options, x, n, c, want.data());
      const unsigned char* const mine = &got[static_cast<std::size_t>(a) * cpu.result_size];
      if (!is_right(mine, want.data(), r, cpu.result_size)) {
        std::printf("answer %lld of %lld differs from the CPU's\n", static_cast<long long>(a), static_cast<long long>(answers));
        return false;
      }
    }
    return true;
  }
  /// µs of reading so many bytes; of more than there are, in proportion.
  double read_time(std::size_t wanted) {
    const std::size_t bytes = std::min(wanted, input_bytes_);
    if (bytes < wanted) return read_time(bytes) * (static_cast<double>(wanted) / static_cast<double>(bytes));
    const auto found = std::find_if(read_.begin(), read_.end(), [&](const auto& k) { return k.first == bytes; });
    if (found != read_.end()) return found->second;
    double us = HUGE_VAL;
    for (const wf::measure::read_way& way : wf::measure::read_ways) {
      const auto enqueue = [&](int) { WF_CHECK(wf::measure::enqueue_read(way, in_, bytes, static_cast<unsigned*>(out_), {sm_, l2_}, meter_.stream())); };
      us = std::min<double>(us, meter_.time(enqueue, bytes > (std::size_t{1} << 26) ? 2 : 20, false).median);
    }
    read_.emplace_back(bytes, us);
    return us;
  }
  template <class T, class Begin>
  double cub_sums(Begin begin, std::int64_t answers, int launches) {
    std::size_t room = 0;
    void* scratch = nullptr;
    const auto call = [&] {
      return cub::DeviceSegmentedReduce::Sum(scratch, room, static_cast<const T*>(in_), static_cast<T*>(out_), answers, begin, begin + 1, meter_.stream());
    };
    WF_CHECK(call());
    WF_CHECK(cudaMalloc(&scratch, room + 1));
    const double us = meter_.time([&](int) { WF_CHECK(call()); }, launches, false).median;
    WF_CHECK(cudaFree(scratch));
    return us;
  }
  /// µs of CUB's sums; 0 where there are none.
  double cub_time(const question& q, std::int64_t n, std::int64_t answers, int launches) {
    if (q.what != op::sum || answers > INT32_MAX / 2) return 0;
    const auto by = [&](auto begin) {
      if (type_ == dtype::f32) return cub_sums<float>(begin, answers, launches);
      if (type_ == dtype::f64) return cub_sums<double>(begin, answers, launches);
      if (type_ == dtype::i32) return cub_sums<int>(begin, answers, launches);
      return 0.0;
    };
    if (!q.offsets.empty()) return by(static_cast<const std::int64_t*>(offsets_));
    if (q.axes.size() != 1 || q.axes[0] + 1 != static_cast<int>(q.shape.size())) return 0;
    return by(thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), begin_of{n / answers}));
  }

  settings s_;
  ::bench::meter meter_;
  workspace workspace_;
  unsigned sm_ = 0;
  std::uint64_t l2_ = 0;
  void *in_ = nullptr, *out_ = nullptr, *offsets_ = nullptr, *labels_ = nullptr;
  std::size_t input_bytes_ = 0, output_bytes_ = 0;
  std::vector<unsigned char> host_;
  std::vector<std::pair<std::size_t, double>> read_;
  dtype type_ = dtype::f32;
  data kind_ = data::normal;
  json_file file_{"bench_gpu_rows", s_.json};
  int failures_ = 0;
};

/// Offsets of segments whose lengths have a power law, a fifth of them empty.
std::vector<std::int64_t> power_law(std::int64_t n) {
  std::mt19937_64 g(3);
  std::vector<std::int64_t> at{0};
  while (at.back() < n && at.size() < (std::size_t{1} << 22)) {
    const double u = static_cast<double>((g() >> 11) + 1) * 0x1p-53;
    const auto length = g() % 5 == 0 ? std::int64_t{0} : static_cast<std::int64_t>(std::min(16 * std::pow(u, -0.8), 0x1p24));
    at.push_back(std::min(n, at.back() + length));
  }
  return at;
}
/// One of nearly all elements among 2^20 of 16.
std::vector<std::int64_t> one_huge(std::int64_t n) {
  std::vector<std::int64_t> at{0};
  const std::int64_t tiny = std::min(std::int64_t{1} << 20, n / 64);
  for (std::int64_t k = 0; k < tiny; ++k) {
    at.push_back(at.back() + 16);
    if (k == tiny / 2) at.push_back(n - (tiny - k - 1) * 16);
  }
  return at;
}

std::string text(std::int64_t n) { return std::to_string(n); }

void run_all(const settings& s, rows_bench& b, dtype t) {
  b.fill(t, data::normal);
  const std::int64_t all = b.most_elements();
  const auto has = [&](const char* family) { return listed(s.only, family); };
  if (has("segments")) {
    for (std::int64_t each = 2; each <= all; each *= 2) b.run({"segments", text(each), {all / each, each}, {1}, {}});
  }
  if (has("axes")) {
    const auto two = [&](std::int64_t m, std::int64_t n) {
      if (m * n > all) return;
      for (int axis = 0; axis < 2; ++axis) b.run({"axes", text(m) + "x" + text(n) + " axis " + text(axis), {m, n}, {axis}, {}});
    };
    two(16384, 16384);
    two(1 << 20, 256);
    two(256, 1 << 20);
    two(1 << 24, 16);
    two(16, 1 << 24);
    two(100003, 1001);
    two(2000003, 51);
    two(4000037, 25);
    b.run({"axes", "256x1024x1024 axis 1", {256, 1024, 1024}, {1}, {}});
    b.run({"axes", "4096x16x4096 axis 1", {4096, 16, 4096}, {1}, {}});
    b.run({"axes", "256x1024x1024 axes 0,1", {256, 1024, 1024}, {0, 1}, {}});
    b.run({"axes", "256x1024x1024 axes 0,2", {256, 1024, 1024}, {0, 2}, {}});
    for (const op o : {op::mean_var, op::norm2, op::dot, op::max, op::argmax}) {
      b.run({"axes", "2^18x1024 axis 1", {1 << 18, 1024}, {1}, {}, o});
      b.run({"axes", "2^18x1024 axis 0", {1 << 18, 1024}, {0}, {}, o});
    }
  }
  if (has("ragged")) {
    const auto lengths = power_law(all);
    b.run({"ragged", "power law", {lengths.back()}, {0}, lengths});
    b.run({"ragged", "one huge", {all}, {0}, one_huge(all)});
  }
  if (has("small")) {
    for (std::int64_t each = 16; each <= 65536; each *= 16) {
      for (std::int64_t rows = 1; rows <= 1024; rows *= 32) b.run({"small", text(rows) + "x" + text(each), {rows, each}, {1}, {}});
    }
  }
  if (has("labels")) {
    for (const std::int64_t groups : {10, 1000, 1000000}) b.run_labels(groups);
  }
  if (has("uncertain") && wf::is_floating(t)) {
    b.fill(t, data::uncertain);
    for (const std::int64_t each : {16, 64, 1024, 65536}) b.run({"uncertain", text(each), {(all >> 4) / each, each}, {1}, {}});
    b.run({"uncertain", "4096x4096 axis 0", {4096, 4096}, {0}, {}});
    if (has("labels")) b.run_labels(1000000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string name = argv[k], value = argv[k + 1];
    if (name == "--only") s.only = value;
    else if (name == "--types") s.types = value;
    else if (name == "--name") s.name = value;
    else if (name == "--json") s.json = value;
    else if (name == "--log2") s.log2_elements = std::atoi(value.c_str());
    else if (name == "--times") s.times = value != "0";
    else if (name == "--op") s.what = wf::op_named(value);
    else {
      std::fprintf(stderr, "bench_gpu_rows: no such option: %s; --only, --types, --op, --name, --log2, --times and --json are\n", name.c_str());
      return 2;
    }
  }
  if (argc % 2 == 0 || s.log2_elements < 16 || s.log2_elements > 32) {
    std::fprintf(stderr, "bench_gpu_rows: each option takes a value; --log2 one of 16 to 32\n");
    return 2;
  }
  rows_bench b(s);
  for (const dtype t : {dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::i32, dtype::i64, dtype::i16, dtype::i8, dtype::c64, dtype::c128}) {
    if (listed(s.types, std::string(wf::info(t).name))) run_all(s, b, t);
  }
  if (b.failures() != 0) std::printf("%d cases are wrong\n", b.failures());
  return b.failures() == 0 ? 0 : 1;
}
