/* SPDX-License-Identifier: Apache-2.0 */
/* two_parts OLD NEW: two libraries in one process, each of which must have a warpfold of its own version, those. */
#include <stdio.h>

int old_is(const char* version);
int new_is(const char* version);

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int k = 0; k < 2; ++k) {
    if (old_is(argv[1]) != 1) return printf("the first part has not %s\n", argv[1]), 1;
    if (new_is(argv[2]) != 1) return printf("the second part has not %s\n", argv[2]), 1;
  }
  printf("%s and %s\n", argv[1], argv[2]);
  return 0;
}
