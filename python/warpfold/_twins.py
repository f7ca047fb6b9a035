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


def _of_array(name: str, x: Any) -> float:
    """What fsum() and fmean() ask for, of arrays."""
    if name == "fmean":
        from .statistics import mean
        return float(mean(x))
    from ._inputs import F64, add_to, take
    view = _core.view_of_buffer(x)
    if view is not None and view.dtype == F64:  # without a state, where the answer is not to be looked into
        value = float(_core.reduce(0, x, None, None, False, None, "exact", "nearest", None, None, None, False))
        if -math.inf < value < math.inf:
            return value + 0.0
    state = _core.Sum()
    add_to(state, take(x, "fsum"), "fsum")
    return _core.fsum_of(state)


_core.use_arrays(_of_array)
fsum, fmean = _core.fsum, _core.fmean  # in C++ from the first argument on: a list of one number takes no longer than by the standard library
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
