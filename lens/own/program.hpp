// SPDX-License-Identifier: Apache-2.0
/// \file program.hpp
/// What `warpfold explain PROGRAM.cu` links a whole program with: each of its launches is explained as it comes, and the
/// report is printed when the program ends.
#pragma once

namespace lens::own {

/// Called before main(); `request` names the file of the command, as JSON. Never false.
bool explain_launches(const char* request);

}  // namespace lens::own
