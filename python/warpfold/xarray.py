# SPDX-License-Identifier: Apache-2.0
"""`.warpfold` of xarray's DataArray and Dataset: reductions along named dimensions, with the same bits for any chunks.

>>> import numpy as np, xarray as xr
>>> import warpfold.xarray
>>> x = xr.DataArray(np.array([[1e16, 1.0], [1.0, np.nan], [-1e16, 2.0]]), dims=("time", "place"), name="heat")
>>> x.warpfold.sum("time").values.tolist()
[1.0, 3.0]
>>> bool((x.chunk(time=1).warpfold.mean() == x.warpfold.mean()).compute())
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _device, _general
from ._documents import F, documented
from ._inputs import lies_on_gpu, take
from ._modules import need
from .states import OP_OF, Form

if TYPE_CHECKING:
    from ._functions import Rounding

_xarray: Any = need("xarray", "warpfold.xarray", "xarray")

__all__ = ["DataArrayReductions", "DatasetReductions"]

_UNCHANGED = {"sum", "mean", "min", "max"}  # over no dimension
Dims = Any  # a name, several, ..., or None


def _reduce(x: Any, axis: Any = None, *, reduction: str, skipna: bool | None, keepdims: bool = False, dtype: Any = None,
            correction: float = 0, rounding: Rounding = "nearest", min_count: int | None = None) -> Any:
    """The answers for what a variable holds, a NumPy or a Dask array; NaN where fewer elements count than `min_count`."""
    if isinstance(axis, (tuple, list)) and not axis and (reduction in _UNCHANGED or x.dtype.kind not in "fciub"):
        return x  # a Dataset's variable without the dimension, as xarray leaves it
    skip = skipna if skipna is not None else x.dtype.kind in "fc"
    extreme = reduction in ("min", "max")
    fewest = min_count if min_count is not None else 1 if extreme and skip and x.dtype.kind == "f" else None
    if hasattr(x, "dask"):
        from .dask import _reduce as reduce_chunks
        return reduce_chunks(reduction, x, axis, dtype, keepdims, correction, rounding, None, skip, fewest)

    op = OP_OF[reduction]
    if x.dtype.kind in "fc" and (skip or fewest is not None) and lies_on_gpu(x):
        return _by_states(x, axis, reduction, skip, keepdims, dtype, correction, rounding, fewest)
    if fewest is None or x.dtype.kind not in "fc":
        return _general.reduce(op, x, axis, dtype, keepdims, correction, "exact", rounding, None, None, None, skip)
    axes = _general.axes_of(axis, x.ndim, reduction)
    if extreme and math.prod(x.shape[d] for d in axes) == 0:
        return _general.reduce(op, x, axis, dtype, keepdims, correction, "exact", rounding, None, None)  # refused
    with_nans = _general.reduce(op, x, axis, dtype, keepdims, correction, "exact", rounding, None, None, None, skip)
    count = _general.of_source([_general.COUNT], take(x, reduction), axis, None, keepdims, None, "exact", "nearest", None, skip, reduction)
    return np.where(np.asarray(count[0]) < fewest, np.asarray(np.nan, with_nans.dtype), with_nans)[()]


def _by_states(x: Any, axis: Any, reduction: str, skip: bool, keepdims: bool, dtype: Any, correction: float, rounding: Rounding, fewest: int | None) -> Any:
    """The answers of CuPy's array by states that are made on its GPU, of what is no NaN if `skip`; CuPy's too."""
    form = Form(reduction, x.dtype, answer=dtype)
    axes = _general.axes_of(axis, x.ndim, reduction)
    _general.check_not_empty(form.op, tuple(x.shape), axes, reduction)
    states = form.of(x if _device.makes_states(form, x, skip) else x.get(), axis=axes, keepdims=keepdims, skip_nans=skip)
    answer = form.values(states, rounding=rounding, correction=correction, fewest=0 if skip and fewest is None else fewest)
    xp = _device.cupy_of(type(x))
    return answer if xp is None else xp.asarray(answer)


_PARAMETERS = {
    "dim": """dim : str, several in a list, ``...`` or None
    The dimensions to reduce over; None and ``...``: all.""",
    "skipna": """skipna : bool, optional
    Whether NaNs are left out; by default those of floats and complex numbers are.""",
    "min_count": """min_count : int, optional
    Answers of fewer elements are NaN, of floats and complex numbers.""",
    "dtype": """dtype : data type, optional
    The type of the answers; floats are rounded to it once, integers taken modulo its range.""",
    "ddof": """ddof : int or float
    The sum of squared differences is divided by n - ddof; NaN where that is not positive.""",
    "rounding": """rounding : {"nearest", "zero", "away", "up", "down"}
    How the true answer is rounded.""",
    "keep_attrs": """keep_attrs : bool, optional
    Whether answers have the attributes; by default as `xarray.set_options` says.""",
    "keepdims": """keepdims : bool
    Reduced dimensions stay, with length 1.""",
}
_SECTIONS = {
    "Returns": """
xarray.DataArray or xarray.Dataset
    As it was asked of: without the reduced dimensions, or with ``keepdims`` with length 1 of each, with the coordinates that xarray keeps. Elements are of
    the type that `warpfold.NAME` gives; they are Dask's where they were, of which nothing is computed yet, and CuPy's where they were.""",
    "Raises": """
ValueError
    Dimensions that there are not; `min` and `max` of no elements.
TypeError
    A DataArray of no numbers, or a `dtype` that would lose some of the answer.""",
    "References": """
docs/distributed.md: xarray. docs/reductions.md: what is answered of nothing, of NaNs, of too large an answer.""",
}
_DATA = """
>>> import numpy as np, xarray as xr
>>> import warpfold.xarray
>>> x = xr.DataArray(np.array([[1e16, 2.0], [1.0, 4.0], [-1e16, np.nan]]), dims=("time", "place"))
"""


def _as(call: str, answer: str) -> Callable[[F], F]:
    return documented(_PARAMETERS, _SECTIONS, f"{_DATA}>>> x.warpfold.{call}\n{answer}")


class _Reductions:
    """Reductions over dimensions; without any, over all.

    Each takes `dim`, `skipna` (by default True for floats and complex numbers), `keep_attrs` and `keepdims` as xarray's own do,
    and answers as the function of the same name in `warpfold` does, with coordinates and attributes as xarray keeps them.
    """

    def __init__(self, of: Any) -> None:
        self._of = of

    def _run(self, reduction: str, dim: Dims, skipna: bool | None, keep_attrs: bool | None, keepdims: bool, **more: Any) -> Any:
        of_set = {"numeric_only": True} if isinstance(self._of, _xarray.Dataset) else {}
        return self._of.reduce(_reduce, dim, keep_attrs=keep_attrs, keepdims=keepdims, reduction=reduction, skipna=skipna, **of_set, **more)

    @_as('sum("time").values.tolist()', "[1.0, 6.0]")
    def sum(self, dim: Dims = None, *, skipna: bool | None = None, min_count: int | None = None, dtype: Any = None,
            rounding: Rounding = "nearest", keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """The true sum, rounded once; NaN where fewer than `min_count` elements count."""
        return self._run("sum", dim, skipna, keep_attrs, keepdims, dtype=dtype, rounding=rounding, min_count=min_count)

    @_as('mean("place").values.tolist()', "[5000000000000001.0, 2.5, -1e+16]")
    def mean(self, dim: Dims = None, *, skipna: bool | None = None, dtype: Any = None, rounding: Rounding = "nearest",
             keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """The true mean, rounded once."""
        return self._run("mean", dim, skipna, keep_attrs, keepdims, dtype=dtype, rounding=rounding)

    @_as('var("time", ddof=1).values.tolist()', "[1e+32, 2.0]")
    def var(self, dim: Dims = None, *, skipna: bool | None = None, ddof: float = 0, rounding: Rounding = "nearest",
            keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """The true variance, rounded once."""
        return self._run("var", dim, skipna, keep_attrs, keepdims, correction=ddof, rounding=rounding)

    @_as('std("time", skipna=False).values.tolist()', "[8164965809277260.0, nan]")
    def std(self, dim: Dims = None, *, skipna: bool | None = None, ddof: float = 0, rounding: Rounding = "nearest",
            keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """The root of the true variance, rounded once."""
        return self._run("std", dim, skipna, keep_attrs, keepdims, correction=ddof, rounding=rounding)

    @_as('norm("place").values.tolist()', "[1e+16, 4.123105625617661, 1e+16]")
    def norm(self, dim: Dims = None, *, skipna: bool | None = None, rounding: Rounding = "nearest", keep_attrs: bool | None = None,
             keepdims: bool = False) -> Any:
        """The Euclidean norm, rounded once."""
        return self._run("norm", dim, skipna, keep_attrs, keepdims, rounding=rounding)

    @_as('sum_of_squares("place").values.tolist()', "[1e+32, 17.0, 1e+32]")
    def sum_of_squares(self, dim: Dims = None, *, skipna: bool | None = None, rounding: Rounding = "nearest",
                       keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """The true sum of squares, rounded once."""
        return self._run("sum_of_squares", dim, skipna, keep_attrs, keepdims, rounding=rounding)

    @_as('min("time").values.tolist()', "[-1e+16, 2.0]")
    def min(self, dim: Dims = None, *, skipna: bool | None = None, keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """The least element; NaN where there are only NaNs."""
        return self._run("min", dim, skipna, keep_attrs, keepdims)

    @_as('max("time", skipna=False).values.tolist()', "[1e+16, nan]")
    def max(self, dim: Dims = None, *, skipna: bool | None = None, keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """The greatest element; NaN where there are only NaNs."""
        return self._run("max", dim, skipna, keep_attrs, keepdims)

    @_as('any("place").values.tolist()', "[True, True, True]")
    def any(self, dim: Dims = None, *, keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """Whether any element is other than zero."""
        return self._run("any", dim, False, keep_attrs, keepdims)

    @_as('all("time", keepdims=True).values.tolist()', "[[True, True]]")
    def all(self, dim: Dims = None, *, keep_attrs: bool | None = None, keepdims: bool = False) -> Any:
        """Whether all elements are other than zero."""
        return self._run("all", dim, False, keep_attrs, keepdims)

    @_as('count_nonzero("time").values.tolist()', "[3, 2]")
    def count_nonzero(self, dim: Dims = None, *, skipna: bool | None = None, keep_attrs: bool | None = None,
                      keepdims: bool = False) -> Any:
        """How many elements are other than zero."""
        return self._run("count_nonzero", dim, skipna, keep_attrs, keepdims)


class DataArrayReductions(_Reductions):
    """`.warpfold` of a DataArray."""


class DatasetReductions(_Reductions):
    """`.warpfold` of a Dataset: of its variables of numbers."""


def _register(register: Callable[[str], Any], kind: type) -> None:
    register("warpfold")(kind)


_register(_xarray.register_dataarray_accessor, DataArrayReductions)
_register(_xarray.register_dataset_accessor, DatasetReductions)
