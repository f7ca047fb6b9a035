// SPDX-License-Identifier: Apache-2.0
/// \file gpu_arrays.hpp
/// Arrays on a GPU as they tell of themselves, and the streams that their reductions are put on: what the files of warpfold._gpu share. Compiled against simt these are warpfold._simt's, which the tests
/// alone use: there the CPU's memory is a GPU's.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>
#include <nanobind/nanobind.h>
#include <warpfold/detail/gpu/array_calls.hpp>
#include <warpfold/gpu.hpp>

#include "told_by_python.hpp"

namespace wfpy {

const wf::device_library& kernels();
#if WF_PYTHON_SIMT
using array_calls = wf::simt_array_calls;
#else
using array_calls = wf::cuda_array_calls;
#endif

[[noreturn]] void refuse(const std::string& what);
void check(cudaError_t e, const char* who);

/// An array as it tells of itself; strides in bytes.
struct device_array {
  const void* data = nullptr;
  wf::dtype type = wf::dtype::f64;
  wf::extents shape, strides;
  int device = 0;
  bool read_only = false;
  std::optional<std::uintptr_t> stream;  // on which its elements are made, where it says so
  std::shared_ptr<void> held;            // what DLPack holds

  std::int64_t size() const {
    const auto n = wf::detail::product(shape);
    if (!n) refuse("an array of more than 2^63 - 1 elements");
    return *n;
  }
  bool contiguous() const {
    auto step = static_cast<std::int64_t>(wf::info(type).size);
    if (size() == 0) return true;
    for (std::size_t d = shape.size(); d-- > 0; step *= shape[d])
      if (shape[d] != 1 && strides[d] != step) return false;
    return true;
  }
};

void without_gaps(device_array& a);
wf::extents broadcast_strides(const device_array& x, const wf::extents& shape);
/// The array that a __cuda_array_interface__ tells of, version 3 and before.
device_array of_interface(const nb::dict& told, const char* who);
/// The array that __dlpack__() gave; pinned: its library says that it is, of what the capsule may call the CPU's.
device_array of_capsule(nb::handle capsule, const char* who, bool pinned);

/// The thread's current device, for as long as a call takes.
class on_device {
 public:
  on_device(int wanted, const char* who) {
    check(cudaGetDevice(&before_), who);
    if (before_ == wanted) return;
    check(cudaSetDevice(wanted), who);
    changed_ = true;
  }
  on_device(const on_device&) = delete;
  ~on_device() {
    if (changed_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

/// A place for each stream that was ever reduced on, and whose turn it is there. They stay: a stream's scratch memory cannot be given back
/// when the stream may be gone.
struct turn {
  explicit turn(std::uintptr_t stream) : place(kernels(), reinterpret_cast<void*>(stream)) {}
  wf::device_place place;
  std::mutex one_at_a_time;

  /// Memory for what is put on the stream before the next call that asks for some. It stays, as the place's scratch memory does.
  void* memory(std::size_t bytes) {
    if (bytes > size_) {
      if (at_ != nullptr) place.machine().give_back(at_, place.stream());
      at_ = nullptr;
      size_ = 0;
      const std::size_t more = std::bit_ceil(bytes);
      at_ = place.machine().take(more, place.stream());
      size_ = more;
    }
    return at_;
  }

 private:
  void* at_ = nullptr;
  std::size_t size_ = 0;
};
turn& turn_of(int device, std::uintptr_t stream);

/// What `before` has been given so far comes first on `after`.
void in_order(int device, std::uintptr_t before, std::uintptr_t after);
inline cudaStream_t stream_at(std::uintptr_t address) { return reinterpret_cast<cudaStream_t>(address == 1 ? 0 : address); }  // both are the default stream

/// f(turn) with that of a stream, which is one thread's at a time; other threads of Python run meanwhile: a launch waits where the stream is full.
template <class F>
void in_turn(int device, std::uintptr_t stream, wf::op what, F f) {
  if (stream == 1) stream = 0;  // both are the default stream
  const gil_released others_run;
  const on_device there(device, wf::op_names[static_cast<int>(what)]);
  turn& t = turn_of(device, stream);
  const std::lock_guard lock(t.one_at_a_time);
  f(t);
}

/// A request's labels as its kernels take them, int64 without gaps. What is made of others is memory of the stream, given back in its order.
class wide_labels {
 public:
  /// labels: those of the request; null: it has none.
  wide_labels(wf::request& r, const device_array* labels, const wf::device_place& on) : on_(on) {
    if (labels != nullptr && !are_wide(*labels)) widen(r, *labels);
  }
  wide_labels(const wide_labels&) = delete;
  ~wide_labels() { give_back(); }

  /// What a request says of labels before they are looked at.
  static void name(wf::partition& by, const device_array& labels) {
    by.kind = wf::partition::kinds::labels;
    by.indexes = labels.data;
    by.index_bytes = sizeof(std::int64_t);
  }

 private:
  /// Those of uint64, too: no answer has a label from 2^63 on, nor a negative one.
  static bool are_wide(const device_array& labels) {
    return labels.size() == 0 || ((labels.type == wf::dtype::i64 || labels.type == wf::dtype::u64) && labels.contiguous());
  }
  void widen(wf::request& r, const device_array& labels) {
    const wf::device_machine& machine = on_.machine();
    r.by.indexes = made_ = machine.take(static_cast<std::size_t>(labels.size()) * sizeof(std::int64_t), on_.stream());
    const int e = array_calls::widen_labels(labels.data, labels.type, labels.strides[0], labels.size(), static_cast<std::int64_t*>(made_), on_.stream());
    if (e == 0) return;
    give_back();  // no destructor comes after a constructor that throws
    machine.fail(e, "labels");
  }
  void give_back() noexcept {
    if (made_ != nullptr) on_.machine().give_back(std::exchange(made_, nullptr), on_.stream());
  }

  const wf::device_place& on_;
  void* made_ = nullptr;
};

/// labels: null where the request has none.
inline void put(wf::request r, int device, std::uintptr_t stream, const device_array* labels = nullptr) {
  in_turn(device, stream, r.what, [&](const turn& t) {
    const wide_labels wide(r, labels, t.place);
    t.place.run(r);
  });
}

}  // namespace wfpy
