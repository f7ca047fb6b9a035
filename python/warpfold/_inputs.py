# SPDX-License-Identifier: Apache-2.0
"""Whatever the caller has, as views of its memory; and answers as the caller's kind of array."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from . import _core

# One a code of _core.dtype_names; bf16 is a type of ml_dtypes, where that is installed.
NAMES = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "bool", "complex64", "complex128"]
BF16, F32, F64, I64, BOOL = 1, 2, 3, 7, 12
DTYPES: list[np.dtype[Any] | None] = [None if n == "bfloat16" else np.dtype(n) for n in NAMES]
CODES = {d: k for k, d in enumerate(DTYPES) if d is not None}

_ma: Any = np.ma  # which has no types before NumPy 2.3

_core.use_numpy(np.ndarray, np.empty, DTYPES, [None if d is None else d.type for d in DTYPES])


def is_floating(code: int) -> bool:
    return code <= F64


def is_complex(code: int) -> bool:
    return code > BOOL


def is_integer(code: int) -> bool:
    return F64 < code <= BOOL


class Source(NamedTuple):
    """An array as it lies, and how its caller wants to be answered."""

    view: _core.View
    mask: _core.View | None  # the elements that count; None: all
    give: Callable[[np.ndarray[Any, Any]], Any]
    bf16: Any = None  # the caller's NumPy type of bf16
    array: Callable[[], np.ndarray[Any, Any]] | None = None  # the elements, for what has to convert them
    more: Iterator[tuple[_core.View, _core.View | None]] | None = None  # pieces after this one, of Arrow's streams
    to_bf16: Callable[[Any], Any] | None = None  # what makes the caller's bf16 of their floats, where NumPy has no such type

    def give_bf16(self, bits: np.ndarray[Any, Any]) -> Any:
        """An answer of bf16: the caller's type of it, or float32 where there is none."""
        if self.bf16 is not None:
            return bits.view(self.bf16)[()]
        given = self.give(bf16_as_float32(bits))
        return given if self.to_bf16 is None else self.to_bf16(given)


def scalar_or_array(answer: np.ndarray[Any, Any]) -> Any:
    return answer[()]


def code_of(dtype: Any, who: str) -> int:
    """The code of what a caller calls an element type: NumPy's, in any byte order, a name, another library's object of such a name."""
    try:
        numpys = np.dtype(dtype)
        code = CODES.get(numpys.newbyteorder("="))
        if code is not None:
            return code
        name = numpys.name
    except TypeError:
        name = getattr(dtype, "name", None) or str(dtype).rsplit(".", 1)[-1]
    if name in NAMES:
        return NAMES.index(name)
    raise TypeError(f"{who}: dtype={dtype!r}; it may be {', '.join(NAMES)}")


def unknown(who: str, dtype: Any) -> TypeError:
    return TypeError(f"{who}: elements of type {dtype}; they may be {', '.join(NAMES)}")


def of_numpy(x: np.ndarray[Any, Any], who: str) -> _core.View:
    """Copied only if the bytes of its elements are in the other order."""
    view = _core.view_of_buffer(x)
    if view is not None:
        return view
    if x.ndim > 32:
        raise ValueError(f"{who}: an array of {x.ndim} dimensions; there may be 32")
    if x.dtype.name == "bfloat16" and x.dtype.itemsize == 2:
        view = _core.view_of_buffer(x.view(np.uint16))
        if view is not None:
            return view.read_as(BF16)
    if not x.dtype.isnative:
        view = _core.view_of_buffer(x.astype(x.dtype.newbyteorder("=")))
        if view is not None:
            return view
    raise unknown(who, x.dtype)


def with_bf16(source: Source, dtype: Any) -> Source:
    """For answers of bf16, which the caller has asked for as `dtype`."""
    if source.bf16 is not None or source.to_bf16 is not None:
        return source
    if source.give is not scalar_or_array:
        return source if isinstance(dtype, str) else source._replace(to_bf16=to_type(dtype))
    try:
        return source._replace(bf16=np.dtype(dtype))
    except TypeError:  # a name or another library's type, and no ml_dtypes
        return source


def to_type(dtype: Any) -> Callable[[Any], Any]:
    """Arrays of the caller's library as ones of its type `dtype`."""
    return lambda given: given.to(dtype) if hasattr(given, "to") and not hasattr(given, "astype") else given.astype(dtype)


def pieces_of(stream: _core.Pieces, who: str) -> Iterator[tuple[_core.View, _core.View | None]]:
    while True:
        try:
            piece = stream.next()
        except OSError as e:  # what its source says of itself, as a query that fails
            raise OSError(f"{who}: {e}") from None
        if piece is None:
            return
        yield piece


def of_arrow(x: Any, who: str) -> Source:
    """Nulls are masked. A stream is read a piece at a time, as far as it is needed."""
    try:
        stream = _core.Pieces(x)
    except (TypeError, ValueError) as e:
        raise (TypeError if isinstance(e, TypeError) else ValueError)(f"{who}: {e}") from None
    pieces = pieces_of(stream, who)
    view, mask = next(pieces, None) or (stream.nothing(), None)
    second = next(pieces, None)
    more = None if second is None else chain((second,), pieces)
    array = None
    if mask is None and more is None:
        array = lambda: np.asarray(x)  # noqa: E731
    return Source(view, mask, scalar_or_array, array=array, more=more)


def of_series(x: Any, who: str) -> Source:
    """A column of pandas with types of its own; nulls are masked."""
    dtype = getattr(x.dtype, "numpy_dtype", None)
    if getattr(x.dtype, "na_value", None) is not sys.modules["pandas"].NA or dtype not in CODES:
        raise unknown(who, x.dtype)
    nulls = np.asarray(x.isna())
    values = x.to_numpy(dtype=dtype, na_value=dtype.type(0))
    return Source(of_numpy(values, who), _core.view_of_buffer(~nulls) if nulls.any() else None, scalar_or_array, array=lambda: values)


def one_piece(source: Source, who: str) -> Source:
    """For what cannot go on from piece to piece."""
    if source.more is not None:
        raise TypeError(f"{who}: an array in several pieces; put them together first, as combine_chunks() of pyarrow and rechunk() of polars do")
    return source


def array_of(x: Any, who: str) -> np.ndarray[Any, Any]:
    """An array in the CPU's memory as NumPy's, for what looks at each element."""
    source = one_piece(take(x, who), who)
    if source.mask is not None or source.array is None:
        raise TypeError(f"{who}: an array with nulls or masked elements; fill them, or leave them out")
    return source.array()


def add_to(state: Any, source: Source, who: str) -> None:
    """All that counts of the elements, to one of _core's states."""
    if is_complex(source.view.dtype):
        raise TypeError(f"{who}: elements of type {NAMES[source.view.dtype]}; it takes real types")
    state.add_view(source.view, source.mask)
    for view, mask in source.more or ():
        state.add_view(view, mask)


def beside(x: Any, from_dlpack: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What makes answers of x's kind, on its device: a library may have several in the CPU's memory."""
    home = getattr(x, "device", None)

    def give(answer: Any) -> Any:
        made = from_dlpack(answer)
        return made.to_device(home) if home is not None and hasattr(made, "to_device") and made.device != home else made
    return give


def is_torch_on_cpu(x: Any, packages: list[str]) -> bool:
    """Whether a tensor of PyTorch's says that it is in the CPU's memory. Not by DLPack: PyTorch's compiler, which may trace this, ends where it meets its type of devices."""
    return "torch" in packages and getattr(getattr(x, "device", None), "type", None) == "cpu"


def lies_on_gpu(x: Any) -> bool:
    """Whether an array is in CUDA's own or managed memory, by DLPack's types of devices or its __cuda_array_interface__."""
    kind = type(x)
    if is_torch_on_cpu(x, packages_of(kind)):
        return False
    if hasattr(kind, "__dlpack_device__"):
        try:
            return int(x.__dlpack_device__()[0]) in (2, 13)
        except Exception:  # an array of Arrow's of a type that DLPack does not have; or take() says what is wrong
            return False
    return hasattr(kind, "__cuda_array_interface__") or (not hasattr(kind, "__array_interface__") and hasattr(x, "__cuda_array_interface__"))


def packages_of(kind: type) -> list[str]:
    """The packages that a type and its bases are from: a caller's subclass of a library's array is the library's too."""
    return [base.__module__.partition(".")[0] for base in kind.__mro__]


def first_line(e: Exception) -> str:
    return (str(e).strip().splitlines() or [type(e).__name__])[0]


def as_they_are(x: Any) -> Any:
    """A tensor of PyTorch whose numbers lie in memory negated or conjugated, which DLPack's protocol does not tell, as a copy that has them as they are."""
    return x.resolve_conj().resolve_neg() if hasattr(type(x), "resolve_neg") else x


def take(x: Any, who: str) -> Source:
    if isinstance(x, np.ndarray):
        mask = None
        if isinstance(x, np.ma.MaskedArray):
            hidden, x = _ma.getmask(x), x.data
            if hidden.dtype == np.bool_ and hidden.any():  # else the fields of a structure are masked, each for itself
                mask = _core.view_of_buffer(~hidden)
        lies = of_numpy(x, who)
        return Source(lies, mask, scalar_or_array, x.dtype if lies.dtype == BF16 else None, lambda: x)
    if isinstance(x, (bool, int, float, complex, list, tuple, range, np.generic)):
        return take(numbers(x, who), who)
    kind = type(x)
    packages = packages_of(kind)
    if lies_on_gpu(x):
        raise TypeError(f"{who}: an array on a GPU; it is for arrays in the CPU's memory, so copy it there")
    if "pandas" in packages:
        pandas = sys.modules["pandas"]
        if isinstance(x, pandas.DataFrame) and x.shape[1] == 1:  # whose NaNs are nulls by Arrow's protocol
            return take(x.iloc[:, 0], who)
        if isinstance(getattr(x, "dtype", None), (np.dtype, pandas.SparseDtype)):
            return take(np.asarray(x), who)
        if getattr(getattr(x, "dtype", None), "na_value", None) is pandas.NA and not isinstance(x, pandas.Series):
            x = pandas.Series(x)  # its arrays and indexes know nulls, but only a series has Arrow's protocol
            kind = type(x)
        if isinstance(x, pandas.Series) and not hasattr(kind, "__arrow_c_stream__"):  # before pandas 3
            return of_series(x, who)
    if "xarray" in packages and hasattr(x, "dtype"):  # whose Arrow's table has columns of coordinates
        return take(x.data, who)
    if hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__arrow_c_array__"):
        return of_arrow(x, who)
    if "jax" in packages and isinstance(x, sys.modules["jax"].core.Tracer):
        raise TypeError(f"{who}: an array that JAX traces, as inside jax.jit; there it is warpfold.jax.{who}")
    if "torch" not in packages and not hasattr(kind, "__array_namespace__"):  # those have answers of their own kind
        view = _core.view_of_buffer(x)
        if view is not None:
            return Source(view, None, scalar_or_array, array=lambda: np.asarray(x))
    if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        try:
            device = 1 if is_torch_on_cpu(x, packages) else int(x.__dlpack_device__()[0])
        except Exception as e:
            raise TypeError(f"{who}: the array does not let itself be read: {kind.__name__}.__dlpack_device__() says: {first_line(e)}") from None
        if device not in (1, 3):  # 3: pinned
            raise TypeError(f"{who}: an array on another device than the CPU (DLPack's type {device}); copy it to the CPU")
        x = as_they_are(x)
        view = _core.view_of_dlpack(x)
        if view is None:
            try:
                if type(x.__dlpack__()).__name__ != "PyCapsule":
                    raise TypeError("nothing that is a capsule")
            except Exception as e:
                raise TypeError(f"{who}: the array does not let itself be read: {kind.__name__}.__dlpack__() says: {first_line(e)}") from None
            raise unknown(who, getattr(x, "dtype", "that DLPack does not tell"))
        namespace: Any = x.__array_namespace__() if hasattr(kind, "__array_namespace__") else next((m for m in map(sys.modules.get, packages) if hasattr(m, "from_dlpack")), None)
        if namespace is None or not hasattr(namespace, "from_dlpack"):
            return Source(view, None, scalar_or_array, array=lambda: np.from_dlpack(x))
        return Source(view, None, beside(x, namespace.from_dlpack), array=lambda: np.from_dlpack(x),
                      to_bf16=to_type(x.dtype) if view.dtype == BF16 else None)
    if hasattr(kind, "__array_interface__") or hasattr(kind, "__array__"):
        try:
            found = np.asarray(x)
        except Exception as e:
            raise TypeError(f"{who}: the array does not let itself be read: {kind.__name__}.__array__() says: {first_line(e)}") from None
        return take(found, who)
    other = buffer_of(x, who)
    if other is not None:
        return take(other, who)
    try:
        each = iter(x) if hasattr(kind, "__iter__") else list(x)  # by its __getitem__, which may be for something else
    except TypeError as e:
        lazy = f"; {first_line(e)}" if hasattr(kind, "__getitem__") else ""
        raise TypeError(f"{who}: an object of type {kind.__name__}; it may be an array, a number, or numbers that can be iterated over{lazy}") from None
    return take(numbers(list(each), who), who)


def buffer_of(x: Any, who: str) -> np.ndarray[Any, Any] | None:
    """A buffer of elements that NumPy knows, and views do not; None: no buffer."""
    try:
        lies = memoryview(x)
    except (TypeError, BufferError):
        return None
    except ValueError as e:  # it was released
        raise ValueError(f"{who}: {e}") from None
    try:
        return np.asarray(lies)
    except ValueError:
        raise unknown(who, f"'{lies.format}', as buffers tell it") from None


_PLAIN = {bool, int, float, complex}


def hides_nulls(x: Sequence[Any], depth: int = 0) -> bool:
    """Whether a list, or one in it, has an array with masked elements or nulls, which NumPy reads as others."""
    if depth > 64 or set(map(type, x)) <= _PLAIN:
        return False
    return any(hides_nulls(one, depth + 1) if isinstance(one, (list, tuple)) else type(one) not in _PLAIN and not isinstance(one, np.generic) and holds_nulls(one)
               for one in x)


def numbers(x: Any, who: str) -> np.ndarray[Any, Any]:
    if isinstance(x, (list, tuple)) and hides_nulls(x):
        raise TypeError(f"{who}: arrays with masked elements or nulls in a list, where they would count; put them together first, as numpy.ma.stack() does")
    try:
        found = np.asarray(x)
    except ValueError as e:
        why = "lists of different lengths, or nested deeper than NumPy's arrays" if "setting an array element" in str(e) else e
        raise ValueError(f"{who}: {why}") from None
    if found.size == 0 and found.dtype == object:
        return found.astype(np.float64)
    if found.dtype == object:
        raise no_numbers(found, who)
    if found.dtype.kind in "fc" and not isinstance(x, (np.generic, float, complex)):
        with np.errstate(over="ignore", invalid="ignore"):
            large = bool(np.any(np.abs(found) >= 2.0**53))
        if large:
            return with_whole_numbers(x, found, who)
    return found


def no_numbers(found: np.ndarray[Any, Any], who: str) -> TypeError:
    """Of objects, the first that none of the element types holds."""
    for one in found.flat:
        if isinstance(one, (int, np.integer)):
            if not -2**63 <= int(one) < 2**64:
                bits = int(one).bit_length() if one > 0 else (~int(one)).bit_length() + 1
                return TypeError(f"{who}: an int of {bits} bits, which neither int64 nor uint64 holds")
        elif not isinstance(one, (float, complex, np.number, np.bool_)):
            return TypeError(f"{who}: an element of type {type(one).__name__}; elements are bool, ints of at most 64 bits, floats and complex numbers")
    return TypeError(f"{who}: elements that no one type holds")


def holds_nulls(x: Any) -> bool:
    """Whether an array of NumPy, pandas, pyarrow or polars has elements that are none."""
    if isinstance(x, np.ma.MaskedArray):
        return bool(_ma.getmaskarray(x).any())
    count = getattr(x, "null_count", None)
    if count is not None:
        return bool(count() if callable(count) else count)
    if "pandas" not in packages_of(type(x)) or isinstance(getattr(x, "dtype", None), np.dtype):  # whose NaN is a NaN
        return False
    return hasattr(x, "isna") and bool(np.any(np.asarray(x.isna())))


def with_whole_numbers(x: Any, read: np.ndarray[Any, Any], who: str) -> np.ndarray[Any, Any]:
    """Numbers that NumPy has read as floats, unless it rounded ints for that."""
    each = np.asarray(x, object).ravel().tolist()
    whole = [isinstance(one, (int, np.integer)) for one in each]
    if all(whole):
        if min(each) < 0:
            raise TypeError(f"{who}: ints that neither int64 nor uint64 holds all of")
        return np.asarray(x, np.uint64)
    for one, is_whole in zip(each, whole):
        if is_whole and int(one) != int(float(one)):
            raise TypeError(f"{who}: the int {one} among floats, which would be rounded to one")
    return read


def bools_of(where: Any, who: str) -> np.ndarray[Any, Any] | None:
    """A mask as NumPy's array; None for True."""
    if where is None or where is True:
        return None
    mask = _ma.filled(where, False) if isinstance(where, np.ma.MaskedArray) and where.dtype == np.bool_ else np.asarray(where)
    if mask.dtype != np.bool_ and holds_nulls(where):
        raise TypeError(f"{who}: where= with nulls; fill them")
    if mask.dtype != np.bool_:
        raise TypeError(f"{who}: where= of type {mask.dtype}; it is an array of bool")
    return mask


def mask_of(where: Any, shape: tuple[int, ...], who: str) -> _core.View | None:
    """The view of a mask, of that shape; None for True."""
    mask = bools_of(where, who)
    if mask is None:
        return None
    view = _core.view_of_buffer(mask)
    assert view is not None
    return view.broadcast(shape, f"{who}: where=")


def bf16_as_float32(bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(bits.astype(np.uint32) << 16).view(np.float32)  # without dimensions << gives a scalar, which DLPack does not take
