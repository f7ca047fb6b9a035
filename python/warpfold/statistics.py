# SPDX-License-Identifier: Apache-2.0
"""Twins of functions of the standard library's `statistics`.

Floats, and ints beside them, are answered from exact sums, correctly rounded; whatever else there is (Fraction, Decimal, ints
alone, subclasses) is handed to the standard library, whose answers are exact, too; NumPy's integers as Python's, since it would cut
their answers off to integers.

>>> from warpfold import statistics
>>> statistics.variance([2.75, 1.75, 1.25, 0.25, 0.5, 1.25, 3.5])
1.3720238095238095
"""

from __future__ import annotations

import functools
import math
import statistics as standard
import sys
from collections.abc import Iterable
from statistics import StatisticsError
from typing import Any

from . import _core
from ._twins import _is_array, fmean

__all__ = ["StatisticsError", "fmean", "mean", "pstdev", "pvariance", "stdev", "variance"]


def _moments(data: Any, who: str) -> tuple[Any, Any]:
    """(a state, the data) of arrays and lists of floats; else (None, the data)."""
    state = _core.Moments()
    if _is_array(data):
        from ._inputs import add_to, take
        add_to(state, take(data, who), who)
        return state, data
    values = data if type(data) is list else list(data)
    return (state if _core.moments_all(state, values) else None), values


def _whole(values: Any) -> Any:
    """NumPy's integers as Python's; its floats stay, of which the standard library answers with their type."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return values
    kinds = (numpy.integer, numpy.bool_)
    return [one.item() if isinstance(one, kinds) else one for one in values] if any(isinstance(one, kinds) for one in values) else values


_OPS = {name: _core.op_names.index(name) for name in ("mean", "var", "std")}
_F64 = (_core.dtype_names.index("f64"), 1)
_COMPLEX = (_core.dtype_names.index("c64"), _core.dtype_names.index("c128"))  # whose variances are real, here; the standard library takes real numbers


def _of_array(data: Any, which: str, correction: int) -> float:
    """The answer of an array that lies in a buffer, by the kernels for it; NaN where it has none, or another type of answer."""
    view = _core.view_of_buffer(data)
    if view is None or view.dtype in _COMPLEX or _core.answer_of(_OPS[which], view.dtype) != _F64:
        return math.nan
    return float(_core.reduce(_OPS[which], data, None, None, False, correction or None, "exact", "nearest", None, None, None, False))


def _answer(data: Any, who: str, which: str, correction: int, least: int, other: Any) -> Any:
    if _is_array(data):
        quick = _of_array(data, which, correction)
        if math.isfinite(quick):
            return quick
    state, values = _moments(data, who)
    if state is None or state.count < least:
        return other(_whole(values) if state is None else [])  # whose words they are
    answer = state.answer(which, correction, "nearest", 3)
    return answer if math.isfinite(answer) or _is_array(values) else other(_whole(values))


def _root(variance_of: Any, root_of: Any, values: Any, *middle: Any) -> Any:
    """The standard library's root; there that of a variance which is NaN or infinite ends in an AttributeError."""
    try:
        return root_of(values, *middle)
    except AttributeError:
        return math.sqrt(variance_of(values, *middle))


def mean_of_array(data: Any, who: str) -> float:
    return float(_answer(data, who, "mean", 0, 1, standard.mean)) + 0.0


def mean(data: Iterable[Any]) -> Any:
    """The mean, as `statistics.mean`.

    Parameters
    ----------
    data : iterable of numbers, or array
        Floats and ints beside them, and arrays, are answered from exact sums; others by the standard library.

    Returns
    -------
    float, or what the standard library gives
        Rounded once.

    Raises
    ------
    statistics.StatisticsError
        Fewer than one of the data.
    TypeError
        Data that are no numbers, or complex.

    References
    ----------
    docs/exact.md: how the answer is exact.

    Examples
    --------
    >>> from warpfold import statistics
    >>> statistics.mean([-1.0, 2.5, 3.25, 5.75])
    2.625
    """
    if _is_array(data):
        return mean_of_array(data, "mean")
    values = data if type(data) is list else list(data)
    state = _core.Sum()
    if _core.sum_all(state, values):
        answer = state.mean("nearest", 3)
        if math.isfinite(answer):
            return answer + 0.0
    return standard.mean(_whole(values))


def variance(data: Iterable[Any], xbar: Any = None) -> Any:
    """The variance of a sample, as `statistics.variance`.

    Parameters
    ----------
    data : iterable of numbers, or array
        Floats and ints beside them, and arrays, are answered from exact sums; others by the standard library.
    xbar : number, optional
        The mean, where it is known; the standard library answers then.

    Returns
    -------
    float, or what the standard library gives
        Rounded once.

    Raises
    ------
    statistics.StatisticsError
        Fewer than two of the data.
    TypeError
        Data that are no numbers, or complex.

    References
    ----------
    docs/exact.md: how the answer is exact.

    Examples
    --------
    >>> from warpfold import statistics
    >>> statistics.variance([1.0, 2.0, 3.0])
    1.0
    """
    if xbar is not None:
        return standard.variance(_whole(list(data)), xbar)
    return _answer(data, "variance", "var", 1, 2, standard.variance)


def pvariance(data: Iterable[Any], mu: Any = None) -> Any:
    """The variance of a population, as `statistics.pvariance`.

    Parameters
    ----------
    data : iterable of numbers, or array
        Floats and ints beside them, and arrays, are answered from exact sums; others by the standard library.
    mu : number, optional
        The mean, where it is known; the standard library answers then.

    Returns
    -------
    float, or what the standard library gives
        Rounded once.

    Raises
    ------
    statistics.StatisticsError
        Fewer than one of the data.
    TypeError
        Data that are no numbers, or complex.

    References
    ----------
    docs/exact.md: how the answer is exact.

    Examples
    --------
    >>> from warpfold import statistics
    >>> statistics.pvariance([0.0, 2.0])
    1.0
    """
    if mu is not None:
        return standard.pvariance(_whole(list(data)), mu)
    return _answer(data, "pvariance", "var", 0, 1, standard.pvariance)


def stdev(data: Iterable[Any], xbar: Any = None) -> Any:
    """The standard deviation of a sample, as `statistics.stdev`.

    Parameters
    ----------
    data : iterable of numbers, or array
        Floats and ints beside them, and arrays, are answered from exact sums; others by the standard library.
    xbar : number, optional
        The mean, where it is known; the standard library answers then.

    Returns
    -------
    float, or what the standard library gives
        Rounded once.

    Raises
    ------
    statistics.StatisticsError
        Fewer than two of the data.
    TypeError
        Data that are no numbers, or complex.

    References
    ----------
    docs/exact.md: how the answer is exact.

    Examples
    --------
    >>> from warpfold import statistics
    >>> statistics.stdev([1.0, 2.0, 3.0])
    1.0
    """
    if xbar is not None:
        return _root(standard.variance, standard.stdev, _whole(list(data)), xbar)
    return _answer(data, "stdev", "std", 1, 2, functools.partial(_root, standard.variance, standard.stdev))


def pstdev(data: Iterable[Any], mu: Any = None) -> Any:
    """The standard deviation of a population, as `statistics.pstdev`.

    Parameters
    ----------
    data : iterable of numbers, or array
        Floats and ints beside them, and arrays, are answered from exact sums; others by the standard library.
    mu : number, optional
        The mean, where it is known; the standard library answers then.

    Returns
    -------
    float, or what the standard library gives
        Rounded once.

    Raises
    ------
    statistics.StatisticsError
        Fewer than one of the data.
    TypeError
        Data that are no numbers, or complex.

    References
    ----------
    docs/exact.md: how the answer is exact.

    Examples
    --------
    >>> from warpfold import statistics
    >>> statistics.pstdev([0.0, 2.0])
    1.0
    """
    if mu is not None:
        return _root(standard.pvariance, standard.pstdev, _whole(list(data)), mu)
    return _answer(data, "pstdev", "std", 0, 1, functools.partial(_root, standard.pvariance, standard.pstdev))
