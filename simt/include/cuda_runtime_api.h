// SPDX-License-Identifier: Apache-2.0
/// \file cuda_runtime_api.h
/// simt's own: see <simt/runtime_api.hpp>.
#pragma once

#include <simt/runtime_api.hpp>

using namespace simt;
