# SPDX-License-Identifier: Apache-2.0
"""What each rank runs for test_distributed.py: `ranks.py mpi`, or `ranks.py gloo RANK SIZE FILE`.

Every answer of all ranks' pieces is compared with that of the whole array, byte by byte. With `lost` after the library's name
rank 1 is killed between two calls, and the others say how that ends. `ranks.py mpi examples`: each rank runs the examples of the docstrings.
"""

import datetime
import os
import signal
import sys

import numpy as np

import warpfold as wf
import warpfold.distributed as wfd
from warpfold.states import Form

assert "torch" not in sys.modules and "mpi4py" not in sys.modules

lost = sys.argv[2:3] == ["lost"]
if lost:
    del sys.argv[2]
if sys.argv[1] == "mpi":
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()

    def end_all(kind, error, where):
        """A rank that fails ends the others, which would wait for it."""
        sys.__excepthook__(kind, error, where)
        sys.stderr.flush()
        comm.Abort(1)

    sys.excepthook = end_all
else:
    import torch
    rank, size, comm = int(sys.argv[2]), int(sys.argv[3]), None
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[4], rank=rank, world_size=size,
                                         timeout=datetime.timedelta(seconds=20 if lost else 300))

if lost:
    assert wfd.sum(np.ones(rank), comm) == size * (size - 1) / 2
    print(f"rank {rank} is there", flush=True)
    wfd.sum(np.ones(1), comm)  # all have said it
    under_way = wfd.all_reduce(wf.ExactSum([1.0]), comm, async_op=True)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        under_way.wait()  # what was started before may still come
        wfd.all_reduce(wf.ExactSum([1.0]), comm)
    except Exception as e:
        print(f"rank {rank}: {type(e).__name__}: {e}", flush=True)
        os._exit(3)
    print(f"rank {rank} has an answer", flush=True)
    os._exit(0)


if sys.argv[2:3] == ["examples"]:
    from arrays import run_examples
    found = run_examples(wfd)
    assert found.failed == 0 and found.attempted > 50
    print("examples are right", flush=True)
    sys.exit()


def refused(kind, match, f):
    try:
        f()
    except kind as e:
        assert match in str(e) and "\n" not in str(e), e
    else:
        raise AssertionError(f"not refused: {match}")


def piece(x, axis=0):
    """This rank's, of uneven lengths; the last has what is left."""
    n = x.shape[axis]
    edges = [n * k * k // (size * size) for k in range(size + 1)]
    return np.take(x, range(edges[rank], edges[rank + 1]), axis)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), (a, b)


r = np.random.default_rng(7)
x = r.standard_normal((211, 6)) * 10.0 ** r.integers(-200, 200, (211, 6))

# From arrays to answers.
for name in ("sum", "mean", "var", "std", "norm", "min", "max", "argmin", "argmax"):
    for axis in (None, 0):
        same(getattr(wfd, name)(piece(x), comm, axis=axis), getattr(wf, name)(x, axis=axis))
same(wfd.sum(piece(x, 1), comm, axis=1, keepdims=True), wf.sum(x, axis=1, keepdims=True))
same(wfd.argmax(piece(x, 1), comm, axis=1), wf.argmax(x, axis=1))
half = (x / np.abs(x).max(axis=1, keepdims=True)).astype("f2")
same(wfd.sum(piece(half), comm, dtype="float32"), wf.sum(half, dtype="float32"))
same(wfd.answer("minmax", piece(x), comm), wf.minmax(x))
same(wfd.answer("prod", piece(np.arange(1, 30)), comm), wf.prod(np.arange(1, 30)))
holes = np.where(np.abs(x) > 1, x, np.nan)
same(wfd.mean(piece(holes), comm, skip_nans=True), wf.nanmean(holes))

# States.
whole, mine = wf.ExactSum(x), wf.ExactSum(piece(x))
assert wfd.all_reduce(mine, comm) == whole and mine == wf.ExactSum(piece(x))
assert wfd.all_reduce(wf.ExactMoments(piece(x)), comm) == wf.ExactMoments(x)
last = wfd.reduce(mine, comm, root=size - 1)
assert (last == whole) if rank == size - 1 else last is None
for name in ("mean", "max"):  # added, gathered
    form = Form(name, x.dtype)
    states = form.of(piece(x), axis=0)
    assert wfd.all_reduce(states, comm).tobytes() == form.of(x, axis=0).tobytes()
    on_one = wfd.reduce(states, comm)
    assert on_one.tobytes() == form.of(x, axis=0).tobytes() if rank == 0 else on_one is None

# Element by element: small, in shards that do not divide, several slabs, other types.
for shape, dtype, at_once in (((3, 5), "float32", None), ((50_001,), "float64", None), ((40_003,), "float32", 20_000), ((7,), "int32", None),
                              ((0,), "float32", None), ((9,), "complex64", None)):
    whole_before = wfd._AT_ONCE
    wfd._AT_ONCE = at_once or whole_before
    wfd._GATHERED = 1 << 10
    all_of_them = [(np.random.default_rng(k).standard_normal(shape) * 10.0 ** np.random.default_rng(k + 99).integers(-9, 9, shape)).astype(dtype)
                   for k in range(size)]
    same(wfd.all_reduce(all_of_them[rank], comm), wf.sum(np.stack(all_of_them), axis=0).astype(dtype))
    if dtype.startswith("float"):
        same(wfd.all_reduce(all_of_them[rank][::-1], comm, op="mean"), wf.mean(np.stack(all_of_them)[:, ::-1], axis=0))
    wfd._AT_ONCE = whole_before

# Under way while something else is done: added, gathered, exchanged in shards.
wfd._GATHERED = 1 << 10
long = [np.random.default_rng(k).standard_normal(5_001) for k in range(size)]
under_way = [wfd.all_reduce(wf.ExactSum(piece(x)), comm, async_op=True), wfd.all_reduce(Form("max", x.dtype).of(piece(x), axis=0), comm, async_op=True),
             wfd.all_reduce(long[rank], comm, op="mean", async_op=True), wfd.reduce(wf.ExactMoments(piece(x)), comm, root=size - 1, async_op=True)]
if size == 1:
    assert all(isinstance(u.is_completed(), bool) for u in under_way)
found = [u.wait() for u in under_way]
assert all(u.is_completed() for u in under_way)
assert found[0] == under_way[0].wait() == wf.ExactSum(x) and found[1].tobytes() == Form("max", x.dtype).of(x, axis=0).tobytes()
same(found[2], wf.mean(np.stack(long), axis=0))
assert (found[3] == wf.ExactMoments(x)) if rank == size - 1 else found[3] is None

# Groups of some of the ranks: every other one, and the last alone.
for members in (list(range(1, size, 2)), [size - 1]):
    if not members:
        continue
    if sys.argv[1] == "mpi":
        some = comm.Split(0 if rank in members else MPI.UNDEFINED)
    else:
        some = torch.distributed.new_group(members)
    if rank in members:
        assert wfd.all_reduce(wf.ExactSum([1e300, rank, -1e300]), some) == wf.ExactSum([v for k in members for v in (1e300, k, -1e300)])
        on_last = wfd.reduce(wf.ExactSum([rank]), some, root=len(members) - 1)
        assert (on_last == wf.ExactSum(members)) if rank == members[-1] else on_last is None
        assert wfd.all_reduce(np.full(3, rank), some).tolist() == [sum(members)] * 3
        assert int(wfd.argmax(np.array([0.0, rank + 1]), some)) == 2 * len(members) - 1

# What is refused, on every rank, so that none waits for another.
refused(TypeError, "communicator of mpi4py", lambda: wfd.sum(x, object()))
refused(TypeError, "convert the array", lambda: wfd.all_reduce(np.ones(2, bool), comm))
refused(ValueError, "there are the ranks 0 to", lambda: wfd.reduce(mine, comm, root=size))
refused(TypeError, "it must be one of states", lambda: wfd.all_reduce(np.zeros(2, [("a", "V592")]), comm))
bad = Form("sum", "float64").of(np.ones(3)).reshape(1)
bad.view(np.int64)[3] = 2**40
refused(ValueError, "not in canonical form", lambda: wfd.all_reduce(bad, comm))
if size > 1:
    odd = rank == size - 1
    refused(ValueError, f"rank {rank} brings", lambda: wfd.sum(np.ones(3, "f4" if odd else "f8"), comm))
    refused(ValueError, f"rank {rank} brings", lambda: wfd.sum(np.ones((2, 2 + odd)), comm, axis=0))
    refused(ValueError, f"rank {rank} brings", lambda: wfd.all_reduce(np.ones(2 + odd), comm))
    refused(ValueError, f"rank {rank} brings", lambda: wfd.all_reduce(wf.ExactMoments() if odd else wf.ExactSum(), comm))
    refused(ValueError, "no elements", lambda: wfd.max(np.ones(0), comm))

# What came before is expected again, and on its way before the ranks have agreed: by shares, gathered, added; then another call comes, then ranks differ.
for turn in range(6):
    if turn == 3 and sys.argv[1] == "gloo":
        assert size == 1 or wfd._history_of(torch.distributed.group.WORLD).expected() is not None
    for k, n in enumerate((4_000, 100, 4_000)):
        parts = [np.random.default_rng(10 * turn + r_).standard_normal(n + k) for r_ in range(size)]
        same(wfd.all_reduce(parts[rank], comm), wf.sum(np.stack(parts), axis=0))
    assert wfd.all_reduce(mine, comm) == whole
    if turn == 3:
        same(wfd.sum(piece(x), comm, axis=0), wf.sum(x, axis=0))
    if turn >= 4 and size > 1:  # each rank brings something that was expected, or nobody does
        odd = rank == turn % size
        refused(ValueError, f"rank {rank} brings", lambda: wfd.all_reduce(np.ones(101 if odd else 4_000), comm))
        wfd.all_reduce(np.ones(4_000), comm)
        wfd.all_reduce(np.ones(101), comm)
        refused(ValueError, f"rank {rank} brings", lambda: wfd.all_reduce(mine if odd else np.ones(4_002), comm))

if sys.argv[1] == "gloo":
    # Under way where it is expected: it is agreed on when it is waited for, or when the next call begins.
    for turn in range(8):
        under_way = wfd.all_reduce(mine, async_op=True)
        if turn % 2:
            wfd.all_reduce(np.ones(5))
        assert under_way.wait() == whole
    nine = [np.random.default_rng(k).standard_normal(9) for k in range(size)]
    for expected, truth in ((mine, lambda found: found == whole), (nine[rank], lambda found: found.tobytes() == wf.sum(np.stack(nine), axis=0).tobytes())):
        for other in (np.ones(6), np.ones(9, "f4"), wf.ExactMoments()) if size > 1 else ():
            for settled_by_the_next in (False, True):
                for turn in range(4):
                    assert truth(wfd.all_reduce(expected))
                wfd.all_reduce(expected)
                assert wfd._history_of(torch.distributed.group.WORLD).expected() is not None
                under_way = wfd.all_reduce(other if rank == 0 else expected, async_op=True)
                if settled_by_the_next:
                    assert wfd.all_reduce(np.ones(5)).tolist() == [size] * 5
                for _ in range(2):
                    refused(ValueError, f"rank {rank} brings", under_way.wait)

    # Tensors, of which NumPy does not have all types.
    t = [torch.tensor([1.0, 2.0**-9 * (k + 1), -3.0], dtype=torch.bfloat16) for k in range(size)]
    found = wfd.all_reduce(t[rank])
    assert found.dtype == torch.bfloat16 and torch.equal(found, wf.sum(torch.stack(t), axis=0))
    assert wfd.mean(t[rank]).dtype == torch.bfloat16

    for shape in ((0, 4), (3, 0), (300, 7)):  # nothing, and what is exchanged in shards
        parts = [torch.from_numpy(np.random.default_rng(k).standard_normal(shape)).T for k in range(size)]
        found = wfd.all_reduce(parts[rank], op="mean")
        assert found.shape == parts[0].shape and torch.equal(found, wf.mean(torch.stack(parts), axis=0) if parts[0].numel() else parts[0])
    refused(TypeError, "these ranks send tensors on cpu", lambda: wfd.all_reduce(torch.ones(2, device="meta")))

    # A gradient's norm, and what is clipped by it, do not depend on the number of ranks: cut in shards, each rank has some rows.
    g = torch.from_numpy((np.random.default_rng(1).standard_normal((64, 33)) * 10.0 ** np.random.default_rng(2).integers(-3, 4, (64, 33))).astype("f4"))
    b = torch.from_numpy(np.random.default_rng(3).standard_normal(64).astype("f4")).to(torch.bfloat16)
    shards = [torch.zeros(0, requires_grad=True)]
    for whole_grad in (g, b):
        p = torch.nn.Parameter(torch.zeros_like(whole_grad[rank::size]))
        p.grad = whole_grad[rank::size].clone()
        shards.append(p)
    everything = wf.ExactMoments(g)
    everything.add(b)
    assert wfd.grad_norm(shards) == everything.norm()
    assert wfd.clip_grad_norm_(iter(shards), 1.0) == everything.norm()
    assert torch.equal(shards[1].grad, (g * (1.0 / (everything.norm() + 1e-6)))[rank::size])
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    p = torch.nn.Parameter(distribute_tensor(torch.zeros_like(g), init_device_mesh("cpu", (size,)), [Shard(0)]))
    p.grad = distribute_tensor(g, p.device_mesh, [Shard(0)])
    assert wfd.grad_norm(p) == wf.ExactMoments(g).norm()
    wfd.clip_grad_norm_([p], 1.0)
    assert torch.equal(p.grad.full_tensor(), g * (1.0 / (wf.ExactMoments(g).norm() + 1e-6)))

    # Copies: a mesh of two dimensions, rows of the gradient along one, copies along the other; and one that all ranks hold.
    from torch.distributed.tensor import DTensor, Partial, Replicate
    if size % 2 == 0:
        mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("copies", "shards"))
        p = torch.nn.Parameter(distribute_tensor(torch.zeros_like(g), mesh, [Replicate(), Shard(0)]))
        p.grad = distribute_tensor(g, mesh, [Replicate(), Shard(0)])
        q = torch.nn.Parameter(distribute_tensor(torch.zeros_like(b), mesh, [Replicate(), Replicate()]))
        q.grad = distribute_tensor(b.clone(), mesh, [Replicate(), Replicate()])
        assert wfd.grad_norm([p, q]) == everything.norm()
        assert wfd.grad_norm(p, mesh.get_group("shards")) == wf.ExactMoments(g).norm()  # over one copy's ranks
        wfd.clip_grad_norm_([p, q], 1.0)
        assert torch.equal(p.grad.full_tensor(), g * (1.0 / (everything.norm() + 1e-6)))
        assert torch.equal(q.grad.to_local(), b * (1.0 / (everything.norm() + 1e-6)))
    p = torch.nn.Parameter(DTensor.from_local(torch.zeros_like(g), init_device_mesh("cpu", (size,)), [Partial()]))
    p.grad = DTensor.from_local(g.clone(), p.device_mesh, [Partial()])
    refused(ValueError, "is not made yet", lambda: wfd.grad_norm(p))

    # A module that FSDP shards: gradients of each rank's own share of a batch, so they depend on the number of ranks by
    # themselves; their norm is that of the whole gradients.
    from torch.distributed.fsdp import fully_shard
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(33, 17), torch.nn.ReLU(), torch.nn.Linear(17, 5))
    fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
    model(torch.from_numpy(np.random.default_rng(rank).standard_normal((8, 33)).astype("f4"))).sum().backward()
    whole_grads = wf.ExactMoments()
    for p in model.parameters():
        whole_grads.add(p.grad.full_tensor())
    before = [p.grad.full_tensor().clone() for p in model.parameters()]
    assert wfd.clip_grad_norm_(model.parameters(), 0.5) == whole_grads.norm() > 0.5
    for p, old in zip(model.parameters(), before):
        assert torch.equal(p.grad.full_tensor(), old * (0.5 / (whole_grads.norm() + 1e-6)))

    inner = torch.distributed.new_group(list(range(max(1, size - 1))))
    if rank < max(1, size - 1):
        assert wfd.all_reduce(np.ones(3), inner).tolist() == [max(1.0, size - 1.0)] * 3
        assert (wfd.reduce(wf.ExactSum([1.0]), inner) is None) == (rank != 0)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()

if rank == 0:
    print("answers", wf.ExactSum(x).to_bytes().hex()[-16:], float(wf.sum(x)).hex())
if sys.argv[1] == "gloo":
    sys.stdout.flush()
    os._exit(0)  # a thread of PyTorch's that still runs would now and then end in std::terminate
