/* SPDX-License-Identifier: Apache-2.0 */
/* warpfold.h: a place on simt; on a GPU it is wf_open_gpu(stream, &place), with memory of the device. Links the kernels of simt. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <warpfold/warpfold.h>

int main(void) {
  const int32_t values[] = {INT32_MAX, INT32_MAX, 3};
  const int64_t n = 3;
  const wf_array x = {values, WF_I32, 1, &n, NULL};
  wf_place* place = NULL;
  wf_checked sum;
  wf_request q;
  int status = wf_open_simt(&place);
  memset(&q, 0, sizeof q);
  q.size = sizeof q;
  q.version = WF_REQUEST_VERSION;
  q.op = WF_SUM;
  q.x = &x;
  q.output = WF_CHECKED; /* on a place: an answer, what lies above it, and whether it fits */
  q.out = &sum;
  q.place = place;
  if (status == WF_OK) status = wf_run(&q);
  if (status != WF_OK) puts(wf_last_error());
  wf_close(place);
  return status == WF_OK && sum.value == 4294967297u && sum.high[0] == 0 && sum.high[1] == 0 && sum.overflow == 0 ? 0 : 1;
}
