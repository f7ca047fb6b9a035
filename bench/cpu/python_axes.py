#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reductions of every axis of matrices of many shapes, beside NumPy's: processor time of all threads together.

    python bench/cpu/python_axes.py [--only REGEX] [--scale N] [--repetitions N] [--clock] [OUT.json]

Answers are checked first. Each case is timed by turns with NumPy's, and of each the least of the repetitions is told, since others may use
the machine; `load` says how many did. A ratio above 1 is slower than NumPy. --scale N makes the large arrays N times smaller; --only takes
cases whose line, such as "f64 10x1000000 axis 0 sum", matches. --clock: the time that passes, in place of the processors'.
"""

import argparse
import importlib
import json
import os
import re
import sys
import time

import numpy as np

import warpfold as wf

DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "i32": "int32", "i8": "int8"}
# The axis of each large shape that --scale makes shorter.
SHAPES = [((10, 10**6), 1, (0, 1)), ((100, 10**5), 1, (0, 1)), ((1000, 1000), 1, (0, 1)), ((10**6, 10), 0, (0, 1)), ((10**5, 100), 0, (0, 1)),
          ((100, 100, 100), 0, (1,)), ((1000, 10, 1000), 0, (1,)), ((64, 64), None, (0, 1)), ((3, 3), None, (0, 1))]


def numpy_norm(x, axis):
    wide = x if x.dtype.kind == "f" else x.astype(np.float64)
    return np.sqrt(np.sum(wide * wide, axis=axis))


CALLS = {"sum": (lambda x, a: wf.sum(x, axis=a), lambda x, a: np.sum(x, axis=a)),
         "mean": (lambda x, a: wf.mean(x, axis=a), lambda x, a: np.mean(x, axis=a)),
         "norm": (lambda x, a: wf.norm(x, axis=a), numpy_norm),
         "max": (lambda x, a: wf.max(x, axis=a), lambda x, a: np.max(x, axis=a)),
         "var": (lambda x, a: wf.var(x, axis=a), lambda x, a: np.var(x, axis=a))}


def cases(scale):
    for shape, long_axis, axes in SHAPES:
        if long_axis is not None:
            shape = tuple(max(1, n // scale) if k == long_axis else n for k, n in enumerate(shape))
        for name, dtype in DTYPES.items():
            for axis in axes:
                for call in CALLS:
                    yield shape, name, dtype, axis, call


def check(line, x, axis, call):
    """Against NumPy in doubles, to what its own rounding may come to; exact sums of single answers to the last bit."""
    ours = np.asarray(CALLS[call][0](x, axis), np.float64)
    wide = x.astype(np.float64)
    theirs = np.asarray(CALLS[call][1](wide, axis))
    tolerance = {"float16": 2e-3, "float32": 1e-6}.get(x.dtype.name, 1e-9)
    scale = np.max(np.abs(wide)) * (x.shape[axis] if call == "sum" else 1) + 1e-300
    if ours.shape != theirs.shape or not np.all(np.abs(ours - theirs) <= tolerance * np.maximum(np.abs(theirs), scale)):
        raise SystemExit(f"{line}: wrong")
    if call == "sum":
        lanes = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
        told = np.asarray(CALLS[call][0](x, axis)).reshape(-1)
        for k in range(0, len(lanes), 1 + len(lanes) // 50):
            if told[k] != wf.sum(np.ascontiguousarray(lanes[k])):
                raise SystemExit(f"{line}: answer {k} is not the sum of its elements")


def seconds_of(call, x, axis, number, clock):
    begin = clock()
    for _ in range(number):
        call(x, axis)
    return (clock() - begin) / number


def measure(x, axis, call, repetitions, clock):
    least = [float("inf")] * 2
    numbers = [1, 1]
    for k, f in enumerate(CALLS[call]):
        while seconds_of(f, x, axis, numbers[k], clock) * numbers[k] < 2e-3:
            numbers[k] *= 4
    for _ in range(repetitions):
        for k, f in enumerate(CALLS[call]):
            least[k] = min(least[k], seconds_of(f, x, axis, numbers[k], clock))
    return least


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--only", default="")
    a.add_argument("--scale", type=int, default=1)
    a.add_argument("--repetitions", type=int, default=7)
    a.add_argument("--clock", action="store_true")
    a.add_argument("out", nargs="?")
    given = a.parse_args()
    if given.scale < 1 or given.repetitions < 1:
        a.error("--scale and --repetitions are 1 or more")
    told = {"command": " ".join(["bench/cpu/python_axes.py", *sys.argv[1:-1 if given.out else None]]), "python": sys.version.split()[0],
            "numpy": np.__version__, "warpfold": wf.__version__, "target": importlib.import_module("warpfold._core").cpu_target(),
            "cores": len(os.sched_getaffinity(0)), "clock": given.clock, "load_before": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d"), "cases": []}
    made = {}
    for shape, name, dtype, axis, call in cases(given.scale):
        line = f"{name} {'x'.join(map(str, shape))} axis {axis} {call}"
        if not re.search(given.only, line):
            continue
        if made.get("key") != (shape, dtype):
            rng = np.random.default_rng(1)
            x = rng.integers(-100, 100, shape).astype(dtype) if dtype.startswith("int") else rng.standard_normal(shape).astype(dtype)
            made = {"key": (shape, dtype), "x": x}
        check(line, made["x"], axis, call)
        ours, theirs = measure(made["x"], axis, call, given.repetitions, time.perf_counter if given.clock else time.process_time)
        told["cases"].append({"case": line, "warpfold_us": round(ours * 1e6, 3), "numpy_us": round(theirs * 1e6, 3), "ratio": round(ours / theirs, 3)})
        print(f"{line:36} {ours * 1e6:12.2f} µs, numpy {theirs * 1e6:12.2f}: {ours / theirs:6.2f}{'  SLOWER' if ours > theirs else ''}", flush=True)
    told["load_after"] = os.getloadavg()[0]
    slower = [c for c in told["cases"] if c["ratio"] > 1]
    print(f"{len(told['cases'])} cases, {len(slower)} slower than NumPy; load {told['load_before']:.1f} before, {told['load_after']:.1f} after")
    if given.out:
        with open(given.out, "w") as f:
            json.dump(told, f, indent=0)
            f.write("\n")


if __name__ == "__main__":
    main()
