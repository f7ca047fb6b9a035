// SPDX-License-Identifier: Apache-2.0
/// \file vector_types.h
/// simt's own: see <simt/vector_types.hpp>.
#pragma once

#include <simt/vector_types.hpp>

using namespace simt;
