#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What exact sums and means cost in Dask beside dask.array's own: whole arrays and along an axis on two workers, and a chunk of next to nothing.

    python bench/cpu/dask_sums.py [--elements N] [--repetitions R] [--chunks C] [OUT.json]

--elements 0 and --chunks 0 leave a part out.

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
import dask.local
import distributed
import numpy as np
from distributed.protocol import dumps, loads, pickle, to_serialize

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


def as_messages(lazy, repetitions):
    """Processor seconds of what workers do beside the tasks themselves, in this process: tasks that come, results that go and come."""
    graph = dict(dask.optimize(lazy)[0].__dask_graph__())
    messages = [pickle.dumps(task) for task in graph.values()]
    results = dask.local.get_sync(graph, list(graph))
    sent = [dumps({"x": to_serialize(r)}) for r in results]
    least = float("inf")
    for _ in range(repetitions + 1):
        from_ = time.process_time()
        for m in messages:
            pickle.loads(m)
        for r in results:
            dumps({"x": to_serialize(r)})
        for s in sent:
            loads(s)
        least = min(least, time.process_time() - from_)
    return least


def tasks(client, n, repetitions):
    """What a chunk of one row of 100 costs: of the processor in one process; on the workers theirs, that of the scheduler and the client, which are in this process,
    and the time that passes."""
    x = da.ones((n, 100), chunks=(1, 100), dtype="float32")
    calls = {"warpfold": wfd.sum(x), "dask": x.sum()}
    clocks = {"processor": time.process_time, "workers' processors": lambda: cpu_of(client), "scheduler and client": time.process_time, "wall": time.perf_counter}
    best = {}
    for where, names in (("one process", ("processor",)), ("two workers", ("workers' processors", "scheduler and client", "wall"))):
        least = {name: dict.fromkeys(names, float("inf")) for name in calls}
        for _ in range(repetitions + 1):
            for name, lazy in calls.items():
                from_ = {c: clocks[c]() for c in names}
                lazy.compute(scheduler="sync" if where == "one process" else client)
                for c in reversed(names):
                    least[name][c] = min(least[name][c], clocks[c]() - from_[c])
        best[where] = {"chunks": n, **{c: {"warpfold_us": 1e6 * least["warpfold"][c] / n, "dask_us": 1e6 * least["dask"][c] / n,
                                           "warpfold_over_dask_us": 1e6 * (least["warpfold"][c] - least["dask"][c]) / n} for c in names}}
        print(f"a chunk, {where}: {best[where]}", file=sys.stderr)
    sent = {name: 1e6 * as_messages(lazy, repetitions) / n for name, lazy in calls.items()}
    best["one process"]["tasks and results as messages, processor"] = {"warpfold_us": sent["warpfold"], "dask_us": sent["dask"],
                                                                       "warpfold_over_dask_us": sent["warpfold"] - sent["dask"]}
    print(f"a chunk, as messages: {sent}", file=sys.stderr)
    return best


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--elements", type=int, default=10**9)
    a.add_argument("--repetitions", type=int, default=7)
    a.add_argument("--chunks", type=int, default=400, help="of next to nothing")
    a.add_argument("out", nargs="?")
    given = a.parse_args()
    rows, blocks, results, small = given.elements // 10_000, 0, [], None
    # What workers do all the time, whether they have tasks or not, is not a task's cost.
    with dask.config.set({"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "60s"}), \
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0) as cluster, \
            distributed.Client(cluster) as client:
        if rows > 0:
            x = da.random.default_rng(1).standard_normal((rows, 10_000), dtype="float32", chunks=(max(rows // 32, 1), 10_000)).persist()
            distributed.wait(x)
            blocks = x.numblocks[0]
            verify(x)
            results = [beside(client, name, ours, theirs, given.repetitions) for name, ours, theirs in (
                ("sum", wfd.sum(x), x.sum()), ("mean", wfd.mean(x), x.mean()), ("sum, axis 0", wfd.sum(x, axis=0), x.sum(axis=0)),
                ("sum, axis 1", wfd.sum(x, axis=1), x.sum(axis=1)), ("mean, axis 0", wfd.mean(x, axis=0), x.mean(axis=0)),
                ("var, axis 0", wfd.var(x, axis=0), x.var(axis=0)), ("var", wfd.var(x), x.var()))]
            del x
        if given.chunks > 0:
            small = tasks(client, given.chunks, given.repetitions)
    told = {"command": "bench/cpu/dask_sums.py " + " ".join(sys.argv[1:]), "elements": rows * 10_000, "dtype": "float32", "chunks": blocks,
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
