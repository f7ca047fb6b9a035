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

The examples below use `MPI.COMM_SELF`, a communicator of one rank.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
import weakref
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core, _device
from ._documents import F, documented
from ._functions import mean as _mean
from ._functions import sum as _sum
from ._general import ONE_AXIS, axes_of
from ._inputs import BF16, NAMES, Source, code_of, is_integer, one_piece, take
from ._modules import need
from ._states import ExactMoments, ExactSum
from .states import OP_OF, Form

if TYPE_CHECKING:
    from ._functions import Rounding

__all__ = ["Pending", "all_reduce", "answer", "argmax", "argmin", "clip_grad_norm_", "grad_norm", "max", "mean", "min", "norm",
           "reduce", "std", "sum", "var"]

Array = Any
Steps = Generator[Any, None, Any]
_AT_ONCE = 1 << 24        # elements of a tensor under way at a time: counts of MPI are 32 bits, and memory is finite
_AT_ONCE_THERE = 1 << 26  # the same on GPUs: shorter messages are slower there
_GATHERED = 1 << 16       # bytes of a tensor below which every rank gets all of it
_GATHERED_THERE = 1 << 24  # the same on two GPUs; on more, where each has more to take in, less
_TOGETHER = 1 << 16        # bytes of an expected message up to which the ranks' marks travel in it
_TOGETHER_THERE = 1 << 24  # the same on GPUs, where one more call of NCCL takes longer than a copy
_KEPT = 1 << 26            # bytes of GPU memory, at most, that a group keeps for its next messages
_MARK = 16                 # bytes that say what a rank brings


class _Message(NamedTuple):
    """The first thing that a call sends, once its ranks have agreed: an "add" of words, a "gather" or an "exchange" of bytes, so many of a rank."""

    kind: str
    size: int


class _Sent(NamedTuple):
    """A call that is one message: what it sends, words to be added or bytes to be gathered, and what makes its result of what has come, words or a row of bytes of each rank."""

    data: Any
    finish: Callable[[Any], Any]


def _row_of(size: int) -> int:
    """Bytes of a rank's mark and message, whole 16."""
    return _MARK + (size + _MARK - 1) // _MARK * _MARK


def _mark(what: str) -> Array:
    return np.frombuffer(hashlib.blake2b(what.encode(), digest_size=_MARK).digest(), np.uint8).copy()


class _History:
    """What the ranks of a group have agreed on, call by call. It is the same on all of them: a call that some rank did not come to, or that was refused, is not in it.

    So all ranks alike can tell what comes next where it came next before, and send that call's first message while they still agree; a rank that brings
    another thing sends as much of nothing. No rank then waits for a message that another does not send.
    """

    _sure = 2     # times that a call followed another one before it is expected
    _most = 4096  # calls that are remembered

    def __init__(self, device: str, size: int, rank: int) -> None:
        self.device, self.size, self.rank = device, size, rank  # the group's; it is not held itself
        self.unsettled: Pending | None = None  # a call that was begun and not yet agreed on
        self.plans: dict[Any, _Plan] = {}  # for tensors that were reduced
        self.kept: dict[str, Any] = {}     # what is made once: memory, options
        self._rooms: dict[int, _Room] = {}
        self._marks: dict[str, tuple[Array, Any]] = {}
        self._after: dict[str, tuple[str, _Message, int]] = {}
        self._last = ""

    def mark(self, what: str) -> Array:
        return self._mark_of(what)[0]

    def mark_there(self, what: str, torch: Any) -> Any:
        """The same on the GPU."""
        mark, there = self._mark_of(what)
        if there is None:
            there = torch.from_numpy(mark).to(self.device)
            self._marks[what] = mark, there
        return there

    def room(self, torch: Any, row: int) -> _Room:
        """Memory on the GPU of messages of so many bytes a rank, marks included."""
        found = self._rooms.get(row)
        if found is None:
            most = _KEPT // (self.size + 1)
            if builtins.sum(self._rooms) + row > most:
                self._rooms.clear()
            found = _Room(torch, self.size, row)
            if row <= most:
                self._rooms[row] = found
        return found

    def _mark_of(self, what: str) -> tuple[Array, Any]:
        found = self._marks.get(what)
        if found is None:
            if len(self._marks) >= self._most:
                self._marks.clear()
            found = self._marks[what] = _mark(what), None
        return found

    def settle(self) -> None:
        """Waits until the ranks have agreed on what was begun before: what is expected next hangs on it."""
        before = self.unsettled
        while before is not None and self.unsettled is before and not before.is_done:
            before.step()
        self.unsettled = None

    def expected(self) -> tuple[str, _Message] | None:
        what, message, times = self._after.get(self._last, ("", _Message("", 0), 0))
        return (what, message) if times >= self._sure and message.size > 0 else None

    def agreed(self, what: str, message: _Message) -> None:
        before, _, times = self._after.get(self._last, ("", message, 0))
        if len(self._after) >= self._most:
            self._after.clear()
        self._after[self._last] = (what, message, times + 1 if before == what else 1)
        self._last = what

    def refused(self) -> None:
        self._last = ""

    def agree_on(self, alike: bool, what: str, message: _Message, who: str) -> None:
        if not alike:
            self.refused()
            raise _refusal(self.rank, what, who)
        self.agreed(what, message)

    def there(self, torch: Any, size: int) -> Any:
        """Memory on the GPU, which is free again when a call is done."""
        found = self.kept.get("there")
        if found is None or len(found) < size:
            found = self.kept["there"] = torch.empty(builtins.max(size, 1 << 12), dtype=torch.uint8, device="cuda")
        return found[:size]

    def options(self, torch: Any, kind: str) -> Any:
        """Those of a collective that the current stream waits for, and the host does not; None where this PyTorch has no such."""
        if kind not in self.kept:
            made: Any = getattr(torch.distributed.distributed_c10d, kind, object)()
            self.kept[kind] = made if self.device == "cuda" and hasattr(made, "asyncOp") else None
            if self.kept[kind] is not None:
                made.asyncOp = False
        return self.kept[kind]


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
        dist = sys.modules["torch"].distributed
        found = _histories[group] = _History("cuda" if dist.get_backend(group) == "nccl" else "cpu", dist.get_world_size(group), dist.get_rank(group))
    return found


class _Room:
    """Memory on a GPU of a message of each rank with its mark before it."""

    def __init__(self, torch: Any, ranks: int, row: int) -> None:
        self.sent = torch.empty(row, dtype=torch.uint8, device="cuda")
        self.come = torch.empty(ranks * row, dtype=torch.uint8, device="cuda")
        self.rows, self.row = self.come.view(ranks, row), row
        self.sent_at, self.come_at = self.sent.data_ptr(), self.come.data_ptr()
        self._what = ""

    def marked(self, history: _History, what: str, torch: Any) -> _Room:
        if self._what != what:
            self.sent[:_MARK].copy_(history.mark_there(what, torch))
            self._what = what
        return self


class _Plan(NamedTuple):
    """An all-reduce of a tensor by one message, or of a state, as it was done before."""

    call: tuple[str, _Message]
    marks: bytes         # all ranks'
    compiled: Any
    device: int
    row: int = 0         # bytes of a message, its mark included
    op: int = 0
    code: int = 0
    elements: int = 0

    def of_tensor(self, x: Any, history: _History, group: Any, torch: Any) -> Any:
        """The answers: they are made on the GPU before the host knows whether the ranks bring the same, and are given to nobody if they do not."""
        stream = torch._C._cuda_getCurrentRawStream(self.device)
        room = history.room(torch, self.row).marked(history, self.call[0], torch)
        self.compiled.copied(self.device, room.sent_at + _MARK, x.data_ptr(), self.call[1].size, stream)
        work = group._allgather_base(room.come, room.sent, history.options(torch, "AllgatherOptions"))
        if work is not None:
            work.wait()  # for the stream, not for the host
        error = out = None
        try:
            out = torch.empty_like(x)
        except RuntimeError as e:  # no memory, on this rank alone
            error = e
        if out is None:
            told = self.compiled.taken(self.device, room.come_at, self.row, _MARK, history.size, stream)
        else:
            told = self.compiled.answered(self.op, self.code, history.size, self.elements, room.come_at, _MARK, self.row, self.device, stream, out.data_ptr())
        history.agree_on(told == self.marks, *self.call, "all_reduce")
        if error is not None:
            raise error
        return out

    def of_words(self, words: Array, history: _History, group: Any, torch: Any) -> Array:
        """The sums of a state's words."""
        stream = torch._C._cuda_getCurrentRawStream(self.device)
        there = history.there(torch, _MARK + words.nbytes)
        self.compiled.sent(self.device, there.data_ptr(), history.mark(self.call[0]).tobytes() + words.tobytes(), stream)
        work = group.allreduce([there.view(torch.int64)], history.options(torch, "AllreduceOptions"))
        if work is not None:
            work.wait()
        told = self.compiled.taken(self.device, there.data_ptr(), _MARK + words.nbytes, _MARK + words.nbytes, 1, stream)
        history.agree_on(told[:_MARK] == self.marks, *self.call, "all_reduce")
        return np.frombuffer(told, np.int64, len(words), _MARK)


def _again(x: Any, comm: Any, op: str) -> Any:
    """What all_reduce() of a group of nccl gives, where the same call is expected: by the fewest steps. None: it is for general code."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    group = torch.distributed.group.WORLD if comm is None else comm
    try:
        history: _History | None = _histories.get(group)
    except TypeError:  # what it is, general code says
        return None
    if history is None or history.device != "cuda":
        return None
    history.settle()
    expected = history.expected()
    if type(x) is torch.Tensor:
        plan = history.plans.get((x.dtype, x.shape, op))
        if plan is None or expected != plan.call or x.get_device() != plan.device or not x.is_contiguous() or x.is_neg() or x.is_conj():
            return None
        return plan.of_tensor(x, history, group, torch)
    plan = history.plans.get(type(x))
    if plan is None or expected != plan.call or op != "sum":
        return None
    known, form = _known(x)  # type: ignore[misc]
    words = np.frombuffer(known[1](x._state), np.int64)
    return known[0]._of(known[2](form.settle(plan.of_words(words, history, group, torch).view(form.dtype).reshape(())).tobytes()))


class _Torch:
    def __init__(self, group: Any, under_way: bool = False) -> None:
        self.torch = torch = need("torch", "warpfold.distributed", "torch")
        self.dist, self.group = torch.distributed, group
        self._of_group = self.dist.group.WORLD if group is None else group
        self.history = _history_of(self._of_group)
        self.device, self.size, self.rank = self.history.device, self.history.size, self.history.rank
        # Without it collectives of NCCL are put on the current stream, which costs less than streams that wait for each other.
        self.later, self.under_way = under_way, under_way or self.device == "cpu"

    def gather_flat(self, out: Any, sent: Any) -> Any:
        """All ranks' bytes one behind the other; what was started, or None where stream or host have waited."""
        options = self.history.options(self.torch, "AllgatherOptions")
        if self.later or options is None:
            return self.dist.all_gather_into_tensor(out, sent, group=self.group, async_op=self.later)
        work = self._of_group._allgather_base(out, sent, options)  # as all_gather_into_tensor() does, whose checks take as long again
        if work is not None:
            work.wait()
        return None

    def add_all(self, words: Any) -> Any:
        """The same of sums."""
        options = self.history.options(self.torch, "AllreduceOptions")
        if self.later or options is None:
            return self.dist.all_reduce(words, group=self.group, async_op=self.later)
        work = self._of_group.allreduce([words], options)
        if work is not None:
            work.wait()
        return None

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
            yield self.dist.all_reduce(t, group=self.group, async_op=self.under_way)
        else:
            yield self.dist.reduce(t, self._root(root), group=self.group, async_op=self.under_way)
        return self._as(words, t)

    def gather(self, data: Any, root: int | None = None, into: Any = None) -> Steps:
        t = self._sent(data)
        directly = into is not None and not isinstance(data, np.ndarray)
        out = into.reshape(self.size, len(t)) if directly else t.new_empty(self.size, len(t))
        rows = list(out.unbind(0))
        if root is None and self.device == "cuda":  # into lists NCCL gathers by one copy more
            yield self.dist.all_gather_into_tensor(out.view(-1), t, group=self.group, async_op=self.under_way)
        elif root is None:
            yield self.dist.all_gather(rows, t, group=self.group, async_op=True)
        else:
            yield self.dist.gather(t, rows if self.rank == root else None, self._root(root), group=self.group, async_op=self.under_way)
        found = self._as(data, out)
        if into is not None and not directly:
            into[:] = found.reshape(-1)
        return found

    def exchange(self, parts: Any) -> tuple[Any, Callable[[], Any]]:
        t = self._sent(parts)
        out = self.torch.empty_like(t)
        return self.dist.all_to_all_single(out.view(-1), t.view(-1), group=self.group, async_op=True), lambda: self._as(parts, out)

    def swap(self, data: Any, into: Any) -> Any:
        """What each of two ranks on GPUs sends to the other."""
        to_other = [0, 0]
        to_other[1 - self.rank] = len(data)
        return self.dist.all_to_all_single(into, data, to_other, to_other, group=self.group, async_op=self.under_way)

    def room(self, message: _Message) -> Any:
        """Memory of a message, of nothing that counts."""
        return self.torch.empty(message.size, dtype=self.torch.int64 if message.kind == "add" else self.torch.uint8, device=self.device)

    def alike(self, what: str) -> Callable[[], bool]:
        if self.device == "cpu":
            return _marks_alike(self, self.history.mark(what))
        torch, history = self.torch, self.history
        kept = history.kept.get("alike")
        if kept is None:
            found = torch.empty(self.size * _MARK, dtype=torch.uint8, device="cuda")
            kept = history.kept["alike"] = found, torch.empty(found.shape, dtype=found.dtype, pin_memory=True), torch.cuda.Event()
        found, here, come = kept
        started = self.gather_flat(found, history.mark_there(what, torch))
        if started is not None:
            started.wait()  # for the stream, not for the host
        here.copy_(found, non_blocking=True)
        found.zero_()  # nobody is to take them for those of a message that never comes
        come.record()

        def all_are() -> bool:
            come.synchronize()
            marks = here.numpy().reshape(self.size, -1)
            return bool((marks == marks[self.rank]).all())
        return all_are

    @staticmethod
    def wait(started: Any) -> None:
        if started is not None:  # else the stream waits
            started.wait()

    @staticmethod
    def has_come(started: Any) -> bool:
        return started is None or bool(started.is_completed())

    def go_together(self, message: _Message) -> bool:
        """Whether the ranks' marks travel in such a message."""
        size = message.size * (8 if message.kind == "add" else 1)
        return message.kind != "exchange" and size <= (_TOGETHER if self.device == "cpu" else _TOGETHER_THERE)

    def together(self, message: _Message, what: str, sent: _Sent | None) -> tuple[Any, Callable[[], tuple[bool, Any]]]:
        """Starts a message with this rank's mark before it, and what of it is sent, or nothing that counts. What was started, and what then tells
        whether all ranks brought the same, and the result."""
        if message.kind == "add":
            return self._added_together(message.size, what, sent)
        row = _row_of(message.size)
        if self.device == "cuda" and sent is not None and isinstance(sent.data, self.torch.Tensor):
            return self._gathered_there(row, what, sent)
        mark = self.history.mark(what)
        here = np.zeros(row, np.uint8)
        here[:_MARK] = mark
        if sent is not None:
            here[_MARK:_MARK + len(sent.data)] = sent.data if isinstance(sent.data, np.ndarray) else sent.data.numpy()
        d = self._there(here)
        out = d.new_empty(self.size * row)
        started = self.gather_flat(out, d)

        def come() -> tuple[bool, Any]:
            rows = self._back(out).reshape(self.size, row)
            alike = bool((rows[:, :_MARK] == mark).all())
            return alike, sent.finish(rows[:, _MARK:_MARK + len(sent.data)]) if alike and sent is not None else None
        return started, come

    def _there(self, here: Array) -> Any:
        """Bytes of the CPU's as a tensor of the group's device."""
        t = self.torch.from_numpy(here)
        return t if self.device == "cpu" else self.history.there(self.torch, len(here)).copy_(t)

    def _back(self, found: Any) -> Array:
        """The bytes of a tensor of the group's device, once they have come."""
        if self.device == "cpu":
            return found.numpy()
        here = found.cpu().numpy()
        found.zero_()  # nobody is to take them for those of a message that never comes
        return here

    def _added_together(self, size: int, what: str, sent: _Sent | None) -> tuple[Any, Callable[[], tuple[bool, Any]]]:
        torch, of_all = self.torch, self.history.mark(what).view(np.int64) * self.size
        if sent is not None and isinstance(sent.data, torch.Tensor):
            d = torch.cat((self.history.mark_there(what, torch).view(torch.int64), sent.data))
        else:
            words = np.zeros(2 + size, np.int64)
            words[:2] = self.history.mark(what).view(np.int64)
            if sent is not None:
                words[2:] = sent.data
            d = self._there(words.view(np.uint8)).view(torch.int64)
        started = self.add_all(d)

        def come() -> tuple[bool, Any]:
            # Marks are added as well: sums of unlike ones are not the number of ranks times this one, but by a chance of 2^-66 or less.
            words = self._back(d)
            alike = bool((words[:2] == of_all).all())
            return alike, sent.finish(words[2:]) if alike and sent is not None else None
        return started, come

    def _gathered_there(self, row: int, what: str, sent: _Sent) -> tuple[Any, Callable[[], tuple[bool, Any]]]:
        """The same where the message is a tensor on the GPU: the result is made there before the host knows whether the ranks bring the same, and is given to nobody if they do not."""
        torch, size = self.torch, len(sent.data)
        room = self.history.room(torch, row).marked(self.history, what, torch)
        room.sent[_MARK:_MARK + size].copy_(sent.data)
        started = self.gather_flat(room.come, room.sent)

        def come() -> tuple[bool, Any]:
            error = found = None
            try:
                found = sent.finish(room.rows[:, _MARK:_MARK + size])
            except Exception as e:
                error = e
            device = room.come.device.index
            told = _device.kernels("all_reduce").taken(device, room.come_at, row, _MARK, self.size, torch._C._cuda_getCurrentRawStream(device))
            alike = bool(told == self.history.mark(what).tobytes() * self.size)
            if alike and error is not None:
                raise error
            return alike, found
        return started, come


class Pending:
    """What `async_op=True` gives: an all-reduce under way, while the caller goes on.

    The arrays that were given must stay as they are until it is done. All ranks wait for theirs in the same order, since wait()
    may send more: an all-reduce of a long tensor is an exchange and a gathering.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import warpfold as wf, warpfold.distributed as wfd
    >>> under_way = wfd.all_reduce(wf.ExactSum([1e16, 2.0]), MPI.COMM_SELF, async_op=True)
    >>> under_way.wait().value()  # after other work
    1.0000000000000002e+16
    """

    def __init__(self, ranks: _Mpi | _Torch, steps: Steps) -> None:  # private: calls make it
        self._ranks, self._steps = ranks, steps
        self._started: Any = None
        self._found: Any = None
        self._error: BaseException | None = None
        self.is_done = False
        self._next()

    def _next(self) -> None:
        try:
            self._started = next(self._steps)
        except StopIteration as end:
            self._found, self.is_done = end.value, True
        except BaseException as e:
            self._error, self.is_done = e, True

    def step(self) -> None:
        """Waits for what was started, and starts what comes next; `wait` does so to the end.

        Returns
        -------
        None

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import warpfold as wf, warpfold.distributed as wfd
        >>> under_way = wfd.all_reduce(wf.ExactSum([1.0]), MPI.COMM_SELF, async_op=True)
        >>> under_way.step()
        >>> under_way.is_done
        True
        """
        try:
            self._ranks.wait(self._started)
        except BaseException as e:
            self._error, self.is_done = e, True
            return
        self._next()

    def is_completed(self) -> bool:
        """Whether what is under way has come; wait() then waits for nothing, but may still send more.

        Returns
        -------
        bool

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import warpfold as wf, warpfold.distributed as wfd
        >>> under_way = wfd.all_reduce(wf.ExactSum([1.0]), MPI.COMM_SELF, async_op=True)
        >>> while not under_way.is_completed():
        ...     pass  # other work
        >>> under_way.wait().value()
        1.0
        """
        return self.is_done or self._ranks.has_come(self._started)

    def wait(self) -> Any:
        """The result, as without `async_op`; a second call gives the same again.

        Returns
        -------
        What the call without `async_op` returns.

        Raises
        ------
        Exception
            What the call without `async_op` raises.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> import numpy, warpfold.distributed as wfd
        >>> wfd.all_reduce(numpy.array([0.5, 2.0]), MPI.COMM_SELF, async_op=True).wait().tolist()
        [0.5, 2.0]
        """
        while not self.is_done:
            self.step()
        self._started = None
        if self._error is not None:
            raise self._error
        return self._found


def _now(ranks: _Mpi | _Torch, steps: Steps) -> Any:
    """The result of steps, waited for."""
    return Pending(ranks, steps).wait()


def _ranks(comm: Any, who: str, under_way: bool = False) -> _Mpi | _Torch:
    if comm is not None and hasattr(comm, "Allreduce") and hasattr(comm, "Get_rank"):
        return _Mpi(comm)
    torch = sys.modules.get("torch")
    if torch is not None and (comm is None or isinstance(comm, torch.distributed.ProcessGroup)):
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return _Torch(comm, under_way)
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


def _steps_of(ranks: _Mpi | _Torch, kind: str, sent: _Sent) -> Steps:
    found = yield from (ranks.add if kind == "add" else ranks.gather)(sent.data)
    return sent.finish(found)


def _together(ranks: _Torch, what: str, who: str, message: _Message, expected: tuple[str, _Message], call: _Sent | Callable[[], Steps]) -> Steps:
    """The expected message with the ranks' marks in it; then what else all bring alike, if it is another thing."""
    mine = isinstance(call, _Sent) and expected == (what, message)
    started, come = ranks.together(expected[1], what, call if mine else None)  # type: ignore[arg-type]
    yield started
    ranks.history.unsettled = None
    alike, found = come()
    ranks.history.agree_on(alike, what, message, who)
    if mine:
        return found
    return (yield from _steps_of(ranks, message.kind, call) if isinstance(call, _Sent) else call())


def _refusal(rank: int, what: str, who: str) -> ValueError:
    return ValueError(f"{who}: the ranks bring different things; rank {rank} brings {what}")


def _remember(ranks: _Mpi | _Torch, key: Any, what: str, message: _Message, device: int, **more: int) -> None:
    """A call that _again() may meet."""
    if not isinstance(ranks, _Torch) or ranks.device != "cuda" or ranks.size == 1 or not ranks.go_together(message):
        return
    history = ranks.history
    if key in history.plans or any(history.options(ranks.torch, kind) is None for kind in ("AllgatherOptions", "AllreduceOptions")):
        return
    try:
        compiled = _device.kernels("all_reduce")
    except TypeError:  # states of the CPU's are sent by a package without CUDA too
        return
    if len(history.plans) >= 1024:
        history.plans.clear()
    mark = history.mark(what)
    marks = mark.tobytes() * ranks.size if message.kind == "gather" else (mark.view(np.int64) * ranks.size).tobytes()
    history.plans[key] = _Plan((what, message), marks, compiled, device, **more)


def _begun(ranks: _Mpi | _Torch, what: str, who: str, message: _Message, call: _Sent | Callable[[], Steps]) -> Pending:
    """Begins a call, whose first message is the given one, where all ranks bring the same; else ValueError on all of them alike: what is sent would be read wrongly.

    Where the ranks expect a call, its first message is on its way while they agree: a short one says by itself what its rank brings, and then the refusal comes
    by wait(); beside a longer one their marks are gathered.
    """
    def steps() -> Steps:
        return _steps_of(ranks, message.kind, call) if isinstance(call, _Sent) else call()
    if ranks.size == 1:
        return Pending(ranks, steps())
    expected = None
    if isinstance(ranks, _Torch):
        ranks.history.settle()
        expected = ranks.history.expected()
        if expected is not None and ranks.go_together(expected[1]):
            begun = Pending(ranks, _together(ranks, what, who, message, expected, call))
            ranks.history.unsettled = begun
            return begun
    alike = ranks.alike(what)
    mine = Pending(ranks, steps()) if expected == (what, message) else None
    other = Pending(ranks, _imitated(ranks, expected[1])) if expected is not None and mine is None else None
    if not alike():
        if other is not None:
            other.wait()
        if mine is not None:
            ranks.wait(mine._started)
        if ranks.history is not None:
            ranks.history.refused()
        raise _refusal(ranks.rank, what, who)
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


_forms: dict[Any, Form] = {}


def _known(x: Any) -> tuple[Any, Form] | None:
    """What is told of an ExactSum or ExactMoments; None of others."""
    kind = next((k for k in _KINDS if isinstance(x, k[0])), None)
    if kind is None:
        return None
    if kind[0] not in _forms:
        _forms[kind[0]] = Form(kind[3], "reals")
    return kind, _forms[kind[0]]


def _form_told(form: Form, given: Array) -> str:
    return f"states of {form.dtype.names[0].partition(': ')[2]} in the shape {given.shape}"  # type: ignore[index]


def _sent(form: Form, given: Array) -> tuple[_Message, _Sent]:
    """The one message that merges states on every rank, and what is made of it."""
    if form.adds:
        words = form.words(given).reshape(-1)
        return _Message("add", len(words)), _Sent(words, lambda found: form.settle(found.view(form.dtype).reshape(given.shape)))
    raw = given.reshape(-1).view(np.uint8)
    return _Message("gather", len(raw)), _Sent(raw, lambda rows: form.merge(*(np.ascontiguousarray(row).view(form.dtype).reshape(given.shape) for row in rows)))


def _to_root(ranks: _Mpi | _Torch, form: Form, given: Array, root: int) -> Steps:
    _, sent = _sent(form, given)
    found = yield from (ranks.add if form.adds else ranks.gather)(sent.data, root)
    return sent.finish(found) if ranks.rank == root else None


def _states(x: Any, ranks: _Mpi | _Torch, root: int | None, who: str) -> Pending:
    if root is not None and not 0 <= root < ranks.size:
        raise ValueError(f"{who}: root={root}; there are the ranks 0 to {ranks.size - 1}")
    which = _known(x)
    known = None if which is None else which[0]
    if which is not None:
        form = which[1]
        given = np.frombuffer(which[0][1](x._state), form.dtype).reshape(())
    else:
        form = Form.of_dtype(x.dtype)
        given = form.check(x)

    def as_given(found: Array) -> Any:
        return found if found is None or known is None else known[0]._of(known[2](found.tobytes()))

    def to_root() -> Steps:
        return as_given((yield from _to_root(ranks, form, given, root)))  # type: ignore[arg-type]
    if root is not None:
        return _begun(ranks, _form_told(form, given), who, _Message("", 0), to_root)
    message, sent = _sent(form, given)
    what = _form_told(form, given)
    if known is not None and type(x) is known[0]:
        _remember(ranks, type(x), what, message, ranks.torch.cuda.current_device() if ranks.device == "cuda" else 0)  # type: ignore[union-attr]
    return _begun(ranks, what, who, message, _Sent(sent.data, lambda found: as_given(sent.finish(found))))


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
        The call returns once the ranks have agreed on what they bring, with a `Pending`; its wait() gives the result. Where the same call came next before, and
        it is one short message, the call returns at once, and wait() waits for that too.

    Returns
    -------
    The same kind of thing, or a `Pending`; `x` is left as it is.

    Raises
    ------
    ValueError
        On every rank, if the ranks bring different things.
    TypeError
        What is none of these.

    References
    ----------
    docs/distributed.md: what is sent. docs/states.md: why states merge in any order.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy, warpfold as wf, warpfold.distributed as wfd
    >>> wfd.all_reduce(wf.ExactSum([1e16, 1.0, -1e16]), MPI.COMM_SELF).value()
    1.0
    >>> wfd.all_reduce(numpy.array([[1.0, 2.0], [3.0, 4.0]]), MPI.COMM_SELF, op="mean").tolist()  # each over the ranks
    [[1.0, 2.0], [3.0, 4.0]]
    """
    found = None if async_op else _again(x, comm, op)
    if found is not None:
        return found
    if op not in ("sum", "mean"):
        raise ValueError(f"all_reduce: op={op!r}; it is 'sum' or 'mean'")
    if _is_states(x):
        if op != "sum":
            raise ValueError("all_reduce: op='mean' of states; merge them, and ask for the mean")
    ranks = _ranks(comm, "all_reduce", async_op)
    under_way = _states(x, ranks, None, "all_reduce") if _is_states(x) else _elements(x, ranks, op)
    return under_way if async_op else under_way.wait()


def reduce(x: Any, comm: Any = None, *, root: int = 0, async_op: bool = False) -> Any:
    """All ranks' states merged, on one rank; None on the others.

    Parameters
    ----------
    x : ExactSum, ExactMoments or array of states
        Kind, type and shape are the same on each rank.
    comm : mpi4py.MPI.Comm or torch.distributed.ProcessGroup, optional
    root : int
        The rank that gets the states.
    async_op : bool
        As `all_reduce` has it.

    Returns
    -------
    The same kind of thing on the rank `root`, None on the others; or a `Pending` of that. `x` is left as it is.

    Raises
    ------
    ValueError
        On every rank, if the ranks bring different things; a `root` that there is not.
    TypeError
        What is none of these.

    References
    ----------
    docs/distributed.md: what is sent. docs/states.md: why states merge in any order.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import warpfold as wf, warpfold.distributed as wfd
    >>> merged = wfd.reduce(wf.ExactMoments([1.0, 2.0, 6.0]), MPI.COMM_SELF, root=0)
    >>> merged.mean(), merged.var()
    (3.0, 4.666666666666667)
    """
    if not _is_states(x):
        raise TypeError(f"reduce: an object of type {type(x).__name__}; it takes an ExactSum, ExactMoments or an array of states")
    ranks = _ranks(comm, "reduce", async_op)
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
        flat = x.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
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

    def of_rows(rows: Any) -> Any:
        """The result, of one row of bytes of each rank."""
        numbers = rows.view(flat.dtype) if not tensor else (torch.from_numpy(rows) if isinstance(rows, np.ndarray) else rows).view(flat.dtype)  # type: ignore[union-attr]
        found = (_sum if op == "sum" else _mean)(numbers, axis=0)
        if found.dtype != flat.dtype:
            found = found.to(flat.dtype) if tensor else found.astype(flat.dtype)
        return found.reshape(x.shape)

    def by_two() -> Steps:
        """As run(), where neither of two ranks sends anything to itself."""
        out, me = torch.empty_like(data), ranks.rank  # type: ignore[union-attr]
        compiled, stream = _device.kernels("all_reduce"), torch._C._cuda_getCurrentRawStream(x.device.index)  # type: ignore[union-attr]
        for at in range(0, shared, step):
            share = builtins.min(step, shared - at) // 2
            mine, others = (slice(at + k * share, at + k * share + share) for k in (me, 1 - me))
            come = torch.empty_like(data[mine])  # type: ignore[union-attr]
            yield ranks.swap(data[others], come)  # type: ignore[union-attr]
            compiled.of_two(OP_OF[op], code, share // size, data[mine].data_ptr(), come.data_ptr(), x.device.index, stream, out[mine].data_ptr())
            yield ranks.swap(out[mine], out[others])  # type: ignore[union-attr]
        if shared < len(data):
            out[shared:] = over_ranks((yield from ranks.gather(data[shared:])))
        return given_back(out)

    def run() -> Steps:
        if len(data) == 0:
            return x.clone() if tensor else x.astype(flat.dtype)
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
    what = f"the {op} of {NAMES[code]} in the shape {tuple(x.shape)}"
    there = isinstance(ranks, _Torch) and ranks.device == "cuda" and tensor and _core.answer_of(OP_OF[op], code)[0] == code
    call = _Sent(data, of_rows) if not shared and 0 < len(data) <= step else by_two if there and shared and ranks.size == 2 else run
    if there and isinstance(call, _Sent):
        _remember(ranks, (x.dtype, x.shape, op), what, message, x.device.index, row=_row_of(len(data)), op=OP_OF[op], code=code, elements=len(data) // size)
    return _begun(ranks, what, "all_reduce", message, call)


# ---- From arrays to answers.

def answer(reduction: str, x: Any, comm: Any = None, *, axis: Any = None, dtype: Any = None, keepdims: bool = False,
           correction: float = 0, rounding: Rounding = "nearest", skip_nans: bool = False) -> Any:
    """The answer of a reduction of all ranks' pieces together, on each rank.

    Parameters
    ----------
    reduction : str
        Any that `warpfold.states.Form` takes.
    x : array_like
        This rank's piece, cut along a reduced axis; it may have no elements. For `argmin` and `argmax` the pieces lie in the
        order of the ranks, cut along `axis`, or along the first one.
    comm : mpi4py.MPI.Comm or torch.distributed.ProcessGroup, optional
        None: the default group of torch.distributed.
    axis : int, tuple of ints or None
        The axes to reduce over; None: all.
    dtype : data type, optional
        The type of the answer, of sums and means; floats are rounded to it once, integers taken modulo its range.
    keepdims : bool
        Reduced axes stay, with length 1.
    correction : int or float
        Variances are divided by n - correction, n being the number of all ranks' elements.
    rounding : {"nearest", "zero", "away", "up", "down"}
        How the true answer is rounded.
    skip_nans : bool
        NaNs are left out.

    Returns
    -------
    scalar or array, or a tuple of two
        What the function gives for the whole array: shape and type are those of its answers, the kind of array is that of `x`.

    Raises
    ------
    ValueError
        On every rank, if the pieces are of different types, or their answers of different shapes; of no elements on any rank, `min` and its like.
    numpy.exceptions.AxisError
        Axes that the piece does not have.
    TypeError
        A reduction whose answer depends on the order; elements that are no numbers, or a `dtype` that would lose some of the answer; what is no communicator.

    References
    ----------
    docs/distributed.md: what is sent. docs/reductions.md: what is answered of nothing, of NaNs, of too large an answer.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import warpfold.distributed as wfd
    >>> piece = [[1e16, 5.0], [1.0, 6.0], [-1e16, 1.0]]
    >>> wfd.answer("sum_of_squares", piece, MPI.COMM_SELF, axis=0, rounding="up").tolist()
    [2e+32, 62.0]
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
    states = form.check(states)
    merged = _begun(ranks, _form_told(form, states), reduction, *_sent(form, states)).wait()
    found = form.values(merged, rounding=rounding, correction=correction,
                        fewest=0 if skip_nans else None)
    is_bf16 = source.to_bf16 is not None and (dtype is None or code_of(dtype, reduction) == BF16)

    def given(f: Array) -> Any:
        return source.to_bf16(source.give(f)) if is_bf16 and f.dtype == np.float32 else source.give(f)  # type: ignore[misc]
    return tuple(given(f) for f in found) if isinstance(found, tuple) else given(found)


_PARAMETERS = {
    "x": """x : array_like
    This rank's piece of the whole array; pieces may be of different lengths along a reduced axis, and empty.""",
    "comm": """comm : mpi4py.MPI.Comm or torch.distributed.ProcessGroup, optional
    None: the default group of torch.distributed.""",
    "axis": """axis : int, tuple of ints or None
    The axes to reduce over, of which one is that along which the pieces are cut; None: all. One axis for `argmin` and `argmax`.""",
    "dtype": """dtype : data type, optional
    The type of the answer; floats are rounded to it once, integers taken modulo its range.""",
    "keepdims": """keepdims : bool
    Reduced axes stay, with length 1.""",
    "correction": """correction : int or float
    The sum of squared differences is divided by n - correction, n being the number of all ranks' elements; NaN where that is not positive.""",
    "rounding": """rounding : {"nearest", "zero", "away", "up", "down"}
    How the true answer is rounded.""",
    "skip_nans": """skip_nans : bool
    NaNs are left out.""",
}
_SECTIONS = {
    "Returns": """
scalar or array
    The same on each rank: what `warpfold.NAME` gives of the whole array, of that shape and type, in the kind of array that `x` is.""",
    "Raises": """
ValueError
    On every rank, if the pieces are of different types, or their answers of different shapes; of no elements on any rank, where there is no answer of nothing.
numpy.exceptions.AxisError
    Axes that the piece does not have.
TypeError
    Elements that are no numbers, or a `dtype` that would lose some of the answer; what is no communicator.""",
    "References": """
docs/distributed.md: what is sent. docs/reductions.md: what is answered of nothing, of NaNs, of too large an answer.""",
}


def _as(call: str, answer: str) -> Callable[[F], F]:
    return documented(_PARAMETERS, _SECTIONS, f"""
>>> from mpi4py import MPI
>>> import numpy, warpfold.distributed as wfd
>>> piece = numpy.array([[1e16, 2.0], [1.0, 4.0], [-1e16, 9.0]])
>>> wfd.{call}
{answer}""")


@_as("sum(piece, MPI.COMM_SELF, axis=0).tolist()", "[1.0, 15.0]")
def sum(x: Any, comm: Any = None, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, rounding: Rounding = "nearest",
        skip_nans: bool = False) -> Any:
    """The true sum of all ranks' pieces, rounded once."""
    return answer("sum", x, comm, axis=axis, dtype=dtype, keepdims=keepdims, rounding=rounding, skip_nans=skip_nans)


@_as("mean(piece, MPI.COMM_SELF, axis=0).tolist()", "[0.3333333333333333, 5.0]")
def mean(x: Any, comm: Any = None, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, rounding: Rounding = "nearest",
         skip_nans: bool = False) -> Any:
    """The true mean of all ranks' pieces, rounded once."""
    return answer("mean", x, comm, axis=axis, dtype=dtype, keepdims=keepdims, rounding=rounding, skip_nans=skip_nans)


@_as("var(piece, MPI.COMM_SELF, axis=0, correction=1).tolist()", "[1e+32, 13.0]")
def var(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, correction: float = 0, rounding: Rounding = "nearest",
        skip_nans: bool = False) -> Any:
    """The true variance of all ranks' pieces, rounded once."""
    return answer("var", x, comm, axis=axis, keepdims=keepdims, correction=correction, rounding=rounding, skip_nans=skip_nans)


@_as("std(piece[:, 1], MPI.COMM_SELF, correction=1).item()", "3.605551275463989")
def std(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, correction: float = 0, rounding: Rounding = "nearest",
        skip_nans: bool = False) -> Any:
    """The root of the true variance, rounded once."""
    return answer("std", x, comm, axis=axis, keepdims=keepdims, correction=correction, rounding=rounding, skip_nans=skip_nans)


@_as("norm(piece[:, 1], MPI.COMM_SELF).item()", "10.04987562112089")
def norm(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, rounding: Rounding = "nearest",
         skip_nans: bool = False) -> Any:
    """The Euclidean norm of all ranks' pieces, rounded once."""
    return answer("norm", x, comm, axis=axis, keepdims=keepdims, rounding=rounding, skip_nans=skip_nans)


@_as("min(piece, MPI.COMM_SELF, axis=0).tolist()", "[-1e+16, 2.0]")
def min(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, skip_nans: bool = False) -> Any:
    """The least element of all ranks' pieces."""
    return answer("min", x, comm, axis=axis, keepdims=keepdims, skip_nans=skip_nans)


@_as("max(piece, MPI.COMM_SELF, axis=0, keepdims=True).tolist()", "[[1e+16, 9.0]]")
def max(x: Any, comm: Any = None, *, axis: Any = None, keepdims: bool = False, skip_nans: bool = False) -> Any:
    """The greatest element of all ranks' pieces."""
    return answer("max", x, comm, axis=axis, keepdims=keepdims, skip_nans=skip_nans)


@_as("argmin(piece, MPI.COMM_SELF, axis=0).tolist()", "[2, 0]")
def argmin(x: Any, comm: Any = None, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index in the whole array of the first least element."""
    return answer("argmin", x, comm, axis=axis, keepdims=keepdims)


@_as("argmax(piece, MPI.COMM_SELF).item()", "0")
def argmax(x: Any, comm: Any = None, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index in the whole array of the first greatest element."""
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

    The same bits for any number of ranks and any way of cutting the gradients. Those on a GPU are reduced there, by ranks of nccl; other groups copy them to the
    CPU.

    Parameters
    ----------
    parameters : torch.Tensor, or several
        Their `grad` counts: the local part of a DTensor, as FSDP makes them; those without a gradient do not. What a DTensor's placements say several
        ranks of `group` hold counts once; plain tensors that every rank holds whole would count once a rank. Elements are f16, bf16, f32 or f64.
    group : torch.distributed.ProcessGroup or mpi4py.MPI.Comm, optional
        None: the default group of torch.distributed.

    Returns
    -------
    float
        The same on each rank.

    Raises
    ------
    TypeError
        A gradient of another type.
    ValueError
        A DTensor's gradient whose sum over the ranks is not made yet; on every rank, if another one calls something else.

    References
    ----------
    docs/distributed.md: ranks.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import torch, warpfold.distributed as wfd
    >>> weight = torch.zeros(2, requires_grad=True)
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> wfd.grad_norm([weight], MPI.COMM_SELF)
    5.0
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

    def norm(found: Any) -> float:
        return _norm_of_words(found if isinstance(found, np.ndarray) else found.cpu().numpy())
    return float(_begun(ranks, "gradients, for their norm", "grad_norm", _Message("add", len(joined)), _Sent(joined, norm)).wait())


def clip_grad_norm_(parameters: Iterable[Any], max_norm: float, group: Any = None) -> float:
    """Scales gradients so that their norm is at most `max_norm`, as `torch.nn.utils.clip_grad_norm_` does; the norm before.

    What each rank holds are shards, as for `grad_norm`; the factor, and so every gradient, has the same bits for any number of
    ranks.

    Parameters
    ----------
    parameters : torch.Tensor, or several
        As `grad_norm` has them; their gradients are changed.
    max_norm : float
        What the norm is to be at most.
    group : torch.distributed.ProcessGroup or mpi4py.MPI.Comm, optional
        None: the default group of torch.distributed.

    Returns
    -------
    float
        The norm before, the same on each rank.

    Raises
    ------
    TypeError, ValueError
        As `grad_norm`.

    References
    ----------
    docs/distributed.md: ranks.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import torch, warpfold.distributed as wfd
    >>> weight = torch.zeros(2, requires_grad=True)
    >>> weight.grad = torch.tensor([3.0, 4.0])
    >>> wfd.clip_grad_norm_([weight], 1.0, MPI.COMM_SELF)
    5.0
    >>> weight.grad
    tensor([0.6000, 0.8000])
    """
    shards = list(parameters) if not hasattr(parameters, "grad") else [parameters]
    total = grad_norm(shards, group)
    factor = float(max_norm) / (total + 1e-6)
    if factor < 1 or total != total:
        for g in _gradients(shards):
            _local(g).mul_(factor)
    return total
