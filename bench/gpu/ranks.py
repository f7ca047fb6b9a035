# SPDX-License-Identifier: Apache-2.0
"""Python over ranks with a GPU each: warpfold.distributed beside torch.distributed over NCCL, as JSON.

    python3 ranks.py FILE [SIZE]      one process a GPU; all GPUs unless told

Each answer is verified before it is timed. A time is the median of calls that are waited for, on the slowest rank.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

REPEAT = 15


def rank_main(rank, size, meet, file):
    import warpfold as wf
    import warpfold.distributed as wfd
    dist = torch.distributed
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="file://" + meet, rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
    found = []

    def timed(name, nbytes, f):
        for _ in range(3):
            f()
        us = []
        for _ in range(REPEAT):
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            f()
            torch.cuda.synchronize()
            us.append(1e6 * (time.perf_counter() - begin))
        slowest = torch.tensor([float(np.median(us))], device="cuda")
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        if rank == 0:
            found.append({"name": name, "bytes": nbytes, "median us": round(slowest.item(), 1)})
            print(f"{name:46} {nbytes:12} bytes {slowest.item():10.1f} us", flush=True)

    for log2 in (10, 14, 16, 18, 20, 22, 24, 26):
        parts = [torch.randn(1 << log2, generator=torch.Generator("cuda").manual_seed(k), device="cuda") for k in range(size)]
        mine = parts[rank].clone()
        assert torch.equal(wfd.all_reduce(mine), wf.sum(torch.stack(parts), axis=0)), log2
        del parts
        room = mine.clone()
        timed("torch.distributed.all_reduce", 4 << log2, lambda: dist.all_reduce(room))
        timed("warpfold.distributed.all_reduce", 4 << log2, lambda: wfd.all_reduce(mine))
    # A gradient's norm, of 2^26 elements that the ranks share.
    whole = torch.randn(1 << 26, generator=torch.Generator("cuda").manual_seed(9), device="cuda")
    p = torch.nn.Parameter(torch.zeros((1 << 26) // size, device="cuda"))
    p.grad = whole.reshape(size, -1)[rank].clone()
    norm = wfd.grad_norm(p)
    assert norm == wf.ExactMoments(whole.cpu()).norm()

    def of_torch():
        square = torch.linalg.vector_norm(p.grad) ** 2
        dist.all_reduce(square)
        return square.sqrt()
    timed("gradient's norm by torch", p.grad.nbytes, of_torch)
    timed("warpfold.distributed.grad_norm", p.grad.nbytes, lambda: wfd.grad_norm(p))
    timed("warpfold.distributed.all_reduce of an ExactSum", 592, lambda: wfd.all_reduce(wf.ExactSum()))
    numbers = np.random.default_rng(rank).standard_normal(1000)
    timed("warpfold.distributed.sum of a NumPy array", 8000, lambda: wfd.sum(numbers))
    words = torch.zeros(74, dtype=torch.int64, device="cuda")
    timed("torch.distributed.all_reduce of as many words", 592, lambda: dist.all_reduce(words))
    if os.environ.get("WARPFOLD_PROFILE") and rank == 0:  # where a call's time goes, of both at the same number of calls
        import cProfile
        import pstats
    if os.environ.get("WARPFOLD_PROFILE"):
        small = mine[:1024].clone()
        for _ in range(6):
            wfd.all_reduce(small)
        ranks = wfd._ranks(None, "all_reduce")
        plan = ranks.history.plans[small.dtype, small.shape, "sum"]
        room = ranks.history.room(torch, plan.row)
        from warpfold import _device
        compiled = _device.kernels("all_reduce")
        stamps = np.zeros((300, 7))
        for row in stamps:
            dist.barrier()
            torch.cuda.synchronize()
            row[0] = time.perf_counter()
            compiled.copied(plan.device, room.sent_at + 16, small.data_ptr(), plan.call[1].size, torch._C._cuda_getCurrentRawStream(rank))
            row[1] = time.perf_counter()
            out = torch.empty_like(small)
            row[2] = time.perf_counter()
            ranks.gather_flat(room.come, room.sent)
            row[3] = time.perf_counter()
            compiled.of_two(plan.op, plan.code, plan.elements, room.come_at + 16, room.come_at + 16 + plan.row, rank, torch._C._cuda_getCurrentRawStream(rank), out.data_ptr())
            row[4] = time.perf_counter()
            compiled.taken(rank, room.come_at, plan.row, 16, size, torch._C._cuda_getCurrentRawStream(rank))
            row[5] = time.perf_counter()
            torch.cuda.synchronize()
            row[6] = time.perf_counter()
        if rank == 0:
            print("us of copied, empty_like, gather, sums, taken, synchronize:", np.median(np.diff(stamps, axis=1), axis=0) * 1e6)
        for name, f in (("wfd.all_reduce", lambda: wfd.all_reduce(small)), ("all_reduce", lambda: dist.all_reduce(small)),
                        ("all_gather_into_tensor", lambda: dist.all_gather_into_tensor(room.come, room.sent)), ("gather_flat", lambda: ranks.gather_flat(room.come, room.sent)),
                        ("ExactSum", lambda: wfd.all_reduce(wf.ExactSum()))):
            for _ in range(9):
                f()
            us = []
            for _ in range(300):
                dist.barrier()
                torch.cuda.synchronize()
                a = time.perf_counter()
                f()
                b = time.perf_counter()
                torch.cuda.synchronize()
                us.append((b - a, time.perf_counter() - a))
            if rank == 0:
                print(name, "us on the host, and done:", np.median(us, axis=0) * 1e6, "least", np.min(us, axis=0) * 1e6, flush=True)
    for name, f in (("a tensor", lambda: wfd.all_reduce(mine[:1024])), ("an ExactSum", lambda: wfd.all_reduce(wf.ExactSum()))) if os.environ.get("WARPFOLD_PROFILE") else ():
        for _ in range(5):
            f()
        profile = cProfile.Profile() if rank == 0 else None
        begin = time.perf_counter()
        if profile:
            profile.enable()
        for _ in range(200):
            f()
        if profile:
            profile.disable()
            print(f"{name}: {5000 * (time.perf_counter() - begin):.1f} us a call, profiled")
            pstats.Stats(profile).sort_stats("tottime").print_stats(26)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(200):
            f()
        torch.cuda.synchronize()
        if rank == 0:
            print(f"{name}: {5000 * (time.perf_counter() - begin):.1f} us a call, one behind the other", flush=True)
    if rank == 0:
        with open(file, "w") as f:
            json.dump({"benchmark": "ranks in Python", "warpfold": wf.__version__, "torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())),
                       "device": torch.cuda.get_device_name(), "ranks": size, "repetitions": REPEAT, "gradient's norm": norm.hex(), "results": found}, f, indent=1)
            f.write("\n")
    dist.barrier()
    dist.destroy_process_group()


def main():
    if len(sys.argv) == 5:
        rank_main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
        return
    if len(sys.argv) not in (2, 3):
        sys.exit("ranks.py: FILE and perhaps how many ranks are wanted")
    size = int(sys.argv[2]) if len(sys.argv) == 3 else torch.cuda.device_count()
    with tempfile.TemporaryDirectory() as folder:
        run = [subprocess.Popen([sys.executable, os.path.abspath(__file__), str(k), str(size), folder + "/meet", os.path.abspath(sys.argv[1])]) for k in range(size)]
        codes = [p.wait() for p in run]
    sys.exit(max(abs(c) for c in codes))


main()
