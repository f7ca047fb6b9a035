# SPDX-License-Identifier: Apache-2.0
"""Arrays of states: what was reduced so far, one state for each answer, as NumPy arrays that can be sent, stored and merged.

States of pieces become the state of the whole, with the same bits in any order. `warpfold.dask`, `warpfold.xarray` and
`warpfold.distributed` are made of them.
"""

from __future__ import annotations

import atexit
import functools
import math
import re
import struct
import zlib
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _core
from ._fractional import fraction_of
from ._general import NEED_ELEMENTS, ONE_AXIS, OP, PUBLIC, VARIANCES, Answers, Room, axes_of, both_masks, converted, correction_of
from ._inputs import BF16, CODES, DTYPES, F64, NAMES, Source, code_of, lies_on_gpu, mask_of, one_piece, take

if TYPE_CHECKING:
    from ._functions import Rounding

__all__ = ["Form"]

Array = Any  # np.ndarray of any type

OP_OF = {**OP, "norm": OP["norm2"]}
_MOMENTS = {OP["var"], OP["std"], OP["mean_var"]}
_REALS = "reals"  # the elements of states with the digits of float64, whatever they were
_NAME = re.compile(r"warpfold (\d+): (\w+) of (\w+)")
_HEAD = struct.Struct("<4sHBBQI")  # magic, version, operation, element type (255: reals), states, checksum
_MAGIC = b"WFSA"


class Form:
    """What the states of a reduction of elements of one type are.

    Parameters
    ----------
    reduction : str
        `sum`, `mean`, `var`, `std`, `mean_var`, `norm`, `norm1`, `norm_inf`, `sum_of_squares`, `min`, `max`, `minmax`, `argmin`,
        `argmax`, `any`, `all`, `count`, `count_nonzero`; `prod` of integers.
    dtype : data type
        The elements' type.
    answer : data type, optional
        The type of the answers of `sum` and `mean`, if it is not the one that they have without; each is rounded once.

    Attributes
    ----------
    dtype : numpy.dtype
        The type of arrays of such states. Its one field is named after the reduction, the elements and the version of the states,
        so states of different forms are not mixed up.
    adds : bool
        States are merged by adding their words as int64; `settle` makes the sum canonical.

    Raises
    ------
    TypeError
        A reduction that depends on the order of the elements (`logsumexp`, `prod` of floats), or a type that it does not take.

    Examples
    --------
    >>> import numpy as np
    >>> from warpfold.states import Form
    >>> form = Form("sum", "float64")
    >>> x = np.array([[1e308, 1.0], [-1e308, 2.0]])
    >>> whole = form.merge(form.of(x[:1], axis=0), form.of(x[1:], axis=0))
    >>> form.values(whole).tolist()
    [0.0, 3.0]
    >>> whole.tobytes() == form.of(x, axis=0).tobytes()
    True
    >>> form.dtype.names[0]
    'warpfold 2: sum of float64'
    """

    op: int
    reduction: str
    element: int
    wide: bool
    dtype: np.dtype[Any]

    def __init__(self, reduction: str, dtype: Any, *, answer: Any = None) -> None:
        if not isinstance(reduction, str) or reduction not in OP_OF:
            raise TypeError(f"Form: reduction={reduction!r}; it may be {', '.join(sorted(PUBLIC.values()))}")
        self.op = OP_OF[reduction]
        self.reduction = PUBLIC[_core.op_names[self.op]]
        who = self.reduction
        self._reals = wide = isinstance(dtype, str) and dtype == _REALS
        self.element = F64 if wide else code_of(dtype, who)
        self._bf16 = np.dtype(dtype) if self.element == BF16 and not isinstance(dtype, str) else None
        self._cast: int | None = None  # the narrower range of integers that answers are taken modulo
        self._round: int | None = None
        how = "native" if answer is None else converted(self.op, self.element, code_of(answer, who), who)
        if how == "wrap":
            self._cast = code_of(answer, who)
        elif how == "round" or (wide and self.op not in _MOMENTS):
            self._round = F64 if answer is None else code_of(answer, who)
        elif how != "native":
            raise TypeError(f"{who}: no states of {NAMES[self.element]} for answers of {NAMES[code_of(answer, who)]}; convert the elements before")
        self.wide = wide or self._round is not None
        self._kind = _core.StateKind(self.op, self.element, self.wide)
        self.adds: bool = self._kind.adds
        self.dtype = np.dtype([(f"warpfold {_core.state_version}: {who} of {_REALS if self.wide else NAMES[self.element]}",
                                f"V{self._kind.bytes}")])
        code, values = _core.answer_of(self.op, self.element)
        code = next((c for c in (self._cast, self._round) if c is not None), code)
        # Complex mean_var: the mean is of the elements' type.
        self.answers: tuple[np.dtype[Any], ...] = tuple(
            self._numpy(c) for c in ([code] if values == 1 else [self.element if values == 3 else code, code]))

    def _numpy(self, code: int) -> np.dtype[Any]:
        found = DTYPES[code]
        return found if found is not None else self._bf16 if self._bf16 is not None else np.dtype(np.float32)

    @classmethod
    def of_dtype(cls, dtype: Any) -> Form:
        """The form of an array of states, by its dtype. TypeError for others, and for states of other versions."""
        names = np.dtype(dtype).names
        told = _NAME.fullmatch(names[0]) if names is not None and len(names) == 1 else None
        if told is None or told[2] not in OP_OF or told[3] not in (*NAMES, _REALS):
            raise TypeError(f"Form: an array of {dtype}; it must be one of states")
        if int(told[1]) != _core.state_version:
            raise TypeError(f"Form: states of version {told[1]}; this package has version {_core.state_version}")
        form = cls(told[2], told[3])
        if np.dtype(dtype) != form.dtype:
            raise TypeError(f"Form: states of {np.dtype(dtype).itemsize} bytes; those of {told[2]} of {told[3]} have {form.dtype.itemsize}")
        return form

    def __reduce__(self) -> Any:
        return _form, (self.reduction, self._given(), self._answer())

    def _given(self) -> Any:
        return _REALS if self._reals else self._bf16 if self._bf16 is not None else NAMES[self.element]

    def _answer(self) -> str | None:
        code = next((c for c in (self._cast, self._round) if c is not None), None)
        return None if code is None else NAMES[code]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.op, str(self._given()), self._cast, self._round

    def __dask_tokenize__(self) -> Any:
        return ("warpfold.states.Form", _core.state_version, *self._key())

    def __repr__(self) -> str:
        answer = self._answer()
        return f"Form({self.reduction!r}, {str(self._given())!r}" + (")" if answer is None else f", answer={answer!r})")

    # ---- Making.

    def of(self, x: Any, /, *, axis: Any = None, keepdims: bool = False, where: Any = None, skip_nans: bool = False, first: int = 0,
           threads: int = 0, _room: Any = None) -> Array:
        """States of an array, one for each position along the axes that are not reduced.

        `first` is the index of the first element of each answer, for `argmin` and `argmax` of pieces; `threads`, how many work
        on it, 0 for all. Of an array on a GPU they are made there, and come to the CPU's memory then; NaNs are left out of CuPy's alone.
        """
        if type(x) is not np.ndarray and lies_on_gpu(x):
            return self._of_device(x, axis, keepdims, where, skip_nans, first)
        source = self._take(x)
        view = source.view
        axes = axes_of(axis, len(view.shape), self.reduction)
        mask = both_masks(source.mask, mask_of(where, view.shape, self.reduction))
        out = (_room or np.empty)([n for d, n in enumerate(view.shape) if d not in axes], self.dtype)
        self._kind.from_view(view, mask, skip_nans, axes, first, threads, out)
        return out.reshape([1 if d in axes else n for d, n in enumerate(view.shape)]) if keepdims else out

    def _of_device(self, x: Any, axis: Any, keepdims: bool, where: Any, skip_nans: bool, first: int) -> Array:
        from . import _device
        if where is not None and where is not True:
            raise TypeError(f"{self.reduction}: where= of an array on a GPU; give those elements alone, as x[where]")
        if skip_nans and self.op in ONE_AXIS:
            raise TypeError(f"{self.reduction}: places are those of all elements; none can be left out")
        axes = axes_of(axis, len(x.shape), self.reduction)
        shape = [n for d, n in enumerate(x.shape) if d not in axes]
        if math.prod(x.shape) == 0:
            out = self.nothing(shape)
        else:
            words = _device.states_of(self, x, axes, skip_nans)
            if first and self.op in ONE_AXIS:
                words[:, 2] += first
            out = words.reshape(-1).view(self.dtype).reshape(shape)
        return out.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if keepdims else out

    def of_labels(self, x: Any, labels: Any, answers: int, /, *, skip_nans: bool = False) -> Array:
        """States of the elements of each label: element i belongs to state labels[i], 0 <= labels[i] < answers."""
        source = self._take(x)
        out = np.empty(answers, self.dtype)
        self._kind.by_label(source.view, source.mask, skip_nans, _labels(labels), answers, out)
        return out

    def nothing(self, shape: Any = ()) -> Array:
        """States of no elements."""
        out = np.empty(shape, self.dtype)
        self._kind.clear(out)
        return out

    def _take(self, x: Any) -> Source:
        source = one_piece(take(x, self.reduction), self.reduction)
        if source.view.dtype != self.element:
            raise TypeError(f"{self.reduction}: elements of {NAMES[source.view.dtype]}, for states of {NAMES[self.element]}")
        return source

    # ---- Merging.

    def check(self, states: Any, /) -> Array:
        """The array, if it holds states of this form. TypeError for other arrays, ValueError for bytes that are no states."""
        found = self._given_states(states)
        self._kind.check(found)
        return found

    def _given_states(self, states: Any) -> Array:
        found = np.asarray(states)
        if found.dtype != self.dtype:
            if found.dtype.names is not None:
                Form.of_dtype(found.dtype)  # says what is wrong with the version
            raise TypeError(f"{self.reduction}: an array of {found.dtype}; it must be one of states, of {self.dtype}")
        return np.ascontiguousarray(found).reshape(found.shape)  # one of no dimensions would get one

    def merge(self, first: Any, /, *others: Any) -> Array:
        """The states of all that the arrays, of one shape, are states of."""
        given = [self._given_states(states) for states in (first, *others)]
        for states in given:
            if states.shape != given[0].shape:
                raise ValueError(f"{self.reduction}: states of the shapes {given[0].shape} and {states.shape}; they must be the same")
        out = np.empty(given[0].shape, self.dtype)
        self._kind.merge(out, given)
        return out

    def merge_axis(self, states: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        """The states of an array merged along axes."""
        given = self._given_states(states)
        axes = axes_of(axis, given.ndim, self.reduction)
        kept = [d for d in range(given.ndim) if d not in axes]
        shape = [given.shape[d] for d in kept]
        out = self.nothing(shape)
        if len(axes) == 1:
            before, along, after = given.shape[:axes[0]], given.shape[axes[0]], given.shape[axes[0] + 1:]
            self._kind.merge_along(out, given, math.prod(before), along, math.prod(after))
        else:
            moved = np.ascontiguousarray(given.transpose(*axes, *kept))
            self._kind.merge_along(out, moved, 1, math.prod(given.shape[d] for d in axes), math.prod(shape))
        return out.reshape([1 if d in axes else n for d, n in enumerate(given.shape)]) if keepdims else out

    def merge_labels(self, states: Any, labels: Any, answers: int, /) -> Array:
        """The states of each label: states[i] belongs to answer labels[i]."""
        given = self._given_states(states).reshape(-1)
        out = self.nothing(answers)
        self._kind.merge_by_label(out, given, _labels(labels))
        return out

    def settle(self, states: Any, /) -> Array:
        """States in canonical form, of those whose words were added by others: where `adds`, and up to 2^31 at a time."""
        if not self.adds:
            raise TypeError(f"{self.reduction}: its states are not merged by adding their words")
        out = self._given_states(states).copy()
        self._kind.settle(out)
        return out

    def words(self, states: Any, /) -> Array:
        """The words of states, int64, in one dimension more than the states."""
        given = self._given_states(states)
        return given.reshape(-1).view(np.int64).reshape(*given.shape, self.dtype.itemsize // 8)

    # ---- Answering.

    def counts(self, states: Any, /) -> Array:
        """How many elements each state is of."""
        return self.words(states)[..., 0].copy()

    def values(self, states: Any, /, *, rounding: Rounding = "nearest", correction: float = 0, fewest: int | None = None) -> Any:
        """The answers of states, as the function of the reduction gives them; a tuple for `mean_var` and `minmax`.

        `fewest`: floats of fewer elements than that are NaN. Without it `min`, `max` and their like of no elements are a
        ValueError.
        """
        given = self._given_states(states)
        if fewest is None and self.op in NEED_ELEMENTS and not self.counts(given).all():
            raise ValueError(f"{self.reduction}: there are no elements, and of nothing there is no {self.reduction}")
        codes = Answers(Room(self._kind.answer_bytes(self._round)), [self.op], self.element, self._round, given.size)
        part = fraction_of(correction) if self.op in VARIANCES else None
        self._kind.finish(given, rounding, 0 if part is not None else correction_of(correction, self.reduction), self._round, codes.raw, part)
        source = Source(cast(Any, None), None, np.asarray, self._bf16)
        found = codes.all(given.shape, source)[0]
        if self._cast is not None:
            found = found.astype(DTYPES[self._cast])
        if fewest is not None:
            few = self.counts(given) < fewest
            if few.any():
                found = tuple(_nan_where(few, f) for f in found) if isinstance(found, tuple) else _nan_where(few, found)
        return found

    # ---- Bytes.

    def to_bytes(self, states: Any, /) -> bytes:
        """States as bytes that say what they are: form, version, how many, checksum."""
        raw: bytes = self.check(states).tobytes()
        element = 255 if self.wide else self.element
        head = _HEAD.pack(_MAGIC, _core.state_version, self.op, element, len(raw) // self.dtype.itemsize, 0)
        crc = zlib.crc32(raw, zlib.crc32(head))
        return _HEAD.pack(_MAGIC, _core.state_version, self.op, element, len(raw) // self.dtype.itemsize, crc) + raw

    def from_bytes(self, data: Any, /) -> Array:
        """The states, in one dimension, that `to_bytes` of the same form wrote; ValueError for other bytes."""
        given = bytes(data)
        if len(given) < _HEAD.size or given[:4] != _MAGIC:
            raise ValueError(f"{self.reduction}: {len(given)} bytes that are no states; those begin with {_MAGIC.decode()}")
        _, version, op, element, count, crc = _HEAD.unpack_from(given)
        if version != _core.state_version:
            raise ValueError(f"{self.reduction}: states of version {version}; this package has version {_core.state_version}")
        if (op, element) != (self.op, 255 if self.wide else self.element):
            what = PUBLIC[_core.op_names[op]] if op < len(_core.op_names) else f"reduction {op}"
            of = _REALS if element == 255 else NAMES[element] if element < len(NAMES) else f"type {element}"
            raise ValueError(f"{self.reduction}: states of {what} of {of}; they must be {self.dtype.names[0].partition(': ')[2]}")  # type: ignore[index]
        if len(given) != _HEAD.size + count * self.dtype.itemsize:
            raise ValueError(f"{self.reduction}: {len(given)} bytes; {count} states have {_HEAD.size + count * self.dtype.itemsize}")
        blank = _HEAD.pack(_MAGIC, version, op, element, count, 0)
        if zlib.crc32(given[_HEAD.size:], zlib.crc32(blank)) != crc:
            raise ValueError(f"{self.reduction}: states whose checksum is wrong; they were changed since they were written")
        return self.check(np.frombuffer(given, self.dtype, count, _HEAD.size).copy())


@functools.lru_cache(256)  # each task of Dask brings one; a form does not change
def _form(reduction: str, dtype: Any, answer: Any) -> Form:
    return Form(reduction, dtype, answer=answer)


atexit.register(_form.cache_clear)  # else the compiled module tells at the end that forms were left


def _labels(labels: Any) -> _core.View:
    view = _core.view_of_buffer(np.require(labels, np.int64, ["C", "A"]))
    assert view is not None
    return view


def _nan_where(few: Array, answer: Array) -> Array:
    if answer.dtype.kind in "fc" or answer.dtype not in CODES:  # bf16 is of a kind of its own
        return np.where(few, np.asarray(np.nan, answer.dtype), answer)
    return answer

