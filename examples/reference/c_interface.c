/* SPDX-License-Identifier: Apache-2.0 */
/* warpfold.h: every function of the C interface but those of GPUs, which gpu_from_c.c has. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warpfold/warpfold.h>

static void expect(int holds, int line) {
  if (holds) return;
  fprintf(stderr, "c_interface.c:%d: this does not hold: %s\n", line, wf_last_error());
  exit(1);
}
#define EXPECT(holds) expect((holds), __LINE__)

static const float values[] = {1, 2, 3, 4, 5, 6};
static const int64_t shape[] = {2, 3}, length[] = {6}; /* elements */
static const int64_t strides[] = {3 * sizeof(float), sizeof(float)}; /* bytes */

static void short_forms(void) {
  const wf_array matrix = {.data = values, .dtype = WF_F32, .rank = 2, .shape = shape, .strides = strides};
  const wf_array line = {values, WF_F32, 1, length, NULL};
  wf_options options;
  float answer[6];
  double mean;
  unsigned char overflow[1];
  const int32_t large[] = {INT32_MAX, INT32_MAX};
  const int64_t two = 2, offsets[] = {0, 1, 6}, labels[] = {0, 1, 0, 1, 0, 1};
  const wf_array integers = {large, WF_I32, 1, &two, NULL};
  const int last[] = {-1}, ops[] = {WF_MIN, WF_MAX};
  void* const out[] = {&answer[0], &answer[1]};
  int64_t total;
  memset(&options, 0, sizeof options);
  options.accuracy = WF_EXACT;
  options.rounding = WF_ROUND_NEAREST;
  options.correction = 0;
  options.threads = 1;

  EXPECT(wf_reduce(WF_SUM, &matrix, NULL, &options, answer) == WF_OK && answer[0] == 21);
  EXPECT(wf_reduce(WF_NORM, &line, NULL, NULL, answer) == WF_OK && answer[0] > 9.53F && answer[0] < 9.54F);
  EXPECT(wf_reduce(WF_DOT, &line, &line, NULL, answer) == WF_OK && answer[0] == 91);
  EXPECT(wf_reduce_axes(WF_SUM, &matrix, NULL, last, 1, NULL, answer) == WF_OK && answer[0] == 6 && answer[1] == 15);
  EXPECT(wf_reduce_segments(WF_SUM, &line, NULL, offsets, 2, NULL, answer) == WF_OK && answer[0] == 1 && answer[1] == 20);
  EXPECT(wf_reduce_by_label(WF_SUM, &line, NULL, labels, 2, NULL, answer) == WF_OK && answer[0] == 9 && answer[1] == 12);
  EXPECT(wf_reduce_many(ops, 2, &line, NULL, out) == WF_OK && answer[0] == 1 && answer[1] == 6);
  EXPECT(wf_reduce(WF_MEAN, &integers, NULL, NULL, &mean) == WF_OK && mean == INT32_MAX);
  EXPECT(wf_reduce_checked(WF_SUM, &integers, NULL, NULL, 0, NULL, &total, overflow) == WF_OK && total == 4294967294 && overflow[0] == 0);
  EXPECT(wf_reduce(WF_SUM, NULL, NULL, NULL, answer) == WF_BAD_ARGUMENT && strlen(wf_last_error()) > 0);
}

static void requests(void) {
  const wf_array line = {values, WF_F32, 1, length, NULL};
  wf_request q;
  int64_t at[3];
  const int32_t offsets[] = {0, 2, 6};
  int type, count;
  EXPECT(wf_result_type(WF_ARGMAX, line.dtype, &type, &count) == WF_OK && type == WF_I64 && count == 1);
  memset(&q, 0, sizeof q);
  q.size = sizeof q;
  q.version = WF_REQUEST_VERSION;
  q.op = WF_ARGMAX;
  q.x = &line;
  q.y = NULL;
  q.partition = WF_SEGMENTS;
  q.indexes = offsets;
  q.index_bytes = 4;
  q.count = 2;
  q.first = 100; /* this array's first element is element 100 of a larger one */
  q.output = WF_ANSWERS;
  q.out = at;
  q.options.threads = 1;
  q.place = NULL; /* the CPU */
  EXPECT(wf_run(&q) == WF_OK && at[0] == 101 && at[1] == 103);
  q.partition = WF_EQUAL_SEGMENTS;
  q.length = 2;
  EXPECT(wf_run(&q) == WF_OK && at[0] == 101 && at[1] == 101 && at[2] == 101);
  q.version = 99;
  EXPECT(wf_run(&q) == WF_BAD_ARGUMENT);
}

static void checked_and_axes(void) {
  const int64_t numbers[] = {INT64_MAX, INT64_MAX}, two = 2;
  const wf_array x = {numbers, WF_I64, 1, &two, NULL};
  wf_request q;
  int64_t value;
  unsigned char overflow;
  const int first[] = {0};
  memset(&q, 0, sizeof q);
  q.size = sizeof q;
  q.version = WF_REQUEST_VERSION;
  q.x = &x; /* op 0 is WF_SUM */
  q.partition = WF_AXES;
  q.axes = first;
  q.axis_count = 1;
  q.output = WF_CHECKED;
  q.out = &value;
  q.overflow = &overflow;
  EXPECT(wf_run(&q) == WF_OK && value == -2 && overflow == 1);
}

static void states(void) {
  const wf_array x = {values, WF_F32, 1, length, NULL};
  size_t bytes;
  int adds;
  wf_request q;
  void *state, *other;
  wf_states s;
  float sum;
  EXPECT(wf_state_size(WF_SUM, WF_F32, WF_EXACT, &bytes, &adds) == WF_OK && bytes % 8 == 0 && adds == 1);
  state = malloc(bytes);
  other = malloc(bytes);
  EXPECT(state != NULL && other != NULL);
  memset(&s, 0, sizeof s);
  s.size = sizeof s;
  s.version = WF_STATES_VERSION;
  s.op = WF_SUM;
  s.dtype = WF_F32;
  s.states = state;
  s.count = 1;
  s.options.rounding = WF_ROUND_UP;
  s.place = NULL;
  EXPECT(wf_clear(&s) == WF_OK);
  memset(&q, 0, sizeof q);
  q.size = sizeof q;
  q.version = WF_REQUEST_VERSION;
  q.x = &x;
  q.output = WF_STATES;
  q.out = other;
  EXPECT(wf_run(&q) == WF_OK);
  EXPECT(wf_merge(&s, other) == WF_OK && wf_merge(&s, other) == WF_OK);
  EXPECT(wf_finish(&s, &sum) == WF_OK && sum == 42);
  EXPECT(wf_unmerge(&s, other) == WF_OK && memcmp(state, other, bytes) == 0);
  free(state);
  free(other);
}

static void the_library(void) {
  EXPECT(strcmp(wf_version(), WARPFOLD_VERSION_STRING) == 0);
  EXPECT(wf_force_cpu_target(wf_cpu_target()) == WF_OK && wf_force_cpu_target("sse9") == WF_BAD_ARGUMENT);
  puts(wf_cpu_target());
}

int main(void) {
  short_forms();
  requests();
  checked_and_axes();
  states();
  the_library();
  return 0;
}
