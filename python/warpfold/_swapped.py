# SPDX-License-Identifier: Apache-2.0
"""Large arrays of the other byte order, as FITS and NetCDF files have them: a part at a time is put into the machine's own, so no copy of the whole is made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core
from ._general import NEED_ELEMENTS, OP, axes_of, of_pieces
from ._inputs import CODES, Source, mask_of, of_numpy, scalar_or_array

PART = 1 << 17  # elements, so that a part and its copy stay in the cache
_BY_ORDER = {OP["prod"], OP["logsumexp"]}  # whose bits may depend on where parts end


def is_large(x: Any) -> bool:
    return type(x) is np.ndarray and not x.dtype.isnative and x.size > PART and x.dtype.newbyteorder("=") in CODES


def parts_of(shape: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Indexes of parts of an array, in C order."""
    row = math.prod(shape[1:])
    if not shape or shape[0] * row <= PART:
        yield ()
    elif row > PART:
        yield from ((i, *rest) for i in range(shape[0]) for rest in parts_of(shape[1:]))
    else:
        step = PART // row
        yield from ((slice(i, i + step),) for i in range(0, shape[0], step))


def pieces_of(x: Any, mask: Any) -> Iterator[tuple[_core.View, _core.View | None]]:
    native = x.dtype.newbyteorder("=")
    for at in parts_of(x.shape):
        some = None if mask is None else _core.view_of_buffer(np.ascontiguousarray(mask[at]).reshape(-1))
        yield of_numpy(np.ascontiguousarray(x[at], native).reshape(-1), "array"), some


def reduce(op: int, x: Any, axis: Any, dtype: Any, keepdims: Any, correction: Any, accuracy: Any, rounding: Any, where: Any, skip_nans: bool,
           name: str) -> Any:
    """As _general.reduce, of what `is_large`; None where a copy is needed all the same."""
    axes = axes_of(axis, x.ndim, name)
    kept = [d for d in range(x.ndim) if d not in axes]
    shape = tuple(1 if d in axes else n for d, n in enumerate(x.shape) if keepdims or d not in axes)
    view = mask_of(where, x.shape, name)
    mask = None if view is None else np.asarray(view)
    cut = next((d for d in kept if x.shape[d] > 1), None)
    if accuracy != "exact" or (cut is None and (dtype is not None or op in _BY_ORDER)):
        return None
    if cut is None:
        if mask is not None and op in NEED_ELEMENTS and not mask.any():
            return None  # whose words they are
        each = pieces_of(x, mask)
        first, some = next(each)
        found = of_pieces([op], Source(first, some, scalar_or_array, more=each), None, None, False, correction, accuracy, rounding, None, skip_nans, name)[0]
        return tuple(_shaped(one, shape) for one in found) if isinstance(found, tuple) else _shaped(found, shape)
    step = max(1, PART // (x.size // x.shape[cut]))
    places = [(slice(None),) * cut + (slice(i, i + step),) for i in range(0, x.shape[cut], step)]
    answers = [_core.reduce(op, x[at], axis, dtype, True, correction, accuracy, rounding, None if mask is None else mask[at], None, None, skip_nans) for at in places]
    if isinstance(answers[0], tuple):
        return tuple(np.concatenate(one, cut).reshape(shape) for one in zip(*answers))
    return np.concatenate(answers, cut).reshape(shape)


def _shaped(answer: Any, shape: tuple[int, ...]) -> Any:
    return np.reshape(answer, shape) if shape else answer
