// SPDX-License-Identifier: Apache-2.0
/// \file warpfold.hpp
/// All for arrays on the host: the reductions (reductions.hpp), and exact sums and moments that are stored, sent and merged (exact_sum.hpp,
/// exact_moments.hpp). A file that includes a part alone is compiled a little faster.
#pragma once

#include <warpfold/config.hpp>  // first: it says what a compiler must be set to

#include <warpfold/exact_moments.hpp>
#include <warpfold/exact_sum.hpp>
#include <warpfold/reductions.hpp>
