// SPDX-License-Identifier: Apache-2.0
/// \file backend.hpp
/// What carries out a request (request.hpp): the CPU, a GPU, or simt. A front door knows no more of them than this.
///
///     wf::request r = …;
///     r.wanted = wf::output::states;
///     wf::cpu_backend().run(r);                       // a state instead of an answer
///     wf::merge_states(form, a, b, 1);                // two arrays' states become one
///     wf::finish_states(form, options, a, 1, out);    // the answer of both arrays
///     place.merge(form, device_a, device_b, 1);       // the same on a GPU, of states in its memory
///
/// A state is what was reduced so far: `form.bytes` bytes, a multiple of 8, in words of 64 bits:
///
///     word 0      the number of elements (int64)
///     word 1 …    the reduction's own words (docs/states.md): digits and counters of exact sums, int64 keys of
///                 extremes, the two words of argmin's key and index, doubles where the accuracy is native
///
/// States are canonical: the same elements give the same bytes on every backend and in any partition. The exception is native
/// floating point (accuracy::fast, logsumexp, prod of floats), whose words depend on the order of additions. Where
/// `form.adds`, states are merged by adding their words as int64, so any all-reduce with an int64 sum merges them, up to
/// 2^31 at a time before one canonicalises them (merge_states does).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <warpfold/request.hpp>

namespace wf {

/// What the states of a reduction are.
struct state_form {
  op what;                ///< the operation
  dtype element;          ///< the type of the elements
  wf::accuracy accuracy;  ///< exact, or native arithmetic
  std::size_t bytes;  ///< the size of a state
  bool adds;          ///< states are merged by int64 addition of their words
  bool canonical;     ///< the same elements give the same bytes in any order
};

/// The version of the states' words; it changes when they do.
inline constexpr int state_version = 2;

/// Throws wf::error (unsupported) for element types that the operation does not take.
WF_API state_form form_of_states(op what, dtype element, accuracy a = accuracy::exact);
/// Writes `count` states of no elements, form.bytes bytes each. Throws wf::error: unsupported for a form that form_of_states()
/// does not make, bad_argument for a negative count and for a null pointer to one or more states. So do the functions below.
WF_API void clear_states(const state_form& form, void* states, std::int64_t count);
/// to[k] becomes the state of its elements and of those of later[k], which come after them. Host memory, of any alignment.
/// Throws wf::error (capacity) where a state would have more than 2^63 - 1 elements; the states before it have been merged.
WF_API void merge_states(const state_form& form, void* to, const void* later, std::int64_t count);
/// to[k] becomes the state that it was before later[k] was merged into it. Throws wf::error: unsupported unless `form.adds`,
/// bad_argument where later[k] has more elements than to[k].
WF_API void unmerge_states(const state_form& form, void* to, const void* later, std::int64_t count);
/// Writes the answers of `count` states, without gaps, of the type that result_of_builtin() gives. Host memory, of any alignment.
/// Throws wf::error (unsupported) for a form that form_of_states() does not make.
WF_API void finish_states(const state_form& form, const options& o, const void* states, std::int64_t count, void* out);

/// What carries out requests: cpu_backend(), a wf::gpu, a wf::simulated_gpu.
///
///     wf::request r;                       // the sum of f64, unless told otherwise
///     r.inputs.data[0] = values.data();
///     r.inputs.shape = {static_cast<std::int64_t>(values.size())};
///     r.inputs.strides[0] = {sizeof(double)};
///     double answer = 0;
///     r.out = &answer;
///     wf::cpu_backend().run(r);
class WF_API backend {
 public:
  virtual ~backend() = default;
  virtual std::string_view name() const noexcept = 0;  ///< "cpu", "cuda" or "simt"
  /// Whether it carries out such requests, whatever their shapes and pointers.
  virtual bool takes(op what, dtype element, accuracy a, partition::kinds by, output wanted) const noexcept = 0;
  /// Writes answers or states to r.out. A GPU's are there once the stream has done the work. Throws wf::error as check()
  /// does, and unsupported where takes() is false.
  virtual void run(const request& r) const = 0;

  /// Does and throws what clear_states() does, for states in the backend's memory. On a GPU this function and those below work in the stream's
  /// order, and throw wf::error (device) where a CUDA call fails; states there are aligned to 8 bytes.
  virtual void clear(const state_form& form, void* states, std::int64_t count) const = 0;
  /// Does and throws what merge_states() does, but a GPU does not check the number of elements. States of native floating point are copied to the
  /// host and back, and the call waits.
  virtual void merge(const state_form& form, void* to, const void* later, std::int64_t count) const = 0;
  /// Does and throws what unmerge_states() does, but a GPU does not check the number of elements.
  virtual void unmerge(const state_form& form, void* to, const void* later, std::int64_t count) const = 0;
  /// Does and throws what finish_states() does; `out` is in the backend's memory too. The states do not change. States of native floating point are
  /// copied to the host, and the call waits.
  virtual void finish(const state_form& form, const options& o, const void* states, std::int64_t count, void* out) const = 0;

 protected:
  backend() = default;
  backend(const backend&) = default;
  backend& operator=(const backend&) = default;
  backend(backend&&) = default;
  backend& operator=(backend&&) = default;
};

/// The processor that the program runs on. It takes everything. Throws nothing.
WF_API const backend& cpu_backend();

}  // namespace wf
