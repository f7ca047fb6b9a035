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

#include <warpfold/export.h>
#include <warpfold/version.h>

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
WF_API int wf_result_type(int op, int element, int* type, int* values);

/* What a request wants: answers; answers of integers and whether the true ones fit (`overflow`); or states. */
typedef enum wf_output { WF_ANSWERS, WF_CHECKED, WF_STATES } wf_output;
/* How elements are shared among answers. */
typedef enum wf_partition { WF_WHOLE, WF_AXES, WF_SEGMENTS, WF_EQUAL_SEGMENTS, WF_LABELS } wf_partition;

/* Where a request is carried out: a CUDA stream with its scratch memory, or the same on simt. */
typedef struct wf_place wf_place;

/* Everything that can be asked. Zeroed, then `size` and `version` set, it holds the defaults: the sum of all of x on the
 * CPU, exact. What x, y, indexes and out point to is memory of the place; all else is the host's. */
#define WF_REQUEST_VERSION 1
typedef struct wf_request {
  size_t size;              /* sizeof(wf_request) */
  int version;              /* WF_REQUEST_VERSION */
  int op;                   /* wf_op */
  const wf_array* x;
  const wf_array* y;        /* the second input of WF_DOT, else null */
  int partition;            /* wf_partition */
  const int* axes;          /* WF_AXES: those that are reduced; negative ones count from the last */
  int axis_count;
  const void* indexes;      /* WF_SEGMENTS: count + 1 offsets; WF_LABELS: a label for each element */
  int index_bytes;          /* of an offset or a label: 8 or 4; 0 means 8 */
  int64_t count;            /* segments; answers of WF_LABELS */
  int64_t length;           /* WF_EQUAL_SEGMENTS: elements of each; the last may have fewer */
  int64_t first;            /* index of the first element of each answer: pieces of an array keep argmin's places */
  int output;               /* wf_output */
  void* out;                /* room for all answers (wf_result_type) or states (wf_state_size), C-ordered */
  unsigned char* overflow;  /* WF_CHECKED: overflow[k] becomes 1 where the true answer k does not fit its type, else 0 */
  wf_options options;
  const wf_place* place;    /* null: the CPU */
} wf_request;

/* Carries out a request. On a GPU it returns once the work is on the stream. */
WF_API int wf_run(const wf_request* request);

/* A state is what was reduced so far: `bytes` bytes, a multiple of 8, in words of 64 bits, of which the first is the
 * number of elements. The same elements give the same bytes on every machine, in any order, but for native floating
 * point (WF_FAST, WF_LOGSUMEXP, WF_PROD of floats). Where `adds` is 1, states are merged by adding their words as int64. */
WF_API int wf_state_size(int op, int dtype, int accuracy, size_t* bytes, int* adds);
/* States of no elements. */
WF_API int wf_clear(int op, int dtype, int accuracy, void* states, int64_t count);
/* to[k] becomes the state of its elements and of those of later[k], which come after them. Host memory. */
WF_API int wf_merge(int op, int dtype, int accuracy, void* to, const void* later, int64_t count);
/* Undoes a merge, where states add. */
WF_API int wf_unmerge(int op, int dtype, int accuracy, void* to, const void* later, int64_t count);
/* The answers of states. */
WF_API int wf_finish(int op, int dtype, const wf_options* options, const void* states, int64_t count, void* out);

/* Places. `stream` is a cudaStream_t of the current device, or null for its default stream. In the libraries of the GPU
 * kernels and of simt. One host thread at a time uses a place. */
WF_API int wf_open_gpu(void* stream, wf_place** place);
WF_API int wf_open_simt(wf_place** place);
WF_API void wf_close(wf_place* place);

/* Shorter forms of wf_run on the CPU follow. One answer from all of x; `y` is the second input of WF_DOT and null otherwise. `options` may be
 * null. `out` has room for the answer (wf_result_type). */
WF_API int wf_reduce(int op, const wf_array* x, const wf_array* y, const wf_options* options, void* out);

/* An answer for each position along the axes that are not named, C-ordered. Negative axes count
 * from the last. */
WF_API int wf_reduce_axes(int op, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                   const wf_options* options, void* out);

/* Segment k of a one-dimensional array is its elements offsets[k] ... offsets[k + 1]. */
WF_API int wf_reduce_segments(int op, const wf_array* x, const wf_array* y, const int64_t* offsets,
                       int64_t segments, const wf_options* options, void* out);

/* Element i of a one-dimensional array belongs to answer labels[i], 0 <= labels[i] < answers. */
WF_API int wf_reduce_by_label(int op, const wf_array* x, const wf_array* y, const int64_t* labels,
                       int64_t answers, const wf_options* options, void* out);

/* Several reductions of x in one pass; out[k] gets the answer of ops[k]. */
WF_API int wf_reduce_many(const int* ops, int op_count, const wf_array* x, const wf_options* options,
                   void* const* out);

/* Of integers, whose sums, products and dots are answered mod 2^64: as wf_reduce_axes (axes null: all
 * of x), and overflow[k] becomes 1 where the true answer k does not fit its type, else 0. For WF_SUM,
 * WF_PROD, WF_SUM_OF_SQUARES, WF_NORM1 and WF_DOT. */
WF_API int wf_reduce_checked(int op, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                      const wf_options* options, void* out, unsigned char* overflow);

/* What went wrong in this thread's last call that failed; never null. */
WF_API const char* wf_last_error(void);

/* The version of the compiled library, as WARPFOLD_VERSION_STRING is that of this header. */
WF_API const char* wf_version(void);

/* "scalar", "neon", "avx2" or "avx512": the instruction set in use, and another one to be used. */
WF_API const char* wf_cpu_target(void);
WF_API int wf_force_cpu_target(const char* name);

#ifdef __cplusplus
}
#endif

#endif
