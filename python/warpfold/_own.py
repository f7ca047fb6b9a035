# SPDX-License-Identifier: Apache-2.0
"""Reductions of the caller's own, from small C++ expressions."""

from __future__ import annotations

import ctypes
import math
import re
from itertools import chain
from typing import Any

import numpy as np

from . import _core
from ._compile import load
from ._general import axes_of, both_masks, bytes_for, check_keepdims, counted, into
from ._inputs import BF16, DTYPES, NAMES, Source, code_of, lies_on_gpu, mask_of, one_piece, take

# What an element is in memory, and as `x` in the caller's text: halves have no arithmetic, and bytes other than 0 and 1 are true.
_TYPES = [("wf::f16", "float"), ("wf::bf16", "float"), ("float", "float"), ("double", "double"), ("std::int8_t",) * 2, ("std::int16_t",) * 2,
          ("std::int32_t",) * 2, ("std::int64_t",) * 2, ("std::uint8_t",) * 2, ("std::uint16_t",) * 2, ("std::uint32_t",) * 2,
          ("std::uint64_t",) * 2, ("std::uint8_t", "bool"), ("std::complex<float>",) * 2, ("std::complex<double>",) * 2]

_PLACES = ("preamble", "state", "identity", "lift", "combine", "finish")  # names of the caller's texts, in #line and in messages

# What both the host's compiler and a GPU's take: the caller's reduction, and what its answers are.
_STRUCT = """\
@preamble@

namespace warpfold_own {

using element = @element@;
using T = @type@;

struct reduction {
  static constexpr bool commutes = @commutes@;
@state@
  state identity() const {
    @identity@
  state lift(@parameters@, std::int64_t i) const {
@values@
    @lift@
  state combine(const state& a, const state& b) const {
    @combine@
  auto finish(const state& s, std::int64_t n) const {
    @finish@
};

template <class A>
constexpr int code() {
  if constexpr (std::is_same_v<A, wf::f16>) return 0;
  else if constexpr (std::is_same_v<A, wf::bf16>) return 1;
  else if constexpr (std::is_same_v<A, float>) return 2;
  else if constexpr (std::is_same_v<A, double>) return 3;
  else if constexpr (std::is_same_v<A, bool>) return 12;
  else if constexpr (std::is_integral_v<A>)
    return (std::is_signed_v<A> ? 4 : 8) + (sizeof(A) == 1 ? 0 : sizeof(A) == 2 ? 1 : sizeof(A) == 4 ? 2 : 3);
  else if constexpr (std::is_same_v<A, std::complex<float>>) return 13;
  else if constexpr (std::is_same_v<A, std::complex<double>>) return 14;
  else {
    static_assert(sizeof(A) == 0, "warpfold: finish= gives a type that arrays do not have; it may be a number, a std::complex, or a std::array of them");
    return -1;
  }
}
template <class A>
struct answer {
  static constexpr int type = code<A>(), values = 1;
};
template <class A, std::size_t N>
struct answer<std::array<A, N>> {
  static_assert(N > 0, "warpfold: finish= gives an array of nothing");
  static constexpr int type = code<A>(), values = N;
};

}  // namespace warpfold_own
"""

_SOURCE = """\
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <warpfold/detail/cpu/engine.hpp>
#include <warpfold/half.hpp>

""" + _STRUCT + """
namespace warpfold_own {

static_assert(wf::detail::require_reduction<reduction, @elements@>());
using given = answer<wf::result_of<reduction>>;

constexpr reduction one{};
constexpr wf::cpu::erased table = wf::cpu::erase<reduction, @elements@>();

}  // namespace warpfold_own

extern "C" __attribute__((visibility("default"))) void warpfold_own_reduction(const void** functions, const void** object, int* type, int* values) {
  *functions = &warpfold_own::table;
  *object = &warpfold_own::one;
  *type = warpfold_own::given::type;
  *values = warpfold_own::given::values;
}
"""


def _placed(name: str, text: str, begin: str = "", end: str = "") -> str:
    """The caller's text where the compiler tells errors by its name and lines; what ends it stands on its last line, too."""
    return f'{begin}\n#line 1 "{name}"\n{text}\n#line {max(1, len(text.splitlines()))} "{name}"\n{end}\n#line 1 "warpfold"'


def _returned(name: str, text: str) -> str:
    """The rest of a function, with its closing brace: the place where a compiler tells that nothing is returned."""
    shown = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).rstrip()
    if shown.endswith((";", "}")) and re.search(r"\breturn\b", shown):  # statements
        return _placed(name, text, "", "}")
    return _placed(name, text, "return", "; }")


class Reduction:
    """A reduction of one's own, from C++ expressions: compiled at first use, run on all cores over whole arrays, axes, segments, labels.

    It is the fold of a state, as the reductions of this package are. `combine` must be associative; it need not commute, elements
    keep their order. Of arrays in the CPU's memory a C++20 compiler is needed where it runs ($CXX, or c++, g++, clang++ of PATH); of arrays on a GPU
    NVRTC, which the toolkit and NVIDIA's packages for Python bring, and a package with CUDA.

    Parameters
    ----------
    state : str
        A type, as ``"double"``, or the members of a struct, as ``"double sum, weight;"``. `T` is the type of the elements, float where
        they are float16 or bfloat16.
    identity : str
        The state of no elements: an expression, or values in braces.
    lift : str
        The state of an element `x` (and `y` of the second array), whose index is `i`.
    combine : str
        The state of two, `a` and `b`; the elements of `a` come before those of `b`.
    finish : str
        The answer of a state `s` of `n` elements: a number, or a ``std::array`` of some, which become the answer's last dimension.
    inputs : {1, 2}
        How many arrays it takes.
    commutes : bool
        The order of elements does not matter: axes may be walked in the order of memory.
    preamble : str
        What comes before: ``#include`` lines, functions of one's own.
    flags : sequence of str
        More arguments of the host's compiler, as ``["-march=native"]``. NVRTC does not get them.

    Raises
    ------
    CompileError
        A ValueError, at first use: the compiler's first error, where in which parameter.
    TypeError, ValueError
        Parameters that are no text, or empty; arrays as for the other functions.
    FileNotFoundError
        There is no compiler, or no NVRTC.
    RuntimeError
        A GPU's driver says so.

    Notes
    -----
    A parameter may also be statements with a ``return``. Expressions do not throw. What was compiled is kept in the folder that the
    variable ``WARPFOLD_CACHE`` names (``off``: nowhere), by default ``~/.cache/warpfold``, for all processes. ``wf.segment_reduce`` and
    ``wf.reduce_by_label`` take it, too. Masked elements do not count, in `n` and `i` neither.

    References
    ----------
    docs/design.md: what a reduction is.

    Examples
    --------
    >>> import warpfold as wf
    >>> longest = wf.Reduction(state="std::int64_t head, tail, best, n;", identity="{0, 0, 0, 0}",
    ...                        lift="{x > 0, x > 0, x > 0, 1}",
    ...                        combine="{a.head == a.n ? a.n + b.head : a.head, b.tail == b.n ? a.tail + b.n : b.tail, "
    ...                                "std::max({a.best, b.best, a.tail + b.head}), a.n + b.n}",
    ...                        finish="s.best")
    >>> int(longest([1, 2, -1, 3, 4, 5, -1]))  # elements above 0 in a row
    3
    >>> longest([[1, 0, 1], [0, 1, 1]], axis=1).tolist()
    [1, 2]
    """

    def __init__(self, *, state: str, identity: str, lift: str = "x", combine: str, finish: str = "s", inputs: int = 1,
                 commutes: bool = False, preamble: str = "", flags: Any = ()) -> None:
        self._texts = {"preamble": preamble, "state": state, "identity": identity, "lift": lift, "combine": combine, "finish": finish}
        for name, text in self._texts.items():
            if not isinstance(text, str):
                raise TypeError(f"Reduction: {name}={text!r}; it is C++ text")
            if any("\ud800" <= c <= "\udfff" for c in text):
                raise ValueError(f"Reduction: {name}={text!r} has halves of characters, which UTF-8 does not")
            if name != "preamble" and not text.strip():
                raise ValueError(f"Reduction: {name}= is empty; it is C++ text")
            if "\0" in text:
                raise ValueError(f"Reduction: {name}= holds a character 0")
        if inputs not in (1, 2):
            raise ValueError(f"Reduction: inputs={inputs!r}; there may be 1 or 2")
        flags = tuple(flags) if hasattr(flags, "__iter__") and not isinstance(flags, str) else flags
        if not isinstance(flags, tuple) or not all(isinstance(one, str) for one in flags):
            raise TypeError(f"Reduction: flags={flags!r}; it is a list of words")
        self._inputs, self._commutes, self._flags = int(inputs), bool(commutes), tuple(flags)
        self._made: dict[int, tuple[int, int, int, int]] = {}
        self._calls: Any = None  # for arrays on a GPU, once there were such: the compiled module's, which answers plain ones

    def __reduce__(self) -> Any:
        return _again, ({**self._texts, "inputs": self._inputs, "commutes": self._commutes, "flags": self._flags},)

    def __repr__(self) -> str:
        return "<warpfold.Reduction " + ", ".join(f"{k}={self._texts[k]!r}" for k in _PLACES[1:]) + ">"

    def source(self, dtype: Any = "float64") -> str:
        """The C++ source that is compiled for elements of a type."""
        return self._source(code_of(dtype, "Reduction"))

    def compile(self, *dtypes: Any) -> None:
        """Compiles for these types of elements now, not at first use."""
        for one in dtypes:
            self._compiled(code_of(one, "Reduction"))

    def _source(self, element: int, source: str = _SOURCE) -> str:
        memory, value = _TYPES[element]
        names = ("x", "y")[:self._inputs]
        state = self._texts["state"]
        fills = {"preamble": _placed("preamble", self._texts["preamble"]) if self._texts["preamble"].strip() else "",
                 "element": memory, "type": value, "commutes": str(self._commutes).lower(),
                 "state": _placed("state", state, *(("struct state {", "};") if ";" in state else ("using state =", ";"))),
                 "parameters": ", ".join(f"const element& warpfold_{n}" for n in names),
                 "values": "\n".join(f"    const T {n} = static_cast<T>(warpfold_{n});" for n in names),
                 "elements": ", ".join("warpfold_own::element" for n in names),
                 "inputs": str(len(names)), "loads": ", ".join(f"load({k}, p)" for k in range(len(names))),
                 **{n: _returned(n, self._texts[n]) for n in _PLACES[2:]}}
        parts = source.split("@")
        parts[1::2] = [fills[name] for name in parts[1::2]]
        return "".join(parts)

    def _cubin(self, capability: int, element: int) -> Any:
        """What NVRTC makes of it for GPUs of a compute capability, as 90 of 9.0 (`_nvrtc.Cubin`)."""
        from ._nvrtc import compiled
        from ._own_gpu import WHOLE
        return compiled(self._source(element, WHOLE), self._told(), (), capability, "Reduction")

    def _told(self) -> dict[str, str]:
        return {k: v for k, v in self._texts.items() if v.strip()}

    def _compiled(self, element: int) -> tuple[int, int, int, int]:
        """Addresses of functions and object, code and number of values of the answer."""
        made = self._made.get(element)
        if made is None:
            entry = load(self._source(element), self._told(), self._flags, "Reduction").warpfold_own_reduction
            functions, one, code, values = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
            entry.restype = None
            entry(ctypes.byref(functions), ctypes.byref(one), ctypes.byref(code), ctypes.byref(values))
            made = self._made[element] = (functions.value or 0, one.value or 0, code.value, values.value)
        return made

    def plan(self, element: int, masked: bool) -> _core.Plan:
        functions, one, _, _ = self._compiled(element)
        return _core.Plan(functions, one, element, masked)

    def room(self, element: int, n: int) -> np.ndarray[Any, Any]:
        _, _, code, values = self._compiled(element)
        size = 2 if code == BF16 else np.dtype(NAMES[code]).itemsize
        return bytes_for(n * values * size)

    def answer(self, element: int, raw: np.ndarray[Any, Any], shape: tuple[int, ...], source: Source) -> Any:
        _, _, code, values = self._compiled(element)
        found = raw.view(DTYPES[code] or np.uint16).reshape(shape if values == 1 else (*shape, values))
        if code != BF16:
            return source.give(found)
        return source.give_bf16(found)

    def __call__(self, x: Any, y: Any = None, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, where: Any = None,
                 out: Any = None, stream: Any = None) -> Any:
        """The answer of all elements, or one for each position along the other axes.

        Parameters
        ----------
        x, y : array_like
            One array, or two of one type and shape, as `inputs` says.
        axis : int, tuple of ints or None
            The axes to reduce over, negative ones from the last; None: all.
        keepdims : bool
            Reduced axes stay, with length 1.
        where : array_like of bool, optional
            The elements that count, of one array; of arrays of CuPy and PyTorch on a GPU, one or two, an array of theirs there.
        out : array, optional
            Where the answer goes, of its shape and dtype: a NumPy array, or, of elements on a GPU, one there.
        stream : stream, optional
            Where the reduction of elements on a GPU is put, as for the other functions.
        """
        if (y is None) != (self._inputs == 1):
            raise TypeError(f"Reduction: {1 if y is None else 2} arrays; inputs= says that it takes {self._inputs}")
        check_keepdims(keepdims, "Reduction")
        if self._calls is not None and where is None and out is None and stream is None:
            found = self._calls.quick(x, y, axis, bool(keepdims))
            if found is not None:
                return found
        if lies_on_gpu(x):
            if y is not None and not lies_on_gpu(y):
                raise TypeError("Reduction: one array on a GPU and one of the CPU; copy one of them")
            from ._own_gpu import reduce
            return reduce(self, x, y, axis, keepdims, where, out, stream)
        if stream is not None:
            raise ValueError("Reduction: stream= of an array in the CPU's memory; it is for those on a GPU")
        source = take(x, "Reduction")
        if source.more is not None:
            return self._of_pieces(source, axis, keepdims, where, out)
        view, element = source.view, source.view.dtype
        axes = axes_of(axis, len(view.shape), "Reduction")
        mask = both_masks(source.mask, mask_of(where, view.shape, "Reduction"))
        second, plan = mask, None
        if self._inputs == 2:
            other = one_piece(take(y, "Reduction"), "Reduction")
            if mask is not None or other.mask is not None:
                raise TypeError("Reduction: a mask of two arrays; fill the masked elements")
            second = other.view
            if (second.dtype, second.shape) != (element, view.shape):
                raise TypeError(f"Reduction: {NAMES[element]} of the shape {view.shape} and {NAMES[second.dtype]} of {second.shape}; "
                                "both arrays are of one type and shape")
        kept = tuple(n for d, n in enumerate(view.shape) if d not in axes)
        plan = self.plan(element, mask is not None)
        raw = self.room(element, math.prod(kept))
        plan.run(view, second, axes if len(axes) < len(view.shape) else None, None, None, 0, raw)
        shape = tuple(1 if d in axes else n for d, n in enumerate(view.shape)) if keepdims else kept
        answer = self.answer(element, raw, shape, source)
        return answer if out is None else into(out, answer, "Reduction")

    def _of_pieces(self, source: Source, axis: Any, keepdims: bool, where: Any, out: Any) -> Any:
        axes_of(axis, 1, "Reduction")
        if self._inputs == 2:
            one_piece(source, "Reduction")
        element = source.view.dtype
        plan = self.plan(element, True)
        for view, mask in counted(chain(((source.view, source.mask),), source.more or ()), where, "Reduction"):
            plan.add(view, mask if mask is not None else _core.view_of_buffer(np.ones(view.shape, bool)))
        raw = self.room(element, 1)
        plan.finish(raw)
        answer = self.answer(element, raw, (1,) if keepdims else (), source)
        return answer if out is None else into(out, answer, "Reduction")


def _again(given: dict[str, Any]) -> Reduction:
    return Reduction(**given)
