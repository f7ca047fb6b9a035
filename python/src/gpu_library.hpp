// SPDX-License-Identifier: Apache-2.0
/// \file gpu_library.hpp
/// Calls of arrays that a library keeps on a GPU, as warpfold._core asks for them (device_call.hpp): read, reduced and answered in C++.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device_call.hpp"
#include "gpu_arrays.hpp"

namespace wfpy {

/// An attribute, or nothing where reading it raised.
nb::object attribute(PyObject* x, PyObject* name);
std::int64_t number_of(const nb::object& x);
PyObject* interned(const char* name);
nb::object tuple_of(const wf::extents& numbers);
nb::object call(PyObject* f, std::initializer_list<PyObject*> given, PyObject* names = nullptr, bool method = false);
nb::object item(const nb::object& all, Py_ssize_t k);
/// The shape of two arrays of one shape, one behind the other.
wf::extents both_shape(const wf::extents& one);
/// The axes that a plain call reduces, rising, and the shape of its answers. False for what general code has words for.
bool told_axes(PyObject* axis, bool keepdims, const wf::extents& shape, std::vector<int>& axes, wf::extents& kept);

/// An operation of two answers, and those of which each is one.
struct twins {
  wf::op both, first, second;
};

/// The arrays of one library, as it tells of them in the fewest steps. Its functions may throw; then general code says what is wrong.
struct library : device_call {
  struct place {
    device_array x;
    std::uintptr_t stream = 0;  // the library's current one
  };
  library(nb::handle arrays, const nb::list& types, const char* conversion) : device_call{arrays.inc_ref().ptr(), &answer}, conversion_(interned(conversion)) {
    for (std::size_t k = 0; k < types_.size(); ++k) types_[k] = nb::object(types[k]).release().ptr();
  }
  library(const library&) = delete;
  virtual ~library() = default;  // they stay: warpfold._core has their addresses

  /// The array, unless it is one for general code.
  virtual bool read(PyObject* x, place& found) const = 0;
  /// An array of the library's like x, and where its elements lie.
  virtual std::pair<nb::object, void*> room(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type) const = 0;
  /// Two arrays as of room(), for an answer each, of which the second lies behind the first. Nothing where the library has no such.
  virtual std::optional<std::array<nb::object, 2>> two_rooms(PyObject* x, const place& of, const wf::extents& shape, wf::dtype type, void*& first) const = 0;
  /// The address of another stream of the library's that a call names, unless that is for general code.
  virtual std::optional<std::uintptr_t> named(PyObject* stream) const {
    static_cast<void>(stream);
    return std::nullopt;
  }
  /// Its memory is not to be given away before that stream has come to here.
  virtual void used(PyObject* x, PyObject* stream) const {
    static_cast<void>(x);
    static_cast<void>(stream);
  }

  PyObject* type_object(wf::dtype type) const { return types_[static_cast<std::size_t>(type)]; }
  std::optional<wf::dtype> type_named(PyObject* object) const {
    for (std::size_t k = 0; k < types_.size(); ++k)
      if (types_[k] == object) return static_cast<wf::dtype>(k);
    return std::nullopt;
  }

 private:
  static PyObject* answer(const device_call& self, std::span<const wf::op> ops, bool several, PyObject* x, const asked& how) noexcept;

  /// One call: its arrays, its request but for the operation and the room, and the shape of the answers.
  struct prepared {
    PyObject* object;
    place x, y, indexes;
    std::uintptr_t stream = 0;
    std::vector<int> axes;
    wf::extents kept;
    wf::request r;
    const device_array* labels = nullptr;       ///< null where the call has none
    std::optional<wf::dtype> widened, cut;  ///< elements are to be of the first, answers modulo less of the second
    place mask;
    std::vector<nb::object> held;  ///< arrays of the library's for as long as the call takes
    std::int64_t* places = nullptr;  ///< the places of the elements that count, where answers are places
    const void* starts = nullptr;    ///< where segments begin, before what does not count was left out; null: they are `row` elements long
    int start_bytes = 8;
    std::int64_t row = 0;
    std::optional<wf::array_selection> counted;  ///< what counts of the elements of a sum
    int parts = 0;                               ///< numbers of a sum of floats
  };
  nb::object reduced(std::span<const wf::op> ops, bool several, PyObject* x, const asked& how) const;
  /// The answers of several operations as a tuple, in which those of two are tuples.
  nb::object fused(std::span<const wf::op> ops, const asked& how, prepared& p) const;
  /// One answer of each, as a tuple. `alone`: they are those of one operation, not of several whose answers are each as if it were alone.
  nb::object answers_of(const std::vector<wf::op>& ops, bool alone, const asked& how, prepared& p) const;
  /// Leaves out what does not count: then the request is one of segments of what does.
  bool select(std::span<const wf::op> ops, const asked& how, prepared& p) const;
  /// Whether a shape can be broadcast to another.
  static bool fits(const wf::extents& given, const wf::extents& shape);
  /// What is to be done with answers of what counts: places among that become places among all, and a sum of nothing +0.
  static void settle(wf::op o, const prepared& p, const turn& t, void* out);
  static bool is_whole(const prepared& p);
  /// Whether min and max are to be found in one pass that has two places for its answers: of a whole array without gaps.
  bool finds_extremes(const prepared& p) const;
  /// Whether both answers are to be had in one pass, each as if it were alone where they are not. Of many answers those are of parts of pairs, which takes a launch and memory more: it is for
  /// many elements, few of them answers.
  bool one_pass(const twins& t, bool alone, const prepared& p) const;
  /// Another array of the same kind, type and place, and the shape of both broadcast to one.
  bool read_second(PyObject* y, prepared& p) const;
  static bool read_told_axes(std::span<const wf::op> ops, const asked& how, prepared& p);
  /// Segments, or labels, which nobody looks at here.
  bool read_parts(const asked& how, prepared& p) const;
  nb::object answer_of(wf::op o, const asked& how, prepared& p) const;
  /// Whether a call for another type, of few elements, has them converted by kernels of this module, which take a third of the time of the library's own; then
  /// they stand in `p` as they are to be. Not into a graph, which would write to the stream's memory whenever it is launched.
  bool converts_here(wf::op o, const asked& how, prepared& p) const;
  static bool is_captured(std::uintptr_t stream);
  std::optional<wf::dtype> wanted(const asked& how) const;
  bool is_natural(wf::op o, wf::dtype element, const asked& how) const;
  /// Sums of integers modulo less than 2^64, and answers of a type that holds all elements, by the library's own conversions, which are on its own stream. Not valid for other calls.
  nb::object converted(wf::op o, PyObject* x, wf::dtype element, const asked& how) const;
  nb::object as_type(PyObject* x, wf::dtype type) const;
  /// Whether a wider type of floats or of complex numbers has every number of the other.
  static bool holds(wf::dtype wide, wf::dtype narrow);

  PyObject* conversion_;  // the name of the method that gives a copy of another type
  std::array<PyObject*, wf::dtypes.size()> types_{};  // their objects for element types; None: it has no such type
};

/// Those that were ever told of, the latest first.
std::vector<const library*>& libraries();
/// That whose arrays x is one of, or null.
const library* library_of(PyObject* x);

/// PyTorch's tensors; `exchange` is the exchange API of DLPack.
std::unique_ptr<library> torch_tensors(nb::handle kind, const nb::list& types, nb::handle exchange);
/// CuPy's arrays; `current` gives the current stream.
std::unique_ptr<library> cupy_arrays(nb::handle kind, const nb::list& types, nb::handle current);

}  // namespace wfpy
