# SPDX-License-Identifier: Apache-2.0
"""NumPy with exact reductions: a namespace, and arrays of which NumPy's own functions are exact.

`sum`, `prod`, `mean`, `var`, `std`, `min`, `max`, `argmin`, `argmax`, `any`, `all`, `count_nonzero`, `nansum`, `nanmean`, `nanvar`, `nanstd`, `nanmin` and `nanmax`
stand here with NumPy's parameters and this package's answers; every other name is NumPy's own. `exact(x)` is a view of an array for which
`numpy.sum(x)`, ``x.sum()`` and the like come here (NEP 18), so that code which knows NumPy alone gives exact answers; so do slices of it, and
arrays that ufuncs and other functions of NumPy's make of it. What calls `numpy.add.reduce` is not reached.

>>> import numpy, warpfold.numpy
>>> x = warpfold.numpy.exact([1e16, 1.0, -1e16, 1.0])
>>> float(numpy.sum(x)), float(x.mean()), float((2 * x)[:3].sum())
(2.0, 0.5, 2.0)
>>> float(warpfold.numpy.sum([0.1] * 10, axis=0))
1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as _np

from . import _functions
from ._general import into
from ._inputs import CODES, NAMES, code_of, holds_nulls, is_complex, is_floating

if TYPE_CHECKING:
    from ._functions import Rounding

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "exact", "max", "mean", "min", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar",
           "ndarray", "prod", "std", "sum", "var"]

_NO_VALUE = getattr(_np, "_NoValue", None)
_KINDS = "fciub"  # others, as dates, have NumPy's own answer


def __getattr__(name: str) -> Any:
    return getattr(_np, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_np)})


class ndarray(_np.ndarray[Any, Any]):
    """A NumPy array whose reductions are exact, made by `exact`; what NumPy's functions make of it is one, too.

    References
    ----------
    NEP 18, by which NumPy's functions come here.

    Examples
    --------
    >>> import numpy
    >>> import warpfold as wf
    >>> x = wf.numpy.exact([1e16, 1.0, -1e16])
    >>> type(numpy.where(x > 0, x, 0)) is wf.numpy.ndarray, float(x.sum())
    (True, 1.0)
    """

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        ours = _OURS.get(func)
        if ours is not None:
            return ours(*args, **kwargs)
        made = super().__array_function__(func, types, args, kwargs)
        return made.view(ndarray) if type(made) is _np.ndarray else made  # as of where() and concatenate()


def exact(x: Any, /) -> ndarray:
    """`x` as an array whose reductions are exact: a view where it is an array.

    Parameters
    ----------
    x : array_like
        What NumPy reads as an array.

    Returns
    -------
    warpfold.numpy.ndarray
        It has the shape and type of `x`.

    Raises
    ------
    TypeError
        An array that masks some of its elements.

    References
    ----------
    NEP 18, by which NumPy's functions come here.

    Examples
    --------
    >>> import numpy
    >>> import warpfold as wf
    >>> float(numpy.sum(wf.numpy.exact([1e16, 1.0, -1e16])))
    1.0
    """
    if isinstance(x, _np.ma.MaskedArray) and holds_nulls(x):
        raise TypeError("exact: a masked array, whose mask would be lost; the functions of warpfold and warpfold.numpy leave out what it masks")
    return _np.asarray(x).view(ndarray)


def _nanstd(x: Any, /, *, axis: Any = None, keepdims: Any = False, correction: Any = 0, rounding: Rounding = "nearest", where: Any = None, out: Any = None) -> Any:
    return _functions._reduce(_functions._STD, x, axis, None, keepdims, correction or None, "exact", rounding, where, out, None, True)


def _spread(reduction: Any, name: str, x: Any, dtype: Any, given: dict[str, Any]) -> Any:
    """A variance or its root, rounded once to another type than its own."""
    code = code_of(dtype, name)
    if not (is_floating(code) or is_complex(code)):
        raise TypeError(f"{name}: dtype={NAMES[code]}; it is a type of floats")
    want = _np.dtype(dtype) if is_floating(code) else _np.finfo(_np.dtype(dtype)).dtype
    its = _np.finfo(x.dtype).dtype if x.dtype.kind in "fc" else _np.dtype(_np.float64)
    if want.itemsize >= its.itemsize:
        return reduction(x if want == its else x.astype(_np.result_type(want, _np.complex64) if x.dtype.kind == "c" else want), **given)
    out = given.pop("out", None)
    low, away = (_np.asarray(reduction(x, rounding=towards, **given)) for towards in ("zero", "away"))
    # Where both differ, the one whose last bit is set: rounded again, it is the true one rounded once.
    odd = _np.where((low == away) | ((low.view(f"u{low.itemsize}") & 1) != 0) | _np.isnan(low), low, away)
    with _np.errstate(over="ignore", under="ignore"):
        answer = odd.astype(want)[()]
    return answer if out is None else into(out, answer, name)


def _answer(name: str, a: Any, given: dict[str, Any]) -> Any:
    """Ours, of the kind of array that was given; NumPy's of elements that are no numbers."""
    plain = _np.asarray(a)
    given = {k: v for k, v in given.items() if v is not _NO_VALUE}
    if plain.dtype.kind not in _KINDS:
        return getattr(_np, name)(plain, **given)
    if plain.dtype.newbyteorder("=") not in CODES:
        raise TypeError(f"{name}: elements of type {plain.dtype}; there is no exact answer of them here")
    for key in ("initial", "mean"):
        if given.pop(key, None) is not None:
            raise TypeError(f"{name}: {key}=, which exact reductions do not take")
    if given.get("correction") is None:
        given.pop("correction", None)
    want = None
    if name in ("var", "std", "nanvar", "nanstd"):
        want = given.pop("dtype", None)
        divide = given.pop("ddof", 0)
        if divide and "correction" in given:
            raise ValueError(f"{name}: ddof= and correction= are one and the same; give one of them")
        given.setdefault("correction", divide)
    given = {k: v for k, v in given.items() if v is not None or k == "axis"}
    if given.get("where") is True:
        given.pop("where")
    out = given.get("out")
    if isinstance(out, ndarray):
        given["out"] = out.view(_np.ndarray)
    reduction = _nanstd if name == "nanstd" else getattr(_functions, name)
    x = a if isinstance(a, _np.ma.MaskedArray) else plain
    answer = reduction(x, **given) if want is None else _spread(reduction, name, x, want, given)
    if out is not None:
        return out
    return answer.view(ndarray) if isinstance(a, ndarray) and isinstance(answer, _np.ndarray) else answer


def _function(name: str, parameters: tuple[str, ...]) -> Callable[..., Any]:
    def f(a: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(parameters):
            raise TypeError(f"{name}: {len(args) + 1} arguments without names; there may be {len(parameters) + 1}")
        given = dict(zip(parameters, args))
        twice = given.keys() & kwargs.keys()
        if twice:
            raise TypeError(f"{name}: {sorted(twice)[0]}= is given twice")
        return _answer(name, a, {**given, **kwargs})
    f.__name__ = f.__qualname__ = name
    plain = name.removeprefix("nan")
    f.__doc__ = f"""`numpy.{name}` with answers as `warpfold.{plain}` gives them: exact, or rounded once.

Parameters
----------
a : array_like
    Of numbers; dates, text and objects are reduced by NumPy.
{", ".join(parameters)}
    As `numpy.{name}` has them, but ``initial`` and ``mean``; by name also what else `warpfold.{plain}` takes, as ``rounding``.

Returns
-------
scalar or array
    Of NumPy's shape, and of its type but that the true answer is rounded to it once.

Raises
------
TypeError
    Elements that no type here holds, ``initial`` and ``mean``, a ``dtype`` that would cut something off.
ValueError, numpy.exceptions.AxisError
    Axes that the array does not have; no elements for what needs some.

References
----------
docs/reductions.md, and docs/exact.md: as of `warpfold.{plain}`.

Examples
--------
>>> import warpfold as wf
>>> bool(wf.numpy.{name}([3.0, 1.0, 2.0]) == wf.{plain}([3.0, 1.0, 2.0]))
True
"""
    return f


_SUMS = ("axis", "dtype", "out", "keepdims", "initial", "where")
_PARAMETERS = {"sum": _SUMS, "prod": _SUMS, "mean": _SUMS[:4], "var": ("axis", "dtype", "out", "ddof", "keepdims"),
               "std": ("axis", "dtype", "out", "ddof", "keepdims"), "min": ("axis", "out", "keepdims", "initial", "where"),
               "max": ("axis", "out", "keepdims", "initial", "where"), "argmin": ("axis", "out"), "argmax": ("axis", "out"),
               "any": ("axis", "out", "keepdims"), "all": ("axis", "out", "keepdims"), "count_nonzero": ("axis",), "nansum": _SUMS,
               "nanmean": _SUMS[:4], "nanvar": ("axis", "dtype", "out", "ddof", "keepdims"), "nanstd": ("axis", "dtype", "out", "ddof", "keepdims"), "nanmin": _SUMS[:1] + _SUMS[2:],
               "nanmax": _SUMS[:1] + _SUMS[2:]}
_OURS: dict[Any, Callable[..., Any]] = {}
for _name, _names in _PARAMETERS.items():
    _made = globals()[_name] = _function(_name, _names)
    _OURS[getattr(_np, _name)] = _made
    if not _name.startswith("nan") and _name != "count_nonzero":
        setattr(ndarray, _name, _made)
_OURS[_np.amin], _OURS[_np.amax] = _OURS[_np.min], _OURS[_np.max]
