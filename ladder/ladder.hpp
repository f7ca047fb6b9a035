// SPDX-License-Identifier: Apache-2.0
/// \file ladder.hpp
/// The ladder as its runner sees it: what a rung is called, what it was asked, what it did, and the
/// places it runs on. Host-safe: no CUDA type crosses this header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <warpfold/io/dtype.hpp>

#include "stairs.hpp"

namespace ladder {

/// What is fixed about a rung, or about one variant of it: a row of the table.
struct rung_info {
  std::string_view name;          ///< `tree_modulo`
  std::string_view variant = {};  ///< `kahan` of `cpu`; empty where there is one only
  std::string_view file = {};     ///< `07_tree_modulo.cuh`
  unsigned min_block = 32;        ///< the fewest threads a block that it is written for
  bool power_of_two = false;      ///< its tree halves the block, so the block must be one
  bool fixed_block = false;       ///< chooses the block itself, whatever is asked
  bool on_host = false;           ///< runs on the CPU, on host memory
  bool waits = false;             ///< waits for the device itself: cannot be captured in a graph
  bool any_order = false;         ///< atomics: runs may differ in the last bits
  bool exact = false;             ///< must equal the correctly rounded sum, bit for bit
  bool element_result = false;    ///< gives an element's type, where f16 elsewhere gives f32
  bool expected_wrong = false;    ///< kept wrong on purpose
};

/// `cpu/kahan`, `race`
std::string full_name(const rung_info&);

struct request {
  unsigned block = 256;        ///< threads a block: a multiple of 32, at most 1024
  unsigned blocks_per_sm = 0;  ///< 0: as the rung likes
  unsigned sms = 0;            ///< launch as on a device of so many; 0: as on this one
};

/// The grid that a rung launched. Of several launches, the first.
struct launch_shape {
  std::uint64_t blocks = 0;
  unsigned block = 0;
  unsigned cluster = 1;
  unsigned launches = 0;
  std::uint64_t shared_bytes = 0;  ///< dynamic shared memory of a block
};

/// What simt counts on every run; all 0 on a GPU.
struct counters {
  std::uint64_t threads = 0, barriers = 0, warp_syncs = 0, shuffles = 0, atomics = 0;
  std::uint64_t grid_syncs = 0, cluster_syncs = 0;
};

struct outcome {
  std::string refused;  ///< why it cannot run here; empty if it ran
  launch_shape shape;
  double depth = 0;          ///< the most additions one element passed through
  std::uint64_t result = 0;  ///< the bits of the sum, low end first
  counters counted;
  std::string damage;  ///< what it wrote that was not its own to write; empty if nothing
};

struct timing {
  double median = 0, least = 0, most = 0;  ///< seconds
  int samples = 0;
  std::string_view method;   ///< `graph`, `events` or `clock`
  std::uint64_t result = 0;  ///< what the last timed run left
};

struct place_facts {
  std::string_view place;      ///< `gpu`, `simt` or `lens`
  std::string device, driver;  ///< driver and runtime versions
  int capability = 0;          ///< 90 for compute capability 9.0
  unsigned sms = 0;
  std::uint64_t l2_bytes = 0, memory_bytes = 0, free_bytes = 0;
  std::string pci;  ///< the device's, as NVML wants it
};

/// One device, one array on it, and every rung. For one host thread. A call on the device that
/// fails throws wf::error (errc::device) with what was done and the call's own text.
class place {
 public:
  virtual ~place() = default;
  virtual const place_facts& facts() const = 0;
  virtual std::span<const rung_info> rungs(wf::dtype) const = 0;
  /// Copies n elements to the device, in place of what was there. The host's copy must outlive its
  /// use: the rungs on the host read it.
  virtual void load(wf::dtype, const void* host, std::uint64_t n) = 0;
  /// Poisons the output and the scratch memory, runs the rung on what was loaded, waits.
  virtual outcome run(std::size_t rung, const request&) = 0;
  /// Runs the rung again and again on what was loaded, as a program would: nothing is poisoned or
  /// looked at in between. around(true) is called before each run, around(false) after it was
  /// enqueued; before the first, and outside of those, the device is idle. hot as below.
  virtual outcome repeat(std::size_t rung, const request&, unsigned times, bool hot,
                         const std::function<void(bool)>& around) = 0;
  /// Times a rung that ran before. hot: the L2 keeps what the run before left in it.
  virtual timing time(std::size_t rung, const request&, bool hot) = 0;

  /// Something else than a rung, enqueued on the stream (a cudaStream_t) that it is given.
  using work = std::function<void(void* stream)>;
  virtual const void* loaded() const = 0;  ///< what was loaded, on the device
  virtual void finish(const work&) = 0;    ///< enqueues it, and waits
  virtual void repeat(const work&, unsigned times, bool hot, const std::function<void(bool)>& around) = 0;
  virtual timing time(const work&, bool hot) = 0;

  /// Median seconds of a kernel that only loads `bytes` bytes of the device's own memory.
  virtual double read_seconds(std::uint64_t bytes, bool hot) = 0;
  virtual double empty_seconds(bool hot) = 0;  ///< an empty kernel's, measured as the rungs are

  // The side stairs; each verifies what it did. Times are 0 on simt.
  virtual std::vector<transpose_row> transposes(unsigned side, bool timed = true) = 0;
  virtual std::vector<overlap_row> overlaps(std::uint64_t n) = 0;
  virtual std::vector<precision_row> precisions(std::uint64_t n) = 0;
};

/// open_cuda() gives nullptr in a build without CUDA, and throws wf::error (errc::no_device) with
/// the reason where there is no GPU.
std::unique_ptr<place> open_cuda();
std::unique_ptr<place> open_simt();
std::unique_ptr<place> open_lens();

}  // namespace ladder
