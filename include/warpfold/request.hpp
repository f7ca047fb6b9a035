// SPDX-License-Identifier: Apache-2.0
/// \file request.hpp
/// Everything that can be asked of warpfold, in one struct: the operation, the elements, how they are shared among
/// answers, the options, and whether answers or states are wanted. Every front door (warpfold.hpp, gpu.hpp, warpfold.h,
/// the program) makes a request; a backend (backend.hpp) carries it out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <warpfold/builtin.hpp>
#include <warpfold/config.hpp>
#include <warpfold/context.hpp>
#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/export.h>
#include <warpfold/io/dtype.hpp>
#include <warpfold/types.hpp>
#include <warpfold/view.hpp>

namespace wf {

/// How elements are shared among answers. `indexes` points to memory that the backend reads, as its inputs do; the host reads
/// `axes`.
struct partition {
  /// The ways to share elements.
  enum class kinds : std::uint8_t {
    whole,           ///< one answer
    axes,            ///< one per position along the other axes, C-ordered
    segments,        ///< for a one-dimensional input: segment k is the elements offsets[k] … offsets[k + 1]
    equal_segments,  ///< for a one-dimensional input: `length` elements each; the last may be shorter
    labels           ///< for a one-dimensional input: element i belongs to answer labels[i], 0 <= labels[i] < count
  };
  kinds kind = kinds::whole;       ///< which of these
  bool keepdims = false;           ///< axes: those that are reduced stay, with length 1
  std::uint8_t index_bytes = 8;    ///< size of an offset or a label: 4 or 8, signed
  std::span<const int> axes{};     ///< the axes that are reduced, in any order; negative ones count from the last
  const void* indexes = nullptr;   ///< the count + 1 offsets, or the labels
  std::int64_t count = 0;          ///< segments, or answers by label
  std::int64_t length = 0;         ///< for equal segments
};

/// What is written: answers, of the types in results.hpp; answers of integers in a wf::checked, which says whether the true
/// answer fits; or states (backend.hpp).
enum class output : std::uint8_t {
  answers,  ///< answers
  checked,  ///< integers, and whether the true answer fits
  states    ///< what was reduced so far
};

struct own_kernels;  // detail/gpu/own_kernels.hpp

/// A reduction that no operation names: the caller's own (reduction.hpp), one of a function's values (wf::transform), or several in one pass
/// (wf::fuse). The CPU needs its functions, a GPU its kernels, which gpu.cuh compiles. The objects that it points to outlive the call.
struct own_reduction {
  const cpu::erased* functions = nullptr;  ///< if this and `kernels` are nullptr, request::what is asked for
  const void* self = nullptr;              ///< the first argument of its functions: the caller's object, or the options of an operation
  const char* name = nullptr;              ///< the text that messages begin with
  const own_kernels* kernels = nullptr;    ///< how a GPU runs it; nullptr: not at all
};

/// Everything that can be asked; by default the exact sum of f64. Shapes and strides are those of `inputs`.
struct request {
  op what = op::sum;                      ///< the operation
  dtype element = dtype::f64;             ///< the type of the elements
  wf::options options{};                  ///< rounding, correction
  cpu::operands inputs;                   ///< the inputs, of one shape, strides in bytes; dot has a second one
  std::array<bool, cpu::max_inputs> swapped{};  ///< whether an input's bytes are in the other order than the machine's
  partition by{};                         ///< how elements are shared among answers
  /// The index of the first element of each answer: argmin of a piece then answers the index in the whole array.
  std::int64_t first = 0;
  output wanted = output::answers;        ///< answers or states
  void* out = nullptr;                    ///< room for all answers or states, without gaps
  wf::context context{};                  ///< accuracy; for the CPU, threads and executor
  std::atomic<std::uint64_t>* progress = nullptr;  ///< if given, the CPU counts there the bytes reduced so far
  own_reduction own{};                    ///< asked for instead of `what` and `element`, where it has functions or kernels
};

namespace detail {

/// Whether a request is of a reduction that no operation names.
inline bool is_own(const request& r) { return r.own.functions != nullptr || r.own.kernels != nullptr; }

/// Throws wf::error (bad_argument): the number of threads is below 0.
[[noreturn]] WF_API void refuse_threads(int threads);
/// Adds input k of a call: elements of `size` bytes, strides in elements. Throws wf::error (bad_argument) where its shape is not that
/// of input 0. It is compiled once, in the library, since every call uses it.
WF_API void add_input(cpu::operands& o, std::size_t k, const void* data, std::size_t size, const extents& shape, const extents& strides);
/// The same of n elements without gaps.
WF_API void add_input(cpu::operands& o, std::size_t k, const void* data, std::size_t size, std::size_t n);

}  // namespace detail

/// The shape of the answers: empty if there is one. Throws wf::error (bad_argument, beginning with `who`) on axes,
/// offsets, lengths and labels that do not fit the inputs' shape, and on more than 2^63 - 1 answers.
WF_API extents shape_of_answers(const extents& shape, const partition& by, const char* who);

/// Checks what does not depend on the backend, and returns the shape of the answers. Throws wf::error: unsupported for an element type that the
/// operation does not take, and for states or swapped bytes with a reduction of the caller's own; bad_argument for an input that is null though
/// it has elements, an `out` that is null though there are answers, or a partition that does not fit.
WF_API extents check(const request& r);

}  // namespace wf
