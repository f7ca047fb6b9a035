// SPDX-License-Identifier: Apache-2.0
/// \file place.hpp
/// What a wf_place of the C interface is.
#pragma once

#include <memory>

#include <warpfold/backend.hpp>
#include <warpfold/warpfold.h>

struct wf_place {
  std::unique_ptr<wf::backend> backend;
};

namespace wf {

/// For the libraries of kernels: *place = make(), a wf_status as every function of the C interface.
WF_API int open_place(wf_place** place, std::unique_ptr<backend> (*make)(void* stream), void* stream) noexcept;

}  // namespace wf
