# SPDX-License-Identifier: Apache-2.0
"""Variances divided by n less a fraction, as the array API standard has them: of exact sums, in fractions, rounded once.

The library's own division is by whole numbers; this takes some µs for each answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from . import _core
from ._inputs import BF16, DTYPES, Source, is_complex, of_numpy

_FORMATS = [(11, -24, 16), (8, -133, 128), (24, -149, 128), (53, -1074, 1024)]  # by code: bits, the least exponent of a unit, that of what is too large
_MOMENTS = _core.op_names.index("mean_var")


def fraction_of(correction: Any) -> Fraction | None:
    """A correction that is finite and not whole; None for others."""
    if not isinstance(correction, (float, np.floating)) or not math.isfinite(correction) or correction.is_integer():
        return None
    return Fraction(float(correction))


def rounded(q: Fraction, code: int, rounding: str, *, is_more: bool = False) -> float:
    """A number, 0 or more, rounded once to a type of floats; `is_more`: the true one is a little more than q, which has bits to spare."""
    bits, least, top = _FORMATS[code]
    if q == 0:
        return 0.0
    exponent = q.numerator.bit_length() - q.denominator.bit_length()
    exponent -= q < Fraction(2)**exponent
    unit = Fraction(2)**max(exponent - bits + 1, least)
    whole, rest = divmod(q, unit)
    if rest or is_more:
        halves = 2 * rest
        up = halves > unit or (halves == unit and (is_more or whole % 2 == 1)) if rounding == "nearest" else rounding in ("up", "away")
        whole += up
    if whole * unit >= Fraction(2)**top:
        return math.inf if rounding in ("nearest", "up", "away") else float((2**bits - 1) * Fraction(2)**(top - bits))
    return float(whole * unit)


def root(q: Fraction, code: int, rounding: str) -> float:
    """The root of a number, 0 or more, rounded once."""
    shift = max(0, 160 - q.numerator.bit_length() + q.denominator.bit_length())
    shift += shift % 2
    scaled, rest = divmod(q.numerator << shift, q.denominator)
    found = math.isqrt(scaled)  # it has 79 bits or more
    return rounded(Fraction(found, 1 << shift // 2), code, rounding, is_more=rest != 0 or found * found != scaled)


def variance(sums: Sequence[tuple[int, Fraction, Fraction] | None], correction: Fraction) -> Fraction | None:
    """That of n, Σx, Σx² of each part of complex numbers, or of real ones; None where there is none."""
    total = Fraction(0)
    for one in sums:
        if one is None or one[0] == 0 or one[0] <= correction:
            return None
        n, s, squares = one
        total += (squares - s * s / n) / (n - correction)
    return total


def answers(op: str, source: Source, mask: _core.View | None, by: tuple[int, ...] | _core.View, kept: tuple[int, ...], correction: Fraction, rounding: str,
            skip_nans: bool, who: str) -> Any:
    """`var` or `std` of an array, along axes or by labels."""
    views = [source.view]
    if is_complex(source.view.dtype):
        x = np.asarray(source.view)
        views = [of_numpy(x.real, who), of_numpy(x.imag, who)]
        if skip_nans:
            counts = ~np.isnan(x) if mask is None else ~np.isnan(x) & np.asarray(mask)
            mask, skip_nans = _core.view_of_buffer(counts), False
    states = [_states(view, mask, skip_nans, by, math.prod(kept)) for view in views]
    code = _core.answer_of(_core.op_names.index(op), source.view.dtype)[0]
    found = np.empty(math.prod(kept), np.float64)
    for k in range(found.size):
        q = variance([sums_of(_core.moments_of_words(part[k].tobytes())) for part in states], correction)
        found[k] = math.nan if q is None else root(q, code, rounding) if op == "std" else rounded(q, code, rounding)
    if code == BF16:
        return source.give_bf16((found.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).reshape(kept))
    with np.errstate(over="ignore"):
        return source.give(found.astype(DTYPES[code]).reshape(kept))


def _states(view: _core.View, mask: _core.View | None, skip_nans: bool, by: tuple[int, ...] | _core.View, n: int) -> np.ndarray[Any, Any]:
    kind = _core.StateKind(_MOMENTS, view.dtype, True)
    made = np.empty(n, f"V{kind.bytes}")
    if isinstance(by, tuple):
        kind.from_view(view, mask, skip_nans, by, 0, 0, made)
    else:
        kind.by_label(view, mask, skip_nans, by, n, made)
    return made


def sums_of(state: Any) -> tuple[int, Fraction, Fraction] | None:
    """n, Σx and Σx² of one of _core's Moments; None where an element is no finite number."""
    from ._states import _fraction
    if not state.finite():
        return None
    stored = bytes(state.to_bytes())
    return state.count, _fraction(stored[:328]), _fraction(stored[328:])
