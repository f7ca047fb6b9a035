// SPDX-License-Identifier: Apache-2.0
/// \file own.hpp
/// The arithmetic of operations whose states are their own (state_kind::own): what src/library/sums.cpp and src/gpu/own.cu compile of
/// them. Its members are WF_HD.
#pragma once

#include <warpfold/detail/reductions/sum.hpp>
