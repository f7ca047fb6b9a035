// SPDX-License-Identifier: Apache-2.0
#pragma once

struct halves_result {
  int error;
  float low, high, one, warps, sum;
};
namespace halves_plain {
halves_result run_halves();
}
namespace halves_lens {
halves_result run_halves();
}
