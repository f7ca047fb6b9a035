# SPDX-License-Identifier: Apache-2.0
"""Exact reductions of PyTorch's tensors: as operators with derivatives, and as a mode that makes PyTorch's own exact.

``torch.ops.warpfold.sum``, ``mean``, ``var``, ``norm`` and ``logsumexp`` take a tensor, ``dim`` and ``keepdim`` (`var` also ``correction``, which may be
a fraction, all but `logsumexp` also ``rounding``). They have fake implementations and derivatives, so `torch.compile` and autograd go through
them. Derivatives are those of `backward`: PyTorch's operators of this kind have none in forward mode, which is refused.

>>> import torch, warpfold.torch
>>> x = torch.tensor([1e8, 1.0, -1e8], requires_grad=True)
>>> torch.ops.warpfold.sum(x).item()
1.0
>>> with warpfold.torch.exact():
...     x.sum().item()
1.0
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from . import _core, _functions
from ._general import OP, PUBLIC, axes_of
from ._inputs import NAMES

try:
    _torch: Any = importlib.import_module("torch")
    _modes: Any = importlib.import_module("torch.utils._python_dispatch")
    _library: Any = importlib.import_module("torch.library")
    _forward_ad: Any = importlib.import_module("torch.autograd.forward_ad")
    _transforms: Any = importlib.import_module("torch._functorch.eager_transforms")
    _library.custom_op
except (ImportError, AttributeError) as e:
    raise ModuleNotFoundError(f"warpfold.torch needs PyTorch 2.4 or later: {e}") from None

__all__ = ["exact"]

_Tensor, _C = _torch.Tensor, _torch._C
_CODES = {getattr(_torch, name): k for k, name in enumerate(NAMES) if hasattr(_torch, name)}


def _code(x: Any, who: str) -> int:
    code = _CODES.get(x.dtype)
    if code is None:
        raise TypeError(f"{who}: elements of type {x.dtype}; they may be {', '.join(NAMES)}")
    return code


def _check_no_tangent(x: Any, who: str) -> None:
    """A derivative in forward mode, which PyTorch would take to be 0."""
    if _forward_ad._current_level < 0:
        return
    # torch.func.jvp shows nothing here but that it runs.
    if getattr(_transforms, "JVP_NESTING", 0) or _forward_ad.unpack_dual(x).tangent is not None:
        raise NotImplementedError(f"warpfold::{who}: derivatives in forward mode; there are those of backward()")


def _readable(x: Any) -> Any:
    if x.requires_grad or x.is_neg() or x.is_conj():
        return x.detach().resolve_conj().resolve_neg()
    return x


def _axes(dim: Any, x: Any) -> tuple[int, ...] | None:
    """PyTorch's dim: no dimensions are all, and a number has dimensions 0 and -1."""
    if dim is None:
        return None
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if not dims:
        return None
    if x.ndim == 0 and all(d in (0, -1) for d in dims):
        return None
    return dims


def _empty_answer(name: str, x: Any, dim: Any, keepdim: bool) -> Any:
    """What a fake tensor is answered by."""
    reduced = axes_of(_axes(dim, x), x.ndim, PUBLIC[name])
    shape = [1 if d in reduced else n for d, n in enumerate(x.shape) if keepdim or d not in reduced]
    code, _ = _core.answer_of(OP[name], _code(x, name))
    return x.new_empty(shape, dtype=getattr(_torch, NAMES[code]))


def _kept(y: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    """An answer, or its gradient, with the reduced dimensions in it."""
    axes = _axes(dim, x)
    if keepdim:
        return y
    if axes is None:
        return y.reshape([1] * x.ndim)
    for d in sorted(d % x.ndim for d in axes):
        y = y.unsqueeze(d)
    return y


def _count(x: Any, dim: Any) -> int:
    axes = _axes(dim, x)
    return int(x.numel()) if axes is None else math.prod(x.shape[d] for d in axes)


def _answer(name: str, x: Any, dim: Any, keepdim: bool, **more: Any) -> Any:
    _check_no_tangent(x, name)
    return getattr(_functions, name)(_readable(x), axis=_axes(dim, x), keepdims=keepdim, **more)


def _sum(x: Any, dim: Any = None, keepdim: bool = False, rounding: str = "nearest") -> Any:
    return _answer("sum", x, dim, keepdim, rounding=rounding)


def _mean(x: Any, dim: Any = None, keepdim: bool = False, rounding: str = "nearest") -> Any:
    return _answer("mean", x, dim, keepdim, rounding=rounding)


def _var(x: Any, dim: Any = None, correction: float = 1.0, keepdim: bool = False, rounding: str = "nearest") -> Any:
    divide = int(correction) if correction.is_integer() else correction  # whole numbers take the quick path
    return _answer("var", x, dim, keepdim, correction=divide, rounding=rounding)


def _norm(x: Any, dim: Any = None, keepdim: bool = False, rounding: str = "nearest") -> Any:
    return _answer("norm", x, dim, keepdim, rounding=rounding)


def _logsumexp(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _answer("logsumexp", x, dim, keepdim)


def _of_sum(g: Any, x: Any, y: Any, dim: Any, keepdim: bool, correction: float) -> Any:
    return _kept(g, x, dim, keepdim).expand(x.shape)


def _of_mean(g: Any, x: Any, y: Any, dim: Any, keepdim: bool, correction: float) -> Any:
    return (_kept(g, x, dim, keepdim) / _count(x, dim)).expand(x.shape)


def _of_var(g: Any, x: Any, y: Any, dim: Any, keepdim: bool, correction: float) -> Any:
    centred = x - _torch.ops.warpfold.mean(x, dim, True)
    divide = _count(x, dim) - correction
    return _kept(g, x, dim, keepdim) * centred * (2 / divide if divide > 0 else math.nan)  # as the variance is


def _of_norm(g: Any, x: Any, y: Any, dim: Any, keepdim: bool, correction: float) -> Any:
    length = _kept(y, x, dim, keepdim)
    return _kept(g, x, dim, keepdim) * x / length.masked_fill(length == 0, 1)  # 0 where all are


def _of_logsumexp(g: Any, x: Any, y: Any, dim: Any, keepdim: bool, correction: float) -> Any:
    return _kept(g, x, dim, keepdim) * (x - _kept(y, x, dim, keepdim)).exp()


def _register(name: str, op: str, run: Callable[..., Any], gradient: Callable[..., Any]) -> None:
    takes_correction, rounds = name == "var", name != "logsumexp"
    schema = "(Tensor x, int[1]? dim=None, " + "float correction=1, " * takes_correction + "bool keepdim=False" + ', str rounding="nearest"' * rounds + ") -> Tensor"
    made = _library.custom_op(f"warpfold::{name}", run, mutates_args=(), device_types=("cpu", "cuda"), schema=schema)

    def fake(x: Any, dim: Any = None, *rest: Any) -> Any:
        keepdim = rest[1 if takes_correction else 0] if len(rest) > int(takes_correction) else False
        return _empty_answer(op, x, dim, keepdim)

    def remember(ctx: Any, inputs: Any, output: Any) -> None:
        x, dim, *rest = inputs
        ctx.dim, ctx.correction, ctx.keepdim = dim, rest[0] if takes_correction else 0, rest[int(takes_correction)]
        ctx.save_for_backward(x, output)

    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        if x.is_complex() and name not in ("sum", "mean"):
            raise TypeError(f"warpfold::{name}: derivatives are of real numbers")
        return (gradient(g, x, y, ctx.dim, ctx.keepdim, ctx.correction), *[None] * (2 + takes_correction + rounds))

    _library.register_fake(f"warpfold::{name}", fake)
    made.register_autograd(backward, setup_context=remember)


def _quicken(name: str, op: str) -> None:
    """Plain tensors on a GPU are answered before PyTorch chooses among an operator's functions, which takes longer than all else. What PyTorch heeds there
    is asked first: modes, torch.jit.trace, the profiler, derivatives in forward mode. A tensor that is not plain (that of a transform of torch.func has no memory) goes PyTorch's
    way, as do all of a PyTorch that has other names for these."""
    try:
        modes, functions, trace, profiler = _C._len_torch_dispatch_stack, _C._len_torch_function_stack, _C._get_tracing_state, _C._autograd._profiler_enabled
    except AttributeError:
        return
    code, forward, on_gpu, packet = OP[op], _forward_ad, _core.on_gpu, getattr(_torch.ops.warpfold, name)

    def found(x: Any, dim: Any, keepdim: Any, correction: Any, rounding: Any) -> Any:
        if type(x) is not _Tensor or modes() or functions() or trace() or profiler() or forward._current_level >= 0:
            return NotImplemented
        return on_gpu(code, x, dim, keepdim, correction, rounding)

    def quick(kind: Any) -> Any:
        """A class of the same operators, whose calls look here first. PyTorch itself refuses what the schema does not name."""
        def var(self: Any, /, x: Any = None, dim: Any = None, correction: Any = 1, keepdim: Any = False, rounding: Any = "nearest", *rest: Any, **named: Any) -> Any:
            if not rest and not named:
                whole = int(correction) if isinstance(correction, float) and correction.is_integer() else correction
                answer = found(x, dim, keepdim, whole, rounding)
                if answer is not NotImplemented:
                    return answer
            return kind.__call__(self, *(() if x is None else (x, dim, correction, keepdim, rounding)), *rest, **named)

        def logsumexp(self: Any, /, x: Any = None, dim: Any = None, keepdim: Any = False, *rest: Any, **named: Any) -> Any:
            if not rest and not named:
                answer = found(x, dim, keepdim, 0, "nearest")
                if answer is not NotImplemented:
                    return answer
            return kind.__call__(self, *(() if x is None else (x, dim, keepdim)), *rest, **named)

        def other(self: Any, /, x: Any = None, dim: Any = None, keepdim: Any = False, rounding: Any = "nearest", *rest: Any, **named: Any) -> Any:
            if not rest and not named:
                answer = found(x, dim, keepdim, 0, rounding)
                if answer is not NotImplemented:
                    return answer
            return kind.__call__(self, *(() if x is None else (x, dim, keepdim, rounding)), *rest, **named)

        calls: dict[str, Any] = {"var": var, "logsumexp": logsumexp}
        return type(kind.__name__, (kind,), {"__call__": calls.get(name, other), "__module__": kind.__module__})

    for called in (packet.default, packet):
        called.__class__ = quick(type(called))


for _name, _op, _run, _gradient in (("sum", "sum", _sum, _of_sum), ("mean", "mean", _mean, _of_mean), ("var", "var", _var, _of_var),
                                    ("norm", "norm2", _norm, _of_norm), ("logsumexp", "logsumexp", _logsumexp, _of_logsumexp)):
    _register(_name, _op, _run, _gradient)
    _quicken(_name, _op)


def _in_mode(name: str, x: Any, dim: Any, keepdim: bool, dtype: Any = None, **more: Any) -> Any:
    if dtype is not None and dtype != x.dtype:
        if not (dtype.is_floating_point or dtype.is_complex):
            return _in_mode(name, x.to(dtype), dim, keepdim, **more).to(dtype)
        if name in ("norm", "norm1", "norm_inf"):
            x, dtype = x.to(dtype), None  # elements are converted, as PyTorch does; floats to floats are rounded once instead
        else:
            more["dtype"] = NAMES[_CODES[dtype]]
    if name == "sum" and dtype is None and not (x.is_floating_point() or x.is_complex()):
        more["dtype"] = "int64"
    return getattr(_functions, name)(_readable(x), axis=_axes(dim, x), keepdims=keepdim, **more)


def _sum_or_mean(name: str) -> Callable[..., Any]:
    def f(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        if name == "mean" and not (x.is_floating_point() or x.is_complex()) and dtype is None:
            return NotImplemented  # which PyTorch refuses
        return _in_mode(name, x, dim, keepdim, dtype)
    return f


def _var_or_std(name: str) -> Callable[..., Any]:
    def f(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        if not (x.is_floating_point() or x.is_complex()):
            return NotImplemented
        return _in_mode(name, x, dim, keepdim, correction=1 if correction is None else correction)
    return f


def _with_mean(name: str) -> Callable[..., Any]:
    def f(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        spread = _var_or_std(name)(x, dim, correction=correction, keepdim=keepdim)
        return spread if spread is NotImplemented else (spread, _in_mode("mean", x, dim, keepdim))
    return f


def _vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    name = {1: "norm1", 2: "norm", math.inf: "norm_inf"}.get(2 if ord is None else ord)
    if name is None or not (x.is_floating_point() or x.is_complex()) or (x.is_complex() and name != "norm"):
        return NotImplemented
    return _in_mode(name, x, dim, keepdim, dtype)


def _logsumexp_in_mode(x: Any, dim: Any, keepdim: bool = False) -> Any:
    return _in_mode("logsumexp", x, dim, keepdim) if x.is_floating_point() else NotImplemented


_aten = _torch.ops.aten
_EXACT: dict[Any, Callable[..., Any]] = {_aten.sum: _sum_or_mean("sum"), _aten.mean: _sum_or_mean("mean"), _aten.var: _var_or_std("var"), _aten.std: _var_or_std("std"),
          _aten.var_mean: _with_mean("var"), _aten.std_mean: _with_mean("std"), _aten.linalg_vector_norm: _vector_norm,
          _aten.norm: _vector_norm, _aten.logsumexp: _logsumexp_in_mode}


_runs: dict[Any, Callable[..., Any] | None] = {}  # by overload: what is done in its place


class exact(_modes.TorchDispatchMode):  # type: ignore[misc]
    """A mode in which PyTorch's own sums, means, variances, norms and logsumexp are exact, however they are called.

    It covers `torch.sum`, `mean`, `var`, `std`, `var_mean`, `std_mean`, `norm` and `linalg.vector_norm` of orders 1, 2 and inf, `logsumexp`, their
    methods, and the same inside derivatives. It does not reach into kernels that sum by themselves, as `layer_norm` and `matmul`, nor
    into functions that `torch.compile` has compiled before.

    Raises
    ------
    TypeError
        A tensor on another device than the CPU or CUDA, or of a type that cannot be summed exactly; on CUDA also where the package was built
        without it.

    References
    ----------
    docs/python.md: what the mode reaches.

    Examples
    --------
    >>> import torch, warpfold.torch
    >>> with warpfold.torch.exact():
    ...     torch.tensor([1e8, 1.0, -1e8]).sum()
    tensor(1.)
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in _runs:
            _runs[func] = None if _named(func) else _EXACT.get(func.overloadpacket)
        run = _runs[func]
        x = args[0] if args else None
        if run is None or not isinstance(x, _Tensor) or x.is_meta:
            return func(*args, **(kwargs or {}))
        given = dict(kwargs or {})
        if not (x.is_cuda or x.is_cpu) or x.layout != _torch.strided or x.dtype not in _CODES:
            raise TypeError(f"warpfold.torch.exact: {func.overloadpacket.__name__} of a tensor of {x.dtype} on {x.device}, {x.layout}; exact are "
                            f"strided ones on the CPU or CUDA of {', '.join(NAMES)}")
        out = given.pop("out", None)
        answer = run(*args, **given)
        if answer is NotImplemented:
            return func(*args, **(kwargs or {}))
        return answer if out is None else out.resize_(answer.shape).copy_(answer)


def _named(func: Any) -> bool:
    return "names" in func._overloadname or "default_names" in func._overloadname
