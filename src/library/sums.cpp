// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/reductions/own.hpp>

#include "entry.hpp"
#include "hot.hpp"

#define WF_COMPILES_sums ,
#define WF_COMPILES_product ,
#define WF_COMPILES_own ,
#include "rows.hpp"
