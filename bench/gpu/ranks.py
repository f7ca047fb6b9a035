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

    for log2 in (10, 18, 22, 24, 26):
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
