// SPDX-License-Identifier: Apache-2.0
/// \file front.hpp
/// What the front door on a GPU takes and gives, on simt. Each is empty, or the first thing that is wrong.
#pragma once

#include <string>

std::string answers_that_are_waited_for();
std::string fused_answers_that_are_waited_for();
std::string arrays_of_the_host();
std::string checked_answers();
std::string requests_of_own_reductions();
std::string pointers_of_the_wrong_side();
std::string places_for_answers();
std::string inputs_of_any_kind();
std::string transforms();
std::string transforms_before_every_operation();
std::string two_inputs();
std::string own_rows();
