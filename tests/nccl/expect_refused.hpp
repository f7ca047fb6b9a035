// SPDX-License-Identifier: Apache-2.0
/// \file expect_refused.hpp
/// What must be refused, with which code and words.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <warpfold/error.hpp>

template <class F>
void expect_refused(F f, wf::errc code, const std::string& text) {
  try {
    f();
    ADD_FAILURE() << "not refused: " << text;
  } catch (const wf::error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
  }
}
