/* SPDX-License-Identifier: Apache-2.0
 * The C interface of states in memory of a place: each operation and type that simt takes, beside the same calls on the CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warpfold/warpfold.h>

static int faults = 0, forms = 0;

static wf_states no_states(void) {
  wf_states s;
  memset(&s, 0, sizeof s);
  s.size = sizeof s;
  s.version = WF_STATES_VERSION;
  return s;
}

static void fault(const char* what, int op, int dtype, int accuracy) {
  if (++faults < 20) printf("operation %d, element type %d, accuracy %d: %s; %s\n", op, dtype, accuracy, what, wf_last_error());
}
#define CHECK(...) ((__VA_ARGS__) ? (void)0 : fault(#__VA_ARGS__, op, dtype, accuracy))

enum { pairs = 3, most_bytes = 8192, most_answer = 64 };

/* Elements whose sums are exact in any order, so that native states have one right answer too. */
static void fill(unsigned char* to, int dtype, int64_t n, int seed) {
  for (int64_t i = 0; i < n; ++i) {
    const int v = (int)((i * 7 + seed) % 5);
    double d = v;
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    static const uint16_t half[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    uint16_t narrow = dtype == WF_BF16 ? (uint16_t)(bits >> 16) : half[v];
    int64_t whole = v;
    switch (dtype) {
      case WF_F16: case WF_BF16: memcpy(to + 2 * i, &narrow, 2); break;
      case WF_F32: memcpy(to + 4 * i, &f, 4); break;
      case WF_F64: memcpy(to + 8 * i, &d, 8); break;
      case WF_C64: memcpy(to + 8 * i, &f, 4); memcpy(to + 8 * i + 4, &f, 4); break;
      case WF_C128: memcpy(to + 16 * i, &d, 8); memcpy(to + 16 * i + 8, &d, 8); break;
      case WF_BOOL: to[i] = (unsigned char)(v != 0); break;
      case WF_I8: case WF_U8: to[i] = (unsigned char)v; break;
      case WF_I16: case WF_U16: memcpy(to + 2 * i, &whole, 2); break;
      case WF_I32: case WF_U32: memcpy(to + 4 * i, &whole, 4); break;
      default: memcpy(to + 8 * i, &whole, 8); break;
    }
  }
}

static void check_form(const wf_place* place, int op, int dtype, int accuracy) {
  static unsigned char here[2 * pairs * most_bytes], there[2 * pairs * most_bytes];
  static unsigned char x[16 * 40], y[16 * 40];
  unsigned char answers_here[pairs * most_answer], answers_there[pairs * most_answer];
  size_t bytes;
  int adds, type, values;
  if (wf_state_size(op, dtype, accuracy, &bytes, &adds) != WF_OK) return;
  CHECK(bytes <= most_bytes);
  if (bytes > most_bytes) return;
  CHECK(wf_result_type(op, dtype, &type, &values) == WF_OK);
  ++forms;

  wf_states cpu = no_states();
  cpu.op = op;
  cpu.dtype = dtype;
  cpu.options.accuracy = accuracy;
  cpu.states = here;
  cpu.count = 2 * pairs;
  wf_states device = cpu;
  device.states = there;
  device.place = place;
  memset(there, 0x5a, sizeof there);
  CHECK(wf_clear(&cpu) == WF_OK && wf_clear(&device) == WF_OK && memcmp(here, there, bytes * 2 * pairs) == 0);

  for (int k = 0; k < 2 * pairs; ++k) {
    const int64_t n = k == 2 ? 0 : 5 * k + 3;
    fill(x, dtype, n, k);
    fill(y, dtype, n, k + 2);
    const wf_array ax = {x, dtype, 1, &n, NULL}, ay = {y, dtype, 1, &n, NULL};
    wf_request q;
    memset(&q, 0, sizeof q);
    q.size = sizeof q;
    q.version = WF_REQUEST_VERSION;
    q.op = op;
    q.x = &ax;
    q.y = op == WF_DOT ? &ay : NULL;
    q.first = 100 * k;
    q.output = WF_STATES;
    q.options.accuracy = accuracy;
    q.out = here + bytes * (size_t)k;
    CHECK(wf_run(&q) == WF_OK);
  }
  memcpy(there, here, bytes * 2 * pairs);

  cpu.count = device.count = pairs;
  const size_t half = bytes * pairs;
  CHECK(wf_merge(&cpu, here + half) == WF_OK && wf_merge(&device, there + half) == WF_OK && memcmp(here, there, 2 * half) == 0);
  memset(answers_here, 0x11, sizeof answers_here);
  memset(answers_there, 0x11, sizeof answers_there);
  cpu.options.rounding = device.options.rounding = WF_ROUND_UP;
  CHECK(wf_finish(&cpu, answers_here) == WF_OK && wf_finish(&device, answers_there) == WF_OK);
  CHECK(memcmp(answers_here, answers_there, sizeof answers_here) == 0);
  const int taken = adds ? WF_OK : WF_UNSUPPORTED;
  CHECK(wf_unmerge(&cpu, here + half) == taken && wf_unmerge(&device, there + half) == taken && memcmp(here, there, 2 * half) == 0);
}

static void check_misuse(const wf_place* place) {
  const int op = WF_SUM, dtype = WF_F32, accuracy = WF_EXACT;
  unsigned char state[most_bytes];
  wf_states s = no_states();
  s.dtype = WF_F32;
  s.states = state;
  s.count = 1;
  for (int on_place = 0; on_place < 2; ++on_place) {
    s.place = on_place ? place : NULL;
    CHECK(wf_clear(&s) == WF_OK);
    CHECK(wf_merge(&s, NULL) == WF_BAD_ARGUMENT && strcmp(wf_last_error(), "sum: later is null, but there are 1 states") == 0);
    CHECK(wf_unmerge(&s, NULL) == WF_BAD_ARGUMENT && wf_finish(&s, NULL) == WF_BAD_ARGUMENT);
    CHECK(wf_merge(NULL, state) == WF_BAD_ARGUMENT);
    s.count = -1;
    CHECK(wf_clear(&s) == WF_BAD_ARGUMENT && wf_merge(&s, state) == WF_BAD_ARGUMENT && wf_finish(&s, state) == WF_BAD_ARGUMENT);
    s.count = 0;
    CHECK(wf_clear(&s) == WF_OK && wf_merge(&s, NULL) == WF_OK && wf_unmerge(&s, NULL) == WF_OK && wf_finish(&s, NULL) == WF_OK);
    s.count = 1;
    s.version = 2;
    CHECK(wf_clear(&s) == WF_BAD_ARGUMENT);
    s.version = WF_STATES_VERSION;
    s.size -= 8;
    CHECK(wf_merge(&s, state) == WF_BAD_ARGUMENT);
    s.size += 8;
    s.op = 99;
    CHECK(wf_finish(&s, state) == WF_BAD_ARGUMENT);
    s.op = WF_SUM;
    s.options.rounding = 7;
    CHECK(wf_finish(&s, state) == WF_BAD_ARGUMENT);
    s.options.rounding = 0;
  }
}

int main(void) {
  wf_place* place;
  if (wf_open_simt(&place) != WF_OK) {
    printf("%s\n", wf_last_error());
    return 1;
  }
  for (int op = WF_SUM; op <= WF_LOGSUMEXP; ++op)
    for (int dtype = WF_F16; dtype <= WF_C128; ++dtype)
      for (int accuracy = WF_EXACT; accuracy <= WF_FAST; ++accuracy) check_form(place, op, dtype, accuracy);
  check_misuse(place);
  wf_close(place);
  if (forms < 400) {
    printf("only %d forms\n", forms);
    return 1;
  }
  printf("%d forms, %d faults\n", forms, faults);
  return faults != 0;
}
