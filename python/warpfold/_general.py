# SPDX-License-Identifier: Apache-2.0
"""What the public functions come to where the compiled fast path does not answer: one request, made and run."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._inputs import (BF16, BOOL, CODES, DTYPES, I64, NAMES, Source, bools_of, code_of, holds_nulls, is_complex, is_floating, is_integer, lies_on_gpu,
                      mask_of, of_numpy, one_piece, packages_of, scalar_or_array, take, with_bf16, with_whole_numbers)

OP = {name: k for k, name in enumerate(_core.op_names)}
SUM, MEAN, PROD, DOT, COUNT = (OP[n] for n in ("sum", "mean", "prod", "dot", "count"))
PUBLIC = {**{name: name for name in OP}, "norm2": "norm"}
# No answer of nothing, in NumPy as here.
NEED_ELEMENTS = {OP[n] for n in ("min", "max", "minmax", "argmin", "argmax")}
ONE_AXIS = {OP["argmin"], OP["argmax"]}
VARIANCES = {OP["var"], OP["std"], OP["mean_var"]}

AxisError: Any = getattr(getattr(np, "exceptions", np), "AxisError", None) or getattr(np, "AxisError")
Array = Any  # np.ndarray of any type


def axes_of(axis: Any, rank: int, who: str) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    found = []
    for one in given:
        try:
            if isinstance(one, bool):
                raise TypeError
            d = operator.index(one)
        except TypeError:
            raise TypeError(f"{who}: axis={axis!r}; it is an int, a tuple of them, or None") from None
        if not -rank <= d < rank:
            raise AxisError(d, rank, who)
        d %= rank
        if d in found:
            raise ValueError(f"{who}: axis={axis!r} names an axis twice")
        found.append(d)
    return tuple(sorted(found))


def correction_of(correction: Any, who: str) -> int:
    """A whole number; `fraction_of` has those that are none."""
    if correction is None:
        return 0
    try:
        found = int(correction) if isinstance(correction, (float, np.floating)) and correction.is_integer() else operator.index(correction)
    except TypeError:
        if isinstance(correction, (float, np.floating)):  # var, std, nanvar and mean_var take fractions
            raise ValueError(f"{who}: correction={correction!r}; it is a {'whole number here' if math.isfinite(correction) else 'finite number'}") from None
        raise TypeError(f"{who}: correction={correction!r}; it is a number") from None
    if not -2**63 <= found < 2**63:
        raise ValueError(f"{who}: correction={correction!r}; it is a whole number of 64 bits")
    return found


def check_keepdims(keepdims: Any, who: str) -> None:
    if not isinstance(keepdims, (bool, int, np.bool_, np.integer)):
        raise TypeError(f"{who}: keepdims={keepdims!r}; it is True or False")


def check_rounding(accuracy: Any, rounding: Any, who: str) -> None:
    if accuracy == "fast" and rounding != "nearest":
        raise ValueError(f"{who}: rounding={rounding!r} with accuracy='fast', which has no true answer to round; it goes with accuracy='exact'")


def plan_of(ops: Sequence[int], element: int, masked: bool, round_to: int | None, skip_nans: bool, accuracy: Any, rounding: Any,
            correction: int, who: str) -> _core.Plan:
    """A plan; what the library refuses is told by the name that was called."""
    try:
        made = _core.Plan(ops, element, masked, round_to, skip_nans, accuracy, rounding, correction)
    except (TypeError, ValueError) as e:
        name, colon, rest = str(e).partition(": ")
        told = rest if colon and name in OP else str(e)
        for code, theirs in ((13, "c64"), (14, "c128")):  # the library's names of types
            told = told.replace(f"of type {theirs};", f"of type {NAMES[code]};")
        raise type(e)(f"{who}: {told}") from None
    check_rounding(accuracy, rounding, who)
    return made


def bytes_for(count: int) -> np.ndarray[Any, Any]:
    if count >= 2**62:
        raise MemoryError
    return np.empty(count, np.uint8)


class Room(NamedTuple):
    """What Answers asks of a plan, of one operation."""

    size: int
    offsets: tuple[int, ...] = (0,)


class Answers:
    """Room for the answers of a plan, one after the other, and how they are told apart."""

    def __init__(self, plan: _core.Plan | Room, ops: Sequence[int], element: int, round_to: int | None, n: int) -> None:
        self.size, self.offsets, self.n, self.element = plan.size, plan.offsets, n, element
        kinds = [_core.answer_of(op, element) for op in ops]  # codes, and how many values
        self.kinds = [(code if round_to is None else round_to, values) for code, values in kinds]
        self.raw = bytes_for(n * plan.size)

    def one(self, code: int, offset: int, shape: tuple[int, ...], source: Source) -> Any:
        dtype = DTYPES[code] or np.dtype(np.uint16)
        if self.n == 0:
            answer: Array = np.empty(shape, dtype)
        elif dtype.itemsize == self.size:
            answer = self.raw.view(dtype).reshape(shape)
        else:
            answer = np.ndarray((self.n,), dtype, self.raw.data, offset, (self.size,)).copy().reshape(shape)
        if code != BF16:
            return source.give(answer)
        return source.give_bf16(answer)

    def widen(self, ops: Sequence[int], mask: _core.View | None, axes: Sequence[int], starts: _core.View | None = None) -> None:
        """Places among the elements that count become places among all."""
        for op, offset in zip(ops, self.offsets):
            if mask is not None and op in ONE_AXIS and self.n:
                places: Array = np.ndarray((self.n,), np.int64, self.raw.data, offset, (self.size,))
                found = places.copy()
                _core.widen_places(mask, axes, starts, found)
                places[...] = found

    def all(self, shape: tuple[int, ...], source: Source) -> list[Any]:
        found = []
        for (code, values), offset in zip(self.kinds, self.offsets):
            if values == 1:
                found.append(self.one(code, offset, shape, source))
            else:
                first = self.element if values == 3 else code  # a complex mean beside a real variance
                size = 2 if first == BF16 else np.dtype(NAMES[first]).itemsize
                found.append((self.one(first, offset, shape, source), self.one(code, offset + size, shape, source)))
        return found


def check_not_empty(op: int, shape: tuple[int, ...], axes: tuple[int, ...], who: str) -> None:
    if op in NEED_ELEMENTS and math.prod(shape[d] for d in axes) == 0:
        raise ValueError(f"{who}: there are no elements, and of nothing there is no {who}")


def check_selected(op: int, view: _core.View, mask: _core.View, axes: tuple[int, ...], who: str, what: str) -> None:
    """Min and max of what a mask leaves of each answer's elements."""
    if op not in NEED_ELEMENTS:
        return
    plan = _core.Plan([COUNT], view.dtype, True, None, False, "exact", "nearest", 0)
    counts = np.empty([n for d, n in enumerate(view.shape) if d not in axes], np.int64)
    plan.run(view, mask, axes, None, None, 0, counts)
    if counts.size and not counts.all():
        raise ValueError(f"{who}: {what} no elements, and of nothing there is no {who}")


def both_masks(a: _core.View | None, b: _core.View | None) -> _core.View | None:
    if a is None or b is None:
        return a or b
    return _core.view_of_buffer(np.logical_and(np.asarray(a), np.asarray(b)))


def into(out: Any, answer: Any, who: str) -> Any:
    """`answer`, a NumPy array or scalar, where the caller wants it."""
    if isinstance(answer, tuple):
        return into_each(out, answer, who)
    out[...] = check_out(out, answer, who)
    return out


def check_out(out: Any, answer: Any, who: str) -> Any:
    """The answer as an array, which fits."""
    if isinstance(out, type(answer)) and not isinstance(answer, (np.ndarray, np.generic)):  # an array of the caller's library
        return check_theirs(out, answer, who)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{who}: out= of type {type(out).__name__}; it is a NumPy array, or of the kind of the elements' array")
    given = np.asarray(answer)
    if out.shape != given.shape:
        raise ValueError(f"{who}: out= has the shape {out.shape}; the answer has {given.shape}")
    if out.dtype.newbyteorder("=") != given.dtype:
        raise TypeError(f"{who}: out= holds {out.dtype}; the answer is {given.dtype}, and they must be the same; dtype=, where there is one, says what the answer is")
    if not out.flags.writeable:
        raise ValueError(f"{who}: out= is read-only")
    return given


def check_theirs(out: Any, answer: Any, who: str) -> Any:
    if type(out).__module__.partition(".")[0] in ("jax", "jaxlib"):
        raise TypeError(f"{who}: out= of type {type(out).__name__}; JAX's arrays are never written, so give one of NumPy's")
    if tuple(out.shape) != tuple(answer.shape):
        raise ValueError(f"{who}: out= has the shape {tuple(out.shape)}; the answer has {tuple(answer.shape)}")
    if out.dtype != answer.dtype:
        raise TypeError(f"{who}: out= holds {out.dtype}; the answer is {answer.dtype}, and they must be the same; dtype=, where there is one, says what the answer is")
    if getattr(out, "requires_grad", False):
        raise TypeError(f"{who}: out= requires grad, which an answer has not")
    return answer


def into_each(out: Any, answer: tuple[Any, ...], who: str) -> tuple[Any, ...]:
    """Several answers, each where the caller wants it, or as it is: all or, of what is wrong, none."""
    check_outs(out, answer, who)
    return tuple(one if to is None else into(to, one, who) for to, one in zip(outs_of(out, len(answer), who), answer))


def check_outs(out: Any, answer: tuple[Any, ...], who: str) -> None:
    for to, one in zip(outs_of(out, len(answer), who), answer):
        if isinstance(one, tuple):
            check_outs(to, one, who)
        elif to is not None:
            check_out(to, one, who)


def outs_of(out: Any, count: int, who: str) -> tuple[Any, ...]:
    """What a call of several answers says of out=, one for each."""
    if out is None:
        return (None,) * count
    if not isinstance(out, tuple):
        raise TypeError(f"{who}: out= of type {type(out).__name__}; it is a tuple, of an array or None for each of the {count} answers")
    if len(out) != count:
        raise ValueError(f"{who}: out= has {len(out)} arrays; there are {count} answers")
    return out


def reduce(op: int, x: Any, axis: Any, dtype: Any, keepdims: Any, correction: Any, accuracy: Any, rounding: Any, where: Any,
           out: Any, stream: Any = None, skip_nans: bool = False) -> Any:
    name = ("nan" if skip_nans else "") + PUBLIC[_core.op_names[op]]
    check_keepdims(keepdims, name)
    if type(x) is not np.ndarray and lies_on_gpu(x):
        return on_gpu([op], x, axis, dtype, keepdims, correction, accuracy, rounding, where, [out], stream, skip_nans, name)[0]
    no_stream(stream, name)
    if type(x) is np.ndarray and not x.dtype.isnative:
        from . import _swapped
        if _swapped.is_large(x) and (found := _swapped.reduce(op, x, axis, dtype, keepdims, correction, accuracy, rounding, where, skip_nans, name)) is not None:
            return found if out is None else into(out, found, name)
    source = take(x, name)
    if type(x) is not np.ndarray and (plain := plain_array(x, source)) is not None:
        return _core.reduce(op, plain, axis, dtype, keepdims, correction, accuracy, rounding, where, out, None, skip_nans)
    if source.more is not None:
        answer = of_pieces([op], source, axis, dtype, keepdims, correction, accuracy, rounding, where, skip_nans, name)[0]
        return answer if out is None else into(out, answer, name)
    answer = of_source([op], source, axis, dtype, keepdims, correction, accuracy, rounding, where, skip_nans, name)[0]
    return answer if out is None else into(out, answer, name)


def plain_array(x: Any, source: Source) -> Array | None:
    """What the fast path takes, of an array that is answered as NumPy's are. None: of Arrow's, which may be read once alone, and where NumPy reads it as something else."""
    if source.give is not scalar_or_array or source.mask is not None or source.more is not None or source.array is None or source.bf16 is not None:
        return None
    arrow = hasattr(type(x), "__arrow_c_array__") or hasattr(type(x), "__arrow_c_stream__")
    if arrow and "pandas" not in packages_of(type(x)):
        return None
    array = source.array()
    same = type(array) is np.ndarray and CODES.get(array.dtype) == source.view.dtype and array.shape == source.view.shape
    return array if same else None


def no_stream(stream: Any, name: str) -> None:
    if stream is not None:
        raise ValueError(f"{name}: stream= of an array in the CPU's memory; it is for those on a GPU")


def on_gpu(ops: list[int], x: Any, axis: Any, dtype: Any, keepdims: Any, correction: Any, accuracy: Any, rounding: Any, where: Any,
           outs: Sequence[Any], stream: Any, skip_nans: bool, name: str) -> list[Any]:
    """As of_source, by kernels on the stream; each operation reads the array for itself. `outs`: what is told of out= for each."""
    from . import _device
    check_rounding(accuracy, rounding, name)
    masked = where is not None and where is not True
    if masked or skip_nans:
        _device.check_selecting(x, where if masked else None, tuple(x.shape), name)
    part = _fraction_of(correction, ops)
    here = _device.Inputs(x, None, _device.Asked(name, accuracy, rounding, 0 if part is not None else correction_of(correction, name), stream, part))
    shape = here.a.shape
    if ONE_AXIS.intersection(ops) and not (axis is None or hasattr(axis, "__index__")):
        raise TypeError(f"{name}: axis={axis!r}; it is one axis, or None")
    axes = axes_of(axis, len(shape), name)
    for op in ops:
        check_not_empty(op, shape, axes, name)
    if dtype is not None and (want := code_of(dtype, name)) != _core.answer_of(ops[0], here.a.dtype)[0]:
        how, rest, out = converted(ops[0], here.a.dtype, want, name), (axis, None, keepdims, correction, accuracy), outs[0]
        if how == "wrap" and out is None:
            [answer] = on_gpu(ops, x, *rest, rounding, where, [None], stream, skip_nans, name)
            return [_device.wrapped(answer, name, want, stream)]
        if how == "round" and out is None and rounding == "nearest" and _device.narrows(x, here.a.dtype, want, stream):
            [low], [high] = (on_gpu(ops, x, *rest, towards, where, [None], None, skip_nans, name) for towards in ("zero", "away"))
            return [_device.narrowed(low, high, here.a.dtype, want)]
        x = _device.widened(x, name, here.a.dtype, want, stream)
        return on_gpu(ops, x, axis, dtype, keepdims, correction, accuracy, rounding, where, outs, stream, skip_nans, name)
    kept = tuple(1 if d in axes else n for d, n in enumerate(shape) if keepdims or d not in axes)
    if math.prod(shape) and (masked or (skip_nans and not is_integer(here.a.dtype))):
        return _device.reduce_some(here, ops, outs, kept, shape, axes, where if masked else None, skip_nans)
    return [here.run(op, out, kept, axes=axes if len(axes) < len(shape) else None) for op, out in zip(ops, outs)]


def of_source(ops: list[int], source: Source, axis: Any, dtype: Any, keepdims: Any, correction: Any, accuracy: Any, rounding: Any,
              where: Any, skip_nans: bool, name: str) -> list[Any]:
    view, element = source.view, source.view.dtype
    rank = len(view.shape)
    if ONE_AXIS.intersection(ops) and not (axis is None or hasattr(axis, "__index__")):
        raise TypeError(f"{name}: axis={axis!r}; it is one axis, or None")
    axes = axes_of(axis, rank, name)
    if (part := _fraction_of(correction, ops)) is not None:
        return [of_fraction(op, source, axes, keepdims, part, accuracy, rounding, where, skip_nans, name) for op in ops]
    divide = correction_of(correction, name)
    mask = both_masks(source.mask, mask_of(where, view.shape, name))
    shape = tuple(n for d, n in enumerate(view.shape) if d not in axes)
    for op in ops:
        alone = PUBLIC[_core.op_names[op]] if name == "fuse" else name
        check_not_empty(op, view.shape, axes, alone)
        if mask is not None:
            check_selected(op, view, mask, axes, alone, "where= leaves" if source.mask is None else "nulls and masks leave")
    kept = tuple(1 if d in axes else n for d, n in enumerate(view.shape)) if keepdims else shape
    round_to = None
    if dtype is not None:
        want = code_of(dtype, name)
        done = converted(ops[0], element, want, name)
        if done == "wrap":  # sums mod 2^64 are so mod less, too
            plain = source._replace(give=np.asarray)
            [answer] = of_source(ops, plain, axis, None, keepdims, correction, accuracy, rounding, where, skip_nans, name)
            return [source.give(answer.astype(DTYPES[want]))]
        if done == "parts":
            return [source.give(by_parts(ops, source, want, kept, axis, correction, accuracy, rounding, where, skip_nans, name))]
        if done == "cast":
            source = source._replace(view=of_numpy(array_of(source, name).astype(DTYPES[want]), name))
            view, element = source.view, want
        if done == "round":
            round_to = want
            source = with_bf16(source, dtype) if want == BF16 else source
    plan = plan_of(ops, element, mask is not None, round_to, skip_nans, accuracy, rounding, divide, name)
    answers = Answers(plan, ops, element, round_to, math.prod(shape))
    plan.run(view, mask, axes if len(axes) < rank else None, None, None, 0, answers.raw)
    answers.widen(ops, mask, axes)
    return answers.all(kept, source)


def _fraction_of(correction: Any, ops: list[int]) -> Any:
    """None where it is none, or no variance is asked for."""
    if not isinstance(correction, (float, np.floating)) or correction.is_integer() or not VARIANCES.intersection(ops):
        return None
    from ._fractional import fraction_of
    return fraction_of(correction)


def of_fraction(op: int, source: Source, axes: tuple[int, ...], keepdims: Any, correction: float, accuracy: Any, rounding: Any, where: Any,
                skip_nans: bool, name: str) -> Any:
    """As of_source, of one operation, with a correction that is a fraction."""
    if op not in VARIANCES:
        return of_source([op], source, axes, None, keepdims, None, accuracy, rounding, where, skip_nans, name)[0]
    from ._fractional import Spreads
    view, shape = source.view, source.view.shape
    mask = both_masks(source.mask, mask_of(where, shape, name))
    plan_of([op], view.dtype, mask is not None, None, skip_nans, accuracy, rounding, 0, name)  # which says what is wrong
    kept = tuple(1 if d in axes else n for d, n in enumerate(shape) if keepdims or d not in axes)
    return Spreads(op, view.dtype, math.prod(kept)).take(view, mask, skip_nans, axes).answers(correction, rounding, kept, source)


def of_fraction_by(op: int, source: Source, at: Array, are_offsets: bool, count: int, correction: float, rounding: Any) -> Any:
    """The same by segments or labels, which are known to be right."""
    from ._fractional import Spreads
    if are_offsets:
        inside = slice(at[0], at[-1])
        mask = None if source.mask is None else _core.view_of_buffer(np.asarray(source.mask)[inside])
        source, at = source._replace(view=elements_of(source, inside), mask=mask), np.repeat(np.arange(count, dtype=np.int64), np.diff(at))
    by = _core.view_of_buffer(at)
    assert by is not None
    return Spreads(op, source.view.dtype, count).take(source.view, source.mask, False, by).answers(correction, rounding, (count,), source)


class PlaceInPieces:
    """The place in a column of several pieces of the first element that comes before the others, nulls counted."""

    def __init__(self, op: int) -> None:
        self.ops, self.least = [OP["min"] if op == OP["argmin"] else OP["max"], op], op == OP["argmin"]
        self.best: Any = None
        self.at, self.before = -1, 0

    def add(self, view: _core.View, mask: _core.View | None, name: str) -> None:
        if mask is None or np.asarray(mask).any():
            one, at = of_source(self.ops, Source(view, mask, scalar_or_array), None, None, False, None, "exact", "nearest", None, False, name)
            if self.best is None or (self.best == self.best and (one != one or (one < self.best if self.least else one > self.best))):
                self.best, self.at = one, self.before + int(at)
        self.before += view.size


def counted(pieces: Iterable[tuple[_core.View, _core.View | None]], where: Any, who: str) -> Iterator[tuple[_core.View, _core.View | None]]:
    """Pieces and which of their elements count; `where` is of all pieces one after the other."""
    counts = bools_of(where, who)
    if counts is None:
        yield from pieces
        return
    if counts.ndim > 1:
        raise ValueError(f"{who}: where= in {counts.ndim} dimensions; the array has 1")
    before = 0
    for view, mask in pieces:
        some = np.broadcast_to(counts, view.shape) if counts.size == 1 else counts[before:before + view.size]
        before += view.size
        if some.size != view.size:
            break
        yield view, both_masks(mask, _core.view_of_buffer(np.ascontiguousarray(some)))
    if counts.size not in (1, before):
        raise ValueError(f"{who}: where= has {counts.size} elements; the array has {before}{' or more' * (before > counts.size)}")


def of_pieces(ops: list[int], source: Source, axis: Any, dtype: Any, keepdims: Any, correction: Any, accuracy: Any, rounding: Any,
              where: Any, skip_nans: bool, name: str) -> list[Any]:
    """One answer of a column in pieces, each with or without nulls; memory is read a piece at a time."""
    element = source.view.dtype
    axes_of(axis, 1, name)
    round_to = None
    if dtype is not None:
        want = code_of(dtype, name)
        done = converted(ops[0], element, want, name)
        if done not in ("native", "round"):
            raise TypeError(f"{name}: dtype={NAMES[want]} of an array in several pieces is not to be had")
        round_to = want if done == "round" else None
        source = with_bf16(source, dtype) if round_to == BF16 else source
    places = {op: PlaceInPieces(op) for op in ONE_AXIS.intersection(ops)}
    asked = [op for op in ops if op not in places] + [COUNT] * (round_to is None)
    part = _fraction_of(correction, ops)
    plan = plan_of(asked, element, True, round_to, skip_nans, accuracy, rounding, 0 if part is not None else correction_of(correction, name), name)
    spreads = {op: spreads_of_nothing(op, element) for op in ops if part is not None and op in VARIANCES}
    assert source.more is not None
    for view, mask in counted(chain(((source.view, source.mask),), source.more), where, name):
        for place in places.values():
            place.add(view, mask, name)
        for spread in spreads.values():
            spread.add(view, mask, skip_nans)
        plan.add(view, mask if mask is not None else of_numpy(np.ones(view.shape, bool), name))
    answers = Answers(plan, asked, element, round_to, 1)
    plan.finish(answers.raw)
    shape = (1,) if keepdims else ()
    found = answers.all(shape, source)
    if not skip_nans and round_to is None and int(np.asarray(found[-1]).item()) == 0:
        for op in ops:
            check_not_empty(op, (0,), (0,), PUBLIC[_core.op_names[op]] if name == "fuse" else name)
    others = iter(found)

    def one(op: int) -> Any:
        if op in places:
            return source.give(np.full(shape, places[op].at))
        alone = next(others)
        return spreads[op].answers(part, rounding, shape, source) if op in spreads else alone
    return [one(op) for op in ops]


def spreads_of_nothing(op: int, element: int) -> Any:
    from ._fractional import Spreads
    made = Spreads(op, element, 1)
    made.kind.clear(made.states)
    return made


def converted(op: int, element: int, want: int, who: str) -> str:
    """How answers of type `want` are had."""
    natural = _core.answer_of(op, element)[0]
    if op not in (SUM, MEAN, PROD):
        raise TypeError(f"{who}: no dtype=; the answer is {NAMES[natural]}")
    if want == natural:
        return "native"
    if is_integer(want):
        if not is_integer(element) or op == MEAN:
            raise TypeError(f"{who}: dtype={NAMES[want]} of {NAMES[element]}; what is not whole would be cut off")
        if want == BOOL:
            raise TypeError(f"{who}: dtype=bool of {NAMES[element]}; any() and all() answer bool")
        return "wrap"
    if is_complex(element) and not is_complex(want):
        raise TypeError(f"{who}: dtype={NAMES[want]} of {NAMES[element]}; the imaginary part would be lost")
    if op == PROD:
        if want == BF16:
            raise TypeError(f"{who}: dtype=bfloat16 of {NAMES[element]}; convert the array before")
        return "cast"
    return "parts" if is_complex(want) else "round"


def array_of(source: Source, who: str) -> Array:
    if source.array is None:
        raise TypeError(f"{who}: no such dtype= of this kind of array; convert it before")
    return source.array()


def cast(source: Source, to: Any) -> Source:
    return source._replace(view=of_numpy(array_of(source, "dot").astype(to), "dot"))


def by_parts(ops: list[int], source: Source, want: int, kept: tuple[int, ...], axis: Any, correction: Any, accuracy: Any,
             rounding: Any, where: Any, skip_nans: bool, name: str) -> Array:
    """Complex sums and means of another type than the elements': of real and imaginary parts, each rounded once."""
    if skip_nans:
        raise TypeError(f"{name}: no such dtype=, with NaNs left out; convert the array by astype()")
    x = array_of(source, name)
    answer = np.zeros(kept, DTYPES[want])
    for part, to in ((x.real, answer.real), (x.imag, answer.imag))[:1 + np.iscomplexobj(x)]:
        found = of_source(ops, Source(of_numpy(part, name), source.mask, np.asarray), axis, to.dtype, True, correction, accuracy,
                          rounding, where, False, name)[0]
        to[...] = found.reshape(kept)
    return answer


def dot_on_gpu(x: Any, y: Any, axis: Any, keepdims: Any, accuracy: Any, rounding: Any, out: Any, stream: Any, where: Any) -> Any:
    from . import _device
    check_rounding(accuracy, rounding, "dot")
    if not (lies_on_gpu(x) and lies_on_gpu(y)):
        raise TypeError("dot: one array on a GPU, and one in the CPU's memory; copy one of them")
    here = _device.Inputs(x, y, _device.Asked("dot", accuracy, rounding, 0, stream))
    assert here.b is not None
    if here.a.dtype != here.b.dtype:
        raise TypeError(f"dot: {NAMES[here.a.dtype]} and {NAMES[here.b.dtype]} on a GPU; convert them to one type")
    shape = common_shape(here.a.shape, here.b.shape)
    masked = where is not None and where is not True
    if masked:
        _device.check_selecting(x, where, shape, "dot")
    axes = axes_of(axis, len(shape), "dot")
    kept = tuple(1 if d in axes else n for d, n in enumerate(shape) if keepdims or d not in axes)
    if masked and 0 not in shape:
        return _device.reduce_some(here, [DOT], [out], kept, shape, axes, where, False)[0]
    return here.run(DOT, out, kept, shape, axes if len(axes) < len(shape) else None)


def common_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return tuple(int(n) for n in np.broadcast_shapes(a, b))
    except ValueError:
        raise ValueError(f"dot: arrays of the shapes {a} and {b}, which cannot be broadcast to one") from None


def dot(x: Any, y: Any, axis: Any, keepdims: Any, accuracy: Any, rounding: Any, out: Any = None, stream: Any = None, where: Any = None) -> Any:
    check_keepdims(keepdims, "dot")
    if lies_on_gpu(x) or lies_on_gpu(y):
        return dot_on_gpu(x, y, axis, keepdims, accuracy, rounding, out, stream, where)
    no_stream(stream, "dot")
    a, b = one_piece(take(x, "dot"), "dot"), one_piece(take(y, "dot"), "dot")
    if a.mask is not None or b.mask is not None:
        raise TypeError("dot: an array with a mask; fill the masked elements")
    if a.view.dtype != b.view.dtype:
        common = np.result_type(*(DTYPES[s.view.dtype] or np.float32 for s in (a, b)))
        if common not in CODES:
            raise TypeError(f"dot: {NAMES[a.view.dtype]} and {NAMES[b.view.dtype]}; convert them to one type")
        whole = [np.dtype(NAMES[s.view.dtype]).itemsize for s in (a, b) if is_integer(s.view.dtype)]
        if common.kind in "fc" and any(8 * size > np.finfo(common).nmant for size in whole):
            raise TypeError(f"dot: {NAMES[a.view.dtype]} and {NAMES[b.view.dtype]}; no one type holds both exactly")
        a, b = (s if s.view.dtype == CODES[common] else cast(s, common) for s in (a, b))
    shape = common_shape(a.view.shape, b.view.shape)
    va, vb = (s.view if s.view.shape == shape else s.view.broadcast(shape, "dot: an array") for s in (a, b))
    axes = axes_of(axis, len(shape), "dot")
    plan = plan_of([DOT], va.dtype, False, None, False, accuracy, rounding, 0, "dot")
    kept = tuple(n for d, n in enumerate(shape) if d not in axes)
    answers = Answers(plan, [DOT], va.dtype, None, math.prod(kept))
    if (mask := mask_of(where, shape, "dot")) is None:
        plan.run(va, vb, axes if len(axes) < len(shape) else None, None, None, 0, answers.raw)
    else:
        fa, fb, ends = products_that_count(va, vb, mask, axes)
        plan.run(fa, fb, None, ends, None, 0, answers.raw)
    answer = answers.all(tuple(1 if d in axes else n for d, n in enumerate(shape)) if keepdims else kept, a)[0]
    return answer if out is None else into(out, answer, "dot")


def products_that_count(a: _core.View, b: _core.View, mask: _core.View, axes: tuple[int, ...]) -> tuple[_core.View, _core.View, _core.View]:
    """Copies of both factors of what counts, those of one answer behind each other, and where each answer's begin."""
    order = [*(d for d in range(len(a.shape)) if d not in axes), *axes]
    counts = np.asarray(mask).transpose(order)
    each = np.count_nonzero(counts.reshape(-1, math.prod(a.shape[d] for d in axes)), axis=1) if counts.size else np.zeros(math.prod(counts.shape[:len(order) - len(axes)]), np.int64)
    ends = np.concatenate(([0], np.cumsum(each))).astype(np.int64)
    found = [_core.view_of_buffer(np.asarray(one).transpose(order)[counts]) for one in (a, b)] + [_core.view_of_buffer(ends)]
    assert found[0] is not None and found[1] is not None and found[2] is not None
    return found[0].read_as(a.dtype), found[1].read_as(b.dtype), found[2]


def whole_numbers(x: Any, who: str) -> Array:
    given = np.asarray(x)
    if given.dtype == object and given.ndim == 0 and hasattr(x, "__iter__"):  # what can be iterated over once
        given = np.asarray(list(x))
    if given.ndim != 1 or given.dtype.kind not in "iu" or isinstance(x, np.ma.MaskedArray):
        if holds_nulls(x):
            raise TypeError(f"{who} with nulls or masked ones, which name no place; fill them, or leave those elements out")
        if given.size == 0 and given.ndim == 1:
            return np.empty(0, np.int64)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise TypeError(f"{who} of type {given.dtype} in {given.ndim} dimensions; they are whole numbers in one")
    if given.dtype == np.uint64 and given.size and int(given.max()) >= 2**63:
        raise ValueError(f"{who}: {int(given.max())} is beyond 2^63 - 1")
    return np.require(given, np.int64, ["C", "A"])


def length_of(offsets: Any, who: str) -> int | None:
    """The length of every segment, where a number tells it. Arrays of some libraries have `__index__`, too."""
    if isinstance(offsets, (bool, np.bool_)):
        raise TypeError(f"{who}: offsets={offsets}; they are whole numbers in one dimension, or one, the length of each segment")
    if not hasattr(offsets, "__index__") or isinstance(offsets, np.ndarray) or getattr(offsets, "ndim", None) or lies_on_gpu(offsets):
        return None
    length = operator.index(offsets)
    if length <= 0:
        raise ValueError(f"{who}: segments of {length} elements; they must have 1 or more")
    return length


def parted(ops: list[int], x: Any, correction: Any, accuracy: Any, rounding: Any, who: str, *, offsets: Any = None,
           labels: Any = None, answers: Any = None, own: Any = None, stream: Any = None, where: Any = None, out: Any = None) -> list[Any]:
    """By segments or labels, of one operation; `own`: a Reduction, in place of it."""
    if labels is None and offsets is None:
        raise TypeError(f"{who}: labels=None; they are whole numbers in one dimension" if "label" in who else
                        f"{who}: offsets=None; they are whole numbers in one dimension, or one, the length of each segment")
    if lies_on_gpu(x):
        return parted_on_gpu(ops, x, correction, accuracy, rounding, who, offsets, labels, answers, own, stream, where, out)
    no_stream(stream, who)
    if lies_on_gpu(offsets if labels is None else labels):
        raise TypeError(f"{who}: {'offsets' if labels is None else 'labels'} on a GPU, and elements in the CPU's memory; copy them there")
    source = one_piece(take(x, who), who)
    view = source.view
    if len(view.shape) != 1:
        raise ValueError(f"{who}: an array of {len(view.shape)} dimensions; it must have 1")
    n = view.shape[0]
    if (some := mask_of(where, view.shape, who)) is not None:
        source = source._replace(mask=both_masks(source.mask, some))
    if offsets is not None:
        if (length := length_of(offsets, who)) is not None:
            offsets = np.append(np.arange(0, n, length, dtype=np.int64), np.int64(n))
        at = whole_numbers(offsets, f"{who}: offsets")
        if at.size == 0:
            raise ValueError(f"{who}: no offsets; n segments have n + 1 offsets")
        count = at.size - 1
    else:
        at = whole_numbers(labels, f"{who}: labels")
        count = int(at.max(initial=-1)) + 1 if answers is None else answers_of(answers, who)
        if count == 0 and at.size == n > 0:  # no range of labels to tell
            raise ValueError(f"{who}: label {at[0]} of element 0; " + ("labels are 0 or more" if at[0] < 0 else "there are 0 answers"))
        if source.mask is not None:
            chosen, counted = without_masked(source, at, who)
            if ONE_AXIS.intersection(ops) and not ((counted < 0) | (counted >= count)).any():  # places among all of a label, which become a segment
                source, at, labels = *in_groups(source, at, count), None
            else:
                source, at = chosen, counted
            view = source.view
    index = _core.view_of_buffer(at)
    segments, groups = (index, None) if labels is None else (None, index)
    masked = source.mask is not None
    part, asked = _fraction_of(correction, ops), ops
    if part is not None:  # this one is only asked what it says of offsets and labels
        ops, correction = [MEAN], None
    try:
        if own is not None:
            raw = own.room(view.dtype, count)
            own.plan(view.dtype, masked).run(view, source.mask, None, segments, groups, count, raw)
            answer = own.answer(view.dtype, raw, (count,), source)
            return [answer if out is None else into(out, answer, who)]
        plan = plan_of(ops, view.dtype, masked, None, False, accuracy, rounding, correction_of(correction, who), who)
        found = Answers(plan, ops, view.dtype, None, count)
    except MemoryError:
        raise MemoryError(f"{who}: no memory for {count} answers") from None
    try:
        plan.run(view, source.mask, None, segments, groups, count, found.raw)
    except ValueError as e:  # offsets and labels, which the library checks
        raise ValueError(f"{who}: {str(e).partition(': ')[2] or e}") from None
    if segments is not None:
        found.widen(ops, source.mask, (0,), segments)
    if part is not None:
        spread = of_fraction_by(asked[0], source, at, segments is not None, count, part, rounding)
        return [spread if out is None else into(out, spread, who)]
    return [one if out is None else into(out, one, who) for one in found.all((count,), source)]


def answers_of(answers: Any, who: str) -> int:
    """A number of answers that a caller gives."""
    try:
        if isinstance(answers, bool):
            raise TypeError
        count = operator.index(answers)
    except TypeError:
        raise TypeError(f"{who}: {answers!r} answers; their number is an int, or None") from None
    if count < 0:
        raise ValueError(f"{who}: {count} answers; there may be 0 or more")
    return count


def without_masked(source: Source, labels: Array, who: str) -> tuple[Source, Array]:
    """A copy of the elements that count, and their labels."""
    if labels.size != source.view.size:
        raise ValueError(f"{who}: {labels.size} labels for {source.view.size} elements; there must be one for each")
    counts = np.asarray(source.mask)
    return source._replace(view=elements_of(source, counts), mask=None), labels[counts]


def in_groups(source: Source, labels: Array, count: int) -> tuple[Source, Array]:
    """A copy of the elements in the order of their labels, and where those of each begin."""
    order = np.argsort(labels, kind="stable")
    mask = _core.view_of_buffer(np.asarray(source.mask)[order])
    return source._replace(view=elements_of(source, order), mask=mask), np.searchsorted(labels[order], np.arange(count + 1)).astype(np.int64)


def elements_of(source: Source, which: Array) -> _core.View:
    view = _core.view_of_buffer(np.asarray(source.view)[which])
    assert view is not None  # NumPy has all types of Arrow's arrays and of masked ones
    return view.read_as(source.view.dtype)


def parted_on_gpu(ops: list[int], x: Any, correction: Any, accuracy: Any, rounding: Any, who: str, offsets: Any, labels: Any, answers: Any,
                  own: Any, stream: Any, where: Any, out: Any) -> list[Any]:
    from . import _device
    check_rounding(accuracy, rounding, who)
    masked = where is not None and where is not True
    if masked:
        _device.check_selecting(x, where, tuple(x.shape), who)
    part = _fraction_of(correction, ops)
    here = _device.Inputs(x, None, _device.Asked(who, accuracy, rounding, 0 if part is not None else correction_of(correction, who), stream, part))
    if len(here.a.shape) != 1:
        raise ValueError(f"{who}: an array of {len(here.a.shape)} dimensions; it must have 1")
    n, length = here.a.shape[0], 0
    masked = masked and n > 0
    if labels is not None:
        if answers is None:
            if lies_on_gpu(labels):
                raise TypeError(f"{who}: labels on a GPU, and no number of answers, for which all would have to be waited for; give it")
            at = whole_numbers(labels, f"{who}: labels")
            answers = int(at.max(initial=-1)) + 1
        count = answers_of(answers, who)
        found, held = _device.indexes_of(here, labels, "labels", count)
        if found.shape[0] != n:
            raise ValueError(f"{who}: {found.shape[0]} labels for {n} elements")
        if own is not None:
            return own_by_label(own, here, _device.labels_that_count(here, held, where) if masked else labels, count, out)
        if masked and ONE_AXIS.intersection(ops):  # places among all of a label, which become a segment
            order, ends = _device.groups_of(here, held, count)
            where = _device.in_order_of(x, _device.broadcast(where, (n,)), order)
            return parted(ops, _device.in_order_of(x, x, order), None, accuracy, rounding, who, offsets=ends, where=where, out=out)
        if masked:
            held = _device.labels_that_count(here, held, where)
            found = _device.array_of(held, here.stream, who)
        answer = [here.run(op, out, (count,), labels=found, count=count) for op in ops]
    else:
        found, held = None, None
        if (told := length_of(offsets, who)) is not None:
            length, count = told, -(-n // told)
        else:
            found, held = _device.indexes_of(here, offsets, "offsets", None)
            if found.shape[0] == 0:
                raise ValueError(f"{who}: no offsets; n segments have n + 1 offsets")
            count = found.shape[0] - 1
        if own is not None and masked and count:
            from ._own_gpu import run_some
            answer = [run_some(own, _device.Selection(here, (n,), (0,), where, False, length, found), n, (count,), out)]
        elif own is not None:
            answer = own_by_segment(own, here, found, length, count, out)
        elif masked and count:
            answer = _device.reduce_some(here, ops, [out] * len(ops), (count,), (n,), (0,), where, False, length, found)
        elif found is None:
            answer = [here.run(op, out, (count,), length=length) for op in ops]
        else:
            answer = [here.run(op, out, (count,), offsets=found, count=count) for op in ops]
    if here.library is not None and held is not None:
        here.library.used(held, stream)
    return answer


def own_by_segment(own: Any, here: Any, offsets: Any, length: int, count: int, out: Any) -> list[Any]:
    """A Reduction's answers of segments on a GPU."""
    from ._own_gpu import Partition, run
    return [run(own, here, (0,), Partition(offsets, None, length, here.a.shape[0]), count, (count,), out)]


def own_by_label(own: Any, here: Any, labels: Any, count: int, out: Any) -> list[Any]:
    """A Reduction's answers of labels on a GPU: elements keep their order among those of their label, so the labels are sorted, where they are."""
    from . import _device
    from ._own_gpu import Partition, run
    who = here.asked.who
    library = _device.library_of(labels) if lies_on_gpu(labels) else here.library
    if library is None:
        raise TypeError(f"{who}: labels on a GPU of a library that is not known, and so is how it sorts; give them in the CPU's memory")
    if lies_on_gpu(labels):
        sorted_ = library.grouped(labels, count, here.stream, who)
    else:
        at = whole_numbers(labels, who)
        order = np.argsort(at, kind="stable")
        sorted_ = tuple(library.copied(here.x, one.astype(np.int64), here.stream) for one in (order, np.searchsorted(at[order], np.arange(count + 1))))
    places, ends = (_device.array_of(one, here.stream, who) for one in sorted_)
    answer = run(own, here, (0,), Partition(ends, places, 0, here.a.shape[0]), count, (count,), out)
    for one in sorted_:
        library.used(one, here.asked.stream)
    return [answer]


def by_key(x: Any, keys: Any, accuracy: Any, rounding: Any, where: Any, stream: Any) -> tuple[Any, Any]:
    if lies_on_gpu(keys):
        return by_key_on_gpu(x, keys, accuracy, rounding, where, stream)
    if isinstance(keys, Iterator):
        keys = list(keys)
    given = np.asarray(keys)
    if given.ndim != 1:
        raise ValueError(f"sum_by_key: keys in {given.ndim} dimensions; they must be in 1")
    if holds_nulls(keys):  # NumPy makes floats of them, or None
        raise TypeError("sum_by_key: keys with nulls or masked ones, which have no order; fill them, or leave those elements out")
    if isinstance(keys, (list, tuple)):  # NumPy may have made others of them
        if given.dtype.kind in "fc" and given.size:
            given = with_whole_numbers(keys, given, "sum_by_key")
        if given.dtype.kind in "US" and not all(isinstance(one, (str, bytes)) for one in keys):
            raise TypeError("sum_by_key: text and other keys, which have no order among each other")
    try:
        different, labels = np.unique(given, return_inverse=True)
    except TypeError as e:
        raise TypeError(f"sum_by_key: keys that have no order ({e}); fill what is missing, or give codes of keys to sum_by_label()") from None
    if different.dtype == object and not all(a < b for a, b in pairwise(different)):  # a NaN among them: NumPy's sort leaves equal ones apart
        raise TypeError("sum_by_key: keys that have no order (a NaN among objects is one); fill what is missing, or give codes of keys to sum_by_label()")
    sums = parted([SUM], x, None, accuracy, rounding, "sum_by_key", labels=labels.reshape(-1), answers=len(different), where=where, stream=stream)[0]
    theirs = type(keys) is not np.ndarray and ("torch" in packages_of(type(keys)) or hasattr(type(keys), "__array_namespace__"))
    return take(keys, "sum_by_key").give(different) if theirs else different, sums


def by_key_on_gpu(x: Any, keys: Any, accuracy: Any, rounding: Any, where: Any, stream: Any) -> tuple[Any, Any]:
    """Keys are sorted by the array's library, elements put in their order; those of a key are a segment then."""
    from . import _device
    who = "sum_by_key"
    if not lies_on_gpu(x):
        raise TypeError(f"{who}: keys on a GPU, and elements in the CPU's memory; copy them there")
    if len(keys.shape) != 1:
        raise ValueError(f"{who}: keys in {len(keys.shape)} dimensions; they must be in 1")
    if len(x.shape) != 1:
        raise ValueError(f"{who}: an array of {len(x.shape)} dimensions; it must have 1")
    if x.shape[0] != keys.shape[0]:
        raise ValueError(f"{who}: {keys.shape[0]} keys for {x.shape[0]} elements; there must be one for each")
    masked = where is not None and where is not True
    if masked:
        _device.check_selecting(x, where, tuple(x.shape), who)
    if stream is not None:  # which is the library's own for as long as that takes
        library, address = _device.library_of_keys(x, keys, who), _device.handle_of(stream, who)
        given = [x, keys, *([where] if masked else [])]
        for one in given:
            _device.array_of(one, address, who)  # its elements come first
        with library.on(x, address):
            found = by_key_on_gpu(x, keys, accuracy, rounding, where, None)
        for one in given:
            library.used(one, stream)
        for one in found:
            library.used_here(one)
        return found
    different, order, ends = _device.library_of_keys(x, keys, who).by_key(keys)
    if masked:
        where = _device.in_order_of(x, _device.broadcast(where, tuple(x.shape)), order)
    [sums] = parted([SUM], _device.in_order_of(x, x, order), None, accuracy, rounding, who, offsets=ends, where=where if masked else None)
    return different, sums


def fused(names: Sequence[str], x: Any, axis: Any, keepdims: Any, correction: Any, accuracy: Any, rounding: Any,
          where: Any, stream: Any = None, out: Any = None) -> tuple[Any, ...]:
    ops = [OP[n] for n in names]
    check_keepdims(keepdims, "fuse")
    outs = outs_of(out, len(ops), "fuse")
    if lies_on_gpu(x):
        return tuple(on_gpu(ops, x, axis, None, keepdims, correction, accuracy, rounding, where, outs, stream, False, "fuse"))
    no_stream(stream, "fuse")
    source = take(x, "fuse")
    run = of_source if source.more is None else of_pieces
    return into_each(outs, tuple(run(ops, source, axis, None, keepdims, correction, accuracy, rounding, where, False, "fuse")), "fuse")
