# SPDX-License-Identifier: Apache-2.0
"""Twins of functions of the standard library, for anything that can be iterated over, and for arrays."""

from __future__ import annotations

import math

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def _is_array(x: Any) -> bool:
    kind = type(x)
    if kind is list or kind is tuple:
        return False
    protocols = ("__dlpack__", "__array_interface__", "__array__", "__arrow_c_stream__", "__arrow_c_array__")
    return any(hasattr(kind, p) for p in protocols)


def as_float(one: Any) -> float:
    """A number as the standard library's functions read it: no text, which float() would."""
    if isinstance(one, (str, bytes, bytearray)):
        raise TypeError(f"must be real number, not {type(one).__name__}")
    return float(one)


def fsum(iterable: Iterable[Any], /) -> float:
    """The sum, as `math.fsum`, but that nothing overflows on the way.

    Parameters
    ----------
    iterable : iterable of real numbers
        Each is converted to a float first. An array is summed where it lies, as it is, without
        nulls and masked elements.

    Returns
    -------
    float
        The true sum, rounded once.

    Raises
    ------
    OverflowError
        The sum is beyond the largest float, or a number is.
    ValueError
        Infinities of both signs.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.fsum([1e308, 1e308, -1e308])
    1e+308
    """
    if _is_array(iterable):
        from ._inputs import F64, add_to, take
        view = _core.view_of_buffer(iterable)
        if view is not None and view.dtype == F64:  # without a state, where the answer is not to be looked into
            value = float(_core.reduce(0, iterable, None, None, False, None, "exact", "nearest", None, None, None))
            if -math.inf < value < math.inf:
                return value + 0.0
        state = _core.Sum()
        add_to(state, take(iterable, "fsum"), "fsum")
        return _core.fsum_of(state)
    return _core.fsum(iterable)


def sumprod(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    """The sum of products, as `math.sumprod` of Python 3.12, with every product and the sum exact before they are rounded.

    Parameters
    ----------
    p, q : iterables of numbers
        As long as each other.

    Returns
    -------
    float, or what the numbers' own ``*`` and ``+`` give
        Floats, and ints beside them, give the true sum of products, rounded once; ints alone an int.

    Raises
    ------
    ValueError
        Inputs of different lengths.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.sumprod([1e200, 1.0, 1e200], [1e200, 1.0, -1e200])
    1.0
    >>> wf.sumprod([10, 20], [1, 3])
    70
    """
    a, b = list(p), list(q)
    if len(a) != len(b):
        raise ValueError("Inputs are not the same length")
    found = _core.sumprod(a, b)
    if found is not None:
        return found
    import operator
    return sum(map(operator.mul, a, b))


def fmean(data: Iterable[Any], weights: Iterable[Any] | None = None) -> float:
    """The mean, as `statistics.fmean`, rounded once.

    Parameters
    ----------
    data : iterable of real numbers
        Each is converted to a float first. The elements of an array are taken as they are.
    weights : iterable of real numbers, optional
        One for each of the data.

    Returns
    -------
    float
        With weights, the rounded sum of products over the rounded sum of weights.

    Raises
    ------
    statistics.StatisticsError
        There are no data, or weights are not as many, or add up to 0.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.fmean([3.5, 4.0, 5.25])
    4.25
    """
    if weights is not None:
        from .statistics import weighted_mean
        return weighted_mean(data, weights)
    if _is_array(data):
        from .statistics import mean
        return float(mean(data))
    state = _core.Sum()
    values = data if type(data) is list else list(data)
    if not values:
        from statistics import StatisticsError
        raise StatisticsError("fmean requires at least one data point")
    if not _core.sum_all(state, values):
        state = _core.Sum()
        for one in values:
            state.add_number(as_float(one))
    answer = state.mean("nearest", 3)
    if answer != answer:
        _, above, below, _ = state.specials()
        if above and below:
            raise ValueError("-inf + inf in fsum")
    return answer + 0.0
