/* SPDX-License-Identifier: Apache-2.0 */
/* Means of the rows of a matrix, and one exact sum rounded down and up, in C.
 *
 *     cc rows.c $(pkg-config --cflags --libs warpfold)
 */
#include <stdio.h>

#include <warpfold/warpfold.h>

int main(void) {
  const float pixels[2][3] = {{1, 2, 6}, {1e30f, 1, -1e30f}};
  const int64_t shape[] = {2, 3};
  const int last = -1;
  const wf_array image = {pixels, WF_F32, 2, shape, NULL};
  float means[2], low, high;
  wf_options options = {WF_EXACT, WF_ROUND_DOWN, 0, 0};

  if (wf_reduce_axes(WF_MEAN, &image, NULL, &last, 1, NULL, means) != WF_OK) return puts(wf_last_error()), 1;
  if (wf_reduce(WF_MEAN, &image, NULL, &options, &low) != WF_OK) return puts(wf_last_error()), 1;
  options.rounding = WF_ROUND_UP;
  if (wf_reduce(WF_MEAN, &image, NULL, &options, &high) != WF_OK) return puts(wf_last_error()), 1;
  printf("means of the rows %g and %g; of all between %.9g and %.9g\n", means[0], means[1], low, high);

  const int wrong = 2;
  if (wf_reduce_axes(WF_MEAN, &image, NULL, &wrong, 1, NULL, means) != WF_BAD_ARGUMENT) return 1;
  printf("as expected: %s\n", wf_last_error());
  return means[0] == 3 && means[1] == 1.0f / 3 && low < high ? 0 : 1; /* 10/6 is no float */
}
