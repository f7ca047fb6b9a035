// SPDX-License-Identifier: Apache-2.0
// The front door on a GPU, on simt: answers that are waited for, arrays of the host, transforms, two inputs.
#include <gtest/gtest.h>

#include "front.hpp"

TEST(front_door_on_simt, gives_answers_that_are_waited_for) { EXPECT_EQ(answers_that_are_waited_for(), ""); }
TEST(front_door_on_simt, gives_fused_answers_that_are_waited_for) { EXPECT_EQ(fused_answers_that_are_waited_for(), ""); }
TEST(front_door_on_simt, copies_arrays_of_the_host) { EXPECT_EQ(arrays_of_the_host(), ""); }
TEST(front_door_on_simt, says_which_side_a_pointer_is_on) { EXPECT_EQ(pointers_of_the_wrong_side(), ""); }
TEST(front_door_on_simt, refuses_requests_of_own_reductions) { EXPECT_EQ(requests_of_own_reductions(), ""); }
TEST(front_door_on_simt, says_whether_answers_fit) { EXPECT_EQ(checked_answers(), ""); }
TEST(front_door_on_simt, writes_answers_where_it_is_told) { EXPECT_EQ(places_for_answers(), ""); }
TEST(front_door_on_simt, takes_inputs_of_any_kind) { EXPECT_EQ(inputs_of_any_kind(), ""); }
TEST(front_door_on_simt, applies_functions_before_it_reduces) { EXPECT_EQ(transforms(), ""); }
TEST(front_door_on_simt, applies_functions_before_every_operation) { EXPECT_EQ(transforms_before_every_operation(), ""); }
TEST(front_door_on_simt, reduces_two_inputs) { EXPECT_EQ(two_inputs(), ""); }
TEST(front_door_on_simt, reduces_rows_by_reductions_of_the_callers) { EXPECT_EQ(own_rows(), ""); }
