// SPDX-License-Identifier: Apache-2.0
// The main() of every GoogleTest program. It exits with 77, which CTest is told means skipped, if tests were
// skipped and no other ran. What fails or crashes never is: its exit status is another.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const bool skipped = all.skipped_test_count() > 0 && all.successful_test_count() == 0;
  return status == 0 && skipped ? 77 : status;
}
