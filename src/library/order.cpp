// SPDX-License-Identifier: Apache-2.0
#include <warpfold/detail/reductions/logsumexp.hpp>

#include "entry.hpp"
#include "hot.hpp"

#define WF_COMPILES_extremes ,
#define WF_COMPILES_places ,
#define WF_COMPILES_nonzeros ,
#define WF_COMPILES_count ,
#define WF_COMPILES_logsumexp ,
#include "rows.hpp"
