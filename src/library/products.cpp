// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/reductions/checked.hpp>
#include <warpfold/detail/reductions/complex.hpp>

#include "entry.hpp"
#include "hot_complex.hpp"

#define WF_COMPILES_dots ,
#include "rows.hpp"
