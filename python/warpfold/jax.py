# SPDX-License-Identifier: Apache-2.0
"""Exact reductions of JAX's arrays on the CPU, inside `jax.jit` too, by JAX's foreign function interface.

The first call compiles a small adapter against the headers that jaxlib brings, by the host's C++ compiler, and keeps it in the cache
of `warpfold.Reduction`. Types of answers are those of `warpfold`; without ``jax_enable_x64``, where JAX has no types of 64 bits, sums and
indexes are int32 or uint32 (modulo 2^32) and means of integers float32.

`sum`, `mean`, `var`, `std`, `norm`, `sum_of_squares`, `logsumexp` and `dot` of real numbers have derivatives: by JAX's own arithmetic, from
exact values. Under `jax.vmap` rows are reduced one after the other; `axis=` is the quicker way.

>>> import jax
>>> from warpfold import jax as wfj
>>> float(jax.jit(wfj.sum)(jax.numpy.array([1e8, 1.0, -1e8])))
1.0
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._compile import load
from ._fractional import fraction_of
from ._general import NEED_ELEMENTS, ONE_AXIS, OP, PUBLIC, VARIANCES, axes_of, correction_of, plan_of
from ._inputs import BF16, NAMES, code_of, is_complex

if TYPE_CHECKING:
    from ._functions import Accuracy, Rounding

try:
    _jax: Any = importlib.import_module("jax")
    _jnp: Any = importlib.import_module("jax.numpy")
    _ffi: Any = importlib.import_module("jax.ffi")
except ImportError as e:
    raise ModuleNotFoundError(f"warpfold.jax needs JAX with jax.ffi, 0.5 or later: {e}") from None

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "dot", "logsumexp", "max", "mean", "min", "norm", "norm1", "norm_inf", "prod",
           "std", "sum", "sum_of_squares", "var"]

_SOURCE = """\
#include <cstring>
#include <warpfold/python/call.hpp>
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static warpfold_python::call_function run = nullptr;
extern "C" __attribute__((visibility("default"))) void warpfold_use(void* f) { run = reinterpret_cast<warpfold_python::call_function>(f); }
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* warpfold_reduce(XLA_FFI_CallFrame*);

static ffi::Error reduce(ffi::RemainingArgs arrays, ffi::Result<ffi::AnyBuffer> out, ffi::Span<const int64_t> how,
                         ffi::Span<const int64_t> axes) {
  if (how.size() != 7) return ffi::Error::InvalidArgument("warpfold: an adapter of another version");
  char message[500] = "";
  warpfold_python::call c;
  c.op = static_cast<int>(how[0]);
  c.element = static_cast<int>(how[1]);
  c.answer = static_cast<int>(how[2]);
  c.accuracy = static_cast<int>(how[3]);
  c.rounding = static_cast<int>(how[4]);
  c.correction = how[5];
  std::memcpy(&c.fraction, &how[6], sizeof c.fraction);
  for (size_t k = 0; k < arrays.size() && k < 2; ++k) {
    auto x = arrays.get<ffi::AnyBuffer>(k);
    if (!x) return x.error();
    c.data[k] = x->untyped_data();
    c.shape = x->dimensions().begin();
    c.rank = static_cast<int>(x->dimensions().size());
  }
  c.axes = axes.begin() + 1;  // after their number: attributes are not empty
  c.axes_count = static_cast<int>(axes[0]);
  c.out = out->untyped_data();
  c.message = message;
  c.message_size = sizeof message;
  return run(&c) == 0 ? ffi::Error::Success() : ffi::Error(ffi::ErrorCode::kInvalidArgument, message);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(warpfold_reduce, reduce,
                              ffi::Ffi::Bind().RemainingArgs().Ret<ffi::AnyBuffer>().Attr<ffi::Span<const int64_t>>("how")
                                  .Attr<ffi::Span<const int64_t>>("axes"));
"""

_ROUNDINGS = ("nearest", "zero", "away", "up", "down")
_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


@functools.lru_cache(maxsize=None)
def _target() -> str:
    library = load(_SOURCE, {}, ["-isystem", _ffi.include_dir()], "warpfold.jax")
    library.warpfold_use.argtypes, library.warpfold_use.restype = [ctypes.c_void_p], None
    library.warpfold_use(_core.address_of_call())
    _ffi.register_ffi_target("warpfold_reduce", _ffi.pycapsule(library.warpfold_reduce), platform="cpu")
    return "warpfold_reduce"


def _type_of_answer(op: int, element: int, who: str) -> tuple[int, Any]:
    code, _ = _core.answer_of(op, element)
    name = NAMES[code]
    if name in _NARROW and not _jax.config.jax_enable_x64:
        name = _NARROW[name]
        if name.startswith("float") and op != OP["mean"]:
            raise TypeError(f"{who}: the answer is {NAMES[code]}, which JAX has not without jax_enable_x64; convert the array to floats")
        code = NAMES.index(name)
    return code, _jnp.bfloat16 if code == BF16 else np.dtype(name)


def _reduce(op: int, arrays: tuple[Any, ...], axis: Any, keepdims: bool, correction: Any, accuracy: Accuracy, rounding: Rounding) -> Any:
    who = PUBLIC[_core.op_names[op]]
    given = [_jnp.asarray(x) for x in arrays]
    if len(given) == 2:
        common = _jnp.result_type(*given)
        given = [x.astype(common) for x in _jnp.broadcast_arrays(*given)]
    shape, element = given[0].shape, code_of(given[0].dtype, who)
    if op in ONE_AXIS and not (axis is None or hasattr(axis, "__index__")):
        raise TypeError(f"{who}: axis={axis!r}; it is one axis, or None")
    axes = axes_of(axis, len(shape), who)
    if op in NEED_ELEMENTS and math.prod(shape[d] for d in axes) == 0:
        raise ValueError(f"{who}: there are no elements, and of nothing there is no {who}")
    plan_of([op], element, False, None, False, accuracy, rounding, 0, who)  # which says what is wrong, before anything is traced
    answer, dtype = _type_of_answer(op, element, who)
    kept = tuple(n for d, n in enumerate(shape) if d not in axes)
    part = fraction_of(correction) if op in VARIANCES else None
    divide = 0 if part is not None else correction_of(correction, who)
    how = np.array([op, element, answer, accuracy == "fast", _ROUNDINGS.index(rounding), divide, np.float64(part or 0).view(np.int64)], np.int64)
    run = _ffi.ffi_call(_target(), _jax.ShapeDtypeStruct(kept, dtype), vmap_method="sequential")
    found = run(*given, how=how, axes=np.array([len(axes), *axes], np.int64))
    return found.reshape(tuple(1 if d in axes else n for d, n in enumerate(shape))) if keepdims else found


def _with_tangent(run: Any, tangent: Any, *arrays: Any) -> Any:
    """run(*arrays), whose derivative is tangent(arrays, their tangents, the answer); both keep the reduced axes."""
    given = [_jnp.asarray(x) for x in arrays]
    f = _jax.custom_jvp(run)

    def jvp(primals: Any, tangents: Any) -> Any:
        answer = f(*primals)
        if is_complex(code_of(primals[0].dtype, "warpfold.jax")):
            raise TypeError("warpfold.jax: derivatives are of real numbers")
        return answer, tangent(primals, tangents, answer).astype(answer.dtype).reshape(answer.shape)
    f.defjvp(jvp)
    return f(*given)


def _kept(answer: Any, axis: Any, keepdims: bool, x: Any) -> Any:
    """The answer with the reduced axes in it, to be broadcast."""
    axes = axes_of(axis, x.ndim, "warpfold.jax")
    return answer.reshape(tuple(1 if d in axes else n for d, n in enumerate(x.shape)))


def _number(x: Any, axis: Any) -> int:
    return math.prod(x.shape[d] for d in axes_of(axis, x.ndim, "warpfold.jax"))


def sum(x: Any, /, *, axis: Any = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding = "nearest") -> Any:
    """The true sum, rounded once."""
    return _with_tangent(lambda a: _reduce(OP["sum"], (a,), axis, keepdims, 0, accuracy, rounding),
                         lambda p, t, y: _jnp.sum(t[0], axis=axis, keepdims=keepdims), x)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding = "nearest") -> Any:
    """The true mean, rounded once."""
    return _with_tangent(lambda a: _reduce(OP["mean"], (a,), axis, keepdims, 0, accuracy, rounding),
                         lambda p, t, y: _jnp.mean(t[0], axis=axis, keepdims=keepdims), x)


def _var_tangent(x: Any, t: Any, axis: Any, keepdims: bool, correction: float) -> Any:
    centred, divide = x - _kept(mean(x, axis=axis), axis, keepdims, x), _number(x, axis) - correction
    return 2 * _jnp.sum(centred * t, axis=axis, keepdims=keepdims) / (divide if divide > 0 else math.nan)  # as the variance is


def var(x: Any, /, *, axis: Any = None, keepdims: bool = False, correction: float = 0, accuracy: Accuracy = "exact",
        rounding: Rounding = "nearest") -> Any:
    """The variance, rounded once."""
    return _with_tangent(lambda a: _reduce(OP["var"], (a,), axis, keepdims, correction, accuracy, rounding),
                         lambda p, t, y: _var_tangent(p[0], t[0], axis, keepdims, correction), x)


def std(x: Any, /, *, axis: Any = None, keepdims: bool = False, correction: float = 0, accuracy: Accuracy = "exact",
        rounding: Rounding = "nearest") -> Any:
    """The standard deviation, rounded once."""
    return _with_tangent(lambda a: _reduce(OP["std"], (a,), axis, keepdims, correction, accuracy, rounding),
                         lambda p, t, y: _var_tangent(p[0], t[0], axis, keepdims, correction) / (2 * y), x)


def sum_of_squares(x: Any, /, *, axis: Any = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding = "nearest") -> Any:
    """The sum of squares, rounded once."""
    return _with_tangent(lambda a: _reduce(OP["sum_of_squares"], (a,), axis, keepdims, 0, accuracy, rounding),
                         lambda p, t, y: 2 * _jnp.sum(p[0] * t[0], axis=axis, keepdims=keepdims), x)


def norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding = "nearest") -> Any:
    """The Euclidean norm, rounded once. Its derivative at 0 is taken to be 0."""
    def tangent(p: Any, t: Any, y: Any) -> Any:
        return _jnp.sum(p[0] * t[0], axis=axis, keepdims=keepdims) / _jnp.where(y == 0, 1, y)  # all are 0 where it is
    return _with_tangent(lambda a: _reduce(OP["norm2"], (a,), axis, keepdims, 0, accuracy, rounding), tangent, x)


def logsumexp(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """log Σ exp(x), without overflow."""
    return _with_tangent(lambda a: _reduce(OP["logsumexp"], (a,), axis, keepdims, 0, "exact", "nearest"),
                         lambda p, t, y: _jnp.sum(_jnp.exp(p[0] - _kept(y, axis, keepdims, p[0])) * t[0], axis=axis, keepdims=keepdims), x)


def dot(x: Any, y: Any, /, *, axis: Any = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding = "nearest") -> Any:
    """The true sum of products, rounded once; nothing is conjugated."""
    x, y = _jnp.broadcast_arrays(x, y)
    return _with_tangent(lambda a, b: _reduce(OP["dot"], (a, b), axis, keepdims, 0, accuracy, rounding),
                         lambda p, t, z: _jnp.sum(p[0] * t[1] + p[1] * t[0], axis=axis, keepdims=keepdims), x, y)


def norm1(x: Any, /, *, axis: Any = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding = "nearest") -> Any:
    """The sum of magnitudes, rounded once."""
    return _reduce(OP["norm1"], (x,), axis, keepdims, 0, accuracy, rounding)


def _plain(name: str, doc: str) -> Callable[..., Any]:
    def f(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return _reduce(OP[name], (x,), axis, keepdims, 0, "exact", "nearest")
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return f


all: Callable[..., Any] = _plain("all", "Whether every element is other than zero.")
any: Callable[..., Any] = _plain("any", "Whether an element is other than zero.")
argmax: Callable[..., Any] = _plain("argmax", "The index of the first greatest element, or of the first NaN; `axis` is one, or None.")
argmin: Callable[..., Any] = _plain("argmin", "The index of the first least element, or of the first NaN; `axis` is one, or None.")
count_nonzero: Callable[..., Any] = _plain("count_nonzero", "How many elements are other than zero.")
max: Callable[..., Any] = _plain("max", "The greatest element; a NaN if there is one.")
min: Callable[..., Any] = _plain("min", "The least element; a NaN if there is one.")
norm_inf: Callable[..., Any] = _plain("norm_inf", "The largest magnitude.")
prod: Callable[..., Any] = _plain("prod", "The product, by f64 in C order.")


_SECTIONS = {
    "x": """x : array_like
    What `jax.numpy.asarray` takes, of the types that `warpfold` takes; also what `jax.jit` traces.""",
    "y": """y : array_like
    The other factors, broadcast against x.""",
    "axis": """axis : int, tuple of ints or None
    The axes to reduce over, one alone for `argmax` and `argmin`; None: all. It is no traced value.""",
    "keepdims": """keepdims : bool
    Reduced axes stay, with length 1.""",
    "correction": """correction : int or float
    The sum of squared differences is divided by n - correction. It is no traced value.""",
    "accuracy": """accuracy : {"exact", "fast"}
    The true answer, rounded once; or native arithmetic.""",
    "rounding": """rounding : {"nearest", "zero", "away", "up", "down"}
    How the true answer is rounded.""",
}


def _document(name: str) -> None:
    f = globals()[name]
    if f.__doc__ is None:  # under -OO
        return
    parameters = ["x", *["y"] * (name == "dot"), *f.__kwdefaults__]
    sources = "docs/exact.md: how the answer is exact." if "rounding" in parameters else "docs/reductions.md: what is answered of nothing, of NaNs and of too large an answer."
    given = "x, x" if name == "dot" else "x"
    f.__doc__ += f"""

Parameters
----------
{chr(10).join(_SECTIONS[n] for n in parameters)}

Returns
-------
jax.Array
    The type is that of `warpfold.{name}`, narrowed where JAX has no types of 64 bits. The shape is that of x without the axes that are reduced.

Raises
------
TypeError
    Elements of other types, a traced value where none may be; at derivatives, complex numbers.
ValueError, numpy.exceptions.AxisError
    Axes that the array does not have, names that are none; no elements for what needs some.
warpfold.CompileError, FileNotFoundError
    The adapter cannot be compiled: there is no C++ compiler.

References
----------
{sources}

Examples
--------
>>> import jax
>>> import warpfold as wf
>>> x = jax.numpy.array([3.0, 1.0, 2.0], "float32")
>>> bool(jax.jit(wf.jax.{name})({given}) == wf.{name}({given}))
True
"""


for _name in __all__:
    _document(_name)
