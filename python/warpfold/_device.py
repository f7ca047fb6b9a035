# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU: whose they are, on which stream they are reduced, and where the answers go. Nothing here waits for a device."""

from __future__ import annotations

import contextlib
import copy
import importlib
import math
import operator
import sys
from typing import Any, NamedTuple

import numpy

from . import _core
from ._inputs import BOOL, DTYPES, F64, I64, NAMES, as_they_are, first_line, is_floating, lies_on_gpu, to_type

INSTALL = ("this package was built without CUDA; `pip install . -C cmake.define.WARPFOLD_CUDA=ON` builds it in where nvcc is, or copy the array "
           "to the CPU")
_module = "_gpu"
_kernels: Any = None
_AS_OUT = (2, 3, 13)  # DLPack's types of CUDA's own, pinned and managed memory


def on_simt(wanted: bool = True) -> None:
    """For tests alone: simt is the GPU, and memory of the CPU a GPU's. Only a package that was built for its tests has the module."""
    global _module, _kernels
    _module, _kernels = "_simt" if wanted else "_gpu", None
    _core.use_device(None)
    _told.clear()


def kernels(who: str) -> Any:
    """The compiled module, loaded when the first array on a GPU comes."""
    global _kernels
    if _kernels is None:
        try:
            _kernels = importlib.import_module("warpfold." + _module)
        except ModuleNotFoundError:
            raise TypeError(f"{who}: an array on a GPU, and {INSTALL}") from None
    return _kernels


def handle_of(stream: Any, who: str) -> int:
    """The address of a stream, or 1 and 2, CUDA's names of default streams."""
    found: Any = stream
    if hasattr(stream, "__cuda_stream__"):
        told = stream.__cuda_stream__
        found = (told() if callable(told) else told)[1]
    else:
        for name in ("cuda_stream", "ptr", "handle"):  # PyTorch's, CuPy's, Numba's
            if hasattr(stream, name):
                found = getattr(stream, name)
                break
    found = getattr(found, "value", found)  # a ctypes object's
    if found is None and stream is not None:
        return 1
    try:
        address = operator.index(found)
    except TypeError:
        address = -1
    if address < 0 or isinstance(stream, bool):
        raise TypeError(f"{who}: stream={stream!r}; it is a stream of CuPy, PyTorch, Numba or cuda.core, or the address of a cudaStream_t")
    return address or 1


class _Library:
    """A library of arrays on a GPU: its current stream, and its arrays for answers."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def stream(self, x: Any) -> int:
        return 1

    def room(self, x: Any, shape: tuple[int, ...], code: int, stream: int) -> tuple[Any, int]:
        """An array like x for answers, and its address."""
        raise NotImplementedError

    def copied(self, x: Any, numbers: Any, stream: int) -> Any:
        """A NumPy array of int64 on the device of x."""
        raise NotImplementedError

    def grouped(self, labels: Any, count: int, stream: int, who: str) -> tuple[Any, Any]:
        """The places of elements in the order of their labels, those of one as they come, and where each label from 0 to `count` begins; both int64."""
        raise TypeError(f"{who}: labels of {type(labels).__module__.partition('.')[0]} on a GPU, which does not sort them; give them as CuPy's or PyTorch's, or in the CPU's memory")

    def by_key(self, keys: Any) -> tuple[Any, Any, Any]:
        """The different keys, sorted, the places of elements in that order, and where those of each key begin."""
        raise NotImplementedError

    def fetched(self, x: Any, who: str) -> Any:
        """The elements in the CPU's memory, a NumPy array."""
        raise TypeError(f"{who}: an array on a GPU of type {type(x).__module__}.{type(x).__name__}, whose states cannot be fetched; those of CuPy, PyTorch and Numba can")

    def numbers(self, x: Any, axes: tuple[int, ...], stream: int, who: str) -> tuple[Any, Any] | None:
        """What is no NaN, those of an answer behind each other, and where each answer's begin, int64; None: there are no NaNs."""
        raise TypeError(f"{who}: NaNs of an array on a GPU are left out of CuPy's alone; put others in their place before, by its own library")

    def used(self, x: Any, stream: Any) -> None:
        """Its memory is not to be given away before that stream has come to here."""

    def used_here(self, x: Any) -> None:
        """The same of the library's current stream."""

    def there(self, x: Any, stream: int) -> Any:
        """A context in which the library's functions work on the device of x and on that stream."""
        return contextlib.nullcontext()

    def on(self, x: Any, stream: int) -> Any:
        """A context in which that stream is the library's current one."""
        return self.there(x, stream)



def _begin(values: Any) -> Any:
    """Whether each of sorted keys, from the second on, is another than the one before; NaNs are one key, as NumPy has it."""
    now, before = values[1:], values[:-1]
    return (now != before) & ~((now != now) & (before != before))


class _Torch(_Library):
    def stream(self, x: Any) -> int:
        return int(self.module.cuda.current_stream(x.device).cuda_stream) or 1

    def room(self, x: Any, shape: tuple[int, ...], code: int, stream: int) -> tuple[Any, int]:
        made = x.new_empty(shape, dtype=getattr(self.module, NAMES[code]))
        return made, made.data_ptr()

    def copied(self, x: Any, numbers: Any, stream: int) -> Any:
        return self.module.from_numpy(numbers).to(x.device)

    def fetched(self, x: Any, who: str) -> Any:
        return x.cpu().numpy()

    def grouped(self, labels: Any, count: int, stream: int, who: str) -> tuple[Any, Any]:
        torch = self.module
        with self.on(labels, stream):
            values, order = torch.sort(labels.to(torch.int64), stable=True)
            return order, torch.searchsorted(values, torch.arange(count + 1, device=labels.device))

    def by_key(self, keys: Any) -> tuple[Any, Any, Any]:
        torch = self.module
        values, order = torch.sort(keys, stable=True)
        begins = torch.nonzero(_begin(values)).reshape(-1) + 1
        ends = torch.cat((begins.new_zeros(min(1, len(keys))), begins, begins.new_full((1,), len(keys))))
        return values[ends[:-1]], order, ends

    def used(self, x: Any, stream: Any) -> None:
        if isinstance(stream, self.module.cuda.Stream):
            x.record_stream(stream)

    def used_here(self, x: Any) -> None:
        x.record_stream(self.module.cuda.current_stream(x.device))

    def on(self, x: Any, stream: int) -> Any:
        if stream == self.stream(x):
            return contextlib.nullcontext()
        cuda = self.module.cuda
        return cuda.stream(cuda.default_stream(x.device) if stream == 1 else cuda.ExternalStream(stream, x.device))


class _Cupy(_Library):
    def stream(self, x: Any) -> int:
        return int(self.module.cuda.get_current_stream().ptr) or 1

    def room(self, x: Any, shape: tuple[int, ...], code: int, stream: int) -> tuple[Any, int]:
        with self.there(x, stream):
            made = self.module.empty(shape, NAMES[code])
        return made, made.data.ptr

    def copied(self, x: Any, numbers: Any, stream: int) -> Any:
        with self.there(x, stream):
            return self.module.asarray(numbers)

    def fetched(self, x: Any, who: str) -> Any:
        with self.there(x, self.stream(x)):
            return x.get()

    def numbers(self, x: Any, axes: tuple[int, ...], stream: int, who: str) -> tuple[Any, Any] | None:
        with self.there(x, stream):
            counts = ~self.module.isnan(x)
            if bool(counts.all()):
                return None
            kept = [d for d in range(x.ndim) if d not in axes]
            counts = counts.transpose(*kept, *axes)
            found = x.transpose(*kept, *axes)[counts]
            each = counts.reshape(math.prod(x.shape[d] for d in kept), -1).sum(axis=1)
            return found, self.module.concatenate((self.module.zeros(1, "int64"), self.module.cumsum(each).astype("int64")))

    def grouped(self, labels: Any, count: int, stream: int, who: str) -> tuple[Any, Any]:
        with self.there(labels, stream):
            order = self.module.argsort(labels)  # CuPy's is stable
            return order, self.module.searchsorted(labels[order], self.module.arange(count + 1))

    def by_key(self, keys: Any) -> tuple[Any, Any, Any]:
        cupy = self.module
        with self.there(keys, self.stream(keys)):
            order = cupy.argsort(keys)  # CuPy's is stable
            values = keys[order]
            [begins] = cupy.nonzero(_begin(values))
            ends = cupy.concatenate((cupy.zeros(min(1, len(keys)), "int64"), begins.astype("int64") + 1, cupy.full(1, len(keys), "int64")))
            return values[ends[:-1]], order, ends

    def there(self, x: Any, stream: int) -> Any:
        """Its device, and the stream where that is not the current one: CuPy's memory belongs to one of each."""
        both = contextlib.ExitStack()
        both.enter_context(x.device)
        if stream != self.stream(x):
            both.enter_context(self.module.cuda.ExternalStream(stream))
        return both


class _Numba(_Library):
    def room(self, x: Any, shape: tuple[int, ...], code: int, stream: int) -> tuple[Any, int]:
        made = self.module.cuda.device_array(shape, NAMES[code])
        return made, made.device_ctypes_pointer.value or 0

    def copied(self, x: Any, numbers: Any, stream: int) -> Any:
        return self.module.cuda.to_device(numbers)

    def fetched(self, x: Any, who: str) -> Any:
        return x.copy_to_host()


class _Standard(_Library):
    """What has the array API standard's namespace."""

    def grouped(self, labels: Any, count: int, stream: int, who: str) -> tuple[Any, Any]:
        xp = labels.__array_namespace__()
        labels = xp.astype(labels, xp.int64, copy=False)
        order = xp.argsort(labels, stable=True)
        return order, xp.searchsorted(xp.take(labels, order), xp.arange(count + 1, device=labels.device))

    def room(self, x: Any, shape: tuple[int, ...], code: int, stream: int) -> tuple[Any, int]:
        xp = x.__array_namespace__()
        made = xp.empty(shape, dtype=getattr(xp, NAMES[code]), device=x.device)
        return made, array_of(made, stream, "out").address

    def copied(self, x: Any, numbers: Any, stream: int) -> Any:
        return x.__array_namespace__().asarray(numbers, device=x.device)


_libraries: dict[type, _Library | None] = {}


def library_of(x: Any) -> _Library | None:
    return library_of_type(type(x))


def library_of_type(kind: type) -> _Library | None:
    if kind not in _libraries:
        found: _Library | None = None
        for base in kind.__mro__:
            name = base.__module__.partition(".")[0]
            known = {"torch": _Torch, "cupy": _Cupy, "numba": _Numba}.get(name)
            if known is not None:
                found = known(sys.modules[name])
                break
            if name in ("jax", "jaxlib"):
                break  # its arrays are never written
        else:
            if hasattr(kind, "__array_namespace__"):
                found = _Standard(None)
        _libraries[kind] = found
    return _libraries[kind]


def cupy_of(kind: type) -> Any:
    """CuPy, if arrays of that type are its; else None."""
    found = library_of_type(kind)
    return found.module if type(found) is _Cupy else None


_told: set[type] = set()


def tell_fast_path(kind: type, library: _Library | None, compiled: Any) -> None:
    """From now on plain calls with arrays of that type, exactly, do not come here: warpfold._core reads them itself (gpu.cpp)."""
    _told.add(kind)
    if type(library) is _Torch and "__dlpack_c_exchange_api__" in vars(kind):  # PyTorch 2.10 and later
        types = [getattr(library.module, name, None) for name in NAMES]
        _core.use_device(compiled.torch_tensors(kind, types, vars(kind)["__dlpack_c_exchange_api__"]))
    elif type(library) is _Cupy and kind is library.module.ndarray:
        _core.use_device(compiled.cupy_arrays(kind, DTYPES, library.module.cuda.get_current_stream))


def array_of(x: Any, stream: int, who: str) -> Any:
    """An array as the compiled module knows it, whose elements are there when `stream` has come to here."""
    compiled = kernels(who)
    if type(x) in _told:
        told = compiled.read(x)
        if told is not None:
            if told.stream != stream:
                compiled.in_order(told.device, told.stream, stream)
            return told
    if hasattr(type(x), "__dlpack__"):
        pinned = hasattr(type(x), "__dlpack_device__") and int(x.__dlpack_device__()[0]) == 3  # the CPU's array to its library, which has no streams
        try:
            capsule = x.__dlpack__() if pinned else x.__dlpack__(stream=stream)
        except (BufferError, NotImplementedError, RuntimeError) as e:
            raise TypeError(f"{who}: the array does not let itself be read: {type(x).__name__}.__dlpack__() says: {first_line(e)}") from None
        return compiled.of_capsule(capsule, who, pinned)
    found = compiled.of_interface(x.__cuda_array_interface__, who)
    if found.stream is not None and found.stream != stream:
        compiled.in_order(found.device, found.stream, stream)
    return found


class Asked(NamedTuple):
    """What is told of a reduction beside the array."""

    who: str
    accuracy: Any
    rounding: Any
    correction: int
    stream: Any
    fraction: float | None = None  #: the correction of variances, where it is no whole number


class Inputs:
    """One or two arrays on one GPU, the stream of the call, and the room for its answers."""

    def __init__(self, x: Any, y: Any, asked: Asked) -> None:
        given = x, y
        x, y = as_they_are(x), None if y is None else as_they_are(y)
        self.asked, self.x, self.y, self.library = asked, x, y, library_of(x)
        compiled = kernels(asked.who)
        if type(x) not in _told:
            tell_fast_path(type(x), self.library, compiled)
        told = compiled.read(x) if asked.stream is None and type(x) in _told else None
        if told is not None:
            self.stream = told.stream
        elif asked.stream is not None:
            self.stream = handle_of(asked.stream, asked.who)
        elif self.library is not None and type(self.library) not in (_Numba, _Standard):
            self.stream = self.library.stream(x)
        elif hasattr(type(x), "__dlpack__"):
            self.stream = 1
        else:  # the stream that its elements are made on
            self.stream = compiled.of_interface(x.__cuda_array_interface__, asked.who).stream or 1
        self.a = array_of(x, self.stream, asked.who) if told is None else told
        self.b = None if y is None else array_of(y, self.stream, asked.who)
        if self.b is not None and self.b.device != self.a.device:
            raise ValueError(f"{asked.who}: arrays on the GPUs {self.a.device} and {self.b.device}; they must be on one")
        if asked.stream is not None and self.library is not None:
            self.library.used(x, asked.stream)
            for one, before in zip((x, y), given):
                if one is not before:  # which nobody else keeps
                    with self.library.on(one, self.stream):
                        self.library.used_here(one)

    def place(self, out: Any, shape: tuple[int, ...], code: int) -> tuple[Any, int]:
        """Where answers of that shape and type go: the caller's array, or one of the kind that x is."""
        who = self.asked.who
        if out is None:
            if self.library is None:
                raise TypeError(f"{who}: an array on a GPU of type {type(self.x).__module__}.{type(self.x).__name__}, whose library is not known; "
                                "give out=, an array there for the answer")
            made, address = self.library.room(self.x, shape, code, self.stream)
            if self.asked.stream is not None:
                self.library.used(made, self.asked.stream)
            return made, address
        kind = type(out)
        device = int(out.__dlpack_device__()[0]) if hasattr(kind, "__dlpack_device__") else 2 if hasattr(out, "__cuda_array_interface__") else 0
        if device not in _AS_OUT:
            raise TypeError(f"{who}: out= of type {kind.__name__}; it is an array on the GPU, as the elements are")
        if out is not as_they_are(out):
            raise ValueError(f"{who}: out= whose numbers are negated or conjugated when they are read")
        to = array_of(out, self.stream, who)
        if to.shape != shape:
            raise ValueError(f"{who}: out= has the shape {to.shape}; the answer has {shape}")
        if to.dtype != code:
            raise TypeError(f"{who}: out= holds {NAMES[to.dtype]}; the answer is {NAMES[code]}, which would be rounded or read another time")
        if device != 3 and to.device != self.a.device and math.prod(shape):
            raise ValueError(f"{who}: out= on the GPU {to.device}; the elements are on {self.a.device}")
        if to.read_only:
            raise ValueError(f"{who}: out= is read-only")
        if not to.contiguous():
            raise ValueError(f"{who}: out= has gaps, or is not in C order; kernels write answers one behind the other")
        if self.asked.stream is not None and self.library is not None:
            self.library.used(out, self.asked.stream)
        return out, to.address

    def run(self, op: int, out: Any, kept: tuple[int, ...], shape: tuple[int, ...] | None = None, axes: tuple[int, ...] | None = None,
            offsets: Any = None, labels: Any = None, count: int = 0, length: int = 0) -> Any:
        """An answer, or the two of `minmax` and `mean_var`, as arrays of the caller's."""
        if _core.op_names[op] in ("minmax", "mean_var"):
            from ._general import outs_of
            parts = ("min", "max") if _core.op_names[op] == "minmax" else ("mean", "var")
            return tuple(self.run(_core.op_names.index(p), to, kept, shape, axes, offsets, labels, count, length) for p, to in zip(parts, outs_of(out, 2, self.asked.who)))
        code, _ = _core.answer_of(op, self.a.dtype)
        to, address = self.place(out, kept, code)
        if math.prod(kept):
            a = self.asked
            fraction = a.fraction if _core.op_names[op] in ("var", "std") else None
            kernels(a.who).reduce(op, a.accuracy, a.rounding, a.correction, self.a, self.b, shape, axes, offsets, labels, count, length,
                                  self.stream, address, fraction=fraction)
        return to


def check_selecting(x: Any, where: Any, shape: tuple[int, ...], who: str) -> None:
    """Refuses a mask of elements of that shape, or NaNs that are left out, of what `Selection` is not for."""
    library = library_of(x)
    if type(library) not in (_Torch, _Cupy):
        raise TypeError(f"{who}: where= and NaNs that are left out, of an array on a GPU of type {type(x).__module__}.{type(x).__name__}; those of CuPy and PyTorch have them. Else reduce those "
                        f"elements alone, as {who}(x[where])")
    if where is None:
        return
    if not lies_on_gpu(where) or type(library_of(where)) is not type(library) or str(where.dtype).rpartition(".")[2] != "bool":
        raise TypeError(f"{who}: where= of type {type(where).__name__}; of an array on a GPU it is True, or an array of bool of the same library there")
    mask = tuple(where.shape)
    if len(mask) > len(shape) or any(n not in (1, m) for n, m in zip(mask[::-1], shape[::-1])):
        raise ValueError(f"{who}: where= of the shape {mask} cannot be broadcast to {shape}")


def mask_of(here: Inputs, where: Any) -> Any:
    """A mask as an array of the device; None for none."""
    if where is None:
        return None
    found = array_of(where, here.stream, here.asked.who)
    if found.device != here.a.device:
        raise ValueError(f"{here.asked.who}: where= on the GPU {found.device}; the elements are on {here.a.device}")
    return found


class Selection:
    """The elements that count, copied one behind the other, as segments of one for each answer. Nothing is waited for."""

    def __init__(self, here: Inputs, shape: tuple[int, ...], axes: tuple[int, ...], where: Any, skip_nans: bool, length: int = 0, offsets: Any = None, places: bool = False) -> None:
        """Answers lose the axes; or, of one dimension, they are those of segments, of `length` elements or between `offsets`, arrays of the device."""
        compiled, stream, who = kernels(here.asked.who), here.stream, here.asked.who
        n = math.prod(shape)
        self.row = length or math.prod(shape[d] for d in axes)
        self.count = offsets.shape[0] - 1 if offsets is not None else -(-n // self.row) if self.row else 0
        self.inputs, self.starts = copy.copy(here), offsets
        self.held: list[Any] = []
        mask = mask_of(here, where)
        if mask is not None:
            self._used(where)
        found, to = self._room(n, here.a.dtype)
        ends, at = self._room((1 if offsets is not None else self.count) + 1, I64)
        self.places = self._room(n, I64)[1] if places or offsets is not None else 0
        row = n if offsets is not None else self.row
        compiled.select(here.a, mask, shape, axes, skip_nans, row, to, at, self.places, stream)
        if here.b is not None:
            other, to = self._room(n, here.b.dtype)
            compiled.select(here.b, mask, shape, axes, False, row, to, at, 0, stream)
            self.inputs.b = array_of(other, stream, who)
        if offsets is not None:
            ends, to = self._room(self.count + 1, I64)
            compiled.narrow(self.places, at + 8, offsets, to, stream)
        self.inputs.a, self.offsets = array_of(found, stream, who), array_of(ends, stream, who)

    def _room(self, n: int, code: int) -> tuple[Any, int]:
        here = self.inputs
        assert here.library is not None
        made, address = here.library.room(here.x, (n,), code, here.stream)
        self._used(made)
        self.held.append(made)
        return made, address

    def _used(self, x: Any) -> None:
        here = self.inputs
        if here.asked.stream is not None and here.library is not None:
            here.library.used(x, here.asked.stream)

    def run(self, op: int, out: Any, kept: tuple[int, ...]) -> Any:
        answer = self.inputs.run(op, out, kept, offsets=self.offsets, count=self.count)
        if _core.op_names[op] in ("argmin", "argmax") and self.count:
            here = self.inputs
            to = array_of(answer, here.stream, here.asked.who)
            kernels(here.asked.who).widen(to.address, self.count, self.offsets, self.places, self.starts, self.row, here.stream)
        return answer


class Filled:
    """All elements, with one that changes no answer of a reduction in place of each that does not count. Nothing is waited for."""

    def __init__(self, here: Inputs, op: int, shape: tuple[int, ...], where: Any, skip_nans: bool) -> None:
        self.here, self.op, self.shape, self.skip_nans, self.inputs = here, op, shape, skip_nans, copy.copy(here)
        self.held: list[Any] = []
        assert here.library is not None
        self.mask = mask_of(here, where)
        n = math.prod(shape)
        filled = []
        for second, x in enumerate(one for one in (here.a, here.b) if one is not None):
            made, to = here.library.room(here.x, (n,), x.dtype, here.stream)
            self.held.append(made)
            filled.append(kernels(here.asked.who).fill(op, bool(second), x, self.mask, shape, skip_nans, to, here.stream))
        if here.asked.stream is not None:
            for one in (*self.held, *(() if where is None else (where,))):
                here.library.used(one, here.asked.stream)
        self.inputs.a, self.inputs.b = filled[0], filled[1] if len(filled) > 1 else None

    def run(self, out: Any, kept: tuple[int, ...], axes: tuple[int, ...], length: int = 0, offsets: Any = None) -> Any:
        """Answers lose the axes; or, of one dimension, they are those of segments."""
        here, count = self.here, math.prod(kept)
        if length or offsets is not None:
            answer = self.inputs.run(self.op, out, kept, offsets=offsets, count=0 if offsets is None else count, length=length)
        else:
            answer = self.inputs.run(self.op, out, kept, self.shape, axes if len(axes) < len(self.shape) else None)
        if _core.op_names[self.op] in ("sum", "dot"):
            to = array_of(answer, here.stream, here.asked.who)
            kernels(here.asked.who).settle(self.op, here.a, self.mask, self.shape, axes, self.skip_nans, length, offsets, to.address, count, here.stream)
        return answer


def reduce_some(here: Inputs, ops: list[int], outs: Any, kept: tuple[int, ...], shape: tuple[int, ...], axes: tuple[int, ...], where: Any, skip_nans: bool, length: int = 0,
                offsets: Any = None) -> list[Any]:
    """The answers of what counts. It is copied once for all operations; of what has a neutral element, all is."""
    if all(kernels(here.asked.who).has_neutral(op, here.a.dtype) for op in ops):
        return [Filled(here, op, shape, where, skip_nans).run(out, kept, axes, length, offsets) for op, out in zip(ops, outs)]
    places = any(_core.op_names[op] in ("argmin", "argmax") for op in ops)
    some = Selection(here, shape, axes, where, skip_nans, length, offsets, places)
    return [some.run(op, out, kept) for op, out in zip(ops, outs)]


def broadcast(where: Any, shape: tuple[int, ...]) -> Any:
    library = library_of(where)
    assert library is not None
    with library.there(where, library.stream(where)):
        return library.module.broadcast_to(where, shape)


def labels_that_count(here: Inputs, labels: Any, where: Any) -> Any:
    """Labels, of which those of elements that do not count are -1."""
    library = here.library
    assert library is not None
    with library.there(here.x, here.stream):
        return library.module.where(library.module.broadcast_to(where, tuple(labels.shape)), as_type(library, labels, I64), -1)


def groups_of(here: Inputs, labels: Any, count: int) -> tuple[Any, Any]:
    """The places of elements in the order of their labels, and where those of each label begin."""
    if here.asked.stream is not None or here.library is None:
        raise TypeError(f"{here.asked.who}: places of elements that count, by labels, with stream=; they are sorted by the array's library, on its own")
    order, ends = here.library.grouped(labels, count, here.stream, here.asked.who)
    return order, ends


def library_of_keys(x: Any, keys: Any, who: str) -> _Library:
    """That of elements and of keys on a GPU, which sorts them."""
    library = library_of(keys)
    if library is None or type(library) is not type(library_of(x)) or type(library) not in (_Torch, _Cupy):
        raise TypeError(f"{who}: keys on a GPU of type {type(keys).__module__}.{type(keys).__name__}; they are CuPy's or PyTorch's, as the elements are, or in the CPU's memory")
    return library


def in_order_of(x: Any, elements: Any, order: Any) -> Any:
    library = library_of(x)
    assert library is not None
    with library.there(x, library.stream(x)):
        return elements[order]


def makes_states(form: Any, x: Any, skip_nans: bool) -> bool:
    """Whether `states_of` does; else the elements must be copied to the CPU's memory."""
    library = type(library_of(x))
    if library not in (_Torch, _Cupy, _Numba) or (skip_nans and is_floating(form.element) and library is not _Cupy):
        return False
    return not form.wide or form.element == F64 or (library is not _Numba and F64 in _WIDER.get(form.element, ()))


def states_of(form: Any, x: Any, axes: tuple[int, ...], skip_nans: bool) -> Any:
    """Words of the states of an array on a GPU, made there: a NumPy array of int64, a row for each position along the axes that are kept. `form` is a
    `warpfold.states.Form`."""
    who = form.reduction
    here = Inputs(x, None, Asked(who, "exact", "nearest", 0, None))
    if here.a.dtype != form.element:
        raise TypeError(f"{who}: elements of {NAMES[here.a.dtype]}, for states of {NAMES[form.element]}")
    library = here.library
    if library is None:
        raise TypeError(f"{who}: an array on a GPU of type {type(x).__module__}.{type(x).__name__}, whose library is not known; copy it to the CPU's memory")
    wide = form.wide and form.element != F64
    if wide:  # digits of float64
        if type(library) not in (_Torch, _Cupy) or F64 not in _WIDER.get(form.element, ()):
            raise refused(who, F64)
        x = as_type(library, x, F64)
        here = Inputs(x, None, here.asked)
    shape = here.a.shape
    answers = math.prod(n for d, n in enumerate(shape) if d not in axes)
    apart = library.numbers(x, axes, here.stream, who) if skip_nans and is_floating(here.a.dtype) else None
    a, offsets, held = here.a, None, None
    if apart is not None:
        a, offsets, held = array_of(apart[0], here.stream, who), array_of(apart[1], here.stream, who), apart
    words, address = library.room(x, (answers, form.dtype.itemsize // 8), I64, here.stream)
    if answers:
        over = None if offsets is not None or len(axes) == len(shape) else axes
        kernels(who).reduce(form.op, "exact", "nearest", 0, a, None, None, over, offsets, None, answers if offsets is not None else 0, 0, here.stream, address, True)
    found = library.fetched(words, who)
    del held
    return found


def words_of(reduction: str, x: Any, who: str) -> tuple[bytes | None, Any]:
    """Words of the state of float64 of all elements of an array on a GPU, made there; or None, and the elements in the CPU's memory. It waits."""
    here = Inputs(x, None, Asked(who, "exact", "nearest", 0, None))
    code, library = here.a.dtype, here.library
    if library is None:
        raise TypeError(f"{who}: an array on a GPU of type {type(x).__module__}.{type(x).__name__}, whose library is not known; copy it to the CPU's memory")
    if code > BOOL:
        raise TypeError(f"{who}: elements of type {NAMES[code]}; it takes real types")
    if code != F64 and (F64 not in _WIDER.get(code, ()) or type(library) not in (_Torch, _Cupy)):
        return None, library.fetched(x, who)
    if math.prod(here.a.shape) == 0:
        return None, numpy.empty(0)
    from .states import Form
    with library.there(x, here.stream):
        wide = x if code == F64 else as_type(library, x, F64)
    return states_of(Form(reduction, "float64"), wide, tuple(range(len(here.a.shape))), False).tobytes(), None


# The types that hold all of another, by their codes; the first are the narrowest.
_WIDER = {0: (2, 3), 1: (2, 3), 2: (3,), 4: (2, 3), 5: (2, 3), 6: (3,), 8: (2, 3), 9: (2, 3), 10: (3,), 12: (2, 3), 13: (14,)}
# Those to which an answer of another type is rounded: their bits are fewer by 2 or more, their exponents not more.
_NARROWER = {2: (0, 1), 3: (0, 1, 2)}


def converts(x: Any, stream: Any) -> _Library | None:
    """The library of an array that can be converted: on its own stream alone."""
    library = library_of(x)
    return library if type(library) in (_Torch, _Cupy) and stream is None else None


def refused(who: str, want: int) -> TypeError:
    return TypeError(f"{who}: dtype={NAMES[want]} of these elements on a GPU is not to be had here; convert the elements before, which loses nothing "
                     "where the type is wider")


def as_type(library: _Library, x: Any, code: int) -> Any:
    return to_type(getattr(library.module, NAMES[code]))(x)


def narrows(x: Any, code: int, want: int, stream: Any) -> bool:
    """Whether answers of that type can be rounded to `want`."""
    library = converts(x, stream)
    return library is not None and want in _NARROWER.get(code, ()) and hasattr(library.module, NAMES[want])


def widened(x: Any, who: str, code: int, want: int, stream: Any) -> Any:
    """x as elements of a type that holds all of theirs, by its own library: of `want`, or one whose answers are rounded to it."""
    library = converts(x, stream)
    held = _WIDER.get(code, ())
    to = want if want in held else next((k for k in held if want in _NARROWER.get(k, ())), None)
    if library is None or to is None or not hasattr(library.module, NAMES[want]):
        raise refused(who, want)
    return as_type(library, x, to)


def wrapped(answer: Any, who: str, want: int, stream: Any) -> Any:
    """An answer modulo 2^64 as one modulo less."""
    library = converts(answer, stream)
    if library is None:
        raise refused(who, want)
    return as_type(library, answer, want)


def narrowed(low: Any, high: Any, code: int, want: int) -> Any:
    """The nearest numbers of a narrower type to true answers between `low` and `high`, which are they rounded towards zero and away from it. Of two
    neighbours the one with an odd last bit stands for all between them: what is rounded to nearest next sees that they are no tie (S. Boldo and G. Melquiond,
    Emulation of FMA and correctly rounded sums, IEEE Trans. Computers 57, 2008)."""
    library = library_of(low)
    assert library is not None
    xp = library.module
    bits = low.view(xp.int64 if code == 3 else xp.int32)
    return as_type(library, xp.where(low == high, bits, bits | 1).view(low.dtype), want)


def indexes_of(x: Inputs, given: Any, what: str, most: int | None) -> Any:
    """Offsets or labels as an array of the device. Those of the CPU are checked and copied there; those of the GPU nobody looks at."""
    who = f"{x.asked.who}: {what}"
    if lies_on_gpu(given):
        found = array_of(given, x.stream, who)
        if what == "labels":  # the call copies those that its kernels do not take
            if is_floating(found.dtype) or found.dtype >= BOOL or len(found.shape) != 1:
                raise TypeError(f"{who} of type {NAMES[found.dtype]} in {len(found.shape)} dimensions; they are whole numbers in one")
        elif found.dtype not in (I64, I64 - 1) or len(found.shape) != 1 or not found.contiguous():
            raise TypeError(f"{who} of type {NAMES[found.dtype]} in {len(found.shape)} dimensions; on a GPU they are int64 or int32 in one, without gaps")
        if found.device != x.a.device:
            raise ValueError(f"{who} on the GPU {found.device}; the elements are on {x.a.device}")
        return found, given
    from ._general import whole_numbers
    at = whole_numbers(given, who)
    n = x.a.shape[0]
    if what == "offsets" and at.size and (int(at[0]) < 0 or int(at[-1]) > n or bool((at[1:] < at[:-1]).any())):
        raise ValueError(f"{x.asked.who}: offsets rise from 0 or more to the {n} elements at most")
    if what == "labels" and at.size and (int(at.min()) < 0 or (most is not None and int(at.max()) >= most)):
        raise ValueError(f"{who} lie in [0, {most})")
    if x.library is None:
        raise TypeError(f"{who} in the CPU's memory, and elements on a GPU of a library that is not known; put them on the GPU")
    there = x.library.copied(x.x, at, x.stream)
    return array_of(there, x.stream, who), there


