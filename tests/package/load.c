/* SPDX-License-Identifier: Apache-2.0 */
/* load FILE FUNCTION TIMES: loads a shared object, calls int FUNCTION(void), unless it is "-", which must answer 1, and
 * unloads it, TIMES times. It must be gone after each, and memory and threads must not grow. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int threads(void) {
  int n = 0;
  DIR* d = opendir("/proc/self/task");
  while (readdir(d) != NULL) ++n;
  closedir(d);
  return n - 2;
}

static long pages(void) {
  long size = 0, resident = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (fscanf(f, "%ld %ld", &size, &resident) != 2) resident = -1;
  fclose(f);
  return size;
}

int main(int argc, char** argv) {
  const int times = argc == 4 ? atoi(argv[3]) : 0;
  long early = 0;
  for (int k = 0; k < times; ++k) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return printf("%s\n", dlerror()), 1;
    if (strcmp(argv[2], "-") != 0) {
      int (*right)(void) = NULL;
      *(void**)&right = dlsym(library, argv[2]);
      if (right == NULL || right() != 1) return printf("time %d: no right answer\n", k), 1;
    }
    if (dlclose(library) != 0) return printf("%s\n", dlerror()), 1;
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL) return printf("time %d: still there after dlclose()\n", k), 1;
    if (threads() != 1) return printf("time %d: %d threads are left\n", k, threads()), 1;
    if (k == times / 10) early = pages();
  }
  if (pages() > early + 64) return printf("it grew from %ld to %ld pages\n", early, pages()), 1;
  printf("%d times\n", times);
  return times > 0 ? 0 : 1;
}
