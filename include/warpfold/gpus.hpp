// SPDX-License-Identifier: Apache-2.0
/// \file gpus.hpp
/// Several GPUs of one process as one place: each reduces its piece, the states are merged on the host, and the answer is rounded once.
/// The bits are those of one GPU and of the CPU.
///
///     wf::gpus all;                                           // every device; or wf::gpus all{{0, 2}}; keep it
///     double s = wf::sum(all, host_vector);                   // cut into as many pieces, copied, reduced at the same time
///     std::vector<std::span<const float>> pieces = …;         // pieces[k] in the memory of device k, in the array's order
///     float t = wf::sum(all, wf::pieces(pieces));             // nothing is copied but a state per device
///     auto at = wf::argmin(all, wf::pieces(pieces));          // the place in the whole array
///
/// Calls wait, and return the answer of the whole. One host thread at a time may use it. It has streams of its own, so memory that
/// others write must be ready before the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <warpfold/gpu.hpp>

namespace wf {

/// One array in pieces: spans in their order, the k-th in the memory of the k-th device of a wf::gpus.
template <class T>
struct device_pieces {
  std::vector<std::span<const T>> spans;  ///< in the order of the array, spans[k] in the memory of device k
};
/// The same of any range of spans, for a call: wf::sum(all, wf::pieces(spans)). Throws nothing but std::bad_alloc.
template <std::ranges::input_range R>
auto pieces(const R& spans) {
  using T = std::remove_cv_t<typename std::ranges::range_value_t<R>::element_type>;
  return device_pieces<T>{{std::ranges::begin(spans), std::ranges::end(spans)}};
}

namespace detail {

/// Sets the thread's device for a scope.
class on_device {
 public:
  on_device(const device_machine& m, int device) : m_(&m), before_(m.use(device)) {}
  ~on_device() {
    try {
      m_->use(before_);
    } catch (...) {  // the device was lost, and the caller has had that error
    }
  }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;

 private:
  const device_machine* m_;
  int before_;
};

/// Memory of a device, given back at the end of a scope.
class given_back {
 public:
  given_back(const device_machine& m, void* p, void* stream) : m_(&m), p_(p), stream_(stream) {}
  ~given_back() { m_->give_back(p_, stream_); }
  given_back(const given_back&) = delete;
  given_back& operator=(const given_back&) = delete;

 private:
  const device_machine* m_;
  void *p_, *stream_;
};

template <class Place, class Kernels>
class several_places {
 public:
  static constexpr bool is_place = true;  ///< distinguishes places from inputs

  /// Every device. Throws wf::error (no_device) where there is none.
  several_places() : several_places(all_devices()) {}
  /// Devices by their numbers, in the order of the pieces; one may come twice. Throws wf::error (bad_argument) for a number that is no device's.
  explicit several_places(const std::vector<int>& devices) {
    const int there = Kernels::machine().devices();
    if (devices.empty()) throw error(errc::bad_argument, "gpus: no devices; at least one is needed");
    for (const int d : devices)
      if (d < 0 || d >= there)
        throw error(errc::bad_argument, "gpus: device " + std::to_string(d) + " of " + std::to_string(there) + ", which count from 0");
    for (const int d : devices) one_.push_back(std::make_unique<one>(d));
  }

  std::size_t size() const { return one_.size(); }
  int device(std::size_t k) const { return one_.at(k)->device; }
  const Place& place(std::size_t k) const { return *one_.at(k)->place; }  ///< with a stream of its own

  /// Operation O of an array of the host, or of pieces; settings are an accuracy, a rounding, a correction.
  template <op O, bool Checked = false, class X, class... S>
    requires(inputs_of(O) == 1)
  auto run(const X& x, const S&... s) const {
    return ask<O, Checked>(std::array{cut(x)}, s...);
  }
  /// The same for two inputs.
  template <op O, bool Checked = false, class X, class Y, class... S>
    requires(inputs_of(O) == 2)
  auto run(const X& x, const Y& y, const S&... s) const {
    static_assert(std::same_as<element_of_pieces<X>, element_of_pieces<Y>>, "dot takes two inputs of one element type");
    return ask<O, Checked>(std::array{cut(x), cut(y)}, s...);
  }

 private:
  struct one {
    int device;
    void* stream = nullptr;
    std::unique_ptr<Place> place;
    explicit one(int d) : device(d) {
      const on_device here(Kernels::machine(), d);
      stream = Kernels::machine().make_stream();
      place = std::make_unique<Place>(static_cast<stream_pointer>(stream));
    }
    ~one() {
      try {
        const on_device here(Kernels::machine(), device);
        place.reset();
        Kernels::machine().end_stream(stream);
      } catch (...) {  // a device that was lost has nothing to give back
      }
    }
    one(const one&) = delete;
    one& operator=(const one&) = delete;
  };
  using stream_pointer = std::conditional_t<std::is_constructible_v<Place, ::CUstream_st*>, ::CUstream_st*, void*>;

  template <class X>
  struct element_type { using type = builtin_element_of<X>; };
  template <class T>
  struct element_type<device_pieces<T>> { using type = typename stands_for<T>::type; };
  template <class X>
  using element_of_pieces = typename element_type<X>::type;

  struct piece {
    const void* data;
    std::int64_t n;
  };
  template <class T>
  struct input_pieces {
    using element = T;
    std::vector<piece> of;
    bool on_host;
  };

  static std::vector<int> all_devices() {
    std::vector<int> all(static_cast<std::size_t>(Kernels::machine().devices()));
    if (all.empty()) throw error(errc::no_device, "gpus: there is no device");
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  template <class T>
  input_pieces<typename stands_for<T>::type> cut(const device_pieces<T>& x) const {
    if (x.spans.size() != size())
      throw error(errc::bad_argument, "gpus: " + std::to_string(x.spans.size()) + " pieces for " + std::to_string(size()) + " devices; one is wanted for each");
    input_pieces<typename stands_for<T>::type> in{{}, false};
    for (const auto& s : x.spans) in.of.push_back({s.data(), static_cast<std::int64_t>(s.size())});
    return in;
  }
  template <host_array X>
  input_pieces<builtin_element_of<X>> cut(const X& x) const {
    input_pieces<builtin_element_of<X>> in{{}, true};
    const auto n = static_cast<std::int64_t>(std::ranges::size(x)), ways = static_cast<std::int64_t>(size());
    for (std::int64_t k = 0; k < ways; ++k) {
      const std::int64_t from = n / ways * k + std::min(k, n % ways);
      in.of.push_back({std::ranges::data(x) + from, n / ways + (k < n % ways ? 1 : 0)});
    }
    return in;
  }

  template <op O, bool Checked, class T, std::size_t Inputs, class... S>
  auto ask(const std::array<input_pieces<T>, Inputs>& in, const S&... s) const {
    static_assert(wf::takes<O, T>, "this reduction does not take this element type: see docs/reductions.md");
    static_assert(!Checked, "over several GPUs: states hold integers mod 2^64, so they cannot say whether the true answer fits");
    static_assert(partitions<S...> == 0, "over several GPUs axes, segments and labels are not reduced: give each device its own, by place(k)");
    const settings told(s...);
    const char* const who = op_names[static_cast<int>(O)];
    const state_form form = form_of_states(O, dtype_of<T>, told.context.accuracy);
    for (std::size_t k = 0; k < size(); ++k)
      if (in[0].of[k].n != in[Inputs - 1].of[k].n)
        throw error(errc::bad_argument, std::string(who) + ": piece " + std::to_string(k) + " has " + std::to_string(in[0].of[k].n) + " and " +
                                            std::to_string(in[Inputs - 1].of[k].n) + " elements; they must be as many");

    std::vector<std::vector<std::byte>> states(size(), std::vector<std::byte>(form.bytes));
    std::vector<std::vector<void*>> taken(size());
    std::exception_ptr failed;
    std::int64_t first = 0;
    // All pieces are begun before one is waited for; whatever fails, those that were begun are waited for.
    for (std::size_t k = 0; k < size() && !failed; ++k) {
      try {
        begin<O>(k, in, told, first, form.bytes, taken[k]);
      } catch (...) {
        failed = std::current_exception();
      }
      first += in[0].of[k].n;
    }
    for (std::size_t k = 0; k < size(); ++k) {
      if (taken[k].empty()) continue;
      try {
        const on_device here(Kernels::machine(), one_[k]->device);
        for (std::size_t p = 1; p < taken[k].size(); ++p) Kernels::machine().give_back(taken[k][p], one_[k]->stream);
        const given_back state(Kernels::machine(), taken[k][0], one_[k]->stream);
        Kernels::machine().copy_back(states[k].data(), taken[k][0], form.bytes, one_[k]->stream);
      } catch (...) {
        if (!failed) failed = std::current_exception();
      }
    }
    if (failed) std::rethrow_exception(failed);
    for (std::size_t k = 1; k < size(); ++k) merge_states(form, states[0].data(), states[k].data(), 1);
    result<O, T> answer;
    finish_states(form, told.options, states[0].data(), 1, &answer);
    return answer;
  }

  /// Enqueues piece k; taken[0] will be its state.
  template <op O, class T, std::size_t Inputs>
  void begin(std::size_t k, const std::array<input_pieces<T>, Inputs>& in, const settings& told, std::int64_t first, std::size_t state_bytes,
             std::vector<void*>& taken) const {
    const device_machine& m = Kernels::machine();
    const on_device here(m, one_[k]->device);
    taken.reserve(1 + Inputs);
    taken.push_back(m.take(state_bytes, one_[k]->stream));
    cpu::operands o;
    o.shape = {in[0].of[k].n};
    for (std::size_t i = 0; i < Inputs; ++i) {
      const auto bytes = static_cast<std::size_t>(in[i].of[k].n) * sizeof(T);
      o.data[i] = in[i].of[k].data;
      o.strides[i] = {static_cast<std::int64_t>(sizeof(T))};
      if (!in[i].on_host) continue;
      taken.push_back(m.take(bytes, one_[k]->stream));
      if (bytes != 0) m.copy_in(taken.back(), in[i].of[k].data, bytes, one_[k]->stream);
      o.data[i] = taken.back();
    }
    request r = asked(O, dtype_of<T>, o, told, false);
    r.first = first;
    r.wanted = output::states;
    r.out = taken[0];
    one_[k]->place->run(r);
  }

  std::vector<std::unique_ptr<one>> one_;
};

}  // namespace detail

/// CUDA devices of this process. It links all kernels. Throws wf::error: no_device, and bad_argument for a number that is no device's.
class gpus : public detail::several_places<gpu, cuda_kernels> {
 public:
  using several_places::several_places;
};
/// The same on simt, which has one device; it may be named several times.
class simulated_gpus : public detail::several_places<simulated_gpu, simt_kernels> {
 public:
  using several_places::several_places;
};

}  // namespace wf
