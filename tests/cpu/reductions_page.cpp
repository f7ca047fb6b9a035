// SPDX-License-Identifier: Apache-2.0
// Prints docs/reductions.md.
#include <cstdio>

#include "reductions_page.hpp"

int main() { return std::fputs(wf::test::reductions_page().c_str(), stdout) < 0; }
