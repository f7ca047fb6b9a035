# SPDX-License-Identifier: Apache-2.0
"""Twins of functions of the standard library, for anything that can be iterated over, and for arrays."""

from __future__ import annotations

import math
import operator
import sys
from itertools import chain

from . import _core
from ._core import fmean as fmean, fsum as fsum  # in C++ from the first argument on: a list of one number takes no longer than by the standard library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction
    from typing import Any


def _is_array(x: Any) -> bool:
    kind = type(x)
    if kind is list or kind is tuple:
        return False
    protocols = ("__dlpack__", "__array_interface__", "__array__", "__arrow_c_stream__", "__arrow_c_array__")
    return any(hasattr(kind, p) for p in protocols)


def _of_array(name: str, x: Any) -> float:
    """What fsum() and fmean() ask for, of arrays; with weights, x is data and weights."""
    if name == "weights":
        data, weights = (_values(one, "fmean") for one in x)
        return _core.fmean(data if type(data) is list else data.tolist(), weights if type(weights) is list else weights.tolist())
    if name == "quotient":
        return _quotient(*x)
    if name == "fmean":
        from .statistics import mean_of_array
        return mean_of_array(x, "fmean")
    from ._inputs import F64, add_to, take
    view = _core.view_of_buffer(x)
    if view is not None and view.dtype == F64:  # without a state, where the answer is not to be looked into
        value = float(_core.reduce(0, x, None, None, False, None, "exact", "nearest", None, None, None, False))
        if -math.inf < value < math.inf:
            return value + 0.0
    state = _core.Sum()
    add_to(state, take(x, "fsum"), "fsum")
    return _core.fsum_of(state)


def _quotient(data: list[Any], weights: list[Any]) -> float:
    """A weighted mean whose sums a double does not hold well."""
    from fractions import Fraction
    w = [Fraction(float(one)) for one in weights]
    return _rounded(sum((Fraction(float(one)) * other for one, other in zip(data, w)), Fraction(0)) / sum(w))


def _rounded(q: Fraction) -> float:
    try:
        return float(q)
    except OverflowError:
        return math.inf if q > 0 else -math.inf


def _values(x: Any, who: str) -> Any:
    """The numbers of an iterable, as a list, or of an array, as NumPy's."""
    if not _is_array(x) or getattr(x, "dtype", None) == object:
        return list(x)
    from ._inputs import array_of
    found = array_of(x, who)
    if found.ndim != 1:
        raise ValueError(f"{who}: an array of {found.ndim} dimensions; it must have 1")
    return found


_core.use_arrays(_of_array)
fsum.__module__ = fmean.__module__ = __name__  # whose examples are tested


def sumprod(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    """The sum of products, as `math.sumprod` of Python 3.12, with every product and the sum exact before they are rounded.

    Parameters
    ----------
    p, q : iterables of numbers
        As long as each other.

    Returns
    -------
    float, or what the numbers' own ``*`` and ``+`` give
        Floats, and ints and bools beside them, give the true sum of products, rounded once; ints alone an int. NumPy's
        numbers and arrays are taken as Python's numbers. Where two ints beside floats have a product beyond 64 bits, all are
        added one after the other, as `math.sumprod` does.

    Raises
    ------
    ValueError
        Inputs of different lengths, arrays of other than one dimension.
    TypeError
        Arrays with nulls or masked elements.
    OverflowError
        An int beyond all floats, beside a float.

    References
    ----------
    docs/exact.md: how the answer is exact, after R. Neal, "Fast exact summation using small and large superaccumulators" (2015).

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.sumprod([1e200, 1.0, 1e200], [1e200, 1.0, -1e200])
    1.0
    >>> wf.sumprod([10, 20], [1, 3])
    70
    """
    a: Any = list(p) if type(p) is list or type(p) is tuple else _values(p, "sumprod")
    b: Any = list(q) if type(q) is list or type(q) is tuple else _values(q, "sumprod")
    if len(a) != len(b):
        raise ValueError("Inputs are not the same length")
    if type(a) is not list or type(b) is not list:
        if all(getattr(getattr(one, "dtype", None), "kind", "") == "f" for one in (a, b)):
            from ._functions import dot
            return float(dot(a.astype("float64"), b.astype("float64"))) + 0.0
        a, b = (one if type(one) is list else one.tolist() for one in (a, b))
    found = _core.sumprod(a, b)
    return found if found is not None else _other_products(a, b)


def _other_products(a: list[Any], b: list[Any]) -> Any:
    """Σ a·b, where there are more than floats and ints that a float holds, or no float at all."""
    a, b = plain(a), plain(b)
    found = _core.sumprod(a, b)
    if found is not None:
        return found
    kinds = {type(one) for one in a} | {type(one) for one in b}
    if float not in kinds or not kinds <= {float, int, bool}:
        return sum(map(operator.mul, a, b))
    if any(abs(x * y) >= 2**63 for x, y in zip(a, b) if type(x) is not float and type(y) is not float):
        return sum(map(operator.mul, a, b))
    for one in chain(a, b):
        float(one)  # OverflowError of an int beyond all floats, as of the standard library's
    from fractions import Fraction
    endless = [x * y for x, y in zip(a, b) if any(type(one) is float and not math.isfinite(one) for one in (x, y))]
    return sum(endless) if endless else _rounded(sum((Fraction(x) * Fraction(y) for x, y in zip(a, b)), Fraction(0)))


def plain(values: list[Any]) -> list[Any]:
    """NumPy's numbers among others as Python's own, whose arithmetic is neither cut off nor taken modulo anything."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not any(isinstance(one, numpy.generic) for one in values):
        return values
    return [one.item() if isinstance(one, numpy.generic) else one for one in values]
