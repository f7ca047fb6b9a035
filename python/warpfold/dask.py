# SPDX-License-Identifier: Apache-2.0
"""Reductions of Dask arrays with the same bits for any chunks, any scheduler, any number of workers and any retries.

Each chunk becomes an array of states, states are merged in a tree, and each answer is rounded once.

>>> import dask.array as da
>>> import warpfold.dask as wfd
>>> x = da.from_array([1e16, 1.0, -1e16, 1.0], chunks=2)
>>> float(wfd.sum(x).compute()), float(x.sum().compute())
(2.0, 0.0)
"""

from __future__ import annotations

import builtins
import math
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _device, _functions
from ._core import state_version
from ._general import NEED_ELEMENTS, ONE_AXIS, axes_of
from ._inputs import NAMES, is_floating, lies_on_gpu
from ._modules import need
from .states import OP_OF, Form

if TYPE_CHECKING:
    from ._functions import Rounding

_array: Any = need("dask.array", "warpfold.dask", "dask[array]")

__all__ = [
    "aggregation", "all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "mean_var", "min", "minmax", "nanmax", "nanmean",
    "nanmin", "nansum", "nanvar", "norm", "norm1", "norm_inf", "prod", "states", "std", "sum", "sum_of_squares", "var"]

Array = Any  # dask.array.Array
Axis = Any   # int | tuple[int, ...] | None


# ---- What runs in tasks.

_short_stay = True  # whether few elements travel as they are; the tests turn it off too


def _few(form: Form, per_answer: int, itemsize: int) -> bool:
    """Whether so many elements take no more bytes than a state: chunks of one time step would grow many times."""
    return _short_stay and per_answer * itemsize <= form.dtype.itemsize


class _Narrow:
    """States of sums that lie in few digits, as those of most blocks do: these digits alone, int64, and not carried while they are added.

    Digit `first` + k of the states is digits[k]; those below are zeros, those above the sign's. All are of `count` elements, none of them special.
    """

    __slots__ = ("count", "digits", "first")

    def __init__(self, count: int, first: int, digits: Any) -> None:
        self.count, self.first, self.digits = count, first, digits

    def __reduce__(self) -> Any:
        return _Narrow, (self.count, self.first, self.digits)

    def __sizeof__(self) -> int:
        return int(self.digits.nbytes) + 64


_COUNTERS = 5      # behind the digits of a sum: elements, NaNs, infinities, negative ones, whether all are -0
_FEW_DIGITS = 6    # more are sent as they are
_worth_narrowing = 1 << 14  # bytes of a block's states; the tests change it
_OF_ONE_SUM = frozenset(OP_OF[r] for r in ("sum", "mean", "norm1", "norm", "sum_of_squares"))


def _may_be_narrow(form: Form) -> bool:
    return form.op in _OF_ONE_SUM and is_floating(form.element)


def _narrowed(form: Form, states: Any) -> Any:
    """The states of a block, narrow where they may be."""
    if states.nbytes < _worth_narrowing or states.size == 0 or not _may_be_narrow(form):
        return states
    found = form._kind.narrow_of(states)
    if found is None or found[2] - found[1] > _FEW_DIGITS:
        return states
    count, first, end = found
    digits = np.empty((end - first, *states.shape), np.int64)
    form._kind.narrow(states, first, end, digits)
    return _Narrow(count, first, digits)


_rooms = threading.local()


def _room(shape: Any, dtype: Any) -> Any:
    """Room for states that soon are narrow, or copied: a thread's own, since new memory takes as long as a fifth of adding a block."""
    size = math.prod(shape) * dtype.itemsize
    if size > 1 << 24:
        return np.empty(shape, dtype)
    if size > len(getattr(_rooms, "bytes", b"")):
        _rooms.bytes = np.empty(size, np.uint8)
    return _rooms.bytes[:size].view(dtype).reshape(shape)


def _added(parts: list[_Narrow]) -> _Narrow:
    first = builtins.min(p.first for p in parts)
    end = builtins.max(p.first + len(p.digits) for p in parts)
    total = np.zeros((end - first, *parts[0].digits.shape[1:]), np.int64)
    for p in parts:
        total[p.first - first:p.first - first + len(p.digits)] += p.digits
    return _Narrow(builtins.sum(p.count for p in parts), first, total)


def _whole(form: Form, narrow: _Narrow) -> Any:
    """The states, in canonical form."""
    shape = narrow.digits.shape[1:]
    words = np.zeros((math.prod(shape), form.dtype.itemsize // 8), np.int64)
    words[:, 0] = words[:, -_COUNTERS] = narrow.count
    end = words.shape[1] - 1 - _COUNTERS
    carry: Any = 0
    for k in range(narrow.first, end):
        if k - narrow.first < len(narrow.digits):
            carry = carry + narrow.digits[k - narrow.first].reshape(-1)
        words[:, 1 + k] = carry if k == end - 1 else carry & 0xffffffff
        carry = carry >> 32
    return words.view(form.dtype).reshape(shape)


def _on_gpu(x: Any) -> bool:
    return type(x) is not np.ndarray and hasattr(x, "get") and lies_on_gpu(x)


def _here(x: Any) -> Any:
    """A block in the CPU's memory; one of CuPy, as dask-cuda's workers have them, is copied there."""
    return x.get() if _on_gpu(x) else x


def _for_states(form: Form, x: Any, skip_nans: bool) -> Any:
    """The block, on a GPU where its states can be made there."""
    return x if not _on_gpu(x) or _device.makes_states(form, x, skip_nans) else x.get()


def _chunk(x: Any, *, axis: tuple[int, ...], keepdims: bool, form: Form, skip_nans: bool, computing_meta: bool = False) -> Any:
    """The states of a block, narrow ones or whole; or its elements, those of an answer along the first axis, where they are few."""
    x, axis = _for_states(form, x, skip_nans), tuple(axis)
    per_answer = math.prod(x.shape[d] for d in axis)
    if (type(x) is np.ndarray or _on_gpu(x)) and not computing_meta and _few(form, per_answer, x.dtype.itemsize):
        kept = [d for d in range(x.ndim) if d not in axis]
        return _here(x.transpose(*axis, *kept).reshape(per_answer, *(x.shape[d] for d in kept)))
    # One thread: the scheduler keeps the cores busy.
    may_be_narrow = not computing_meta and _may_be_narrow(form)
    found = form.of(x, axis=axis, keepdims=keepdims, skip_nans=skip_nans, threads=1, _room=_room if may_be_narrow else None)
    if not may_be_narrow:
        return found
    narrow = _narrowed(form, found)
    return found.copy() if narrow is found else narrow


def _places(x: Any, *, form: Form, axes: tuple[int, ...], starts: tuple[tuple[int, ...], ...], shape: tuple[int, ...],
            block_id: tuple[int, ...] | None = None) -> Any:
    """States of argmin and argmax of a block, whose places are those in the whole array."""
    x = _for_states(form, x, False)
    at = (0,) * x.ndim if block_id is None else block_id
    first = [starts[d][k] for d, k in enumerate(at)]
    if len(axes) == 1:
        return form.of(x, axis=axes, keepdims=True, first=first[axes[0]], threads=1)
    found = form.of(x, keepdims=True, threads=1)
    place = form.words(found).reshape(-1)[2:3]
    if place[0] >= 0:  # in C order of the block, and then of the array
        here = np.unravel_index(int(place[0]), x.shape)
        index = 0
        for d, k in enumerate(here):
            index = index * shape[d] + first[d] + int(k)
        place[0] = index
    return found


def _pass(x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    return x


def _flat(parts: Any) -> Iterator[Any]:
    if isinstance(parts, (list, tuple)):
        for part in parts:
            yield from _flat(part)
    else:
        yield parts


def _merge(parts: Any, *, axis: tuple[int, ...], keepdims: bool, form: Form, skip_nans: bool, last: bool) -> Any:
    given = list(_flat(parts))
    narrow = [p for p in given if isinstance(p, _Narrow)]
    if narrow:
        added = _added(narrow)
        if not last and len(narrow) == len(given):
            return added
    found = [p for p in given if not isinstance(p, _Narrow)]
    states = [p for p in found if p.dtype == form.dtype] + ([_whole(form, added)] if narrow else [])
    elements = [p for p in found if p.dtype != form.dtype]
    if elements:
        together = np.concatenate(elements)
        if not last and not states and _few(form, len(together), together.dtype.itemsize):
            return together
        states.append(np.expand_dims(form.of(together, axis=0, skip_nans=skip_nans, threads=1), tuple(axis)))
    return states[0] if len(states) == 1 else form.merge(*states)


def _value(states: Any, *, form: Form, axes: tuple[int, ...], keepdims: bool, which: int | None, rounding: Rounding, correction: float,
           fewest: int | None, like: type | None) -> Any:
    found = form.values(states, rounding=rounding, correction=correction, fewest=fewest)
    answer = np.asarray(found if which is None else found[which])
    answer = answer if keepdims else answer.reshape([n for d, n in enumerate(answer.shape) if d not in axes])
    return answer if like is None else _device.cupy_of(like).asarray(answer)


def _direct(x: Any, *, reduction: str, axes: tuple[int, ...], dtype: Any, keepdims: bool, rounding: Rounding, like: type | None) -> Any:
    """The answers of a block that has all of their elements: no states are made."""
    while isinstance(x, list):  # one for each axis that is reduced
        [x] = x
    how = {"axis": axes, "dtype": dtype, "keepdims": keepdims, "rounding": rounding}
    if _on_gpu(x) and _device.cupy_of(type(x)) is not None:
        try:
            there = _AT_ONCE[reduction](x, **how)
            return there if like is not None else there.get()
        except TypeError:  # answers are not rounded to that type there
            pass
    answer = np.asarray(_AT_ONCE[reduction](_here(x), **how))
    return answer if like is None else _device.cupy_of(like).asarray(answer)


_AT_ONCE: dict[str, Callable[..., Any]] = {"sum": _functions.sum, "mean": _functions.mean}


# ---- The graph.

def _as_array(x: Any, who: str) -> Array:
    if isinstance(x, _array.Array):
        return x
    if hasattr(x, "to_dask_array") and hasattr(x, "dtype"):  # a Series of dask.dataframe
        return x.to_dask_array()
    if hasattr(x, "dask"):
        raise TypeError(f"{who}: an object of type {type(x).__name__}; it may be a Dask array, a Series, or what dask.array.asarray takes")
    return _array.asarray(x)


def _states(form: Form, x: Array, axes: tuple[int, ...], skip_nans: bool, split_every: Any) -> Array:
    name = f"warpfold-{form.reduction}"
    if form.op in ONE_AXIS and x.ndim > 0:
        if builtins.any(math.isnan(n) for n in x.shape):
            raise ValueError(f"{form.reduction}: chunks of unknown sizes, so the places are unknown; compute_chunk_sizes() finds them")
        starts = tuple(tuple(int(n) for n in np.cumsum((0, *c))[:-1]) for c in x.chunks)
        ones = tuple((1,) * len(c) if d in axes else c for d, c in enumerate(x.chunks))
        x = x.map_blocks(partial(_places, form=form, axes=axes, starts=starts, shape=x.shape), dtype=form.dtype, chunks=ones,
                         meta=np.empty((0,) * x.ndim, form.dtype), name=None, token=name + "-places")
        chunk: Callable[..., Any] = _pass
    else:
        chunk = partial(_chunk, form=form, skip_nans=skip_nans)
    merge = partial(_merge, form=form, skip_nans=skip_nans)
    return _array.reduction(x, chunk, partial(merge, last=True), axis=axes, keepdims=True, dtype=form.dtype, split_every=split_every,
                            combine=partial(merge, last=False), name=name, concatenate=False, meta=np.empty((0,) * x.ndim, form.dtype))


def _like(x: Array) -> type | None:
    """The type of answers, where blocks are CuPy's arrays and Dask knows that; else they are NumPy's."""
    kind = type(x._meta)
    return kind if kind is not np.ndarray and _device.cupy_of(kind) is not None else None


def _meta(like: type | None, rank: int, dtype: Any) -> Any:
    return (np if like is None else _device.cupy_of(like)).empty((0,) * rank, dtype)


def _answer(form: Form, states: Array, axes: tuple[int, ...], keepdims: bool, which: int | None, rounding: Rounding, correction: float,
            fewest: int | None, like: type | None) -> Array:
    dtype = form.answers[which or 0]
    run = partial(_value, form=form, axes=axes, keepdims=keepdims, which=which, rounding=rounding, correction=correction, fewest=fewest, like=like)
    left = states.ndim if keepdims else states.ndim - len(axes)
    return states.map_blocks(run, dtype=dtype, drop_axis=None if keepdims else list(axes), meta=_meta(like, left, dtype),
                             token=f"warpfold-{form.reduction}-value")


def _reduce(reduction: str, x: Any, axis: Axis, dtype: Any, keepdims: bool, correction: float, rounding: Rounding, split_every: Any,
            skip_nans: bool = False, fewest: int | None = None) -> Any:
    who = ("nan" if skip_nans else "") + reduction
    x = _as_array(x, who)
    form = Form(reduction, x.dtype, answer=dtype)
    if form.op in ONE_AXIS and not (axis is None or hasattr(axis, "__index__")):
        raise TypeError(f"{who}: axis={axis!r}; it is one axis, or None")
    axes = axes_of(axis, x.ndim, who)
    if form.op in NEED_ELEMENTS and math.prod(x.shape[d] for d in axes) == 0:
        raise ValueError(f"{who}: there are no elements, and of nothing there is no {reduction}")
    if skip_nans and fewest is None:
        fewest = 0  # where all are NaN, what the reduction begins with
    like = _like(x)
    form.values(form.nothing((0,)), rounding=rounding, correction=correction)  # refuses what no task could do
    if reduction in _AT_ONCE and not skip_nans and 0 < len(axes) < x.ndim and builtins.all(x.numblocks[d] == 1 for d in axes):
        run = partial(_direct, reduction=reduction, axes=axes, dtype=dtype, keepdims=keepdims, rounding=rounding, like=like)
        every = range(x.ndim)
        kept = tuple(d for d in every if keepdims or d not in axes)
        # map_blocks() would copy a block to drop one of its axes.
        return _array.blockwise(run, kept, x, tuple(every), concatenate=False, dtype=form.answers[0], adjust_chunks={d: 1 for d in axes} if keepdims else None,
                                meta=_meta(like, len(kept), form.answers[0]), token=f"warpfold-{reduction}-at-once")
    states = _states(form, x, axes, skip_nans, split_every)
    found = tuple(_answer(form, states, axes, keepdims, None if len(form.answers) == 1 else k, rounding, correction, fewest, like)
                  for k in range(len(form.answers)))
    return found if len(found) > 1 else found[0]


def states(x: Any, reduction: str, /, *, axis: Axis = None, dtype: Any = None, skip_nans: bool = False, split_every: Any = None) -> Array:
    """The states of a reduction, as a Dask array; `warpfold.states.Form.of_dtype` of its dtype merges, stores and answers them.

    >>> import dask.array as da
    >>> import warpfold.dask as wfd
    >>> from warpfold.states import Form
    >>> s = wfd.states(da.ones((4, 6), chunks=2), "sum", axis=0).compute()
    >>> Form.of_dtype(s.dtype).values(s).tolist()
    [4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
    """
    x = _as_array(x, reduction)
    form = Form(reduction, x.dtype, answer=dtype)
    axes = axes_of(axis, x.ndim, reduction)
    found = _states(form, x, axes, skip_nans, split_every)
    return found.squeeze(axis=axes) if axes else found


_PARAMETERS = """
    Parameters
    ----------
    x : dask.array.Array, dask.dataframe.Series or array_like
        Elements are of the types that the package's functions take; states of CuPy's blocks are made on
        their GPU.
    axis : int, tuple of ints or None
        The axes to reduce over; None: all.
    keepdims : bool
        Reduced axes stay, with length 1.
    dtype, correction, rounding
        As the function of the same name in `warpfold` has them.
    split_every : int or dict, optional
        How many states are merged in a task, as `dask.array.reduction` has it.

    Returns
    -------
    dask.array.Array, or a tuple of two
        Shape and type are those that the function of the same name in `warpfold` gives; blocks are CuPy's where those of x are, else NumPy's.

    Raises
    ------
    TypeError
        Elements or a `dtype` that the function does not take.
    ValueError, numpy.exceptions.AxisError
        Axes that the array does not have; chunks of unknown sizes for `argmin` and `argmax`.

    References
    ----------
    docs/distributed.md: states of chunks, and why the bits are the same.

    Examples
    --------
    >>> import dask.array, numpy
    >>> import warpfold as wf
    >>> x = dask.array.arange(12, chunks=5)
    >>> numpy.array_equal(dask.compute(wf.dask.NAME(x))[0], wf.NAME(numpy.arange(12)))
    True
"""


def _document(f: Any) -> Any:
    if f.__doc__ is not None:
        f.__doc__ += "\n" + _PARAMETERS.replace("NAME", f.__name__)
    return f


@_document
def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False, rounding: Rounding = "nearest",
        split_every: Any = None) -> Array:
    """The sum: the true one, rounded once; of integers modulo 2^64."""
    return _reduce("sum", x, axis, dtype, keepdims, 0, rounding, split_every)


@_document
def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """The product of integers, modulo 2^64; that of floats depends on the chunks, and is refused."""
    return _reduce("prod", x, axis, dtype, keepdims, 0, "nearest", split_every)


@_document
def mean(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False, rounding: Rounding = "nearest",
         split_every: Any = None) -> Array:
    """The mean: the true sum divided by the number of elements, rounded once."""
    return _reduce("mean", x, axis, dtype, keepdims, 0, rounding, split_every)


@_document
def var(x: Any, /, *, axis: Axis = None, keepdims: bool = False, correction: float = 0, rounding: Rounding = "nearest",
        split_every: Any = None) -> Array:
    """The variance, from the exact sum and the exact sum of squares, rounded once."""
    return _reduce("var", x, axis, None, keepdims, correction, rounding, split_every)


@_document
def std(x: Any, /, *, axis: Axis = None, keepdims: bool = False, correction: float = 0, rounding: Rounding = "nearest",
        split_every: Any = None) -> Array:
    """The standard deviation: the root of the variance, rounded once."""
    return _reduce("std", x, axis, None, keepdims, correction, rounding, split_every)


@_document
def mean_var(x: Any, /, *, axis: Axis = None, keepdims: bool = False, correction: float = 0, rounding: Rounding = "nearest",
             split_every: Any = None) -> tuple[Array, Array]:
    """Mean and variance from the same states."""
    found: tuple[Array, Array] = _reduce("mean_var", x, axis, None, keepdims, correction, rounding, split_every)
    return found


@_document
def sum_of_squares(x: Any, /, *, axis: Axis = None, keepdims: bool = False, rounding: Rounding = "nearest", split_every: Any = None) -> Array:
    """The sum of squares, of complex numbers of |x|²: exact products, rounded once."""
    return _reduce("sum_of_squares", x, axis, None, keepdims, 0, rounding, split_every)


@_document
def norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, rounding: Rounding = "nearest", split_every: Any = None) -> Array:
    """The Euclidean norm: the correctly rounded root of the exact sum of squares."""
    return _reduce("norm", x, axis, None, keepdims, 0, rounding, split_every)


@_document
def norm1(x: Any, /, *, axis: Axis = None, keepdims: bool = False, rounding: Rounding = "nearest", split_every: Any = None) -> Array:
    """The sum of magnitudes, rounded once."""
    return _reduce("norm1", x, axis, None, keepdims, 0, rounding, split_every)


@_document
def norm_inf(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """The largest magnitude."""
    return _reduce("norm_inf", x, axis, None, keepdims, 0, "nearest", split_every)


@_document
def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """The least element; a NaN if there is one, and -0 before +0."""
    return _reduce("min", x, axis, None, keepdims, 0, "nearest", split_every)


@_document
def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """The greatest element; a NaN if there is one, and +0 after -0."""
    return _reduce("max", x, axis, None, keepdims, 0, "nearest", split_every)


@_document
def minmax(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> tuple[Array, Array]:
    """The least and the greatest element from the same states."""
    found: tuple[Array, Array] = _reduce("minmax", x, axis, None, keepdims, 0, "nearest", split_every)
    return found


@_document
def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """The index of the first least element, or of the first NaN; without an axis, in C order of the whole array."""
    return _reduce("argmin", x, axis, None, keepdims, 0, "nearest", split_every)


@_document
def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """The index of the first greatest element, or of the first NaN; without an axis, in C order of the whole array."""
    return _reduce("argmax", x, axis, None, keepdims, 0, "nearest", split_every)


@_document
def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """Whether any element is other than zero."""
    return _reduce("any", x, axis, None, keepdims, 0, "nearest", split_every)


@_document
def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """Whether all elements are other than zero."""
    return _reduce("all", x, axis, None, keepdims, 0, "nearest", split_every)


@_document
def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """How many elements are other than zero."""
    return _reduce("count_nonzero", x, axis, None, keepdims, 0, "nearest", split_every)


@_document
def nansum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False, rounding: Rounding = "nearest",
           split_every: Any = None) -> Array:
    """The sum of what is not NaN."""
    return _reduce("sum", x, axis, dtype, keepdims, 0, rounding, split_every, True)


@_document
def nanmean(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False, rounding: Rounding = "nearest",
            split_every: Any = None) -> Array:
    """The mean of what is not NaN."""
    return _reduce("mean", x, axis, dtype, keepdims, 0, rounding, split_every, True)


@_document
def nanvar(x: Any, /, *, axis: Axis = None, keepdims: bool = False, correction: float = 0, rounding: Rounding = "nearest",
           split_every: Any = None) -> Array:
    """The variance of what is not NaN."""
    return _reduce("var", x, axis, None, keepdims, correction, rounding, split_every, True)


@_document
def nanmin(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """The least element that is not NaN; +inf if all are."""
    return _reduce("min", x, axis, None, keepdims, 0, "nearest", split_every, True)


@_document
def nanmax(x: Any, /, *, axis: Axis = None, keepdims: bool = False, split_every: Any = None) -> Array:
    """The greatest element that is not NaN; -inf if all are."""
    return _reduce("max", x, axis, None, keepdims, 0, "nearest", split_every, True)


# ---- Data frames.

_CELL = struct.Struct("<2sBBBB2x")  # magic, version of the states, operation, element type, 1 for states of any real numbers


def _labels_of(grouped: Any) -> tuple[Any, Any]:
    """For each row the place of its group among the groups, -1 for none; and their index."""
    sizes, codes = grouped.size(), grouped.ngroup().fillna(-1).to_numpy().astype(np.int64)  # NaN: of no group
    there, seen = np.flatnonzero(sizes.to_numpy()), np.unique(codes[codes >= 0])
    if len(there) != len(seen):
        raise TypeError("aggregation: groups that pandas numbers in an order of its own; group by plain columns")
    labels = np.full(len(codes), -1, np.int64)
    labels[codes >= 0] = there[np.searchsorted(seen, codes[codes >= 0])]
    return labels, sizes.index


def _series(values: Any, index: Any, name: Any) -> Any:
    return need("pandas", "warpfold.dask.aggregation", "dask[dataframe]").Series(values, index, name=name)


def _cells(form: Form, states: Any, index: Any, name: Any) -> Any:
    """A Series of bytes: Dask sends and concatenates them without knowing what they are."""
    head = _CELL.pack(b"WF", state_version, form.op, form.element, form.wide)
    found = np.empty(len(states), object)
    found[:] = [head + s.tobytes() for s in states]
    return _series(found, index, name)


def _of_cells(cells: Any, reduction: str) -> tuple[Form | None, Any]:
    """What `_cells` of any number of partitions wrote. ValueError for other bytes."""
    given = list(cells)
    if not given:
        return None, None
    who = f"aggregation({reduction!r})"
    for cell in given:
        if not isinstance(cell, bytes) or len(cell) < _CELL.size or cell[:2] != b"WF":
            raise ValueError(f"{who}: {cell!r:.40} is no state")
        if cell[:_CELL.size] != given[0][:_CELL.size]:
            raise ValueError(f"{who}: states of several types; a column has one")
    _, version, op, element, wide = _CELL.unpack_from(given[0])
    if version != state_version:
        raise ValueError(f"{who}: states of version {version}; this package has version {state_version}")
    if op != OP_OF[reduction] or element >= len(NAMES) or wide:
        raise ValueError(f"{who}: states of another reduction")
    form = Form(reduction, NAMES[element])
    if builtins.any(len(cell) != _CELL.size + form.dtype.itemsize for cell in given):
        raise ValueError(f"{who}: states of other sizes than {form.dtype.itemsize} bytes")
    joined = np.frombuffer(b"".join(cell[_CELL.size:] for cell in given), form.dtype)
    return form, joined.copy()


def _chunk_of_groups(grouped: Any, *, reduction: str, skip_nans: bool) -> Any:
    column = grouped.obj
    labels, index = _labels_of(grouped)
    counts = labels >= 0
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # columns with nulls have a type of their own
    if skip_nans or kind is not column.dtype:
        counts &= ~column.isna().to_numpy()
    values = column[counts].to_numpy(dtype=kind)
    form = Form(reduction, values.dtype)
    return _cells(form, form.of_labels(values, labels[counts], len(index)), index, column.name)


def _merge_of_groups(grouped: Any, *, reduction: str) -> Any:
    labels, index = _labels_of(grouped)
    form, states = _of_cells(grouped.obj.to_numpy()[labels >= 0], reduction)
    if form is None:
        return grouped.obj.iloc[:0]
    return _cells(form, form.merge_labels(states, labels[labels >= 0], len(index)), index, grouped.obj.name)


def _finish_of_groups(cells: Any, *, reduction: str, rounding: Rounding, correction: float) -> Any:
    form, states = _of_cells(cells.to_numpy(), reduction)
    if form is None:
        return _series(np.empty(0), cells.index, cells.name)
    return _series(form.values(states, rounding=rounding, correction=correction, fewest=0), cells.index, cells.name)


def aggregation(reduction: str, /, *, skip_nans: bool = True, rounding: Rounding = "nearest", correction: float = 0) -> Any:
    """For `agg` of a groupby of `dask.dataframe`: the same bits for any partitions, scheduler and number of workers.

    Parameters
    ----------
    reduction : {"sum", "mean", "var", "std", "norm", "sum_of_squares", "min", "max", "any", "all", "count_nonzero", "prod"}
    skip_nans : bool
        NaNs are left out, as pandas does; nulls always are.
    rounding : {"nearest", "zero", "away", "up", "down"}
        How the true answer is rounded.
    correction : int or float
        What `var` and `std` subtract from n: 1 for what pandas gives.

    Returns
    -------
    dask.dataframe.Aggregation

    Raises
    ------
    TypeError
        A reduction with another kind of answer.

    Examples
    --------
    >>> import pandas as pd, dask.dataframe as dd
    >>> import warpfold.dask as wfd
    >>> frame = dd.from_pandas(pd.DataFrame({"key": list("abab"), "x": [1e16, 1.0, -1e16, 2.0]}), npartitions=2)
    >>> frame.groupby("key").agg(wfd.aggregation("sum")).compute()["x"].tolist()
    [0.0, 3.0]
    """
    if reduction not in OP_OF or len(Form(reduction, "int64").answers) > 1 or OP_OF[reduction] in ONE_AXIS:
        raise TypeError(f"aggregation: {reduction!r} has no one answer for a group")
    frames = need("dask.dataframe", "warpfold.dask.aggregation", "dask[dataframe]")
    return frames.Aggregation(f"warpfold_{reduction}", partial(_chunk_of_groups, reduction=reduction, skip_nans=skip_nans),
                              partial(_merge_of_groups, reduction=reduction),
                              partial(_finish_of_groups, reduction=reduction, rounding=rounding, correction=correction))
