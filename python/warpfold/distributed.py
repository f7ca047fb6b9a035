# SPDX-License-Identifier: Apache-2.0
"""Reductions over the ranks of mpi4py and of torch.distributed, with the same bits for any number of ranks.

`comm` is a communicator of mpi4py or a process group of torch.distributed; None is its default group. A group of nccl takes tensors
on its GPUs, and sends what lies in the CPU's memory by way of them. Neither library is imported before it is used. Each function is called by all
ranks, as any collective operation is.

    import warpfold.distributed as wfd
    wfd.sum(piece, comm)                      # the true sum of all ranks' pieces, rounded once, on each rank
    wfd.all_reduce(wf.ExactSum(piece), comm)  # the sum itself, to go on with
    wfd.all_reduce(tensor, comm)              # element by element
    wfd.all_reduce(tensor, comm, async_op=True).wait()
    wfd.clip_grad_norm_(model.parameters(), 1.0)
"""

from __future__ import annotations

import builtins
import hashlib
import sys
import weakref
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

import numpy as np

from . import _core, _device
from ._functions import mean as _mean
from ._functions import sum as _sum
from ._general import ONE_AXIS, axes_of
from ._inputs import BF16, NAMES, Source, code_of, is_integer, one_piece, take
from ._modules import need
from ._states import ExactMoments, ExactSum
from .states import OP_OF, Form

__all__ = ["Pending", "all_reduce", "answer", "argmax", "argmin", "clip_grad_norm_", "grad_norm", "max", "mean", "min", "norm",
           "reduce", "std", "sum", "var"]

Array = Any
Steps = Generator[Any, None, Any]
_AT_ONCE = 1 << 24        # elements of a tensor under way at a time: counts of MPI are 32 bits, and memory is finite
_AT_ONCE_THERE = 1 << 26  # the same on GPUs: shorter messages are slower there
_GATHERED = 1 << 16       # bytes of a tensor below which every rank gets all of it
_GATHERED_THERE = 1 << 24  # the same on two GPUs; on more, where each has more to take in, less


class _Message(NamedTuple):
    """The first thing that a call sends, once its ranks have agreed: an "add" of words, a "gather" or an "exchange" of bytes, so many of a rank."""

    kind: str
    size: int


def _mark(what: str) -> Array:
    return np.frombuffer(hashlib.blake2b(what.encode(), digest_size=16).digest(), np.uint8).copy()


class _History:
    """What the ranks of a group have agreed on, call by call. It is the same on all of them: a call that some rank did not come to, or that was refused, is not in it.

    So all ranks alike can tell what comes next where it came next before, and send that call's first message while they still agree; a rank that brings
    another thing sends as much of nothing. No rank then waits for a message that another does not send.
    """

    _sure = 2     # times that a call followed another one before it is expected
    _most = 4096  # calls that are remembered

    def __init__(self) -> None:
        self.marks: dict[str, Any] = {}  # of what was brought, in the memory that they are sent from
        self._after: dict[str, tuple[str, _Message, int]] = {}
        self._last = ""

    def expected(self) -> tuple[str, _Message] | None:
        what, message, times = self._after.get(self._last, ("", _Message("", 0), 0))
        return (what, message) if times >= self._sure and message.size > 0 else None

    def agreed(self, what: str, message: _Message) -> None:
        before, _, times = self._after.get(self._last, ("", message, 0))
        if len(self._after) >= self._most:
            self._after.clear()
            self.marks.clear()
        self._after[self._last] = (what, message, times + 1 if before == what else 1)
        self._last = what

    def refused(self) -> None:
        self._last = ""


# ---- The two libraries, told alike: one-dimensional NumPy arrays of int64 or of bytes.
#
# What communicates is a generator: it yields what was started, goes on when that has come, and returns its result.

class _Mpi:
    device = "cpu"  # where the tensors lie that it sends
    history: _History | None = None  # its ranks agree before they send anything

    def __init__(self, comm: Any) -> None:
        self.comm, self.size, self.rank = comm, comm.Get_size(), comm.Get_rank()

    def room(self, message: _Message) -> Any:
        raise NotImplementedError

    def alike(self, what: str) -> Callable[[], bool]:
        """Tells the ranks what this one brings, in 16 bytes; what it returns waits for the others', and says whether all bring the same."""
        return _marks_alike(self, _mark(what))

    def add(self, words: Array, root: int | None = None) -> Steps:
        out = np.empty_like(words)
        for at in range(0, len(words), _AT_ONCE):
            piece = slice(at, at + _AT_ONCE)
            if root is None:
                yield self.comm.Iallreduce(words[piece], out[piece])
            else:
                yield self.comm.Ireduce(words[piece], out[piece], root=root)
        return out

    def gather(self, data: Array, root: int | None = None, into: Any = None) -> Steps:
        out = np.empty((self.size, len(data)), np.uint8) if into is None else into.reshape(self.size, len(data))
        for at in range(0, len(data), _AT_ONCE):
            part = np.ascontiguousarray(data[at:at + _AT_ONCE])
            room = np.empty((self.size, len(part)), np.uint8)
            if root is None:
                yield self.comm.Iallgather(part, room)
            else:
                yield self.comm.Igather(part, room, root=root)
            out[:, at:at + _AT_ONCE] = room
        return out

    def exchange(self, parts: Array) -> tuple[Any, Callable[[], Array]]:
        """What was started, and what gives the bytes once they have come."""
        out = np.empty_like(parts)
        return self.comm.Ialltoall(parts, out), lambda: out

    @staticmethod
    def wait(started: Any) -> None:
        started.Wait()

    @staticmethod
    def has_come(started: Any) -> bool:
        return bool(started.Test())


_histories: Any = weakref.WeakKeyDictionary()


def _history_of(group: Any) -> _History:
    found: _History | None = _histories.get(group)
    if found is None:
        found = _histories[group] = _History()
    return found


class _Torch:
    def __init__(self, group: Any) -> None:
        torch = need("torch", "warpfold.distributed", "torch")
        self.torch, self.dist, self.group = torch, torch.distributed, group
        self.device = "cuda" if self.dist.get_backend(group) == "nccl" else "cpu"
        self.size, self.rank = self.dist.get_world_size(group), self.dist.get_rank(group)
        self.history = _history_of(self.dist.group.WORLD if group is None else group)

    def _root(self, root: int) -> int:
        return root if self.group is None else int(self.dist.get_global_rank(self.group, root))

    def _sent(self, data: Any) -> Any:
        """As a tensor of the group's device: of an array a copy, a tensor as it is."""
        if isinstance(data, np.ndarray):
            return self.torch.from_numpy(np.ascontiguousarray(data).copy()).to(self.device)
        return data

    @staticmethod
    def _as(given: Any, found: Any) -> Any:
        return found.cpu().numpy() if isinstance(given, np.ndarray) else found

    def add(self, words: Array, root: int | None = None) -> Steps:
        t = self._sent(words)
        if root is None:
            yield self.dist.all_reduce(t, group=self.group, async_op=True)
        else:
            yield self.dist.reduce(t, self._root(root), group=self.group, async_op=True)
        return self._as(words, t)

    def gather(self, data: Any, root: int | None = None, into: Any = None) -> Steps:
        t = self._sent(data)
        directly = into is not None and not isinstance(data, np.ndarray)
        out = into.reshape(self.size, len(t)) if directly else t.new_empty(self.size, len(t))
        rows = list(out.unbind(0))
        if root is None and self.device == "cuda":  # into lists NCCL gathers by one copy more
            yield self.dist.all_gather_into_tensor(out.view(-1), t, group=self.group, async_op=True)
        elif root is None:
            yield self.dist.all_gather(rows, t, group=self.group, async_op=True)
        else:
            yield self.dist.gather(t, rows if self.rank == root else None, self._root(root), group=self.group, async_op=True)
        found = self._as(data, out)
        if into is not None and not directly:
            into[:] = found.reshape(-1)
        return found

    def exchange(self, parts: Any) -> tuple[Any, Callable[[], Any]]:
        t = self._sent(parts)
        out = self.torch.empty_like(t)
        return self.dist.all_to_all_single(out.view(-1), t.view(-1), group=self.group, async_op=True), lambda: self._as(parts, out)

    def room(self, message: _Message) -> Any:
        """Memory of a message, of nothing that counts."""
        return self.torch.empty(message.size, dtype=self.torch.int64 if message.kind == "add" else self.torch.uint8, device=self.device)

    def alike(self, what: str) -> Callable[[], bool]:
        if self.device == "cpu":
            return _marks_alike(self, _mark(what))
        torch = self.torch
        t = self.history.marks.get(what)
        if t is None:
            t = self.history.marks[what] = torch.from_numpy(_mark(what)).to(self.device)
        found = t.new_empty(self.size * len(t))
        self.dist.all_gather_into_tensor(found, t, group=self.group, async_op=True).wait()  # for the stream, not for the host
        here = torch.empty(found.shape, dtype=found.dtype, pin_memory=True)
        here.copy_(found, non_blocking=True)
        come = torch.cuda.Event()
        come.record()

        def all_are() -> bool:
            come.synchronize()
            marks = here.numpy().reshape(self.size, -1)
            return bool((marks == marks[self.rank]).all())
        return all_are

    @staticmethod
    def wait(started: Any) -> None:
        started.wait()

    @staticmethod
    def has_come(started: Any) -> bool:
        return bool(started.is_completed())


class Pending:
    """What `async_op=True` gives: an all-reduce under way, while the caller goes on.

    The arrays that were given must stay as they are until it is done. All ranks wait for theirs in the same order, since wait()
    may send more: an all-reduce of a long tensor is an exchange and a gathering.
    """

    def __init__(self, ranks: _Mpi | _Torch, steps: Steps) -> None:
        self._ranks, self._steps = ranks, steps
        self._started: Any = None
        self._found: Any = None
        self._error: BaseException | None = None
        self._is_done = False
        self._next()

    def _next(self) -> None:
        try:
            self._started = next(self._steps)
        except StopIteration as end:
            self._found, self._is_done = end.value, True
        except BaseException as e:
            self._error, self._is_done = e, True

    def is_completed(self) -> bool:
        """Whether what is under way has come; wait() then waits for nothing, but may still send more."""
        return self._is_done or self._ranks.has_come(self._started)

    def wait(self) -> Any:
        """The result, as without `async_op`; a second call gives the same again. Raises what the call without it raises."""
        while not self._is_done:
            try:
                self._ranks.wait(self._started)
            except BaseException as e:
                self._error, self._is_done = e, True
                break
            self._next()
        self._started = None
        if self._error is not None:
            raise self._error
        return self._found


def _now(ranks: _Mpi | _Torch, steps: Steps) -> Any:
    """The result of steps, waited for."""
    return Pending(ranks, steps).wait()


def _ranks(comm: Any, who: str) -> _Mpi | _Torch:
    if hasattr(comm, "Allreduce") and hasattr(comm, "Get_rank"):
        return _Mpi(comm)
    torch = sys.modules.get("torch")
    if torch is not None and (comm is None or isinstance(comm, torch.distributed.ProcessGroup)):
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return _Torch(comm)
        raise ValueError(f"{who}: torch.distributed has no process group; init_process_group() makes one")
    raise TypeError(f"{who}: comm of type {type(comm).__name__}; it is a communicator of mpi4py or a process group of torch.distributed")


def _marks_alike(ranks: _Mpi | _Torch, mark: Array) -> Callable[[], bool]:
    under_way = Pending(ranks, ranks.gather(mark))
    return lambda: bool((under_way.wait() == mark).all())


def _imitated(ranks: _Mpi | _Torch, message: _Message) -> Steps:
    """A message of such a kind and size."""
    room = ranks.room(message)
    if message.kind == "add":
        yield from ranks.add(room)
    elif message.kind == "gather":
        yield from ranks.gather(room)
    else:
        started, _ = ranks.exchange(room.view(ranks.size, -1))
        yield started


def _begun(ranks: _Mpi | _Torch, what: str, who: str, message: _Message, steps: Callable[[], Steps]) -> Pending:
    """Begins steps(), whose first message is the given one, where all ranks bring the same; else ValueError on all of them alike: what is sent would be read wrongly.

    Where the ranks expect a call, its first message is on its way while they agree.
    """
    if ranks.size == 1:
        return Pending(ranks, steps())
    alike = ranks.alike(what)
    expected = ranks.history.expected() if ranks.history is not None else None
    mine = Pending(ranks, steps()) if expected == (what, message) else None
    other = Pending(ranks, _imitated(ranks, expected[1])) if expected is not None and mine is None else None
    if not alike():
        if other is not None:
            other.wait()
        if mine is not None:
            ranks.wait(mine._started)
        if ranks.history is not None:
            ranks.history.refused()
        raise ValueError(f"{who}: the ranks bring different things; rank {ranks.rank} brings {what}")
    if ranks.history is not None:
        ranks.history.agreed(what, message)
    if other is not None:
        other.wait()
    return Pending(ranks, steps()) if mine is None else mine


def _nothing() -> Steps:
    return
    yield  # it is a generator


def _agree(ranks: _Mpi | _Torch, what: str, who: str) -> None:
    """Raises ValueError on all ranks alike unless all bring the same kind of thing."""
    _begun(ranks, what, who, _Message("", 0), _nothing)


# ---- States.

_KINDS: tuple[tuple[Any, Any, Any, str], ...] = ((ExactSum, _core.words_of_sum, _core.sum_of_words, "sum"),
                                                 (ExactMoments, _core.words_of_moments, _core.moments_of_words, "mean_var"))


def _form_told(form: Form, given: Array) -> str:
    return f"states of {form.dtype.names[0].partition(': ')[2]} in the shape {given.shape}"  # type: ignore[index]


def _checked(ranks: _Mpi | _Torch, form: Form, states: Array, who: str) -> Array:
    """The states, of which all ranks bring the same kind."""
    given = form.check(states)
    _agree(ranks, _form_told(form, given), who)
    return given


def _merged(ranks: _Mpi | _Torch, form: Form, given: Array, root: int | None) -> Steps:
    if form.adds:
        words = yield from ranks.add(form.words(given).reshape(-1), root)
        if root is not None and ranks.rank != root:
            return None
        return form.settle(words.view(form.dtype).reshape(given.shape))
    rows = yield from ranks.gather(given.reshape(-1).view(np.uint8), root)
    if root is not None and ranks.rank != root:
        return None
    return form.merge(*(row.view(form.dtype).reshape(given.shape) for row in rows))


def _states(x: Any, ranks: _Mpi | _Torch, root: int | None, who: str) -> Pending:
    if root is not None and not 0 <= root < ranks.size:
        raise ValueError(f"{who}: root={root}; there are the ranks 0 to {ranks.size - 1}")
    known = next((k for k in _KINDS if isinstance(x, k[0])), None)
    if known is not None:
        form = Form(known[3], "reals")
        given = np.frombuffer(known[1](x._state), form.dtype).reshape(())
    else:
        form = Form.of_dtype(x.dtype)
        given = form.check(x)

    def run() -> Steps:
        found = yield from _merged(ranks, form, given, root)
        return found if found is None or known is None else known[0]._of(known[2](found.tobytes()))
    size = given.size * form.dtype.itemsize
    message = _Message("", 0) if root is not None else _Message("add", size // 8) if form.adds else _Message("gather", size)
    return _begun(ranks, _form_told(form, given), who, message, run)


def _is_states(x: Any) -> bool:
    return isinstance(x, (ExactSum, ExactMoments)) or (isinstance(x, np.ndarray) and x.dtype.names is not None)


def all_reduce(x: Any, comm: Any = None, *, op: str = "sum", async_op: bool = False) -> Any:
    """All ranks' states merged, or all ranks' arrays added element by element, on each rank.

    Parameters
    ----------
    x : ExactSum, ExactMoments, array of states, numpy.ndarray or torch.Tensor
        Kind, type and shape are the same on each rank.
    comm : mpi4py.MPI.Comm or torch.distributed.ProcessGroup, optional
    op : {"sum", "mean"}
        What is made of arrays of numbers: the true sum or mean over the ranks, rounded once. Sums of integers are taken modulo their range.
    async_op : bool
        The call returns once the ranks have agreed on what they bring, with a `Pending`; its wait() gives the result.

    Returns
    -------
    The same kind of thing, or a `Pending`; `x` is left as it is.

    Raises
    ------
    ValueError
        On every rank, if the ranks bring different things.
    TypeError
        What is none of these.
    """
    if op not in ("sum", "mean"):
        raise ValueError(f"all_reduce: op={op!r}; it is 'sum' or 'mean'")
    if _is_states(x):
        if op != "sum":
            raise ValueError("all_reduce: op='mean' of states; merge them, and ask for the mean")
    ranks = _ranks(comm, "all_reduce")
    under_way = _states(x, ranks, None, "all_reduce") if _is_states(x) else _elements(x, ranks, op)
    return under_way if async_op else under_way.wait()


def reduce(x: Any, comm: Any = None, *, root: int = 0, async_op: bool = False) -> Any:
    """All ranks' states merged, on one rank; None on the others. Parameters and errors are those of `all_reduce`."""
    if not _is_states(x):
        raise TypeError(f"reduce: an object of type {type(x).__name__}; it takes an ExactSum, ExactMoments or an array of states")
    ranks = _ranks(comm, "reduce")
    under_way = _states(x, ranks, root, "reduce")
    return under_way if async_op else under_way.wait()


# ---- Element by element.

def _gathered(ranks: _Mpi | _Torch) -> int:
    """Bytes of a tensor up to which every rank gets all of it; docs/log/2026-11-25-two-gpus.md has what that takes."""
    if ranks.device == "cpu":
        return _GATHERED
    return int(_GATHERED_THERE * 8 // builtins.max(ranks.size, 2) ** 3) if ranks.size <= 12 else _GATHERED


def _elements(x: Any, ranks: _Mpi | _Torch, op: str) -> Pending:
    torch = sys.modules.get("torch")
    tensor = torch is not None and isinstance(x, torch.Tensor)
    if not tensor and not isinstance(x, np.ndarray):
        raise TypeError(f"all_reduce: an object of type {type(x).__name__}; it takes states, NumPy arrays and tensors")
    if tensor and x.device.type != ranks.device:
        raise TypeError(f"all_reduce: a tensor on {x.device}; these ranks send tensors on {ranks.device}")
    code = code_of(x.dtype, "all_reduce")
    if NAMES[code] == "bool" or (op == "mean" and is_integer(code)):
        raise TypeError(f"all_reduce: the {op} of {NAMES[code]}; convert the array before")
    if tensor:
        flat = x.detach().contiguous().reshape(-1)
        data = flat.view(torch.uint8) if len(flat) else flat  # type: ignore[union-attr]
        size = flat.element_size()
        if isinstance(ranks, _Mpi):
            data = data.numpy()
    else:
        flat = np.ascontiguousarray(x, x.dtype.newbyteorder("=")).reshape(-1)
        data, size = flat.view(np.uint8), flat.itemsize
    as_numpy = isinstance(data, np.ndarray)

    def over_ranks(rows: Any) -> Any:
        """Bytes of the sums, of those of each rank's elements."""
        numbers = rows.view(flat.dtype) if tensor != as_numpy else torch.from_numpy(rows).view(flat.dtype)  # type: ignore[union-attr]
        found = (_sum if op == "sum" else _mean)(numbers, axis=0)
        if not tensor:
            return np.ascontiguousarray(found.astype(flat.dtype, copy=False)).view(np.uint8)
        raw = found.to(flat.dtype).contiguous().view(torch.uint8)  # type: ignore[union-attr]
        return raw.numpy() if as_numpy else raw

    def given_back(out: Any) -> Any:
        if tensor:
            return (torch.from_numpy(out) if as_numpy else out).view(flat.dtype).reshape(x.shape)  # type: ignore[union-attr]
        return out.view(flat.dtype).reshape(x.shape)

    at_once, gathered = (_AT_ONCE if ranks.device == "cpu" else _AT_ONCE_THERE) * size, _gathered(ranks)
    unit = 16 * size * ranks.size  # shares begin where loads are aligned; what is left over is gathered
    shared = 0 if len(data) <= gathered or ranks.size == 1 else len(data) // unit * unit
    step = builtins.max(at_once // unit * unit, unit)
    if not shared:  # long ones of a rank alone too, in pieces
        step = builtins.max(at_once, size)

    def run() -> Steps:
        if len(data) == 0:
            return x.clone() if tensor else x.astype(flat.dtype)
        if not shared and len(data) <= step:
            return given_back(over_ranks((yield from ranks.gather(data))))
        out = np.empty(len(data), np.uint8) if as_numpy else torch.empty_like(data)  # type: ignore[union-attr]
        pieces = [slice(at, builtins.min(at + step, shared)) for at in range(0, shared, step)]
        coming = [ranks.exchange(data[p].reshape(ranks.size, -1)) for p in pieces[:1]]
        for k, p in enumerate(pieces):
            started, rows = coming.pop()
            yield started
            coming += [ranks.exchange(data[n].reshape(ranks.size, -1)) for n in pieces[k + 1:k + 2]]  # while this one is added
            yield from ranks.gather(over_ranks(rows()), into=out[p])
        for at in range(shared, len(data), step):
            out[at:at + step] = over_ranks((yield from ranks.gather(data[at:at + step])))
        return given_back(out)

    message = _Message("exchange", builtins.min(step, shared)) if shared else _Message("gather", builtins.min(step, len(data)))
    return _begun(ranks, f"the {op} of {NAMES[code]} in the shape {tuple(x.shape)}", "all_reduce", message, run)


# ---- From arrays to answers.

def answer(reduction: str, x: Any, comm: Any = None, *, axis: Any = None, dtype: Any = None, keepdims: bool = False,
           correction: float = 0, rounding: str = "nearest", skip_nans: bool = False) -> Any:
    """The answer of a reduction of all ranks' pieces together, on each rank.

    Parameters
    ----------
    reduction : str
        Any that `warpfold.states.Form` takes.
    x : array_like
        This rank's piece, cut along a reduced axis; it may have no elements. For `argmin` and `argmax` the pieces lie in the
        order of the ranks, cut along `axis`, or along the first one.
    comm : mpi4py.MPI.Comm or torch.distributed.ProcessGroup, optional
    axis, dtype, keepdims, correction, rounding
        As the function of the reduction in `warpfold` has them.
    skip_nans : bool
        NaNs are left out.

    Returns
    -------
    scalar or array, or a tuple of two
        What the function gives for the whole array.

    Raises
    ------
    ValueError
        On every rank, if the pieces are of different types, or their answers of different shapes.
    """
    ranks = _ranks(comm, reduction)
    source: Source = one_piece(take(x, reduction), reduction)
    if reduction not in OP_OF:
        raise TypeError(f"answer: reduction={reduction!r}; it may be {', '.join(sorted(OP_OF))}")
    form = Form(reduction, source.bf16 or NAMES[source.view.dtype], answer=dtype)
    shape, first = source.view.shape, 0
    axes = axes_of(axis, len(shape), reduction)
    if form.op in ONE_AXIS and shape:
        if axis is not None and len(axes) != 1:
            raise TypeError(f"{reduction}: axis={axis!r}; it is one axis, or None")
        rest = [n for d, n in enumerate(shape) if d > 0] if axis is None else []
        _agree(ranks, f"pieces of rows of the shape {tuple(rest)}", reduction)
        here = source.view.size if axis is None else shape[axes[0]]
        sizes = _now(ranks, ranks.gather(np.array([here], np.int64).view(np.uint8))).view(np.int64)
        first = int(sizes[:ranks.rank].sum())
    states = form.of(x, axis=axis, keepdims=keepdims, skip_nans=skip_nans, first=first)
    merged = _now(ranks, _merged(ranks, form, _checked(ranks, form, states, reduction), None))
    found = form.values(merged, rounding=rounding, correction=correction,
                        fewest=0 if skip_nans else None)
    is_bf16 = source.to_bf16 is not None and (dtype is None or code_of(dtype, reduction) == BF16)

    def given(f: Array) -> Any:
        return source.to_bf16(source.give(f)) if is_bf16 and f.dtype == np.float32 else source.give(f)  # type: ignore[misc]
    return tuple(given(f) for f in found) if isinstance(found, tuple) else given(found)


def sum(x: Any, comm: Any = None, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, rounding: str = "nearest",
        skip_nans: bool = False) -> Any:
    """The true sum of all ranks' pieces, rounded once; see `answer`."""
    return answer("sum", x, comm, axis=axis, dtype=dtype, keepdims=keepdims, rounding=rounding, skip_nans=skip_nans)


def mean(x: Any, comm: Any = None, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, rounding: str = "nearest",
         skip_nans: bool = False) -> Any:
    """The true mean of all ranks' pieces, rounded once; see `answer`."""
    return answer("mean", x, comm, axis=axis, dtype=dtype, keepdims=keepdims, rounding=rounding, skip_nans=skip_nans)


def var(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, correction: float = 0, rounding: str = "nearest",
        skip_nans: bool = False) -> Any:
    """The true variance of all ranks' pieces, rounded once; see `answer`."""
    return answer("var", x, comm, axis=axis, keepdims=keepdims, correction=correction, rounding=rounding, skip_nans=skip_nans)


def std(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, correction: float = 0, rounding: str = "nearest",
        skip_nans: bool = False) -> Any:
    """The root of the true variance, rounded once; see `answer`."""
    return answer("std", x, comm, axis=axis, keepdims=keepdims, correction=correction, rounding=rounding, skip_nans=skip_nans)


def norm(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, rounding: str = "nearest",
         skip_nans: bool = False) -> Any:
    """The Euclidean norm of all ranks' pieces, rounded once; see `answer`."""
    return answer("norm", x, comm, axis=axis, keepdims=keepdims, rounding=rounding, skip_nans=skip_nans)


def min(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, skip_nans: bool = False) -> Any:
    """The least element of all ranks' pieces; see `answer`."""
    return answer("min", x, comm, axis=axis, keepdims=keepdims, skip_nans=skip_nans)


def max(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, skip_nans: bool = False) -> Any:
    """The greatest element of all ranks' pieces; see `answer`."""
    return answer("max", x, comm, axis=axis, keepdims=keepdims, skip_nans=skip_nans)


def argmin(x: Any, comm: Any = None, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index in the whole array of the first least element; see `answer`."""
    return answer("argmin", x, comm, axis=axis, keepdims=keepdims)


def argmax(x: Any, comm: Any = None, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index in the whole array of the first greatest element; see `answer`."""
    return answer("argmax", x, comm, axis=axis, keepdims=keepdims)


# ---- Gradients in shards.

def _gradients(parameters: Any) -> list[Any]:
    torch = need("torch", "warpfold.distributed", "torch")
    given = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    return [p.grad for p in given if p.grad is not None]


def _local(gradient: Any) -> Any:
    return (gradient.to_local() if hasattr(gradient, "to_local") else gradient).detach()


def _counts_here(gradient: Any, ranks: _Mpi | _Torch) -> bool:
    """Whether this rank's part of a gradient counts: of a DTensor's copies that of the first of these ranks does."""
    placements = getattr(gradient, "placements", None)
    if placements is None:
        return True
    if any(p.is_partial() for p in placements):
        raise ValueError(f"grad_norm: a DTensor placed as {tuple(placements)}, whose sum over the ranks is not made yet; redistribute it first")
    mesh = gradient.device_mesh
    here = mesh.get_coordinate()
    if here is None:
        return False  # a rank outside the mesh has none of it
    copies = mesh.mesh[tuple(slice(None) if p.is_replicate() else c for p, c in zip(placements, here))].reshape(-1).tolist()
    if len(copies) == 1 or not isinstance(ranks, _Torch):
        return bool(copies[0] == mesh.get_rank())
    there = set(ranks.dist.get_process_group_ranks(ranks.group))
    return bool(next(r for r in copies if r in there) == mesh.get_rank())


# States of norms of gradients of each type; sums of their words travel together, whatever types a rank has. A digit weighs 2^32 times the one before, the first the
# square of the type's least number.
_NORMS = {name: (Form("norm", name), 2 * least) for name, least in (("float16", -24), ("bfloat16", -133), ("float32", -149), ("float64", -1074))}
_COUNTERS = 5


def _norm_words(form: Form, gradients: list[Any], device: str) -> Any:
    """The sum of the words of the gradients' states, where they lie."""
    if device == "cpu":
        return np.add.reduce([form.words(form.of(g.cpu())).reshape(-1) for g in gradients])
    torch = need("torch", "warpfold.distributed", "torch")
    states = torch.empty(len(gradients), form.dtype.itemsize // 8, dtype=torch.int64, device=device)
    for g, state in zip(gradients, states.unbind(0)):
        here = _device.Inputs(g.contiguous().reshape(-1), None, _device.Asked("grad_norm", "exact", "nearest", 0, None))
        _device.kernels("grad_norm").reduce(form.op, "exact", "nearest", 0, here.a, None, None, None, None, None, 0, 0, here.stream, state.data_ptr(), True)
    return states.sum(0)


def _norm_of_words(words: Array) -> float:
    """The norm of all that the words, those of each type after those of the one before, are sums of states of."""
    form, unit = _NORMS["float64"]  # whose digits take all others'
    whole = np.zeros(form.dtype.itemsize // 8, np.int64)
    total = at = 0
    for narrow, first in _NORMS.values():
        here = words[at:at + narrow.dtype.itemsize // 8].tolist()
        at += len(here)
        digits = here[1:-_COUNTERS]
        total += builtins.sum(d << 32 * k for k, d in enumerate(digits)) << first - unit
        whole[0] += here[0]
        whole[-_COUNTERS:] += np.array(here[-_COUNTERS:], np.int64)
    whole[1:-_COUNTERS] = [total >> 32 * k & 0xffffffff for k in range(len(whole) - 1 - _COUNTERS)]
    return float(form.values(whole.view(form.dtype).reshape(())))


def grad_norm(parameters: Iterable[Any], group: Any = None) -> float:
    """The Euclidean norm of all gradients, of which each rank holds other elements (its shards), rounded once to a float.

    The same bits for any number of ranks and any way of cutting the gradients. `parameters` are tensors, of which `grad` counts:
    the local part of a DTensor, as FSDP makes them; those without a gradient do not. What a DTensor's placements say several
    ranks of `group` hold counts once; plain tensors that every rank holds whole would count once a rank. Those
    on a GPU are reduced there, by ranks of nccl; other groups copy them to the CPU.
    """
    ranks = _ranks(group, "grad_norm")
    torch = need("torch", "warpfold.distributed", "torch")
    of_type: dict[str, list[Any]] = {name: [] for name in _NORMS}
    for g in _gradients(parameters):
        if _counts_here(g, ranks):
            local = _local(g)
            name = str(local.dtype).removeprefix("torch.")
            if name not in of_type:
                raise TypeError(f"grad_norm: a gradient of {name}; it may be of {', '.join(of_type)}")
            if local.numel():
                of_type[name].append(local.to(ranks.device))
    words = []
    for name, (form, _) in _NORMS.items():
        size = form.dtype.itemsize // 8
        if of_type[name]:
            words.append(_norm_words(form, of_type[name], ranks.device))
        else:
            words.append(np.zeros(size, np.int64) if ranks.device == "cpu" else torch.zeros(size, dtype=torch.int64, device=ranks.device))
    joined = np.concatenate(words) if ranks.device == "cpu" else torch.cat(words)

    def run() -> Steps:
        found = yield from ranks.add(joined)
        return _norm_of_words(found if isinstance(found, np.ndarray) else found.cpu().numpy())
    return float(_begun(ranks, "gradients, for their norm", "grad_norm", _Message("add", len(joined)), run).wait())


def clip_grad_norm_(parameters: Iterable[Any], max_norm: float, group: Any = None) -> float:
    """Scales gradients so that their norm is at most `max_norm`, as `torch.nn.utils.clip_grad_norm_` does; the norm before.

    What each rank holds are shards, as for `grad_norm`; the factor, and so every gradient, has the same bits for any number of
    ranks.
    """
    shards = list(parameters) if not hasattr(parameters, "grad") else [parameters]
    total = grad_norm(shards, group)
    factor = float(max_norm) / (total + 1e-6)
    if factor < 1 or total != total:
        for g in _gradients(shards):
            _local(g).mul_(factor)
    return total
