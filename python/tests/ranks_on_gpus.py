# SPDX-License-Identifier: Apache-2.0
"""What each rank runs for test_on_gpu.py: `ranks_on_gpus.py RANK SIZE FILE`, a GPU each, by torch.distributed over nccl. Every answer of all ranks' pieces
is compared with that of the whole array on the CPU, byte by byte."""

import datetime
import sys
import threading
import time

import numpy as np
import torch

import warpfold as wf
import warpfold.distributed as wfd
from warpfold.states import Form

rank, size = int(sys.argv[1]), int(sys.argv[2])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl", init_method="file://" + sys.argv[3], rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
r = np.random.default_rng(7)
x = r.standard_normal((211, 6)) * 10.0 ** r.integers(-200, 200, (211, 6))
mine = x[211 * rank // size:211 * (rank + 1) // size]


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), (a, b)


# Arrays and states of the CPU, sent by way of the GPUs.
for name in ("sum", "mean", "var", "norm", "min", "argmax"):
    for axis in (None, 0):
        same(getattr(wfd, name)(mine, axis=axis), getattr(wf, name)(x, axis=axis))
assert wfd.all_reduce(wf.ExactSum(mine)) == wf.ExactSum(x)
assert wfd.all_reduce(Form("max", x.dtype).of(mine, axis=0)).tobytes() == Form("max", x.dtype).of(x, axis=0).tobytes()

# Tensors on the GPUs: gathered, exchanged in shards, under way.
wfd._GATHERED_THERE = 1 << 10
for shape, dtype in (((3, 5), torch.float32), ((50_001,), torch.float64), ((300, 7), torch.bfloat16), ((9,), torch.int32), ((0, 4), torch.float32)):
    parts = [(torch.randn(shape, generator=torch.Generator().manual_seed(k)) * 10.0 ** (k + 1)).to(dtype) for k in range(size)]
    truth = wf.sum(torch.stack(parts), axis=0).to(dtype) if parts[0].numel() else parts[0]
    for found in (wfd.all_reduce(parts[rank].cuda()), wfd.all_reduce(parts[rank].cuda(), async_op=True).wait()):
        assert found.is_cuda and found.dtype == dtype and torch.equal(found.cpu(), truth), (found, truth)
try:
    wfd.all_reduce(torch.ones(2))
except TypeError as e:
    assert "these ranks send tensors on cuda" in str(e), e
else:
    raise AssertionError("a tensor of the CPU was taken")

# Longer than what is under way at a time.
at_once, wfd._AT_ONCE_THERE = wfd._AT_ONCE_THERE, 30_000
parts = [torch.randn(100_003, generator=torch.Generator().manual_seed(k)) for k in range(size)]
assert torch.equal(wfd.all_reduce(parts[rank].cuda()).cpu(), wf.sum(torch.stack(parts), axis=0))
wfd._AT_ONCE_THERE = at_once

# What came before is on its way before the ranks have agreed; where one brings another thing then, all are told, and none waits.
small, long = [[torch.randn(n, generator=torch.Generator().manual_seed(k)) for k in range(size)] for n in (100, 50_000)]
for turn in range(6):
    for given in (long, small, long):
        found = wfd.all_reduce(given[rank].cuda())
        assert torch.equal(found.cpu(), wf.sum(torch.stack(given), axis=0))
    same(wfd.sum(mine), wf.sum(x))
    if turn >= 3 and size > 1:
        assert wfd._history_of(torch.distributed.group.WORLD).expected() is not None
        odd = rank == turn % size
        for other in (small, [torch.ones(77)] * size):
            try:
                wfd.all_reduce((other if odd else long)[rank].cuda())
            except ValueError as e:
                assert f"rank {rank} brings" in str(e), e
            else:
                raise AssertionError("ranks that bring different things were not refused")
            for _ in range(3):
                same(wfd.sum(mine), wf.sum(x))
                assert torch.equal(wfd.all_reduce(long[rank].cuda()).cpu(), wf.sum(torch.stack(long), axis=0))

# Short ones again and again, by the fewest steps: tensors of several types and shapes, states, under way too; then ranks that bring different things.
history = wfd._history_of(torch.distributed.group.WORLD)
for dtype in (torch.float32, torch.bfloat16, torch.int32, torch.int64, torch.complex64, torch.float64):
    for shape in ((5,), (3, 4, 5), (), (1001,)):
        parts = [(torch.randn(shape, generator=torch.Generator().manual_seed(k)) * 100).to(dtype) for k in range(size)]
        truth = wf.sum(torch.stack(parts), axis=0).to(dtype)
        for turn in range(5):
            given = parts[rank].cuda()
            if turn == 3 and given.dim() > 1:
                given = given.transpose(0, 1).contiguous().transpose(0, 1)
            if turn == 4 and dtype == torch.complex64:
                given = given.conj().resolve_conj().conj()
            found = wfd.all_reduce(given, async_op=True).wait() if turn == 2 else wfd.all_reduce(given)
            assert found.is_cuda and found.dtype == dtype and torch.equal(found.cpu().resolve_conj(), truth), (dtype, shape, turn)
means = [torch.randn(77, generator=torch.Generator().manual_seed(k)) for k in range(size)]
for turn in range(5):
    assert torch.equal(wfd.all_reduce(means[rank].cuda(), op="mean").cpu(), wf.mean(torch.stack(means), axis=0))
    assert wfd.all_reduce(wf.ExactSum(mine)) == wf.ExactSum(x) and wfd.all_reduce(wf.ExactMoments(mine)) == wf.ExactMoments(x)
    twice = [torch.randn(77, generator=torch.Generator().manual_seed(9 + k)) for k in range(size)]
    under_way = [wfd.all_reduce(parts[rank].cuda(), async_op=True) for parts in (means, twice)]  # the second begins when the first is agreed on
    for pending, parts in zip(under_way, (means, twice)):
        assert torch.equal(pending.wait().cpu(), wf.sum(torch.stack(parts), axis=0))
if size > 1:
    assert any(isinstance(k, tuple) for k in history.plans) and wf.ExactSum in history.plans
    there = [p.cuda() for p in means]
    for brought in ((there[rank], wf.ExactSum(mine)), (wf.ExactSum(mine), there[rank]), (there[rank], there[rank][:76])):
        for _ in range(4):
            wfd.all_reduce(brought[0])
        assert history.expected() is not None
        for odd in range(size):
            try:
                wfd.all_reduce(brought[rank == odd])
            except ValueError as e:
                assert f"rank {rank} brings" in str(e), e
            else:
                raise AssertionError("ranks that bring different things were not refused")
            for _ in range(3):
                wfd.all_reduce(brought[0])
        assert torch.equal(wfd.all_reduce(there[rank]).cpu(), wf.sum(torch.stack(means), axis=0))

# A gradient's norm, of rows that the ranks share.
g = torch.from_numpy((r.standard_normal((64, 33)) * 10.0 ** r.integers(-3, 4, (64, 33))).astype("f4"))
p = torch.nn.Parameter(torch.zeros_like(g[rank::size]).cuda())
p.grad = g[rank::size].clone().cuda()
assert wfd.grad_norm(p) == wf.ExactMoments(g).norm()
types = [torch.nn.Parameter(torch.zeros(33, device="cuda").to(t)) for t in (torch.float32, torch.bfloat16, torch.float64, torch.float16)]
everything = wf.ExactMoments(g)
for k, q in enumerate(types):
    parts = [torch.randn(33, generator=torch.Generator().manual_seed(10 * k + j)).to(q.dtype) for j in range(size)]
    for part in parts:
        everything.add(part)
    q.grad = parts[rank].cuda()
assert wfd.grad_norm([p, *types]) == everything.norm()
assert wfd.grad_norm([p, types[0]] if rank == 0 else [p]) > wf.ExactMoments(g).norm()  # ranks with gradients of different types
assert wfd.clip_grad_norm_([p], 1.0) == wf.ExactMoments(g).norm()
assert torch.equal(p.grad.cpu(), (g * (1.0 / (wf.ExactMoments(g).norm() + 1e-6)))[rank::size])

# Groups of fewer ranks: each one alone, and all of them in another group.
alone = [torch.distributed.new_group([k]) for k in range(size)]
together = torch.distributed.new_group(list(range(size)))
same(wfd.sum(mine, alone[rank]), wf.sum(mine))
same(wfd.sum(mine, together, axis=0), wf.sum(x, axis=0))
under_way = [wfd.all_reduce(torch.full((5000,), 0.1 * (rank + 1), device="cuda"), group, async_op=True) for group in (together, None)]
truth = wf.sum(torch.stack([torch.full((5000,), 0.1 * (k + 1)) for k in range(size)]), axis=0)
assert all(torch.equal(u.wait().cpu(), truth) for u in under_way)

# A communicator that is aborted while a rank waits for one that does not come: an error or a result, never a hang, and the GPU goes on.
if size > 1:
    given = torch.ones(50_000, device="cuda")
    pending = wfd.all_reduce(given, together, async_op=True)
    if rank == 0:
        threading.Timer(1, together._get_backend(torch.device("cuda")).abort).start()
        try:
            pending.wait()  # exchanges, and then gathers, which the others do not
            torch.cuda.synchronize()
        except RuntimeError as e:
            print("aborted:", str(e).splitlines()[0])
    else:
        time.sleep(1)
        together._get_backend(torch.device("cuda")).abort()
    same(wf.sum(given).cpu(), np.float32(50_000))
    same(wfd.sum(mine), wf.sum(x))

torch.distributed.barrier()
torch.distributed.destroy_process_group()
print("answers", float(wf.sum(x)).hex(), wf.ExactMoments(g).norm().hex())
