// SPDX-License-Identifier: Apache-2.0
/// \file engine.hpp
/// What the Python package asks of the library's CPU, as requests but for run_whole. Nothing here knows Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <warpfold/builtin.hpp>
#include <warpfold/detail/cpu/fusion.hpp>
#include <warpfold/detail/cpu/running.hpp>
#include <warpfold/request.hpp>

namespace wfpy {

/// Elements in host memory: strides in bytes, any alignment.
struct layout {
  const void* data = nullptr;
  wf::dtype type = wf::dtype::f64;
  wf::extents shape, strides;

  std::int64_t size() const;     ///< throws wf::error beyond 2^63 - 1
  bool contiguous() const;       ///< in C order, without gaps
};
/// Repeated along dimensions of length 1 and new ones before the first. Throws wf::error (bad_argument).
layout broadcast(const layout& x, const wf::extents& shape, const char* what);

/// What a call asks for, but its elements and how they are shared among answers.
struct request {
  std::vector<wf::op> ops;                 ///< several are answered in one pass
  std::optional<wf::dtype> round_to;       ///< sum, mean: of the answer, instead of the operation's own
  bool skip_nans = false;                  ///< NaNs are passed over
  wf::accuracy accuracy = wf::accuracy::exact;
  wf::options options;
  int threads = 0;
};

/// How elements are shared among answers. What is pointed to outlives the partition. Throw wf::error (bad_argument) of no offsets, and of labels that
/// are not as many as elements.
wf::partition along(std::span<const int> axes);
wf::partition by_segment(std::span<const std::int64_t> offsets);
wf::partition by_label(const layout& x, std::span<const std::int64_t> labels, std::int64_t answers);

/// The functions of a request for elements of one type. An answer is `size()` bytes, in which that of operation k
/// begins at `offset(k)`.
class plan {
 public:
  /// `masked`: a second input of bool says which elements count. Throws wf::error (unsupported).
  plan(const request& r, wf::dtype element, bool masked);
  /// One reduction of the caller's own, whose functions and object outlive the plan; `ops` says nothing then.
  plan(const request& r, const wf::cpu::erased& own, const void* self, wf::dtype element, bool masked);
  plan(const plan&) = delete;
  ~plan();

  int inputs() const;                      ///< arrays, that of the mask among them
  std::size_t size() const;
  std::size_t offset(std::size_t k) const;
  std::size_t size_of(std::size_t k) const;

  /// `second`: the other input of dot, or the mask; of x's shape.
  void run(const wf::partition& by, const layout& x, const layout* second, void* out) const;

  /// Pieces one after the other: of no partition, contiguous.
  void add(const void* x, const void* mask, std::int64_t n);
  void finish(void* out);

 private:
  struct parts;
  std::unique_ptr<parts> p_;
};

/// One answer from n elements without gaps, without a request, which would be 45 ns of the 510 that the sum of one number takes then.
inline void run_whole(const wf::cpu::erased& f, const wf::options& o, const void* x, std::int64_t n, void* out) {
  wf::context c;
  c.rounding = o.rounding;
  const void* const p[] = {x, nullptr};
  wf::cpu::reduce_run(f, &o, p, n, c, out);
}
/// One answer from two arrays of one shape, with gaps or without; an answer for each part.
void run_pair(const wf::cpu::erased& f, const wf::options& o, const layout& x, const layout& y, void* out);
void run_parts(const wf::cpu::erased& f, const wf::options& o, const layout& x, const wf::partition& by, void* out);
/// Whether the engine copies these rows with gaps itself.
bool copies_rows(const wf::cpu::erased& f, const layout& x, std::span<const int> axes);

class selected;
/// One answer from the elements of x that the mask, of its shape, names.
void run_selected(const selected& s, const layout& x, const layout& mask, void* out);

/// What counts of the elements: all, those that a mask of their shape names, those that are not NaN.
struct counted {
  const layout* mask = nullptr;
  bool skip_nans = false;
  int threads = 0;
};
/// Any reduction, of what counts.
void run_counted(const wf::cpu::erased& f, const void* self, const layout& x, const counted& c, const wf::partition& by, void* out);

/// One answer of what counts of a built-in reduction's elements.
void run_all(const wf::cpu::erased& f, const wf::options& o, const layout& x, const counted& c, void* out);

}  // namespace wfpy
