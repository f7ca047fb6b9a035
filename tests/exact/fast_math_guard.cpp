// SPDX-License-Identifier: Apache-2.0
// Compiled by two tests: with -ffast-math it must fail, without it must not.
#include <warpfold/exact/exact_sum.hpp>

int main() { return static_cast<int>(wf::exact_sum{}.value()); }
