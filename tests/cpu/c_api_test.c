/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface, from C: answers, options, strides, errors. Prints what fails; exits 1 if any does. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <warpfold/warpfold.h>

static int failures = 0;
#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      printf("%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, wf_last_error()); \
      ++failures;                                                                         \
    }                                                                                     \
  } while (0)

int main(void) {
  const double x[6] = {1e308, 1e308, -1e308, 1, -1, 0.5};
  const int64_t flat[1] = {6}, shape[2] = {2, 3};
  const wf_array all = {x, WF_F64, 1, flat, NULL};
  const wf_array matrix = {x, WF_F64, 2, shape, NULL};
  double out[8] = {0};

  CHECK(wf_reduce(WF_SUM, &all, NULL, NULL, out) == WF_OK && out[0] == 1e308);

  int type, values;
  CHECK(wf_result_type(WF_MINMAX, WF_F32, &type, &values) == WF_OK && type == WF_F32 && values == 2);
  CHECK(wf_result_type(WF_ARGMAX, WF_F32, &type, &values) == WF_OK && type == WF_I64 && values == 1);
  CHECK(wf_result_type(WF_MEAN_VAR, WF_C64, &type, &values) == WF_OK && type == WF_F32 && values == 3);
  CHECK(wf_result_type(WF_NORM1, WF_C64, &type, &values) == WF_UNSUPPORTED);
  CHECK(strstr(wf_last_error(), "norm1") != NULL);

  const int last = -1;
  CHECK(wf_reduce_axes(WF_MAX, &matrix, NULL, &last, 1, NULL, out) == WF_OK && out[0] == 1e308 && out[1] == 1);

  /* Every second element, from the end: strides are bytes. */
  const int64_t three[1] = {3}, back[1] = {-16};
  const wf_array reversed = {x + 5, WF_F64, 1, three, back};
  int64_t where = -5;
  CHECK(wf_reduce(WF_ARGMAX, &reversed, NULL, NULL, &where) == WF_OK && where == 2);

  const int64_t offsets[4] = {0, 0, 3, 6};
  CHECK(wf_reduce_segments(WF_SUM, &all, NULL, offsets, 3, NULL, out) == WF_OK && out[0] == 0 &&
        out[1] == 1e308 && out[2] == 0.5);
  const int64_t labels[6] = {0, 1, 0, 1, 1, 1};
  CHECK(wf_reduce_by_label(WF_SUM, &all, NULL, labels, 2, NULL, out) == WF_OK && out[0] == 0);

  /* More than memory can be are refused before any is asked for or read. */
  const int64_t many[] = {INT64_MAX, INT64_MAX / 2, INT64_C(1) << 60};
  for (int k = 0; k < 3; ++k) {
    CHECK(wf_reduce_by_label(WF_SUM, &all, NULL, labels, many[k], NULL, out) == WF_BAD_ARGUMENT);
    CHECK(strstr(wf_last_error(), " answers; no memory holds so many") != NULL);
    CHECK(wf_reduce_segments(WF_SUM, &all, NULL, offsets, many[k], NULL, out) == WF_BAD_ARGUMENT);
    CHECK(strstr(wf_last_error(), " segments; no memory holds so many") != NULL);
    wf_request q = {.size = sizeof q, .version = WF_REQUEST_VERSION};
    q.x = &all;
    q.partition = k == 1 ? WF_LABELS : WF_SEGMENTS;
    q.indexes = offsets;
    q.count = many[k];
    q.out = out;
    CHECK(wf_run(&q) == WF_BAD_ARGUMENT && strstr(wf_last_error(), "no memory holds so many") != NULL);
    const int64_t empty_shape[2] = {0, many[k]};
    const wf_array empty = {NULL, WF_I64, 2, empty_shape, NULL};
    const int first = 0;
    unsigned char flags[1];
    CHECK(wf_reduce_checked(WF_SUM, &empty, NULL, &first, 1, NULL, out, flags) == WF_BAD_ARGUMENT);
    CHECK(strstr(wf_last_error(), "no memory holds so many") != NULL);
  }
  CHECK(wf_reduce_by_label(WF_SUM, &all, NULL, labels, INT64_C(1) << 58, NULL, out) == WF_BAD_ARGUMENT);
  CHECK(strstr(wf_last_error(), " answers; no memory holds so many") != NULL);  /* but for their states */

  /* Segments longer than any array, and indexes that no element has. */
  wf_request places = {.size = sizeof places, .version = WF_REQUEST_VERSION};
  places.op = WF_ARGMAX;
  places.x = &all;
  places.partition = WF_EQUAL_SEGMENTS;
  places.length = INT64_MAX;
  places.out = &where;
  CHECK(wf_run(&places) == WF_OK && where == 0);
  places.first = INT64_MAX - 6;
  CHECK(wf_run(&places) == WF_OK && where == INT64_MAX - 6);
  places.first = INT64_MAX - 5;
  CHECK(wf_run(&places) == WF_BAD_ARGUMENT && strstr(wf_last_error(), "indexes are 0 to 2^63 - 1") != NULL);
  places.first = -1;
  CHECK(wf_run(&places) == WF_BAD_ARGUMENT);

  const int twice[3] = {0, 1, 0};
  CHECK(wf_reduce_axes(WF_SUM, &matrix, NULL, twice, 3, NULL, out) == WF_BAD_ARGUMENT);
  CHECK(strcmp(wf_last_error(), "axis_count is 3; the array has 2 axes") == 0);
  const int64_t far_apart[][2] = {{INT64_MAX, 8}, {8, INT64_MIN}, {INT64_MAX / 2, INT64_MAX / 2}, {-(INT64_MAX / 2), INT64_MAX / 3}};
  for (int k = 0; k < 4; ++k) {
    const wf_array stretched = {x, WF_F64, 2, shape, far_apart[k]};
    CHECK(wf_reduce(WF_SUM, &stretched, NULL, NULL, out) == WF_BAD_ARGUMENT);
    CHECK(strstr(wf_last_error(), "no memory is so large") != NULL);
  }
  /* A stride that reaches nothing may be any number. */
  const int64_t row[2] = {1, 6}, any_strides[2] = {INT64_MIN, 8};
  const wf_array one_row = {x, WF_F64, 2, row, any_strides};
  CHECK(wf_reduce(WF_SUM, &one_row, NULL, NULL, out) == WF_OK && out[0] == 1e308);

  CHECK(wf_reduce(WF_DOT, &all, NULL, NULL, out) == WF_BAD_ARGUMENT);
  CHECK(wf_reduce(WF_SUM, &all, &all, NULL, out) == WF_BAD_ARGUMENT);
  CHECK(wf_reduce(WF_SUM, NULL, NULL, NULL, out) == WF_BAD_ARGUMENT);
  CHECK(strcmp(wf_last_error(), "x is null") == 0);
  CHECK(wf_reduce(99, &all, NULL, NULL, out) == WF_BAD_ARGUMENT);

  const float y[3] = {1.0f, 5.9604645e-8f, 8.6736174e-19f}; /* 1, 2^-24, 2^-60 */
  const wf_array small = {y, WF_F32, 1, three, NULL};
  float rounded = 0;
  wf_options options = {WF_EXACT, WF_ROUND_NEAREST, 0, 1};
  CHECK(wf_reduce(WF_SUM, &small, NULL, &options, &rounded) == WF_OK && rounded == 1.00000012f);
  options.rounding = WF_ROUND_DOWN;
  CHECK(wf_reduce(WF_SUM, &small, NULL, &options, &rounded) == WF_OK && rounded == 1.0f);
  options.threads = -1;
  CHECK(wf_reduce(WF_SUM, &small, NULL, &options, &rounded) == WF_BAD_ARGUMENT);

  const int ops[2] = {WF_SUM, WF_ARGMIN};
  void* const outs[2] = {out, &where};
  CHECK(wf_reduce_many(ops, 2, &all, NULL, outs) == WF_OK && out[0] == 1e308 && where == 2);

  const int64_t whole[4] = {INT64_MAX, 1, -3, 2}, two_by_two[2] = {2, 2};
  const wf_array integers = {whole, WF_I64, 2, two_by_two, NULL};
  int64_t totals[2] = {0, 0};
  unsigned char overflow[2] = {7, 7};
  CHECK(wf_reduce_checked(WF_SUM, &integers, NULL, NULL, 0, NULL, totals, overflow) == WF_OK &&
        totals[0] == INT64_MAX && overflow[0] == 0 && overflow[1] == 7);  /* overflows on the way only */
  CHECK(wf_reduce_checked(WF_SUM, &integers, NULL, &last, 1, NULL, totals, overflow) == WF_OK &&
        totals[0] == INT64_MIN && totals[1] == -1 && overflow[0] == 1 && overflow[1] == 0);
  CHECK(wf_reduce_checked(WF_DOT, &integers, &integers, &last, 1, NULL, totals, overflow) == WF_OK &&
        totals[1] == 13 && overflow[0] == 1 && overflow[1] == 0);
  CHECK(wf_reduce_checked(WF_PROD, &integers, NULL, &last, 1, NULL, totals, overflow) == WF_OK &&
        totals[0] == INT64_MAX && totals[1] == -6 && overflow[0] == 0 && overflow[1] == 0);
  CHECK(wf_reduce_checked(WF_SUM, &all, NULL, NULL, 0, NULL, totals, overflow) == WF_UNSUPPORTED);
  CHECK(wf_reduce_checked(WF_MAX, &integers, NULL, NULL, 0, NULL, totals, overflow) == WF_UNSUPPORTED);
  CHECK(wf_reduce_checked(WF_SUM, &integers, NULL, NULL, 0, NULL, totals, NULL) == WF_BAD_ARGUMENT);

  CHECK(wf_force_cpu_target("scalar") == WF_OK && strcmp(wf_cpu_target(), "scalar") == 0);
  CHECK(wf_force_cpu_target("abacus") == WF_BAD_ARGUMENT);

  const int64_t zero[1] = {0};
  const wf_array none = {NULL, WF_F64, 1, zero, NULL};
  CHECK(wf_reduce(WF_MEAN, &none, NULL, NULL, out) == WF_OK && isnan(out[0]));

  if (failures == 0) printf("all passed\n");
  return failures != 0;
}
