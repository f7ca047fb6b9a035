# SPDX-License-Identifier: Apache-2.0
"""The public functions. Each is one call of the compiled fast path, which asks _general for what it does not answer."""

from __future__ import annotations

import builtins

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal, TypeVar

    Accuracy = Literal["exact", "fast"]
    Rounding = Literal["nearest", "zero", "away", "up", "down"]
    F = TypeVar("F", bound=Callable[..., Any])

_reduce, _dot, _parted, _fused = _core.reduce, _core.dot, _core.parted, _core.fused


def _general() -> Any:
    from . import _general as module  # NumPy comes with it
    return module


def _first(*request: Any) -> Any:
    return _general().reduce(*request)


_core.use_general(_first)

(_SUM, _MEAN, _PROD, _VAR, _STD, _MEAN_VAR, _SUM_OF_SQUARES, _NORM1, _NORM2, _NORM_INF, _DOT, _MIN, _MAX, _MINMAX, _ARGMIN, _ARGMAX,
 _ANY, _ALL, _COUNT, _COUNT_NONZERO, _LOGSUMEXP) = builtins.map(_core.op_names.index, (
    "sum", "mean", "prod", "var", "std", "mean_var", "sum_of_squares", "norm1", "norm2", "norm_inf", "dot", "min", "max", "minmax", "argmin",
    "argmax", "any", "all", "count", "count_nonzero", "logsumexp"))

_PARAMETERS = {
    "x": """x : array_like
        Any array, of any strides, alignment and byte order; numbers, or what can be iterated over. On a GPU, aligned and of its own order.""",
    "axis": """axis : int, tuple of ints or None
        The axes to reduce over, negative ones from the last; None: all.""",
    "one_axis": """axis : int or None
        The axis to reduce over; None: the array as if in one dimension, in C order.""",
    "keepdims": """keepdims : bool
        Reduced axes stay, with length 1.""",
    "dtype": """dtype : data type, optional
        The type of the answer; floats are rounded to it once, integers taken modulo its range.""",
    "correction": """correction : int or float
        The sum of squared differences is divided by n - correction; NaN where that is not positive.""",
    "accuracy": """accuracy : {"exact", "fast"}
        The true answer, rounded once; or native arithmetic, with the same bits on every run.""",
    "rounding": """rounding : {"nearest", "zero", "away", "up", "down"}
        How the true answer is rounded; with ``accuracy="fast"``, which has none, "nearest" alone.""",
    "where": """where : array_like of bool, optional
        The elements that count; broadcast to the shape of x. Of an array on a GPU one there, of the same library (CuPy or PyTorch).""",
    "where_at": """where : array_like of bool, optional
        The elements that count; broadcast to the shape of x. The index is that in x. Of an array on a GPU one there, of the same library
        (CuPy or PyTorch).""",
    "where_both": """where : array_like of bool, optional
        The products that count; broadcast to their shape. Of arrays on a GPU one there, of the same library (CuPy or PyTorch).""",
    "out": """out : array, optional
        Where the answer goes, of its shape and dtype: an array of NumPy's or of the kind of x, or, of elements on a GPU, one there.""",
    "outs": """out : tuple of arrays, optional
        Where the answers go, one for each, or None for a new one: arrays of NumPy's or of the kind of x, or, of elements on a GPU, ones there.""",
    "out_or_outs": """out : array, or a tuple of two for `minmax` and `mean_var`, optional
        Where the answers go, of their shape and dtype: arrays of NumPy's or of the kind of x, or, of elements on a GPU, ones there.""",
    "stream": """stream : stream, optional
        Where the reduction of elements on a GPU is put: a stream of CuPy, PyTorch, Numba or cuda.core, or its address. By default the
        current one of the array's library. Nothing waits for it.""",
    "y": """y : array_like
        The other factors: broadcast against x, of a type that holds both exactly, and on a GPU of the same type and there too.""",
    "reduction": """reduction : callable, str or Reduction
        A function of this package that takes one array, its name, or one of the caller's own.""",
    "labels": """labels : array_like of int
        One for each element, 0 or more.""",
    "answers": """answers : int, optional
        How many there are; labels are less. The default is one more than the largest label; for labels on a GPU it must be given.""",
    "keys": """keys : array_like
        One for each element; whatever NumPy sorts.""",
    "offsets": """offsets : int or array_like of int
        Segment k is x[offsets[k]:offsets[k + 1]]; an int is the length of each, the last may be shorter.""",
}


_RAISES = {
    "axes": """TypeError
        Elements that are no numbers of the types above, or a dtype that would lose some of the answer.
    ValueError, numpy.exceptions.AxisError
        Axes that the array does not have, shapes that do not fit, names that are none.""",
    "offsets": """ValueError
        Offsets that fall or leave the array, an array that is not one-dimensional.""",
}

_SHAPES = {
    "keepdims": """Answers have the shape of {0} without the axes that are reduced; with ``keepdims`` these stay, with length 1. They are of the
        caller's kind of array; one answer of a NumPy array or of plain numbers is a NumPy scalar.""",
    "offsets": "Answers lie in one dimension, in the caller's kind of array.",
}
_SHAPES["labels"] = _SHAPES["keys"] = _SHAPES["offsets"]

_SOURCES = """docs/reductions.md: what is answered of nothing, of NaNs, of too large an answer, and how it is rounded."""
_SOURCES_OF_EXACT = """docs/exact.md: how the answer is exact, after R. Neal, "Fast exact summation using small and large superaccumulators" (2015)."""


def _document(*names: str) -> Callable[[F], F]:
    """Puts what is the same everywhere into a docstring: the parameters' sections, shapes of answers, errors in place of `Raises: KIND`, sources."""
    def put(f: F) -> F:
        if f.__doc__ is not None:  # None under -OO
            indent = "    " if "\n    Parameters" in f.__doc__ else ""  # from Python 3.13 on it is taken away before

            def section(title: str, *parts: str) -> str:
                return "\n    ".join([f"\n\n    {title}", "-" * len(title), *parts]).replace("\n    ", "\n" + indent)

            shape = next(_SHAPES[n] for n in names if n in _SHAPES).format("both, broadcast against each other," if "y" in names else "x")
            f.__doc__ = f.__doc__.replace(f"\n\n{indent}Raises", f"\n        {shape}".replace("\n    ", "\n" + indent) + f"\n\n{indent}Raises", 1)
            f.__doc__ = f.__doc__.replace(f"\n\n{indent}Parameters", section("Parameters", *(_PARAMETERS[n] for n in names)), 1)
            for kind, text in _RAISES.items():
                f.__doc__ = f.__doc__.replace(f"\n\n{indent}Raises: {kind}", section("Raises", text), 1)
            sources = section("References", _SOURCES, *([_SOURCES_OF_EXACT] if "rounding" in names else []))
            f.__doc__ = f.__doc__.replace(f"\n\n{indent}Examples", f"{sources}\n\n{indent}Examples", 1)
        return f
    return put


@_document("x", "axis", "dtype", "keepdims", "accuracy", "rounding", "where", "out", "stream")
def sum(x: Any, /, *, axis: int | tuple[int, ...] | None = None, dtype: Any = None, keepdims: bool = False, accuracy: Accuracy = "exact",
        rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The sum: the true one, rounded once.

    Sums of integers are int64 or uint64, modulo 2^64; those of bool count. The sum of nothing is 0.

    Parameters

    Returns
    -------
    scalar or array
        Floats and complex numbers keep their type; integers and bool give int64 or uint64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.sum([0.1] * 10))
    1.0
    >>> wf.sum([[1, 2], [3, 4]], axis=1).tolist()
    [3, 7]
    >>> float(wf.sum([1.0, 2.0**-60], rounding="up"))
    1.0000000000000002
    """
    return _reduce(_SUM, x, axis, dtype, keepdims, None, accuracy, rounding, where, out, stream, False)

@_document("x", "axis", "dtype", "keepdims", "where", "out", "stream")
def prod(x: Any, /, *, axis: int | tuple[int, ...] | None = None, dtype: Any = None, keepdims: bool = False, where: Any = None, out:
         Any = None, stream: Any = None) -> Any:
    """The product, of floats by f64 in C order: the same bits on every run, but not rounded only once.

    Products of integers are taken modulo 2^64. The product of nothing is 1.

    Parameters

    Returns
    -------
    scalar or array
        Floats and complex numbers keep their type; integers and bool give int64 or uint64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> int(wf.prod([1, 2, 3, 4]))
    24
    """
    return _reduce(_PROD, x, axis, dtype, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "dtype", "keepdims", "accuracy", "rounding", "where", "out", "stream")
def mean(x: Any, /, *, axis: int | tuple[int, ...] | None = None, dtype: Any = None, keepdims: bool = False, accuracy: Accuracy =
         "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The mean: the true sum divided by the number of elements, rounded once. The mean of nothing is NaN.

    Parameters

    Returns
    -------
    scalar or array
        Floats and complex numbers keep their type; integers and bool give float64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.mean([1e308, 1e308]))
    1e+308
    """
    return _reduce(_MEAN, x, axis, dtype, keepdims, None, accuracy, rounding, where, out, stream, False)

@_document("x", "axis", "keepdims", "correction", "accuracy", "rounding", "where", "out", "stream")
def var(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, correction: float = 0, accuracy: Accuracy =
        "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The variance, from the exact sum and the exact sum of squares, rounded once: nothing cancels, at any offset.

    Parameters

    Returns
    -------
    scalar or array
        Floats keep their type, complex numbers give its real one; integers and bool give float64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.var([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16], correction=1))
    30.0
    """
    return _reduce(_VAR, x, axis, None, keepdims, None if correction == 0 else correction, accuracy, rounding, where, out, stream, False)

@_document("x", "axis", "keepdims", "correction", "accuracy", "rounding", "where", "out", "stream")
def std(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, correction: float = 0, accuracy: Accuracy =
        "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The standard deviation: the root of the variance, rounded once.

    Parameters

    Returns
    -------
    scalar or array
        Floats keep their type, complex numbers give its real one; integers and bool give float64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.std([1, 3]))
    1.0
    """
    return _reduce(_STD, x, axis, None, keepdims, None if correction == 0 else correction, accuracy, rounding, where, out, stream, False)

@_document("x", "axis", "keepdims", "correction", "accuracy", "rounding", "where", "outs", "stream")
def mean_var(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, correction: float = 0, accuracy: Accuracy =
             "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """Mean and variance in one pass, each rounded once.

    Parameters

    Returns
    -------
    tuple
        The mean and the variance, as `mean` and `var` give them.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> mean, var = wf.mean_var([1.0, 2.0, 3.0], correction=1)
    >>> float(mean), float(var)
    (2.0, 1.0)
    """
    return _reduce(_MEAN_VAR, x, axis, None, keepdims, None if correction == 0 else correction, accuracy, rounding, where, out, stream, False)

@_document("x", "axis", "keepdims", "accuracy", "rounding", "where", "out", "stream")
def sum_of_squares(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, accuracy: Accuracy = "exact",
                   rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The sum of squares, of complex numbers of |x|²: exact products, rounded once.

    Parameters

    Returns
    -------
    scalar or array
        Floats keep their type, complex numbers give its real one; integers and bool give int64 or uint64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.sum_of_squares([3.0, 4.0]))
    25.0
    """
    return _reduce(_SUM_OF_SQUARES, x, axis, None, keepdims, None, accuracy, rounding, where, out, stream, False)

@_document("x", "axis", "keepdims", "accuracy", "rounding", "where", "out", "stream")
def norm(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding =
         "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The Euclidean norm, the correctly rounded root of the exact sum of squares: no overflow on the way.

    Parameters

    Returns
    -------
    scalar or array
        Floats keep their type, complex numbers give its real one; integers and bool give float64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.norm([1e200, 0.0]))
    1e+200
    """
    return _reduce(_NORM2, x, axis, None, keepdims, None, accuracy, rounding, where, out, stream, False)

@_document("x", "axis", "keepdims", "accuracy", "rounding", "where", "out", "stream")
def norm1(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding =
          "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The sum of magnitudes, rounded once.

    Parameters

    Returns
    -------
    scalar or array
        Floats keep their type; integers give uint64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.norm1([3.0, -4.0]))
    7.0
    """
    return _reduce(_NORM1, x, axis, None, keepdims, None, accuracy, rounding, where, out, stream, False)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def norm_inf(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None,
             out: Any = None, stream: Any = None) -> Any:
    """The largest magnitude; of nothing it is 0.

    Parameters

    Returns
    -------
    scalar or array
        Floats keep their type; integers give uint64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.norm_inf([3.0, -4.0]))
    4.0
    """
    return _reduce(_NORM_INF, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def min(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The least element; a NaN if there is one, and -0 before +0.

    Parameters

    Returns
    -------
    scalar or array
        The elements' type.

    Raises: axes
        Also where there is no element.

    Examples
    --------
    >>> import warpfold as wf
    >>> int(wf.min([3, 1, 2]))
    1
    """
    return _reduce(_MIN, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def max(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The greatest element; a NaN if there is one, and +0 after -0.

    Parameters

    Returns
    -------
    scalar or array
        The elements' type.

    Raises: axes
        Also where there is no element.

    Examples
    --------
    >>> import warpfold as wf
    >>> int(wf.max([3, 1, 2]))
    3
    """
    return _reduce(_MAX, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "keepdims", "where", "outs", "stream")
def minmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The least and the greatest element in one pass.

    Parameters

    Returns
    -------
    tuple
        What `min` and `max` give.

    Raises: axes
        Also where there is no element.

    Examples
    --------
    >>> import warpfold as wf
    >>> low, high = wf.minmax([3, 1, 2])
    >>> int(low), int(high)
    (1, 3)
    """
    return _reduce(_MINMAX, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "one_axis", "keepdims", "where_at", "out", "stream")
def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The index of the first least element, or of the first NaN.

    Parameters

    Returns
    -------
    scalar or array
        An index, int64.

    Raises: axes
        Also where there is no element.

    Examples
    --------
    >>> import warpfold as wf
    >>> int(wf.argmin([3, 1, 2]))
    1
    """
    return _reduce(_ARGMIN, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "one_axis", "keepdims", "where_at", "out", "stream")
def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The index of the first greatest element, or of the first NaN.

    Parameters

    Returns
    -------
    scalar or array
        An index, int64.

    Raises: axes
        Also where there is no element.

    Examples
    --------
    >>> import warpfold as wf
    >>> int(wf.argmax([3, 1, 2]))
    0
    """
    return _reduce(_ARGMAX, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def any(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """Whether any element is other than zero; a NaN is. False if there are none.

    Parameters

    Returns
    -------
    scalar or array
        bool.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> bool(wf.any([0, 0, 3]))
    True
    """
    return _reduce(_ANY, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def all(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """Whether all elements are other than zero; a NaN is. True if there are none.

    Parameters

    Returns
    -------
    scalar or array
        bool.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> bool(wf.all([0, 0, 3]))
    False
    """
    return _reduce(_ALL, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def count_nonzero(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None, out: Any =
                  None, stream: Any = None) -> Any:
    """How many elements are other than zero.

    Parameters

    Returns
    -------
    scalar or array
        int64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> int(wf.count_nonzero([0, 5, 3]))
    2
    """
    return _reduce(_COUNT_NONZERO, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def logsumexp(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None,
              out: Any = None, stream: Any = None) -> Any:
    """log Σ exp(x) without overflow, by f64 in C order: the same bits on every run; -inf of nothing.

    Parameters

    Returns
    -------
    scalar or array
        Floats keep their type; integers give float64.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> bool(abs(wf.logsumexp([1000.0, 1000.0]) - 1000.6931471805599) < 1e-12)
    True
    """
    return _reduce(_LOGSUMEXP, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)

@_document("x", "axis", "dtype", "keepdims", "accuracy", "rounding", "where", "out", "stream")
def nansum(x: Any, /, *, axis: int | tuple[int, ...] | None = None, dtype: Any = None, keepdims: bool = False, accuracy: Accuracy =
           "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The sum of what is not NaN, as `sum` gives it.

    Parameters

    Returns
    -------
    scalar or array
        As the function without `nan` gives it.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.nansum([1.0, float("nan"), 2.0]))
    3.0
    """
    return _reduce(_SUM, x, axis, dtype, keepdims, None, accuracy, rounding, where, out, stream, True)

@_document("x", "axis", "dtype", "keepdims", "accuracy", "rounding", "where", "out", "stream")
def nanmean(x: Any, /, *, axis: int | tuple[int, ...] | None = None, dtype: Any = None, keepdims: bool = False, accuracy: Accuracy =
            "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The mean of what is not NaN, as `mean` gives it.

    Parameters

    Returns
    -------
    scalar or array
        As the function without `nan` gives it.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.nanmean([1.0, float("nan"), 2.0]))
    1.5
    """
    return _reduce(_MEAN, x, axis, dtype, keepdims, None, accuracy, rounding, where, out, stream, True)

@_document("x", "axis", "keepdims", "correction", "accuracy", "rounding", "where", "out", "stream")
def nanvar(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, correction: float = 0, accuracy: Accuracy =
           "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The variance of what is not NaN, as `var` gives it.

    Parameters

    Returns
    -------
    scalar or array
        As the function without `nan` gives it.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.nanvar([1.0, float("nan"), 3.0]))
    1.0
    """
    divide = None if correction == 0 else correction
    return _reduce(_VAR, x, axis, None, keepdims, divide, accuracy, rounding, where, out, stream, True)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def nanmin(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None,
           out: Any = None, stream: Any = None) -> Any:
    """The least element that is not NaN; +inf if all are.

    Parameters

    Returns
    -------
    scalar or array
        As the function without `nan` gives it.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.nanmin([1.0, float("nan"), 2.0]))
    1.0
    """
    return _reduce(_MIN, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, True)

@_document("x", "axis", "keepdims", "where", "out", "stream")
def nanmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None,
           out: Any = None, stream: Any = None) -> Any:
    """The greatest element that is not NaN; -inf if all are.

    Parameters

    Returns
    -------
    scalar or array
        As the function without `nan` gives it.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.nanmax([1.0, float("nan"), 2.0]))
    2.0
    """
    return _reduce(_MAX, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, True)

@_document("x", "y", "axis", "keepdims", "accuracy", "rounding", "where_both", "out", "stream")
def dot(x: Any, y: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, accuracy: Accuracy = "exact",
        rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The sum of products x·y, exact products included, rounded once. Nothing is conjugated.

    Arrays are broadcast against each other; integers are taken modulo 2^64.

    Parameters

    Returns
    -------
    scalar or array
        Floats and complex numbers keep their type; integers and bool give int64 or uint64.

    Raises
    ------
    TypeError
        Arrays of two types that no one type holds exactly.
    ValueError
        Shapes that cannot be broadcast together, axes that are not there.

    Examples
    --------
    >>> import warpfold as wf
    >>> float(wf.dot([1e200, 1.0, 1e200], [1e200, 1.0, -1e200]))
    1.0
    """
    found = _dot(x, y, axis, keepdims, accuracy, rounding, out, stream, where)
    return found if found is not NotImplemented else _general().dot(x, y, axis, keepdims, accuracy, rounding, out, stream, where)


def fuse(reductions: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """Several reductions of one array in one pass over its memory.

    Parameters
    ----------
    reductions : sequence of functions of this package, or of their names
        Those of one array, but for the nan… ones.

    Returns
    -------
    callable
        ``f(x, /, *, axis, keepdims, correction, accuracy, rounding, where, out, stream)``, whose answers are a tuple, each as the function alone
        gives it. ``out`` is a tuple of what each function alone takes as ``out``, or None for a new one.

    Raises
    ------
    TypeError
        What is no such reduction.

    References
    ----------
    docs/reductions.md, and docs/exact.md: as of each function alone.

    Examples
    --------
    >>> import warpfold as wf
    >>> total, least, at = wf.fuse([wf.sum, wf.min, "argmax"])([3.0, 1.0, 2.0])
    >>> float(total), float(least), int(at)
    (6.0, 1.0, 0)
    """
    if isinstance(reductions, str) or not hasattr(reductions, "__iter__"):
        raise TypeError(f"fuse: {reductions!r}; name the reductions in a list")
    names = tuple(_name_of(r, "fuse") for r in reductions)
    if not names:
        raise TypeError("fuse: nothing to fuse; name one reduction or more")
    return _Fused(names)


class _Fused:
    """What `fuse` gives: an object that can be pickled, and so sent to other processes."""

    __slots__ = ("_names", "_ops")

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._ops = tuple(builtins.map(_core.op_names.index, names))

    def __call__(self, x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, correction: float = 0,
                 accuracy: Accuracy = "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> tuple[Any, ...]:
        if out is None:
            found: tuple[Any, ...] = _fused(self._ops, x, axis, keepdims, correction, accuracy, rounding, stream, where)
            if found is not NotImplemented:
                return found
        answers: tuple[Any, ...] = _general().fused(self._names, x, axis, keepdims, correction, accuracy, rounding, where, stream, out)
        return answers

    def __reduce__(self) -> tuple[type[_Fused], tuple[tuple[str, ...]]]:
        return type(self), (self._names,)

    def __repr__(self) -> str:
        return f"<warpfold.fuse({list(self._names)})>"


def _of_table(op: int) -> Callable[..., Any]:
    """The function of a row of the library's table of operations that none is written for above."""
    name, (summary, _, rounds) = _core.op_names[op], _core.operations[op]
    f: Callable[..., Any]
    if rounds:
        def f(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, accuracy: Accuracy = "exact", rounding: Rounding = "nearest",
              where: Any = None, out: Any = None, stream: Any = None) -> Any:
            return _reduce(op, x, axis, None, keepdims, None, accuracy, rounding, where, out, stream, False)
    else:
        def f(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any =
              None) -> Any:
            return _reduce(op, x, axis, None, keepdims, None, "exact", "nearest", where, out, stream, False)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""{summary}.

    Parameters

    Returns
    -------
    scalar or array
        Of the type that docs/reductions.md says.

    Raises: axes

    Examples
    --------
    >>> import warpfold as wf
    >>> rows = wf.{name}([[2, 3], [5, 7]], axis=1)
    >>> bool(rows[1] == wf.{name}([5, 7]))
    True
    """
    return _document("x", "axis", "keepdims", *(("accuracy", "rounding") if rounds else ()), "where", "out", "stream")(f)


if TYPE_CHECKING:
    def count(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None, out: Any = None, stream: Any = None) -> Any: ...

OF_TABLE: list[str] = []  # the names of those functions
for _op, _name in enumerate(_core.op_names):
    if _name not in globals() and _name != "norm2" and _core.operations[_op][1] == 1 and _core.answer_of(_op, _core.dtype_names.index("f64"))[1] == 1:
        globals()[_name] = _of_table(_op)
        OF_TABLE.append(_name)

_BY_NAME = {**{n: n for n in _core.op_names if n != "dot"}, "norm": "norm2"}


def _is_own(reduction: Any, who: str, correction: Any, accuracy: Accuracy, rounding: Rounding) -> bool:
    if type(reduction).__module__ != "warpfold._own":  # which is imported where somebody has made one
        return False
    if (correction, accuracy, rounding) != (0, "exact", "nearest"):
        raise TypeError(f"{who}: a Reduction of one's own says itself how it rounds; correction=, accuracy=, rounding= do not reach it")
    if reduction._inputs != 1:
        raise TypeError(f"{who}: a Reduction of two arrays; it may be of one")
    return True


def _name_of(reduction: Any, who: str) -> str:
    given = reduction if isinstance(reduction, str) else getattr(reduction, "__name__", None)
    if not isinstance(reduction, str) and globals().get(str(given)) is not reduction:
        given = None
    if given not in _BY_NAME:
        raise TypeError(f"{who}: {reduction!r} is none of the reductions of one array: {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[given]


@_document("reduction", "x", "offsets", "correction", "accuracy", "rounding", "where", "out_or_outs", "stream")
def segment_reduce(reduction: Any, x: Any, offsets: Any, /, *, correction: float = 0, accuracy: Accuracy = "exact",
                   rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """Any reduction of one array, of each segment of it: a function of this package, its name, or a `Reduction`.

    A segment without elements gives what the reduction begins with: 0 for `sum`, +inf for `min` of floats, -1 for `argmin`.
    Indexes count from the start of a segment.

    Parameters

    Returns
    -------
    array, or a tuple of two for `minmax` and `mean_var`
        An answer for each segment.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_reduce("argmax", [1, 5, 2, 7, 3], [0, 3, 5]).tolist()
    [1, 0]
    """
    if _is_own(reduction, "segment_reduce", correction, accuracy, rounding):
        return _general().parted([], x, None, accuracy, rounding, "segment_reduce", offsets=offsets, own=reduction, stream=stream, where=where, out=out)[0]
    return _segments(_name_of(reduction, "segment_reduce"), x, offsets, correction, accuracy, rounding, stream, where, out)


_CODES = {name: code for code, name in enumerate(_core.op_names)}


def _segments(name: str, x: Any, offsets: Any, correction: Any = None, accuracy: Accuracy = "exact", rounding: Rounding = "nearest",
              stream: Any = None, where: Any = None, out: Any = None) -> Any:
    if offsets is not None:
        found = _parted(_CODES[name], x, offsets, None, None, correction, accuracy, rounding, stream, where, out)
        if found is not NotImplemented:
            return found
    general = _general()
    who = "segment_" + general.PUBLIC[name]
    return general.parted([general.OP[name]], x, correction, accuracy, rounding, who, offsets=offsets, stream=stream, where=where, out=out)[0]


@_document("x", "offsets", "accuracy", "rounding", "where", "out", "stream")
def segment_sum(x: Any, offsets: Any, /, *, accuracy: Accuracy = "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The sum of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `sum` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_sum([0, 1, 2, 3, 4, 5], [0, 3, 6]).tolist()
    [3, 12]
    """
    found = _parted(_SUM, x, offsets, None, None, None, accuracy, rounding, stream, where, out)  # a call of Python's less where that answers
    return found if found is not NotImplemented else _segments("sum", x, offsets, None, accuracy, rounding, stream=stream, where=where, out=out)


@_document("x", "offsets", "accuracy", "rounding", "where", "out", "stream")
def segment_mean(x: Any, offsets: Any, /, *, accuracy: Accuracy = "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The mean of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `mean` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_mean([0, 1, 2, 3, 4, 5], [0, 3, 6]).tolist()
    [1.0, 4.0]
    """
    return _segments("mean", x, offsets, None, accuracy, rounding, stream=stream, where=where, out=out)


@_document("x", "offsets", "correction", "accuracy", "rounding", "where", "out", "stream")
def segment_var(x: Any, offsets: Any, /, *, correction: float = 0, accuracy: Accuracy = "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The variance of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `var` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_var([0.0, 2.0, 1.0, 5.0], [0, 2, 4]).tolist()
    [1.0, 4.0]
    """
    return _segments("var", x, offsets, correction, accuracy, rounding, stream=stream, where=where, out=out)


@_document("x", "offsets", "correction", "accuracy", "rounding", "where", "out", "stream")
def segment_std(x: Any, offsets: Any, /, *, correction: float = 0, accuracy: Accuracy = "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The standard deviation of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `std` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_std([0.0, 2.0, 1.0, 5.0], [0, 2, 4]).tolist()
    [1.0, 2.0]
    """
    return _segments("std", x, offsets, correction, accuracy, rounding, stream=stream, where=where, out=out)


@_document("x", "offsets", "where", "out", "stream")
def segment_min(x: Any, offsets: Any, /, *, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The least element of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `min` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_min([0, 1, 2, 3, 4, 5], [0, 3, 6]).tolist()
    [0, 3]
    """
    return _segments("min", x, offsets, stream=stream, where=where, out=out)


@_document("x", "offsets", "where", "out", "stream")
def segment_max(x: Any, offsets: Any, /, *, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The greatest element of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `max` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_max([0, 1, 2, 3, 4, 5], [0, 3, 6]).tolist()
    [2, 5]
    """
    return _segments("max", x, offsets, stream=stream, where=where, out=out)


@_document("x", "offsets", "where", "out", "stream")
def segment_prod(x: Any, offsets: Any, /, *, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The product of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `prod` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_prod([0, 1, 2, 3, 4, 5], [0, 3, 6]).tolist()
    [0, 60]
    """
    return _segments("prod", x, offsets, stream=stream, where=where, out=out)


@_document("x", "offsets", "accuracy", "rounding", "where", "out", "stream")
def segment_norm(x: Any, offsets: Any, /, *, accuracy: Accuracy = "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The Euclidean norm of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `norm` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_norm([3.0, 4.0, 6.0, 8.0], 2).tolist()
    [5.0, 10.0]
    """
    return _segments("norm2", x, offsets, None, accuracy, rounding, stream=stream, where=where, out=out)


@_document("x", "offsets", "where_at", "out", "stream")
def segment_argmin(x: Any, offsets: Any, /, *, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The index, in its segment, of each segment's first least element.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `argmin` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_argmin([0, 1, 2, 3, 4, 5], [0, 3, 6]).tolist()
    [0, 0]
    """
    return _segments("argmin", x, offsets, stream=stream, where=where, out=out)


@_document("x", "offsets", "where_at", "out", "stream")
def segment_argmax(x: Any, offsets: Any, /, *, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The index, in its segment, of each segment's first greatest element.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `argmax` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_argmax([0, 1, 2, 3, 4, 5], [0, 3, 6]).tolist()
    [2, 2]
    """
    return _segments("argmax", x, offsets, stream=stream, where=where, out=out)


@_document("x", "offsets", "where", "out", "stream")
def segment_count_nonzero(x: Any, offsets: Any, /, *, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """How many elements of each segment are other than zero.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `count_nonzero` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_count_nonzero([0, 1, 2, 3, 4, 5], [0, 3, 6]).tolist()
    [2, 3]
    """
    return _segments("count_nonzero", x, offsets, stream=stream, where=where, out=out)


@_document("x", "offsets", "where", "out", "stream")
def segment_logsumexp(x: Any, offsets: Any, /, *, where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """log Σ exp(x) of each segment.

    A segment without elements gives what `segment_reduce` says.

    Parameters

    Returns
    -------
    array
        An answer for each segment, of the type that `logsumexp` gives.

    Raises: offsets

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.segment_logsumexp([0.0, 5.0], 1).tolist()
    [0.0, 5.0]
    """
    return _segments("logsumexp", x, offsets, stream=stream, where=where, out=out)


@_document("reduction", "x", "labels", "answers", "correction", "accuracy", "rounding", "where", "out_or_outs", "stream")
def reduce_by_label(reduction: Any, x: Any, labels: Any, answers: int | None = None, /, *, correction: float = 0, accuracy: Accuracy =
                    "exact",
                    rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """Any reduction of one array, of the elements of each label: a function of this package, its name, or a `Reduction`.

    Element i belongs to answer labels[i], which is 0 or more and less than `answers`. A label
    without elements is answered as `segment_reduce` answers for a segment without.

    Parameters

    Returns
    -------
    array, or a tuple of two for `minmax` and `mean_var`
        An answer for each label.

    Raises
    ------
    ValueError
        Labels that are not in range, or not one for each element.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.reduce_by_label("max", [1, 5, 2, 7], [0, 1, 0, 1]).tolist()
    [2, 7]
    """
    if _is_own(reduction, "reduce_by_label", correction, accuracy, rounding):
        return _general().parted([], x, None, accuracy, rounding, "reduce_by_label", labels=labels, answers=answers, own=reduction, stream=stream, where=where, out=out)[0]
    name = _name_of(reduction, "reduce_by_label")
    return _labels(name, x, labels, answers, correction, accuracy, rounding, stream, "reduce_by_label", where, out)


def _labels(name: str, x: Any, labels: Any, answers: Any, correction: Any, accuracy: Accuracy, rounding: Rounding, stream: Any, who: str,
            where: Any, out: Any) -> Any:
    if labels is not None:
        found = _parted(_CODES[name], x, None, labels, answers, correction, accuracy, rounding, stream, where, out)
        if found is not NotImplemented:
            return found
    general = _general()
    return general.parted([general.OP[name]], x, correction, accuracy, rounding, who, labels=labels, answers=answers, stream=stream, where=where, out=out)[0]


@_document("x", "labels", "answers", "accuracy", "rounding", "where", "out", "stream")
def sum_by_label(x: Any, labels: Any, answers: int | None = None, /, *, accuracy: Accuracy = "exact", rounding: Rounding = "nearest", where: Any = None, out: Any = None, stream: Any = None) -> Any:
    """The sum of the elements of each label: element i belongs to answer labels[i], 0 <= labels[i] < answers.

    Parameters

    Returns
    -------
    array
        A sum for each label, 0 for those without elements.

    Raises
    ------
    ValueError
        Labels that are not in range, or not one for each element.

    Examples
    --------
    >>> import warpfold as wf
    >>> wf.sum_by_label([1e308, 2.0, -1e308, 3.0], [0, 1, 0, 0]).tolist()
    [3.0, 2.0]
    """
    found = _parted(_SUM, x, None, labels, answers, None, accuracy, rounding, stream, where, out)
    return found if found is not NotImplemented else _labels("sum", x, labels, answers, None, accuracy, rounding, stream, "sum_by_label", where, out)


@_document("x", "keys", "accuracy", "rounding", "where", "stream")
def sum_by_key(x: Any, keys: Any, /, *, accuracy: Accuracy = "exact", rounding: Rounding = "nearest", where: Any = None, stream: Any = None) -> tuple[Any, Any]:
    """The sum of the elements of each key, which may be anything that NumPy sorts.

    How many keys there are is known when all have been looked at: so it has no ``out``, and of keys on a GPU (CuPy's or PyTorch's, as the
    elements) it waits for them, on ``stream`` where one is named. A key of whose elements none counts has the sum 0.

    Parameters

    Returns
    -------
    tuple
        The different keys, sorted, and the sum of each.

    Raises
    ------
    ValueError
        Keys that are not one for each element.

    Examples
    --------
    >>> import warpfold as wf
    >>> keys, sums = wf.sum_by_key([1.0, 2.0, 4.0], ["b", "a", "b"])
    >>> keys.tolist(), sums.tolist()
    (['a', 'b'], [2.0, 5.0])
    """
    found: tuple[Any, Any] = _general().by_key(x, keys, accuracy, rounding, where, stream)
    return found
