// SPDX-License-Identifier: Apache-2.0
/// \file place.cuh
/// A device and what the ladder does on it: memory, runs, and on a GPU times. One source for the
/// GPU, simt and simt with instrumentation.
#pragma once

#include <memory>

#include "entry.cuh"
#include "stair_overlap.cuh"
#include "stair_precision.cuh"
#include "stair_transpose.cuh"
#include "timer.cuh"

#if defined(__SIMT__)
#include <simt/machine.hpp>
#endif

namespace ladder::inline WF_BUILD {

inline std::span<const entry> entries_of(wf::dtype type) {
  switch (type) {
    case wf::dtype::f32: return entries<float>();
    case wf::dtype::f64: return entries<double>();
    case wf::dtype::i32: return entries<int>();
    case wf::dtype::f16: return entries<__half>();
    default: return {};
  }
}

class device_place final : public place {
 public:
  explicit device_place(std::string_view name) {
    facts_.place = name;
    read_facts();
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    out_ = device_memory(out_words * sizeof(std::uint64_t));
    scratch_ = device_memory(scratch_bytes());
    ticket_ = device_memory(sizeof(unsigned));
    check(cudaMemsetAsync(ticket_.get(), 0, sizeof(unsigned), stream_), "cudaMemset");
    check(cudaMallocHost(&host_scratch_, scratch_bytes()), "cudaMallocHost");
  }
  ~device_place() override {
    cudaFreeHost(host_scratch_);
    cudaStreamDestroy(stream_);
  }
  device_place(const device_place&) = delete;
  device_place& operator=(const device_place&) = delete;

  const place_facts& facts() const override { return facts_; }

  std::span<const rung_info> rungs(wf::dtype type) const override {
    std::vector<rung_info>& infos = infos_[static_cast<std::size_t>(type)];
    if (infos.empty())
      for (const entry& e : entries_of(type)) infos.push_back(e.info);
    return infos;
  }

  void load(wf::dtype type, const void* host, std::uint64_t n) override {
    const std::uint64_t bytes = n * wf::info(type).size;
    if (bytes > capacity_) {
      x_ = device_memory();
      capacity_ = 0;
      x_ = device_memory(bytes);
      capacity_ = bytes;
    }
    if (bytes != 0) copy_in(x_.get(), host, bytes, stream_);
    type_ = type;
    host_ = host;
    n_ = n;
  }

  outcome run(std::size_t index, const request& asked) override {
    const entry& e = entries_of(type_)[index];
    poison_output();
    check(cudaMemsetAsync(scratch_.get(), 0xFF, scratch_bytes(), stream_), "cudaMemset");
    reset_counts();
    ladder::run r = prepare(asked);
    const bool ran = enqueue(e, r);
    outcome o;
    o.shape = r.shape;
    o.depth = r.depth;
    o.refused = r.refused;
    o.counted = read_counts();
    if (ran) collect(e, o);
    return o;
  }

  outcome repeat(std::size_t index, const request& asked, unsigned times, bool hot,
                 const std::function<void(bool)>& around) override {
    const entry& e = entries_of(type_)[index];
    poison_output();
    outcome o;
    const auto once = [&](void*) {
      ladder::run r = prepare(asked);
      enqueue(e, r);
      o.shape = r.shape;
      o.depth = r.depth;
      o.refused = r.refused;
    };
    repeat(once, times, hot || e.info.on_host, around);
    if (o.refused.empty()) collect(e, o);
    return o;
  }

  timing time(std::size_t index, const request& asked, bool hot) override {
    const entry& e = entries_of(type_)[index];
    poison_output();
    const auto once = [&] {
      ladder::run r = prepare(asked);
      enqueue(e, r);
    };
    timer& t = the_timer();
    const bool clock = e.info.on_host || e.info.waits;
    timing measured = clock ? t.by_clock(once, hot || e.info.on_host) : t.by_graph(once, hot);
    outcome o;
    collect(e, o);
    measured.result = o.result;
    return measured;
  }

  const void* loaded() const override { return x_.get(); }

  void finish(const work& w) override {
    w(stream_);
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  void repeat(const work& w, unsigned times, bool hot, const std::function<void(bool)>& around) override {
    for (unsigned k = 0; k < times; ++k) {
      if (!hot) the_timer().flush();
      check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
      around(true);
      w(stream_);
      around(false);
    }
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  timing time(const work& w, bool hot) override {
    return the_timer().by_graph([&] { w(stream_); }, hot);
  }

  double read_seconds(std::uint64_t bytes, bool hot) override {
    device_memory own;
    const void* from = x_.get();
    if (bytes > capacity_) {
      own = device_memory(bytes);
      from = own.get();
    }
    return the_timer().read_seconds(from, bytes, hot);
  }
  double empty_seconds(bool hot) override { return the_timer().empty_seconds(hot); }

  std::vector<transpose_row> transposes(unsigned side, bool timed) override {
    return run_transposes(side, stream_, timed);
  }
  std::vector<overlap_row> overlaps(std::uint64_t n) override {
    return run_overlaps(n, facts_.sms);
  }
  std::vector<precision_row> precisions(std::uint64_t n) override {
    return run_precisions(n, stream_);
  }

 private:
  // The output is word 1; the others must stay as they were.
  static constexpr std::size_t out_words = 4;
  /// A partial sum for each of the most blocks that any launch of a rung has resident.
  std::size_t scratch_bytes() const { return std::size_t{facts_.sms} * 64 * sizeof(double); }

  void read_facts();
  void reset_counts();
  counters read_counts();

  /// All of the word that a result narrower than it lies in, too: results are compared as words.
  void poison_output() {
    check(cudaMemsetAsync(out_.get(), 0xFF, out_words * sizeof(std::uint64_t), stream_),
          "cudaMemset");
    host_out_ = ~std::uint64_t{0};
  }

  ladder::run prepare(const request& asked) {
    ladder::run r;
    r.block = asked.block;
    r.blocks_per_sm = asked.blocks_per_sm;
    r.sms = asked.sms != 0 ? asked.sms : facts_.sms;
    r.capability = facts_.capability;
    r.stream = stream_;
    r.scratch = scratch_.get();
    r.host_scratch = host_scratch_;
    r.scratch_bytes = scratch_bytes();
    r.ticket = static_cast<unsigned*>(ticket_.get());
    r.workspace = &workspace_;
    return r;
  }

  /// False if the rung refused.
  bool enqueue(const entry& e, ladder::run& r) {
    void* out = e.info.on_host || e.info.waits ? static_cast<void*>(&host_out_)
                                               : static_cast<std::uint64_t*>(out_.get()) + 1;
    const cudaError_t error = e.call(e.info.on_host ? host_ : x_.get(), n_, out, r);
    if (!r.refused.empty()) return false;
    check(error, e.info.name);
    return true;
  }

  /// Waits; reads the result, and looks at what should not have changed.
  void collect(const entry& e, outcome& o) {
    std::uint64_t words[out_words];
    unsigned ticket = 0;
    check(cudaMemcpyAsync(words, out_.get(), sizeof words, cudaMemcpyDeviceToHost, stream_),
          e.info.name);
    check(cudaMemcpyAsync(&ticket, ticket_.get(), sizeof ticket, cudaMemcpyDeviceToHost, stream_),
          e.info.name);
    check(cudaStreamSynchronize(stream_), e.info.name);
    o.result = e.info.on_host || e.info.waits ? host_out_ : words[1];
    // What lies above a narrow result is poison, or a rung's before it.
    const bool narrow = e.info.element_result && type_ == wf::dtype::f16;
    const unsigned bits = type_ == wf::dtype::f64 ? 64 : narrow ? 16 : 32;
    o.result &= ~std::uint64_t{0} >> (64 - bits);
    if ((words[0] & words[2] & words[3]) != ~std::uint64_t{0}) o.damage = "wrote beside its output";
    if (ticket != 0) o.damage = "left its ticket at " + std::to_string(ticket);
  }

  timer& the_timer() {
    if (!timer_) timer_ = std::make_unique<timer>(stream_, facts_.l2_bytes, facts_.sms);
    return *timer_;
  }

  place_facts facts_;
  mutable std::vector<rung_info> infos_[wf::dtypes.size()];
  cudaStream_t stream_ = nullptr;
  device_memory x_, out_, scratch_, ticket_;
  void* host_scratch_ = nullptr;
  std::uint64_t capacity_ = 0, n_ = 0, host_out_ = 0;
  const void* host_ = nullptr;
  wf::dtype type_ = wf::dtype::f32;
  wf::device::workspace workspace_{};
  std::unique_ptr<timer> timer_;
};

inline void device_place::read_facts() {
  int count = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&count); e != cudaSuccess)
    throw wf::error(wf::errc::no_device, std::string("no GPU: ") + cudaGetErrorString(e));
  if (count == 0) throw wf::error(wf::errc::no_device, "no GPU");
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  facts_.device = p.name;
#if defined(__SIMT__)
  facts_.driver = "no driver";
#else
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const auto version = [](int v) {
    return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
  };
  facts_.driver = "CUDA " + version(driver) + " driver, " + version(runtime) + " runtime";
#endif
  facts_.capability = 10 * p.major + p.minor;
  facts_.sms = static_cast<unsigned>(p.multiProcessorCount);
  facts_.l2_bytes = static_cast<std::uint64_t>(p.l2CacheSize);
  facts_.memory_bytes = all;
  facts_.free_bytes = free;
#if defined(__CUDACC__)
  char pci[32] = "";
  if (cudaDeviceGetPCIBusId(pci, sizeof pci, device) == cudaSuccess) facts_.pci = pci;
#endif
}

inline void device_place::reset_counts() {
#if defined(__SIMT__)
  simt::reset_stats();
#endif
}

inline counters device_place::read_counts() {
  counters c;
#if defined(__SIMT__)
  const simt::launch_stats s = simt::stats();
  c = {s.threads, s.barriers, s.warp_syncs, s.shuffles, s.atomics, s.grid_syncs, s.cluster_syncs};
#endif
  return c;
}

}  // namespace ladder::inline WF_BUILD
