/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program in C, of a compiler and a linker that know no C++. */
#include <stdio.h>
#include <string.h>
#include <warpfold/warpfold.h>

#if WARPFOLD_VERSION < 100 || WARPFOLD_VERSION_MAJOR > 0
#error "WARPFOLD_VERSION is not what version.h says"
#endif

int main(void) {
  const double values[] = {1e308, 1e308, -1e308};
  const int64_t shape[] = {3};
  const wf_array x = {values, WF_F64, 1, shape, NULL};
  double sum = 0;
  if (strcmp(wf_version(), WARPFOLD_VERSION_STRING) != 0) return puts("another version's header"), 1;
  if (wf_reduce(WF_SUM, &x, NULL, NULL, &sum) != WF_OK) return puts(wf_last_error()), 1;
  printf("the exact sum is %g\n", sum);
  return 0;
}
