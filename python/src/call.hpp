// SPDX-License-Identifier: Apache-2.0
/// \file call.hpp
/// One reduction of contiguous memory as a C function, for adapters that are compiled at run time (warpfold/jax.py). It takes no
/// lock of Python's and no library to link with: _core says its address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpfold_python {

struct call {
  std::size_t size = sizeof(call);           ///< an adapter that was compiled for another version is refused
  int op = 0, element = 0, answer = 0;       ///< codes of _core
  int accuracy = 0, rounding = 0;            ///< codes of wf::accuracy and wf::rounding
  int rank = 0, axes_count = 0;
  std::int64_t correction = 0;
  double fraction = 0;                       ///< in place of it, where the correction is no whole number
  const void* data[2] = {nullptr, nullptr};  ///< the second of dot, of the same type and shape; C order
  const std::int64_t* shape = nullptr;
  const std::int64_t* axes = nullptr;        ///< distinct, in [0, rank)
  void* out = nullptr;                       ///< an answer for each position along the other axes
  char* message = nullptr;                   ///< what went wrong
  std::size_t message_size = 0;
};

/// 0, or there is a message.
using call_function = int (*)(const call*);

}  // namespace warpfold_python
