# SPDX-License-Identifier: Apache-2.0
"""Exact sums that can be stored, sent and merged."""

from __future__ import annotations

from . import _core
from ._twins import _is_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Any, TypeVar

    from ._functions import Rounding

    S = TypeVar("S", bound="_State")

_FLOATS = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3}


def _float_code(dtype: Any, who: str) -> int:
    code = _FLOATS.get(dtype) if isinstance(dtype, str) else None
    if code is None:
        from ._inputs import code_of
        code = code_of(dtype, who)
    if code > 3:
        raise TypeError(f"{who}: dtype={dtype!r}; it is a type of floats")
    return code


def _fraction(stored: bytes) -> Fraction:
    """The finite part of a stored sum. docs/exact.md: digits from byte 12 on, of units of a power of 2."""
    from fractions import Fraction
    digits = int.from_bytes(stored[6:8], "little")
    unit = int.from_bytes(stored[8:12], "little", signed=True)
    return Fraction(int.from_bytes(stored[12:12 + 4 * digits], "little", signed=True), 2**-unit)


def _elements(count: int) -> str:
    return f"{count} element" + "s" * (count != 1)


class _State:
    """What the states have in common."""

    __slots__ = ("_state",)
    _kind: Any
    _reduction: str  # whose states of float64 are of this kind
    _of_words: Any   # what makes one of the words of such a state
    _state: Any

    def __init__(self, x: Any = None, /) -> None:
        self._state = self._kind()
        if x is not None:
            self.add(x)

    def add(self, x: Any, /) -> None:
        """Adds an array, a number, or numbers that can be iterated over, all of them or, if that fails, nothing.

        Nulls of Arrow's arrays, and what NumPy's masked arrays mask, are left out. Arrays of CuPy, PyTorch and Numba on a GPU are summed
        there, on the current stream of their library, and the state is waited for; those of 64-bit integers are copied to the CPU's memory.

        Examples
        --------
        >>> import warpfold as wf
        >>> a = wf.ExactSum()
        >>> a.add([1e308, 1.0])
        >>> a.add(-1e308)
        >>> a.value(), a.count
        (1.0, 3)
        """
        if isinstance(x, (int, float)):
            self._state.add_number(x)
        else:
            self._state.merge(self._state_of(x))

    def remove(self, x: Any, /) -> None:
        """Takes out an array, a number, or numbers that can be iterated over, which were added before.

        Exact after any number of additions and removals: nothing stays of what was taken out, an infinity or a NaN neither.
        One thing is not known again: a sum of nothing but -0 that has had other elements is +0.

        Raises
        ------
        ValueError
            More elements than there are, or a rest that no elements have; the state is then what it was. Not every element
            that was never added is noticed.

        Examples
        --------
        >>> import warpfold as wf
        >>> a = wf.ExactSum([1e308, 1.0, 0.1])
        >>> a.remove([1e308, 0.1])
        >>> a == wf.ExactSum([1.0])
        True
        """
        self._state.unmerge(self._state_of(x))

    def _state_of(self, x: Any) -> Any:
        made = self._kind()
        if isinstance(x, (int, float)):
            made.add_number(x)
            return made
        if hasattr(type(x), "__next__") and not _is_array(x):
            x = list(x)
        if isinstance(x, (list, tuple)):
            for one in x:  # ints beyond 64 bits too
                if not isinstance(one, (int, float)):
                    break
            else:
                for one in x:
                    made.add_number(one)
                return made
        from ._inputs import add_to, lies_on_gpu, take
        who = type(self).__name__
        if lies_on_gpu(x):
            from . import _device
            words, x = _device.words_of(self._reduction, x, who)
            if words is not None:
                return self._of_words(words)
        add_to(made, take(x, who), who)
        return made

    def _is_like(self, other: object) -> bool:
        """Whether it is a state of this kind, of whatever subclass."""
        return isinstance(other, _State) and other._kind is self._kind

    def merge(self, other: Any, /) -> None:
        """Adds what another state of this kind holds.

        Examples
        --------
        >>> import warpfold as wf
        >>> a = wf.ExactSum([1.0])
        >>> a.merge(wf.ExactSum([2.0, 3.0]))
        >>> a.value(), a.count
        (6.0, 3)
        """
        if not self._is_like(other):
            raise TypeError(f"{type(self).__name__}: merge() takes another one, not {type(other).__name__}")
        self._state.merge(other._state)

    def unmerge(self, other: Any, /) -> None:
        """Takes out what another state of this kind holds, and was merged before; as `remove`.

        Examples
        --------
        >>> import warpfold as wf
        >>> a = wf.ExactSum([1.0, 2.0])
        >>> a.unmerge(wf.ExactSum([2.0]))
        >>> a.value(), a.count
        (1.0, 1)
        """
        if not self._is_like(other):
            raise TypeError(f"{type(self).__name__}: unmerge() takes another one, not {type(other).__name__}")
        self._state.unmerge(other._state)

    def copy(self: S) -> S:
        """A state of its own, with the same contents.

        Examples
        --------
        >>> import warpfold as wf
        >>> a = wf.ExactSum([1.0])
        >>> b = a.copy()
        >>> b.add(2.0)
        >>> a.value(), b.value()
        (1.0, 3.0)
        """
        return self._of(self._state.copy())

    @classmethod
    def _of(cls: type[S], state: Any) -> S:
        made = cls.__new__(cls)
        made._state = state
        return made

    @property
    def count(self) -> int:
        """How many elements were added."""
        return int(self._state.count)

    def to_bytes(self) -> bytes:
        """Canonical bytes, the same on every machine and for every order and grouping of the elements.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactSum([0.1, 1e300]).to_bytes() == (wf.ExactSum([1e300]) + wf.ExactSum([0.1])).to_bytes()
        True
        """
        return bytes(self._state.to_bytes())

    @classmethod
    def from_bytes(cls: type[S], data: Any, /) -> S:
        """The state of such bytes; ValueError for others.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactSum.from_bytes(wf.ExactSum([1.5]).to_bytes())
        <ExactSum of 1 element: 1.5>
        """
        if isinstance(data, (str, int)):
            raise TypeError(f"{cls.__name__}: from_bytes() takes what to_bytes() gave, not {type(data).__name__}")
        stored = bytes(data)
        try:
            return cls._of(cls._kind.from_bytes(stored))
        except TypeError as e:  # its version is not known
            raise ValueError(str(e)) from None

    def __add__(self: S, other: S) -> S:
        if self._is_like(other):
            made = self.copy()
            made.merge(other)
            return made
        return NotImplemented

    def __radd__(self: S, other: int) -> S:
        """`sum(states)` begins with 0."""
        return self.copy() if type(other) is int and other == 0 else NotImplemented

    def __sub__(self: S, other: S) -> S:
        if self._is_like(other):
            made = self.copy()
            made.unmerge(other)
            return made
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _State) or not self._is_like(other):
            return NotImplemented
        return bool(self._state.equals(other._state))

    def __hash__(self) -> int:
        return int(self._state.hash())

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def __len__(self) -> int:
        return self.count

    def __bool__(self) -> bool:
        return self.count > 0

    def __copy__(self: S) -> S:
        return self.copy()

    def __deepcopy__(self: S, memo: Any) -> S:
        return self.copy()

    def __reduce__(self) -> Any:
        return type(self).from_bytes, (self.to_bytes(),)


class ExactSum(_State):
    """The true sum of everything added, in any order and from any number of pieces: the same bytes, the same value.

    Parameters
    ----------
    x : array_like, optional
        What is added at once.

    Raises
    ------
    TypeError
        Elements that are no real numbers.
    OverflowError
        More than 2^63 - 1 elements, or an int that neither 64 bits nor a float hold.

    Notes
    -----
    One state holds every type of element, in 328 bytes when stored. It may be changed after it was hashed, so keep it out of
    sets and keys while it grows.

    References
    ----------
    docs/exact.md: how the answer is exact, after R. Neal, "Fast exact summation using small and large superaccumulators" (2015).
    docs/states.md: what states are, and their bytes.

    Examples
    --------
    >>> import warpfold as wf
    >>> a, b = wf.ExactSum([1e308, 1.0]), wf.ExactSum([-1e308])
    >>> (a + b).value()
    1.0
    >>> wf.ExactSum.from_bytes(a.to_bytes()) == a
    True
    >>> wf.ExactSum([0.5, 0.25]).as_fraction()
    Fraction(3, 4)
    >>> a.remove(1e308)
    >>> a == wf.ExactSum([1.0]), (a - a).count
    (True, 0)
    """

    __slots__ = ()
    _kind, _reduction, _of_words = _core.Sum, "sum", _core.sum_of_words

    def value(self, *, rounding: Rounding = "nearest", dtype: Any = "float64") -> float:
        """The sum, rounded once to a type of floats; a Python float, which holds each of them.

        Examples
        --------
        >>> import warpfold as wf
        >>> a = wf.ExactSum([1.0, 2.0**-60])
        >>> a.value(), a.value(rounding="up"), a.value(rounding="up", dtype="float32")
        (1.0, 1.0000000000000002, 1.0000001192092896)
        """
        return float(self._state.value(rounding, _float_code(dtype, "ExactSum")))

    def mean(self, *, rounding: Rounding = "nearest", dtype: Any = "float64") -> float:
        """The sum divided by the number of elements, rounded once; NaN of nothing.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactSum([1e308, 1e308, 1e308]).mean()
        1e+308
        """
        return float(self._state.mean(rounding, _float_code(dtype, "ExactSum")))

    def as_fraction(self) -> Fraction:
        """The sum itself; ValueError if it is NaN, OverflowError if it is infinite.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactSum([0.5, 2.0**-60]).as_fraction()
        Fraction(576460752303423489, 1152921504606846976)
        """
        nan, above, below, _ = self._state.specials()
        if nan or (above and below):
            raise ValueError("ExactSum: the sum is NaN, which is no fraction")
        if above or below:
            raise OverflowError("ExactSum: the sum is infinite, which is no fraction")
        return _fraction(self.to_bytes())

    def __float__(self) -> float:
        return self.value()

    def __repr__(self) -> str:
        return f"<ExactSum of {_elements(self.count)}: {self.value()!r}>"


class ExactMoments(_State):
    """The true sum and sum of squares of everything added: mean, variance and norm of any pieces, each rounded once.

    Parameters
    ----------
    x : array_like, optional
        What is added at once.

    Raises
    ------
    TypeError
        Elements that are no real numbers.
    OverflowError
        More than 2^63 - 1 elements, or an int that neither 64 bits nor a float hold.

    References
    ----------
    docs/exact.md: how the answer is exact, after R. Neal, "Fast exact summation using small and large superaccumulators" (2015).
    docs/states.md: what states are, and their bytes.

    Examples
    --------
    >>> import warpfold as wf
    >>> m = wf.ExactMoments([1.0, 2.0])
    >>> m.add(3.0)
    >>> m.mean(), m.var(correction=1), m.sum_of_squares()
    (2.0, 1.0, 14.0)
    >>> m.remove([1.0, 2.0])
    >>> m.as_fractions()
    (Fraction(3, 1), Fraction(9, 1))
    """

    __slots__ = ()
    _kind, _reduction, _of_words = _core.Moments, "mean_var", _core.moments_of_words

    def _answer(self, which: str, rounding: Rounding, dtype: Any, correction: float = 0) -> float:
        if type(correction) is not int or not -2**63 <= correction < 2**63:  # what the functions take is taken here
            from ._fractional import fraction_of
            from ._general import correction_of
            if (part := fraction_of(correction)) is not None:
                return float(self._state.answer(which, 0, rounding, _float_code(dtype, "ExactMoments"), part))
            correction = correction_of(correction, "ExactMoments")
        return float(self._state.answer(which, correction, rounding, _float_code(dtype, "ExactMoments")))

    def sum(self, *, rounding: Rounding = "nearest", dtype: Any = "float64") -> float:
        """The sum, rounded once.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactMoments([1e16, 1.0, -1e16]).sum()
        1.0
        """
        return self._answer("sum", rounding, dtype)

    def mean(self, *, rounding: Rounding = "nearest", dtype: Any = "float64") -> float:
        """The mean, rounded once; NaN of nothing.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactMoments([1.0, 2.0]).mean()
        1.5
        """
        return self._answer("mean", rounding, dtype)

    def sum_of_squares(self, *, rounding: Rounding = "nearest", dtype: Any = "float64") -> float:
        """The sum of squares, rounded once.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactMoments([3.0, 4.0]).sum_of_squares()
        25.0
        """
        return self._answer("sum_of_squares", rounding, dtype)

    def norm(self, *, rounding: Rounding = "nearest", dtype: Any = "float64") -> float:
        """The root of the sum of squares, rounded once.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactMoments([1e200, 1.0]).norm()
        1e+200
        """
        return self._answer("norm", rounding, dtype)

    def var(self, *, correction: float = 0, rounding: Rounding = "nearest", dtype: Any = "float64") -> float:
        """The variance, rounded once; NaN where count - correction is not positive.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactMoments([1e9 + 1, 1e9 + 3]).var(correction=1)
        2.0
        """
        return self._answer("var", rounding, dtype, correction)

    def std(self, *, correction: float = 0, rounding: Rounding = "nearest", dtype: Any = "float64") -> float:
        """The root of the variance, rounded once.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactMoments([1e9 + 1, 1e9 + 3]).std()
        1.0
        """
        return self._answer("std", rounding, dtype, correction)

    def as_fractions(self) -> tuple[Fraction, Fraction]:
        """The sum and the sum of squares themselves; ValueError if an element is infinite or NaN.

        The variance of n elements is (q - s**2 / n) / (n - correction), in fractions without any rounding.

        Examples
        --------
        >>> import warpfold as wf
        >>> wf.ExactMoments([0.5, 0.25]).as_fractions()
        (Fraction(3, 4), Fraction(5, 16))
        """
        stored = self.to_bytes()  # a sum of 328 bytes, and one of squares
        if not self._state.finite():
            raise ValueError("ExactMoments: an element is infinite or NaN, and no fraction")
        return _fraction(stored[:328]), _fraction(stored[328:])

    def __repr__(self) -> str:
        return f"<ExactMoments of {_elements(self.count)}: mean {self.mean()!r}, var {self.var()!r}>"
