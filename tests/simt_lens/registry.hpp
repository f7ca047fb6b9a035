// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace lens_test {

using kernel = void (*)(const float*, float*, unsigned);

struct registered {
  const char* name;
  kernel entry;
};

std::span<const registered> plain_kernels();
std::span<const registered> group_kernels();

}  // namespace lens_test
