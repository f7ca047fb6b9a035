// SPDX-License-Identifier: Apache-2.0
/// \file library.hpp
/// How host code asks the compiled kernels for a reduction; gpu.hpp is the front door.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <warpfold/builtin.hpp>
#include <warpfold/context.hpp>
#include <warpfold/detail/gpu/launch_choices.hpp>
#include <warpfold/detail/gpu/rows.hpp>
#include <warpfold/io/dtype.hpp>
#include <warpfold/types.hpp>

namespace wf {

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
};

/// The kernels as compiled for one kind of device.
struct device_library {
  const char* name;
  bool (*takes)(op, dtype, accuracy, bool states) noexcept;
  void (*run)(const device_request&, void* scratch, void* stream);  ///< throws wf::error
  bool (*takes_rows)(op, dtype, accuracy) noexcept;
  void (*run_rows)(const rows_request&, void* scratch, void* stream);  ///< many answers; throws wf::error
  void* (*make_scratch)();
  /// Gives the memory back in the stream's order.
  void (*free_scratch)(void* scratch, void* stream) noexcept;
  void (*fail)(int code, const char* who);  ///< throws wf::error with the text of a CUDA error
  // For calls that wait; all but give_back throw wf::error.
  void* (*take)(std::size_t bytes, void* stream);                  ///< memory of the device, in the stream's order
  void (*give_back)(void*, void* stream) noexcept;                 ///< in the stream's order
  void (*copy_in)(void* to, const void* from, std::size_t bytes, void* stream);    ///< from the host, which may then change it
  void (*copy_back)(void* to, const void* from, std::size_t bytes, void* stream);  ///< to the host; waits for the stream
  bool (*reads)(const void*);                                      ///< whether kernels of the current device can read there
  // For tuning and profiling; all throw wf::error.
  std::string (*device_name)();                                    ///< of the current device
  launch_choices (*table_choices)();                               ///< of the current device
  void (*choose)(void* scratch, const launch_choices&);
  void* (*allocate)(std::size_t bytes, const void* pattern, std::size_t pattern_bytes);  ///< the pattern again and again
  void (*release)(void*);
  void (*copy_out)(void* to, const void* from, std::size_t bytes);  ///< from the device, after all its work
  double (*microseconds)(const device_request&, void* scratch, int runs);  ///< the median, on the default stream
};

}  // namespace wf
