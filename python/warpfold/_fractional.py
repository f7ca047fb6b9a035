# SPDX-License-Identifier: Apache-2.0
"""Variances divided by n less a fraction, as the array API standard has them: of exact states, rounded once.

Kernels and the CPU's paths divide by whole numbers; what is finished here is the states of each answer's elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core
from ._general import Answers, Room
from ._inputs import Source


def fraction_of(correction: Any) -> float | None:
    """A correction that is finite and not whole; None for others."""
    if not isinstance(correction, (float, np.floating)) or not math.isfinite(correction) or correction.is_integer():
        return None
    return float(correction)


class Spreads:
    """The states of one operation of moments, and its answers. `n`: how many."""

    def __init__(self, op: int, element: int, n: int) -> None:
        self.op, self.element, self.kind = op, element, _core.StateKind(op, element, False)
        self.states = np.empty(n, f"V{self.kind.bytes}")

    def take(self, view: _core.View, mask: _core.View | None, skip_nans: bool, by: tuple[int, ...] | _core.View) -> Spreads:
        """Of an array, along axes or by labels."""
        if isinstance(by, tuple):
            self.kind.from_view(view, mask, skip_nans, by, 0, 0, self.states)
        else:
            self.kind.by_label(view, mask, skip_nans, by, self.states.size, self.states)
        return self

    def add(self, view: _core.View, mask: _core.View | None, skip_nans: bool) -> None:
        """One more piece of an array that has one answer."""
        before, self.states = self.states, np.empty_like(self.states)
        self.kind.merge(self.states, [before, Spreads(self.op, self.element, 1).take(view, mask, skip_nans, (0,)).states])

    def answers(self, correction: float, rounding: Any, shape: tuple[int, ...], source: Source) -> Any:
        room = Answers(Room(self.kind.answer_bytes(None)), [self.op], self.element, None, self.states.size)
        self.kind.finish(self.states, rounding, 0, None, room.raw, correction)
        return room.all(shape, source)[0]
