// SPDX-License-Identifier: Apache-2.0
/// \file library.hpp
/// How host code asks the compiled kernels for a reduction; gpu.hpp is the front door. Kernels come in families, each an
/// object of the library by itself. A call whose operation and type the compiler knows names its family, and a program links
/// what its calls name; requests that are made at run time link all families.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <warpfold/accuracy.hpp>
#include <warpfold/detail/gpu/launch_choices.hpp>
#include <warpfold/detail/gpu/rows.hpp>
#include <warpfold/export.h>
#include <warpfold/io/dtype.hpp>
#include <warpfold/operations.hpp>
#include <warpfold/types.hpp>

namespace wf {

struct states_request;  // detail/gpu/states_request.hpp

/// What a device is asked to reduce: n elements of each input, strides in elements.
struct device_request {
  op what;
  dtype element;
  wf::accuracy accuracy;
  wf::options options;
  std::array<const void*, 2> x;
  std::array<std::int64_t, 2> stride;
  std::int64_t n;
  void* out;
  std::int64_t first = 0;  ///< index of the first element
  bool states = false;     ///< a state is wanted, not an answer
  bool checked = false;    ///< for integers: an answer in a wf::checked
};

/// The families of kernels: src/gpu has a file for each.
enum class kernel_family : std::uint8_t { none, order, integers, integer_moments, native, sums, products, moments, checked, own };

/// Whether kernels are compiled for such elements: src/gpu/table.cuh and detail/gpu/accumulate/rows_any.cuh list them.
constexpr bool has_kernels(dtype t) { return t <= dtype::c128; }

/// The family that reduces whole arrays in this way; `none` if there is no such family.
constexpr kernel_family family_of(op o, dtype t, accuracy a) {
  if (!has_kernels(t)) return kernel_family::none;
  const operation& of = operation_of(o);
  const bool whole = is_integer(t), complex = is_complex(t), natively = a == accuracy::fast;
  if (complex && !of.of_complex) return kernel_family::none;
  const bool is_wide = of.answer != answer_kind::mean && of.answer != answer_kind::real_mean;  // integers have an integer
  switch (of.state) {
    case state_kind::count: case state_kind::nonzeros: case state_kind::extremes: case state_kind::places: return kernel_family::order;
    case state_kind::logsumexp: return kernel_family::native;
    case state_kind::product: return whole ? kernel_family::integers : kernel_family::native;
    case state_kind::sums:
      if (t == dtype::boolean && is_wide) return kernel_family::order;
      if (whole) return is_wide ? kernel_family::integers : kernel_family::integer_moments;
      return natively ? kernel_family::native : kernel_family::sums;
    case state_kind::dots:
      if (t == dtype::boolean && is_wide && of.inputs == 1) return kernel_family::order;
      if (whole) return is_wide ? kernel_family::integers : kernel_family::integer_moments;
      return natively && !complex ? kernel_family::native : kernel_family::products;
    case state_kind::moments:
      if (whole) return kernel_family::integer_moments;
      return natively && !complex ? kernel_family::native : kernel_family::moments;
    case state_kind::own: return static_cast<int>(o) < op_count ? kernel_family::own : kernel_family::none;
  }
  return kernel_family::none;
}

/// Whether whole arrays can be reduced to a wf::checked.
constexpr bool is_checked_on_devices(op o, dtype t) { return has_kernels(t) && is_integer(t) && operation_of(o).wraps && operation_of(o).state != state_kind::own; }

/// Enqueues a kernel of a family, and returns a cudaError_t; cudaErrorNotSupported where the family has no such kernel.
using run_kernel = int (*)(const device_request&, void* scratch, void* stream);
using run_rows_kernel = int (*)(const rows_request&, void* scratch, void* stream);
using find_runs_kernel = int (*)(const runs_request&, void* scratch, void* stream);
/// Merges and answers states (states.hpp).
using states_kernel = int (*)(const states_request&, void* stream);
/// As cudaErrorNotSupported.
inline constexpr int no_such_kernel = 801;

/// The kernels that a call may need; null where it needs none.
struct call_kernels {
  std::array<run_kernel, 2> whole;  ///< by accuracy
  run_kernel checked;
  run_rows_kernel rows;
};

/// A kind of device, without its kernels.
struct device_machine {
  const char* name;
  void* (*make_scratch)();
  /// Gives the memory back in the stream's order.
  void (*free_scratch)(void* scratch, void* stream) noexcept;
  void (*fail)(int code, const char* who);  ///< throws wf::error with the text of a CUDA error
  // For calls that wait; all but give_back throw wf::error.
  void* (*take)(std::size_t bytes, void* stream);                  ///< memory of the device, in the stream's order
  void (*give_back)(void*, void* stream) noexcept;                 ///< in the stream's order
  void (*copy_in)(void* to, const void* from, std::size_t bytes, void* stream);    ///< copies from the host, which may then change the source, or from the device's memory, to memory that the device writes
  void (*copy_back)(void* to, const void* from, std::size_t bytes, void* stream);  ///< copies memory that the device reads to the host; waits for the stream
  bool (*reads)(const void*);                                      ///< whether kernels of the current device can read there
  // For several devices (gpus.hpp); all but end_stream throw wf::error.
  int (*devices)();                       ///< how many there are
  int (*use)(int device);                 ///< makes it the thread's device; returns the one before
  void* (*make_stream)();                 ///< the current device's
  void (*end_stream)(void*) noexcept;
};

/// What tuning, profiling and tests need of a kind of device, but no request does: its name, choices, memory, time. All but release throw wf::error.
struct trial_device {
  std::string (*name)();              ///< the current device's
  launch_choices (*table_choices)();  ///< the current device's
  void (*choose)(void* scratch, const launch_choices&);
  void* (*allocate)(std::size_t bytes, const void* pattern, std::size_t pattern_bytes);  ///< the pattern again and again
  void (*release)(void*);
  void (*copy_out)(void* to, const void* from, std::size_t bytes);                       ///< from the device, after all its work
  double (*microseconds_of)(const void* self, void (*work)(const void* self), int runs);  ///< the median, on the default stream
};

/// The same with all of its kernels, for requests that are made at run time.
struct device_library : device_machine {
  call_kernels kernels;
  order_labels_kernel order_labels;
  find_runs_kernel find_runs;
  states_kernel states;
  const trial_device* trials;

  WF_API bool takes(op o, dtype t, accuracy a) const noexcept;
  WF_API void run(const device_request& r, void* scratch, void* stream) const;  ///< throws wf::error
  WF_API bool takes_rows(op o, dtype t, accuracy a) const noexcept;
  WF_API void run_rows(const rows_request& r, void* scratch, void* stream) const;  ///< many answers; throws wf::error
};

namespace detail {

/// Enqueues a request by those kernels. Throws wf::error.
WF_API void run_whole(const device_machine&, const call_kernels&, const device_request&, void* scratch, void* stream);
WF_API void run_rows(const device_machine&, const call_kernels&, const rows_request&, void* scratch, void* stream);

}  // namespace detail

/// The parts of warpfold::gpu, each in an object file of its own.
struct cuda_kernels {
  WF_API static const device_machine& machine();
  static const trial_device& trials();
  WF_API static int order(const device_request&, void* scratch, void* stream);
  WF_API static int integers(const device_request&, void* scratch, void* stream);
  WF_API static int integer_moments(const device_request&, void* scratch, void* stream);
  WF_API static int native(const device_request&, void* scratch, void* stream);
  WF_API static int sums(const device_request&, void* scratch, void* stream);
  WF_API static int products(const device_request&, void* scratch, void* stream);
  WF_API static int moments(const device_request&, void* scratch, void* stream);
  WF_API static int checked(const device_request&, void* scratch, void* stream);
  WF_API static int own(const device_request&, void* scratch, void* stream);
  WF_API static int rows(const rows_request&, void* scratch, void* stream);
  WF_API static int states(const states_request&, void* stream);  ///< merges and answers states
  WF_API static int order_labels(const std::int64_t* labels, std::int64_t n, std::int64_t answers, label_order* made, void* scratch, void* stream);
  WF_API static int find_runs(const runs_request&, void* scratch, void* stream);
  WF_API static const device_library& library();  ///< all of it
};
/// The same of warpfold_simt.
struct simt_kernels {
  static const device_machine& machine();
  static const trial_device& trials();
  static int order(const device_request&, void* scratch, void* stream);
  static int integers(const device_request&, void* scratch, void* stream);
  static int integer_moments(const device_request&, void* scratch, void* stream);
  static int native(const device_request&, void* scratch, void* stream);
  static int sums(const device_request&, void* scratch, void* stream);
  static int products(const device_request&, void* scratch, void* stream);
  static int moments(const device_request&, void* scratch, void* stream);
  static int checked(const device_request&, void* scratch, void* stream);
  static int own(const device_request&, void* scratch, void* stream);
  static int rows(const rows_request&, void* scratch, void* stream);
  static int states(const states_request&, void* stream);
  static int order_labels(const std::int64_t* labels, std::int64_t n, std::int64_t answers, label_order* made, void* scratch, void* stream);
  static int find_runs(const runs_request&, void* scratch, void* stream);
  static const device_library& library();
};

namespace detail {

/// The function of a family.
template <class Kernels, kernel_family F>
constexpr run_kernel kernel_of() {
  if constexpr (F == kernel_family::order) return Kernels::order;
  else if constexpr (F == kernel_family::integers) return Kernels::integers;
  else if constexpr (F == kernel_family::integer_moments) return Kernels::integer_moments;
  else if constexpr (F == kernel_family::native) return Kernels::native;
  else if constexpr (F == kernel_family::sums) return Kernels::sums;
  else if constexpr (F == kernel_family::products) return Kernels::products;
  else if constexpr (F == kernel_family::moments) return Kernels::moments;
  else if constexpr (F == kernel_family::checked) return Kernels::checked;
  else if constexpr (F == kernel_family::own) return Kernels::own;
  else return nullptr;
}

}  // namespace detail

}  // namespace wf
