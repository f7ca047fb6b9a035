// SPDX-License-Identifier: Apache-2.0
// Runs a check with the kernels of every CPU target that this processor has, and makes sure that
// they are the ones that ran.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <warpfold/target.hpp>

namespace wf::test {

template <class F>
void for_each_target(F f) {
  const cpu::target before = cpu::active_target();
  for (const cpu::target t : cpu::available_targets()) {
    SCOPED_TRACE("target " + std::string(cpu::name(t)));
    cpu::force_target(t);
    ASSERT_EQ(cpu::active_target(), t);
    f();
    ASSERT_EQ(cpu::active_target(), t);
  }
  cpu::force_target(before);
}

}  // namespace wf::test
