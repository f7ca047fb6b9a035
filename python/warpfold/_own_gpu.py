# SPDX-License-Identifier: Apache-2.0
"""Reductions of the caller's own on a GPU: their text in kernels that NVRTC compiles, and CUDA's driver that loads and launches these."""

from __future__ import annotations

import ctypes
import functools
import math
import threading
from typing import Any, NamedTuple

from . import _device
from ._general import axes_of
from ._inputs import DTYPES, I64, NAMES
from ._own import _STRUCT

# How an element lies in memory, by its code; `_own._TYPES` has what it is as `x`.
_HEAD = """\
#if __has_include(<cuda/std/algorithm>)  // from CUDA 13.1 on
#include <cuda/std/algorithm>
#else
#include <cuda/std/__algorithm/clamp.h>
#include <cuda/std/__algorithm/max.h>
#include <cuda/std/__algorithm/min.h>
#include <cuda/std/__algorithm/minmax.h>
#endif
#include <cuda/std/array>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace std { using namespace cuda::std; }
namespace wf {
using f16 = __half;
using bf16 = __nv_bfloat16;
}

"""

# Four kernels. `each`: a thread takes all elements of an answer that has few. `warp`: a warp takes those of one that has some, tile by tile, in which a
# lane has a stretch, and combines in their order. `fold`: of the others a block takes a part of an answer's elements in the same way; `finish`: a thread combines
# an answer's parts.
_KERNELS = """
namespace warpfold_own {

using std::uint64_t;
using std::int64_t;
constexpr reduction of{};
using state = reduction::state;
using result = std::remove_cvref_t<decltype(of.finish(of.identity(), int64_t{}))>;
static_assert(std::is_trivially_copyable_v<state>, "warpfold: the state of a reduction is trivially copyable; this is not");
static_assert(sizeof(state) <= 1536, "warpfold: state= of more than 1536 bytes; 32 of them, a warp's, do not fit the shared memory of a block");
constexpr int threads = sizeof(state) <= 192 ? 256 : sizeof(state) <= 768 ? 64 : 32, stretch = 16, most_dimensions = 32, few = @few@;

/// An array: first the dimensions that answers differ in, then those that are reduced. Strides are in bytes.
struct view {
  const unsigned char* at[2];
  int64_t kept, reduced, length[most_dimensions], stride[2][most_dimensions];
};

__device__ inline int64_t offset_of(const view& v, int k, int64_t begin, int64_t count, uint64_t i) {
  int64_t at = 0;
#pragma unroll 1  // a division is some hundred instructions
  for (int64_t d = begin + count; d-- > begin;) {
    const auto length = static_cast<uint64_t>(v.length[d]);
    const uint64_t above = d == begin ? 0 : i / length;
    at += static_cast<int64_t>(i - above * length) * v.stride[k][d];
    i = above;
  }
  return at;
}

/// Which elements an answer has: those between two offsets, or `length` of them, or all `n` of the reduced dimensions. `order`: the elements' places in
/// the order of their labels, or null.
struct partition {
  const void* offsets;
  const int64_t* order;
  int64_t bytes_of_offset;
  uint64_t length, n;
  __device__ uint64_t offset(uint64_t k) const {
    return static_cast<uint64_t>(bytes_of_offset == 8 ? static_cast<const int64_t*>(offsets)[k] : static_cast<const std::int32_t*>(offsets)[k]);
  }
  __device__ uint64_t begin(uint64_t answer) const { return offsets ? offset(answer) : answer * length; }
  __device__ uint64_t count(uint64_t answer) const {
    if (offsets) return offset(answer + 1) - offset(answer);
    const uint64_t left = n - answer * length;
    return length && length < left ? length : left;
  }
};

/// Where an element of each input lies, in bytes from the answer's first.
struct place {
  int64_t offset[@inputs@];
};

/// The elements of one answer.
struct elements {
  const view& v;
  const int64_t* order;
  uint64_t begin;
  const unsigned char* from[2];
  int64_t step[2];  // where they lie in one dimension
  __device__ elements(const view& all, const partition& by, uint64_t answer) : v(all), order(by.order), begin(by.begin(answer)) {
    for (int k = 0; k < @inputs@; ++k) {
      from[k] = all.at[k] + offset_of(all, k, 0, all.kept, answer);
      step[k] = all.reduced == 1 ? all.stride[k][all.kept] : 0;
    }
  }
  __device__ bool in_a_line() const { return v.reduced <= 1; }
  __device__ uint64_t index(uint64_t i) const { return order ? static_cast<uint64_t>(order[begin + i]) : begin + i; }
  template <bool line>
  __device__ place find(uint64_t at) const {
    place p;
    for (int k = 0; k < @inputs@; ++k) p.offset[k] = line ? static_cast<int64_t>(at) * step[k] : offset_of(v, k, v.kept, v.reduced, at);
    return p;
  }
  __device__ element load(int k, const place& p) const { return *reinterpret_cast<const element*>(from[k] + p.offset[k]); }
  __device__ state lifted(const place& p, uint64_t i) const { return of.lift(@loads@, static_cast<int64_t>(i)); }
  __device__ state lifted(uint64_t i) const { return lifted(in_a_line() ? find<true>(index(i)) : find<false>(index(i)), i); }
};

/// What a lane of so many takes of a tile, `each` elements or fewer: those beside each other, or where order does not count those that a group of lanes reads together.
template <int lanes>
__device__ state of_tile(const elements& x, int lane, uint64_t tile, uint64_t end, uint64_t each) {
  constexpr uint64_t apart = reduction::commutes ? lanes : 1;
  const uint64_t first = tile + static_cast<uint64_t>(lane) * (reduction::commutes ? 1 : each);
  state s = of.identity();
  const bool full = each == stretch && end - tile >= uint64_t{lanes} * stretch;
  if (full && x.in_a_line() && !x.order) {
#pragma unroll
    for (int j = 0; j < stretch; ++j) {
      const uint64_t i = first + static_cast<uint64_t>(j) * apart;
      s = of.combine(s, x.lifted(x.template find<true>(x.begin + i), i));
    }
  } else if (full && x.in_a_line()) {
    uint64_t at[stretch];  // all are asked for before the first element is
#pragma unroll
    for (int j = 0; j < stretch; ++j) at[j] = x.index(first + static_cast<uint64_t>(j) * apart);
#pragma unroll
    for (int j = 0; j < stretch; ++j) s = of.combine(s, x.lifted(x.template find<true>(at[j]), first + static_cast<uint64_t>(j) * apart));
  } else {
    // Four at a time, then one. In several dimensions a place is found by divisions: by loops that are not unrolled, before the first of the four is read.
    constexpr int batch = 4;
    uint64_t j = 0;
#pragma unroll 1
    for (; j + batch <= each && first + (j + batch - 1) * apart < end; j += batch) {
      place p[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        const uint64_t at = x.index(first + (j + static_cast<unsigned>(k)) * apart);
        p[k] = x.in_a_line() ? x.template find<true>(at) : x.template find<false>(at);
      }
#pragma unroll
      for (int k = 0; k < batch; ++k) s = of.combine(s, x.lifted(p[k], first + (j + static_cast<unsigned>(k)) * apart));
    }
#pragma unroll 1
    for (; j < each && first + j * apart < end; ++j) s = of.combine(s, x.lifted(first + j * apart));
  }
  return s;
}

/// The elements from begin to end of one answer, by lanes that are a warp or a block and have a state each in `all`; lane 0 has the result.
template <int lanes>
__device__ state of_lanes(const elements& x, int lane, state* all, uint64_t begin, uint64_t end) {
  const auto wait = [] {
    if (lanes == 32) __syncwarp();
    else __syncthreads();
  };
  const auto together = [&](const state& mine) {
    all[lane] = mine;
    for (int step = 1; step < lanes; step *= 2) {
      wait();
      if (lane % (2 * step) == 0) all[lane] = of.combine(all[lane], all[lane + step]);
    }
    const state found = all[lane];
    wait();
    return found;
  };
  const uint64_t n = end - begin, each = n >= uint64_t{lanes} * stretch ? stretch : (n + lanes - 1) / lanes;
  state s = of.identity();
  for (uint64_t tile = begin; tile < end; tile += lanes * each) {
    const state mine = of_tile<lanes>(x, lane, tile, end, each);
    s = of.combine(s, reduction::commutes ? mine : together(mine));
  }
  return reduction::commutes ? together(s) : s;
}

}  // namespace warpfold_own

extern "C" {

__device__ const int warpfold_told[] = {warpfold_own::threads, sizeof(warpfold_own::state), warpfold_own::answer<warpfold_own::result>::type,
                                        warpfold_own::answer<warpfold_own::result>::values};

__global__ void __launch_bounds__(warpfold_own::threads)
warpfold_own_each(warpfold_own::view v, warpfold_own::partition by, unsigned long long answers, warpfold_own::result* out) {
  using namespace warpfold_own;
  for (uint64_t a = blockIdx.x * uint64_t{threads} + threadIdx.x; a < answers; a += uint64_t{gridDim.x} * threads) {
    const uint64_t n = by.count(a);
    if (n > few) continue;
    const elements x(v, by, a);
    state s = of.identity();
    for (uint64_t i = 0; i < n; ++i) s = of.combine(s, x.lifted(i));
    out[a] = of.finish(s, static_cast<int64_t>(n));
  }
}

__global__ void __launch_bounds__(warpfold_own::threads)
warpfold_own_warp(warpfold_own::view v, warpfold_own::partition by, unsigned long long answers, unsigned long long some, warpfold_own::result* out) {
  using namespace warpfold_own;
  alignas(state) __shared__ unsigned char room[threads * sizeof(state)];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  state* const all = reinterpret_cast<state*>(room) + 32 * warp;
  for (uint64_t a = blockIdx.x * uint64_t{threads / 32} + warp; a < answers; a += uint64_t{gridDim.x} * (threads / 32)) {
    const uint64_t n = by.count(a);
    if (n <= few || n > some) continue;  // all lanes of the warp
    const elements x(v, by, a);
    const state s = of_lanes<32>(x, lane, all, 0, n);
    if (lane == 0) out[a] = of.finish(s, static_cast<int64_t>(n));
  }
}

__global__ void __launch_bounds__(warpfold_own::threads)
warpfold_own_fold(warpfold_own::view v, warpfold_own::partition by, unsigned long long answers, unsigned long long parts, unsigned long long some,
                  warpfold_own::state* states) {
  using namespace warpfold_own;
  alignas(state) __shared__ unsigned char room[threads * sizeof(state)];
  state* const all = reinterpret_cast<state*>(room);
  const int t = static_cast<int>(threadIdx.x);
  for (uint64_t task = blockIdx.x; task < answers * parts; task += gridDim.x) {
    const uint64_t n = by.count(task / parts);
    if (n <= some) continue;  // all threads of the block
    const elements x(v, by, task / parts);
    const uint64_t part = task % parts, more = n % parts, begin = n / parts * part + (part < more ? part : more);
    const uint64_t end = begin + n / parts + (part < more ? 1 : 0);
    const state s = of_lanes<threads>(x, t, all, begin, end);
    if (t == 0) states[task] = s;
  }
}

__global__ void __launch_bounds__(warpfold_own::threads)
warpfold_own_finish(warpfold_own::partition by, unsigned long long answers, unsigned long long parts, unsigned long long some,
                    const warpfold_own::state* states, warpfold_own::result* out) {
  using namespace warpfold_own;
  for (uint64_t a = blockIdx.x * uint64_t{threads} + threadIdx.x; a < answers; a += uint64_t{gridDim.x} * threads) {
    const uint64_t n = by.count(a);
    if (n <= some) continue;
    state s = states[a * parts];
    for (uint64_t k = 1; k < parts; ++k) s = of.combine(s, states[a * parts + k]);
    out[a] = of.finish(s, static_cast<int64_t>(n));
  }
}

}  // extern "C"
"""

FEW, SOME = 64, 1024  # elements of an answer that a thread takes alone, and a warp; own.hpp, which launches the kernels, has them too
WHOLE = _HEAD + _STRUCT + _KERNELS.replace("@few@", str(FEW))
_NAMES = ("warpfold_own_each", "warpfold_own_warp", "warpfold_own_fold", "warpfold_own_finish")


class Partition(NamedTuple):
    """Which elements an answer has: those between two offsets, by `order` where they are sorted, or `length` of them, or all `n`."""

    offsets: Any
    order: Any
    length: int
    n: int


class _Driver:
    """CUDA's driver, by its C API."""

    def __init__(self) -> None:
        try:
            self.api = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise RuntimeError("Reduction: an array on a GPU, and CUDA's driver (libcuda.so.1) is not here") from None
        self.check("cuInit", 0)

    def check(self, name: str, *arguments: Any) -> None:
        self.said(getattr(self.api, name)(*arguments), name)

    def capability(self, device: int) -> int:
        found = []
        for which in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
            value = ctypes.c_int()
            self.check("cuDeviceGetAttribute", ctypes.byref(value), which, device)
            found.append(value.value)
        return 10 * found[0] + found[1]

    def kernels(self, own: Any, element: int, device: int) -> Any:
        """The kernels of a Reduction in the device's primary context, which is CUDA's runtime's, for the compiled module to launch."""
        file = own._cubin(self.capability(device), element)
        context, module, found = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        functions = []
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.check("cuCtxPushCurrent_v2", context)
        try:
            self.check("cuModuleLoadData", ctypes.byref(module), file.cubin)
            for name in _NAMES:
                self.check("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
                functions.append(found.value)
        finally:
            self.check("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        driver = [ctypes.cast(getattr(self.api, name), ctypes.c_void_p).value for name in ("cuLaunchKernel", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2")]
        return _device.kernels("Reduction").OwnKernels(file.told, context.value, functions, driver)

    def said(self, e: int, name: str) -> None:
        """Raises what an error of the driver's means."""
        if e:
            text = ctypes.c_char_p()
            self.api.cuGetErrorString(e, ctypes.byref(text))
            raise RuntimeError(f"Reduction: {name}: {(text.value or b'an error without a name').decode()} ({e})")


driver_of = functools.lru_cache(maxsize=None)(_Driver)
_loaded: dict[tuple[Any, ...], Any] = {}
_lock = threading.Lock()


def _loaded_kernels(own: Any, inputs: _device.Inputs) -> Any:
    key = own, inputs.a.dtype, inputs.a.device
    with _lock:
        if key not in _loaded:
            _loaded[key] = driver_of().kernels(own, inputs.a.dtype, inputs.a.device)
            own._calls = own._calls or _device.kernels("Reduction").OwnCalls()
            own._calls.add(inputs.a.dtype, inputs.a.device, _loaded[key])
        return _loaded[key]


def reduce(own: Any, x: Any, y: Any, axis: Any, keepdims: bool, where: Any, out: Any, stream: Any) -> Any:
    """The answers of a Reduction of arrays on a GPU, on a stream; nothing waits."""
    who = "Reduction"
    inputs = _device.Inputs(x, y, _device.Asked(who, "exact", "nearest", 0, stream))
    a, b = inputs.a, inputs.b
    if b is not None and (b.dtype, b.shape) != (a.dtype, a.shape):
        raise TypeError(f"{who}: {NAMES[a.dtype]} of the shape {a.shape} and {NAMES[b.dtype]} of {b.shape}; both arrays are of one type and shape")
    axes = axes_of(axis, len(a.shape), who)
    kept = tuple(length for d, length in enumerate(a.shape) if d not in axes)
    shape = tuple(1 if d in axes else length for d, length in enumerate(a.shape)) if keepdims else kept
    if where is not None and where is not True:
        _device.check_selecting(x, where, a.shape, who)
        if 0 not in a.shape:
            return run_some(own, _device.Selection(inputs, a.shape, axes, where, False), math.prod(a.shape), shape, out)
    return run(own, inputs, axes, Partition(None, None, 0, math.prod(a.shape[d] for d in axes)), math.prod(kept), shape, out)


def run_some(own: Any, some: _device.Selection, n: int, shape: tuple[int, ...], out: Any) -> Any:
    """The answers of what counts of n elements: of segments of them."""
    return run(own, some.inputs, (0,), Partition(some.offsets, None, 0, n), some.count, shape, out)


def run(own: Any, inputs: _device.Inputs, axes: tuple[int, ...], by: Partition, answers: int, shape: tuple[int, ...], out: Any) -> Any:
    """So many answers, each of the elements that `by` says, as an array of that shape."""
    who, x, stream = inputs.asked.who, inputs.x, inputs.asked.stream
    kernels = _loaded_kernels(own, inputs)
    to, address = inputs.place(out, shape if kernels.values == 1 else (*shape, kernels.values), kernels.dtype)
    if answers == 0:
        return to
    scratch, states = None, 0
    if bytes_ := kernels.scratch(answers, by.length, by.n):
        if inputs.library is None:
            raise TypeError(f"{who}: an array on a GPU of a library that is not known, which gives no memory for states; "
                            f"at most {SOME} elements of each answer need none")
        scratch, states = inputs.library.room(x, (-(-bytes_ // 8),), I64, inputs.stream)
        if stream is not None:
            inputs.library.used(scratch, stream)
    driver_of().said(kernels.put(inputs.a, inputs.b, axes, by.offsets, by.order, by.length, by.n, answers, states, address, inputs.stream), "cuLaunchKernel")
    return to
