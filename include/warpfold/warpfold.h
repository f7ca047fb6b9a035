/* SPDX-License-Identifier: Apache-2.0 */
/** \file warpfold.h
 * The C interface of the compiled library. Every function returns 0 or a wf_status, throws nothing
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

/** What every function returns. */
typedef enum wf_status {
  WF_OK = 0,             /**< done */
  WF_BAD_ARGUMENT = 1,   /**< a value that the function does not take */
  WF_BAD_INPUT = 2,      /**< malformed bytes: a stored state */
  WF_UNSUPPORTED = 3,    /**< well-formed, but not in this version or this build */
  WF_CAPACITY = 4,       /**< more elements than a state can count */
  WF_IO = 5,             /**< the operating system refused a file */
  WF_NO_DEVICE = 6,      /**< no usable GPU or driver */
  WF_DEVICE = 7,         /**< a CUDA call failed; wf_last_error() has its own words */
  WF_OUT_OF_MEMORY = 8,  /**< the host's */
  WF_INTERNAL = 9        /**< a fault of the library's */
} wf_status;

/** The types of elements. */
typedef enum wf_dtype {
  WF_F16,   /**< IEEE binary16 */
  WF_BF16,  /**< the upper half of binary32 */
  WF_F32,   /**< float */
  WF_F64,   /**< double */
  WF_I8,    /**< int8_t */
  WF_I16,   /**< int16_t */
  WF_I32,   /**< int32_t */
  WF_I64,   /**< int64_t */
  WF_U8,    /**< uint8_t */
  WF_U16,   /**< uint16_t */
  WF_U32,   /**< uint32_t */
  WF_U64,   /**< uint64_t */
  WF_BOOL,  /**< a byte; any that is not 0 is true */
  WF_C64,   /**< two floats: re, im */
  WF_C128   /**< two doubles: re, im */
} wf_dtype;

/** The operations: WF_SUM, WF_MEAN and so on, a row of operations.def each, with its formula. docs/reductions.md says what
 * each takes, and what it answers for no elements and for NaN; the names are those there in capitals. */
typedef enum wf_op {
#define WF_OPERATION(name, c, ...) WF_##c,
#include <warpfold/operations.def>
  WF_NORM = WF_NORM2  /**< the usual name of WF_NORM2 */
} wf_op;

/** How an answer is computed. */
typedef enum wf_accuracy {
  WF_EXACT,  /**< the true result, rounded once */
  WF_FAST    /**< native arithmetic in a fixed order */
} wf_accuracy;
/** How an exact answer is rounded: wf::rounding in C++. */
typedef enum wf_rounding {
  WF_ROUND_NEAREST,  /**< to the nearest, ties to even */
  WF_ROUND_ZERO,     /**< toward 0 */
  WF_ROUND_AWAY,     /**< away from 0 */
  WF_ROUND_UP,       /**< toward +infinity */
  WF_ROUND_DOWN      /**< toward -infinity */
} wf_rounding;

/** An n-dimensional array. Nothing is owned. */
typedef struct wf_array {
  const void* data;        /**< the element whose indexes are all 0, of any alignment */
  int dtype;               /**< wf_dtype */
  int rank;                /**< dimensions: 0 to 32 */
  const int64_t* shape;    /**< a length for each dimension */
  const int64_t* strides;  /**< in bytes, for each dimension; null: C order without gaps */
} wf_array;

/** How an operation is to be run. Zeroed, it holds the defaults. */
typedef struct wf_options {
  int accuracy;       /**< wf_accuracy */
  int rounding;       /**< wf_rounding, of exact answers */
  int64_t correction; /**< var, std: divided by n - correction, n the number of elements */
  int threads;        /**< threads at most; 0: all */
} wf_options;

/** The type (wf_dtype) of an answer of a wf_op and the number of values in it: 2 for WF_MEAN_VAR and WF_MINMAX, 3 for
   WF_MEAN_VAR of complex numbers (the mean's real and imaginary part, and the variance).
 * WF_UNSUPPORTED: an element type that the operation does not take; WF_BAD_ARGUMENT: a null pointer, no wf_op or wf_dtype. */
WF_API int wf_result_type(int op, int element, int* type, int* values);

/** What a request writes: answers; answers of integers, and whether the true ones fit (`overflow`); or states. */
typedef enum wf_output {
  WF_ANSWERS,  /**< answers */
  WF_CHECKED,  /**< answers of integers, and whether the true ones fit */
  WF_STATES    /**< what was reduced so far */
} wf_output;
/** What WF_CHECKED writes on a place: an integer answer, and the digits of the true one, which is high[1]*2^128 + high[0]*2^64 + value in
 * two's complement. For products `high` is zero. */
typedef struct wf_checked {
  uint64_t value;         /**< the true answer mod 2^64 */
  uint64_t high[2];       /**< the digits above it, base 2^64, the lower first */
  unsigned char overflow; /**< 1: the true answer does not fit its type */
} wf_checked;
/** How elements are shared among answers. */
typedef enum wf_partition {
  WF_WHOLE,           /**< one answer */
  WF_AXES,            /**< one for each position along the other axes, C-ordered */
  WF_SEGMENTS,        /**< segment k of a one-dimensional array is its elements offsets[k] ... offsets[k + 1] */
  WF_EQUAL_SEGMENTS,  /**< segments of one length */
  WF_LABELS           /**< element i belongs to answer labels[i] */
} wf_partition;

/** Where a request is carried out (wf_open_gpu, wf_open_simt): a CUDA stream with its scratch memory, or the same on simt. */
typedef struct wf_place wf_place;

/** The version of wf_request. */
#define WF_REQUEST_VERSION 1
/** Everything that can be asked. Zeroed, then `size` and `version` set, it holds the defaults: the exact sum of all of x on the
 * CPU. x->data, y->data, indexes and out point to memory of the place; everything else is memory of the host.
 *
 *     const int64_t shape[] = {1080, 1920};
 *     const int last[] = {-1};
 *     const wf_array x = {pixels, WF_F32, 2, shape, NULL};
 *     float rows[1080];
 *     wf_request q = {sizeof q, WF_REQUEST_VERSION};
 *     q.op = WF_MEAN;
 *     q.x = &x;
 *     q.partition = WF_AXES;
 *     q.axes = last;
 *     q.axis_count = 1;
 *     q.out = rows;
 *     if (wf_run(&q) != WF_OK) puts(wf_last_error());
 */
typedef struct wf_request {
  size_t size;              /**< sizeof(wf_request) */
  int version;              /**< this struct's: WF_REQUEST_VERSION */
  int op;                   /**< wf_op */
  const wf_array* x;        /**< the elements */
  const wf_array* y;        /**< the second input of WF_DOT, else null */
  int partition;            /**< wf_partition */
  const int* axes;          /**< WF_AXES: the axes that are reduced; negative ones count from the last */
  int axis_count;           /**< how many axes */
  const void* indexes;      /**< WF_SEGMENTS: count + 1 offsets; WF_LABELS: a label for each element */
  int index_bytes;          /**< size of an offset or a label: 8 or 4; 0 means 8 */
  int64_t count;            /**< segments; answers of WF_LABELS */
  int64_t length;           /**< WF_EQUAL_SEGMENTS: elements of each; the last may have fewer */
  int64_t first;            /**< index of the first element of each answer: pieces of an array keep argmin's places */
  int output;               /**< wf_output */
  void* out;                /**< room for all answers (wf_result_type) or states (wf_state_size), C-ordered */
  unsigned char* overflow;  /**< WF_CHECKED: overflow[k] becomes 1 where the true answer k does not fit its type, else 0; null
                                 on a place, where `out` is room for a wf_checked */
  wf_options options;       /**< accuracy, rounding, correction, threads */
  const wf_place* place;    /**< the place that carries it out; null: the CPU */
} wf_request;

/** Carries out a request. On a GPU it returns once the work is on the stream. WF_BAD_ARGUMENT: a size or version that this
 * library does not know, a null x or out, axes, segments or labels that do not fit; WF_UNSUPPORTED: an element type that the
 * operation does not take. */
WF_API int wf_run(const wf_request* request);

/** A state is what was reduced so far: `bytes` bytes, a multiple of 8, in words of 64 bits, of which the first is the
 * number of elements. The same elements give the same bytes on every machine, in any order, but for native floating
 * point (WF_FAST, WF_LOGSUMEXP, WF_PROD of floats). Where `adds` is 1, states are merged by adding their words as int64.
 * WF_UNSUPPORTED: an element type that the operation does not take; WF_BAD_ARGUMENT: a null pointer, no wf_op, wf_dtype or
 * wf_accuracy. */
WF_API int wf_state_size(int op, int dtype, int accuracy, size_t* bytes, int* adds);
/** The version of wf_states. */
#define WF_STATES_VERSION 1
/** States of one kind, one after the other, in memory of a place. Zeroed, then `size` and `version` set, it holds the defaults: exact sums on the CPU.
 *
 *     wf_states sums = {sizeof sums, WF_STATES_VERSION};
 *     sums.dtype = WF_F32;
 *     sums.states = a;
 *     sums.count = 1;
 *     if (wf_merge(&sums, b) != WF_OK || wf_finish(&sums, &sum) != WF_OK) puts(wf_last_error());
 */
typedef struct wf_states {
  size_t size;            /**< sizeof(wf_states) */
  int version;            /**< this struct's: WF_STATES_VERSION */
  int op;                 /**< wf_op */
  int dtype;              /**< wf_dtype of the elements */
  void* states;           /**< the first; of any alignment on the CPU, of 8 bytes on a place */
  int64_t count;          /**< how many states */
  wf_options options;     /**< their accuracy; rounding and correction of answers */
  const wf_place* place;  /**< the place whose memory they are in; null: the CPU */
} wf_states;
/** The states become states of no elements. Returns WF_BAD_ARGUMENT for a size or version that this library does not know, a null pointer, a
 * negative count, and options out of range; WF_UNSUPPORTED for an element type that the operation does not take. So do the functions below. A GPU
 * does the work in the stream's order; states of native floating point are copied to the host and back, and the call waits. */
WF_API int wf_clear(const wf_states* states);
/** State k becomes the state of its elements and of those of later[k], which come after them; `later` is memory of the place.
 * WF_CAPACITY: more than 2^63 - 1 elements; a place does not check that. */
WF_API int wf_merge(const wf_states* to, const void* later);
/** State k becomes what it was before later[k] was merged into it. WF_UNSUPPORTED where states do not add. WF_BAD_ARGUMENT: later[k] has
 * more elements than state k; a place does not check that. */
WF_API int wf_unmerge(const wf_states* from, const void* later);
/** Writes the answers of the states. `out`, memory of the place, has room for as many answers of the type that wf_result_type gives. The states do not
 * change. WF_BAD_ARGUMENT and WF_UNSUPPORTED as wf_clear. */
WF_API int wf_finish(const wf_states* states, void* out);

/** Opens a place on a GPU. `stream` is a cudaStream_t of the current device, or null for its default stream. The library of the GPU
 * kernels has this function. One host thread at a time may use a place. WF_BAD_ARGUMENT: `place` is null; WF_OUT_OF_MEMORY. Where there is
 * no GPU, wf_run says so: WF_NO_DEVICE.
 *
 *     wf_place* place;
 *     if (wf_open_gpu(stream, &place) != WF_OK) puts(wf_last_error());
 *     request.place = place;
 *     if (wf_run(&request) != WF_OK) puts(wf_last_error());
 *     wf_close(place);
 */
WF_API int wf_open_gpu(void* stream, wf_place** place);
/** Opens a place on simt, where kernels run on the CPU; simt's library has this function. WF_BAD_ARGUMENT: `place` is null. */
WF_API int wf_open_simt(wf_place** place);
/** Closes a place, and frees its memory on the device; for null it does nothing. */
WF_API void wf_close(wf_place* place);

/** Writes one answer for all of x; `y` is the second input of WF_DOT and null otherwise. `options` may be null. `out` has room
 * for the answer (wf_result_type). This and the functions that follow are shorter forms of wf_run on the CPU, and
 * return what it returns: WF_OK, WF_BAD_ARGUMENT, WF_UNSUPPORTED.
 *
 *     const int64_t n = 1000;
 *     const wf_array x = {values, WF_F64, 1, &n, NULL};
 *     double sum;
 *     if (wf_reduce(WF_SUM, &x, NULL, NULL, &sum) != WF_OK) puts(wf_last_error());
 */
WF_API int wf_reduce(int op, const wf_array* x, const wf_array* y, const wf_options* options, void* out);

/** Writes an answer for each position along the axes that are not named, C-ordered. Negative axes count
 * from the last. WF_BAD_ARGUMENT: axes that are none of x, or named twice. */
WF_API int wf_reduce_axes(int op, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                   const wf_options* options, void* out);

/** Writes an answer for each segment: segment k of a one-dimensional array is its elements offsets[k] ... offsets[k + 1].
 * WF_BAD_ARGUMENT: offsets that fall, or do not stay in x. */
WF_API int wf_reduce_segments(int op, const wf_array* x, const wf_array* y, const int64_t* offsets,
                       int64_t segments, const wf_options* options, void* out);

/** Writes an answer for each label: element i of a one-dimensional array belongs to answer labels[i], 0 <= labels[i] < answers,
 * else WF_BAD_ARGUMENT. */
WF_API int wf_reduce_by_label(int op, const wf_array* x, const wf_array* y, const int64_t* labels,
                       int64_t answers, const wf_options* options, void* out);

/** Does several reductions of x in one pass; out[k] gets the answer of ops[k]. WF_BAD_ARGUMENT: there is no operation, or one
 * takes two inputs. */
WF_API int wf_reduce_many(const int* ops, int op_count, const wf_array* x, const wf_options* options,
                   void* const* out);

/** For integers, whose sums, products and dots are taken mod 2^64: does what wf_reduce_axes does (axes null: over all
 * of x), and overflow[k] becomes 1 where the true answer k does not fit its type, else 0. Takes WF_SUM, WF_PROD,
 * WF_SUM_OF_SQUARES, WF_NORM1 and WF_DOT. WF_UNSUPPORTED: other operations, and elements that are no integers. */
WF_API int wf_reduce_checked(int op, const wf_array* x, const wf_array* y, const int* axes, int axis_count,
                      const wf_options* options, void* out, unsigned char* overflow);

/** What went wrong in this thread's last call that failed; never null. */
WF_API const char* wf_last_error(void);

/** The version of the compiled library, as WARPFOLD_VERSION_STRING is that of this header. */
WF_API const char* wf_version(void);

/** The instruction set in use: "scalar", "neon", "avx2" or "avx512"; a text that is not freed. */
WF_API const char* wf_cpu_target(void);
/** Makes every thread use another instruction set from now on. WF_UNSUPPORTED where the processor or the build does not have it,
 * WF_BAD_ARGUMENT for a name that is none of these. */
WF_API int wf_force_cpu_target(const char* name);

#ifdef __cplusplus
}
#endif

#endif
