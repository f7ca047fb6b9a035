#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package costs beside NumPy, math.fsum, xsum and accupy: calls on small arrays, the import, and large exact sums.

    python bench/cpu/python_package.py [--elements N] [--parts calls,import,sums,twins] [OUT.json]

How far each answer is from the exact one is told beside its time. Times of one run may be compared, never those of two. They are the processor's, of all
threads together, and of some repetitions the least, since others may use the machine; `load` says how many did. xsum and accupy
are timed if they are installed.
"""

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
import timeit
from fractions import Fraction

import numpy as np

import warpfold as wf


def least(call, seconds=0.3, repetitions=9):
    """The least time of a call on all processors together, in seconds."""
    timer = timeit.Timer(call, timer=time.process_time)
    number, spent = 1, timer.timeit(1)
    while spent < seconds / repetitions and number < 1 << 20:
        number *= 2
        spent = timer.timeit(number)
    return min(spent, *timer.repeat(repetitions - 1, number)) / number


def small_calls():
    rows = []
    for n in (1, 10, 100, 1000):
        for dtype in ("float64", "float32"):
            x = np.arange(n, dtype=dtype)
            assert wf.sum(x) == x.sum()
            rows.append({"elements": n, "dtype": dtype, "nothing_us": least(lambda: None) * 1e6, "wf.sum_us": least(lambda: wf.sum(x)) * 1e6,
                         "numpy.sum_us": least(lambda: np.sum(x)) * 1e6, "ndarray.sum_us": least(lambda: x.sum()) * 1e6})
    return rows


def import_ms():
    code = "import time; a = time.process_time(); import warpfold; print(1e3 * (time.process_time() - a))"
    with_numpy = code.replace("import warpfold;", "import numpy;")
    run = lambda c: min(float(subprocess.run([sys.executable, "-c", c], capture_output=True, text=True, check=True).stdout) for _ in range(7))  # noqa: E731
    return {"warpfold": run(code), "numpy": run(with_numpy)}


def large_sums(n):
    rows = []
    rng = np.random.default_rng(1)
    for dtype in ("float64", "float32"):
        x = rng.standard_normal(n).astype(dtype)
        exact = wf.ExactSum(x).as_fraction()

        def row(name, call, elements, truth, seconds=0.5):
            told = call()
            unit = abs(math.ulp(float(truth))) if dtype == "float64" else float(np.spacing(np.float32(abs(float(truth)))))
            rows.append({"dtype": dtype, "what": name, "elements": elements, "ns_per_element": least(call, seconds, 5) / elements * 1e9,
                         "ulps_off": abs(float(Fraction(float(told)) - truth)) / unit})
        row("wf.sum", lambda: wf.sum(x), n, exact)
        row("wf.sum, accuracy='fast'", lambda: wf.sum(x, accuracy="fast"), n, exact)
        row("numpy.sum", lambda: np.sum(x), n, exact)
        rows_of = x[: n // 10 * 10].reshape(10, -1)
        row("wf.sum of 10 rows, axis 1", lambda: wf.sum(wf.sum(rows_of, axis=1)), rows_of.size, exact)
        row("wf.sum over axis 0", lambda: wf.sum(wf.sum(rows_of, axis=0)), rows_of.size, exact)
        row("numpy.sum over axis 0", lambda: np.sum(np.sum(rows_of, axis=0)), rows_of.size, exact)
        part = x[: min(n, 1_000_000)]
        truth = wf.ExactSum(part).as_fraction()
        numbers = part.tolist()
        row("math.fsum", lambda: math.fsum(numbers), part.size, truth)
        row("wf.fsum of the list", lambda: wf.fsum(numbers), part.size, truth)
        row("wf.sum of as many", lambda: wf.sum(part), part.size, truth)
        try:
            xsum = importlib.import_module("xsum")
            wide = np.ascontiguousarray(part, np.float64)

            def by(kind):
                state = kind()
                xsum.xsum_add(state, wide)
                return xsum.xsum_round(state)
            row("xsum, large", lambda: by(xsum.xsum_large_accumulator), part.size, truth)
            row("xsum, small", lambda: by(xsum.xsum_small_accumulator), part.size, truth)
        except ImportError:
            pass
        try:
            accupy = importlib.import_module("accupy")
            row("accupy.fsum", lambda: accupy.fsum(part), part.size, truth)
            if dtype == "float64":  # the other type it does not take; it writes into its argument
                row("accupy.ksum, K = 2, and a copy", lambda: accupy.ksum(part.copy(), K=2), part.size, truth)
        except ImportError:
            pass
    return rows


def twins():
    """The standard library's functions and ours, of one list of floats, and ours of an array of them."""
    rows = []
    x = np.random.default_rng(2).standard_normal(100_000) + 3.0
    pairs = [(n, getattr(statistics, n), getattr(wf.statistics, n)) for n in ("mean", "fmean", "variance", "pvariance", "stdev", "pstdev")]
    pairs.append(("fsum", math.fsum, wf.fsum))
    for n in (100, x.size):
        array, numbers = x[:n], x[:n].tolist()
        for name, theirs, ours in pairs:
            assert ours(numbers) == ours(array) and math.isclose(ours(numbers), theirs(numbers), rel_tol=4e-16), name
            rows.append({"function": name, "elements": n, "standard_ns": least(lambda: theirs(numbers)) / n * 1e9,
                         "list_ns": least(lambda: ours(numbers)) / n * 1e9, "array_ns": least(lambda: ours(array)) / n * 1e9})
        theirs = getattr(math, "sumprod", lambda p, q: math.fsum(a * b for a, b in zip(p, q)))  # before Python 3.12
        rows.append({"function": "sumprod" if hasattr(math, "sumprod") else "sumprod beside fsum of products", "elements": n,
                     "standard_ns": least(lambda: theirs(numbers, numbers)) / n * 1e9, "list_ns": least(lambda: wf.sumprod(numbers, numbers)) / n * 1e9})
    return rows


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--elements", type=int, default=100_000_000)
    a.add_argument("--parts", default="calls,import,sums,twins")
    a.add_argument("out", nargs="?")
    given = a.parse_args()
    told = {"command": " ".join(["bench/cpu/python_package.py", *sys.argv[1:]]), "python": sys.version.split()[0], "numpy": np.__version__, "warpfold": wf.__version__,
            "target": importlib.import_module("warpfold._core").cpu_target(), "cores": os.cpu_count(), "load_before": os.getloadavg()[0],
            "date": time.strftime("%Y-%m-%d")}
    parts = {"calls": ("calls", small_calls), "import": ("import_ms", import_ms), "sums": ("sums", lambda: large_sums(given.elements)), "twins": ("twins", twins)}
    for part in given.parts.split(","):
        if part not in parts:
            a.error(f"--parts: {part!r} is none of {', '.join(parts)}")
        key, run = parts[part]
        told[key] = run()
    told["load_after"] = os.getloadavg()[0]
    for r in told.get("calls", ()):
        print(f"{r['elements']:>5} {r['dtype']}: wf.sum {r['wf.sum_us']:.2f} µs, numpy.sum {r['numpy.sum_us']:.2f}, x.sum {r['ndarray.sum_us']:.2f}, "
              f"nothing {r['nothing_us']:.2f}")
    if "import_ms" in told:
        print("import: {warpfold:.1f} ms, numpy {numpy:.1f} ms".format_map(told["import_ms"]))
    for r in told.get("sums", ()):
        print(f"{r['dtype']} {r['elements']:>11,} {r['what']:32} {r['ns_per_element']:8.3f} ns per element, {r['ulps_off']:.3g} ulps off")
    for r in told.get("twins", ()):
        print(f"{r['function']:32} of {r['elements']:>7,}: standard library {r['standard_ns']:8.1f} ns per number, here {r['list_ns']:6.1f}" +
              (f", of an array {r['array_ns']:.2f}" if "array_ns" in r else ""))
    print(f"load {told['load_before']:.1f} before, {told['load_after']:.1f} after, of {told['cores']} cores")
    if given.out:
        with open(given.out, "w") as f:
            json.dump(told, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
