/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of the compiled library. Every function returns 0 or a wf_status, throws nothing
 * and prints nothing; wf_last_error() has the text of the calling thread's last failure.
 * Arrays are n-dimensional: a shape and strides in BYTES, which may be zero or negative; elements
 * need no alignment. A null `strides` means C order without gaps.
 * Enumerations travel as int, so a value that is none of theirs is refused, not undefined. */
#ifndef WARPFOLD_H
#define WARPFOLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wf_status {
  WF_OK = 0,
  WF_BAD_ARGUMENT = 1,
  WF_BAD_INPUT = 2,
  WF_UNSUPPORTED = 3,
  WF_CAPACITY = 4,
  WF_IO = 5,
  WF_NO_DEVICE = 6,
  WF_DEVICE = 7,
  WF_OUT_OF_MEMORY = 8,
  WF_INTERNAL = 9
} wf_status;

typedef enum wf_dtype {
  WF_F16, WF_BF16, WF_F32, WF_F64, WF_I8, WF_I16, WF_I32, WF_I64,
  WF_U8, WF_U16, WF_U32, WF_U64, WF_BOOL, WF_C64, WF_C128
} wf_dtype;

typedef enum wf_op {
  WF_SUM, WF_MEAN, WF_PROD, WF_VAR, WF_STD, WF_MEAN_VAR, WF_SUM_OF_SQUARES, WF_NORM1, WF_NORM2,
  WF_NORM_INF, WF_DOT, WF_MIN, WF_MAX, WF_MINMAX, WF_ARGMIN, WF_ARGMAX, WF_ANY, WF_ALL, WF_COUNT,
  WF_COUNT_NONZERO, WF_LOGSUMEXP
} wf_op;

typedef enum wf_accuracy { WF_EXACT, WF_FAST } wf_accuracy;
typedef enum wf_rounding { WF_NEAREST, WF_TOWARD_ZERO, WF_AWAY, WF_UP, WF_DOWN } wf_rounding;

typedef struct wf_array {
  const void* data;
  int dtype; /* wf_dtype */
  int rank;
  const int64_t* shape;
  const int64_t* strides; /* bytes, or null */
} wf_array;

/* Zeroed, it holds the defaults. */
typedef struct wf_options {
  int accuracy;       /* wf_accuracy */
  int rounding;       /* wf_rounding, of exact answers */
  int64_t correction; /* var, std: divided by n - correction */
  int threads;        /* at most; 0: all */
} wf_options;

/* The type (wf_dtype) of an answer of a wf_op and the number of values in it: 2 for WF_MEAN_VAR and WF_MINMAX, 3 for
   WF_MEAN_VAR of complex numbers (re and im of the mean, the variance). */
int wf_result_type(int op, int element, int* type, int* values);

/* One answer from all of x; `y` is the second input of WF_DOT and null otherwise. `options` may be
 * null. `out` has room for the answer (wf_result_type). */
int wf_reduce(int op, const wf_array* x, const wf_array* y, const wf_options* options, void* out);

/* An answer for each position along the axes that are not named, C-ordered. Negative axes count
 * from the last. */
int wf_reduce_axes(int op, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                   const wf_options* options, void* out);

/* Segment k of a one-dimensional array is its elements offsets[k] ... offsets[k + 1]. */
int wf_reduce_segments(int op, const wf_array* x, const wf_array* y, const int64_t* offsets,
                       int64_t segments, const wf_options* options, void* out);

/* Element i of a one-dimensional array belongs to answer labels[i], 0 <= labels[i] < answers. */
int wf_reduce_by_label(int op, const wf_array* x, const wf_array* y, const int64_t* labels,
                       int64_t answers, const wf_options* options, void* out);

/* Several reductions of x in one pass; out[k] gets the answer of ops[k]. */
int wf_reduce_many(const int* ops, int op_count, const wf_array* x, const wf_options* options,
                   void* const* out);

/* Of integers, whose sums, products and dots are answered mod 2^64: as wf_reduce_axes (axes null: all
 * of x), and overflow[k] becomes 1 where the true answer k does not fit its type, else 0. For WF_SUM,
 * WF_PROD, WF_SUM_OF_SQUARES, WF_NORM1 and WF_DOT. */
int wf_reduce_checked(int op, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                      const wf_options* options, void* out, unsigned char* overflow);

/* What went wrong in this thread's last call that failed; never null. */
const char* wf_last_error(void);

/* "scalar", "neon", "avx2" or "avx512": the instruction set in use, and another one to be used. */
const char* wf_cpu_target(void);
int wf_force_cpu_target(const char* name);

#ifdef __cplusplus
}
#endif

#endif
