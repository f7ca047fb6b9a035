#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What exact sums and means cost in Dask beside dask.array's own: whole arrays and along an axis on two workers, and a chunk of next to nothing.

    python bench/cpu/dask_sums.py [--elements N] [--repetitions R] [OUT.json]

Two worker processes of one thread each hold the array, so that nothing but the reduction is timed; the two take turns. Times of
one run may be compared, never those of two. `wall` is the least of the repetitions; `cpu` the least that the workers' processors
took for one, since others may use the machine; `load` says how many did. Answers are verified first: ours have the same bits in other
chunks, and are those of the elements added up without Dask.
"""

import argparse
import json
import os
import sys
import time

import dask
import dask.array as da
import distributed
import numpy as np

import warpfold as wf
import warpfold.dask as wfd


def cpu_of(client):
    return sum(client.run(time.process_time).values())


def measured(client, calls, repetitions):
    """Least wall and worker times of each call, which take turns."""
    best = {name: {"wall_s": float("inf"), "cpu_s": float("inf")} for name in calls}
    for turn in range(repetitions + 1):  # one to warm up
        for name, call in calls.items():
            busy, from_ = cpu_of(client), time.perf_counter()
            call()
            wall = time.perf_counter() - from_
            busy = cpu_of(client) - busy
            if turn > 0:
                best[name]["wall_s"] = min(best[name]["wall_s"], wall)
                best[name]["cpu_s"] = min(best[name]["cpu_s"], busy)
    return best


def beside(client, name, ours, theirs, repetitions):
    best = measured(client, {"warpfold": lambda: ours.compute(), "dask": lambda: theirs.compute()}, repetitions)
    row = {"name": name, **best, "wall_ratio": best["warpfold"]["wall_s"] / best["dask"]["wall_s"],
           "cpu_ratio": best["warpfold"]["cpu_s"] / best["dask"]["cpu_s"]}
    print(f"{name:24} wall {row['wall_ratio']:.3f}, cpu {row['cpu_ratio']:.3f} of dask.array's", file=sys.stderr)
    return row


def verify(x):
    parts = [dask.delayed(wf.ExactSum)(b) for b in x.to_delayed().reshape(-1)]
    whole = wf.ExactSum()
    for part in dask.compute(*parts):
        whole.merge(part)
    found = wfd.sum(x).compute()
    assert found == np.float32(whole.value(dtype="float32")), "a wrong sum"
    assert found == wfd.sum(x.rechunk((x.chunksize[0] // 3 + 1, x.shape[1]))).compute(), "other chunks, another sum"
    assert wfd.mean(x).compute() == np.float32(whole.mean(dtype="float32")), "a wrong mean"


def tasks(client, n, repetitions):
    """A task's time on chunks of one row of 100. In one process it is the processor's; on the workers with all that the scheduler does for it."""
    x = da.ones((n, 100), chunks=(1, 100), dtype="float32")
    best = {}
    for where, clock in (("one process", time.process_time), ("two workers", time.perf_counter)):
        calls = {"warpfold": wfd.sum(x), "dask": x.sum()}
        least = dict.fromkeys(calls, float("inf"))
        for _ in range(repetitions + 1):
            for name, lazy in calls.items():
                from_ = clock()
                lazy.compute(scheduler="sync" if where == "one process" else client)
                least[name] = min(least[name], clock() - from_)
        best[where] = {"chunks": n, "warpfold_us": 1e6 * least["warpfold"] / n, "dask_us": 1e6 * least["dask"] / n,
                       "warpfold_over_dask_us": 1e6 * (least["warpfold"] - least["dask"]) / n}
        print(f"a chunk, {where}: {best[where]}", file=sys.stderr)
    return best


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--elements", type=int, default=10**9)
    a.add_argument("--repetitions", type=int, default=7)
    a.add_argument("out", nargs="?")
    given = a.parse_args()
    rows = max(given.elements // 10_000, 100)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0) as cluster, \
            distributed.Client(cluster) as client:
        x = da.random.default_rng(1).standard_normal((rows, 10_000), dtype="float32", chunks=(max(rows // 32, 1), 10_000)).persist()
        distributed.wait(x)
        verify(x)
        results = [beside(client, name, ours, theirs, given.repetitions) for name, ours, theirs in (
            ("sum", wfd.sum(x), x.sum()), ("mean", wfd.mean(x), x.mean()), ("sum, axis 0", wfd.sum(x, axis=0), x.sum(axis=0)),
            ("sum, axis 1", wfd.sum(x, axis=1), x.sum(axis=1)), ("mean, axis 0", wfd.mean(x, axis=0), x.mean(axis=0)))]
        small = tasks(client, 400, given.repetitions)
    told = {"command": "bench/cpu/dask_sums.py " + " ".join(sys.argv[1:]), "elements": rows * 10_000, "dtype": "float32", "chunks": x.numblocks[0],
            "workers": 2, "cores": os.cpu_count(), "load": os.getloadavg()[0], "python": sys.version.split()[0], "numpy": np.__version__,
            "dask": dask.__version__, "warpfold": wf.__version__, "repetitions": given.repetitions, "results": results, "tasks": small}
    text = json.dumps(told, indent=1) + "\n"
    if given.out:
        with open(given.out, "w") as f:
            f.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
