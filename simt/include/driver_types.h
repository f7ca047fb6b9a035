// SPDX-License-Identifier: Apache-2.0
/// \file driver_types.h
/// simt's own: see <simt/runtime_types.hpp>.
#pragma once

#include <simt/runtime_types.hpp>

using namespace simt;
